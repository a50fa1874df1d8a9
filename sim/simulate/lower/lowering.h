/* The state of a step that is being lowered, and the functions that emit its operations. Calls go
 * downward only: lower.c, order.c, pairs.c, passes.c, fused_passes.c, then unshard.c and
 * messages.c, then groups.c and computations.c, then communications.c; step_end.c is on the level
 * of order.c.
 *
 * "To emit" is to add operations to the graph, with their members and dependencies; "to lower" is
 * to emit all operations of something. `l` is the state of the lowering, `p` a pipeline rank, `k` a
 * class of its ranks, of which one is simulated, `sim` the number of a simulated rank (ranks.h).
 * [k] marks an array with one entry for each class.
 *
 * The operation being lowered is the one whose dependencies are collected in ms_waiting.before
 * (waits.h). A function that emits an operation makes it depend on these lists, which are empty
 * afterwards. */
#ifndef MS_LOWER_LOWERING_H
#define MS_LOWER_LOWERING_H

#include "job/step_end.h"
#include "simulate/lower/fused_passes.h"
#include "simulate/lower/ranks.h"
#include "simulate/lower/traffic.h"
#include "simulate/lower/waits.h"
#include "simulate/lower/works.h"

/* In which situation a computation segment runs, which its work depends on. */
typedef enum ms_segment_turn {
    MS_TURN_AHEAD,        /* the host may be ahead of its GPU */
    MS_TURN_SYNCHRONISED, /* the host waits for its GPU before it launches the segment */
    MS_TURN_PAIRED,       /* in an overlapped pair, before which no host waits */
    MS_TURN_COUNT
} ms_segment_turn;

/* Works of computations made so far: each is the first of factor_count works, see
 * ms_computation_add. */
typedef struct ms_computations {
    int32_t none;     /* the work that takes no time, -1 until used */
    int32_t *segment; /* [segment][MS_TURN_COUNT] works of segments, -1 until used */
} ms_computations;

/* The state of the lowering of a job. */
typedef struct ms_lowering {
    const ms_job *job;
    ms_dag *dag; /* the graph under construction */
    ms_ranks ranks;
    ms_lower_fold fold;
    double class_ops; /* estimated operations of one class of ranks on all pipeline ranks */
    ms_traffic traffic;
    ms_works works;
    ms_waiting waiting;
    double *factors; /* [factor_count] different factors on computations of simulated ranks */
    int *factor_of;  /* [sim] index of each simulated rank's factor in `factors` */
    int factor_count;
    ms_computations computations;
    ms_pass_layouts layouts;
    int *runs; /* [stage][MS_PASS_COUNT] units of work of this step whose pass has been lowered */
} ms_lowering;

/* Labels of an operation that belongs to no pass. */
static const ms_dag_op MS_NO_LABELS = {.mb = -1, .stage = -1, .chunk = -1, .layer = -1};

/* The costs of an action's stage and unit of work (a microbatch, or a slice of its sequences). */
static inline const ms_stage_cost *ms_lowering_cost(const ms_lowering *l, const ms_action *action) {
    return ms_stage_cost_of(&l->job->costs, ms_program_model_stage(&l->job->program, action->stage),
                            action->mb);
}

/* The arrivals that the forward or backward pass of a program's stage and unit of work has to wait
 * for: [k] lists. */
static inline ms_waits *ms_arrived(const ms_lowering *l, bool is_backward, int stage, int unit) {
    size_t index = (size_t)stage * (size_t)l->job->program.mb_count + (size_t)unit;
    return l->waiting.arrived[is_backward] + index * (size_t)l->waiting.count;
}

/* The collectives that gather the parameters of a program's stage, for which its next computation
 * has to wait: [k] lists. */
static inline ms_waits *ms_unsharded(const ms_lowering *l, int stage) {
    return l->waiting.unsharded + (size_t)stage * (size_t)l->waiting.count;
}

/* The operations that the next operation of each simulated rank of pipeline rank `p` has to wait
 * for: [k] lists. */
static inline ms_waits *ms_next(const ms_lowering *l, int p) {
    return l->waiting.next + (size_t)p * (size_t)l->waiting.count;
}

/* Add the work of a computation to the graph, once for each of l->factors, side by side;
 * ms_compute_lower chooses the one with the rank's factor.  Returns the index of the first, -1
 * after a failure. */
int32_t ms_computation_add(ms_lowering *l, const ms_dag_work *work);
/* Whether all simulated ranks of pipeline rank `p` compute equally fast. */
bool ms_computes_evenly(const ms_lowering *l, int p);
/* The work of a computation segment, made on first use.  segment: index into the job's
 * costs.segments. Returns the index of the first of its works, as ms_computation_add. */
int32_t ms_segment_work(ms_lowering *l, int segment, ms_segment_turn turn);
/* The work of a computation that takes no time, made on first use.  Returns as ms_segment_work. */
int32_t ms_no_work(ms_lowering *l);
/* Emit a computation, the operation being lowered, on every simulated rank of pipeline rank `p`.
 * op: its labels, and the first of its works.  ends: [k] lists to which the rank's operation is
 * added. */
void ms_compute_lower(ms_lowering *l, int p, const ms_dag_op *op, ms_waits *ends);

/* The stream of communications with a key, made on first use.  key: its `first` is the simulated
 * rank that the stream belongs to.  destination: receiving simulated rank; -1: a stream of
 * collectives.  Returns its index, -1 after a failure. */
