#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "search/compare.h"

typedef struct pair {
    ms_arena arena;
    ms_value *a;
    ms_value *b;
    ms_vector keys; /* of the last comparison */
} pair;

static void pair_init(pair *p) {
    ms_arena_init(&p->arena);
    ms_vector_init(&p->keys, sizeof(const char *));
    p->a = ms_value_new_object(&p->arena);
    p->b = ms_value_new_object(&p->arena);
}

static void pair_release(pair *p) {
    ms_vector_release(&p->keys);
    ms_arena_release(&p->arena);
}

static ms_differences compare(pair *p, const ms_compare_rules *rules) {
    ms_differences differences = {0};
    p->keys.count = 0;
    cr_assert_eq(ms_compare(p->a, p->b, rules, &p->arena, &p->keys, &differences), MS_OK);
    return differences;
}

static ms_differences compare_with(pair *p, const ms_tolerance *tolerances, size_t count) {
    const ms_compare_rules rules = {.tolerances = tolerances, .tolerance_count = count};
    return compare(p, &rules);
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
        {1.0, 1.0, 0.0, 0},         {1.0, 1.0 + 1e-11, 0.0, 1}, {1.0, 1.0099, 0.01, 0},
        {1.0, 1.02, 0.01, 1},       {1.02, 1.0, 0.01, 1},       {-1.0, -1.005, 0.01, 0},
        {-1.0, 1.0, 0.5, 1},        {-1.0, 1.0, 1.0, 0},        {0.0, 0.0, 0.0, 0},
        {0.0, 1e-3, 0.01, 1},       {0.0, 1e-3, 1.0, 0},        {1e20, 1.001e20, 0.01, 0},
        {100.0, 101.0, 0.00991, 0}, {100.0, 101.0, 0.0098, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_share(p.a, CASES[i].a);
        add_share(p.b, CASES[i].b);
        const ms_tolerance tolerance = {"", CASES[i].tolerance};
        ms_differences differences = compare_with(&p, &tolerance, 1);
        cr_assert_eq(differences.count, CASES[i].differences, "case %zu", i);
        cr_assert_eq(differences.compared, 1U);
        cr_assert_eq(differences.failed, CASES[i].differences);
        pair_release(&p);
    }
}

