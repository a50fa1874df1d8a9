/* Makes the result tree of `meshsim search`: the tree that --json prints, and the values that only
 * text, Markdown and pages of HTML show (show_search.h). */
#include "cli/show_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "base/units.h"
#include "cli/show_text.h"
#include "search/points.h"
#include "simulate/metrics/metrics.h"
#include "trace/summary.h"

/* ---- the tree ---- */

/* Add how many candidates were enumerated, left out by reason, and simulated. */
static void add_counts(const ms_search_counts *counts, ms_value *root) {
    ms_value *tree = ms_value_add(root, "counts", MS_VALUE_OBJECT);
    ms_value_add_int(tree, "enumerated", counts->enumerated);
    ms_value_add_int(tree, "illegal", counts->illegal);
    ms_value_add_int(tree, "does_not_fit", counts->does_not_fit);
    ms_value_add_int(tree, "beyond_limits", counts->beyond_limits);
    ms_value_add_int(tree, "pruned", counts->pruned);
    ms_value_add_int(tree, "simulated", counts->simulated);
    ms_value_add_int(tree, "failed", counts->failed);
    if (counts->of_others > 0) {
        ms_value_add_int(tree, "of_other_shards", counts->of_others);
    }
}

/* Add the sizes of the mesh, and the order of its axes, outermost first. */
static void add_mesh(const ms_spec_mesh *mesh, ms_value *row) {
    ms_value *sizes = ms_value_add(row, "mesh", MS_VALUE_OBJECT);
    ms_value *order = ms_value_add(row, "order", MS_VALUE_ARRAY);
    for (int axis = 0; axis < mesh->axes; axis++) {
        ms_value_add_int(sizes, mesh->names[axis], mesh->sizes[axis]);
        ms_value_add_string(order, NULL, mesh->names[axis]);
    }
}

/* Add the figures of a simulated candidate, the shares of its step by category, and what limits it
 * most. */
static void add_figures(const ms_search_row *found, ms_value *row) {
    const ms_run_figures *figures = &found->figures;
    ms_value_add_double(row, "step_time_s", figures->step_time_s);
    ms_value_add_double(row, "bound_s", found->bound_s);
    ms_value_add_double(row, "estimate_s", found->estimate_s);
    ms_value_add_double(row, "tokens_per_s", figures->tokens_per_s);
    ms_value_add_double(row, "cost", figures->cost_USD);
    ms_value_add_double(row, "cost_per_million_tokens", figures->cost_USD_per_million_tokens);
    ms_value_add_double(row, "energy_J", figures->energy_J);
    ms_value_add_double(row, "mfu", figures->mfu);
    ms_value_add_double(row, "peak_B", figures->peak_B);
    ms_value_add_double(row, "bubble_fraction", figures->bubble_fraction);
    ms_value *shares = ms_value_add(row, "time_share", MS_VALUE_OBJECT);
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        ms_value_add_double(shares, ms_time_category_name((ms_time_category)i), figures->share[i]);
    }
    ms_value_add_string(row, "limited_by", found->limited_by);
    ms_value_add_double(row, "limit_share", found->limit_share);
}

/* Add the figures that are known of a candidate that was only estimated. */
static void add_estimate(const ms_search_row *found, ms_value *row) {
    ms_value_add_double(row, "estimate_s", found->estimate_s);
    ms_value_add_double(row, "bound_s", found->bound_s);
    ms_value_add_double(row, "peak_B", found->figures.peak_B);
}

/* Add a row for a candidate: its settings, mesh, schedule and sizes, then its figures or its
 * estimate.  training_tokens: adds what a training of so many tokens takes; 0: nothing. */
static void add_result(const ms_search_row *found, double training_tokens, ms_value *list) {
    const ms_job_spec *spec = &found->spec;
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_point_add_settings(&found->settings, ms_value_add(row, "settings", MS_VALUE_OBJECT));
    add_mesh(&spec->mesh, row);
    ms_value_add_string(row, "schedule",
                        spec->schedule.csv != NULL ? spec->schedule.csv
                                                   : ms_schedule_kind_name(spec->schedule.kind));
    ms_value_add_int(row, "v", found->figures.chunks);
    ms_value_add_int(row, "micro_batch", spec->batch.micro);
    ms_value_add_string(row, "recompute", ms_job_spec_words("recompute")[spec->choices.recompute]);
    ms_value_add_int(row, "zero", spec->choices.zero);
    ms_value_add_int(row, "gpus", ms_spec_ranks(spec));
    ms_value_add_string(row, "platform", spec->platform.cluster->name);
    ms_value_add_int(row, "equal_orders", found->equal_orders);
    if (found->is_simulated) {
        add_figures(found, row);
        ms_summary_add_training(training_tokens, (double)ms_spec_ranks(spec), row);
    } else {
        add_estimate(found, row);
    }
}

