/* An overlapped pair: a forward and a backward pass whose segments take turns, so that the one
 * computes while collectives of the other are under way. */
#include <string.h>

#include "lower/passes.h"

/* Let a pass of the pair go on where it stood, up to its next collective. */
static ms_status take_turn(ms_lowering *l, ms_pass_state *state, ms_pair_tails *own) {
    size_t first = (size_t)state->p * (size_t)l->sims, count = (size_t)l->sims;
    memcpy(l->tail + first, own->tail, count * sizeof *own->tail);
    memcpy(l->tail_communicates + first, own->communicates, count * sizeof *own->communicates);
    ms_status status = ms_pass_run(l, state, true);
    memcpy(own->tail, l->tail + first, count * sizeof *own->tail);
    memcpy(own->communicates, l->tail_communicates + first, count * sizeof *own->communicates);
    return status;
}

/* Make the end of both passes the end of the rank's chain: the later computation, since the compute
 * stream runs in order, or a computation that takes no time and waits for both. */
static void join_tails(ms_lowering *l, ms_pass_state *last) {
    const ms_pair_tails *forward = &l->pair_tails[0], *backward = &l->pair_tails[1];
    bool has_communication = false;
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = last->p * l->sims + k;
        bool is_later = forward->tail[k] > backward->tail[k];
        l->tail[sim] = is_later ? forward->tail[k] : backward->tail[k];
        l->tail_communicates[sim] = false;
        has_communication =
            has_communication || forward->communicates[k] || backward->communicates[k];
    }
    if (has_communication) {
        last->inputs[0] = forward->tail;
        last->inputs[1] = backward->tail;
        ms_pass_lower_nothing(l, last);
    }
}

ms_status ms_pair_lower(ms_lowering *l, int p, const ms_action *pair) {
    ms_pass_state states[2];
    for (int i = 0; i < 2; i++) {
        size_t first = (size_t)p * (size_t)l->sims, count = (size_t)l->sims;
        states[i] = ms_pass_begin(l, p, &pair[i]);
        states[i].inputs[1] = ms_pass_inputs(l, &pair[1 - i]);
        states[i].async_ends += (size_t)i * (size_t)l->longest_pass * count;
        memcpy(l->pair_tails[i].tail, l->tail + first, count * sizeof *l->tail);
        memcpy(l->pair_tails[i].communicates, l->tail_communicates + first,
               count * sizeof *l->tail_communicates);
    }
    ms_status status = MS_OK;
    while (status == MS_OK && (!states[0].is_done || !states[1].is_done)) {
        for (int i = 0; i < 2 && status == MS_OK; i++) {
            status = states[i].is_done ? MS_OK : take_turn(l, &states[i], &l->pair_tails[i]);
        }
    }
    if (status != MS_OK) {
        return status;
    }
    join_tails(l, &states[1]);
    for (int i = 0; i < 2 && status == MS_OK; i++) {
        status = ms_pass_end(l, &states[i]);
        status = status == MS_OK ? ms_pass_on(l, p, &pair[i]) : status;
    }
    if (status == MS_OK && l->in->is_blocking) {
        ms_hold_for_messages(l, p, pair, 2);
    }
    return status;
}
