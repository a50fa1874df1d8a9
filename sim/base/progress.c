#include "meshsim/progress.h"

#include <stdatomic.h>

#include "meshsim/usage.h"

static const double NS_PER_S = 1e9;

static _Atomic(const char *) current_phase;
static _Atomic int64_t current_done;
static _Atomic int64_t current_total;
static _Atomic int64_t current_began_ns;

void ms_progress_begin(const char *phase, int64_t total) {
    atomic_store(&current_done, 0);
    atomic_store(&current_total, total);
    atomic_store(&current_began_ns, (int64_t)(ms_wall_s() * NS_PER_S));
    atomic_store(&current_phase, phase);
}

void ms_progress_done(int64_t done) {
    atomic_store_explicit(&current_done, done, memory_order_relaxed);
}

ms_progress ms_progress_now(void) {
    return (ms_progress){.phase = atomic_load(&current_phase),
                         .done = atomic_load(&current_done),
                         .total = atomic_load(&current_total),
                         .began_s = (double)atomic_load(&current_began_ns) / NS_PER_S};
}