Test(compare, what_rounding_leaves_is_no_difference) {
    static const struct {
        double a, b;
        size_t differences;
    } CASES[] = {
        {1.0, 1.0 + 2e-14, 0}, {1.0, 1.0 - 9e-13, 0}, {1.0, 1.0 + 2e-12, 1}, {0.0, 3e-17, 0},
        {0.0, -9e-13, 0},      {0.0, 2e-12, 1},       {1e12, 1e12 + 0.5, 0}, {1e12, 1e12 + 2, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_share(p.a, CASES[i].a);
        add_share(p.b, CASES[i].b);
        cr_assert_eq(compare_with(&p, NULL, 0).count, CASES[i].differences, "case %zu", i);
        pair_release(&p);
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
        {{{"time_share.*", 1.0}}, 1, 0},
        {{{"*.compute", 1.0}}, 1, 0},
        {{{"*.optimizer", 1.0}}, 1, 1},
        {{{"time_share.compute", 0.0}, {"time_share.compute", 1.0}}, 2, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_share(p.a, 0.5);
        add_share(p.b, 0.6);
        cr_assert_eq(compare_with(&p, CASES[i].tolerances, CASES[i].count).count,
                     CASES[i].differences, "case %zu", i);
        pair_release(&p);
    }
}

Test(compare, what_is_on_one_side_only_differs) {
    pair p;
    pair_init(&p);
    ms_value_add_int(p.a, "left", 1);
    ms_value_add_int(p.b, "right", 1);
    ms_value *short_list = ms_value_add(p.a, "list", MS_VALUE_ARRAY);
    ms_value *long_list = ms_value_add(p.b, "list", MS_VALUE_ARRAY);
    ms_value_add_int(short_list, NULL, 7);
    ms_value_add_int(long_list, NULL, 7);
    ms_value_add_int(long_list, NULL, 8);
    ms_value_add_int(ms_value_add(p.a, "kind", MS_VALUE_OBJECT), "x", 1);
    ms_value_add(p.b, "kind", MS_VALUE_NULL);
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 4U);
    cr_assert_eq(differences.failed, 4U);
    cr_assert_str_eq(differences.items[0].key, "kind");
    cr_assert_str_eq(differences.items[1].key, "left");
    cr_assert_null(differences.items[1].b);
    cr_assert_str_eq(differences.items[2].key, "list[1]");
    cr_assert_null(differences.items[2].a);
    cr_assert_str_eq(differences.items[3].key, "right");
    const ms_tolerance all = {"", 1.0};
    cr_assert_eq(compare_with(&p, &all, 1).count, 0U);
    pair_release(&p);
}

Test(compare, texts_are_told_but_not_guarded) {
    pair p;
    pair_init(&p);
    ms_value_add_string(p.a, "schedule", "1f1b");
    ms_value_add_string(p.b, "schedule", "gpipe");
    ms_value_add_string(ms_value_add(p.a, "order", MS_VALUE_ARRAY), NULL, "tp");
    ms_value *order = ms_value_add(p.b, "order", MS_VALUE_ARRAY);
    ms_value_add_string(order, NULL, "dp");
    ms_value_add_string(order, NULL, "tp");
    ms_value_add_string(p.b, "flop_convention", "in words");
    ms_value_add_bool(p.a, "fits", true);
    ms_value_add_bool(p.b, "fits", false);
    ms_value_add_string(p.a, "type", "1");
    ms_value_add_int(p.b, "type", 1);
    ms_value_add_int(p.a, "number", 2);
    ms_value_add_double(p.b, "number", 2.0);
    ms_value_add(p.a, "none", MS_VALUE_NULL);
    ms_value_add(p.b, "none", MS_VALUE_NULL);
    static const struct {
        const char *key;
        bool has_failed;
    } EXPECTED[] = {{"fits", true},
                    {"type", true},
                    {"flop_convention", false},
                    {"order", false},
                    {"schedule", false}};
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 5U);
    cr_assert_eq(differences.compared, 7U);
    for (size_t i = 0; i < differences.count; i++) {
        cr_assert_str_eq(differences.items[i].key, EXPECTED[i].key);
        cr_assert_eq(differences.items[i].has_failed, EXPECTED[i].has_failed);
    }
    cr_assert_str_eq(differences.items[3].b->as.string, "dp, tp");
    const ms_tolerance all = {"", 1.0};
    cr_assert_eq(compare_with(&p, &all, 1).count, 0U);
    pair_release(&p);
}

/* {step_time_s, mfu, note, list: [{name: "row", x}]}; a row more in b. */
static void add_run(ms_value *root, const double numbers[3], const char *text, bool has_row) {
    ms_value_add_double(root, "step_time_s", numbers[0]);
    ms_value_add_double(root, "mfu", numbers[1]);
    ms_value_add_string(root, "note", text);
    ms_value *list = ms_value_add(root, "list", MS_VALUE_ARRAY);
    for (int i = 0; i < 1 + has_row; i++) {
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "name", i == 0 ? "row" : "new");
        ms_value_add_double(row, "x", numbers[2]);
    }
}