/* Add a list of the reasons for which candidates were left out, each with its count and the
 * settings of its first candidate.  reasons: [count]. */
static void add_reason_list(const char *key, const ms_search_reason *reasons, size_t count,
                            ms_value *root) {
    ms_value *list = ms_value_add(root, key, MS_VALUE_ARRAY);
    for (size_t i = 0; i < count; i++) {
        ms_value *entry = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(entry, "reason", reasons[i].text);
        ms_value_add_int(entry, "count", reasons[i].count);
        ms_point_add_settings(&reasons[i].settings,
                              ms_value_add(entry, "settings", MS_VALUE_OBJECT));
    }
}

/* Add to `list` what a step of a platform's best candidate takes, or a whole training where
 * --tokens is given, with the cost: "dgx-h100: 12.3 days and 4510000 USD with 4096 GPUs". row: of
 * the candidate in the tree; found: as it was found. rank: from 0. */
static void add_offer(const ms_value *row, const ms_search_row *found, size_t rank,
                      ms_value *list) {
    enum { TEXT_B = 48 };
    char time[TEXT_B], cost[TEXT_B] = "an unknown price";
    double days = ms_value_number(row, "training_days", (double)NAN);
    double USD = ms_value_number(row, isnan(days) ? "cost" : "training_cost", (double)NAN);
    ms_unit_format(ms_value_number(row, "step_time_s", 0.0), MS_DIM_TIME, time, TEXT_B);
    if (!isnan(days)) {
        snprintf(time, sizeof time, "%.4g days", days);
    }
    if (isfinite(USD)) {
        snprintf(cost, sizeof cost, USD < 1000 ? "%.4g USD" : "%.0f USD", USD);
    }
    ms_value_add_string(
        list, NULL,
        ms_arena_printf(list->arena, "%s%s: %s%s and %s with %.0f GPUs",
                        found->spec.platform.cluster->name, rank == 0 ? " is best" : "", time,
                        isnan(days) ? " a step" : "", cost, ms_value_number(row, "gpus", 0.0)));
}

/* Add the comparison of platforms that --best-of asks for: `offers`, a sentence for each platform
 * with time and cost of its best candidate, and `best_of` in the rows of these candidates. The rows
 * come best first, so a platform's best candidate is its first one. */
static void add_comparison(const ms_shown_search *shown, ms_value *root) {
    const ms_words *platforms = ms_space_platforms(shown->space);
    ms_value *row = ms_value_get(root, "results")->first;
    ms_value *list = ms_value_add(root, "offers", MS_VALUE_ARRAY);
    bool *is_told = MS_NEW(root->arena, bool, platforms->count + 1);
    for (size_t i = 0; row != NULL && is_told != NULL; i++, row = row->next) {
        size_t platform = ms_space_platform_of(shown->space, shown->result->rows[i].index);
        if (!is_told[platform]) {
            ms_value_add_string(row, "best_of", "platform");
            add_offer(row, &shown->result->rows[i], i, list);
            is_told[platform] = true;
        }
    }
    for (size_t i = 0; i < platforms->count && is_told != NULL; i++) {
        const char *name = platforms->items[i];
        if (!is_told[i]) {
            ms_value_add_string(list, NULL,
                                ms_arena_printf(root->arena, "%s: nothing is feasible", name));
        }
    }
}

/* Add the objectives of the search, and the limits that candidates had to keep. */
static void add_goal(const ms_search_goal *goal, ms_value *root) {
    ms_value_add_string(root, "objective", ms_search_quantity_name(goal->objectives[0]));
    if (goal->objective_count > 1) {
        ms_value_add_string(root, "second_objective", ms_search_quantity_name(goal->objectives[1]));
    }
    ms_value *limits = ms_value_add(root, "limits", MS_VALUE_OBJECT);
    for (int i = 0; i < MS_SEEK_COUNT; i++) {
        if (isfinite(goal->limits[i])) {
            ms_value_add_double(limits, ms_search_quantity_name((ms_search_quantity)i),
                                goal->limits[i]);
        }
    }
}

