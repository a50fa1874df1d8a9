/* The time of one optimizer step from the clocks of its pipeline ranks: the passes (clocks.h), then
 * the collectives and updates at the end of the step. See estimate.md. */
#ifndef MS_ESTIMATE_STEP_H
#define MS_ESTIMATE_STEP_H

#include "estimate/clocks.h"
#include "estimate/segment_times.h"
#include "estimate/sharing.h"

/* Input of ms_step_estimate beside the job. All borrowed. */
typedef struct ms_step_context {
    const ms_order *order; /* of the job's program */
    ms_comm_classes *comm; /* of the job's mesh and platform */
    ms_layout_storage *space;
    ms_arena *scratch;   /* storage that the caller clears after the call */
    ms_sharing *sharing; /* for contention of pipeline ranks on shared links; NULL: neglected */
    double bound_slack;  /* share of the step by which the bound may be too low, where that saves a
                            second run of the clocks; 0: none */
} ms_step_context;

/* Estimate the time of a step, and a lower bound of the step in any simulation: the same
 * computation with every group alone on the links. If no time is shorter alone than 1 - e of its
 * estimate, the bound is at least 1 - e of the step, which only adds times and takes maxima: where
 * e is at most bound_slack, this product is the bound. *step_s_out, *bound_s_out: [s]; bound_s_out
 * may be NULL, then no bound is computed.  Returns MS_OK; MS_E_NOMEM (not reported); MS_E_INPUT
 * (reported). */
ms_status ms_step_estimate(const ms_job *job, const ms_step_context *context, double *step_s_out,
                           double *bound_s_out);

#endif
