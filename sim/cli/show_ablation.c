#include "cli/show_ablation.h"

static const char HEAD[] = "                       rows without      gain in points of percent\n"
                           "mechanism             moved  mean %    all fitted unseen  most, in\n";
static const ms_table_cell CELLS[] = {
    {"mechanism", -22, ""}, {"moved", 5, ""},         {"mean_of_groups", 7, NULL},
    {"gain", 6, NULL},      {"fitted_gain", 6, NULL}, {"unseen_gain", 6, NULL},
    {"most_gain", 6, NULL}, {"most", -1, NULL},       {0}};

/* Lack of memory shows in the arena. */
static ms_table table_of(const ms_ablation *a, ms_arena *arena) {
    ms_table table = {.columns = MS_ABLATION_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    ms_table_fill(&table, a->rows, sizeof *a->rows, a->count, arena);
    return table;
}

void ms_show_ablation_page(const ms_ablation *a, ms_arena *arena, ms_buffer *out) {
    const ms_table table = table_of(a, arena);
    ms_buffer_printf(out, "mean of groups with all mechanisms %.1f %%\n\n",
                     100.0 * a->whole.mean_of_groups);
    ms_table_write_page(&table, HEAD, CELLS, out);
    ms_buffer_puts(
        out, "\ngain: what the mean error grows by without it; below 0 it costs. Unseen: a third\n"
             "of the rows by the checksum of their names, and all of groups under 6 rows\n");
    out->failed = out->failed || arena->has_failed;
}

void ms_show_ablation_csv(const ms_ablation *a, ms_arena *arena, ms_buffer *out) {
    const ms_table table = table_of(a, arena);
    ms_table_write_csv(&table, out);
}

void ms_show_ablation_list(const ms_ablation *a, ms_arena *arena, ms_value *root) {
    const ms_table table = table_of(a, arena);
    ms_table_add_list(&table, false, "ablation", root);
    ms_value *entry = arena->has_failed ? NULL : root->last->first;
    for (size_t i = 0; entry != NULL; entry = entry->next, i++) {
        ms_value *groups = ms_value_add(entry, "groups", MS_VALUE_OBJECT);
        for (size_t g = 0; g < a->rows[i].group_count; g++) {
            ms_value_add_double(groups, a->rows[i].groups[g].group, a->rows[i].groups[g].gain);
        }
    }
}
