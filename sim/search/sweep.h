/**
 * @file
 * Sweeps: a workload in which some keys have several values each, read from a sweep's file.
 *
 * workloads/studies/README.md is the reference of the file. An axis is a list of values of one key,
 * or of several keys that change together; axes are crossed. A point is one job, known by its index
 * below the product of the axes' lengths, the last axis running fastest. So any process can make
 * any point.
 */
#ifndef MESHSIM_SWEEP_H
#define MESHSIM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"
#include "search/points.h"
#include "search/table.h"

enum {
    MS_SWEEP_AXES_MAX = 8,
    MS_SWEEP_KEYS_MAX = 16,        /**< of all axes */
    MS_SWEEP_VALUES_MAX = 1000,    /**< of an axis */
    MS_SWEEP_POINTS_MAX = 1000000, /**< of a sweep */
};

/** A key that a sweep varies. */
typedef struct ms_sweep_key {
    const char *path;          /**< as `--set` takes it, such as "mesh.tp" */
    const char *const *values; /**< [count of its axis] as `--set` takes them, such as "25 GB/s" */
    size_t axis;               /**< index of the axis that the key belongs to */
} ms_sweep_key;

/** How a sweep is drawn. */
typedef enum ms_sweep_drawing { MS_DRAW_LINES, MS_DRAW_HEAT } ms_sweep_drawing;

/** The picture of a sweep's results (`--plot`). */
typedef struct ms_sweep_picture {
    ms_sweep_drawing kind;
    const char *title;    /**< NULL: that of the sweep */
    const char *quantity; /**< a column of MS_STORE_COLUMNS */
    size_t x;             /**< index of the axis that runs to the right */
} ms_sweep_picture;

/** A sweep, as it was read.  All in the arena of ms_sweep_read. */
typedef struct ms_sweep {
    const char *name;
    const char *description;              /**< NULL: none */
    ms_job_request request;               /**< the workload and its platform */
    ms_words fixed;                       /**< settings of all points, "key.path=value" */
    ms_sweep_key keys[MS_SWEEP_KEYS_MAX]; /**< [key_count] in the order of the file */
    size_t counts[MS_SWEEP_AXES_MAX];     /**< [axis_count] values of each axis */
    size_t key_count, axis_count;
    size_t count; /**< points */
    ms_sweep_picture picture;
} ms_sweep;

/** The keys of a sweep's file, for schemas. */
extern const ms_field MS_SWEEP_FIELDS[];

/** Read a sweep's file, and check that every key is one of the workload or its platform and can
 * have each of its values.
 *  path: of the file. data_folder: as in ms_job_request. *sweep_out: in `arena`. Returns MS_OK;
 * MS_E_INPUT with every fault reported; MS_E_USAGE; MS_E_IO; MS_E_NOMEM. Reads the workload once
 * for each value of an axis. */
ms_status ms_sweep_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_sweep *sweep_out);

/** The value of a key at a point. point: index, below the sweep's count. key: index into `keys`.
 * O(axes). */
const char *ms_sweep_value(const ms_sweep *sweep, size_t point, size_t key);

/** The settings of a point: the values of its keys, then the fixed settings. point: index.
 * *settings_out: "key.path=value", in `arena`.
 *  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_sweep_settings(const ms_sweep *sweep, size_t point, ms_arena *arena,
                            ms_words *settings_out);

/** Make a point; this is `make` of ms_points_study. sweep: a const ms_sweep. point: index.
 * *point_out: in `arena`. Returns as ms_job_spec_read. O(workload file). */
ms_status ms_sweep_make(void *sweep, size_t point, ms_arena *arena, ms_diag *diag,
                        ms_point *point_out);

#endif
