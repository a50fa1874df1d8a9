/* A step being lowered, and the parts that emit its operations. Calls run downward only: lower.c,
 * order.c, pairs.c, passes.c, pieces.c, then unshard.c and messages.c, then groups.c and
 * computations.c, then communications.c; step_end.c stands beside order.c. */
#ifndef MS_LOWER_LOWERING_H
#define MS_LOWER_LOWERING_H

#include "job/step_end.h"
#include "simulate/lower/pieces.h"
#include "simulate/lower/ranks.h"
#include "simulate/lower/traffic.h"
#include "simulate/lower/waits.h"
#include "simulate/lower/works.h"

/* How a segment comes to run: its host runs ahead, or has waited for the GPU before it; or in an
 * overlapped pair, before which no host waits. */
typedef enum ms_segment_turn {
    MS_TURN_AHEAD,
    MS_TURN_SYNCHRONISED,
    MS_TURN_PAIRED,
    MS_TURN_COUNT
} ms_segment_turn;

/* Computations made so far. */
typedef struct ms_computations {
    int32_t none;     /* one that takes no time, -1 until used */
    int32_t *segment; /* [segments * MS_TURN_COUNT] -1 until used */
} ms_computations;

/* What is lowered, and the state of each part. */
typedef struct ms_lowering {
    const ms_job *job;
    ms_dag *dag;
    ms_ranks ranks;
    ms_lower_fold fold;
    double place_ops; /* operations, about, of one class of ranks on all pipeline ranks */
    ms_traffic traffic;
    ms_works works;
    ms_waiting waiting;
    double *factors; /* [factor_count] different factors on computations of simulated ranks */
    int *factor_of;  /* [simulated] index of a rank's */
    int factor_count;
    ms_computations computations;
    ms_pieces pieces;
    int *runs; /* [stages * MS_PASS_COUNT] units of the step whose pass has been lowered */
} ms_lowering;

/* Labels of what belongs to no pass. */
static const ms_dag_op MS_NO_LABELS = {.mb = -1, .stage = -1, .chunk = -1, .layer = -1};

/* Costs of an action's stage and unit of work. */
static inline const ms_stage_cost *ms_lowering_cost(const ms_lowering *l, const ms_action *action) {
    return ms_stage_cost_of(&l->job->costs, ms_program_model_stage(&l->job->program, action->stage),
                            action->mb);
}

/* What the forward or the backward pass of a stage and unit waits for on each rank: [k]. */
static inline ms_waits *ms_arrived(const ms_lowering *l, bool is_backward, int stage, int unit) {
    size_t index = (size_t)stage * (size_t)l->job->program.mb_count + (size_t)unit;
    return l->waiting.arrived[is_backward] + index * (size_t)l->waiting.count;
}

/* What the computations of a stage wait for on each rank until its parameters are there: [k]. */
static inline ms_waits *ms_unsharded(const ms_lowering *l, int stage) {
    return l->waiting.unsharded + (size_t)stage * (size_t)l->waiting.count;
}

/* What each simulated rank of pipeline rank `p` waits for next: [k]. */
static inline ms_waits *ms_next(const ms_lowering *l, int p) {
    return l->waiting.next + (size_t)p * (size_t)l->waiting.count;
}

/* Add a computation to the graph, once for each factor, one after the other: ms_compute_lower takes
 * that of the rank.  Returns the first. */
int32_t ms_computation_add(ms_lowering *l, const ms_dag_work *work);
/* Whether all simulated ranks of pipeline rank `p` compute equally fast. */
bool ms_computes_evenly(const ms_lowering *l, int p);
/* The work of a computation segment, made on first use; of all works of computations the first.
 * is_synchronising: as in ms_dag_work. */
int32_t ms_segment_work(ms_lowering *l, int segment, ms_segment_turn turn);
/* The work that takes no time, made on first use. */
int32_t ms_no_work(ms_lowering *l);
/* Emit a computation, the operation at hand, on every simulated rank of pipeline rank `p`.  op: its
 * labels and work.  ends: [k] lists that it is added to. */
void ms_compute_lower(ms_lowering *l, int p, const ms_dag_op *op, ms_waits *ends);

/* The stream of communications that a key stands for, made on first use.  key: its `first` is the
 * simulated rank whose stream it is.  destination: simulated rank; -1: a stream of collectives. */
