/* The handler of signals that end the program (interrupt.h): it prints the last words, removes the
 * guarded file and exits, or only records the signal. What the handler reads is set by the
 * functions below in an order that is safe if a signal comes in between. */
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

static char guarded_path[PATH_B]; /* file to remove, while is_guarded */
static pid_t guarded_by;          /* process that guards the file; its children do not */
static volatile sig_atomic_t is_guarded;
static volatile sig_atomic_t is_held; /* signals are only recorded, in `noted` */
static volatile sig_atomic_t noted;
static _Atomic(const char *) last_words;

/* Signal handler. It calls only functions that are safe in a handler: getpid, unlink, strlen,
 * write, _exit. */
static void on_interrupt(int signal_number) {
    if (is_held) {
        noted = signal_number;
        return;
    }
    const char *words = last_words;
    if (words != NULL && write(STDERR_FILENO, words, strlen(words)) < 0) {
        words = NULL; /* stderr is gone; the assignment silences the warning of an unused result */
    }
    if (is_guarded && guarded_by == getpid()) {
        unlink(guarded_path);
    }
    _exit(MS_EXIT_SIGNAL + signal_number);
}

/* Whether the process ignores a signal now, as the parent process has set it before a first
 * install. */
static bool is_ignored(int signal_number) {
    struct sigaction present;
    return sigaction(signal_number, NULL, &present) == 0 && present.sa_handler == SIG_IGN;
}

/* During the handler all other signals are blocked. */
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
    /* a signal between the making and the guarding of the file would leave the file behind */
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
    atomic_signal_fence(memory_order_seq_cst); /* before the path may change */
}

void ms_interrupt_set_last_words(const char *text) {
    last_words = text;
}

void ms_interrupt_hold(void) {
    is_held = 1;
}

void ms_interrupt_obey(void) {
    is_held = 0;
}

int ms_interrupt_pending_signal(void) {
    return noted;
}
