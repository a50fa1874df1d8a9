/* meshsim schedule --compare: many schedules in one table. On paper (ms_cli_schedule_compare) each
 * schedule is evaluated with abstract times; in a workload (ms_cli_schedule_compare_on_platform)
 * each is simulated in the place of the workload's own schedule. A row is left out of the table
 * with a reason where its schedule is impossible or exceeds the cap of memory. */
#include <string.h>

#include "base/target.h"
#include "base/units.h"
#include "base/usage.h"
#include "cli/job_options.h"
#include "cli/schedule_options.h"
#include "cli/shown_tables.h"
#include "cli/study_options.h"
#include "cli/tool.h"
#include "search/schedules.h"
#include "trace/report/report.h"
#include "trace/summary.h"

/* Options that name a file for the table. */
static const char *const TABLE_FILES[] = {"csv-table", "pareto", NULL};

/* ---- what is printed ---- */

/* Find the column of --sort.  fallback: name of the default column.  kind: words for the message
 * about the known columns, such as " with --workload".  Returns MS_OK; MS_E_USAGE (reported, with
 * the known columns). */
static ms_status sort_column(const ms_invocation *call, const ms_table_column *columns,
                             const char *fallback, const char *kind,
                             const ms_table_column **column_out) {
    const char *name = ms_cli_value(call, "sort", fallback);
    *column_out = ms_table_find_column(columns, name);
    if (*column_out != NULL) {
        return MS_OK;
    }
    ms_buffer known = {0};
    ms_table_list_columns(columns, &known);
    ms_diag_error(call->diag, "unknown column '%s' (known%s: %s)", name, kind,
                  ms_buffer_text(&known));
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

/* Write the table to the file of --csv-table, and as the picture of --pareto, then print it, unless
 * a file or picture is the standard output. */
static ms_status print(const ms_invocation *call, const ms_shown_table *tables,
                       const ms_value *tree) {
    static const char *const FILES[] = {"csv-table", "pareto", "gantt", NULL};
    ms_status status = ms_cli_write_csv(call, "csv-table", tree);
    status = status == MS_OK ? ms_cli_draw_pareto(call, tree) : status;
    return status != MS_OK || ms_cli_uses_stdout(call, FILES)
               ? status
               : ms_cli_show(call, "a comparison", tables, tree);
}

/* Make the tree that --json prints for a table on paper. */
static ms_value *paper_tree(const ms_invocation *call, const ms_paper_study *study,
                            const ms_table *table) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_int(root, "p", study->sizes.pipeline_ranks);
    ms_value_add_int(root, "m", study->sizes.microbatches);
    if (study->cap > 0) {
        ms_value_add_double(root, "memory_cap", study->cap);
    }
    ms_value_add_string(root, "sorted_by", ms_table_word(table->sorted_by));
    ms_table_add_rows(table, root);
    return root;
}

/* Make the tree that --json prints for a table of simulated schedules. */
static ms_value *simulated_tree(const ms_invocation *call, const ms_simulated_study *study,
                                const ms_table *table) {
    const ms_job *job = study->base;
    const ms_gpu_type *gpu = &job->platform->gpu;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "platform", job->platform->name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_value_add_int(root, "p", job->layout.pp);
    ms_value_add_int(root, "m", job->microbatches);
    ms_value_add_double(root, "capacity_B", gpu->hbm_B - gpu->reserve_B);
    if (study->cap_B > 0) {
        ms_value_add_double(root, "memory_cap_B", study->cap_B);
    }
    ms_value_add_string(root, "sorted_by", ms_table_word(table->sorted_by));
    ms_table_add_rows(table, root);
    return root;
}

/* Print a table of simulated schedules; text and Markdown also show the workload's mesh. */
static ms_status show_simulated(const ms_invocation *call, const ms_simulated_study *study,
                                const ms_table *table) {
    ms_value *root = simulated_tree(call, study, table);
    if (!ms_cli_has(call, "json")) {
        ms_summary_add_meshes(study->base, ms_value_add(root, "page", MS_VALUE_OBJECT));
    }
    return print(call, MS_SIMULATED_SCHEDULE_TABLES, root);
}

/* ---- which schedules ---- */

/* Append the schedule that one name of --compare stands for; "all" stands for every kind, and for
 * the reordered ones. */
static ms_status add_choice(const ms_invocation *call, const char *name, ms_vector *choices) {
    ms_schedule_choice choice;
    if (strcmp(name, "all") != 0) {
        ms_status status = ms_cli_schedule_choice(call, name, &choice);
        if (status == MS_OK) {
            ms_vector_add(choices, &choice, 1);
        }
        return status;
    }
    for (int i = 0; i < 2 * MS_SCHEDULE_KIND_COUNT; i++) {
        choice =
            (ms_schedule_choice){.kind = (ms_schedule_kind)(i / 2), .is_reordered = i % 2 == 1};
        choice.name = ms_schedule_kind_name(choice.kind);
        if (choice.is_reordered) {
            choice.name = ms_arena_printf(call->arena, "%s" MS_CLI_REORDERED, choice.name);
        }
        if (!choice.is_reordered || ms_schedule_kind_traits(choice.kind).takes_reorder) {
            ms_vector_add(choices, &choice, 1);
        }
    }
    return call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
}

