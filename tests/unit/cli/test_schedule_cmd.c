#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ms_run.h"
#include "schedule_cases.h"
#include "text_file.h"

enum { NUMBERS_MAX = 64 };

/* All numbers of the member `key` (a number, or an array with whatever inside), in order. Returns
 * how many. */
static int read_numbers(const char *json, const char *key, double numbers[NUMBERS_MAX]) {
    char name[64];
    snprintf(name, sizeof name, "\"%s\":", key);
    const char *at = strstr(json, name);
    cr_assert_not_null(at, "no member %s in %s", name, json);
    at += strlen(name);
    at += strspn(at, " \n");
    const char *end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ",\n}");
    int count = 0;
    while (at < end) {
        char *after = NULL;
        double value = strtod(at, &after);
        if (*at == '"') {
            at = strchr(at + 1, '"') + 1;
        } else if (after == at) {
            at++;
        } else {
            cr_assert_lt(count, NUMBERS_MAX);
            numbers[count++] = value;
            at = after;
        }
    }
    return count;
}

static void expect_numbers(const ms_schedule_case *item, const char *json, const char *key,
                           const double *want, int count) {
    double got[NUMBERS_MAX];
    cr_assert_eq(read_numbers(json, key, got), count, "case %d: %s in %s", item->id, key, json);
    for (int i = 0; i < count; i++) {
        cr_assert(fabs(got[i] - want[i]) <= 1e-9 * fmax(1, fabs(want[i])),
                  "case %d: %s[%d] is %.17g, not %.17g", item->id, key, i, got[i], want[i]);
    }
}

static void expect_integers(const ms_schedule_case *item, const char *json, const char *key,
                            const int *want) {
    double numbers[MS_CASE_RANKS];
    for (int i = 0; i < item->p; i++) {
        numbers[i] = want[i];
    }
    expect_numbers(item, json, key, numbers, item->p);
}

static void check_json(const ms_schedule_case *item, const char *json) {
    expect_numbers(item, json, "makespan", &item->makespan, 1);
    expect_numbers(item, json, "bubble_fraction", &item->bubble_fraction, 1);
    expect_numbers(item, json, "max_span", &item->max_span, 1);
    expect_numbers(item, json, "max_span_bubble", &item->max_span_bubble, 1);
    expect_numbers(item, json, "busy", item->busy, item->p);
    expect_numbers(item, json, "exposed_p2p", item->exposed_p2p, item->p);
    expect_numbers(item, json, "idle", &item->idle[0][0], 3 * item->p);
    expect_integers(item, json, "peak_inflight", item->peak_inflight);
    expect_integers(item, json, "peak_inflight_I", item->peak_inflight_input);
    expect_integers(item, json, "msgs_sent", item->messages);
    double total = item->messages_total;
    expect_numbers(item, json, "msgs_total", &total, 1);
    double sizes[] = {item->p, item->v, item->m, item->parameter_replicas};
    expect_numbers(item, json, "p", &sizes[0], 1);
    expect_numbers(item, json, "v", &sizes[1], 1);
    expect_numbers(item, json, "m", &sizes[2], 1);
    expect_numbers(item, json, "param_replicas", &sizes[3], 1);
    expect_numbers(item, json, "formula_makespan", &item->makespan, item->has_formula ? 1 : 0);
    char crc[64];
    snprintf(crc, sizeof crc, "\"order_crc32\": \"%08x\"", (unsigned)item->crc);
    cr_assert_not_null(strstr(json, crc), "case %d: %s", item->id, json);
    snprintf(crc, sizeof crc, "\"schedule\": \"%s\"", item->schedule);
    cr_assert_not_null(strstr(json, crc), "case %d: %s", item->id, json);
}

