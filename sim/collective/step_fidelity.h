/* Plans of fidelity `step`, in which every step of an algorithm is a phase by itself. See decision
 * note steps.md. */
#ifndef MS_COLLECTIVE_STEP_FIDELITY_H
#define MS_COLLECTIVE_STEP_FIDELITY_H

#include "collective/crossings.h"

/* Maximum number of steps of a plan; where an algorithm has more, several of them are one phase. */
enum { MS_STEPS_MAX = 512 };

/* Number of chunks, and so of steps, of a collective of size_B bytes through trees or switches,
 * 1..MS_STEPS_MAX. It does not depend on the places of the members, so all groups of a class have
 * equally many. */
int ms_steps_of_chunks(const ms_platform *platform, double size_B);

/* Messages that run at the same time, in each of several steps. */
typedef struct ms_step_messages {
    const ms_message *messages; /* [count] */
    int count;
    double message_B[MS_FAMILY_COUNT]; /* of each message of a family, all steps together [B] */
    double slowness[MS_FAMILY_COUNT];  /* as in ms_flow */
} ms_step_messages;

/* Plan messages in `steps` equal phases, each with an equal part of their bytes and of the
 * latency.  *plan: receives the phases, which share one list of flows, in `arena`, and the tier.
 * Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_repeat(const ms_platform *platform, const ms_step_messages *messages, int steps,
                          double latency_s, ms_arena *arena, ms_coll_plan *plan);

/* Split the one phase of a plan into `steps` phases, each with an equal part of its bytes and
 * latency, over the same flows. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_split(int steps, ms_arena *arena, ms_coll_plan *plan);

/* Plan the routes of `crossings` in the fidelity asked for: as one phase with one flow
 * (ms_crossings_plan); if crossings->is_stepped, as messages in `steps` equal phases; if also
 * is_coarse, as one flow in `steps` equal phases.  crossing_B: bytes on each crossing of a link,
 * all steps together. latency_s: of all steps together. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_steps_plan(ms_crossings *crossings, double crossing_B, double latency_s, int steps,
                        ms_arena *arena, ms_coll_plan *plan);

#endif
