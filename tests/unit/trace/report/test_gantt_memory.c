/* Memory curves, phases and stacked pictures. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "trace/report/report.h"

static const char *const NAMES[] = {"pp 0", "pp 1"};

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* The `index`-th place of `word`. */
static const char *nth(const char *text, const char *word, int index) {
    const char *at = strstr(text, word);
    for (int i = 0; i < index && at != NULL; i++) {
        at = strstr(at + 1, word);
    }
    cr_assert_not_null(at, "%s %d", word, index);
    return at;
}

static double number_after(const char *at, const char *key) {
    const char *found = strstr(at, key);
    cr_assert_not_null(found, "%s", key);
    return strtod(found + strlen(key), NULL);
}

/* Two rows, 0 to 8: F, F, B, B on the first; F, B, F, B on the second. */
static const ms_gantt_box BOXES[] = {
    {.start = 0, .end = 1, .row = 0, .mb = 0, .kind = MS_OP_FORWARD},
    {.start = 1, .end = 2, .row = 0, .mb = 1, .kind = MS_OP_FORWARD},
    {.start = 4, .end = 6, .row = 0, .mb = 0, .kind = MS_OP_BACKWARD},
    {.start = 6, .end = 8, .row = 0, .mb = 1, .kind = MS_OP_BACKWARD},
    {.start = 1, .end = 2, .row = 1, .mb = 0, .kind = MS_OP_FORWARD},
    {.start = 2, .end = 4, .row = 1, .mb = 0, .kind = MS_OP_BACKWARD},
    {.start = 4, .end = 5, .row = 1, .mb = 1, .kind = MS_OP_FORWARD},
    {.start = 5, .end = 7, .row = 1, .mb = 1, .kind = MS_OP_BACKWARD},
};
static const ms_gantt_level LEVELS[] = {{0, 1}, {1, 2}, {6, 1}, {8, 0},
                                        {1, 1}, {4, 0}, {4, 1}, {7, 0}};
static const size_t FIRST[] = {0, 4, 8};

static ms_gantt picture(const ms_gantt_memory *memory, double end) {
    return (ms_gantt){.title = "title",
                      .subtitle = "subtitle",
                      .row_labels = NAMES,
                      .rows = 2,
                      .boxes = BOXES,
                      .box_count = sizeof BOXES / sizeof BOXES[0],
                      .memory = memory,
                      .end = end};
}

Test(gantt_memory, a_curve_per_row_with_its_peak) {
    const ms_gantt_memory memory = {.name = "in flight", .levels = LEVELS, .row_first = FIRST};
    const ms_gantt gantt = picture(&memory, 8);
    ms_buffer svg;
    ms_buffer_init(&svg);
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    const char *curves = strstr(ms_buffer_text(&svg), "<g class=\"memory\"");
    cr_assert_not_null(curves);
    cr_assert_not_null(strstr(ms_buffer_text(&svg), ">in flight, from 0 to 2</text>"));
    cr_assert_eq(count_of(curves, "<path fill=\"#"), 2U);
    cr_assert_eq(number_after(nth(curves, "text-anchor=\"start\"", 0), ">"), 2.0);
    cr_assert_eq(number_after(nth(curves, "text-anchor=\"start\"", 1), ">"), 1.0);
    /* the first row holds 1 from 0, 2 from 1, 1 from 6 on */
    const char *panel = strstr(ms_buffer_text(&svg), "<g class=\"panel\"");
    double left = number_after(strstr(panel, "</g>"), "<rect x=\"");
    double width = number_after(strstr(strstr(panel, "</g>"), "<rect x=\""), "width=\"");
    const char *path = nth(curves, "<path fill=\"#", 0);
    const char *one = strstr(path, "H");     /* level 1 from 0 */
    const char *two = strstr(one + 1, "H");  /* level 2 from 1 */
    const char *less = strstr(two + 1, "H"); /* level 1 from 6 */
    cr_assert_float_eq(number_after(one, "H"), left, 0.11);
    cr_assert_float_eq(number_after(two, "H"), left + width / 8, 0.11);
    cr_assert_float_eq(number_after(less, "H"), left + width * 6 / 8, 0.11);
    double bottom = strtod(strchr(strstr(path, "d=\"M"), ' ') + 1, NULL);
    double rise_one = bottom - number_after(one, "V");
    double rise_two = bottom - number_after(two, "V");
    cr_assert_float_eq(rise_two, 2 * rise_one, 0.25);
    ms_buffer_release(&svg);
}

