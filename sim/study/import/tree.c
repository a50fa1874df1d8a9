/* Trees of workloads that importers build. */
#include "study/import/kinds.h"

ms_node *ms_import_new_mapping(ms_arena *arena) {
    ms_node *node = MS_NEW(arena, ms_node, 1);
    if (node != NULL) {
        *node = (ms_node){.type = MS_NODE_MAPPING, .origin = "import"};
    }
    return node;
}
