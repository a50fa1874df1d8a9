/* Lays out messages that go directly from source to destination: point-to-point messages
 * (ms_p2p_plan) and all-to-alls (ms_exchange_plan). */
#include <math.h>

#include "collective/algorithms.h"
#include "collective/crossings.h"
#include "collective/nccl.h"
#include "collective/route_kinds.h"

/* Factor, at least 1, by which a message takes longer than at the full bandwidth of its links,
 * because NCCL's channels to the peer carry less (ms_flow.slowness). */
static double message_slowness(const ms_platform *platform, const ms_coll_request *request) {
    ms_route route;
    int tier = 0;
    ms_platform_route(platform, request->gpus[0], request->gpus[1], &route);
    double links_Bps = ms_route_bottleneck_Bps(platform, &route, &tier);
    double channels_Bps = ms_nccl_message_Bps(platform, request->gpus, request->leaves_node);
    return isfinite(links_Bps) && links_Bps > channels_Bps ? links_Bps / channels_Bps : 1.0;
}

/* Lay out one message: a flow over its route, then the latency of the route and the library's
 * overhead. */
ms_status ms_p2p_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan) {
    ms_crossings crossings;
    ms_crossings_init(&crossings, platform, NULL);
    double latency_s = ms_crossings_add(&crossings, request->gpus[0], request->gpus[1]) +
                       ms_nccl_overhead_s(platform);
    crossings.slowness = message_slowness(platform, request);
    ms_status status = ms_crossings_plan(&crossings, request->size_B, latency_s, arena, plan);
    plan->sent_B = request->size_B;
    ms_crossings_release(&crossings);
    return status;
}

/* Upper bound of the number of messages that cross one link in an all-to-all of so many members:
 * for any domain (node, unit, pod), all messages from its members to all others. With it, counts of
 * crossings are known to fit in 32 bits. */
static int64_t most_crossings(const ms_platform *platform, int64_t members) {
    int64_t most = members;
    for (int t = 0; t < platform->tier_count; t++) {
        int64_t inside = ms_platform_domain(platform, t);
        if (inside < ms_platform_gpus(platform)) {
            /* inside * (members - inside) is largest for half of the members */
            inside = inside < members / 2 ? inside : members / 2;
            int64_t crossings = inside * (members - inside);
            most = crossings > most ? crossings : most;
        }
    }
    return most;
}

/* Whether an all-to-all has few enough members: up to 4096 with a route per pair; up to 131072
 * where messages are counted by halves of routes, if the counts fit in 32 bits. Copies that are
 * forwarded inside nodes are not counted so. */
bool ms_exchange_applies(const ms_platform *platform, const ms_coll_request *request) {
    int64_t members = request->members;
    if (members <= MS_PAIRWISE_MEMBERS_MAX) {
        return true;
    }
    bool is_by_halves = request->intra_node_B == 0.0 && ms_platform_rails(platform) > 0;
    return is_by_halves && members <= MS_EXCHANGE_MEMBERS_MAX &&
           most_crossings(platform, members) <= INT32_MAX;
}

/* Lay out an all-to-all. All messages run in one phase, folded into flows by kinds of routes. */
ms_status ms_exchange_plan(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_coll_plan *plan) {
    ms_exchange exchange;
    ms_phase *phase = MS_NEW(arena, ms_phase, 1);
    ms_status status =
        phase == NULL ? MS_E_NOMEM : ms_exchange_init(platform, request, arena, &exchange);
    if (status == MS_OK) {
        const ms_message_set set = ms_exchange_messages(&exchange);
        status = ms_route_kinds_fold(&set, request->is_coarse, arena, phase, &plan->tier);
    }
    if (status != MS_OK) {
        return status;
    }
    phase->latency_s += ms_nccl_overhead_s(platform);
    plan->sent_B = exchange.sent_B;
    plan->phases = phase;
    plan->phase_count = 1;
    return MS_OK;
}
