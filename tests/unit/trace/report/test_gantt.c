#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "trace_fixture.h"

#include "trace/report/gantt_sorted.h"
#include "trace/report/report.h"

enum { SVG_LIMIT_B = 3000000 };

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Every start tag of pieces that have content is closed, and no number failed. */
static void assert_sound(const ms_buffer *svg, const char *what) {
    const char *text = ms_buffer_text(svg);
    cr_assert_eq(strncmp(text, "<svg xmlns=", 11), 0, "%s", what);
    cr_assert_str_eq(text + svg->length - 7, "</svg>\n");
    cr_assert_eq(count_of(text, "<g "), count_of(text, "</g>"), "%s", what);
    cr_assert_eq(count_of(text, "<text "), count_of(text, "</text>"), "%s", what);
    cr_assert_eq(count_of(text, "=\"nan") + count_of(text, "=\"-nan") + count_of(text, "=\"inf"),
                 0U, "%s", what);
    cr_assert_lt(svg->length, (size_t)SVG_LIMIT_B, "%s", what);
}

static const char *const *labels(ms_arena *arena, int32_t rows) {
    const char **names = MS_NEW(arena, const char *, rows);
    for (int32_t row = 0; row < rows; row++) {
        names[row] = ms_arena_printf(arena, "pp %d", row);
    }
    return names;
}

Test(gantt, a_small_picture_shows_every_box_with_its_number) {
    ms_arena arena;
    ms_buffer svg;
    ms_arena_init(&arena);
    ms_buffer_init(&svg);
    const ms_gantt_box boxes[] = {
        {.start = 0, .end = 1, .row = 0, .mb = 41, .kind = MS_OP_FORWARD},
        {.start = 1, .end = 3, .row = 1, .mb = 42, .kind = MS_OP_BACKWARD, .chunk = 1},
        {.start = 2, .end = 3, .row = 0, .mb = 43, .kind = MS_OP_WEIGHT_GRAD},
        {.start = 3, .end = 4, .row = 1, .mb = 44, .kind = MS_OP_INPUT_GRAD},
        {.start = 4, .end = 5, .row = 1, .mb = -1, .kind = MS_OP_OPTIMIZER},
        {.start = 5, .end = 6, .row = 1, .mb = -1, .kind = MS_OP_ALL_REDUCE, .axis = MS_AXIS_DP},
    };
    const ms_gantt gantt = {.title = "<a & b>",
                            .row_labels = labels(&arena, 2),
                            .rows = 2,
                            .boxes = boxes,
                            .box_count = 6,
                            .end = 6};
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    assert_sound(&svg, "small");
    const char *text = ms_buffer_text(&svg);
    static const char *const WORDS[] = {
        ">F41</text>", ">B42</text>",       ">W43</text>",      ">I44</text>",
        ">opt</text>", ">dp</text>",        ">pp 1</text>",     "&lt;a &amp; b&gt;",
        "F forward",   "W weight gradient", "I input gradient", "paler: later chunk",
        ">6.0</text>"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        cr_assert_not_null(strstr(text, WORDS[i]), "%s", WORDS[i]);
    }
    cr_assert_null(strstr(text, "recomputation"));
    cr_assert_eq(count_of(text, "<title>"), 6U);
    ms_buffer_release(&svg);
    ms_arena_release(&arena);
}

