/* Computation of pipeline ranks. */
#ifndef MS_ESTIMATE_COMPUTE_H
#define MS_ESTIMATE_COMPUTE_H

#include "base/arena.h"
#include "job/spec.h"

/* Computation of one pass over a stage [s]; collectives count nothing.  O(segments). */
double ms_compute_pass_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass);

/* Computation of a pipeline rank's slowest rank in a step, with nothing beside it that slows it
 * down: passes of all microbatches, and the optimizer [s].  O(its actions * segments). */
double ms_compute_rank_s(const ms_job *job, int p);

/* How often each pass runs in a step, over all microbatches and pipeline ranks; follows from a
 * program alone. */
typedef struct ms_pass_counts {
    const int *passes; /* [slices][model stages][MS_PASS_COUNT] */
    int slices, stages, pipeline_ranks;
} ms_pass_counts;

/* Count the passes of a program.  *counts_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(actions). */
ms_status ms_compute_count(const ms_program *program, ms_arena *arena, ms_pass_counts *counts_out);

/* A lower bound of the computation of a GPU in a step, the mean over all pipeline ranks [s]: as if
 * every rank were as fast as the job's fastest, less the share by which sums in another order may
 * differ.  costs: of the counts' program; the job's ranks may have factors.
 *  O(stages + segments of different stages + P). */
double ms_compute_least_s(const ms_job *job, const ms_pass_counts *counts,
                          const ms_stage_costs *costs);

#endif
