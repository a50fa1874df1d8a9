/**
 * @file
 * Knobs: what a job could change to need less memory, and how much each change would save.
 */
#ifndef MESHSIM_KNOBS_H
#define MESHSIM_KNOBS_H

#include <stdbool.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/job.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

enum { MS_KNOBS_MAX = 12 };

/** One change on its own. */
typedef struct ms_knob {
    const char *setting; /**< what to set, such as "recompute=full", in the arena */
    const char *note;    /**< what it costs, static text */
    double peak_B;       /**< highest peak of a pipeline rank with it */
    double saved_B;      /**< less than today's peak, > 0 */
    bool fits;           /**< whether the job then fits */
} ms_knob;

/** List the changes that save memory, largest saving first.
 *  job: with a model.  knobs_out: [MS_KNOBS_MAX].  *count_out: entries filled; 0 for a job with
 * given costs. Changes that the model cannot take (degrees that do not divide, combinations that
 * are not built) are left out. Returns MS_OK; MS_E_NOMEM.  O(changes * (stages + passes)). */
ms_status ms_knobs_find(const ms_job *job, ms_arena *arena, ms_knob *knobs_out, int *count_out);

MS_END_DECLS

#endif
