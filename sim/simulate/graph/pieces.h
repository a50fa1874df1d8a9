/* What pieces come to: the time of a run of a pass's computations and collectives, and where it
 * goes. The rules are in sim/simulate/lower/pieces.md. */
#ifndef MS_DAG_PIECES_H
#define MS_DAG_PIECES_H

#include "simulate/graph/dag.h"

/* What is wrong with the pieces of a graph whose works are sound; NULL if nothing. */
const char *ms_dag_find_bad_piece(const ms_dag *dag);

/* Play every piece, and set what it and the works that are it come to. The times of flows are set.
 * Returns MS_OK; MS_E_NOMEM.  O(parts). */
ms_status ms_dag_time_pieces(ms_dag *dag);

#endif
