/**
 * @file
 * Memory options: what a job could change to need less memory, and how much each change would save;
 * and for a job that does not fit, the smallest change of its mesh and of its sharding that fits.
 */
#ifndef MESHSIM_MEMORY_OPTIONS_H
#define MESHSIM_MEMORY_OPTIONS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** Maximum number of changes that are listed. */
enum { MS_MEMORY_OPTIONS_MAX = 12 };

/** One change on its own. */
typedef struct ms_memory_option {
    ms_words sets;    /**< overrides "key.path=value" that make the change, in the arena */
    const char *note; /**< the cost of the change in words, static text */
    double peak_B;    /**< highest peak of a pipeline rank with the change [B] */
    double saved_B;   /**< the job's present peak minus peak_B, > 0 [B] */
    bool fits;        /**< whether the job fits in memory with the change */
} ms_memory_option;

/** List the changes that save memory, largest saving first.
 *  spec: as ms_job_spec_read left it.  options_out: [MS_MEMORY_OPTIONS_MAX].  *count_out: entries
 * filled; 0 for a job with given costs. Each change was tried: the job was read with its overrides,
 * and laid out. Changes that are refused (degrees that do not divide, combinations that are not
 * built) are left out. Returns MS_OK; MS_E_INPUT (reported) for a job that cannot be laid out;
 * MS_E_IO; MS_E_NOMEM (reported).  O(changes * (stages + passes)). */
ms_status ms_memory_options_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                 ms_memory_option *options_out, int *count_out);

/** A change of the mesh, with the same number of ranks, of the sharding (data_parallel.zero and
 * reduce), of recomputation and of sequence parallelism. */
typedef struct ms_fitting_change {
    bool is_tried; /**< at least one change could be laid out; else the other fields are unset */
    bool fits;     /**< the job fits with this change; else with no change, and this one has the
                      smallest peak */
    ms_words sets; /**< overrides "key.path=value" that make the change, in the arena; count 0: no
                      change lowers the job's peak */
    double peak_B; /**< highest peak of a pipeline rank with the change [B] */
    double step_s; /**< estimated step with the change, as ms_estimator_run; 0 where the job does
                      not fit [s] */
} ms_fitting_change;

/** Find the smallest change with which a job fits in memory: the fewest overrides first, among
 * these the shortest estimated step. The number of sequences per step stays. tp, cp and ep are
 * powers of two or keep their size, tp is at most the number of ranks that share the fast links, pp
 * is any divisor of the ranks.
 *  spec: as ms_job_spec_read left it.  *change_out: its lists in `arena`; is_tried is false for a
 * job with given costs.  Returns MS_OK; MS_E_IO; MS_E_NOMEM (reported).  O(meshes * (stages +
 * passes)). */
ms_status ms_fitting_change_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                 ms_fitting_change *change_out);

#endif
