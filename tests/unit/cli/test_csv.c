/* CSV has the keys of the rows that --json prints. */
#include <criterion/criterion.h>
#include <math.h>

#include "cli/render.h"

static ms_value *add_row(ms_value *list, const char *name) {
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value *settings = ms_value_add(row, "settings", MS_VALUE_OBJECT);
    ms_value_add_int(settings, "mesh.tp", 2);
    ms_value_add_string(row, "name", name);
    return row;
}

Test(csv, has_the_columns_that_some_row_has) {
    ms_arena arena;
    ms_buffer text;
    ms_arena_init(&arena);
    ms_buffer_init(&text);
    ms_value *root = ms_value_new_object(&arena);
    ms_value *left_out = ms_value_add(root, "left_out", MS_VALUE_ARRAY);
    ms_value *rows = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    ms_value *row = add_row(rows, "one");
    ms_value_add_double(row, "share", (double)NAN);
    ms_value *parts = ms_value_add(row, "parts", MS_VALUE_OBJECT);
    ms_value_add_double(parts, "part", 0.25);
    ms_value_add_bool(row, "is_good", true);
    row = add_row(rows, "a,b");
    ms_value_add_double(row, "share", 1.0);
    ms_value *notes = ms_value_add(row, "notes", MS_VALUE_ARRAY);
    ms_value_add_string(notes, NULL, "x");
    ms_value_add_string(notes, NULL, "y");
    ms_value_add_string(add_row(left_out, "out"), "reason", "too \"large\"");
    ms_show_csv(root, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "mesh.tp,name,share,parts.part,is_good,notes,reason\n"
                     "2,one,,0.25,true,,\n"
                     "2,\"a,b\",1,,,x; y,\n"
                     "2,out,,,,,\"too \"\"large\"\"\"\n",
                     "%s", ms_buffer_text(&text));
    ms_buffer_release(&text);
    ms_arena_release(&arena);
}

Test(csv, of_no_rows_is_an_empty_line) {
    ms_arena arena;
    ms_buffer text;
    ms_arena_init(&arena);
    ms_buffer_init(&text);
    ms_show_csv(ms_value_new_object(&arena), &text);
    cr_assert_str_eq(ms_buffer_text(&text), "\n");
    ms_buffer_release(&text);
    ms_arena_release(&arena);
}
