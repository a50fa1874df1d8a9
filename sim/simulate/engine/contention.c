/* Which flows are contended, and their routes; see contention.h. */
#include "simulate/engine/contention.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "simulate/engine/demand.h"
#include "simulate/engine/no_memory.h"

enum {
    WEIGHT_MAX = 65536, /* a route of that many links takes milliseconds, of more is hopeless */
    PAYLOAD_BITS = 52,  /* payloads are exact in a double */
    SCALE_BITS_MAX = 30 /* and need no more than nanobytes */
};

/* What a link is in routes. */
typedef struct link_use {
    uint64_t users[2]; /* 128-bit fingerprint of the flows that use it and their weights */
    int32_t divisor;   /* greatest common divisor of the weights, 0: it stands in no route */
    int32_t number;    /* its index into bandwidths */
} link_use;

/* Working state. */
typedef struct finder {
    const ms_dag *dag;
    ms_contention *out;
    double *flow_Bps;  /* [flow_count] most a flow can run at; 0: it is not simulated */
    bool *can_bind;    /* [link_count] */
    double *phase_Bps; /* [link_count] what the flows of the phase looked at can ask for */
    link_use *links;   /* [link_count] */
    bool *is_kept;     /* [crossing_count] stands in the route of its flow */
    int32_t *order;    /* [link_count] links, same users side by side */
} finder;

static bool alloc_finder(finder *f, ms_arena *scratch) {
    const ms_dag *dag = f->dag;
    ms_contention *out = f->out;
    f->flow_Bps = MS_NEW(scratch, double, dag->network.flow_count);
    f->can_bind = MS_NEW(scratch, bool, dag->network.link_count);
    f->phase_Bps = MS_NEW(scratch, double, dag->network.link_count);
    f->links = MS_NEW(scratch, link_use, dag->network.link_count);
    f->is_kept = MS_NEW(scratch, bool, dag->network.crossing_count);
    f->order = MS_NEW(scratch, int32_t, dag->network.link_count);
    out->is_contended_work = MS_NEW(scratch, bool, dag->work_count);
    out->is_contended_flow = MS_NEW(scratch, bool, dag->network.flow_count);
    out->payload = MS_NEW(scratch, int64_t, dag->network.flow_count);
    out->route_first = MS_NEW(scratch, int32_t, (size_t)dag->network.flow_count + 1);
    out->bandwidths = MS_NEW(scratch, double, dag->network.link_count);
    return !scratch->has_failed;
}

static double choose_scale(const ms_dag *dag) {
    double bytes_max = 1.0;
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        bytes_max = fmax(bytes_max, dag->network.flows[i].bytes);
    }
    int bits = 0;
    frexp(bytes_max, &bits);
    int shift = PAYLOAD_BITS - bits;
    return ldexp(1.0, shift < SCALE_BITS_MAX ? shift : SCALE_BITS_MAX);
}

static double crossing_Bps(const ms_dag *dag, const ms_dag_crossing *crossing) {
    return dag->network.links[crossing->link].capacity_Bps / crossing->weight;
}

static void find_flow_rates(finder *f) {
    const ms_dag *dag = f->dag;
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        const ms_dag_flow *flow = &dag->network.flows[i];
        f->out->payload[i] = llround(flow->bytes * f->out->scale);
        double rate_Bps = INFINITY;
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            rate_Bps = fmin(rate_Bps,
                            crossing_Bps(dag, &dag->network.crossings[flow->crossing_first + c]));
        }
        f->flow_Bps[i] = f->out->payload[i] > 0 && isfinite(rate_Bps) ? rate_Bps : 0.0;
    }
}

/* Choose the links of `flow` that matter: those that can bind, and the narrowest of the others if
 * it is narrower still. Returns whether there is one of the first kind. */
static bool keep_links(finder *f, const ms_dag_flow *flow) {
    const ms_dag *dag = f->dag;
    double binding_Bps = INFINITY;
    double other_Bps = INFINITY;
    int32_t narrowest = -1;
    for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count; c++) {
        int32_t link = dag->network.crossings[c].link;
        double rate_Bps = crossing_Bps(dag, &dag->network.crossings[c]);
        f->is_kept[c] =
            f->can_bind[link] ||
            f->phase_Bps[link] > dag->network.links[link].capacity_Bps * (1.0 + MS_LINK_EXCESS);
        if (f->is_kept[c]) {
            binding_Bps = fmin(binding_Bps, rate_Bps);
        } else if (rate_Bps < other_Bps) {
            other_Bps = rate_Bps;
            narrowest = c;
        }
    }
    if (isfinite(binding_Bps) && other_Bps < binding_Bps) {
        f->is_kept[narrowest] = true;
    }
    return isfinite(binding_Bps);
}

static int32_t gcd(int32_t a, int32_t b) {
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool crosses_binding(const finder *f, const ms_dag_phase *phase) {
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        const ms_dag_flow *flow = &f->dag->network.flows[i];
        for (int32_t c = 0; c < flow->crossing_count && f->flow_Bps[i] > 0.0; c++) {
            if (f->can_bind[f->dag->network.crossings[flow->crossing_first + c].link]) {
                return true;
            }
        }
    }
    return false;
}

/* Note (sign 1) or forget (sign 0) what the flows of a phase can ask of each link together. */
static void load_phase(finder *f, const ms_dag_phase *phase, int sign) {
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        const ms_dag_flow *flow = &f->dag->network.flows[i];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &f->dag->network.crossings[flow->crossing_first + c];
            double *asked_Bps = &f->phase_Bps[crossing->link];
            *asked_Bps = sign == 0 ? 0.0 : *asked_Bps + f->flow_Bps[i] * crossing->weight;
        }
    }
}

