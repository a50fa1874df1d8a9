/* Draws the line of progress of `run` on a terminal (progress.h). A thread of its own draws the
 * line from the state in base/progress.h, while the main thread simulates. Messages of the main
 * thread wipe the line first; a lock keeps the two threads from writing at once. */
#include "cli/progress.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/usage.h"

/* Most columns of the line, and bytes of its text before it is cut. */
enum { COLUMNS_MAX = 79, LINE_B = 160 };

/* Seconds before the line is first drawn, and between two drawings. */
static const double QUIET_S = 2.0;
static const double REDRAW_S = 0.2;

/* Least time between the two states from which a rate is computed [s]. */
static const double RATE_S = 3.0;

/* Move the cursor to the start of the line and clear the line. */
static const char WIPE[] = "\r\x1b[K";

/* ---- the line ---- */

/* Write a count in at most six columns: "812", "8.4 M".  Returns text_out. */
static const char *short_count(double count, char text_out[16]) {
    static const char *const PREFIXES[] = {"", " k", " M", " G"};
    size_t at = 0;
    /* Limits at which rounding would give one digit more: 999.5 prints as 1000, 99.95 as 100.0. */
    for (; count >= 999.5 && at + 1 < sizeof PREFIXES / sizeof PREFIXES[0]; at++) {
        count /= 1000.0;
    }
    snprintf(text_out, 16, "%.*f%s", at > 0 && count < 99.95 ? 1 : 0, count, PREFIXES[at]);
    return text_out;
}

/* Write a time as whole seconds, minutes or hours.  Returns text_out. */
static const char *short_time(double time_s, char text_out[32]) {
    if (time_s < 99.5) {
        snprintf(text_out, 32, "%.0f s", time_s);
    } else if (time_s < 99.5 * 60.0) {
        snprintf(text_out, 32, "%.0f min", time_s / 60.0);
    } else {
        snprintf(text_out, 32, "%.0f h", time_s / 3600.0 < 1e6 ? time_s / 3600.0 : 1e6);
    }
    return text_out;
}

/* Two earlier states are kept, RATE_S apart, and the rate is that since the older one. */
double ms_cli_rate_of(ms_cli_rate *rate, const char *phase, double now_s, double began_s,
                      double done) {
    bool is_new = phase != rate->phase || done < rate->done[1];
    if (is_new || (now_s - rate->time_s[1] >= RATE_S && done > rate->done[1])) {
        *rate = (ms_cli_rate){.phase = phase,
                              .time_s = {is_new ? began_s : rate->time_s[1], now_s},
                              .done = {is_new ? 0.0 : rate->done[1], done}};
    }
    double passed_s = now_s - rate->time_s[0];
    return passed_s > 0.0 ? (done - rate->done[0]) / passed_s : 0.0;
}

/* Write the text of the line: the phase, and where the number of its operations is known, their
 * share, rate and time left.  now_s: on the clock of ms_wall_s(). */
static void make_line(const ms_progress *now, double now_s, ms_cli_rate *rates,
                      char line_out[LINE_B]) {
    char count[16];
    char rate[16];
    char time[32];
    double spent_s = now_s > now->began_s ? now_s - now->began_s : 0.0;
    double per_s = ms_cli_rate_of(rates, now->phase, now_s, now->began_s, (double)now->done);
    if (now->total <= 0 || !(per_s > 0.0)) {
        snprintf(line_out, LINE_B, "meshsim: %s, %s", now->phase, short_time(spent_s, time));
        return;
    }
    double done = (double)(now->done < now->total ? now->done : now->total);
    double total = (double)now->total;
    snprintf(line_out, LINE_B, "meshsim: %s, %.0f %% of %s operations, %s/s, %s left", now->phase,
             100.0 * done / total, short_count(total, count), short_count(per_s, rate),
             short_time((total - done) / per_s, time));
}

/* ---- drawing ---- */

/* Write to the terminal. A failure is ignored, as a terminal that is gone needs no line. */
static void put(const char *text, size_t length) {
    ssize_t ignored = write(STDERR_FILENO, text, length);
    (void)ignored;
}