Test(schedule_command, prints_the_reference_values) {
    for (int i = 0; i < MS_SCHEDULE_CASE_COUNT; i++) {
        const ms_schedule_case *item = &MS_SCHEDULE_CASES[i];
        char p[16], v[16], m[16], options[3][48];
        int option_count = 0;
        snprintf(p, sizeof p, "%d", item->p);
        snprintf(v, sizeof v, "-v%d", item->v);
        snprintf(m, sizeof m, "%d", item->m);
        const char *words[] = {"schedule",
                               item->schedule,
                               "-p",
                               p,
                               v,
                               "-m",
                               m,
                               "--tf",
                               item->tf_text,
                               "--tb",
                               item->tb_text,
                               "--tw",
                               item->tw_text,
                               "--p2p",
                               item->p2p_text,
                               "--json",
                               NULL,
                               NULL,
                               NULL,
                               NULL};
        if (item->group != 0) {
            snprintf(options[option_count++], 48, "--group=%d", item->group);
        }
        if (item->splits != 0) {
            snprintf(options[option_count++], 48, "--splits=%d", item->splits);
        }
        if (item->pair_scale != 0) {
            snprintf(options[option_count++], 48, "--fbscale=%.17g", item->pair_scale);
        }
        for (int k = 0; k < option_count; k++) {
            words[16 + k] = options[k];
        }
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, words);
        cr_assert_eq(result.exit_code, 0, "case %d: %s", item->id, ms_run_err(&result));
        cr_assert_eq(result.err.length, 0);
        check_json(item, ms_run_out(&result));
        ms_run_release(&result);
    }
}

