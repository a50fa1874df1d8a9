#include "cli/show_validation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cli/show_text.h"

/* ---- tables of what came out ---- */

/* Give a table its rows: items [count] of `size` bytes each. Lack of memory shows in the arena. */
static void fill(ms_table *table, const void *items, size_t size, size_t count, ms_arena *arena) {
    table->rows = MS_NEW(arena, const void *, count);
    for (size_t i = 0; i < count && table->rows != NULL; i++) {
        table->rows[i] = (const char *)items + i * size;
        table->count++;
    }
}

static ms_table rows_table(const ms_validation *v, size_t from, size_t to, ms_arena *arena) {
    ms_table table = {.columns = MS_VALIDATE_ROW_COLUMNS,
                      .reason_offset = offsetof(ms_validate_row, reason)};
    fill(&table, v->rows + from, sizeof *v->rows, to - from, arena);
    return table;
}

static ms_table points_table(const ms_validate_points *points, const ms_table_column *columns,
                             ms_arena *arena) {
    ms_table table = {.columns = columns, .reason_offset = offsetof(ms_validate_point, reason)};
    fill(&table, points->items, sizeof *points->items, points->count, arena);
    return table;
}

static ms_table groups_table(const ms_validate_groups *groups, ms_arena *arena) {
    ms_table table = {.columns = MS_VALIDATE_GROUP_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    fill(&table, groups->items, sizeof *groups->items, groups->count, arena);
    return table;
}

/* ---- JSON ---- */

static void add_groups(ms_value *root, const char *key, const ms_validate_groups *groups) {
    ms_value *object = ms_value_add(root, key, MS_VALUE_OBJECT);
    for (size_t i = 0; i < groups->count; i++) {
        const ms_validate_group *group = &groups->items[i];
        ms_value *entry = ms_value_add(object, group->name, MS_VALUE_OBJECT);
        ms_value_add_int(entry, "n", group->n);
        ms_value_add_double(entry, "mean_abs_error", group->mean_abs_error);
        ms_value_add_double(entry, "bias", group->bias);
        ms_value_add_double(entry, "worst_abs_error", group->worst_abs_error);
        ms_value_add_string(entry, "worst", group->worst);
    }
}

static void add_skip(const char *id, const char *group, const char *reason, ms_value *list) {
    ms_value *entry = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(entry, "id", id);
    if (group != NULL) {
        ms_value_add_string(entry, "group", group);
    }
    ms_value_add_string(entry, "reason", reason);
}

/* Rows [from, to) that are left out. */
static void add_skipped_rows(const ms_validation *v, size_t from, size_t to, ms_value *list) {
    for (size_t i = from; i < to; i++) {
        const ms_validate_row *row = &v->rows[i];
        if (row->reason != NULL) {
            add_skip(row->id, row->group, row->reason, list);
        }
    }
}

/* What is left out of the score, and beside it what was to be in another table. */
static void add_skipped(ms_value *root, const ms_validation *v) {
    add_skipped_rows(v, 0, v->scored, ms_value_add(root, "skipped", MS_VALUE_ARRAY));
    ms_value *list = ms_value_add(root, "skipped_apart", MS_VALUE_ARRAY);
    add_skipped_rows(v, v->scored, v->row_count, list);
    for (size_t i = 0; i < v->collectives.count; i++) {
        const ms_validate_point *point = &v->collectives.items[i];
        if (point->reason != NULL) {
            add_skip(point->id, NULL, point->reason, list);
        }
    }
}

ms_value *ms_show_validation_tree(const ms_invocation *call, const ms_validation *v) {
    ms_arena *arena = call->arena;
    ms_value *root = ms_value_new_object(arena);
    const ms_table scored = rows_table(v, 0, v->scored, arena);
    const ms_table apart = rows_table(v, v->scored, v->timed, arena);
    const ms_table memory = points_table(&v->memory, MS_VALIDATE_MEMORY_COLUMNS, arena);
    const ms_table layers = points_table(&v->layers, MS_VALIDATE_LAYER_COLUMNS, arena);
    const ms_table phases = points_table(&v->phases, MS_VALIDATE_LAYER_COLUMNS, arena);
    const ms_table collectives =
        points_table(&v->collectives, MS_VALIDATE_COLLECTIVE_COLUMNS, arena);
    ms_table_add_list(&scored, false, "rows", root);
    add_groups(root, "groups", &v->groups);
    ms_value_add_double(root, "mean_of_groups", v->mean_of_groups);
    ms_value_add_double(root, "mean_of_groups_recompute_stated", v->stated_mean);
    add_skipped(root, v);
    ms_table_add_list(&apart, false, "apart_rows", root);
    add_groups(root, "apart", &v->apart);
    ms_table_add_list(&memory, false, "memory", root);
    add_groups(root, "memory_groups", &v->memory_groups);
    ms_table_add_list(&layers, false, "layers", root);
    ms_table_add_list(&phases, false, "phases", root);
    ms_table_add_list(&collectives, false, "collectives", root);
    add_groups(root, "collective_sizes", &v->sizes);
    return root;
}

void ms_show_validation_csv(const ms_validation *v, ms_arena *arena, ms_buffer *out) {
    const ms_table table = rows_table(v, 0, v->row_count, arena);
    ms_table_write_csv(&table, out);
}

/* ---- page ---- */

static const char ROW_HEAD[] = " predicted   measured  error %\n";
static const ms_table_cell ROW_CELLS[] = {{"predicted_s", 10, ""}, {"measured_s", 10, NULL},
                                          {"error", 7, NULL},      {"mark", 1, NULL},
                                          {"id", -1, NULL},        {0}};

static const char GROUP_HEAD[] = "                     n  mean %  bias %  worst %\n";
static const ms_table_cell GROUP_CELLS[] = {{"name", -17, ""},
                                            {"n", 4, NULL},
                                            {"mean_abs_error", 7, NULL},
                                            {"bias", 7, NULL},
                                            {"worst_abs_error", 8, NULL},
                                            {"worst", -1, "  "},
                                            {0}};

static const char LAYER_HEAD[] = "\nlayers\n predicted   measured  error %\n";
static const char PHASE_HEAD[] = "\nphases of steps\n predicted   measured  error %\n";
static const ms_table_cell LAYER_CELLS[] = {{"predicted_s", 10, ""}, {"measured_s", 10, NULL},
                                            {"error", 7, NULL},      {"quantity", -9, "  "},
                                            {"id", -1, NULL},        {0}};

static void add_group_table(const char *title, const ms_validate_groups *groups, ms_arena *arena,
                            ms_buffer *out) {
    if (groups->count > 0) {
        const ms_table table = groups_table(groups, arena);
        ms_buffer_printf(out, "\n%s\n", title);
        ms_table_write_page(&table, GROUP_HEAD, GROUP_CELLS, out);
    }
}

/* What has to be known of some rows, below the table. */
static void add_marks(const ms_validation *v, ms_buffer *out) {
    size_t large = 0, suspect = 0, unstated = 0;
    for (size_t i = 0; i < v->scored; i++) {
        const ms_validate_row *row = &v->rows[i];
        if (row->reason == NULL) {
            large += !row->fits;
            suspect += row->is_suspect;
            unstated += !row->is_stated;
        }
    }
    if (large > 0) {
        ms_buffer_printf(out, "! %zu ran, and do not fit in memory as simulated\n", large);
    }
    if (suspect > 0) {
        ms_buffer_printf(out, "? %zu whose source contradicts itself; they count\n", suspect);
    }
    if (unstated > 0) {
        ms_buffer_printf(out,
                         "%zu do not state what is recomputed, and have their framework's choice; "
                         "without them\n  the mean of groups is %.1f %%\n",
                         unstated, 100.0 * v->stated_mean);
    }
}

/* Collectives of one system are left out together. */
static void add_skipped_systems(const ms_validate_points *points, const char *head,
                                ms_buffer *out) {
    const char *last = "";
    for (size_t i = 0; i < points->count; i++) {
        const ms_validate_point *point = &points->items[i];
        if (point->reason != NULL && strcmp(point->id, last) != 0) {
            ms_buffer_puts(out, head);
            ms_show_reason(point->id, point->reason, out);
            head = "";
            last = point->id;
        }
    }
}

static void add_left_out(const ms_validation *v, ms_buffer *out) {
    const char *head = "\nskipped\n";
    for (size_t i = 0; i < v->row_count; i++) {
        if (v->rows[i].reason != NULL) {
            ms_buffer_puts(out, head);
            ms_show_reason(v->rows[i].id, v->rows[i].reason, out);
            head = "";
        }
    }
    add_skipped_systems(&v->collectives, head, out);
}

void ms_show_validation_page(const ms_validation *v, ms_arena *arena, ms_buffer *out) {
    const ms_table scored = rows_table(v, 0, v->scored, arena);
    const ms_table layers = points_table(&v->layers, MS_VALIDATE_LAYER_COLUMNS, arena);
    const ms_table phases = points_table(&v->phases, MS_VALIDATE_LAYER_COLUMNS, arena);
    if (ms_table_kept(&scored) > 0) {
        ms_table_write_page(&scored, ROW_HEAD, ROW_CELLS, out);
        add_marks(v, out);
    }
    add_group_table("step time by group", &v->groups, arena, out);
    if (v->groups.count > 0) {
        ms_buffer_printf(out, "%-22s %7.1f\n", "mean of groups", 100.0 * v->mean_of_groups);
    }
    add_group_table("step time outside the score", &v->apart, arena, out);
    add_group_table("memory by group", &v->memory_groups, arena, out);
    if (v->layers.count > 0) {
        ms_table_write_page(&layers, LAYER_HEAD, LAYER_CELLS, out);
    }
    if (v->phases.count > 0) {
        ms_table_write_page(&phases, PHASE_HEAD, LAYER_CELLS, out);
    }
    add_group_table("collectives by size", &v->sizes, arena, out);
    add_left_out(v, out);
    out->failed = out->failed || arena->has_failed;
}

/* ---- one case ---- */

static void add_time(const char *name, double time_s, ms_buffer *out) {
    char text[32];
    ms_buffer_printf(out, "  %-24s %12s\n", name,
                     ms_unit_format(time_s, MS_DIM_TIME, text, sizeof text));
}

static void add_shares(const ms_validate_row *row, ms_buffer *out) {
    char text[32];
    ms_buffer_puts(out, "\nsimulated\n");
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        double share = row->figures.share[i];
        if (share > 0) {
            ms_buffer_printf(
                out, "  %-24s %12s %6.2f %%\n", ms_time_category_name((ms_time_category)i),
                ms_unit_format(share * row->predicted_s, MS_DIM_TIME, text, sizeof text),
                100.0 * share);
        }
    }
    for (int kind = 0; kind < MS_OP_OPTIMIZER; kind++) {
        char name[48];
        if (row->finding.pass_s[kind] > 0) {
            snprintf(name, sizeof name, "a pass: %s", ms_op_kind_name((ms_op_kind)kind));
            add_time(name, row->finding.pass_s[kind], out);
        }
    }
    const ms_run_figures *f = &row->figures;
    ms_buffer_printf(out,
                     "  %-24s %11.2f %%\n  %-24s %11.2f %%\n  %-24s %11.2f %%\n"
                     "  %-24s %12.1f\n  %-24s %12.1f\n  %-24s %11.2f %%\n",
                     "MFU", 100 * f->mfu, "MFU, causal", 100 * f->mfu_causal, "HFU", 100 * f->hfu,
                     "model TFLOP/s per GPU", f->model_tflops_per_gpu, "tokens/s per GPU",
                     f->tokens_per_s_per_gpu, "bubble", 100 * f->bubble_fraction);
    ms_buffer_printf(out, "  %-24s %12s%s\n", "peak memory",
                     ms_unit_format(f->peak_B, MS_DIM_BYTES, text, sizeof text),
                     f->fits ? "" : ", does not fit");
}

