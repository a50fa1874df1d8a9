/* A child writes frames to its pipe: its messages as they come, and at the end what it found. A
 * frame is a mark, the number of bytes, and the bytes. */
#include "meshsim/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TALK = 'T', SIZES = 'S', SUMMARY = 'R' };
enum { BLOCK_B = 65536, EXIT_SIGNAL = 128 };

typedef struct frame {
    char mark;
    size_t length; /* bytes behind it */
} frame;

/* What SIZES holds. */
typedef struct sizes {
    ms_status status;
    int chunks;
    int parameter_replicas;
} sizes;

typedef struct worker {
    pid_t pid;
    int pipe; /* its end to read from */
    size_t index;
    ms_buffer bytes;
} worker;

typedef struct pool {
    const ms_job_request *requests;
    size_t count;
    const ms_workers_options *options;
    ms_arena *arena;
    ms_diag *diag;
    ms_worker_outcome *outcomes;
    worker *workers; /* [running] */
    size_t running;
    size_t started;
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

static void send_frame(int pipe, char mark, const void *bytes, size_t length) {
    frame head;
    memset(&head, 0, sizeof head); /* padding too: it is written */
    head.mark = mark;
    head.length = length;
    send_bytes(pipe, (const char *)&head, sizeof head);
    send_bytes(pipe, bytes, length);
}

static void send_talk(void *context, const char *text) {
    send_frame(*(const int *)context, TALK, text, strlen(text));
}

static void send_answer(int pipe, ms_status status, const ms_job *job, const ms_result *result) {
    sizes found = {.status = status,
                   .chunks = job->program.spec.chunks,
                   .parameter_replicas = job->program.parameter_replicas};
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    if (status == MS_OK) {
        ms_value_pack(result->summary, &bytes);
        found.status = bytes.failed ? MS_E_NOMEM : MS_OK;
        send_frame(pipe, SUMMARY, bytes.data, bytes.failed ? 0 : bytes.length);
    }
    send_frame(pipe, SIZES, &found, sizeof found);
}

/* Load, run, keep, answer; never returns. */
static void run_child(const pool *p, size_t index, int pipe) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_diag diag;
    ms_diag_init(&diag, send_talk, &pipe);
    ms_job job = {0};
    ms_result result = {0};
    ms_status status = ms_job_load(&p->requests[index], &arena, &diag, &job);
    if (status == MS_OK) {
        status = ms_job_run(&job, &arena, &diag, &result);
    }
    if (status == MS_OK && p->options->keep != NULL) {
        status = p->options->keep(p->options->context, index, &result, &diag);
    }
    ms_diag_finish(&diag);
    send_answer(pipe, status, &job, &result);
    _exit(ms_status_exit_code(status)); /* the standard streams and their buffers are the parent's
                                         */
}

static ms_status start(pool *p) {
    int ends[2];
    if (pipe(ends) != 0) {
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(EXIT_SIGNAL + SIGTERM); /* it ended before we asked to be told */
        }
        run_child(p, p->started, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        ms_diag_error(p->diag, "cannot start a simulation: %s", strerror(errno));
        return MS_E_IO;
    }
    worker *w = &p->workers[p->running++];
    *w = (worker){.pid = pid, .pipe = ends[0], .index = p->started++};
    ms_buffer_init(&w->bytes);
    return MS_OK;
}

/* ---- the parent ---- */

/* What a child without an answer says by its end. */
static void explain_end(int state, ms_worker_outcome *outcome, ms_buffer *talk) {
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (number == SIGKILL) {
        outcome->status = MS_E_NOMEM;
        ms_buffer_puts(talk,
                       "meshsim: error: the simulation was killed, as when memory runs out\n");
    } else if (code == ms_status_exit_code(MS_E_NOMEM) && talk->length > 0) {
        outcome->status = MS_E_NOMEM; /* which it has said itself */
    } else if (code > EXIT_SIGNAL) {
        outcome->status = MS_E_INTERRUPTED;
        ms_buffer_puts(talk, "meshsim: error: the simulation was interrupted\n");
    } else if (number != 0) {
        outcome->status = MS_E_BUG;
        ms_buffer_printf(talk, "meshsim: error: the simulation crashed with signal %d (%s)\n",
                         number, strsignal(number));
    } else {
        outcome->status = MS_E_BUG;
        ms_buffer_printf(talk, "meshsim: error: the simulation ended without an answer, code %d\n",
                         code);
    }
}

