/**
 * @file
 * What a search looks for: the least of one quantity, or the candidates to which no other is better
 * in both of two quantities; and limits that candidates must keep.
 *
 * Every quantity has a value, of a simulated job, and a bound that its value is never below,
 * which follows from a bound of the step. So whoever leaves a candidate out by its bounds loses
 * nothing.
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

/** What can be looked for, or limited. Less is better of all of them. */
typedef enum ms_search_quantity {
    MS_SEEK_STEP_TIME,     /**< [s] */
    MS_SEEK_TOKEN_TIME,    /**< seconds per token: the most tokens per second */
    MS_SEEK_COST,          /**< [USD per million tokens] */
    MS_SEEK_ENERGY,        /**< of a step [J] */
    MS_SEEK_GPUS,          /**< among candidates with that many GPUs the fastest counts */
    MS_SEEK_TRAINING_TIME, /**< of all tokens [s] */
    MS_SEEK_TRAINING_COST, /**< of all tokens [USD] */
    MS_SEEK_MEMORY,        /**< of the GPU that needs most [B] */
    MS_SEEK_BUBBLE,        /**< share of the step */
    MS_SEEK_STEP_TOKENS,   /**< tokens per step */
    MS_SEEK_COUNT,
} ms_search_quantity;

enum { MS_SEARCH_OBJECTIVES_MAX = 2 };

/** What is looked for. */
typedef struct ms_search_goal {
    ms_search_quantity objectives[MS_SEARCH_OBJECTIVES_MAX]; /**< [objective_count] */
    int objective_count;          /**< 1; 2: the candidates of which no other has less of both */
    double limits[MS_SEEK_COUNT]; /**< largest values; INFINITY: not limited */
    double training_tokens;       /**< of a whole training; 0: not given */
} ms_search_goal;

/** Values of one candidate that order it: smaller is better, the first counts more. Of two
 * objectives each is one. */
typedef struct ms_search_score {
    double of[MS_SEARCH_OBJECTIVES_MAX];
} ms_search_score;

/** The goal of the shortest step, without limits. */
void ms_search_goal_init(ms_search_goal *goal);

/** Name of a quantity, as columns have it ("step_time_s"); static storage. */
const char *ms_search_quantity_name(ms_search_quantity quantity);

/** Read a comma list of one or two objectives.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_search_goal_read(ms_search_goal *goal, const char *text, ms_diag *diag);

/** Read a limit "quantity=value", with the quantity's unit.  Returns MS_OK; MS_E_USAGE (reported).
 */
ms_status ms_search_goal_limit(ms_search_goal *goal, const char *text, ms_diag *diag);

/** Whether a job has all that a goal asks about: a price, powers, tokens.  Returns MS_OK;
 * MS_E_INPUT (reported).  O(1). */
ms_status ms_search_goal_check(const ms_search_goal *goal, const ms_job_spec *spec, ms_diag *diag);

/** Lower bounds of all quantities of a job: no simulation of the job gives less.
 *  least: its GPUs, and what no step of it is below.  peak_B: its memory; 0: not known.
 *  values_out: [MS_SEEK_COUNT].  O(1). */
void ms_search_bounds(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_price_use *least, double peak_B, double *values_out);

/** The values of all quantities that a simulation found.  values_out: [MS_SEEK_COUNT].  O(1). */
void ms_search_values(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_run_figures *figures, double *values_out);

/** Whether values keep all limits.  values: [MS_SEEK_COUNT].  O(1). */
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

/** The score of values.  values: [MS_SEEK_COUNT].  O(1). */
ms_search_score ms_search_score_of(const ms_search_goal *goal, const double *values);

/** Order of two scores, as qsort wants it. */
int ms_search_compare(const ms_search_score *a, const ms_search_score *b);

/** Whether one score is better than the other by every value, or by one and equal by the other. */
bool ms_search_dominates(const ms_search_score *a, const ms_search_score *b);

#endif
