#include "cli/show_compare.h"

#include <math.h>
#include <string.h>

#include "cli/show_csv.h"
#include "cli/show_schedule.h"
#include "cli/show_text.h"

/* Columns by their names in --json. */
enum {
    SCHEDULE,
    CHUNKS,
    MAKESPAN,
    BUBBLE,
    SPAN,
    SPAN_BUBBLE,
    PEAK,
    PARAMETERS,
    MESSAGES,
    FORMULA,
    PERIOD,
    COLUMNS
};
static const char *const COLUMN[COLUMNS] = {
    [SCHEDULE] = "schedule",   [CHUNKS] = "v",
    [MAKESPAN] = "makespan",   [BUBBLE] = "bubble_fraction",
    [SPAN] = "max_span",       [SPAN_BUBBLE] = "max_span_bubble",
    [PEAK] = "peak_inflight",  [PARAMETERS] = "param_replicas",
    [MESSAGES] = "msgs_total", [FORMULA] = "formula_makespan",
    [PERIOD] = "period",
};

ms_status ms_compare_column(const ms_invocation *call, int *column_out) {
    const char *name = ms_cli_value(call, "sort", COLUMN[MAKESPAN]);
    for (int column = 0; column < COLUMNS; column++) {
        if (strcmp(name, COLUMN[column]) == 0) {
            *column_out = column;
            return MS_OK;
        }
    }
    ms_buffer known;
    ms_buffer_init(&known);
    for (int column = 0; column < COLUMNS; column++) {
        ms_buffer_printf(&known, "%s%s", column == 0 ? "" : ", ", COLUMN[column]);
    }
    ms_diag_error(call->diag, "unknown column '%s' (known: %s)", name, ms_buffer_text(&known));
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

static double value_of(const ms_compared *row, int column) {
    switch (column) {
    case CHUNKS:
        return row->chunks;
    case BUBBLE:
        return row->bubble_fraction;
    case SPAN:
        return row->max_span;
    case SPAN_BUBBLE:
        return row->max_span_bubble;
    case PEAK:
        return row->peak;
    case PARAMETERS:
        return row->parameter_replicas;
    case MESSAGES:
        return (double)row->messages;
    case FORMULA:
        return row->has_formula ? row->formula : INFINITY;
    case PERIOD:
        return row->period;
    default:
        return row->makespan;
    }
}

/* Rows left out come last; ties keep the order of the kinds. */
static bool comes_before(const ms_compared *a, const ms_compared *b, int column) {
    if ((a->reason == NULL) != (b->reason == NULL)) {
        return a->reason == NULL;
    }
    if (a->reason != NULL) {
        return false;
    }
    if (column == SCHEDULE) {
        return strcmp(a->name, b->name) < 0;
    }
    double one = value_of(a, column);
    double other = value_of(b, column);
    return one < other - 1e-12 * fabs(other);
}

static void sort_rows(ms_comparison *table) {
    for (int i = 1; i < table->count; i++) {
        ms_compared row = table->rows[i];
        int at = i;
        for (; at > 0 && comes_before(&row, &table->rows[at - 1], table->column); at--) {
            table->rows[at] = table->rows[at - 1];
        }
        table->rows[at] = row;
    }
}

/* ---- JSON ---- */

static void add_row(ms_value *rows, const ms_compared *row) {
    ms_value *tree = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(tree, COLUMN[SCHEDULE], row->name);
    ms_value_add_int(tree, COLUMN[CHUNKS], row->chunks);
    for (int column = MAKESPAN; column <= PEAK; column++) {
        ms_value_add_double(tree, COLUMN[column], value_of(row, column));
    }
    ms_value_add_int(tree, COLUMN[PARAMETERS], row->parameter_replicas);
    ms_value_add_int(tree, COLUMN[MESSAGES], row->messages);
    if (row->has_formula) {
        ms_value_add_double(tree, COLUMN[FORMULA], row->formula);
    } else {
        ms_value_add(tree, COLUMN[FORMULA], MS_VALUE_NULL);
    }
    ms_value_add_double(tree, COLUMN[PERIOD], row->period);
    ms_cli_schedule_add_gap(tree, &row->gap);
}

static const ms_value *make_tree(const ms_invocation *call, const ms_comparison *table) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_int(root, "p", table->ranks);
    ms_value_add_int(root, "m", table->microbatches);
    if (table->cap > 0) {
        ms_value_add_double(root, "memory_cap", table->cap);
    }
    ms_value_add_string(root, "sorted_by", COLUMN[table->column]);
    ms_value *rows = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    ms_value *left_out = ms_value_add(root, "left_out", MS_VALUE_ARRAY);
    for (int i = 0; i < table->count; i++) {
        const ms_compared *row = &table->rows[i];
        if (row->reason == NULL) {
            add_row(rows, row);
            continue;
        }
        ms_value *tree = ms_value_add(left_out, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(tree, "schedule", row->name);
        ms_value_add_string(tree, "reason", row->reason);
    }
    return root;
}

/* ---- text ---- */

static double without_dust(double time, const ms_compared *row) {
    return fabs(time) <= 1e-12 * row->makespan ? 0 : time;
}

static void add_line(const ms_compared *row, ms_buffer *out) {
    char formula[32] = "-";
    if (row->has_formula) {
        snprintf(formula, sizeof formula, "%.5g", row->formula);
    }
    ms_show_name(row->name, out);
    ms_buffer_printf(out, " %2d %8.5g %5.2f %8.5g %5.4g %2dx %6ld %8s %6.4g\n", row->chunks,
                     row->makespan, 100 * row->bubble_fraction,
                     without_dust(row->max_span_bubble, row), row->peak, row->parameter_replicas,
                     row->messages, formula, row->period);
}

static void add_gap(const ms_compared *row, ms_buffer *out) {
    ms_show_name(row->name, out);
    ms_buffer_printf(out, " %8.5g = %8.5g %-11s %+8.4g %+9.4g %+8.4g\n", row->makespan,
                     row->gap.base, row->gap.has_closed_form ? "closed form" : "work",
                     without_dust(row->gap.order, row), without_dust(row->gap.imbalance, row),
                     without_dust(row->gap.latency, row));
}

static void add_tables(const ms_comparison *table, ms_buffer *out) {
    ms_buffer_puts(out, "                              idle  idle in  peak  pa-          closed\n"
                        "schedule              V makespan    %     span   inf ram   msgs     form "
                        "period\n");
    for (int i = 0; i < table->count; i++) {
        if (table->rows[i].reason == NULL) {
            add_line(&table->rows[i], out);
        }
    }
    ms_buffer_puts(out, "\nwhere it comes from: closed form (or work of a rank) with equal stages "
                        "and free\nmessages, and what order, unequal stages and latency add\n"
                        "schedule             makespan       base                order   unequal  "
                        "latency\n");
    for (int i = 0; i < table->count; i++) {
        if (table->rows[i].reason == NULL) {
            add_gap(&table->rows[i], out);
        }
    }
}

static void add_left_out(const ms_comparison *table, ms_buffer *out) {
    ms_buffer_puts(out, "\nleft out\n");
    for (int i = 0; i < table->count; i++) {
        const ms_compared *row = &table->rows[i];
        if (row->reason != NULL) {
            ms_show_reason(row->name, row->reason, out);
        }
    }
}

int ms_compare_rows(const ms_comparison *table) {
    int rows = 0;
    for (int i = 0; i < table->count; i++) {
        rows += table->rows[i].reason == NULL;
    }
    return rows;
}

static void write_text(const ms_comparison *table, ms_buffer *out) {
    ms_buffer_printf(out, "P=%d M=%d", table->ranks, table->microbatches);
    if (table->cap > 0) {
        ms_buffer_printf(out, ", at most %.4g in flight per rank", table->cap);
    }
    ms_buffer_printf(out, ", sorted by %s\n\n", COLUMN[table->column]);
    int rows = ms_compare_rows(table);
    if (rows > 0) {
        add_tables(table, out);
    } else {
        ms_buffer_puts(out, "none\n");
    }
    if (rows < table->count) {
        add_left_out(table, out);
    }
}

ms_status ms_compare_print(const ms_invocation *call, ms_comparison *table) {
    sort_rows(table);
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
