#include "cli/show_sweep.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cli/shown_tables.h"

enum { COLUMNS_MAX = 96 };

/* A row with the values of the keys beside it. */
typedef struct sweep_row {
    ms_store_row found; /* first, so that MS_STORE_COLUMNS are columns of this, too */
    const char *values[MS_SWEEP_KEYS_MAX];
} sweep_row;

/* The table: its columns are those of the keys, then those of every result. */
typedef struct sweep_table {
    ms_table table;
    ms_table_column columns[COLUMNS_MAX];
} sweep_table;

/* ---- rows ---- */

static sweep_row *make_rows(const ms_shown_sweep *shown, ms_arena *arena) {
    const ms_sweep *sweep = shown->sweep;
    sweep_row *rows = MS_NEW(arena, sweep_row, shown->count);
    for (size_t i = 0; i < shown->count && rows != NULL; i++) {
        sweep_row *row = &rows[i];
        row->found = shown->rows[i];
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

/* ---- tables ---- */

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

/* The columns of the results with one for each key before them.  NULL when memory runs out. */
static ms_shown_column *add_keys(const ms_sweep *sweep, const ms_shown_column *results,
                                 ms_arena *arena) {
    size_t count = 1;
    while (results[count - 1].path != NULL) {
        count++;
    }
    ms_shown_column *columns = MS_NEW(arena, ms_shown_column, sweep->key_count + count + 1);
    if (columns == NULL) {
        return NULL;
    }
    columns[0] = (ms_shown_column){"@", "#", MS_SHOWN_COUNT};
    for (size_t key = 0; key < sweep->key_count; key++) {
        const char *path = ms_arena_printf(arena, "settings/%s", sweep->keys[key].path);
        columns[1 + key] = (ms_shown_column){path == NULL ? "" : path,
                                             short_key(sweep->keys[key].path), MS_SHOWN_TEXT};
    }
    memcpy(columns + 1 + sweep->key_count, results, count * sizeof *results);
    return columns;
}

const ms_shown_table *ms_show_sweep_tables(const ms_sweep *sweep, ms_arena *arena) {
    size_t count = 1;
    while (MS_SWEEP_TABLES[count - 1].title != NULL) {
        count++;
    }
    ms_shown_table *tables = MS_NEW(arena, ms_shown_table, count);
    if (tables != NULL) {
        memcpy(tables, MS_SWEEP_TABLES, count * sizeof *tables);
        tables[0].columns = add_keys(sweep, tables[0].columns, arena);
        tables[1].columns = add_keys(sweep, tables[1].columns, arena);
    }
    return arena->has_failed ? NULL : tables;
}
