/* Worker processes (workers.h): the parent forks a child per job, and each child simulates its job
 * and sends the result through a pipe. A child writes frames: a head with a mark and a number of
 * bytes, then the bytes. TALK is a message, sent as soon as it is reported; REASON the first fault
 * in one line, sent before that fault's message; DESCRIPTION the text of `describe`; ANSWER the
 * status and the figures, at the end. The parent reads the pipes of all children in turn. */
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

enum { BLOCK_B = 65536 }; /* that the parent reads at once */

/* Marks of frames. */
typedef enum frame_mark { TALK, REASON, DESCRIPTION, ANSWER, MARKS } frame_mark;

/* The head of a frame. */
typedef struct frame {
    frame_mark mark;
    size_t length; /* of the bytes that follow the frame's head */
} frame;

/* The bytes of an ANSWER frame. */
typedef struct answer {
    ms_status status;
    ms_run_figures figures;
} answer;

/* The destination of a child's diagnostics. */
typedef struct talker {
    int pipe;         /* its end to write to */
    ms_buffer reason; /* the first fault in one line */
    bool is_reason_sent;
} talker;

/* A child, as the parent knows it. */
typedef struct worker {
    pid_t pid;
    int pipe;        /* its end to read from */
    size_t ticket;   /* of the job, from the feed */
    ms_buffer bytes; /* all that was read so far */
} worker;

/* The parent's state (`p` in this file): its children, and the source of their jobs. */
typedef struct pool {
    const ms_worker_feed *feed;
    const ms_workers_options *options;
    ms_arena *arena;
    ms_diag *diag;
    sigset_t signals;     /* the caller's mask; the pool blocks all signals except in a poll */
    struct pollfd *polls; /* [slots] */
    worker *workers;      /* [slots], of them `running` in use */
    size_t slots;
    size_t running;
    size_t started;
    bool may_have_more; /* false: the feed gave no job, and no job has ended since */
} pool;

static ms_status report_no_memory(const pool *p) {
    ms_diag_error(p->diag, "out of memory while running simulations");
    return MS_E_NOMEM;
}

/* ---- the child ---- */

/* Write bytes to the parent. A child whose parent does not read any more ends here. */
static void send_bytes(int pipe, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(pipe, bytes, length);
        if (written < 0 && errno != EINTR) {
            _exit(ms_status_exit_code(MS_E_IO));
        }
        size_t done = written < 0 ? 0 : (size_t)written;
        bytes += done;
        length -= done;
    }
}

/* Write a frame to the parent. bytes: [length]. */
static void send_frame(int pipe, frame_mark mark, const void *bytes, size_t length) {
    frame head;
    memset(&head, 0, sizeof head); /* padding too, because all bytes of the head are written */
    head.mark = mark;
    head.length = length;
    send_bytes(pipe, (const char *)&head, sizeof head);
    send_bytes(pipe, bytes, length);
}

/* `write` of a child's diagnostics: send a message to the parent, and before the first fault's
 * message its reason. */
static void send_talk(void *context, const char *text) {
    talker *output = context;
    if (output->reason.length > 0 && !output->is_reason_sent) {
        send_frame(output->pipe, REASON, ms_buffer_text(&output->reason), output->reason.length);
        output->is_reason_sent = true;
    }
    send_frame(output->pipe, TALK, text, strlen(text));
}

/* Send the status of a run and, if it is MS_OK, the figures. result: read only then. */
static void send_answer(int pipe, ms_status status, const ms_result *result) {
    answer found;
    memset(&found, 0, sizeof found); /* padding too, because all bytes of it are written */
    found.status = status;
    if (status == MS_OK) {
        ms_result_figures(result, &found.figures);
    }
    send_frame(pipe, ANSWER, &found, sizeof found);
}

/* Send the text that describes a run, if the options ask for one. Returns MS_OK; MS_E_NOMEM; as
 * `describe`. */
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

/* Build and run a job in the child, call `keep` and `describe`, and send the answer. Never returns.
 * ticket: of the job. pipe: end to write to. */
