#include "meshsim/collective.h"

#include <limits.h>
#include <math.h>

#include "collective/crossings.h"
#include "collective/ring.h"

const char *ms_coll_algorithm_name(ms_coll_algorithm algorithm) {
    static const char *const NAMES[MS_ALGORITHM_COUNT] = {"auto", "ring", "direct", "tree"};
    return (unsigned)algorithm < MS_ALGORITHM_COUNT ? NAMES[algorithm] : "unknown";
}

/* The work of laying one request out. */
typedef struct layout {
    const ms_coll_request *request;
    ms_crossings crossings;
    ms_arena *arena;
    ms_coll_plan *plan;
} layout;

/* Make collected routes a flow whose crossings carry `crossing_B` each. */
static ms_status make_flow(layout *l, ms_crossings *crossings, double crossing_B, ms_flow *flow) {
    int divisor = 1;
    ms_status status = ms_crossings_merge(crossings, l->arena, flow, &divisor);
    flow->bytes = crossing_B * divisor;
    return status;
}

/* One phase of the routes collected, each crossing carrying `crossing_B`, and after it a latency.
 * There is room for a second flow beside it. */
static ms_status set_flow(layout *l, double crossing_B, double latency_s) {
    ms_phase *phase = MS_NEW(l->arena, ms_phase, 1);
    ms_flow *flows = MS_NEW(l->arena, ms_flow, 2);
    if (phase == NULL || flows == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = make_flow(l, &l->crossings, crossing_B, flows);
    if (status != MS_OK) {
        return status;
    }
    *phase = (ms_phase){.latency_s = latency_s, .flows = flows, .count = 1};
    l->plan->tier = l->crossings.tier;
    l->plan->phases = phase;
    l->plan->phase_count = 1;
    return MS_OK;
}

static ms_status plan_p2p(layout *l) {
    ms_crossings_add(&l->crossings, l->request->gpus[0], l->request->gpus[1]);
    l->plan->sent_B = l->request->size_B;
    return set_flow(l, l->request->size_B, l->crossings.latency_max_s);
}

/* Bandwidth-optimal rings: each chunk passes n-1 edges, twice for all-reduce. A chunk meets every
 * edge's latency, so a step's latency is the edges' mean.  Source: Thakur, Rabenseifner, Gropp,
 * IJHPCA 2005, ring algorithms. */
static ms_status plan_ring(layout *l) {
    int rings = 1;
    ms_status status = ms_rings_lay(l->request, INT_MAX, l->arena, &l->crossings, &rings);
    if (status != MS_OK) {
        return status;
    }
    double n = l->request->members;
    double passes = (n - 1.0) * (l->request->kind == MS_COLL_ALL_REDUCE ? 2.0 : 1.0);
    l->plan->sent_B = passes / n * l->request->size_B;
    return set_flow(l, l->plan->sent_B / rings,
                    passes * l->crossings.latency_sum_s / l->crossings.routes);
}

/* Every member sends its whole buffer to the next one of a single ring, all at once. */
static ms_status plan_shift(layout *l) {
    int rings = 1;
    ms_status status = ms_rings_lay(l->request, 1, l->arena, &l->crossings, &rings);
    if (status != MS_OK) {
        return status;
    }
    l->plan->sent_B = l->request->size_B;
    return set_flow(l, l->request->size_B, l->crossings.latency_max_s);
}

/* Beside the first flow the members of each node exchange a buffer of their own; nodes with fewer
 * members set no pace. */
static ms_status add_node_flow(layout *l, double skew) {
    const ms_coll_request *request = l->request;
    ms_crossings crossings;
    ms_crossings_init(&crossings, l->crossings.platform);
    int node_members = 1;
    for (int i = 0; i < request->members; i++) {
        int here = 1;
        for (int j = 0; j < request->members; j++) {
            if (i != j && ms_platform_node(crossings.platform, request->gpus[i]) ==
                              ms_platform_node(crossings.platform, request->gpus[j])) {
                ms_crossings_add(&crossings, request->gpus[i], request->gpus[j]);
                here++;
            }
        }
        node_members = here > node_members ? here : node_members;
    }
    ms_phase *phase = &l->plan->phases[0];
    ms_status status =
        make_flow(l, &crossings, skew * request->node_B / node_members, &phase->flows[1]);
    phase->count = 2;
    l->plan->sent_B += (node_members - 1.0) / node_members * request->node_B;
    ms_crossings_release(&crossings);
    return status;
}

/* Every member sends an n-th of its buffer to every other one, all at once: NCCL posts all sends
 * and receives as one group. */
static ms_status plan_pairwise(layout *l) {
    int n = l->request->members;
    if (n > MS_PAIRWISE_MEMBERS_MAX) {
        return MS_E_RANGE;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (i != j) {
                ms_crossings_add(&l->crossings, l->request->gpus[i], l->request->gpus[j]);
            }
        }
    }
    double skew = l->request->skew > 0.0 ? l->request->skew : 1.0;
    l->plan->sent_B = (n - 1.0) / n * l->request->size_B;
    ms_status status = set_flow(l, skew * l->request->size_B / n, l->crossings.latency_max_s);
    return status == MS_OK && l->request->node_B > 0.0 ? add_node_flow(l, skew) : status;
}

