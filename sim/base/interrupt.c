#include "meshsim/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { PATH_B = 4096, EXIT_SIGNAL = 128 }; /* 128 + signal: what shells report */

static char guarded_path[PATH_B];
static pid_t guarded_by;
static volatile sig_atomic_t is_guarded;

static void on_interrupt(int number) {
    /* only functions that are safe in a handler: getpid, unlink, _exit */
    if (is_guarded && guarded_by == getpid()) {
        unlink(guarded_path);
    }
    _exit(EXIT_SIGNAL + number);
}

void ms_interrupt_install(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigfillset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
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

void ms_interrupt_unguard_file(void) {
    is_guarded = 0;
    atomic_signal_fence(memory_order_seq_cst);
}
