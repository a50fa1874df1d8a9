/* meshsim run: what it prints, what it writes, and that nothing is lost when something fails. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms_run.h"

#define WORKLOAD(name) MS_SOURCE_DIR "/workloads/" name ".yaml"

enum { EXIT_CANNOT_PREPARE = 99, CAPABILITY_OVERRIDE_MODES = 1 /* capabilities(7) */ };

static char folder[] = "/tmp/meshsim-run-XXXXXX";
static char trace[64]; /* a path in it */

static void make_folder(void) {
    cr_assert_not_null(mkdtemp(folder));
    snprintf(trace, sizeof trace, "%s/t.h5", folder);
}

static void remove_folder(void) {
    unlink(trace);
    cr_assert_eq(rmdir(folder), 0, "something else was left in %s", folder);
}

TestSuite(cli_run, .init = make_folder, .fini = remove_folder);

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

/* Whether a file holds exactly this text. */
static bool holds(const char *path, const char *text) {
    char found[256] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return length == strlen(text) && memcmp(found, text, length) == 0;
}

static int files_in(const char *path) {
    DIR *entries = opendir(path);
    cr_assert_not_null(entries);
    int count = 0;
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

static void expect_lines_of_80(const char *text) {
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        cr_assert_leq(strcspn(line, "\n"), 80U, "%.120s", line);
        size_t length = strcspn(line, "\n");
        cr_assert(length == 0 || line[length - 1] != ' ', "space at the end: %.90s", line);
    }
}

Test(cli_run, prints_a_page_of_80_columns) {
    static const char *const NAMES[] = {WORKLOAD("tiny"),
                                        WORKLOAD("gpt3-175b-1024"),
                                        WORKLOAD("megatron-1t-3072"),
                                        WORKLOAD("mtnlg-530b-2240"),
                                        WORKLOAD("llama3-405b-8k"),
                                        WORKLOAD("textbook-70b-64")};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        ms_run_result r = MS_RUN("run", NAMES[i]);
        cr_assert_eq(r.exit_code, 0, "%s: %s", NAMES[i], ms_run_err(&r));
        cr_assert_eq(r.err.length, 0, "%s", ms_run_err(&r));
        cr_assert_not_null(strstr(ms_run_out(&r), "\nstep time  "));
        cr_assert_not_null(strstr(ms_run_out(&r), "\nwhere the time goes"));
        expect_lines_of_80(ms_run_out(&r));
        ms_run_release(&r);
    }
}

/* 1.17 ms exposed and 587 us of it to a GPU's own communication are two words, and `other` is told
 * by what it consists of. */
Test(cli_run, each_word_of_the_page_means_one_thing) {
    ms_run_result r = MS_RUN("run", WORKLOAD("tiny"));
    const char *page = ms_run_out(&r);
    const char *own = strstr(page, "GPU's own communication");
    cr_assert_not_null(own, "%s", page);
    cr_assert_not_null(strstr(page, "\nexposed_dp        1.17 ms"), "%s", page);
    cr_assert_null(strstr(own, "exposed"), "%s", own);
    cr_assert_not_null(strstr(own, " stalling "), "%s", own);
    cr_assert_not_null(strstr(page, "\nparts of other\n"), "%s", page);
    cr_assert_not_null(strstr(page, "\nnorm  37 us"), "%s", page);
    cr_assert_null(strstr(page, "\nhost "), "no host is modelled yet");
    ms_run_release(&r);
}

Test(cli_run, works_from_anywhere_and_through_pipes_and_links) {
    char spaced[80];
    char linked[80];
    snprintf(spaced, sizeof spaced, "%s/a b", folder);
    snprintf(linked, sizeof linked, "%s/a b/l.yaml", folder);
    cr_assert_eq(mkdir(spaced, 0777), 0);
    cr_assert_eq(symlink(WORKLOAD("tiny"), linked), 0);
    const char *platform = MS_SOURCE_DIR "/platforms/dgx-a100.yaml";
    ms_run_result plain = MS_RUN("check", WORKLOAD("tiny"), "--json");
    ms_run_result link = MS_RUN_IN(spaced, "check", "l.yaml", "--json", "--platform", platform);
    ms_run_result whole = MS_RUN_IN("/", "check", linked, "--json", "--platform", platform);
    cr_assert_eq(plain.exit_code, 0, "%s", ms_run_err(&plain));
    cr_assert_str_eq(ms_run_out(&link), ms_run_out(&plain), "%s", ms_run_err(&link));
    cr_assert_str_eq(ms_run_out(&whole), ms_run_out(&plain), "%s", ms_run_err(&whole));
    snprintf(trace, sizeof trace, "%s/a b/t.h5", folder);
    ms_run_result written = MS_RUN_IN(spaced, "run", WORKLOAD("tiny"), "-o", "t.h5");
    cr_assert_eq(written.exit_code, 0, "%s", ms_run_err(&written));
    cr_assert_eq(unlink(trace) + unlink(linked) + rmdir(spaced), 0);
    ms_run_release(&plain);
    ms_run_release(&link);
    ms_run_release(&whole);
    ms_run_release(&written);
}

