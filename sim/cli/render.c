/* Prints the tables of a result as text or in Markdown (renderer.md). Text keeps to 80 columns: a
 * grid is printed in blocks, each with as many of its columns as a line has room for, and texts
 * that are too long go below their row. */
#include "cli/render.h"

#include <string.h>

#include "cli/grid.h"
#include "cli/show_text.h"

/* Widths in columns of the terminal: of the longest name at the beginning of a line, also where the
 * other columns leave little room, of the longest other cell, and of the longest row that has a
 * text beside it. Longer cells are printed below their row. */
enum { NAME_WIDTH_MAX = 36, NAME_WIDTH_MIN = 24, CELL_WIDTH_MAX = 28, BESIDE_MAX = 38 };

/* Whether the cells of a column are aligned at its right. */
static bool is_number(ms_shown_kind kind) {
    return kind != MS_SHOWN_TEXT && kind != MS_SHOWN_BAR && kind < MS_SHOWN_BELOW;
}

/* ---- Markdown ---- */

/* Append a text so that Markdown shows its characters: line ends become blanks, and markup is
 * escaped. */
static void show_markdown_text(const char *text, ms_buffer *out) {
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr("|\\`*<>&[]", *at) != NULL) {
            ms_buffer_puts(out, "\\");
        }
        ms_buffer_add(out, (unsigned char)*at < 0x20 ? " " : at, 1);
    }
}

/* Write a row of a grid as a line of a Markdown table, without bars. */
static void write_markdown_row(const ms_grid *grid, size_t row, ms_buffer *out) {
    ms_buffer_puts(out, "|");
    for (size_t c = 0; c < grid->count; c++) {
        if (grid->columns[c]->kind != MS_SHOWN_BAR) {
            ms_buffer_puts(out, " ");
            show_markdown_text(grid->cells[row * grid->count + c], out);
            ms_buffer_puts(out, " |");
        }
    }
    ms_buffer_puts(out, "\n");
}

/* Write the heading of a Markdown table, and the rule below it that sets the alignment of the
 * columns. */
static void write_markdown_head(const ms_grid *grid, ms_buffer *out) {
    ms_buffer rule = {0};
    for (size_t c = 0; c < grid->count; c++) {
        ms_shown_kind kind = grid->columns[c]->kind;
        if (kind != MS_SHOWN_BAR) {
            ms_buffer_puts(out, c == 0 ? "| " : " ");
            show_markdown_text(grid->columns[c]->heading, out);
            ms_buffer_puts(out, " |");
            ms_buffer_puts(&rule, is_number(kind) ? "|---:" : "|:---");
        }
    }
    ms_buffer_printf(out, "\n%s|\n", ms_buffer_text(&rule));
    ms_buffer_release_part(&rule, out);
}

/* Write a grid as a Markdown table. */
static void write_markdown(const ms_grid *grid, ms_buffer *out) {
    write_markdown_head(grid, out);
    for (size_t row = 0; row < grid->rows; row++) {
        write_markdown_row(grid, row, out);
    }
}

/* ---- a line of text ---- */

/* Append blanks. */
static void pad(size_t columns, ms_buffer *out) {
    ms_buffer_printf(out, "%*s", (int)columns, "");
}

/* Write a text of `length` bytes into a field of `width` columns, at its right or left end. Line
 * feeds become blanks. */
static void write_aligned(const char *text, size_t length, size_t width, bool at_right,
                          ms_buffer *out) {
    size_t own = ms_show_width(text, length);
    size_t rest = own < width ? width - own : 0;
    pad(at_right ? rest : 0, out);
    for (size_t i = 0; i < length; i++) {
        ms_buffer_add(out, text[i] == '\n' ? " " : text + i, 1);
    }
    pad(at_right ? 0 : rest, out);
}

/* Remove the blanks at the end of the line, and end it. */
static void end_line(ms_buffer *out) {
    while (out->length > 0 && out->data[out->length - 1] == ' ') {
        out->data[--out->length] = '\0';
    }
    ms_buffer_puts(out, "\n");
}

