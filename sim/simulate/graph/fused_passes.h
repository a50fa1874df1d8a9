/* Checks and times the fused passes of a graph. A fused pass is a run of computations and
 * collectives of one pass that is one operation of the graph (sim/simulate/lower/fused_passes.md).
 */
#ifndef MS_GRAPH_FUSED_PASSES_H
#define MS_GRAPH_FUSED_PASSES_H

#include "simulate/graph/dag.h"

/** Check the fused passes of a graph whose works have been checked. Returns what is wrong, as a
 * fragment of an error message (static storage); NULL: nothing.  O(parts). */
const char *ms_dag_find_bad_fused_pass(const ms_dag *dag);

/** Simulate every fused pass, and set the results in ms_fused_pass and the times, FLOP, bytes and
 * launch times of the works that are fused passes. The times of flows must be set
 * (ms_dag_time_flows). Returns MS_OK; MS_E_NOMEM (not reported).  O(parts), plus O(p^2) for the p
 * parts of a fused pass that slow computations down. */
ms_status ms_dag_time_fused_passes(ms_dag *dag);

#endif