int32_t ms_stream_of(ms_lowering *l, const ms_work_key *key, int32_t destination, ms_axis axis);
/* Add the work of a communication in the groups that class `k` leads, and enter it under `key`.
 * comm: the communication; where ranks are folded, the one listed in the traffic under comm->key is
 * used. groups NULL: memory has run out.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan;
 * MS_E_BUG as ms_fold_work. */
ms_status ms_communication_make(ms_lowering *l, const ms_work_key *key, ms_step_comm *comm, int k,
                                int32_t *work_out);

/* A communication between two pipeline ranks: for each index in the stage, the rank of this index
 * on the one communicates with the rank of the same index on the other. */
typedef struct ms_pair_op {
    ms_coll_kind kind; /* point to point from ends[0] to ends[1], or a collective of the two */
    double size_B;     /* message or full buffer [B] */
    int ends[2];       /* pipeline ranks */
} ms_pair_op;

/* The key of a communication between two pipeline ranks.  first, second: ranks of the job on
 * ends[0] and ends[1]; or ~ends[0] and ~ends[1] for all their pairs. */
ms_work_key ms_pair_key(const ms_pair_op *op, int first, int second);
/* The request for the communication's plan, without GPUs. */
ms_coll_request ms_pair_request(const ms_pair_op *op);

/* The work of the pair of ranks of class `k`, made on first use.  *work_out: its index.  Returns as
 * ms_communication_make. */
ms_status ms_pair_work(ms_lowering *l, const ms_pair_op *op, int k, int32_t *work_out);

/* A collective in every simulated group of one pipeline rank. */
typedef struct ms_group_op {
    ms_coll_kind kind;
    double size_B;       /* full buffer [B] */
    double intra_node_B; /* all-to-all: full buffer of a second all-to-all inside each node [B]; 0:
                            none */
    double load_imbalance; /* all-to-all: bytes of the busiest member over the mean; 0: 1 */
    unsigned group_axes;   /* axes that the groups span (MS_AXIS_BIT); 0: op.axis alone */
    ms_dag_op op;          /* labels of its operations; the work is filled in by ms_group_lower */
    ms_waits *ends;        /* [k] lists to which the operation of each rank is added */
} ms_group_op;

/* The collective of a segment. Its labels have kind and axis, but no stage and microbatch; `ends`
 * is NULL. */
ms_group_op ms_group_op_of(const ms_segment *segment);

/* Axes that the groups of a collective span. */
static inline unsigned ms_group_axes(const ms_group_op *op) {
    return op->group_axes != 0 ? op->group_axes : MS_AXIS_BIT(op->op.axis);
}

/* The key of a collective.  first: the rank of the job that leads its groups; or ~(pipeline rank)
 * for all its groups. */
ms_work_key ms_group_key(const ms_group_op *op, int first);
/* The request for the collective's plan in groups of `members`, without GPUs. */
ms_coll_request ms_group_request(const ms_group_op *op, int members);

/* Whether a collective has anything to do on pipeline rank `p`: not with groups of one member or an
 * empty buffer. */
bool ms_group_runs(const ms_lowering *l, int p, const ms_group_op *op);
/* Emit a collective for which ms_group_runs, the operation being lowered, for all simulated groups
 * of pipeline rank `p`. Returns as ms_communication_make. */
ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op);

/* Send the result of the pass labelled `from` on pipeline rank `p` to its neighbour stage `stage`:
 * a message of `size_B` [B], or none if both stages are on one rank. The arrivals are in the lists
 * ms_arrived of the receiving pass. Returns as ms_pair_work. */
ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B);
/* For blocking sends: let the next operations of pipeline rank `p` wait for the arrival of the
 * messages of `count` <= 2 actions, which have been lowered before. */
void ms_barrier_lower(ms_lowering *l, int p, const ms_action *actions, int count);

/* Emit the collectives that gather the parameters of a program's stage on pipeline rank `p`. They
 * start when all operations lowered so far have ended, run beside later operations, and the stage's
 * next computation waits for them. Returns as ms_communication_make. */
ms_status ms_unshard_lower(ms_lowering *l, int p, int stage);

/* Lower one pass on all simulated ranks of pipeline rank `p`, and the message to the neighbour
 * stage. Returns as ms_communication_make. */
ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action);
/* Lower an overlapped pair: a forward and a backward pass, pair[0] and pair[1], that run together.
 * Each computes while a collective holds up the other. Both begin when the inputs of both have
 * arrived, and send their results when both have ended. Returns as ms_communication_make. */
ms_status ms_pair_lower(ms_lowering *l, int p, const ms_action *pair);

/* Lower the passes of one step in the order of ms_ready_order, so that every operation is added
 * after those it waits for. Returns MS_OK; MS_E_INPUT (reported) for a schedule that waits for
 * itself; else as ms_pass_lower. */
ms_status ms_order_lower(ms_lowering *l, ms_arena *arena, ms_diag *diag);

/* Fill the traffic with all communications of a step, laid out in all their groups.  Returns MS_OK;
 * MS_E_INPUT (reported) for a communication that no algorithm lays out; MS_E_NOMEM. */
ms_status ms_traffic_list(ms_lowering *l);

/* Lower the end of a step on every rank: gradient reduction, norm, optimizer and parameter
 * gathering. Returns as ms_step_end_visit. */
ms_status ms_step_end_lower(ms_lowering *l);

#endif