ms_value *ms_show_search_tree(const ms_shown_search *shown, ms_arena *arena) {
    const ms_search_findings *result = shown->result;
    const ms_job_spec *base = ms_space_base(shown->space);
    ms_value *root = ms_value_new_object(arena);
    const char *name = base->name == NULL ? ms_path_stem(shown->workload, arena) : base->name;
    ms_value_add_string(root, "workload", name);
    add_goal(shown->goal, root);
    ms_value_add_bool(root, "partial", result->is_partial);
    if (result->row_count == 0 && result->nearest.ratio > 0.0) {
        const ms_search_miss *miss = &result->nearest;
        ms_value *nearest = ms_value_add(root, "nearest", MS_VALUE_OBJECT);
        ms_value_add_string(nearest, "quantity", ms_search_quantity_name(miss->quantity));
        ms_value_add_double(nearest, "value", miss->value);
        ms_value_add_double(nearest, "limit", shown->goal->limits[miss->quantity]);
    }
    add_counts(&result->counts, root);
    ms_value_add_int(root, "equal_orders", result->equal_orders);
    ms_value *list = ms_value_add(root, "results", MS_VALUE_ARRAY);
    for (size_t i = 0; i < result->row_count; i++) {
        add_result(&result->rows[i], shown->goal->training_tokens, list);
    }
    if (shown->is_by_platform) {
        add_comparison(shown, root);
    }
    if (result->expected != NULL) {
        const ms_search_row *row = result->expected;
        ms_value *expected = ms_value_add(root, "expected", MS_VALUE_OBJECT);
        ms_point_add_settings(&row->settings, ms_value_add(expected, "settings", MS_VALUE_OBJECT));
        ms_value_add_double(expected, "estimate_s", row->estimate_s);
        ms_value_add_double(expected, "bound_s", row->bound_s);
    }
    ms_value_add_string(root, "untried_schedules", ms_space_untried(shown->space)); /* or NULL */
    ms_space_add_no_mesh(shown->space, root);
    add_reason_list("illegal", result->illegal, result->illegal_count, root);
    add_reason_list("failed", result->failed, result->failed_count, root);
    return root;
}

void ms_show_search_rest(const ms_shown_search *shown, ms_value *root) {
    const ms_search_findings *result = shown->result;
    ms_value *rest = ms_value_add(root, "rest", MS_VALUE_OBJECT);
    ms_value_add_int(rest, "estimated", result->estimated);
    ms_value *list = ms_value_add(rest, "results", MS_VALUE_ARRAY);
    for (size_t i = 0; i < result->rest_count; i++) {
        add_result(&result->rest[i], shown->goal->training_tokens, list);
    }
}

/* ---- values that text and Markdown show and --json does not print ---- */

/* Whether a setting, "key=value", is shown by another column of the candidate's row. */
static bool is_described(const char *setting) {
    static const char *const KEYS[] = {"mesh.",        "schedule.kind=", "schedule.v=",
                                       "batch.micro=", "recompute=",     "data_parallel.zero="};
    bool is_known = false;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        is_known = is_known || strncmp(setting, KEYS[i], strlen(KEYS[i])) == 0;
    }
    return is_known;
}

/* Extend the row of a candidate with its rank, its distance to the best candidate, and the values
 * of varied keys that no other column shows.  at: index of the candidate, from 0. */
static void extend_result(const ms_shown_search *shown, size_t at, ms_value *row) {
    const ms_search_row *found = &shown->result->rows[at];
    ms_value_add_int(row, "rank", (int64_t)at + 1);
    ms_value_add_double(row, "to_best",
                        found->score.of[0] / shown->result->rows[0].score.of[0] - 1);
    ms_value_add_double(row, "exposed_fraction", found->figures.exposed_fraction);
    ms_value *varied = ms_value_add(row, "varied", MS_VALUE_OBJECT);
    for (size_t i = 0; i < found->settings.count; i++) {
        const ms_words setting = {&found->settings.items[i], 1};
        if (!is_described(setting.items[0]) && ms_space_varies(shown->space, setting.items[0])) {
            ms_point_add_settings(&setting, varied);
        }
    }
}

