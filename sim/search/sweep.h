/**
 * @file
 * Sweeps: a workload in which some keys take several values each, as a file says.
 *
 * workloads/studies/README.md is the reference of the file. An axis is a list of values of one key,
 * or of several keys that go together; axes are crossed. A point of a sweep is a number below their
 * product, the last axis running fastest, so that any process can make any point.
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
    size_t axis;
} ms_sweep_key;

/** How a sweep is drawn. */
typedef enum ms_sweep_drawing { MS_DRAW_LINES, MS_DRAW_HEAT } ms_sweep_drawing;

/** The picture that a sweep's file asks for. */
typedef struct ms_sweep_picture {
    ms_sweep_drawing kind;
    const char *title;    /**< NULL: that of the sweep */
    const char *quantity; /**< a column of MS_STORE_COLUMNS */
    size_t x;             /**< axis along which it is drawn */
} ms_sweep_picture;

/** A sweep, as its file says it.  All in the arena of ms_sweep_read. */
typedef struct ms_sweep {
    const char *name;
    const char *description;              /**< NULL: none */
    ms_job_request request;               /**< the workload, on its cluster */
    ms_words fixed;                       /**< settings of all points */
    ms_sweep_key keys[MS_SWEEP_KEYS_MAX]; /**< [key_count] in the order of the file */
    size_t counts[MS_SWEEP_AXES_MAX];     /**< [axis_count] values of each axis */
    size_t key_count, axis_count;
    size_t count; /**< points */
    ms_sweep_picture picture;
} ms_sweep;

/** The keys of a sweep's file, for schemas. */
extern const ms_field MS_SWEEP_FIELDS[];

/** Read a sweep's file, and see to it that every key is one of the workload or its platform and
 * takes each of its values.
 *  data_folder: as in ms_job_request.  Returns MS_OK; MS_E_INPUT with every fault reported;
 * MS_E_USAGE; MS_E_IO; MS_E_NOMEM.  Reads the workload once for each value of an axis. */
ms_status ms_sweep_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_sweep *sweep_out);

/** Value of a key at a point.  point: below the count.  key: index into `keys`.  O(axes). */
const char *ms_sweep_value(const ms_sweep *sweep, size_t point, size_t key);

/** Settings of a point: those of its keys, then the fixed ones.  *settings_out: in `arena`.
 *  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_sweep_settings(const ms_sweep *sweep, size_t point, ms_arena *arena,
                            ms_words *settings_out);

/** Make a point: `make` of ms_points_study, with a const ms_sweep as its context.  Returns as
 * ms_job_spec_read.  O(workload file). */
ms_status ms_sweep_make(void *sweep, size_t point, ms_arena *arena, ms_diag *diag,
                        ms_point *point_out);

#endif
