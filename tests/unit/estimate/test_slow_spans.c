/* Computations beside communication, as estimates have them: against sums by hand. */
#include "estimate/slow_spans.h"

#include <criterion/criterion.h>

#include "base/event.h"

static const double FACTORS[MS_COLL_COUNT] = {
    [MS_COLL_ALL_REDUCE] = 1.25, [MS_COLL_P2P] = 1.0, [MS_COLL_ALL_GATHER] = 1.5};

/* Full speed for 1 s, 1.25 times as long until 3 s, full speed again. */
Test(slow_spans, a_computation_is_slow_while_communication_runs) {
    ms_slow_spans slow_spans = {.factors = FACTORS};
    ms_slow_spans_note(&slow_spans, MS_COLL_ALL_REDUCE, 1.0, 3.0);
    ms_slow_spans_note(&slow_spans, MS_COLL_P2P, 0.0, 100.0);
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 0.0, 3.0),
                       1.0 + 2.0 + (3.0 - 1.0 - 1.6), 1e-12);
    ms_slow_spans_note(&slow_spans, MS_COLL_ALL_GATHER, 1.0, 2.5); /* the larger factor counts */
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 1.0, 1.0), 2.5, 1e-12);
}

/* Reductions of a hundred layers wait for each other on their communicator, and the computation
 * beside the first of them is still slowed down. */
Test(slow_spans, collectives_one_behind_the_other_are_one_span) {
    ms_slow_spans slow_spans = {.factors = FACTORS};
    for (int i = 0; i < 100; i++) {
        ms_slow_spans_note(&slow_spans, MS_COLL_ALL_REDUCE, i, i + 1.0);
    }
    cr_assert_eq(slow_spans.count, 1);
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 0.5, 1.0), 1.75, 1e-12);
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 99.5, 1.0),
                       100.0 + (1.0 - 0.4), 1e-12);
}

Test(slow_spans, one_slow_kind_is_enough) {
    double factors[MS_COLL_COUNT] = {0};
    cr_assert_not(ms_slowdown_is_needed(factors));
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        factors[kind] = 1.0;
    }
    cr_assert_not(ms_slowdown_is_needed(factors), "as fast as alone");
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        factors[kind] = 1.01;
        cr_assert(ms_slowdown_is_needed(factors), "kind %d", kind);
        factors[kind] = 1.0;
    }
}

/* Spans that do not meet stay apart: slow from 1 to 2 and from 4 to 5, work of 4 from 0 on. */
Test(slow_spans, pauses_between_collectives_are_at_full_speed) {
    ms_slow_spans slow_spans = {.factors = FACTORS};
    ms_slow_spans_note(&slow_spans, MS_COLL_ALL_GATHER, 4.0, 5.0);
    ms_slow_spans_note(&slow_spans, MS_COLL_ALL_GATHER, 1.0, 2.0);
    cr_assert_eq(slow_spans.count, 2);
    /* 1 until 1, 2/3 until 2, 2 until 4, the last third in half a second */
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 0.0, 4.0), 4.5, 1e-12);
    ms_slow_spans_note(&slow_spans, MS_COLL_ALL_GATHER, 2.0, 4.0);
    /* from 1 on all is slow */
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 0.0, 3.0), 1.0 + 3.0,
                       1e-12);
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 5.0, 3.0), 8.0, 1e-12,
                       "all of it has ended");
}

/* Of more spans than there is room for the one that ended first goes. */
Test(slow_spans, the_oldest_span_makes_room) {
    ms_slow_spans slow_spans = {.factors = FACTORS};
    for (int i = 0; i <= MS_SLOW_SPANS_MAX; i++) {
        ms_slow_spans_note(&slow_spans, MS_COLL_ALL_GATHER, 10.0 * i, 10.0 * i + 3.0);
    }
    cr_assert_eq(slow_spans.count, MS_SLOW_SPANS_MAX);
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 0.0, 1.0), 1.0, 1e-12,
                       "the first is gone");
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, 10.0, 1.0), 11.5, 1e-12,
                       "the second is there");
    double last_s = 10.0 * MS_SLOW_SPANS_MAX;
    cr_assert_float_eq(ms_slowed_end_s(slow_spans.spans, slow_spans.count, last_s, 1.0),
                       last_s + 1.5, 1e-12);
}
