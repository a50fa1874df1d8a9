/* One optimizer step by the clocks of its pipeline ranks. See estimate.md. */
#ifndef MS_ESTIMATE_STEP_H
#define MS_ESTIMATE_STEP_H

#include "estimate/clocks.h"
#include "estimate/segment_times.h"
#include "estimate/sharing.h"

/* What a job's step is run with. */
typedef struct ms_step_place {
    const ms_order *order; /* of the job's program */
    ms_comm_classes *comm;
    ms_plan_space *space;
    ms_arena *scratch;
    ms_sharing *sharing; /* for what pipeline ranks take from each other; NULL: left out */
    double bound_slack;  /* share of the step by which the bound may be lower than need be, where
                            that saves a second run; 0: none */
} ms_step_place;

/* Time of a step, and a bound below any simulation of it: the same with every group alone on the
 * links. Where no communication takes less than 1 - e of its time then, the step takes no less than
 * 1 - e of its own: its times only add up, and the latest counts.
 *  *step_s_out, *bound_s_out: [s]; bound_s_out may be NULL, then no bound is computed.  Returns
 * MS_OK; MS_E_NOMEM (not reported); MS_E_INPUT (reported). */
ms_status ms_step_estimate(const ms_job *job, const ms_step_place *place, double *step_s_out,
                           double *bound_s_out);

#endif
