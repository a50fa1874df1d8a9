#include "cli/markdown.h"

#include <math.h>
#include <string.h>

#include "meshsim/units.h"

enum { FIELDS_MAX = 64, NUMBER_B = 48 };

/* Of a table's largest number: what is smaller is the rest of a rounding. */
static const double DUST = 1e-12;

/* ---- texts ---- */

void ms_markdown_write_text(const char *text, ms_buffer *out) {
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr("|\\`*<>&[]", *at) != NULL) {
            ms_buffer_puts(out, "\\");
        }
        ms_buffer_add(out, (unsigned char)*at < 0x20 ? " " : at, 1);
    }
}

void ms_markdown_write_head(const char *const *headings, const bool *is_number, size_t count,
                            ms_buffer *out) {
    for (size_t i = 0; i < count; i++) {
        ms_buffer_puts(out, i == 0 ? "| " : " ");
        ms_markdown_write_text(headings[i], out);
        ms_buffer_puts(out, " |");
    }
    ms_buffer_puts(out, "\n|");
    for (size_t i = 0; i < count; i++) {
        ms_buffer_puts(out, is_number[i] ? "---:|" : ":---|");
    }
    ms_buffer_puts(out, "\n");
}

/* ---- values ---- */

/* A row of a table: what stands there, which one it is, and below which size its numbers are the
 * rest of a rounding. */
typedef struct markdown_row {
    const ms_value *value;
    size_t place;
    double dust;
} markdown_row;

/* Child of an object by a key that ends at '/' or with the text. */
static const ms_value *child_of(const ms_value *object, const char *key, size_t length) {
    const ms_value *child =
        object != NULL && object->type == MS_VALUE_OBJECT ? object->first : NULL;
    while (child != NULL &&
           (strlen(child->key) != length || memcmp(child->key, key, length) != 0)) {
        child = child->next;
    }
    return child;
}

static const ms_value *nth(const ms_value *list, size_t place) {
    const ms_value *child = list != NULL && list->type == MS_VALUE_ARRAY ? list->first : NULL;
    for (; child != NULL && place > 0; place--) {
        child = child->next;
    }
    return child;
}

/* What a path leads to; NULL: nothing. of_lists: behind the first key stands the row's place. */
static const ms_value *find(const markdown_row *row, const char *path, bool of_lists) {
    const ms_value *value = row->value;
    for (bool is_first = true; *path != '\0' && value != NULL; is_first = false) {
        size_t length = strcspn(path, "/");
        value = child_of(value, path, length);
        value = of_lists && is_first ? nth(value, row->place) : value;
        path += length + (path[length] == '/');
    }
    return value;
}

static bool is_none(const ms_value *value) {
    bool holds_nothing = value != NULL &&
                         (value->type == MS_VALUE_ARRAY || value->type == MS_VALUE_OBJECT) &&
                         value->count == 0;
    return value == NULL || value->type == MS_VALUE_NULL || holds_nothing;
}

static double number_of(const ms_value *value) {
    return value->type == MS_VALUE_INT ? (double)value->as.integer : value->as.number;
}

/* ---- cells ---- */

static void write_plain(const ms_value *value, ms_buffer *out) {
    if (value->type == MS_VALUE_STRING) {
        ms_markdown_write_text(value->as.string, out);
    } else if (value->type == MS_VALUE_BOOL) {
        ms_buffer_puts(out, value->as.boolean ? "yes" : "no");
    } else if (value->type == MS_VALUE_INT) {
        ms_buffer_printf(out, "%lld", (long long)value->as.integer);
    } else if (value->type == MS_VALUE_DOUBLE) {
        ms_buffer_printf(out, "%.10g", value->as.number);
    }
}

static void write_words(const ms_value *value, ms_buffer *out) {
    bool has_parts = value->type == MS_VALUE_ARRAY || value->type == MS_VALUE_OBJECT;
    if (!has_parts) {
        write_plain(value, out);
        return;
    }
    for (const ms_value *child = value->first; child != NULL; child = child->next) {
        ms_buffer_puts(out, child == value->first ? "" : ", ");
        if (child->key != NULL) {
            ms_markdown_write_text(child->key, out);
            ms_buffer_puts(out, " ");
        }
        write_plain(child, out);
    }
}

