/* Draws the memory curves of a Gantt picture (gantt_panel.h): a strip with a curve for each row or,
 * where rows are many, one band between the lowest and the highest curve of all rows. A level holds
 * from its start to the next level of its row. */
#include "trace/report/gantt_panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "trace/report/svg.h"

enum {
    LEVEL_B = 32, /* size of a formatted level */
    BINS_MAX = 2048,
    LONG_LABEL = 5, /* maximum length of a row's label with which "on " fits beside the curve */
};

static const double HEADING_PX = 18.0;
static const double STRIPS_PX = 150.0;     /* wanted height of all strips together */
static const double STRIP_LEAST_PX = 13.0; /* limits of the height of each strip */
static const double STRIP_MOST_PX = 30.0;
static const double STRIP_GAP_PX = 3.0;
static const double STEP_LEAST_PX = 1.0; /* of levels on less width the highest is drawn */
static const double LIMIT_NEAR = 1.6;    /* a capacity up to this many times the peak is drawn */
static const double FLOOR_FROM = 0.5;    /* if all levels are above this share of the top, the axis
                                            does not begin at 0 */
/* Look of curves: grey, as no pass is. */
static const char LOOK[] = "fill=\"#c3c9cf\" stroke=\"#39424b\" stroke-width=\"0.8\"";

/* Write a level as text: bytes with their unit, or a number.  Returns the text. */
static const char *format_level(const ms_gantt_sorted *sorted, double level,
                                char text_out[LEVEL_B]) {
    if (sorted->gantt->memory->has_bytes) {
        return ms_unit_format(level, MS_DIM_BYTES, text_out, LEVEL_B);
    }
    snprintf(text_out, LEVEL_B, "%.4g", level);
    return text_out;
}

/* ---- measuring ---- */

/* Lowest and highest level of a row. */
typedef struct extremes {
    double lowest, highest;
    double at; /* time at which the highest level is first reached */
} extremes;

/* Find the extremes of a row. Before its first level the row holds 0. A level that another one with
 * the same start replaces never holds. */
static extremes measure(const ms_gantt_sorted *sorted, int32_t row) {
    const ms_gantt_memory *memory = sorted->gantt->memory;
    extremes e = {INFINITY, 0.0, 0.0};
    for (size_t i = memory->row_first[row]; i < memory->row_first[row + 1]; i++) {
        const ms_gantt_level *at = &memory->levels[i];
        bool is_replaced = i + 1 < memory->row_first[row + 1] && at[1].start <= at->start;
        if (is_replaced) {
            continue;
        }
        e.lowest = fmin(e.lowest, i == memory->row_first[row] && at->start > 0.0 ? 0.0 : at->level);
        if (at->level > e.highest) {
            e.highest = at->level;
            e.at = at->start;
        }
    }
    e.lowest = fmin(e.lowest, e.highest);
    return e;
}

/* The axis goes up to the highest level, or to a capacity that is not far above it (LIMIT_NEAR). It
 * starts at 0, unless all levels are near the top (FLOOR_FROM): then at a tick below the lowest
 * level, where 1e-9 of a tick keeps rounding from adding a tick. */
ms_curve_scale ms_curves_fit(const ms_gantt_sorted *pictures, size_t count) {
    ms_curve_scale scale = {.floor = INFINITY};
    double limit = 0.0;
    for (size_t i = 0; i < count; i++) {
        const ms_gantt *gantt = pictures[i].gantt;
        for (int32_t row = 0; gantt->memory != NULL && row < gantt->rows; row++) {
            extremes e = measure(&pictures[i], row);
            scale.top = fmax(scale.top, e.highest);
            scale.floor = fmin(scale.floor, e.lowest);
            limit = fmax(limit, gantt->memory->limit);
        }
    }
    scale.has_limit = limit > 0.0 && limit <= LIMIT_NEAR * scale.top;
    scale.top = scale.has_limit ? fmax(scale.top, limit) : scale.top;
    scale.top = scale.top > 0.0 ? scale.top : 1.0;
    double tick = ms_svg_tick(scale.top, 10);
    scale.floor =
        scale.floor > FLOOR_FROM * scale.top ? floor(scale.floor / tick - 1e-9) * tick : 0.0;
    return scale;
}

