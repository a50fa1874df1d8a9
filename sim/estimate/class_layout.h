/* Where the groups of a class lie, and what they take there. */
#ifndef MS_ESTIMATE_CLASS_LAYOUT_H
#define MS_ESTIMATE_CLASS_LAYOUT_H

#include "estimate/comm_classes.h"

/* Times of a class laid out with `bytes`; groups that take the same time as others are left out.
 *  *times_out: set in any case.  Returns as ms_comm_classes_find. */
ms_status ms_class_times_find(const ms_comm_classes *comm, ms_plan_space *space,
                              const ms_class_key *key, double bytes, ms_class_times *times_out);

/* The sorts of communicators that a class's groups are.  Returns MS_OK; MS_E_NOMEM; as
 * ms_nccl_comm_find. */
ms_status ms_class_comms_list(const ms_comm_classes *comm, ms_plan_space *space,
                              const ms_class_key *key, ms_class_comms *all_out);

#endif
