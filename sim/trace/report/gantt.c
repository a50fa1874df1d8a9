/* Draws the page of one or more Gantt pictures as SVG (ms_gantt_write_svg): titles, legend, and for
 * each picture a panel (gantt_panel.c) and memory curves (gantt_curve.c). A single picture whose
 * boxes are too narrow for their numbers gets an overview and three excerpts. All coordinates are
 * pixels. */
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
    ROWS_SHOWN_MAX = 64,       /* maximum number of rows of all pictures together */
    ROWS_DENSE_MAX = 32,       /* the same where shares of kinds are drawn */
    ROWS_LEAST = 16,           /* but with shares each picture may have this many rows */
    STACKED_BOXES_MAX = 16000, /* maximum number of visible boxes of stacked pictures with narrow
                                  boxes */
    STRIPS_MAX = 24,           /* maximum number of rows on a page with a memory curve each */
    TIPS_MAX = 3000,           /* maximum number of boxes of all pictures with tooltips */
    LABEL_MAX = 24             /* maximum length of a label for which there is room */
};

static const double BOX_LEAST_PX = 5.0;     /* narrower median passes: shares of kinds */
static const double STACKED_LEAST_PX = 2.5; /* the same where pictures are stacked */
static const double BIN_PX = 2.0;           /* width of the bins of shares */
static const double WIDE_BIN_PX = 4.0;      /* the same above ROWS_SHOWN_MAX rows */
static const double EXCERPT_LEAST_PX = 3.0; /* minimum width of passes in excerpts */

static const char PHASE_LINE[] = "stroke-width=\"" MS_PHASE_LINE_PX "\"";
static const char END_LINE[] = "stroke-width=\"1.5\"";
static const char SHORTEST_LINE[] = "stroke-dasharray=\"6 4\"";

/* A page while it is drawn from top to bottom. */
typedef struct page {
    ms_gantt_sorted *pictures; /* [count] */
    size_t count;
    int32_t rows_shown; /* rows that are shown of all pictures */
    double end;         /* right end of the time axis, in the pictures' time unit */
    double shortest;    /* end of the picture that ends first */
    bool has_excerpts;  /* the single picture has excerpts */
    bool is_density;    /* all pictures show shares of kinds, as boxes of one of them would be too
                           narrow or too many */
    ms_curve_scale memory;
    ms_buffer *out;
    double left, width; /* of the panels */
    double y;           /* top of the free part of the page */
} page;

/* `wanted`, but at least `least` and at most `most`. */
static double clamp(double wanted, double least, double most) {
    return fmin(fmax(wanted, least), most);
}

/* ---- legend ---- */

/* Begin an entry of the legend with `text`: moves to the next line where this one has no room for
 * the entry.  x: left end of the entry. */
static void begin_entry(page *sheet, double *x, const char *text) {
    double width = 19.0 + 7.0 * (double)strlen(text);
    if (*x > sheet->left && *x + width > sheet->left + sheet->width) {
        *x = sheet->left;
        sheet->y += 18.0;
    }
}

/* Append the text of an entry, to the right of its symbol, and move *x behind the entry. */
static void put_entry_text(page *sheet, double *x, const char *text) {
    ms_buffer_printf(sheet->out, "<text x=\"%g\" y=\"%g\">%s</text>\n", *x + 19.0, sheet->y, text);
    *x += 19.0 + 7.0 * (double)strlen(text) + 12.0;
}

/* Append an entry for a colour or hatch.  fill: SVG value. */
static void put_swatch(page *sheet, double *x, const char *fill, const char *text) {
    begin_entry(sheet, x, text);
    ms_buffer_printf(sheet->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"11\" fill=\"%s\" "
                     "stroke=\"#999\" stroke-width=\"0.5\"/>",
                     *x, sheet->y - 9.5, fill);
    put_entry_text(sheet, x, text);
}

/* Append an entry for a kind of line.  look: its SVG attributes, as in the panels. */
static void put_line_entry(page *sheet, double *x, const char *look, const char *text) {
    begin_entry(sheet, x, text);
    ms_buffer_printf(sheet->out, "<path d=\"M%g %gv12\" fill=\"none\" stroke=\"#111\" %s/>",
                     *x + 8.0, sheet->y - 10.5, look);
    put_entry_text(sheet, x, text);
}