Test(schedule_command, usage_faults) {
    static const struct {
        const char *words[12];
        const char *message;
    } BAD[] = {
        {{"schedule"}, "missing argument: KIND"},
        {{"schedule", "gpipe", "extra"}, "superfluous argument 'extra'"},
        {{"schedule", "gpip", "-p", "2", "-m", "2"}, "did you mean 'gpipe'?"},
        {{"schedule", "pipedream", "-p", "2", "-m", "2"}, "known: gpipe, 1f1b, interleaved"},
        {{"schedule", "gpipe", "-p", "2"}, "option '--microbatches' is missing"},
        {{"schedule", "gpipe", "-m", "2"}, "option '--ranks' is missing"},
        {{"schedule", "gpipe", "-p", "0", "-m", "2"}, "got '0'"},
        {{"schedule", "gpipe", "-p", "2x", "-m", "2"}, "got '2x'"},
        {{"schedule", "gpipe", "-p", "99999999999999999999", "-m", "2"}, "whole number"},
        {{"schedule", "gpipe", "-p", "2", "-p", "3"}, "option '--ranks' stands twice"},
        {{"schedule", "gpipe", "-p", "2", "-m"}, "option '--microbatches' needs an argument, M"},
        {{"schedule", "gpipe", "--csv", "--json"}, "option '--csv' needs an argument, FILE"},
        {{"schedule", "gpipe", "--jsn"}, "unknown option '--jsn'; did you mean '--json'?"},
        {{"schedule", "gpipe", "-json"}, "unknown option '-json'; did you mean '--json'?"},
        {{"schedule", "gpipe", "-x"}, "unknown option '-x'"},
        {{"schedule", "gpipe", "--json=yes"}, "option '--json' takes no argument, got 'yes'"},
        {{"schedule", "gpipe", "-p", "2", "-m", "2", "-v", "2"}, "nearest legal V: 1"},
        {{"schedule", "interleaved", "-p4", "-v2", "-m9"}, "nearest legal M: 8 or 12"},
        {{"schedule", "1f1b", "-p30000", "-m2000000000"}, "the limit is 50000000"},
        {{"schedule", "gpipe", "-p3", "-m2", "--tf", "1,2"},
         "'--tf' takes one number or one per stage, which makes 3 here; got 2"},
        {{"schedule", "gpipe", "-p3", "-m2", "--p2p", "1,2,3"},
         "one per boundary between stages, which makes 2 here; got 3"},
        {{"schedule", "gpipe", "-p3", "-m2", "--tb", "1,,2"},
         "takes numbers from 0 to 1e+280, got ''"},
        {{"schedule", "gpipe", "-p3", "-m2", "--tw", "-1"},
         "takes numbers from 0 to 1e+280, got '-1'"},
        {{"schedule", "gpipe", "-p3", "-m2", "--tw", "nan"},
         "takes numbers from 0 to 1e+280, got 'nan'"},
        {{"schedule", "gpipe", "-p3", "-m2", "--tw", "1e999"}, "takes numbers from 0 to 1e+280"},
        {{"schedule", "gpipe", "-p3", "-m2", "--csv", "-", "--json"}, "both want"},
        {{"schedule", "1f1b", "-p4", "-m8", "--tf", "1e308"}, "from 0 to 1e+280, got '1e308'"},
        {{"schedule", "zbv", "-p3", "-m6", "-v3"}, "nearest legal V: 2"},
        {{"schedule", "dualpipe", "-p4", "-m8", "--overlap", "both"}, "is fused or serial"},
        {{"schedule", "dualpipe", "-p4", "-m8", "--fbscale", "0"},
         "takes a number above 0, to 1e+09, got '0'"},
        {{"schedule", "gpipe", "-p4", "-m8", "--sends", "sync"}, "is async or blocking"},
        {{"schedule", "gpipe", "-p4", "-m8", "--csv-form", "all"}, "is compute, sends or comms"},
        {{"schedule", "gpipe", "-p4", "-m8", "--csv-dialect", "old"}, "is current or legacy"},
        {{"schedule", "gpipe", "-p4", "-m8", "--splits", "2"}, "only seq1f1b does"},
        {{"schedule", "zbv", "-p4", "-m8", "--reorder"}, "only vhalf and vmin can"},
        {{"schedule", "csv:"}, "'csv:' names no file; expected csv:FILE"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, BAD[i].words);
        const char *talk = ms_run_err(&result);
        cr_assert_eq(result.exit_code, 2, "row %zu: %d, %s", i, result.exit_code, talk);
        cr_assert_eq(result.out.length, 0, "row %zu", i);
        cr_assert_not_null(strstr(talk, BAD[i].message), "row %zu: %s", i, talk);
        cr_assert_not_null(strstr(talk, "meshsim: try 'meshsim schedule --help'\n"), "row %zu: %s",
                           i, talk);
        ms_run_release(&result);
    }
}

Test(schedule_command, text_fits_the_page) {
    static const char *const SIZES[][3] = {{"-p4", "-v2", "-m8"},
                                           {"-p32", "-v1", "-m4"},
                                           {"-p8", "-v4", "-m16"},
                                           {"-p1", "-v1", "-m1"}};
    static const char *const TIMES[] = {"1", "0.333333333333", "123456789.125", "1e-9", "0"};
    for (size_t i = 0; i < 4 * 5; i++) {
        const char *const *size = SIZES[i / 5];
        const char *kind = strcmp(size[1], "-v1") == 0 ? "1f1b" : "interleaved";
        ms_run_result result = MS_RUN("schedule", kind, size[0], size[1], size[2], "--tf",
                                      TIMES[i % 5], "--tb", TIMES[i % 5], "--p2p", "0.1");
        cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
        cr_assert_not_null(strstr(ms_run_out(&result), "makespan"));
        for (const char *line = ms_run_out(&result); *line != '\0'; line = strchr(line, '\n') + 1) {
            cr_assert_leq(strcspn(line, "\n"), 80U, "%s", ms_run_out(&result));
        }
        ms_run_release(&result);
    }
}

