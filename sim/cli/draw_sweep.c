/* A sweep's picture: what lies along which axis. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/show_sweep.h"
#include "meshsim/lines.h"
#include "meshsim/units.h"

enum { NAME_B = 512 };

/* A picture while it is made. */
typedef struct drawing {
    const ms_shown_sweep *shown;
    ms_arena *arena;
    const ms_table_column *column;
    ms_lines lines;
} drawing;

/* ---- names ---- */

/* "mesh.tp=2 mesh.dp=4": keys and values of some axes at a point.  is_of_x: of the axis that runs
 * to the right, else of all others; has_keys: with the keys before the values. */
static const char *name_of(const drawing *d, size_t point, bool is_of_x, bool has_keys) {
    const ms_sweep *sweep = d->shown->sweep;
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t key = 0; key < sweep->key_count; key++) {
        if ((sweep->keys[key].axis == sweep->picture.x) == is_of_x) {
            const char *path = has_keys ? sweep->keys[key].path : "";
            ms_buffer_printf(&text, "%s%s%s%s",
                             text.length == 0 ? ""
                             : has_keys       ? " "
                                              : ", ",
                             path, has_keys ? "=" : "", ms_sweep_value(sweep, point, key));
        }
    }
    return ms_buffer_keep(&text, d->arena);
}

/* The keys of some axes. */
static const char *keys_of(const drawing *d, bool is_of_x) {
    const ms_sweep *sweep = d->shown->sweep;
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t key = 0; key < sweep->key_count; key++) {
        if ((sweep->keys[key].axis == sweep->picture.x) == is_of_x) {
            ms_buffer_printf(&text, "%s%s", text.length == 0 ? "" : ", ", sweep->keys[key].path);
        }
    }
    return ms_buffer_keep(&text, d->arena);
}

/* ---- where points lie ---- */

/* Points of a sweep that differ by one in the place of the picture's axis. */
static size_t stride_of(const ms_sweep *sweep) {
    size_t stride = 1;
    for (size_t axis = sweep->picture.x + 1; axis < sweep->axis_count; axis++) {
        stride *= sweep->counts[axis];
    }
    return stride;
}

static size_t point_of(const ms_sweep *sweep, size_t series, size_t x) {
    size_t stride = stride_of(sweep);
    return series / stride * stride * sweep->counts[sweep->picture.x] + x * stride +
           series % stride;
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

/* Where the values of the first key of the axis lie, if all are numbers that grow. */
static const double *places_of(const drawing *d) {
    const ms_sweep *sweep = d->shown->sweep;
    size_t count = sweep->counts[sweep->picture.x];
    size_t key = 0;
    while (sweep->keys[key].axis != sweep->picture.x) {
        key++;
    }
    double *places = MS_NEW(d->arena, double, count);
    for (size_t i = 0; i < count && places != NULL; i++) {
        places[i] = number_of(sweep->keys[key].values[i]);
        if (isnan(places[i]) || (i > 0 && places[i] <= places[i - 1])) {
            return NULL;
        }
    }
    return places;
}

/* ---- values ---- */

static ms_lines_value value_of(const drawing *d, size_t point) {
    const ms_store_row *row = &d->shown->rows[point];
    ms_lines_value value = {.value = NAN, .name = NULL};
    char text[NAME_B];
    char number[48] = "";
    if (row->reason == NULL) {
        memcpy(&value.value, (const char *)row + d->column->offset, sizeof value.value);
        value.is_marked = !row->figures.fits;
        ms_unit_format(row->figures.step_time_s, MS_DIM_TIME, number, sizeof number);
    }
    snprintf(text, sizeof text, "%s %s: %s", name_of(d, point, true, true),
             name_of(d, point, false, true), row->reason == NULL ? number : row->reason);
    value.name = ms_arena_strdup(d->arena, text);
    return value;
}

static bool fill(drawing *d) {
    const ms_sweep *sweep = d->shown->sweep;
    ms_lines *c = &d->lines;
    bool is_heat = sweep->picture.kind == MS_DRAW_HEAT;
    c->x_count = sweep->counts[sweep->picture.x];
    c->series_count = sweep->count / c->x_count;
    const char **names = MS_NEW(d->arena, const char *, c->x_count);
    const char **series = MS_NEW(d->arena, const char *, c->series_count);
    ms_lines_value *values = MS_NEW(d->arena, ms_lines_value, sweep->count);
    if (names == NULL || series == NULL || values == NULL) {
        return false;
    }
    for (size_t i = 0; i < sweep->count; i++) {
        size_t point = point_of(sweep, i / c->x_count, i % c->x_count);
        values[i] = value_of(d, point);
        names[i % c->x_count] = name_of(d, point, true, false);
        series[i / c->x_count] = name_of(d, point, false, !is_heat);
        c->mark_note = values[i].is_marked ? "does not fit in memory" : c->mark_note;
    }
    c->x_names = names;
    c->series = series;
    c->values = values;
    return !d->arena->has_failed;
}

static const ms_table_column *column_of(const char *name) {
    const ms_table_column *column = MS_STORE_COLUMNS;
    while (strcmp(column->name, name) != 0) {
        column++; /* ms_sweep_read has seen to it that there is one */
    }
    return column;
}

void ms_draw_sweep(const ms_shown_sweep *shown, ms_arena *arena, ms_buffer *out) {
    const ms_sweep_picture *picture = &shown->sweep->picture;
    bool is_heat = picture->kind == MS_DRAW_HEAT;
    drawing d = {.shown = shown, .arena = arena, .column = column_of(picture->quantity)};
    const char *title = picture->title == NULL ? shown->sweep->name : picture->title;
    d.lines = (ms_lines){
        .title = is_heat ? ms_arena_printf(arena, "%s: %s", title, picture->quantity) : title,
        .x_label = keys_of(&d, true),
        .y_label = is_heat ? keys_of(&d, false) : picture->quantity,
        .x = places_of(&d),
        .dim = d.column->print == MS_PRINT_UNIT ? d.column->dim : MS_DIM_NONE,
        .is_share = d.column->print == MS_PRINT_PERCENT};
    if (fill(&d)) {
        (is_heat ? ms_lines_write_heat : ms_lines_write)(&d.lines, out);
    }
}
