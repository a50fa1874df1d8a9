/* The page: title, legend, and either one panel or an overview with three excerpts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/report.h"
#include "report/gantt_panel.h"
#include "report/svg.h"

enum {
    PAGE_WIDTH = 1400,
    RIGHT = 24,
    TOP = 26,
    PANEL_GAP = 26,
    AXIS_HEIGHT = 24,
    ROWS_SHOWN_MAX = 64,
    TIPS_MAX = 3000,
    LABEL_MAX = 24
};

static const double BOX_LEAST_PX = 5.0;     /* narrower boxes: overview and excerpts */
static const double EXCERPT_LEAST_PX = 3.0; /* of the median box in the outer excerpts */

typedef struct page {
    ms_gantt_sorted sorted;
    ms_buffer *out;
    double left; /* of the panels */
    double y;    /* next free line */
    int32_t row_step;
    int32_t rows_shown;
} page;

/* ---- sorting and measuring ---- */

static int by_place(const void *left, const void *right) {
    const ms_gantt_box *a = left;
    const ms_gantt_box *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->is_part != b->is_part) {
        return a->is_part ? 1 : -1;
    }
    return (a->half > b->half) - (a->half < b->half);
}

static int by_number(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b ? 1 : 0;
}

static bool is_sound(const ms_gantt *gantt) {
    if (gantt->rows < 1 || !(gantt->end > 0.0)) {
        return false;
    }
    for (size_t i = 0; i < gantt->box_count; i++) {
        const ms_gantt_box *box = &gantt->boxes[i];
        if (box->half > 2 || box->row < 0 || box->row >= gantt->rows || !(box->start >= 0.0) ||
            !(box->end >= box->start) || !isfinite(box->end)) {
            return false;
        }
    }
    return true;
}

static bool is_pass(const ms_gantt_box *box) {
    return !box->is_part && box->kind < MS_OP_OPTIMIZER;
}

static double median_pass(const ms_gantt *gantt, ms_arena *arena) {
    double *lengths = MS_NEW(arena, double, gantt->box_count);
    size_t count = 0;
    for (size_t i = 0; lengths != NULL && i < gantt->box_count; i++) {
        if (is_pass(&gantt->boxes[i])) {
            lengths[count++] = gantt->boxes[i].end - gantt->boxes[i].start;
        }
    }
    if (count == 0) {
        return gantt->end;
    }
    qsort(lengths, count, sizeof lengths[0], by_number);
    return lengths[count / 2];
}

static ms_status sort_boxes(const ms_gantt *gantt, ms_arena *arena, ms_gantt_sorted *sorted_out) {
    ms_gantt_box *boxes = MS_NEW(arena, ms_gantt_box, gantt->box_count);
    size_t *first = MS_NEW(arena, size_t, (size_t)gantt->rows + 1);
    if (boxes == NULL || first == NULL) {
        return MS_E_NOMEM;
    }
    if (gantt->box_count > 0) {
        memcpy(boxes, gantt->boxes, gantt->box_count * sizeof boxes[0]);
        qsort(boxes, gantt->box_count, sizeof boxes[0], by_place);
    }
    for (size_t i = 0; i < gantt->box_count; i++) {
        first[boxes[i].row + 1]++;
    }
    for (int32_t row = 0; row < gantt->rows; row++) {
        first[row + 1] += first[row];
    }
    *sorted_out = (ms_gantt_sorted){gantt, boxes, first, 0.0, 1.0, ""};
    if (gantt->has_seconds) {
        bool has_s = gantt->end >= 2.0;
        bool has_ms = gantt->end >= 2e-3;
        sorted_out->unit = has_s ? 1.0 : has_ms ? 1e-3 : 1e-6;
        sorted_out->unit_name = has_s ? "s" : has_ms ? "ms" : "us";
    }
    return MS_OK;
}

/* ---- head ---- */

typedef struct legend_entry {
    uint8_t kind;
    const char *text;
} legend_entry;

static double put_swatch(page *p, double x, const char *fill, const char *text) {
    ms_buffer_printf(p->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"11\" fill=\"%s\" "
                     "stroke=\"#999\" stroke-width=\"0.5\"/><text x=\"%g\" y=\"%g\">%s</text>\n",
                     x, p->y - 9.5, fill, x + 19.0, p->y, text);
    return x + 19.0 + 7.0 * (double)strlen(text) + 14.0;
}

