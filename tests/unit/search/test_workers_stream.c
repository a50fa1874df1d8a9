/* Jobs that a feed gives while others run. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "job_fixture.h"
#include "search/workers.h"

enum { LOG_MAX = 64 };

/* A feed that gives the same spec over and over, and writes down what it is asked and told. */
typedef struct probe {
    ms_job_spec spec;
    size_t count;    /* jobs to give */
    size_t follower; /* this one is given only once another has ended */
    size_t given, ended;
    ms_status verdict; /* of every `done` */
    size_t stop_at;    /* this one's end interrupts the parent */
    char log[LOG_MAX]; /* 'n' a job was given, '-' none was, 'd' one ended */
    double step_s;
} probe;

static void note(probe *p, char what) {
    size_t length = strlen(p->log);
    cr_assert_lt(length + 1, (size_t)LOG_MAX);
    p->log[length] = what;
}

static const ms_job_spec *next(void *context, size_t *ticket_out) {
    probe *p = context;
    bool is_over = p->given == p->count || (p->given == p->follower && p->ended == 0);
    note(p, is_over ? '-' : 'n');
    *ticket_out = 100 + p->given;
    p->given += !is_over;
    return is_over ? NULL : &p->spec;
}

static ms_status done(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    probe *p = context;
    note(p, 'd');
    cr_assert(ticket >= 100 && ticket < 100 + p->given, "%zu", ticket);
    cr_assert_eq(outcome->status, MS_OK, "%s", outcome->talk);
    p->step_s = outcome->figures.step_time_s;
    if (++p->ended == p->stop_at) {
        raise(SIGTERM); /* waits until the parent listens again */
    }
    return p->verdict;
}

static void setup(job_fixture *f, probe *p) {
    cr_assert_eq(job_fixture_load(f, "tiny", NULL, NULL, false), MS_OK);
    p->spec = ms_job_spec_derive(&f->job.spec);
}

static ms_status stream(job_fixture *f, probe *p, int jobs) {
    const ms_worker_feed feed = {.next = next, .done = done, .context = p};
    const ms_workers_options options = {.jobs = jobs};
    return ms_workers_stream(&feed, &options, &f->arena, &f->diag);
}

Test(workers_stream, next_knows_what_done_was_told) {
    job_fixture f;
    probe p = {.count = 3, .follower = LOG_MAX};
    setup(&f, &p);
    cr_assert_eq(stream(&f, &p, 1), MS_OK);
    cr_assert_str_eq(p.log, "ndndnd-");
    cr_assert_gt(p.step_s, 0);
    job_fixture_release(&f);
}

Test(workers_stream, who_gives_none_is_asked_again_after_an_end) {
    job_fixture f;
    probe p = {.count = 2, .follower = 1};
    setup(&f, &p);
    cr_assert_eq(stream(&f, &p, 2), MS_OK);
    cr_assert_str_eq(p.log, "n-dn-d-");
    job_fixture_release(&f);
}

Test(workers_stream, without_a_job_it_ends_at_once) {
    job_fixture f;
    probe p = {.count = 0};
    setup(&f, &p);
    cr_assert_eq(stream(&f, &p, 2), MS_OK);
    cr_assert_str_eq(p.log, "-");
    job_fixture_release(&f);
}

Test(workers_stream, what_done_returns_ends_it) {
    job_fixture f;
    probe p = {.count = 3, .follower = LOG_MAX, .verdict = MS_E_IO};
    setup(&f, &p);
    cr_assert_eq(stream(&f, &p, 1), MS_E_IO);
    cr_assert_str_eq(p.log, "nd");
    job_fixture_release(&f);
}

Test(workers_stream, an_interrupt_ends_the_children_and_not_the_caller) {
    job_fixture f;
    probe p = {.count = 50, .follower = LOG_MAX, .stop_at = 2};
    setup(&f, &p);
    ms_interrupt_install();
    cr_assert_eq(stream(&f, &p, 2), MS_E_INTERRUPTED);
    cr_assert_eq(ms_interrupt_pending_signal(), SIGTERM);
    cr_assert_lt(p.ended, (size_t)5, "%s", p.log);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
    job_fixture_release(&f);
}

