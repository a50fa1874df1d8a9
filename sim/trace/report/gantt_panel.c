/* Draws the panels of a Gantt picture as SVG (gantt_panel.h): idle time by phase, then the boxes of
 * each row or the shares of kinds, the bounds of the steady phases, frame, axis and labels. A part
 * is a strip inside the box of a pass: recomputation, or exposed communication. A band is a kind of
 * pass in the shares. */
#include "trace/report/gantt_panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/report/svg.h"

enum { BINS_MAX = 1024, LABEL_PX = 9, TICK_PX = 85, TICKS_MAX = 100 };

static const double SMOOTH_PASSES = 3.0; /* passes to either side over which shares are averaged */
static const double SMOOTH_MOST_PX = 16.0; /* maximum width to either side for the same */
static const double GAP_FROM_PX = 6.0;     /* height from which on rows have a gap between them */
static const double STEP_LEAST = 0.04;     /* smallest change of a share that is drawn */
static const double STRIP_LEAST_PX = 2.5;  /* width below which a box shows no parts */
static const double EXACT_LEAST_PX = 45.0; /* width below which a box shows the sums of its parts */
/* Height of a part as a share of its box. Among the shares of kinds recomputation is reduced by the
 * same factor, so that it has the same weight in both looks. */
static const double STRIP_SHARE = 0.22;

double ms_panel_height(const ms_panel *panel, const ms_gantt_sorted *sorted) {
    return panel->row_height * sorted->rows_shown;
}

/* Kinds of parts: recomputation, own exposed communication, waiting for that of other ranks. */
enum { PART_RECOMPUTE, PART_EXPOSED, PART_FOREIGN, PART_COUNT };

/* The state of drawing a panel. */
typedef struct panel_pen {
    const ms_panel *panel;
    const ms_gantt_sorted *sorted;
    ms_buffer *out;
    ms_buffer *parts; /* [PART_COUNT] SVG path data of a row's strips, by kind */
    double scale;     /* pixels per time unit */
    double y;         /* top of the row, or of its lower half [pixels] */
    double height;    /* of the row, or of half of it [pixels] */
} panel_pen;

/* The horizontal pixel of a time, which is clipped to the panel's window. */
static double x_of(const panel_pen *pen, double time) {
    double clipped = fmin(fmax(time, pen->panel->start), pen->panel->end);
    return pen->panel->x + (clipped - pen->panel->start) * pen->scale;
}

/* ---- boxes ---- */

/* A rectangle [pixels]. */
typedef struct area {
    double x, y, width, height;
} area;

/* Append a filled rectangle.  tip: its tooltip; NULL: none. */
static void put_rect(const panel_pen *pen, const area *at, ms_rgb colour, const char *tip) {
    char hex[8];
    ms_buffer_printf(pen->out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"",
                     ms_svg_round(at->x), ms_svg_round(at->y), ms_svg_round(at->width),
                     ms_svg_round(at->height), ms_svg_hex(colour, hex));
    if (tip == NULL) {
        ms_buffer_puts(pen->out, "/>\n");
    } else {
        ms_buffer_puts(pen->out, "><title>");
        ms_xml_write_text(pen->out, tip);
        ms_buffer_puts(pen->out, "</title></rect>\n");
    }
}

/* The letter of a pass (F, I, W or B); "" for other operations. */
static const char *letter_of(uint8_t kind) {
    return kind <= MS_OP_BACKWARD ? ms_pass_name((ms_pass)kind)
                                  : ""; /* the first kinds equal ms_pass */
}

/* Largest font size at which `characters` characters fit into a box, in steps of half a pixel. */
static double size_of(const panel_pen *pen, const area *at, size_t characters) {
    double widest = (at->width - 2.0) / (MS_DIGIT_WIDTH * (double)characters);
    return floor(2.0 * fmin(fmin(11.0, 0.68 * pen->height), widest)) / 2.0;
}

