/* Stores: what is put is found again to the last bit, and nothing else is taken for a store. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "job_fixture.h"
#include "search/store.h"

/* A folder with the path of a store in it. */
typedef struct place {
    job_fixture f;
    char folder[64];
    char path[96];
} place;

static void place_init(place *p) {
    job_fixture_init(&p->f);
    snprintf(p->folder, sizeof p->folder, "/tmp/ms_store_XXXXXX");
    cr_assert_not_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/s.db", p->folder);
}

static void place_release(place *p) {
    unlink(p->path);
    cr_assert_eq(rmdir(p->folder), 0, "something is left in %s", p->folder);
    job_fixture_release(&p->f);
}

static const ms_store_options SHARED = {.is_fresh = false};

static ms_store *open_store(place *p, const ms_store_options *options) {
    ms_store *store = NULL;
    cr_assert_eq(ms_store_open(p->path, options, &p->f.arena, &p->f.diag, &store), MS_OK, "%s",
                 ms_buffer_text(&p->f.messages));
    return store;
}

/* A row of which no two fields are alike. */
static ms_store_row make_row(const char *key) {
    ms_store_row row = {.program = "0.1.0+abc",
                        .workload = "w\xc3\xb6rk",
                        .platform = "p",
                        .gpus = 1048576,
                        .settings = "{\"mesh.tp\": 4}",
                        .status = MS_POINT_SIMULATED};
    snprintf(row.key, sizeof row.key, "%s", key);
    double number = 1.0 / 3;
    for (size_t at = 0; at + sizeof number <= sizeof row.figures; at += sizeof number) {
        memcpy((char *)&row.figures + at, &number, sizeof number);
        number = nextafter(number * 1.1, 10);
    }
    row.figures.fits = true;
    memset(&row.figures.fits + 1, 0,
           sizeof row.figures - offsetof(ms_run_figures, fits) - sizeof row.figures.fits);
    return row;
}

