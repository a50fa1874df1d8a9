#include <criterion/criterion.h>
#include <float.h>

#include "trace/h5_read.h"
#include "trace_fixture.h"

/* A tree as one line of JSON, read back and written again. */
static void assert_round_trip(trace_fixture *f, const ms_value *tree) {
    ms_buffer before;
    ms_buffer after;
    char cause[MS_CHILD_CAUSE_B] = "";
    ms_h5_fault fault = {.cause = cause};
    ms_value *root = ms_value_new_object(&f->arena);
    ms_buffer_init(&before);
    ms_buffer_init(&after);
    ms_value_write_json(tree, 0, &before);
    ms_tree_add_json(root, "tree", ms_buffer_text(&before), &fault);
    cr_assert_eq(fault.status, MS_OK, "%s", cause);
    ms_value_write_json(ms_value_get(root, "tree"), 0, &after);
    cr_assert_str_eq(ms_buffer_text(&after), ms_buffer_text(&before));
    ms_buffer_release(&before);
    ms_buffer_release(&after);
}

Test(trace_summary, every_type_of_value_comes_back) {
    trace_fixture f;
    trace_fixture_init(&f);
    ms_value *tree = ms_value_new_object(&f.arena);
    ms_value_add_bool(tree, "yes", true);
    ms_value_add_bool(tree, "no", false);
    ms_value_add_int(tree, "least", INT64_MIN);
    ms_value_add_double(tree, "small", DBL_MIN);
    ms_value_add_double(tree, "smallest", DBL_TRUE_MIN);
    ms_value_add_double(tree, "large", -DBL_MAX);
    ms_value_add_double(tree, "third", 1.0 / 3);
    ms_value_add_double(tree, "whole", 3.0);
    ms_value_add(tree, "nothing", MS_VALUE_NULL);
    ms_value_add_string(tree, "empty", "");
    ms_value_add_string(tree, "text", "\xc3\xa4 \"quoted\"/\\\n");
    ms_value_add_string(tree, "number", "1");
    ms_value_add(tree, "object", MS_VALUE_OBJECT);
    assert_round_trip(&f, tree);
    trace_fixture_release(&f);
}

Test(trace_summary, lists_of_every_sort_come_back) {
    trace_fixture f;
    trace_fixture_init(&f);
    ms_value *tree = ms_value_new_object(&f.arena);
    ms_value_add(tree, "none", MS_VALUE_ARRAY);
    ms_value *mixed = ms_value_add(tree, "a/b %2F .", MS_VALUE_ARRAY);
    ms_value_add_int(mixed, NULL, 1);
    ms_value_add_double(mixed, NULL, 2.5);
    ms_value_add(mixed, NULL, MS_VALUE_NULL);
    ms_value_add_bool(mixed, NULL, true);
    ms_value *rows = ms_value_add(tree, "rows", MS_VALUE_ARRAY);
    for (int i = 0; i < 1200; i++) {
        ms_value_add_int(ms_value_add(rows, NULL, MS_VALUE_OBJECT), "i", i);
    }
    assert_round_trip(&f, tree);
    assert_round_trip(&f, rows);
    trace_fixture_release(&f);
}

Test(trace_summary, what_is_no_json_is_refused) {
    static const char *const TEXTS[] = {"", "{", "{} {}", "[1,]", "nan", "{\"a\":1,\"a\":2}"};
    trace_fixture f;
    trace_fixture_init(&f);
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        char cause[MS_CHILD_CAUSE_B] = "";
        ms_h5_fault fault = {.cause = cause};
        ms_tree_add_json(ms_value_new_object(&f.arena), "summary", TEXTS[i], &fault);
        cr_assert_eq(fault.status, MS_E_INPUT, "%s", TEXTS[i]);
        cr_assert_str_eq(cause, "the trace is damaged at /summary");
    }
    trace_fixture_release(&f);
}