/* Append the entry for overlapped pairs of passes. */
static void put_pair_entry(page *sheet, double *x) {
    static const char TEXT[] = "overlapped pair";
    char hex[8];
    begin_entry(sheet, x, TEXT);
    for (int i = 0; i < 2; i++) {
        uint8_t kind = i == 0 ? MS_OP_FORWARD : MS_OP_BACKWARD;
        ms_buffer_printf(sheet->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"5.5\" fill=\"%s\"/>", *x,
                         sheet->y - 9.5 + 5.5 * i, ms_svg_hex(ms_svg_colour(kind, 0), hex));
    }
    put_entry_text(sheet, x, TEXT);
}

/* The contents of all pictures that need an entry in the legend. */
typedef struct contents {
    bool has_kind[MS_OP_KIND_COUNT]; /* all kinds of communication count as P2P */
    bool has_chunks, has_directions; /* paler boxes mean later chunks, the other direction */
    bool has_pairs, has_foreign;     /* overlapped pairs, communication of other ranks */
    bool has_wholes, has_slices;     /* numbers are those of microbatches, of slices */
} contents;

/* Add the contents of a picture. */
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

/* The contents of all pictures of the page. */
static contents list_contents(const page *sheet) {
    contents c = {0};
    for (size_t i = 0; i < sheet->count; i++) {
        list_picture(sheet->pictures[i].gantt, &c);
    }
    return c;
}

/* Append an entry without a symbol. */
static void put_note(page *sheet, double *x, const char *text) {
    begin_entry(sheet, x, text);
    ms_buffer_printf(sheet->out, "<text x=\"%g\" y=\"%g\" fill=\"#666\">%s</text>\n", *x, sheet->y,
                     text);
    *x += 6.4 * (double)strlen(text) + 12.0;
}

/* Append notes on the meaning of heights, shades and numbers. */
static void put_notes(page *sheet, double *x, const contents *c) {
    if (sheet->is_density) {
        char text[96];
        snprintf(text, sizeof text, "%sheight of a colour: share of the time%s",
                 sheet->has_excerpts ? "overview: " : "",
                 c->has_kind[MS_OP_RECOMPUTE] ? ", of recomputation a fifth" : "");
        put_note(sheet, x, text);
    }
    if (c->has_chunks || c->has_directions) {
        put_note(sheet, x,
                 !c->has_directions ? "paler: later chunk"
                 : !c->has_chunks   ? "paler: the other direction"
                                    : "paler: later chunk, or the other direction");
    }
    bool has_numbers = !sheet->is_density || sheet->has_excerpts;
    if (has_numbers) {
        put_note(sheet, x,
                 !c->has_slices   ? "number: microbatch"
                 : !c->has_wholes ? "number: microbatch.part of its sequences"
                                  : "number: microbatch, or microbatch.part of its sequences");
    }
}

/* Draw the legend of the page: an entry for each kind of box and line in its pictures, and notes.
 */
static void draw_legend(page *sheet) {
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
    contents c = list_contents(sheet);
    double x = sheet->left;
    char hex[8];
    ms_buffer_puts(sheet->out, "<g font-size=\"12\" fill=\"#222\">\n");
    for (size_t i = 0; i < sizeof ENTRIES / sizeof ENTRIES[0]; i++) {
        if (c.has_kind[ENTRIES[i].kind]) {
            put_swatch(sheet, &x, ms_svg_hex(ms_svg_colour(ENTRIES[i].kind, 0), hex),
                       ENTRIES[i].text);
        }
    }
    if (c.has_foreign) {
        put_swatch(sheet, &x, ms_svg_hex(ms_svg_colour(MS_OP_P2P, MS_SVG_FOREIGN), hex),
                   "exposed: communication of other ranks");
    }
    if (c.has_pairs) {
        put_pair_entry(sheet, &x);
    }
    put_swatch(sheet, &x, MS_FILL_WARM, "idle: warm-up");
    put_swatch(sheet, &x, MS_FILL_STEADY, "idle: steady");
    put_swatch(sheet, &x, MS_FILL_COOL, "idle: cool-down");
    put_line_entry(sheet, &x, PHASE_LINE, "steady phase of a row begins, ends");
    if (sheet->count > 1) {
        put_line_entry(sheet, &x, END_LINE, "end");
        put_line_entry(sheet, &x, SHORTEST_LINE, "end of the shortest");
    }
    put_notes(sheet, &x, &c);
    ms_buffer_puts(sheet->out, "</g>\n");
    sheet->y += 18.0;
}

