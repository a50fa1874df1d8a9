/* A lower bound of a step from its computations alone, before its order of passes and its groups
 * are known: the first test of each candidate of a search. See estimate.md ("the early bound"). */
#ifndef MS_ESTIMATE_WORK_BOUND_H
#define MS_ESTIMATE_WORK_BOUND_H

#include "base/memo.h"
#include "job/spec.h"

/* Computation time of a microbatch on one rank if the model were a single pipeline stage. */
typedef struct ms_microbatch_work {
    double all_s;   /* all layers, the embedding and the head, forward and backward [s] */
    double layer_s; /* the layer with the least time, forward and backward [s]; 0: not known */
} ms_microbatch_work;

/* Make an empty memo of ms_microbatch_work; the caller releases it with ms_memo_release. */
void ms_work_bounds_init(ms_memo *bounds);

/* Lower bounds of a job; 0: nothing is known so early. */
typedef struct ms_work_bound {
    double step_s; /* of the time of a step [s] */
    double busy_s; /* of the computation per GPU in a step, mean over all GPUs [s] */
} ms_work_bound;

/* Bound a job.
 *  bounds: of ms_work_bounds_init; keeps the work of microbatches for later calls.  job: as
 * ms_job_shape left it.  scratch: gets storage that is not needed after the call.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(1), and O(segments of a layer) where a microbatch's work is new. */
ms_status ms_work_bound_find(ms_memo *bounds, const ms_job *job, ms_arena *scratch,
                             ms_work_bound *bound_out);

#endif