Test(cli_run, a_job_that_does_not_fit_prints_everything_and_says_no) {
    const char *small = "platform.gpu.hbm=4 GiB";
    ms_run_result no = MS_RUN("run", WORKLOAD("tiny"), "--set", small, "-o", trace);
    cr_assert_eq(no.exit_code, 1, "%s", ms_run_err(&no));
    cr_assert_not_null(strstr(ms_run_out(&no), "\nfits                    no\n"), "%s",
                       ms_run_out(&no));
    cr_assert_not_null(strstr(ms_run_err(&no), "does not fit in memory: rank 4 needs 1.1 GiB, "
                                               "1 GiB usable of 4 GiB (4.29 GB)"),
                       "%s", ms_run_err(&no));
    cr_assert_eq(access(trace, R_OK), 0, "the trace is written all the same");
    ms_run_result ignored = MS_RUN("run", WORKLOAD("tiny"), "--set", small, "--ignore-memory");
    cr_assert_eq(ignored.exit_code, 0);
    cr_assert_eq(ignored.err.length, 0, "%s", ms_run_err(&ignored));
    ms_run_result check = MS_RUN("check", WORKLOAD("tiny"), "--set", small);
    cr_assert_eq(check.exit_code, 1);
    ms_run_release(&no);
    ms_run_release(&ignored);
    ms_run_release(&check);
}

/* Command lines that fail, the exit code, and what is said. */
typedef struct failing_case {
    const char *words[6];
    int exit_code;
    const char *says;
} failing_case;

static const failing_case FAILING[] = {
    {{"run"}, 2, "missing argument: WORKLOAD.yaml"},
    {{"run", WORKLOAD("tiny"), "--fidelity", "flo"}, 2, "unknown fidelity 'flo'"},
    {{"run", WORKLOAD("tiny"), "--fidelity"}, 2, "option '--fidelity' needs an argument"},
    {{"run", WORKLOAD("tiny"), "--sett", "a=b"}, 2, "did you mean '--set'?"},
    {{"run", WORKLOAD("tiny"), WORKLOAD("tiny")}, 2, "superfluous argument"},
    {{"run", WORKLOAD("tiny"), "--set", "mesh.tp"}, 2, "got no '='"},
    {{"run", WORKLOAD("tiny"), "--set", "=4"}, 2, "got an empty key"},
    {{"run", WORKLOAD("tiny"), "--set", "mesh.tp="}, 3, "expected a value behind '='"},
    {{"run", WORKLOAD("tiny"), "--set", "batch.globl=8"}, 3, "did you mean 'global'?"},
    {{"run", WORKLOAD("tiny"), "--set", "batch.global=8 GB"}, 3, "--set:1:14: error:"},
    {{"run", WORKLOAD("tiny"), "--set", "platform.tiers.rail.latency=3 B"}, 3, "expected a time"},
    {{"run", WORKLOAD("tiny"), "--set", "platform.tiers.rail.bandwidth=9"}, 3, "expected a unit"},
    {{"run", WORKLOAD("tiny"), "--set", "mesh.tp=4"}, 3, "needs 16 GPUs"},
    {{"run", WORKLOAD("tiny"), "--set", "mesh.tp=[1"}, 3, "not valid YAML"},
    {{"run", WORKLOAD("tiny"), "--set", "name.x=3"}, 3, "there are no keys below 'name'"},
    {{"run", WORKLOAD("tiny"), "--platform", "dgx-a10"}, 3, "did you mean 'dgx-a100'?"},
    {{"run", WORKLOAD("tiny"), "--platform", "ideal"}, 3, ""},
    {{"run", MS_SOURCE_DIR "/workloads"}, 3, "expected a YAML file, got a directory"},
    {{"run", "/no/such/file.yaml"}, 3, "/no/such/file.yaml: error: no such file"},
    {{"run", "/dev/zero"}, 3, "/dev/zero: error: expected a YAML file of at most 16 MiB"},
    {{"run", "/dev/null"}, 3, "expected keys and values, got nothing"},
    {{"run", WORKLOAD("tiny"), "-o", "/no/such/folder/t.h5"}, 4, "folder '/no/such/folder'"},
    {{"run", WORKLOAD("tiny"), "-o", "/tmp"}, 4, "cannot write '/tmp'"},
    {{"run", WORKLOAD("tiny"), "-o", "/dev/null"}, 4, "it is no regular file"},
    {{"run", WORKLOAD("tiny"), "-o", ""}, 4, "cannot write ''"},
};

