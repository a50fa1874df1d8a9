/* A run in a process of its own, for SimGrid's engine runs once per process. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>

#include "meshsim/engine.h"
#include "meshsim/progress.h"

/* What the other process leaves: this, then the arrays of the timeline one after the other. */
typedef struct shared_run {
    ms_status status;
    ms_timeline timeline; /* its pointers mean nothing here */
} shared_run;

/* Sizes of the arrays [B]. */
typedef struct array_sizes {
    size_t dates_B, causes_B, links_B;
} array_sizes;

static array_sizes sizes_of(const ms_dag *dag) {
    return (array_sizes){.dates_B = (size_t)dag->op_count * sizeof(double),
                         .causes_B = (size_t)dag->op_count * sizeof(int32_t),
                         .links_B = (size_t)dag->network.link_count * sizeof(double)};
}

static size_t total_B(const array_sizes *sizes) {
    return sizeof(shared_run) + 2 * sizes->dates_B + 3 * sizes->links_B + sizes->causes_B;
}

/* Copy an array in or out of what is shared.  Returns what lies behind it. */
static char *move(char *at, void *array, size_t size, bool is_out) {
    memcpy(is_out ? array : (void *)at, is_out ? (void *)at : array, size);
    return at + size;
}

/* Copy all arrays, dates first, whose alignment is the strictest. */
static void move_arrays(shared_run *shared, const array_sizes *sizes, ms_timeline *t, bool is_out) {
    char *at = (char *)(shared + 1);
    at = move(at, t->start_s, sizes->dates_B, is_out);
    at = move(at, t->end_s, sizes->dates_B, is_out);
    at = move(at, t->link_bytes, sizes->links_B, is_out);
    at = move(at, t->link_busy_s, sizes->links_B, is_out);
    at = move(at, t->link_peak, sizes->links_B, is_out);
    move(at, t->cause, sizes->causes_B, is_out);
}

/* Simulate in the other process; never returns. */
static _Noreturn void run_child(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver,
                                shared_run *shared) {
    ms_arena arena;
    ms_diag mute;
    ms_timeline timeline;
    ms_arena_init(&arena);
    ms_diag_init_mute(&mute);
    ms_status status = ms_engine_run(dag, fidelity, solver, &arena, &mute, &timeline);
    ms_progress_begin(NULL, 0);
    if (status == MS_OK) {
        const array_sizes sizes = sizes_of(dag);
        shared->timeline = timeline;
        move_arrays(shared, &sizes, &timeline, false);
    }
    shared->status = status;
    _exit(0);
}

/* Take over what the other process has left.  Returns MS_OK; MS_E_NOMEM. */
static ms_status take_timeline(const ms_dag *dag, shared_run *shared, ms_arena *arena,
                               ms_timeline *timeline_out) {
    const array_sizes sizes = sizes_of(dag);
    ms_timeline t = shared->timeline;
    t.start_s = MS_NEW(arena, double, dag->op_count);
    t.end_s = MS_NEW(arena, double, dag->op_count);
    t.cause = MS_NEW(arena, int32_t, dag->op_count);
    t.link_bytes = MS_NEW(arena, double, dag->network.link_count);
    t.link_busy_s = MS_NEW(arena, double, dag->network.link_count);
    t.link_peak = MS_NEW(arena, double, dag->network.link_count);
    if (t.start_s == NULL || t.end_s == NULL || t.cause == NULL || t.link_bytes == NULL ||
        t.link_busy_s == NULL || t.link_peak == NULL) {
        return MS_E_NOMEM;
    }
    move_arrays(shared, &sizes, &t, true);
    *timeline_out = t;
    return MS_OK;
}

/* Fork, simulate there, wait.  Returns what simulating came to; MS_E_BUG where the other process
 * left nothing. */
static ms_status run_forked(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver,
                            shared_run *shared) {
    pid_t parent = getpid();
    shared->status = MS_E_BUG;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(1); /* it ended before we asked to be told */
        }
        run_child(dag, fidelity, solver, shared);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return pid < 0 ? MS_E_IO : shared->status;
}

ms_status ms_engine_run_apart(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver,
                              ms_arena *arena, ms_timeline *timeline_out) {
    const array_sizes sizes = sizes_of(dag);
    size_t size_B = total_B(&sizes);
    shared_run *shared =
        mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return MS_E_NOMEM;
    }
    ms_status status = run_forked(dag, fidelity, solver, shared);
    status = status == MS_OK ? take_timeline(dag, shared, arena, timeline_out) : status;
    munmap(shared, size_B);
    return status;
}
