/* What commands share that take a workload or a platform: option rows, the request for the
 * workload, the folder of installed data, the placement of ranks, and facts about a job that their
 * pages show. */
#ifndef MS_CLI_JOB_OPTIONS_H
#define MS_CLI_JOB_OPTIONS_H

#include "base/units.h"
#include "cli/cli.h"
#include "cluster/placement/placement.h"
#include "simulate/run/job.h"

/* Rows for the option tables of such commands: {MS_OPTION_SET}, or with further members
 * {MS_OPTION_SET, .modes = IN}. */
#define MS_OPTION_PLATFORM                                                                         \
    "platform", "P.yaml", .help = "platform file, or the name of one, instead of the workload's"
#define MS_OPTION_SET                                                                              \
    "set", "key.path=value", .is_repeatable = true, .takes = MS_TAKES_WORKLOAD_KEY,                \
                             .help = "override a key of the workload, or of its platform as "      \
                                     "platform.KEY; null takes it out"
/* --set of a command that takes a platform alone. */
#define MS_OPTION_SET_PLATFORM                                                                     \
    "set", "KEY=VALUE", .is_repeatable = true, .takes = MS_TAKES_PLATFORM_KEY,                     \
                        .help = "override a key of the platform, such as platform.nodes=128"
#define MS_OPTION_FIDELITY                                                                         \
    "fidelity", "L", .word = ms_cli_fidelity_word, .fallback = "as the workload says",             \
                     .help = "analytic (no contention), flow (transfers share links) or step "     \
                             "(and collectives are played step by step)"
#define MS_OPTION_OVERLAP                                                                          \
    "overlap", "fused|serial",                                                                     \
        .fallback = "as the workload says",                                                        \
        .help = "pairs of a forward and a backward pass: together, or one after the other"
#define MS_OPTION_SENDS                                                                            \
    "sends", "async|blocking",                                                                     \
        .fallback = "as the workload says",                                                        \
        .help = "whether a rank that sends to a stage waits until the message has arrived"
#define MS_OPTION_GRANULARITY                                                                      \
    "granularity", "layer|pass",                                                                   \
        .fallback = "as the workload says",                                                        \
        .help = "what is one operation: a layer's computation or collective, or as much of a "     \
                "pass as its ranks go through together"
#define MS_OPTION_JSON "json", .help = "print one JSON object on stdout"
#define MS_OPTION_TOKENS                                                                           \
    "tokens", "N",                                                                                 \
        .help = "tokens of the whole training, such as 15T or 15e12: adds its days, GPU-hours, "   \
                "USD and MWh"
#define MS_OPTION_SOLVER                                                                           \
    "solver", "simgrid|maxmin",                                                                    \
        .fallback = "simgrid",                                                                     \
        .help =                                                                                    \
            "what finds how transfers share links: SimGrid, or max-min fairness of meshsim's "     \
            "own, which finds the same in less time where there are millions, as with --no-fold"

/* Tokens that --tokens gives: a positive number, which K, M, B or T may follow (1e3 to 1e12); 0
 * when absent.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_tokens(const ms_invocation *call, double *tokens_out);

/* Write notes on what --tokens cannot print because a platform has no price or no power, with the
 * options that give them; none without --tokens or with --json.  name: of the platform before these
 * keys, where several are searched; NULL: there is one. */
void ms_cli_note_upkeep(const ms_invocation *call, const ms_platform *cluster, const char *name);

/* Read an option with a unit.  *out: in SI units; keeps its default without the option.  MS_E_USAGE
 * (reported). */
ms_status ms_cli_quantity(const ms_invocation *call, const char *name, ms_dimension dimension,
                          double *out);

/* Words of --fidelity by index; NULL behind the last. */
const char *ms_cli_fidelity_word(int index);

/* Make the request for a workload from the options: --platform, --set and --fidelity, which the
 * command has to have, and --overlap, --sends and --granularity where it has them.  workload: path
 * or name.  *request_out: in the call's arena.  Returns MS_OK; MS_E_USAGE, MS_E_NOMEM
 * (reported). */
ms_status ms_cli_job_request(const ms_invocation *call, const char *workload,
                             ms_job_request *request_out);

/* Copy a request with further overrides behind its own, so that they win.  *out: its list is in
 * `arena`.  Returns false when memory runs out. */
bool ms_cli_extend_request(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                           ms_job_request *out);

/* Load the workload that the first positional argument names, with --fold, --no-fold,
 * --no-fast-forward and --solver, and write notes for keys without effect and a missing framework.
 * *request_out: the request, for commands that load the job again with other settings.  Returns as
 * ms_job_load. */
ms_status ms_cli_load_requested(const ms_invocation *call, ms_job_request *request_out,
                                ms_job *job_out);

/* The folder of installed data, which holds platforms/ and workloads/: $MESHSIM_DATA; else
 * ../share/meshsim from the program's folder (an installation) or .. (a build folder in the source
 * tree), if it holds platforms/; else the path that `cmake --install` uses.  In `arena` or
 * static. */
const char *ms_cli_data_folder(ms_arena *arena);

/* Folder of the models that have names, below the data folder: Hugging Face configs. */
#define MS_CLI_MODELS "workloads/models"

/* The names of the installed files of a folder below the data folder, such as "platforms", without
 * their endings: "a, b, c"; "" without any.  In `arena` or static. */
const char *ms_cli_installed_names(const char *folder, ms_arena *arena);

/* The --set options of a command that takes a platform, as one mapping; empty without any.
 * *changes_out: in the call's arena.  Returns as ms_node_set. */
ms_status ms_cli_platform_changes(const ms_invocation *call, ms_node **changes_out);

/* Load a platform by path or name (found as ms_platform_folders describes) with the command's --set
 * options, whose keys may begin with "platform.".  *platform_out: its contents are in the call's
 * arena.  Returns as ms_platform_load. */
ms_status ms_cli_load_platform(const ms_invocation *call, const char *name,
                               ms_platform *platform_out);

/* As ms_cli_load_platform, with given changes in place of --set.  changes: a mapping, or NULL. */
ms_status ms_cli_load_changed_platform(const ms_invocation *call, const char *name,
                                       ms_node *changes, ms_platform *platform_out);

/* Row of --placement for the tables of the commands that have it. */
#define MS_OPTION_PLACEMENT                                                                        \
    "placement", "MAPPING", .help = "where ranks sit, as in a workload: '{nodes: [0-3], spares: 1}'"

/* Place ranks on GPUs by --placement; without it rank r is on GPU r.  ranks: their number; 0: as
 * many as the GPUs of the nodes that --placement names, or does not keep as spares.
 * *placement_out: in the call's arena.  Returns MS_OK; MS_E_INPUT or MS_E_USAGE (reported);
 * MS_E_IO; MS_E_NOMEM. */
ms_status ms_cli_read_placement(const ms_invocation *call, const ms_platform *platform, int ranks,
                                ms_rank_placement *placement_out);

/* Write a note for a job that names no framework: the keys that Megatron Core's profile would
 * assume and the workload's file does not set. A job with a framework gets no note, nor does one
 * with given costs, which no framework changes.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_cli_note_framework(const ms_invocation *call, const char *data_folder,
                                const ms_job_spec *spec);

/* Add the object `page` to a tree: facts about the job that text and Markdown show and --json has
 * no keys for, such as its nodes and stages.  Returns the object; NULL when memory runs out. */
ms_value *ms_cli_add_job_page(const ms_job *job, ms_value *root);

#endif