/* ---- titles ---- */

/* Append by how much a picture takes longer than the shortest one. */
static void put_distance(const page *sheet, const ms_gantt *gantt) {
    double more = gantt->end - sheet->shortest;
    char text[32];
    if (more <= 1e-12 * gantt->end) {
        ms_buffer_puts(sheet->out, " \xc2\xb7 the shortest");
        return;
    }
    if (gantt->has_seconds) {
        ms_unit_format(more, MS_DIM_TIME, text, sizeof text);
    } else {
        snprintf(text, sizeof text, "%.6g", more);
    }
    ms_buffer_printf(sheet->out, " \xc2\xb7 %s (%.1f %%) more than the shortest", text,
                     100.0 * more / sheet->shortest);
}

/* Draw title and subtitle of a picture and, of stacked ones, its caption. */
static void draw_title(page *sheet, const ms_gantt *gantt) {
    bool is_stacked = sheet->count > 1;
    ms_buffer_printf(sheet->out,
                     "<text x=\"%g\" y=\"%g\" font-size=\"%d\" font-weight=\"bold\" "
                     "fill=\"#111\">",
                     sheet->left, sheet->y, is_stacked ? 15 : 18);
    ms_xml_write_text(sheet->out, gantt->title == NULL ? "" : gantt->title);
    ms_buffer_puts(sheet->out, "</text>\n");
    sheet->y += is_stacked ? 17.0 : 20.0;
    ms_buffer_printf(sheet->out, "<text x=\"%g\" y=\"%g\" font-size=\"13\" fill=\"#444\">",
                     sheet->left, sheet->y);
    ms_xml_write_text(sheet->out, gantt->subtitle == NULL ? "" : gantt->subtitle);
    if (is_stacked) {
        put_distance(sheet, gantt);
    }
    ms_buffer_puts(sheet->out, "</text>\n");
    if (is_stacked && gantt->caption != NULL) {
        sheet->y += 16.0;
        ms_buffer_printf(
            sheet->out, "<text class=\"caption\" x=\"%g\" y=\"%g\" font-size=\"13\" fill=\"#444\">",
            sheet->left, sheet->y);
        ms_xml_write_text(sheet->out, gantt->caption);
        ms_buffer_puts(sheet->out, "</text>\n");
    }
}

/* ---- one panel per picture ---- */

/* Draw the memory curves of a picture, if it has memory. */
static void draw_memory(page *sheet, const ms_gantt_sorted *sorted) {
    if (sorted->gantt->memory == NULL) {
        return;
    }
    const ms_curves curves = {.x = sheet->left,
                              .y = sheet->y,
                              .width = sheet->width,
                              .end = sheet->end,
                              .scale = sheet->memory,
                              .band_height = sheet->count > 2 ? 56.0 : 84.0,
                              .has_strips = sheet->rows_shown <= STRIPS_MAX};
    ms_curves_draw(&curves, sorted, sheet->out);
    sheet->y += ms_curves_height(&curves, sorted) + 6.0;
}

/* Draw a vertical line where this picture ends and, if another picture on the page ends earlier, a
 * dashed line where the shortest one ends. top, bottom: ends of both lines [pixels]. */
static void draw_ends(const page *sheet, const ms_gantt *gantt, double top, double bottom) {
    const struct {
        double at; /* on the time axis, in the unit of the pictures */
        const char *look;
    } LINES[2] = {{gantt->end, END_LINE}, {sheet->shortest, SHORTEST_LINE}};
    for (int i = 0; i < (gantt->end > sheet->shortest ? 2 : 1); i++) {
        ms_buffer_printf(sheet->out,
                         "<path class=\"end\" d=\"M%g %gV%g\" fill=\"none\" stroke=\"#111\" %s/>\n",
                         ms_svg_round(sheet->left + LINES[i].at / sheet->end * sheet->width),
                         ms_svg_round(top), ms_svg_round(bottom), LINES[i].look);
    }
}

/* Height of a row. Where boxes are drawn and no excerpts show them, the texts in boxes need room.
 * Where shares of kinds are drawn, a row has at least 10 pixels: forward passes are a fifth of the
 * time, and could not be seen in rows of 7 pixels. */