/* Write the letter and the number of a pass, in the font size at which the picture's longest number
 * fits into its box: so either all boxes of one width have a number or none. Where room is short
 * the letter is left out rather than the number, as the colour shows the kind.  *size_out: font
 * size; below MS_FONT_LEAST: no room.  Returns text_out. */
static const char *word_of_pass(const panel_pen *pen, const ms_gantt_box *box, const area *at,
                                char text_out[32], double *size_out) {
    const char *letter = letter_of(box->kind);
    size_t longest = (size_t)pen->sorted->number_length;
    *size_out = size_of(pen, at, strlen(letter) + longest);
    if (*size_out < MS_FONT_LEAST) {
        letter = "";
        *size_out = size_of(pen, at, longest);
    }
    int32_t slices = pen->sorted->slices;
    if (slices > 1) {
        snprintf(text_out, 32, "%s%d.%d", letter, box->mb / slices, box->mb % slices);
    } else {
        snprintf(text_out, 32, "%s%d", letter, box->mb);
    }
    return text_out;
}

/* Append the text in a box, if it fits: its axis, letter and number, or "opt".  colour: of the box.
 */
static void put_word(const panel_pen *pen, const ms_gantt_box *box, const area *at, ms_rgb colour) {
    char text[32];
    double size = 0.0;
    const char *word = box->axis != MS_AXIS_NONE      ? ms_axis_name((ms_axis)box->axis)
                       : box->mb >= 0                 ? word_of_pass(pen, box, at, text, &size)
                       : box->kind == MS_OP_OPTIMIZER ? "opt"
                                                      : "";
    size = word == text || word[0] == '\0' ? size : size_of(pen, at, strlen(word));
    if (size >= MS_FONT_LEAST) {
        ms_buffer_printf(pen->out, "<text x=\"%g\" y=\"%g\" font-size=\"%g\"%s>%s</text>\n",
                         ms_svg_round(at->x + 0.5 * at->width),
                         ms_svg_round(pen->y + 0.5 * pen->height + 0.35 * size), size,
                         ms_svg_is_light(colour) ? "" : " fill=\"#fff\"", word);
    }
}

/* Write the tooltip of a box: kind, axis, microbatch, chunk and times.  Returns text_out; NULL
 * where the panel has no tooltips. */
static const char *make_tip(const panel_pen *pen, const ms_gantt_box *box, char *text_out,
                            size_t size) {
    if (!pen->panel->has_tips) {
        return NULL;
    }
    double unit = pen->sorted->unit;
    int32_t slices = pen->sorted->slices;
    char part[24] = "";
    char which[64] = "";
    if (slices > 1) {
        snprintf(part, sizeof part, " part %d", box->mb % slices);
    }
    if (box->mb >= 0) {
        snprintf(which, sizeof which, " mb %d%s %s %d", box->mb / slices, part,
                 pen->sorted->gantt->has_directions ? "direction" : "chunk", box->chunk);
    }
    snprintf(text_out, size, "%s%s%s%s%s, %.6g to %.6g %s",
             box->is_foreign ? "waiting for other ranks' " : "",
             ms_op_kind_name((ms_op_kind)box->kind), box->axis != MS_AXIS_NONE ? " over " : "",
             box->axis != MS_AXIS_NONE ? ms_axis_name((ms_axis)box->axis) : "", which,
             box->start / unit, box->end / unit, pen->sorted->unit_name);
    return text_out;
}

/* The kind of a part (PART_). */
static int part_of(const ms_gantt_box *box) {
    return box->kind == MS_OP_RECOMPUTE ? PART_RECOMPUTE
           : box->is_foreign            ? PART_FOREIGN
                                        : PART_EXPOSED;
}

/* Add a strip to the outlines of its kind, if it is wide enough to see. */
static void put_strip(const panel_pen *pen, int part, const area *at) {
    if (at->width >= MS_BOX_LEAST_PX) {
        double width = ms_svg_round(at->width);
        ms_buffer_printf(&pen->parts[part], "M%g %gh%gv%gh%gz", ms_svg_round(at->x),
                         ms_svg_round(at->y), width, ms_svg_round(at->height), -width);
    }
}

