/* meshsim compare */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ms_run.h"

static char folder[64];

static void make_trace(const char *name, const char *setting) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ms_run_result made =
        MS_RUN("run", MS_SOURCE_DIR "/workloads/tiny.yaml", "--set", setting, "-o", path);
    cr_assert_eq(made.exit_code, 0, "%s", ms_run_err(&made));
    ms_run_release(&made);
}

static void make_folder(void) {
    strcpy(folder, "/tmp/meshsim-compare-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* a: as it is; same: again; b: twice the batch, so a longer step; name: called otherwise; tp4:
 * other shapes of kernels, another step. */
static void make_traces(void) {
    make_folder();
    make_trace("a.h5", "batch.global=16");
    make_trace("same.h5", "batch.global=16");
    make_trace("b.h5", "batch.global=32");
    make_trace("name.h5", "name=other");
    make_trace("shape.h5", "model.vocab=51328");
}

/* One call: exit code, a word of stdout (or of stderr for exit codes above 1), and 80 columns. */
typedef struct expectation {
    const char *arguments[12];
    int exit_code;
    const char *word;
} expectation;

static void check(const expectation *expected, size_t number) {
    const ms_run_setup setup = {.cwd = folder};
    ms_run_result run = ms_run_with(&setup, expected->arguments);
    cr_assert_eq(run.exit_code, expected->exit_code, "case %zu: %d, %s%s", number, run.exit_code,
                 ms_run_out(&run), ms_run_err(&run));
    const char *text = run.exit_code > 1 ? ms_run_err(&run) : ms_run_out(&run);
    cr_assert_not_null(strstr(text, expected->word), "case %zu: %s", number, text);
    bool is_page = strncmp(text, "compare: ", 9) == 0;
    for (const char *at = text; is_page && *at != '\0'; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        cr_assert_leq(length, 80U, "case %zu: %.*s", number, (int)length, at);
        at += length;
    }
    ms_run_release(&run);
}

static void check_all(const expectation *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check(&cases[i], i);
    }
}

Test(compare_cmd, exit_code_and_output_say_whether_anything_differs) {
    static const expectation CASES[] = {
        {{"compare", "a.h5", "same.h5"}, 0, "equal: "},
        {{"compare", "a.h5", "same.h5", "--tolerance", "0"}, 0, "equal: "},
        {{"compare", "a.h5", "same.h5", "--json"}, 0, "\"equal\": true"},
        {{"compare", "a.h5", "b.h5"}, 1, "quantities differ"},
        {{"compare", "a.h5", "b.h5", "--json"}, 1, "\"equal\": false"},
        {{"compare", "a.h5", "b.h5", "--json"}, 1, "\"key\": \"step_time_s\""},
        {{"compare", "a.h5", "b.h5", "--tolerance", "1%"}, 1, "global_batch"},
        {{"compare", "a.h5", "b.h5", "-t", "100%"}, 0, "within the tolerance: "},
        {{"compare", "a.h5", "b.h5", "-t", "100%", "-t", "global_batch=10%"}, 1, "1 of "},
        {{"compare", "a.h5"}, 2, ""},
        {{"compare", "a.h5", "none.h5"}, 3, "none.h5"},
    };
    make_traces();
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    remove_folder();
}

Test(compare_cmd, only_what_was_asked_to_be_guarded_exits_with_1) {
    static const expectation CASES[] = {
        /* a name is a text, and so is a kernel's shape */
        {{"compare", "a.h5", "name.h5"}, 0, " quantities differ, none breaks the guard"},
        {{"compare", "a.h5", "name.h5", "--only", "workload"}, 1, "1 breaks the guard"},
        {{"compare", "a.h5", "shape.h5", "-t", "100%", "-t", "step_time_s=1%"},
         0,
         "within the tolerance: "},
        {{"compare", "a.h5", "shape.h5", "--only", "kernels[head].shape"}, 1, "1 breaks"},
        {{"compare", "a.h5", "shape.h5", "--only", "kernels", "-t", "1%"}, 0, "none breaks"},
        /* growing and shrinking */
        {{"compare", "a.h5", "b.h5", "--max-increase", "step_time_s=10%"}, 1, "1 breaks the guard"},
        {{"compare", "a.h5", "b.h5", "--max-increase", "step_time_s=90%"}, 0, "none breaks"},
        {{"compare", "b.h5", "a.h5", "--max-increase", "step_time_s=0"}, 0, "none breaks"},
        /* 34.506 ms fewer of 75.097 ms; 37 us of both are the norm, which 'collective all_reduce
         * --platform dgx-a100' says of 4 B on 8 GPUs (without it -45.97 %) */
        {{"compare", "b.h5", "a.h5", "--only", "step_time_s"}, 1, "-45.9 %  !\n"},
        {{"compare", "b.h5", "a.h5", "--only", "mesh", "--max-increase", "step_time_s=1%"}, 0, ""},
        {{"compare", "a.h5", "b.h5", "--only", "memory"}, 0, "equal: "},
        {{"compare", "a.h5", "b.h5", "--only", "memory", "--max-increase", "time_share=1%"},
         1,
         "guarded  memory, time_share by at most +1 %"},
        {{"compare", "a.h5", "b.h5", "--json", "--only", "memory"}, 0, "\"guarded_ok\": true"},
        {{"compare", "a.h5", "b.h5", "--json", "--max-increase", "step_time_s=90%"},
         0,
         "\"equal\": false,\n  \"guarded_ok\": true"},
    };
    make_traces();
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    remove_folder();
}

Test(compare_cmd, shares_and_keys_that_would_guard_nothing_are_refused) {
    static const expectation CASES[] = {
        {{"compare", "a.h5", "b.h5", "-t", "x%"}, 2, "'x%' is no share: expected a number"},
        {{"compare", "a.h5", "b.h5", "-t", "-1"}, 2, "is no share"},
        {{"compare", "a.h5", "b.h5", "-t", "5"}, 2, "no share below 1; did you mean '5%'?"},
        {{"compare", "a.h5", "b.h5", "-t", "step_time_s=1"}, 2, "did you mean '1%'?"},
        {{"compare", "a.h5", "b.h5", "-t", "=1%"}, 2, "'=1%' names no quantity"},
        {{"compare", "a.h5", "b.h5", "--max-increase", "1%"}, 2, "expected KEY=SHARE"},
        {{"compare", "a.h5", "b.h5", "--max-increase", "step_time_s"}, 2, "expected KEY=SHARE"},
        {{"compare", "a.h5", "b.h5", "--max-increase", "step_time_s=5"}, 2, "did you mean '5%'?"},
        {{"compare", "a.h5", "b.h5", "--only", ""}, 2, "names no quantity"},
        {{"compare", "a.h5", "b.h5", "-t", "step_tme_s=1%"}, 2, "did you mean 'step_time_s'?"},
        {{"compare", "a.h5", "b.h5", "--only", "colectives"}, 2, "did you mean 'collectives'?"},
        {{"compare", "a.h5", "b.h5", "--only", "peak_B"}, 2, "did you mean 'memory.peak_B'?"},
        {{"compare", "a.h5", "b.h5", "--only", "engine.wall_s"}, 2, "unknown quantity"},
        {{"compare", "a.h5", "b.h5", "--only", "collectives[tp.all_reduc]"},
         2,
         "did you mean 'collectives[tp.all_reduce]'?"},
        {{"compare", "a.h5", "b.h5", "--json", "--markdown"}, 2, "both want the standard output"},
        {{"compare", "a.h5", "b.h5", "--json", "--junit", "-"}, 2, "'--junit -' and '--json'"},
    };
    make_traces();
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    remove_folder();
}

Test(compare_cmd, inputs_come_first_then_the_step_time) {
    make_traces();
    ms_run_result run = MS_RUN_IN(folder, "compare", "a.h5", "b.h5");
    static const char *const LINES[] = {
        "\ninputs that differ\n",
        "\nbatch.global  16  32\n",
        "\nquantities that differ\n",
        "\nstep_time_s ",
        "\ncollectives[tp.all_reduce.2097152].count_per_rank\n",
    };
    const char *at = ms_run_out(&run);
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        const char *found = strstr(at, LINES[i]);
        cr_assert_not_null(found, "no '%s' behind: %s", LINES[i], at);
        at = found + 1;
    }
    ms_run_release(&run);
    remove_folder();
}

