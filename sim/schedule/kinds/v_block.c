/* The building blocks of V-Half and V-Min: the time slots at which the passes of microbatch 0 run
 * on each rank, where all passes take one slot. Each rank has two stages in a V: chunk 0 is stage
 * r, chunk 1 is stage 2P-1-r. Source: Qi et al., "Pipeline Parallelism with Controllable Memory",
 * 2024 (arXiv 2405.15362). */
#include "schedule/kinds/v_memory.h"

/* Slot of a pass of microbatch 0 in V-Half. pass: F, else I. The sum of the two times from F to I
 * on a rank is 6P + 2 gap - 1 slots on every rank; at one microbatch per 6 slots, about P
 * activations of a chunk are held, half of those of 1F1B (P microbatches of two chunks). The gap
 * for even P keeps the four passes of different microbatches, 6 slots apart, from meeting in a
 * slot. */
static int half_offset(int ranks, int rank, ms_pass pass, int chunk) {
    int gap = ranks % 2 == 0 ? 3 : 0;
    if (pass == MS_PASS_F) {
        return chunk == 0 ? 2 * rank : 3 * ranks - rank - 2;
    }
    return chunk == 1 ? 3 * ranks + gap + 2 * rank - 1 : 6 * ranks + gap - rank - 2;
}

/* Slot of a pass of microbatch 0 in V-Min. pass: F, else I. The sum of the two times from F to I is
 * 4P + 2 gap slots on every rank, so that about a third of the activations of 1F1B are held. The
 * gap, for P a multiple of 3, keeps passes of different microbatches from meeting in a slot. */
static int min_offset(int ranks, int rank, ms_pass pass, int chunk) {
    int gap = ranks % 3 == 0 ? 2 : 0;
    if (pass == MS_PASS_F) {
        return chunk == 0 ? rank : 2 * ranks - rank - 1;
    }
    return chunk == 1 ? 2 * ranks + gap + rank : 4 * ranks + gap - rank - 1;
}

int ms_v_memory_offset(const ms_schedule_spec *spec, int rank, ms_pass pass, int chunk) {
    return spec->kind == MS_SCHEDULE_VHALF ? half_offset(spec->pipeline_ranks, rank, pass, chunk)
                                           : min_offset(spec->pipeline_ranks, rank, pass, chunk);
}
