/* meshsim schedule: a pipeline schedule with abstract costs, on paper. */
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/schedule_gantt.h"
#include "cli/schedule_options.h"
#include "cli/show_schedule.h"
#include "meshsim/schedule.h"

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

static ms_status print_text(const ms_invocation *call, const ms_program *program,
                            const ms_schedule_result *result) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_cli_schedule_text(program, result, &text);
    ms_status status = text.failed
                           ? report_no_memory(call)
                           : ms_cli_write_file(call, "-", ms_buffer_text(&text), text.length);
    ms_buffer_release(&text);
    return status;
}

static bool is_stdout(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

static ms_status output(const ms_invocation *call, const ms_cli_schedule *schedule,
                        const ms_schedule_result *result) {
    const char *csv = ms_cli_value(call, "csv", NULL);
    const char *gantt = ms_cli_value(call, "gantt", NULL);
    ms_status status = ms_cli_schedule_write(call, schedule);
    if (status == MS_OK && gantt != NULL) {
        status = ms_cli_schedule_gantt(call, &schedule->program, result, gantt);
    }
    bool is_stdout_taken = is_stdout(csv) || is_stdout(gantt);
    if (status != MS_OK || is_stdout_taken) {
        return status;
    }
    return ms_cli_has(call, "json")
               ? ms_cli_print_json(call, ms_cli_schedule_tree(call, &schedule->program, result))
               : print_text(call, &schedule->program, result);
}

/* One thing at most may go to the standard output by option. */
static ms_status check_stdout(const ms_invocation *call) {
    bool has_csv = is_stdout(ms_cli_value(call, "csv", NULL));
    bool has_gantt = is_stdout(ms_cli_value(call, "gantt", NULL));
    if (has_csv + has_gantt + ms_cli_has(call, "json") > 1) {
        ms_diag_error(call->diag, "'%s -' and '%s' both want the standard output",
                      has_csv ? "--csv" : "--gantt",
                      !has_csv || !has_gantt ? "--json" : "--gantt -");
        return MS_E_USAGE;
    }
    return MS_OK;
}

static ms_status run(const ms_invocation *call) {
    ms_cli_schedule schedule;
    ms_schedule_costs costs = {0};
    ms_schedule_result result;
    ms_status status = check_stdout(call);
    if (status == MS_OK) {
        status = ms_cli_schedule_load(call, &schedule);
    }
    if (status == MS_OK) {
        status = ms_cli_schedule_costs(call, schedule.program.model_stages, &costs);
    }
    if (status == MS_OK) {
        status = ms_schedule_evaluate(&schedule.program, &costs, call->arena, call->diag, &result);
    }
    return status == MS_OK ? output(call, &schedule, &result) : status;
}

static const ms_option OPTIONS[] = {
    {"ranks", 'p', "P", 1, false, NULL, "pipeline ranks"},
    {"chunks", 'v', "V", 1, false, NULL, "virtual stages per rank; without: 1, or 2 of a V"},
    {"microbatches", 'm', "M", 1, false, NULL, "microbatches"},
    {"group", 0, "N", 1, false, "P", "microbatches per group of interleaved"},
    {"splits", 0, "K", 1, false, "1", "parts of a sequence (seq1f1b)"},
    {"reorder", 0, NULL, 0, false, NULL,
     "vhalf, vmin: move warm-up and cool-down passes into earlier gaps"},
    {"tf", 0, "T", 1, false, "1", "forward time per virtual stage and microbatch"},
    {"tb", 0, "T", 1, false, "1", "input gradient time, likewise"},
    {"tw", 0, "T", 1, false, "1", "weight gradient time, likewise"},
    {"p2p", 0, "T", 1, false, "0", "latency between neighbouring stages on different ranks"},
    {"overlap", 0, "fused|serial", 1, false, "fused",
     "overlapped passes run together, or one after the other"},
    {"fbscale", 0, "X", 1, false, "1", "a fused pair takes X times the sum of its passes"},
    {"sends", 0, "async|blocking", 1, false, "async",
     "whether a sending rank waits until its message has arrived"},
    {"csv", 0, "FILE", 1, false, NULL,
     "write the order as PyTorch's CSV ('-': stdout); a file read with csv: keeps its form"},
    {"csv-form", 0, "F", 1, false, "compute",
     "compute: passes only; sends: with messages; comms: with messages and parameters"},
    {"csv-dialect", 0, "current|legacy", 1, false, "current",
     "letters I and B, or B and BW as in 2024, for input gradient and whole backward"},
    {"merge-bw", 0, NULL, 0, false, NULL, "write I with its W right behind it as one B"},
    {"gantt", 0, "FILE.svg", 1, false, NULL, "draw the passes as a picture ('-': stdout)"},
    {"json", 0, NULL, 0, false, NULL, "print one JSON object"},
    {0},
};

const ms_command ms_cmd_schedule = {
    .name = "schedule",
    .summary = "run a pipeline schedule on paper: makespan, bubble, peaks, closed form.",
    .positional_help = "KIND",
    .positionals_min = 1,
    .positionals_max = 1,
    .options = OPTIONS,
    .description =
        "KIND is gpipe, 1f1b or interleaved. Times T have no unit; each is one number, or a comma "
        "list with one per virtual stage (per boundary for --p2p). A stage's backward pass takes "
        "tb + "
        "tw. Messages take only latency and never keep a rank busy.\n\n"
        "Idle time counts as warm-up before a rank's first backward pass, as cool-down after its "
        "last forward pass, else as steady. 'Exposed p2p' is how much later passes start "
        "than they would without latency. A microbatch is in flight on a stage from the start of "
        "its "
        "forward pass to the end of its weight gradient (to W) or input gradient (to I).\n\n"
        "The makespan is compared with the closed form where one is known for these sizes "
        "and costs.",
    .example = "meshsim schedule interleaved -p 4 -v 2 -m 8 --p2p 0.1",
    .run = run,
};
