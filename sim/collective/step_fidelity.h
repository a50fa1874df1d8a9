/* Plans of fidelity `step`: every step of an algorithm by itself. See decision note steps.md. */
#ifndef MS_COLLECTIVE_STEPS_H
#define MS_COLLECTIVE_STEPS_H

#include "collective/crossings.h"

/* Steps that a plan has at most: where an algorithm takes more, several are played as one. */
enum { MS_STEPS_MAX = 512 };

/* Chunks of a collective whose bytes flow through trees or switches, at most MS_STEPS_MAX: the same
 * for all groups of a class, however they lie. */
int ms_steps_of_chunks(const ms_platform *platform, double size_B);

/* Messages that run at the same time, in each of several steps. */
typedef struct ms_step_messages {
    const ms_message *messages; /* [count] */
    int count;
    double message_B[MS_FAMILY_COUNT]; /* of each, all steps together [B] */
    double slowness[MS_FAMILY_COUNT];  /* as in ms_flow */
} ms_step_messages;

/* Play messages `steps` times, an equal part of their bytes and of the latency in each.  *plan:
 * gets its phases, whose flows are one list, in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_repeat(const ms_platform *platform, const ms_step_messages *messages, int steps,
                          double latency_s, ms_arena *arena, ms_coll_plan *plan);

/* Repeat the one phase of a plan `steps` times with an equal part of the bytes each, over the same
 * flows. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_split(int steps, ms_arena *arena, ms_coll_plan *plan);

/* Plan the routes of `crossings`: as ms_crossings_plan does, or, where `crossings` is stepped, as
 * messages in `steps` equal steps; where messages are not told apart (is_coarse), as one flow in
 * `steps` equal steps. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_plan(ms_crossings *crossings, double crossing_B, double latency_s, int steps,
                        ms_arena *arena, ms_coll_plan *plan);

#endif
