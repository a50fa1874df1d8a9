#include "engine/contention.h"

#include <math.h>

enum { UNUSED = -1, SHARED = -2, WEIGHT_MAX = 65536, PAYLOAD_BITS = 52, SCALE_BITS_MAX = 30 };

/* Working state; one entry per link unless stated. */
typedef struct finder {
    const ms_dag *dag;
    ms_contention *out;
    int32_t *owner;       /* the stream that uses the link; UNUSED; SHARED */
    int32_t *last_flow;   /* last flow met on it */
    int32_t *last_stream; /* [work_count] last stream met */
    int32_t *divisor;     /* greatest common divisor of its weights in routes, 0: in none */
    int32_t *number;      /* its index into bandwidths */
    bool *is_kept;        /* [crossing_count] stands in the route of its flow */
} finder;

static bool alloc_finder(finder *f, ms_arena *scratch) {
    const ms_dag *dag = f->dag;
    ms_contention *out = f->out;
    f->owner = MS_NEW(scratch, int32_t, dag->link_count);
    f->last_flow = MS_NEW(scratch, int32_t, dag->link_count);
    f->last_stream = MS_NEW(scratch, int32_t, dag->work_count);
    f->divisor = MS_NEW(scratch, int32_t, dag->link_count);
    f->number = MS_NEW(scratch, int32_t, dag->link_count);
    f->is_kept = MS_NEW(scratch, bool, dag->crossing_count);
    out->is_contended_work = MS_NEW(scratch, bool, dag->work_count);
    out->is_contended_flow = MS_NEW(scratch, bool, dag->flow_count);
    out->payload = MS_NEW(scratch, int64_t, dag->flow_count);
    out->route_first = MS_NEW(scratch, int32_t, (size_t)dag->flow_count + 1);
    out->bandwidths = MS_NEW(scratch, double, dag->link_count);
    return f->owner != NULL && f->last_flow != NULL && f->last_stream != NULL &&
           f->divisor != NULL && f->number != NULL && f->is_kept != NULL &&
           out->is_contended_work != NULL && out->is_contended_flow != NULL &&
           out->payload != NULL && out->route_first != NULL && out->bandwidths != NULL;
}

/* The links of `work` are used by an operation that holds `stream`. */
static void claim_links(finder *f, const ms_dag_work *work, int32_t stream) {
    const ms_dag *dag = f->dag;
    for (int32_t p = work->phase_first; p < work->phase_first + work->phase_count; p++) {
        int32_t first = dag->phases[p].flow_first;
        int32_t end = first + dag->phases[p].flow_count;
        for (int32_t i = first; i < end; i++) {
            const ms_dag_flow *flow = &dag->flows[i];
            for (int32_t c = 0; c < flow->crossing_count; c++) {
                int32_t link = dag->crossings[flow->crossing_first + c].link;
                bool is_met_in_phase = f->last_flow[link] >= first && f->last_flow[link] < end;
                bool is_others = f->owner[link] != UNUSED && f->owner[link] != stream;
                f->owner[link] = is_met_in_phase || is_others ? SHARED : stream;
                f->last_flow[link] = i;
            }
        }
    }
}

static void find_owners(finder *f) {
    const ms_dag *dag = f->dag;
    for (int32_t i = 0; i < dag->link_count; i++) {
        f->owner[i] = UNUSED;
        f->last_flow[i] = -1;
    }
    for (int32_t i = 0; i < dag->work_count; i++) {
        f->last_stream[i] = -1;
    }
    for (int32_t op = 0; op < dag->op_count; op++) {
        int32_t work = dag->ops[op].work;
        if (!dag->works[work].is_communication) {
            continue;
        }
        int32_t stream = ms_contention_stream(dag, op);
        if (stream != f->last_stream[work]) {
            f->last_stream[work] = stream;
            claim_links(f, &dag->works[work], stream);
        }
    }
}

/* Choose the links that stand in the route of `flow`; none: it is not contended. */
static void keep_links(finder *f, const ms_dag_flow *flow) {
    const ms_dag *dag = f->dag;
    double shared_Bps = INFINITY;
    double private_Bps = INFINITY;
    int32_t narrowest = -1;
    for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count; c++) {
        const ms_dag_crossing *crossing = &dag->crossings[c];
        double rate_Bps = dag->links[crossing->link].capacity_Bps / crossing->weight;
        f->is_kept[c] = f->owner[crossing->link] == SHARED;
        if (f->is_kept[c]) {
            shared_Bps = fmin(shared_Bps, rate_Bps);
        } else if (rate_Bps < private_Bps) {
            private_Bps = rate_Bps;
            narrowest = c;
        }
    }
    if (private_Bps < shared_Bps && isfinite(shared_Bps)) {
        f->is_kept[narrowest] = true;
    }
}

