#include "cli/show_search.h"

#include <math.h>
#include <string.h>

#include "cli/show_text.h"
#include "meshsim/metrics.h"
#include "meshsim/points.h"
#include "meshsim/units.h"

/* Reasons of illegal candidates on a page. */
enum { REASONS_MAX = 8 };

static const double MILLION = 1e6, DAY_S = 86400.0;

ms_candidate_words ms_show_candidate_words(const ms_job_spec *spec) {
    return (ms_candidate_words){.schedule = spec->schedule.csv != NULL
                                                ? spec->schedule.csv
                                                : ms_schedule_kind_name(spec->schedule.kind),
                                .recompute = ms_job_spec_words("recompute")[spec->recompute.kind],
                                .platform = spec->platform.cluster->name};
}

/* A peak of memory, "-" where nobody knows it.  Returns a text that is static or text_out. */
static const char *show_memory(double peak_B, char *text_out, size_t size) {
    return isnan(peak_B) ? "-" : ms_unit_format(peak_B, MS_DIM_BYTES, text_out, size);
}

/* ---- the page ---- */

/* What every candidate has, and so a line need not say again. */
static bool is_described(const char *setting) {
    static const char *const KEYS[] = {
        "mesh.",        "platform.file=", "platform.nodes=", "schedule.",
        "batch.micro=", "recompute=",     "granularity=",    "data_parallel.zero="};
    bool is_known = false;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        is_known = is_known || strncmp(setting, KEYS[i], strlen(KEYS[i])) == 0;
    }
    return is_known;
}

static void add_money(double amount_USD, ms_buffer *out) {
    bool is_large = amount_USD >= MILLION;
    ms_buffer_printf(out, "%.4g%s USD", is_large ? amount_USD / MILLION : amount_USD,
                     is_large ? " million" : "");
}

/* A quantity that is looked for, with its unit; nothing of those that have columns of their own. */
static void add_score(ms_search_quantity quantity, double score, ms_buffer *out) {
    char text[32];
    switch (quantity) {
    case MS_SEEK_TOKEN_TIME:
        ms_buffer_printf(out, ", %.0f tokens/s", 1.0 / score);
        break;
    case MS_SEEK_COST:
        ms_buffer_printf(out, ", %.4g USD per million tokens", score);
        break;
    case MS_SEEK_ENERGY:
        ms_buffer_printf(out, ", %s a step",
                         ms_unit_format(score, MS_DIM_ENERGY, text, sizeof text));
        break;
    case MS_SEEK_TRAINING_TIME:
        ms_buffer_printf(out, ", training takes %.4g d", score / DAY_S);
        break;
    case MS_SEEK_TRAINING_COST:
        ms_buffer_puts(out, ", training costs ");
        add_money(score, out);
        break;
    case MS_SEEK_STEP_TOKENS:
        ms_buffer_printf(out, ", %.0f tokens a step", score);
        break;
    default:
        break;
    }
}

/* What is looked for beside the step. */
static void add_scores(const ms_shown_search *shown, const ms_search_row *row, ms_buffer *out) {
    for (int i = 0; i < shown->goal->objective_count; i++) {
        add_score(shown->goal->objectives[i], row->score.of[i], out);
    }
}

/* A candidate in words: mesh, schedule, what is kept and sharded, and other settings as they are.
 */
static void describe(const ms_shown_search *shown, const ms_search_row *row, ms_buffer *out) {
    const ms_job_spec *spec = &row->spec, *base = ms_space_base(shown->space);
    bool is_elsewhere = spec->platform.cluster != base->platform.cluster &&
                        (strcmp(spec->platform.cluster->name, base->platform.cluster->name) != 0 ||
                         ms_spec_ranks(spec) != ms_spec_ranks(base));
    if (is_elsewhere) {
        ms_buffer_printf(out, "%lld x %s: ", (long long)ms_spec_ranks(spec),
                         spec->platform.cluster->name);
    }
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        ms_buffer_printf(out, "%s%s %d", axis == 0 ? "" : " x ", spec->mesh.names[axis],
                         spec->mesh.sizes[axis]);
    }
    const ms_candidate_words words = ms_show_candidate_words(spec);
    ms_buffer_printf(out, ", %s", words.schedule);
    if (spec->schedule.chunks > 1) {
        ms_buffer_printf(out, " v %d", spec->schedule.chunks);
    }
    ms_buffer_printf(out, ", micro %d", spec->batch.micro);
    if (spec->has_model) {
        ms_buffer_printf(out, ", recompute %s, zero %d", words.recompute, spec->data.zero);
    }
    for (size_t i = 0; i < row->settings.count; i++) {
        if (!is_described(row->settings.items[i])) {
            ms_buffer_printf(out, ", %s", row->settings.items[i]);
        }
    }
}

