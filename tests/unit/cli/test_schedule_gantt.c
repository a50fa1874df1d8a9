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
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_run_result run = ms_run_with(&(ms_run_setup){0}, CASES[i].arguments);
        cr_assert_eq(run.exit_code, CASES[i].exit_code, "case %zu: %d, %s", i, run.exit_code,
                     ms_run_err(&run));
        cr_assert_not_null(strstr(ms_run_err(&run), CASES[i].cause), "%s", ms_run_err(&run));
        ms_run_release(&run);
    }
}
