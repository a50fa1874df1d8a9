/* Defaults that changed between two traces. */
#include <criterion/criterion.h>
#include <string.h>

#include "search/compare.h"

/* Two traces by their resolved inputs, and what they are compared to. */
typedef struct defaults_case {
    ms_arena arena;
    ms_buffer talk;
    ms_diag diag;
    ms_differences inputs, defaults;
    ms_status status;
} defaults_case;

static void keep_words(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static void compare(defaults_case *c, const char *a, const char *b) {
    const ms_trace traces[2] = {{.path = "a.h5", .inputs.resolved = a},
                                {.path = "b.h5", .inputs.resolved = b}};
    memset(c, 0, sizeof *c);
    ms_arena_init(&c->arena);
    ms_buffer_init(&c->talk);
    ms_diag_init(&c->diag, keep_words, &c->talk);
    c->status =
        ms_compare_defaults(&traces[0], &traces[1], &c->arena, &c->diag, &c->inputs, &c->defaults);
}

static void release(defaults_case *c) {
    ms_buffer_release(&c->talk);
    ms_arena_release(&c->arena);
}

/* "key a b, key a b" */
static const char *words_of(defaults_case *c, const ms_differences *list) {
    ms_buffer words;
    ms_buffer_init(&words);
    for (size_t i = 0; i < list->count; i++) {
        const ms_difference *one = &list->items[i];
        cr_assert(one->guard == -1 && !one->has_failed);
        ms_buffer_printf(&words, "%s%s %s %s", i == 0 ? "" : ", ", one->key,
                         one->a == NULL ? "-" : one->a->as.string,
                         one->b == NULL ? "-" : one->b->as.string);
    }
    return ms_buffer_keep(&words, &c->arena);
}

Test(compare_defaults, what_nobody_typed_and_differs_is_a_changed_default) {
    static const struct {
        const char *a, *b, *defaults, *inputs;
    } CASES[] = {
        {"", "", "", ""},
        {"k = 1  # default\n", "k = 1  # default\n", "", ""},
        {"k = 1  # default\n", "k = 2  # default\n", "k 1 2", ""},
        {"b = 1  # default\na = 1  # derived\n", "a = 3  # derived\nb = 2  # default",
         "a 1 3, b 1 2", ""},
        /* another origin of the same value, the same quantity in other words */
        {"k = 1  # default\n", "k = 1  # framework x\n", "", ""},
        {"k = 400 Gbit/s  # default\n", "k = 50GB/s  # default\n", "", ""},
        /* typed on one side, and by an option */
        {"k = 1  # typed\n", "k = 2  # default\n", "", "k 1 2"},
        {"k = 1  # typed\n", "k = 2  # typed\n", "", "k 1 2"},
        /* keys that one side lacks, or that are not given */
        {"k =  # not given\n", "k = 2  # default\n", "k - 2", ""},
        {"k =  # not given\n", "", "", ""},
        {"", "k = 2  # default\n", "k - 2", ""},
        {"k = \"\"  # default\n", "k = 2  # default\n", "k \"\" 2", ""},
        /* where the user typed something else, what may follow from it is left out */
        {"t = 1  # typed\nk = 1  # derived\n", "t = 2  # typed\nk = 2  # derived\n", "", "t 1 2"},
        {"t = 1  # typed\nk = 1  # x.yaml\n", "t = 2  # typed\nk = 2  # y.yaml\n", "", "t 1 2"},
        {"t = 1  # typed\n", "t = 2  # typed\nk = 2  # default\n", "", "t 1 2"},
        {"t = 1  # typed\nk = 1  # x.yaml\n", "t = 2  # typed\nk = 2  # x.yaml\n", "k 1 2",
         "t 1 2"},
        {"t = 1  # typed\nk = 1  # default\n", "t = 2  # typed\nk = 2  # default\n", "k 1 2",
         "t 1 2"},
        /* from a name nothing follows */
        {"name = x  # typed\nk = 1  # derived\n", "name = y  # typed\nk = 2  # derived\n", "k 1 2",
         "name x y"},
        /* a value may look like the parts of a line */
        {"k = \"a = b  # c\"  # default\n", "k = x  # default\n", "k \"a = b  # c\" x", ""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        defaults_case c;
        compare(&c, CASES[i].a, CASES[i].b);
        cr_assert_eq(c.status, MS_OK, "case %zu: %s", i, ms_buffer_text(&c.talk));
        cr_assert_str_eq(words_of(&c, &c.defaults), CASES[i].defaults, "case %zu", i);
        cr_assert_str_eq(words_of(&c, &c.inputs), CASES[i].inputs, "case %zu", i);
        release(&c);
    }
}

/* A profile's choice stands in the workload's text as well: it is told once, as a default. */
Test(compare_defaults, a_changed_default_is_no_input) {
    defaults_case c;
    const ms_trace a = {.path = "a.h5",
                        .inputs.workload = "host: {launch: 1 us}\nsteps: 1\n",
                        .inputs.resolved =
                            "host.launch = 1 us  # framework x\nsteps = 1  # typed\n"};
    const ms_trace b = {.path = "b.h5",
                        .inputs.workload = "host: {launch: 2 us}\nsteps: 2\n",
                        .inputs.resolved =
                            "host.launch = 2 us  # framework x\nsteps = 2  # typed\n"};
    compare(&c, NULL, NULL);
    cr_assert_eq(ms_compare_inputs(&a, &b, &c.arena, &c.diag, &c.inputs), MS_OK);
    cr_assert_eq(c.inputs.count, 2U);
    cr_assert_eq(ms_compare_defaults(&a, &b, &c.arena, &c.diag, &c.inputs, &c.defaults), MS_OK);
    cr_assert_str_eq(words_of(&c, &c.defaults), "host.launch 1 us 2 us");
    cr_assert_str_eq(words_of(&c, &c.inputs), "steps 1 2");
    release(&c);
}

Test(compare_defaults, a_trace_without_resolved_inputs_has_none) {
    static const char TEXT[] = "k = 1  # default\n";
    static const char *const PAIRS[][2] = {{NULL, NULL}, {TEXT, NULL}, {NULL, TEXT}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        defaults_case c;
        compare(&c, PAIRS[i][0], PAIRS[i][1]);
        cr_assert_eq(c.status, MS_OK);
        cr_assert_eq(c.defaults.count, 0U);
        release(&c);
    }
}

Test(compare_defaults, damaged_lines_are_bad_input) {
    static const char *const TEXTS[][2] = {
        {"k = 1  # d\nk 2  # d\n", "line 2: expected 'KEY = VALUE  # ORIGIN'"},
        {"k = 1 # d\n", "line 1: expected"},
        {"\n", "line 1: expected"},
        {" = 1  # d\n", "line 1: expected"},
        {"k = 1  # d\nl = \xC3  # d", "line 2: it is no UTF-8"},
    };
    for (size_t i = 0; i < 2 * (sizeof TEXTS / sizeof TEXTS[0]); i++) {
        defaults_case c;
        const char *text = TEXTS[i / 2][0];
        compare(&c, i % 2 == 0 ? text : "", i % 2 == 0 ? "" : text);
        cr_assert_eq(c.status, MS_E_INPUT, "case %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&c.talk), TEXTS[i / 2][1]), "%s",
                           ms_buffer_text(&c.talk));
        cr_assert_not_null(strstr(ms_buffer_text(&c.talk), i % 2 == 0 ? "'a.h5'" : "'b.h5'"));
        release(&c);
    }
}

Test(compare_defaults, running_out_of_memory_is_told) {
    const ms_trace a = {.path = "a.h5", .inputs.resolved = "k = 1  # default\n"};
    const ms_trace b = {.path = "b.h5", .inputs.resolved = "k = 2  # default\n"};
    ms_status status = MS_E_NOMEM;
    for (long allowed = 0; status != MS_OK; allowed++) {
        defaults_case c;
        compare(&c, NULL, NULL);
        ms_arena_fail_after(&c.arena, allowed);
        status = ms_compare_defaults(&a, &b, &c.arena, &c.diag, &c.inputs, &c.defaults);
        cr_assert(status == MS_OK || status == MS_E_NOMEM);
        cr_assert_lt(allowed, 100);
        release(&c);
    }
}
