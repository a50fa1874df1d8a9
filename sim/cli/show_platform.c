#include "cli/show_platform.h"

#include <math.h>
#include <string.h>

#include "cli/show_csv.h"
#include "cli/show_text.h"
#include "meshsim/units.h"

/* A column by its name in --json. */
typedef struct column {
    const char *name;
    const char *path;      /* in the summary; NULL: of the row itself */
    bool is_highest_first; /* when sorted by it */
} column;

enum { SCHEDULE, CHUNKS, COPIES, EXPOSED, FROM_SUMMARY, COLUMNS = FROM_SUMMARY + 16 };
static const column COLUMN[COLUMNS] = {
    [SCHEDULE] = {"schedule", NULL, false},
    [CHUNKS] = {"v", NULL, false},
    [COPIES] = {"param_replicas", NULL, false},
    [EXPOSED] = {"exposed_fraction", NULL, false},
    {"step_time_s", "step_time_s", false},
    {"bubble_fraction", "bubble_fraction", false},
    {"idle_fraction", "idle_fraction", false},
    {"peak_B", "memory.peak_B", false},
    {"tokens_per_s_per_gpu", "tokens_per_s_per_gpu", true},
    {"model_tflops_per_gpu", "model_tflops_per_gpu", true},
    {"mfu", "mfu", true},
    {"compute", "time_share.compute", false},
    {"optimizer", "time_share.optimizer", false},
    {"imbalance", "time_share.imbalance", false},
    {"exposed_tp", "time_share.exposed_tp", false},
    {"exposed_cp", "time_share.exposed_cp", false},
    {"exposed_ep", "time_share.exposed_ep", false},
    {"exposed_pp", "time_share.exposed_pp", false},
    {"exposed_dp", "time_share.exposed_dp", false},
    {"other", "time_share.other", false},
};

ms_status ms_simulated_column(const ms_invocation *call, int *column_out) {
    const char *name = ms_cli_value(call, "sort", COLUMN[FROM_SUMMARY].name);
    for (int i = 0; i < COLUMNS; i++) {
        if (strcmp(name, COLUMN[i].name) == 0) {
            *column_out = i;
            return MS_OK;
        }
    }
    ms_buffer known;
    ms_buffer_init(&known);
    for (int i = 0; i < COLUMNS; i++) {
        ms_buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", COLUMN[i].name);
    }
    ms_diag_error(call->diag, "unknown column '%s' (known with --workload: %s)", name,
                  ms_buffer_text(&known));
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

static double figure(const ms_simulated *row, const char *path) {
    return ms_value_number(row->summary, path, 0.0);
}

/* Share of the step that ranks wait for communication of any axis. */
static double exposed_share(const ms_simulated *row) {
    static const char *const PATHS[] = {"time_share.exposed_tp", "time_share.exposed_cp",
                                        "time_share.exposed_ep", "time_share.exposed_pp",
                                        "time_share.exposed_dp"};
    double sum = 0.0;
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
        sum += figure(row, PATHS[i]);
    }
    return sum;
}

static double value_of(const ms_simulated *row, int index) {
    switch (index) {
    case CHUNKS:
        return row->chunks;
    case COPIES:
        return row->parameter_replicas;
    case EXPOSED:
        return exposed_share(row);
    default:
        return figure(row, COLUMN[index].path);
    }
}

double ms_simulated_peak_B(const ms_simulated *row) {
    return figure(row, "memory.peak_B");
}

bool ms_simulated_fits(const ms_simulated *row) {
    const ms_value *fits = ms_value_get(ms_value_get(row->summary, "memory"), "fits");
    return row->reason == NULL && fits != NULL && fits->as.boolean;
}

/* Rows left out come last; ties keep the order of the kinds. */
static bool comes_before(const ms_simulated *a, const ms_simulated *b, int index) {
    if (a->reason != NULL || b->reason != NULL) {
        return a->reason == NULL && b->reason != NULL;
    }
    if (index == SCHEDULE) {
        return strcmp(a->name, b->name) < 0;
    }
    double one = value_of(a, index);
    double other = value_of(b, index);
    return COLUMN[index].is_highest_first ? one > other : one < other;
}

void ms_simulated_sort(ms_simulated_table *table) {
    for (int i = 1; i < table->count; i++) {
        ms_simulated row = table->rows[i];
        int at = i;
        for (; at > 0 && comes_before(&row, &table->rows[at - 1], table->column); at--) {
            table->rows[at] = table->rows[at - 1];
        }
        table->rows[at] = row;
    }
}

