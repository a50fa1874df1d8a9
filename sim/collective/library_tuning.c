/* Takes from NCCL's cost model (nccl.h) what a plan needs besides the links: the latency of the
 * algorithm's steps, the overhead of a call, and the share of the bandwidth that the protocol
 * reaches. */
#include "collective/library_tuning.h"

#include <math.h>

#include "collective/nccl.h"

/* Find the library's latencies of a request, and begin the collection of its routes with the
 * protocol's slowness. Without a protocol there is no library, and nothing is added to the
 * platform's latencies. */
ms_status ms_tuned_find(const ms_platform *platform, const ms_coll_request *request,
                        ms_crossings *crossings, ms_tuned *tuned_out) {
    ms_nccl_comm comm;
    ms_crossings_init(crossings, platform, request);
    *tuned_out = (ms_tuned){0};
    if (request->protocol == MS_PROTOCOL_AUTO) {
        return MS_OK;
    }
    ms_status status = ms_nccl_comm_find(platform, request->gpus, request->members, &comm);
    if (status != MS_OK) {
        return status;
    }
    /* The model's latency contains one link latency per step, as of a ring step with Simple. Routes
     * of the platform count only with what they take beyond it, such as long cables; every protocol
     * pays that. */
    const ms_library *library = platform->library;
    crossings->node_step_s = library->link_step_s[0];
    crossings->net_step_s = library->link_step_s[1];
    const ms_library_generation *generation = &library->generations[platform->gpu.generation];
    double size_B = request->choice_B > 0.0 ? request->choice_B : request->size_B;
    crossings->slowness = 1.0 / ms_nccl_share(platform, &comm, request);
    ms_library_ramp ramp = ms_nccl_ramp(platform, request->protocol);
    tuned_out->overhead_s = generation->overhead_s + ms_library_ramp_s(&ramp, size_B);
    tuned_out->steps_s = ms_nccl_latency_s(platform, &comm, request, size_B);
    return MS_OK;
}

double ms_tuned_latency_s(const ms_tuned *tuned, double links_s) {
    return tuned->overhead_s + fmax(0.0, tuned->steps_s + links_s);
}
