/* The page: titles, legend, and either one panel per picture or an overview with three excerpts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "trace/report/gantt_panel.h"
#include "trace/report/report.h"
#include "trace/report/svg.h"

enum {
    PAGE_WIDTH = 1400,
    RIGHT = 24,
    TOP = 26,
    PANEL_GAP = 26,
    AXIS_HEIGHT = 24,
    ROWS_SHOWN_MAX = 64,       /* of all pictures together */
    ROWS_DENSE_MAX = 32,       /* the same where single boxes are not shown, but ... */
    ROWS_LEAST = 16,           /* of each */
    STACKED_BOXES_MAX = 16000, /* visible ones of all pictures, where some are narrow */
    STRIPS_MAX = 24,           /* memory curves of single rows on a page */
    TIPS_MAX = 3000,
    LABEL_MAX = 24
};

static const double BOX_LEAST_PX = 5.0;     /* narrower boxes: shares of kinds */
static const double STACKED_LEAST_PX = 2.5; /* the same where pictures are stacked */
static const double BIN_PX = 2.0;           /* of shares; where rows are very many, wider */
static const double WIDE_BIN_PX = 4.0;
static const double EXCERPT_LEAST_PX = 3.0; /* of the median box in the outer excerpts */

static const char PHASE_LINE[] = "stroke-width=\"" MS_PHASE_LINE_PX "\"";
static const char END_LINE[] = "stroke-width=\"1.5\"";
static const char SHORTEST_LINE[] = "stroke-dasharray=\"6 4\"";

typedef struct page {
    ms_gantt_sorted *pictures;
    size_t count;
    int32_t rows_shown; /* of all pictures */
    double end;         /* of the time axis */
    double shortest;    /* end of the picture that ends first */
    bool has_excerpts;  /* of a single picture: boxes would be too narrow for their numbers */
    bool is_density;    /* of all: boxes of one would be too narrow, or too many */
    ms_curve_scale memory;
    ms_buffer *out;
    double left, width; /* of the panels */
    double y;           /* next free line */
} page;

static double fit(double wanted, double least, double most) {
    return fmin(fmax(wanted, least), most);
}

/* ---- legend ---- */

/* Start of an entry: on the next line where this one has no room for it. */
static void begin_entry(page *p, double *x, const char *text) {
    double width = 19.0 + 7.0 * (double)strlen(text);
    if (*x > p->left && *x + width > p->left + p->width) {
        *x = p->left;
        p->y += 18.0;
    }
}

static void put_entry_text(page *p, double *x, const char *text) {
    ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\">%s</text>\n", *x + 19.0, p->y, text);
    *x += 19.0 + 7.0 * (double)strlen(text) + 12.0;
}

static void put_swatch(page *p, double *x, const char *fill, const char *text) {
    begin_entry(p, x, text);
    ms_buffer_printf(p->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"11\" fill=\"%s\" "
                     "stroke=\"#999\" stroke-width=\"0.5\"/>",
                     *x, p->y - 9.5, fill);
    put_entry_text(p, x, text);
}

/* A line of the picture: its look, as in the panels. */
static void put_line_entry(page *p, double *x, const char *look, const char *text) {
    begin_entry(p, x, text);
    ms_buffer_printf(p->out, "<path d=\"M%g %gv12\" fill=\"none\" stroke=\"#111\" %s/>", *x + 8.0,
                     p->y - 10.5, look);
    put_entry_text(p, x, text);
}

/* Two passes that run together. */
static void put_pair_entry(page *p, double *x) {
    static const char TEXT[] = "overlapped pair";
    char hex[8];
    begin_entry(p, x, TEXT);
    for (int i = 0; i < 2; i++) {
        uint8_t kind = i == 0 ? MS_OP_FORWARD : MS_OP_BACKWARD;
        ms_buffer_printf(p->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"5.5\" fill=\"%s\"/>", *x,
                         p->y - 9.5 + 5.5 * i, ms_svg_hex(ms_svg_colour(kind, 0), hex));
    }
    put_entry_text(p, x, TEXT);
}