/* Height of a strip with its gap [pixels]. */
static double strip_height(const ms_gantt_sorted *sorted) {
    return fmin(fmax(STRIPS_PX / sorted->rows_shown, STRIP_LEAST_PX), STRIP_MOST_PX);
}

double ms_curves_height(const ms_curves *curves, const ms_gantt_sorted *sorted) {
    return HEADING_PX + (curves->has_strips ? sorted->rows_shown * strip_height(sorted)
                                            : curves->band_height + STRIP_GAP_PX);
}

/* ---- strips ---- */

/* The state of drawing curves. */
typedef struct curve_pen {
    const ms_curves *curves;
    const ms_gantt_sorted *sorted;
    ms_buffer *out;
    double top, height; /* of the strip or band [pixels] */
} curve_pen;

/* The horizontal pixel of a time. */
static double x_of(const curve_pen *pen, double time) {
    return pen->curves->x + fmin(time / pen->curves->end, 1.0) * pen->curves->width;
}

/* The vertical pixel of a level, which is clipped to the scale. */
static double y_of(const curve_pen *pen, double level) {
    const ms_curve_scale *scale = &pen->curves->scale;
    double share = (level - scale->floor) / (scale->top - scale->floor);
    return pen->top + (1.0 - fmin(fmax(share, 0.0), 1.0)) * pen->height;
}

/* A curve that is written as a path of steps. Levels that hold on less than STEP_LEAST_PX are
 * joined to one step with the highest of them. One step is held back until the next level is known.
 */
typedef struct stair {
    double x;     /* left end of the step that is held back [pixels] */
    double shown; /* level at which this step is drawn */
    double level; /* last level that was added */
} stair;

/* Append the step that is held back. */
static void put_step(const curve_pen *pen, const stair *s) {
    ms_buffer_printf(pen->out, "H%gV%g", ms_svg_round(s->x), ms_svg_round(y_of(pen, s->shown)));
}

/* Add a level from pixel x on. If the step that is held back shows a higher level than the one that
 * held last, and is long enough, the rest of it is drawn at the latter. */
static void add_step(const curve_pen *pen, stair *s, double x, double level) {
    if (x < s->x + STEP_LEAST_PX) {
        s->shown = fmax(s->shown, level);
        s->level = level;
        return;
    }
    put_step(pen, s);
    if (s->level != s->shown && s->x + 2.0 * STEP_LEAST_PX <= x) {
        *s = (stair){s->x + STEP_LEAST_PX, s->level, s->level};
        put_step(pen, s);
    }
    *s = (stair){x, level, level};
}

/* Append the curve of a row, closed along the bottom of the strip. */
static void put_curve(const curve_pen *pen, int32_t row) {
    const ms_gantt_memory *memory = pen->sorted->gantt->memory;
    double bottom = ms_svg_round(pen->top + pen->height);
    double right = x_of(pen, pen->sorted->gantt->end);
    stair s = {pen->curves->x, 0.0, 0.0};
    ms_buffer_printf(pen->out, "<path %s d=\"M%g %g", LOOK, ms_svg_round(s.x), bottom);
    for (size_t i = memory->row_first[row]; i < memory->row_first[row + 1]; i++) {
        bool is_replaced = i + 1 < memory->row_first[row + 1] &&
                           memory->levels[i + 1].start <= memory->levels[i].start;
        if (!is_replaced) {
            add_step(pen, &s, x_of(pen, memory->levels[i].start), memory->levels[i].level);
        }
    }
    add_step(pen, &s, fmax(right, s.x + STEP_LEAST_PX), s.level);
    ms_buffer_printf(pen->out, "H%gV%gZ\"/>\n", ms_svg_round(right), bottom);
}

/* Append a text of two parts, `first` and `second`, beside the curves: names of rows to the left
 * (is_left), levels to the right.
 *  y: baseline [pixels]. */
static void put_text(const curve_pen *pen, bool is_left, double y, const char *first,
                     const char *second) {
    double x = is_left ? pen->curves->x - 6.0 : pen->curves->x + pen->curves->width + 6.0;
    ms_buffer_printf(pen->out, "<text x=\"%g\" y=\"%g\" text-anchor=\"%s\">", ms_svg_round(x),
                     ms_svg_round(y), is_left ? "end" : "start");
    ms_xml_write_text(pen->out, first);
    ms_xml_write_text(pen->out, second);
    ms_buffer_puts(pen->out, "</text>\n");
}

