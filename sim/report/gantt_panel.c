#include "report/gantt_panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"

enum { BINS_MAX = 1024, LABEL_PX = 9, TICK_PX = 85 };

static const double BIN_PX = 2.0;
static const double SMOOTH_MOST_PX = 12.0; /* passes this wide need no smoothing */
static const double LEAST_PX = 0.3;        /* narrower ones cannot be seen */
static const double TONE = 0.06;           /* colours closer than this make one run */
static const double STRIP_LEAST_PX = 10.0; /* narrower boxes show no parts */
static const double EXACT_LEAST_PX = 45.0; /* narrower ones show the sum of their parts */

double ms_panel_height(const ms_panel *panel, int32_t rows) {
    int32_t shown = (rows + panel->row_step - 1) / panel->row_step;
    return panel->row_height * shown;
}

typedef struct pen {
    const ms_panel *panel;
    const ms_gantt_sorted *sorted;
    ms_buffer *out;
    double scale; /* pixels per time unit */
    double y;     /* top of the row */
    double height;
} pen;

static double x_of(const pen *p, double time) {
    double clipped = fmin(fmax(time, p->panel->start), p->panel->end);
    return p->panel->x + (clipped - p->panel->start) * p->scale;
}

/* ---- boxes ---- */

typedef struct area {
    double x, y, width, height;
} area;

static void put_rect(const pen *p, const area *at, ms_rgb colour, const char *tip) {
    char hex[8];
    ms_buffer_printf(p->out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"",
                     ms_svg_round(at->x), ms_svg_round(at->y), ms_svg_round(at->width),
                     ms_svg_round(at->height), ms_svg_hex(colour, hex));
    if (tip == NULL) {
        ms_buffer_puts(p->out, "/>\n");
    } else {
        ms_buffer_puts(p->out, "><title>");
        ms_svg_escape(p->out, tip);
        ms_buffer_puts(p->out, "</title></rect>\n");
    }
}

static const char *word_in_box(const ms_gantt_box *box, char *text_out, size_t size) {
    if (box->axis != MS_AXIS_NONE) {
        return ms_axis_name((ms_axis)box->axis);
    }
    if (box->mb >= 0) {
        snprintf(text_out, size, "%d", box->mb);
        return text_out;
    }
    return box->kind == MS_OP_OPTIMIZER ? "opt" : "";
}

static void put_word(const pen *p, const ms_gantt_box *box, const area *at, ms_rgb colour) {
    char text[16];
    const char *word = word_in_box(box, text, sizeof text);
    double size = fmin(11.0, 0.68 * p->height);
    double widest = (at->width - 2.0) / (MS_DIGIT_WIDTH * (double)strlen(word));
    size = floor(2.0 * fmin(size, widest)) / 2.0;
    if (word[0] != '\0' && size >= MS_FONT_LEAST) {
        ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\" font-size=\"%g\"%s>%s</text>\n",
                         ms_svg_round(at->x + 0.5 * at->width),
                         ms_svg_round(p->y + 0.5 * p->height + 0.35 * size), size,
                         ms_svg_is_light(colour) ? "" : " fill=\"#fff\"", word);
    }
}

static const char *make_tip(const pen *p, const ms_gantt_box *box, char *text_out, size_t size) {
    if (!p->panel->has_tips) {
        return NULL;
    }
    double unit = p->sorted->unit;
    char which[48] = "";
    if (box->mb >= 0) {
        snprintf(which, sizeof which, " mb %d chunk %d", box->mb, box->chunk);
    }
    snprintf(text_out, size, "%s%s%s%s%s, %.6g to %.6g %s", ms_op_kind_name((ms_op_kind)box->kind),
             box->axis != MS_AXIS_NONE ? " over " : "",
             box->axis != MS_AXIS_NONE ? ms_axis_name((ms_axis)box->axis) : "", which, "",
             box->start / unit, box->end / unit, p->sorted->unit_name);
    return text_out;
}

/* The parts of one box: boxes[first .. end). Drawn where they are, or when the box is narrow as two
 * sums from its left edge: recomputation, then communication. */
static void put_parts(const pen *p, const area *at, size_t first, size_t end) {
    const ms_gantt_box *boxes = p->sorted->boxes;
    double strip = fmax(1.5, 0.22 * p->height);
    double y = at->y + at->height - strip;
    if (at->width < STRIP_LEAST_PX) {
        return;
    }
    double sums[2] = {0.0, 0.0};
    for (size_t i = first; i < end; i++) {
        double x = x_of(p, boxes[i].start);
        double width = x_of(p, boxes[i].end) - x;
        sums[boxes[i].kind == MS_OP_RECOMPUTE ? 0 : 1] += width;
        if (at->width >= EXACT_LEAST_PX && width >= LEAST_PX) {
            const area strip_area = {x, y, width, strip};
            put_rect(p, &strip_area, ms_svg_colour(boxes[i].kind, 0), NULL);
        }
    }
    double x = at->x;
    for (int i = 0; i < 2 && at->width < EXACT_LEAST_PX; i++) {
        if (sums[i] >= LEAST_PX) {
            const area strip_area = {x, y, fmin(sums[i], at->x + at->width - x), strip};
            put_rect(p, &strip_area, ms_svg_colour(i == 0 ? MS_OP_RECOMPUTE : MS_OP_P2P, 0), NULL);
        }
        x += sums[i];
    }
}