/* Read the comma list of --compare; without a list all kinds.  *choices_out: [*count_out] in the
 * arena of the call. */
static ms_status read_choices(const ms_invocation *call, const ms_schedule_choice **choices_out,
                              size_t *count_out) {
    ms_vector choices = {.item_B = sizeof(ms_schedule_choice)};
    ms_status status = MS_OK;
    for (const char *at = ms_cli_value(call, "compare", "all"); at != NULL && status == MS_OK;) {
        size_t length = strcspn(at, ",");
        const char *name = ms_arena_strndup(call->arena, at, length);
        at = at[length] == ',' ? at + length + 1 : NULL;
        status = name == NULL ? ms_diag_no_memory(call->diag) : add_choice(call, name, &choices);
    }
    *count_out = choices.count;
    *choices_out = ms_vector_keep(&choices, call->arena);
    return status == MS_OK && *choices_out == NULL ? ms_diag_no_memory(call->diag) : status;
}

/* ---- on paper ---- */

/* Read P and M from the command line. A size that is not given there is that of the first csv:FILE
 * among the schedules.  Returns MS_OK; MS_E_USAGE (reported) where a size is still missing. */
static ms_status read_sizes(const ms_invocation *call, ms_paper_study *study) {
    ms_schedule_spec *sizes = &study->sizes;
    ms_status status = ms_cli_schedule_sizes(call, sizes);
    bool is_open = sizes->pipeline_ranks == 0 || sizes->microbatches == 0;
    if (status == MS_OK && is_open) {
        status = ms_paper_sizes_from_file(study, call->arena, call->diag);
    }
    return status == MS_OK && (sizes->pipeline_ranks == 0 || sizes->microbatches == 0)
               ? ms_cli_schedule_need_sizes(call)
               : status;
}

/* Read all options of a table on paper: schedules, sizes, cap, sort column and times.  study,
 * costs, table: filled in; study->costs borrows `costs`. */
static ms_status read_paper(const ms_invocation *call, ms_paper_study *study,
                            ms_schedule_costs *costs, ms_table *table) {
    ms_status status = ms_cli_check_targets(call, TABLE_FILES);
    status = status == MS_OK ? read_choices(call, &study->choices, &study->count) : status;
    status = status == MS_OK ? read_sizes(call, study) : status;
    status = status == MS_OK ? ms_cli_schedule_cap(call, &study->cap) : status;
    status = status == MS_OK
                 ? sort_column(call, MS_PAPER_COLUMNS, "rank_makespan", "", &table->sorted_by)
                 : status;
    status =
        status == MS_OK ? ms_cli_schedule_costs(call, study->sizes.pipeline_ranks, costs) : status;
    study->costs = costs;
    return status;
}

/* Draw the schedules of the table for --gantt, stacked in the order in which the user named them.
 * rows: [count]. */
static ms_status draw_paper(const ms_invocation *call, const ms_paper_row *rows, size_t count) {
    const char *path = ms_cli_value(call, "gantt", NULL);
    ms_drawn_schedule *drawn = MS_NEW(call->arena, ms_drawn_schedule, count);
    size_t kept = 0;
    if (path == NULL) {
        return MS_OK;
    }
    if (drawn == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].reason == NULL) {
            drawn[kept++] = (ms_drawn_schedule){rows[i].program, rows[i].result,
                                                "in P-ths of the model", rows[i].share};
        }
    }
    /* With no schedule to draw a file is not touched; but '-' must not become an empty picture, so
     * ms_cli_schedule_gantt reports that there is none. */
    bool is_wanted = kept > 0 || strcmp(path, "-") == 0;
    return is_wanted ? ms_cli_schedule_gantt(call, drawn, kept, path) : MS_OK;
}

/* Returns MS_E_NO if no schedule is left in the table. */
ms_status ms_cli_schedule_compare(const ms_invocation *call) {
    ms_paper_study study = {.count = 0};
    ms_schedule_costs costs = {0};
    ms_table table = {.columns = MS_PAPER_COLUMNS, .reason_offset = offsetof(ms_paper_row, reason)};
    ms_status status = read_paper(call, &study, &costs, &table);
    ms_paper_row *rows = MS_NEW(call->arena, ms_paper_row, study.count);
    if (status == MS_OK && (rows == NULL || ms_table_fill(&table, rows, sizeof *rows, study.count,
                                                          call->arena) != MS_OK)) {
        status = ms_diag_no_memory(call->diag);
    }
    status =
        status == MS_OK ? ms_schedules_evaluate(&study, call->arena, call->diag, rows) : status;
    status = status == MS_OK ? draw_paper(call, rows, study.count) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_table_sort(&table);
    status = print(call, MS_SCHEDULES_TABLES, paper_tree(call, &study, &table));
    return status == MS_OK && ms_table_kept(&table) == 0 ? MS_E_NO : status;
}

