/* The goal of a search (search_goal.h): reads objectives and limits from the command line, and
 * computes the quantities of a candidate, once as lower bounds and once from the figures of its
 * simulation. */
#include "search/search_goal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cluster/platform/price.h"
#include "search/search/rows.h"

static const double MILLION = 1e6, DAY_S = 86400.0;

/* Share of a value by which equal values may differ. */
static const double EQUAL = 1e-5;

/* A quantity as the command line names it. */
typedef struct quantity_row {
    const char *name;
    ms_dimension dim;            /* of its value; MS_DIM_NONE: a number without a unit */
    bool is_objective, is_limit; /* may be an objective; may be limited by --max */
} quantity_row;

/* "tokens_per_s" is minimised as seconds per token, so a maximum of it would be a minimum speed: no
 * limit. */
static const quantity_row QUANTITIES[MS_SEEK_COUNT] = {
    [MS_SEEK_STEP_TIME] = {"step_time_s", MS_DIM_TIME, true, true},
    [MS_SEEK_TOKEN_TIME] = {"tokens_per_s", MS_DIM_NONE, true, false},
    [MS_SEEK_COST] = {"cost_per_million_tokens", MS_DIM_NONE, true, true},
    [MS_SEEK_ENERGY] = {"energy_J", MS_DIM_ENERGY, true, true},
    [MS_SEEK_GPUS] = {"gpus", MS_DIM_NONE, true, true},
    [MS_SEEK_TRAINING_TIME] = {"training_time_s", MS_DIM_TIME, true, true},
    [MS_SEEK_TRAINING_COST] = {"training_cost", MS_DIM_NONE, true, true},
    [MS_SEEK_MEMORY] = {"peak_B", MS_DIM_BYTES, true, true},
    [MS_SEEK_BUBBLE] = {"bubble_fraction", MS_DIM_NONE, false, true},
    [MS_SEEK_STEP_TOKENS] = {"tokens_per_step", MS_DIM_NONE, false, true},
};

void ms_search_goal_init(ms_search_goal *goal) {
    *goal = (ms_search_goal){.objectives = {MS_SEEK_STEP_TIME}, .objective_count = 1};
    for (int i = 0; i < MS_SEEK_COUNT; i++) {
        goal->limits[i] = INFINITY;
    }
}

const char *ms_search_quantity_name(ms_search_quantity quantity) {
    return QUANTITIES[quantity].name;
}

/* ---- reading ---- */

/* Find a quantity by its name. name: [length] characters. is_limit: among the quantities that can
 * be limited, else among those that can be an objective. Returns MS_OK; MS_E_USAGE (reported, with
 * the nearest name). */
static ms_status find_quantity(const char *name, size_t length, bool is_limit, ms_diag *diag,
                               ms_search_quantity *quantity_out) {
    const char *known[MS_SEEK_COUNT];
    char word[64];
    size_t count = 0;
    for (int i = 0; i < MS_SEEK_COUNT; i++) {
        const quantity_row *row = &QUANTITIES[i];
        if (!(is_limit ? row->is_limit : row->is_objective)) {
            continue;
        }
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0) {
            *quantity_out = (ms_search_quantity)i;
            return MS_OK;
        }
        known[count++] = row->name;
    }
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    ms_diag_unknown(diag, is_limit ? "limit" : "objective", word, known, count);
    return MS_E_USAGE;
}

