/* The small tables of a trace, as a tree for pages and other readers that show them as they are. */
#ifndef MS_TRACE_TABLES_H
#define MS_TRACE_TABLES_H

#include "meshsim/status.h"
#include "meshsim/value.h"
#include "trace/h5_read.h"

/* Read /ranks, /axes, /tiers, /links and /steps (of each column a list), the attributes of the root
 * that name versions, and /whatif where it is there.  A table of more than MS_TRACE_TABLE_ROWS_MAX
 * rows is null.  *object_out: new, in `arena`.  Returns MS_OK; MS_E_INPUT, with the damaged place
 * or HDF5's words in `cause_out`; MS_E_IO, with the system's words there; MS_E_NOMEM. */
ms_status ms_tables_read(hid_t file, ms_arena *arena, ms_value **object_out, char cause_out[256]);

#endif
