/* How far a long run has come, as another process tells it. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meshsim/progress.h"

/* Another process does half of the work, and is waited for. */
static void work_elsewhere(void) {
    pid_t pid = fork();
    if (pid == 0) {
        ms_progress_begin("elsewhere", 10);
        ms_progress_done(5);
        _exit(0);
    }
    cr_assert_gt(pid, 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(progress, what_another_process_does_shows_while_it_is_shared) {
    ms_progress_begin("here", 3);
    ms_progress_done(1);
    work_elsewhere();
    cr_assert_str_eq(ms_progress_now().phase, "here", "not shared yet");
    ms_progress_share();
    cr_assert_str_eq(ms_progress_now().phase, "here");
    cr_assert_eq(ms_progress_now().done, 1);
    work_elsewhere();
    cr_assert_str_eq(ms_progress_now().phase, "elsewhere");
    cr_assert_eq(ms_progress_now().done, 5);
    cr_assert_eq(ms_progress_now().total, 10);
    ms_progress_unshare();
    cr_assert_eq(ms_progress_now().done, 5, "kept");
    ms_progress_begin("here again", 7);
    work_elsewhere();
    cr_assert_str_eq(ms_progress_now().phase, "here again", "no longer shared");
}
