#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/interrupt.h"
#include "base/target.h"
#include "trace_fixture.h"

static trace_fixture *fixture_at(trace_fixture *fixture) {
    trace_fixture_init(fixture);
    return fixture;
}

Test(target, names_that_cannot_be_written_are_refused_with_the_cause) {
    trace_fixture f;
    fixture_at(&f);
    char inside[128];
    char file[128];
    snprintf(inside, sizeof inside, "%s/none/t.h5", f.folder);
    snprintf(file, sizeof file, "%s/plain", f.folder);
    trace_fixture_write_file(file, "x", 1);
    char below[160];
    snprintf(below, sizeof below, "%s/t.h5", file);
    const struct {
        const char *path;
        const char *cause;
    } CASES[] = {
        {"", "the name is empty"},   {f.folder, "it is a folder"},
        {"/tmp/", "it is a folder"}, {inside, "No such file or directory"},
        {below, "is no folder"},     {"/dev/null", "it is no regular file"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        f.messages.length = 0;
        f.diag.errors = 0;
        cr_assert_eq(ms_target_check(CASES[i].path, MS_TARGET_FILE, &f.diag), MS_E_IO, "%s",
                     CASES[i].path);
        const char *text = ms_buffer_text(&f.messages);
        cr_assert_not_null(strstr(text, CASES[i].cause), "%s: %s", CASES[i].path, text);
        cr_assert_not_null(strstr(text, CASES[i].path), "%s", text);
        cr_assert_eq(f.diag.errors, 1);
    }
    trace_fixture_release(&f);
}

Test(target, a_good_name_is_accepted_and_nothing_is_created) {
    trace_fixture f;
    fixture_at(&f);
    cr_assert_eq(ms_target_check(f.path, MS_TARGET_FILE, &f.diag), MS_OK);
    cr_assert_eq(trace_fixture_files(&f), 0);
    trace_fixture_release(&f);
}

/* Root may write anywhere, so another user tries. */
Test(target, a_read_only_folder_is_refused) {
    trace_fixture f;
    fixture_at(&f);
    cr_assert_eq(chmod(f.folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setuid(65534) != 0) {
            _exit(99);
        }
        ms_status status = ms_target_check(f.path, MS_TARGET_FILE, &f.diag);
        bool says = strstr(ms_buffer_text(&f.messages), "Permission denied") != NULL;
        _exit(status == MS_E_IO && says ? 0 : 1);
    }
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %d", state);
    cr_assert_eq(chmod(f.folder, 0755), 0);
    trace_fixture_release(&f);
}

/* A full disk: the kernel refuses to let the file grow, at every size up to a whole trace. */
Test(target, a_full_disk_leaves_the_older_file_and_nothing_else, .timeout = 60) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    size_t length = 0;
    const char *before = trace_fixture_read_file(&f, f.path, &length);
    for (rlim_t limit = 0; limit < length; limit += 1 + length / 7) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit size = {limit, limit};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &size);
            ms_status status = ms_trace_write(f.path, &f.result, "0.0.1", &f.diag);
            const char *text = ms_buffer_text(&f.messages);
            bool says = strstr(text, "File too large") != NULL && strstr(text, f.path) != NULL;
            _exit(status == MS_E_IO && says && f.diag.errors == 1 ? 0 : 1);
        }
        int state = 0;
        cr_assert_eq(waitpid(child, &state, 0), child);
        cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0, "limit %lu, state %d",
                  (unsigned long)limit, state);
        size_t after_length = 0;
        const char *after = trace_fixture_read_file(&f, f.path, &after_length);
        cr_assert(after_length == length && memcmp(before, after, length) == 0);
        cr_assert_eq(trace_fixture_files(&f), 1);
    }
    trace_fixture_release(&f);
}

/* Start a child that writes the trace again and again, and stop it once it is in the middle. */
static int stop_writer(trace_fixture *f, int sent) {
    pid_t child = fork();
    if (child == 0) {
        ms_interrupt_install();
        while (ms_trace_write(f->path, &f->result, "0.0.1", &f->diag) == MS_OK) {
        }
        _exit(1);
    }
    for (int tries = 0; tries < 100000 && trace_fixture_files(f) < 2; tries++) {
        usleep(50);
    }
    kill(child, sent);
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    return state;
}

static void assert_whole(trace_fixture *f, const char *before, size_t length) {
    size_t after_length = 0;
    const char *after = trace_fixture_read_file(f, f->path, &after_length);
    cr_assert(after_length == length && memcmp(before, after, length) == 0);
}

Test(target, a_killed_writer_leaves_a_whole_file, .timeout = 60) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    size_t length = 0;
    const char *before = trace_fixture_read_file(&f, f.path, &length);
    for (int round = 0; round < 10; round++) {
        int state = stop_writer(&f, SIGKILL);
        cr_assert(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
        assert_whole(&f, before, length);
    }
    trace_fixture_release(&f);
}

Test(target, ctrl_c_leaves_no_temporary_file, .timeout = 60) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    size_t length = 0;
    const char *before = trace_fixture_read_file(&f, f.path, &length);
    for (int round = 0; round < 10; round++) {
        int state = stop_writer(&f, round % 2 == 0 ? SIGINT : SIGTERM);
        cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == (round % 2 == 0 ? 130 : 143),
                  "state %d", state);
        assert_whole(&f, before, length);
        cr_assert_eq(trace_fixture_files(&f), 1, "round %d", round);
    }
    trace_fixture_release(&f);
}
