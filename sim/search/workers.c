/* Parent and children. A child writes frames to its pipe, each of them a mark, the number of bytes,
 * and the bytes: TALK, a message, as soon as it is reported; REASON, the first fault in one line,
 * before that fault's message; DESCRIPTION, the text of `describe`; ANSWER, status and figures, at
 * the end. The parent reads the pipes of all children in turn. */
#include "search/workers.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/interrupt.h"
#include "base/status.h"
#include "simulate/engine/engine.h"

enum { BLOCK_B = 65536 };

/* Marks of frames. */
typedef enum frame_mark { TALK, REASON, DESCRIPTION, ANSWER, MARKS } frame_mark;

typedef struct frame {
    frame_mark mark;
    size_t length; /* of the bytes that follow the frame's head */
} frame;

/* What ANSWER holds. */
typedef struct answer {
    ms_status status;
    ms_run_figures figures;
} answer;

/* Where a child's diagnostics go. */
typedef struct talker {
    int pipe;
    ms_buffer reason; /* the first fault */
    bool is_reason_sent;
} talker;

typedef struct worker {
    pid_t pid;
    int pipe; /* its end to read from */
    size_t ticket;
    ms_buffer bytes;
} worker;

typedef struct pool {
    const ms_worker_feed *feed;
    const ms_workers_options *options;
    ms_arena *arena;
    ms_diag *diag;
    sigset_t
        signals; /* blocked when the caller came; while the pool works all are, but in a poll */
    struct pollfd *polls; /* [places] */
    worker *workers;      /* [places], of them `running` in use */
    size_t places;
    size_t running;
    size_t started;
    bool may_have_more; /* false: the feed had none, and no job has ended since */
} pool;

static ms_status report_no_memory(const pool *p) {
    ms_diag_error(p->diag, "out of memory while running simulations");
    return MS_E_NOMEM;
}

/* ---- the child ---- */

static void send_bytes(int pipe, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(pipe, bytes, length);
        if (written < 0 && errno != EINTR) {
            _exit(ms_status_exit_code(MS_E_IO)); /* nobody listens any more */
        }
        size_t done = written < 0 ? 0 : (size_t)written;
        bytes += done;
        length -= done;
    }
}

static void send_frame(int pipe, frame_mark mark, const void *bytes, size_t length) {
    frame head;
    memset(&head, 0, sizeof head); /* padding too: it is written */
    head.mark = mark;
    head.length = length;
    send_bytes(pipe, (const char *)&head, sizeof head);
    send_bytes(pipe, bytes, length);
}

static void send_talk(void *context, const char *text) {
    talker *t = context;
    if (t->reason.length > 0 && !t->is_reason_sent) {
        send_frame(t->pipe, REASON, ms_buffer_text(&t->reason), t->reason.length);
        t->is_reason_sent = true;
    }
    send_frame(t->pipe, TALK, text, strlen(text));
}

static void send_answer(int pipe, ms_status status, const ms_result *result) {
    answer found;
    memset(&found, 0, sizeof found); /* padding too: it is written */
    found.status = status;
    if (status == MS_OK) {
        ms_result_figures(result, &found.figures);
    }
    send_frame(pipe, ANSWER, &found, sizeof found);
}

