/* The kinds of sources that can be imported. */
#ifndef MS_IMPORT_KINDS_H
#define MS_IMPORT_KINDS_H

#include "meshsim/import.h"

extern const ms_import_kind ms_import_hf;
extern const ms_import_kind ms_import_megatron;
extern const ms_import_kind ms_import_nccl_tests;

/* An empty mapping that stands nowhere, for trees; NULL: no memory. */
ms_node *ms_import_new_mapping(ms_arena *arena);

#endif