/* Remove the line from the terminal, if it is drawn. The lock is held. */
static void wipe(ms_cli_progress *progress) {
    if (progress->is_drawn) {
        put(WIPE, sizeof WIPE - 1);
        progress->is_drawn = false;
    }
}

/* Most columns of the line: fewer than the terminal has, since a line that wraps cannot be
 * wiped. */
static int columns(void) {
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known && size.ws_col <= COLUMNS_MAX ? size.ws_col - 1 : COLUMNS_MAX;
}

/* Draw the line with the present state. The lock is held. */
static void draw(ms_cli_progress *progress) {
    const ms_progress now = ms_progress_now();
    char text[sizeof WIPE + LINE_B];
    char line[LINE_B];
    if (now.phase == NULL) {
        return;
    }
    make_line(&now, ms_wall_s(), &progress->rate, line);
    int length = snprintf(text, sizeof text, "%s%.*s", WIPE, columns(), line);
    put(text, (size_t)length);
    progress->is_drawn = true;
}

/* Add seconds, >= 0, to a point of time. */
static void add_seconds(struct timespec *at, double seconds) {
    at->tv_nsec += (long)(1e9 * (seconds - (double)(time_t)seconds));
    at->tv_sec += (time_t)seconds + at->tv_nsec / 1000000000;
    at->tv_nsec %= 1000000000;
}

/* Main function of the drawing thread: draw every REDRAW_S, first at progress->first, until the end
 * is signalled. */
static void *draw_until_end(void *context) {
    ms_cli_progress *progress = context;
    struct timespec next = progress->first;
    pthread_mutex_lock(&progress->lock);
    while (!progress->has_ended) {
        /* Not 0: the time is up. 0: the end was signalled, or the wait ended by chance. */
        if (pthread_cond_timedwait(&progress->wake, &progress->lock, &next) != 0 &&
            !progress->has_ended) {
            draw(progress);
            clock_gettime(CLOCK_MONOTONIC, &next);
            add_seconds(&next, REDRAW_S);
        }
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

/* ---- the main thread ---- */

/* Write a message, with the line wiped first: `write` of the ms_diag while the line may be
 * drawn. */
static void write_message(void *context, const char *text) {
    ms_cli_progress *progress = context;
    pthread_mutex_lock(&progress->lock);
    wipe(progress);
    progress->before.write(progress->before.context, text);
    pthread_mutex_unlock(&progress->lock);
}

/* Start the drawing thread, with all signals blocked in it, so that the main thread handles them.
 * Returns whether there is a thread. */
static bool start_thread(ms_cli_progress *progress) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool has_thread = pthread_create(&progress->thread, NULL, draw_until_end, progress) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return has_thread;
}

/* Without a terminal no line is drawn, and `progress` stays without a thread. With one, messages go
 * through write_message, which wipes the line first. */
void ms_cli_progress_start(ms_cli_progress *progress, const ms_invocation *call) {
    pthread_condattr_t clock;
    *progress = (ms_cli_progress){.diag = call->diag, .before = *call->diag};
    if (isatty(STDERR_FILENO) != 1) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &progress->first);
    add_seconds(&progress->first, QUIET_S);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->wake, &clock);
    pthread_condattr_destroy(&clock);
    ms_interrupt_set_last_words(WIPE); /* before a line can be drawn */
    progress->has_thread = start_thread(progress);
    if (progress->has_thread) {
        call->diag->write = write_message;
        call->diag->context = progress;
    } else {
        ms_interrupt_set_last_words(NULL);
    }
}

/* The line is wiped before the thread ends, and messages are written as before
 * ms_cli_progress_start. */
void ms_cli_progress_stop(ms_cli_progress *progress) {
    if (!progress->has_thread) {
        return;
    }
    pthread_mutex_lock(&progress->lock);
    progress->has_ended = true;
    wipe(progress);
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->lock);
    ms_interrupt_set_last_words(NULL);
    progress->diag->write = progress->before.write;
    progress->diag->context = progress->before.context;
    progress->has_thread = false;
}