static void add_row(const ms_shown_search *shown, size_t number, ms_buffer *out) {
    const ms_search_row *row = &shown->result->rows[number];
    const ms_run_figures *figures = &row->figures;
    char step[32], peak[32];
    ms_buffer text;
    ms_buffer_init(&text);
    describe(shown, row, &text);
    add_scores(shown, row, &text);
    ms_buffer_printf(out, "%3zu %10s %+7.2f %10s %7.2f %8.2f   %s, %.1f %%\n", number + 1,
                     ms_unit_format(figures->step_time_s, MS_DIM_TIME, step, sizeof step),
                     100 * (row->score.of[0] / shown->result->rows[0].score.of[0] - 1),
                     show_memory(figures->peak_B, peak, sizeof peak),
                     100 * figures->bubble_fraction, 100 * figures->exposed_fraction,
                     row->limited_by, 100 * row->limit_share);
    ms_show_wrapped("    ", ms_buffer_text(&text), out);
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
}

/* One more override of a command, on a line of its own where it would be wider than the page. */
static void add_override(const char *setting, size_t *used, ms_buffer *out) {
    static const char OPTION[] = " --set ", BREAK[] = " \\\n   ";
    size_t before = out->length;
    ms_buffer_puts(out, OPTION);
    ms_show_shell_word(setting, out);
    size_t width = out->length - before;
    bool is_new = *used + width + 2 > MS_SHOW_PAGE_WIDTH; /* a blank and '\\' may follow */
    if (is_new && !out->failed) {
        out->length = before;
        ms_buffer_puts(out, BREAK);
        ms_buffer_puts(out, OPTION);
        ms_show_shell_word(setting, out);
    }
    *used = (is_new ? 3 : *used) + width;
}

static void add_command(const ms_shown_search *shown, const ms_search_row *best, ms_buffer *out) {
    size_t used = MS_SHOW_PAGE_WIDTH; /* the overrides begin on a new line */
    ms_buffer_puts(out, "\nthe best one by itself:\n  meshsim run ");
    ms_show_shell_word(shown->workload, out);
    for (size_t i = 0; i < best->settings.count; i++) {
        add_override(best->settings.items[i], &used, out);
    }
    ms_buffer_puts(out, "\n");
}

static void add_reasons(const char *head, const ms_search_reason *reasons, size_t count,
                        ms_buffer *out) {
    for (size_t i = 0; i < count && i < REASONS_MAX; i++) {
        ms_buffer line;
        ms_buffer_init(&line);
        ms_buffer_printf(&line, "%lld: %s", (long long)reasons[i].count, reasons[i].text);
        ms_buffer_puts(out, i == 0 ? head : "");
        ms_show_wrapped("  ", ms_buffer_text(&line), out);
        out->failed = out->failed || line.failed;
        ms_buffer_release(&line);
    }
    if (count > REASONS_MAX) {
        ms_buffer_printf(out, "  and %zu more reasons, see --json\n", count - REASONS_MAX);
    }
}