typedef struct contents {
    bool has_kind[MS_OP_KIND_COUNT]; /* of communication: P2P stands for all */
    bool has_chunks, has_directions, has_pairs, has_foreign;
    bool has_wholes, has_slices; /* pictures that number microbatches, and slices of sequences */
} contents;

static void list_picture(const ms_gantt *gantt, contents *c) {
    bool has_shades = false;
    for (size_t i = 0; i < gantt->box_count; i++) {
        const ms_gantt_box *box = &gantt->boxes[i];
        c->has_kind[box->kind > MS_OP_P2P ? MS_OP_P2P : box->kind] = true;
        c->has_pairs = c->has_pairs || box->half != 0;
        c->has_foreign = c->has_foreign || box->is_foreign;
        has_shades = has_shades || box->chunk > 0;
    }
    c->has_chunks = c->has_chunks || (has_shades && !gantt->has_directions);
    c->has_directions = c->has_directions || (has_shades && gantt->has_directions);
    c->has_wholes = c->has_wholes || gantt->slices <= 1;
    c->has_slices = c->has_slices || gantt->slices > 1;
}

static contents list_contents(const page *p) {
    contents c = {0};
    for (size_t i = 0; i < p->count; i++) {
        list_picture(p->pictures[i].gantt, &c);
    }
    return c;
}

static void put_note(page *p, double *x, const char *text) {
    begin_entry(p, x, text);
    ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\" fill=\"#666\">%s</text>\n", *x, p->y, text);
    *x += 6.4 * (double)strlen(text) + 12.0;
}

/* What heights, shades and numbers mean. */
static void put_notes(page *p, double *x, const contents *c) {
    if (p->is_density) {
        char text[96];
        snprintf(text, sizeof text, "%sheight of a colour: share of the time%s",
                 p->has_excerpts ? "overview: " : "",
                 c->has_kind[MS_OP_RECOMPUTE] ? ", of recomputation a fifth" : "");
        put_note(p, x, text);
    }
    if (c->has_chunks || c->has_directions) {
        put_note(p, x,
                 !c->has_directions ? "paler: later chunk"
                 : !c->has_chunks   ? "paler: the other direction"
                                    : "paler: later chunk, or the other direction");
    }
    bool has_numbers = !p->is_density || p->has_excerpts;
    if (has_numbers) {
        put_note(p, x,
                 !c->has_slices   ? "number: microbatch"
                 : !c->has_wholes ? "number: microbatch.part of its sequences"
                                  : "number: microbatch, or microbatch.part of its sequences");
    }
}

static void draw_legend(page *p) {
    static const struct {
        uint8_t kind;
        const char *text;
    } ENTRIES[] = {
        {MS_OP_FORWARD, "F forward"},
        {MS_OP_BACKWARD, "B backward"},
        {MS_OP_INPUT_GRAD, "I input gradient"},
        {MS_OP_WEIGHT_GRAD, "W weight gradient"},
        {MS_OP_RECOMPUTE, "recomputation"},
        {MS_OP_OPTIMIZER, "optimizer"},
        {MS_OP_P2P, "exposed: own communication"},
    };
    contents c = list_contents(p);
    double x = p->left;
    char hex[8];
    ms_buffer_puts(p->out, "<g font-size=\"12\" fill=\"#222\">\n");
    for (size_t i = 0; i < sizeof ENTRIES / sizeof ENTRIES[0]; i++) {
        if (c.has_kind[ENTRIES[i].kind]) {
            put_swatch(p, &x, ms_svg_hex(ms_svg_colour(ENTRIES[i].kind, 0), hex), ENTRIES[i].text);
        }
    }
    if (c.has_foreign) {
        put_swatch(p, &x, ms_svg_hex(ms_svg_colour(MS_OP_P2P, MS_SVG_FOREIGN), hex),
                   "exposed: communication of other ranks");
    }
    if (c.has_pairs) {
        put_pair_entry(p, &x);
    }
    put_swatch(p, &x, MS_FILL_WARM, "idle: warm-up");
    put_swatch(p, &x, MS_FILL_STEADY, "idle: steady");
    put_swatch(p, &x, MS_FILL_COOL, "idle: cool-down");
    put_line_entry(p, &x, PHASE_LINE, "steady phase of a row begins, ends");
    if (p->count > 1) {
        put_line_entry(p, &x, END_LINE, "end");
        put_line_entry(p, &x, SHORTEST_LINE, "end of the shortest");
    }
    put_notes(p, &x, &c);
    ms_buffer_puts(p->out, "</g>\n");
    p->y += 18.0;
}

