/**
 * @file
 * Memory options: what a job could change to need less memory, and how much each change would save.
 */
#ifndef MESHSIM_MEMORY_OPTIONS_H
#define MESHSIM_MEMORY_OPTIONS_H

#include <stdbool.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/model.h"
#include "meshsim/platform.h"
#include "meshsim/schedule.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

enum { MS_MEMORY_OPTIONS_MAX = 12 };

/** A job that is laid out. All borrowed. */
typedef struct ms_memory_options_input {
    const ms_platform *platform;
    const ms_model *model; /**< NULL: costs are given */
    const ms_model_layout *layout;
    const ms_precision *precision;
    const ms_program *program;
    const ms_stage_costs *costs; /**< of model and layout */
} ms_memory_options_input;

/** One change on its own. */
typedef struct ms_memory_option {
    const char *setting; /**< what to set, such as "recompute=full", in the arena */
    const char *note;    /**< what it costs, static text */
    double peak_B;       /**< highest peak of a pipeline rank with it */
    double saved_B;      /**< less than today's peak, > 0 */
    bool fits;           /**< whether the job then fits */
} ms_memory_option;

/** List the changes that save memory, largest saving first.
 *  options_out: [MS_MEMORY_OPTIONS_MAX].  *count_out: entries filled; 0 for a
 * job with given costs. Changes that the model cannot take (degrees that do not divide,
 * combinations that are not built) are left out. Returns MS_OK; MS_E_NOMEM.  O(changes * (stages +
 * passes)). */
ms_status ms_memory_options_find(const ms_memory_options_input *input, ms_arena *arena,
                                 ms_memory_option *options_out, int *count_out);

MS_END_DECLS

#endif
