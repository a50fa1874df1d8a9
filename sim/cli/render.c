#include "cli/render.h"

#include <string.h>

#include "cli/grid.h"
#include "cli/show_text.h"

/* Widths of text [columns]: the longest name that begins a line, the longest other text within one,
 * and the least that is left for a text at its end. */
enum { NAME_WIDTH_MAX = 36, TEXT_WIDTH_MAX = 28, REST_WIDTH_MIN = 24 };

/* ---- Markdown ---- */

void ms_show_markdown_text(const char *text, ms_buffer *out) {
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr("|\\`*<>&[]", *at) != NULL) {
            ms_buffer_puts(out, "\\");
        }
        ms_buffer_add(out, (unsigned char)*at < 0x20 ? " " : at, 1);
    }
}

static void write_markdown_row(const ms_grid *grid, size_t row, ms_buffer *out) {
    ms_buffer_puts(out, "|");
    for (size_t c = 0; c < grid->count; c++) {
        if (grid->columns[c]->kind != MS_SHOWN_BAR) {
            ms_buffer_puts(out, " ");
            ms_show_markdown_text(grid->cells[row * grid->count + c], out);
            ms_buffer_puts(out, " |");
        }
    }
    ms_buffer_puts(out, "\n");
}

static void write_markdown_head(const ms_grid *grid, ms_buffer *out) {
    ms_buffer rule;
    ms_buffer_init(&rule);
    for (size_t c = 0; c < grid->count; c++) {
        ms_shown_kind kind = grid->columns[c]->kind;
        if (kind != MS_SHOWN_BAR) {
            ms_buffer_puts(out, c == 0 ? "| " : " ");
            ms_show_markdown_text(grid->columns[c]->heading, out);
            ms_buffer_puts(out, " |");
            ms_buffer_puts(&rule,
                           kind == MS_SHOWN_TEXT || kind == MS_SHOWN_COMMAND ? "|:---" : "|---:");
        }
    }
    ms_buffer_printf(out, "\n%s|\n", ms_buffer_text(&rule));
    out->failed = out->failed || rule.failed;
    ms_buffer_release(&rule);
}

static void write_markdown_notes(const ms_value *list, ms_buffer *out) {
    for (const ms_value *note = list == NULL ? NULL : list->first; note != NULL;
         note = note->next) {
        ms_buffer_puts(out, "\n");
        ms_show_markdown_text(note->as.string, out);
        ms_buffer_puts(out, "\n");
    }
}

void ms_show_markdown(const ms_shown_table *tables, const ms_value *tree, ms_buffer *out) {
    for (const ms_shown_table *table = tables; table->title != NULL; table++) {
        if (table->rows == MS_SHOWN_OF_NOTES) {
            write_markdown_notes(ms_grid_holder(table, tree), out);
        } else if (table->rows != MS_SHOWN_OF_LINES) {
            const ms_grid grid = ms_grid_make(table, tree);
            if (grid.rows > 0) {
                ms_buffer_puts(out, table->title[0] == '\0' ? "\n" : "\n### ");
                ms_buffer_printf(out, "%s%s", table->title, table->title[0] == '\0' ? "" : "\n\n");
                write_markdown_head(&grid, out);
            }
            for (size_t row = 0; row < grid.rows; row++) {
                write_markdown_row(&grid, row, out);
            }
        }
    }
}

/* ---- a line of text ---- */

static bool is_right(const ms_shown_column *column) {
    return column->kind != MS_SHOWN_TEXT && column->kind != MS_SHOWN_COMMAND &&
           column->kind != MS_SHOWN_BAR;
}

static void pad(size_t columns, ms_buffer *out) {
    ms_buffer_printf(out, "%*s", (int)columns, "");
}

/* A text of some bytes in its columns, at their right or left end. */
static void write_aligned(const char *text, size_t length, size_t width, bool at_right,
                          ms_buffer *out) {
    size_t own = ms_show_width(text, length);
    size_t rest = own < width ? width - own : 0;
    pad(at_right ? rest : 0, out);
    ms_buffer_add(out, text, length);
    pad(at_right ? 0 : rest, out);
}

/* A line ends where its last text does. */
static void end_line(ms_buffer *out) {
    while (out->length > 0 && out->data[out->length - 1] == ' ') {
        out->data[--out->length] = '\0';
    }
    ms_buffer_puts(out, "\n");
}

/* ---- a block: as many columns as a line has place for ---- */

/* Columns of a grid that stand beside each other: the first one, and those from `from` on. */
typedef struct block {
    const ms_grid *grid;
    size_t widths[MS_GRID_COLUMNS_MAX];
    size_t from, to;
} block;

/* Place of the n-th column of a block in the grid. */
static size_t column_at(const block *b, size_t n) {
    return n == 0 ? 0 : b->from + n - 1;
}

