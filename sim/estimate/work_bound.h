/* A bound of a step from its computations alone, before anything is laid out. See estimate.md. */
#ifndef MS_ESTIMATE_WORK_BOUND_H
#define MS_ESTIMATE_WORK_BOUND_H

#include "base/memo.h"
#include "job/spec.h"

/* What a microbatch computes on one group of tp and cp ranks, if all stages were one. */
typedef struct ms_microbatch_work {
    double all_s;   /* of all layers, the embedding and the head, forwards and backwards */
    double layer_s; /* of the layer with the least, forwards and backwards */
} ms_microbatch_work;

/* A memo of the work of microbatches; the caller releases it with ms_memo_release. */
void ms_work_bounds_init(ms_memo *bounds);

/* What is bound. */
typedef struct ms_work_bound {
    double step_s; /* no step takes less */
    double busy_s; /* no GPU computes less in a step, mean over all */
} ms_work_bound;

/* Bound a job.  job: as ms_job_shape left it.  scratch: what is in it is no longer needed then.
 *  bounds: of ms_work_bounds_init.  *bound_out: 0 where nothing is known so early.  Returns MS_OK;
 * MS_E_NOMEM (not reported). O(1), and O(segments of a layer) where a microbatch's work is new. */
ms_status ms_work_bound_find(ms_memo *bounds, const ms_job *job, ms_arena *scratch,
                             ms_work_bound *bound_out);

#endif