/* ---- titles ---- */

static void put_distance(const page *p, const ms_gantt *gantt) {
    double more = gantt->end - p->shortest;
    char text[32];
    if (more <= 1e-12 * gantt->end) {
        ms_buffer_puts(p->out, " \xc2\xb7 the shortest");
        return;
    }
    if (gantt->has_seconds) {
        ms_unit_format(more, MS_DIM_TIME, text, sizeof text);
    } else {
        snprintf(text, sizeof text, "%.6g", more);
    }
    ms_buffer_printf(p->out, " \xc2\xb7 %s (%.1f %%) more than the shortest", text,
                     100.0 * more / p->shortest);
}

static void draw_title(page *p, const ms_gantt *gantt) {
    bool is_stacked = p->count > 1;
    ms_buffer_printf(p->out,
                     "<text x=\"%g\" y=\"%g\" font-size=\"%d\" font-weight=\"bold\" "
                     "fill=\"#111\">",
                     p->left, p->y, is_stacked ? 15 : 18);
    ms_xml_write_text(p->out, gantt->title == NULL ? "" : gantt->title);
    ms_buffer_puts(p->out, "</text>\n");
    p->y += is_stacked ? 17.0 : 20.0;
    ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\" font-size=\"13\" fill=\"#444\">", p->left,
                     p->y);
    ms_xml_write_text(p->out, gantt->subtitle == NULL ? "" : gantt->subtitle);
    if (is_stacked) {
        put_distance(p, gantt);
    }
    ms_buffer_puts(p->out, "</text>\n");
    if (is_stacked && gantt->caption != NULL) {
        p->y += 16.0;
        ms_buffer_printf(
            p->out, "<text class=\"caption\" x=\"%g\" y=\"%g\" font-size=\"13\" fill=\"#444\">",
            p->left, p->y);
        ms_xml_write_text(p->out, gantt->caption);
        ms_buffer_puts(p->out, "</text>\n");
    }
}

/* ---- one panel per picture ---- */

static void draw_memory(page *p, const ms_gantt_sorted *sorted) {
    if (sorted->gantt->memory == NULL) {
        return;
    }
    const ms_curves curves = {.x = p->left,
                              .y = p->y,
                              .width = p->width,
                              .end = p->end,
                              .scale = p->memory,
                              .band_height = p->count > 2 ? 56.0 : 84.0,
                              .has_strips = p->rows_shown <= STRIPS_MAX};
    ms_curves_draw(&curves, sorted, p->out);
    p->y += ms_curves_height(&curves, sorted) + 6.0;
}

/* Draw a vertical line where this picture ends and, if another picture on the page ends earlier, a
 * dashed line where the shortest one ends. top, bottom: ends of both lines [pixels]. */
static void draw_ends(const page *p, const ms_gantt *gantt, double top, double bottom) {
    const struct {
        double at; /* on the time axis, in the unit of the pictures */
        const char *look;
    } LINES[2] = {{gantt->end, END_LINE}, {p->shortest, SHORTEST_LINE}};
    for (int i = 0; i < (gantt->end > p->shortest ? 2 : 1); i++) {
        ms_buffer_printf(p->out,
                         "<path class=\"end\" d=\"M%g %gV%g\" fill=\"none\" stroke=\"#111\" %s/>\n",
                         ms_svg_round(p->left + LINES[i].at / p->end * p->width), ms_svg_round(top),
                         ms_svg_round(bottom), LINES[i].look);
    }
}

/* Height of a row. Where single boxes are drawn, and no excerpts show them, the words in the boxes
 * need room. Where shares of kinds are drawn, a row has at least 10 pixels: forward passes are a
 * fifth of the time, and in rows of 7 pixels nothing was seen of them. */
