/* meshsim calibrate: parameters of a platform fitted to measurements of one's own, by Python. */
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/tool.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "platform",
     .argument = "P.yaml",
     .arguments = 1,
     .help = "platform file, or the name of one, to calibrate"},
    MS_OPTION_SET_PLATFORM,
    {.name = "kernels",
     .argument = "TABLE.csv",
     .arguments = 1,
     .help = "measured kernels, as a GPU type's `measured` names them: kernel,shape,time; gemm, "
             "memory and attention count"},
    {.name = "system",
     .argument = "NAME",
     .arguments = 1,
     .help = "points of this system alone, where files have several"},
    {.name = "fit",
     .argument = "KEY",
     .arguments = 1,
     .is_repeatable = true,
     .help = "fit this key, such as tiers.nvlink.efficiency; without it all that the points depend "
             "on"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .help = "write a platform file: its base and the fitted keys",
     .writes = ".yaml"},
    {.name = "name",
     .argument = "NAME",
     .arguments = 1,
     .fallback = "the platform's, with -calibrated",
     .help = "of that platform"},
    {.name = "force", .help = "overwrite a file that is there"},
    MS_OPTION_JSON,
    {0},
};

const ms_command ms_cmd_calibrate = {
    .name = "calibrate",
    .summary = "fit parameters of a platform to measurements of your own",
    .positional_help = "[LOG...]",
    .positionals_min = 0,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "Fits bandwidths, latencies and launches of a platform and its library to logs of "
        "nccl-tests (or what else `validate` reads as collectives), and efficiencies of its GPU "
        "type to a table of measured kernels, by least squares of the logarithms of times. A third "
        "of the points, by the checksums of their names, is left out and says how good the fit is "
        "elsewhere. Prints what moved; -o writes a platform file that names the platform as its "
        "base and has the fitted keys alone, for `run --platform`.",
    .example = "meshsim calibrate workloads/validation/allreduce_a100.csv --system a100 --platform "
               "dgx-a100",
    .run = ms_cli_run_tool,
};
