#include <criterion/criterion.h>
#include <float.h>

#include "trace_fixture.h"

/* Write a tree as a summary and read it back; both as one line of JSON. */
static void assert_round_trip(trace_fixture *f, ms_value *tree) {
    ms_trace trace;
    ms_buffer before;
    ms_buffer after;
    f->result.summary = tree;
    cr_assert_eq(ms_trace_write(f->path, &f->result, "0.0.1", &f->diag), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    cr_assert_eq(ms_trace_read(f->path, MS_TRACE_NOTHING, &f->arena, &f->diag, &trace), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    ms_buffer_init(&before);
    ms_buffer_init(&after);
    ms_value_write_json(tree, 0, &before);
    ms_value_write_json(trace.summary, 0, &after);
    cr_assert_str_eq(ms_buffer_text(&after), ms_buffer_text(&before));
    ms_buffer_release(&before);
    ms_buffer_release(&after);
}

Test(trace_summary, every_type_of_value_comes_back) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    ms_value *tree = ms_value_new_object(&f.arena);
    ms_value_add_bool(tree, "yes", true);
    ms_value_add_bool(tree, "no", false);
    ms_value_add_int(tree, "least", INT64_MIN);
    ms_value_add_double(tree, "small", DBL_MIN);
    ms_value_add_double(tree, "whole", 3.0);
    ms_value_add(tree, "nothing", MS_VALUE_NULL);
    ms_value_add_string(tree, "empty", "");
    ms_value_add_string(tree, "text", "\xc3\xa4 \"quoted\"/\\");
    ms_value_add(tree, "object", MS_VALUE_OBJECT);
    assert_round_trip(&f, tree);
    trace_fixture_release(&f);
}

Test(trace_summary, arrays_of_every_sort_come_back) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    ms_value *tree = ms_value_new_object(&f.arena);
    ms_value_add(tree, "none", MS_VALUE_ARRAY);
    ms_value *numbers = ms_value_add(tree, "numbers", MS_VALUE_ARRAY);
    ms_value *words = ms_value_add(tree, "words", MS_VALUE_ARRAY);
    for (int i = 0; i < 3; i++) {
        ms_value_add_double(numbers, NULL, 0.1 * i);
        ms_value_add_string(words, NULL, i == 1 ? "" : "word");
    }
    ms_value *mixed = ms_value_add(tree, "mixed", MS_VALUE_ARRAY);
    ms_value_add_int(mixed, NULL, 1);
    ms_value_add_double(mixed, NULL, 2.5);
    ms_value_add(mixed, NULL, MS_VALUE_NULL);
    ms_value_add_bool(mixed, NULL, true);
    ms_value *rows = ms_value_add(tree, "rows", MS_VALUE_ARRAY);
    for (int i = 0; i < 1200; i++) {
        ms_value_add_int(ms_value_add(rows, NULL, MS_VALUE_OBJECT), "i", i);
    }
    assert_round_trip(&f, tree);
    trace_fixture_release(&f);
}

Test(trace_summary, keys_that_are_no_names_in_hdf5_come_back) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    static const char *const KEYS[] = {"a/b", "a", "a%2Fb", ".", "..", "100%", "dp x cp"};
    ms_value *tree = ms_value_new_object(&f.arena);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        ms_value_add_int(ms_value_add(tree, KEYS[i], MS_VALUE_OBJECT), KEYS[i], (int64_t)i);
    }
    assert_round_trip(&f, tree);
    trace_fixture_release(&f);
}

Test(trace_summary, a_text_above_64_kib_comes_back) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    char *text = ms_arena_alloc(&f.arena, 200001, 1);
    memset(text, 'x', 200000);
    ms_value *tree = ms_value_new_object(&f.arena);
    ms_value_add_string(tree, "long", text);
    ms_value *numbers = ms_value_add(tree, "many", MS_VALUE_ARRAY);
    for (int i = 0; i < 20000; i++) {
        ms_value_add_int(numbers, NULL, i);
    }
    assert_round_trip(&f, tree);
    trace_fixture_release(&f);
}
