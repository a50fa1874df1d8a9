/* Makes the grid of a table: finds the rows and columns that have values in the tree of a result,
 * and formats every value as the text of a cell (grid.h). A column without any value is left
 * out. */
#include "cli/grid.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cli/show_text.h"

/* Bytes of a formatted number; columns of a bar for a share of 1; settings that are printed as a
 * command: of more the number is printed. */
enum { NUMBER_B = 48, BAR_WIDTH = 34, SETTINGS_MAX = 2 };

/* Numbers below this share of a table's reference number (`dust_of`) are rounding errors. */
static const double DUST = 1e-12;

/* Whole numbers below this size are exact as doubles, and are printed with all digits. */
static const double COUNT_MAX = 1e15;

/* ---- values ---- */

/* A row of a table. */
typedef struct shown_row {
    const ms_value *value; /* the row in the tree */
    size_t index;          /* its index in the list, from 0 */
    double dust;           /* numbers of at most this size are rounding errors, shown as 0 */
} shown_row;

/* The child of an object whose key is the first `length` bytes of `key`; NULL: there is none. */
static const ms_value *child_of(const ms_value *object, const char *key, size_t length) {
    const ms_value *child =
        object != NULL && object->type == MS_VALUE_OBJECT ? object->first : NULL;
    while (child != NULL &&
           (strlen(child->key) != length || memcmp(child->key, key, length) != 0)) {
        child = child->next;
    }
    return child;
}

/* The value that a path of keys with '/' between them leads to; NULL: there is none. */
static const ms_value *find(const ms_value *value, const char *path) {
    while (*path != '\0' && value != NULL) {
        size_t length = strcspn(path, "/");
        value = child_of(value, path, length);
        path += length + (path[length] == '/');
    }
    return value;
}

/* Whether a cell is left empty: the value is missing, null, an empty list or object, or an empty
 * text. */
static bool is_empty_value(const ms_value *value) {
    bool holds_nothing = value != NULL &&
                         (value->type == MS_VALUE_ARRAY || value->type == MS_VALUE_OBJECT) &&
                         value->count == 0;
    bool is_empty = value != NULL && value->type == MS_VALUE_STRING && value->as.string[0] == '\0';
    return value == NULL || value->type == MS_VALUE_NULL || holds_nothing || is_empty;
}

/* The number of an integer or a double. */
static double number_of(const ms_value *value) {
    return value->type == MS_VALUE_INT ? (double)value->as.integer : value->as.number;
}

/* ---- cells ---- */

static void write_cell(const ms_value *value, ms_shown_kind kind, double dust, ms_buffer *out);

/* Write a leaf without a unit: a text, "yes" or "no", or a number with at most ten digits, whole
 * numbers with all digits. Lists and objects are not written. */
static void write_plain(const ms_value *value, ms_buffer *out) {
    if (value->type == MS_VALUE_STRING) {
        ms_buffer_puts(out, value->as.string);
    } else if (value->type == MS_VALUE_BOOL) {
        ms_buffer_puts(out, value->as.boolean ? "yes" : "no");
    } else if (value->type == MS_VALUE_INT) {
        ms_buffer_printf(out, "%lld", (long long)value->as.integer);
    } else if (value->type == MS_VALUE_DOUBLE) {
        double number = value->as.number;
        bool is_count = fabs(number) < COUNT_MAX && number == floor(number);
        ms_buffer_printf(out, is_count ? "%.0f" : "%.10g", number);
    }
}

/* Write four significant digits, or all digits before the decimal point where these are more. */
static void write_digits(double number, ms_buffer *out) {
    bool is_large = number >= 1000 || number <= -1000;
    ms_buffer_printf(out, is_large ? "%.0f" : "%.4g", number);
}

/* Write a count with a word, such as "174.6 billion". */
static void write_large(double count, ms_buffer *out) {
    static const struct {
        double scale;
        const char *word;
    } SCALES[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}, {1.0, ""}};
    size_t i = 0;
    while (i + 1 < sizeof SCALES / sizeof SCALES[0] && count < SCALES[i].scale) {
        i++;
    }
    ms_buffer_printf(out, "%.4g%s", count / SCALES[i].scale, SCALES[i].word);
}

