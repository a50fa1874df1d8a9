#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "meshsim/report.h"

typedef struct pair {
    ms_arena arena;
    ms_value *a;
    ms_value *b;
} pair;

static void pair_init(pair *p) {
    ms_arena_init(&p->arena);
    p->a = ms_value_new_object(&p->arena);
    p->b = ms_value_new_object(&p->arena);
}

static ms_comparison compare(pair *p, const ms_tolerance *tolerances, size_t count) {
    ms_comparison comparison = {0};
    cr_assert_eq(ms_compare(p->a, p->b, tolerances, count, &p->arena, &comparison), MS_OK);
    return comparison;
}

/* Trees {time_share: {compute: x}} on both sides. */
static void add_share(ms_value *root, double share) {
    ms_value_add_double(ms_value_add(root, "time_share", MS_VALUE_OBJECT), "compute", share);
}

Test(compare, numbers_within_the_tolerance_are_equal) {
    static const struct {
        double a, b, tolerance;
        size_t differences;
    } CASES[] = {
        {1.0, 1.0, 0.0, 0},         {1.0, 1.0 + 1e-15, 0.0, 1}, {1.0, 1.0099, 0.01, 0},
        {1.0, 1.02, 0.01, 1},       {1.02, 1.0, 0.01, 1},       {-1.0, -1.005, 0.01, 0},
        {-1.0, 1.0, 0.5, 1},        {0.0, 0.0, 0.0, 0},         {0.0, 1e-30, 0.0, 1},
        {0.0, 1e-17, 0.01, 0},      {0.0, 1e-3, 0.01, 1},       {1e20, 1.001e20, 0.01, 0},
        {100.0, 101.0, 0.00991, 0}, {100.0, 101.0, 0.0098, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_share(p.a, CASES[i].a);
        add_share(p.b, CASES[i].b);
        const ms_tolerance tolerance = {"", CASES[i].tolerance};
        ms_comparison comparison = compare(&p, &tolerance, 1);
        cr_assert_eq(comparison.count, CASES[i].differences, "case %zu", i);
        cr_assert_eq(comparison.compared, 1U);
        ms_arena_release(&p.arena);
    }
}

Test(compare, the_longest_key_that_fits_holds) {
    static const struct {
        ms_tolerance tolerances[3];
        size_t count;
        size_t differences;
    } CASES[] = {
        {{{"", 1.0}}, 1, 0},
        {{{"", 0.0}, {"time_share", 1.0}}, 2, 0},
        {{{"time_share", 1.0}, {"", 0.0}}, 2, 0},
        {{{"", 1.0}, {"time_share", 0.0}}, 2, 1},
        {{{"", 0.0}, {"time_share", 0.0}, {"time_share.compute", 1.0}}, 3, 0},
        {{{"time_share.comp", 1.0}}, 1, 1},
        {{{"time", 1.0}}, 1, 1},
        {{{"time_share.compute", 0.0}, {"time_share.compute", 1.0}}, 2, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_share(p.a, 0.5);
        add_share(p.b, 0.6);
        cr_assert_eq(compare(&p, CASES[i].tolerances, CASES[i].count).count, CASES[i].differences,
                     "case %zu", i);
        ms_arena_release(&p.arena);
    }
}

Test(compare, what_is_on_one_side_only_differs) {
    pair p;
    pair_init(&p);
    const ms_tolerance all = {"", 1e9};
    ms_value_add_int(p.a, "left", 1);
    ms_value_add_int(p.b, "right", 1);
    ms_value *short_list = ms_value_add(p.a, "list", MS_VALUE_ARRAY);
    ms_value *long_list = ms_value_add(p.b, "list", MS_VALUE_ARRAY);
    ms_value_add_int(short_list, NULL, 7);
    ms_value_add_int(long_list, NULL, 7);
    ms_value_add_int(long_list, NULL, 8);
    ms_comparison comparison = compare(&p, &all, 1);
    cr_assert_eq(comparison.count, 3U);
    cr_assert_str_eq(comparison.differences[0].key, "left");
    cr_assert_null(comparison.differences[0].b);
    cr_assert_str_eq(comparison.differences[1].key, "list[1]");
    cr_assert_null(comparison.differences[1].a);
    cr_assert_str_eq(comparison.differences[2].key, "right");
    ms_arena_release(&p.arena);
}

Test(compare, texts_truth_values_and_types_differ_whatever_the_tolerance) {
    pair p;
    pair_init(&p);
    const ms_tolerance all = {"", 1e9};
    ms_value_add_string(p.a, "schedule", "1f1b");
    ms_value_add_string(p.b, "schedule", "gpipe");
    ms_value_add_bool(p.a, "fits", true);
    ms_value_add_bool(p.b, "fits", false);
    ms_value_add_string(p.a, "type", "1");
    ms_value_add_int(p.b, "type", 1);
    ms_value_add_int(p.a, "number", 2);
    ms_value_add_double(p.b, "number", 2.0);
    ms_value_add(p.a, "none", MS_VALUE_NULL);
    ms_value_add(p.b, "none", MS_VALUE_NULL);
    ms_value_add_string(p.a, "same", "x");
    ms_value_add_string(p.b, "same", "x");
    ms_comparison comparison = compare(&p, &all, 1);
    cr_assert_eq(comparison.count, 3U);
    cr_assert_eq(comparison.compared, 6U);
    ms_arena_release(&p.arena);
}

Test(compare, large_integers_are_compared_exactly) {
    pair p;
    pair_init(&p);
    ms_value_add_int(p.a, "n", (1LL << 60) + 1);
    ms_value_add_int(p.b, "n", (1LL << 60) + 1);
    cr_assert_eq(compare(&p, NULL, 0).count, 0U);
    ms_arena_release(&p.arena);
}

Test(compare, wall_time_memory_versions_and_paths_do_not_count) {
    static const char *const KEYS[] = {"program_version", "simgrid_version", "workload_path"};
    pair p;
    pair_init(&p);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        ms_value_add_string(p.a, KEYS[i], "a");
        ms_value_add_string(p.b, KEYS[i], "b");
    }
    ms_value *engine = ms_value_add(p.a, "engine", MS_VALUE_OBJECT);
    ms_value_add_double(engine, "wall_s", 1.0);
    ms_value_add_double(engine, "peak_rss_B", 1.0);
    ms_value_add(p.b, "engine", MS_VALUE_OBJECT);
    cr_assert_eq(compare(&p, NULL, 0).count, 0U);
    cr_assert(ms_trace_is_volatile("engine.wall_s"));
    cr_assert_not(ms_trace_is_volatile("critical_path"));
    cr_assert_not(ms_trace_is_volatile("wall_s"));
    ms_arena_release(&p.arena);
}

Test(compare, differences_come_largest_first) {
    pair p;
    pair_init(&p);
    static const double CHANGES[] = {0.01, -0.5, 0.2, 3.0, -0.02};
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        const char *key = ms_arena_printf(&p.arena, "q%zu", i);
        ms_value_add_double(p.a, key, 2.0);
        ms_value_add_double(p.b, key, 2.0 * (1.0 + CHANGES[i]));
    }
    ms_value_add_double(p.a, "zero", 0.0);
    ms_value_add_double(p.b, "zero", 1.0);
    static const char *const ORDER[] = {"zero", "q3", "q1", "q2", "q4", "q0"};
    ms_comparison comparison = compare(&p, NULL, 0);
    cr_assert_eq(comparison.count, 6U);
    for (size_t i = 0; i < 6; i++) {
        cr_assert_str_eq(comparison.differences[i].key, ORDER[i]);
    }
    cr_assert(isinf(comparison.differences[0].relative));
    cr_assert_float_eq(comparison.differences[2].relative, -0.5, 1e-12);
    ms_arena_release(&p.arena);
}

Test(compare, running_out_of_memory_is_told) {
    for (long allowed = 0; allowed < 3; allowed++) {
        pair p;
        ms_comparison comparison;
        pair_init(&p);
        add_share(p.a, 0.5);
        add_share(p.b, 0.6);
        ms_arena_fail_after(&p.arena, allowed);
        cr_assert_eq(ms_compare(p.a, p.b, NULL, 0, &p.arena, &comparison), MS_E_NOMEM);
        ms_arena_release(&p.arena);
    }
}