/* Add a row for one category of time: the explained candidate's and the best one's time [s], and
 * their difference as a share of the best one's step `whole_s`. */
static void add_difference(const char *what, double own_s, double best_s, double whole_s,
                           ms_value *list) {
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "what", what);
    ms_value_add_double(row, "own_s", own_s);
    ms_value_add_double(row, "best_s", best_s);
    ms_value_add_double(row, "difference", (own_s - best_s) / whole_s);
}

/* Add the table of --explain: by category, where the step's time of the explained candidate goes,
 * beside that of the best candidate. */
static void add_explanation(const ms_shown_search *shown, ms_value *page) {
    const ms_run_figures *best = &shown->result->rows[0].figures;
    const ms_run_figures *own = &shown->result->rows[shown->explained - 1].figures;
    double best_s = best->step_time_s;
    ms_value_add_int(page, "explained_rank", (int64_t)shown->explained);
    ms_value *list = ms_value_add(page, "explained", MS_VALUE_ARRAY);
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        if (own->share[i] > 0 || best->share[i] > 0) {
            add_difference(ms_time_category_name((ms_time_category)i),
                           own->share[i] * own->step_time_s, best->share[i] * best_s, best_s, list);
        }
    }
    add_difference("step", own->step_time_s, best_s, best_s, list);
}

/* Add the command line that runs a candidate; its line feeds mark where it may be broken.  best:
 * the candidate. */
static void add_command(const ms_shown_search *shown, const ms_search_row *best, ms_value *page) {
    ms_buffer line = {0};
    ms_buffer_puts(&line, "meshsim run ");
    ms_show_shell_word(shown->workload, &line);
    for (size_t i = 0; i < best->settings.count; i++) {
        ms_buffer_puts(&line, "\n--set ");
        ms_show_shell_word(best->settings.items[i], &line);
    }
    const char *kept = ms_buffer_keep(&line, page->arena);
    ms_value_add_string(ms_value_add(page, "command", MS_VALUE_ARRAY), NULL,
                        kept == NULL ? "" : kept);
}

/* Add sentences about an interrupted or empty result. Where nothing fits in memory, add the least
 * memory that any candidate needs; where all candidates are beyond limits, by how much the nearest
 * is. */
static void add_notes(const ms_search_goal *goal, const ms_search_findings *result,
                      ms_value *page) {
    ms_value *notes = ms_value_add(page, "notes", MS_VALUE_ARRAY);
    bool is_empty = result->row_count == 0;
    if (result->is_partial) {
        ms_value_add_string(
            notes, NULL,
            "partial: the search was interrupted, and better ones may be among the rest");
    }
    if (is_empty && result->expected == NULL) {
        ms_value_add_string(
            notes, NULL, result->is_partial ? "nothing was found by then" : "nothing is feasible");
    }
    if (is_empty && result->nearest.ratio > 0.0) {
        ms_buffer text = {0};
        ms_search_describe_miss(goal, &result->nearest, &text);
        ms_value_add_string(notes, NULL, ms_buffer_keep(&text, page->arena));
    }
    if (is_empty && result->counts.beyond_limits == 0 && result->counts.does_not_fit > 0) {
        ms_value_add_double(page, "smallest_B", result->smallest_B);
    }
}

void ms_show_search_add_page(const ms_shown_search *shown, ms_value *root) {
    const ms_search_findings *result = shown->result;
    const ms_space_axis_view *axes = NULL;
    size_t count = 0;
    size_t at = 0;
    if (root == NULL || root->arena->has_failed) {
        return;
    }
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    ms_value *varied = ms_value_add(page, "varied", MS_VALUE_ARRAY);
    ms_space_axes(shown->space, root->arena, &axes, &count);
    for (size_t i = 0; i < count; i++) {
        ms_value_add_string(varied, NULL, axes[i].key);
    }
    for (ms_value *row = ms_value_get(root, "results")->first; row != NULL; row = row->next) {
        extend_result(shown, at++, row);
    }
    if (shown->explained > 0 && result->row_count > 0) {
        add_explanation(shown, page);
    }
    if (result->row_count > 0 || result->expected != NULL) {
        add_command(shown, result->row_count > 0 ? &result->rows[0] : result->expected, page);
    }
    add_notes(shown->goal, result, page);
}
