/* A run that goes on in a process of its own once it needs SimGrid. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/run.h"
#include "meshsim/engine.h"

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

/* The other process has come to the end of the run: leave what it found, and end. */
static _Noreturn void leave(const ms_dag *dag, shared_run *shared, ms_status status,
                            ms_timeline *timeline) {
    if (status == MS_OK) {
        const array_sizes sizes = sizes_of(dag);
        shared->timeline = *timeline;
        move_arrays(shared, &sizes, timeline, false);
    }
    shared->status = status;
    _exit(0);
}

/* Take over what the other process has left: its arrays are where they were before it was started,
 * so that they have room in this one, too. */
static ms_timeline take_timeline(const ms_dag *dag, shared_run *shared) {
    const array_sizes sizes = sizes_of(dag);
    ms_timeline t = shared->timeline;
    move_arrays(shared, &sizes, &t, true);
    return t;
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
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_apart apart = {.status = &shared->status};
    const ms_engine_choice choice = {fidelity, solver, &apart};
    ms_timeline timeline;
    ms_status status = ms_engine_run_choice(dag, &choice, arena, &mute, &timeline);
    if (apart.is_other) {
        leave(dag, shared, status, &timeline);
    }
    status = apart.is_split ? shared->status : status;
    if (status == MS_OK) {
        *timeline_out = apart.is_split ? take_timeline(dag, shared) : timeline;
    }
    munmap(shared, size_B);
    return status;
}