static void draw_legend(page *p) {
    static const legend_entry ENTRIES[] = {
        {MS_OP_FORWARD, "F forward"},           {MS_OP_BACKWARD, "B backward"},
        {MS_OP_INPUT_GRAD, "I input gradient"}, {MS_OP_WEIGHT_GRAD, "W weight gradient"},
        {MS_OP_RECOMPUTE, "recomputation"},     {MS_OP_OPTIMIZER, "optimizer"},
        {MS_OP_P2P, "exposed communication"},
    };
    bool has_kind[256] = {false};
    int chunks = 0;
    for (size_t i = 0; i < p->sorted.gantt->box_count; i++) {
        const ms_gantt_box *box = &p->sorted.boxes[i];
        has_kind[box->kind > MS_OP_P2P ? MS_OP_P2P : box->kind] = true;
        chunks = box->chunk > chunks ? box->chunk : chunks;
    }
    double x = p->left;
    ms_buffer_puts(p->out, "<g font-size=\"12\" fill=\"#222\">\n");
    for (size_t i = 0; i < sizeof ENTRIES / sizeof ENTRIES[0]; i++) {
        char hex[8];
        if (has_kind[ENTRIES[i].kind]) {
            x = put_swatch(p, x, ms_svg_hex(ms_svg_colour(ENTRIES[i].kind, 0), hex),
                           ENTRIES[i].text);
        }
    }
    x = put_swatch(p, x, "#ffffff", "idle (bubble)");
    ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\" fill=\"#666\">%s%s</text>\n</g>\n", x, p->y,
                     chunks > 0 ? "paler: later chunk; " : "", "number: microbatch");
    p->y += 18.0;
}

static void draw_head(page *p) {
    p->y = TOP;
    ms_buffer_printf(p->out,
                     "<text x=\"%g\" y=\"%g\" font-size=\"18\" font-weight=\"bold\" "
                     "fill=\"#111\">",
                     p->left, p->y);
    ms_svg_escape(p->out, p->sorted.gantt->title == NULL ? "" : p->sorted.gantt->title);
    ms_buffer_puts(p->out, "</text>\n");
    if (p->sorted.gantt->subtitle != NULL) {
        p->y += 20.0;
        ms_buffer_printf(p->out, "<text x=\"%g\" y=\"%g\" font-size=\"13\" fill=\"#444\">", p->left,
                         p->y);
        ms_svg_escape(p->out, p->sorted.gantt->subtitle);
        ms_buffer_puts(p->out, "</text>\n");
    }
    p->y += 24.0;
    draw_legend(p);
}

/* ---- panels ---- */

static double fit(double wanted, double least, double most) {
    return fmin(fmax(wanted, least), most);
}

static void draw_single(page *p) {
    const ms_gantt *gantt = p->sorted.gantt;
    const ms_panel panel = {.x = p->left,
                            .y = p->y,
                            .width = PAGE_WIDTH - RIGHT - p->left,
                            .row_height = fit(560.0 / p->rows_shown, 9.0, 32.0),
                            .end = gantt->end,
                            .row_step = p->row_step,
                            .has_labels = true,
                            .has_tips = gantt->box_count <= TIPS_MAX};
    ms_panel_draw(&panel, &p->sorted, p->out);
    p->y += ms_panel_height(&panel, gantt->rows) + AXIS_HEIGHT;
}

typedef struct excerpt {
    double start, end;
    const char *text;
} excerpt;

/* When the last row has begun its first backward pass, and when the first has ended its last
 * forward pass: between them is the steady state. */
static void find_phases(const page *p, double *warm_out, double *cool_out) {
    double warm = 0.0;
    double cool = p->sorted.gantt->end;
    for (int32_t row = 0; row < p->sorted.gantt->rows; row++) {
        double first_backward = -1.0;
        double last_forward = -1.0;
        for (size_t i = p->sorted.row_first[row]; i < p->sorted.row_first[row + 1]; i++) {
            const ms_gantt_box *box = &p->sorted.boxes[i];
            if (is_pass(box) && box->kind == MS_OP_FORWARD) {
                last_forward = box->end;
            } else if (is_pass(box) && first_backward < 0.0) {
                first_backward = box->start;
            }
        }
        warm = first_backward > warm ? first_backward : warm;
        cool = last_forward >= 0.0 && last_forward < cool ? last_forward : cool;
    }
    *warm_out = warm;
    *cool_out = cool;
}

static int digits_of(double number) {
    return number < 10.0 ? 1 : (int)floor(log10(number)) + 1;
}

static void choose_excerpts(const page *p, double width, excerpt excerpts_out[3]) {
    double end = p->sorted.gantt->end;
    double warm = 0.0;
    double cool = end;
    double most_mb = 0.0;
    find_phases(p, &warm, &cool);
    for (size_t i = 0; i < p->sorted.gantt->box_count; i++) {
        most_mb = fmax(most_mb, p->sorted.boxes[i].mb);
    }
    /* outer excerpts: wide enough to see single boxes; inner: to read the numbers in them */
    double longest = width / EXCERPT_LEAST_PX * p->sorted.median;
    double number_px = MS_DIGIT_WIDTH * 7.5 * digits_of(most_mb) + 3.0;
    double read = fmin(width / number_px * p->sorted.median, end);
    double middle = fit(0.5 * (warm + cool), 0.5 * read, end - 0.5 * read);
    double outer_left = fit(1.1 * warm, 0.02 * end, fmin(longest, end));
    double outer_right = fit(1.1 * (end - cool), 0.02 * end, fmin(longest, end));
    excerpts_out[0] = (excerpt){0.0, outer_left, "a  warm-up"};
    excerpts_out[1] = (excerpt){middle - 0.5 * read, middle + 0.5 * read, "b  in the middle"};
    excerpts_out[2] = (excerpt){end - outer_right, end, "c  cool-down and end"};
}

