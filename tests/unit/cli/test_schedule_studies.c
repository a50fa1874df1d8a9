/* meshsim schedule --compare, search and --costs. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"
#include "text_file.h"

/* The published comparison: P = 8, M = 32, F = I = W = 1 per rank, free messages. The published
 * makespans are in times of a rank; all other times of a row are in those of a virtual stage, so V
 * times as many. */
Test(schedule_studies, comparison_of_all) {
    ms_run_result result = MS_RUN("schedule", "--compare", "all", "-p8", "-m32");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    static const char *const LINES[] = {
        "gpipe                 1        117        117  17.95 %    21      32           1\n",
        "1f1b                  1        117        117  17.95 %    21       8           1\n",
        "interleaved           2        213      106.5   9.86 %    21    11.5           1\n",
        "looped_bfs            2        213      106.5   9.86 %    21      32           1\n",
        "zbh1                  1        103        103   6.80 %     7       8           1\n",
        "zbh2                  1        103        103   6.80 %     0      15           1\n",
        "zb1p                  2        199       99.5   3.52 %     7       8           1\n",
        "zbv                   2        199       99.5   3.52 %     0       8           1\n",
        "vhalf                 2        218        109  11.93 %    26       5           1\n",
        "vmin                  2        219      109.5  12.33 %    27       4           1\n",
        "dualpipe              1        102        102   5.88 %     6       9           2\n",
        "dualpipev             2        206        103   6.80 %    14     8.5           1\n",
        "chimera               1        126        126  23.81 %    30       8           2\n",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        cr_assert_not_null(strstr(ms_run_out(&result), LINES[i]), "%s\n%s", LINES[i],
                           ms_run_out(&result));
    }
    for (const char *line = ms_run_out(&result); *line != '\0'; line = strchr(line, '\n') + 1) {
        cr_assert_leq(strcspn(line, "\n"), 80U, "%s", ms_run_out(&result));
    }
    ms_run_release(&result);
}

/* Positions of words in a text, which must come one after the other. */
static void expect_order(const char *text, const char *const *words) {
    const char *at = text;
    for (; *words != NULL; words++) {
        const char *found = strstr(at, *words);
        cr_assert_not_null(found, "%s in %s", *words, text);
        at = found + 1;
    }
}

Test(schedule_studies, sorted_and_at_equal_memory) {
    ms_run_result result =
        MS_RUN("schedule", "--compare", "gpipe,1f1b,zbv,zbh2,interleaved", "-p8", "-m32", "--p2p",
               "0.1", "--memory-cap", "8", "--sort", "rank_makespan", "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    expect_order(ms_run_out(&result),
                 (const char *const[]){"\"memory_cap\": 8", "\"sorted_by\": \"rank_makespan\"",
                                       "\"schedule\": \"zbv\"", "\"bubble_fraction\": 0.066",
                                       "\"schedule\": \"1f1b\"", "\"bubble_fraction\": 0.2245",
                                       "\"gap\"", "\"closed_form\": 117", "\"left_out\"",
                                       "needs 32 in flight, above the cap of 8", NULL});
    ms_run_release(&result);
    /* in times of a virtual stage, of which zbv has two per rank: 205.6 and 123.8 */
    result = MS_RUN("schedule", "--compare", "zbv,1f1b", "-p8", "-m32", "--p2p", "0.1", "--sort",
                    "makespan", "--json");
    expect_order(ms_run_out(&result),
                 (const char *const[]){"\"sorted_by\": \"makespan\"", "\"schedule\": \"1f1b\"",
                                       "\"schedule\": \"zbv\"", NULL});
    ms_run_release(&result);
    result = MS_RUN("schedule", "--compare", "gpipe,vmin,zbh2", "-p4", "-m16", "--sort",
                    "peak_inflight");
    expect_order(ms_run_out(&result), (const char *const[]){"vmin", "zbh2", "gpipe", NULL});
    ms_run_release(&result);
    result = MS_RUN("schedule", "--compare", "gpipe,dualpipe,zbv", "-p3", "-m7", "--tf", "1,2,1");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), "left out\nschedule  reason\ndualpipe  "));
    ms_run_release(&result);
}