/* ---- folders and files ---- */

static void make_subfolder(const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(mkdir(path, 0777), 0);
}

static void make_folders(void) {
    make_folder();
    make_subfolder("base");
    make_subfolder("now");
    make_subfolder("empty");
    make_subfolder("part");
    make_trace("base/one.h5", "batch.global=16");
    make_trace("base/two.h5", "batch.global=16");
    make_trace("now/one.h5", "batch.global=16");
    make_trace("now/two.h5", "batch.global=32");
    make_trace("part/one.h5", "batch.global=16");
    make_trace("now/.hidden.h5", "batch.global=16");
    make_trace("now/else.hdf5", "batch.global=16");
}

Test(compare_cmd, folders_are_compared_trace_by_trace) {
    static const expectation CASES[] = {
        {{"compare", "base", "base"}, 0, "traces: 2 equal, 0 differ, 0 on one side only; none"},
        {{"compare", "base", "now"}, 1, "traces: 1 equal, 1 differ, 0 on one side only; 1 breaks"},
        {{"compare", "base", "now"}, 1, "\ntwo.h5: "},
        {{"compare", "base", "now", "--only", "memory"}, 0, "two.h5"},
        {{"compare", "base", "now", "--json"}, 1, "\"trace\": \"two.h5\",\n      \"key\": \"step"},
        {{"compare", "base", "now", "--markdown"}, 1, "\ntwo.h5: "},
        {{"compare", "base", "now", "--only", "step_tme_s"}, 2, "did you mean 'step_time_s'?"},
        /* a trace that is gone guards nothing any more; a new one has nothing to be held against */
        {{"compare", "base", "part", "--only", "memory"}, 1, "only in a  !"},
        {{"compare", "part", "base", "--only", "memory"}, 0, "only in b\n"},
        {{"compare", "part", "base"}, 1, "only in b  !"},
        {{"compare", "base", "empty"}, 3, "no traces (*.h5) in the folder 'empty'"},
        {{"compare", "base", "base/one.h5"}, 3, "'base' is a folder and 'base/one.h5' is none"},
        {{"compare", "base", "none"}, 3, "cannot read 'none'"},
    };
    make_folders();
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    remove_folder();
}