Test(gantt_memory, a_near_capacity_is_drawn_and_a_far_one_named) {
    static const struct {
        double limit;
        bool is_drawn;
        const char *words;
    } CASES[] = {{3, true, ">memory, from 0 to 3 B; dotted: capacity 3 B</text>"},
                 {2, true, ">memory, from 0 to 2 B; dotted: capacity 2 B</text>"},
                 {100, false, ">memory, from 0 to 2 B; capacity 100 B</text>"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_gantt_memory memory = {.name = "memory",
                                        .levels = LEVELS,
                                        .row_first = FIRST,
                                        .limit = CASES[i].limit,
                                        .has_bytes = true};
        const ms_gantt gantt = picture(&memory, 8);
        ms_buffer svg;
        ms_buffer_init(&svg);
        cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
        const char *text = ms_buffer_text(&svg);
        cr_assert_eq(count_of(text, "stroke-dasharray"), CASES[i].is_drawn ? 2U : 0U, "case %zu",
                     i);
        cr_assert_not_null(strstr(text, CASES[i].words), "case %zu", i);
        ms_buffer_release(&svg);
    }
}

Test(gantt_memory, levels_that_cannot_be_are_refused) {
    static const ms_gantt_level BAD[] = {{0, -1}, {0, NAN}, {0, INFINITY}, {-1, 1}, {NAN, 1}};
    static const size_t ONE[] = {0, 1, 1};
    ms_buffer svg;
    ms_buffer_init(&svg);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const ms_gantt_memory memory = {.name = "m", .levels = &BAD[i], .row_first = ONE};
        const ms_gantt gantt = picture(&memory, 8);
        cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_E_RANGE, "case %zu", i);
        cr_assert_eq(svg.length, 0U);
    }
    ms_buffer_release(&svg);
}

/* Warm-up until a row's first backward pass, cool-down from the end of its last forward one. */
Test(gantt_phases, hatches_end_where_the_phases_meet) {
    static const double WARM[] = {4, 2};
    static const double COOL[] = {2 /* not before the warm-up's end */, 5};
    const ms_gantt gantt = picture(NULL, 8);
    ms_buffer svg;
    ms_buffer_init(&svg);
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    const char *panel = strstr(ms_buffer_text(&svg), "<g class=\"panel\"");
    const char *frame = strstr(strstr(panel, "</g>"), "<rect x=\"");
    double left = number_after(frame, "x=\"");
    double pixels = number_after(frame, "width=\"") / 8;
    for (int row = 0; row < 2; row++) {
        const char *warm = nth(panel, "fill=\"url(#warm-up)\"", row);
        const char *cool = nth(panel, "fill=\"url(#cool-down)\"", row);
        while (*warm != '<') {
            warm--;
        }
        while (*cool != '<') {
            cool--;
        }
        cr_assert_float_eq(number_after(warm, "x=\""), left, 0.11);
        cr_assert_float_eq(number_after(warm, "width=\""), WARM[row] * pixels, 0.11);
        double from = fmax(WARM[row], COOL[row]);
        cr_assert_float_eq(number_after(cool, "x=\""), left + from * pixels, 0.11);
        cr_assert_float_eq(number_after(cool, "width=\""), (8 - from) * pixels, 0.11);
    }
    ms_buffer_release(&svg);
}

Test(gantt_stack, pictures_have_one_time_axis_and_their_distance_to_the_shortest) {
    const ms_gantt_memory memory = {.name = "in flight", .levels = LEVELS, .row_first = FIRST};
    const ms_gantt gantts[] = {picture(&memory, 16), picture(&memory, 8), picture(NULL, 10)};
    ms_buffer svg;
    ms_buffer_init(&svg);
    cr_assert_eq(ms_gantt_write_svg(gantts, 3, &svg), MS_OK);
    const char *text = ms_buffer_text(&svg);
    cr_assert_eq(count_of(text, "<g class=\"panel\""), 3U);
    cr_assert_eq(count_of(text, "<g class=\"memory\""), 2U);
    cr_assert_not_null(strstr(text, "8 (100.0 %) more than the shortest"));
    cr_assert_not_null(strstr(text, "the shortest</text>"));
    cr_assert_not_null(strstr(text, "2 (25.0 %) more than the shortest"));
    double left = 0;
    double pixels = 0;
    static const double ENDS[] = {16, 8, 8, 10, 8}; /* own end, and the shortest where it differs */
    for (int i = 0; i < 3; i++) {
        const char *frame =
            strstr(strstr(nth(text, "<g class=\"panel\"", i), "</g>"), "<rect x=\"");
        double x = number_after(frame, "x=\"");
        double width = number_after(frame, "width=\"");
        cr_assert(i == 0 || (x == left && width == pixels * 16));
        left = x;
        pixels = width / 16;
    }
    cr_assert_eq(count_of(text, "<path class=\"end\""), 5U);
    for (int i = 0; i < 5; i++) {
        double x = number_after(nth(text, "<path class=\"end\"", i), "d=\"M");
        cr_assert_float_eq(x, left + ENDS[i] * pixels, 0.11, "end %d", i);
    }
    ms_buffer_release(&svg);
}