/* Add the parts of one box: boxes[first .. end). In a wide box each part is where its time is. In a
 * narrow box the parts are summed by kind and drawn from the left edge on.  at: the box. */
static void put_parts(const panel_pen *pen, const area *at, size_t first, size_t end) {
    const ms_gantt_box *boxes = pen->sorted->boxes;
    double strip = fmax(1.5, STRIP_SHARE * pen->height);
    double y = at->y + at->height - strip;
    if (at->width < STRIP_LEAST_PX) {
        return;
    }
    double sums[PART_COUNT] = {0.0};
    for (size_t i = first; i < end; i++) {
        double x = x_of(pen, boxes[i].start);
        double width = x_of(pen, boxes[i].end) - x;
        sums[part_of(&boxes[i])] += width;
        if (at->width >= EXACT_LEAST_PX) {
            put_strip(pen, part_of(&boxes[i]), &(area){x, y, width, strip});
        }
    }
    double x = at->x;
    for (int part = 0; part < PART_COUNT && at->width < EXACT_LEAST_PX; part++) {
        double room = at->x + at->width - x;
        put_strip(pen, part, &(area){x, y, fmin(sums[part], room), strip});
        x += sums[part];
    }
}

/* Append the strips of a row, one path for each kind, and clear their outlines. */
static void draw_parts(const panel_pen *pen) {
    static const struct {
        uint8_t kind;
        int shade;
    } LOOKS[PART_COUNT] = {[PART_RECOMPUTE] = {MS_OP_RECOMPUTE, 0},
                           [PART_EXPOSED] = {MS_OP_P2P, 0},
                           [PART_FOREIGN] = {MS_OP_P2P, MS_SVG_FOREIGN}};
    for (int part = 0; part < PART_COUNT; part++) {
        ms_buffer *outlines = &pen->parts[part];
        char hex[8];
        if (outlines->length > 0) {
            ms_buffer_printf(pen->out, "<path class=\"parts\" fill=\"%s\" d=\"%s\"/>\n",
                             ms_svg_hex(ms_svg_colour(LOOKS[part].kind, LOOKS[part].shade), hex),
                             ms_buffer_text(outlines));
        }
        ms_buffer_release_part(outlines, pen->out);
    }
}

/* Append the box with an index, if it is wide enough to see, and its parts, which follow it.  end:
 * behind the last box of the row.  Returns the index behind the parts. */
static size_t put_box(const panel_pen *pen, size_t index, size_t end) {
    const ms_gantt_box *box = &pen->sorted->boxes[index];
    size_t next = index + 1;
    while (next < end && pen->sorted->boxes[next].is_part) {
        next++;
    }
    double x = x_of(pen, box->start);
    double width = x_of(pen, box->end) - x;
    if (width < MS_BOX_LEAST_PX) {
        return next;
    }
    /* half a pixel of white between neighbours, where there is room */
    double gap = width > 3.0 ? 0.5 : 0.0;
    double margin = pen->height > 6.0 ? 0.5 : 0.0;
    const area at = {x, pen->y + margin, width - gap, pen->height - 2.0 * margin};
    char tip[160];
    ms_rgb colour = ms_svg_colour(box->kind, box->is_foreign ? MS_SVG_FOREIGN : box->chunk);
    put_rect(pen, &at, colour, make_tip(pen, box, tip, sizeof tip));
    put_parts(pen, &at, index + 1, next);
    put_word(pen, box, &at, colour);
    return next;
}

/* Draw the boxes of a row within the window. Passes of an overlapped pair are drawn by a pen for
 * the upper or lower half of the row, by box.half. */
