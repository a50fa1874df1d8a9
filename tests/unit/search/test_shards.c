/* Shards: which points are whose, and whose turn it is to write. */
#include <math.h>
#include <sys/wait.h>

#include "job_fixture.h"
#include "search/shards.h"

Test(shards, are_read_as_index_of_count) {
    static const char *const BAD[] = {"",     "1",    "2/2",      "3/2",   "-1/2",
                                      "1/0",  "a/2",  "1/b",      "1/2x",  " 1/2",
                                      "1 /2", "+1/2", "1/100001", "1/2/3", "/2"};
    job_fixture f;
    ms_study_shard shard = {7, 7};
    job_fixture_init(&f);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        cr_assert_eq(ms_shard_read(BAD[i], &f.diag, &shard), MS_E_USAGE, "'%s'", BAD[i]);
        cr_assert_eq(shard.index, 7);
    }
    cr_assert_eq(ms_shard_read("11/12", &f.diag, &shard), MS_OK);
    cr_assert_eq(shard.index, 11);
    cr_assert_eq(shard.count, 12);
    job_fixture_release(&f);
}

Test(shards, every_point_is_of_exactly_one) {
    enum { POINTS_MAX = 23, COUNT_MAX = 30 };
    for (size_t points = 0; points <= POINTS_MAX; points++) {
        for (int count = 1; count <= COUNT_MAX; count++) {
            int owners[POINTS_MAX] = {0};
            for (int index = 0; index < count; index++) {
                const ms_study_shard shard = {index, count};
                for (size_t i = 0; i < ms_shard_size(&shard, points); i++) {
                    cr_assert_lt(ms_shard_point(&shard, i), points);
                    owners[ms_shard_point(&shard, i)]++;
                }
            }
            for (size_t i = 0; i < points; i++) {
                cr_assert_eq(owners[i], 1, "point %zu of %zu in %d shards", i, points, count);
            }
        }
    }
}

/* ---- files ---- */

typedef struct shard_folder {
    job_fixture f;
    char path[64];
} shard_folder;

static void folder_init(shard_folder *d) {
    job_fixture_init(&d->f);
    snprintf(d->path, sizeof d->path, "/tmp/ms_shards_XXXXXX");
    cr_assert_not_null(mkdtemp(d->path));
}

static const char *file_in(shard_folder *d, const char *name) {
    return ms_arena_printf(&d->f.arena, "%s/%s", d->path, name);
}

static void folder_release(shard_folder *d, const char *const *files) {
    for (; *files != NULL; files++) {
        cr_assert_eq(unlink(file_in(d, *files)), 0, "there is no %s", *files);
    }
    cr_assert_eq(rmdir(d->path), 0, "something is left in %s", d->path);
    job_fixture_release(&d->f);
}

static void open_shard(shard_folder *d, ms_study_shard shard, ms_shard_file *file) {
    cr_assert_eq(ms_shard_open(d->path, &shard, false, 0, &d->f.arena, &d->f.diag, file), MS_OK,
                 "%s", ms_buffer_text(&d->f.messages));
}

static void put(ms_shard_file *file, const char *key) {
    ms_store_row row = {.program = "p",
                        .workload = "w",
                        .platform = "c",
                        .status = MS_POINT_SIMULATED,
                        .settings = "{}"};
    snprintf(row.key, sizeof row.key, "%s", key);
    cr_assert_eq(ms_store_put(file->store, &row), MS_OK);
}

/* A complete shard with these keys, a letter each. */
static void make_shard(shard_folder *d, ms_study_shard shard, const char *keys) {
    ms_shard_file file;
    open_shard(d, shard, &file);
    for (; *keys != '\0'; keys++) {
        put(&file, (char[2]){*keys, '\0'});
    }
    cr_assert_eq(ms_shard_close(&file, true, &d->f.diag), MS_OK);
}

