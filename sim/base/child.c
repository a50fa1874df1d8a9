/* A child process that calls a foreign library. It returns a status and the reason for it in shared
 * memory. */
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

enum { EXIT_DONE = 0, EXIT_CRASHED = 101, EXIT_NO_MEMORY = 102, PROGRESS_MS = 200 };

typedef struct verdict {
    ms_status status;
    char cause[MS_CHILD_CAUSE_B];
    int64_t progress; /* of the work, as ms_progress_done */
} verdict;

/* What the parent keeps of a child process that it has started. */
typedef struct running_child {
    pid_t pid;
    int pipe; /* closed at its other end when the child ends */
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

/* A failed allocation sets errno, and little sets it anew until a library uses the NULL. */
static int end_of_crash(void) {
    return errno == ENOMEM ? EXIT_NO_MEMORY : EXIT_CRASHED;
}

static void on_crash(int number) {
    (void)number;
    _exit(end_of_crash());
}

/* HDF5 and SimGrid call exit() where they cannot report an error. */
static void on_exit_of_library(void) {
    _exit(end_of_crash());
}

/* Crashes end the child at once, also where its stack is used up. */
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

/* Bytes of address space that this process has; 0: the system does not say. */
static rlim_t used_B(void) {
    char text[32] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    return got <= 0 ? 0 : (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Lower a limit of this process; a lower one stays. */
static void limit(__rlimit_resource_t resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && most < now.rlim_cur) {
        now.rlim_cur = most;
        (void)setrlimit(resource, &now);
    }
}

static void set_limits(const ms_child_options *options) {
    limit(RLIMIT_CORE, 0);
    if (options->cpu_s > 0) {
        (void)signal(SIGXCPU, SIG_DFL);
        limit(RLIMIT_CPU, (rlim_t)options->cpu_s);
    }
    rlim_t used = options->memory_B > 0 ? used_B() : 0;
    if (used > 0) {
        limit(RLIMIT_AS, used + (rlim_t)options->memory_B);
    }
}

static void work_in_child(ms_child_work *work, void *context, const running_child *child) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO); /* whatever the libraries say of a crash */
    }
    catch_crashes();
    set_limits(child->options);
    ms_progress_copy_to(&child->found->progress);
    errno = 0;
    child->found->status = work(context, child->found->cause);
    _exit(EXIT_DONE);
}

/* ---- the parent ---- */

static ms_status answer(char cause_out[MS_CHILD_CAUSE_B], ms_status status, const char *cause) {
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", cause);
    return status;
}

static ms_status say_bug(char cause_out[MS_CHILD_CAUSE_B], const char *library, const char *what) {
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s %s", library, what);
    return MS_E_BUG;
}

/* Tell by the state of a child that has ended whether it succeeded, and why not. */
static ms_status judge(int state, const running_child *child, char cause_out[MS_CHILD_CAUSE_B]) {
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    if (WIFEXITED(state) && code == EXIT_DONE) {
        return answer(cause_out, child->found->status, child->found->cause);
    }
    return number == SIGKILL ? answer(cause_out, MS_E_NOMEM,
                                      "the process that did it was killed, as when memory runs out")
           : number == SIGXCPU
               ? say_bug(cause_out, child->options->library, "goes round in circles")
           : code > MS_EXIT_SIGNAL
               ? answer(cause_out, MS_E_INTERRUPTED, "the process that did it was interrupted")
           : code == EXIT_NO_MEMORY ? answer(cause_out, MS_E_NOMEM, "out of memory")
                                    : say_bug(cause_out, child->options->library, "crashed");
}

/* Wait until the child has ended, and tell meanwhile how far it is.  Returns false where the system
 * cannot wait. */
static bool wait_for(const running_child *child, int *state_out) {
    struct pollfd end = {.fd = child->pipe, .events = POLLIN};
    int ready = 0;
    do {
        ready = poll(&end, 1, PROGRESS_MS);
        ms_progress_done(__atomic_load_n(&child->found->progress, __ATOMIC_RELAXED));
    } while (ready == 0 || (ready < 0 && errno == EINTR));
    while (waitpid(child->pid, state_out, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static ms_status no_process(char cause_out[MS_CHILD_CAUSE_B]) {
    int error = errno;
    snprintf(cause_out, MS_CHILD_CAUSE_B, "cannot start a process: %s", strerror(error));
    return error == ENOMEM ? MS_E_NOMEM : MS_E_IO;
}

static ms_status run_child(ms_child_work *work, void *context, running_child *child,
                           char cause_out[MS_CHILD_CAUSE_B]) {
    int ends[2];
    int state = 0;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return answer(cause_out, MS_E_IO, strerror(errno));
    }
    child->pipe = ends[0];
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_CRASHED); /* the parent ended before the child asked to be told */
        }
        work_in_child(work, context, child);
    }
    ms_status status = child->pid < 0 ? no_process(cause_out) : MS_OK;
    close(ends[1]);
    if (status == MS_OK) {
        status = wait_for(child, &state) ? judge(state, child, cause_out)
                                         : answer(cause_out, MS_E_IO, strerror(errno));
    }
    close(ends[0]);
    return status;
}

ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_options *options,
                       char cause_out[MS_CHILD_CAUSE_B]) {
    verdict *found = ms_child_share(sizeof *found);
    if (found == NULL) {
        return answer(cause_out, MS_E_NOMEM, "out of memory");
    }
    running_child child = {.found = found, .options = options};
    ms_status status = run_child(work, context, &child, cause_out);
    ms_child_unshare(found, sizeof *found);
    return status;
}