/* How each kind is laid out. */
static const struct {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm;
    ms_status (*plan)(layout *l);
} KINDS[] = {
    {MS_COLL_P2P, MS_ALGORITHM_DIRECT, plan_p2p},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, plan_ring},
    {MS_COLL_REDUCE_SCATTER, MS_ALGORITHM_RING, plan_ring},
    {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, plan_ring},
    {MS_COLL_RING_SHIFT, MS_ALGORITHM_RING, plan_shift},
    {MS_COLL_ALL_TO_ALL, MS_ALGORITHM_DIRECT, plan_pairwise},
};

static int find_kind(ms_coll_kind kind) {
    for (int i = 0; i < (int)(sizeof KINDS / sizeof KINDS[0]); i++) {
        if (KINDS[i].kind == kind) {
            return i;
        }
    }
    return -1;
}

ms_coll_algorithm ms_coll_algorithm_of(ms_coll_kind kind) {
    int row = find_kind(kind);
    return row < 0 ? MS_ALGORITHM_AUTO : KINDS[row].algorithm;
}

ms_status ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                             ms_arena *arena, ms_coll_plan *plan_out) {
    int row = find_kind(request->kind);
    bool is_p2p = request->kind == MS_COLL_P2P;
    if (row < 0 || !(request->size_B >= 0.0) ||
        (is_p2p ? request->members != 2 : request->members < 1) ||
        (request->algorithm != MS_ALGORITHM_AUTO && request->algorithm != KINDS[row].algorithm)) {
        return MS_E_RANGE;
    }
    ms_coll_plan plan = {.kind = request->kind,
                         .algorithm = KINDS[row].algorithm,
                         .members = request->members,
                         .size_B = request->size_B,
                         .tier = -1};
    layout l = {.request = request, .arena = arena, .plan = &plan};
    ms_crossings_init(&l.crossings, platform);
    ms_status status = request->members > 1 ? KINDS[row].plan(&l) : MS_OK;
    ms_crossings_release(&l.crossings);
    if (status == MS_OK) {
        *plan_out = plan;
    }
    return status;
}

double ms_coll_plan_time_s(const ms_platform *platform, const ms_coll_plan *plan) {
    double time_s = 0.0;
    for (int p = 0; p < plan->phase_count; p++) {
        const ms_phase *phase = &plan->phases[p];
        double slowest_s = 0.0;
        for (int f = 0; f < phase->count; f++) {
            const ms_flow *flow = &phase->flows[f];
            for (int i = 0; i < flow->count; i++) {
                ms_link_info link = ms_platform_link(platform, flow->links[i].link);
                slowest_s =
                    fmax(slowest_s, flow->bytes * flow->links[i].weight / link.capacity_Bps);
            }
        }
        time_s += slowest_s + phase->latency_s;
    }
    return time_s;
}

double ms_coll_busbw_Bps(ms_coll_kind kind, int members, double size_B, double time_s) {
    double n = members;
    double factor = 1.0;
    if (kind == MS_COLL_ALL_REDUCE) {
        factor = 2.0 * (n - 1.0) / n;
    } else if (kind == MS_COLL_REDUCE_SCATTER || kind == MS_COLL_ALL_GATHER ||
               kind == MS_COLL_ALL_TO_ALL) {
        factor = (n - 1.0) / n;
    }
    return time_s > 0.0 ? size_B / time_s * factor : 0.0;
}
