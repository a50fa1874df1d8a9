/**
 * @file
 * Spaces of jobs: a workload in which some keys may have several values each, on some clusters.
 *
 * A candidate is one job of a space and is known by its number. The digits of the number, in mixed
 * radix, are the indices of its mesh on its cluster and of the value of each key. So any process
 * makes the same candidate from the same number, and several processes can share a space. A number
 * gives a spec, and the settings with which `run WORKLOAD --set ...` simulates the same job.
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
#include "base/value.h"
#include "job/spec.h"

/** The parameters of a space. All is borrowed, and outlives the space. */
typedef struct ms_space_request {
    const ms_job_request *job; /**< the workload, with its own overrides */
    ms_words varied;           /**< keys and their values, "key.path=v1,v2,...", the values as in a
                                    list in YAML. For an axis of the mesh also "all", every divisor
                                    of the GPUs. A value that is a mapping sets the keys below the
                                    path together */
    const ms_node *const *nodes;   /**< [varied.count] nodes of these keys in a file, for messages;
                                       NULL: the command line gave the key, or all keys */
    const ms_node *gpus_node;      /**< node of `gpus` in a file; NULL: the command line */
    const ms_node *platforms_node; /**< node of `platforms` in a file; NULL: the command line */
    ms_ints gpus;       /**< numbers of GPUs; count 0: those of the workload's platform */
    const int *limits;  /**< [platforms.count, or 1] maximum number of GPUs of each platform, which
                             has the most whole nodes below it; NULL: `gpus` are exact */
    ms_words own_sets;  /**< overrides of one of the platforms each, "NAME:key.path=value" with a
                             word of `platforms` as NAME */
    ms_words platforms; /**< names or paths of platform files; count 0: the workload's */
    bool has_defaults;  /**< vary the keys of the default space, too, unless `varied` has them */
} ms_space_request;

/** The keys of a space's file, for schemas. */
extern const ms_field MS_SPACE_FIELDS[];

/** Add the contents of a space's file to a request: `usual`, `gpus`, `platforms`, and `vary` with
 * keys and their values. What the request has already is kept, and has precedence over the file.
 *  path: of the file. *request: the added parts are in `arena`. Returns MS_OK; MS_E_INPUT with
 * every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_space_read_file(const char *path, ms_arena *arena, ms_diag *diag,
                             ms_space_request *request);

/** A space. */
typedef struct ms_space ms_space;

/** Read the workload, and lay out the space of its candidates.
 *  request: borrowed, outlives the space. *space_out: in `arena`. Returns MS_OK; MS_E_INPUT or
 * MS_E_USAGE (reported) for a fault of the workload, a platform, or a value that its key cannot
 * have; MS_E_IO; MS_E_NOMEM (reported). O(values of the keys + meshes). */
ms_status ms_space_open(const ms_space_request *request, ms_arena *arena, ms_diag *diag,
                        ms_space **space_out);

/** Open a space in which each platform has the most GPUs up to gpus.items[0] with which some
 * candidate is a legal job.
 *  *request: `limits` is set. Returns as ms_space_open. O(nodes * candidates) at worst. */
ms_status ms_space_open_most(ms_space_request *request, ms_arena *arena, ms_diag *diag,
                             ms_space **space_out);

/** Number of candidates: their numbers are 0 .. count - 1. Some numbers stand for the same job as a
 * lower one; ms_space_spec returns MS_E_NO for these. O(1). */
int64_t ms_space_count(const ms_space *space);

/** The spec of the workload as it was read, without any value of the space. Borrowed from the
 * space. O(1). */
const ms_job_spec *ms_space_base(const ms_space *space);

/** Make the spec of a candidate. Its keys are not checked against each other.
 *  index: number of the candidate, below the count. diag: gets the reason why the workload cannot
 * be read with the candidate's values. *spec_out: borrows from the space. Returns MS_OK; MS_E_NO
 * where the number stands for the same job as a lower one; MS_E_INPUT (reported) where the workload
 * cannot be read with the candidate's settings; MS_E_IO; MS_E_NOMEM. O(keys); O(file) for the first
 * candidate of a template (a combination of values that need the file to be read again). */
ms_status ms_space_spec(ms_space *space, int64_t index, ms_diag *diag, ms_job_spec *spec_out);

/** Make the settings with which `run WORKLOAD --set ...` simulates the same job as a candidate.
 *  index: number of the candidate. *settings_out: "key.path=value", in `arena`. Returns MS_OK;
 * MS_E_NOMEM (not reported). */
ms_status ms_space_settings(const ms_space *space, int64_t index, ms_arena *arena,
                            ms_words *settings_out);

/** The platforms of a space, as the request names them; count 0: the workload's alone. Borrowed
 * from the space. O(1). */
const ms_words *ms_space_platforms(const ms_space *space);

/** The platform of a candidate, an index into ms_space_platforms.  index: number of the candidate,
 * below the count. O(1). */
size_t ms_space_platform_of(const ms_space *space, int64_t index);

/** Whether two candidates differ at most in the order of the mesh's axes. O(1). */
bool ms_space_is_reordered(const ms_space *space, int64_t a, int64_t b);

/** The kinds of schedules that the default space leaves out, and why; NULL: the space has not the
 * default schedules. Borrowed from the space. O(1). */
const char *ms_space_untried(const ms_space *space);

/** Add `no_mesh` to the result of a space without candidates: for each cluster the number of GPUs,
 * the sizes of axes that do not divide it together, and the nearest numbers that they divide.
 * Nothing is added where there are candidates.  A lack of memory shows in the tree's arena. */
void ms_space_add_no_mesh(const ms_space *space, ms_value *root);

/** Whether a value of a varied key, not of the mesh, sets the key of a setting ("key=value" or
 * "key"). O(values of the keys). */
bool ms_space_varies(const ms_space *space, const char *setting);

/** A key that a space varies, for descriptions of the space. */
typedef struct ms_space_axis_view {
    const char *key;
    size_t values; /**< number of its values; 0: an axis of the mesh, any divisor of the GPUs */
} ms_space_axis_view;

/** The keys that a space varies, those of the mesh first. *axes_out: [*count_out] in `arena`.
 * Returns MS_OK; MS_E_NOMEM. */
ms_status ms_space_axes(const ms_space *space, ms_arena *arena, const ms_space_axis_view **axes_out,
                        size_t *count_out);

#endif