Test(gantt, boxes_without_a_row_or_a_time_are_refused) {
    const char *const names[] = {"pp 0"};
    static const ms_gantt_box BAD[] = {
        {.start = 0, .end = 1, .row = 1},        {.start = 0, .end = 1, .row = -1},
        {.start = 2, .end = 1, .row = 0},        {.start = -1, .end = 1, .row = 0},
        {.start = NAN, .end = 1, .row = 0},      {.start = 0, .end = NAN, .row = 0},
        {.start = 0, .end = INFINITY, .row = 0}, {.start = 0, .end = 1, .row = 0, .half = 3},
    };
    ms_buffer svg;
    ms_buffer_init(&svg);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const ms_gantt gantt = {
            .row_labels = names, .rows = 1, .boxes = &BAD[i], .box_count = 1, .end = 1};
        cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_E_RANGE, "case %zu", i);
        cr_assert_eq(svg.length, 0U);
    }
    const ms_gantt no_time = {.row_labels = names, .rows = 1, .end = 0};
    cr_assert_eq(ms_gantt_write_svg(&no_time, 1, &svg), MS_E_RANGE);
    const ms_gantt empty = {.row_labels = names, .rows = 1, .end = 1};
    cr_assert_eq(ms_gantt_write_svg(&empty, 1, &svg), MS_OK);
    assert_sound(&svg, "empty");
    ms_buffer_release(&svg);
}

/* Number after `key` in the `index`-th tag that starts with `tag`. */
static double number_in(const char *text, const char *tag, int index, const char *key) {
    const char *at = strstr(text, tag);
    for (int i = 0; i < index && at != NULL; i++) {
        at = strstr(at + 1, tag);
    }
    cr_assert_not_null(at, "%s %d", tag, index);
    return strtod(strstr(at, key) + strlen(key), NULL);
}

Test(gantt, passes_that_run_together_share_a_row) {
    const char *const names[] = {"pp 0"};
    const ms_gantt_box boxes[] = {
        {.start = 0, .end = 2, .row = 0, .mb = 1, .kind = MS_OP_BACKWARD, .half = 2},
        {.start = 0, .end = 2, .row = 0, .mb = 2, .kind = MS_OP_FORWARD, .half = 1}};
    const ms_gantt gantt = {
        .row_labels = names, .rows = 1, .boxes = boxes, .box_count = 2, .end = 2};
    ms_buffer svg;
    ms_buffer_init(&svg);
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    assert_sound(&svg, "halves");
    const char *panel = strstr(ms_buffer_text(&svg), "<g class=\"panel\"");
    double upper = number_in(panel, "<rect ", 0, " y=\"");
    double height = number_in(panel, "<rect ", 0, " height=\"");
    double lower = number_in(panel, "<rect ", 1, " y=\"");
    cr_assert_geq(lower, upper + height);
    cr_assert_eq(height, number_in(panel, "<rect ", 1, " height=\""));
    cr_assert_not_null(strstr(ms_buffer_text(&svg), ">overlapped pair</text>"));
    cr_assert_not_null(strstr(panel, ">forward mb 2"));
    cr_assert_lt(strstr(panel, ">forward mb 2"), strstr(panel, ">backward mb 1"));
    ms_buffer_release(&svg);
}

/* Rows of passes of random lengths with random gaps. */
static void fill_random(ms_random *random, int32_t rows, int64_t passes, ms_vector *boxes) {
    for (int32_t row = 0; row < rows; row++) {
        double time = 0.0;
        for (int64_t i = 0; i < passes; i++) {
            time += ms_random_unit(random) < 0.2 ? ms_random_unit(random) : 0.0;
            double length = 0.2 + ms_random_unit(random);
            ms_gantt_box box = {.start = time,
                                .end = time + length,
                                .row = row,
                                .mb = (int32_t)(i / 2),
                                .chunk = (int16_t)ms_random_range(random, 0, 3),
                                .kind = (uint8_t)ms_random_range(random, 0, MS_OP_OPTIMIZER)};
            ms_vector_add(boxes, &box, 1);
            box.end = time + 0.3 * length;
            box.kind = MS_OP_RECOMPUTE;
            box.is_part = true;
            ms_vector_add(boxes, &box, 1);
            time += length;
        }
    }
}

