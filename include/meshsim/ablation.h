/**
 * @file
 * Ablation: what each mechanism of the cost model buys on measured runs.
 *
 * A mechanism has a switch, which is a list of overrides. Everything is simulated once as it is and
 * once more with each mechanism off; what the mean error grows by is what the mechanism buys, and
 * below zero what it costs.
 */
#ifndef MESHSIM_ABLATION_H
#define MESHSIM_ABLATION_H

#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/status.h"
#include "meshsim/table.h"
#include "meshsim/validate.h"

MS_BEGIN_DECLS

enum { MS_MECHANISM_SETS_MAX = 4 };

/** A mechanism of the cost model. */
typedef struct ms_mechanism {
    const char *name;
    const char *off[MS_MECHANISM_SETS_MAX]; /**< overrides that switch it off, NULL behind them */
} ms_mechanism;

/** All mechanisms, ended by one without a name. */
extern const ms_mechanism MS_MECHANISMS[];

/** What a mechanism buys in one group. */
typedef struct ms_ablation_gain {
    const char *group;
    double gain;
} ms_ablation_gain;

/** What one mechanism buys. Gains are differences of mean absolute errors, off minus on: above 0
 * the mechanism helps. */
typedef struct ms_ablation_row {
    const char *name;         /**< of the mechanism */
    const char *off;          /**< its overrides, with commas */
    int64_t moved;            /**< step times, scored and apart, that differ without it [count] */
    double mean_of_groups;    /**< of the score without it; NAN: no row */
    double gain;              /**< of the mean of groups */
    double fitted_gain;       /**< of rows that parameters may be fitted to; NAN: there is none */
    double unseen_gain;       /**< of the others; NAN: there is none */
    double layer_gain;        /**< of single layers, the mean over them; NAN: there is none */
    double memory_gain;       /**< of memory, the mean of its groups; NAN: there is none */
    double collective_gain;   /**< of collectives, the mean of their sizes; NAN: there is none */
    const char *most;         /**< group whose mean error moves most, scored or apart; NULL: none
                                   moves */
    double most_gain;         /**< of that group; NAN: none */
    ms_ablation_gain *groups; /**< [group_count] of the score, then those apart */
    size_t group_count;
} ms_ablation_row;

/** An ablation. */
typedef struct ms_ablation {
    ms_validation whole;   /**< with every mechanism */
    ms_ablation_row *rows; /**< [count] in the order of `mechanisms` */
    size_t count;
} ms_ablation;

/** Columns of a table of ms_ablation_row. */
extern const ms_table_column MS_ABLATION_COLUMNS[];

/** Validate once as it is, and once without each mechanism.
 *  mechanisms: ended by one without a name.  *ablation_out: in `arena`.  Returns as
 * ms_validate_run. */
ms_status ms_ablation_run(const ms_validate_study *study, const ms_mechanism *mechanisms,
                          ms_arena *arena, ms_diag *diag, ms_ablation *ablation_out);

MS_END_DECLS

#endif
