/* Looped breadth-first: a rank runs the forward passes of all microbatches on its first chunk, then
 * on its next chunk, and so on; then all backward passes, from the last chunk to the first. Source:
 * Lamy-Poirier, "Breadth-First Pipeline Parallelism", MLSys'23; order of PyTorch's
 * torch.distributed.pipelining.ScheduleLoopedBFS, which runs the backwards last in first out. */
#include "schedule/internal.h"

/* Append a rank's list; chunk c of rank r is stage c P + r. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    for (int chunk = 0; chunk < spec->chunks; chunk++) {
        for (int mb = 0; mb < spec->microbatches; mb++) {
            ms_action_list_add(list, MS_PASS_F, chunk * spec->pipeline_ranks + rank, mb);
        }
    }
    for (int chunk = spec->chunks - 1; chunk >= 0; chunk--) {
        for (int mb = spec->microbatches - 1; mb >= 0; mb--) {
            ms_action_list_add(list, MS_PASS_B, chunk * spec->pipeline_ranks + rank, mb);
        }
    }
}

/* Closed form of the makespan for even costs and M >= P: (VM+P-1)(f+b) + 2(P-1)l, with forward time
 * f and backward time b of a virtual stage and latency l. It holds while the messages from the last
 * rank back to the first arrive before the first rank needs them for its next chunk: (M-P) min(f,b)
 * >= P l.  Source: derived by exhaustive evaluation; tests/unit/schedule sweeps it. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    double ranks = program->spec.pipeline_ranks;
    double microbatches = program->spec.microbatches;
    ms_even_costs even;
    if (microbatches < ranks || !ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    double shorter = even.forward < even.backward ? even.forward : even.backward;
    if ((microbatches - ranks) * shorter < ranks * even.p2p) {
        return false;
    }
    *makespan_out =
        (program->spec.chunks * microbatches + ranks - 1) * (even.forward + even.backward) +
        2 * (ranks - 1) * even.p2p;
    return true;
}

const ms_schedule_type ms_schedule_looped_bfs = {
    .name = "looped_bfs",
    .passes = 2,
    .directions = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
    .formula = formula,
};
