/**
 * @file
 * Calibration: named parameters of a platform fitted to measured collectives and kernels.
 *
 * Parameters are keys of the platform's, its GPU type's and its library's files, each with the
 * range that is plausible for it. They are fitted by least squares of the logarithms of predicted
 * over measured times; a third of the points, by the checksums of their names, is left out and says
 * how good the fit is elsewhere.
 */
#ifndef MESHSIM_CALIBRATE_H
#define MESHSIM_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/cases.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/platform.h"
#include "meshsim/status.h"
#include "meshsim/table.h"

MS_BEGIN_DECLS

/** A fitted parameter. */
typedef struct ms_calibrated_key {
    const char *key; /**< as a platform's file has it, such as "tiers.nvlink.efficiency" */
    ms_dimension dimension;
    double before, after;    /**< SI */
    double low, high;        /**< between which it is looked for */
    const char *before_text; /**< with unit, as `after_text` */
    const char *after_text;
    const char *place; /**< "file:line" of the value before; "" where it is a default */
    bool is_at_bound;  /**< the fit wants it beyond its range */
} ms_calibrated_key;

/** A point. */
typedef struct ms_calibration_point {
    const char *name; /**< such as "all_reduce/8/1048576" or "gemm/4096x4096x1024" */
    double measured_s, before_s, after_s;
    double before_error, after_error; /**< predicted / measured - 1 */
    bool is_left_out;
} ms_calibration_point;

/** Mean absolute error and its largest of some points; NAN without any. */
typedef struct ms_calibration_error {
    int64_t points;
    double before, after;
    double worst_before, worst_after;
} ms_calibration_error;

/** What a calibration comes to. */
typedef struct ms_calibration {
    ms_calibrated_key *keys; /**< [key_count] */
    size_t key_count;
    ms_calibration_point *points; /**< [point_count] */
    size_t point_count;
    ms_calibration_error fitted, left_out;
} ms_calibration;

/** What to calibrate. */
typedef struct ms_calibration_study {
    const ms_platform *platform;
    const ms_node *document;             /**< its effective document, for places */
    const char *const *folders;          /**< where its library is looked for, see find.h */
    const ms_measurements *measurements; /**< their collectives count */
    const char *system;             /**< of these by that name alone; NULL: they all have one */
    const ms_kernel_table *kernels; /**< measured kernels; NULL: none */
    const char *const *keys;        /**< [key_count] to fit alone */
    size_t key_count;               /**< 0: all that the points depend on */
} ms_calibration_study;

/** Columns of tables of ms_calibrated_key and of ms_calibration_point. */
extern const ms_table_column MS_CALIBRATED_COLUMNS[];
extern const ms_table_column MS_CALIBRATION_COLUMNS[];

/** Fit.
 *  *calibration_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) without points, with fewer
 * than parameters, with collectives of several systems or of more GPUs than the platform has, or a
 * key that is none; MS_E_IO; MS_E_NOMEM. */
ms_status ms_calibrate_run(const ms_calibration_study *study, ms_arena *arena, ms_diag *diag,
                           ms_calibration *calibration_out);

/** Append the platform file that the fit makes: its base, its name, and the keys that were fitted.
 *  base: name or path of the platform.  name: of the new one. */
void ms_calibration_write(const ms_calibration *calibration, const char *base, const char *name,
                          ms_buffer *out);

MS_END_DECLS

#endif