static double row_height(const page *sheet) {
    return sheet->is_density     ? ceil(clamp(640.0 / sheet->rows_shown, 10.0, 20.0))
           : sheet->has_excerpts ? ceil(clamp(400.0 / sheet->rows_shown, 7.0, 12.0))
                                 : clamp(640.0 / sheet->rows_shown, 9.0, 32.0);
}

/* Draw the panel of a picture over its whole time and, of stacked ones, the lines at the ends. */
static void draw_rows(page *sheet, const ms_gantt_sorted *sorted) {
    const ms_panel panel = {.x = sheet->left,
                            .y = sheet->y,
                            .width = sheet->width,
                            .row_height = row_height(sheet),
                            .end = sheet->end,
                            .bin_px = !sheet->is_density                   ? 0.0
                                      : sheet->rows_shown > ROWS_SHOWN_MAX ? WIDE_BIN_PX
                                                                           : BIN_PX,
                            .has_labels = true,
                            .has_tips = sorted->gantt->box_count <= TIPS_MAX / sheet->count};
    ms_panel_draw(&panel, sorted, sheet->out);
    sheet->y += ms_panel_height(&panel, sorted);
    if (sheet->count > 1) {
        draw_ends(sheet, sorted->gantt, panel.y - 4.0, sheet->y + 4.0);
    }
    sheet->y += AXIS_HEIGHT;
}

/* Append a note if not all rows of a picture are shown. */
static void put_row_note(page *sheet, const ms_gantt_sorted *sorted) {
    if (sorted->row_step > 1) {
        ms_buffer_printf(
            sheet->out,
            "<text x=\"%g\" y=\"%g\" font-size=\"11\" fill=\"#666\">one row in %d is shown, "
            "of %d</text>\n",
            sheet->left, sheet->y + 12.0, sorted->row_step, sorted->gantt->rows);
        sheet->y += 18.0;
    }
}

/* ---- overview and excerpts ---- */

/* An excerpt: a window of time of a picture, drawn in a panel of its own below the overview. */
typedef struct excerpt {
    double start, end;
    const char *text; /* its title, which begins with its letter */
} excerpt;

/* An excerpt of some length around the middle of the steady phase, or as near to the middle as the
 * ends of the picture allow. */
static excerpt make_middle(const ms_gantt_sorted *sorted, double length, const char *text) {
    const ms_gantt_period *period = &sorted->period;
    double half = 0.5 * fmin(length, sorted->gantt->end);
    double middle = clamp(0.5 * (period->from + period->to), half, sorted->gantt->end - half);
    return (excerpt){middle - half, middle + half, text};
}

/* Choose the middle excerpt: two periods of the steady phase if boxes of this width have room for
 * their texts, else one period if its boxes can be seen. If nothing repeats, or the period is too
 * long, the excerpt is so short that three quarters of the passes have room for their texts. width:
 * of its panel [pixels]. */
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

/* Choose the three excerpts: warm-up of all rows, the middle, and cool-down of all rows. The outer
 * ones are 10 % longer than the phase, at least 2 % of the picture, and at most so long that the
 * median pass can be seen.  width: of each panel [pixels]. */
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

    double longest = width / EXCERPT_LEAST_PX * sorted->median;
    double outer_left = clamp(1.1 * warm, 0.02 * end, fmin(longest, end));
    double outer_right = clamp(1.1 * (end - cool), 0.02 * end, fmin(longest, end));
    excerpts_out[0] = (excerpt){0.0, outer_left, "a  warm-up"};
    excerpts_out[1] = choose_middle(sorted, width);
    excerpts_out[2] = (excerpt){end - outer_right, end, "c  cool-down and end"};
}

/* Append a frame and a letter for each excerpt on the overview.  top, height: of the overview. */
static void put_windows(const page *sheet, const excerpt excerpts[3], double top, double height) {
    ms_buffer_puts(sheet->out, "<g font-size=\"11\" font-weight=\"bold\" fill=\"#111\">\n");
    for (int i = 0; i < 3; i++) {
        double x = sheet->left + excerpts[i].start / sheet->end * sheet->width;
        double width = (excerpts[i].end - excerpts[i].start) / sheet->end * sheet->width;
        ms_buffer_printf(sheet->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                         "stroke=\"#111\"/><text x=\"%g\" y=\"%g\">%c</text>\n",
                         ms_svg_round(x), ms_svg_round(top - 2.0), ms_svg_round(fmax(width, 2.0)),
                         ms_svg_round(height + 4.0), ms_svg_round(x + 0.5 * width - 3.0),
                         ms_svg_round(top - 5.0), excerpts[i].text[0]);
    }
    ms_buffer_puts(sheet->out, "</g>\n");
}