/* ---- a block: as many columns as a line has room for ---- */

/* Columns of a grid that are printed beside each other: column 0, which names the rows, and the
 * columns `from` to `to` - 1. */
typedef struct block {
    const ms_grid *grid;
    size_t widths[MS_GRID_COLUMNS_MAX]; /* by column of the grid */
    size_t from, to;
    size_t end;  /* the texts of columns `to` to `end` - 1 are printed below their rows */
    size_t rest; /* where in the line the text of column `to` begins, if it is printed beside its
                    row; 0: it is printed below */
} block;

/* Index in the grid of the n-th column of a block, n from 0. */
static size_t column_at(const block *b, size_t n) {
    return n == 0 ? 0 : b->from + n - 1;
}

/* Width of the longest word of a text. */
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

/* Width of a column: that of its longest cell of at most `most` columns, or of the longest word of
 * its heading if that is wider. Longer cells are printed below their row. */
static size_t natural_width(const ms_grid *grid, size_t column, size_t most) {
    size_t width = longest_word(grid->columns[column]->heading);
    for (size_t row = 0; row < grid->rows; row++) {
        const char *cell = grid->cells[row * grid->count + column];
        size_t own = ms_show_width(cell, strlen(cell));
        width = own > width && own <= most ? own : width;
    }
    return width;
}

/* Find the n-th line, from 0, of a heading that is wrapped at `width`.  *length_out: its bytes; 0:
 * the heading has fewer lines.  Returns where the line begins. */
static const char *heading_line(const char *heading, size_t width, size_t n, size_t *length_out) {
    *length_out = ms_show_fitting(heading, width, ' ');
    for (; n > 0 && *length_out > 0; n--) {
        heading += *length_out + strspn(heading + *length_out, " ");
        *length_out = ms_show_fitting(heading, width, ' ');
    }
    return heading;
}

/* Lines of a heading that is wrapped at `width`. */
static size_t heading_lines(const char *heading, size_t width) {
    size_t lines = 0;
    size_t length = 0;
    while (heading_line(heading, width, lines, &length), length > 0) {
        lines++;
    }
    return lines;
}

/* Write the headings of a block, each wrapped to the width of its column; they end on the same
 * line. */
static void write_head(const block *b, ms_buffer *out) {
    size_t lines = 0;
    /* n: column 0 and the columns `from` to `to` - 1. */
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
            write_aligned(text, length, width, is_number(column->kind), out);
        }
        if (b->rest > 0 && line + 1 == lines) {
            ms_buffer_printf(out, "  %s", b->grid->columns[b->to]->heading);
        }
        end_line(out);
    }
}

/* Write the text of a cell below its row. A cell that is too long for its column gets the column's
 * heading before its text; texts of columns that are always below have none. */
static void write_below(const ms_shown_column *column, const char *cell, ms_buffer *out) {
    const char *heading = column->kind < MS_SHOWN_BELOW ? column->heading : "";
    ms_buffer_printf(out, "    %s%s", heading, heading[0] == '\0' ? "" : ": ");
    /* 4: the margin; 2: ": " */
    ms_show_wrapped_at(4 + strlen(heading) + (heading[0] == '\0' ? 0 : 2), 8, cell, out);
}

/* Whether a cell is no wider than its column in the block. */
static bool fits(const block *b, size_t column, const char *cell) {
    return ms_show_width(cell, strlen(cell)) <= b->widths[column];
}

/* Write a row of a block. A name that is too long gets a line of its own before the row; other
 * cells that are too long, and texts of the columns behind the block, follow below.  cells:
 * [columns of the grid]. */
