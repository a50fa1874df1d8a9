/* A quantity over one setting as lines, over two as a table of colours. */
#include "meshsim/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"

enum { LEFT = 90, TOP = 50, WIDTH = 560, HEIGHT = 360, BOTTOM = 60, LINE = 20, TICKS = 6 };
enum { LETTER = 8, LEGEND_GAP = 40, MARGIN = 10, CELL_HEIGHT = 34, CELL_MIN = 76 };

/* From where on an axis is logarithmic: the largest is so many times the least. */
static const double LOG_X = 8.0;
static const double LOG_Y = 30.0;

/* ---- scales ---- */

/* From values to pixels. */
typedef struct lines_scale {
    double low, high; /* as they are, or as powers of ten */
    bool is_log;
} lines_scale;

static double place_of(const lines_scale *s, double value) {
    double at = s->is_log ? log10(value) : value;
    return s->high > s->low ? (at - s->low) / (s->high - s->low) : 0.5;
}

/* Least and largest of numbers; NAN among them are left out. */
static lines_scale extent_of(const double *numbers, size_t count) {
    lines_scale s = {INFINITY, -INFINITY, false};
    for (size_t i = 0; i < count; i++) {
        s.low = fmin(s.low, numbers[i]);
        s.high = fmax(s.high, numbers[i]);
    }
    return s;
}

static lines_scale extent_of_values(const ms_lines *c) {
    lines_scale s = {INFINITY, -INFINITY, false};
    for (size_t i = 0; i < c->series_count * c->x_count; i++) {
        s.low = fmin(s.low, c->values[i].value);
        s.high = fmax(s.high, c->values[i].value);
    }
    return s;
}

static lines_scale take_logs(lines_scale s) {
    return (lines_scale){log10(s.low), log10(s.high), true};
}

static lines_scale scale_of_x(const ms_lines *c) {
    static const double ROOM = 0.03;
    if (c->x == NULL) {
        return (lines_scale){-0.5, (double)c->x_count - 0.5, false};
    }
    lines_scale s = extent_of(c->x, c->x_count);
    s = s.low > 0 && s.high >= LOG_X * s.low ? take_logs(s) : s;
    double room = ROOM * (s.high - s.low);
    return (lines_scale){s.low - room, s.high + room, s.is_log};
}

static lines_scale scale_of_y(const ms_lines *c) {
    static const double ROOM = 1.08;
    lines_scale s = extent_of_values(c);
    if (!(s.low <= s.high)) {
        return (lines_scale){0, 1, false}; /* nothing to draw */
    }
    if (s.low > 0 && s.high >= LOG_Y * s.low) {
        s = take_logs(s);
        return (lines_scale){floor(s.low), ceil(s.high), true};
    }
    return (lines_scale){fmin(s.low, 0), s.high > 0 ? s.high * ROOM : 1, false};
}

static double x_at(const ms_lines *c, const lines_scale *s, size_t index) {
    return ms_svg_round(LEFT + WIDTH * place_of(s, c->x == NULL ? (double)index : c->x[index]));
}

static double y_at(const lines_scale *s, double value) {
    return ms_svg_round(TOP + HEIGHT * (1 - place_of(s, value)));
}

/* ---- texts ---- */

static const char *value_text(const ms_lines *c, double value, char *text, size_t size) {
    if (c->is_share) {
        snprintf(text, size, "%.3g %%", 100 * value);
    } else if (c->dim != MS_DIM_NONE) {
        ms_unit_format(value, c->dim, text, size);
    } else {
        bool is_large = fabs(value) >= 1000 && fabs(value) < 1e9; /* no power of ten */
        snprintf(text, size, is_large ? "%.0f" : "%.4g", value);
    }
    return text;
}

static double longest(const char *const *texts, size_t count) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]);
        most = length > most ? length : most;
    }
    return (double)LETTER * (double)most;
}

static void begin(const ms_lines *c, double width, double height, ms_buffer *out) {
    ms_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                     "font-family=\"sans-serif\" font-size=\"13\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                     width, height);
    ms_svg_text(MARGIN, TOP - 22, " font-size=\"16\"", c->title, out);
}

static void add_y_label(const char *text, double middle, ms_buffer *out) {
    char turned[96];
    snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 18 %g)\"",
             middle);
    ms_svg_text(18, middle, turned, text, out);
}

/* ---- lines ---- */

