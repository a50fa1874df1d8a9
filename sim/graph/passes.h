/* Lowering of one pass and of the step's end. */
#ifndef MS_GRAPH_PASSES_H
#define MS_GRAPH_PASSES_H

#include "graph/lowering.h"

/* Whether the producers of a pass's inputs have been lowered. */
bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action);

/* Emit the operations of one pass on all simulated ranks of pipeline rank `p`, and the message to
 * the next stage. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action);

/* Emit gradient reduction, optimizer and parameter gathering of every rank. */
ms_status ms_step_end_lower(ms_lowering *l);

/* Emit a collective along `axis` for all simulated groups of pipeline rank `p`; it becomes the
 * ranks' new tail. `op` carries the labels. */
ms_status ms_collective_lower(ms_lowering *l, int p, ms_coll_kind kind, double size_B,
                              const ms_dag_op *op);

#endif