Test(gantt, any_number_of_boxes_stays_small_and_sound, .timeout = 100) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 1 : strtoull(given, NULL, 0);
    ms_random random = {seed};
    static const int32_t ROWS[] = {1, 4, 16, 64, 65, 200};
    static const int64_t PASSES[] = {1, 16, 200, 240, 1000};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (size_t j = 0; j < sizeof PASSES / sizeof PASSES[0]; j++) {
            ms_arena arena;
            ms_buffer svg;
            ms_vector boxes;
            ms_arena_init(&arena);
            ms_buffer_init(&svg);
            ms_vector_init(&boxes, sizeof(ms_gantt_box));
            fill_random(&random, ROWS[i], PASSES[j], &boxes);
            const ms_gantt gantt = {.row_labels = labels(&arena, ROWS[i]),
                                    .rows = ROWS[i],
                                    .boxes = boxes.data,
                                    .box_count = boxes.count,
                                    .end = 1.5 * (double)PASSES[j] + 1.5,
                                    .has_seconds = true};
            const char *what =
                ms_arena_printf(&arena, "MS_SEED=%llu, %d rows of %lld", (unsigned long long)seed,
                                ROWS[i], (long long)PASSES[j]);
            cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK, "%s", what);
            assert_sound(&svg, what);
            bool is_density = strstr(ms_buffer_text(&svg), "height of a colour") != NULL;
            cr_assert_eq(strstr(ms_buffer_text(&svg), "one row in ") != NULL,
                         ROWS[i] > (is_density ? 32 : 64), "%s", what);
            ms_vector_release(&boxes);
            ms_buffer_release(&svg);
            ms_arena_release(&arena);
        }
    }
}

/* ---- overviews and excerpts ---- */

/* A row of `times` times the sequence of passes given by their letters, each of its own length. */
static void add_sequence(ms_vector *boxes, const char *sequence, int times) {
    double time = 0.0;
    for (int i = 0; i < times; i++) {
        for (const char *at = sequence; *at != '\0'; at++) {
            bool is_later = *at == 'f' || *at == 'b'; /* chunk */
            bool is_forward = *at == 'F' || *at == 'f';
            const ms_gantt_box box = {.start = time,
                                      .end = time + (is_forward ? 1.0 : 2.0),
                                      .mb = i,
                                      .chunk = is_later ? 1 : 0,
                                      .kind = is_forward   ? MS_OP_FORWARD
                                              : *at == 'W' ? MS_OP_WEIGHT_GRAD
                                                           : MS_OP_BACKWARD};
            ms_vector_add(boxes, &box, 1);
            time = box.end;
        }
    }
}

/* What an excerpt of the middle shows, by the ticks of its axis, which stands below the third
 * panel: from the first to the last one [time units]. */
static double ticks_apart(const char *svg, int panel) {
    const char *at = svg;
    for (int i = 0; i <= panel; i++) {
        at = strstr(at + 1, "<g class=\"panel\"");
        cr_assert_not_null(at);
    }
    at = strstr(at, "<g font-size=\"10\" text-anchor=\"middle\"");
    const char *end = strstr(at, "</g>");
    double first = NAN;
    double last = NAN;
    for (at = strstr(at, "<text "); at != NULL && at < end; at = strstr(at + 1, "<text ")) {
        last = strtod(strchr(at, '>') + 1, NULL);
        first = isnan(first) ? last : first;
    }
    return last - first;
}