static void add_y_tick(const ms_lines *c, const lines_scale *y, double value, ms_buffer *out) {
    char text[48];
    double at = y_at(y, value);
    ms_buffer_printf(out, "<path d=\"M%d,%gh%d\" stroke=\"#ddd\"/>\n", LEFT, at, WIDTH);
    ms_svg_text(LEFT - 8, at + 4, " text-anchor=\"end\"", value_text(c, value, text, sizeof text),
                out);
}

static void add_y_ticks(const ms_lines *c, const lines_scale *y, ms_buffer *out) {
    if (y->is_log) {
        for (int power = (int)y->low; power <= (int)y->high; power++) {
            add_y_tick(c, y, pow(10, power), out);
        }
        return;
    }
    double step = ms_svg_tick(y->high - y->low, TICKS);
    for (int i = (int)ceil(y->low / step - 1e-9); i * step <= y->high; i++) {
        add_y_tick(c, y, i * step, out);
    }
}

/* Names along the axis, as many as do not run into each other. */
static void add_x_names(const ms_lines *c, const lines_scale *x, ms_buffer *out) {
    double free_from = -INFINITY;
    for (size_t i = 0; i < c->x_count; i++) {
        double at = x_at(c, x, i);
        double half = 0.5 * longest(&c->x_names[i], 1);
        ms_buffer_printf(out, "<path d=\"M%g,%dv5\" stroke=\"#333\"/>\n", at, TOP + HEIGHT);
        if (at - half >= free_from) {
            ms_svg_text(at, TOP + HEIGHT + LINE, " text-anchor=\"middle\"", c->x_names[i], out);
            free_from = at + half + MARGIN;
        }
    }
}

/* From value to value, interrupted where there is none. */
static void add_line(const ms_lines *c, const lines_scale *x, const lines_scale *y, size_t series,
                     ms_buffer *out) {
    bool is_down = false;
    ms_buffer_puts(out, "<path d=\"");
    for (size_t i = 0; i < c->x_count; i++) {
        double value = c->values[series * c->x_count + i].value;
        if (!isnan(value)) {
            ms_buffer_printf(out, "%s%g,%g", is_down ? "L" : "M", x_at(c, x, i), y_at(y, value));
        }
        is_down = !isnan(value);
    }
    ms_buffer_printf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
                     ms_svg_series_colour(series));
    for (size_t i = 0; i < c->x_count; i++) {
        const ms_lines_value *value = &c->values[series * c->x_count + i];
        if (!isnan(value->value)) {
            ms_svg_marker(&(ms_svg_mark){x_at(c, x, i), y_at(y, value->value), series,
                                         value->is_marked ? 0.0 : 0.8, value->name},
                          out);
        }
    }
}

static void add_legend(const ms_lines *c, ms_buffer *out) {
    double x = LEFT + WIDTH + 20;
    double y = TOP + 10;
    for (size_t i = 0; c->series_count > 1 && i < c->series_count; i++, y += LINE) {
        ms_svg_marker(&(ms_svg_mark){x, y, i, 0.8, NULL}, out);
        ms_svg_text(x + 12, y + 4, "", c->series[i], out);
    }
    if (c->mark_note != NULL) {
        char note[128];
        snprintf(note, sizeof note, "hollow: %s", c->mark_note);
        ms_svg_text(x - 6, y + MARGIN, "", note, out);
    }
}

void ms_lines_write(const ms_lines *c, ms_buffer *out) {
    const lines_scale x = scale_of_x(c);
    const lines_scale y = scale_of_y(c);
    double note = c->mark_note == NULL ? 0 : (double)LETTER * (double)(strlen(c->mark_note) + 8);
    double names = c->series_count > 1 ? longest(c->series, c->series_count) : 0;
    double legend = fmax(names, note) + (c->series_count > 1 || note > 0 ? LEGEND_GAP : MARGIN);
    double height = fmax(TOP + HEIGHT + BOTTOM, TOP + LINE * ((double)c->series_count + 2));
    double across = fmax(LEFT + WIDTH + fmax(legend, LEGEND_GAP),
                         2 * MARGIN + longest(c->notes, c->note_count));
    begin(c, across, height + (c->note_count > 0 ? MARGIN : 0) + LINE * (double)c->note_count, out);
    add_y_ticks(c, &y, out);
    ms_buffer_printf(out, "<path d=\"M%d,%dv%dh%d\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP,
                     HEIGHT, WIDTH);
    add_x_names(c, &x, out);
    for (size_t i = 0; i < c->series_count; i++) {
        add_line(c, &x, &y, i, out);
    }
    ms_svg_text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 45, " text-anchor=\"middle\"", c->x_label, out);
    add_y_label(c->y_label, TOP + HEIGHT / 2.0, out);
    add_legend(c, out);
    for (size_t i = 0; i < c->note_count; i++) {
        ms_svg_text(MARGIN, height + MARGIN / 2.0 + LINE * (double)i, " fill=\"#444\"", c->notes[i],
                    out);
    }
    ms_buffer_puts(out, "</svg>\n");
}

