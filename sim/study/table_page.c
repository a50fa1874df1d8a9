/* A result table as lines of a page. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/table_cell.h"

enum { CELL_SIZE = 64 };

static const double ROUNDING = 1e-12;

static const ms_table_column *column_of(const ms_table *table, const char *name) {
    const ms_table_column *column = table->columns;
    while (column->name != NULL && strcmp(column->name, name) != 0) {
        column++;
    }
    return column->name == NULL ? NULL : column;
}

/* A name in its columns; of a longer one, such as a file's path, "..." and its end, which tells
 * files of one folder apart. */
static void add_name(const char *name, ms_buffer *out) {
    static const char MARK[] = "...";
    const size_t kept = MS_TABLE_NAME_WIDTH - (sizeof MARK - 1);
    size_t length = strlen(name);
    if (length <= MS_TABLE_NAME_WIDTH) {
        ms_buffer_printf(out, "%-*s", MS_TABLE_NAME_WIDTH, name);
    } else {
        ms_buffer_printf(out, "%s%s", MARK, name + length - kept);
    }
}

/* The number of a cell without the rest of a rounding. */
static double shown_number(const ms_table_column *column, const void *row) {
    double number = ms_table_number(column, row);
    double whole = 0.0;
    if (column->dust_of != 0) {
        memcpy(&whole, (const char *)row + column->dust_of, sizeof whole);
    }
    return fabs(number) <= ROUNDING * whole ? 0.0 : number;
}

static void print_number(const ms_table_column *column, double number, char text[CELL_SIZE]) {
    int digits = column->digits;
    switch (column->print) {
    case MS_PRINT_DIGITS:
        snprintf(text, CELL_SIZE, "%.*g", digits, number);
        break;
    case MS_PRINT_SIGNED:
        snprintf(text, CELL_SIZE, "%+.*g", digits, number);
        break;
    case MS_PRINT_PERCENT:
        snprintf(text, CELL_SIZE, "%.*f", digits, 100.0 * number);
        break;
    case MS_PRINT_UNIT:
        ms_unit_format(number, column->dim, text, CELL_SIZE);
        break;
    case MS_PRINT_TIMES:
        snprintf(text, CELL_SIZE, "%.0fx", number);
        break;
    default:
        snprintf(text, CELL_SIZE, "%.0f", number);
    }
}

static void add_cell(const ms_table_cell *cell, const ms_table_column *column, const void *row,
                     ms_buffer *out) {
    char number[CELL_SIZE] = "-";
    const ms_value leaf = ms_table_leaf(column, row);
    const char *text = leaf.type == MS_VALUE_STRING ? leaf.as.string : number;
    if (column->print == MS_PRINT_NAME) {
        add_name(text, out);
        return;
    }
    double shown = shown_number(column, row);
    if (!isnan(shown) && !(column->hides_zero && shown <= 0)) {
        print_number(column, shown, number);
    }
    ms_buffer_printf(out, "%*s", cell->width, text);
}

/* Lines end where their last text does, also when a cell at their end is empty. */
static void end_line(ms_buffer *out) {
    while (out->length > 0 && out->data[out->length - 1] == ' ') {
        out->data[--out->length] = '\0';
    }
    ms_buffer_puts(out, "\n");
}

void ms_table_write_page(const ms_table *table, const char *head, const ms_table_cell *cells,
                         ms_buffer *out) {
    ms_buffer_puts(out, head);
    for (size_t i = 0; i < table->count; i++) {
        const void *row = table->rows[i];
        for (const ms_table_cell *cell = cells;
             ms_table_reason(table, i) == NULL && cell->column != NULL; cell++) {
            const ms_table_column *column = column_of(table, cell->column);
            const char *before = cell == cells ? "" : " ";
            ms_buffer_puts(out, cell->before != NULL ? cell->before : before);
            if (column != NULL) {
                add_cell(cell, column, row, out);
            }
        }
        if (ms_table_reason(table, i) == NULL) {
            end_line(out);
        }
    }
}
