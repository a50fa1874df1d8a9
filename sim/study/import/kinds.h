/* The kinds of sources that can be imported. */
#ifndef MS_IMPORT_KINDS_H
#define MS_IMPORT_KINDS_H

#include "meshsim/import.h"

extern const ms_import_kind ms_import_hf;

/* An empty mapping that stands nowhere, for trees; NULL: no memory. */
ms_node *ms_import_new_mapping(ms_arena *arena);

/* A key that a source gives, or leaves open. */
typedef struct ms_import_setting {
    const char *key;   /* dotted path, of names of the program's own */
    const char *value; /* YAML flow text; NULL: it is required */
    const char *why;   /* of one that is required: what would say it */
    ms_mark mark;      /* where what it came from stands; file NULL: nowhere */
} ms_import_setting;

/* Hang a key's value into the tree; one that is required is open.  Returns as ms_node_set. */
ms_status ms_import_set(ms_imported *out, const ms_import_setting *setting, ms_arena *arena,
                        ms_diag *diag);

#endif
