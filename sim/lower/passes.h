/* Lowering of one pass, of the collectives and messages in it, and of the step's end. */
#ifndef MS_LOWER_PASSES_H
#define MS_LOWER_PASSES_H

#include "lower/lowering.h"

/* Operations that something waits for beside its own order: for each simulated rank of a pipeline
 * rank, [sims], or NULL. */
typedef struct ms_joins {
    const int32_t *ends[MS_JOINS_MAX];
} ms_joins;

/* A collective in every simulated group of one pipeline rank. */
typedef struct ms_group_op {
    ms_coll_kind kind;
    double size_B;            /* full buffer; none runs for 0 */
    double intra_node_B;      /* all-to-all: of a second one inside each node; 0: none */
    double load_imbalance;    /* all-to-all: of the busiest member; 0: 1 */
    unsigned group_axes;      /* axes the groups span; 0: op.axis alone */
    ms_dag_op op;             /* its labels; the work is filled in */
    const int32_t *inputs[2]; /* [sims] each: further dependencies, or NULL */
    ms_joins joins;           /* the same */
    int32_t *ends_out; /* [sims] asynchronous: the operations go here and hold nothing up; NULL:
                          they become the ranks' tails */
} ms_group_op;

/* A pass under way on one pipeline rank. */
typedef struct ms_pass_state {
    int p;
    const ms_action *action;
    const ms_pass_plan *plan;
    int next;                 /* segment of the plan that comes next */
    const int32_t *inputs[2]; /* [sims] each: what the first segment that is not asynchronous waits
                                 for; NULL once one did */
    int32_t *async_ends; /* [segments of the plan * sims] ends of asynchronous segments, -1 none */
    bool is_held;        /* the newest segment is a collective that holds up those behind it */
    bool is_done;
} ms_pass_state;

/* Costs of an action's stage and unit of work. */
const ms_stage_cost *ms_lowering_cost(const ms_lowering *l, const ms_action *action);

/* Whether the producers of a pass's inputs have been lowered. */
bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action);
/* What a pass waits for besides its rank's own order: [sims] operations, or NULL. */
const int32_t *ms_pass_inputs(const ms_lowering *l, const ms_action *action);

/* A pass of which nothing has been lowered. */
ms_pass_state ms_pass_begin(const ms_lowering *l, int p, const ms_action *action);
/* Lower the rest of a pass; until_held: only up to where what follows waits for a collective, and
 * at least one segment. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held);
/* Lower a computation that takes no time: a pass without any work still passes its input on. */
void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state);
/* The same as a part of no pass. */
void ms_pass_lower_hold(ms_lowering *l, ms_pass_state *state);
/* Book a pass as done: what runs beside it still is left to the step's end. Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_pass_end(ms_lowering *l, const ms_pass_state *state);
/* Tell the next stage, or at the last one this stage's own backward pass, that a pass's result is
 * there: the end of the rank's chain. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_on(ms_lowering *l, int p, const ms_action *action);
/* Blocking sends: nothing on the rank goes on before the messages of `count` <= 2 actions, lowered
 * before, have arrived. */
void ms_hold_for_messages(ms_lowering *l, int p, const ms_action *actions, int count);

/* Emit the operations of one pass on all simulated ranks of pipeline rank `p`, and the message to
 * the next stage. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action);
/* The same of a forward and a backward pass that run together, pair[0] and pair[1]: the one
 * computes while a collective holds up the other. Both begin when the inputs of both are there,
 * and pass their results on when both are done. */
ms_status ms_pair_lower(ms_lowering *l, int p, const ms_action *pair);

/* Emit the gathers that the program places before action `index` on pipeline rank `p`, called for
 * each in order: asynchronous, waited for by the stage's next pass. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_gathers_lower(ms_lowering *l, int p, size_t index);
/* Make the newest operation, on the compute stream of simulated rank `k` of a pipeline rank, wait
 * for the gathers of `stage`; those behind it on the stream then need not. */
void ms_gathers_join(ms_lowering *l, int stage, int k);

/* Emit gradient reduction, optimizer and parameter gathering of every rank. */
ms_status ms_step_end_lower(ms_lowering *l);

/* Emit a collective for all simulated groups of pipeline rank `p`; groups of one member and empty
 * buffers need none. *has_run_out: whether there was anything to do. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op, bool *has_run_out);

/* Hand the result of the pass labelled `from` to `stage`, its neighbour: a message, or nothing
 * between stages of one rank. */
ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B);

/* Where the inputs of a stage and unit of work stand in forward_in and backward_in. */
size_t ms_input_index(const ms_lowering *l, int stage, int unit);

/* Make the newest member, on simulated rank `k` of a pipeline rank, wait for what it joins. */
void ms_join_deps(ms_lowering *l, const ms_joins *joins, int k);

/* Make the newest member depend on the rank's tail. Program order of a compute stream implies a
 * dependency on the computation before; others must be named. */
void ms_tail_dep(ms_lowering *l, int32_t sim, bool on_compute_stream);

#endif