ParameterizedTestParameters(cli_run, failing) {
    static int indices[sizeof FAILING / sizeof FAILING[0]];
    for (int i = 0; i < (int)(sizeof FAILING / sizeof FAILING[0]); i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, sizeof FAILING / sizeof FAILING[0]);
}

/* Nothing on stdout, nothing written, nothing overwritten. */
ParameterizedTest(int *index, cli_run, failing) {
    const failing_case *c = &FAILING[*index];
    write_text(trace, "older");
    const char *words[10] = {NULL};
    int count = 0;
    bool has_output = false;
    for (; count < 6 && c->words[count] != NULL; count++) {
        words[count] = c->words[count];
        has_output = has_output || strcmp(c->words[count], "-o") == 0;
    }
    if (!has_output && count > 1 && strcmp(words[count - 1], "--fidelity") != 0) {
        words[count++] = "-o";
        words[count++] = trace;
    }
    ms_run_result r = ms_run_with(&(ms_run_setup){0}, words);
    cr_assert_eq(r.exit_code, c->exit_code, "%s: exit code %d: %s", c->says, r.exit_code,
                 ms_run_err(&r));
    cr_assert_eq(r.out.length, 0, "%s", ms_run_out(&r));
    cr_assert_not_null(strstr(ms_run_err(&r), c->says), "'%s' expected in:\n%s", c->says,
                       ms_run_err(&r));
    cr_assert(holds(trace, "older"));
    cr_assert_eq(files_in(folder), 1);
    ms_run_release(&r);
}

Test(cli_run, an_input_above_16_MiB_is_refused_before_it_is_read) {
    char path[64];
    snprintf(path, sizeof path, "%s/big.yaml", folder);
    write_text(path, "name: x\n");
    cr_assert_eq(truncate(path, 16 * 1024 * 1024 + 1), 0); /* sparse, and no text at all */
    ms_run_result r = MS_RUN("run", path);
    cr_assert_eq(r.exit_code, 3);
    cr_assert_not_null(
        strstr(ms_run_err(&r), "big.yaml: error: expected a YAML file of at most 16 MiB"), "%s",
        ms_run_err(&r));
    ms_run_release(&r);
    unlink(path);
}

/* A run in a child that is prepared by `prepare` before it becomes meshsim. */
typedef struct child {
    pid_t id;
    int out, err;
} child;

static child start(void (*prepare)(void), const char *const *arguments) {
    static char program[] = MS_BINARY_DIR "/meshsim";
    char *words[16] = {program};
    for (size_t i = 0; i < 14 && arguments[i] != NULL; i++) {
        memcpy(&words[i + 1], &arguments[i], sizeof words[0]);
    }
    child c = {.out = memfd_create("out", MFD_CLOEXEC), .err = memfd_create("err", MFD_CLOEXEC)};
    c.id = fork();
    if (c.id == 0) {
        if (prepare != NULL) {
            prepare();
        }
        ms_run_child(&(ms_run_setup){0}, words, c.out, c.err);
    }
    cr_assert_gt(c.id, 0);
    return c;
}

static ms_run_result finish(child c) {
    int state = 0;
    cr_assert_eq(waitpid(c.id, &state, 0), c.id);
    ms_run_result result = {.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1,
                            .signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0};
    ms_run_collect(c.out, &result.out);
    ms_run_collect(c.err, &result.err);
    return result;
}

#define START(prepare, ...) start(prepare, (const char *const[]){__VA_ARGS__, NULL})

/* Root may write everywhere; without this capability it is held to the modes as anybody. */
static void obey_modes(void) {
    if (geteuid() == 0 && prctl(PR_CAPBSET_DROP, CAPABILITY_OVERRIDE_MODES, 0, 0, 0) != 0) {
        _exit(EXIT_CANNOT_PREPARE);
    }
}

Test(cli_run, a_read_only_folder_is_an_io_fault) {
    write_text(trace, "older");
    cr_assert_eq(chmod(folder, 0555), 0);
    ms_run_result r = finish(START(obey_modes, "run", WORKLOAD("tiny"), "-o", trace));
    cr_assert_eq(chmod(folder, 0755), 0);
    if (r.exit_code == EXIT_CANNOT_PREPARE) {
        cr_skip_test("root may write everywhere here, and cannot give that up");
    }
    cr_assert_eq(r.exit_code, 4, "%s", ms_run_err(&r));
    cr_assert_eq(r.out.length, 0);
    cr_assert_not_null(strstr(ms_run_err(&r), "Permission denied"), "%s", ms_run_err(&r));
    cr_assert(holds(trace, "older"));
    ms_run_release(&r);
}