/* ---- in a workload ---- */

/* Read --memory-cap, which is in bytes for simulated schedules.  *cap_B_out: [B]; unchanged without
 * the option. */
static ms_status read_cap(const ms_invocation *call, double *cap_B_out) {
    const char *text = ms_cli_value(call, "memory-cap", NULL);
    const char *reason = NULL;
    double cap_B = 0;
    if (text == NULL) {
        return MS_OK;
    }
    if (ms_unit_parse(text, MS_DIM_BYTES, &cap_B, &reason) != MS_OK) {
        char why[512];
        return ms_diag_usage(call->diag, "option '--memory-cap' with '--workload': %s",
                             ms_unit_explain(text, MS_DIM_BYTES, why, sizeof why));
    }
    if (cap_B <= 0) {
        return ms_diag_usage(call->diag, "option '--memory-cap' takes a size > 0, got '%s'", text);
    }
    *cap_B_out = cap_B;
    return MS_OK;
}

/* Read all options of a table in a workload: sizes, sort column, cap, --jobs, schedules and traces,
 * and the request for the workload. */
static ms_status read_simulated(const ms_invocation *call, ms_simulated_study *study,
                                ms_job_request *request, ms_table *table) {
    ms_status status = ms_cli_check_targets(call, TABLE_FILES);
    status = status == MS_OK ? ms_cli_schedule_sizes(call, &study->sizes) : status;
    status = status == MS_OK ? sort_column(call, MS_SIMULATED_COLUMNS, "step_time_s",
                                           " with --workload", &table->sorted_by)
                             : status;
    status = status == MS_OK ? read_cap(call, &study->cap_B) : status;
    status = status == MS_OK ? ms_cli_jobs(call, &study->jobs) : status;
    status = status == MS_OK ? read_choices(call, &study->choices, &study->count) : status;
    if (status == MS_OK && ms_cli_has(call, "gantt") && study->count > MS_GANTT_PICTURES_MAX) {
        status = ms_diag_usage(
            call->diag,
            "'--gantt' stacks at most %d pictures, and these are %zu; name the schedules",
            MS_GANTT_PICTURES_MAX, study->count);
    }
    study->trace_folder = ms_cli_value(call, "traces", NULL);
    study->program_version = MESHSIM_VERSION;
    return status == MS_OK ? ms_cli_job_request(call, ms_cli_value(call, "workload", NULL), request)
                           : status;
}

/* Draw the traces of the schedules in the table for --gantt, stacked in the order of the table. */
static ms_status draw_traces(const ms_invocation *call, const ms_table *table) {
    const char *path = ms_cli_value(call, "gantt", NULL);
    const char **traces = MS_NEW(call->arena, const char *, table->count);
    size_t kept = 0;
    if (path == NULL) {
        return MS_OK;
    }
    if (traces == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    for (size_t i = 0; i < table->count; i++) {
        const ms_simulated_row *row = table->rows[i];
        if (row->reason == NULL) {
            traces[kept++] = row->trace;
        }
    }
    return kept == 0
               ? MS_OK
               : ms_report_write(traces, kept, MS_GANTT_PIPELINE_RANKS, 0.0, path, call->diag);
}

/* Simulate the schedules of a study, sort the table, draw it and print it.  Returns as
 * ms_schedules_verdict, or the status of a step that failed. */
static ms_status simulate(const ms_invocation *call, ms_simulated_study *study, ms_table *table) {
    ms_simulated_row *rows = MS_NEW(call->arena, ms_simulated_row, study->count);
    if (rows == NULL ||
        ms_table_fill(table, rows, sizeof *rows, study->count, call->arena) != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_schedules_simulate(study, call->arena, call->diag, rows);
    if (status == MS_OK) {
        ms_table_sort(table);
        status = draw_traces(call, table);
    }
    status = status == MS_OK ? show_simulated(call, study, table) : status;
    return status == MS_OK ? ms_schedules_verdict(rows, study->count) : status;
}

ms_status ms_cli_schedule_compare_on_platform(const ms_invocation *call) {
    ms_simulated_study study = {.count = 0};
    ms_job_request request;
    ms_job base = {0};
    ms_table table = {.columns = MS_SIMULATED_COLUMNS,
                      .reason_offset = offsetof(ms_simulated_row, reason)};
    ms_status status = read_simulated(call, &study, &request, &table);
    status = status == MS_OK ? ms_job_load(&request, call->arena, call->diag, &base) : status;
    ms_cli_line line = {.start_s = ms_wall_s()};
    study.base = &base;
    study.progress = ms_cli_show_progress;
    study.context = &line;
    return status == MS_OK ? simulate(call, &study, &table) : status;
}
