/* meshsim replay: measured steps of a job, replayed without launch delays and without stragglers;
 * who is slow, and what does it cost (search/recorded/recorded.h). */
#include <string.h>

#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "cli/tool.h"
#include "search/recorded/recorded.h"

/* Most replicas that can be added. */
enum { REPLICAS_MAX = 1 << 16 };

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"set", "key.path=value", .is_repeatable = true, .takes = MS_TAKES_WORKLOAD_KEY,
     .help = "what if: another schedule.kind, or other schedule.stage_layers"},
    {"leave-out", "dp=D[,stage=S]", .is_repeatable = true,
     .help = "what if: without a replica, or with a usual worker in the place of one"},
    {"transfers", "X", .help = "what if: all transfers take X times their time"},
    {"replicas", "N", .help = "what if: N more replicas, drawn from the measured ones"},
    {"seed", "N", .fallback = "1", .help = "of these draws"},
    {"output", "FILE.h5", .letter = 'o',
     .help = "write the figures and the longest step, for 'report' and 'compare'", .writes = ".h5"},
    {MS_OPTION_HTML},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {"csv", "FILE", .help = "write a row for each step as CSV", .writes = ".csv"},
    {"without", "RULE", .is_repeatable = true, .word = ms_recorded_rule_word,
     .help = "leave a rule of the graph out, to see what it is worth"},
    {0},
};

/* Read the changes that the call asks for. */
static ms_status read_changes(const ms_invocation *call, ms_recorded_whatif *out) {
    ms_given sets = ms_cli_all(call, "set");
    ms_given left_out = ms_cli_all(call, "leave-out");
    long replicas = 0;
    long seed = 1;
    *out = (ms_recorded_whatif){
        .workload = call->positional_count > 1 ? call->positionals[1] : NULL,
        .data_folder = ms_cli_data_folder(call->arena),
        .sets = {.items = sets.values, .count = sets.count},
        .name = "",
        .left_out = left_out.values,
        .left_out_count = left_out.count,
        .has_timeline = ms_cli_has(call, "output") || ms_cli_has(call, "html")};
    for (size_t i = 0; i < sets.count && out->name != NULL; i++) {
        out->name =
            ms_arena_printf(call->arena, "%s%s%s", out->name, i == 0 ? "" : ", ", sets.values[i]);
    }
    ms_status status = ms_cli_number(call, "transfers", -1.0, &out->transfer_factor);
    if (status == MS_OK && ms_cli_has(call, "transfers") && out->transfer_factor < 0.0) {
        status = ms_diag_usage(call->diag, "bad value for --transfers; expected at least 0");
    }
    status = status == MS_OK ? ms_cli_int(call, "replicas", 0, 1, REPLICAS_MAX, &replicas) : status;
    status = status == MS_OK ? ms_cli_int(call, "seed", 1, 0, INT32_MAX, &seed) : status;
    out->replicas = (int)replicas;
    out->seed = (uint64_t)seed;
    return status;
}

/* Read the table, replay it, and print what was found. */
static ms_status run(const ms_invocation *call) {
    static const char *const FILES[] = {"csv", "output", "html", NULL};
    static const char *const AS_HDF5[] = {"--of=replay", NULL};
    const char *path = call->positionals[0];
    const char *file = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    ms_given without = ms_cli_all(call, "without");
    const ms_words rules = {.items = without.values, .count = without.count};
    ms_recorded *job = NULL;
    ms_value *root = NULL;
    uint32_t rules_off = 0;
    ms_recorded_whatif request;
    ms_status status = ms_cli_check_targets(call, FILES);
    status = status == MS_OK ? read_changes(call, &request) : status;
    status = status == MS_OK ? ms_recorded_read_rules(&rules, call->diag, &rules_off) : status;
    status =
        status == MS_OK ? ms_recorded_read(file, rules_off, call->arena, call->diag, &job) : status;
    status =
        status == MS_OK ? ms_recorded_study(job, &request, call->arena, call->diag, &root) : status;
    if (status != MS_OK) {
        return status;
    }
    status = ms_cli_write_csv(call, "csv", root);
    status = status == MS_OK ? ms_cli_draw(call, "output", AS_HDF5, root) : status;
    const ms_cli_page page = {.title = ms_arena_printf(call->arena, "replay of %s", path)};
    status = status == MS_OK ? ms_cli_write_html(call, &page, root) : status;
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    return ms_cli_show(call, path, MS_REPLAY_TABLES, root);
}

const ms_command ms_cmd_replay = {
    .name = "replay",
    .summary = "measured steps of a job: who is slow, and what does it cost?",
    .positional_help = "EVENTS.csv [WORKLOAD.yaml]",
    .positionals = {1, 2},
    .options = OPTIONS,
    .description =
        "Reads a table of the operations of measured steps (CSV, plain or compressed by gzip; "
        "'-': the standard input), and replays each step with all operations, or all but those of "
        "a stage, data-parallel rank or kind, as long as their kind usually takes. The difference "
        "is what stragglers cost. WORKLOAD.yaml tells the layers of the stages for what-ifs. "
        "workloads/events.md describes the table, the replay, the figures and the what-ifs.",
    .example = "meshsim replay workloads/events/slow-stage.csv",
    .run = run,
};