Test(schedule_command, picture_of_a_small_schedule) {
    ms_run_result result = MS_RUN("schedule", "gpipe", "-p", "2", "-m", "2", "--tf=2", "--tw=1");
    const char *picture = "column = 1\n"
                          "    0 0011....aabb\n"
                          "    1 ..0011aabb..\n";
    cr_assert_not_null(strstr(ms_run_out(&result), picture), "%s", ms_run_out(&result));
    ms_run_release(&result);
}

static void read_file(const char *folder, const char *name, char *text, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void expect_only_file(const char *folder, const char *name) {
    char command[512];
    snprintf(command, sizeof command, "test \"$(ls -A '%s')\" = '%s'", folder, name);
    cr_assert_eq(system(command), 0, "%s holds other files than %s", folder, name);
}

static const char CSV[] = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Test(schedule_command, csv_replaces_a_file_whole_and_keeps_its_mode) {
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char path[256];
    snprintf(path, sizeof path, "%s/order.csv", folder);
    for (int round = 0; round < 2; round++) {
        ms_run_result result =
            MS_RUN_IN(folder, "schedule", "1f1b", "-p2", "-m2", "--csv", "order.csv");
        cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
        cr_assert_gt(result.out.length, 0);
        ms_run_release(&result);
        char text[256];
        read_file(folder, "order.csv", text, sizeof text);
        cr_assert_str_eq(text, CSV);
        struct stat found;
        cr_assert_eq(stat(path, &found), 0);
        if (round == 1) {
            cr_assert_eq(found.st_mode & 07777U, 0640U);
        }
        cr_assert_eq(chmod(path, 0640), 0);
    }
    expect_only_file(folder, "order.csv");
    unlink(path);
    rmdir(folder);
}

Test(schedule_command, csv_on_stdout_stands_alone) {
    ms_run_result result = MS_RUN("schedule", "1f1b", "-p2", "-m2", "--csv", "-");
    cr_assert_eq(result.exit_code, 0);
    cr_assert_str_eq(ms_run_out(&result), CSV);
    ms_run_release(&result);
}

Test(schedule_command, places_that_cannot_be_written) {
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    static const char *const PLACES[] = {"none/order.csv", ".", "/dev/full", ""};
    for (size_t i = 0; i < 4; i++) {
        ms_run_result result =
            MS_RUN_IN(folder, "schedule", "1f1b", "-p2", "-m2", "--csv", PLACES[i]);
        cr_assert_eq(result.exit_code, 4, "%s: %d", PLACES[i], result.exit_code);
        cr_assert_eq(result.out.length, 0);
        cr_assert_gt(result.err.length, 0);
        ms_run_release(&result);
    }
    expect_only_file(folder, "");
    rmdir(folder);
}

Test(schedule_command, large_schedule) {
    ms_run_result result =
        MS_RUN("schedule", "interleaved", "-p64", "-v4", "-m1024", "--p2p=0.25", "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), "\"formula_makespan\": 12604.5"));
    ms_run_release(&result);
}

/* A file as written by others: blanks, CR LF, letters of 2024. */
Test(schedule_command, schedule_files_come_back_byte_for_byte) {
    static const char TEXT[] = "0F0,0F1,,0B0,0W0,0B1,0W1\r\n,1F0,1BW0,1F1,1BW1\r\n";
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    write_text(folder, "in.csv", TEXT);
    ms_run_result result = MS_RUN_IN(folder, "schedule", "csv:in.csv", "--csv", "-");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_str_eq(ms_run_out(&result), TEXT);
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv", "--csv", "-", "--csv-form", "compute",
                       "--merge-bw");
    cr_assert_str_eq(ms_run_out(&result), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv", "--json", "-p2", "-m2");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), "\"schedule\": \"csv:in.csv\""));
    cr_assert_not_null(strstr(ms_run_out(&result), "\"makespan\": 9,"));
    cr_assert_not_null(strstr(ms_run_out(&result), "\"formula_makespan\": null"));
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv", "-p3");
    cr_assert_eq(result.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&result), "'--ranks' is 3, and the file has 2"));
    ms_run_release(&result);
    write_text(folder, "in.csv", "0F0,0B0\n1F0,2Q0\n");
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv");
    cr_assert_eq(result.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&result), "in.csv:2:5: error: rank 1, cell 2: '2Q0'"),
                       "%s", ms_run_err(&result));
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:none.csv");
    cr_assert_eq(result.exit_code, 3);
    ms_run_release(&result);
    unlink(strcat(strcpy((char[256]){0}, folder), "/in.csv"));
    rmdir(folder);
}

