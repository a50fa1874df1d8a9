/**
 * @file
 * What makes an evaluated schedule longer than its closed form, and what one more microbatch costs.
 */
#ifndef MESHSIM_SCHEDULE_STUDY_H
#define MESHSIM_SCHEDULE_STUDY_H

#include "schedule/schedule.h"

/** A makespan in parts: base + order + imbalance + latency. */
typedef struct ms_schedule_gap {
    double base;          /**< closed form with equal stages and free messages; without one: work */
    bool has_closed_form; /**< `base` is a closed form; else the mean work of a rank */
    double order;         /**< what the order adds to the base with equal stages, free messages */
    double imbalance;     /**< what unequal stages add, messages still free; may be negative */
    double latency;       /**< what the latency of messages (and blocking sends) adds */
} ms_schedule_gap;

/** Take the makespan of a program apart, by evaluating it with equal stages (each at the mean) and
 * free messages, then with its own stages, then as it is.
 *  makespan: of the program with `costs`.  Returns MS_OK; MS_E_NOMEM (reported).  O(actions). */
ms_status ms_schedule_explain(const ms_program *program, const ms_schedule_costs *costs,
                              double makespan, ms_diag *diag, ms_schedule_gap *gap_out);

/** Time that one more microbatch takes in the long run, never less than the busiest rank works.  A
 * generated schedule is built again with so many microbatches that the pipeline is full most of the
 * time, M' and M'' multiples of M and a multiple of P apart: (makespan(M'') - makespan(M')) / (M''
 * - M').  For one from a file, or one too large for that: the mean distance of the times at which
 * microbatches leave the first stage backwards, over the middle half.
 *  *period_out: 0 if there are too few microbatches to tell.  Returns MS_OK; MS_E_NOMEM (reported).
 *  O(actions), of schedules with up to 8 V times as many microbatches as ranks, and M more. */
ms_status ms_schedule_period(const ms_program *program, const ms_schedule_costs *costs,
                             const ms_schedule_result *result, ms_diag *diag, double *period_out);

#endif