Test(gantt, the_middle_excerpt_shows_periods_of_the_steady_phase) {
    static const struct {
        const char *sequence;
        const char *caption;
        int32_t passes;
        double length, shown; /* 0: as much as can be read */
    } CASES[] = {
        {"FB", "b  two periods of the steady phase", 2, 3, 6},
        {"FBW", "b  two periods of the steady phase", 3, 5, 10},
        {"FFFFFFFFBBBBBBBBffffffffbbbbbbbb", "b  one period of the steady phase", 32, 48, 48},
    };
    ms_arena arena;
    ms_arena_init(&arena);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer svg;
        ms_vector boxes;
        ms_gantt_sorted sorted;
        ms_buffer_init(&svg);
        ms_vector_init(&boxes, sizeof(ms_gantt_box));
        add_sequence(&boxes, CASES[i].sequence, 1200 / (int)strlen(CASES[i].sequence));
        const ms_gantt_box *last = &MS_AT(&boxes, const ms_gantt_box, boxes.count - 1);
        const ms_gantt gantt = {.row_labels = labels(&arena, 1),
                                .rows = 1,
                                .boxes = boxes.data,
                                .box_count = boxes.count,
                                .end = last->end};
        cr_assert_eq(ms_gantt_sort(&gantt, gantt.end, &arena, &sorted), MS_OK);
        cr_assert_eq(sorted.period.passes, CASES[i].passes, "%s", CASES[i].sequence);
        cr_assert_float_eq(sorted.period.length, CASES[i].length, 1e-9, "%s", CASES[i].sequence);
        cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
        cr_assert_not_null(strstr(ms_buffer_text(&svg), CASES[i].caption), "%s", CASES[i].sequence);
        double apart = ticks_apart(ms_buffer_text(&svg), 2);
        cr_assert(apart <= CASES[i].shown && apart > 0.6 * CASES[i].shown, "%s: %g of %g",
                  CASES[i].sequence, apart, CASES[i].shown);
        ms_vector_release(&boxes);
        ms_buffer_release(&svg);
    }
    ms_arena_release(&arena);
}

/* Passes in an order that nothing repeats have no period. */
Test(gantt, a_random_order_has_no_period) {
    ms_random random = {1};
    ms_arena arena;
    ms_vector boxes;
    ms_gantt_sorted sorted;
    ms_arena_init(&arena);
    ms_vector_init(&boxes, sizeof(ms_gantt_box));
    fill_random(&random, 1, 500, &boxes);
    const ms_gantt gantt = {.row_labels = labels(&arena, 1),
                            .rows = 1,
                            .boxes = boxes.data,
                            .box_count = boxes.count,
                            .end = 1500};
    cr_assert_eq(ms_gantt_sort(&gantt, gantt.end, &arena, &sorted), MS_OK);
    cr_assert_eq(sorted.period.passes, 0);
    cr_assert_eq(sorted.period.length, 0.0);
    ms_vector_release(&boxes);
    ms_arena_release(&arena);
}

/* Forward passes are a fifth of a long run of many ranks: three pixels or more in its overview. */
Test(gantt, forward_passes_of_long_runs_are_seen) {
    ms_arena arena;
    ms_buffer svg;
    ms_vector boxes;
    ms_arena_init(&arena);
    ms_buffer_init(&svg);
    ms_vector_init(&boxes, sizeof(ms_gantt_box));
    for (int32_t row = 0; row < 64; row++) {
        size_t first = boxes.count;
        add_sequence(&boxes, "FBW", 600);
        for (size_t i = first; i < boxes.count; i++) {
            MS_AT(&boxes, ms_gantt_box, i).row = row;
        }
    }
    const ms_gantt gantt = {.row_labels = labels(&arena, 64),
                            .rows = 64,
                            .boxes = boxes.data,
                            .box_count = boxes.count,
                            .end = 3000};
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    const char *text = ms_buffer_text(&svg);
    cr_assert_not_null(strstr(text, "height of a colour"));
    cr_assert_not_null(strstr(text, "one row in 2 is shown, of 64"));
    const char *path = "<path fill=\"#56b4e9\" d=\"M";
    cr_assert_eq(count_of(text, path), 32U);
    double x = 0.0;
    double bottom = 0.0;
    double top = 0.0;
    cr_assert_eq(sscanf(strstr(text, path) + strlen(path), "%lf %lfV%lf", &x, &bottom, &top), 3);
    cr_assert_geq(bottom - top, 3.0);
    ms_vector_release(&boxes);
    ms_buffer_release(&svg);
    ms_arena_release(&arena);
}

/* ---- what the legend and the numbers say ---- */

