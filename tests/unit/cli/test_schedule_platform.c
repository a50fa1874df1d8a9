/* meshsim schedule --compare --workload: the same figures as one run after the other, caps,
 * reasons, traces, and nothing left behind. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "ms_run.h"

static const char TINY[] = MS_SOURCE_DIR "/workloads/tiny.yaml";

/* The text of the number behind `"key": ` after `from`. */
static const char *number_after(const char *from, const char *key, char *out, size_t size) {
    char words[64];
    snprintf(words, sizeof words, "\"%s\": ", key);
    const char *at = strstr(from, words);
    cr_assert_not_null(at, "%s in %s", key, from);
    at += strlen(words);
    snprintf(out, size, "%.*s", (int)strcspn(at, ",\n"), at);
    return out;
}

static const char *row_of(const char *table, const char *name) {
    char words[64];
    snprintf(words, sizeof words, "\"schedule\": \"%s\"", name);
    const char *at = strstr(table, words);
    cr_assert_not_null(at, "%s in %s", name, table);
    return at;
}

/* Every figure is that of `run` to the last bit, however many run at once. */
Test(schedule_platform, rows_are_single_runs) {
    ms_run_result table = MS_RUN("schedule", "--compare", "all", "--workload", TINY, "--json",
                                 "--jobs", "3", "--sends", "blocking");
    cr_assert_eq(table.exit_code, 0, "%s", ms_run_err(&table));
    static const struct {
        const char *name, *sets[3];
    } KINDS[] = {
        {"1f1b", {"--set", "schedule.kind=1f1b", "--json"}},
        {"dualpipe", {"--set", "schedule.kind=dualpipe", "--json"}},
        {"interleaved", {"--set", "schedule={kind: interleaved, v: 2, sends: blocking}", "--json"}},
        {"seq1f1b", {"--set", "schedule={kind: seq1f1b, splits: 2, sends: blocking}", "--json"}},
    };
    static const char *const KEYS[] = {"step_time_s", "bubble_fraction", "mfu", "exposed_dp",
                                       "exposed_pp"};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        ms_run_result one = MS_RUN("run", TINY, KINDS[i].sets[0], KINDS[i].sets[1],
                                   KINDS[i].sets[2], "--sends", "blocking");
        const char *row = row_of(ms_run_out(&table), KINDS[i].name);
        for (size_t k = 0; k < sizeof KEYS / sizeof KEYS[0]; k++) {
            char here[64];
            char there[64];
            cr_assert_str_eq(number_after(row, KEYS[k], here, sizeof here),
                             number_after(ms_run_out(&one), KEYS[k], there, sizeof there), "%s %s",
                             KINDS[i].name, KEYS[k]);
        }
        ms_run_release(&one);
    }
    ms_run_release(&table);
}

/* A workload's own schedule is compared as it stands, also where it splits no sequence. */
Test(schedule_platform, one_part_of_a_sequence_is_not_two) {
    static const char ONE[] = "schedule={kind: seq1f1b, splits: 1}";
    ms_run_result table = MS_RUN("schedule", "--compare", "seq1f1b", "--workload", TINY, "--set",
                                 ONE, "--json", "--sends", "blocking");
    ms_run_result run = MS_RUN("run", TINY, "--set", ONE, "--json", "--sends", "blocking");
    char here[64];
    char there[64];
    cr_assert_eq(table.exit_code, 0, "%s", ms_run_err(&table));
    cr_assert_str_eq(number_after(ms_run_out(&table), "step_time_s", here, sizeof here),
                     number_after(ms_run_out(&run), "step_time_s", there, sizeof there));
    ms_run_release(&table);
    ms_run_release(&run);
}

static size_t longest_line(const char *text) {
    size_t longest = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* What cannot run, or exceeds the cap, is listed with the reason. */
Test(schedule_platform, reasons_and_caps) {
    ms_run_result result =
        MS_RUN("schedule", "--compare", "gpipe,1f1b,dualpipe,chimera", "--workload", TINY, "--set",
               "batch.global=10", "--memory-cap", "1.5GiB", "--sort", "peak_B");
    const char *out = ms_run_out(&result);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    cr_assert_leq(longest_line(out), 80U, "%s", out);
    cr_assert_not_null(strstr(out, "memory per GPU, at most  1.5 GiB\n"), "%s", out);
    cr_assert_not_null(strstr(out, "\n1f1b      1  "), "%s", out);
    const char *left_out = strstr(out, "\nleft out\n");
    cr_assert_not_null(left_out, "%s", out);
    cr_assert_not_null(strstr(left_out, "\ngpipe     needs "), "%s", out);
    cr_assert_not_null(strstr(left_out, " GiB, above the cap of 1.5 GiB\n"), "%s", out);
    cr_assert_not_null(strstr(left_out, "\ndualpipe  schedule: dualpipe feeds half"), "%s", out);
    ms_run_release(&result);
    result =
        MS_RUN("schedule", "--compare", "gpipe,1f1b", "--workload", TINY, "--memory-cap", "1MiB");
    cr_assert_eq(result.exit_code, 1, "nothing is left: %s", ms_run_out(&result));
    ms_run_release(&result);
    result = MS_RUN("schedule", "--compare", "gpipe", "--workload", TINY, "--set",
                    "platform.gpu.hbm=5GiB", "--set", "platform.gpu.reserve=4GiB");
    cr_assert_eq(result.exit_code, 1, "%s", ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_out(&result), " GiB  no   "));
    ms_run_release(&result);
}

