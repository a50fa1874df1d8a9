/* What `run`, `check` and others that take a workload share: options, the request made of them, the
 * folders of installed data. */
#ifndef MS_CLI_JOB_OPTIONS_H
#define MS_CLI_JOB_OPTIONS_H

#include "cli/cli.h"
#include "meshsim/job.h"
#include "meshsim/platform.h"

/* Rows every option table of such a command holds. */
#define MS_OPTION_PLATFORM                                                                         \
    {                                                                                              \
        .name = "platform", .argument = "P.yaml", .arguments = 1,                                  \
        .help = "platform file (or the name of a shipped one) instead of the workload's"           \
    }
#define MS_OPTION_SET                                                                              \
    {                                                                                              \
        .name = "set", .argument = "key.path=value", .arguments = 1, .is_repeatable = true,        \
        .help = "override a key of the workload, or of its platform as platform.KEY"               \
    }
#define MS_OPTION_FIDELITY                                                                         \
    {                                                                                              \
        .name = "fidelity", .argument = "L", .arguments = 1, .fallback = "as the workload says",   \
        .help = "analytic (no contention) or flow (transfers share links)"                         \
    }
#define MS_OPTION_JSON                                                                             \
    { .name = "json", .help = "print one JSON object on stdout" }

/* Read the workload named first on the command line. Returns as ms_job_load. */
ms_status ms_cli_load_job(const ms_invocation *call, ms_job *job_out);

/* Folder whose platforms/ are found by name: $MESHSIM_DATA; else ../share/meshsim beside the
 * program (installed anywhere) or .. (a build folder in the source tree); else where `cmake
 * --install` puts it. In `arena` or static. */
const char *ms_cli_data_folder(ms_arena *arena);

/* Load a platform by path or name (looked up in ., ./platforms and the installed platforms) with
 * the command's --set options, whose keys may begin with "platform.". Everything lives in
 * call->arena. Returns as ms_platform_load. */
ms_status ms_cli_load_platform(const ms_invocation *call, const char *name,
                               ms_platform *platform_out);

#endif
