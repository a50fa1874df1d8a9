/* meshsim compare */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

static char folder[64];

static void make_trace(const char *name, const char *batch) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ms_run_result made =
        MS_RUN("run", MS_SOURCE_DIR "/workloads/tiny.yaml", "--set", batch, "-o", path);
    cr_assert_eq(made.exit_code, 0, "%s", ms_run_err(&made));
    ms_run_release(&made);
}

static void make_traces(void) {
    strcpy(folder, "/tmp/meshsim-compare-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    make_trace("a.h5", "batch.global=16");
    make_trace("same.h5", "batch.global=16");
    make_trace("b.h5", "batch.global=32");
}

static void remove_folder(void) {
    static const char *const NAMES[] = {"a.h5", "b.h5", "same.h5"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        unlink(path);
    }
    cr_assert_eq(rmdir(folder), 0);
}

Test(compare_cmd, exit_code_and_output_say_whether_anything_differs) {
    static const struct {
        const char *arguments[8];
        int exit_code;
        const char *word; /* on stdout, or on stderr for exit codes above 1 */
    } CASES[] = {
        {{"compare", "a.h5", "same.h5"}, 0, "equal: "},
        {{"compare", "a.h5", "same.h5", "--tolerance", "0"}, 0, "equal: "},
        {{"compare", "a.h5", "same.h5", "--json"}, 0, "\"equal\": true"},
        {{"compare", "a.h5", "b.h5"}, 1, "quantities differ"},
        {{"compare", "a.h5", "b.h5", "--json"}, 1, "\"equal\": false"},
        {{"compare", "a.h5", "b.h5", "--json"}, 1, "\"key\": \"step_time_s\""},
        {{"compare", "a.h5", "b.h5", "--tolerance", "1%"}, 1, "global_batch"},
        {{"compare", "a.h5", "b.h5", "-t", "100000%"}, 0, "equal: "},
        {{"compare", "a.h5", "b.h5", "-t", "1000", "-t", "global_batch=10%"}, 1, "1 of "},
        {{"compare", "a.h5", "b.h5", "-t", "x%"}, 2, "'x%' is no share: expected a number"},
        {{"compare", "a.h5", "b.h5", "-t", "-1"}, 2, "is no share"},
        {{"compare", "a.h5"}, 2, ""},
        {{"compare", "a.h5", "none.h5"}, 3, "none.h5"},
    };
    make_traces();
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_run_setup setup = {.cwd = folder};
        ms_run_result run = ms_run_with(&setup, CASES[i].arguments);
        cr_assert_eq(run.exit_code, CASES[i].exit_code, "case %zu: %d, %s", i, run.exit_code,
                     ms_run_err(&run));
        const char *text = run.exit_code > 1 ? ms_run_err(&run) : ms_run_out(&run);
        cr_assert_not_null(strstr(text, CASES[i].word), "case %zu: %s", i, text);
        for (const char *at = text; run.exit_code < 2 && *at != '\0'; at += strspn(at, "\n")) {
            size_t length = strcspn(at, "\n");
            cr_assert_leq(length, 80U, "case %zu: %.*s", i, (int)length, at);
            at += length;
        }
        ms_run_release(&run);
    }
    remove_folder();
}
