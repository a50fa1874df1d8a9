/* meshsim export: workloads as files of other software, which Python writes. */
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/tool.h"

/* As KINDS of scripts/python/meshsim/tools/export.py. */
static const char *kind_word(int index) {
    static const char *const KINDS[] = {"megatron", "torchtitan", "deepspeed", NULL};
    return KINDS[index];
}

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .fallback = "-",
     .help = "write the file there, '-' for standard output",
     .writes = ".sh, .toml or .json"},
    MS_OPTION_PLATFORM,
    MS_OPTION_SET,
    {.name = "quiet", .help = "do not tell what the file leaves unsaid"},
    MS_OPTION_JSON,
    {0},
};

const ms_command ms_cmd_export = {
    .name = "export",
    .summary = "say a workload in the words of other software",
    .positional_help = "KIND WORKLOAD.yaml",
    .word = kind_word,
    .positionals_min = 2,
    .positionals_max = 2,
    .options = OPTIONS,
    .description =
        "KIND megatron: the arguments of Megatron-LM, as a shell script that holds an array of "
        "them, to source, to paste from, or to run with the arguments of data and tokenizer "
        "behind it. KIND torchtitan: its job config, TOML; KIND deepspeed: DeepSpeed's "
        "configuration, JSON; the models of both are code of your own. "
        "Keys "
        "that the other software has no words for stand in the file as comments "
        "(of JSON on stderr), each with its value, what that software does instead, and why; in "
        "--json under 'unsaid'. "
        "These are found by reading the file back as 'import' does, so that what is not listed "
        "comes back as it is. Takes what 'search' writes, too.",
    .example = "meshsim export megatron workloads/tiny.yaml -o train.sh",
    .run = ms_cli_run_tool,
};
