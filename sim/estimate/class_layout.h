/* Layout of the groups of a class (comm_classes.h) on GPUs and links, and their times there. */
#ifndef MS_ESTIMATE_CLASS_LAYOUT_H
#define MS_ESTIMATE_CLASS_LAYOUT_H

#include "estimate/comm_classes.h"

/* Find the times of a class. Its groups are laid out as for a collective of `bytes`, by which a
 * library chooses; one group stands for those that take equally long.
 *  *times_out: set in any case; is_refused after a failure.  Returns as ms_comm_classes_find. */
ms_status ms_class_times_find(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, double bytes, ms_class_times *times_out);

/* List the different communicators of a class's groups.  *all_out: the list.  Returns MS_OK;
 * MS_E_NOMEM; as ms_nccl_comm_find. */
ms_status ms_class_comms_list(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, ms_class_comms *all_out);

#endif