int32_t ms_stream_of(ms_lowering *l, const ms_work_key *key, int32_t destination, ms_axis axis);
/* Add the work of the groups that class `k` leads, and remember it by its key.  key: of the work.
 * comm: what it does; where ranks are folded, listed under its own key.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT as ms_works_plan. */
ms_status ms_communication_make(ms_lowering *l, const ms_work_key *key, ms_step_comm *comm, int k,
                                int32_t *work_out);

/* A communication between two pipeline ranks, rank by rank. */
typedef struct ms_pair_op {
    ms_coll_kind kind; /* point to point from ends[0] to ends[1], or a collective of the two */
    double size_B;
    int ends[2]; /* pipeline ranks */
} ms_pair_op;

/* What identifies a communication between two pipeline ranks. */
ms_work_key ms_pair_key(const ms_pair_op *op, int first, int second);
/* What is laid out for it, without GPUs. */
ms_coll_request ms_pair_request(const ms_pair_op *op);

/* The work of the ranks of class `k` of both, made on first use.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT as ms_works_plan. */
ms_status ms_pair_work(ms_lowering *l, const ms_pair_op *op, int k, int32_t *work_out);

/* A collective in every simulated group of one pipeline rank. */
typedef struct ms_group_op {
    ms_coll_kind kind;
    double size_B;         /* full buffer */
    double intra_node_B;   /* all-to-all: of a second one inside each node; 0: none */
    double load_imbalance; /* all-to-all: of the busiest member; 0: 1 */
    unsigned group_axes;   /* axes the groups span; 0: op.axis alone */
    ms_dag_op op;          /* its labels; the work is filled in */
    ms_waits *ends;        /* [k] lists that it is added to */
} ms_group_op;

/* The collective of a segment; its operation has its kind and axis, and belongs to no pass. */
ms_group_op ms_group_op_of(const ms_segment *segment);

/* Axes that the groups of a collective span. */
static inline unsigned ms_group_axes(const ms_group_op *op) {
    return op->group_axes != 0 ? op->group_axes : MS_AXIS_BIT(op->op.axis);
}

/* What identifies a collective.  first: the simulated rank that leads its groups. */
ms_work_key ms_group_key(const ms_group_op *op, int first);
/* What is laid out for it, without GPUs. */
ms_coll_request ms_group_request(const ms_group_op *op, int members);

/* Whether there is anything to do: groups of one member and empty buffers need no collective. */
bool ms_group_runs(const ms_lowering *l, int p, const ms_group_op *op);
/* Emit a collective that runs, the operation at hand, for all simulated groups of pipeline rank
 * `p`. Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op);

/* Hand the result of the pass labelled `from` to `stage`, its neighbour: a message, or nothing
 * between stages of one rank. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B);
/* Blocking sends: nothing on the rank goes on before the messages of `count` <= 2 actions, lowered
 * before, have arrived. */
void ms_barrier_lower(ms_lowering *l, int p, const ms_action *actions, int count);

/* Emit the collectives that gather the parameters of a stage on pipeline rank `p`: behind all that
 * the rank has lowered and beside what follows, waited for by the stage's next computation. Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_unshard_lower(ms_lowering *l, int p, int stage);

/* Emit the operations of one pass on all simulated ranks of pipeline rank `p`, and the message to
 * the next stage. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action);
/* The same of a forward and a backward pass that run together, pair[0] and pair[1]: the one
 * computes while a collective holds up the other. Both begin when the inputs of both are there,
 * and pass their results on when both are done. */
ms_status ms_pair_lower(ms_lowering *l, int p, const ms_action *pair);

/* Emit the passes of one step in the order of ms_ready_order: every operation comes after all it
 * waits for. Returns MS_OK; MS_E_INPUT for a schedule that waits for itself (reported); MS_E_NOMEM.
 */
ms_status ms_order_lower(ms_lowering *l, ms_arena *arena, ms_diag *diag);

/* Fill the traffic with all communications of a step, laid out in all their groups.  Returns MS_OK;
 * MS_E_INPUT (reported) for one that no algorithm lays out; MS_E_NOMEM. */
ms_status ms_traffic_list(ms_lowering *l);

/* Emit gradient reduction, optimizer and parameter gathering of every rank. */
ms_status ms_step_end_lower(ms_lowering *l);

#endif
