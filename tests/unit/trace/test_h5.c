/* Files made without HDF5, read with it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>

#include "trace/h5_read.h"
#include "trace_fixture.h"

typedef struct h5_fixture {
    trace_fixture base;
    ms_h5 h5;
    int plain;
} h5_fixture;

static void h5_fixture_init(h5_fixture *f) {
    trace_fixture_init(&f->base);
    f->plain = open(f->base.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(f->plain, 0);
    ms_h5_create(&f->h5, f->plain, &f->base.arena);
}

/* What was written, opened with HDF5. */
static hid_t h5_fixture_open(h5_fixture *f) {
    cr_assert(ms_h5_close(&f->h5), "%s", f->h5.cause);
    hid_t file = H5Fopen(f->base.path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0);
    return file;
}

static void h5_fixture_release(h5_fixture *f, hid_t file) {
    cr_assert_geq(H5Fclose(file), 0);
    cr_assert_eq(close(f->plain), 0);
    trace_fixture_release(&f->base);
}

/* Values that lookup3's author gives of hashlittle(). */
Test(trace_h5, checksums_are_lookup3) {
    cr_assert_eq(ms_h5_checksum("", 0), 0xdeadbeef);
    cr_assert_eq(ms_h5_checksum("Four score and seven years ago", 30), 0x17770551);
}

static void assert_type(hid_t file, const char *name, hid_t expected) {
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    cr_assert_gt(H5Tequal(type, expected), 0, "%s", name);
    H5Tclose(type);
    H5Aclose(attribute);
}

Test(trace_h5, types_are_those_of_hdf5) {
    static const int8_t I8[] = {-1, 2};
    static const int16_t I16[] = {-300, 2};
    static const int32_t I32[] = {-70000, 2};
    static const int64_t I64[] = {INT64_MIN, 2};
    static const double F64[] = {0.1, -1e300};
    static const struct {
        const char *name;
        ms_h5_cells cells;
    } CASES[] = {{"i8", {MS_H5_I8, 2, I8}},
                 {"i16", {MS_H5_I16, 2, I16}},
                 {"i32", {MS_H5_I32, 2, I32}},
                 {"i64", {MS_H5_I64, 2, I64}},
                 {"f64", {MS_H5_F64, 2, F64}}};
    const hid_t types[] = {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE,
                           H5T_IEEE_F64LE};
    h5_fixture f;
    h5_fixture_init(&f);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_h5_attribute(&f.h5, &f.h5.root, CASES[i].name, CASES[i].cells);
    }
    ms_h5_text(&f.h5, &f.h5.root, "text", "m\xc3\xbc");
    hid_t file = h5_fixture_open(&f);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char found[2 * sizeof(double)];
        hid_t attribute = H5Aopen(file, CASES[i].name, H5P_DEFAULT);
        assert_type(file, CASES[i].name, types[i]);
        cr_assert_geq(H5Aread(attribute, types[i], found), 0);
        cr_assert_eq(memcmp(found, CASES[i].cells.data, 2 * ms_h5_cell_B(CASES[i].cells.cell)), 0);
        H5Aclose(attribute);
    }
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    assert_type(file, "text", text);
    H5Tclose(text);
    h5_fixture_release(&f, file);
}

/* Texts fill several collections of the heap; some fill one alone. */
Test(trace_h5, texts_of_every_length_come_back) {
    enum { TEXTS = 700, LONGEST = 40000 };
    char *text = calloc(LONGEST + 1, 1), name[16];
    h5_fixture f;
    h5_fixture_init(&f);
    for (int i = 0; i < TEXTS; i++) {
        size_t length = i % 100 == 99 ? (size_t)i * LONGEST / TEXTS : (size_t)i % 70;
        snprintf(name, sizeof name, "%d", i);
        memset(text, 'a' + i % 26, length);
        text[length] = '\0';
        ms_h5_text(&f.h5, &f.h5.root, name, text);
    }
    hid_t file = h5_fixture_open(&f);
    for (int i = 0; i < TEXTS; i++) {
        char *found = NULL;
        size_t length = i % 100 == 99 ? (size_t)i * LONGEST / TEXTS : (size_t)i % 70;
        snprintf(name, sizeof name, "%d", i);
        hid_t attribute = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(attribute);
        cr_assert_geq(H5Aread(attribute, type, &found), 0, "%d", i);
        cr_assert_eq(found == NULL ? 0 : strlen(found), length, "%d", i);
        cr_assert(length == 0 || strspn(found, (char[]){(char)('a' + i % 26), '\0'}) == length);
        free(found);
        H5Tclose(type);
        H5Aclose(attribute);
    }
    free(text);
    h5_fixture_release(&f, file);
}

static void fill_rows(const ms_column *column, size_t first, size_t count, void *cells_out) {
    (void)column;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = (int32_t)((first + i) * 7);
    }
}