static double row_height(const page *p) {
    return p->is_density     ? ceil(fit(640.0 / p->rows_shown, 10.0, 20.0))
           : p->has_excerpts ? ceil(fit(400.0 / p->rows_shown, 7.0, 12.0))
                             : fit(640.0 / p->rows_shown, 9.0, 32.0);
}

static void draw_rows(page *p, const ms_gantt_sorted *sorted) {
    const ms_panel panel = {.x = p->left,
                            .y = p->y,
                            .width = p->width,
                            .row_height = row_height(p),
                            .end = p->end,
                            .bin_px = !p->is_density                   ? 0.0
                                      : p->rows_shown > ROWS_SHOWN_MAX ? WIDE_BIN_PX
                                                                       : BIN_PX,
                            .has_labels = true,
                            .has_tips = sorted->gantt->box_count <= TIPS_MAX / p->count};
    ms_panel_draw(&panel, sorted, p->out);
    p->y += ms_panel_height(&panel, sorted);
    if (p->count > 1) {
        draw_ends(p, sorted->gantt, panel.y - 4.0, p->y + 4.0);
    }
    p->y += AXIS_HEIGHT;
}

static void put_row_note(page *p, const ms_gantt_sorted *sorted) {
    if (sorted->row_step > 1) {
        ms_buffer_printf(
            p->out,
            "<text x=\"%g\" y=\"%g\" font-size=\"11\" fill=\"#666\">one row in %d is shown, "
            "of %d</text>\n",
            p->left, p->y + 12.0, sorted->row_step, sorted->gantt->rows);
        p->y += 18.0;
    }
}

/* ---- overview and excerpts ---- */

typedef struct excerpt {
    double start, end;
    const char *text;
} excerpt;

/* A stretch of a picture around its middle, or as near to that as its ends allow. */
static excerpt make_middle(const ms_gantt_sorted *sorted, double length, const char *text) {
    const ms_gantt_period *period = &sorted->period;
    double half = 0.5 * fmin(length, sorted->gantt->end);
    double middle = fit(0.5 * (period->from + period->to), half, sorted->gantt->end - half);
    return (excerpt){middle - half, middle + half, text};
}

/* Choose the middle excerpt: two periods of the steady phase if there is room for the words in
 * their boxes, else one period if its boxes can be seen. Where nothing repeats, or the period is
 * too long, the excerpt is so short that the words can be read. */
static excerpt choose_middle(const ms_gantt_sorted *sorted, double width) {
    const ms_gantt_period *period = &sorted->period;
    double pass_px = period->passes == 0 ? 0.0 : width / period->passes;
    double word_px = MS_DIGIT_WIDTH * 8.0 * (1 + sorted->number_length) + 3.5;
    if (0.5 * pass_px >= word_px) {
        return make_middle(sorted, 2.0 * period->length, "b  two periods of the steady phase");
    }
    if (pass_px >= EXCERPT_LEAST_PX) {
        return make_middle(sorted, period->length, "b  one period of the steady phase");
    }
    return make_middle(sorted, width / word_px * sorted->quartile,
                       period->passes == 0 ? "b  in the middle"
                                           : "b  in the middle: part of a period");
}

static void choose_excerpts(const ms_gantt_sorted *sorted, double width, excerpt excerpts_out[3]) {
    double end = sorted->gantt->end;
    double warm = 0.0;
    double cool = end;
    /* when the last row has begun its steady phase, and when the first has ended it */
    for (int32_t row = 0; row < sorted->gantt->rows; row++) {
        const ms_gantt_steady *steps = &sorted->steady[row * sorted->steps];
        warm = fmax(warm, steps[0].start);
        cool = fmin(cool, steps[sorted->steps - 1].end);
    }
    /* outer excerpts: wide enough to see single boxes */
    double longest = width / EXCERPT_LEAST_PX * sorted->median;
    double outer_left = fit(1.1 * warm, 0.02 * end, fmin(longest, end));
    double outer_right = fit(1.1 * (end - cool), 0.02 * end, fmin(longest, end));
    excerpts_out[0] = (excerpt){0.0, outer_left, "a  warm-up"};
    excerpts_out[1] = choose_middle(sorted, width);
    excerpts_out[2] = (excerpt){end - outer_right, end, "c  cool-down and end"};
}

