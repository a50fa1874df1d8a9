/* Functions by which a fabric kind reads its keys and reports faults at them (fabric.h). */
#include <stdarg.h>
#include <stdio.h>

#include "cluster/platform/fabric.h"

enum { MESSAGE_MAX = 512 };

ms_status ms_fabric_read_keys(ms_fabric_file *file, const ms_field *fields, void *out,
                              ms_arena *arena) {
    ms_status status = ms_config_read(file->keys, fields, "fabric", out, arena, file->diag);
    file->status = file->status == MS_OK ? status : file->status;
    if (status == MS_OK && file->has_faults) {
        return MS_E_INPUT;
    }
    return status;
}

void ms_fabric_fault(ms_fabric_file *file, const char *key_path, const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    file->status = ms_config_fault(file->diag, ms_node_at(file->root, key_path, NULL), key_path,
                                   "%s", message);
}

void ms_fabric_refuse_key(ms_fabric_file *file, const char *key_path, const char *why) {
    bool is_given;
    (void)ms_node_at(file->root, key_path, &is_given);
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
