#include "cli/show_sweep.h"

#include <math.h>
#include <string.h>

#include "cli/show_text.h"
#include "cli/shown_tables.h"
#include "meshsim/units.h"

enum {
    COLUMNS_MAX = 96,
    CELLS_MAX = MS_SWEEP_KEYS_MAX + 8,
    VALUE_WIDTH_MAX = 24,
    RESULT_WIDTH = 49, /* of RESULT_CELLS with the blanks between them, without the mark */
    MARK_WIDTH = 2,
    LEFT_OUT_MAX = 12
};

/* A row with the values of the keys beside it. */
typedef struct sweep_row {
    ms_store_row found; /* first, so that MS_STORE_COLUMNS are columns of this, too */
    const char *values[MS_SWEEP_KEYS_MAX];
    const char *mark;
    const char *settings; /* for the list of what is left out */
} sweep_row;

/* The table: its columns are those of the keys, then those of every result. */
typedef struct sweep_table {
    ms_table table;
    ms_table_column columns[COLUMNS_MAX];
} sweep_table;

/* ---- rows ---- */

static const char *settings_text(const ms_sweep *sweep, size_t point, ms_arena *arena) {
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t key = 0; key < sweep->key_count; key++) {
        ms_buffer_printf(&text, "%s%s=%s", key == 0 ? "" : " ", sweep->keys[key].path,
                         ms_sweep_value(sweep, point, key));
    }
    return ms_buffer_keep(&text, arena);
}

static sweep_row *make_rows(const ms_shown_sweep *shown, ms_arena *arena) {
    const ms_sweep *sweep = shown->sweep;
    sweep_row *rows = MS_NEW(arena, sweep_row, shown->count);
    for (size_t i = 0; i < shown->count && rows != NULL; i++) {
        sweep_row *row = &rows[i];
        row->found = shown->rows[i];
        row->mark = row->found.reason == NULL && !row->found.figures.fits ? "!" : " ";
        row->settings = settings_text(sweep, shown->points[i], arena);
        for (size_t key = 0; key < sweep->key_count; key++) {
            row->values[key] = ms_sweep_value(sweep, shown->points[i], key);
        }
    }
    return rows;
}

static void make_columns(const ms_sweep *sweep, ms_table_column *columns) {
    size_t count = 0;
    for (size_t key = 0; key < sweep->key_count; key++) {
        columns[count++] =
            (ms_table_column){.name = sweep->keys[key].path,
                              .type = MS_COLUMN_TEXT,
                              .offset = offsetof(sweep_row, values) + key * sizeof(const char *),
                              .is_of_left_out = true};
    }
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++) {
        columns[count++] = *c;
    }
    columns[count++] = (ms_table_column){.name = "mark",
                                         .type = MS_COLUMN_TEXT,
                                         .offset = offsetof(sweep_row, mark),
                                         .is_page_only = true};
    columns[count] = (ms_table_column){.name = NULL};
}

static void make_table(const ms_shown_sweep *shown, ms_arena *arena, sweep_table *out) {
    sweep_row *rows = make_rows(shown, arena);
    make_columns(shown->sweep, out->columns);
    out->table =
        (ms_table){.columns = out->columns, .reason_offset = offsetof(sweep_row, found.reason)};
    if (rows != NULL) {
        ms_table_fill(&out->table, rows, sizeof *rows, shown->count, arena);
    }
}

/* ---- JSON and CSV ---- */

static void add_axes(const ms_sweep *sweep, ms_value *root) {
    ms_value *list = ms_value_add(root, "axes", MS_VALUE_ARRAY);
    for (size_t axis = 0; axis < sweep->axis_count; axis++) {
        ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        for (size_t key = 0; key < sweep->key_count; key++) {
            if (sweep->keys[key].axis == axis) {
                ms_value *values = ms_value_add(object, sweep->keys[key].path, MS_VALUE_ARRAY);
                for (size_t i = 0; i < sweep->counts[axis]; i++) {
                    ms_point_add_value(values, NULL, sweep->keys[key].values[i]);
                }
            }
        }
    }
}

