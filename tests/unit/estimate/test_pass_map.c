/* What a pass does to its rank's clocks, by hand. Times are small whole numbers of seconds. */
#include "estimate/pass_map.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { SEGMENTS_MAX = 8 };

/* A pass under construction. */
typedef struct hand_pass {
    ms_segment segments[SEGMENTS_MAX];
    double time_s[SEGMENTS_MAX];
    ms_pass_view view;
} hand_pass;

static void begin(hand_pass *p) {
    *p = (hand_pass){.view = {.segments = p->segments, .time_s = p->time_s, .compute_factor = 1}};
}

static ms_segment *add(hand_pass *p, double time_s) {
    int at = p->view.count++;
    p->time_s[at] = time_s;
    p->segments[at].layer = at;
    return &p->segments[at];
}

static ms_segment *add_compute(hand_pass *p, double time_s) {
    ms_segment *segment = add(p, time_s);
    segment->time_s = time_s;
    segment->kernels.launches = 1;
    return segment;
}

static ms_segment *add_collective(hand_pass *p, ms_axis axis, double time_s, bool is_async) {
    ms_segment *segment = add(p, time_s);
    segment->is_collective = true;
    segment->axis = axis;
    segment->coll = MS_COLL_ALL_REDUCE;
    segment->is_async = is_async;
    return segment;
}

static void wait_for(ms_segment *segment, const int *waits) {
    segment->waits = waits;
    segment->wait_count = 1;
}

static ms_pass_map make(const hand_pass *p, const hand_pass *second) {
    double end_s[2 * SEGMENTS_MAX];
    ms_carried carried = {.count = 0};
    ms_pass_map map;
    memset(&map, 0, sizeof map);
    ms_carried_add(&carried, p->segments, p->view.count);
    if (second != NULL) {
        ms_carried_add(&carried, second->segments, second->view.count);
    }
    ms_pass_map_make(&p->view, second == NULL ? NULL : &second->view, &carried, end_s, &map);
    return map;
}

static void expect_ends(const hand_pass *p, const hand_pass *second, double end_s,
                        const char *what) {
    ms_pass_map map = make(p, second);
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], end_s, 1e-12, "%s: %g, not %g", what,
                       map.end_s[MS_FROM_RANK], end_s);
    cr_assert_float_eq(map.end_s[MS_FROM_INPUT], end_s, 1e-12, "%s: from its inputs %g, not %g",
                       what, map.end_s[MS_FROM_INPUT], end_s);
}

Test(pass_map, a_chain_is_a_sum) {
    hand_pass p;
    begin(&p);
    add_compute(&p, 1);
    add_collective(&p, MS_AXIS_TP, 2, false);
    add_compute(&p, 3);
    expect_ends(&p, NULL, 6, "all run");
    p.segments[1].when = MS_WHEN_LAST;
    expect_ends(&p, NULL, 4, "the collective is of the last microbatch");
    p.view.unit = MS_UNIT_FIRST | MS_UNIT_CLOSES_ROUND;
    expect_ends(&p, NULL, 4, "and of no other one");
    p.view.unit = MS_UNIT_LAST;
    expect_ends(&p, NULL, 6, "the last microbatch");
    p.time_s[1] = -1; /* of one rank: does not run */
    expect_ends(&p, NULL, 4, "a group of one");
}

/* Two layers that stand there, and four more. */
Test(pass_map, repeated_segments_run_as_often_as_they_say) {
    hand_pass p;
    begin(&p);
    for (int i = 0; i < 2; i++) {
        add_compute(&p, 1);
        add_collective(&p, MS_AXIS_TP, 2, false);
    }
    add_compute(&p, 5);
    p.view.repeat = (ms_repeat){.first = 2, .count = 2, .times = 4};
    expect_ends(&p, NULL, (2 + 4) * 3 + 5, "six layers");
}

/* 0 to 1, then the collective until 6 beside 1 to 3; who waits for it ends at 7. */
Test(pass_map, a_segment_waits_for_a_collective_beside_it) {
    static const int FIRST[] = {1};
    hand_pass p;
    begin(&p);
    add_compute(&p, 1);
    add_collective(&p, MS_AXIS_DP, 5, true);
    add_compute(&p, 2);
    wait_for(add_compute(&p, 1), FIRST);
    expect_ends(&p, NULL, 7, "waits");
    p.time_s[1] = 1;
    expect_ends(&p, NULL, 4, "the collective ends before");
    p.segments[1].when = MS_WHEN_FIRST;
    p.time_s[1] = 5;
    expect_ends(&p, NULL, 4, "nothing to wait for");
}

/* A collective that nothing waits for is the next pass's matter: the pass ends at 3, the
 * communicator at 6; if that is free later than the pass begins, 5 after it is free. */
