/* One optimizer step by the clocks of its pipeline ranks. See estimate.md. */
#ifndef MS_ESTIMATE_STEP_H
#define MS_ESTIMATE_STEP_H

#include "estimate/clocks.h"
#include "estimate/segment_times.h"

/* What is run. */
typedef struct ms_step_input {
    const ms_program *program;
    const ms_order *order; /* of the program */
    const ms_stage_costs *costs;
    bool is_blocking;
    bool is_validated_late;
    int steps;
} ms_step_input;

/* Share of a bound that stays one although its sums are rounded in another order. */
#define MS_BOUND_SHARE (1.0 - 1e-9)

/* Time of a step.
 *  timing: where, and whether as expected or as a bound.  arena: scratch.  *step_s_out: from a
 * common start to the last end on any rank; of several steps, what one adds.  Returns MS_OK;
 * MS_E_NOMEM (not reported); MS_E_INPUT (reported). */
ms_status ms_step_run(const ms_step_input *in, const ms_timing *timing, ms_arena *arena,
                      double *step_s_out);

#endif
