/* Stacked bars under a limit. */
#include "meshsim/bars.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"

enum { LEFT = 100, TOP = 50, WIDTH = 560, HEIGHT = 360, BOTTOM = 60, LINE = 20, TICKS = 6 };
enum { LETTER = 8, MARGIN = 10, WIDEST = 90, LEGEND_LEFT = LEFT + WIDTH + 20 };

/* From values to pixels. */
typedef struct bars_scale {
    double high;  /* value at the top */
    double pitch; /* from bar to bar [px] */
    double width; /* of a bar [px] */
} bars_scale;

static double total_of(const ms_bars *b, size_t bar) {
    double total = 0;
    for (size_t part = 0; part < b->part_count; part++) {
        total += b->values[bar * b->part_count + part];
    }
    return total;
}

static bars_scale scale_of(const ms_bars *b) {
    static const double ROOM = 1.1; /* above the highest, for what stands there */
    double high = b->limit;
    for (size_t bar = 0; bar < b->count; bar++) {
        high = fmax(high, total_of(b, bar));
    }
    double pitch = fmin(WIDEST, (double)WIDTH / (double)(b->count == 0 ? 1 : b->count));
    return (bars_scale){.high = high > 0 ? ROOM * high : 1,
                        .pitch = pitch,
                        .width = pitch > 4 ? 0.8 * pitch : pitch};
}

static double y_at(const bars_scale *s, double value) {
    return ms_svg_round(TOP + HEIGHT * (1 - value / s->high));
}

static double left_of(const bars_scale *s, size_t bar) {
    return ms_svg_round(LEFT + s->pitch * (double)bar + 0.5 * (s->pitch - s->width));
}

static const char *text_of(const ms_bars *b, double value, char *text, size_t size) {
    ms_unit_format(value, b->dim, text, size);
    return text;
}

/* ---- axes ---- */

/* Bytes are read in GiB, so ticks lie on round numbers of the power of 1,024 that suits them. */
static double unit_of(const ms_bars *b, const bars_scale *s) {
    return b->dim == MS_DIM_BYTES && s->high >= 1024 ? pow(1024, floor(log2(s->high) / 10)) : 1;
}

static void add_ticks(const ms_bars *b, const bars_scale *s, ms_buffer *out) {
    char text[48];
    double unit = unit_of(b, s);
    double step = unit * ms_svg_tick(s->high / unit, TICKS);
    for (int i = 0; i * step <= s->high; i++) {
        double y = y_at(s, i * step);
        ms_buffer_printf(out, "<path d=\"M%d,%gh%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH);
        ms_svg_text(LEFT - 8, y + 4, " text-anchor=\"end\"",
                    text_of(b, i * step, text, sizeof text), out);
    }
}

/* Names below the bars, as many as do not run into each other. */
static void add_names(const ms_bars *b, const bars_scale *s, ms_buffer *out) {
    double free_from = -INFINITY;
    for (size_t i = 0; i < b->count; i++) {
        double middle = ms_svg_round(LEFT + s->pitch * ((double)i + 0.5));
        double half = 0.5 * LETTER * (double)strlen(b->names[i]);
        if (middle - half >= free_from) {
            ms_svg_text(middle, TOP + HEIGHT + LINE, " text-anchor=\"middle\"", b->names[i], out);
            free_from = middle + half + MARGIN;
        }
    }
}

static void add_labels(const ms_bars *b, ms_buffer *out) {
    char turned[96];
    double middle = TOP + HEIGHT / 2.0;
    ms_buffer_printf(out, "<path d=\"M%d,%dv%dh%d\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, TOP,
                     HEIGHT, WIDTH);
    ms_svg_text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 45, " text-anchor=\"middle\"", b->x_label, out);
    snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 18 %g)\"",
             middle);
    ms_svg_text(18, middle, turned, b->y_label, out);
}

/* ---- bars ---- */