/* Draw a picture as an overview with memory curves and, below, the three excerpts side by side. */
static void draw_excerpts(page *sheet, const ms_gantt_sorted *sorted) {
    double full = PAGE_WIDTH - RIGHT - sheet->left; /* excerpts need no room for peaks of memory */
    double width = (full - 2.0 * PANEL_GAP) / 3.0;
    excerpt excerpts[3];
    choose_excerpts(sorted, width, excerpts);
    sheet->y += 14.0;
    double top = sheet->y;
    draw_rows(sheet, sorted);
    put_windows(sheet, excerpts, top, sheet->y - AXIS_HEIGHT - top);
    draw_memory(sheet, sorted);
    sheet->y += PANEL_GAP;
    double height = 0.0;
    for (int i = 0; i < 3; i++) {
        const ms_panel panel = {.x = sheet->left + i * (width + PANEL_GAP),
                                .y = sheet->y,
                                .width = width,
                                .row_height = clamp(560.0 / sheet->rows_shown, 10.0, 26.0),
                                .start = excerpts[i].start,
                                .end = excerpts[i].end,
                                .has_labels = i == 0};
        ms_buffer_printf(sheet->out,
                         "<text x=\"%g\" y=\"%g\" font-size=\"12\" font-weight=\"bold\" "
                         "fill=\"#111\">%s</text>\n",
                         ms_svg_round(panel.x), ms_svg_round(sheet->y - 6.0), excerpts[i].text);
        ms_panel_draw(&panel, sorted, sheet->out);
        height = ms_panel_height(&panel, sorted);
    }
    sheet->y += height + AXIS_HEIGHT;
    put_row_note(sheet, sorted);
}

/* ---- the whole ---- */

/* Draw the page of a single picture. */
static void draw_single(page *sheet) {
    const ms_gantt_sorted *sorted = &sheet->pictures[0];
    draw_title(sheet, sorted->gantt);
    sheet->y += 24.0;
    draw_legend(sheet);
    if (sheet->has_excerpts) {
        draw_excerpts(sheet, sorted);
    } else {
        draw_rows(sheet, sorted);
        put_row_note(sheet, sorted);
        draw_memory(sheet, sorted);
    }
}

/* Draw the page of several pictures, below each other. */
static void draw_stack(page *sheet) {
    draw_legend(sheet);
    for (size_t i = 0; i < sheet->count; i++) {
        sheet->y += 14.0;
        draw_title(sheet, sheet->pictures[i].gantt);
        sheet->y += 12.0;
        draw_rows(sheet, &sheet->pictures[i]);
        put_row_note(sheet, &sheet->pictures[i]);
        draw_memory(sheet, &sheet->pictures[i]);
        sheet->y += 12.0;
    }
}

/* Draw the whole page. The body is drawn first, as the head of the SVG holds the height of the
 * page. */
static void draw_page(page *sheet) {
    ms_buffer body = {0};
    ms_buffer *whole = sheet->out;
    sheet->out = &body;
    sheet->y = TOP;
    ms_panel_define_hatches(&body);
    if (sheet->count == 1) {
        draw_single(sheet);
    } else {
        draw_stack(sheet);
    }
    sheet->y += 10.0;
    ms_buffer_printf(whole,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
                     "height=\"%g\" viewBox=\"0 0 %d %g\" font-family=\"Helvetica, Arial, "
                     "'DejaVu Sans', sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
                     "fill=\"#fff\"/>\n",
                     PAGE_WIDTH, ceil(sheet->y), PAGE_WIDTH, ceil(sheet->y));
    ms_buffer_add(whole, ms_buffer_text(&body), body.length);
    ms_buffer_puts(whole, "</svg>\n");
    ms_buffer_release_part(&body, whole);
}