static void run_child(const pool *p, const ms_job_spec *spec, size_t ticket, int pipe) {
    size_t failures = ms_failure_count();
    ms_arena arena;
    ms_arena_init(&arena);
    talker output = {.pipe = pipe};
    ms_buffer_init(&output.reason);
    ms_diag diag;
    ms_diag_init(&diag, send_talk, &output);
    diag.reason = &output.reason;
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
    /* a failure of the system passed for a fault of the job, or was overlooked: send it instead */
    if (failed != status) {
        status = failed;
        output.reason.length = 0;
        output.is_reason_sent = false;
        diag = (ms_diag){0};
        ms_diag_init(&diag, send_talk, &output);
        diag.reason = &output.reason;
        ms_diag_error(&diag, "%s", ms_failure_text());
    }
    send_answer(pipe, status, &result);
    _exit(ms_status_exit_code(status)); /* exit would flush buffers that are the parent's */
}

/* Main function of a forked child: give interrupts their usual effect again, make the child end
 * with its parent (by SIGTERM), and run the job. Never returns. parent: the parent's process id. */
static void begin_child(const pool *p, const ms_job_spec *spec, size_t ticket, pid_t parent,
                        int pipe) {
    ms_interrupt_obey();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(MS_EXIT_SIGNAL + SIGTERM); /* the parent ended before prctl took effect */
    }
    sigprocmask(SIG_SETMASK, &p->signals, NULL);
    run_child(p, spec, ticket, pipe);
}

/* Fork a child for a job, and add it to the pool's workers. ticket: of the job, from the feed.
 * Returns MS_OK; MS_E_IO (reported). */
static ms_status start_child(pool *p, const ms_job_spec *spec, size_t ticket) {
    int ends[2];
    if (p->started > 0 && spec->simulation.fidelity != MS_FIDELITY_ANALYTIC) {
        ms_engine_load_simgrid(); /* at the second job, so that no later child has to load it */
    }
    if (pipe(ends) != 0) {
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        begin_child(p, spec, ticket, parent, ends[1]); /* never returns */
    }
    int error = errno; /* of fork */
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(error));
        return MS_E_IO;
    }
    worker *child = &p->workers[p->running++];
    *child = (worker){.pid = pid, .pipe = ends[0], .ticket = ticket};
    ms_buffer_init(&child->bytes);
    p->started++;
    return MS_OK;
}

/* ---- the parent ---- */

/* Report a child's bad end as if the child had reported it: append a message, which is also the
 * reason unless the child sent one. parts: [MARKS] contents of the child's frames by mark. */