/* All digits before the point, and four in all where they are fewer. */
static void write_digits(double number, ms_buffer *out) {
    bool is_large = number >= 1000 || number <= -1000;
    ms_buffer_printf(out, is_large ? "%.0f" : "%.4g", number);
}

static void write_number(const ms_value *value, ms_markdown_kind kind, ms_buffer *out) {
    static const ms_dimension DIMS[] = {[MS_MARKDOWN_TIME] = MS_DIM_TIME,
                                        [MS_MARKDOWN_BYTES] = MS_DIM_BYTES,
                                        [MS_MARKDOWN_RATE] = MS_DIM_BANDWIDTH,
                                        [MS_MARKDOWN_ENERGY] = MS_DIM_ENERGY};
    char text[NUMBER_B];
    if (kind == MS_MARKDOWN_SHARE) {
        ms_buffer_printf(out, "%.2f %%", 100.0 * number_of(value));
    } else if (kind == MS_MARKDOWN_NUMBER) {
        write_digits(number_of(value), out);
    } else {
        ms_buffer_puts(out, ms_unit_format(number_of(value), DIMS[kind], text, sizeof text));
    }
}

static void write_cell(const ms_value *value, ms_markdown_kind kind, double dust, ms_buffer *out) {
    bool is_number =
        value != NULL && (value->type == MS_VALUE_INT || value->type == MS_VALUE_DOUBLE);
    if (is_none(value)) {
        return;
    }
    if (is_number && dust > 0 && fabs(number_of(value)) <= dust) {
        ms_buffer_puts(out, "0");
    } else if (is_number && kind != MS_MARKDOWN_TEXT && kind != MS_MARKDOWN_COUNT) {
        write_number(value, kind, out);
    } else {
        write_words(value, out);
    }
}

/* "@" is the row's key, or in a list its number. */
static void write_field(const markdown_row *row, const ms_markdown_field *field, bool of_lists,
                        ms_buffer *out) {
    if (strcmp(field->path, "@") != 0) {
        write_cell(find(row, field->path, of_lists), field->kind, row->dust, out);
    } else if (!of_lists && row->value->key != NULL) {
        ms_markdown_write_text(row->value->key, out);
    } else {
        ms_buffer_printf(out, "%zu", row->place + (of_lists ? 0 : 1));
    }
}

/* ---- tables ---- */

/* Rows and columns of a table as far as the tree has them. */
typedef struct found_table {
    const ms_markdown_table *table;
    markdown_row *rows; /* [row_count] */
    size_t row_count;
    const ms_markdown_field *fields[FIELDS_MAX];
    size_t field_count;
} found_table;

static bool is_zero(const ms_value *value) {
    return value != NULL && (value->type == MS_VALUE_INT || value->type == MS_VALUE_DOUBLE) &&
           number_of(value) == 0;
}

/* What holds the rows: a list, an object, or of several lists the first. */
static const ms_value *holder_of(const ms_markdown_table *table, const ms_value *tree) {
    const char *path = table->path;
    if (table->rows == MS_MARKDOWN_OF_LISTS) {
        const ms_markdown_field *field = table->fields;
        while (strcmp(field->path, "@") == 0) {
            field++;
        }
        path = field->path;
    }
    return child_of(tree, path, strcspn(path, "/"));
}

static bool find_rows(const ms_value *tree, found_table *found) {
    const ms_markdown_table *table = found->table;
    const ms_value *holder = holder_of(table, tree);
    bool of_lists = table->rows == MS_MARKDOWN_OF_LISTS;
    double dust = table->dust_of == NULL ? 0.0 : DUST * ms_value_number(tree, table->dust_of, 0.0);
    size_t place = 0;
    found->rows = MS_NEW(tree->arena, markdown_row, (holder == NULL ? 0 : holder->count) + 1);
    if (found->rows == NULL) {
        return false;
    }
    for (const ms_value *child = holder == NULL ? NULL : holder->first; child != NULL;
         child = child->next, place++) {
        const markdown_row row = {of_lists ? tree : child, place, dust};
        bool is_left_out =
            table->skips_zero && is_zero(find(&row, table->fields[1].path, of_lists));
        if (!is_left_out) {
            found->rows[found->row_count++] = row;
        }
    }
    return true;
}