/* A box with its parts; returns the index behind them. */
static size_t put_box(const pen *p, size_t index, size_t end) {
    const ms_gantt_box *box = &p->sorted->boxes[index];
    size_t next = index + 1;
    while (next < end && p->sorted->boxes[next].is_part) {
        next++;
    }
    double x = x_of(p, box->start);
    double width = x_of(p, box->end) - x;
    if (width < LEAST_PX) {
        return next;
    }
    /* a hair of white between neighbours, where there is room for it */
    double gap = width > 3.0 ? 0.5 : 0.0;
    double margin = p->height > 6.0 ? 0.5 : 0.0;
    const area at = {x, p->y + margin, width - gap, p->height - 2.0 * margin};
    char tip[160];
    ms_rgb colour = ms_svg_colour(box->kind, box->chunk);
    put_rect(p, &at, colour, make_tip(p, box, tip, sizeof tip));
    put_parts(p, &at, index + 1, next);
    put_word(p, box, &at, colour);
    return next;
}

static void draw_row_boxes(const pen *whole, int32_t row) {
    const pen *p = whole;
    pen halves[3] = {*whole, *whole, *whole};
    halves[1].height = halves[2].height = 0.5 * whole->height;
    halves[2].y += halves[1].height;
    size_t end = p->sorted->row_first[row + 1];
    size_t i = p->sorted->row_first[row];
    while (i < end && p->sorted->boxes[i].start < p->panel->end) {
        bool is_visible = p->sorted->boxes[i].end > p->panel->start;
        i = is_visible ? put_box(&halves[p->sorted->boxes[i].half], i, end) : i + 1;
    }
}

/* ---- mean colours ---- */

typedef struct bins {
    double red[BINS_MAX], green[BINS_MAX], blue[BINS_MAX]; /* colour that is missing from white */
    int count;
} bins;

/* Lay `colour` over [start, end) of a row, in place of `under`. */
static void add_to_bins(const pen *p, bins *b, const ms_gantt_box *box, const ms_rgb colours[2]) {
    double left = (x_of(p, box->start) - p->panel->x) / BIN_PX;
    double right = (x_of(p, box->end) - p->panel->x) / BIN_PX;
    double part = box->half == 0 ? 1.0 : 0.5;
    for (int bin = (int)left; bin < b->count && bin < right; bin++) {
        double share = part * (fmin(right, bin + 1.0) - fmax(left, bin));
        b->red[bin] += share * (colours[1].r - colours[0].r);
        b->green[bin] += share * (colours[1].g - colours[0].g);
        b->blue[bin] += share * (colours[1].b - colours[0].b);
    }
}

static void fill_bins(const pen *p, int32_t row, bins *b) {
    static const ms_rgb WHITE = {1.0, 1.0, 1.0};
    ms_rgb under = WHITE;
    memset(b, 0, sizeof *b);
    b->count = (int)ceil(p->panel->width / BIN_PX);
    b->count = b->count > BINS_MAX ? BINS_MAX : b->count;
    for (size_t i = p->sorted->row_first[row]; i < p->sorted->row_first[row + 1]; i++) {
        const ms_gantt_box *box = &p->sorted->boxes[i];
        ms_rgb colour = ms_svg_colour(box->kind, box->is_part ? 0 : box->chunk);
        const ms_rgb colours[2] = {box->is_part ? under : WHITE, colour};
        add_to_bins(p, b, box, colours);
        under = box->is_part ? under : colour;
    }
}

/* Mean over the bins around each, so that passes narrower than a bin give an even tone and not a
 * pattern of their beats with the bins. */
static void smooth(double *channel, int count, int reach) {
    double sums[BINS_MAX + 1] = {0.0};
    if (reach <= 0 || count > BINS_MAX) {
        return;
    }
    sums[0] = 0.0;
    for (int i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + channel[i];
    }
    for (int i = 0; i < count; i++) {
        int first = i < reach ? 0 : i - reach;
        int end = i + reach + 1 > count ? count : i + reach + 1;
        channel[i] = (sums[end] - sums[first]) / (end - first);
    }
}

/* Mean colour of the bins [first, end). */
static ms_rgb mean_colour(const bins *b, int first, int end) {
    ms_rgb sum = {0.0, 0.0, 0.0};
    for (int bin = first; bin < end; bin++) {
        sum.r += b->red[bin];
        sum.g += b->green[bin];
        sum.b += b->blue[bin];
    }
    double count = end - first;
    return (ms_rgb){fmin(fmax(1.0 + sum.r / count, 0.0), 1.0),
                    fmin(fmax(1.0 + sum.g / count, 0.0), 1.0),
                    fmin(fmax(1.0 + sum.b / count, 0.0), 1.0)};
}