static void add_head(const ms_shown_search *shown, ms_arena *arena, ms_buffer *out) {
    const ms_job_spec *base = ms_space_base(shown->space);
    const ms_search_counts *counts = &shown->result->counts;
    const ms_space_axis_view *axes = NULL;
    size_t count = 0;
    ms_buffer line;
    ms_buffer_init(&line);
    ms_buffer_printf(out, "workload   %s\n", base->name == NULL ? shown->workload : base->name);
    out->failed = out->failed || ms_space_axes(shown->space, arena, &axes, &count) != MS_OK;
    ms_buffer_puts(&line, count == 0 ? "as the workload says" : "");
    for (size_t i = 0; i < count; i++) {
        ms_buffer_printf(&line, i == 0 ? "%s" : ", %s", axes[i].key);
    }
    ms_show_wrapped("varied     ", ms_buffer_text(&line), out);
    out->failed = out->failed || line.failed;
    ms_buffer_release(&line);
    ms_buffer_printf(out,
                     "candidates %lld: %lld illegal, %lld do not fit in memory, %lld pruned,\n"
                     "           %lld simulated",
                     (long long)counts->enumerated, (long long)counts->illegal,
                     (long long)counts->does_not_fit, (long long)counts->pruned,
                     (long long)counts->simulated);
    if (counts->failed > 0) {
        ms_buffer_printf(out, ", %lld failed", (long long)counts->failed);
    }
    if (counts->of_others > 0) {
        ms_buffer_printf(out, ", %lld of other shards", (long long)counts->of_others);
    }
    if (counts->beyond_limits > 0) {
        ms_buffer_printf(out, ", %lld beyond the limits", (long long)counts->beyond_limits);
    }
    ms_buffer_puts(out, "\n");
}

/* Where the time of a row goes, beside that of the best one. */
static void add_explanation(const ms_shown_search *shown, size_t rank, ms_buffer *out) {
    const ms_search_row *best = &shown->result->rows[0], *row = &shown->result->rows[rank - 1];
    double best_s = best->figures.step_time_s, row_s = row->figures.step_time_s;
    char own[32], other[32];
    ms_buffer_printf(
        out, "\nwhere the time goes  rank %-6zu     rank 1  difference, %% of rank 1\n", rank);
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        double own_s = row->figures.share[i] * row_s, other_s = best->figures.share[i] * best_s;
        if (own_s > 0 || other_s > 0) {
            ms_buffer_printf(out, "  %-16s %10s %10s %+10.2f\n",
                             ms_time_category_name((ms_time_category)i),
                             ms_unit_format(own_s, MS_DIM_TIME, own, sizeof own),
                             ms_unit_format(other_s, MS_DIM_TIME, other, sizeof other),
                             100 * (own_s - other_s) / best_s);
        }
    }
    ms_buffer_printf(out, "  %-16s %10s %10s %+10.2f\n", "step",
                     ms_unit_format(row_s, MS_DIM_TIME, own, sizeof own),
                     ms_unit_format(best_s, MS_DIM_TIME, other, sizeof other),
                     100 * (row_s - best_s) / best_s);
    ms_buffer_printf(out, "  %-16s %10s %10s\n", "memory",
                     show_memory(row->figures.peak_B, own, sizeof own),
                     show_memory(best->figures.peak_B, other, sizeof other));
}

/* What an interrupted search has of what it has not simulated. */
static void add_expected(const ms_shown_search *shown, ms_buffer *out) {
    const ms_search_row *row = shown->result->expected;
    char estimate[32], bound[32];
    ms_buffer text;
    ms_buffer_init(&text);
    describe(shown, row, &text);
    ms_buffer_printf(
        out, "\nnothing was simulated by then; the best by its estimate, %s and no less than %s:\n",
        ms_unit_format(row->estimate_s, MS_DIM_TIME, estimate, sizeof estimate),
        ms_unit_format(row->bound_s, MS_DIM_TIME, bound, sizeof bound));
    ms_show_wrapped("    ", ms_buffer_text(&text), out);
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
}