/* A number with any unit, in SI; NAN where it is none. */
static double number_of(const char *text) {
    double number = NAN;
    const char *reason = NULL;
    if (ms_number_parse(text, &number) == MS_OK) {
        return number;
    }
    for (int dim = MS_DIM_NONE + 1; dim < MS_DIM_COUNT; dim++) {
        if (ms_unit_parse(text, (ms_dimension)dim, &number, &reason) == MS_OK) {
            return number;
        }
    }
    return NAN;
}

/* Where the values of the first key of the picture's axis lie, in SI; null unless all are numbers
 * that grow. */
static void add_places(const ms_sweep *sweep, ms_value *object) {
    size_t count = sweep->counts[sweep->picture.x];
    size_t key = 0;
    while (sweep->keys[key].axis != sweep->picture.x) {
        key++;
    }
    bool grows = true;
    for (size_t i = 0; i < count && grows; i++) {
        double place = number_of(sweep->keys[key].values[i]);
        grows = !isnan(place) && (i == 0 || place > number_of(sweep->keys[key].values[i - 1]));
    }
    ms_value *places = ms_value_add(object, "places", grows ? MS_VALUE_ARRAY : MS_VALUE_NULL);
    for (size_t i = 0; i < count && grows; i++) {
        ms_value_add_double(places, NULL, number_of(sweep->keys[key].values[i]));
    }
}

/* The picture that the sweep's file asks for; x: place of its axis in the list of them. */
static void add_picture(const ms_sweep *sweep, ms_value *root) {
    const ms_sweep_picture *picture = &sweep->picture;
    ms_value *object = ms_value_add(root, "picture", MS_VALUE_OBJECT);
    ms_value_add_string(object, "kind", picture->kind == MS_DRAW_HEAT ? "heat" : "lines");
    ms_value_add_string(object, "quantity", picture->quantity);
    ms_value_add_int(object, "x", (int64_t)picture->x);
    ms_value_add_string(object, "title", picture->title == NULL ? sweep->name : picture->title);
    add_places(sweep, object);
}

static void add_counts(const ms_points_counts *counts, size_t points, ms_value *root) {
    ms_value *object = ms_value_add(root, "counts", MS_VALUE_OBJECT);
    ms_value_add_int(object, "points", (int64_t)points);
    ms_value_add_int(object, "simulated", (int64_t)counts->simulated);
    ms_value_add_int(object, "stored", (int64_t)counts->stored);
    ms_value_add_int(object, "refused", (int64_t)counts->refused);
    ms_value_add_int(object, "failed", (int64_t)counts->failed);
}

/* Every row as an object: its settings, then what was found. */
static void add_rows(const ms_shown_sweep *shown, ms_arena *arena, ms_value *root) {
    ms_value *list = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    for (size_t i = 0; i < shown->count; i++) {
        ms_words settings;
        ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value *pairs = ms_value_add(object, "settings", MS_VALUE_OBJECT);
        if (ms_sweep_settings(shown->sweep, shown->points[i], arena, &settings) == MS_OK) {
            ms_point_add_settings(&settings, pairs);
        }
        ms_table_add_row(MS_STORE_COLUMNS, &shown->rows[i], shown->rows[i].reason != NULL, object);
    }
}

/* The workload's name, which a point that is refused lacks; "" where all are. */
static const char *workload_of(const ms_shown_sweep *shown) {
    const char *name = "";
    for (size_t i = 0; i < shown->count && name[0] == '\0'; i++) {
        name = shown->rows[i].workload == NULL ? "" : shown->rows[i].workload;
    }
    return name;
}

