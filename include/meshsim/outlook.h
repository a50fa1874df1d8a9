/**
 * @file
 * Outlook: what can be said of a job without simulating it: memory per pipeline rank from the order
 * of its passes, and the step time that computation alone allows.
 */
#ifndef MESHSIM_OUTLOOK_H
#define MESHSIM_OUTLOOK_H

#include <stdbool.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/job.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** One pipeline rank. Memory at its peak. */
typedef struct ms_rank_outlook {
    int layers;          /**< transformer layers of all its virtual stages */
    double compute_s;    /**< passes of all microbatches, and the optimizer */
    double static_B;     /**< parameters, gradients, optimizer state, and whole parameters that are
                            gathered when memory peaks */
    double activation_B; /**< kept activations when memory peaks */
    double buffer_B;     /**< working memory of the pass that runs then */
    double peak_B;       /**< sum of the three and of what the allocator loses */
} ms_rank_outlook;

/** A whole job. */
typedef struct ms_outlook {
    ms_rank_outlook *ranks; /**< [P] */
    int peak_rank;          /**< pipeline rank with the highest peak */
    double capacity_B;      /**< HBM minus the stated reserve */
    bool fits;
    double ideal_step_s; /**< the schedule with these computations and free communication, optimizer
                            included; parts of a sequence count alike; where steps are validated
                            late, what one adds to many */
    double busiest_s;    /**< computation and optimizer of the busiest pipeline rank */
    double bubble_fraction; /**< idle share of the schedule under the same assumptions, without the
                               optimizer */
} ms_outlook;

/** Times of a job's passes on paper: computation alone, for parts of a sequence their mean.
 *  *costs_out: [model_stages] lists in `arena` [s], messages free.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(stages * segments of a pass). */
ms_status ms_outlook_times(const ms_job *job, ms_arena *arena, ms_schedule_costs *costs_out);

/** Compute the outlook.
 *  *outlook_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (reported); MS_E_INPUT if the schedule
 * deadlocks.  O(actions). */
ms_status ms_outlook_compute(const ms_job *job, ms_arena *arena, ms_diag *diag,
                             ms_outlook *outlook_out);

MS_END_DECLS

#endif