static void keep_flow(finder *f, int32_t i) {
    const ms_dag_flow *flow = &f->dag->network.flows[i];
    if (f->flow_Bps[i] <= 0.0 || !keep_links(f, flow)) {
        return;
    }
    f->out->is_contended_flow[i] = true;
    for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count; c++) {
        if (f->is_kept[c]) {
            link_use *link = &f->links[f->dag->network.crossings[c].link];
            link->divisor = gcd(f->dag->network.crossings[c].weight, link->divisor);
        }
    }
}

/* A phase that meets others on its way is simulated with all its flows that share links, with
 * others or with each other. */
static void find_contended(finder *f) {
    const ms_dag *dag = f->dag;
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_dag_work *work = &dag->works[w];
        for (int32_t p = work->phase_first; p < work->phase_first + work->phase_count; p++) {
            const ms_dag_phase *phase = &dag->network.phases[p];
            if (!crosses_binding(f, phase)) {
                continue;
            }
            f->out->is_contended_work[w] = true;
            load_phase(f, phase, 1);
            for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
                keep_flow(f, i);
            }
            load_phase(f, phase, 0);
        }
    }
}

static void fingerprint_users(finder *f) {
    const ms_dag *dag = f->dag;
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        const ms_dag_flow *flow = &dag->network.flows[i];
        for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count;
             c++) {
            if (f->is_kept[c]) {
                link_use *link = &f->links[dag->network.crossings[c].link];
                uint32_t weight = (uint32_t)(dag->network.crossings[c].weight / link->divisor);
                uint64_t user = ((uint64_t)(uint32_t)i << 32) | weight;
                link->users[0] += ms_random_mix(user);
                link->users[1] += ms_random_mix(~user);
            }
        }
    }
}

/* Same users side by side, the narrowest of them first. */
static int compare_uses(const void *a, const void *b, void *context) {
    const finder *f = context;
    int32_t i = *(const int32_t *)a;
    int32_t j = *(const int32_t *)b;
    const link_use *x = &f->links[i];
    const link_use *y = &f->links[j];
    for (int k = 0; k < 2; k++) {
        if (x->users[k] != y->users[k]) {
            return x->users[k] < y->users[k] ? -1 : 1;
        }
    }
    double x_Bps = f->dag->network.links[i].capacity_Bps / x->divisor;
    double y_Bps = f->dag->network.links[j].capacity_Bps / y->divisor;
    if (x_Bps != y_Bps) {
        return x_Bps < y_Bps ? -1 : 1;
    }
    return (i > j) - (i < j);
}

/* Give the links of routes their numbers and bandwidths; of those with the same users only the
 * narrowest stays. */
static void number_links(finder *f) {
    size_t count = 0;
    for (int32_t i = 0; i < f->dag->network.link_count; i++) {
        if (f->links[i].divisor > 0) {
            f->order[count++] = i;
        }
    }
    qsort_r(f->order, count, sizeof *f->order, compare_uses, f);
    for (size_t k = 0; k < count; k++) {
        link_use *link = &f->links[f->order[k]];
        const link_use *before = k > 0 ? &f->links[f->order[k - 1]] : NULL;
        if (before != NULL && before->users[0] == link->users[0] &&
            before->users[1] == link->users[1]) {
            link->number = -1;
            continue;
        }
        link->number = f->out->link_count;
        f->out->bandwidths[f->out->link_count++] =
            f->dag->network.links[f->order[k]].capacity_Bps / link->divisor * f->out->scale;
    }
}

/* Write the routes to `route`, or only count their links if it is NULL; -1: they are too long. */
static int64_t write_routes(finder *f, int32_t *route) {
    const ms_dag *dag = f->dag;
    int64_t count = 0;
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        f->out->route_first[i] = (int32_t)count;
        const ms_dag_flow *flow = &dag->network.flows[i];
        for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count;
             c++) {
            const link_use *link = &f->links[dag->network.crossings[c].link];
            if (!f->is_kept[c] || link->number < 0) {
                continue;
            }
            int32_t times = dag->network.crossings[c].weight / link->divisor;
            for (int32_t k = 0; k < times && route != NULL; k++) {
                route[count + k] = link->number;
            }
            count += times;
            if (times > WEIGHT_MAX || count >= INT32_MAX) {
                return -1;
            }
        }
    }
    f->out->route_first[dag->network.flow_count] = (int32_t)count;
    return count;
}

ms_status ms_contention_find(const ms_dag *dag, ms_arena *scratch, ms_diag *diag,
                             ms_contention *out) {
    *out = (ms_contention){.scale = choose_scale(dag)};
    finder f = {.dag = dag, .out = out};
    if (!alloc_finder(&f, scratch)) {
        return ms_engine_no_memory(diag);
    }
    find_flow_rates(&f);
    if (ms_demand_find_binding(dag, f.flow_Bps, scratch, f.can_bind) != MS_OK) {
        return ms_engine_no_memory(diag);
    }
    find_contended(&f);
    fingerprint_users(&f);
    number_links(&f);
    int64_t count = write_routes(&f, NULL);
    if (count < 0) {
        ms_diag_error(diag,
                      "flows cross a link more than %d times, common factors taken out; simulate "
                      "with less folding",
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