void ms_show_search_page(const ms_shown_search *shown, ms_arena *arena, ms_buffer *out) {
    const ms_search_findings *result = shown->result;
    add_head(shown, arena, out);
    if (result->is_partial) {
        ms_buffer_puts(out, "\npartial: the search was interrupted, and better ones may be among "
                            "the rest\n");
    }
    if (result->row_count > 0) {
        ms_buffer_puts(out, "\n                 to the  memory per  bubble  exposed\n"
                            "  #       step  best, %         GPU       %        %   limited by\n");
    } else if (result->expected != NULL) {
        add_expected(shown, out);
    } else {
        ms_buffer_puts(out, result->is_partial ? "\nnothing was found by then\n"
                                               : "\nnothing is feasible\n");
    }
    for (size_t i = 0; i < result->row_count; i++) {
        add_row(shown, i, out);
    }
    if (shown->explained > 0 && result->row_count > 0) {
        add_explanation(shown, shown->explained, out);
    }
    if (result->row_count == 0 && result->counts.beyond_limits > 0) {
        ms_buffer_printf(out,
                         "%lld candidates fit in memory, and none of them keeps to the limits\n",
                         (long long)result->counts.beyond_limits);
    } else if (result->row_count == 0 && result->counts.does_not_fit > 0) {
        char least[32];
        ms_buffer_printf(out, "the least memory that a legal candidate needs: %s\n",
                         ms_unit_format(result->smallest_B, MS_DIM_BYTES, least, sizeof least));
    }
    add_reasons("\nillegal, and one of each:\n", result->illegal, result->illegal_count, out);
    add_reasons("\nfailed, and one of each:\n", result->failed, result->failed_count, out);
    if (result->row_count > 0) {
        add_command(shown, &result->rows[0], out);
    } else if (result->expected != NULL) {
        add_command(shown, result->expected, out);
    }
    out->failed = out->failed || arena->has_failed;
}

/* ---- the tree ---- */

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

static void add_mesh(const ms_spec_mesh *mesh, ms_value *row) {
    ms_value *sizes = ms_value_add(row, "mesh", MS_VALUE_OBJECT);
    ms_value *order = ms_value_add(row, "order", MS_VALUE_ARRAY);
    for (int axis = 0; axis < mesh->axes; axis++) {
        ms_value_add_int(sizes, mesh->names[axis], mesh->sizes[axis]);
        ms_value_add_string(order, NULL, mesh->names[axis]);
    }
}

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

/* What is known of a candidate that was not simulated. */
static void add_estimate(const ms_search_row *found, ms_value *row) {
    ms_value_add_double(row, "estimate_s", found->estimate_s);
    ms_value_add_double(row, "bound_s", found->bound_s);
    ms_value_add_double(row, "peak_B", found->figures.peak_B);
}

static void add_result(const ms_search_row *found, ms_value *list) {
    const ms_job_spec *spec = &found->spec;
    const ms_candidate_words words = ms_show_candidate_words(spec);
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_point_add_settings(&found->settings, ms_value_add(row, "settings", MS_VALUE_OBJECT));
    add_mesh(&spec->mesh, row);
    ms_value_add_string(row, "schedule", words.schedule);
    ms_value_add_int(row, "v", found->figures.chunks);
    ms_value_add_int(row, "micro_batch", spec->batch.micro);
    ms_value_add_string(row, "recompute", words.recompute);
    ms_value_add_int(row, "zero", spec->data.zero);
    ms_value_add_int(row, "gpus", ms_spec_ranks(spec));
    ms_value_add_string(row, "platform", words.platform);
    if (found->is_simulated) {
        add_figures(found, row);
    } else {
        add_estimate(found, row);
    }
}

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
    ms_value_add_string(root, "workload", base->name == NULL ? "" : base->name);
    add_goal(shown->goal, root);
    ms_value_add_bool(root, "partial", result->is_partial);
    add_counts(&result->counts, root);
    ms_value *list = ms_value_add(root, "results", MS_VALUE_ARRAY);
    for (size_t i = 0; i < result->row_count; i++) {
        add_result(&result->rows[i], list);
    }
    if (result->expected != NULL) {
        const ms_search_row *row = result->expected;
        ms_value *expected = ms_value_add(root, "expected", MS_VALUE_OBJECT);
        ms_point_add_settings(&row->settings, ms_value_add(expected, "settings", MS_VALUE_OBJECT));
        ms_value_add_double(expected, "estimate_s", row->estimate_s);
        ms_value_add_double(expected, "bound_s", row->bound_s);
    }
    add_reason_list("illegal", result->illegal, result->illegal_count, root);
    add_reason_list("failed", result->failed, result->failed_count, root);
    return root;
}

void ms_show_search_rest(const ms_search_findings *result, ms_value *root) {
    ms_value *rest = ms_value_add(root, "rest", MS_VALUE_OBJECT);
    ms_value_add_int(rest, "estimated", result->estimated);
    ms_value *list = ms_value_add(rest, "results", MS_VALUE_ARRAY);
    for (size_t i = 0; i < result->rest_count; i++) {
        add_result(&result->rest[i], list);
    }
}