Test(compare_cmd, junit_is_written_whole_or_not_at_all) {
    static const expectation CASES[] = {
        {{"compare", "base", "now", "--junit", "-"}, 1, "<testsuites name=\"meshsim compare\""},
        {{"compare", "base", "now", "--junit", "none/j.xml"}, 4, "none/j.xml"},
        {{"compare", "base", "now", "--junit", "base"}, 4, "base"},
        {{"compare", "base", "now", "--junit", "j.xml", "--only", "memory"}, 0, "none breaks"},
    };
    char path[160];
    struct stat facts;
    make_folders();
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    snprintf(path, sizeof path, "%s/j.xml", folder);
    cr_assert_eq(stat(path, &facts), 0);
    remove_folder();
}

Test(compare_cmd, damaged_traces_are_bad_input) {
    char path[160];
    make_folders();
    snprintf(path, sizeof path, "%s/now/two.h5", folder);
    cr_assert_eq(truncate(path, 5000), 0);
    static const expectation CASES[] = {
        {{"compare", "base/two.h5", "now/two.h5"}, 3, "cannot read 'now/two.h5'"},
        {{"compare", "base", "now"}, 3, "cannot read 'now/two.h5'"},
    };
    check_all(CASES, sizeof CASES / sizeof CASES[0]);
    remove_folder();
}