/* No file above 32 KiB: tiny's trace is larger, its JSON and messages are not. */
static void fill_the_disk(void) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 32 * 1024, .rlim_max = 32 * 1024};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        _exit(EXIT_CANNOT_PREPARE);
    }
}

Test(cli_run, a_full_disk_leaves_the_older_trace) {
    write_text(trace, "older");
    ms_run_result r = finish(START(fill_the_disk, "run", WORKLOAD("tiny"), "-o", trace));
    cr_assert_eq(r.exit_code, 4, "%s", ms_run_err(&r));
    cr_assert_eq(r.out.length, 0, "%s", ms_run_out(&r));
    cr_assert_not_null(strstr(ms_run_err(&r), trace), "%s", ms_run_err(&r));
    cr_assert(holds(trace, "older"));
    cr_assert_eq(files_in(folder), 1, "a temporary file stays behind");
    ms_run_release(&r);
}

Test(cli_run, a_full_standard_output_is_an_io_fault) {
    static const char *const MORE[] = {"--json", "--no-fold"};
    for (size_t i = 0; i < 2; i++) {
        ms_run_result r =
            ms_run_with(&(ms_run_setup){.stdout_path = "/dev/full"},
                        (const char *const[]){"run", WORKLOAD("tiny"), MORE[i], NULL});
        cr_assert_eq(r.exit_code, 4, "%s", ms_run_err(&r));
        cr_assert_not_null(strstr(ms_run_err(&r), "standard output"), "%s", ms_run_err(&r));
        ms_run_release(&r);
    }
    ms_run_result closed = ms_run_with(&(ms_run_setup){.has_closed_stdout = true},
                                       (const char *const[]){"run", WORKLOAD("tiny"), NULL});
    cr_assert_eq(closed.exit_code, 4, "%s", ms_run_err(&closed));
    ms_run_release(&closed);
}

/* Ctrl-C while the engine works: SimGrid's own handlers must not be left in place. */
Test(cli_run, a_signal_in_the_simulation_ends_it) {
    static const int SIGNALS[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        write_text(trace, "older");
        child c = START(NULL, "run", WORKLOAD("tiny"), "--set", "batch.global=400000",
                        "--no-fast-forward", "-o", trace);
        usleep(700 * 1000); /* reading takes a tenth of it, simulating many times as long */
        cr_assert_eq(kill(c.id, SIGNALS[i]), 0);
        ms_run_result r = finish(c);
        cr_assert_eq(r.exit_code, 128 + SIGNALS[i], "exit code %d, signal %d", r.exit_code,
                     r.signal);
        cr_assert_eq(r.out.length, 0);
        cr_assert(holds(trace, "older"));
        cr_assert_eq(files_in(folder), 1);
        ms_run_release(&r);
    }
}

/* Wait until a file is made in the folder, or the child has ended. */
static bool wait_for_file(int watch, pid_t id) {
    char event[4096];
    for (int i = 0; i < 60 * 1000; i++) {
        if (read(watch, event, sizeof event) > 0) {
            return true;
        }
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == id) {
            return false;
        }
        usleep(1000);
    }
    return false;
}

/* Ctrl-C while the trace is written: its temporary file goes, the older trace stays. */
Test(cli_run, a_signal_while_writing_removes_the_temporary_file) {
    write_text(trace, "older");
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    cr_assert_geq(inotify_add_watch(watch, folder, IN_CREATE), 0);
    bool is_hit = false;
    for (int attempt = 0; attempt < 5 && !is_hit; attempt++) {
        child c = START(NULL, "run", WORKLOAD("megatron-1t-3072"), "--trace", "full", "-o", trace);
        if (wait_for_file(watch, c.id)) {
            kill(c.id, SIGINT);
        }
        ms_run_result r = finish(c);
        is_hit = r.exit_code == 130;
        cr_assert(is_hit || r.exit_code == 0, "exit code %d, signal %d: %s", r.exit_code, r.signal,
                  ms_run_err(&r));
        ms_run_release(&r);
        if (!is_hit) { /* it was done before the signal came */
            write_text(trace, "older");
        }
    }
    close(watch);
    cr_assert(is_hit, "five runs were done before the signal reached them");
    cr_assert(holds(trace, "older"));
    cr_assert_eq(files_in(folder), 1, "a temporary file stays behind");
}
