/* The building blocks of V-Half and V-Min.
 * Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024 (arXiv 2405.15362). */
#include "schedule/kinds/v_memory.h"

static int half_offset(int ranks, int rank, ms_pass pass, int chunk) {
    int gap = ranks % 2 == 0 ? 3 : 0;
    if (pass == MS_PASS_F) {
        return chunk == 0 ? 2 * rank : 3 * ranks - rank - 2;
    }
    return chunk == 1 ? 3 * ranks + gap + 2 * rank - 1 : 6 * ranks + gap - rank - 2;
}

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