static void draw_row_boxes(const panel_pen *whole, int32_t row) {
    const panel_pen *pen = whole;
    ms_buffer parts[PART_COUNT] = {{0}};
    panel_pen halves[3] = {*whole, *whole, *whole};
    halves[1].height = halves[2].height = 0.5 * whole->height;
    halves[2].y += halves[1].height;
    halves[0].parts = halves[1].parts = halves[2].parts = parts;
    size_t end = pen->sorted->row_first[row + 1];
    size_t i = pen->sorted->row_first[row];
    while (i < end && pen->sorted->boxes[i].start < pen->panel->end) {
        bool is_visible = pen->sorted->boxes[i].end > pen->panel->start;
        i = is_visible ? put_box(&halves[pen->sorted->boxes[i].half], i, end) : i + 1;
    }
    draw_parts(&halves[0]);
}

/* ---- shares of kinds ---- */

/* Bands, in the order in which they are stacked from the bottom of the row: for each kind of pass
 * the first chunk and later chunks, then own exposed communication and that of other ranks. */
enum { BAND_KINDS = MS_OP_OPTIMIZER + 1, BAND_EXPOSED = 2 * BAND_KINDS, BAND_FOREIGN, BAND_COUNT };

/* The shares of a row. */
typedef struct bins {
    double share[BAND_COUNT][BINS_MAX]; /* share of each band in a bin's time; the rest is idle */
    int count;                          /* number of bins */
} bins;

/* The band of a box. */
static int band_of(const ms_gantt_box *box) {
    if (box->kind >= MS_OP_P2P) {
        return box->is_foreign ? BAND_FOREIGN : BAND_EXPOSED;
    }
    return 2 * box->kind + (!box->is_part && box->chunk > 0 ? 1 : 0);
}

/* The colour of a band. */
static ms_rgb colour_of_band(int band) {
    return band >= BAND_EXPOSED
               ? ms_svg_colour(MS_OP_P2P, band == BAND_FOREIGN ? MS_SVG_FOREIGN : 0)
               : ms_svg_colour((uint8_t)(band / 2), band % 2);
}

/* Add the time of a box to the bins of its band. A part is subtracted from the band of the pass
 * around it. A pass of a pair counts half, and recomputation as little as its strip is high.
 * around: that pass; the box itself unless it is a part. */
static void add_to_bins(const panel_pen *pen, bins *b, const ms_gantt_box *box,
                        const ms_gantt_box *around) {
    double left = (x_of(pen, box->start) - pen->panel->x) / pen->panel->bin_px;
    double right = (x_of(pen, box->end) - pen->panel->x) / pen->panel->bin_px;
    double height = around->half == 0 ? 1.0 : 0.5;
    height *= box->is_part && box->kind == MS_OP_RECOMPUTE ? STRIP_SHARE : 1.0;
    for (int bin = (int)left; bin < b->count && bin < right; bin++) {
        double share = height * (fmin(right, bin + 1.0) - fmax(left, bin));
        b->share[band_of(box)][bin] += share;
        if (box->is_part) {
            double *under = &b->share[band_of(around)][bin];
            *under = fmax(*under - share, 0.0);
        }
    }
}

/* Compute the shares of a row. A part follows its pass in the list of boxes. */
static void fill_bins(const panel_pen *pen, int32_t row, bins *b) {
    const ms_gantt_box *around = NULL;
    memset(b, 0, sizeof *b);
    b->count = (int)ceil(pen->panel->width / pen->panel->bin_px);
    b->count = b->count > BINS_MAX ? BINS_MAX : b->count;
    for (size_t i = pen->sorted->row_first[row]; i < pen->sorted->row_first[row + 1]; i++) {
        const ms_gantt_box *box = &pen->sorted->boxes[i];
        around = around == NULL || !box->is_part ? box : around;
        add_to_bins(pen, b, box, around);
    }
}

/* Replace each share by the mean over `reach` bins to either side, with prefix sums.  share:
 * [count]. */