/* Layers that the workload lists for other stages are partitioned anew, and the table says so. */
Test(schedule_platform, layers_of_other_stages) {
    ms_run_result result = MS_RUN("schedule", "--compare", "1f1b,zbv", "--workload", TINY, "--set",
                                  "schedule.stage_layers=[5,3]", "--json");
    const char *out = ms_run_out(&result);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    char text[16];
    cr_assert_str_eq(number_after(row_of(out, "1f1b"), "repartitioned", text, sizeof text),
                     "false");
    cr_assert_str_eq(number_after(row_of(out, "zbv"), "repartitioned", text, sizeof text), "true");
    ms_run_release(&result);
}

/* Layers given to the ends of the workload's stages say nothing of other stages. */
Test(schedule_platform, ends_of_other_stages) {
    ms_run_result table =
        MS_RUN("schedule", "--compare", "1f1b,zbv", "--workload", TINY, "--set",
               "schedule.first_stage_layers=5", "--set", "schedule.last_stage_layers=3", "--json");
    ms_run_result one =
        MS_RUN("run", TINY, "--set", "schedule={kind: zbv, partition: balanced}", "--json");
    char here[64];
    char there[64];
    cr_assert_eq(table.exit_code, 0, "%s", ms_run_err(&table));
    cr_assert_str_eq(
        number_after(row_of(ms_run_out(&table), "zbv"), "step_time_s", here, sizeof here),
        number_after(ms_run_out(&one), "step_time_s", there, sizeof there));
    ms_run_release(&table);
    ms_run_release(&one);
}

/* Given times are spread over other stages and slices, as on paper. */
Test(schedule_platform, costs_of_other_stages) {
    char path[] = "/tmp/meshsim_costs_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    cr_assert_not_null(file);
    fputs("platform: {file: ideal, nodes: 4}\nmesh: {pp: 4, order: [pp]}\n"
          "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
          "batch: {microbatches: 8}\n",
          file);
    fclose(file);
    cr_assert_eq(setenv("MESHSIM_DATA", MS_SOURCE_DIR, 1), 0);
    ms_run_result result =
        MS_RUN("schedule", "--compare", "zbv,gpipe,zbh1,seq1f1b", "--workload", path);
    const char *out = ms_run_out(&result);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    /* as on paper, with M = 8 and P = 4 */
    cr_assert_not_null(strstr(out, "\nzbh1      1    27 ms  11.11 % "), "%s", out);
    cr_assert_not_null(strstr(out, "\ngpipe     1    33 ms  27.27 % "), "%s", out);
    cr_assert_not_null(strstr(out, "\nzbv       2  25.5 ms   5.88 % "), "%s", out);
    cr_assert_not_null(strstr(out, "\nseq1f1b   1  28.5 ms  15.79 % "), "%s", out);
    ms_run_release(&result);
    unlink(path);
}

/* One schedule on paper has the times that `check` sums up. */
Test(schedule_platform, one_on_paper_with_a_workloads_times) {
    ms_run_result paper = MS_RUN("schedule", "zbv", "--workload", TINY, "--json");
    ms_run_result check = MS_RUN("check", TINY, "--set", "schedule.kind=zbv", "--json");
    char one[64];
    char other[64];
    cr_assert_eq(paper.exit_code, 0, "%s", ms_run_err(&paper));
    cr_assert_str_eq(
        number_after(ms_run_out(&paper), "bubble_fraction", one, sizeof one),
        number_after(ms_run_out(&check), "ideal_bubble_fraction", other, sizeof other));
    ms_run_release(&paper);
    ms_run_release(&check);
    paper = MS_RUN("schedule", "zbv", "--workload", TINY);
    cr_assert_not_null(strstr(ms_run_out(&paper), "seconds, what the workload's stages compute"));
    ms_run_release(&paper);
    paper = MS_RUN("schedule", "zbv", "--workload", TINY, "--p2p", "0.001", "--json");
    number_after(ms_run_out(&paper), "makespan", one, sizeof one);
    cr_assert_gt(strtod(one, NULL), 0.03, "messages of 1 ms show: %s", one);
    ms_run_release(&paper);
}