/* ---- JSON ---- */

/* A copy of the shares of the summary. */
static void add_shares(ms_value *tree, const ms_simulated *row) {
    ms_value *shares = ms_value_add(tree, "time_share", MS_VALUE_OBJECT);
    const ms_value *given = ms_value_get(row->summary, "time_share");
    for (const ms_value *share = given == NULL ? NULL : given->first; share != NULL;
         share = share->next) {
        ms_value_add_double(shares, share->key, share->as.number);
    }
}

static void add_row(ms_value *rows, const ms_simulated *row) {
    static const char *const FIGURES[] = {"step_time_s",          "bubble_fraction",
                                          "idle_fraction",        "tokens_per_s_per_gpu",
                                          "model_tflops_per_gpu", "mfu"};
    ms_value *tree = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(tree, "schedule", row->name);
    ms_value_add_string(tree, "status", "simulated");
    ms_value_add_int(tree, "v", row->chunks);
    ms_value_add_int(tree, "param_replicas", row->parameter_replicas);
    ms_value_add_bool(tree, "dealt_anew", row->is_dealt_anew);
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        ms_value_add_double(tree, FIGURES[i], figure(row, FIGURES[i]));
    }
    ms_value_add_double(tree, "exposed_fraction", exposed_share(row));
    ms_value_add_double(tree, "peak_B", ms_simulated_peak_B(row));
    ms_value_add_bool(tree, "fits", ms_simulated_fits(row));
    if (row->trace != NULL) {
        ms_value_add_string(tree, "trace", row->trace);
    }
    add_shares(tree, row);
}

static void add_left_out(ms_value *rows, const ms_simulated *row) {
    ms_value *tree = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
    bool is_simulated = row->summary != NULL;
    ms_value_add_string(tree, "schedule", row->name);
    ms_value_add_string(tree, "status",
                        is_simulated                ? "above_cap"
                        : row->status == MS_E_INPUT ? "refused"
                                                    : "failed");
    ms_value_add_string(tree, "reason", row->reason);
    if (is_simulated) {
        ms_value_add_double(tree, "peak_B", ms_simulated_peak_B(row));
    }
}

static const ms_value *make_tree(const ms_invocation *call, const ms_simulated_table *table) {
    const ms_job *job = table->job;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "platform", job->platform.name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_value_add_int(root, "p", job->layout.pp);
    ms_value_add_int(root, "m", job->microbatches);
    ms_value_add_double(root, "capacity_B", table->capacity_B);
    if (table->cap_B > 0) {
        ms_value_add_double(root, "memory_cap_B", table->cap_B);
    }
    ms_value_add_string(root, "sorted_by", COLUMN[table->column].name);
    ms_value *rows = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    ms_value *left_out = ms_value_add(root, "left_out", MS_VALUE_ARRAY);
    for (int i = 0; i < table->count; i++) {
        if (table->rows[i].reason == NULL) {
            add_row(rows, &table->rows[i]);
        } else {
            add_left_out(left_out, &table->rows[i]);
        }
    }
    return root;
}

/* ---- text ---- */

static double percent(const ms_simulated *row, const char *path) {
    return 100.0 * figure(row, path);
}

static void add_head(const ms_simulated_table *table, ms_buffer *out) {
    const ms_job *job = table->job;
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
                     COLUMN[table->column].name);
    if (table->cap_B > 0) {
        ms_buffer_printf(out, ", at most %s per GPU",
                         ms_unit_format(table->cap_B, MS_DIM_BYTES, capacity, sizeof capacity));
    }
    ms_buffer_puts(out, "\n");
}

static void add_line(const ms_simulated *row, ms_buffer *out) {
    char step[32];
    char peak[32] = "-";
    char mfu[16] = "-";
    double peak_B = ms_simulated_peak_B(row);
    if (peak_B > 0) {
        ms_unit_format(peak_B, MS_DIM_BYTES, peak, sizeof peak);
    }
    if (figure(row, "mfu") > 0) {
        snprintf(mfu, sizeof mfu, "%.2f", percent(row, "mfu"));
    }
    ms_show_name(row->name, out);
    ms_buffer_printf(out, " %2d %9s %7.2f %6.2f %7.2f %10s%c %2dx %6s\n", row->chunks,
                     ms_unit_format(figure(row, "step_time_s"), MS_DIM_TIME, step, sizeof step),
                     percent(row, "bubble_fraction"), percent(row, "idle_fraction"),
                     100.0 * exposed_share(row), peak, ms_simulated_fits(row) ? ' ' : '!',
                     row->parameter_replicas, mfu);
}