static void smooth(double *share, int count, int reach) {
    double sums[BINS_MAX + 1] = {0.0};
    if (count > BINS_MAX) {
        return;
    }
    sums[0] = 0.0;
    for (int i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + share[i];
    }
    for (int i = 0; i < count; i++) {
        int first = i < reach ? 0 : i - reach;
        int end = i + reach + 1 > count ? count : i + reach + 1;
        share[i] = (sums[end] - sums[first]) / (end - first);
    }
}

/* Smooth the mix of kinds over a few passes, and keep the busy share of each bin. Passes are about
 * as wide as bins, so that without smoothing their beat with the bins would show as a pattern. */
static void smooth_mix(const panel_pen *pen, bins *b) {
    double wide_px = fmin(SMOOTH_PASSES * pen->sorted->median * pen->scale, SMOOTH_MOST_PX);
    int reach = (int)ceil(wide_px / pen->panel->bin_px);
    double busy[BINS_MAX] = {0.0};
    double mixed[BINS_MAX] = {0.0};
    for (int band = 0; band < BAND_COUNT; band++) {
        for (int bin = 0; bin < b->count; bin++) {
            busy[bin] += b->share[band][bin];
        }
        smooth(b->share[band], b->count, reach);
        for (int bin = 0; bin < b->count; bin++) {
            mixed[bin] += b->share[band][bin];
        }
    }
    for (int band = 0; band < BAND_COUNT; band++) {
        for (int bin = 0; bin < b->count; bin++) {
            b->share[band][bin] *= mixed[bin] > 0.0 ? busy[bin] / mixed[bin] : 0.0;
        }
    }
}

/* Append the area below `tops` as one path of steps.  tops: [count] heights as shares of the row.
 */
static void put_area(const panel_pen *pen, const double *tops, int count, ms_rgb colour) {
    char hex[8];
    double bottom = ms_svg_round(pen->y + pen->height - (pen->height >= GAP_FROM_PX ? 1.0 : 0.0));
    double before = bottom;
    bool is_open = false;
    ms_buffer_printf(pen->out, "<path fill=\"%s\" d=\"", ms_svg_hex(colour, hex));
    for (int i = 0; i <= count; i++) {
        double share = i < count ? fmin(tops[i], 1.0) : 0.0;
        double top = ms_svg_round(bottom - share * (bottom - pen->y));
        bool is_end = top >= bottom && before < bottom; /* always drawn, to close the path */
        if (fabs(top - before) < STEP_LEAST * pen->height && !is_end) {
            continue;
        }
        double x = ms_svg_round(pen->panel->x + fmin(i * pen->panel->bin_px, pen->panel->width));
        if (!is_open && top < bottom) {
            ms_buffer_printf(pen->out, "M%g %gV%g", x, bottom, top);
            is_open = true;
        } else if (is_open) {
            ms_buffer_printf(pen->out, "H%gV%g", x, top);
            is_open = top < bottom;
        }
        before = top;
    }
    ms_buffer_puts(pen->out, "\"/>\n");
}

/* Draw the shares of a row: the stack of all bands from the topmost band down, each as an area to
 * the bottom of the row that covers the lower part of the area before.  b: scratch. */
static void draw_row_density(const panel_pen *pen, int32_t row, bins *b) {
    double tops[BINS_MAX] = {0.0};
    bool is_used[BAND_COUNT] = {false};
    fill_bins(pen, row, b);
    smooth_mix(pen, b);
    for (int band = 0; band < BAND_COUNT; band++) {
        for (int bin = 0; bin < b->count; bin++) {
            is_used[band] = is_used[band] || b->share[band][bin] > STEP_LEAST;
            tops[bin] += b->share[band][bin];
        }
    }
    for (int band = BAND_COUNT - 1; band >= 0; band--) {
        if (is_used[band]) {
            put_area(pen, tops, b->count, colour_of_band(band));
        }
        for (int bin = 0; bin < b->count; bin++) {
            tops[bin] -= b->share[band][bin];
        }
    }
}

