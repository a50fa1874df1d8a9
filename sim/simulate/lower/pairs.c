/* Lowers overlapped pairs: a forward and a backward pass of one rank whose segments take turns, so
 * that one pass computes while collectives of the other are under way (pairs.md). */
#include "simulate/lower/passes.h"

/* Let the rank's next operation wait for the ends of both passes. If both end with a computation,
 * the later one is enough, since the compute stream runs in order. If either ends with a
 * collective, a computation that takes no time waits for both, and stands for both ends. */
static void join_ends(ms_lowering *l, ms_pass_state states[2]) {
    int p = states[0].p;
    ms_waits *next = ms_next(l, p);
    bool has_communication = false;
    for (int k = 0; k < l->waiting.count; k++) {
        int32_t sim = p * l->waiting.count + k;
        ms_waits_clear(&l->waiting.pool, &next[k]);
        for (int i = 0; i < 2; i++) {
            ms_waits *own = &states[i].next[k];
            has_communication = has_communication || ms_waits_has_other(&l->waiting.pool, own, sim);
            ms_waits_take(&l->waiting.pool, &next[k], own);
        }
    }
    if (has_communication) {
        states[1].next = next;
        ms_pass_lower_nothing(l, &states[1]);
    }
}

/* Lower the two passes in turns. Each turn lowers one pass from where its last turn ended up to and
 * including its next collective, so that the other pass computes while that collective is under
 * way. */
static ms_status take_turns(ms_lowering *l, ms_pass_state states[2]) {
    ms_status status = MS_OK;
    while (status == MS_OK && (!states[0].is_done || !states[1].is_done)) {
        for (int i = 0; i < 2 && status == MS_OK; i++) {
            status = states[i].is_done ? MS_OK : ms_pass_run(l, &states[i], true);
        }
    }
    return status;
}

/* The two passes have lists of their own for the operations that their next operation waits for
 * (ms_pass_state.next), since neither waits for the other; join_ends joins the lists. */
ms_status ms_pair_lower(ms_lowering *l, int p, const ms_action *pair) {
    ms_pass_state states[2];
    ms_pass_begin_pair(l, p, pair, states);
    /* both passes wait for the rank's previous operations, each with a list of its own */
    for (int k = 0; k < l->waiting.count; k++) {
        ms_waits_merge(&l->waiting.pool, &states[0].next[k], &ms_next(l, p)[k]);
        ms_waits_merge(&l->waiting.pool, &states[1].next[k], &ms_next(l, p)[k]);
    }
    ms_status status = take_turns(l, states);
    if (status != MS_OK) {
        return status;
    }
    join_ends(l, states);
    ms_pass_end(l, &states[0]);
    ms_pass_end(l, &states[1]);
    for (int i = 0; i < 2 && status == MS_OK; i++) {
        status = ms_pass_send_result(l, p, &pair[i]);
    }
    if (status == MS_OK && ms_job_is_blocking(l->job)) {
        ms_barrier_lower(l, p, pair, 2);
    }
    return status;
}