static void add_share_line(const ms_simulated *row, ms_buffer *out) {
    static const char *const PATHS[] = {"time_share.compute",    "time_share.optimizer",
                                        "bubble_fraction",       "time_share.imbalance",
                                        "time_share.exposed_tp", "time_share.exposed_cp",
                                        "time_share.exposed_ep", "time_share.exposed_pp",
                                        "time_share.exposed_dp", "time_share.other"};
    ms_show_name(row->name, out);
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
        ms_buffer_printf(out, " %5.2f", percent(row, PATHS[i]));
    }
    ms_buffer_puts(out, "\n");
}

/* What has to be known of some rows, below the tables. */
static void add_notes(const ms_simulated_table *table, ms_buffer *out) {
    bool has_large = false;
    ms_buffer names;
    ms_buffer_init(&names);
    for (int i = 0; i < table->count; i++) {
        const ms_simulated *row = &table->rows[i];
        has_large = has_large || (row->reason == NULL && !ms_simulated_fits(row));
        if (row->reason == NULL && row->is_dealt_anew) {
            ms_buffer_printf(&names, "%s%s", names.length == 0 ? "" : ", ", row->name);
        }
    }
    ms_buffer_puts(out, has_large ? "\n! does not fit in memory\n" : "");
    if (names.length > 0) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_buffer_printf(&text,
                         "layers dealt anew (balanced), to stages that are not those of the "
                         "workload: %s",
                         ms_buffer_text(&names));
        ms_buffer_puts(out, "\n");
        ms_show_wrapped("", ms_buffer_text(&text), out);
        out->failed = out->failed || text.failed || names.failed;
        ms_buffer_release(&text);
    }
    ms_buffer_release(&names);
}

static void add_left_out_text(const ms_simulated_table *table, ms_buffer *out) {
    const char *head = "\nleft out\n";
    for (int i = 0; i < table->count; i++) {
        const ms_simulated *row = &table->rows[i];
        if (row->reason != NULL) {
            ms_buffer_puts(out, head);
            ms_show_reason(row->name, row->reason, out);
            head = "";
        }
    }
}

static void add_tables(const ms_simulated_table *table, ms_buffer *out) {
    ms_buffer_puts(out, "\n                                   bubble   idle exposed    peak per "
                        " pa-    MFU\n"
                        "schedule              V      step       %      %       %        GPU "
                        " ram      %\n");
    for (int i = 0; i < table->count; i++) {
        if (table->rows[i].reason == NULL) {
            add_line(&table->rows[i], out);
        }
    }
    ms_buffer_puts(out, "\nwhere the time goes, %\n"
                        "                      com-   op-  bub-   im-  ------- exposed --------\n"
                        "schedule              pute  tim.   ble  bal.    tp    cp    ep    pp    "
                        "dp other\n");
    for (int i = 0; i < table->count; i++) {
        if (table->rows[i].reason == NULL) {
            add_share_line(&table->rows[i], out);
        }
    }
}

static bool has_rows(const ms_simulated_table *table) {
    bool has_one = false;
    for (int i = 0; i < table->count; i++) {
        has_one = has_one || table->rows[i].reason == NULL;
    }
    return has_one;
}

static void write_text(const ms_simulated_table *table, ms_buffer *out) {
    add_head(table, out);
    if (has_rows(table)) {
        add_tables(table, out);
        add_notes(table, out);
    } else {
        ms_buffer_puts(out, "\nnone\n");
    }
    add_left_out_text(table, out);
}

ms_status ms_simulated_print(const ms_invocation *call, const ms_simulated_table *table) {
    ms_status status = ms_show_csv_table(call, make_tree(call, table));
    if (status != MS_OK || !ms_show_has_page(call)) {
        return status;
    }
    if (ms_cli_has(call, "json")) {
        return ms_cli_print_json(call, make_tree(call, table));
    }
    ms_buffer text;
    ms_buffer_init(&text);
    write_text(table, &text);
    return ms_cli_print_page(call, &text);
}
