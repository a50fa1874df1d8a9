#include <criterion/criterion.h>
#include <fcntl.h>
#include <float.h>

#include "trace/summary.h"
#include "trace_fixture.h"

/* The tree that a file of its own gives back of `tree`, handed over as from a reader's child. */
static const ms_value *write_and_read(trace_fixture *f, const ms_value *tree) {
    const char *path = ms_arena_printf(&f->arena, "%s/tree.h5", f->folder);
    ms_h5 h5;
    int plain = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(plain, 0);
    ms_h5_create(&h5, plain, &f->arena);
    ms_summary_write(&h5, "summary", tree);
    cr_assert(ms_h5_close(&h5), "%s", h5.cause);
    cr_assert_eq(close(plain), 0);
    char cause[256] = "";
    ms_value *found = NULL;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_eq(ms_summary_read(file, "summary", &f->arena, &found, cause), MS_OK, "%s", cause);
    cr_assert_geq(H5Fclose(file), 0);
    ms_buffer packed;
    ms_buffer_init(&packed);
    ms_value_pack(found, &packed);
    found = ms_value_unpack(packed.data, packed.length, &f->arena);
    cr_assert_not_null(found);
    ms_buffer_release(&packed);
    return found;
}

/* Write a tree as a summary and read it back; both as one line of JSON. */
static void assert_round_trip(trace_fixture *f, const ms_value *tree) {
    ms_buffer before;
    ms_buffer after;
    ms_buffer_init(&before);
    ms_buffer_init(&after);
    ms_value_write_json(tree, 0, &before);
    ms_value_write_json(write_and_read(f, tree), 0, &after);
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
    trace_fixture_init(&f);
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
    trace_fixture_init(&f);
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
    trace_fixture_init(&f);
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
