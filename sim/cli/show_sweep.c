#include "cli/show_sweep.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

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

void ms_show_sweep_add_page(const ms_shown_sweep *shown, ms_value *root) {
    const ms_sweep *sweep = shown->sweep;
    size_t at = 0;
    if (root == NULL || root->arena->has_failed) {
        return;
    }
    for (ms_value *row = ms_value_get(root, "rows")->first; row != NULL; row = row->next) {
        ms_value *varied = ms_value_add(row, "varied", MS_VALUE_OBJECT);
        for (size_t key = 0; key < sweep->key_count; key++) {
            ms_point_add_value(varied, sweep->keys[key].path,
                               ms_sweep_value(sweep, shown->points[at], key));
        }
        at++;
    }
}
