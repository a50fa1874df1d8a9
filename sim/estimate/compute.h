/* Computation times of passes and pipeline ranks, without communication. */
#ifndef MS_ESTIMATE_COMPUTE_H
#define MS_ESTIMATE_COMPUTE_H

#include "base/arena.h"
#include "job/spec.h"

/* Computation time of one pass over a stage, without collectives, at a factor of 1 [s].  costs:
 * those that `stage` is of.  O(segments). */
double ms_compute_pass_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass);

/* Computation time of a step on the slowest rank of pipeline rank `p`: passes of all microbatches,
 * and the update, without slow-down by communication [s].  O(actions of p * segments). */
double ms_compute_rank_s(const ms_job *job, int p);

/* How often each pass runs in a step, over all microbatches and pipeline ranks. Depends on the
 * program alone. */
typedef struct ms_pass_counts {
    const int *passes; /* [slices][model stages][MS_PASS_COUNT] number of runs */
    int slices, stages, pipeline_ranks;
} ms_pass_counts;

/* Count the passes of a program.  *counts_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(actions). */
ms_status ms_compute_count(const ms_program *program, ms_arena *arena, ms_pass_counts *counts_out);

/* Lower bound of the computation time per GPU and step at a factor of 1, mean over all pipeline
 * ranks [s]; reduced by a share for rounding, so that no simulation is below it.  costs: of the
 * program that was counted.
 *  O(stages + segments of different stages). */
double ms_compute_least_s(const ms_pass_counts *counts, const ms_stage_costs *costs);

#endif
