/* One list of columns makes JSON, and says how rows are sorted. */
#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "search/table.h"

typedef struct row {
    const char *name, *reason, *note;
    int64_t count;
    double time_s, share, part, whole;
    bool is_good;
} row;

#define FIELD(name) offsetof(row, name)

static const ms_table_column COLUMNS[] = {
    {"name", MS_COLUMN_TEXT, FIELD(name), .sort = MS_SORT_LOWEST, .is_of_left_out = true},
    {"count", MS_COLUMN_INT, FIELD(count), .sort = MS_SORT_HIGHEST},
    {"time_s", MS_COLUMN_NUMBER, FIELD(time_s), .sort = MS_SORT_LOWEST},
    {"share", MS_COLUMN_NUMBER, FIELD(share), .sort = MS_SORT_HIGHEST},
    {"parts.part", MS_COLUMN_NUMBER, FIELD(part), .sort = MS_SORT_NEVER, .is_optional = true},
    {"parts.whole", MS_COLUMN_NUMBER, FIELD(whole), .sort = MS_SORT_LOWEST},
    {"note", MS_COLUMN_TEXT, FIELD(note), .is_optional = true},
    {"is_good", MS_COLUMN_BOOL, .offset = FIELD(is_good)},
    {"reason", MS_COLUMN_TEXT, FIELD(reason), .is_optional = true, .is_of_left_out = true},
    {0},
};

static const row ROWS[] = {
    {.name = "one", .count = 1, .time_s = 2, .share = 0.25, .part = 1e-14, .whole = 3},
    {.name = "two",
     .count = 3,
     .time_s = 1,
     .share = NAN,
     .part = NAN,
     .whole = NAN,
     .note = "a,b"},
    {.name = "out", .reason = "too \"large\"", .count = 9},
    {.name = "three", .count = 2, .time_s = 2 - 1e-13, .part = -2, .whole = 2, .is_good = true},
};
enum { COUNT = sizeof ROWS / sizeof ROWS[0] };

/* A table of all rows, sorted by a word. */
static ms_table table_by(const char *word, const void *rows[COUNT]) {
    for (size_t i = 0; i < COUNT; i++) {
        rows[i] = &ROWS[i];
    }
    ms_table table = {.columns = COLUMNS,
                      .reason_offset = FIELD(reason),
                      .rows = rows,
                      .count = COUNT,
                      .sorted_by = ms_table_find_column(COLUMNS, word)};
    cr_assert_not_null(table.sorted_by, "%s", word);
    ms_table_sort(&table);
    return table;
}

/* Ties (1e-13 is rounding) keep their order; what has no number stands behind what has one; rows
 * that are left out come last. */
Test(table, sorts_by_any_column) {
    static const struct {
        const char *word, *order;
    } CASES[] = {
        {"name", "one three two out"},   {"count", "two three one out"},
        {"time_s", "two one three out"}, {"share", "one three two out"},
        {"whole", "three one two out"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const void *rows[COUNT];
        const ms_table table = table_by(CASES[i].word, rows);
        ms_buffer order;
        ms_buffer_init(&order);
        for (size_t r = 0; r < COUNT; r++) {
            ms_buffer_printf(&order, "%s%s", r == 0 ? "" : " ", ((const row *)table.rows[r])->name);
        }
        cr_assert_str_eq(ms_buffer_text(&order), CASES[i].order, "%s: %s", CASES[i].word,
                         ms_buffer_text(&order));
        cr_assert_eq(ms_table_kept(&table), 3U);
        cr_assert_str_eq(ms_table_reason(&table, 3), "too \"large\"");
        ms_buffer_release(&order);
    }
}

Test(table, words_to_sort_by) {
    ms_buffer words;
    ms_buffer_init(&words);
    ms_table_list_columns(COLUMNS, &words);
    cr_assert_str_eq(ms_buffer_text(&words), "name, count, time_s, share, whole");
    cr_assert_null(ms_table_find_column(COLUMNS, "note"));
    cr_assert_null(ms_table_find_column(COLUMNS, "parts.whole"));
    ms_buffer_release(&words);
}

Test(table, json_has_the_columns_as_keys) {
    const void *rows[COUNT];
    const ms_table table = table_by("count", rows);
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_table_add_rows(&table, root);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(root, 0, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "{\"rows\":[{\"name\":\"two\",\"count\":3,\"time_s\":1,\"share\":null,"
                     "\"parts\":{\"whole\":null},\"note\":\"a,b\",\"is_good\":false},"
                     "{\"name\":\"three\",\"count\":2,\"time_s\":1.9999999999999,\"share\":0,"
                     "\"parts\":{\"part\":-2,\"whole\":2},\"is_good\":true},"
                     "{\"name\":\"one\",\"count\":1,\"time_s\":2,\"share\":0.25,"
                     "\"parts\":{\"part\":1e-14,\"whole\":3},\"is_good\":false}],"
                     "\"left_out\":[{\"name\":\"out\",\"reason\":\"too \\\"large\\\"\"}]}",
                     "%s", ms_buffer_text(&text));
    ms_buffer_release(&text);
    ms_arena_release(&arena);
}

/* Rows that have no reasons are all there, and nothing says that some could be missing. */
Test(table, keeps_all_where_no_row_is_left_out) {
    static const ms_table_column COUNTS[] = {
        {"count", MS_COLUMN_INT, FIELD(count), .sort = MS_SORT_LOWEST},
        {0},
    };
    ms_arena arena;
    ms_buffer text;
    ms_arena_init(&arena);
    ms_buffer_init(&text);
    ms_table table = {.columns = COUNTS, .reason_offset = MS_TABLE_KEEPS_ALL};
    cr_assert_eq(ms_table_fill(&table, ROWS, sizeof ROWS[0], COUNT, &arena), MS_OK);
    cr_assert_eq(ms_table_kept(&table), COUNT);
    table.sorted_by = COUNTS;
    ms_table_sort(&table);
    ms_value *root = ms_value_new_object(&arena);
    ms_table_add_rows(&table, root);
    ms_value_write_json(root, 0, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "{\"rows\":[{\"count\":1},{\"count\":2},{\"count\":3},{\"count\":9}]}");
    ms_buffer_release(&text);
    ms_arena_release(&arena);
}