Test(schedule_studies, times_from_a_profile) {
    char folder[] = "/tmp/meshsim_costs_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    static const char *const SAME[] = {
        "stage, forward,weight_gradient,input_gradient,p2p\r\n0,1,1,1,0.5\n\n1,2,0.5,3,\n",
        ("\xEF\xBB\xBF\"stage\",\"forward\",weight_gradient,input_gradient,p2p\n"
         "1,2,\"0.5\",3,0\n,,,,\n0,1,1,1,\" 0.5 \""),
        "forward,weight_gradient,input_gradient,p2p\n1,1,1,0.5\n2,0.5,3, \n",
    };
    ms_run_result same = MS_RUN("schedule", "1f1b", "-p2", "-m3", "--tf=1,2", "--tb=1,3",
                                "--tw=1,0.5", "--p2p=0.5", "--json");
    ms_run_result result;
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++) {
        write_text(folder, "p.csv", SAME[i]);
        result = MS_RUN_IN(folder, "schedule", "1f1b", "-p2", "-m3", "--costs", "p.csv", "--json");
        cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
        cr_assert_str_eq(ms_run_out(&result), ms_run_out(&same), "row %zu", i);
        ms_run_release(&result);
    }
    ms_run_release(&same);
    static const struct {
        const char *text, *words;
    } BAD[] = {
        {"", "expected a header and 2 stages, got 0"},
        {"forward,input_gradient\n", "column 'weight_gradient' is missing"},
        {"forward,input_gradient,weight_grad\n", "p.csv:1:24: error: 'weight_grad' is no column"},
        {"forward,forward\n", "p.csv:1:9: error: 'forward' is no column that can stand here"},
        {"forward,input_gradient,weight_gradient\n1,1,1\n", "got 1"},
        {"forward,input_gradient,weight_gradient\n1,1,1\n1,x,1\n",
         "p.csv:3:3: error: expected a number from 0 to 1e+280, got 'x'"},
        {"forward,input_gradient,weight_gradient\n1,1,-1\n", "got '-1'"},
        {"forward,input_gradient,weight_gradient\n1,1\n", "expected 3 columns, got 2"},
        {"forward,input_gradient,weight_gradient\n1,1,1,1\n", "the header has 3 columns"},
        {"forward,input_gradient,weight_gradient\n1,1,1\n1,1,1\n1,1,1\n", "is one more"},
        {"stage,forward,input_gradient,weight_gradient\n1,1,1,1\n", "stage 0 is missing"},
        {"stage,forward,input_gradient,weight_gradient\n1,1,1,1\n1,1,1,1\n",
         "p.csv:3:1: error: stage 1 stands twice"},
        {"stage,forward,input_gradient,weight_gradient\n2,1,1,1\n",
         "p.csv:2:1: error: expected a stage from 0 to 1"},
        {"stage,forward,input_gradient,weight_gradient\n0.5,1,1,1\n", "a stage from 0 to 1"},
        {"forward,input_gradient,weight_gradient,p2p\n1,1,1,1\n1,1,1,9\n",
         "p.csv:3:7: error: stage 1 is the last one and has no boundary behind it; leave its p2p"},
        {"forward,input_gradient,weight_gradient,p2p\n1,1,1,\n1,1,1,\n",
         "p.csv:2:7: error: expected a number from 0 to 1e+280, got ''"},
        {"forward,input_gradient,weight_gradient\n1,1,1e281\n1,1,1\n", "got '1e281'"},
        {"forward,input_gradient,weight_gradient\n1,\"1,1\n1,1,1\n", "a quote that does not close"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        write_text(folder, "p.csv", BAD[i].text);
        result = MS_RUN_IN(folder, "schedule", "1f1b", "-p2", "-m3", "--costs", "p.csv");
        cr_assert_eq(result.exit_code, 3, "row %zu", i);
        cr_assert_not_null(strstr(ms_run_err(&result), BAD[i].words), "row %zu: %s", i,
                           ms_run_err(&result));
        ms_run_release(&result);
    }
    /* all faults of a file at once */
    write_text(folder, "p.csv", "forward,input_gradient,weight_gradient\nx,1,y\n1,1\n1,1,1\n");
    result = MS_RUN_IN(folder, "schedule", "1f1b", "-p2", "-m3", "--costs", "p.csv");
    static const char *const ALL[] = {"p.csv:2:1:", "p.csv:2:5:", "p.csv:3:", "p.csv:4:"};
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        cr_assert_not_null(strstr(ms_run_err(&result), ALL[i]), "%s", ms_run_err(&result));
    }
    ms_run_release(&result);
    char path[256];
    snprintf(path, sizeof path, "%s/p.csv", folder);
    unlink(path);
    rmdir(folder);
}