/* Append a number in the form that its column asks for: a share in percent, a bar, a count, or a
 * quantity with its unit.  kind: of the column. */
static void write_number(double number, ms_shown_kind kind, ms_buffer *out) {
    static const ms_dimension DIMS[] = {
        [MS_SHOWN_TIME] = MS_DIM_TIME,      [MS_SHOWN_BYTES] = MS_DIM_BYTES,
        [MS_SHOWN_RATE] = MS_DIM_BANDWIDTH, [MS_SHOWN_FLOP_RATE] = MS_DIM_FLOP_RATE,
        [MS_SHOWN_ENERGY] = MS_DIM_ENERGY,  [MS_SHOWN_POWER] = MS_DIM_POWER};
    char text[NUMBER_B];
    if (kind == MS_SHOWN_SHARE || kind == MS_SHOWN_CHANGE) {
        ms_buffer_printf(out, kind == MS_SHOWN_SHARE ? "%.2f %%" : "%+.2f %%", 100.0 * number);
    } else if (kind == MS_SHOWN_NUMBER) {
        write_digits(number, out);
    } else if (kind == MS_SHOWN_LARGE) {
        write_large(number, out);
    } else if (kind == MS_SHOWN_BAR) {
        for (long i = 0; i < lround(number * BAR_WIDTH); i++) {
            ms_buffer_puts(out, "#");
        }
    } else {
        ms_buffer_puts(out, ms_unit_format(number, DIMS[kind], text, sizeof text));
    }
}

/* Whether a value is an integer or a double. */
static bool is_number(const ms_value *value) {
    return value != NULL && (value->type == MS_VALUE_INT || value->type == MS_VALUE_DOUBLE);
}

/* Write a setting, an entry "key: value" of an object, as an option --set, quoted for a shell. */
static void write_setting(const ms_value *setting, ms_buffer *out) {
    ms_buffer text = {0};
    ms_buffer_printf(&text, "%s=", setting->key);
    write_plain(setting, &text);
    ms_buffer_puts(out, "--set ");
    ms_show_shell_word(ms_buffer_text(&text), out);
    ms_buffer_release_part(&text, out);
}

/* Write a part of a command line. The blank before each option becomes a line feed, which marks
 * where the line may be broken. */
static void write_options(const char *text, ms_buffer *out) {
    for (const char *at = text; *at != '\0'; at++) {
        ms_buffer_add(out, strncmp(at, " --", 3) == 0 ? "\n" : at, 1);
    }
}

/* Write a value that is no list or object, by the kind of its column. */
static void write_leaf(const ms_value *value, ms_shown_kind kind, ms_buffer *out) {
    bool is_measured = /* the kind gives numbers a form of their own */
        kind != MS_SHOWN_TEXT && kind != MS_SHOWN_COUNT && kind < MS_SHOWN_BELOW;
    if (is_number(value) && is_measured) {
        write_number(number_of(value), kind, out);
    } else if (kind == MS_SHOWN_COMMAND && value->type == MS_VALUE_STRING) {
        write_options(value->as.string, out);
    } else {
        write_plain(value, out);
    }
}

/* Write a list or object with commas between its entries, or as a command line, where more than
 * SETTINGS_MAX settings are only counted. Empty entries are left out. */
static void write_parts(const ms_value *whole, ms_shown_kind kind, ms_buffer *out) {
    const char *between = "";
    if (kind == MS_SHOWN_COMMAND && whole->type == MS_VALUE_OBJECT && whole->count > SETTINGS_MAX) {
        ms_buffer_printf(out, "%zu settings, which --json lists", whole->count);
        return;
    }
    for (const ms_value *part = whole->first; part != NULL; part = part->next) {
        if (is_empty_value(part)) {
            continue;
        }
        ms_buffer_puts(out, between);
        between = kind == MS_SHOWN_COMMAND ? "\n" : ", ";
        if (part->key != NULL && kind == MS_SHOWN_COMMAND) {
            write_setting(part, out);
        } else {
            ms_buffer_printf(out, "%s%s", part->key == NULL ? "" : part->key,
                             part->key == NULL ? "" : " ");
            write_cell(part, kind, 0.0, out);
        }
    }
}