ms_value *ms_show_sweep_tree(const ms_shown_sweep *shown, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value_add_string(root, "name", shown->sweep->name);
    ms_value_add_string(root, "workload", workload_of(shown));
    add_axes(shown->sweep, root);
    add_picture(shown->sweep, root);
    add_counts(shown->counts, shown->count, root);
    add_rows(shown, arena, root);
    return root;
}

void ms_show_sweep_csv(const ms_shown_sweep *shown, ms_arena *arena, ms_buffer *out) {
    sweep_table sweep;
    make_table(shown, arena, &sweep);
    ms_table_write_csv(&sweep.table, out);
}

/* ---- Markdown ---- */

/* A column for each key, then those of the results. */
const ms_shown_table *ms_show_sweep_tables(const ms_sweep *sweep, ms_arena *arena) {
    size_t count = 0;
    while (MS_SWEEP_COLUMNS_SHOWN[count].path != NULL) {
        count++;
    }
    ms_shown_table *tables = MS_NEW(arena, ms_shown_table, 2);
    ms_shown_column *fields = MS_NEW(arena, ms_shown_column, sweep->key_count + count + 1);
    if (tables == NULL || fields == NULL) {
        return NULL;
    }
    for (size_t key = 0; key < sweep->key_count; key++) {
        fields[key].path = ms_arena_printf(arena, "settings/%s", sweep->keys[key].path);
        fields[key].heading = sweep->keys[key].path;
    }
    memcpy(fields + sweep->key_count, MS_SWEEP_COLUMNS_SHOWN, count * sizeof *fields);
    tables[0] = (ms_shown_table){.title = "", .path = "rows", .columns = fields};
    return arena->has_failed ? NULL : tables;
}

/* ---- page ---- */

/* The last two words of a key, which name it within a sweep. */
static const char *short_key(const char *path) {
    const char *at = path + strlen(path);
    for (int dots = 0; at > path; at--) {
        dots += at[-1] == '.';
        if (dots == 2) {
            break;
        }
    }
    return at;
}

static int value_width(const ms_sweep *sweep, size_t key) {
    size_t width = 0;
    for (size_t i = 0; i < sweep->counts[sweep->keys[key].axis]; i++) {
        size_t own = strlen(sweep->keys[key].values[i]);
        width = own > width ? own : width;
    }
    return width > VALUE_WIDTH_MAX ? VALUE_WIDTH_MAX : (int)width;
}

static int name_width(const ms_sweep *sweep, size_t key) {
    return (int)strlen(short_key(sweep->keys[key].path));
}

/* Widths of the keys' columns: each holds its widest value, and its name as long as the table fits
 * on a terminal; from the last key on, whose name is read together with the results'. */
static void find_widths(const ms_sweep *sweep, bool has_mark, int widths[]) {
    int all = RESULT_WIDTH + (has_mark ? MARK_WIDTH : 0);
    for (size_t key = 0; key < sweep->key_count; key++) {
        widths[key] = value_width(sweep, key);
        all += widths[key] + 1;
    }
    for (size_t key = sweep->key_count; key-- > 0;) {
        int more = name_width(sweep, key) - widths[key];
        if (more > 0 && all + more <= MS_SHOW_PAGE_WIDTH) {
            widths[key] += more;
            all += more;
        }
    }
}

static bool is_above(const ms_sweep *sweep, const int widths[], size_t key) {
    return name_width(sweep, key) > widths[key];
}

/* The name of a key that is wider than its column, on a line above the table's head, in the place
 * where the column begins. */
static void add_name_above(const ms_sweep *sweep, const int widths[], size_t key, ms_buffer *head) {
    for (size_t before = 0; before < key; before++) {
        ms_buffer_printf(head, "%-*s ", widths[before], is_above(sweep, widths, before) ? "|" : "");
    }
    ms_buffer_printf(head, "%s\n", short_key(sweep->keys[key].path));
}

