/* What a fabric kind reads itself with: its keys, and faults at a key's place. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/platform/fabric.h"

enum { PATH_MAX_SHOWN = 96, MESSAGE_MAX = 512 };

ms_status ms_fabric_read_keys(ms_fabric_file *file, const ms_field *fields, void *out,
                              ms_arena *arena) {
    ms_status status = ms_config_read(file->keys, fields, "fabric", out, arena, file->diag);
    file->status = file->status == MS_OK ? status : file->status;
    if (status == MS_OK && file->has_faults) {
        return MS_E_INPUT;
    }
    return status;
}

/* The value at a dotted path of at most two parts, or what would hold it. */
static const ms_node *node_at(const ms_fabric_file *file, const char *key_path, bool *is_given) {
    const char *dot = strchr(key_path, '.');
    const ms_node *outer = file->root;
    if (dot != NULL) {
        char mapping[PATH_MAX_SHOWN];
        snprintf(mapping, sizeof mapping, "%.*s", (int)(dot - key_path), key_path);
        outer = ms_node_get(file->root, mapping);
    }
    const ms_node *inner = ms_node_get(outer, dot == NULL ? key_path : dot + 1);
    *is_given = inner != NULL;
    return inner != NULL ? inner : outer;
}

void ms_fabric_fault(ms_fabric_file *file, const char *key_path, const char *format, ...) {
    char message[MESSAGE_MAX];
    bool is_given;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    file->status =
        ms_config_fault(file->diag, node_at(file, key_path, &is_given), key_path, "%s", message);
}

void ms_fabric_refuse_key(ms_fabric_file *file, const char *key_path, const char *why) {
    bool is_given;
    (void)node_at(file, key_path, &is_given);
    if (is_given) {
        ms_fabric_fault(file, key_path, "%s", why);
    }
}

void ms_fabric_check_nics(ms_fabric_file *file, const ms_platform *platform) {
    int nics = platform->nics_per_node;
    if (nics < 1) {
        ms_fabric_fault(file, "node.nics", "a '%s' fabric needs at least 1 NIC a node",
                        file->kind->name);
    } else if (nics > platform->gpus_per_node) {
        ms_fabric_fault(file, "node.nics",
                        "%d NICs for %d GPUs: GPU i uses NIC i mod nics, the rest would idle", nics,
                        platform->gpus_per_node);
    }
}
