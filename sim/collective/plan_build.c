/* Entry of the layout of collectives (ms_coll_plan_build): chooses the row of the table of
 * algorithms for a request, and has the row's function fill in the phases of the plan. */
#include "collective/collective.h"

/* Choose the algorithm for a request and lay the request out. A group of one member gets a plan
 * without phases, which takes no time. */
ms_status ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                             ms_arena *arena, ms_coll_plan *plan_out) {
    bool is_p2p = request->kind == MS_COLL_P2P;
    if (!(request->size_B >= 0.0) || (is_p2p ? request->members != 2 : request->members < 1)) {
        return MS_E_RANGE;
    }
    ms_protocol protocol = MS_PROTOCOL_AUTO;
    const ms_coll_algorithm_row *row = ms_coll_choose(platform, request, &protocol);
    if (row == NULL) {
        return MS_E_RANGE;
    }
    ms_coll_plan plan = {.kind = request->kind,
                         .algorithm = row->algorithm,
                         .protocol = protocol,
                         .members = request->members,
                         .size_B = request->size_B,
                         .tier = -1};
    ms_coll_request chosen = *request;
    chosen.algorithm = row->algorithm;
    chosen.protocol = protocol;
    ms_status status = request->members > 1 ? row->plan(platform, &chosen, arena, &plan) : MS_OK;
    if (status == MS_OK) {
        *plan_out = plan;
    }
    return status;
}

/* Bus bandwidth of a collective from its time, by the factors of nccl-tests. */
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
