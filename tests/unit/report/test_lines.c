/* Pictures of sweeps. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "meshsim/lines.h"

static const char *const NAMES[] = {"1", "2", "64"};
static const char *const SERIES[] = {"a<b", "second"};
static const double PLACES[] = {1, 2, 64};
static const ms_lines_value VALUES[] = {{.value = 0.010}, {.value = 0.020, .name = "x & y"},
                                        {.value = 0.040}, {.value = 0.030},
                                        {.value = NAN},   {.value = 0.020, .is_marked = true}};

static ms_lines make(void) {
    return (ms_lines){.title = "t",
                      .x_label = "mesh.tp",
                      .y_label = "step_time_s",
                      .x_names = NAMES,
                      .x = PLACES,
                      .x_count = 3,
                      .series = SERIES,
                      .series_count = 2,
                      .values = VALUES,
                      .dim = MS_DIM_TIME,
                      .mark_note = "too large"};
}

static size_t count_of(const ms_buffer *text, const char *word) {
    size_t count = 0;
    const char *at = ms_buffer_text(text);
    while ((at = strstr(at, word)) != NULL) {
        count++;
        at += strlen(word);
    }
    return count;
}

Test(lines, a_line_for_each_series_broken_where_there_is_no_value) {
    ms_buffer out;
    ms_buffer_init(&out);
    const ms_lines lines = make();
    ms_lines_write(&lines, &out);
    /* Two lines and a tick. Logarithms of 1, 2 and 64 lie at 0, 1/6 and 1 of the width without its
     * margins */
    cr_assert_eq(count_of(&out, "d=\"M105.8,"), (size_t)3, "%s", ms_buffer_text(&out));
    cr_assert_not_null(strstr(ms_buffer_text(&out), "L193.9,"), "%s", ms_buffer_text(&out));
    cr_assert_not_null(strstr(ms_buffer_text(&out), "M634.2,"));
    cr_assert_eq(count_of(&out, "fill-opacity=\"0\""), (size_t)1, "one is hollow");
    cr_assert_eq(count_of(&out, "fill-opacity=\"0.8\""), (size_t)(4 + 2), "and of the legend");
    cr_assert_eq(count_of(&out, "a&lt;b"), (size_t)1);
    cr_assert_eq(count_of(&out, "<title>x &amp; y</title>"), (size_t)1);
    cr_assert_eq(count_of(&out, "hollow: too large"), (size_t)1);
    cr_assert_eq(count_of(&out, ">0 s<"), (size_t)1, "the axis of values starts at 0");
    cr_assert_eq(count_of(&out, ">40 ms<"), (size_t)1);
    ms_buffer_release(&out);
}

Test(lines, words_lie_at_equal_distances) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_lines lines = make();
    lines.x = NULL;
    ms_lines_write(&lines, &out);
    cr_assert_not_null(strstr(ms_buffer_text(&out), "M183.3,"), "%s", ms_buffer_text(&out));
    cr_assert_not_null(strstr(ms_buffer_text(&out), "L370,"));
    ms_buffer_release(&out);
}

Test(lines, a_cell_for_each_value_from_pale_to_dark) {
    ms_buffer out;
    ms_buffer_init(&out);
    const ms_lines lines = make();
    ms_lines_write_heat(&lines, &out);
    cr_assert_eq(count_of(&out, "<rect x="), (size_t)6);
    cr_assert_eq(count_of(&out, ">10 ms</text>"), (size_t)1);
    cr_assert_eq(count_of(&out, ">20 ms !</text>"), (size_t)1);
    cr_assert_eq(count_of(&out, ">-</text>"), (size_t)1);
    cr_assert_eq(count_of(&out, "fill=\"#ffffd9\""), (size_t)1, "the least");
    cr_assert_eq(count_of(&out, "fill=\"#081c59\""), (size_t)1, "the largest");
    cr_assert_eq(count_of(&out, " fill=\"#fff\">40 ms"), (size_t)1, "white on dark");
    ms_buffer_release(&out);
}

Test(lines, nothing_to_draw_is_a_picture_all_the_same) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_lines lines = make();
    const ms_lines_value none[] = {{.value = NAN}, {.value = NAN}, {.value = NAN}};
    lines.values = none;
    lines.series_count = 1;
    ms_lines_write(&lines, &out);
    ms_lines_write_heat(&lines, &out);
    cr_assert_eq(count_of(&out, "</svg>"), (size_t)2);
    cr_assert_null(strstr(ms_buffer_text(&out), "nan"));
    cr_assert_null(strstr(ms_buffer_text(&out), "inf"));
    ms_buffer_release(&out);
}
