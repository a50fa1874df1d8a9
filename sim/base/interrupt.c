#include "base/interrupt.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_B = 4096 };

static char guarded_path[PATH_B];
static pid_t guarded_by;
static volatile sig_atomic_t is_guarded;
static volatile sig_atomic_t is_held;
static volatile sig_atomic_t noted;
static _Atomic(const char *) last_words;

static void on_interrupt(int number) {
    /* only functions that are safe in a handler: getpid, unlink, strlen, write, _exit */
    if (is_held) {
        noted = number;
        return;
    }
    const char *words = last_words;
    if (words != NULL && write(STDERR_FILENO, words, strlen(words)) < 0) {
        words = NULL; /* nobody is left to hear them */
    }
    if (is_guarded && guarded_by == getpid()) {
        unlink(guarded_path);
    }
    _exit(MS_EXIT_SIGNAL + number);
}

static bool is_ignored(int number) {
    struct sigaction present;
    return sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_IGN;
}

void ms_interrupt_install(void) {
    static const int ALWAYS[] = {SIGINT, SIGTERM};
    static const int UNLESS_IGNORED[] = {SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = on_interrupt};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ALWAYS / sizeof ALWAYS[0]; i++) {
        sigaction(ALWAYS[i], &action, NULL);
    }
    for (size_t i = 0; i < sizeof UNLESS_IGNORED / sizeof UNLESS_IGNORED[0]; i++) {
        if (!is_ignored(UNLESS_IGNORED[i])) {
            sigaction(UNLESS_IGNORED[i], &action, NULL);
        }
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void ms_interrupt_guard_file(const char *path) {
    size_t length = strlen(path);
    ms_interrupt_unguard_file();
    if (length >= sizeof guarded_path) {
        return;
    }
    memcpy(guarded_path, path, length + 1);
    guarded_by = getpid();
    atomic_signal_fence(memory_order_seq_cst); /* the path is whole before the handler may use it */
    is_guarded = 1;
}

int ms_interrupt_make_file(char *name) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int file = mkostemp(name, O_CLOEXEC);
    int error = errno;
    if (file >= 0) {
        ms_interrupt_guard_file(name);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file;
}

void ms_interrupt_unguard_file(void) {
    is_guarded = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

void ms_interrupt_say_last(const char *text) {
    last_words = text;
}

void ms_interrupt_hold(void) {
    is_held = 1;
}

void ms_interrupt_obey(void) {
    is_held = 0;
}

int ms_interrupt_noted(void) {
    return noted;
}