Test(pass_map, a_collective_outlives_its_pass) {
    hand_pass p;
    begin(&p);
    add_compute(&p, 1);
    add_collective(&p, MS_AXIS_DP, 5, true);
    add_compute(&p, 2);
    expect_ends(&p, NULL, 3, "the pass");
    ms_pass_map map = make(&p, NULL);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 6, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_INPUT], 6, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_STREAM], 5, 1e-12);
    cr_assert_eq(map.end_s[MS_FROM_STREAM], -INFINITY, "the pass waits for no communicator");
    /* one that holds up what follows uses it, too */
    p.segments[1].is_async = false;
    add_collective(&p, MS_AXIS_DP, 1, true);
    map = make(&p, NULL);
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 8, 1e-12);
    cr_assert_float_eq(map.end_s[MS_FROM_STREAM], 7, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_STREAM], 8, 1e-12);
}

/* Collectives of one communicator run one after the other, those of two beside each other. */
Test(pass_map, communicators_are_told_apart) {
    hand_pass p;
    begin(&p);
    add_compute(&p, 1);
    add_collective(&p, MS_AXIS_DP, 4, true);
    add_collective(&p, MS_AXIS_DP, 2, true);
    ms_pass_map map = make(&p, NULL);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 7, 1e-12, "%g", map.stream_s[0][0]);
    p.segments[2].axis = MS_AXIS_TP;
    map = make(&p, NULL);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 5, 1e-12);
    cr_assert_float_eq(map.stream_s[1][MS_FROM_RANK], 3, 1e-12);
    cr_assert_neq(ms_communicator_of(&p.segments[1]), ms_communicator_of(&p.segments[2]));
    p.segments[2].axis = MS_AXIS_DP;
    p.segments[2].group_axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP);
    cr_assert_neq(ms_communicator_of(&p.segments[1]), ms_communicator_of(&p.segments[2]));
    p.segments[2].group_axes = MS_AXIS_BIT(MS_AXIS_DP);
    cr_assert_eq(ms_communicator_of(&p.segments[1]), ms_communicator_of(&p.segments[2]));
}

Test(pass_map, what_is_carried_is_waited_for_by_nothing) {
    static const int FIRST[] = {0};
    hand_pass p;
    ms_carried carried = {.count = 0};
    begin(&p);
    add_collective(&p, MS_AXIS_DP, 4, true);
    wait_for(add_compute(&p, 1), FIRST);
    ms_carried_add(&carried, p.segments, p.view.count);
    cr_assert_eq(carried.count, 0);
    add_collective(&p, MS_AXIS_TP, 4, false);
    ms_carried_add(&carried, p.segments, p.view.count);
    cr_assert_eq(carried.count, 0, "one that holds up its pass");
    wait_for(add_collective(&p, MS_AXIS_CP, 4, true), FIRST);
    add_collective(&p, MS_AXIS_CP, 4, true);
    ms_carried_add(&carried, p.segments, p.view.count);
    cr_assert_eq(carried.count, 1, "%d: two of one communicator", carried.count);
    cr_assert_eq(carried.ids[0], ms_communicator_of(&p.segments[3]));
    p.segments[1].wait_count = 0;
    ms_carried_add(&carried, p.segments, p.view.count);
    cr_assert_eq(carried.count, 2, "%d: waited for by an asynchronous one alone", carried.count);
}

/* Each goes on up to its collective, then the other: A computes 0 to 1 and communicates until 5, B
 * computes 1 to 3 meanwhile. */
Test(pass_map, a_pair_takes_turns) {
    hand_pass a, b;
    begin(&a);
    begin(&b);
    add_compute(&a, 1);
    add_collective(&a, MS_AXIS_TP, 4, false);
    add_compute(&a, 1);
    add_compute(&b, 2);
    add_collective(&b, MS_AXIS_TP, 3, false);
    add_compute(&b, 2);
    expect_ends(&a, &b, 10, "B waits for the communicator until 5, and ends 3 + 2 later");
    b.segments[1].axis = MS_AXIS_EP;
    expect_ends(&a, &b, 8, "B communicates 3 to 6 and computes until 8; A computes 5 to 6");
    b.time_s[2] = 1;
    a.time_s[2] = 4;
    expect_ends(&a, &b, 10, "A computes 5 to 9, B after it");
}

/* A host that needs 1 s for each launch, and kernels of half a second: the third ends at 3. */
Test(pass_map, a_slow_host_holds_its_rank_up) {
    hand_pass p;
    begin(&p);
    for (int i = 0; i < 3; i++) {
        add_compute(&p, 0.5);
    }
    p.view.launch_s = 1;
    ms_pass_map map = make(&p, NULL);
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 1.5, 1e-12, "launched before");
    cr_assert_float_eq(map.end_s[MS_FROM_HOST], 3, 1e-12);
    cr_assert_float_eq(map.host_s[MS_FROM_HOST], 3, 1e-12);
    cr_assert_eq(map.host_s[MS_FROM_RANK], -INFINITY, "the host does not wait for the rank");
    p.view.synchronises = true;
    map = make(&p, NULL);
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 3, 1e-12, "the host waits for the rank first");
    cr_assert_float_eq(map.host_s[MS_FROM_RANK], 3, 1e-12);
    p.segments[1].kernels.launches = 0; /* part of the kernel before */
    map = make(&p, NULL);
    /* launched at 1 and 2: 0.5 to 1, 1 to 1.5, 1.5 to 2 */
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 2, 1e-12);
    p.segments[2].kernels.has_host_wait = true;
    map = make(&p, NULL);
    /* the host launches the third from 1.5 on: it ends at 2.5 */
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 2.5, 1e-12);
    cr_assert_float_eq(map.host_s[MS_FROM_RANK], 2.5, 1e-12);
}

