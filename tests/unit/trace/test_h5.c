/* Tables of every length, written and read by HDF5; and failures. */
#include "trace/h5_write.h"
#include "trace_fixture.h"

typedef struct row {
    const char *text;
    int32_t number;
} row;

static const ms_column COLUMNS[] = {
    {"number", MS_H5_I32, "1", "a number", .offset = offsetof(row, number)},
    {"text", MS_H5_TEXT, "1", "a text", .offset = offsetof(row, text)},
};

static row *make_rows(trace_fixture *f, const char *text, size_t count) {
    row *rows = MS_NEW(&f->arena, row, count);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (row){text, (int32_t)(i * 7)};
    }
    return rows;
}

/* The cells of a column, as `type`. */
static void *read_column(trace_fixture *f, hid_t file, const char *name, hid_t type, size_t rows) {
    void *cells = ms_arena_alloc(&f->arena, rows, H5Tget_size(type));
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(data);
    cr_assert_eq((size_t)H5Sget_simple_extent_npoints(space), rows, "%s", name);
    cr_assert_geq(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells), 0, "%s", name);
    H5Sclose(space);
    H5Dclose(data);
    return cells;
}

/* None, in the header, as it is, and deflated. */
Test(trace_h5, tables_of_every_length_come_back) {
    static const size_t ROWS[] = {0, 1, 512, 513, 70000, 600000};
    static const char *const NAMES[] = {"one", NULL,
                                        "a name of more bytes than a cell of a text "
                                        "column has"};
    enum { COUNT = sizeof ROWS / sizeof ROWS[0] };
    trace_fixture f;
    ms_h5 h5;
    char group[16], column[32];
    trace_fixture_init(&f);
    ms_h5_create(&h5, f.path, &f.arena);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(group, sizeof group, "table%zu", i);
        const ms_trace_table table = {group, "row", "some rows", MS_COLUMNS(row, COLUMNS)};
        ms_h5_write_table(&h5, &table, make_rows(&f, NAMES[i % 3], ROWS[i]), ROWS[i]);
    }
    cr_assert(ms_h5_close(&h5), "%s", h5.cause);
    hid_t file = H5Fopen(f.path, H5F_ACC_RDONLY, H5P_DEFAULT), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, MS_H5_TEXT_B);
    H5Tset_cset(text, H5T_CSET_UTF8);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(column, sizeof column, "table%zu/number", i);
        const int32_t *numbers = read_column(&f, file, column, H5T_NATIVE_INT32, ROWS[i]);
        snprintf(column, sizeof column, "table%zu/text", i);
        const char *texts = read_column(&f, file, column, text, ROWS[i]);
        const char *expected = NAMES[i % 3] == NULL ? "" : NAMES[i % 3];
        for (size_t at = 0; at < ROWS[i]; at++) {
            cr_assert_eq(numbers[at], (int32_t)(at * 7), "table %zu row %zu", i, at);
            cr_assert_eq(strncmp(texts + at * MS_H5_TEXT_B, expected, MS_H5_TEXT_B - 1), 0);
        }
    }
    H5Tclose(text);
    cr_assert_geq(H5Fclose(file), 0);
    trace_fixture_release(&f);
}

/* The first failure is told, and nothing is written behind it. */
Test(trace_h5, the_first_failure_is_kept) {
    trace_fixture f;
    ms_h5 h5;
    trace_fixture_init(&f);
    cr_assert(ms_h5_start());
    snprintf(f.path, sizeof f.path, "%s/none/t.h5", f.folder);
    ms_h5_create(&h5, f.path, &f.arena);
    ms_h5_text(&h5, h5.file, "text", "text");
    ms_h5_fail(&h5, "another");
    cr_assert_not(ms_h5_close(&h5));
    cr_assert_str_eq(h5.cause, "No such file or directory");
    snprintf(f.path, sizeof f.path, "%s/t.h5", f.folder);
    ms_h5_create(&h5, f.path, &f.arena);
    const ms_trace_table table = {"table", "row", "some rows", MS_COLUMNS(row, COLUMNS)};
    const row *rows = make_rows(&f, "", 9);
    ms_arena_fail_after(&f.arena, 0);
    ms_h5_write_table(&h5, &table, rows, 9);
    cr_assert_not(ms_h5_close(&h5));
    cr_assert_str_eq(h5.cause, "out of memory");
    ms_arena_fail_after(&f.arena, -1);
    trace_fixture_release(&f);
}