/* Write a value by the kind of its column.  dust: numbers of at most this size are written as 0; 0:
 * none are. */
static void write_cell(const ms_value *value, ms_shown_kind kind, double dust, ms_buffer *out) {
    if (value->type == MS_VALUE_ARRAY || value->type == MS_VALUE_OBJECT) {
        write_parts(value, kind, out);
    } else if (is_number(value) && dust > 0 && fabs(number_of(value)) <= dust) {
        ms_buffer_puts(out, "0");
    } else {
        write_leaf(value, kind, out);
    }
}

/* Whether rates of a row are shown in bits per second. */
static bool is_in_bits(const ms_value *row) {
    const ms_value *word = ms_value_get(row, "in_bits");
    return word != NULL && word->type == MS_VALUE_BOOL && word->as.boolean;
}

/* Make the text of the cell of a row in a column, in the arena of the tree; "" for an empty cell. A
 * column whose path is "@" shows the row's key or, of a row in a list, its number from 1.  tree:
 * the whole result, for values that refer to others, such as a share of the step. */
static const char *cell_of(const shown_row *row, const ms_shown_column *column,
                           const ms_value *tree) {
    ms_buffer text = {0};
    const ms_value *value = find(row->value, column->path);
    if (strcmp(column->path, "@") == 0 && row->value->key != NULL) {
        ms_buffer_puts(&text, row->value->key);
    } else if (strcmp(column->path, "@") == 0) {
        ms_buffer_printf(&text, "%zu", row->index + 1);
    } else if (is_number(value) && column->kind == MS_SHOWN_TIME_OF_STEP) {
        write_number(number_of(value) * ms_value_number(tree, "step_time_s", 0.0), MS_SHOWN_TIME,
                     &text);
    } else if (is_number(value) && column->kind == MS_SHOWN_RATE && is_in_bits(row->value)) {
        char number[NUMBER_B];
        ms_buffer_puts(&text, ms_unit_format_bits(number_of(value), number, sizeof number));
    } else if (!is_empty_value(value)) {
        write_cell(value, column->kind, row->dust, &text);
    }
    const char *kept = ms_buffer_keep(&text, tree->arena);
    return kept == NULL ? "" : kept;
}

/* ---- rows ---- */

/* Whether a value is the number 0. */
static bool is_zero(const ms_value *value) {
    return is_number(value) && number_of(value) == 0;
}

const ms_value *ms_grid_source(const ms_shown_table *table, const ms_value *tree) {
    return find(tree, table->path);
}

/* The size up to which numbers of a row are rounding errors: DUST times the table's reference
 * number, which the row has, or else the tree. */
static double dust_of(const ms_shown_table *table, const ms_value *row, const ms_value *tree) {
    const char *path = table->dust_of;
    return path == NULL ? 0.0 : DUST * ms_value_number(row, path, ms_value_number(tree, path, 0.0));
}

/* List the rows of a table that are not left out: those that have a value at table->needs and, with
 * skips_zero, another number than 0 in column 1.  rows_out: [entries of the holder].  Returns the
 * number of rows. */
static size_t list_rows(const ms_shown_table *table, const ms_value *tree, shown_row *rows_out) {
    size_t count = 0;
    size_t index = 0;
    for (const ms_value *child = ms_grid_source(table, tree)->first; child != NULL;
         child = child->next, index++) {
        bool is_there = table->needs == NULL || !is_empty_value(find(child, table->needs));
        bool is_empty = table->skips_zero && is_zero(find(child, table->columns[1].path));
        if (is_there && !is_empty) {
            rows_out[count++] = (shown_row){child, index, dust_of(table, child, tree)};
        }
    }
    return count;
}

/* Whether a row has a value at a path; "@" always has.  rows: [count]. */
static bool has_some(const shown_row *rows, size_t count, const char *path) {
    bool is_there = strcmp(path, "@") == 0;
    for (size_t i = 0; i < count && !is_there; i++) {
        is_there = !is_empty_value(find(rows[i].value, path));
    }
    return is_there;
}

