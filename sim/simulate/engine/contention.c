/* Finds the contended flows of a graph and their shortest routes (contention.h). A flow is
 * contended if one of its links can bind, that is, may have to carry more than its capacity. A
 * route lists only links that can limit a rate, each as often as the flow crosses it. */
#include "simulate/engine/contention.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "simulate/engine/demand.h"
#include "simulate/engine/replay.h"

enum {
    WEIGHT_MAX = 65536, /* a flow whose route has so many links takes milliseconds to start */
    PAYLOAD_BITS = 52,  /* payloads of up to so many bits are exact in a double */
    SCALE_BITS_MAX = 30 /* finest unit of payloads: 2^-30 bytes */
};

/* A link's part in routes. */
typedef struct link_use {
    uint64_t users[2]; /* 128-bit fingerprint of the flows that use it and of their weights */
    int32_t divisor;   /* greatest common divisor of the weights; 0: it is in no route */
    int32_t number;    /* its index into bandwidths; -1: another link stands for it */
} link_use;

/* Working state. */
typedef struct finder {
    const ms_dag *dag;
    ms_contention *out;
    double *flow_Bps;  /* [flow_count] maximum rate of a flow, alone; 0: the flow takes no time */
    bool *can_bind;    /* [link_count] whether all streams together can overload the link */
    double *phase_Bps; /* [link_count] maximum load by the flows of the current phase */
    link_use *links;   /* [link_count] */
    bool *is_kept;     /* [crossing_count] the crossing is in the route of its flow */
    int32_t *order;    /* [link_count] links of routes, those with the same users side by side */
} finder;

/* Allocate the arrays of the working state and those of the result, but for the routes. Returns
 * whether there was memory. */
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

/* Payload units per byte: the power of two with which the largest flow still fits into PAYLOAD_BITS
 * bits, but at most 2^SCALE_BITS_MAX. */
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

/* The rate at which a flow that crosses a link `weight` times fills it [B/s]. */
static double crossing_Bps(const ms_dag *dag, const ms_dag_crossing *crossing) {
    return dag->network.links[crossing->link].capacity_Bps / crossing->weight;
}

/* Set the payload of every flow, a whole number of units, and its maximum rate: that of its
 * narrowest link, with the weight counted. Flows without payload or without links take no time. */
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

/* Choose the links that the route of `flow` needs: those that can bind or that the flows of its own
 * phase overload; and of its other links the narrowest, if that is narrower than all of these and
 * so limits the flow's rate. Returns whether there is a link of the first kind; else the flow takes
 * its time alone. */
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

/* The greatest common divisor of two numbers >= 0 (Euclid); gcd(a, 0) is a. */
static int32_t gcd(int32_t a, int32_t b) {
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether some flow of a phase that takes time crosses a link that can bind. */
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

/* Set phase_Bps of each link to the sum of the maximum rates of a phase's flows on it, weights
 * counted (sign 1), or back to 0 (sign 0). */
static void set_phase_load(finder *f, const ms_dag_phase *phase, int sign) {
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        const ms_dag_flow *flow = &f->dag->network.flows[i];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &f->dag->network.crossings[flow->crossing_first + c];
            double *asked_Bps = &f->phase_Bps[crossing->link];
            *asked_Bps = sign == 0 ? 0.0 : *asked_Bps + f->flow_Bps[i] * crossing->weight;
        }
    }
}

/* Mark flow `i` as contended if its route has a link, and take its weights into the common divisors
 * of these links. The divisor scales weights and bandwidth down together, which shortens routes. */
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

/* Mark all contended works, flows and crossings. If one flow of a phase crosses a link that can
 * bind, all flows of the phase that share links are simulated, even those that share links only
 * with each other: the closed form of a phase (collective/fluid.h) holds only if the phase meets no
 * others. */
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
            set_phase_load(f, phase, 1);
            for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
                keep_flow(f, i);
            }
            set_phase_load(f, phase, 0);
        }
    }
}

/* Set the fingerprint of each link's users: sums of hashes of (flow, weight / divisor), which do
 * not depend on the order. Links with equal fingerprints carry the same flows in the same
 * proportions, so only the narrowest of them can bind. */
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

/* Order of links for qsort_r: by fingerprint, so that links with the same users are side by side,
 * then by bandwidth per weight, narrowest first, then by index. */
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

/* Number the links of routes and set their bandwidths. Of links with the same users only the
 * narrowest gets a number, the others -1. */
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

/* Write the routes of all flows to `route`, or only count their links if `route` is NULL. Sets
 * route_first. Returns the number of links in all routes; -1: a link's weight exceeds WEIGHT_MAX,
 * or the number INT32_MAX. */
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

/* Steps: find the links that can bind, then the works whose flows cross them, then number these
 * links and write the flows' routes over them. */
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
    int64_t count = write_routes(&f, NULL); /* only counts */
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
