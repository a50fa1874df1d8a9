/* What --placement says. */
#ifndef MS_CLI_PLACEMENT_OPTIONS_H
#define MS_CLI_PLACEMENT_OPTIONS_H

#include "cli/cli.h"
#include "cluster/placement/placement.h"

/* The option, for the tables of the commands that have it. */
#define MS_OPTION_PLACEMENT                                                                        \
    "placement", "MAPPING", .help = "where ranks sit, as in a workload: '{nodes: [0-3], spares: 1}'"

/* Place so many ranks as --placement says; without it, rank r on GPU r.  ranks: 0 for as many as
 * the nodes take that it names or leaves.  Returns MS_OK; MS_E_INPUT or MS_E_USAGE (reported);
 * MS_E_IO; MS_E_NOMEM. */
ms_status ms_cli_read_placement(const ms_invocation *call, const ms_platform *platform, int ranks,
                                ms_rank_placement *placement_out);

#endif