static void write_row(const block *b, const char *const *cells, ms_buffer *out) {
    if (!fits(b, 0, cells[0])) {
        ms_show_wrapped_at(0, 4, cells[0], out);
    }
    for (size_t n = 0; n <= b->to - b->from; n++) {
        size_t c = column_at(b, n);
        const char *cell = fits(b, c, cells[c]) ? cells[c] : "";
        pad(n == 0 ? 0 : 2, out);
        write_aligned(cell, strlen(cell), b->widths[c], is_number(b->grid->columns[c]->kind), out);
    }
    if (b->rest > 0 && cells[b->to][0] != '\0') {
        pad(2, out);
        ms_show_wrapped_at(b->rest, b->rest, cells[b->to], out);
    } else {
        end_line(out);
    }
    /* Columns from `to` on have width 0 in the block, so that each of their texts is written
     * below. */
    for (size_t c = b->from; c < (b->rest > 0 ? b->to : b->end); c++) {
        if (!fits(b, c, cells[c])) {
            write_below(b->grid->columns[c], cells[c], out);
        }
    }
}

/* Write the headings and all rows of a block. */
static void write_block(const block *b, ms_buffer *out) {
    write_head(b, out);
    for (size_t row = 0; row < b->grid->rows; row++) {
        write_row(b, b->grid->cells + row * b->grid->count, out);
    }
}

/* The width up to which names stand in their rows: that which the other columns leave of a line,
 * where it is NAME_WIDTH_MIN or more, so that the rows stay whole; NAME_WIDTH_MAX at most. */
static size_t name_room(const ms_grid *grid) {
    long room = MS_SHOW_PAGE_WIDTH;
    for (size_t c = 1; c < grid->count && grid->columns[c]->kind < MS_SHOWN_BELOW; c++) {
        room -= 2 + (long)natural_width(grid, c, CELL_WIDTH_MAX);
    }
    return room < NAME_WIDTH_MIN || room > NAME_WIDTH_MAX ? NAME_WIDTH_MAX : (size_t)room;
}

/* Write a grid: as many columns beside each other as fit into 80, the others in further blocks
 * below, each behind column 0 again. Columns whose texts are printed below the rows are the last
 * ones; they follow the rows of the last block. */
static void write_blocks(const ms_grid *grid, ms_buffer *out) {
    block b = {.grid = grid, .from = 1, .to = 1}; /* column 0 is in every block */
    size_t used = natural_width(grid, 0, name_room(grid));
    b.widths[0] = used;
    for (; b.to < grid->count && grid->columns[b.to]->kind < MS_SHOWN_BELOW; b.to++) {
        bool is_bar = grid->columns[b.to]->kind == MS_SHOWN_BAR; /* no longer than a share of 1 */
        size_t width = natural_width(grid, b.to, is_bar ? MS_SHOW_PAGE_WIDTH : CELL_WIDTH_MAX);
        if (b.to > b.from && used + 2 + width > MS_SHOW_PAGE_WIDTH) {
            b.end = b.to;
            write_block(&b, out);
            ms_buffer_puts(out, "\n");
            b.from = b.to;
            used = b.widths[0];
        }
        b.widths[b.to] = width;
        used += 2 + width;
    }
    b.end = grid->count;
    /* A single column of texts is printed beside the rows where these are short. */
    bool is_beside = b.end == b.to + 1 && grid->columns[b.to]->kind == MS_SHOWN_BELOW;
    b.rest = is_beside && used <= BESIDE_MAX ? used + 2 : 0;
    write_block(&b, out);
}

/* ---- text ---- */

/* Write a grid of facts: a heading and its value on each line. */
static void write_facts(const ms_grid *grid, ms_buffer *out) {
    size_t width = natural_width(grid, 0, MS_SHOW_PAGE_WIDTH);
    for (size_t row = 0; row < grid->rows; row++) {
        write_aligned(grid->cells[2 * row], strlen(grid->cells[2 * row]), width + 2, false, out);
        ms_show_wrapped_at(width + 2, width + 2, grid->cells[2 * row + 1], out);
    }
}

/* ---- text or Markdown ---- */

/* Write each text of a list as a paragraph that begins with the title; in text below the title.
 * list: NULL: there is none. */
