#include "meshsim/collective.h"

#include <limits.h>
#include <math.h>

#include "collective/crossings.h"
#include "collective/ring.h"
#include "collective/route_kinds.h"

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

/* One phase of the routes collected, each crossing carrying `crossing_B`, and after it a latency.
 */
static ms_status set_flow(layout *l, double crossing_B, double latency_s) {
    ms_phase *phase = MS_NEW(l->arena, ms_phase, 1);
    ms_flow *flow = MS_NEW(l->arena, ms_flow, 1);
    if (phase == NULL || flow == NULL) {
        return MS_E_NOMEM;
    }
    *flow = (ms_flow){.bytes = crossing_B};
    ms_status status = ms_crossings_merge(&l->crossings, l->arena, flow);
    if (status != MS_OK) {
        return status;
    }
    *phase = (ms_phase){.latency_s = latency_s, .flows = flow, .count = 1};
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

static ms_status plan_exchange(layout *l) {
    if (l->request->members > MS_PAIRWISE_MEMBERS_MAX) {
        return MS_E_RANGE;
    }
    ms_exchange exchange;
    ms_phase *phase = MS_NEW(l->arena, ms_phase, 1);
    ms_status status =
        phase == NULL ? MS_E_NOMEM
                      : ms_exchange_init(l->crossings.platform, l->request, l->arena, &exchange);
    if (status == MS_OK) {
        status =
            ms_route_kinds_fold(&exchange, l->request->is_coarse, l->arena, phase, &l->plan->tier);
    }
    if (status != MS_OK) {
        return status;
    }
    l->plan->sent_B = exchange.sent_B;
    l->plan->phases = phase;
    l->plan->phase_count = 1;
    return MS_OK;
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
    {MS_COLL_ALL_TO_ALL, MS_ALGORITHM_DIRECT, plan_exchange},
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
