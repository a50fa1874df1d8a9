/* Another process, which takes over before SimGrid starts; see apart.h. */
#include "engine/apart.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meshsim/progress.h"

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
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    ms_progress_unshare();
    return MS_E_NO;
}
