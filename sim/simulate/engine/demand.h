/* Finds the links that can hold transfers back: those on which all streams together can put more
 * load than their capacity (contention.h derives this bound). */
#ifndef MESHSIM_ENGINE_DEMAND_H
#define MESHSIM_ENGINE_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "simulate/graph/dag.h"

/** Find the links that can hold transfers back.
 *  flow_Bps: [flow_count] maximum rate of each flow [B/s]; 0: the flow is left out.
 *  can_bind_out: [link_count].  Returns MS_OK; MS_E_NOMEM (not reported).  O(members, plus
 *  crossings of each work for each stream it runs on; n log n in the number of pairs of a work and
 * a stream). */
ms_status ms_demand_find_binding(const ms_dag *dag, const double *flow_Bps, ms_arena *scratch,
                                 bool *can_bind_out);

/** The stream that stands for an operation: the lowest of its members.  O(members). */
static inline int32_t ms_op_lowest_stream(const ms_dag *dag, int32_t op) {
    int32_t lowest = INT32_MAX;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        lowest = dag->member_stream[j] < lowest ? dag->member_stream[j] : lowest;
    }
    return lowest;
}

#endif