Test(shards, a_file_has_its_name_once_it_is_complete) {
    static const char *const FILES[] = {"shard-1-of-3.db", NULL};
    shard_folder d;
    ms_shard_file file;
    bool is_found = false;
    ms_store_row row;
    folder_init(&d);
    open_shard(&d, (ms_study_shard){1, 3}, &file);
    put(&file, "a");
    cr_assert_eq(access(file_in(&d, "shard-1-of-3.lock"), F_OK), 0);
    cr_assert_eq(ms_shard_close(&file, false, &d.f.diag), MS_OK);
    cr_assert_eq(access(file_in(&d, "shard-1-of-3.db.part"), F_OK), 0);
    cr_assert_neq(access(file_in(&d, FILES[0]), F_OK), 0);
    for (int again = 0; again < 2; again++) { /* goes on, and once more with what is complete */
        open_shard(&d, (ms_study_shard){1, 3}, &file);
        cr_assert_eq(ms_store_find(file.store, "a", &d.f.arena, &row, &is_found), MS_OK);
        cr_assert(is_found);
        cr_assert_eq(ms_shard_close(&file, true, &d.f.diag), MS_OK);
    }
    folder_release(&d, FILES);
}

Test(shards, a_second_process_for_the_same_one_waits_and_is_told) {
    static const char *const FILES[] = {"shard-0-of-1.db", NULL};
    const ms_study_shard shard = {0, 1};
    shard_folder d;
    ms_shard_file file;
    int codes[2];
    folder_init(&d);
    open_shard(&d, shard, &file);
    for (int is_patient = 0; is_patient < 2; is_patient++) {
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            ms_shard_file other;
            ms_arena arena;
            ms_arena_init(&arena);
            double wait_s = is_patient ? 30 : 0.01;
            _exit(-ms_shard_open(d.path, &shard, false, wait_s, &arena, &d.f.diag, &other));
        }
        if (is_patient) {
            usleep(100000);
            cr_assert_eq(ms_shard_close(&file, true, &d.f.diag), MS_OK);
        }
        int state = 0;
        cr_assert_eq(waitpid(child, &state, 0), child);
        codes[is_patient] = WEXITSTATUS(state);
    }
    cr_assert_eq(codes[0], -MS_E_IO);
    cr_assert_eq(codes[1], MS_OK);
    open_shard(&d, shard, &file); /* the child has left it as it was, and its lock */
    cr_assert_eq(ms_shard_close(&file, true, &d.f.diag), MS_OK);
    folder_release(&d, FILES);
}

/* ---- merging ---- */

Test(shards, merging_tells_what_is_missing_and_what_is_there_twice) {
    static const char *const FILES[] = {"shard-0-of-5.db", "shard-2-of-5.db",
                                        "shard-3-of-5.db.part", "study.db", NULL};
    shard_folder d;
    ms_shard_file file;
    ms_shards_report report;
    folder_init(&d);
    make_shard(&d, (ms_study_shard){2, 5}, "cab");
    make_shard(&d, (ms_study_shard){0, 5}, "be");
    open_shard(&d, (ms_study_shard){3, 5}, &file);
    put(&file, "z");
    cr_assert_eq(ms_shard_close(&file, false, &d.f.diag), MS_OK);
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(ms_shards_merge(d.path, &d.f.arena, &d.f.diag, &report), MS_OK, "%s",
                     ms_buffer_text(&d.f.messages));
        cr_assert_eq(report.count, 5);
        cr_assert_eq(report.rows, (size_t)4);
        cr_assert_eq(report.missing_count, 3);
        cr_assert_eq(report.missing[0], 1);
        cr_assert_eq(report.missing[1], 3);
        cr_assert_eq(report.missing[2], 4);
        cr_assert_eq(report.double_count, (size_t)1);
        cr_assert_str_eq(report.doubles[0].key, "b");
        cr_assert_eq(report.doubles[0].first, 0);
        cr_assert_eq(report.doubles[0].second, 2);
    }
    folder_release(&d, FILES);
}

Test(shards, a_folder_of_no_study_or_of_two_is_refused) {
    static const char *const FILES[] = {"shard-0-of-2.db", "shard-0-of-3.db", "shard-2-of-2.db",
                                        "shard-0-of-2.db.bak", NULL};
    shard_folder d;
    ms_shards_report report;
    folder_init(&d);
    fclose(fopen(file_in(&d, FILES[2]), "w")); /* no number that there is */
    fclose(fopen(file_in(&d, FILES[3]), "w"));
    cr_assert_eq(ms_shards_merge(d.path, &d.f.arena, &d.f.diag, &report), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&d.f.messages), "has no shards"));
    make_shard(&d, (ms_study_shard){0, 2}, "a");
    make_shard(&d, (ms_study_shard){0, 3}, "a");
    cr_assert_eq(ms_shards_merge(d.path, &d.f.arena, &d.f.diag, &report), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&d.f.messages), "has shards of "));
    cr_assert_eq(ms_shards_merge("/nonexistent", &d.f.arena, &d.f.diag, &report), MS_E_INPUT);
    folder_release(&d, FILES);
}

