/**
 * @file
 * The goal of a search: one quantity to be minimised, or two, of which the Pareto front is wanted
 * (the candidates that no other candidate is better than in both), and limits that candidates must
 * keep.
 *
 * Every quantity of a candidate has a value, from its simulation, and a lower bound, which follows
 * from a bound of the step. A candidate whose bounds are too high can be left out without being
 * simulated: its values are no lower.
 */
#ifndef MESHSIM_SEARCH_GOAL_H
#define MESHSIM_SEARCH_GOAL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "cluster/platform/price.h"
#include "job/spec.h"
#include "simulate/run/job.h"

/** Quantities that can be an objective or limited. Less is better for each. */
typedef enum ms_search_quantity {
    MS_SEEK_STEP_TIME,     /**< [s] */
    MS_SEEK_TOKEN_TIME,    /**< seconds per token: the most tokens per second */
    MS_SEEK_COST,          /**< [USD per million tokens] */
    MS_SEEK_ENERGY,        /**< of a step [J] */
    MS_SEEK_GPUS,          /**< fewest GPUs; of equally many the fastest candidate */
    MS_SEEK_TRAINING_TIME, /**< of a whole training [s] */
    MS_SEEK_TRAINING_COST, /**< of a whole training [USD] */
    MS_SEEK_MEMORY,        /**< of the GPU that needs most [B] */
    MS_SEEK_BUBBLE,        /**< share of the step */
    MS_SEEK_STEP_TOKENS,   /**< tokens per step */
    MS_SEEK_COUNT,
} ms_search_quantity;

enum { MS_SEARCH_OBJECTIVES_MAX = 2 };

/** A goal. */
typedef struct ms_search_goal {
    ms_search_quantity objectives[MS_SEARCH_OBJECTIVES_MAX]; /**< [objective_count] */
    int objective_count;                                     /**< 1, or 2 for a Pareto front */
    double limits[MS_SEEK_COUNT]; /**< maximum of each quantity in its unit; INFINITY: no limit */
    double training_tokens;       /**< tokens of a whole training; 0: not given */
} ms_search_goal;

/** The values of one candidate by which it is ordered: smaller is better, and the first value
 * counts more. With two objectives each is one value. */
typedef struct ms_search_score {
    double of[MS_SEARCH_OBJECTIVES_MAX];
} ms_search_score;

/** The goal of the shortest step, without limits. */
void ms_search_goal_init(ms_search_goal *goal);

/** Name of a quantity, as in columns of results and on the command line ("step_time_s"). Static
 * storage. */
const char *ms_search_quantity_name(ms_search_quantity quantity);

/** Set the objectives of a goal from a list of one or two names with a comma, such as
 * "cost,step_time_s". Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_search_goal_read(ms_search_goal *goal, const char *text, ms_diag *diag);

/** Set a limit of a goal from "quantity=value", the value with the quantity's unit. Returns MS_OK;
 * MS_E_USAGE (reported). */
ms_status ms_search_goal_limit(ms_search_goal *goal, const char *text, ms_diag *diag);

/** Check that a job has all that the goal needs: a price, powers, tokens. Returns MS_OK; MS_E_INPUT
 * (reported). O(1). */
ms_status ms_search_goal_check(const ms_search_goal *goal, const ms_job_spec *spec, ms_diag *diag);

/** Lower bounds of all quantities of a job: no simulation of the job gives less.
 *  least: the job's GPUs, and bounds of its step and of its computations. peak_B: memory of the GPU
 * that needs most; 0: not known yet. values_out: [MS_SEEK_COUNT], each in its quantity's unit.
 * O(1). */
void ms_search_bounds(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_price_use *least, double peak_B, double *values_out);

/** The values of all quantities of a simulated job. figures: of its simulation. values_out:
 * [MS_SEEK_COUNT], each in its quantity's unit. O(1). */
void ms_search_values(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_run_figures *figures, double *values_out);

/** Whether values, or bounds, keep all limits of a goal; a NAN does. values: [MS_SEEK_COUNT].
 * O(1). */
bool ms_search_is_within(const ms_search_goal *goal, const double *values);

/** By how much the values of a candidate miss a limit. */
typedef struct ms_search_miss {
    ms_search_quantity quantity; /**< whose limit is missed by the largest ratio */
    double value;                /**< of that quantity */
    double ratio;                /**< value over limit; 0: every limit is kept */
} ms_search_miss;

/** The largest miss of values.  values: [MS_SEEK_COUNT].  O(1). */
ms_search_miss ms_search_miss_of(const ms_search_goal *goal, const double *values);

/** Append a sentence on the miss of the nearest candidate: its value and the limit. */
void ms_search_describe_miss(const ms_search_goal *goal, const ms_search_miss *miss,
                             ms_buffer *text);

/** The score of a candidate: its values of the objectives. values: [MS_SEEK_COUNT], or bounds,
 * which give a bound of the score. O(1). */
ms_search_score ms_search_score_of(const ms_search_goal *goal, const double *values);

/** Order of two scores, as qsort needs it: by the first value, then by the second. */
int ms_search_compare(const ms_search_score *a, const ms_search_score *b);

/** Whether two scores, or other pairs of values, are equal to five digits.  O(1). */
bool ms_search_is_equal(const ms_search_score *a, const ms_search_score *b);

/** Whether score `a` dominates `b`: it is lower in one value and not higher in the other. */
bool ms_search_dominates(const ms_search_score *a, const ms_search_score *b);

#endif
