/* So many whole nodes of a platform: what commands that make workloads share. */
#ifndef MS_CLI_CLUSTER_OPTIONS_H
#define MS_CLI_CLUSTER_OPTIONS_H

#include "cli/cli.h"
#include "cluster/platform/platform.h"

typedef struct ms_cli_cluster {
    ms_platform platform;
    const char *path; /**< what a workload names it by, wherever the workload lies */
    int gpus;         /**< --gpus; all of the platform's without it */
} ms_cli_cluster;

/* Load the platform of --platform, which was given, and read --gpus.  *cluster_out: in call->arena.
 * Returns as ms_platform_load; MS_E_USAGE (reported) for GPUs that are no whole nodes. */
ms_status ms_cli_read_cluster(const ms_invocation *call, ms_cli_cluster *cluster_out);

/* It as an override of a workload: "platform={file: 'P', nodes: N}".  NULL: no memory. */
const char *ms_cli_cluster_set(const ms_invocation *call, const ms_cli_cluster *cluster);

#endif