/* A row of passes of equal length, numbered from 0. */
static ms_gantt_box *make_passes(ms_arena *arena, int32_t count, int32_t chunks) {
    ms_gantt_box *boxes = MS_NEW(arena, ms_gantt_box, count);
    for (int32_t i = 0; i < count; i++) {
        boxes[i] = (ms_gantt_box){.start = i,
                                  .end = i + 1,
                                  .mb = i,
                                  .chunk = (int16_t)(i % chunks),
                                  .kind = MS_OP_FORWARD};
    }
    return boxes;
}

Test(gantt, parts_and_directions_are_named) {
    static const struct {
        int32_t parts;
        bool has_directions;
        const char *has[2], *lacks;
    } CASES[] = {
        {0, false, {">number: microbatch<", ">F5<"}, "part"},
        {2, false, {">number: microbatch.part of its sequences<", ">F2.1<"}, ">F5<"},
        {1, false, {">paler: later chunk<", "mb 5 chunk 1"}, "direction"},
        {1, true, {">paler: the other direction<", "mb 5 direction 1"}, "chunk"},
    };
    ms_arena arena;
    ms_arena_init(&arena);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer svg;
        ms_buffer_init(&svg);
        const ms_gantt gantt = {.row_labels = labels(&arena, 1),
                                .rows = 1,
                                .boxes = make_passes(&arena, 6, 2),
                                .box_count = 6,
                                .end = 6,
                                .slices = CASES[i].parts,
                                .has_directions = CASES[i].has_directions};
        cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
        const char *text = ms_buffer_text(&svg);
        cr_assert_not_null(strstr(text, CASES[i].has[0]), "case %zu", i);
        cr_assert_not_null(strstr(text, CASES[i].has[1]), "case %zu", i);
        cr_assert_null(strstr(text, CASES[i].lacks), "case %zu", i);
        ms_buffer_release(&svg);
    }
    ms_arena_release(&arena);
}

/* Boxes of one width are all numbered or none is, whatever the numbers' lengths. */
Test(gantt, numbers_of_all_lengths_or_none) {
    ms_arena arena;
    ms_arena_init(&arena);
    size_t seen[2] = {0};
    for (int32_t count = 20; count <= 120; count++) {
        ms_buffer svg;
        ms_buffer_init(&svg);
        const ms_gantt gantt = {.row_labels = labels(&arena, 1),
                                .rows = 1,
                                .boxes = make_passes(&arena, count, 1),
                                .box_count = (size_t)count,
                                .end = count};
        /* two, as excerpts would show the numbers larger */
        const ms_gantt stack[2] = {gantt, gantt};
        cr_assert_eq(ms_gantt_write_svg(stack, 2, &svg), MS_OK);
        const char *panel = strstr(ms_buffer_text(&svg), "<g class=\"panel\"");
        size_t length = (size_t)(strstr(panel, "</g>") - panel);
        size_t words = count_of(ms_arena_strndup(&arena, panel, length), "<text ");
        cr_assert(words == 0 || words == (size_t)count, "%d: %zu", count, words);
        seen[words > 0]++;
        ms_buffer_release(&svg);
    }
    cr_assert(seen[0] > 0 && seen[1] > 0, "%zu without, %zu with", seen[0], seen[1]);
    ms_arena_release(&arena);
}

/* Whether single boxes are drawn: each then has a rectangle in the colour of forward passes. */
static size_t boxes_in_panel(const char *text, int index, ms_arena *arena) {
    const char *at = strstr(text, "<g class=\"panel\"");
    for (int i = 0; i < index; i++) {
        at = strstr(at + 1, "<g class=\"panel\"");
    }
    return count_of(ms_arena_strndup(arena, at, (size_t)(strstr(at, "</g>") - at)),
                    "fill=\"#56b4e9\"");
}

