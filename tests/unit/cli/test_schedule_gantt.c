/* meshsim schedule --gantt */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Every pass of a small schedule is a box with a tip of its own. */
Test(schedule_gantt, draws_every_pass) {
    static const struct {
        const char *arguments[12];
        size_t passes;
    } CASES[] = {
        {{"schedule", "gpipe", "-p", "2", "-m", "3", "--gantt", "-"}, 12},
        {{"schedule", "1f1b", "-p", "4", "-m", "8", "--gantt", "-"}, 64},
        {{"schedule", "interleaved", "-p", "2", "-v", "3", "-m", "4", "--gantt", "-"}, 48},
        {{"schedule", "zbh1", "-p", "4", "-m", "8", "--gantt", "-"}, 96},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_run_result run = ms_run_with(&(ms_run_setup){0}, CASES[i].arguments);
        cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
        const char *text = ms_run_out(&run);
        cr_assert_eq(strncmp(text, "<svg ", 5), 0);
        cr_assert_eq(count_of(text, "<title>"), CASES[i].passes, "case %zu: %zu", i,
                     count_of(text, "<title>"));
        ms_run_release(&run);
    }
}

/* Numbers of the list `key` in a JSON text. */
static size_t list_of(const char *json, const char *key, double numbers_out[32]) {
    size_t count = 0;
    const char *at = strstr(json, key);
    cr_assert_not_null(at, "%s", key);
    for (at = strchr(at, '['); *at != ']' && count < 32; at += strcspn(at + 1, ",]") + 1) {
        numbers_out[count++] = strtod(at + 1, NULL);
    }
    return count;
}

/* The peaks beside the memory curves are those that the evaluation counts. */
Test(schedule_gantt, curves_peak_where_the_evaluation_does) {
    static const char *const KINDS[][2] = {
        {"gpipe", "1"},    {"1f1b", "1"},      {"interleaved", "2"}, {"zbh1", "1"},
        {"zbh2", "1"},     {"zbv", "2"},       {"vhalf", "2"},       {"vmin", "2"},
        {"dualpipe", "1"}, {"dualpipev", "2"}, {"chimera", "1"},     {"seq1f1b", "1"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        for (int has_latency = 0; has_latency < 2; has_latency++) {
            const char *p2p = has_latency ? "0.3" : "0";
            ms_run_result json = MS_RUN("schedule", KINDS[i][0], "-v", KINDS[i][1], "-p", "4", "-m",
                                        "8", "--p2p", p2p, "--json");
            ms_run_result svg = MS_RUN("schedule", KINDS[i][0], "-v", KINDS[i][1], "-p", "4", "-m",
                                       "8", "--p2p", p2p, "--gantt", "-");
            cr_assert_eq(json.exit_code + svg.exit_code, 0, "%s", ms_run_err(&svg));
            double peaks[32];
            size_t count = list_of(ms_run_out(&json), "\"peak_inflight\"", peaks);
            cr_assert_eq(count, 4U, "%s: %zu", KINDS[i][0], count);
            const char *at = strstr(ms_run_out(&svg), "<g class=\"memory\"");
            for (size_t rank = 0; rank < count; rank++) {
                at = strstr(at, "text-anchor=\"start\">") + strlen("text-anchor=\"start\">");
                cr_assert_eq(strtod(at, NULL), peaks[rank], "%s, rank %zu: %.8s, %g", KINDS[i][0],
                             rank, at, peaks[rank]);
            }
            ms_run_release(&json);
            ms_run_release(&svg);
        }
    }
}

Test(schedule_gantt, compared_schedules_are_stacked) {
    static const char *const KINDS[] = {"1f1b", "zbv", "dualpipe"};
    size_t passes = 0;
    for (size_t i = 0; i < 3; i++) {
        ms_run_result one = MS_RUN("schedule", KINDS[i], "-p", "4", "-m", "8", "--gantt", "-");
        passes += count_of(ms_run_out(&one), "<title>");
        ms_run_release(&one);
    }
    ms_run_result run =
        MS_RUN("schedule", "--compare", "1f1b,zbv,dualpipe", "-p", "4", "-m", "8", "--gantt", "-");
    cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
    const char *text = ms_run_out(&run);
    cr_assert_eq(strncmp(text, "<svg ", 5), 0);
    cr_assert_eq(count_of(text, "<g class=\"panel\""), 3U);
    cr_assert_eq(count_of(text, "<title>"), passes, "%zu, %zu", count_of(text, "<title>"), passes);
    cr_assert_not_null(strstr(text, "peak in flight 4 \xc2\xb7 7.5 (29.4 %) more than the"));
    cr_assert_not_null(strstr(text, "makespan 25.5"));
    cr_assert_not_null(strstr(text, "parameters twice"));
    cr_assert_not_null(strstr(text, "overlapped pair"));
    ms_run_release(&run);
}

/* The table comes as without the picture. */
Test(schedule_gantt, a_picture_in_a_file_leaves_the_table) {
    char folder[] = "/tmp/meshsim-gantt-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result with = MS_RUN_IN(folder, "schedule", "--compare", "1f1b,zbv", "-p", "4", "-m",
                                   "8", "--gantt", "x.svg");
    ms_run_result without =
        MS_RUN_IN(folder, "schedule", "--compare", "1f1b,zbv", "-p", "4", "-m", "8");
    cr_assert_eq(with.exit_code, 0, "%s", ms_run_err(&with));
    cr_assert_str_eq(ms_run_out(&with), ms_run_out(&without));
    char path[64];
    snprintf(path, sizeof path, "%s/x.svg", folder);
    cr_assert_eq(unlink(path), 0);
    rmdir(folder);
    ms_run_release(&with);
    ms_run_release(&without);
}