/* Width that the labels of a picture's rows need. */
static double label_width(const ms_gantt *gantt) {
    size_t longest = 0;
    for (int32_t row = 0; row < gantt->rows; row++) {
        size_t length = strnlen(gantt->row_labels[row], LABEL_MAX);
        longest = length > longest ? length : longest;
    }
    return 6.2 * (double)longest + 18.0;
}

/* Width of the median pass of a picture. */
static double pass_px(const page *sheet, size_t index) {
    return sheet->pictures[index].median / sheet->end * sheet->width;
}

/* Number of boxes of the shown rows that are wide enough to see, without parts. */
static size_t count_visible(const page *sheet, const ms_gantt_sorted *sorted) {
    size_t count = 0;
    double shortest = MS_BOX_LEAST_PX / sheet->width * sheet->end;
    for (size_t i = 0; i < sorted->gantt->box_count; i++) {
        const ms_gantt_box *box = &sorted->boxes[i];
        bool is_shown = !box->is_part && box->row % sorted->row_step == 0;
        count += is_shown && box->end - box->start >= shortest ? 1 : 0;
    }
    return count;
}

/* Choose boxes or shares of kinds, the same for all pictures so that they can be compared, and the
 * rows that are shown. Stacked pictures have no excerpts; there boxes may be narrower, if they are
 * few. */
static void choose_look(page *sheet) {
    int32_t rows_max = ROWS_SHOWN_MAX / (int32_t)sheet->count;
    double narrowest = INFINITY;
    size_t visible = 0;
    for (size_t i = 0; i < sheet->count; i++) {
        ms_gantt_show_rows(&sheet->pictures[i], rows_max);
        narrowest = fmin(narrowest, pass_px(sheet, i));
        visible += count_visible(sheet, &sheet->pictures[i]);
    }
    bool may_be_narrow = sheet->count > 1 && visible <= STACKED_BOXES_MAX;
    sheet->is_density = narrowest < (may_be_narrow ? STACKED_LEAST_PX : BOX_LEAST_PX);
    /* excerpts where the number of the median pass does not clamp at the smallest font size */
    sheet->has_excerpts =
        sheet->count == 1 &&
        narrowest < MS_DIGIT_WIDTH * MS_FONT_LEAST * sheet->pictures[0].number_length + 2.5;
    for (size_t i = 0; i < sheet->count; i++) {
        int32_t dense_max = ROWS_DENSE_MAX / (int32_t)sheet->count;
        dense_max = dense_max < ROWS_LEAST ? ROWS_LEAST : dense_max;
        ms_gantt_show_rows(&sheet->pictures[i], sheet->is_density ? dense_max : rows_max);
        sheet->rows_shown += sheet->pictures[i].rows_shown;
    }
}

/* Sort and measure the pictures, and set all that they share on the page.  p_out: with `out` set.
 */
static ms_status prepare_page(const ms_gantt *gantts, size_t count, ms_arena *arena, page *p_out) {
    page sheet = {.count = count, .out = p_out->out, .shortest = INFINITY};
    bool has_memory = false;
    sheet.pictures = MS_NEW(arena, ms_gantt_sorted, count);
    if (sheet.pictures == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        sheet.end = fmax(sheet.end, gantts[i].end);
        sheet.shortest = fmin(sheet.shortest, gantts[i].end);
        sheet.left = fmax(sheet.left, label_width(&gantts[i]));
        has_memory = has_memory || gantts[i].memory != NULL;
    }
    for (size_t i = 0; i < count; i++) {
        ms_status status = ms_gantt_sort(&gantts[i], sheet.end, arena, &sheet.pictures[i]);
        if (status != MS_OK) {
            return status;
        }
    }
    sheet.width = PAGE_WIDTH - sheet.left - (has_memory ? MS_CURVES_RIGHT_PX : RIGHT);
    choose_look(&sheet);
    sheet.memory = ms_curves_fit(sheet.pictures, count);
    *p_out = sheet;
    return MS_OK;
}

ms_status ms_gantt_write_svg(const ms_gantt *gantts, size_t count, ms_buffer *out) {
    if (count < 1 || count > MS_GANTT_PICTURES_MAX) {
        return MS_E_RANGE;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    page sheet = {.out = out};
    ms_status status = prepare_page(gantts, count, &scratch, &sheet);
    if (status == MS_OK) {
        draw_page(&sheet);
        status = out->failed ? MS_E_NOMEM : MS_OK;
    }
    ms_arena_release(&scratch);
    return status;
}