static size_t longest_word(const char *text) {
    size_t longest = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        size_t width = ms_show_width(text, length);
        longest = width > longest ? width : longest;
        text += length + (text[length] == ' ');
    }
    return longest;
}

/* Width of a column by its longest cell and heading's word; a longer cell than fits a line is
 * shown otherwise. */
static size_t natural_width(const ms_grid *grid, size_t column, size_t most) {
    size_t width = longest_word(grid->columns[column]->heading);
    for (size_t row = 0; row < grid->rows; row++) {
        const char *cell = grid->cells[row * grid->count + column];
        size_t own = ms_show_width(cell, strlen(cell));
        width = own > width && own <= most ? own : width;
    }
    return width;
}

/* Where the n-th line of a heading begins, and how many bytes it has; 0: it has fewer lines. */
static const char *heading_line(const char *heading, size_t width, size_t n, size_t *length_out) {
    *length_out = ms_show_fitting(heading, width, ' ');
    for (; n > 0 && *length_out > 0; n--) {
        heading += *length_out + strspn(heading + *length_out, " ");
        *length_out = ms_show_fitting(heading, width, ' ');
    }
    return heading;
}

static size_t heading_lines(const char *heading, size_t width) {
    size_t lines = 0;
    size_t length = 0;
    while (heading_line(heading, width, lines, &length), length > 0) {
        lines++;
    }
    return lines;
}

static void write_head(const block *b, ms_buffer *out) {
    size_t lines = 0;
    for (size_t n = 0; n <= b->to - b->from; n++) {
        size_t c = column_at(b, n);
        size_t own = heading_lines(b->grid->columns[c]->heading, b->widths[c]);
        lines = own > lines ? own : lines;
    }
    for (size_t line = 0; line < lines; line++) {
        for (size_t n = 0; n <= b->to - b->from; n++) {
            const ms_shown_column *column = b->grid->columns[column_at(b, n)];
            size_t width = b->widths[column_at(b, n)];
            size_t above = lines - heading_lines(column->heading, width);
            size_t length = 0;
            const char *text = "";
            if (line >= above) {
                text = heading_line(column->heading, width, line - above, &length);
            }
            pad(n == 0 ? 0 : 2, out);
            write_aligned(text, length, width, is_right(column), out);
        }
        end_line(out);
    }
}

/* A row with a cell that no column holds: a line for each cell, behind its heading. */
static void write_record(const block *b, const char *const *cells, ms_buffer *out) {
    ms_show_wrapped_at(0, 4, cells[0], out);
    for (size_t c = b->from; c < b->to; c++) {
        const char *heading = b->grid->columns[c]->heading;
        size_t length = strlen(heading);
        pad(4, out);
        write_aligned(heading, length, 12, false, out);
        ms_show_wrapped_at(4 + (length > 12 ? length : 12) + 1, 8, cells[c], out);
    }
}

static void write_row(const block *b, const char *const *cells, ms_buffer *out) {
    bool has_name = ms_show_width(cells[0], strlen(cells[0])) <= b->widths[0];
    size_t at = b->widths[0];
    if (!has_name) {
        ms_show_wrapped_at(0, 4, cells[0], out);
    }
    const char *name = has_name ? cells[0] : "";
    write_aligned(name, strlen(name), at, is_right(b->grid->columns[0]), out);
    for (size_t c = b->from; c < b->to; c++) {
        size_t length = strlen(cells[c]);
        pad(2, out);
        if (ms_show_width(cells[c], length) > b->widths[c]) { /* the last text of the line */
            ms_show_wrapped_at(at + 2, at + 2, cells[c], out);
            return;
        }
        write_aligned(cells[c], length, b->widths[c], is_right(b->grid->columns[c]), out);
        at += 2 + b->widths[c];
    }
    end_line(out);
}

/* Whether a cell before the last column is longer than its column. */
static bool is_record(const block *b, const char *const *cells) {
    bool is_long = false;
    for (size_t c = b->from; c < b->to; c++) {
        bool is_rest = c + 1 == b->grid->count;
        is_long = is_long || (!is_rest && ms_show_width(cells[c], strlen(cells[c])) > b->widths[c]);
    }
    return is_long;
}

static void write_block(const block *b, ms_buffer *out) {
    write_head(b, out);
    for (size_t row = 0; row < b->grid->rows; row++) {
        const char *const *cells = b->grid->cells + row * b->grid->count;
        (is_record(b, cells) ? write_record : write_row)(b, cells, out);
    }
}

/* Put as many columns beside each other as fit; the others follow below, behind the first column
 * again. A text at the end takes what is left of the line. */