static bool has_some(const found_table *found, const ms_markdown_field *field) {
    bool of_lists = found->table->rows == MS_MARKDOWN_OF_LISTS;
    bool is_there = strcmp(field->path, "@") == 0;
    for (size_t i = 0; i < found->row_count && !is_there; i++) {
        is_there = !is_none(find(&found->rows[i], field->path, of_lists));
    }
    return is_there;
}

static void write_rows(const found_table *found, ms_buffer *out) {
    bool of_lists = found->table->rows == MS_MARKDOWN_OF_LISTS;
    for (size_t i = 0; i < found->row_count; i++) {
        for (size_t f = 0; f < found->field_count; f++) {
            ms_buffer_puts(out, f == 0 ? "| " : " ");
            write_field(&found->rows[i], found->fields[f], of_lists, out);
            ms_buffer_puts(out, " |");
        }
        ms_buffer_puts(out, "\n");
    }
}

static void write_title(const ms_markdown_table *table, ms_buffer *out) {
    ms_buffer_puts(out, "\n");
    if (table->title[0] != '\0') {
        ms_buffer_printf(out, "### %s\n\n", table->title);
    }
}

static void write_list(const ms_markdown_table *table, const ms_value *tree, ms_buffer *out) {
    found_table found = {.table = table};
    const char *headings[FIELDS_MAX];
    bool is_number[FIELDS_MAX];
    if (!find_rows(tree, &found)) {
        out->failed = true;
        return;
    }
    for (const ms_markdown_field *field = table->fields;
         field->path != NULL && found.field_count < FIELDS_MAX; field++) {
        if (has_some(&found, field)) {
            headings[found.field_count] = field->heading;
            is_number[found.field_count] = field->kind != MS_MARKDOWN_TEXT;
            found.fields[found.field_count++] = field;
        }
    }
    if (found.row_count > 0) {
        write_title(table, out);
        ms_markdown_write_head(headings, is_number, found.field_count, out);
        write_rows(&found, out);
    }
}

/* A table without facts is left out. */
static void write_facts(const ms_markdown_table *table, const ms_value *tree, ms_buffer *out) {
    static const char *const HEADINGS[] = {"", ""};
    static const bool IS_NUMBER[] = {false, true};
    const markdown_row row = {tree, 0, 0.0};
    bool is_first = true;
    for (const ms_markdown_field *field = table->fields; field->path != NULL; field++) {
        if (!is_none(find(&row, field->path, false))) {
            if (is_first) {
                write_title(table, out);
                ms_markdown_write_head(HEADINGS, IS_NUMBER, 2, out);
                is_first = false;
            }
            ms_buffer_printf(out, "| %s | ", field->heading);
            write_field(&row, field, false, out);
            ms_buffer_puts(out, " |\n");
        }
    }
}

/* Append tables of a tree, each behind an empty line. */
static void write_tables(const ms_markdown_table *tables, const ms_value *tree, ms_buffer *out) {
    for (const ms_markdown_table *table = tables; table->title != NULL; table++) {
        (table->rows == MS_MARKDOWN_OF_FACTS ? write_facts : write_list)(table, tree, out);
    }
}

/* ---- what is printed ---- */

bool ms_cli_wants_tree(const ms_invocation *call) {
    return ms_cli_has(call, "json") || ms_cli_has(call, "markdown");
}

ms_status ms_cli_print_tree(const ms_invocation *call, const char *name,
                            const ms_markdown_table *tables, const ms_value *tree) {
    if (ms_cli_has(call, "json")) {
        return ms_cli_print_json(call, tree);
    }
    const char *command = call->command->name;
    const char *heading =
        name == NULL ? command : ms_arena_printf(call->arena, "%s: %s", command, name);
    return ms_cli_print_markdown(call, heading, tables, tree);
}

ms_status ms_cli_print_markdown(const ms_invocation *call, const char *heading,
                                const ms_markdown_table *tables, const ms_value *tree) {
    if (tree == NULL || call->arena->has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer page;
    ms_buffer_init(&page);
    ms_buffer_puts(&page, "## meshsim ");
    ms_markdown_write_text(heading, &page);
    ms_buffer_puts(&page, "\n");
    write_tables(tables, tree, &page);
    return ms_cli_print_page(call, &page);
}