Test(shards, a_damaged_shard_leaves_the_merged_store_as_it_was) {
    static const char *const FILES[] = {"shard-0-of-2.db", "shard-1-of-2.db", "study.db", NULL};
    shard_folder d;
    ms_shards_report report;
    folder_init(&d);
    make_shard(&d, (ms_study_shard){0, 2}, "a");
    cr_assert_eq(ms_shards_merge(d.path, &d.f.arena, &d.f.diag, &report), MS_OK);
    make_shard(&d, (ms_study_shard){0, 2}, "bc");
    FILE *file = fopen(file_in(&d, FILES[1]), "w");
    fputs("this is no database, and long enough to be looked at: ...............................\n",
          file);
    fclose(file);
    cr_assert_eq(ms_shards_merge(d.path, &d.f.arena, &d.f.diag, &report), MS_E_INPUT);
    ms_store *store = NULL;
    const ms_store_options options = {.is_read_only = true};
    size_t count = 0;
    cr_assert_eq(ms_store_open(file_in(&d, "study.db"), &options, &d.f.arena, &d.f.diag, &store),
                 MS_OK);
    cr_assert_eq(ms_store_count(store, &count), MS_OK);
    cr_assert_eq(count, (size_t)1, "all or none");
    ms_store_close(store);
    folder_release(&d, FILES);
}

/* ---- the best values ---- */

static void begin(shard_folder *d, int index, const char *study, ms_shared_best *best) {
    const ms_study_shard shard = {index, 3};
    cr_assert_eq(ms_shared_best_open(d->path, &shard, study, strlen(study), 3, &d->f.arena, best),
                 MS_OK);
}

static double limit_of(ms_shared_best *best, const ms_search_score *scores, size_t count) {
    best->next_s = 0; /* at once, not five times a second */
    return ms_shared_best_limit(best, scores, count);
}

Test(shards, tell_each_other_their_best) {
    static const char *const FILES[] = {"best-0-of-3.txt", "best-2-of-3.txt", "best-1-of-3.txt",
                                        "best-1-of-4.txt", NULL};
    shard_folder d;
    ms_shared_best first;
    ms_shared_best second;
    ms_shared_best stranger;
    folder_init(&d);
    begin(&d, 0, "s", &first);
    begin(&d, 2, "s", &second);
    begin(&d, 1, "another study", &stranger);
    const ms_search_score own[] = {{{1.0 / 3}}, {{5}}};
    const ms_search_score others[] = {{{0.5}}, {{0.75}}, {{4}}};
    const ms_search_score foreign[3] = {{{0}}};
    cr_assert_eq(limit_of(&first, own, 2), INFINITY, "three are wanted");
    ms_shared_best_tell(&stranger, foreign, 3);
    fclose(fopen(file_in(&d, FILES[3]), "w"));
    cr_assert_eq(limit_of(&first, own, 2), INFINITY, "what is another study's does not count");
    ms_shared_best_tell(&second, others, 3);
    ms_shared_best_tell(&first, own, 2);
    cr_assert_eq(limit_of(&first, own, 2), 0.75);
    cr_assert_eq(limit_of(&second, others, 3), 0.75);
    cr_assert_eq(limit_of(&second, others, 0), INFINITY, "its own file does not count");
    cr_assert_eq(limit_of(&second, others, 1), 5);
    const ms_search_score same[] = {{{0.5}}, {{0.75}}, {{0.75}}};
    cr_assert_eq(limit_of(&first, same, 2), 4, "an equal value may be the same job in other order");
    ms_shared_best_tell(&second, same, 3);
    cr_assert_eq(limit_of(&first, own, 2), 0.75, "1/3, 0.5 and one 0.75");
    cr_assert_eq(unlink(file_in(&d, FILES[1])), 0);
    cr_assert_eq(limit_of(&first, own, 2), INFINITY, "what is gone is not known any more");
    FILE *half = fopen(file_in(&d, FILES[1]), "w");
    fprintf(half, "meshsim-best %s\n0.5\nx\nnan\n0.7", second.study);
    fclose(half);
    cr_assert_eq(limit_of(&first, own, 2), 5, "half a line and words are no values");
    folder_release(&d, FILES);
}
