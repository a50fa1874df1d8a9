/* Result trees in HDF5: an object is a group, a scalar an attribute, an array of alike scalars an
 * array attribute, any other array a group (attribute `array_length`) with children "000", "001".
 * null is an attribute without data, a boolean an 8-bit enum {FALSE, TRUE} as h5py has it. */
#ifndef MS_TRACE_SUMMARY_H
#define MS_TRACE_SUMMARY_H

#include "meshsim/status.h"
#include "meshsim/value.h"
#include "trace/h5_read.h"

/* Write `object` (NULL: nothing) as group `name`. */
void ms_summary_write(ms_h5 *h5, const char *name, const ms_value *object);

/* Read group `name` back into a tree in `arena`.  *object_out: new.  Returns MS_OK; MS_E_INPUT if
 * it is not such a tree; MS_E_NOMEM; MS_E_IO, with the system's words in `cause_out`. */
ms_status ms_summary_read(hid_t file, const char *name, ms_arena *arena, ms_value **object_out,
                          char cause_out[256]);

#endif