/* Slices of sequences go round trip, where the sizes say that microbatches are slices. */
Test(schedule_command, slices_of_sequences_come_back) {
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result first = MS_RUN_IN(folder, "schedule", "seq1f1b", "-p4", "-m4", "--splits", "2",
                                    "--csv", "in.csv", "--json");
    cr_assert_eq(first.exit_code, 0, "%s", ms_run_err(&first));
    ms_run_result again =
        MS_RUN_IN(folder, "schedule", "csv:in.csv", "-m4", "--splits", "2", "--json");
    cr_assert_eq(again.exit_code, 0, "%s", ms_run_err(&again));
    cr_assert_str_eq(strstr(ms_run_out(&first), "\"p\":"), strstr(ms_run_out(&again), "\"p\":"));
    ms_run_release(&again);
    ms_run_release(&first);
    again = MS_RUN_IN(folder, "schedule", "csv:in.csv", "-m4");
    cr_assert_eq(again.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&again), "say with '--splits' how many slices"));
    ms_run_release(&again);
    unlink(strcat(strcpy((char[256]){0}, folder), "/in.csv"));
    rmdir(folder);
}

/* What a run shows from the step time on: no name of the schedule. */
static const char *step_of(const ms_run_result *result, char text[512]) {
    const char *at = strstr(ms_run_out(result), "\nstep ");
    cr_assert_not_null(at, "%s%s", ms_run_out(result), ms_run_err(result));
    snprintf(text, 512, "%.400s", at);
    return text;
}

/* The same slices from a file and by kind take as long on a platform, and in a table. */
Test(schedule_command, slices_of_sequences_run_from_a_file) {
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char kind[64], one[512], other[512];
    snprintf(kind, sizeof kind, "schedule.kind=csv:%s/in.csv", folder);
    ms_run_result result =
        MS_RUN_IN(folder, "schedule", "seq1f1b", "-p2", "-m8", "--splits", "2", "--csv", "in.csv");
    ms_run_release(&result);
    static const char TINY[] = MS_SOURCE_DIR "/workloads/tiny.yaml";
    result = MS_RUN("run", TINY, "--set", kind, "--set", "schedule.splits=2");
    ms_run_result same =
        MS_RUN("run", TINY, "--set", "schedule.kind=seq1f1b", "--set", "schedule.splits=2");
    cr_assert_str_eq(step_of(&result, one), step_of(&same, other));
    ms_run_release(&result);
    ms_run_release(&same);
    result = MS_RUN_IN(folder, "schedule", "--compare", "csv:in.csv,seq1f1b", "--splits", "2",
                       "--workload", TINY);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    const char *file = strstr(ms_run_out(&result), "\ncsv:in.csv");
    const char *built = strstr(ms_run_out(&result), "\nseq1f1b");
    cr_assert(file != NULL && built != NULL, "%s", ms_run_out(&result));
    file += strcspn(file + 1, " ") + 1;
    built += strcspn(built + 1, " ") + 1;
    file += strspn(file, " ");
    built += strspn(built, " ");
    cr_assert_eq(strncmp(file, built, 50), 0, "%s", ms_run_out(&result));
    ms_run_release(&result);
    unlink(strcat(strcpy((char[256]){0}, folder), "/in.csv"));
    rmdir(folder);
}