Test(store, what_is_put_is_found_to_the_last_bit) {
    place p;
    place_init(&p);
    const ms_store_row put = make_row("a");
    ms_store *store = open_store(&p, &SHARED);
    cr_assert_eq(ms_store_put(store, &put), MS_OK);
    ms_store_close(store);
    store = open_store(&p, &SHARED);
    ms_store_row found;
    bool is_found = false;
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert(is_found);
    cr_assert_eq(memcmp(&found.figures, &put.figures, sizeof put.figures), 0,
                 "a figure has no column in MS_STORE_COLUMNS");
    cr_assert_str_eq(found.key, "a");
    cr_assert_str_eq(found.program, put.program);
    cr_assert_str_eq(found.workload, put.workload);
    cr_assert_str_eq(found.platform, put.platform);
    cr_assert_str_eq(found.settings, put.settings);
    cr_assert_str_eq(found.status, put.status);
    cr_assert_eq(found.gpus, put.gpus);
    cr_assert_null(found.reason);
    cr_assert_eq(ms_store_find(store, "b", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert_not(is_found);
    ms_store_close(store);
    place_release(&p);
}

/* Every column of a number, in turn: what is not known comes back as such, and all else as it was.
 */
Test(store, what_is_not_known_stays_so_in_each_column) {
    place p;
    place_init(&p);
    ms_store *store = open_store(&p, &SHARED);
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++) {
        ms_store_row found, put = make_row(c->name);
        bool is_found = false;
        if (c->type != MS_COLUMN_NUMBER || strcmp(c->name, "step_time_s") == 0) {
            continue; /* every simulated job has a step time */
        }
        *(double *)(void *)((char *)&put + c->offset) = NAN;
        cr_assert_eq(ms_store_put(store, &put), MS_OK);
        cr_assert_eq(ms_store_find(store, c->name, &p.f.arena, &found, &is_found), MS_OK);
        double *back = (double *)(void *)((char *)&found + c->offset);
        cr_assert(is_found && isnan(*back), "%s", c->name);
        *back = *(double *)(void *)((char *)&put + c->offset); /* a NAN with the same bits */
        cr_assert_eq(memcmp(&found.figures, &put.figures, sizeof put.figures), 0, "%s", c->name);
    }
    ms_store_close(store);
    place_release(&p);
}

Test(store, a_job_that_cannot_be_has_no_figures) {
    place p;
    place_init(&p);
    ms_store *store = open_store(&p, &SHARED);
    ms_store_row found, put = make_row("a");
    bool is_found = false;
    const ms_run_figures none = {0};
    put.status = MS_POINT_REFUSED;
    put.reason = "no such job";
    cr_assert_eq(ms_store_put(store, &put), MS_OK);
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert(is_found);
    cr_assert_str_eq(found.reason, put.reason);
    cr_assert_eq(found.gpus, put.gpus);
    cr_assert_eq(memcmp(&found.figures, &none, sizeof none), 0);
    ms_store_close(store);
    place_release(&p);
}

Test(store, of_two_rows_with_one_key_the_first_stays_but_in_a_fresh_one) {
    place p;
    place_init(&p);
    ms_store_row row = make_row("a");
    ms_store *store = open_store(&p, &SHARED);
    cr_assert_eq(ms_store_put(store, &row), MS_OK);
    row.gpus = 7;
    cr_assert_eq(ms_store_put(store, &row), MS_OK);
    ms_store_row found;
    bool is_found = false;
    size_t count = 0;
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert_eq(found.gpus, 1048576);
    ms_store_close(store);
    store = open_store(&p, &(ms_store_options){.is_fresh = true});
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert_not(is_found);
    cr_assert_eq(ms_store_put(store, &row), MS_OK);
    ms_store_close(store);
    store = open_store(&p, &(ms_store_options){.is_read_only = true});
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert(is_found);
    cr_assert_eq(found.gpus, 7);
    cr_assert_eq(ms_store_count(store, &count), MS_OK);
    cr_assert_eq(count, (size_t)1);
    ms_store_close(store);
    place_release(&p);
}

static size_t count_rows(place *p) {
    ms_store *other = open_store(p, &(ms_store_options){.is_read_only = true});
    size_t count = 0;
    cr_assert_eq(ms_store_count(other, &count), MS_OK);
    ms_store_close(other);
    return count;
}

Test(store, rows_that_are_held_are_put_together) {
    place p;
    place_init(&p);
    ms_store *store = open_store(&p, &SHARED);
    cr_assert_eq(ms_store_flush_delay_s(store), 0, "none is held");
    for (const char *key = "abc"; *key != '\0'; key++) {
        char words[2] = {*key, '\0'}; /* which end before the row is put */
        ms_store_row row = make_row(words);
        row.workload = words;
        row.settings = words;
        cr_assert_eq(ms_store_queue(store, &row), MS_OK);
    }
    cr_assert_eq(ms_store_flush_delay_s(store), 0, "the first need not wait");
    cr_assert_eq(count_rows(&p), (size_t)0);
    cr_assert_eq(ms_store_flush(store), MS_OK);
    cr_assert_eq(count_rows(&p), (size_t)3);
    ms_store_row found;
    bool is_found = false;
    cr_assert_eq(ms_store_find(store, "b", &p.f.arena, &found, &is_found), MS_OK);
    cr_assert(is_found);
    cr_assert_str_eq(found.workload, "b");
    cr_assert_str_eq(found.settings, "b");
    cr_assert_eq(ms_store_flush(store), MS_OK);
    const ms_store_row last = make_row("d");
    cr_assert_eq(ms_store_queue(store, &last), MS_OK);
    cr_assert(ms_store_flush_delay_s(store) >= 0 && ms_store_flush_delay_s(store) <= 1);
    ms_store_close(store); /* which does not put it */
    cr_assert_eq(count_rows(&p), (size_t)3);
    place_release(&p);
}

static ms_status visit(void *context, const ms_store_row *row) {
    char *keys = context;
    strcat(keys, row->key);
    return strcmp(row->key, "c") == 0 ? MS_E_NO : MS_OK;
}

Test(store, each_row_in_the_order_of_keys_until_the_visitor_has_enough) {
    place p;
    place_init(&p);
    ms_store *store = open_store(&p, &SHARED);
    for (const char *key = "dbca"; *key != '\0'; key++) {
        const ms_store_row row = make_row((char[2]){*key, '\0'});
        cr_assert_eq(ms_store_put(store, &row), MS_OK);
    }
    char keys[8] = "";
    cr_assert_eq(ms_store_each(store, &p.f.arena, visit, keys), MS_E_NO);
    cr_assert_str_eq(keys, "abc");
    ms_store_close(store);
    place_release(&p);
}

/* Open what is in the file; says `words` and leaves every byte as it is. */
static void refuse(place *p, const ms_store_options *options, ms_status expected,
                   const char *words) {
    struct stat before;
    struct stat after;
    ms_store *store = NULL;
    cr_assert_eq(stat(p->path, &before), 0);
    cr_assert_eq(ms_store_open(p->path, options, &p->f.arena, &p->f.diag, &store), expected);
    const char *told = ms_buffer_text(&p->f.messages);
    cr_assert_not_null(strstr(told, words), "%s", told);
    cr_assert_null(store);
    cr_assert_eq(stat(p->path, &after), 0);
    cr_assert_eq(before.st_size, after.st_size);
    cr_assert_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(store, a_file_of_another_kind_is_left_alone) {
    place p;
    place_init(&p);
    write_text(p.path, "name: tiny\nmodel: a workload, which is longer than the header of a "
                       "database, so that it is looked at and not only measured\n");
    refuse(&p, &SHARED, MS_E_INPUT, "is no SQLite database");
    place_release(&p);
}

/* Change the four bytes of a number in the header. Source: SQLite's file format, section 1.3. */
static void set_header(const char *path, long offset, unsigned char last) {
    FILE *file = fopen(path, "r+");
    cr_assert_not_null(file);
    fseek(file, offset + 3, SEEK_SET);
    fputc(last, file);
    fclose(file);
}

Test(store, another_format_and_another_programs_database_are_refused) {
    enum { USER_VERSION = 60, APPLICATION = 68 };
    place p;
    place_init(&p);
    ms_store_close(open_store(&p, &SHARED));
    set_header(p.path, USER_VERSION, 99);
    refuse(&p, &SHARED, MS_E_INPUT, "later version of meshsim (format 99");
    set_header(p.path, USER_VERSION, 1);
    refuse(&p, &SHARED, MS_E_INPUT, "earlier version of meshsim (format 1");
    set_header(p.path, USER_VERSION, MS_STORE_FORMAT_VERSION);
    set_header(p.path, APPLICATION, 'x');
    refuse(&p, &SHARED, MS_E_INPUT, "another program's database");
    place_release(&p);
}

Test(store, a_process_that_is_killed_loses_no_row_that_it_put) {
    place p;
    place_init(&p);
    int told[2];
    cr_assert_eq(pipe(told), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        ms_store *store = open_store(&p, &SHARED);
        for (int i = 0;; i++) {
            char key[16];
            snprintf(key, sizeof key, "%06d", i);
            const ms_store_row row = make_row(key);
            if (ms_store_put(store, &row) != MS_OK || write(told[1], "x", 1) != 1) {
                _exit(1);
            }
        }
    }
    close(told[1]);
    char seen[20];
    cr_assert_eq(read(told[0], seen, 1), 1);
    usleep(20000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    size_t puts = 1;
    for (ssize_t got = 0; (got = read(told[0], seen, sizeof seen)) > 0;) {
        puts += (size_t)got;
    }
    close(told[0]);
    ms_store *store = open_store(&p, &SHARED);
    size_t count = 0;
    cr_assert_eq(ms_store_count(store, &count), MS_OK);
    cr_assert(count == puts || count == puts + 1, "%zu put, %zu found", puts, count);
    ms_store_close(store);
    place_release(&p);
}

Test(store, a_step_time_that_is_none_is_refused_with_its_row) {
    place p;
    place_init(&p);
    ms_store *store = open_store(&p, &SHARED);
    ms_store_row found, put = make_row("a");
    bool is_found = true;
    put.figures.step_time_s = NAN; /* which SQLite keeps as NULL */
    cr_assert_eq(ms_store_put(store, &put), MS_OK);
    cr_assert_eq(ms_store_find(store, "a", &p.f.arena, &found, &is_found), MS_E_INPUT);
    cr_assert_not(is_found);
    cr_assert_not_null(strstr(ms_buffer_text(&p.f.messages), "as 'step_time_s' of row 1"), "%s",
                       ms_buffer_text(&p.f.messages));
    ms_store_close(store);
    place_release(&p);
}

/* ---- keys ---- */

static void find_key(job_fixture *f, const char *name, const char *set, const char *program,
                     char key_out[MS_SHA256_HEX]) {
    const char *sets[] = {set, NULL};
    cr_assert_eq(job_fixture_load(f, name, set == NULL ? NULL : sets, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    cr_assert_eq(ms_store_key(&f->job.spec, program, &f->diag, key_out), MS_OK);
    job_fixture_release(f);
}

Test(store_key, says_what_is_simulated_and_by_what) {
    static const char *const OTHERS[] = {"batch.global=32", "schedule.kind=gpipe",
                                         "platform.tiers.nvlink.bandwidth=299 GB/s",
                                         "platform.gpu.sms=107", "granularity=pass"};
    static const char *const SAME[] = {"name=other", "description=other", "batch.global=16",
                                       "platform.nodes=1"};
    job_fixture f;
    char first[MS_SHA256_HEX];
    char key[MS_SHA256_HEX];
    find_key(&f, "tiny", NULL, "1", first);
    find_key(&f, "tiny", NULL, "2", key);
    cr_assert_str_neq(key, first, "another program");
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        find_key(&f, "tiny", OTHERS[i], "1", key);
        cr_assert_str_neq(key, first, "%s", OTHERS[i]);
    }
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++) {
        find_key(&f, "tiny", SAME[i], "1", key);
        cr_assert_str_eq(key, first, "%s", SAME[i]);
    }
}

Test(store_key, a_file_counts_by_what_is_in_it) {
    place p;
    place_init(&p);
    char set[128];
    char first[MS_SHA256_HEX];
    char key[MS_SHA256_HEX];
    snprintf(set, sizeof set, "placement={file: %s}", p.path);
    write_text(p.path, "rank,gpu\n0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n");
    find_key(&p.f, "tiny", set, "1", first);
    write_text(p.path, "rank,gpu\n0,1\n1,0\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n");
    find_key(&p.f, "tiny", set, "1", key);
    cr_assert_str_neq(key, first);
    job_fixture_init(&p.f);
    place_release(&p);
}
