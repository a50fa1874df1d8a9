/* Parallel aggregated trees among nodes of one member each: round k of log2(n) exchanges with the
 * node 2^k further, the farthest first with one part, then twice as many parts over half the way.
 * Source: S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale
 * (2025), section on the reversed Bruck algorithm. */
#include "collective/algorithms.h"
#include "collective/tuned.h"

/* A round in which every member sends `parts` parts to the one `distance` further. */
static void add_round(const ms_coll_request *request, int distance, int parts,
                      ms_crossings *crossings) {
    int n = request->members;
    for (int i = 0; i < n; i++) {
        ms_crossings_add_weighted(crossings, request->gpus[i], request->gpus[(i + distance) % n],
                                  parts);
    }
}

ms_status ms_pat_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan) {
    int n = request->members;
    int distance = 1, rounds = 1, parts = 1, left = n - 1;
    for (; 2 * distance < n; distance *= 2) {
        rounds++;
    }
    ms_crossings crossings;
    ms_tuned tuned;
    ms_status status = ms_tuned_find(platform, request, &crossings, &tuned);
    for (; distance >= 1 && status == MS_OK; distance /= 2) {
        int sent = distance == 1 || parts > left ? left : parts;
        add_round(request, distance, sent, &crossings);
        left -= sent;
        parts *= 2;
    }
    plan->sent_B = (n - 1.0) / n * request->size_B;
    if (status == MS_OK) {
        status = ms_crossings_plan(&crossings, request->size_B / n / tuned.share,
                                   ms_tuned_latency_s(&tuned, rounds * crossings.latency_max_s),
                                   arena, plan);
    }
    ms_crossings_release(&crossings);
    return status;
}
