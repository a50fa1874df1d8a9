/* The time of an all-reduce of one number among all ranks (ms_coll_world_sum), such as the norm of
 * the gradient: 4 bytes.
 *
 * Callers use its time and simulate no flows for it: 4 bytes need hardly any bandwidth, but a flow
 * on every link of the cluster would make every other flow count as contended. */
#include "collective/coll_class.h"

static const double NUMBER_B = 4.0; /* fp32 */

/* The GPUs of all ranks, in the order of the ranks. */
static int *list_gpus(const ms_mesh *mesh, ms_arena *arena) {
    int *gpus = MS_NEW(arena, int, mesh->ranks);
    for (int rank = 0; gpus != NULL && rank < mesh->ranks; rank++) {
        gpus[rank] = ms_mesh_device(mesh, rank);
    }
    return gpus;
}

/* Find the time of an all-reduce of one number among all ranks. Lays out a plan for all ranks as
 * one group, and keeps its time only. */
ms_status ms_coll_world_sum(const ms_platform *platform, const ms_mesh *mesh,
                            const ms_coll_choices *asked, ms_world_sum *sum_out) {
    ms_arena scratch;
    ms_coll_plan plan;
    ms_world_sum sum = {.tier = -1};
    ms_arena_init(&scratch);
    ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                               .algorithm = asked->of[MS_COLL_ALL_REDUCE],
                               .protocol = asked->protocol,
                               .gpus = list_gpus(mesh, &scratch),
                               .members = mesh->ranks,
                               .size_B = NUMBER_B};
    ms_status status =
        request.gpus == NULL ? MS_E_NOMEM : ms_coll_plan_build(platform, &request, &scratch, &plan);
    if (status == MS_E_RANGE) { /* the job's choice does not work for a group of all ranks */
        request.algorithm = MS_ALGORITHM_AUTO;
        request.protocol = MS_PROTOCOL_AUTO;
        status = ms_coll_plan_build(platform, &request, &scratch, &plan);
    }
    status = status == MS_OK ? ms_coll_plan_time(platform, &plan, &sum.time_s) : status;
    if (status == MS_OK) {
        sum.algorithm = plan.algorithm;
        sum.protocol = plan.protocol;
        sum.size_B = plan.size_B;
        sum.sent_B = plan.sent_B;
        sum.tier = plan.tier;
        *sum_out = sum;
    }
    ms_arena_release(&scratch);
    return status;
}