/* ---- colours ---- */

/* A cell of the table. */
typedef struct heat_cell {
    double x, y, width;
} heat_cell;

/* From pale yellow over green to dark blue: lightness falls all the way, so that it can be read
 * without colours. Source of the ends and the middle: ColorBrewer's YlGnBu (Brewer, 2002). */
static ms_rgb shade_of(double place) {
    static const ms_rgb ENDS[] = {{1.0, 1.0, 0.85}, {0.25, 0.71, 0.77}, {0.03, 0.11, 0.35}};
    double at = 2 * fmin(fmax(place, 0), 1);
    int from = at < 1 ? 0 : 1;
    double share = at - from;
    const ms_rgb *a = &ENDS[from];
    const ms_rgb *b = &ENDS[from + 1];
    return (ms_rgb){a->r + share * (b->r - a->r), a->g + share * (b->g - a->g),
                    a->b + share * (b->b - a->b)};
}

static void add_cell(const ms_lines *c, const lines_scale *s, const ms_lines_value *value,
                     const heat_cell *cell, ms_buffer *out) {
    char text[56];
    char number[48];
    char code[8];
    bool is_there = !isnan(value->value);
    ms_rgb shade = is_there ? shade_of(place_of(s, value->value)) : (ms_rgb){0.93, 0.93, 0.93};
    snprintf(text, sizeof text, "%s%s",
             is_there ? value_text(c, value->value, number, sizeof number) : "-",
             value->is_marked ? " !" : "");
    ms_buffer_printf(out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%d\" fill=\"%s\">",
                     cell->x, cell->y, cell->width - 1, CELL_HEIGHT - 1, ms_svg_hex(shade, code));
    ms_svg_title(value->name, out);
    ms_buffer_puts(out, "</rect>\n");
    ms_svg_text(ms_svg_round(cell->x + cell->width / 2), cell->y + CELL_HEIGHT / 2.0 + 4,
                ms_svg_is_light(shade) ? " text-anchor=\"middle\""
                                       : " text-anchor=\"middle\" fill=\"#fff\"",
                text, out);
}

void ms_lines_write_heat(const ms_lines *c, ms_buffer *out) {
    lines_scale s = extent_of_values(c);
    s = s.low > 0 && s.high >= LOG_Y * s.low ? take_logs(s) : s;
    double left = 40 + fmax(longest(c->series, c->series_count), 4 * LETTER);
    double width = fmax(CELL_MIN, longest(c->x_names, c->x_count) + 2 * MARGIN);
    double bottom = TOP + CELL_HEIGHT * (double)c->series_count;
    double across =
        fmax(left + width * (double)c->x_count + MARGIN, 2 * MARGIN + 1.3 * longest(&c->title, 1));
    begin(c, across, bottom + BOTTOM + (c->mark_note == NULL ? 0 : LINE), out);
    for (size_t row = 0; row < c->series_count; row++) {
        double y = TOP + CELL_HEIGHT * (double)row;
        ms_svg_text(left - 8, y + CELL_HEIGHT / 2.0 + 4, " text-anchor=\"end\"", c->series[row],
                    out);
        for (size_t i = 0; i < c->x_count; i++) {
            const heat_cell cell = {left + width * (double)i, y, width};
            add_cell(c, &s, &c->values[row * c->x_count + i], &cell, out);
        }
    }
    for (size_t i = 0; i < c->x_count; i++) {
        ms_svg_text(left + width * ((double)i + 0.5), bottom + LINE, " text-anchor=\"middle\"",
                    c->x_names[i], out);
    }
    ms_svg_text(left + width * (double)c->x_count / 2, bottom + 45, " text-anchor=\"middle\"",
                c->x_label, out);
    add_y_label(c->y_label, (TOP + bottom) / 2, out);
    if (c->mark_note != NULL) {
        char note[128];
        snprintf(note, sizeof note, "! %s", c->mark_note);
        ms_svg_text(left, bottom + 45 + LINE, "", note, out);
    }
    ms_buffer_puts(out, "</svg>\n");
}