static void draw_overview(page *p, const excerpt excerpts[3]) {
    const ms_gantt *gantt = p->sorted.gantt;
    const ms_panel panel = {.x = p->left,
                            .y = p->y + 14.0,
                            .width = PAGE_WIDTH - RIGHT - p->left,
                            .row_height = ceil(fit(240.0 / p->rows_shown, 3.0, 12.0)),
                            .end = gantt->end,
                            .row_step = p->row_step,
                            .is_density = true,
                            .has_labels = true};
    double height = ms_panel_height(&panel, gantt->rows);
    ms_panel_draw(&panel, &p->sorted, p->out);
    ms_buffer_puts(p->out, "<g font-size=\"11\" font-weight=\"bold\" fill=\"#111\">\n");
    for (int i = 0; i < 3; i++) {
        double x = panel.x + excerpts[i].start / gantt->end * panel.width;
        double width = (excerpts[i].end - excerpts[i].start) / gantt->end * panel.width;
        ms_buffer_printf(p->out,
                         "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                         "stroke=\"#111\"/><text x=\"%g\" y=\"%g\">%c</text>\n",
                         ms_svg_round(x), ms_svg_round(panel.y - 2.0),
                         ms_svg_round(fmax(width, 2.0)), ms_svg_round(height + 4.0),
                         ms_svg_round(x + 0.5 * width - 3.0), ms_svg_round(panel.y - 5.0),
                         excerpts[i].text[0]);
    }
    ms_buffer_puts(p->out, "</g>\n");
    p->y += 14.0 + height + AXIS_HEIGHT + PANEL_GAP;
}

static void draw_excerpts(page *p) {
    const ms_gantt *gantt = p->sorted.gantt;
    double width = (PAGE_WIDTH - RIGHT - p->left - 2.0 * PANEL_GAP) / 3.0;
    excerpt excerpts[3];
    choose_excerpts(p, width, excerpts);
    draw_overview(p, excerpts);
    double height = 0.0;
    for (int i = 0; i < 3; i++) {
        const ms_panel panel = {.x = p->left + i * (width + PANEL_GAP),
                                .y = p->y,
                                .width = width,
                                .row_height = fit(560.0 / p->rows_shown, 10.0, 26.0),
                                .start = excerpts[i].start,
                                .end = excerpts[i].end,
                                .row_step = p->row_step,
                                .has_labels = i == 0};
        ms_buffer_printf(p->out,
                         "<text x=\"%g\" y=\"%g\" font-size=\"12\" font-weight=\"bold\" "
                         "fill=\"#111\">%s</text>\n",
                         ms_svg_round(panel.x), ms_svg_round(p->y - 6.0), excerpts[i].text);
        ms_panel_draw(&panel, &p->sorted, p->out);
        height = ms_panel_height(&panel, gantt->rows);
    }
    p->y += height + AXIS_HEIGHT;
}

static void draw_page(page *p) {
    ms_buffer body;
    ms_buffer *whole = p->out;
    ms_buffer_init(&body);
    p->out = &body;
    draw_head(p);
    double width = PAGE_WIDTH - RIGHT - p->left;
    if (p->sorted.median / p->sorted.gantt->end * width >= BOX_LEAST_PX) {
        draw_single(p);
    } else {
        draw_excerpts(p);
    }
    if (p->row_step > 1) {
        ms_buffer_printf(p->out,
                         "<text x=\"%g\" y=\"%g\" font-size=\"11\" fill=\"#666\">every %d. of %d "
                         "rows is shown</text>\n",
                         p->left, p->y + 12.0, p->row_step, p->sorted.gantt->rows);
        p->y += 18.0;
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
    whole->failed = whole->failed || body.failed;
    ms_buffer_release(&body);
}

static double label_width(const ms_gantt *gantt) {
    size_t longest = 0;
    for (int32_t row = 0; row < gantt->rows; row++) {
        size_t length = strnlen(gantt->row_labels[row], LABEL_MAX);
        longest = length > longest ? length : longest;
    }
    return 6.2 * (double)longest + 18.0;
}

ms_status ms_gantt_write_svg(const ms_gantt *gantt, ms_buffer *out) {
    if (!is_sound(gantt)) {
        return MS_E_RANGE;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    page p = {.out = out, .left = label_width(gantt)};
    ms_status status = sort_boxes(gantt, &scratch, &p.sorted);
    if (status == MS_OK) {
        p.row_step = (gantt->rows + ROWS_SHOWN_MAX - 1) / ROWS_SHOWN_MAX;
        p.rows_shown = (gantt->rows + p.row_step - 1) / p.row_step;
        p.sorted.median = median_pass(gantt, &scratch);
        draw_page(&p);
        status = out->failed ? MS_E_NOMEM : MS_OK;
    }
    ms_arena_release(&scratch);
    return status;
}
