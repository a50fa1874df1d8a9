/* A child process that works with HDF5 and answers in shared memory: a status and its cause. */
#include "trace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/h5.h"

enum { EXIT_DONE = 0, EXIT_CRASHED = 101, EXIT_NO_MEMORY = 102 };

typedef struct verdict {
    bool has_begun; /* HDF5 is up: a crash before has no cause but lack of memory */
    ms_status status;
    char cause[MS_CHILD_CAUSE_B];
} verdict;

/* ---- the child ---- */

/* A failed allocation sets errno, and little sets it anew until HDF5 uses the NULL. */
static int end_of_crash(void) {
    return errno == ENOMEM ? EXIT_NO_MEMORY : EXIT_CRASHED;
}

static void on_crash(int number) {
    (void)number;
    _exit(end_of_crash());
}

/* HDF5 calls exit() where it cannot even report an error. */
static void on_exit_of_hdf5(void) {
    _exit(end_of_crash());
}

static void catch_crashes(void) {
    static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct sigaction action = {.sa_handler = on_crash};
    for (size_t i = 0; i < sizeof CRASHES / sizeof CRASHES[0]; i++) {
        (void)sigaction(CRASHES[i], &action, NULL);
    }
    (void)signal(SIGXCPU, SIG_DFL);
    (void)atexit(on_exit_of_hdf5);
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

static void set_limits(const ms_child_limits *limits) {
    limit(RLIMIT_CORE, 0);
    if (limits->cpu_s > 0) {
        limit(RLIMIT_CPU, limits->cpu_s);
    }
    rlim_t used = limits->memory_B > 0 ? used_B() : 0;
    if (used > 0) {
        limit(RLIMIT_AS, used + limits->memory_B);
    }
}

static void work_in_child(ms_child_work *work, void *context, const ms_child_limits *limits,
                          verdict *found) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO); /* whatever HDF5 or the C library say of a crash */
    }
    catch_crashes();
    set_limits(limits);
    errno = 0;
    if (!ms_h5_start()) {
        _exit(EXIT_NO_MEMORY);
    }
    found->has_begun = true;
    found->status = work(context, found->cause);
    _exit(EXIT_DONE);
}

/* ---- the parent ---- */

static ms_status answer(char cause_out[MS_CHILD_CAUSE_B], ms_status status, const char *cause) {
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", cause);
    return status;
}

/* What the end of the child says. */
static ms_status judge(int state, const verdict *found, char cause_out[MS_CHILD_CAUSE_B]) {
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    if (WIFEXITED(state) && code == EXIT_DONE) {
        return answer(cause_out, found->status, found->cause);
    }
    return number == SIGKILL   ? answer(cause_out, MS_E_NOMEM,
                                        "the process that did it was killed, as when memory runs out")
           : number == SIGXCPU ? answer(cause_out, MS_E_BUG, "HDF5 goes round in circles")
           : code > MS_EXIT_SIGNAL
               ? answer(cause_out, MS_E_INTERRUPTED, "the process that did it was interrupted")
           : code == EXIT_NO_MEMORY || !found->has_begun
               ? answer(cause_out, MS_E_NOMEM, "out of memory")
               : answer(cause_out, MS_E_BUG, "HDF5 crashed");
}

static ms_status run_child(ms_child_work *work, void *context, const ms_child_limits *limits,
                           verdict *found, char cause_out[MS_CHILD_CAUSE_B]) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_CRASHED); /* the parent ended before the child asked to be told */
        }
        work_in_child(work, context, limits, found);
    }
    int state = 0;
    while (child > 0 && waitpid(child, &state, 0) < 0) {
        if (errno != EINTR) {
            return answer(cause_out, MS_E_IO, strerror(errno));
        }
    }
    if (child < 0) {
        int error = errno;
        snprintf(cause_out, MS_CHILD_CAUSE_B, "cannot start a process: %s", strerror(error));
        return error == ENOMEM ? MS_E_NOMEM : MS_E_IO;
    }
    return judge(state, found, cause_out);
}

ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_limits *limits,
                       char cause_out[MS_CHILD_CAUSE_B]) {
    verdict *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return answer(cause_out, MS_E_NOMEM, "out of memory");
    }
    ms_status status = run_child(work, context, limits, shared, cause_out);
    (void)munmap(shared, sizeof *shared);
    return status;
}
