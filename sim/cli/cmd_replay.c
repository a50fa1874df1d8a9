/* meshsim replay: measured steps of a job, replayed without launch delays and without stragglers;
 * who is slow, and what does it cost (search/recorded/recorded.h). */
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "search/recorded/recorded.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {"csv", "FILE", .help = "write a row for each step as CSV", .writes = ".csv"},
    {"without", "RULE", .is_repeatable = true, .word = ms_recorded_rule_word,
     .help = "leave a rule of the graph out, to see what it is worth"},
    {0},
};

/* Read --without: the rules to leave out, as bits. */
static ms_status read_rules(const ms_invocation *call, uint32_t *rules_out) {
    ms_given given = ms_cli_all(call, "without");
    const char *names[32];
    size_t count = 0;
    while (ms_recorded_rule_word((int)count) != NULL) {
        names[count] = ms_recorded_rule_word((int)count);
        count++;
    }
    *rules_out = 0;
    for (size_t i = 0; i < given.count; i++) {
        size_t rule = 0;
        while (rule < count && strcmp(given.values[i], names[rule]) != 0) {
            rule++;
        }
        if (rule == count) {
            ms_diag_unknown(call->diag, "rule", given.values[i], names, count);
            return MS_E_USAGE;
        }
        *rules_out |= 1U << rule;
    }
    return MS_OK;
}

/* Read the table, replay it, and print what was found. */
static ms_status run(const ms_invocation *call) {
    static const char *const FILES[] = {"csv", NULL};
    const char *path = call->positionals[0];
    const char *file = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    ms_recorded *job = NULL;
    ms_value *root = NULL;
    uint32_t rules_off = 0;
    ms_status status = ms_cli_check_targets(call, FILES);
    status = status == MS_OK ? read_rules(call, &rules_off) : status;
    status =
        status == MS_OK ? ms_recorded_read(file, rules_off, call->arena, call->diag, &job) : status;
    status = status == MS_OK ? ms_recorded_study(job, call->arena, call->diag, &root) : status;
    if (status != MS_OK) {
        return status;
    }
    status = ms_cli_write_csv(call, "csv", root);
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    return ms_cli_show(call, path, MS_REPLAY_TABLES, root);
}

const ms_command ms_cmd_replay = {
    .name = "replay",
    .summary = "measured steps of a job: who is slow, and what does it cost?",
    .positional_help = "EVENTS.csv",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Reads a table of the operations of measured steps (CSV, which gzip may have compressed; "
        "'-': the standard input), and replays each step: with and without launch delays, and with "
        "operations that all take as long as their kind usually does. The difference is what "
        "stragglers cost. The same is done with only the operations of a stage, a data-parallel "
        "rank or a kind as measured, so that the cost has a name. workloads/events.md describes "
        "the table, the replay and the figures.",
    .example = "meshsim replay workloads/events/slow-stage.csv",
    .run = run,
};
