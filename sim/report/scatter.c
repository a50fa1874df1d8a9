/* Predictions against measurements on logarithmic axes. */
#include "meshsim/scatter.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "meshsim/value.h"
#include "report/svg.h"

enum { LEFT = 80, TOP = 50, SIDE = 620, LEGEND = 180, BOTTOM = 60, LINE = 20, DECADE = 10 };

/* Ends of both axes. */
typedef struct axis_ends {
    double low, high; /* as powers of ten */
} axis_ends;

static bool is_drawn(const ms_scatter_point *point) {
    return point->x > 0 && point->y > 0 && isfinite(point->x) && isfinite(point->y);
}

/* Axes from half a decade's tenth below the least to as much above the largest. */
static axis_ends find_ends(const ms_scatter *s) {
    static const double MARGIN = 0.05;
    axis_ends ends = {INFINITY, -INFINITY};
    for (size_t i = 0; i < s->point_count; i++) {
        if (is_drawn(&s->points[i])) {
            double x = log10(s->points[i].x);
            double y = log10(s->points[i].y);
            ends.low = fmin(ends.low, fmin(x, y));
            ends.high = fmax(ends.high, fmax(x, y));
        }
    }
    if (ends.low > ends.high) {
        return (axis_ends){-1, 1}; /* nothing to draw */
    }
    return (axis_ends){ends.low - MARGIN, ends.high + MARGIN};
}

/* Pixels of a value along an axis. */
static double along(const axis_ends *ends, double value) {
    return SIDE * (log10(value) - ends->low) / (ends->high - ends->low);
}

static double at_x(const axis_ends *ends, double value) {
    return ms_svg_round(LEFT + along(ends, value));
}

static double at_y(const axis_ends *ends, double value) {
    return ms_svg_round(TOP + SIDE - along(ends, value));
}

static void add_tick(const axis_ends *ends, double value, bool has_label, ms_buffer *out) {
    char label[32];
    double x = at_x(ends, value);
    double y = at_y(ends, value);
    const char *colour = has_label ? "#ccc" : "#eee";
    ms_buffer_printf(out, "<path d=\"M%g,%dV%dM%d,%gH%d\" stroke=\"%s\"/>\n", x, TOP, TOP + SIDE,
                     LEFT, y, LEFT + SIDE, colour);
    if (has_label) {
        snprintf(label, sizeof label, "%g", value);
        ms_svg_text(x, TOP + SIDE + LINE, " text-anchor=\"middle\"", label, out);
        ms_svg_text(LEFT - 8, y + 4, " text-anchor=\"end\"", label, out);
    }
}

/* Lines at every digit of every decade, those of 1, 2 and 5 with their number. */
static void add_grid(const axis_ends *ends, ms_buffer *out) {
    for (int power = (int)floor(ends->low); power <= (int)floor(ends->high); power++) {
        for (int digit = 1; digit < DECADE; digit++) {
            double value = digit * pow(DECADE, power);
            bool is_inside = log10(value) >= ends->low && log10(value) <= ends->high;
            if (is_inside) {
                add_tick(ends, value, digit == 1 || digit == 2 || digit == 5, out);
            }
        }
    }
    ms_buffer_printf(out,
                     "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                     "stroke=\"#333\"/>\n",
                     LEFT, TOP, SIDE, SIDE);
}

/* The line y = factor * x, from edge to edge. */
static void add_line(const axis_ends *ends, double factor, const char *style, ms_buffer *out) {
    double low = ends->low + fmax(0, -log10(factor));
    double high = ends->high - fmax(0, log10(factor));
    double from = pow(DECADE, low);
    double to = pow(DECADE, high);
    ms_buffer_printf(out, "<path d=\"M%g,%gL%g,%g\" %s/>\n", at_x(ends, from),
                     at_y(ends, from * factor), at_x(ends, to), at_y(ends, to * factor), style);
}

static void add_legend(const ms_scatter *s, ms_buffer *out) {
    for (size_t i = 0; i < s->series_count; i++) {
        double y = TOP + 10 + LINE * (double)i;
        ms_svg_marker(&(ms_svg_mark){LEFT + SIDE + 25, y, i, 0.45, NULL}, out);
        ms_svg_text(LEFT + SIDE + 38, y + 4, "", s->series[i], out);
    }
    double y = TOP + 10 + LINE * (double)s->series_count + 10;
    ms_svg_text(LEFT + SIDE + 18, y, "", "dashed: 10 % off", out);
}

void ms_scatter_write(const ms_scatter *s, ms_buffer *out) {
    const axis_ends ends = find_ends(s);
    int height = TOP + SIDE + BOTTOM;
    int legend = TOP + LINE * ((int)s->series_count + 2);
    ms_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "font-family=\"sans-serif\" font-size=\"13\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                     LEFT + SIDE + LEGEND, height > legend ? height : legend);
    ms_svg_text(LEFT, TOP - 20, " font-size=\"16\"", s->title, out);
    add_grid(&ends, out);
    add_line(&ends, 1, "stroke=\"#333\"", out);
    add_line(&ends, 1.1, "stroke=\"#333\" stroke-dasharray=\"4 4\"", out);
    add_line(&ends, 0.9, "stroke=\"#333\" stroke-dasharray=\"4 4\"", out);
    for (size_t i = 0; i < s->point_count; i++) {
        const ms_scatter_point *point = &s->points[i];
        if (is_drawn(point)) {
            ms_svg_marker(&(ms_svg_mark){at_x(&ends, point->x), at_y(&ends, point->y),
                                         point->series, 0.45, point->name},
                          out);
        }
    }
    ms_svg_text(LEFT + SIDE / 2.0, TOP + SIDE + 45, " text-anchor=\"middle\"", s->x_label, out);
    char place[96];
    snprintf(place, sizeof place, " text-anchor=\"middle\" transform=\"rotate(-90 22 %g)\"",
             TOP + SIDE / 2.0);
    ms_svg_text(22, TOP + SIDE / 2.0, place, s->y_label, out);
    add_legend(s, out);
    ms_buffer_puts(out, "</svg>\n");
}