/* Found, proven, exported, and the same when read again. */
Test(schedule_studies, search_proves_and_exports) {
    char folder[] = "/tmp/meshsim_search_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result result = MS_RUN_IN(folder, "schedule", "search", "-p8", "-m32", "--memory-cap",
                                     "15", "--csv", "found.csv", "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    expect_order(ms_run_out(&result),
                 (const char *const[]){"\"max_span\": 96", "\"max_span_bubble\": 0,",
                                       "\"span_bound\": 96", "\"is_optimal\": true", NULL});
    char crc[40];
    const char *at = strstr(ms_run_out(&result), "\"order_crc32\"");
    cr_assert_not_null(at);
    snprintf(crc, sizeof crc, "%.25s", at);
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:found.csv", "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), crc), "%s in %s", crc, ms_run_out(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), "\"max_span\": 96"));
    ms_run_release(&result);
    char path[256];
    snprintf(path, sizeof path, "%s/found.csv", folder);
    unlink(path);
    rmdir(folder);
    result = MS_RUN("schedule", "search", "-p8", "-m32", "--memory-cap", "8");
    cr_assert_not_null(strstr(ms_run_out(&result), "longest span of a rank  103\n"));
    cr_assert_not_null(strstr(ms_run_out(&result), "optimal                  yes\n"));
    ms_run_release(&result);
}

/* Two stages per rank in a V, uneven: a cap in whole microbatches, and the same file read again. */
Test(schedule_studies, search_in_a_v) {
    char folder[] = "/tmp/meshsim_search_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result result =
        MS_RUN_IN(folder, "schedule", "search", "-p4", "-v2", "-m9", "--memory-cap", "2.5", "--tb",
                  "1.3", "--tw", "0.7", "--p2p", "0.05", "--csv", "found.csv", "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    static const char *const SAME[] = {"\"max_span\"",   "\"makespan\"",      "\"v\"",
                                       "\"msgs_total\"", "\"peak_inflight\"", "\"order_crc32\""};
    ms_run_result again = MS_RUN_IN(folder, "schedule", "csv:found.csv", "--tb", "1.3", "--tw",
                                    "0.7", "--p2p", "0.05", "--json");
    cr_assert_eq(again.exit_code, 0, "%s", ms_run_err(&again));
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++) {
        const char *one = strstr(ms_run_out(&result), SAME[i]);
        const char *other = strstr(ms_run_out(&again), SAME[i]);
        cr_assert(one != NULL && other != NULL, "%s", SAME[i]);
        size_t width = strcspn(one, "\n");
        cr_assert_eq(strncmp(one, other, width), 0, "%.*s, read again %.*s", (int)width, one,
                     (int)width, other);
    }
    cr_assert_not_null(strstr(ms_run_out(&result), "\"start\": "));
    const char *peaks = strstr(ms_run_out(&result), "\"peak_inflight\": [");
    cr_assert_not_null(peaks);
    char *end = NULL;
    for (const char *at = strchr(peaks, '[') + 1; *at != ']'; at = end + strspn(end, ", \n")) {
        long peak = strtol(at, &end, 10);
        cr_assert(end != at && peak >= 2 && peak <= 5, "%.60s", peaks);
    }
    ms_run_release(&result);
    ms_run_release(&again);
    char path[256];
    snprintf(path, sizeof path, "%s/found.csv", folder);
    unlink(path);
    rmdir(folder);
    result = MS_RUN("schedule", "search", "-p8", "-v2", "-m15", "--memory-cap", "8");
    cr_assert_not_null(strstr(ms_run_out(&result),
                              "\nspan of the heuristic    90\nheuristic                zbv\n"),
                       "%s", ms_run_out(&result));
    ms_run_release(&result);
}

