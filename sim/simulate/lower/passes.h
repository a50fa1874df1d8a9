/* A pass under way, for pairs, which lower two of them in turns. */
#ifndef MS_LOWER_PASSES_H
#define MS_LOWER_PASSES_H

#include "simulate/lower/lowering.h"

/* A pass under way on one pipeline rank. */
typedef struct ms_pass_state {
    int p;
    const ms_action *action;
    const ms_pass_plan *plan;
    int segment;         /* of the plan, that comes next */
    ms_waits *next;      /* [k] what the pass's next operation waits for */
    ms_waits *ended;     /* [segment * k] what waits for one of its asynchronous segments */
    bool *is_awaited;    /* [segment] whether a segment has waited for it */
    ms_waits *inputs[2]; /* [k] each: what the first segment that is not asynchronous waits for,
                            too; NULL: nothing, or it has been waited for */
    bool has_beside;     /* an asynchronous segment has been lowered, or one that waits for such */
    bool is_held;        /* the newest segment is a collective that holds up those behind it */
    bool is_done;
    bool is_synchronised; /* the rank's host has waited before the pass, or need not wait */
    bool is_paired;
} ms_pass_state;

/* The two passes of a pair: each waits for the inputs of both, and for lists of its own. */
void ms_pass_begin_pair(const ms_lowering *l, int p, const ms_action *pair,
                        ms_pass_state states_out[2]);
/* Lower the rest of a pass; until_held: only up to where what follows waits for a collective, and
 * at least one segment. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held);
/* Lower a computation that takes no time: a pass without any work still passes its input on. */
void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state);
/* Book a pass as done: what runs beside it still is left to the rank's update. */
void ms_pass_end(ms_lowering *l, const ms_pass_state *state);
/* Tell the next stage, or at the last one this stage's own backward pass, that a pass's result is
 * there: what the rank waits for next. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_on(ms_lowering *l, int p, const ms_action *action);

#endif