static const ms_table_cell RESULT_CELLS[] = {
    {"step_time_s", 8, NULL},
    {"tokens_per_s", 9, NULL},
    {"mfu", 5, NULL},
    {"bubble_fraction", 6, NULL},
    {"exposed_fraction", 7, NULL},
    {"peak_B", 9, NULL},
    {"mark", 1, NULL},
};
enum { RESULT_COUNT = sizeof RESULT_CELLS / sizeof RESULT_CELLS[0] };
static const char RESULT_HEAD[] = "    step  tokens/s MFU % bubble exposed      peak\n";

static void add_head(const ms_sweep *sweep, const int widths[], ms_buffer *head) {
    ms_buffer_puts(head, "\n");
    for (size_t key = 0; key < sweep->key_count; key++) {
        if (is_above(sweep, widths, key)) {
            add_name_above(sweep, widths, key, head);
        }
    }
    for (size_t key = 0; key < sweep->key_count; key++) {
        ms_buffer_printf(head, "%-*s ", widths[key],
                         is_above(sweep, widths, key) ? "|" : short_key(sweep->keys[key].path));
    }
    ms_buffer_puts(head, RESULT_HEAD);
}

static void add_table(const ms_sweep *sweep, const ms_table *table, bool has_mark, ms_buffer *out) {
    ms_table_cell cells[CELLS_MAX] = {{NULL, 0, NULL}};
    int widths[MS_SWEEP_KEYS_MAX];
    ms_buffer head;
    ms_buffer_init(&head);
    find_widths(sweep, has_mark, widths);
    add_head(sweep, widths, &head);
    for (size_t key = 0; key < sweep->key_count; key++) {
        cells[key] = (ms_table_cell){sweep->keys[key].path, -widths[key], key == 0 ? "" : NULL};
    }
    memcpy(cells + sweep->key_count, RESULT_CELLS, RESULT_COUNT * sizeof *cells);
    ms_table_write_page(table, ms_buffer_text(&head), cells, out);
    out->failed = out->failed || head.failed;
    ms_buffer_release(&head);
}

static void add_left_out(const ms_table *table, ms_buffer *out) {
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const sweep_row *row = table->rows[i];
        if (row->found.reason != NULL && ++count <= LEFT_OUT_MAX) {
            ms_buffer_puts(out, count == 1 ? "\nleft out\n" : "");
            ms_show_reason(row->settings == NULL ? "" : row->settings, row->found.reason, out);
        }
    }
    if (count > LEFT_OUT_MAX) {
        ms_buffer_printf(out, "  ... and %zu more, which --json and --csv have\n",
                         count - LEFT_OUT_MAX);
    }
}

static void add_count(size_t count, const char *what, ms_buffer *out) {
    if (count > 0) {
        ms_buffer_printf(out, ", %zu %s", count, what);
    }
}

void ms_show_sweep_page(const ms_shown_sweep *shown, ms_arena *arena, ms_buffer *out) {
    const ms_points_counts *counts = shown->counts;
    sweep_table sweep;
    bool has_large = false;
    make_table(shown, arena, &sweep);
    ms_buffer_printf(out, "sweep      %s\n", shown->sweep->name);
    ms_buffer_printf(out, "workload   %s\npoints     %zu", shown->sweep->request.workload,
                     shown->count);
    add_count(counts->simulated, "simulated", out);
    add_count(counts->stored, "known already", out);
    add_count(counts->refused, "refused", out);
    add_count(counts->failed, "failed", out);
    ms_buffer_puts(out, "\n");
    for (size_t i = 0; i < shown->count; i++) {
        has_large = has_large || (shown->rows[i].reason == NULL && !shown->rows[i].figures.fits);
    }
    if (ms_table_kept(&sweep.table) > 0) {
        add_table(shown->sweep, &sweep.table, has_large, out);
    }
    ms_buffer_puts(out, has_large ? "\n! does not fit in memory\n" : "");
    add_left_out(&sweep.table, out);
}
