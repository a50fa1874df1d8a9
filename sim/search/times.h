/**
 * @file
 * Times of many kernels and collectives by the cost model, for programs that fit, validate or draw.
 *
 * A file names a platform, points (kernels or collectives with their sizes) and, optionally,
 * variants of the platform, each a list of overrides. Every point is timed on every variant.
 * Kernels are timed by the curves of the GPU type, even where the type has measured kernels.
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

/** How a benchmark timed a collective, which decides what its times include beside the library's
 * own time. */
typedef enum ms_coll_timing {
    MS_TIMING_QUEUED,     /**< calls queue up on every GPU, and no GPU waits for a host */
    MS_TIMING_ONE_THREAD, /**< calls queue up, and one thread launches them on all GPUs in turn */
    MS_TIMING_LONE_CALL,  /**< one call at a time on idle GPUs, from PyTorch */
} ms_coll_timing;

/** A collective as a benchmark runs it, on the first GPUs of a platform. */
typedef struct ms_timed_collective {
    int timing;    /**< ms_coll_timing */
    int ranks;     /**< >= 2 */
    int nodes;     /**< nodes of the ranks; 0: as few as the platform needs for them */
    double size_B; /**< as ms_coll_request counts it [B] */
} ms_timed_collective;

/** The time that a benchmark measures for a collective [s]: the library's own time and the host's
 * time that is not hidden behind it. time_s: the library's own time [s]. */
double ms_timed_s(const ms_timed_collective *c, const ms_platform *platform, double time_s);

/** A kernel or collective to time. */
typedef struct ms_timed_point {
    int kind;                        /**< index into MS_TIMED_KINDS */
    double sizes[MS_MEASURED_SIZES]; /**< of a kernel, in the order of ms_measured_row */
    ms_timed_collective collective;
    const ms_node *node; /**< its place in the file, for messages; NULL: none */
} ms_timed_point;

/** A kind of points. */
typedef struct ms_timed_kind {
    const char *name;
    const ms_field *fields;    /**< keys of a point */
    int sizes;                 /**< number of sizes of a kernel; 0: a collective */
    ms_measured_kernel kernel; /**< MS_MEASURED_COUNT: a collective */
    ms_coll_kind coll;         /**< MS_COLL_NONE: a kernel */
} ms_timed_kind;

/** The kinds, kernels first, a row without a name behind the last. */
extern const ms_timed_kind MS_TIMED_KINDS[];

/** The points and variants of a file, and their times. */
typedef struct ms_times {
    const char *name;             /**< of the platform, or its path; NULL: the file has none */
    ms_node *changes;             /**< overrides of the platform, for every variant */
    const char *const *folders;   /**< where the platform is looked for; ends with NULL */
    const ms_timed_point *points; /**< [point_count] */
    size_t point_count;
    const ms_words *variants; /**< [variant_count] further overrides, "key.path=value" */
    size_t variant_count;     /**< >= 1 */
    ms_platform platform;     /**< result: the platform with `changes` alone */
    const ms_node *keys;      /**< result: all keys of this platform, see ms_platform_list */
    double *times_s;          /**< result: [variant_count][point_count] [s] */
} ms_times;

/** Read a file of points.
 *  path: of the file. data_folder: as in ms_platform_folders. *times_out: in `arena`, without
 * results. Returns MS_OK; MS_E_INPUT with every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_times_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_times *times_out);

/** Find the time of every point (a kernel or a collective) on every variant of the platform (one
 * list of overrides each).
 *  times: as ms_times_read left it; its members `platform`, `keys` and `times_s` are set, in
 * `arena`.  Returns MS_OK; MS_E_INPUT (reported) for a platform that cannot be read, or that does
 * not have a point's GPUs; MS_E_IO; MS_E_NOMEM.  Memory: one platform beside the result. */
ms_status ms_times_run(ms_times *times, ms_arena *arena, ms_diag *diag);

/** The number of a platform's key, in SI units; NAN if its value is no number. node: of the key. */
double ms_key_number(const ms_node *node);

#endif
