/* Trees of workloads that importers build. */
#include <string.h>

#include "study/import/kinds.h"

ms_node *ms_import_new_mapping(ms_arena *arena) {
    ms_node *node = MS_NEW(arena, ms_node, 1);
    if (node != NULL) {
        *node = (ms_node){.type = MS_NODE_MAPPING, .origin = "import"};
    }
    return node;
}

/* The node of a key just set, with the place of what it came from. */
static void place(ms_node *root, const char *key, const ms_mark *mark) {
    ms_node *node = root;
    for (const char *at = key; node != NULL && *at != '\0';) {
        char name[64];
        size_t length = strcspn(at, ".");
        memcpy(name, at, length);
        name[length] = '\0';
        node = ms_node_get(node, name);
        if (node != NULL) {
            node->key_mark = *mark;
            node->origin = "import";
        }
        at += length + (at[length] == '.');
    }
    if (node != NULL) {
        node->mark = *mark;
    }
}

/* Note that a key is open whose node, MS_IMPORT_REQUIRED, is in the tree.  key, why: borrowed. */
static ms_status open_key(ms_imported *out, const char *key, const char *why, ms_arena *arena) {
    ms_import_open *open = MS_NEW(arena, ms_import_open, 1);
    if (open == NULL) {
        return MS_E_NOMEM;
    }
    *open = (ms_import_open){.key = key, .why = why};
    if (out->last_open == NULL) {
        out->first_open = open;
    } else {
        out->last_open->next = open;
    }
    out->last_open = open;
    return MS_OK;
}

ms_status ms_import_set(ms_imported *out, const ms_import_setting *setting, ms_arena *arena,
                        ms_diag *diag) {
    const char *value = setting->value == NULL ? MS_IMPORT_REQUIRED : setting->value;
    const char *text = ms_arena_printf(arena, "%s=%s", setting->key, value);
    if (text == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_status status = ms_node_set(out->root, text, arena, diag);
    if (status != MS_OK) {
        return status;
    }
    place(out->root, setting->key, &setting->mark);
    return setting->value != NULL || open_key(out, setting->key, setting->why, arena) == MS_OK
               ? MS_OK
               : ms_diag_no_memory(diag);
}
