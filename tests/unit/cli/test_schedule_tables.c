/* The tables of `meshsim schedule --compare`, on paper and on a platform, as a page shows them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ms_run.h"

static const char TINY[] = MS_SOURCE_DIR "/workloads/tiny.yaml";

static void assert_narrow(const char *text) {
    for (const char *line = text; *line != '\0'; line += line[strcspn(line, "\n")] == '\n') {
        size_t length = strcspn(line, "\n");
        cr_assert_leq(length, 80U, "%.*s", (int)length, line);
        line += length;
    }
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Files with long names are told apart in both tables of either kind. */
Test(schedule_tables, long_names_are_whole) {
    static const char *const FILES[] = {"the-order-one.csv", "the-order-two.csv"};
    char folder[] = "/tmp/meshsim-tables-XXXXXX";
    char paths[2][64];
    char kinds[160];
    cr_assert_not_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, FILES[i]);
        ms_run_result made = MS_RUN("schedule", "1f1b", "-p", "2", "-m", "8", "--csv", paths[i]);
        cr_assert_eq(made.exit_code, 0, "%s", ms_run_err(&made));
        ms_run_release(&made);
    }
    snprintf(kinds, sizeof kinds, "interleaved_flexible,csv:%s,csv:%s", paths[0], paths[1]);
    ms_run_result tables[2] = {MS_RUN("schedule", "--compare", kinds, "-p", "2", "-m", "8"),
                               MS_RUN("schedule", "--compare", kinds, "--workload", TINY)};
    for (int i = 0; i < 2; i++) {
        const char *text = ms_run_out(&tables[i]);
        cr_assert_eq(tables[i].exit_code, 0, "%s", ms_run_err(&tables[i]));
        cr_assert_geq(count_of(text, "/the-order-one.csv\n"), 2U, "%s", text);
        cr_assert_geq(count_of(text, "/the-order-two.csv\n"), 2U, "%s", text);
        cr_assert_geq(count_of(text, "\ninterleaved_flexible "), 2U, "%s", text);
        assert_narrow(text);
        ms_run_release(&tables[i]);
        cr_assert_eq(unlink(paths[i]), 0);
    }
    rmdir(folder);
}

/* The shares of a row are all there is: they sum to 100 %, but for the rounding of each. */
Test(schedule_tables, shares_sum_to_the_step) {
    ms_run_result run = MS_RUN("schedule", "--compare", "1f1b,interleaved,zbv,dualpipev,seq1f1b",
                               "--workload", TINY, "--markdown");
    cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
    const char *line = strstr(ms_run_out(&run), "| other |\n");
    cr_assert_not_null(line, "%s", ms_run_out(&run));
    line = strstr(line, "---:|\n") + strlen("---:|\n");
    int rows = 0;
    for (; line[0] == '|'; line = strchr(line, '\n') + 1) {
        double sum = 0.0;
        int shares = 0;
        for (const char *at = strstr(line + 2, " | "); at != NULL && at < strchr(line, '\n');
             at = strstr(at + 1, " | ")) {
            sum += strtod(at + 2, NULL);
            shares++;
        }
        cr_assert_eq(shares, 10, "%.80s", line);
        cr_assert_float_eq(sum, 100.0, 10 * 0.005 + 1e-9, "%g: %.80s", sum, line);
        rows++;
    }
    cr_assert_eq(rows, 5);
    ms_run_release(&run);
}

/* No row left: the answer is no, and there is no table. */
Test(schedule_tables, nothing_left_is_no) {
    const ms_run_result texts[] = {
        MS_RUN("schedule", "--compare", "zbv,vmin", "-p", "4", "-m", "8", "--memory-cap", "0.5"),
        MS_RUN("schedule", "--compare", "zbv,vmin", "-p", "4", "-m", "8", "--memory-cap", "0.5",
               "--gantt", "/none/x.svg"),
        MS_RUN("schedule", "--compare", "zbv,vmin", "--workload", TINY, "--memory-cap", "1MiB")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ms_run_result run = texts[i];
        const char *text = ms_run_out(&run);
        cr_assert_eq(run.exit_code, 1, "%zu: %d %s", i, run.exit_code, ms_run_err(&run));
        cr_assert_not_null(strstr(text, "\n\nleft out\nschedule  reason\nzbv       needs "), "%s",
                           text);
        cr_assert_null(strstr(text, "schedule  v"), "%s", text);
        ms_run_release(&run);
    }
    ms_run_result json = MS_RUN("schedule", "--compare", "zbv", "-p", "4", "-m", "8",
                                "--memory-cap", "0.5", "--json");
    cr_assert_eq(json.exit_code, 1);
    cr_assert_not_null(strstr(ms_run_out(&json), "\"rows\": []"), "%s", ms_run_out(&json));
    ms_run_release(&json);
}

/* Reasons are wrapped, none is cut. */
Test(schedule_tables, reasons_fit_a_page) {
    ms_run_result run = MS_RUN("schedule", "--compare", "all", "-p", "3", "-m", "7");
    cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
    cr_assert_not_null(strstr(ms_run_out(&run),
                              "\nchimera            chimera needs an even number of "
                              "pipeline ranks, got P = '3';\n"),
                       "%s", ms_run_out(&run));
    assert_narrow(ms_run_out(&run));
    ms_run_release(&run);
}