static void put_windows(const page *p, const excerpt excerpts[3], double top, double height) {
    ms_buffer_puts(p->out, "<g font-size=\"11\" font-weight=\"bold\" fill=\"#111\">\n");
    for (int i = 0; i < 3; i++) {
        double x = p->left + excerpts[i].start / p->end * p->width;
        double width = (excerpts[i].end - excerpts[i].start) / p->end * p->width;
        ms_buffer_printf(p->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                         "stroke=\"#111\"/><text x=\"%g\" y=\"%g\">%c</text>\n",
                         ms_svg_round(x), ms_svg_round(top - 2.0), ms_svg_round(fmax(width, 2.0)),
                         ms_svg_round(height + 4.0), ms_svg_round(x + 0.5 * width - 3.0),
                         ms_svg_round(top - 5.0), excerpts[i].text[0]);
    }
    ms_buffer_puts(p->out, "</g>\n");
}

static void draw_excerpts(page *p, const ms_gantt_sorted *sorted) {
    double full = PAGE_WIDTH - RIGHT - p->left; /* they leave no room for peaks */
    double width = (full - 2.0 * PANEL_GAP) / 3.0;
    excerpt excerpts[3];
    choose_excerpts(sorted, width, excerpts);
    p->y += 14.0;
    double top = p->y;
    draw_rows(p, sorted);
    put_windows(p, excerpts, top, p->y - AXIS_HEIGHT - top);
    draw_memory(p, sorted);
    p->y += PANEL_GAP;
    double height = 0.0;
    for (int i = 0; i < 3; i++) {
        const ms_panel panel = {.x = p->left + i * (width + PANEL_GAP),
                                .y = p->y,
                                .width = width,
                                .row_height = fit(560.0 / p->rows_shown, 10.0, 26.0),
                                .start = excerpts[i].start,
                                .end = excerpts[i].end,
                                .has_labels = i == 0};
        ms_buffer_printf(p->out,
                         "<text x=\"%g\" y=\"%g\" font-size=\"12\" font-weight=\"bold\" "
                         "fill=\"#111\">%s</text>\n",
                         ms_svg_round(panel.x), ms_svg_round(p->y - 6.0), excerpts[i].text);
        ms_panel_draw(&panel, sorted, p->out);
        height = ms_panel_height(&panel, sorted);
    }
    p->y += height + AXIS_HEIGHT;
    put_row_note(p, sorted);
}

/* ---- the whole ---- */

static void draw_single(page *p) {
    const ms_gantt_sorted *sorted = &p->pictures[0];
    draw_title(p, sorted->gantt);
    p->y += 24.0;
    draw_legend(p);
    if (p->has_excerpts) {
        draw_excerpts(p, sorted);
    } else {
        draw_rows(p, sorted);
        put_row_note(p, sorted);
        draw_memory(p, sorted);
    }
}

static void draw_stack(page *p) {
    draw_legend(p);
    for (size_t i = 0; i < p->count; i++) {
        p->y += 14.0;
        draw_title(p, p->pictures[i].gantt);
        p->y += 12.0;
        draw_rows(p, &p->pictures[i]);
        put_row_note(p, &p->pictures[i]);
        draw_memory(p, &p->pictures[i]);
        p->y += 12.0;
    }
}

static void draw_page(page *p) {
    ms_buffer body = {0};
    ms_buffer *whole = p->out;
    p->out = &body;
    p->y = TOP;
    ms_panel_define_hatches(&body);
    if (p->count == 1) {
        draw_single(p);
    } else {
        draw_stack(p);
    }
    p->y += 10.0;
    ms_buffer_printf(whole,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
                     "height=\"%g\" viewBox=\"0 0 %d %g\" font-family=\"Helvetica, Arial, "
                     "'DejaVu Sans', sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
                     "fill=\"#fff\"/>\n",
                     PAGE_WIDTH, ceil(p->y), PAGE_WIDTH, ceil(p->y));
    ms_buffer_add(whole, ms_buffer_text(&body), body.length);
    ms_buffer_puts(whole, "</svg>\n");
    ms_buffer_end_part(&body, whole);
}

