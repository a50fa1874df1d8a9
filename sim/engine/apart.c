/* Another process, which takes over before SimGrid starts; see apart.h. */
#include "engine/apart.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meshsim/progress.h"

/* What a process that was ended by others came to; one that was not has said it itself. */
static void note_end(int state, ms_status *status) {
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL) {
        *status = MS_E_NOMEM; /* as the system does when memory runs out */
    } else if (WIFEXITED(state) && WEXITSTATUS(state) > MS_EXIT_SIGNAL) {
        *status = MS_E_INTERRUPTED;
    }
}

ms_status ms_apart_split(ms_apart *apart) {
    ms_progress_share();
    pid_t parent = getpid();
    *apart->status = MS_E_BUG; /* unless it says otherwise */
    pid_t pid = fork();
    if (pid < 0) {
        ms_progress_unshare();
        return MS_E_IO;
    }
    apart->is_split = true;
    if (pid == 0) {
        apart->is_other = true;
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(1); /* it ended before we asked to be told */
        }
        return MS_OK;
    }
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    ms_progress_unshare();
    note_end(state, apart->status);
    return MS_E_NO;
}
