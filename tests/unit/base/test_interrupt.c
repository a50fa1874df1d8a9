#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"

enum { NOT_INTERRUPTED = 9 };

/* Create a file, guard it (or not) in a child that interrupts itself; its exit code. */
static int run_child(int number, const char *path, bool is_unguarded) {
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    close(file);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        ms_interrupt_install();
        ms_interrupt_guard_file("/nonexistent/earlier");
        ms_interrupt_guard_file(path);
        if (is_unguarded) {
            ms_interrupt_unguard_file();
        }
        raise(number);
        _exit(NOT_INTERRUPTED);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(interrupt, removes_the_guarded_file_and_exits_128_plus_signal) {
    char folder[] = "/tmp/ms_interrupt_XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.tmp", folder);
    cr_assert_eq(run_child(SIGINT, path, false), 130);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(run_child(SIGTERM, path, false), 143);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(run_child(SIGINT, path, true), 130);
    cr_assert_eq(access(path, F_OK), 0, "an unguarded file must stay");
    unlink(path);
    rmdir(folder);
}

Test(interrupt, children_leave_the_file_to_their_parent) {
    char folder[] = "/tmp/ms_interrupt_XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.tmp", folder);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    close(file);
    ms_interrupt_install();
    ms_interrupt_guard_file(path);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGTERM);
        _exit(NOT_INTERRUPTED);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 143);
    cr_assert_eq(access(path, F_OK), 0);
    ms_interrupt_unguard_file();
    unlink(path);
    rmdir(folder);
}

Test(interrupt, closed_pipes_fail_with_epipe) {
    int ends[2];
    ms_interrupt_install();
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    cr_assert_eq(write(ends[1], "x", 1), -1);
    cr_assert_eq(errno, EPIPE);
    close(ends[1]);
}

Test(interrupt, a_path_that_is_too_long_is_not_guarded) {
    static char path[5000];
    memset(path, 'x', sizeof path - 1);
    pid_t child = fork();
    if (child == 0) {
        ms_interrupt_install();
        ms_interrupt_guard_file(path);
        raise(SIGINT);
        _exit(NOT_INTERRUPTED);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 130);
}

Test(interrupt, held_it_is_noted_and_the_program_goes_on) {
    ms_interrupt_install();
    cr_assert_eq(ms_interrupt_pending_signal(), 0);
    ms_interrupt_hold();
    raise(SIGTERM);
    cr_assert_eq(ms_interrupt_pending_signal(), SIGTERM);
    ms_interrupt_obey();
    cr_assert_eq(ms_interrupt_pending_signal(), SIGTERM, "what was noted stays so");
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        raise(SIGINT);
        _exit(NOT_INTERRUPTED);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(WEXITSTATUS(status), 130, "obeyed again");
}