/* A child that never ends by itself. */
static ms_status sleep_long(void *context, size_t index, const ms_result *result, ms_diag *diag) {
    (void)result;
    (void)diag;
    const pid_t *parent = context;
    if (index == 101) {
        kill(*parent, SIGINT);
    }
    pause();
    return MS_OK;
}

Test(workers_stream, children_that_would_go_on_are_ended) {
    job_fixture f;
    probe p = {.count = 2, .follower = LOG_MAX};
    setup(&f, &p);
    ms_interrupt_install();
    pid_t parent = getpid();
    const ms_worker_feed feed = {.next = next, .done = done, .context = &p};
    const ms_workers_options options = {.jobs = 2, .keep = sleep_long, .keep_context = &parent};
    cr_assert_eq(ms_workers_stream(&feed, &options, &f.arena, &f.diag), MS_E_INTERRUPTED);
    cr_assert_str_eq(p.log, "nn");
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
    job_fixture_release(&f);
}

/* ---- settling ---- */

/* A child that ends once the parent has settled so often. */
typedef struct settler {
    probe p;
    int calls, pipe[2];
    double wait_s;
} settler;

static const ms_job_spec *next_of(void *context, size_t *ticket_out) {
    return next(&((settler *)context)->p, ticket_out);
}

static ms_status done_of(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    return done(&((settler *)context)->p, ticket, outcome);
}

static ms_status settle(void *context, double *wait_s_out) {
    enum { ENOUGH = 3 };
    settler *s = context;
    if (wait_s_out == NULL) { /* nothing runs any more */
        note(&s->p, 'e');
        return s->p.verdict;
    }
    size_t length = strlen(s->p.log);
    if (length == 0 || s->p.log[length - 1] != 's') { /* it may hear of a child in parts */
        note(&s->p, 's');
    }
    *wait_s_out = s->wait_s;
    bool is_enough = ++s->calls == ENOUGH;
    cr_assert(!is_enough || write(s->pipe[1], "x", 1) == 1);
    return s->p.verdict;
}

static ms_status wait_for_settling(void *context, size_t index, const ms_result *result,
                                   ms_diag *diag) {
    enum { LIMIT_MS = 20000 };
    (void)index, (void)result, (void)diag;
    struct pollfd told = {.fd = ((settler *)context)->pipe[0], .events = POLLIN};
    return poll(&told, 1, LIMIT_MS) == 1 ? MS_OK : MS_E_BUG;
}

static ms_status stream_settled(job_fixture *f, settler *s, bool waits) {
    const ms_worker_feed feed = {.next = next_of, .done = done_of, .settle = settle, .context = s};
    const ms_workers_options options = {
        .jobs = 1, .keep = waits ? wait_for_settling : NULL, .keep_context = s};
    return ms_workers_stream(&feed, &options, &f->arena, &f->diag);
}

Test(workers_stream, places_are_taken_again_before_it_settles) {
    job_fixture f;
    settler s = {.p = {.count = 2, .follower = LOG_MAX}};
    setup(&f, &s.p);
    cr_assert_eq(pipe(s.pipe), 0);
    cr_assert_eq(stream_settled(&f, &s, false), MS_OK);
    cr_assert_str_eq(s.p.log, "nsdnsd-se");
    s.p = (probe){.spec = s.p.spec, .count = 2, .follower = LOG_MAX, .verdict = MS_E_IO};
    cr_assert_eq(stream_settled(&f, &s, false), MS_E_IO);
    cr_assert_str_eq(s.p.log, "nse");
    job_fixture_release(&f);
}

Test(workers_stream, who_settles_is_asked_again_while_others_run) {
    job_fixture f;
    settler s = {.p = {.count = 1, .follower = LOG_MAX}, .wait_s = 0.001};
    setup(&f, &s.p);
    cr_assert_eq(pipe(s.pipe), 0);
    cr_assert_eq(stream_settled(&f, &s, true), MS_OK);
    cr_assert_str_eq(s.p.log, "nsd-se"); /* the child has heard of three calls */
    job_fixture_release(&f);
}
