/* Lowering of one pass, of the collectives and messages in it, and of the step's end. */
#ifndef MS_GRAPH_PASSES_H
#define MS_GRAPH_PASSES_H

#include "graph/lowering.h"

/* A collective in every simulated group of one pipeline rank. */
typedef struct ms_group_op {
    ms_coll_kind kind;
    double size_B;         /* full buffer; none runs for 0 */
    double node_B;         /* all-to-all: of a second one inside each node; 0: none */
    double skew;           /* all-to-all: of the busiest member; 0: 1 */
    unsigned group_axes;   /* axes the groups span; 0: op.axis alone */
    ms_dag_op op;          /* its labels; the work is filled in */
    const int32_t *inputs; /* [sims] further dependencies, or NULL */
    const int32_t *joins;  /* [sims] the same */
    int32_t *ends_out;     /* [sims] asynchronous: the operations go here and hold nothing up; NULL:
                              they become the ranks' tails */
} ms_group_op;

/* Whether the producers of a pass's inputs have been lowered. */
bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action);

/* Emit the operations of one pass on all simulated ranks of pipeline rank `p`, and the message to
 * the next stage. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action);

/* Emit gradient reduction, optimizer and parameter gathering of every rank. */
ms_status ms_step_end_lower(ms_lowering *l);

/* Emit a collective for all simulated groups of pipeline rank `p`; groups of one member and empty
 * buffers need none. *has_run_out: whether there was anything to do. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op, bool *has_run_out);

/* Hand the result of the pass labelled `from` to `stage`, its neighbour: a message, or nothing
 * between stages of one rank. */
ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B);

/* Where the inputs of a stage and microbatch stand in forward_in and backward_in. */
size_t ms_input_index(const ms_lowering *l, int stage, int mb);

/* Make the newest member depend on the rank's tail. Program order of a compute stream implies a
 * dependency on the computation before; others must be named. */
void ms_tail_dep(ms_lowering *l, int32_t sim, bool on_compute_stream);

#endif