/* The last two words of a dotted key: "mesh.tp" of "sets.mesh.tp". */
static const char *short_key(const char *key) {
    int dots = 0;
    const char *at = key + strlen(key);
    while (at > key && (dots += at[-1] == '.') < 2) {
        at--;
    }
    return at;
}

/* Append a column to the grid, unless the grid is full. */
static void add_column(const ms_shown_column *column, ms_grid *grid) {
    if (grid->count < MS_GRID_COLUMNS_MAX) {
        grid->columns[grid->count++] = column;
    }
}

/* Append a column for each key of the object that a path such as "varied/@" names in a row. All
 * rows have the same keys there, so one row is enough. */
static void add_keys(const shown_row *row, const ms_shown_column *all, ms_arena *arena,
                     ms_grid *grid) {
    const char *path = ms_arena_strndup(arena, all->path, strlen(all->path) - 2);
    const ms_value *object = path == NULL ? NULL : find(row->value, path);
    for (const ms_value *child = object == NULL ? NULL : object->first; child != NULL;
         child = child->next) {
        ms_shown_column *column = MS_NEW(arena, ms_shown_column, 1);
        const char *own = ms_arena_printf(arena, "%s/%s", path, child->key);
        if (column != NULL && own != NULL) {
            *column = (ms_shown_column){own, short_key(child->key), all->kind};
            add_column(column, grid);
        }
    }
}

/* List the columns that have a value in some row.  rows: [grid->rows]. */
static void list_columns(const ms_shown_table *table, const shown_row *rows, ms_arena *arena,
                         ms_grid *grid) {
    for (const ms_shown_column *column = table->columns; column->path != NULL; column++) {
        size_t length = strlen(column->path);
        if (length > 1 && strcmp(column->path + length - 2, "/@") == 0 && grid->rows > 0) {
            add_keys(&rows[0], column, arena, grid);
        } else if (has_some(rows, grid->rows, column->path)) {
            add_column(column, grid);
        }
    }
}

/* Make the grid of a table whose rows are the entries of a list or object of the tree. It has no
 * rows where the tree has no such entry, or where memory runs out, which the arena remembers. */
static ms_grid make_list(const ms_shown_table *table, const ms_value *tree) {
    const ms_value *holder = ms_grid_source(table, tree);
    ms_grid grid = {.count = 0};
    shown_row *rows = is_empty_value(holder) ? NULL : MS_NEW(tree->arena, shown_row, holder->count);
    if (rows == NULL) {
        return grid;
    }
    grid.rows = list_rows(table, tree, rows);
    list_columns(table, rows, tree->arena, &grid);
    grid.cells = MS_NEW(tree->arena, const char *, grid.rows *grid.count + 1);
    grid.rows = grid.cells == NULL ? 0 : grid.rows;
    for (size_t i = 0; i < grid.rows * grid.count; i++) {
        grid.cells[i] = cell_of(&rows[i / grid.count], grid.columns[i % grid.count], tree);
    }
    return grid;
}

/* Make the grid of a table of facts: a row with heading and value for each column that has a value
 * in the tree. */
static ms_grid make_facts(const ms_shown_table *table, const ms_value *tree) {
    static const ms_shown_column PAIR[] = {{"", "", MS_SHOWN_TEXT}, {"", "", MS_SHOWN_COUNT}};
    const shown_row row = {tree, 0, dust_of(table, tree, tree)};
    ms_grid grid = {.columns = {&PAIR[0], &PAIR[1]}, .count = 2};
    size_t count = 0;
    while (table->columns[count].path != NULL) {
        count++;
    }
    grid.cells = MS_NEW(tree->arena, const char *, 2 * count + 1);
    for (size_t i = 0; i < count && grid.cells != NULL; i++) {
        const ms_shown_column *column = &table->columns[i];
        if (!is_empty_value(find(tree, column->path))) {
            grid.cells[2 * grid.rows] = column->heading;
            grid.cells[2 * grid.rows++ + 1] = cell_of(&row, column, tree);
        }
    }
    return grid;
}

ms_grid ms_grid_make(const ms_shown_table *table, const ms_value *tree) {
    return table->rows == MS_SHOWN_OF_FACTS ? make_facts(table, tree) : make_list(table, tree);
}