/* Append a dot where the highest level is first reached. */
static void put_dot(const curve_pen *pen, const extremes *e) {
    ms_buffer_printf(pen->out, "<circle cx=\"%g\" cy=\"%g\" r=\"2\"/>\n",
                     ms_svg_round(x_of(pen, e->at)), ms_svg_round(y_of(pen, e->highest)));
}

/* Append the base line of a strip or band and, if it is near enough, the capacity. */
static void put_frame(const curve_pen *pen) {
    const ms_curves *c = pen->curves;
    ms_buffer_printf(pen->out, "<path d=\"M%g %gh%g\" fill=\"none\" stroke=\"#999\"/>\n",
                     ms_svg_round(c->x), ms_svg_round(pen->top + pen->height),
                     ms_svg_round(c->width));
    if (c->scale.has_limit && pen->sorted->gantt->memory->limit > 0.0) {
        ms_buffer_printf(pen->out,
                         "<path d=\"M%g %gh%g\" fill=\"none\" stroke=\"#111\" "
                         "stroke-width=\"0.8\" stroke-dasharray=\"2 4\"/>\n",
                         ms_svg_round(c->x),
                         ms_svg_round(y_of(pen, pen->sorted->gantt->memory->limit)),
                         ms_svg_round(c->width));
    }
}

/* Draw the strip of a row: curve, name and peak. */
static void draw_strip(const curve_pen *pen, int32_t row) {
    char text[LEVEL_B];
    extremes e = measure(pen->sorted, row);
    double base = pen->top + pen->height - 1.0;
    put_curve(pen, row);
    put_frame(pen);
    put_dot(pen, &e);
    put_text(pen, true, base, pen->sorted->gantt->row_labels[row], "");
    put_text(pen, false, base, format_level(pen->sorted, e.highest, text), "");
}

/* ---- all rows in one ---- */

/* Highest and lowest level of all rows in bins of time. */
typedef struct band {
    int count; /* bins, over the time of the picture */
    double highest[BINS_MAX], lowest[BINS_MAX];
} band;

/* Widen a band by the levels of a row: each level counts in all bins in which it holds. 1e-9 of a
 * bin is taken for rounding. */
static void widen(const curve_pen *pen, band *b, int32_t row) {
    const ms_gantt_memory *memory = pen->sorted->gantt->memory;
    size_t end = memory->row_first[row + 1];
    double scale = b->count / pen->sorted->gantt->end;
    double level = 0.0;
    double start = 0.0;
    for (size_t i = memory->row_first[row]; i <= end; i++) {
        double until = i < end ? memory->levels[i].start : pen->sorted->gantt->end;
        int first = (int)(start * scale + 1e-9);
        for (int bin = first; until > start && bin < b->count && bin < until * scale - 1e-9;
             bin++) {
            b->highest[bin] = fmax(b->highest[bin], level);
            b->lowest[bin] = fmin(b->lowest[bin], level);
        }
        level = i < end ? memory->levels[i].level : level;
        start = until;
    }
}

/* Append the outline of a band: its highest levels from left to right, then its lowest ones back.
 * Levels that do not change are not repeated.  bin_px: width of a bin. */
static void put_outline(const curve_pen *pen, const band *b, double bin_px) {
    double x = pen->curves->x;
    ms_buffer_printf(pen->out, "<path %s d=\"M%g %g", LOOK, ms_svg_round(x),
                     ms_svg_round(y_of(pen, b->highest[0])));
    for (int i = 1; i <= b->count; i++) {
        if (i == b->count || b->highest[i] != b->highest[i - 1]) {
            ms_buffer_printf(pen->out, "H%g", ms_svg_round(x + i * bin_px));
        }
        if (i < b->count && b->highest[i] != b->highest[i - 1]) {
            ms_buffer_printf(pen->out, "V%g", ms_svg_round(y_of(pen, b->highest[i])));
        }
    }
    for (int i = b->count - 1; i >= 0; i--) {
        if (i == b->count - 1 || b->lowest[i] != b->lowest[i + 1]) {
            ms_buffer_printf(pen->out, "V%g", ms_svg_round(y_of(pen, b->lowest[i])));
        }
        if (i == 0 || b->lowest[i] != b->lowest[i - 1]) {
            ms_buffer_printf(pen->out, "H%g", ms_svg_round(x + i * bin_px));
        }
    }
    ms_buffer_puts(pen->out, "Z\"/>\n");
}

