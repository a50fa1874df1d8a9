#include "cli/show_schedules.h"

#include "cli/csv.h"
#include "cli/shown_tables.h"
#include "trace/summary.h"

ms_status ms_cli_sort_column(const ms_invocation *call, const ms_table_column *columns,
                             const char *fallback, const char *kind,
                             const ms_table_column **column_out) {
    const char *name = ms_cli_value(call, "sort", fallback);
    *column_out = ms_table_find_column(columns, name);
    if (*column_out != NULL) {
        return MS_OK;
    }
    ms_buffer known;
    ms_buffer_init(&known);
    ms_table_list_columns(columns, &known);
    ms_diag_error(call->diag, "unknown column '%s' (known%s: %s)", name, kind,
                  ms_buffer_text(&known));
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

/* ---- what both tables share ---- */

/* To the file of --csv-table, and then where no data took the standard output, there. */
static ms_status print(const ms_invocation *call, const ms_shown_table *tables,
                       const ms_value *tree) {
    static const char *const FILES[] = {"csv-table", "gantt", NULL};
    ms_status status = ms_cli_write_csv(call, "csv-table", tree);
    return status != MS_OK || ms_cli_takes_stdout(call, FILES)
               ? status
               : ms_cli_show(call, "a comparison", tables, tree);
}

/* ---- on paper ---- */

static ms_value *paper_tree(const ms_invocation *call, const ms_shown_paper *shown) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_int(root, "p", shown->ranks);
    ms_value_add_int(root, "m", shown->microbatches);
    if (shown->cap > 0) {
        ms_value_add_double(root, "memory_cap", shown->cap);
    }
    ms_value_add_string(root, "sorted_by", ms_table_word(shown->table.sorted_by));
    ms_table_add_rows(&shown->table, root);
    return root;
}

ms_status ms_cli_show_paper(const ms_invocation *call, const ms_shown_paper *shown) {
    return print(call, MS_SCHEDULES_TABLES, paper_tree(call, shown));
}

/* ---- in a workload ---- */

static ms_value *simulated_tree(const ms_invocation *call, const ms_shown_simulated *shown) {
    const ms_job *job = shown->job;
    const ms_gpu_type *gpu = &job->platform->gpu;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "platform", job->platform->name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_value_add_int(root, "p", job->layout.pp);
    ms_value_add_int(root, "m", job->microbatches);
    ms_value_add_double(root, "capacity_B", gpu->hbm_B - gpu->reserve_B);
    if (shown->cap_B > 0) {
        ms_value_add_double(root, "memory_cap_B", shown->cap_B);
    }
    ms_value_add_string(root, "sorted_by", ms_table_word(shown->table.sorted_by));
    ms_table_add_rows(&shown->table, root);
    return root;
}

ms_status ms_cli_show_simulated(const ms_invocation *call, const ms_shown_simulated *shown) {
    ms_value *root = simulated_tree(call, shown);
    if (!ms_cli_has(call, "json")) {
        ms_summary_add_meshes(shown->job, ms_value_add(root, "page", MS_VALUE_OBJECT));
    }
    return print(call, MS_SIMULATED_SCHEDULE_TABLES, root);
}
