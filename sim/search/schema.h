/**
 * @file
 * JSON Schemas of input files, with which editors check a file while it is typed. They are made
 * from the tables that files are read by.
 */
#ifndef MESHSIM_SCHEMA_H
#define MESHSIM_SCHEMA_H

#include "base/arena.h"
#include "base/status.h"
#include "base/value.h"

/** Kinds of files that have a schema: workload, platform, gpu and so on. Ends with NULL; static
 * storage. */
const char *const *ms_schema_kinds(void);

/** Make the schema of a kind of files, in JSON Schema, draft 2020-12. Rules that a schema cannot
 * express are left out, so that it refuses nothing that meshsim accepts.
 *  kind: one of ms_schema_kinds. *schema_out: in `arena`. Returns MS_OK; MS_E_RANGE if there is no
 * such kind; MS_E_BUG if a default in a table is wrong; MS_E_NOMEM (not reported). O(keys). */
ms_status ms_schema_build(const char *kind, ms_arena *arena, ms_value **schema_out);

#endif