/* What a reader sees when pointing at a part, with the whole bar's number behind it. */
static void add_part_title(const ms_bars *b, size_t bar, size_t part, ms_buffer *out) {
    char value[48];
    char total[48];
    char text[256];
    snprintf(text, sizeof text, "%s %s: %s %s of %s", b->x_label, b->names[bar], b->parts[part],
             text_of(b, b->values[bar * b->part_count + part], value, sizeof value),
             text_of(b, total_of(b, bar), total, sizeof total));
    ms_svg_title(text, out);
}

static void add_bar(const ms_bars *b, const bars_scale *s, size_t bar, ms_buffer *out) {
    double below = 0;
    double left = left_of(s, bar);
    for (size_t part = 0; part < b->part_count; part++) {
        double above = below + b->values[bar * b->part_count + part];
        double top = y_at(s, above);
        ms_buffer_printf(out, "<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\">",
                         left, top, s->width, y_at(s, below) - top, b->colours[part]);
        add_part_title(b, bar, part, out);
        ms_buffer_puts(out, "</rect>\n");
        below = above;
    }
    if (below > b->limit) {
        double top = y_at(s, below);
        ms_buffer_printf(out,
                         "<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                         "stroke=\"#000\" stroke-width=\"2\"/>\n",
                         left, top, s->width, TOP + HEIGHT - top);
        ms_svg_text(left + s->width / 2, top - 6, " text-anchor=\"middle\" font-weight=\"bold\"",
                    "!", out);
    }
}

/* The limit, over the bars. */
static void add_limit(const ms_bars *b, const bars_scale *s, ms_buffer *out) {
    ms_buffer_printf(out,
                     "<path d=\"M%d,%gh%d\" stroke=\"#000\" stroke-width=\"1.5\" "
                     "stroke-dasharray=\"6 4\"/>\n",
                     LEFT, y_at(s, b->limit), WIDTH);
}

static bool is_over(const ms_bars *b) {
    bool is_any = false;
    for (size_t bar = 0; bar < b->count; bar++) {
        is_any = is_any || total_of(b, bar) > b->limit;
    }
    return is_any;
}

/* As the parts lie upon each other: the topmost first. */
static void add_legend(const ms_bars *b, ms_buffer *out) {
    char number[48];
    char text[160];
    double y = TOP + MARGIN;
    snprintf(text, sizeof text, "%s: %s", b->limit_name,
             text_of(b, b->limit, number, sizeof number));
    ms_buffer_printf(out,
                     "<path d=\"M%d,%gh14\" stroke=\"#000\" stroke-width=\"1.5\" "
                     "stroke-dasharray=\"6 2\"/>\n",
                     LEGEND_LEFT, y);
    ms_svg_text(LEGEND_LEFT + LINE, y + 4, "", text, out);
    for (size_t part = b->part_count; part-- > 0;) {
        y += LINE;
        ms_buffer_printf(out, "<rect x=\"%d\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                         LEGEND_LEFT, y - 6, b->colours[part]);
        ms_svg_text(LEGEND_LEFT + LINE, y + 4, "", b->parts[part], out);
    }
    if (is_over(b)) {
        snprintf(text, sizeof text, "! %s", b->over_note);
        ms_svg_text(LEGEND_LEFT, y + 4 + LINE, " font-weight=\"bold\"", text, out);
    }
}

void ms_bars_write(const ms_bars *b, ms_buffer *out) {
    const bars_scale s = scale_of(b);
    double legend = LETTER * fmax((double)strlen(b->limit_name) + 12, (double)strlen(b->over_note));
    ms_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%d\" "
                     "font-family=\"sans-serif\" font-size=\"13\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                     LEGEND_LEFT + 2 * LINE + legend, TOP + HEIGHT + BOTTOM);
    ms_svg_text(MARGIN, TOP - 22, " font-size=\"16\"", b->title, out);
    add_ticks(b, &s, out);
    for (size_t bar = 0; bar < b->count; bar++) {
        add_bar(b, &s, bar, out);
    }
    add_limit(b, &s, out);
    add_labels(b, out);
    add_names(b, &s, out);
    add_legend(b, out);
    ms_buffer_puts(out, "</svg>\n");
}
