/**
 * @file
 * Spaces of jobs: a workload in which some keys may have several values each, on some clusters.
 *
 * A candidate is a number. Its digits, in a system of as many places as there are axes, say which
 * cluster, mesh and value of every key it has, so that any process can make the same candidate of
 * the same number, and several can share a space by taking every n-th of it. What a number stands
 * for is a spec, and a list of settings that make a workload file the same job (`run --set`).
 */
#ifndef MESHSIM_SPACE_H
#define MESHSIM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** What a user asks for. All is borrowed, and outlives the space. */
typedef struct ms_space_request {
    const ms_job_request *job; /**< the workload, with its own overrides */
    ms_words varied;           /**< "key.path=v1,v2,...": values as YAML has them in a list. Of an
                                    axis of the mesh also "all", its divisors of the GPUs. A value
                                    that is a mapping sets the keys below that path together */
    const ms_node *const *places;   /**< [varied.count] where a file says them, NULL: the command
                                       line; NULL: all are the command line's */
    const ms_node *gpus_place;      /**< where a file says `gpus`; NULL: the command line */
    const ms_node *platforms_place; /**< likewise */
    ms_ints gpus;       /**< numbers of GPUs; count 0: those of the workload's platform */
    ms_words platforms; /**< names or paths of platform files; count 0: the workload's */
    bool has_defaults;  /**< vary the keys of the default space, too, beside `varied` */
} ms_space_request;

/** The keys of a space's file, for schemas. */
extern const ms_field MS_SPACE_FIELDS[];

/** Add to a request what a file asks for: `usual`, `gpus`, `platforms`, and `vary` with keys and
 * their values. What the request has already stays, and counts instead of the file's.
 *  Returns MS_OK; MS_E_INPUT with every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_space_read_file(const char *path, ms_arena *arena, ms_diag *diag,
                             ms_space_request *request);

/** A space. */
typedef struct ms_space ms_space;

/** Read the workload, and lay out the space of its candidates.
 *  *space_out: in `arena`.  Returns MS_OK; MS_E_INPUT or MS_E_USAGE for a fault of the workload, a
 * platform, or a value that its key cannot have (reported); MS_E_IO; MS_E_NOMEM (reported).
 * O(values of the keys + meshes). */
ms_status ms_space_open(const ms_space_request *request, ms_arena *arena, ms_diag *diag,
                        ms_space **space_out);

/** How many numbers there are: candidates are 0 .. count - 1, less those that ms_space_spec says
 * are no candidates of their own.  O(1). */
int64_t ms_space_count(const ms_space *space);

/** The workload as it stands in its file.  Borrowed from the space.  O(1). */
const ms_job_spec *ms_space_base(const ms_space *space);

/** The spec of a candidate, not checked across its keys.
 *  index: below the count.  diag: hears what is wrong with values that cannot stand together.
 *  *spec_out: borrows from the space.  Returns MS_OK; MS_E_NO where the number stands for the same
 * job as a lower one; MS_E_INPUT where a file with the candidate's settings cannot be read
 * (reported the first time); MS_E_IO; MS_E_NOMEM.  O(keys), and once for each combination of values
 * that are read with the file, O(file). */
ms_status ms_space_spec(ms_space *space, int64_t index, ms_diag *diag, ms_job_spec *spec_out);

/** Settings of a candidate, which make `run WORKLOAD --set ...` the same job.
 *  *settings_out: "key.path=value", in `arena`.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_space_settings(const ms_space *space, int64_t index, ms_arena *arena,
                            ms_words *settings_out);

/** A key that a space varies, for whoever describes it. */
typedef struct ms_space_axis_view {
    const char *key;
    size_t values; /**< how many it may have; of an axis of the mesh 0 if any divisor */
} ms_space_axis_view;

/** The keys that a space varies.  *axes_out: in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_space_axes(const ms_space *space, ms_arena *arena, const ms_space_axis_view **axes_out,
                        size_t *count_out);

#endif