Test(gantt, stacked_pictures_have_one_look) {
    static const int32_t COUNTS[] = {10, 300, 2000};
    ms_arena arena;
    ms_arena_init(&arena);
    for (size_t i = 0; i < 3; i++) {
        ms_buffer svg;
        ms_buffer_init(&svg);
        ms_gantt stack[2];
        for (int j = 0; j < 2; j++) {
            int32_t count = j == 0 ? 10 : COUNTS[i];
            stack[j] = (ms_gantt){.row_labels = labels(&arena, 1),
                                  .rows = 1,
                                  .boxes = make_passes(&arena, count, 1),
                                  .box_count = (size_t)count,
                                  .end = count};
        }
        for (int32_t k = 0; k < 10; k++) { /* both pictures are as long */
            ((ms_gantt_box *)(uintptr_t)stack[0].boxes)[k].end *= COUNTS[i] / 10.0;
            ((ms_gantt_box *)(uintptr_t)stack[0].boxes)[k].start *= COUNTS[i] / 10.0;
        }
        stack[0].end = COUNTS[i];
        cr_assert_eq(ms_gantt_write_svg(stack, 2, &svg), MS_OK);
        const char *text = ms_buffer_text(&svg);
        bool is_density = strstr(text, "height of a colour") != NULL;
        cr_assert_eq(is_density, COUNTS[i] == 2000);
        cr_assert_eq(boxes_in_panel(text, 0, &arena), is_density ? 1U : 10U);
        cr_assert_eq(boxes_in_panel(text, 1, &arena), is_density ? 1U : (size_t)COUNTS[i]);
        cr_assert_not_null(strstr(text, ">end of the shortest</text>"));
        cr_assert_not_null(strstr(text, ">steady phase of a row begins, ends</text>"));
        ms_buffer_release(&svg);
    }
    ms_arena_release(&arena);
}

/* ---- from a trace ---- */

static void draw_trace(trace_fixture *f, ms_gantt *gantt_out) {
    ms_trace trace;
    cr_assert_eq(ms_trace_read(f->path, MS_TRACE_EVENTS, &f->arena, &f->diag, &trace), MS_OK);
    cr_assert_eq(ms_gantt_from_trace(&trace, MS_GANTT_PIPELINE_RANKS, &f->arena, gantt_out), MS_OK);
}