static double label_width(const ms_gantt *gantt) {
    size_t longest = 0;
    for (int32_t row = 0; row < gantt->rows; row++) {
        size_t length = strnlen(gantt->row_labels[row], LABEL_MAX);
        longest = length > longest ? length : longest;
    }
    return 6.2 * (double)longest + 18.0;
}

static double pass_px(const page *p, size_t index) {
    return p->pictures[index].median / p->end * p->width;
}

/* Boxes of the rows that are shown, without strips and what is too short to see. */
static size_t count_visible(const page *p, const ms_gantt_sorted *sorted) {
    size_t count = 0;
    double shortest = MS_BOX_LEAST_PX / p->width * p->end;
    for (size_t i = 0; i < sorted->gantt->box_count; i++) {
        const ms_gantt_box *box = &sorted->boxes[i];
        bool is_shown = !box->is_part && box->row % sorted->row_step == 0;
        count += is_shown && box->end - box->start >= shortest ? 1 : 0;
    }
    return count;
}

/* Boxes or shares: one look for all, so that they can be compared. Stacked pictures have no
 * excerpts: there boxes may be narrower, if they are few. */
static void choose_look(page *p) {
    int32_t rows_max = ROWS_SHOWN_MAX / (int32_t)p->count;
    double narrowest = INFINITY;
    size_t visible = 0;
    for (size_t i = 0; i < p->count; i++) {
        ms_gantt_show_rows(&p->pictures[i], rows_max);
        narrowest = fmin(narrowest, pass_px(p, i));
        visible += count_visible(p, &p->pictures[i]);
    }
    bool may_be_narrow = p->count > 1 && visible <= STACKED_BOXES_MAX;
    p->is_density = narrowest < (may_be_narrow ? STACKED_LEAST_PX : BOX_LEAST_PX);
    p->has_excerpts =
        p->count == 1 &&
        narrowest < MS_DIGIT_WIDTH * MS_FONT_LEAST * p->pictures[0].number_length + 2.5;
    for (size_t i = 0; i < p->count; i++) {
        int32_t dense_max = ROWS_DENSE_MAX / (int32_t)p->count;
        dense_max = dense_max < ROWS_LEAST ? ROWS_LEAST : dense_max;
        ms_gantt_show_rows(&p->pictures[i], p->is_density ? dense_max : rows_max);
        p->rows_shown += p->pictures[i].rows_shown;
    }
}

/* The pictures on one time axis, and what they share. */
static ms_status prepare(const ms_gantt *gantts, size_t count, ms_arena *arena, page *p_out) {
    page p = {.count = count, .out = p_out->out, .shortest = INFINITY};
    bool has_memory = false;
    p.pictures = MS_NEW(arena, ms_gantt_sorted, count);
    if (p.pictures == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        p.end = fmax(p.end, gantts[i].end);
        p.shortest = fmin(p.shortest, gantts[i].end);
        p.left = fmax(p.left, label_width(&gantts[i]));
        has_memory = has_memory || gantts[i].memory != NULL;
    }
    for (size_t i = 0; i < count; i++) {
        ms_status status = ms_gantt_sort(&gantts[i], p.end, arena, &p.pictures[i]);
        if (status != MS_OK) {
            return status;
        }
    }
    p.width = PAGE_WIDTH - p.left - (has_memory ? MS_CURVES_RIGHT_PX : RIGHT);
    choose_look(&p);
    p.memory = ms_curves_fit(p.pictures, count);
    *p_out = p;
    return MS_OK;
}

ms_status ms_gantt_write_svg(const ms_gantt *gantts, size_t count, ms_buffer *out) {
    if (count < 1 || count > MS_GANTT_PICTURES_MAX) {
        return MS_E_RANGE;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    page p = {.out = out};
    ms_status status = prepare(gantts, count, &scratch, &p);
    if (status == MS_OK) {
        draw_page(&p);
        status = out->failed ? MS_E_NOMEM : MS_OK;
    }
    ms_arena_release(&scratch);
    return status;
}
