/* Checks and times the pieces of passes. A piece is a run of computations and collectives of one
 * pass that is one operation of the graph (sim/simulate/lower/pieces.md). */
#ifndef MS_DAG_PIECES_H
#define MS_DAG_PIECES_H

#include "simulate/graph/dag.h"

/** Check the pieces of a graph whose works have been checked. Returns what is wrong, as a fragment
 * of an error message (static storage); NULL: nothing.  O(parts). */
const char *ms_dag_find_bad_piece(const ms_dag *dag);

/** Simulate every piece, and set the results in ms_dag_piece and the times, FLOP, bytes and launch
 * times of the works that are pieces. The times of flows must be set (ms_dag_time_flows).
 * Returns MS_OK; MS_E_NOMEM (not reported).  O(parts), plus O(p^2) for the p parts of a piece that
 * slow computations down. */
ms_status ms_dag_time_pieces(ms_dag *dag);

#endif