/* What a search finds for a workload's times runs there, and is the same on paper again. */
Test(schedule_platform, a_search_for_a_workload) {
    char path[] = "/tmp/meshsim_search_XXXXXX";
    close(mkstemp(path));
    char kind[64];
    snprintf(kind, sizeof kind, "csv:%s", path);
    ms_run_result found = MS_RUN("schedule", "search", "--workload", TINY, "--memory-cap", "3",
                                 "--csv", path, "--json");
    cr_assert_eq(found.exit_code, 0, "%s", ms_run_err(&found));
    cr_assert_not_null(strstr(ms_run_out(&found), "\"workload\": \"tiny\""));
    ms_run_result again = MS_RUN("schedule", kind, "--workload", TINY, "--json");
    char one[64];
    char other[64];
    cr_assert_str_eq(number_after(ms_run_out(&found), "makespan", one, sizeof one),
                     number_after(ms_run_out(&again), "makespan", other, sizeof other));
    ms_run_result bubbly = MS_RUN("schedule", "1f1b", "--workload", TINY, "--json");
    number_after(ms_run_out(&bubbly), "makespan", other, sizeof other);
    cr_assert_leq(strtod(one, NULL), strtod(other, NULL), "no worse than 1F1B");
    char list[96];
    snprintf(list, sizeof list, "1f1b,%s", kind);
    ms_run_result table = MS_RUN("schedule", "--compare", list, "--workload", TINY, "--json");
    number_after(row_of(ms_run_out(&table), kind), "step_time_s", one, sizeof one);
    number_after(row_of(ms_run_out(&table), "1f1b"), "step_time_s", other, sizeof other);
    cr_assert_leq(strtod(one, NULL), strtod(other, NULL), "on the platform neither");
    ms_run_release(&found);
    ms_run_release(&again);
    ms_run_release(&bubbly);
    ms_run_release(&table);
    unlink(path);
}

Test(schedule_platform, words_that_do_not_go_together) {
    static const struct {
        const char *words[5], *says;
        int exit_code;
    } BAD[] = {
        {{"-p", "4"}, "'--ranks' is for schedules on paper", 2},
        {{"--tf", "1"}, "'--tf' is for schedules on paper", 2},
        {{"--memory-cap", "8"}, "expected a unit", 2},
        {{"--memory-cap", "0 B"}, "takes a size > 0", 2},
        {{"--sort", "makespan"}, "unknown column 'makespan'", 2},
        {{"--jobs", "0"}, "'--jobs' takes a whole number from 1", 2},
        {{"--sends", "x"}, "'--sends' is async or blocking", 2},
        {{"--gantt", "x.svg"}, "'--gantt' draws the traces of '--traces FOLDER'", 2},
        {{"--set", "mesh.tp=3"}, "error: mesh:", 3},
        {{"--traces", "/nowhere/at/all"}, "cannot make the folder '/nowhere/at/all'", 4},
        {{"--platform", "nowhere"}, "no platform 'nowhere'", 3},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_run_result result = MS_RUN("schedule", "--compare", "1f1b", "--workload", TINY,
                                      BAD[i].words[0], BAD[i].words[1]);
        cr_assert_eq(result.exit_code, BAD[i].exit_code, "row %zu: %s", i, ms_run_err(&result));
        cr_assert_not_null(strstr(ms_run_err(&result), BAD[i].says), "row %zu: %s", i,
                           ms_run_err(&result));
        cr_assert_str_eq(ms_run_out(&result), "");
        ms_run_release(&result);
    }
    static const struct {
        const char *words[6], *says;
    } ALONE[] = {
        {{"--compare", "1f1b", "-p2", "-m2", "--traces", "x"}, "'--traces' goes with '--workload'"},
        {{"--compare", "1f1b", "-p2", "-m2", "--memory-cap", "6GiB"}, "in bytes, which needs"},
        {{"1f1b", "--workload", TINY, "--jobs", "2"}, "'--jobs' goes with '--compare'"},
        {{"1f1b", "--workload", TINY, "-p", "2"}, "'--ranks' is for schedules on paper"},
        {{"zvb", "--workload", TINY}, "did you mean 'zbv'?"},
        {{"dualpipe", "--workload", TINY, "--set", "batch.global=10"}, "M = '5'"},
        {{"--compare", "1f1b,csv:/nowhere.csv", "--workload", TINY}, "/nowhere.csv: error"},
        {{"--compare", "1f1b,1f1b", "--workload", TINY, "--traces", "/tmp"}, "would both write"},
    };
    for (size_t i = 0; i < sizeof ALONE / sizeof ALONE[0]; i++) {
        const char *const *w = ALONE[i].words;
        ms_run_result result = MS_RUN("schedule", w[0], w[1], w[2], w[3], w[4], w[5]);
        cr_assert(result.exit_code == 2 || result.exit_code == 3, "row %zu", i);
        cr_assert_not_null(strstr(ms_run_err(&result), ALONE[i].says), "row %zu: %s", i,
                           ms_run_err(&result));
        ms_run_release(&result);
    }
}

