/* Times of flows, phases and works when no other communication is on the links. */
#ifndef MS_DAG_WORK_TIMES_H
#define MS_DAG_WORK_TIMES_H

#include "simulate/graph/dag.h"

/** Set alone_s and loaded_s of all flows of a checked graph.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(crossings); more for phases of several flows (see ms_fluid_run). */
ms_status ms_dag_time_flows(ms_dag *dag);

#endif