/* A trace does not tell its parts and directions, its numbers of microbatches do. */
Test(gantt, a_trace_tells_parts_and_directions) {
    static const struct {
        const char *schedule;
        int32_t parts;
        bool has_directions;
    } CASES[] = {{"{kind: 1f1b}", 1, false},
                 {"{kind: seq1f1b, splits: 2}", 2, false},
                 {"{kind: dualpipe}", 1, true},
                 {"{kind: dualpipev}", 1, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        trace_fixture f;
        ms_gantt gantt;
        char workload[1024];
        snprintf(workload, sizeof workload,
                 "name: numbers\n"
                 "platform: {file: " MS_SOURCE_DIR "/platforms/dgx-a100.yaml, nodes: 1}\n"
                 "mesh: {tp: 1, pp: 4, dp: 2}\n"
                 "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: "
                 "512}\n"
                 "schedule: %s\nbatch: {global: 16, micro: 1}\n",
                 CASES[i].schedule);
        trace_fixture_write(&f, workload);
        draw_trace(&f, &gantt);
        cr_assert_eq(gantt.slices, CASES[i].parts, "%s: %d", CASES[i].schedule, gantt.slices);
        cr_assert_eq(gantt.has_directions, CASES[i].has_directions, "%s", CASES[i].schedule);
        trace_fixture_release(&f);
    }
}

Test(gantt, a_trace_becomes_one_box_per_pass) {
    trace_fixture f;
    ms_gantt gantt;
    size_t passes[MS_OP_KIND_COUNT] = {0};
    trace_fixture_write(&f, TRACE_SMALL);
    draw_trace(&f, &gantt);
    cr_assert_eq(gantt.rows, 2);
    for (size_t i = 0; i < gantt.box_count; i++) {
        passes[gantt.boxes[i].kind] += gantt.boxes[i].is_part ? 0 : 1;
    }
    cr_assert_eq(passes[MS_OP_FORWARD], 8U);
    cr_assert_eq(passes[MS_OP_BACKWARD], 8U);
    cr_assert_eq(passes[MS_OP_OPTIMIZER], 2U);
    trace_fixture_release(&f);
}

/* What the picture shows as exposed is what the metrics count, axis by axis and rank by rank; what
 * of it is not that of other ranks is the rank's own communication that stalls it. */
static void assert_exposed(const trace_fixture *f, const ms_gantt *gantt) {
    int32_t ranks = f->result.dag.rank_count;
    for (int32_t row = 0; row < ranks; row++) {
        double shown[MS_AXIS_COUNT] = {0.0};
        double own[MS_AXIS_COUNT] = {0.0};
        double busy = 0.0;
        for (size_t i = 0; i < gantt->box_count; i++) {
            const ms_gantt_box *box = &gantt->boxes[i];
            double high = box->half == 0 ? 1.0 : 0.5; /* two that share the row: once */
            if (box->row == row && box->kind >= MS_OP_P2P) {
                shown[box->axis] += box->end - box->start;
                own[box->axis] += box->is_foreign ? 0.0 : box->end - box->start;
                busy -= box->is_part ? box->end - box->start : 0.0;
            } else if (box->row == row && !box->is_part) {
                busy += high * (box->end - box->start);
            }
        }
        const double *time_s = f->result.metrics.ranks[row].time_s;
        for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
            double exposed = time_s[ms_time_category_of_axis((ms_axis)axis)];
            double stalling = f->result.metrics.ranks[row].axes[axis].exposed_s;
            cr_assert_float_eq(own[axis], stalling, 1e-9, "row %d axis %d: own %g, %g", row, axis,
                               own[axis], stalling);
            cr_assert_float_eq(shown[axis], exposed, 1e-9, "row %d axis %d: %g, %g", row, axis,
                               shown[axis], exposed);
        }
        cr_assert_float_eq(busy, time_s[MS_TIME_COMPUTE] + time_s[MS_TIME_OPTIMIZER], 1e-9,
                           "row %d", row);
    }
}

Test(gantt, exposed_communication_is_what_the_metrics_count) {
    static const char *const WORKLOADS[] = {
        TRACE_SMALL,
        "name: model\n"
        "platform: {file: " MS_SOURCE_DIR "/platforms/dgx-a100.yaml, nodes: 2}\n"
        "mesh: {tp: 2, pp: 4, dp: 2}\n"
        "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: 512}\n"
        "schedule: {kind: 1f1b}\nrecompute: full\nbatch: {global: 32, micro: 1}\n",
        "name: pairs\n"
        "platform: {file: " MS_SOURCE_DIR "/platforms/dgx-a100.yaml, nodes: 2}\n"
        "mesh: {tp: 2, pp: 4, dp: 2}\n"
        "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: 512}\n"
        "schedule: {kind: dualpipev}\nbatch: {global: 32, micro: 1}\n",
        "name: sharded\n"
        "platform: {file: " MS_SOURCE_DIR "/platforms/dgx-a100.yaml, nodes: 1}\n"
        "mesh: {pp: 2, dp: 4}\n"
        "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: 512}\n"
        "data_parallel: {zero: 3}\nbatch: {global: 32, micro: 1}\n"};
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof WORKLOADS[0]; i++) {
        trace_fixture f;
        ms_gantt gantt;
        trace_fixture_write(&f, WORKLOADS[i]);
        draw_trace(&f, &gantt);
        assert_exposed(&f, &gantt);
        bool has_pairs = false;
        for (size_t j = 0; j < gantt.box_count; j++) {
            has_pairs = has_pairs || gantt.boxes[j].half != 0;
        }
        cr_assert_eq(has_pairs, i == 2);
        trace_fixture_release(&f);
    }
}