Test(compare, only_what_is_named_breaks_the_guard) {
    static const struct {
        ms_guard guards[2];
        ms_tolerance tolerance;
        size_t compared, listed, failed;
    } CASES[] = {
        /* step 1 -> 1.1, mfu 0.5 -> 0.4, note changed, x 2 -> 2, a row more */
        {{{0}}, {"", 0.0}, 6, 4, 3},
        {{{"step_time_s", 0, 0}}, {"", 0.0}, 1, 1, 1},
        {{{"step_time_s", 0, 0}}, {"", 0.05}, 1, 1, 1},
        {{{"step_time_s", 0, 0}}, {"", 0.1}, 1, 0, 0},
        {{{"step_time_s", 1, 0.05}}, {"", 0.0}, 6, 4, 1},
        {{{"step_time_s", 1, 0.1}}, {"", 0.0}, 6, 4, 0},
        {{{"step_time_s", 1, 0.05}}, {"", 0.5}, 6, 3, 1},
        {{{"mfu", 1, 0}}, {"", 0.0}, 6, 4, 0},
        {{{"mfu", -1, 0.19}}, {"", 0.0}, 6, 4, 1},
        {{{"mfu", -1, 0.21}}, {"", 0.0}, 6, 4, 0},
        {{{"step_time_s", -1, 0}}, {"", 0.0}, 6, 4, 0},
        {{{"step_time_s", 1, 0.2}, {"mfu", -1, 0}}, {"", 0.0}, 6, 4, 1},
        {{{"mfu", 0, 0}}, {"", 0.0}, 1, 1, 1},
        {{{"note", 0, 0}}, {"", 0.0}, 1, 1, 1},
        {{{"note", 1, 0}}, {"", 0.0}, 6, 4, 1},
        {{{"list[row]", 0, 0}}, {"", 0.0}, 2, 0, 0},
        {{{"list", 0, 0}}, {"", 0.0}, 3, 1, 1},
        {{{"list", 1, 10}}, {"", 0.0}, 6, 4, 1},
        {{{"list[new].x", 0, 0}}, {"", 0.0}, 1, 1, 1},
        {{{"list[new].name", 0, 0}}, {"", 0.0}, 1, 1, 1},
        {{{"list[*].x", 0, 0}}, {"", 0.0}, 2, 1, 1},
        {{{"mfu", 0, 0}, {"step_time_s", 1, 0.2}}, {"", 0.0}, 2, 2, 1},
        {{{"step_time_s", 0, 0}, {"step_time_s", 1, 0.2}}, {"", 0.0}, 1, 1, 0},
    };
    const double before[] = {1.0, 0.5, 2.0};
    const double after[] = {1.1, 0.4, 2.0};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        add_run(p.a, before, "old", false);
        add_run(p.b, after, "new", true);
        size_t guards = CASES[i].guards[0].key == NULL ? 0 : CASES[i].guards[1].key == NULL ? 1 : 2;
        const ms_compare_rules rules = {.tolerances = &CASES[i].tolerance,
                                        .tolerance_count = 1,
                                        .guards = CASES[i].guards,
                                        .guard_count = guards};
        ms_differences differences = compare(&p, &rules);
        cr_assert_eq(differences.compared, CASES[i].compared, "case %zu: %zu", i,
                     differences.compared);
        cr_assert_eq(differences.count, CASES[i].listed, "case %zu: %zu", i, differences.count);
        cr_assert_eq(differences.failed, CASES[i].failed, "case %zu: %zu", i, differences.failed);
        pair_release(&p);
    }
}

Test(compare, what_is_gone_breaks_the_guard_of_a_part_of_it) {
    pair p;
    pair_init(&p);
    const double numbers[] = {1.0, 0.5, 2.0};
    add_run(p.a, numbers, "", true);
    add_run(p.b, numbers, "", false);
    static const ms_guard PART = {"list[new].x", true, 0.5};
    static const ms_guard OTHER = {"list[row].x", true, 0.5};
    const ms_compare_rules part = {.guards = &PART, .guard_count = 1};
    const ms_compare_rules other = {.guards = &OTHER, .guard_count = 1};
    ms_differences differences = compare(&p, &part);
    cr_assert_eq(differences.failed, 1U);
    cr_assert_str_eq(differences.items[0].key, "list[new]");
    cr_assert_eq(compare(&p, &other).failed, 0U);
    pair_release(&p);
}

