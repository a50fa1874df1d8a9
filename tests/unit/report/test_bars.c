/* Pictures of stacked bars. */
#include <criterion/criterion.h>
#include <string.h>

#include "meshsim/bars.h"

static const char *const NAMES[] = {"0", "a<b"};
static const char *const PARTS[] = {"lower", "upper"};
static const char *const COLOURS[] = {"#0072b2", "#e69f00"};
static const double KIB = 1024;

static size_t count_of(const ms_buffer *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(ms_buffer_text(text), word); at != NULL;
         at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Bars of 30 and 50 KiB. */
static void draw(double limit, size_t bars, ms_buffer *out) {
    const double values[] = {10 * KIB, 20 * KIB, 10 * KIB, 40 * KIB};
    const ms_bars picture = {.title = "t & u",
                             .x_label = "rank",
                             .y_label = "memory",
                             .names = NAMES,
                             .count = bars,
                             .parts = PARTS,
                             .colours = COLOURS,
                             .part_count = 2,
                             .values = values,
                             .dim = MS_DIM_BYTES,
                             .limit = limit,
                             .limit_name = "most",
                             .over_note = "too much"};
    ms_buffer_init(out);
    ms_bars_write(&picture, out);
}

/* The top is 1.1 times 50 KiB at 50 px, the bottom 360 px below it. */
Test(bars, parts_stand_upon_each_other) {
    ms_buffer out;
    draw(40 * KIB, 2, &out);
    cr_assert_eq(count_of(&out, "y=\"344.5\" width=\"72.0\" height=\"65.5\" fill=\"#0072b2\""),
                 (size_t)2, "10 of 55 KiB, %s", ms_buffer_text(&out));
    cr_assert_eq(count_of(&out, "y=\"82.7\" width=\"72.0\" height=\"261.8\" fill=\"#e69f00\""),
                 (size_t)1, "40 of 55 KiB");
    cr_assert_eq(count_of(&out, "<title>rank a&lt;b: upper 40 KiB of 50 KiB</title>"), (size_t)1);
    cr_assert_eq(count_of(&out, ">40 KiB</text>"), (size_t)1, "ticks are round in KiB");
    cr_assert_eq(count_of(&out, ">most: 40 KiB</text>"), (size_t)1);
    cr_assert_eq(count_of(&out, "t &amp; u"), (size_t)1);
    ms_buffer_release(&out);
}

Test(bars, what_is_above_the_limit_is_marked) {
    static const struct {
        double limit;
        size_t marks;
    } CASES[] = {{20, 2}, {30, 1}, {50, 0}, {80, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer out;
        draw(CASES[i].limit * KIB, 2, &out);
        cr_assert_eq(count_of(&out, ">!</text>"), CASES[i].marks, "case %zu", i);
        cr_assert_eq(count_of(&out, "! too much"), (size_t)(CASES[i].marks > 0), "case %zu", i);
        ms_buffer_release(&out);
    }
}

Test(bars, nothing_to_draw_is_a_picture_all_the_same) {
    ms_buffer out;
    draw(0, 0, &out);
    cr_assert_eq(count_of(&out, "</svg>"), (size_t)1);
    cr_assert_null(strstr(ms_buffer_text(&out), "nan"));
    cr_assert_null(strstr(ms_buffer_text(&out), "inf"));
    ms_buffer_release(&out);
}