static void write_blocks(const ms_grid *grid, ms_buffer *out) {
    block b = {.grid = grid, .from = 1};
    size_t used = 0;
    for (size_t c = 0; c < grid->count; c++) {
        bool is_rest = c + 1 == grid->count && c > 0 && !is_right(grid->columns[c]);
        b.widths[c] = natural_width(grid, c,
                                    c == 0    ? NAME_WIDTH_MAX
                                    : is_rest ? MS_SHOW_PAGE_WIDTH
                                              : TEXT_WIDTH_MAX);
        size_t place = MS_SHOW_PAGE_WIDTH - used - 2;
        if (is_rest && b.widths[c] > place && place >= REST_WIDTH_MIN) {
            b.widths[c] = place;
        }
        if (c > b.from && used + 2 + b.widths[c] > MS_SHOW_PAGE_WIDTH) {
            b.to = c;
            write_block(&b, out);
            ms_buffer_puts(out, "\n");
            b.from = c;
            used = b.widths[0];
        }
        used += (c > 0 ? 2 : 0) + b.widths[c];
    }
    size_t last = grid->count - 1;
    if (used > MS_SHOW_PAGE_WIDTH && last > 0) {
        b.widths[last] -= used - MS_SHOW_PAGE_WIDTH;
    }
    b.to = grid->count;
    write_block(&b, out);
}

/* ---- text ---- */

static void write_facts(const ms_grid *grid, ms_buffer *out) {
    size_t width = natural_width(grid, 0, NAME_WIDTH_MAX);
    for (size_t row = 0; row < grid->rows; row++) {
        write_aligned(grid->cells[2 * row], strlen(grid->cells[2 * row]), width + 2, false, out);
        ms_show_wrapped_at(width + 2, width + 2, grid->cells[2 * row + 1], out);
    }
}

static void write_notes(const ms_value *list, ms_buffer *out) {
    for (const ms_value *note = list == NULL ? NULL : list->first; note != NULL;
         note = note->next) {
        ms_buffer_puts(out, "\n");
        ms_show_wrapped_at(0, 0, note->as.string, out);
    }
}

static void write_lines(const ms_value *text, ms_buffer *out) {
    if (text != NULL && text->type == MS_VALUE_STRING) {
        ms_buffer_printf(out, "\n%s", text->as.string);
    }
}

void ms_show_text(const ms_shown_table *tables, const ms_value *tree, ms_buffer *out) {
    for (const ms_shown_table *table = tables; table->title != NULL; table++) {
        if (table->rows == MS_SHOWN_OF_NOTES) {
            write_notes(ms_grid_holder(table, tree), out);
        } else if (table->rows == MS_SHOWN_OF_LINES) {
            write_lines(ms_grid_holder(table, tree), out);
        } else {
            const ms_grid grid = ms_grid_make(table, tree);
            if (grid.rows > 0) {
                ms_buffer_printf(out, "\n%s%s", table->title, table->title[0] == '\0' ? "" : "\n");
                (table->rows == MS_SHOWN_OF_FACTS ? write_facts : write_blocks)(&grid, out);
            }
        }
    }
}

/* ---- what is printed ---- */

bool ms_cli_wants_tree(const ms_invocation *call) {
    return ms_cli_has(call, "json") || ms_cli_has(call, "markdown");
}

static ms_status print_page(const ms_invocation *call, const char *heading,
                            const ms_shown_table *tables, const ms_value *tree) {
    ms_buffer page;
    ms_buffer_init(&page);
    ms_buffer_printf(&page, "%s\n", heading);
    ms_show_text(tables, tree, &page);
    page.failed = page.failed || tree->arena->has_failed;
    return ms_cli_print_page(call, &page);
}

ms_status ms_cli_show(const ms_invocation *call, const char *name, const ms_shown_table *tables,
                      const ms_value *tree) {
    if (ms_cli_has(call, "json")) {
        return ms_cli_print_json(call, tree);
    }
    const char *command = call->command->name;
    const char *heading =
        name == NULL ? command : ms_arena_printf(call->arena, "%s: %s", command, name);
    if (tree == NULL || call->arena->has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    bool is_markdown = ms_cli_knows(call, "markdown") && ms_cli_has(call, "markdown");
    return (is_markdown ? ms_cli_print_markdown : print_page)(call, heading, tables, tree);
}

ms_status ms_cli_print_markdown(const ms_invocation *call, const char *heading,
                                const ms_shown_table *tables, const ms_value *tree) {
    if (tree == NULL || call->arena->has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer page;
    ms_buffer_init(&page);
    ms_buffer_puts(&page, "## meshsim ");
    ms_show_markdown_text(heading, &page);
    ms_buffer_puts(&page, "\n");
    ms_show_markdown(tables, tree, &page);
    page.failed = page.failed || tree->arena->has_failed;
    return ms_cli_print_page(call, &page);
}
