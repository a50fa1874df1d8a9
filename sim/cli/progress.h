/* The line that tells a terminal how far a long run has come. */
#ifndef MS_CLI_PROGRESS_H
#define MS_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "cli/cli.h"

/* A thread that draws, and what it shares with the thread that works. */
typedef struct ms_cli_progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct timespec first; /* when it draws first, on the clock that is never set */
    bool has_thread;
    bool has_ended; /* guarded by lock, as the next one */
    bool is_drawn;
    ms_diag *diag;
    ms_diag before; /* `diag` as it was */
} ms_cli_progress;

/* Show ms_progress_now in a line on stderr, from two seconds after this call on, if stderr is a
 * terminal. Messages of the call's diag take the line away first. */
void ms_cli_progress_start(ms_cli_progress *progress, const ms_invocation *call);

/* Take the line away for good.  To be called before results are printed. */
void ms_cli_progress_stop(ms_cli_progress *progress);

#endif
