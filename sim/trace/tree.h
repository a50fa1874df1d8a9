/* Parts of a trace as result trees. */
#ifndef MS_TRACE_TREE_H
#define MS_TRACE_TREE_H

#include "base/value.h"
#include "trace/h5.h"

/* Add to `parent`, under `key`, the value of a text of JSON that is stored as /KEY. Any fault goes
 * to *fault. */
void ms_tree_add_json(ms_value *parent, const char *key, const char *text, ms_h5_fault *fault);

/* The same of the group /KEY, as traces of format version 1 have it: an object is a group, a number
 * or text an attribute, a list of numbers or texts an array attribute, any other list a group with
 * the attribute `array_length` and the members "000", "001", ...; null is an attribute without
 * data, a boolean an enumeration of 8 bits. A list of more than 8,000 numbers, which version 1
 * stored in another way, is refused. */
void ms_tree_add_groups(ms_value *parent, const char *key, hid_t file, ms_h5_fault *fault);

/* The tables /ranks, /axes, /tiers, /links and /steps, of each column a list. A table of more than
 * MS_TRACE_TABLE_ROWS_MAX rows is null.  Returns an object in `arena`; NULL with a fault. */
ms_value *ms_tree_of_tables(hid_t file, ms_arena *arena, ms_h5_fault *fault);

#endif