__attribute__((format(printf, 2, 3))) static void report_end(ms_buffer *parts, const char *format,
                                                             ...) {
    char what[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ms_buffer_printf(&parts[TALK], "meshsim: error: %s\n", what);
    ms_buffer_puts(&parts[REASON], parts[REASON].length == 0 ? what : "");
}

/* Find the status of a child that ended without an answer, and add a message. A crash is MS_E_BUG;
 * SIGKILL, and exit codes that are not meshsim's own, are taken for a lack of memory. state: of
 * waitpid. parts: [MARKS] as for report_end. */
static ms_status explain_end(int state, ms_buffer *parts) {
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (number == SIGKILL) {
        report_end(parts, "the simulation was killed, as when memory runs out");
        return MS_E_NOMEM;
    }
    if (code == ms_status_exit_code(MS_E_NOMEM) && parts[TALK].length > 0) {
        return MS_E_NOMEM; /* the child has reported it itself */
    }
    if (code > MS_EXIT_SIGNAL) {
        report_end(parts, "the simulation was interrupted");
        return MS_E_INTERRUPTED;
    }
    /* Some libraries end a process that gets no memory: the dynamic loader with exit code 127,
     * Fortran's library with 1. */
    bool is_own = code == 0 || code == ms_status_exit_code(MS_E_BUG);
    if (number == 0 && !is_own) {
        report_end(parts,
                   "the simulation ended without a result, exit code %d, as when memory runs out",
                   code);
        return MS_E_NOMEM;
    }
    if (number != 0) {
        report_end(parts, "the simulation crashed with signal %d (%s)", number, strsignal(number));
    } else {
        report_end(parts, "the simulation ended without an answer, code %d", code);
    }
    return MS_E_BUG;
}

/* Sort the contents of the frames that a child sent by their marks. bytes: all that it sent. parts:
 * [MARKS], appended to. */
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

/* Copy a child's message, reason and description to the arena, as far as its status has them, and
 * release the parts. parts: [MARKS]. outcome: its status is set. Returns false when memory ran
 * out. */
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

/* Collect a child that has closed its pipe: wait for its end, make an outcome of what it sent, and
 * remove it from the list of workers. at: index of the worker in p->workers; the last worker moves
 * to this index. *outcome: texts in the arena. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status collect_child(pool *p, size_t at, ms_worker_outcome *outcome) {
    worker *child = &p->workers[at];
    int state = 0;
    ms_buffer parts[MARKS];
    answer found;
    close(child->pipe);
    while (waitpid(child->pid, &state, 0) < 0 && errno == EINTR) {
    }
    for (int mark = 0; mark < MARKS; mark++) {
        ms_buffer_init(&parts[mark]);
    }
    read_frames(&child->bytes, parts);
    if (parts[ANSWER].length == sizeof found) {
        memcpy(&found, ms_buffer_text(&parts[ANSWER]), sizeof found);
        *outcome = (ms_worker_outcome){.status = found.status, .figures = found.figures};
    } else {
        *outcome = (ms_worker_outcome){.status = explain_end(state, parts)};
    }
    bool has_all = keep_texts(p, parts, outcome) && !child->bytes.failed;
    ms_buffer_release(&child->bytes);
    p->workers[at] = p->workers[--p->running];
    p->may_have_more = true;
    return has_all ? MS_OK : report_no_memory(p);
}

/* Whether an interrupt has come. A pending signal is let in first, by restoring the caller's mask
 * for a moment: a poll that finds a child ready at once lets none in, and every poll may be such
 * where children end faster than rows are kept. */
static bool is_interrupted(const pool *p) {
    sigset_t all;
    sigprocmask(SIG_SETMASK, &p->signals, &all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return ms_interrupt_pending_signal() != 0;
}

/* Read once from the pipe of a child; at its end, collect the child and pass its outcome to the
 * feed. at: index of the worker. Returns MS_OK; MS_E_INTERRUPTED; MS_E_IO (reported); as
 * collect_child and `done` of the feed. */
static ms_status read_from_child(pool *p, size_t at) {
    char block[BLOCK_B];
    worker *child = &p->workers[at];
    size_t ticket = child->ticket;
    ssize_t got = read(child->pipe, block, sizeof block);
    if (got > 0) {
        ms_buffer_add(&child->bytes, block, (size_t)got);
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
    ms_status status = collect_child(p, at, &outcome);
    if (status == MS_OK && outcome.status == MS_E_INTERRUPTED && is_interrupted(p)) {
        return MS_E_INTERRUPTED; /* Ctrl-C reaches child and parent; the child has ended first */
    }
    return status == MS_OK ? p->feed->done(p->feed->context, ticket, &outcome) : status;
}

/* Wait until a child has written or ended, and read once from each that has. A signal that arrives
 * during the wait ends it with MS_OK. wait_s: longest wait [s]; 0: no limit. Returns as
 * read_from_child. */
static ms_status wait_for_children(pool *p, double wait_s) {
    const struct timespec limit = {.tv_sec = (time_t)wait_s,
                                   .tv_nsec = (long)((wait_s - floor(wait_s)) * 1e9)};
    for (size_t i = 0; i < p->running; i++) {
        p->polls[i] = (struct pollfd){.fd = p->workers[i].pipe, .events = POLLIN};
    }
    if (ppoll(p->polls, (nfds_t)p->running, wait_s > 0 ? &limit : NULL, &p->signals) < 0) {
        return errno == EINTR ? MS_OK : report_no_memory(p);
    }
    ms_status status = MS_OK;
    /* backwards, since collect_child moves the last worker to the index of one that has ended */
    for (size_t i = p->running; i-- > 0 && status == MS_OK;) {
        status = p->polls[i].revents != 0 ? read_from_child(p, i) : MS_OK;
    }
    return status;
}

/* End all children that still run, after a failure or an interrupt, and wait for their ends. */
static void stop_children(pool *p) {
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

/* Run one round of the pool: start jobs of the feed in all free slots, let the feed settle, then
 * wait for children. *is_over_out: nothing runs, and the feed has no job. Returns MS_OK;
 * MS_E_INTERRUPTED; the first failure. */
static ms_status run_round(pool *p, bool *is_over_out) {
    ms_status status = MS_OK;
    while (status == MS_OK && p->may_have_more && p->running < p->slots) {
        size_t ticket = 0;
        const ms_job_spec *spec = p->feed->next(p->feed->context, &ticket);
        p->may_have_more = spec != NULL;
        status = spec != NULL ? start_child(p, spec, ticket) : MS_OK;
    }
    *is_over_out = p->running == 0;
    double wait_s = 0;
    if (status == MS_OK && p->feed->settle != NULL) {
        status = p->feed->settle(p->feed->context, &wait_s);
    }
    status = status == MS_OK && !*is_over_out ? wait_for_children(p, wait_s) : status;
    return status == MS_OK && is_interrupted(p) ? MS_E_INTERRUPTED : status;
}

/* All signals are blocked while the pool works, except during its polls (wait_for_children), so
 * that none arrives while a store is written. An interrupt that is held is noted and ends the
 * children; it ends this process only if it arrives after ms_interrupt_obey. */
ms_status ms_workers_stream(const ms_worker_feed *feed, const ms_workers_options *options,
                            ms_arena *arena, ms_diag *diag) {
    size_t slots = options->jobs < 1 ? 1 : (size_t)options->jobs;
    pool p = {.feed = feed,
              .options = options,
              .arena = arena,
              .diag = diag,
              .polls = MS_NEW(arena, struct pollfd, slots),
              .workers = MS_NEW(arena, worker, slots),
              .slots = slots,
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
        status = run_round(&p, &is_over);
    }
    stop_children(&p);
    sigprocmask(SIG_SETMASK, &p.signals, NULL); /* a pending interrupt arrives now and is noted */
    ms_interrupt_obey();
    ms_status rest = feed->settle == NULL ? MS_OK : feed->settle(feed->context, NULL);
    status = status == MS_OK || (status == MS_E_INTERRUPTED && rest != MS_OK) ? rest : status;
    return status == MS_OK && ms_interrupt_pending_signal() != 0 ? MS_E_INTERRUPTED : status;
}

/* ---- a list of jobs ---- */

/* The feed of ms_workers_run: jobs of a list, in order; a ticket is an index into the list. */
typedef struct listed {
    const ms_job_spec *specs; /* [count] */
    size_t count;
    const ms_workers_options *options;
    ms_worker_outcome *outcomes; /* [count] */
    size_t given, ended;         /* jobs handed out, and jobs that have ended */
} listed;

/* `next` of the feed: the next job of the list; NULL at the end. */
static const ms_job_spec *next_listed(void *context, size_t *ticket_out) {
    listed *list = context;
    if (list->given == list->count) {
        return NULL;
    }
    *ticket_out = list->given++;
    return &list->specs[*ticket_out];
}

/* `done` of the feed: keep an outcome, and report progress. outcome: its texts stay in the
 * arena. */
static ms_status end_listed(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    listed *list = context;
    list->outcomes[ticket] = *outcome;
    list->ended++;
    if (list->options->progress != NULL) {
        list->options->progress(list->options->progress_context, list->ended, list->count);
    }
    return MS_OK;
}

ms_status ms_workers_run(const ms_job_spec *specs, size_t count, const ms_workers_options *options,
                         ms_arena *arena, ms_diag *diag, ms_worker_outcome *outcomes_out) {
    listed list = {.specs = specs, .count = count, .options = options, .outcomes = outcomes_out};
    const ms_worker_feed feed = {.next = next_listed, .done = end_listed, .context = &list};
    memset(outcomes_out, 0, count * sizeof *outcomes_out);
    return ms_workers_stream(&feed, options, arena, diag);
}