/* The same with a collective beside: its launch takes the host a second, too. */
Test(pass_map, a_slow_host_launches_collectives) {
    hand_pass p;
    begin(&p);
    add_compute(&p, 0.5);
    add_collective(&p, MS_AXIS_DP, 2, true);
    add_compute(&p, 0.5);
    p.view.launch_s = 1;
    ms_pass_map map = make(&p, NULL);
    /* from the host: 0.5 to 1, the collective from 2 to 4, the last one 2.5 to 3 */
    cr_assert_float_eq(map.end_s[MS_FROM_HOST], 3, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_HOST], 4, 1e-12);
    cr_assert_float_eq(map.host_s[MS_FROM_HOST], 3, 1e-12);
    cr_assert_float_eq(map.end_s[MS_FROM_RANK], 1, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 2.5, 1e-12);
}

/* Layers whose reductions are slower than they are: each waits for the one before. */
Test(pass_map, repeated_collectives_queue_up) {
    hand_pass p;
    begin(&p);
    for (int i = 0; i < 2; i++) {
        add_compute(&p, 1);
        add_collective(&p, MS_AXIS_DP, 2, true);
    }
    p.view.repeat = (ms_repeat){.first = 2, .count = 2, .times = 3};
    expect_ends(&p, NULL, 5, "five layers");
    ms_pass_map map = make(&p, NULL);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 1 + 5 * 2, 1e-12);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_STREAM], 5 * 2, 1e-12);
    p.time_s[1] = p.time_s[3] = 0.25;
    map = make(&p, NULL);
    cr_assert_float_eq(map.stream_s[0][MS_FROM_RANK], 5.25, 1e-12, "each ends before the next");
    cr_assert_float_eq(map.stream_s[0][MS_FROM_STREAM], 5 * 0.25, 1e-12);
}

/* 1.5 times as long while an all-reduce runs, from 1 to 5: work of 2 lasts until 4, work of 3 does
 * 2/3 until 5 and 7/3 after it. */
Test(pass_map, computations_are_stretched_by_what_runs_beside) {
    static const double FACTORS[MS_COLL_COUNT] = {[MS_COLL_ALL_REDUCE] = 1.5};
    double end_s[SEGMENTS_MAX], slowed_s[SEGMENTS_MAX] = {0};
    hand_pass p;
    begin(&p);
    add_compute(&p, 1);
    add_collective(&p, MS_AXIS_DP, 4, true);
    add_compute(&p, 2);
    add_compute(&p, 3);
    ms_pass_slow_down(&p.view, NULL, FACTORS, end_s, slowed_s);
    cr_assert_float_eq(slowed_s[0], 1, 1e-12);
    cr_assert_float_eq(slowed_s[2], 3, 1e-12);
    cr_assert_float_eq(slowed_s[3], 1 + 7 / 3.0, 1e-12);
    p.segments[1].is_async = false; /* nothing runs beside it */
    ms_pass_slow_down(&p.view, NULL, FACTORS, end_s, slowed_s);
    cr_assert_float_eq(slowed_s[2], 2, 1e-12);
    cr_assert_float_eq(slowed_s[3], 3, 1e-12);
}

Test(pass_map, only_bits_that_segments_ask_for_count) {
    const unsigned all = MS_UNIT_FIRST | MS_UNIT_LAST | MS_UNIT_CLOSES_ROUND;
    ms_pass_plan plan = {.when = 0};
    cr_assert_eq(ms_unit_bits_used(all, &plan), 0);
    plan.when = 1U << MS_WHEN_LAST;
    cr_assert_eq(ms_unit_bits_used(all, &plan), MS_UNIT_LAST);
    cr_assert_eq(ms_unit_bits_used(MS_UNIT_FIRST, &plan), 0);
    plan.when = 1U << MS_WHEN_FIRST | 1U << MS_WHEN_ROUND;
    cr_assert_eq(ms_unit_bits_used(all, &plan), MS_UNIT_FIRST | MS_UNIT_CLOSES_ROUND);
}

/* A host's last launch is that of the last kernel, so that a computation that takes twice as long
 * starts that much earlier; whether or not a collective runs beside it. */
Test(pass_map, hosts_launch_what_a_slow_rank_computes) {
    for (int is_async = 0; is_async < 2; is_async++) {
        hand_pass p;
        begin(&p);
        add_compute(&p, 2);
        p.segments[0].kernels.launches = 10;
        add_collective(&p, MS_AXIS_DP, 1, is_async == 1);
        p.view.launch_s = 1;
        p.view.compute_factor = 2;
        p.time_s[0] = 4;
        ms_pass_map map = make(&p, NULL);
        cr_assert_float_eq(map.end_s[MS_FROM_HOST], is_async ? 10 : 12, 1e-12, "%g",
                           map.end_s[MS_FROM_HOST]);
    }
}