static int32_t gcd(int32_t a, int32_t b) {
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static double choose_scale(const ms_dag *dag) {
    double bytes_max = 1.0;
    for (int32_t i = 0; i < dag->flow_count; i++) {
        bytes_max = fmax(bytes_max, dag->flows[i].bytes);
    }
    int bits = 0;
    frexp(bytes_max, &bits);
    int shift = PAYLOAD_BITS - bits;
    return ldexp(1.0, shift < SCALE_BITS_MAX ? shift : SCALE_BITS_MAX);
}

/* Decide which flows are contended and take their links into account. */
static void find_contended_flows(finder *f) {
    const ms_dag *dag = f->dag;
    ms_contention *out = f->out;
    for (int32_t i = 0; i < dag->flow_count; i++) {
        const ms_dag_flow *flow = &dag->flows[i];
        out->payload[i] = llround(flow->bytes * out->scale);
        if (out->payload[i] < 1) {
            continue;
        }
        keep_links(f, flow);
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &dag->crossings[flow->crossing_first + c];
            if (f->is_kept[flow->crossing_first + c]) {
                out->is_contended_flow[i] = true;
                f->divisor[crossing->link] = gcd(crossing->weight, f->divisor[crossing->link]);
            }
        }
    }
}

static void mark_contended_works(finder *f) {
    const ms_dag *dag = f->dag;
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_dag_work *work = &dag->works[w];
        for (int32_t p = work->phase_first; p < work->phase_first + work->phase_count; p++) {
            const ms_dag_phase *phase = &dag->phases[p];
            for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
                f->out->is_contended_work[w] |= f->out->is_contended_flow[i];
            }
        }
    }
}

static void number_links(finder *f) {
    for (int32_t i = 0; i < f->dag->link_count; i++) {
        if (f->divisor[i] > 0) {
            f->number[i] = f->out->link_count;
            f->out->bandwidths[f->out->link_count++] =
                f->dag->links[i].capacity_Bps / f->divisor[i] * f->out->scale;
        }
    }
}

/* Write the routes to `route`, or only count their links if it is NULL. */
static int64_t write_routes(finder *f, int32_t *route) {
    const ms_dag *dag = f->dag;
    int64_t count = 0;
    for (int32_t i = 0; i < dag->flow_count; i++) {
        f->out->route_first[i] = (int32_t)count;
        const ms_dag_flow *flow = &dag->flows[i];
        for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count;
             c++) {
            if (!f->is_kept[c] || !f->out->is_contended_flow[i]) {
                continue;
            }
            int32_t link = dag->crossings[c].link;
            int32_t times = dag->crossings[c].weight / f->divisor[link];
            if (times > WEIGHT_MAX) {
                return -1;
            }
            for (int32_t k = 0; k < times && route != NULL; k++) {
                route[count + k] = f->number[link];
            }
            count += times;
        }
        if (count >= INT32_MAX) {
            return -1;
        }
    }
    f->out->route_first[dag->flow_count] = (int32_t)count;
    return count;
}

ms_status ms_contention_find(const ms_dag *dag, ms_arena *scratch, ms_diag *diag,
                             ms_contention *out) {
    *out = (ms_contention){.scale = choose_scale(dag)};
    finder f = {.dag = dag, .out = out};
    if (!alloc_finder(&f, scratch)) {
        return ms_engine_no_memory(diag);
    }
    find_owners(&f);
    find_contended_flows(&f);
    mark_contended_works(&f);
    number_links(&f);
    int64_t count = write_routes(&f, NULL);
    if (count < 0) {
        ms_diag_error(diag,
                      "the weights of the flows on a link exceed %d and have no common "
                      "factor; simulate with less folding",
                      WEIGHT_MAX);
        return MS_E_RANGE;
    }
    out->route = MS_NEW(scratch, int32_t, count);
    if (out->route == NULL) {
        return ms_engine_no_memory(diag);
    }
    write_routes(&f, out->route);
    return MS_OK;
}