/* A file above the limit of YAML, with what a folder is called. */
Test(schedule_command, long_schedule_files) {
    char folder[] = "/tmp/meshsim_csv_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result result = MS_RUN_IN(folder, "schedule", "interleaved", "-p64", "-v4", "-m1024",
                                     "--csv", "in.csv", "--csv-form", "comms");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_run_release(&result);
    char path[256];
    snprintf(path, sizeof path, "%s/in.csv", folder);
    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_gt(found.st_size, 16 << 20);
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_run_release(&result);
    cr_assert_eq(truncate(path, (256L << 20) + 1), 0);
    result = MS_RUN_IN(folder, "schedule", "csv:in.csv");
    cr_assert_eq(result.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&result), "a CSV file of at most 256 MiB, got 256.0"));
    ms_run_release(&result);
    result = MS_RUN_IN(folder, "schedule", "csv:.");
    cr_assert_eq(result.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&result), "expected a CSV file, got a directory"));
    ms_run_release(&result);
    unlink(path);
    rmdir(folder);
}

/* The largest costs add up to numbers. */
Test(schedule_command, largest_costs_have_a_sum) {
    static const char *const KINDS[] = {"1f1b", "zbh2", "dualpipe", "vmin", "chimera"};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        ms_run_result result =
            MS_RUN("schedule", KINDS[i], "-p4", "-m8", "--tf=1e280", "--tb=1e280", "--tw=1e280",
                   "--p2p=1e280", "--fbscale=1e9", "--json");
        cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
        double makespan[NUMBERS_MAX], bubble[NUMBERS_MAX];
        cr_assert_eq(read_numbers(ms_run_out(&result), "makespan", makespan), 1);
        cr_assert_eq(read_numbers(ms_run_out(&result), "bubble_fraction", bubble), 1);
        cr_assert(makespan[0] >= 8 * 3e280 && makespan[0] < 1e300, "%g", makespan[0]);
        cr_assert(bubble[0] > 0 && bubble[0] < 1, "%g", bubble[0]);
        ms_run_release(&result);
    }
}

/* Options without an effect are named, those with one are not. */
Test(schedule_command, names_options_that_change_nothing) {
    static const struct {
        const char *words[10], *note; /* NULL: none */
    } ROWS[] = {
        {{"1f1b", "-p4", "--overlap", "serial"}, "'--overlap' changes nothing: the schedule pairs"},
        {{"1f1b", "-p4", "--overlap", "fused"}, NULL},
        {{"1f1b", "-p4", "--fbscale", "0.8"}, "'--fbscale' changes nothing: the schedule pairs"},
        {{"dualpipev", "-p4", "--fbscale", "0.8", "--overlap", "serial"}, "'--fbscale' changes"},
        {{"dualpipev", "-p4", "--fbscale", "0.8"}, NULL},
        {{"dualpipev", "-p4", "--overlap", "serial"}, NULL},
        {{"1f1b", "-p4", "--sends", "blocking"}, "'--sends' changes nothing: messages take no"},
        {{"1f1b", "-p4", "--sends", "blocking", "--p2p", "0.1"}, NULL},
        {{"1f1b", "-p1", "--sends", "blocking"}, "'--sends' changes nothing: no stage sends"},
        {{"interleaved", "-p1", "-v2", "--p2p", "0.1"}, "'--p2p' changes nothing: no stage sends"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const char *words[16] = {"schedule", "-m8"};
        memcpy(words + 2, ROWS[i].words, sizeof ROWS[i].words);
        ms_run_setup setup = {0};
        ms_run_result r = ms_run_with(&setup, words);
        const char *err = ms_run_err(&r);
        cr_assert_eq(r.exit_code, 0, "%zu: %s", i, err);
        bool is_right = ROWS[i].note == NULL ? err[0] == '\0' : strstr(err, ROWS[i].note) != NULL;
        cr_assert(is_right, "%zu: %s", i, err);
        ms_run_release(&r);
    }
}