Test(gantt_stack, none_and_too_many_are_refused) {
    ms_gantt gantts[MS_GANTT_PICTURES_MAX + 1];
    ms_buffer svg;
    ms_buffer_init(&svg);
    for (int i = 0; i <= MS_GANTT_PICTURES_MAX; i++) {
        gantts[i] = picture(NULL, 8);
    }
    cr_assert_eq(ms_gantt_write_svg(gantts, 0, &svg), MS_E_RANGE);
    cr_assert_eq(ms_gantt_write_svg(gantts, MS_GANTT_PICTURES_MAX + 1, &svg), MS_E_RANGE);
    cr_assert_eq(svg.length, 0U);
    cr_assert_eq(ms_gantt_write_svg(gantts, MS_GANTT_PICTURES_MAX, &svg), MS_OK);
    ms_buffer_release(&svg);
}

/* Passes of random lengths, kinds, halves and chunks, and memory that changes with each. */
static ms_gantt random_picture(ms_random *random, ms_arena *arena, int32_t rows, int32_t passes) {
    const char **names = MS_NEW(arena, const char *, rows);
    ms_gantt_box *boxes = MS_NEW(arena, ms_gantt_box, rows * passes);
    ms_gantt_level *levels = MS_NEW(arena, ms_gantt_level, rows * passes);
    size_t *first = MS_NEW(arena, size_t, rows + 1);
    ms_gantt_memory *memory = MS_NEW(arena, ms_gantt_memory, 1);
    for (int32_t row = 0; row < rows; row++) {
        double time = 0.0;
        names[row] = ms_arena_printf(arena, "pp %d", row);
        first[row + 1] = (size_t)(row + 1) * (size_t)passes;
        for (int32_t i = 0; i < passes; i++) {
            double length = 0.2 + ms_random_unit(random);
            boxes[row * passes + i] =
                (ms_gantt_box){.start = time,
                               .end = time + length,
                               .row = row,
                               .mb = i,
                               .chunk = (int16_t)ms_random_range(random, 0, 3),
                               .kind = (uint8_t)ms_random_range(random, 0, MS_OP_P2P),
                               .half = (uint8_t)ms_random_range(random, 0, 2)};
            levels[row * passes + i] = (ms_gantt_level){time, 1e9 + 1e10 * ms_random_unit(random)};
            time += length;
        }
    }
    *memory = (ms_gantt_memory){
        .name = "memory", .levels = levels, .row_first = first, .limit = 2e10, .has_bytes = true};
    return (ms_gantt){.title = "random",
                      .row_labels = names,
                      .rows = rows,
                      .boxes = boxes,
                      .box_count = (size_t)rows * (size_t)passes,
                      .memory = memory,
                      .end = 1.2 * passes,
                      .has_seconds = true};
}

Test(gantt_stack, any_number_of_boxes_and_levels_stays_small, .timeout = 100) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 1 : strtoull(given, NULL, 0);
    ms_random random = {seed};
    static const int32_t ROWS[] = {1, 16, 33, 100};
    static const int32_t PASSES[] = {1, 60, 90, 250, 400, 700};
    static const size_t COUNTS[] = {1, 2, 8};
    for (size_t i = 0; i < 4 * 6 * 3; i++) {
        ms_arena arena;
        ms_buffer svg;
        ms_arena_init(&arena);
        ms_buffer_init(&svg);
        ms_gantt gantts[8];
        int32_t rows = ROWS[i % 4];
        int32_t passes = PASSES[i / 4 % 6];
        size_t count = COUNTS[i / 24];
        for (size_t j = 0; j < count; j++) {
            gantts[j] = random_picture(&random, &arena, rows, passes);
        }
        cr_assert_eq(ms_gantt_write_svg(gantts, count, &svg), MS_OK);
        const char *text = ms_buffer_text(&svg);
        cr_assert_lt(svg.length, 3000000U, "MS_SEED=%llu, %zu of %d x %d: %zu",
                     (unsigned long long)seed, count, rows, passes, svg.length);
        cr_assert_eq(count_of(text, "nan") + count_of(text, "inf"), 0U, "%zu of %d x %d", count,
                     rows, passes);
        cr_assert_eq(count_of(text, "<g "), count_of(text, "</g>"));
        cr_assert_eq(count_of(text, "<text "), count_of(text, "</text>"));
        cr_assert_eq(count_of(text, "<g class=\"memory\""), count);
        ms_buffer_release(&svg);
        ms_arena_release(&arena);
    }
}
