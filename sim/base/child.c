/* Runs work that calls a foreign library (HDF5, SimGrid) in a child process, so that a crash, an
 * endless loop or lack of memory in the library does not end meshsim (child.h). The child returns a
 * status and the reason for it in memory that it shares with the parent; where the child could not
 * write them, the parent tells from the child's exit code or signal what happened. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/progress.h"

/* Exit codes of the child, and how often the parent passes on the child's progress [ms]. */
enum { EXIT_DONE = 0, EXIT_CRASHED = 101, EXIT_NO_MEMORY = 102, PROGRESS_MS = 200 };

/* What the child returns, in shared memory. */
typedef struct verdict {
    ms_status status;
    char cause[MS_CHILD_CAUSE_B];
    int64_t progress; /* operations done so far, which ms_progress_done stores here */
} verdict;

/* What the parent keeps of a child process that it has started. */
typedef struct running_child {
    pid_t pid;
    int pipe; /* read end of a pipe whose write end is closed when the child ends */
    verdict *found;
    const ms_child_options *options;
} running_child;

void *ms_child_share(size_t size_B) {
    void *memory = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void ms_child_unshare(void *memory, size_t size_B) {
    if (memory != NULL) {
        (void)munmap(memory, size_B);
    }
}

/* ---- the child ---- */

/* The exit code of a child that crashes: by errno, whether memory ran out. A failed allocation sets
 * errno to ENOMEM, and little sets errno anew before a library uses the NULL. */
static int exit_code_of_crash(void) {
    return errno == ENOMEM ? EXIT_NO_MEMORY : EXIT_CRASHED;
}

/* Signal handler: end the child at once. */
static void on_crash(int number) {
    (void)number;
    _exit(exit_code_of_crash());
}

/* At exit: HDF5 and SimGrid call exit() where they cannot report an error. The child itself ends by
 * _exit(), which does not run this. */
static void on_exit_of_library(void) {
    _exit(exit_code_of_crash());
}

/* Let crashes and exits end the child with an exit code that says so. The signal handler has a
 * stack of its own, because a crash may be one of a full stack. */
static void catch_crashes(void) {
    static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static unsigned char own_stack[1 << 16];
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof CRASHES / sizeof CRASHES[0]; i++) {
        (void)sigaction(CRASHES[i], &action, NULL);
    }
    (void)atexit(on_exit_of_library);
}

/* Address space that this process uses [B]; 0: the system does not say. The first number of
 * /proc/self/statm is its size in pages. */
static rlim_t used_address_space_B(void) {
    char text[32] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    return got <= 0 ? 0 : (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Lower the soft limit of a resource of this process to `most`; a limit that is lower already
 * stays. */
static void lower_limit(__rlimit_resource_t resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && most < now.rlim_cur) {
        now.rlim_cur = most;
        (void)setrlimit(resource, &now);
    }
}

/* Limit the child: no core dump, processor time and address space as the options say. SIGXCPU has
 * to kill the child, as by default: meshsim's handler (interrupt.h) would make it an interrupt. */
static void set_limits(const ms_child_options *options) {
    lower_limit(RLIMIT_CORE, 0);
    if (options->cpu_s > 0) {
        (void)signal(SIGXCPU, SIG_DFL);
        lower_limit(RLIMIT_CPU, (rlim_t)options->cpu_s);
    }
    rlim_t used = options->memory_B > 0 ? used_address_space_B() : 0;
    if (used > 0) {
        lower_limit(RLIMIT_AS, used + (rlim_t)options->memory_B);
    }
}

/* Main function of the child: prepare the process, do the work, store its status and cause in the
 * shared memory, and end the process. Does not return. */
static void work_in_child(ms_child_work *work, void *context, const running_child *child) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO); /* hides what the libraries print of a crash */
    }
    catch_crashes();
    set_limits(child->options);
    ms_progress_copy_to(&child->found->progress);
    errno = 0; /* an earlier ENOMEM must not make a crash look like lack of memory */
    child->found->status = work(context, child->found->cause);
    _exit(EXIT_DONE);
}

/* ---- the parent ---- */