/* Names are separated by commas; the goal's previous objectives are replaced. */
ms_status ms_search_goal_read(ms_search_goal *goal, const char *text, ms_diag *diag) {
    goal->objective_count = 0;
    for (const char *at = text; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (goal->objective_count == MS_SEARCH_OBJECTIVES_MAX) {
            return ms_diag_usage(diag, "at most %d objectives, got '%s'",
                                 (int)MS_SEARCH_OBJECTIVES_MAX, text);
        }
        ms_status status =
            find_quantity(at, length, false, diag, &goal->objectives[goal->objective_count++]);
        if (status != MS_OK) {
            return status;
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return MS_OK;
}

/* Quantities with a dimension take a unit ("80 GiB"), the others are plain numbers. */
ms_status ms_search_goal_limit(ms_search_goal *goal, const char *text, ms_diag *diag) {
    const char *equals = strchr(text, '=');
    if (equals == NULL) {
        return ms_diag_usage(diag, "expected '--max QUANTITY=VALUE', got '%s'", text);
    }
    ms_search_quantity quantity = MS_SEEK_COUNT;
    ms_status status = find_quantity(text, (size_t)(equals - text), true, diag, &quantity);
    if (status != MS_OK) {
        return status;
    }
    const ms_dimension dim = QUANTITIES[quantity].dim;
    const char *reason = NULL;
    char why[512]; /* enough for ms_unit_explain */
    double *limit = &goal->limits[quantity];
    if (dim == MS_DIM_NONE) {
        status = ms_number_parse(equals + 1, limit);
        snprintf(why, sizeof why, "expected a number, got '%s'", equals + 1);
    } else {
        status = ms_unit_parse(equals + 1, dim, limit, &reason);
        ms_unit_explain(equals + 1, dim, why, sizeof why);
    }
    if (status != MS_OK) {
        return ms_diag_usage(diag, "--max %s: %s", QUANTITIES[quantity].name, why);
    }
    return MS_OK;
}

/* ---- what a job must have ---- */

/* Whether a goal has a quantity as an objective or as a limit. */
static bool asks_for(const ms_search_goal *goal, ms_search_quantity quantity) {
    bool asks = isfinite(goal->limits[quantity]);
    for (int i = 0; i < goal->objective_count; i++) {
        asks = asks || goal->objectives[i] == quantity;
    }
    return asks;
}

/* Costs need the rent of a GPU; time and cost of a whole training its number of tokens; all
 * quantities per token a model. */
ms_status ms_search_goal_check(const ms_search_goal *goal, const ms_job_spec *spec, ms_diag *diag) {
    const ms_platform *cluster = spec->platform.cluster;
    bool needs_rent = asks_for(goal, MS_SEEK_COST) || asks_for(goal, MS_SEEK_TRAINING_COST);
    bool needs_training =
        asks_for(goal, MS_SEEK_TRAINING_TIME) || asks_for(goal, MS_SEEK_TRAINING_COST);
    bool needs_tokens = needs_rent || needs_training || asks_for(goal, MS_SEEK_TOKEN_TIME) ||
                        asks_for(goal, MS_SEEK_STEP_TOKENS);
    const char *lacks = NULL;
    if (needs_rent && !ms_price_has_rent(cluster)) {
        lacks = "the platform's file does not say what a GPU is rented for "
                "('platform.price: 2 USD/h' does)";
    } else if (asks_for(goal, MS_SEEK_ENERGY) && !ms_price_has_power(cluster)) {
        lacks = "the platform's file does not say enough of power";
    } else if (needs_training && goal->training_tokens <= 0) {
        lacks = "a training's time and cost need '--tokens', how many it takes";
    } else if (needs_tokens && !spec->has_model) {
        lacks = "without a model there are no tokens";
    }
    if (lacks != NULL) {
        return ms_diag_error(diag, "'%s': %s", cluster->name, lacks);
    }
    return MS_OK;
}

/* ---- values ---- */

/* Tokens of a step; 0 without a model. Without a global batch in the spec, sequences are the
 * microbatch size times microbatches times replicas. Replicas are the ranks along dp, ep and an
 * axis with a name of the user's own, which train on different sequences. */
static double step_tokens(const ms_job_spec *spec) {
    double replicas = 1;
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        ms_axis kind = ms_axis_from_name(spec->mesh.names[axis]);
        bool is_replicas = kind == MS_AXIS_DP || kind == MS_AXIS_OTHER || kind == MS_AXIS_EP;
        replicas *= is_replicas ? spec->mesh.sizes[axis] : 1;
    }
    double sequences = spec->batch.global > 0
                           ? spec->batch.global
                           : (double)spec->batch.micro * spec->batch.microbatches * replicas;
    return spec->has_model ? sequences * spec->model.sequence : 0;
}

/* Fill in the quantities that follow from a step's time [s], cost [USD] and tokens. tokens: 0 if
 * there is no model; the quantities per token are 0 then. values: [MS_SEEK_COUNT]. */
static void derive_values(const ms_search_goal *goal, double step_s, double cost_USD, double tokens,
                          double *values) {
    values[MS_SEEK_STEP_TIME] = step_s;
    values[MS_SEEK_STEP_TOKENS] = tokens;
    values[MS_SEEK_TOKEN_TIME] = tokens > 0 ? step_s / tokens : 0;
    values[MS_SEEK_COST] = tokens > 0 ? cost_USD / tokens * MILLION : 0;
    values[MS_SEEK_TRAINING_TIME] = values[MS_SEEK_TOKEN_TIME] * goal->training_tokens;
    values[MS_SEEK_TRAINING_COST] = values[MS_SEEK_COST] * goal->training_tokens / MILLION;
}

/* Bounds of the quantities from a bound of the step. Nothing is known of the bubble: its bound is
 * 0. */
void ms_search_bounds(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_price_use *least, double peak_B, double *values_out) {
    const ms_platform *cluster = spec->platform.cluster;
    /* quantities grow with the step and with the time that GPUs compute, so bounds give bounds */
    double cost_USD = ms_price_step_USD(cluster, least);
    derive_values(goal, least->step_s, cost_USD, step_tokens(spec), values_out);
    values_out[MS_SEEK_ENERGY] = ms_price_step_J(cluster, least);
    values_out[MS_SEEK_GPUS] = least->gpus;
    values_out[MS_SEEK_MEMORY] = peak_B;
    values_out[MS_SEEK_BUBBLE] = 0;
}

void ms_search_values(const ms_search_goal *goal, const ms_job_spec *spec,
                      const ms_run_figures *figures, double *values_out) {
    derive_values(goal, figures->step_time_s, figures->cost_USD, step_tokens(spec), values_out);
    values_out[MS_SEEK_ENERGY] = figures->energy_J;
    values_out[MS_SEEK_GPUS] = (double)ms_spec_ranks(spec);
    values_out[MS_SEEK_MEMORY] = figures->peak_B;
    values_out[MS_SEEK_BUBBLE] = figures->bubble_fraction;
}

bool ms_search_is_within(const ms_search_goal *goal, const double *values) {
    return ms_search_miss_of(goal, values).ratio == 0.0;
}

ms_search_miss ms_search_miss_of(const ms_search_goal *goal, const double *values) {
    ms_search_miss worst = {.ratio = 0.0};
    for (int i = 0; i < MS_SEEK_COUNT; i++) {
        bool is_beyond = values[i] > goal->limits[i]; /* false where the value is not known */
        double ratio = goal->limits[i] > 0.0 ? values[i] / goal->limits[i] : (double)INFINITY;
        if (is_beyond && ratio > worst.ratio) {
            worst = (ms_search_miss){(ms_search_quantity)i, values[i], ratio};
        }
    }
    return worst;
}

void ms_search_describe_miss(const ms_search_goal *goal, const ms_search_miss *miss,
                             ms_buffer *text) {
    enum { TEXT_B = 64 };
    const quantity_row *row = &QUANTITIES[miss->quantity];
    const double values[] = {miss->value, goal->limits[miss->quantity]};
    char words[2][TEXT_B];
    for (int i = 0; i < 2; i++) {
        bool is_training_time = miss->quantity == MS_SEEK_TRAINING_TIME;
        if (is_training_time || row->dim == MS_DIM_NONE) {
            snprintf(words[i], TEXT_B, "%.6g%s", values[i] / (is_training_time ? DAY_S : 1.0),
                     is_training_time ? " days" : "");
        } else {
            ms_unit_format(values[i], row->dim, words[i], TEXT_B);
        }
    }
    ms_buffer_printf(text, "the nearest candidate has %s %s; the limit is %s", row->name, words[0],
                     words[1]);
}

ms_search_score ms_search_score_of(const ms_search_goal *goal, const double *values) {
    ms_search_score score = {{values[goal->objectives[0]], 0}};
    if (goal->objective_count > 1) {
        score.of[1] = values[goal->objectives[1]];
    } else if (goal->objectives[0] == MS_SEEK_GPUS) { /* the fastest of equally many GPUs */
        score.of[1] = values[MS_SEEK_STEP_TIME];
    }
    return score;
}

int ms_search_compare(const ms_search_score *a, const ms_search_score *b) {
    for (int i = 0; i < MS_SEARCH_OBJECTIVES_MAX; i++) {
        if (a->of[i] != b->of[i]) {
            return a->of[i] > b->of[i] ? 1 : -1;
        }
    }
    return 0;
}

/* Tables show four digits, so jobs that differ by less look the same. */
bool ms_search_is_equal(const ms_search_score *a, const ms_search_score *b) {
    bool is_equal = true;
    for (int i = 0; i < MS_SEARCH_OBJECTIVES_MAX; i++) {
        is_equal = is_equal && fabs(a->of[i] - b->of[i]) <= EQUAL * fabs(b->of[i]);
    }
    return is_equal;
}

bool ms_search_dominates(const ms_search_score *a, const ms_search_score *b) {
    bool is_no_worse = a->of[0] <= b->of[0] && a->of[1] <= b->of[1];
    return is_no_worse && (a->of[0] < b->of[0] || a->of[1] < b->of[1]);
}
