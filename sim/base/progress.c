/* The state of a long run (progress.h), in atomic variables: one thread writes, another may read at
 * any time. */
#include "base/progress.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/usage.h"

static const double NS_PER_S = 1e9;

static struct {
    _Atomic(const char *) phase;
    _Atomic int64_t done;
    _Atomic int64_t total;
    _Atomic int64_t began_ns;
} state;
/* In a child process: a copy of state.done in memory that the parent reads. */
static int64_t *shared_done = NULL;

void ms_progress_begin(const char *phase, int64_t total) {
    atomic_store(&state.done, 0);
    atomic_store(&state.total, total);
    atomic_store(&state.began_ns, (int64_t)(ms_wall_s() * NS_PER_S));
    atomic_store(&state.phase, phase);
}

void ms_progress_done(int64_t done) {
    atomic_store_explicit(&state.done, done, memory_order_relaxed);
    if (shared_done != NULL) {
        __atomic_store_n(shared_done, done, __ATOMIC_RELAXED);
    }
}

void ms_progress_copy_to(int64_t *copy) {
    shared_done = copy;
}

ms_progress ms_progress_now(void) {
    return (ms_progress){.phase = atomic_load(&state.phase),
                         .done = atomic_load(&state.done),
                         .total = atomic_load(&state.total),
                         .began_s = (double)atomic_load(&state.began_ns) / NS_PER_S};
}
