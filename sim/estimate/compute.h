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

/* A lower bound of the computation of a GPU in a step, the mean over all pipeline ranks [s]: as if
 * every rank were as fast as the job's fastest, less the share by which sums in another order may
 * differ.  costs: of the counts' program; the job's ranks may have factors.
 *  O(stages + segments of different stages + P). */
double ms_compute_bound_s(const ms_job *job, const ms_pass_counts *counts,
                          const ms_stage_costs *costs);

#endif
