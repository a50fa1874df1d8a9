#include <criterion/criterion.h>
#include <hdf5.h>
#include <sys/wait.h>

#include "base/random.h"
#include "trace_fixture.h"

enum { GARBLED_FILES = 150, TRUNCATED_FILES = 40, READ_LIMIT_S = 80 };

static void assert_refused(trace_fixture *f, const char *path, ms_status expected,
                           const char *cause) {
    ms_trace trace = {.path = "untouched"};
    f->messages.length = 0;
    f->diag.errors = 0;
    cr_assert_eq(ms_trace_read(path, MS_TRACE_EVENTS, &f->arena, &f->diag, &trace), expected, "%s",
                 path);
    const char *text = ms_buffer_text(&f->messages);
    cr_assert_eq(f->diag.errors, 1, "%s", text);
    cr_assert_not_null(strstr(text, cause), "%s", text);
    cr_assert_str_eq(trace.path, "untouched");
}

Test(trace_read, what_is_no_trace_is_refused) {
    trace_fixture f;
    trace_fixture_init(&f);
    assert_refused(&f, f.path, MS_E_INPUT, "No such file or directory");
    assert_refused(&f, f.folder, MS_E_INPUT, "it is a folder");
    trace_fixture_write_file(f.path, "", 0);
    assert_refused(&f, f.path, MS_E_INPUT, "it is no HDF5 file");
    trace_fixture_write_file(f.path, "name: tiny\n", 11);
    assert_refused(&f, f.path, MS_E_INPUT, "it is no HDF5 file");
    hid_t other = H5Fcreate(f.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Fclose(other), 0);
    assert_refused(&f, f.path, MS_E_INPUT, "it is no trace of meshsim");
    trace_fixture_release(&f);
}

static void set_version(const char *path, int version) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_INT, &version), 0);
    H5Aclose(attribute);
    H5Fclose(file);
}

Test(trace_read, a_later_format_is_refused_with_both_versions) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    set_version(f.path, MS_TRACE_FORMAT_VERSION + 1);
    assert_refused(&f, f.path, MS_E_INPUT, "format version 3, this program reads up to 2");
    set_version(f.path, 0);
    assert_refused(&f, f.path, MS_E_INPUT, "damaged");
    trace_fixture_release(&f);
}

static void remove_link(const char *path, const char *name) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert_geq(H5Ldelete(file, name, H5P_DEFAULT), 0);
    H5Fclose(file);
}

Test(trace_read, a_missing_column_is_named) {
    static const char *const NAMES[] = {"/events/mb",    "/events/start_ps", "/ranks/pp",
                                        "/streams/axis", "/members/event",   "/memory/bytes",
                                        "/steps/end_ps", "/summary"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        trace_fixture f;
        trace_fixture_write(&f, TRACE_SMALL);
        remove_link(f.path, NAMES[i]);
        assert_refused(&f, f.path, MS_E_INPUT, NAMES[i]);
        trace_fixture_release(&f);
    }
}

/* Put one number into a column. */
static void poke(const char *path, const char *name, int32_t value) {
    hsize_t start = 3;
    hsize_t count = 1;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(data);
    hid_t one = H5Screate_simple(1, &count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    cr_assert_geq(H5Dwrite(data, H5T_NATIVE_INT32, one, space, H5P_DEFAULT, &value), 0);
    H5Sclose(one);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
}

Test(trace_read, an_index_that_leads_nowhere_is_refused) {
    static const struct {
        const char *name;
        int32_t value;
    } CASES[] = {{"/events/stream", 1000000}, {"/events/stream", -1}, {"/events/cause", 1000000},
                 {"/events/cause", -2},       {"/events/end_ps", -1}, {"/streams/rank", 999},
                 {"/streams/peer", 999}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        trace_fixture f;
        trace_fixture_write(&f, TRACE_SMALL);
        poke(f.path, CASES[i].name, CASES[i].value);
        assert_refused(&f, f.path, MS_E_INPUT, "damaged");
        trace_fixture_release(&f);
    }
}

/* Read in a process of its own: it must end by itself, with a trace or with one diagnostic. */
static void assert_survives(trace_fixture *f, const char *what, unsigned long detail) {
    pid_t child = fork();
    if (child == 0) {
        ms_trace trace;
        alarm(READ_LIMIT_S);
        f->diag.errors = 0;
        ms_status status = ms_trace_read(f->path, MS_TRACE_EVENTS, &f->arena, &f->diag, &trace);
        _exit((status == MS_OK) == (f->diag.errors == 0) ? 0 : 1);
    }
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s %lu: state %d", what, detail, state);
}

Test(trace_read, truncated_files_are_diagnosed, .timeout = 100) {
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *whole = trace_fixture_read_file(&f, f.path, &length);
    for (size_t i = 0; i < TRUNCATED_FILES; i++) {
        size_t kept = length * i / TRUNCATED_FILES;
        trace_fixture_write_file(f.path, whole, kept);
        assert_refused(&f, f.path, MS_E_INPUT, "cannot read");
    }
    trace_fixture_release(&f);
}

Test(trace_read, an_unknown_level_is_refused) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_write(&f, TRACE_SMALL);
    hid_t file = H5Fopen(f.path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t events = H5Gopen2(file, "events", H5P_DEFAULT);
    cr_assert_geq(H5Adelete(events, "level"), 0);
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Screate(H5S_SCALAR);
    const char *word = "most";
    cr_assert_geq(H5Tset_size(type, H5T_VARIABLE), 0);
    hid_t attribute = H5Acreate2(events, "level", type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, type, &word), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Gclose(events);
    cr_assert_geq(H5Fclose(file), 0);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_NOTHING, &f.arena, &f.diag, &trace), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "damaged at the attribute level"));
    trace_fixture_release(&f);
}

Test(trace_read, garbled_files_never_crash, .timeout = 110) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 1 : strtoull(given, NULL, 0);
    ms_random random = {seed};
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *whole = trace_fixture_read_file(&f, f.path, &length);
    char *garbled = ms_arena_alloc(&f.arena, length, 1);
    for (unsigned long i = 0; i < GARBLED_FILES; i++) {
        memcpy(garbled, whole, length);
        for (int64_t n = ms_random_range(&random, 1, 200); n > 0; n--) {
            garbled[ms_random_range(&random, 0, (int64_t)length - 1)] =
                (char)ms_random_next(&random);
        }
        trace_fixture_write_file(f.path, garbled, length);
        assert_survives(
            &f, ms_arena_printf(&f.arena, "MS_SEED=%llu file", (unsigned long long)seed), i);
    }
    trace_fixture_release(&f);
}