/* ---- phases ---- */

void ms_panel_define_hatches(ms_buffer *out) {
    static const char *const HATCHES[2][2] = {{"warm-up", "M-1 1L1 -1M0 6L6 0M5 7L7 5"},
                                              {"cool-down", "M-1 5L1 7M0 0L6 6M5 -1L7 1"}};
    ms_buffer_puts(out, "<defs>\n");
    for (int i = 0; i < 2; i++) {
        ms_buffer_printf(out,
                         "<pattern id=\"%s\" width=\"6\" height=\"6\" "
                         "patternUnits=\"userSpaceOnUse\"><path d=\"%s\" stroke=\"#c4c4c4\" "
                         "stroke-width=\"0.8\"/></pattern>\n",
                         HATCHES[i][0], HATCHES[i][1]);
    }
    ms_buffer_puts(out, "</defs>\n");
}

/* Append a rectangle over the height of the row for idle time, if it is wide enough to see. */
static void put_hatch(const panel_pen *pen, double start, double end, const char *fill) {
    double x = x_of(pen, start);
    double width = x_of(pen, end) - x;
    if (width >= MS_BOX_LEAST_PX) {
        ms_buffer_printf(pen->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n",
                         ms_svg_round(x), ms_svg_round(pen->y + 0.5), ms_svg_round(width),
                         ms_svg_round(pen->height - 1.0), fill);
    }
}

/* Draw the background of a row, which shows as idle time between its boxes: hatches for warm-up and
 * cool-down of each step, nothing for the steady phase. */
static void draw_idle(const panel_pen *pen, int32_t row) {
    for (int32_t step = 0; step < pen->sorted->steps; step++) {
        const ms_gantt_steady *steady = &pen->sorted->steady[row * pen->sorted->steps + step];
        put_hatch(pen, steady->from, steady->start, MS_FILL_WARM);
        put_hatch(pen, steady->end, steady->to, MS_FILL_COOL);
    }
}

/* Add the start and the end of the steady phase of a row and step to the path of draw_bounds, where
 * they are within the window.  shown: number of the row among those shown. */
static void draw_bounds_of(const panel_pen *pen, int32_t shown, int32_t step) {
    const ms_panel *panel = pen->panel;
    int32_t row = shown * pen->sorted->row_step;
    const ms_gantt_steady *steady = &pen->sorted->steady[row * pen->sorted->steps + step];
    const double bounds[2] = {steady->start, steady->end};
    for (int i = 0; i < 2; i++) {
        if (bounds[i] > panel->start && bounds[i] < panel->end &&
            bounds[i] < pen->sorted->gantt->end) {
            ms_buffer_printf(pen->out, "M%g %gv%g", ms_svg_round(x_of(pen, bounds[i])),
                             ms_svg_round(panel->y + shown * panel->row_height),
                             ms_svg_round(panel->row_height));
        }
    }
}

/* Append the bounds of the steady phases of all rows as one path. */
static void draw_bounds(const panel_pen *pen) {
    ms_buffer_puts(pen->out, "<path class=\"phases\" fill=\"none\" stroke=\"#111\" "
                             "stroke-width=\"" MS_PHASE_LINE_PX "\" d=\"");
    for (int32_t shown = 0; shown < pen->sorted->rows_shown; shown++) {
        for (int32_t step = 0; step < pen->sorted->steps; step++) {
            draw_bounds_of(pen, shown, step);
        }
    }
    ms_buffer_puts(pen->out, "\"/>\n");
}

/* ---- frame, axis, labels ---- */

