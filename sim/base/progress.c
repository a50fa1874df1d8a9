#include "meshsim/progress.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "meshsim/usage.h"

static const double NS_PER_S = 1e9;

typedef struct progress_state {
    _Atomic(const char *) phase; /* static text, which lies at one place in all forked processes */
    _Atomic int64_t done;
    _Atomic int64_t total;
    _Atomic int64_t began_ns;
} progress_state;

static progress_state own;
static _Atomic(progress_state *) current = &own;

void ms_progress_begin(const char *phase, int64_t total) {
    progress_state *state = atomic_load(&current);
    atomic_store(&state->done, 0);
    atomic_store(&state->total, total);
    atomic_store(&state->began_ns, (int64_t)(ms_wall_s() * NS_PER_S));
    atomic_store(&state->phase, phase);
}

void ms_progress_done(int64_t done) {
    progress_state *state = atomic_load_explicit(&current, memory_order_relaxed);
    atomic_store_explicit(&state->done, done, memory_order_relaxed);
}

ms_progress ms_progress_now(void) {
    const progress_state *state = atomic_load(&current);
    return (ms_progress){.phase = atomic_load(&state->phase),
                         .done = atomic_load(&state->done),
                         .total = atomic_load(&state->total),
                         .began_s = (double)atomic_load(&state->began_ns) / NS_PER_S};
}

static void copy_state(progress_state *to, const progress_state *from) {
    atomic_store(&to->done, atomic_load(&from->done));
    atomic_store(&to->total, atomic_load(&from->total));
    atomic_store(&to->began_ns, atomic_load(&from->began_ns));
    atomic_store(&to->phase, atomic_load(&from->phase));
}

void ms_progress_share(void) {
    static progress_state *shared = NULL; /* to the end: another thread may be reading it */
    if (shared == NULL) {
        void *memory =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return; /* then only this process tells */
        }
        shared = memory;
    }
    copy_state(shared, &own);
    atomic_store(&current, shared);
}

void ms_progress_unshare(void) {
    progress_state *state = atomic_load(&current);
    if (state != &own) {
        copy_state(&own, state);
        atomic_store(&current, &own);
    }
}