/* Store the cause of a status. Returns the status. */
static ms_status with_cause(char cause_out[MS_CHILD_CAUSE_B], ms_status status, const char *cause) {
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", cause);
    return status;
}

/* Store as cause that the library did `what` ("crashed"). Returns MS_E_BUG. */
static ms_status bug_of_library(char cause_out[MS_CHILD_CAUSE_B], const char *library,
                                const char *what) {
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s %s", library, what);
    return MS_E_BUG;
}

/* Derive the status of the work from the way in which the child has ended.  state: as waitpid
 * stores it.  cause_out: the reason in words. A child that _exit()ed with EXIT_DONE has left both
 * in shared memory. SIGKILL is what the kernel sends where memory runs out, and an exit code above
 * MS_EXIT_SIGNAL is that of meshsim's handler of an interrupt. */
static ms_status status_of_end(int state, const running_child *child,
                               char cause_out[MS_CHILD_CAUSE_B]) {
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    int signal_number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    if (WIFEXITED(state) && code == EXIT_DONE) {
        return with_cause(cause_out, child->found->status, child->found->cause);
    }
    return signal_number == SIGKILL
               ? with_cause(cause_out, MS_E_NOMEM,
                            "the process that did it was killed, as when memory runs out")
           : signal_number == SIGXCPU
               ? bug_of_library(cause_out, child->options->library, "goes round in circles")
           : code > MS_EXIT_SIGNAL
               ? with_cause(cause_out, MS_E_INTERRUPTED, "the process that did it was interrupted")
           : code == EXIT_NO_MEMORY ? with_cause(cause_out, MS_E_NOMEM, "out of memory")
                                    : bug_of_library(cause_out, child->options->library, "crashed");
}

/* Wait until the child has ended, and meanwhile pass its progress on every PROGRESS_MS.  state_out:
 * as waitpid stores it.  Returns false where the system cannot wait. */
static bool wait_for_end(const running_child *child, int *state_out) {
    struct pollfd end = {.fd = child->pipe, .events = POLLIN};
    int ready = 0;
    do {
        ready = poll(&end, 1, PROGRESS_MS);
        ms_progress_done(__atomic_load_n(&child->found->progress, __ATOMIC_RELAXED));
    } while (ready == 0 || (ready < 0 && errno == EINTR)); /* ready > 0: the pipe was closed */
    while (waitpid(child->pid, state_out, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Store why no process could be started. Returns MS_E_NOMEM or MS_E_IO. */
static ms_status report_no_process(char cause_out[MS_CHILD_CAUSE_B]) {
    int error = errno;
    snprintf(cause_out, MS_CHILD_CAUSE_B, "cannot start a process: %s", strerror(error));
    return error == ENOMEM ? MS_E_NOMEM : MS_E_IO;
}

/* Start the child, wait for its end and return the status of the work. The parent waits on a pipe
 * rather than in waitpid, so that it can pass on progress meanwhile: the child holds the only write
 * end, which the kernel closes when the child ends, however that happens. */
static ms_status run_child(ms_child_work *work, void *context, running_child *child,
                           char cause_out[MS_CHILD_CAUSE_B]) {
    int ends[2];
    int state = 0;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return with_cause(cause_out, MS_E_IO, strerror(errno));
    }
    child->pipe = ends[0];
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child is not to outlive the parent */
        if (getppid() != parent) {
            _exit(EXIT_CRASHED); /* the parent ended before prctl */
        }
        work_in_child(work, context, child);
    }
    ms_status status = child->pid < 0 ? report_no_process(cause_out) : MS_OK;
    close(ends[1]);
    if (status == MS_OK) {
        status = wait_for_end(child, &state) ? status_of_end(state, child, cause_out)
                                             : with_cause(cause_out, MS_E_IO, strerror(errno));
    }
    close(ends[0]);
    return status;
}

ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_options *options,
                       char cause_out[MS_CHILD_CAUSE_B]) {
    verdict *found = ms_child_share(sizeof *found);
    if (found == NULL) {
        return with_cause(cause_out, MS_E_NOMEM, "out of memory");
    }
    running_child child = {.found = found, .options = options};
    ms_status status = run_child(work, context, &child, cause_out);
    ms_child_unshare(found, sizeof *found);
    return status;
}