/* Append the labels of the rows, of low rows only every few ones.  rows: of the picture. */
static void draw_labels(const panel_pen *pen, int32_t rows) {
    const ms_panel *panel = pen->panel;
    double size = fmin(11.0, fmax(7.5, 0.8 * panel->row_height));
    int32_t every = (int32_t)ceil(LABEL_PX / panel->row_height);
    ms_buffer_printf(pen->out, "<g font-size=\"%g\" text-anchor=\"end\" fill=\"#444\">\n", size);
    for (int32_t shown = 0; shown * pen->sorted->row_step < rows; shown += every) {
        ms_buffer_printf(pen->out, "<text x=\"%g\" y=\"%g\">", ms_svg_round(panel->x - 6.0),
                         ms_svg_round(panel->y + (shown + 0.5) * panel->row_height + 0.35 * size));
        ms_xml_write_text(pen->out, pen->sorted->gantt->row_labels[shown * pen->sorted->row_step]);
        ms_buffer_puts(pen->out, "</text>\n");
    }
    ms_buffer_puts(pen->out, "</g>\n");
}

/* Append the ticks of the time axis with their numbers.  height: of the panel [pixels]. */
static void draw_axis(const panel_pen *pen, double height) {
    const ms_panel *panel = pen->panel;
    double unit = pen->sorted->unit;
    double bottom = panel->y + height;
    double tick = ms_svg_tick((panel->end - panel->start) / unit, (int)(panel->width / TICK_PX));
    ms_buffer_puts(pen->out, "<g font-size=\"10\" text-anchor=\"middle\" fill=\"#444\">\n");
    /* 1e-9: a tick at the start of the window is drawn in spite of rounding */
    double first = fmax(ceil(panel->start / unit / tick - 1e-9), 0.0);
    /* Ticks are counted: in a short window late in the run, `first` may be so large that adding 1
     * to it changes nothing. */
    for (int i = 0; i < TICKS_MAX && (first + i) * tick * unit <= panel->end; i++) {
        double at = first + i;
        double x = ms_svg_round(x_of(pen, at * tick * unit));
        ms_buffer_printf(pen->out,
                         "<path d=\"M%g %gv4\" stroke=\"#888\"/><text x=\"%g\" y=\"%g\">%.*f%s%s"
                         "</text>\n",
                         x, ms_svg_round(bottom), x, ms_svg_round(bottom + 15.0),
                         ms_svg_decimals(tick), at * tick,
                         pen->sorted->unit_name[0] == '\0' ? "" : " ", pen->sorted->unit_name);
    }
    ms_buffer_puts(pen->out, "</g>\n");
}

/* Append the frame of a panel.  height: of the panel [pixels]. */
static void draw_frame(const panel_pen *pen, double height) {
    ms_buffer_printf(pen->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                     "stroke=\"#bbb\"/>\n",
                     ms_svg_round(pen->panel->x), ms_svg_round(pen->panel->y),
                     ms_svg_round(pen->panel->width), ms_svg_round(height));
}

/* Where boxes would be too narrow to see (bin_px > 0), a row is drawn as the density of its
 * kinds. */
void ms_panel_draw(const ms_panel *panel, const ms_gantt_sorted *sorted, ms_buffer *out) {
    int32_t rows = sorted->gantt->rows;
    double height = ms_panel_height(panel, sorted);
    bins b;
    panel_pen pen = {.panel = panel,
                     .sorted = sorted,
                     .out = out,
                     .scale = panel->width / (panel->end - panel->start),
                     .y = panel->y,
                     .height = panel->row_height};
    ms_buffer_puts(out, "<g class=\"panel\" text-anchor=\"middle\" fill=\"#111\">\n");
    for (int32_t row = 0; row < rows; row += sorted->row_step) {
        draw_idle(&pen, row);
        if (panel->bin_px > 0.0) {
            draw_row_density(&pen, row, &b);
        } else {
            draw_row_boxes(&pen, row);
        }
        pen.y += panel->row_height;
    }
    ms_buffer_puts(out, "</g>\n");
    draw_bounds(&pen);
    draw_frame(&pen, height);
    draw_axis(&pen, height);
    if (panel->has_labels) {
        draw_labels(&pen, rows);
    }
}