Test(schedule_studies, usage_faults) {
    static const struct {
        const char *words[12];
        const char *message;
    } BAD[] = {
        {{"schedule", "--compare", "all", "-m4"}, "option '--ranks' is missing"},
        {{"schedule", "--compare", "zvb", "-p2", "-m4"}, "did you mean 'zbv'?"},
        {{"schedule", "1f1b", "--compare", "all", "-p2", "-m4"}, "leave out '1f1b'"},
        {{"schedule", "--compare", "all", "-p2", "-m4", "--sort", "size"}, "unknown column 'size'"},
        {{"schedule", "--compare", "all", "-p2", "-m4", "--csv", "x"}, "is for one schedule"},
        {{"schedule", "--compare", "all", "-p2", "-m4", "--memory-cap", "0"}, "a number > 0"},
        {{"schedule", "1f1b", "-p2", "-m4", "--sort", "v"}, "goes with '--compare'"},
        {{"schedule", "1f1b", "-p2", "-m4", "--memory-cap", "2"}, "goes with '--compare' and"},
        {{"schedule", "1f1b", "-p2", "-m4", "--costs", "x", "--tf", "1"}, "both give times"},
        {{"schedule", "search", "-p2", "-m4", "-v3"}, "or of two in a V"},
        {{"schedule", "search", "-p2", "-m4", "-v2", "--group", "2"}, "leave out '--group'"},
        {{"schedule", "search", "-p2", "-m4", "-v2", "--tf", "1,2"}, "which makes 4 here"},
        {{"schedule", "search", "-p2"}, "option '--microbatches' is missing"},
        {{"schedule", "search", "-p2", "-m4", "--memory-cap", "0.5"}, "at least 1 microbatch"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, BAD[i].words);
        cr_assert_eq(result.exit_code, 2, "row %zu: %d, %s", i, result.exit_code,
                     ms_run_err(&result));
        cr_assert_eq(result.out.length, 0, "row %zu", i);
        cr_assert_not_null(strstr(ms_run_err(&result), BAD[i].message), "row %zu: %s", i,
                           ms_run_err(&result));
        ms_run_release(&result);
    }
}

/* Files of a table: their sizes are its sizes, one of others is named, parts count as parts. */
Test(schedule_studies, compares_files) {
    char folder[] = "/tmp/meshsim_compare_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    static const char *const FILES[][6] = {{"1f1b", "-p4", "-m8", "--splits=1", "a.csv"},
                                           {"zbh1", "-p2", "-m8", "--splits=1", "b.csv"},
                                           {"seq1f1b", "-p4", "-m8", "--splits=2", "c.csv"}};
    for (size_t i = 0; i < 3; i++) {
        ms_run_result made = MS_RUN_IN(folder, "schedule", FILES[i][0], FILES[i][1], FILES[i][2],
                                       FILES[i][3], "--csv", FILES[i][4]);
        cr_assert_eq(made.exit_code, 0, "%s", ms_run_err(&made));
        ms_run_release(&made);
    }
    ms_run_result result = MS_RUN_IN(folder, "schedule", "--compare",
                                     "csv:a.csv,csv:b.csv,csv:c.csv,seq1f1b,gpipe", "--splits=2");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    const char *out = ms_run_out(&result);
    cr_assert_eq(
        strncmp(out, "schedule: a comparison\n\npipeline ranks  4\nmicrobatches    8\n", 57), 0,
        "%s", out);
    cr_assert_not_null(
        strstr(out, "csv:b.csv  it has 2 ranks and 8 microbatches, and the table 4 and 8"), "%s",
        out);
    /* of a sequence in two slices a rank's time is that of two units */
    static const char *const ROWS[] = {
        "\ncsv:a.csv  1         33         33 ", "\ncsv:c.csv  1         57       28.5 ",
        "\nseq1f1b    1         57       28.5 ", "\ngpipe      1         33         33 "};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        cr_assert_not_null(strstr(out, ROWS[i]), "no row '%s' in %s", ROWS[i], out);
    }
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "--compare", "csv:b.csv,csv:none.csv");
    cr_assert_eq(result.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&result), "none.csv: error: no such file"));
    ms_run_release(&result);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}