/* Append the label of a row to the right of the band, after "on " where both fit. */
static void put_row(const curve_pen *pen, double y, const char *label) {
    put_text(pen, false, y, strlen(label) > LONG_LABEL ? "" : "on ", label);
}

/* Draw the band of all rows, with the highest and the lowest of their peaks. */
static void draw_band(const curve_pen *pen) {
    const ms_gantt *gantt = pen->sorted->gantt;
    double width = x_of(pen, gantt->end) - pen->curves->x;
    int32_t most = 0;
    int32_t least = 0;
    extremes high = measure(pen->sorted, 0);
    extremes low = high;
    band b = {.count = (int)fmin(fmax(ceil(width), 1.0), BINS_MAX)};
    for (int i = 0; i < b.count; i++) {
        b.lowest[i] = INFINITY;
    }
    for (int32_t row = 0; row < gantt->rows; row++) {
        extremes e = measure(pen->sorted, row);
        most = e.highest > high.highest ? row : most;
        high = e.highest > high.highest ? e : high;
        least = e.highest < low.highest ? row : least;
        low = e.highest < low.highest ? e : low;
        widen(pen, &b, row);
    }
    char text[LEVEL_B];
    double bottom = pen->top + pen->height;
    put_outline(pen, &b, width / b.count);
    put_frame(pen);
    put_dot(pen, &high);
    put_text(pen, false, pen->top + 9.0, format_level(pen->sorted, high.highest, text), "");
    if (high.highest == low.highest) {
        put_text(pen, false, pen->top + 21.0, "on each", "");
        return;
    }
    put_row(pen, pen->top + 21.0, gantt->row_labels[most]);
    put_text(pen, false, bottom - 13.0, format_level(pen->sorted, low.highest, text), "");
    put_row(pen, bottom - 1.0, gantt->row_labels[least]);
}

/* ---- the whole ---- */

/* Append the heading of the curves: name, scale and capacity.  y: baseline [pixels]. */
static void put_heading(const curve_pen *pen, double y) {
    const ms_curves *c = pen->curves;
    const ms_gantt_memory *memory = pen->sorted->gantt->memory;
    char from[LEVEL_B];
    char to[LEVEL_B];
    ms_buffer_printf(pen->out, "<text x=\"%g\" y=\"%g\" font-size=\"11\" fill=\"#444\">",
                     ms_svg_round(c->x), ms_svg_round(y));
    ms_xml_write_text(pen->out, memory->name);
    ms_buffer_printf(pen->out, "%s, from %s to %s",
                     c->has_strips ? "" : ": between the lowest and the highest rank",
                     c->scale.floor > 0.0 ? format_level(pen->sorted, c->scale.floor, from) : "0",
                     format_level(pen->sorted, c->scale.top, to));
    if (memory->limit > 0.0) {
        ms_buffer_printf(pen->out, "; %s %s", c->scale.has_limit ? "dotted: capacity" : "capacity",
                         format_level(pen->sorted, memory->limit, to));
    }
    ms_buffer_printf(pen->out,
                     "</text>\n<text x=\"%g\" y=\"%g\" font-size=\"11\" fill=\"#444\">peak"
                     "</text>\n",
                     ms_svg_round(c->x + c->width + 6.0), ms_svg_round(y));
}

void ms_curves_draw(const ms_curves *curves, const ms_gantt_sorted *sorted, ms_buffer *out) {
    double y = curves->y + HEADING_PX;
    curve_pen pen = {.curves = curves, .sorted = sorted, .out = out, .top = y + STRIP_GAP_PX};
    put_heading(&pen, y - 5.0);
    ms_buffer_printf(out, "<g class=\"memory\" font-size=\"10\" fill=\"#222\">\n");
    if (curves->has_strips) {
        double height = strip_height(sorted);
        pen.height = height - STRIP_GAP_PX;
        for (int32_t row = 0; row < sorted->gantt->rows; row += sorted->row_step) {
            draw_strip(&pen, row);
            pen.top += height;
        }
    } else {
        pen.height = curves->band_height;
        draw_band(&pen);
    }
    ms_buffer_puts(out, "</g>\n");
}
