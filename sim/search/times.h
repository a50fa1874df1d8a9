/**
 * @file
 * Times of many kernels and collectives by the cost model, for programs that fit, validate or draw.
 *
 * A file names a platform, points and, if it wants to, variants of the platform, each a list of
 * overrides; every point is timed on every variant. Kernels take what the curves of the GPU type
 * say, also where the type has measured ones.
 */
#ifndef MESHSIM_TIMES_H
#define MESHSIM_TIMES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/platform/platform.h"

/** How a benchmark timed a collective, and with it what its times hold beside the library's own. */
typedef enum ms_coll_timing {
    MS_TIMING_QUEUED,     /**< calls queue up on every GPU, and no host holds them up */
    MS_TIMING_ONE_THREAD, /**< calls queue up, and one thread launches them on all GPUs in turn */
    MS_TIMING_LONE_CALL,  /**< one call at a time on idle GPUs, from PyTorch */
} ms_coll_timing;

/** A collective as a benchmark runs it, on the first GPUs of a platform. */
typedef struct ms_timed_collective {
    int timing;    /**< ms_coll_timing */
    int ranks;     /**< >= 2 */
    int nodes;     /**< that they are on; 0: as many as the platform needs for them */
    double size_B; /**< as ms_coll_request counts it [B] */
} ms_timed_collective;

/** The time that a benchmark measures for a collective which takes the library `time_s` [s]: it
 * includes the host's time that the collective does not hide. */
double ms_timed_s(const ms_timed_collective *c, const ms_platform *platform, double time_s);

/** A kernel or collective to time. */
typedef struct ms_timed_point {
    int kind;                        /**< index into MS_TIMED_KINDS */
    double sizes[MS_MEASURED_SIZES]; /**< of a kernel, as ms_measured_row has them */
    ms_timed_collective collective;
    const ms_node *node; /**< where it stands, for faults; NULL: nowhere */
} ms_timed_point;

/** A kind of points. */
typedef struct ms_timed_kind {
    const char *name;
    const ms_field *fields;    /**< keys of a point */
    int sizes;                 /**< of a kernel [count]; 0: a collective */
    ms_measured_kernel kernel; /**< of a kernel */
    ms_coll_kind coll;         /**< MS_COLL_NONE: a kernel */
} ms_timed_kind;

/** The kinds, kernels first, a row without a name behind the last. */
extern const ms_timed_kind MS_TIMED_KINDS[];

/** What to time, and what was found. */
typedef struct ms_times {
    const char *name;             /**< of the platform, or its path; NULL: the file has none */
    ms_node *changes;             /**< overrides of it, for every variant */
    const char *const *folders;   /**< where it is looked for */
    const ms_timed_point *points; /**< [point_count] */
    size_t point_count;
    const ms_words *variants; /**< [variant_count] further overrides, "key.path=value" */
    size_t variant_count;     /**< >= 1 */
    ms_platform platform;     /**< found: with `changes` alone */
    const ms_node *keys;      /**< found: of that, see ms_platform_list */
    double *times_s;          /**< found: [variant_count][point_count] */
} ms_times;

/** Read what to time.
 *  path: of its file.  data_folder: as in ms_platform_folders.  *times_out: in `arena`.  Returns
 * MS_OK; MS_E_INPUT, every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_times_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_times *times_out);

/** Find the time of every point (a kernel or a collective) on every variant of the platform (one
 * list of overrides each).
 *  times: as ms_times_read left it; its members `platform`, `keys` and `times_s` are set, in
 * `arena`.  Returns MS_OK; MS_E_INPUT (reported) for a platform that cannot be read, or that does
 * not have a point's GPUs; MS_E_IO; MS_E_NOMEM.  Memory: one platform beside the result. */
ms_status ms_times_run(ms_times *times, ms_arena *arena, ms_diag *diag);

/** The number that a scalar of a platform's keys says, in SI; NAN where it says none. */
double ms_key_number(const ms_node *node);

#endif