Test(compare, large_integers_are_compared_exactly) {
    pair p;
    pair_init(&p);
    ms_value_add_int(p.a, "n", (1LL << 60) + 1);
    ms_value_add_int(p.b, "n", (1LL << 60) + 1);
    ms_value_add_int(p.a, "m", 10000000000000);
    ms_value_add_int(p.b, "m", 10000000000001);
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 1U);
    cr_assert_str_eq(differences.items[0].key, "m");
    pair_release(&p);
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
    cr_assert_eq(compare_with(&p, NULL, 0).count, 0U);
    cr_assert(ms_trace_is_volatile("engine.wall_s"));
    cr_assert_not(ms_trace_is_volatile("critical_path"));
    cr_assert_not(ms_trace_is_volatile("wall_s"));
    pair_release(&p);
}

Test(compare, the_step_time_comes_first_then_the_largest) {
    pair p;
    pair_init(&p);
    static const double CHANGES[] = {0.01, -0.5, 0.2, 3.0, -0.02};
    ms_value_add_string(p.a, "a_text", "x");
    ms_value_add_string(p.b, "a_text", "y");
    ms_value_add_int(p.a, "gone", 1);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        const char *key = ms_arena_printf(&p.arena, "q%zu", i);
        ms_value_add_double(p.a, key, 2.0);
        ms_value_add_double(p.b, key, 2.0 * (1.0 + CHANGES[i]));
    }
    ms_value_add_double(p.a, "zero", 0.0);
    ms_value_add_double(p.b, "zero", 1.0);
    ms_value_add_double(p.a, "step_time_s", 1.0);
    ms_value_add_double(p.b, "step_time_s", 1.001);
    static const char *const ORDER[] = {"step_time_s", "zero", "q3",   "q1",    "q2",
                                        "q4",          "q0",   "gone", "a_text"};
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 9U);
    for (size_t i = 0; i < 9; i++) {
        cr_assert_str_eq(differences.items[i].key, ORDER[i]);
    }
    cr_assert(isinf(differences.items[1].relative));
    cr_assert_float_eq(differences.items[3].relative, -0.5, 1e-12);
    pair_release(&p);
}

/* ---- rows ---- */

static void add_collective(ms_value *list, const char *axis, double size_B, const char *tier,
                           double time_s) {
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "axis", axis);
    ms_value_add_string(row, "kind", "all_gather");
    ms_value_add_double(row, "size_B", size_B);
    ms_value_add_string(row, "tier", tier);
    ms_value_add_string(row, "algorithm", "ring");
    ms_value_add_double(row, "time_s", time_s);
}

Test(compare, rows_are_matched_by_what_they_are) {
    pair p;
    pair_init(&p);
    ms_value *a = ms_value_add(p.a, "collectives", MS_VALUE_ARRAY);
    ms_value *b = ms_value_add(p.b, "collectives", MS_VALUE_ARRAY);
    add_collective(a, "tp", 16777216, "nvlink", 1.0);
    add_collective(a, "dp", 512, "rail", 1.0);
    add_collective(b, "dp", 512, "rail", 1.0);
    add_collective(b, "ep", 7.4, "rail", 1.0);
    add_collective(b, "tp", 16777216, "nvlink", 2.0);
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 2U);
    cr_assert_str_eq(differences.items[0].key, "collectives[tp.all_gather.16777216].time_s");
    cr_assert_str_eq(differences.items[1].key, "collectives[ep.all_gather.7]");
    pair_release(&p);
}

Test(compare, rows_of_one_name_get_as_many_words_as_it_takes) {
    pair p;
    pair_init(&p);
    ms_value *a = ms_value_add(p.a, "collectives", MS_VALUE_ARRAY);
    ms_value *b = ms_value_add(p.b, "collectives", MS_VALUE_ARRAY);
    add_collective(a, "dp", 512, "rail", 1.0);
    add_collective(a, "pp", 512, "rail", 1.0);
    add_collective(a, "pp", 512, "rail", 1.0);
    add_collective(b, "dp", 512, "rail", 2.0);
    add_collective(b, "dp", 512, "spine", 2.0);
    add_collective(b, "pp", 512, "rail", 1.0);
    add_collective(b, "pp", 512, "rail", 2.0);
    ms_differences differences = compare_with(&p, NULL, 0);
    cr_assert_eq(differences.count, 3U);
    cr_assert_str_eq(differences.items[0].key, "collectives[dp.all_gather.512.rail].time_s");
    cr_assert_str_eq(differences.items[1].key, "collectives[pp.all_gather.512.rail.ring#2].time_s");
    cr_assert_str_eq(differences.items[2].key, "collectives[dp.all_gather.512.spine]");
    pair_release(&p);
}

