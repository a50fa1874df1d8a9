#include "cli/show_schedules.h"

#include <string.h>

#include "cli/show_text.h"
#include "cli/shown_tables.h"

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

static ms_status write_csv(const ms_invocation *call, const ms_table *table) {
    const char *path = ms_cli_value(call, "csv-table", NULL);
    if (path == NULL) {
        return MS_OK;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    ms_table_write_csv(table, &text);
    ms_status status = MS_E_NOMEM;
    if (text.failed) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    return status;
}

/* How one kind of table is printed. */
typedef struct forms {
    const ms_value *(*make_tree)(const ms_invocation *call, const void *shown);
    void (*write_page)(const void *shown, ms_buffer *out);
    const ms_shown_table *tables; /* of the tree, in Markdown */
} forms;

/* To the file of --csv-table, and then where no data took the standard output, there. */
static ms_status print(const ms_invocation *call, const ms_table *table, const forms *how,
                       const void *shown) {
    ms_status status = write_csv(call, table);
    bool is_taken = strcmp(ms_cli_value(call, "csv-table", ""), "-") == 0 ||
                    strcmp(ms_cli_value(call, "gantt", ""), "-") == 0;
    if (status != MS_OK || is_taken) {
        return status;
    }
    if (ms_cli_wants_tree(call)) {
        return ms_cli_show(call, "a comparison", how->tables, how->make_tree(call, shown));
    }
    ms_buffer text;
    ms_buffer_init(&text);
    how->write_page(shown, &text);
    return ms_cli_print_page(call, &text);
}

static void add_left_out(const ms_table *table, ms_buffer *out) {
    const char *head = "\nleft out\n";
    for (size_t i = 0; i < table->count; i++) {
        const char *reason = ms_table_reason(table, i);
        if (reason != NULL) {
            ms_buffer_puts(out, head);
            ms_show_reason(ms_table_name(table, i), reason, out);
            head = "";
        }
    }
}

/* ---- on paper ---- */

static const char PAPER_UNIT[] =
    "times in T of one virtual stage, as for a single schedule; 'per rank': the\n"
    "makespan in T of a rank's stages together, by which schedules of any V compare\n\n";
static const char PAPER_HEAD[] =
    "                          make-     per  idle   idle peak pa-      closed\n"
    "schedule              V    span    rank     % inside  inf ram msgs   form period\n";
static const ms_table_cell PAPER_CELLS[] = {
    {"schedule", 0, NULL},        {"v", 2, NULL},
    {"makespan", 7, NULL},        {"rank_makespan", 7, NULL},
    {"bubble_fraction", 5, NULL}, {"max_span_bubble", 6, NULL},
    {"peak_inflight", 4, NULL},   {"param_replicas", 3, NULL},
    {"msgs_total", 4, NULL},      {"formula_makespan", 6, NULL},
    {"period", 6, NULL},          {0},
};

static const char GAP_HEAD[] =
    "\nwhere it comes from: closed form (or work of a rank) with equal stages and free\n"
    "messages, and what order, unequal stages and latency add\n"
    "schedule             makespan       base                order   unequal  latency\n";
static const ms_table_cell GAP_CELLS[] = {
    {"schedule", 0, NULL},    {"makespan", 8, NULL},
    {"base", 8, " = "},       {"base_kind", -11, NULL},
    {"gap.order", 8, NULL},   {"gap.imbalance", 9, NULL},
    {"gap.latency", 8, NULL}, {0},
};

static const ms_value *paper_tree(const ms_invocation *call, const void *context) {
    const ms_shown_paper *shown = context;
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

static void write_paper(const void *context, ms_buffer *out) {
    const ms_shown_paper *shown = context;
    const ms_table *table = &shown->table;
    ms_buffer_printf(out, "P=%d M=%d", shown->ranks, shown->microbatches);
    if (shown->cap > 0) {
        ms_buffer_printf(out, ", at most %.4g in flight per rank", shown->cap);
    }
    ms_buffer_printf(out, ", sorted by %s\n\n", ms_table_word(table->sorted_by));
    if (ms_table_kept(table) > 0) {
        ms_buffer_puts(out, PAPER_UNIT);
        ms_table_write_page(table, PAPER_HEAD, PAPER_CELLS, out);
        ms_table_write_page(table, GAP_HEAD, GAP_CELLS, out);
    } else {
        ms_buffer_puts(out, "none\n");
    }
    add_left_out(table, out);
}

ms_status ms_cli_show_paper(const ms_invocation *call, const ms_shown_paper *shown) {
    static const forms PAPER = {paper_tree, write_paper, MS_SCHEDULES_TABLES};
    return print(call, &shown->table, &PAPER, shown);
}

/* ---- in a workload ---- */

static const char STEP_HEAD[] =
    "\n                                   bubble   idle exposed    peak per  pa-    MFU\n"
    "schedule              V      step       %      %       %        GPU  ram      %\n";
static const ms_table_cell STEP_CELLS[] = {
    {"schedule", 0, NULL},
    {"v", 2, NULL},
    {"step_time_s", 9, NULL},
    {"bubble_fraction", 7, NULL},
    {"idle_fraction", 6, NULL},
    {"exposed_fraction", 7, NULL},
    {"peak_B", 10, NULL},
    {"mark", 1, ""},
    {"param_replicas", 3, NULL},
    {"mfu", 6, NULL},
    {0},
};

static const char SHARE_HEAD[] =
    "\nwhere the time goes, %\n"
    "                      com-   op-  bub-   im-  ------- exposed --------\n"
    "schedule              pute  tim.   ble  bal.    tp    cp    ep    pp    dp other\n";
static const ms_table_cell SHARE_CELLS[] = {
    {"schedule", 0, NULL},
    {"time_share.compute", 5, NULL},
    {"time_share.optimizer", 5, NULL},
    {"bubble_fraction", 5, NULL},
    {"time_share.imbalance", 5, NULL},
    {"time_share.exposed_tp", 5, NULL},
    {"time_share.exposed_cp", 5, NULL},
    {"time_share.exposed_ep", 5, NULL},
    {"time_share.exposed_pp", 5, NULL},
    {"time_share.exposed_dp", 5, NULL},
    {"time_share.other", 5, NULL},
    {0},
};

static const ms_value *simulated_tree(const ms_invocation *call, const void *context) {
    const ms_shown_simulated *shown = context;
    const ms_job *job = shown->job;
    const ms_gpu_type *gpu = &job->platform.gpu;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "platform", job->platform.name);
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

static void add_job(const ms_shown_simulated *shown, ms_buffer *out) {
    const ms_job *job = shown->job;
    char capacity[96];
    ms_buffer_printf(out, "workload   %s\nplatform   %s: %d GPUs, %s each\n", job->name,
                     job->platform.name, job->mesh.ranks,
                     ms_show_capacity(&job->platform.gpu, capacity, sizeof capacity));
    ms_buffer_printf(out, "mesh       ");
    for (int a = 0; a < job->mesh.axes; a++) {
        ms_buffer_printf(out, "%s%s %d", a > 0 ? " x " : "", job->mesh.names[a],
                         job->mesh.sizes[a]);
    }
    ms_buffer_printf(out, ", %d microbatches\nsorted by  %s", job->microbatches,
                     ms_table_word(shown->table.sorted_by));
    if (shown->cap_B > 0) {
        ms_buffer_printf(out, ", at most %s per GPU",
                         ms_unit_format(shown->cap_B, MS_DIM_BYTES, capacity, sizeof capacity));
    }
    ms_buffer_puts(out, "\n");
}

/* Names of the rows whose layers were partitioned anew, with commas. */
static void list_repartitioned(const ms_table *table, ms_buffer *out) {
    for (size_t i = 0; i < table->count; i++) {
        const ms_simulated_row *row = table->rows[i];
        if (row->reason == NULL && row->is_repartitioned) {
            ms_buffer_printf(out, "%s%s", out->length == 0 ? "" : ", ", row->name);
        }
    }
}

/* What has to be known of some rows, below the tables. */
static void add_notes(const ms_table *table, ms_buffer *out) {
    bool has_large = false;
    for (size_t i = 0; i < table->count; i++) {
        const ms_simulated_row *row = table->rows[i];
        has_large = has_large || (row->reason == NULL && !row->figures.fits);
    }
    ms_buffer_puts(out, has_large ? "\n! does not fit in memory\n" : "");
    ms_buffer names;
    ms_buffer_init(&names);
    list_repartitioned(table, &names);
    if (names.length > 0) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_buffer_printf(&text,
                         "layers partitioned anew (balanced): stages that are not those of the "
                         "workload: %s",
                         ms_buffer_text(&names));
        ms_buffer_puts(out, "\n");
        ms_show_wrapped("", ms_buffer_text(&text), out);
        out->failed = out->failed || text.failed || names.failed;
        ms_buffer_release(&text);
    }
    ms_buffer_release(&names);
}

static void write_simulated(const void *context, ms_buffer *out) {
    const ms_shown_simulated *shown = context;
    const ms_table *table = &shown->table;
    add_job(shown, out);
    if (ms_table_kept(table) > 0) {
        ms_table_write_page(table, STEP_HEAD, STEP_CELLS, out);
        ms_table_write_page(table, SHARE_HEAD, SHARE_CELLS, out);
        add_notes(table, out);
    } else {
        ms_buffer_puts(out, "\nnone\n");
    }
    add_left_out(table, out);
}

ms_status ms_cli_show_simulated(const ms_invocation *call, const ms_shown_simulated *shown) {
    static const forms SIMULATED = {simulated_tree, write_simulated, MS_SIMULATED_SCHEDULE_TABLES};
    return print(call, &shown->table, &SIMULATED, shown);
}