static bool looks_alike(const bins *b, int left, int right) {
    return fabs(b->red[left] - b->red[right]) < TONE &&
           fabs(b->green[left] - b->green[right]) < TONE &&
           fabs(b->blue[left] - b->blue[right]) < TONE;
}

static void put_run(const pen *p, const bins *b, int first, int end) {
    double left = first * BIN_PX;
    double right = fmin(end * BIN_PX, p->panel->width);
    ms_rgb colour = mean_colour(b, first, end);
    if (fmin(colour.r, fmin(colour.g, colour.b)) < 1.0 - 0.5 * TONE) {
        const area at = {p->panel->x + left, p->y, right - left, p->height};
        put_rect(p, &at, colour, NULL);
    }
}

static void draw_row_density(const pen *p, int32_t row, bins *b) {
    fill_bins(p, row, b);
    int reach = (int)ceil(p->sorted->median * p->scale / BIN_PX);
    if (reach * BIN_PX < SMOOTH_MOST_PX) {
        smooth(b->red, b->count, reach);
        smooth(b->green, b->count, reach);
        smooth(b->blue, b->count, reach);
    }
    int first = 0;
    for (int bin = 1; bin <= b->count; bin++) {
        if (bin == b->count || !looks_alike(b, first, bin)) {
            put_run(p, b, first, bin);
            first = bin;
        }
    }
}

/* ---- frame, axis, labels ---- */

static void draw_labels(const pen *p, int32_t rows) {
    const ms_panel *panel = p->panel;
    double size = fmin(11.0, fmax(7.5, 0.8 * panel->row_height));
    int32_t every = (int32_t)ceil(LABEL_PX / panel->row_height);
    ms_buffer_printf(p->out, "<g font-size=\"%g\" text-anchor=\"end\" fill=\"#444\">\n", size);
    for (int32_t shown = 0; shown * panel->row_step < rows; shown += every) {
        ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\">", ms_svg_round(panel->x - 6.0),
                         ms_svg_round(panel->y + (shown + 0.5) * panel->row_height + 0.35 * size));
        ms_svg_escape(p->out, p->sorted->gantt->row_labels[shown * panel->row_step]);
        ms_buffer_puts(p->out, "</text>\n");
    }
    ms_buffer_puts(p->out, "</g>\n");
}

static void draw_axis(const pen *p, double height) {
    const ms_panel *panel = p->panel;
    double unit = p->sorted->unit;
    double bottom = panel->y + height;
    double tick = ms_svg_tick((panel->end - panel->start) / unit, (int)(panel->width / TICK_PX));
    ms_buffer_puts(p->out, "<g font-size=\"10\" text-anchor=\"middle\" fill=\"#444\">\n");
    for (double at = fmax(ceil(panel->start / unit / tick - 1e-9), 0.0);
         at * tick * unit <= panel->end; at += 1.0) {
        double x = ms_svg_round(x_of(p, at * tick * unit));
        ms_buffer_printf(p->out,
                         "<path d=\"M%g %gv4\" stroke=\"#888\"/><text x=\"%g\" y=\"%g\">%.*f%s%s"
                         "</text>\n",
                         x, ms_svg_round(bottom), x, ms_svg_round(bottom + 15.0),
                         ms_svg_decimals(tick), at * tick,
                         p->sorted->unit_name[0] == '\0' ? "" : " ", p->sorted->unit_name);
    }
    ms_buffer_puts(p->out, "</g>\n");
}

static void draw_frame(const pen *p, double height) {
    ms_buffer_printf(p->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                     "stroke=\"#bbb\"/>\n",
                     ms_svg_round(p->panel->x), ms_svg_round(p->panel->y),
                     ms_svg_round(p->panel->width), ms_svg_round(height));
}

void ms_panel_draw(const ms_panel *panel, const ms_gantt_sorted *sorted, ms_buffer *out) {
    int32_t rows = sorted->gantt->rows;
    double height = ms_panel_height(panel, rows);
    bins b;
    pen p = {.panel = panel,
             .sorted = sorted,
             .out = out,
             .scale = panel->width / (panel->end - panel->start),
             .y = panel->y,
             .height = panel->row_height};
    ms_buffer_printf(out, "<g text-anchor=\"middle\" fill=\"#111\"%s>\n",
                     panel->is_density ? " shape-rendering=\"crispEdges\"" : "");
    for (int32_t row = 0; row < rows; row += panel->row_step) {
        if (panel->is_density) {
            draw_row_density(&p, row, &b);
        } else {
            draw_row_boxes(&p, row);
        }
        p.y += panel->row_height;
    }
    ms_buffer_puts(out, "</g>\n");
    draw_frame(&p, height);
    draw_axis(&p, height);
    if (panel->has_labels) {
        draw_labels(&p, rows);
    }
}
