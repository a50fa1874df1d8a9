/* The state of a pass that is being lowered. Passes that run alone are lowered in one go
 * (passes.c); overlapped pairs lower two passes in turns (pairs.c). */
#ifndef MS_LOWER_PASSES_H
#define MS_LOWER_PASSES_H

#include "simulate/lower/lowering.h"

/* A pass on one pipeline rank that is being lowered. Lists are borrowed from ms_waiting. */
typedef struct ms_pass_state {
    int p; /* pipeline rank */
    const ms_action *action;
    const ms_pass_plan *plan;
    int segment;         /* the next segment to lower, counted from the plan's first */
    ms_waits *next;      /* [k] operations that the pass's next operation has to wait for */
    ms_waits *ended;     /* [segment][k] ends of each asynchronous segment */
    bool *is_awaited;    /* [segment] some segment has waited for this asynchronous one */
    ms_waits *inputs[2]; /* [k] each: inputs that the first computation or blocking collective waits
                            for, too; NULL: none, or some operation waits for them already */
    bool has_beside;     /* the pass has an asynchronous segment, or a wait for one */
    bool is_held;        /* a blocking collective has been lowered since ms_pass_run was called last
                          */
    bool is_done;        /* all segments have been lowered */
    bool is_synchronised; /* the rank's host has waited for its GPU before the pass, or need not */
    bool is_paired;       /* the pass is one of an overlapped pair */
} ms_pass_state;

/* Begin the two passes of an overlapped pair: each waits for the inputs of both, and has lists of
 * its own.  pair: [2] forward and backward pass. */
void ms_pass_begin_pair(const ms_lowering *l, int p, const ms_action *pair,
                        ms_pass_state states_out[2]);
/* Lower the remaining segments of a pass.  until_held: stop after at least one segment where the
 * next one has to wait for a collective. Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held);
/* Lower a computation that takes no time, for a pass without segments: it carries the waits for the
 * inputs on to the operations that wait for the pass. */
void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state);
/* End a pass: count it, let the rank's update wait for its asynchronous segments that nothing has
 * waited for, and clear its lists. */
void ms_pass_end(ms_lowering *l, const ms_pass_state *state);
/* Pass the result of an action's pass on: a message to the neighbour stage; at the last stage, the
 * forward pass's end becomes the input of the stage's own backward pass. Returns MS_OK; MS_E_NOMEM.
 */
ms_status ms_pass_send_result(ms_lowering *l, int p, const ms_action *action);

#endif