static void write_notes(const char *title, const ms_value *list, bool is_markdown, ms_buffer *out) {
    for (const ms_value *note = list == NULL ? NULL : list->first; note != NULL;
         note = note->next) {
        const char *between = is_markdown ? ": " : "\n";
        ms_buffer_printf(out, "\n%s%s", title, title[0] == '\0' ? "" : between);
        if (is_markdown) {
            show_markdown_text(note->as.string, out);
            ms_buffer_puts(out, "\n");
        } else {
            ms_show_wrapped_at(0, 4, note->as.string, out);
        }
    }
}

/* Write a table whose rows are a grid, below its title; nothing without rows. */
static void write_grid(const ms_shown_table *table, const ms_value *tree, bool is_markdown,
                       ms_buffer *out) {
    const ms_grid grid = ms_grid_make(table, tree);
    bool is_facts = table->rows == MS_SHOWN_OF_FACTS, has_title = table->title[0] != '\0';
    if (grid.rows > 0) {
        const ms_value *group = has_title ? ms_value_get(tree, "group_title") : NULL;
        const char *name = group == NULL ? "" : group->as.string;
        ms_buffer_puts(out, has_title && is_markdown ? "\n### " : "\n");
        if (is_markdown) {
            show_markdown_text(name, out);
        } else {
            write_aligned(name, strlen(name), 0, false, out);
        }
        ms_buffer_printf(out, "%s%s", table->title, !has_title ? "" : is_markdown ? "\n\n" : "\n");
        (is_markdown ? write_markdown : is_facts ? write_facts : write_blocks)(&grid, out);
    }
}

/* Write the tables of a tree. Tables without rows are left out, and in Markdown texts that are
 * printed as they are. */
static void write_tables(const ms_shown_table *tables, const ms_value *tree, bool is_markdown,
                         ms_buffer *out) {
    for (const ms_shown_table *table = tables; table->title != NULL; table++) {
        if (table->rows == MS_SHOWN_OF_NOTES) {
            write_notes(table->title, ms_grid_source(table, tree), is_markdown, out);
        } else if (table->rows == MS_SHOWN_OF_GROUPS) {
            for (const ms_value *group = ms_grid_source(table, tree)->first; group != NULL;
                 group = group->next) {
                write_tables(table->tables, group, is_markdown, out);
            }
        } else if (table->rows != MS_SHOWN_OF_TEXT) {
            write_grid(table, tree, is_markdown, out);
        } else if (!is_markdown) {
            const ms_value *text = ms_grid_source(table, tree);
            bool is_text = text != NULL && text->type == MS_VALUE_STRING;
            ms_buffer_puts(out, is_text ? text->as.string : "");
        }
    }
}

/* ---- what is printed ---- */

ms_status ms_cli_show(const ms_invocation *call, const char *name, const ms_shown_table *tables,
                      const ms_value *tree) {
    if (ms_cli_has(call, "json")) {
        return ms_cli_print_json(call, tree);
    }
    const char *command = call->command->name;
    const char *heading =
        name == NULL ? command : ms_arena_printf(call->arena, "%s: %s", command, name);
    bool is_markdown = ms_cli_knows(call, "markdown") && ms_cli_has(call, "markdown");
    return ms_cli_print_tables(call, heading, tables, tree, is_markdown);
}

ms_status ms_cli_print_tables(const ms_invocation *call, const char *heading,
                              const ms_shown_table *tables, const ms_value *tree,
                              bool is_markdown) {
    if (tree == NULL || call->arena->has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer page = {0};
    if (is_markdown) {
        ms_buffer_puts(&page, "## meshsim ");
        show_markdown_text(heading, &page);
        ms_buffer_puts(&page, "\n");
    } else {
        ms_buffer_printf(&page, "%s\n", heading);
    }
    write_tables(tables, tree, is_markdown, &page);
    page.failed = page.failed || tree->arena->has_failed;
    return ms_cli_print_page(call, &page);
}
