#include "cli/cluster_options.h"

#include "base/config/find.h"
#include "cli/job_options.h"

enum { GPUS_MAX = 1 << 24 };

ms_status ms_cli_read_cluster(const ms_invocation *call, ms_cli_cluster *cluster_out) {
    const char *name = ms_cli_value(call, "platform", NULL);
    const char *const *folders = NULL;
    ms_status status =
        ms_platform_folders(NULL, ms_cli_data_folder(call->arena), call->arena, &folders);
    if (status != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    ms_platform *platform = &cluster_out->platform;
    status = ms_platform_load(name, folders, NULL, call->arena, call->diag, platform, NULL);
    long gpus = status == MS_OK ? ms_platform_gpus(platform) : 1;
    status = status == MS_OK ? ms_cli_int(call, "gpus", gpus, 1, GPUS_MAX, &gpus) : status;
    if (status == MS_OK && gpus % platform->gpus_per_node != 0) {
        ms_diag_error(call->diag, "--gpus '%ld' are no whole nodes of '%s', which have %d each",
                      gpus, platform->name, platform->gpus_per_node);
        return MS_E_USAGE;
    }
    cluster_out->gpus = (int)gpus;
    cluster_out->path = ms_find_whole_path(name, call->arena);
    return status == MS_OK && cluster_out->path == NULL ? ms_diag_no_memory(call->diag) : status;
}

const char *ms_cli_cluster_set(const ms_invocation *call, const ms_cli_cluster *cluster) {
    return ms_arena_printf(call->arena, "platform={file: '%s', nodes: %d}", cluster->path,
                           cluster->gpus / cluster->platform.gpus_per_node);
}