/* Take apart what a child sent; true if it answered. */
static bool read_frames(const pool *p, const ms_buffer *bytes, ms_worker_outcome *outcome,
                        ms_buffer *talk) {
    bool has_answer = false;
    frame head;
    for (size_t at = 0; bytes->length - at >= sizeof head; at += head.length) {
        memcpy(&head, bytes->data + at, sizeof head);
        at += sizeof head;
        if (head.length > bytes->length - at) {
            break; /* it ended in the middle */
        }
        const char *data = bytes->data + at;
        sizes found;
        if (head.mark == TALK) {
            ms_buffer_add(talk, data, head.length);
        } else if (head.mark == SUMMARY) {
            outcome->summary = ms_value_unpack(data, head.length, p->arena);
        } else if (head.mark == SIZES && head.length == sizeof found) {
            memcpy(&found, data, sizeof found);
            outcome->status = found.status;
            outcome->chunks = found.chunks;
            outcome->parameter_replicas = found.parameter_replicas;
            has_answer = true;
        }
    }
    return has_answer;
}

/* A child has closed its pipe: wait for its end, and note what it said. */
static ms_status finish(pool *p, size_t at) {
    worker *w = &p->workers[at];
    ms_worker_outcome *outcome = &p->outcomes[w->index];
    int state = 0;
    close(w->pipe);
    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR) {
    }
    ms_buffer talk;
    ms_buffer_init(&talk);
    *outcome = (ms_worker_outcome){.status = MS_OK};
    if (!read_frames(p, &w->bytes, outcome, &talk)) {
        explain_end(state, outcome, &talk);
    }
    bool has_failed =
        w->bytes.failed || talk.failed || (outcome->status == MS_OK && outcome->summary == NULL);
    outcome->talk = ms_arena_strdup(p->arena, ms_buffer_text(&talk));
    ms_buffer_release(&talk);
    ms_buffer_release(&w->bytes);
    p->workers[at] = p->workers[--p->running];
    return has_failed || outcome->talk == NULL ? report_no_memory(p) : MS_OK;
}

/* Take what one child has to say. */
static ms_status listen_to(pool *p, size_t at) {
    char block[BLOCK_B];
    worker *w = &p->workers[at];
    ssize_t got = read(w->pipe, block, sizeof block);
    if (got > 0) {
        ms_buffer_add(&w->bytes, block, (size_t)got);
        return MS_OK;
    }
    if (got < 0 && errno == EINTR) {
        return MS_OK;
    }
    ms_status status = finish(p, at);
    if (status == MS_OK && p->options->progress != NULL) {
        p->options->progress(p->options->context, p->started - p->running, p->count);
    }
    return status;
}

/* Wait until some child has something to say, and take it. */
static ms_status listen_once(pool *p, struct pollfd *polls) {
    for (size_t i = 0; i < p->running; i++) {
        polls[i] = (struct pollfd){.fd = p->workers[i].pipe, .events = POLLIN};
    }
    if (poll(polls, (nfds_t)p->running, -1) < 0) {
        return errno == EINTR ? MS_OK : report_no_memory(p);
    }
    ms_status status = MS_OK;
    for (size_t i = p->running; i-- > 0 && status == MS_OK;) { /* finished ones leave the end */
        status = polls[i].revents != 0 ? listen_to(p, i) : MS_OK;
    }
    return status;
}

/* End what still runs after a failure. */
static void stop_all(pool *p) {
    for (size_t i = 0; i < p->running; i++) {
        kill(p->workers[i].pid, SIGTERM);
        close(p->workers[i].pipe);
        waitpid(p->workers[i].pid, NULL, 0);
        ms_buffer_release(&p->workers[i].bytes);
    }
    p->running = 0;
}

ms_status ms_workers_run(const ms_job_request *requests, size_t count,
                         const ms_workers_options *options, ms_arena *arena, ms_diag *diag,
                         ms_worker_outcome *outcomes_out) {
    size_t jobs = options->jobs < 1 ? 1 : (size_t)options->jobs;
    jobs = jobs < count ? jobs : count;
    pool p = {.requests = requests,
              .count = count,
              .options = options,
              .arena = arena,
              .diag = diag,
              .outcomes = outcomes_out,
              .workers = MS_NEW(arena, worker, jobs)};
    struct pollfd *polls = MS_NEW(arena, struct pollfd, jobs);
    if (p.workers == NULL || polls == NULL) {
        return report_no_memory(&p);
    }
    ms_status status = MS_OK;
    while (status == MS_OK && (p.started < count || p.running > 0)) {
        if (p.running < jobs && p.started < count) {
            status = start(&p);
        } else {
            status = listen_once(&p, polls);
        }
    }
    stop_all(&p);
    return status;
}

const char *ms_worker_reason(const ms_worker_outcome *outcome, ms_arena *arena) {
    static const char MARK[] = "error: ";
    const char *found = strstr(outcome->talk, MARK);
    const char *text = found == NULL ? ms_status_name(outcome->status) : found + sizeof MARK - 1;
    return ms_arena_strndup(arena, text, strcspn(text, "\n"));
}
