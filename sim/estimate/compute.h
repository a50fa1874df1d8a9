/* Computation of pipeline ranks. */
#ifndef MS_ESTIMATE_COMPUTE_H
#define MS_ESTIMATE_COMPUTE_H

#include "meshsim/schedule.h"
#include "meshsim/stage_costs.h"

/* Computation of one pass over a stage [s]; collectives count nothing.  O(segments). */
double ms_compute_pass_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass);

/* Computation of a pipeline rank in a step, with nothing beside it that slows it down: passes of
 * all microbatches, and the optimizer [s].  O(its actions * segments). */
double ms_compute_rank_s(const ms_program *program, const ms_stage_costs *costs, int p);

/* What a GPU computes in a step at least: mean over all pipeline ranks, less what rounding may add
 * to it here and take from it in a simulation [s].  O(actions * segments). */
double ms_compute_least_s(const ms_program *program, const ms_stage_costs *costs);

#endif