static void fill_names(const ms_column *column, size_t first, size_t count, void *cells_out) {
    (void)column;
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "row %zu", first + i);
        ms_h5_put_text((char *)cells_out + i * MS_H5_TEXT_B, name);
    }
}

static void fill_axes(const ms_column *column, size_t first, size_t count, void *cells_out) {
    (void)column;
    for (size_t i = 0; i < count; i++) {
        ((int8_t *)cells_out)[i] = (first + i) / MS_H5_CHUNK_CELLS % 2 == 0 ? 0 : 1;
    }
}

static void read_row(hid_t file, const char *name, hsize_t row, hid_t type, void *cell_out) {
    hsize_t one = 1;
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(data);
    hid_t window = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &row, NULL, &one, NULL);
    cr_assert_geq(H5Dread(data, type, window, space, H5P_DEFAULT, cell_out), 0, "%s[%llu]", name,
                  (unsigned long long)row);
    H5Sclose(window);
    H5Sclose(space);
    H5Dclose(data);
}

/* None, in the header, one chunk, and several of numbers and texts. */
Test(trace_h5, tables_of_every_length_come_back) {
    static const size_t ROWS[] = {0, 1, 512, 513, 10837, 10838, 65024, 65025, 200000};
    enum { COUNT = sizeof ROWS / sizeof ROWS[0] };
    static const ms_column COLUMNS[] = {
        {"number", MS_H5_I32, "1", "a number", .fill = fill_rows},
        {"name", MS_H5_TEXT, "1", "a name", .fill = fill_names},
    };
    char groups[COUNT][16];
    h5_fixture f;
    h5_fixture_init(&f);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(groups[i], sizeof groups[i], "table%zu", i);
        const ms_h5_table table = {groups[i], "row", "some rows", ROWS[i], COLUMNS, 2};
        ms_h5_write_table(&f.h5, &table);
    }
    hid_t file = h5_fixture_open(&f);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, MS_H5_TEXT_B);
    H5Tset_cset(text, H5T_CSET_UTF8);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t row = 0; row < ROWS[i]; row += row + 511 < ROWS[i] ? 511 : 1) {
            char column[64], expected[32], found[MS_H5_TEXT_B + 1] = "";
            int32_t number = -1;
            snprintf(column, sizeof column, "table%zu/number", i);
            read_row(file, column, row, H5T_NATIVE_INT32, &number);
            cr_assert_eq(number, (int32_t)(row * 7));
            snprintf(column, sizeof column, "table%zu/name", i);
            read_row(file, column, row, text, found);
            snprintf(expected, sizeof expected, "row %zu", row);
            cr_assert_str_eq(found, expected);
        }
    }
    H5Tclose(text);
    h5_fixture_release(&f, file);
}

/* More chunks than HDF5 has on a page of an index unless it is told otherwise. */
Test(trace_h5, an_index_of_many_chunks_has_no_pages) {
    const size_t rows = (size_t)1030 * MS_H5_CHUNK_CELLS - 5;
    static const ms_column COLUMNS[] = {{"axis", MS_H5_AXIS, "1", "an axis", .fill = fill_axes}};
    const ms_h5_table table = {"many", "row", "many rows", rows, COLUMNS, 1};
    h5_fixture f;
    h5_fixture_init(&f);
    ms_h5_write_table(&f.h5, &table);
    hid_t file = h5_fixture_open(&f);
    for (size_t row = 0; row < rows; row += MS_H5_CHUNK_CELLS) {
        int8_t axis = -1;
        read_row(file, "many/axis", row, H5T_NATIVE_INT8, &axis);
        cr_assert_eq(axis, row / MS_H5_CHUNK_CELLS % 2 == 0 ? 0 : 1);
    }
    h5_fixture_release(&f, file);
}

Test(trace_h5, what_does_not_fit_is_said) {
    trace_fixture f;
    ms_h5 h5;
    trace_fixture_init(&f);
    int full = open("/dev/full", O_WRONLY);
    cr_assert_geq(full, 0);
    ms_h5_create(&h5, full, &f.arena);
    ms_h5_text(&h5, &h5.root, "text", "text");
    cr_assert_not(ms_h5_close(&h5));
    cr_assert_str_eq(h5.cause, "No space left on device");
    ms_arena_fail_after(&f.arena, 2);
    ms_h5_create(&h5, full, &f.arena);
    cr_assert_not(ms_h5_close(&h5));
    cr_assert_str_eq(h5.cause, "out of memory");
    ms_arena_fail_after(&f.arena, -1);
    ms_h5_create(&h5, full, &f.arena);
    for (int i = 0; i < 70000; i++) {
        ms_h5_integer(&h5, &h5.root, "number", i);
    }
    cr_assert_not(ms_h5_close(&h5));
    cr_assert_str_eq(h5.cause, "there is more in an object than HDF5 has room for");
    close(full);
    trace_fixture_release(&f);
}