/* Send the text that describes a run, if one is asked for. */
static ms_status send_description(const pool *p, int pipe, const ms_result *result,
                                  ms_arena *arena) {
    ms_buffer text;
    if (p->options->describe == NULL) {
        return MS_OK;
    }
    ms_buffer_init(&text);
    ms_status status = p->options->describe(result, arena, &text);
    status = status == MS_OK && text.failed ? MS_E_NOMEM : status;
    if (status == MS_OK) {
        send_frame(pipe, DESCRIPTION, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    return status;
}

/* Build, run, keep, describe, answer; never returns. */
static void run_child(const pool *p, const ms_job_spec *spec, size_t ticket, int pipe) {
    size_t failures = ms_failure_count();
    ms_arena arena;
    ms_arena_init(&arena);
    talker t = {.pipe = pipe};
    ms_buffer_init(&t.reason);
    ms_diag diag;
    ms_diag_init(&diag, send_talk, &t);
    diag.reason = &t.reason;
    ms_job job = {0};
    ms_result result = {0};
    ms_status status = ms_job_build(spec, &arena, &diag, &job);
    if (status == MS_OK) {
        job.run.no_fast_forward = p->options->needs_operations;
        job.run.trusts_folding = p->options->keep == NULL;
        status = ms_job_run(&job, &arena, &diag, &result);
    }
    if (status == MS_OK && p->options->keep != NULL) {
        status = p->options->keep(p->options->keep_context, ticket, &result, &diag);
    }
    ms_diag_finish(&diag);
    status = status == MS_OK ? send_description(p, pipe, &result, &arena) : status;
    ms_status failed = ms_failure_since(failures, status);
    if (failed != status) { /* the failure was taken for a fault of the job, or overlooked */
        status = failed;
        t.reason.length = 0;
        t.is_reason_sent = false;
        diag = (ms_diag){0};
        ms_diag_init(&diag, send_talk, &t);
        diag.reason = &t.reason;
        ms_diag_error(&diag, "%s", ms_failure_text());
    }
    send_answer(pipe, status, &result);
    _exit(ms_status_exit_code(status)); /* the standard streams and their buffers are the parent's
                                         */
}

/* The child's side of a fork; never returns. */
static void begin_child(const pool *p, const ms_job_spec *spec, size_t ticket, pid_t parent,
                        int pipe) {
    ms_interrupt_obey();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(MS_EXIT_SIGNAL + SIGTERM); /* it ended before we asked to be told */
    }
    sigprocmask(SIG_SETMASK, &p->signals, NULL);
    run_child(p, spec, ticket, pipe);
}

static ms_status start(pool *p, const ms_job_spec *spec, size_t ticket) {
    int ends[2];
    if (p->started > 0 && spec->simulation.fidelity != MS_FIDELITY_ANALYTIC) {
        ms_engine_load_simgrid(); /* once, for all that follow; a single job may not need it */
    }
    if (pipe(ends) != 0) {
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        begin_child(p, spec, ticket, parent, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    worker *w = &p->workers[p->running++];
    *w = (worker){.pid = pid, .pipe = ends[0], .ticket = ticket};
    ms_buffer_init(&w->bytes);
    p->started++;
    return MS_OK;
}

/* ---- the parent ---- */

/* Report a bad end as if the child had reported it.  parts: [MARKS] what the child sent. */
__attribute__((format(printf, 2, 3))) static void tell_end(ms_buffer *parts, const char *format,
                                                           ...) {
    char what[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ms_buffer_printf(&parts[TALK], "meshsim: error: %s\n", what);
    ms_buffer_puts(&parts[REASON], parts[REASON].length == 0 ? what : "");
}

/* The status of a child that ended without an answer, from its exit state.  parts: [MARKS]. */
static ms_status explain_end(int state, ms_buffer *parts) {
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (number == SIGKILL) {
        tell_end(parts, "the simulation was killed, as when memory runs out");
        return MS_E_NOMEM;
    }
    if (code == ms_status_exit_code(MS_E_NOMEM) && parts[TALK].length > 0) {
        return MS_E_NOMEM; /* which it has said itself */
    }
    if (code > MS_EXIT_SIGNAL) {
        tell_end(parts, "the simulation was interrupted");
        return MS_E_INTERRUPTED;
    }
    /* Some libraries end a process that gets no memory: the dynamic loader with exit code 127,
     * Fortran's library with 1. */
    bool is_own = code == 0 || code == ms_status_exit_code(MS_E_BUG);
    if (number == 0 && !is_own) {
        tell_end(parts,
                 "the simulation ended without a result, exit code %d, as when memory runs out",
                 code);
        return MS_E_NOMEM;
    }
    if (number != 0) {
        tell_end(parts, "the simulation crashed with signal %d (%s)", number, strsignal(number));
    } else {
        tell_end(parts, "the simulation ended without an answer, code %d", code);
    }
    return MS_E_BUG;
}

/* Sort the contents of the frames that a child sent by their marks.  parts: [MARKS]. */
static void read_frames(const ms_buffer *bytes, ms_buffer *parts) {
    frame head;
    for (size_t at = 0; bytes->length - at >= sizeof head; at += head.length) {
        memcpy(&head, bytes->data + at, sizeof head);
        at += sizeof head;
        if (head.length > bytes->length - at) {
            break; /* the child ended while it wrote */
        }
        ms_buffer_add(&parts[head.mark], bytes->data + at, head.length);
    }
}

/* Copy the texts of an outcome to the arena.  parts: [MARKS].  Returns false when memory ran out.
 */
static bool keep_texts(const pool *p, ms_buffer *parts, ms_worker_outcome *outcome) {
    if (outcome->status != MS_OK && parts[REASON].length == 0) {
        ms_buffer_puts(&parts[REASON], ms_status_name(outcome->status));
    }
    outcome->talk = ms_arena_strdup(p->arena, ms_buffer_text(&parts[TALK]));
    if (outcome->status != MS_OK) {
        outcome->reason = ms_arena_strdup(p->arena, ms_buffer_text(&parts[REASON]));
    } else if (p->options->describe != NULL) {
        outcome->text = ms_arena_strdup(p->arena, ms_buffer_text(&parts[DESCRIPTION]));
    }
    bool has_all = !p->arena->has_failed;
    for (int mark = 0; mark < MARKS; mark++) {
        has_all = has_all && !parts[mark].failed;
        ms_buffer_release(&parts[mark]);
    }
    return has_all;
}

/* A child has closed its pipe: wait for its end, and take what it sent. */
static ms_status finish(pool *p, size_t at, ms_worker_outcome *outcome) {
    worker *w = &p->workers[at];
    int state = 0;
    ms_buffer parts[MARKS];
    answer found;
    close(w->pipe);
    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR) {
    }
    for (int mark = 0; mark < MARKS; mark++) {
        ms_buffer_init(&parts[mark]);
    }
    read_frames(&w->bytes, parts);
    if (parts[ANSWER].length == sizeof found) {
        memcpy(&found, ms_buffer_text(&parts[ANSWER]), sizeof found);
        *outcome = (ms_worker_outcome){.status = found.status, .figures = found.figures};
    } else {
        *outcome = (ms_worker_outcome){.status = explain_end(state, parts)};
    }
    bool has_all = keep_texts(p, parts, outcome) && !w->bytes.failed;
    ms_buffer_release(&w->bytes);
    p->workers[at] = p->workers[--p->running];
    p->may_have_more = true;
    return has_all ? MS_OK : report_no_memory(p);
}

/* Whether an interrupt has come, also one that waits to be let in: a poll that finds a child ready
 * lets none in, so where rows are kept slower than children simulate, every poll would. */
static bool is_interrupted(const pool *p) {
    sigset_t all;
    sigprocmask(SIG_SETMASK, &p->signals, &all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return ms_interrupt_noted() != 0;
}

/* Read from the pipe of one child. */
static ms_status listen_to(pool *p, size_t at) {
    char block[BLOCK_B];
    worker *w = &p->workers[at];
    size_t ticket = w->ticket;
    ssize_t got = read(w->pipe, block, sizeof block);
    if (got > 0) {
        ms_buffer_add(&w->bytes, block, (size_t)got);
        return MS_OK;
    }
    if (got < 0 && errno == EINTR) {
        return MS_OK;
    }
    if (got < 0) {
        ms_diag_error(p->diag, "cannot read the result of a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    ms_worker_outcome outcome;
    ms_status status = finish(p, at, &outcome);
    if (status == MS_OK && outcome.status == MS_E_INTERRUPTED && is_interrupted(p)) {
        return MS_E_INTERRUPTED; /* a terminal interrupts both, and the child was faster */
    }
    return status == MS_OK ? p->feed->done(p->feed->context, ticket, &outcome) : status;
}

/* Wait until a child has written or ended, and read once from each that has. A signal that comes in
 * during the wait ends it with MS_OK. wait_s: longest wait [s]; 0: no limit. */
static ms_status listen_once(pool *p, double wait_s) {
    const struct timespec limit = {.tv_sec = (time_t)wait_s,
                                   .tv_nsec = (long)((wait_s - floor(wait_s)) * 1e9)};
    for (size_t i = 0; i < p->running; i++) {
        p->polls[i] = (struct pollfd){.fd = p->workers[i].pipe, .events = POLLIN};
    }
    if (ppoll(p->polls, (nfds_t)p->running, wait_s > 0 ? &limit : NULL, &p->signals) < 0) {
        return errno == EINTR ? MS_OK : report_no_memory(p);
    }
    ms_status status = MS_OK;
    /* from the last one down: the last worker takes the place of one that has ended (finish) */
    for (size_t i = p->running; i-- > 0 && status == MS_OK;) {
        status = p->polls[i].revents != 0 ? listen_to(p, i) : MS_OK;
    }
    return status;
}

/* End what still runs after a failure. */
static void stop_all(pool *p) {
    for (size_t i = 0; i < p->running; i++) {
        kill(p->workers[i].pid, SIGTERM);
    }
    for (size_t i = 0; i < p->running; i++) {
        close(p->workers[i].pipe);
        while (waitpid(p->workers[i].pid, NULL, 0) < 0 && errno == EINTR) {
        }
        ms_buffer_release(&p->workers[i].bytes);
    }
    p->running = 0;
}

/* Start what can be started, then listen; *is_over_out: nothing runs, and the feed has nothing. */
static ms_status go_on(pool *p, bool *is_over_out) {
    ms_status status = MS_OK;
    while (status == MS_OK && p->may_have_more && p->running < p->places) {
        size_t ticket = 0;
        const ms_job_spec *spec = p->feed->next(p->feed->context, &ticket);
        p->may_have_more = spec != NULL;
        status = spec != NULL ? start(p, spec, ticket) : MS_OK;
    }
    *is_over_out = p->running == 0;
    double wait_s = 0;
    if (status == MS_OK && p->feed->settle != NULL) {
        status = p->feed->settle(p->feed->context, &wait_s);
    }
    status = status == MS_OK && !*is_over_out ? listen_once(p, wait_s) : status;
    return status == MS_OK && is_interrupted(p) ? MS_E_INTERRUPTED : status;
}

ms_status ms_workers_stream(const ms_worker_feed *feed, const ms_workers_options *options,
                            ms_arena *arena, ms_diag *diag) {
    size_t places = options->jobs < 1 ? 1 : (size_t)options->jobs;
    pool p = {.feed = feed,
              .options = options,
              .arena = arena,
              .diag = diag,
              .polls = MS_NEW(arena, struct pollfd, places),
              .workers = MS_NEW(arena, worker, places),
              .places = places,
              .may_have_more = true};
    if (p.workers == NULL || p.polls == NULL) {
        return report_no_memory(&p);
    }
    sigset_t all;
    sigfillset(&all);
    ms_interrupt_hold();
    sigprocmask(SIG_SETMASK, &all, &p.signals);
    ms_status status = MS_OK;
    for (bool is_over = false; status == MS_OK && !is_over;) {
        status = go_on(&p, &is_over);
    }
    stop_all(&p);
    sigprocmask(SIG_SETMASK, &p.signals, NULL); /* lets in what waited, which is noted */
    ms_interrupt_obey();
    ms_status rest = feed->settle == NULL ? MS_OK : feed->settle(feed->context, NULL);
    status = status == MS_OK || (status == MS_E_INTERRUPTED && rest != MS_OK) ? rest : status;
    return status == MS_OK && ms_interrupt_noted() != 0 ? MS_E_INTERRUPTED : status;
}

/* ---- jobs that are known before ---- */

typedef struct listed {
    const ms_job_spec *specs;
    size_t count;
    const ms_workers_options *options;
    ms_worker_outcome *outcomes;
    size_t given, ended;
} listed;

static const ms_job_spec *next_listed(void *context, size_t *ticket_out) {
    listed *l = context;
    if (l->given == l->count) {
        return NULL;
    }
    *ticket_out = l->given++;
    return &l->specs[*ticket_out];
}

static ms_status end_listed(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    listed *l = context;
    l->outcomes[ticket] = *outcome;
    l->ended++;
    if (l->options->progress != NULL) {
        l->options->progress(l->options->progress_context, l->ended, l->count);
    }
    return MS_OK;
}

ms_status ms_workers_run(const ms_job_spec *specs, size_t count, const ms_workers_options *options,
                         ms_arena *arena, ms_diag *diag, ms_worker_outcome *outcomes_out) {
    listed l = {.specs = specs, .count = count, .options = options, .outcomes = outcomes_out};
    const ms_worker_feed feed = {.next = next_listed, .done = end_listed, .context = &l};
    memset(outcomes_out, 0, count * sizeof *outcomes_out);
    return ms_workers_stream(&feed, options, arena, diag);
}
