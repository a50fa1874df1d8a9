/* meshsim validate: measured runs, predicted against measured, in Python. */
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/markdown_tables.h"
#include "cli/tool.h"
#include "cli/worker_options.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "own",
     .argument = "CSV",
     .arguments = 1,
     .is_repeatable = true,
     .help = "runs of your own: a table of id, workload, step_time and keys to override"},
    {.name = "words",
     .argument = "FILE",
     .arguments = 1,
     .is_repeatable = true,
     .help = "a table of words for rows of other sources, in front of the one that is built in"},
    {.name = "group",
     .argument = "G",
     .arguments = 1,
     .fallback = "all",
     .help = "cases of this group only"},
    {.name = "explain",
     .argument = "ID",
     .arguments = 1,
     .help = "one case in full: its job, where the time goes, what its source publishes"},
    {.name = "ablation",
     .help = "simulate once more without each mechanism, and tell what each one buys"},
    {.name = "set",
     .argument = "key.path=value",
     .arguments = 1,
     .takes = MS_TAKES_WORKLOAD_KEY,
     .is_repeatable = true,
     .help = "override a key of every job, or of every platform as platform.KEY; "
             "platform.tiers.*.KEY is that of every tier"},
    MS_OPTION_JOBS("simulations at once"),
    {.name = "csv",
     .argument = "FILE",
     .arguments = 1,
     .help = "write the rows as CSV",
     .writes = ".csv"},
    {.name = "plot",
     .argument = "FILE",
     .arguments = 1,
     .help = "draw predicted against measured",
     .writes = ".svg, .png or .pdf"},
    MS_OPTION_HTML,
    MS_OPTION_JSON,
    MS_OPTION_MARKDOWN,
    {0},
};

const ms_command ms_cmd_validate = {
    .name = "validate",
    .summary = "simulate measured runs, predicted against measured",
    .positional_help = "[CASES.yaml...]",
    .positionals_min = 0,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "Simulates published runs with one set of parameters, nothing of it per run, and prints "
        "predicted against measured step times with their error (predicted / measured - 1), by "
        "group and over all (the mean of the groups' mean errors, so that a large table does not "
        "drown a small one). Memory, times of single layers and collectives are tables of their "
        "own beside it. A run that cannot be simulated is skipped with the reason. --ablation "
        "tells by how much the mean error grows without each mechanism of the cost model. "
        "workloads/validation/README.md says what the files hold.",
    .example = "meshsim validate workloads/validation/cases.yaml --group korthikanti22",
    .run = ms_cli_run_tool,
};