Test(compare, keys_with_words_of_rows_hold_for_rows_that_begin_so) {
    static const struct {
        const char *key;
        size_t compared; /* of 12: six values in each of two rows */
    } CASES[] = {
        {"collectives", 12},
        {"collectives[]", 12},
        {"collectives[*]", 12},
        {"collectives[tp]", 6},
        {"collectives[tp.all_gather]", 6},
        {"collectives[tp.all_gather.16777216]", 6},
        {"collectives[tp.*.16777216].time_s", 1},
        {"collectives[*.all_gather].time_s", 2},
        {"collectives[*].time_s", 2},
        {"collectives[t]", 0},
        {"collectives[tp.all_gather.1677721]", 0},
        {"collectives[tp", 0},
        {"collectives[0]", 0},
        {"collectives.time_s", 0},
        {"collective", 0},
        {"collectives[tp].tim", 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pair p;
        pair_init(&p);
        for (int side = 0; side < 2; side++) {
            ms_value *list = ms_value_add(side == 0 ? p.a : p.b, "collectives", MS_VALUE_ARRAY);
            add_collective(list, "tp", 16777216, "nvlink", 1.0);
            add_collective(list, "dp", 512, "rail", 1.0);
        }
        const ms_guard guard = {CASES[i].key, false, 0.0};
        const ms_compare_rules rules = {.guards = &guard, .guard_count = 1};
        cr_assert_eq(compare(&p, &rules).compared, CASES[i].compared, "case %zu", i);
        pair_release(&p);
    }
}

/* ---- keys ---- */

static void keep_talk(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

Test(compare, a_key_that_stands_for_nothing_is_told_with_the_nearest) {
    static const struct {
        const char *key;
        const char *talk; /* NULL: known */
    } CASES[] = {
        {"step_time_s", NULL},
        {"list[row]", NULL},
        {"list[new].x", NULL},
        {"list", NULL},
        {"step_time", "unknown quantity 'step_time'; did you mean 'step_time_s'?"},
        {"list[rwo]", "did you mean 'list[row]'?"},
        {"list[*].y", "did you mean 'list[*].x'?"},
        {"liist", "did you mean 'list'?"},
        {"entirely_elsewhere", "unknown quantity 'entirely_elsewhere'; 'meshsim run --json'"},
    };
    const double numbers[] = {1.0, 0.5, 2.0};
    for (size_t i = 0; i < 2 * (sizeof CASES / sizeof CASES[0]); i++) {
        pair p;
        ms_diag diag;
        ms_buffer talk;
        pair_init(&p);
        ms_buffer_init(&talk);
        ms_diag_init(&diag, keep_talk, &talk);
        add_run(p.a, numbers, "", false);
        add_run(p.b, numbers, "", true);
        (void)compare_with(&p, NULL, 0);
        const ms_guard guard = {CASES[i / 2].key, false, 0.0};
        const ms_tolerance tolerances[] = {{"", 0.1}, {CASES[i / 2].key, 0.1}};
        const ms_compare_rules rules =
            i % 2 == 0 ? (ms_compare_rules){.guards = &guard, .guard_count = 1}
                       : (ms_compare_rules){.tolerances = tolerances, .tolerance_count = 2};
        cr_assert_eq(ms_compare_check_keys(&rules, &p.keys, &diag),
                     CASES[i / 2].talk == NULL ? MS_OK : MS_E_USAGE, "case %zu", i);
        cr_assert(CASES[i / 2].talk == NULL ||
                      strstr(ms_buffer_text(&talk), CASES[i / 2].talk) != NULL,
                  "case %zu: %s", i, ms_buffer_text(&talk));
        ms_buffer_release(&talk);
        pair_release(&p);
    }
}

/* ---- inputs ---- */

Test(compare, inputs_differ_key_by_key) {
    ms_arena arena;
    ms_diag diag;
    ms_differences differences = {0};
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    const ms_trace a = {
        .path = "a.h5",
        .inputs.workload =
            "name: w\nplatform:\n  file: p\n  nodes: 1\nmesh:\n  dp: 2\n  order: [pp, dp]\n",
        .inputs.platform = "name: p\nnodes: 2\nport: 400 Gbit/s\nload: 5 %\n",
        .inputs.schedule = "0F0,0B0\n1F0,1B0\n",
    };
    const ms_trace b = {
        .path = "b.h5",
        .inputs.workload = "name: w\nplatform: p\nmesh:\n  dp: 2\n  order: [dp, pp]\nsteps: 2\n",
        .inputs.platform = "name: p\nnodes: 4\nport: 50GB/s\nload: 0.05\n",
        .inputs.schedule = "0F0,0B0\n1F0,,1B0\n",
    };
    cr_assert_eq(ms_compare_inputs(&a, &b, &arena, &diag, &differences), MS_OK);
    static const struct {
        const char *key, *a, *b;
    } EXPECTED[] = {
        {"platform.file", "p", NULL},
        {"platform.nodes", "2", "4"},
        {"mesh.order", "[pp, dp]", "[dp, pp]"},
        {"schedule.csv", "line 2: 1F0,1B0", "line 2: 1F0,,1B0"},
        {"platform", NULL, "p"},
        {"steps", NULL, "2"},
    };
    cr_assert_eq(differences.count, 6U);
    for (size_t i = 0; i < differences.count; i++) {
        const ms_difference *found = &differences.items[i];
        cr_assert_str_eq(found->key, EXPECTED[i].key);
        cr_assert_str_eq(found->a == NULL ? "" : found->a->as.string,
                         EXPECTED[i].a == NULL ? "" : EXPECTED[i].a);
        cr_assert_str_eq(found->b == NULL ? "" : found->b->as.string,
                         EXPECTED[i].b == NULL ? "" : EXPECTED[i].b);
        cr_assert_not(found->has_failed);
    }
    const ms_trace none = {.path = "c.h5"};
    cr_assert_eq(ms_compare_inputs(&none, &none, &arena, &diag, &differences), MS_OK);
    cr_assert_eq(differences.count, 0U);
    ms_arena_release(&arena);
}

Test(compare, inputs_that_are_no_yaml_are_bad_input) {
    ms_arena arena;
    ms_diag diag;
    ms_buffer talk;
    ms_differences differences = {0};
    ms_arena_init(&arena);
    ms_buffer_init(&talk);
    ms_diag_init(&diag, keep_talk, &talk);
    const ms_trace sound = {.path = "a.h5", .inputs.workload = "name: w\n"};
    const ms_trace torn = {.path = "b.h5", .inputs.workload = "name: [w\n"};
    cr_assert_eq(ms_compare_inputs(&sound, &torn, &arena, &diag, &differences), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&talk), "cannot read 'b.h5': the trace is damaged"));
    ms_buffer_release(&talk);
    ms_arena_release(&arena);
}

Test(compare, running_out_of_memory_is_told) {
    const ms_compare_rules rules = {.guard_count = 0};
    for (long allowed = 0; allowed < 3; allowed++) {
        pair p;
        ms_differences differences;
        pair_init(&p);
        add_share(p.a, 0.5);
        add_share(p.b, 0.6);
        ms_arena_fail_after(&p.arena, allowed);
        cr_assert_eq(ms_compare(p.a, p.b, &rules, &p.arena, &p.keys, &differences), MS_E_NOMEM);
        pair_release(&p);
    }
}
