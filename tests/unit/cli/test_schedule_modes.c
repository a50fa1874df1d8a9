/* meshsim schedule does one of several things; an option that does not go with it is refused with
 * what it goes with, and --help says so beforehand. */
#include <criterion/criterion.h>
#include <string.h>

#include "ms_run.h"

static const char TINY[] = MS_SOURCE_DIR "/workloads/tiny.yaml";

Test(schedule_modes, options_of_other_modes_are_refused) {
    static const struct {
        const char *words[9], *says;
    } BAD[] = {
        {{"schedule", "zbv", "--compare", "all", "--workload", TINY}, "leave out 'zbv'"},
        {{"schedule", "search", "--compare", "all", "-p2", "-m2"}, "leave out 'search'"},
        {{"schedule", "--workload", TINY}, "missing argument: KIND|csv:FILE"},
        {{"schedule", "1f1b", "--workload", TINY, "--memory-cap", "2"},
         "'--memory-cap' goes with '--compare' and with 'search'"},
        {{"schedule", "1f1b", "--workload", TINY, "--costs", "x"}, "'--costs' is for schedules on"},
        {{"schedule", "search", "--workload", TINY, "-m", "4"},
         "'--microbatches' is for schedules"},
        {{"schedule", "--compare", "1f1b", "--workload", TINY, "--csv", "x.csv"},
         "'--csv' is for schedules on paper"},
        {{"schedule", "--compare", "1f1b", "--workload", TINY, "--p2p", "1"}, "'--p2p' is for"},
        {{"schedule", "--compare", "1f1b", "-p2", "-m2", "--merge-bw"}, "'--merge-bw' is for one"},
        {{"schedule", "csv:/nowhere", "--group", "2"}, "'--group' makes an order; a file has"},
        {{"schedule", "search", "-p2", "-m4", "--splits", "2"}, "leave out '--group', '--splits'"},
        {{"schedule", "search", "-p2", "-m4", "--sort", "v"}, "'--sort' goes with '--compare'"},
        {{"schedule", "1f1b", "-p2", "-m4", "--set", "a=b"}, "'--set' goes with '--workload'"},
        {{"schedule", "1f1b", "-p2", "-m4", "--costs", "x", "--p2p", "1"},
         "'--costs' and '--p2p' both give times; leave one out"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, BAD[i].words);
        cr_assert_eq(result.exit_code, 2, "row %zu: %d", i, result.exit_code);
        cr_assert_not_null(strstr(ms_run_err(&result), BAD[i].says), "row %zu: %s", i,
                           ms_run_err(&result));
        cr_assert_str_eq(ms_run_out(&result), "");
        ms_run_release(&result);
    }
}

Test(schedule_modes, help_names_the_modes_of_an_option) {
    static const char *const LINES[] = {
        "usage: meshsim schedule KIND -p P -m M [options]\n",
        "\n       meshsim schedule search --workload WORKLOAD.yaml [options]\n",
        "\n         [4] a table of many on paper\n",
        "\n  -p, --ranks P               pipeline ranks [1,2,4,6]\n",
        "\n      --json                  print one JSON object\n",
    };
    ms_run_result help = MS_RUN("schedule", "--help");
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        const char *page = ms_run_out(&help);
        cr_assert(strstr(page, LINES[i]) != NULL || strncmp(page, LINES[i], strlen(LINES[i])) == 0,
                  "%s in %s", LINES[i], page);
    }
    ms_run_release(&help);
}

/* What has no number of a column stands behind what has one. */
Test(schedule_modes, sorted_by_a_column_that_some_rows_lack) {
    ms_run_result run = MS_RUN("schedule", "--compare", "gpipe,zbv,1f1b", "-p4", "-m8", "--p2p",
                               "0.1", "--sort", "formula_makespan");
    const char *page = ms_run_out(&run);
    const char *zbv = strstr(page, "\nzbv ");
    const char *other = strstr(page, "\n1f1b ");
    cr_assert_not_null(zbv, "%s", page);
    cr_assert_not_null(other, "%s", page);
    cr_assert_lt(other, zbv, "%s", page);
    ms_run_release(&run);
}