/* What else is held against a figure of the source. */
static void add_compared(const ms_validate_row *row, ms_buffer *out) {
    const ms_case_measured *measured = &row->measured->measured;
    const ms_validate_finding *found = &row->finding;
    char text[32];
    if (!isnan(measured->layer_s)) {
        add_time("forward, as a layer", found->forward_s, out);
        add_time("backward, as a layer", found->backward_s, out);
    }
    if (measured->is_last_rank) {
        ms_buffer_printf(out, "  %-24s %12s\n", "last rank, peak",
                         ms_unit_format(found->last_peak_B, MS_DIM_BYTES, text, sizeof text));
        ms_buffer_printf(out, "  %-24s %12s\n", "last rank, between steps",
                         ms_unit_format(found->last_static_B, MS_DIM_BYTES, text, sizeof text));
    }
}

static void add_published(const ms_case_measured *measured, ms_buffer *out) {
    ms_buffer_puts(out, measured->figure_count > 0 ? "\npublished\n" : "");
    for (size_t i = 0; i < measured->figure_count; i++) {
        ms_buffer_printf(out, "  %-36s %s\n", measured->figures[i].name, measured->figures[i].text);
    }
}

void ms_show_validation_case(const ms_validate_row *row, ms_buffer *out) {
    const ms_case *c = row->measured;
    char predicted[32];
    char measured[32];
    ms_buffer_printf(out, "case       %s, group %s\nsource     %s\n", row->id, row->group,
                     c->source == NULL ? "not named" : c->source);
    ms_buffer_printf(out, "stands at  %s:%d\n", c->mark.file, c->mark.line);
    ms_buffer_printf(out, "framework  %s, on %s\n", row->framework,
                     row->platform == NULL ? "no platform" : row->platform);
    if (row->differs != NULL) {
        ms_show_wrapped("otherwise  ", row->differs, out);
        ms_buffer_puts(out, "\n");
    }
    if (row->reason != NULL) {
        ms_show_wrapped("skipped    ", row->reason, out);
        ms_buffer_puts(out, "\n");
    } else if (!isnan(row->error)) {
        ms_buffer_printf(out, "step       predicted %s, measured %s, error %+.1f %%\n",
                         ms_unit_format(row->predicted_s, MS_DIM_TIME, predicted, sizeof predicted),
                         ms_unit_format(row->measured_s, MS_DIM_TIME, measured, sizeof measured),
                         100.0 * row->error);
    }
    if (row->reason == NULL) {
        add_shares(row, out);
        add_compared(row, out);
    }
    add_published(&c->measured, out);
}
