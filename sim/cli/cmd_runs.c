/* meshsim runs: simulates a list of many jobs in one call, for programs such as calibration. Each
 * job gives one line of JSON on the standard output. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/study_options.h"
#include "search/job_list.h"

static const ms_option OPTIONS[] = {
    {"set", "key.path=value", .is_repeatable = true, .takes = MS_TAKES_WORKLOAD_KEY,
     .help = "override a key of every job, or of every platform as platform.KEY; "
             "platform.tiers.*.KEY is that of every tier"},
    {MS_OPTION_JOBS("simulations at once")},
    {0},
};

/* Print the line of a job: `tell` of ms_job_list_study. The line is flushed as soon as the job has
 * ended, as the program that reads the lines counts them.  context: the invocation, const
 * ms_invocation *const *. */
static ms_status print_outcome(void *context, const ms_listed_outcome *outcome) {
    const ms_invocation *const *call = context;
    ms_buffer line = {0};
    ms_buffer_printf(&line, "{\"job\":%zu,\"exit\":%d,\"is_read\":%s,\"blames_set\":%s,\"said\":",
                     outcome->index, ms_status_exit_code(outcome->status),
                     outcome->is_read ? "true" : "false", outcome->blames_sets ? "true" : "false");
    ms_json_write_string(&line, outcome->said);
    if (outcome->status == MS_OK) {
        ms_buffer_printf(&line, ",\"result\":%s", outcome->result);
    } else {
        ms_buffer_puts(&line, ",\"reason\":");
        ms_json_write_string(&line, outcome->reason);
    }
    ms_buffer_puts(&line, "}\n");
    fwrite(ms_buffer_text(&line), 1, line.length, stdout);
    ms_status status = line.failed ? ms_diag_no_memory((*call)->diag) : ms_cli_finish_stdout(*call);
    ms_buffer_release(&line);
    return status;
}

/* Read the list of jobs and simulate them, --jobs at once. */
static ms_status run(const ms_invocation *call) {
    ms_job_list list;
    ms_given sets = ms_cli_all(call, "set");
    ms_job_list_study study = {.list = &list,
                               .sets = {.items = sets.values, .count = sets.count},
                               .data_folder = ms_cli_data_folder(call->arena),
                               .tell = print_outcome,
                               .context = &call};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK
                 ? ms_job_list_read(call->positionals[0], call->arena, call->diag, &list)
                 : status;
    return status == MS_OK ? ms_job_list_run(&study, call->arena, call->diag) : status;
}

const ms_command ms_cmd_runs = {
    .name = "runs",
    .summary = "simulate many jobs in one call, for programs",
    .positional_help = "JOBS.json",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Reads {\"jobs\": [{\"workload\": FILE, \"text\": YAML, \"platform\": P, \"set\": "
        "[\"key.path=value\", ...]}, ...]}, of which each job needs the workload alone: text takes "
        "the place of what stands in that file, whose folder its relative paths start from. Prints "
        "a line of JSON for each job as soon as it has ended: 'job', its place in the list from 0; "
        "'exit', the exit code that 'run' would have had, 0 also for a job that does not fit in "
        "memory; 'is_read', whether its inputs could be read; 'blames_set', whether they could be "
        "without --set; 'said', messages; and 'result', what 'run --json --passes' prints, or "
        "'reason', the first fault in one line. A job that fails leaves the others be.",
    .example = "meshsim runs jobs.json --jobs 2",
    .run = run,
};