Test(schedule_gantt, large_ones_stay_below_three_megabytes, .timeout = 60) {
    static const char *const KINDS[][2] = {{"1f1b", "1"}, {"interleaved", "2"}, {"zbh2", "1"},
                                           {"zbv", "2"},  {"dualpipe", "1"},    {"gpipe", "1"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        ms_run_result run = MS_RUN("schedule", KINDS[i][0], "-v", KINDS[i][1], "-p", "64", "-m",
                                   "512", "--gantt", "-");
        cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
        cr_assert_lt(run.out.length, 3000000U, "%s: %zu", KINDS[i][0], run.out.length);
        bool repeats = strcmp(KINDS[i][0], "gpipe") != 0; /* which has no steady phase */
        cr_assert_not_null(strstr(ms_run_out(&run), repeats ? "b  two periods of the steady phase"
                                                            : "b  in the middle<"));
        ms_run_release(&run);
    }
    ms_run_result all =
        MS_RUN("schedule", "--compare", "gpipe,1f1b,interleaved,looped_bfs,zbh1,zbh2,zbv,dualpipev",
               "-p", "64", "-m", "512", "--gantt", "-");
    cr_assert_eq(all.exit_code, 0, "%s", ms_run_err(&all));
    cr_assert_lt(all.out.length, 3000000U, "%zu", all.out.length);
    cr_assert_eq(count_of(ms_run_out(&all), "one row in 4 is shown, of 64"), 8U);
    ms_run_release(&all);
}

/* The picture in characters, also of a large schedule: a line per shown rank, 80 columns. */
Test(schedule_gantt, characters_fit_a_page) {
    static const struct {
        const char *kind, *chunks, *ranks, *microbatches;
        size_t lines;
        const char *has; /* a piece of the first rank's line */
    } CASES[] = {
        {"1f1b", "1", "16", "128", 16, "    0 FFF.....BBBB"},
        {"zbv", "2", "16", "128", 16, "    0 FFF===="},
        {"1f1b", "1", "64", "512", 32, "   62 ...BBBB"},
        {"dualpipev", "2", "8", "40", 8, "OOOOOOOO"},
        {"interleaved", "2", "8", "80", 8, "bbbb"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_run_result run = MS_RUN("schedule", CASES[i].kind, "-v", CASES[i].chunks, "-p",
                                   CASES[i].ranks, "-m", CASES[i].microbatches);
        cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
        const char *picture = strstr(ms_run_out(&run), "\nscaled, a column is");
        cr_assert_not_null(picture, "%s", CASES[i].kind);
        cr_assert_not_null(strstr(picture, CASES[i].has), "%s:%s", CASES[i].kind, picture);
        size_t lines = 0;
        for (const char *line = picture + 1; *line != '\0'; line += strcspn(line, "\n") + 1) {
            cr_assert_leq(strcspn(line, "\n"), 80U, "%s", CASES[i].kind);
            lines += line[0] == ' ' ? 1 : 0;
        }
        cr_assert_eq(lines, CASES[i].lines, "%s: %zu", CASES[i].kind, lines);
        ms_run_release(&run);
    }
}

Test(schedule_gantt, faults) {
    static const struct {
        const char *arguments[16];
        int exit_code;
        const char *cause;
    } CASES[] = {
        {{"schedule", "1f1b", "-p", "2", "-m", "2", "--gantt", "-", "--json"}, 2, "both want"},
        {{"schedule", "1f1b", "-p", "2", "-m", "2", "--gantt", "-", "--csv", "-"}, 2, "both want"},
        {{"schedule", "1f1b", "-p", "2", "-m", "2", "--gantt", "/none/x.svg"}, 4, "/none/x.svg"},
        {{"schedule", "1f1b", "-p", "2", "-m", "2", "--tf", "0", "--tb", "0", "--tw", "0",
          "--gantt", "-"},
         2,
         "takes no time"},
        {{"schedule", "--compare", "all", "-p", "4", "-m", "8", "--gantt", "-"},
         2,
         "at most 8 schedules are stacked in a picture, got 18"},
        {{"schedule", "--compare", "zbv,vmin", "-p", "4", "-m", "8", "--memory-cap", "0.5",
          "--gantt", "-"},
         1,
         "none of the schedules is possible here"},
        {{"schedule", "--compare", "1f1b,zbv", "-p", "2", "-m", "4", "--gantt", "-", "--json"},
         2,
         "both want"},
        {{"schedule", "--compare", "1f1b,zbv", "-p", "2", "-m", "4", "--gantt", "/none/x.svg"},
         4,
         "/none/x.svg"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_run_result run = ms_run_with(&(ms_run_setup){0}, CASES[i].arguments);
        cr_assert_eq(run.exit_code, CASES[i].exit_code, "case %zu: %d, %s", i, run.exit_code,
                     ms_run_err(&run));
        cr_assert_not_null(strstr(ms_run_err(&run), CASES[i].cause), "%s", ms_run_err(&run));
        ms_run_release(&run);
    }
}
