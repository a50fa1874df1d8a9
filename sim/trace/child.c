#include "trace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_CRASHED = 101, EXIT_NO_MEMORY = 102 };

void *ms_child_share(size_t size) {
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

void ms_child_unshare(void *shared, size_t size) {
    if (shared != NULL) {
        (void)munmap(shared, size);
    }
}

void ms_child_verdict_fail(ms_child_verdict *verdict, ms_status status, const char *format, ...) {
    if (verdict->status != MS_OK) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->cause, sizeof verdict->cause, format, args);
    va_end(args);
    verdict->status = status;
}

/* ---- the child ---- */

/* A failed allocation sets errno, and little sets it anew until HDF5 stumbles over the NULL. */
static int end_of_crash(void) {
    return errno == ENOMEM ? EXIT_NO_MEMORY : EXIT_CRASHED;
}

static void on_crash(int number) {
    (void)number;
    _exit(end_of_crash());
}

/* HDF5 calls exit() where it cannot even report an error. */
static void on_exit_of_others(void) {
    _exit(end_of_crash());
}

static void catch_crashes(void) {
    static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct sigaction action = {.sa_handler = on_crash};
    for (size_t i = 0; i < sizeof CRASHES / sizeof CRASHES[0]; i++) {
        (void)sigaction(CRASHES[i], &action, NULL);
    }
    (void)signal(SIGXCPU, SIG_DFL);
    (void)atexit(on_exit_of_others);
}

/* Bytes of address space that this process has; 0: the system does not tell. */
static rlim_t used_B(void) {
    char text[32] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    return got <= 0 ? 0 : (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Never above what there is already. */
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

/* Whatever HDF5, the C library or a sanitizer say of a crash. */
static void close_talk(void) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
    }
}

/* ---- the parent ---- */

/* What the end of the child says. */
static void judge(int state, ms_child_verdict *verdict) {
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    if (WIFEXITED(state) && code == EXIT_DONE) {
        return;
    }
    verdict->status = MS_OK; /* what was said before does not count */
    if (number == SIGKILL) {
        ms_child_verdict_fail(verdict, MS_E_NOMEM,
                              "the process that did it was killed, as when memory runs out");
    } else if (code > MS_EXIT_SIGNAL) {
        ms_child_verdict_fail(verdict, MS_E_INTERRUPTED, "the process that did it was interrupted");
    } else if (code == EXIT_NO_MEMORY || !verdict->has_begun) {
        ms_child_verdict_fail(verdict, MS_E_NOMEM, "out of memory");
    } else if (number == SIGXCPU) {
        ms_child_verdict_fail(verdict, MS_E_BUG, "HDF5 goes round in circles");
    } else {
        ms_child_verdict_fail(verdict, MS_E_BUG, "HDF5 crashed");
    }
}

pid_t ms_child_start(void (*work)(void *context, ms_child_verdict *verdict), void *context,
                     const ms_child_limits *limits, ms_child_verdict *verdict) {
    pid_t parent = getpid();
    *verdict = (ms_child_verdict){.status = MS_OK};
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_CRASHED); /* it ended before we asked to be told */
        }
        close_talk();
        catch_crashes();
        set_limits(limits);
        errno = 0;
        work(context, verdict);
        _exit(EXIT_DONE);
    }
    return child;
}

void ms_child_wait(pid_t child, ms_child_verdict *verdict) {
    int state = 0;
    while (waitpid(child, &state, 0) < 0) {
        if (errno != EINTR) {
            ms_child_verdict_fail(verdict, MS_E_IO, "%s", strerror(errno));
            return;
        }
    }
    judge(state, verdict);
}
