#include "meshsim/collective.h"

#include <math.h>
#include <string.h>

#include "collective/ring.h"

const char *ms_coll_algorithm_name(ms_coll_algorithm algorithm) {
    static const char *const NAMES[MS_ALGORITHM_COUNT] = {"auto", "ring", "direct"};
    return (unsigned)algorithm < MS_ALGORITHM_COUNT ? NAMES[algorithm] : "unknown";
}

/* One flow over a single route, every link crossed once. */
static ms_status plan_p2p(const ms_platform *platform, const ms_coll_request *request,
                          ms_arena *arena, ms_coll_plan *plan) {
    ms_route route;
    ms_platform_route(platform, request->gpus[0], request->gpus[1], &route);
    ms_phase *phase = MS_NEW(arena, ms_phase, 1);
    ms_flow *flow = MS_NEW(arena, ms_flow, 1);
    ms_flow_link *links = MS_NEW(arena, ms_flow_link, route.count);
    if (phase == NULL || flow == NULL || links == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < route.count; i++) {
        links[i] = (ms_flow_link){.link = route.links[i], .weight = 1};
    }
    *flow = (ms_flow){.bytes = request->size_B, .links = links, .count = route.count};
    *phase = (ms_phase){.latency_s = route.latency_s, .flows = flow, .count = 1};
    plan->algorithm = MS_ALGORITHM_DIRECT;
    plan->sent_B = request->size_B;
    plan->tier = route.tier;
    plan->phases = phase;
    plan->phase_count = 1;
    return MS_OK;
}

/* Times a ring sends each chunk over every edge, in units of (n-1): 2 for all-reduce, else 1. */
static double ring_rounds(ms_coll_kind kind) {
    return kind == MS_COLL_ALL_REDUCE ? 2.0 : 1.0;
}

static ms_status plan_ring(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_coll_plan *plan) {
    ms_ring_layout rings;
    ms_status status = ms_ring_layout_build(platform, request->gpus, plan->members, arena, &rings);
    if (status != MS_OK) {
        return status;
    }
    double n = plan->members;
    double rounds = ring_rounds(plan->kind);
    ms_phase *phase = MS_NEW(arena, ms_phase, 1);
    ms_flow *flow = MS_NEW(arena, ms_flow, 1);
    if (phase == NULL || flow == NULL) {
        return MS_E_NOMEM;
    }
    plan->algorithm = MS_ALGORITHM_RING;
    plan->sent_B = rounds * (n - 1.0) / n * request->size_B;
    plan->tier = rings.tier;
    *flow = (ms_flow){
        .bytes = plan->sent_B / rings.rings, .links = rings.links, .count = rings.link_count};
    *phase = (ms_phase){
        .latency_s = rounds * (n - 1.0) * rings.edge_latency_s, .flows = flow, .count = 1};
    plan->phases = phase;
    plan->phase_count = 1;
    return MS_OK;
}

/* Whether a request is one that can be laid out. */
static bool is_built(const ms_coll_request *request) {
    bool is_p2p = request->kind == MS_COLL_P2P;
    bool is_ring = request->kind == MS_COLL_ALL_REDUCE || request->kind == MS_COLL_REDUCE_SCATTER ||
                   request->kind == MS_COLL_ALL_GATHER;
    ms_coll_algorithm own = is_p2p ? MS_ALGORITHM_DIRECT : MS_ALGORITHM_RING;
    bool has_algorithm = request->algorithm == MS_ALGORITHM_AUTO || request->algorithm == own;
    bool has_members = is_p2p ? request->members == 2 : request->members >= 1;
    return (is_p2p || is_ring) && has_algorithm && has_members && request->size_B >= 0.0;
}

ms_status ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                             ms_arena *arena, ms_coll_plan *plan_out) {
    if (!is_built(request)) {
        return MS_E_RANGE;
    }
    ms_coll_plan plan = {.kind = request->kind,
                         .algorithm = MS_ALGORITHM_RING,
                         .members = request->members,
                         .size_B = request->size_B,
                         .tier = -1};
    ms_status status = MS_OK;
    if (request->kind == MS_COLL_P2P) {
        status = plan_p2p(platform, request, arena, &plan);
    } else if (request->members > 1) {
        status = plan_ring(platform, request, arena, &plan);
    }
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
