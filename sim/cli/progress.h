/* A line on the terminal that shows the progress of a long run. */
#ifndef MS_CLI_PROGRESS_H
#define MS_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "cli/cli.h"

/* The rate of a phase, from two earlier states of it. */
typedef struct ms_cli_rate {
    const char *phase; /* static text; NULL: none has begun */
    double time_s[2], done[2];
} ms_cli_rate;

/* The rate of the last 3 to 6 seconds of a phase, or of longer where nothing ends in 3 seconds:
 * what is done first says little of the rest, which takes longer or is left out. rate: zeros before
 * the first call. phase: static text, whose address tells phases apart. now_s, began_s: the present
 * and the phase's begin on one clock [s]. done: so far. Returns what is done in a second; 0: not
 * known yet. */
double ms_cli_rate_of(ms_cli_rate *rate, const char *phase, double now_s, double began_s,
                      double done);

/* The drawing thread, and the state that it shares with the main thread. */
typedef struct ms_cli_progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct timespec first; /* when the line is first drawn, on CLOCK_MONOTONIC */
    bool has_thread;       /* the thread runs; false without a terminal */
    bool has_ended;        /* the thread is to end; guarded by `lock` */
    bool is_drawn;         /* the line is on the terminal; guarded by `lock` */
    ms_cli_rate rate;      /* of the phase; of the thread alone */
    ms_diag *diag;         /* of the call, whose messages wipe the line */
    ms_diag before;        /* `diag` as it was before ms_cli_progress_start */
} ms_cli_progress;

/* Show the state of ms_progress_now in a line on the standard error, from two seconds after this
 * call on, if that is a terminal. Messages of the call's diag wipe the line first.  progress: has
 * to stay in place until ms_cli_progress_stop. */
void ms_cli_progress_start(ms_cli_progress *progress, const ms_invocation *call);

/* Remove the line, end the drawing thread, and restore the call's diag. To be called before results
 * are printed; further calls do nothing. */
void ms_cli_progress_stop(ms_cli_progress *progress);

#endif