/* Files of a folder; their names are removed where asked. */
static int count_files(const char *folder, bool removes) {
    DIR *list = opendir(folder);
    int count = 0;
    cr_assert_not_null(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.')) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count += 1;
        if (removes) {
            cr_assert_eq(unlink(path), 0);
        }
    }
    closedir(list);
    return count;
}

Test(schedule_platform, traces_and_a_picture_of_them) {
    char folder[] = "/tmp/meshsim_traces_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char traces[64];
    char picture[64];
    char own[64];
    snprintf(traces, sizeof traces, "%s/traces", folder);
    snprintf(picture, sizeof picture, "%s/all.svg", folder);
    snprintf(own, sizeof own, "csv:%s/own.csv", folder);
    ms_run_result result = MS_RUN("schedule", "zbv", "-p2", "-m8", "--csv", own + strlen("csv:"));
    cr_assert_eq(result.exit_code, 0);
    ms_run_release(&result);
    char list[128];
    snprintf(list, sizeof list, "zbv,1f1b,%s", own);
    result = MS_RUN("schedule", "--compare", list, "--workload", TINY, "--traces", traces,
                    "--gantt", picture, "--json");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    char one[64];
    char other[64];
    cr_assert_str_eq(
        number_after(row_of(ms_run_out(&result), "zbv"), "step_time_s", one, sizeof one),
        number_after(row_of(ms_run_out(&result), own), "step_time_s", other, sizeof other));
    ms_run_release(&result);
    char zbv[96];
    char own_trace[96];
    snprintf(zbv, sizeof zbv, "%s/zbv.h5", traces);
    snprintf(own_trace, sizeof own_trace, "%s/own.h5", traces);
    result = MS_RUN("compare", zbv, own_trace);
    cr_assert_eq(result.exit_code, 0); /* the name of the schedule alone, a text */
    cr_assert_not_null(strstr(ms_run_out(&result), "schedule"));
    ms_run_release(&result);
    cr_assert_eq(access(picture, R_OK), 0);
    cr_assert_eq(count_files(traces, true), 3);
    cr_assert_eq(rmdir(traces), 0);
    cr_assert_eq(count_files(folder, true), 2);
    cr_assert_eq(rmdir(folder), 0);
}

/* Processes with this word in their command lines. */
static int count_processes(const char *word) {
    DIR *list = opendir("/proc");
    int count = 0;
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        char path[300];
        char line[1024];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file == NULL) {
            continue;
        }
        size_t got = fread(line, 1, sizeof line, file);
        fclose(file);
        count += memmem(line, got, word, strlen(word)) != NULL;
    }
    if (list != NULL) {
        closedir(list);
    }
    return count;
}

/* Wait until a number of processes run; false if they do not within the time. */
static bool wait_for(const char *word, int wanted, double limit_s) {
    const double PAUSE_S = 0.005;
    for (double waited_s = 0; waited_s < limit_s; waited_s += PAUSE_S) {
        if (count_processes(word) == wanted) {
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)(PAUSE_S * 1e9)}, NULL);
    }
    return false;
}

/* Ctrl-C (here to the parent alone) ends the children too, long before they are through, and
 * removes what they were writing. */
Test(schedule_platform, an_interrupt_leaves_nothing_behind) {
    static const char LARGE[] = MS_SOURCE_DIR "/workloads/megatron-1t-3072.yaml";
    char folder[] = "/tmp/meshsim_interrupt_XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execl(MS_BINARY_DIR "/meshsim", "meshsim", "schedule", "--compare",
              "gpipe,zbh2,zbh1,1f1b,seq1f1b", "--workload", LARGE, "--set", "batch.global=12288",
              "--jobs", "2", "--traces", folder, (char *)NULL);
        _exit(MS_RUN_NO_EXEC);
    }
    cr_assert(wait_for(folder, 3, 20), "no two simulations at once");
    kill(child, SIGINT);
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 130);
    cr_assert(wait_for(folder, 0, 1.5), "children still run");
    DIR *list = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        const char *ending = strrchr(entry->d_name, '.');
        cr_assert(entry->d_name[0] == '.' ? strlen(entry->d_name) <= 2 : strcmp(ending, ".h5") == 0,
                  "%s", entry->d_name);
    }
    closedir(list);
    count_files(folder, true);
    cr_assert_eq(rmdir(folder), 0);
}
