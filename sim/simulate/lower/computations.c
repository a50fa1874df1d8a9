/* Lowers computations: works of segments, and their operations on the compute streams of simulated
 * ranks. A work has one copy for each factor on the time of computations (rank-dependent speed),
 * side by side. */
#include "simulate/lower/lowering.h"

int32_t ms_computation_add(ms_lowering *l, const ms_dag_work *work) {
    int32_t first = -1;
    for (int i = 0; i < l->factor_count; i++) {
        ms_dag_work own = *work;
        own.time_s *= l->factors[i];
        int32_t index = ms_dag_add_work(l->dag, &own);
        first = i == 0 ? index : first;
    }
    return first;
}

bool ms_computes_evenly(const ms_lowering *l, int p) {
    const int *factor_of = l->factor_of + p * l->ranks.simulated_per_pp;
    bool is_even = true;
    for (int k = 1; k < l->ranks.simulated_per_pp; k++) {
        is_even = is_even && factor_of[k] == factor_of[0];
    }
    return is_even;
}

/* A segment has a work for each turn (ms_segment_turn): the host may be ahead; the host waits
 * first; or the segment is in an overlapped pair, where it may take longer. */
int32_t ms_segment_work(ms_lowering *l, int segment, ms_segment_turn turn) {
    int32_t *made = &l->computations.segment[MS_TURN_COUNT * segment + (int)turn];
    if (*made < 0) {
        const ms_segment *s = &l->job->costs.segments[segment];
        ms_dag_work work = {.time_s = s->time_s + (turn == MS_TURN_PAIRED ? s->pair_extra_s : 0),
                            .host_s = s->kernels.launches * l->job->host.launch_s,
                            .is_synchronising = turn == MS_TURN_SYNCHRONISED,
                            .flop = s->flop,
                            .bytes = s->bytes_moved,
                            .stands_for = 1,
                            .group_size = 1,
                            .tier = -1,
                            .tag = segment};
        *made = ms_computation_add(l, &work);
    }
    return *made;
}

int32_t ms_no_work(ms_lowering *l) {
    if (l->computations.none < 0) {
        ms_dag_work work = {.stands_for = 1, .group_size = 1, .tier = -1, .tag = -1};
        l->computations.none = ms_computation_add(l, &work);
    }
    return l->computations.none;
}

void ms_compute_lower(ms_lowering *l, int p, const ms_dag_op *op, ms_waits *ends) {
    for (int k = 0; k < l->ranks.simulated_per_pp; k++) {
        /* the number of a simulated rank is also that of its compute stream: these were added
         * first, in the order of ranks */
        int32_t sim = p * l->ranks.simulated_per_pp + k;
        ms_dag_op own = *op;
        own.work += l->factor_of[sim];
        int32_t index = ms_dag_add_op(l->dag, &own);
        ms_dag_add_member(l->dag, sim);
        ms_before_depend(&l->waiting, k, l->dag, sim);
        ms_waits_add(&l->waiting.pool, &ends[k], index, sim);
    }
}
