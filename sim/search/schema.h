/**
 * @file
 * JSON Schemas of input files, for editors: made from the tables that files are read by.
 */
#ifndef MESHSIM_SCHEMA_H
#define MESHSIM_SCHEMA_H

#include "base/arena.h"
#include "base/status.h"
#include "base/value.h"

/** Kinds of files that have a schema: workload, platform, gpu and so on, NULL-terminated; static
 * storage. */
const char *const *ms_schema_kinds(void);

/** The schema of a kind of files, JSON Schema, draft 2020-12. What a schema has no words for is
 * left open: it refuses nothing that meshsim takes.  *schema_out: in `arena`.  Returns
 * MS_OK; MS_E_RANGE if there is no such kind; MS_E_BUG; MS_E_NOMEM (not reported).  O(keys). */
ms_status ms_schema_build(const char *kind, ms_arena *arena, ms_value **schema_out);

#endif
