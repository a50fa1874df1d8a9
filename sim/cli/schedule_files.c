/* Loads a schedule for `meshsim schedule` from a kind, a file or a workload, and writes one as
 * PyTorch's CSV or as a Gantt picture (schedule_options.h). */
#include <string.h>

#include "cli/job_options.h"
#include "cli/schedule_options.h"
#include "estimate/estimate.h"

/* Check that the sizes given on the command line (0: not given) are those found in the file.
 * Returns MS_OK; MS_E_USAGE (reported). Where the file has a multiple of the given microbatches,
 * they may be slices of sequences: the message then names --splits. */
static ms_status check_sizes(const ms_invocation *call, const ms_schedule_spec *given,
                             const ms_schedule_spec *found) {
    const struct {
        const char *name;
        int given, found;
    } sizes[] = {{"ranks", given->pipeline_ranks, found->pipeline_ranks},
                 {"chunks", given->chunks, found->chunks},
                 {"microbatches", given->microbatches, found->microbatches}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].given != 0 && sizes[i].given != sizes[i].found) {
            bool may_be_slices = /* 2: microbatches */
                i == 2 && given->slices == 0 && sizes[i].found % sizes[i].given == 0;
            return ms_diag_usage(
                call->diag, "'--%s' is %d, and the file has %d; leave it out%s", sizes[i].name,
                sizes[i].given, sizes[i].found,
                may_be_slices
                    ? ", or say with '--splits' how many slices of a sequence make a microbatch"
                    : "");
        }
    }
    return MS_OK;
}

/* The argument is the name of a kind, or csv:FILE. Sizes from options must agree with those of a
 * file. */
ms_status ms_cli_schedule_load(const ms_invocation *call, ms_cli_schedule *schedule_out) {
    ms_schedule_spec sizes;
    ms_schedule_choice choice;
    *schedule_out = (ms_cli_schedule){.workload = NULL};
    ms_status status = ms_cli_schedule_sizes(call, &sizes);
    status = status == MS_OK ? ms_cli_schedule_choice(call, call->positionals[0], &choice) : status;
    if (status != MS_OK) {
        return status;
    }
    status = ms_schedule_open(&choice, &sizes, call->arena, call->diag, &schedule_out->opened);
    if (status == MS_OK && choice.file != NULL) {
        status = check_sizes(call, &sizes, &schedule_out->opened.program.spec);
    } else if (status == MS_E_INPUT && choice.file == NULL) {
        status = MS_E_USAGE; /* all sizes came from options */
    }
    return status;
}

/* Read the costs of the options (latency, --overlap, --sends), and replace the times of the passes
 * by the computing times of the workload's stages [s]. */
static ms_status read_costs_of_workload(const ms_invocation *call, const ms_job *job,
                                        ms_schedule_costs *costs_out) {
    ms_schedule_costs times;
    ms_status status = ms_cli_schedule_costs(call, job->program.model_stages, costs_out);
    if (status == MS_OK && ms_estimate_pass_times(job, call->arena, &times) != MS_OK) {
        status = ms_diag_no_memory(call->diag);
    }
    if (status == MS_OK) {
        costs_out->forward = times.forward;
        costs_out->input_grad = times.input_grad;
        costs_out->weight_grad = times.weight_grad;
    }
    return status;
}

/* The workload's job is laid out with the schedule in the place of its own, and the stages' times
 * are those of this job. */
ms_status ms_cli_schedule_of_workload(const ms_invocation *call, const ms_schedule_choice *choice,
                                      ms_job *job_out, ms_schedule_costs *costs_out) {
    ms_job_request request;
    ms_job base = {0};
    ms_schedule_spec sizes = {0};
    *job_out = (ms_job){0};
    ms_status status = ms_cli_schedule_sizes(call, &sizes);
    status = status == MS_OK
                 ? ms_cli_job_request(call, ms_cli_value(call, "workload", NULL), &request)
                 : status;
    status = status == MS_OK ? ms_job_load(&request, call->arena, call->diag, &base) : status;
    status = status == MS_OK
                 ? ms_schedule_in_workload(&base, choice, &sizes, call->arena, call->diag, job_out)
                 : status;
    status = status == MS_OK ? read_costs_of_workload(call, job_out, costs_out) : status;
    job_out->program.name = choice->name;
    return status;
}

/* Read --csv-form, --csv-dialect and --merge-bw: which cells a CSV file has.  *is_legacy_out: it
 * has the letters of 2024, B for the input gradient and BW for the whole backward pass.  Returns
 * MS_OK; MS_E_USAGE (reported). */
static ms_status read_form(const ms_invocation *call, ms_csv_form *form_out, bool *is_legacy_out) {
    static const char *const NAMES[] = {"compute", "sends", "comms", NULL};
    static const char *const DIALECTS[] = {"current", "legacy", NULL};
    int form = 0;
    int dialect = 0;
    ms_status status = ms_cli_choice(call, "csv-form", NAMES, &form);
    status = status == MS_OK ? ms_cli_choice(call, "csv-dialect", DIALECTS, &dialect) : status;
    *form_out = (ms_csv_form){.has_sends = form > 0,
                              .has_shards = form > 1,
                              .merges_pairs = ms_cli_has(call, "merge-bw")};
    *is_legacy_out = dialect == 1;
    return status;
}

ms_status ms_cli_schedule_write(const ms_invocation *call, const ms_cli_schedule *schedule) {
    const char *path = ms_cli_value(call, "csv", NULL);
    /* A schedule that was read from a file is written back unchanged, unless an option asks for a
     * form. */
    bool keeps_form = schedule->opened.has_cells && !ms_cli_has(call, "csv-form") &&
                      !ms_cli_has(call, "csv-dialect") && !ms_cli_has(call, "merge-bw");
    ms_csv_form form;
    ms_csv_table table = schedule->opened.cells;
    bool is_legacy = false;
    ms_status status = read_form(call, &form, &is_legacy);
    if (status == MS_OK && path != NULL && !keeps_form) {
        status = ms_csv_lower(&schedule->opened.program, &form, call->arena, call->diag, &table);
        table.is_legacy = is_legacy;
    }
    if (status != MS_OK || path == NULL) {
        return status;
    }
    ms_buffer text = {0};
    ms_csv_write(&table, &text);
    return ms_cli_write_file(call, path, &text);
}

/* Draw Gantt pictures as SVG, and write them to a file in the format of its ending
 * (ms_picture_write).  gantts: [count].  Returns MS_OK; MS_E_USAGE (reported): a schedule takes no
 * time; else as ms_cli_write_file. */
static ms_status draw(const ms_invocation *call, const ms_gantt *gantts, size_t count,
                      const char *path) {
    ms_buffer svg = {0};
    ms_status status = ms_gantt_write_svg(gantts, count, &svg);
    svg.failed = svg.failed || status == MS_E_NOMEM;
    if (status != MS_E_RANGE) {
        return ms_cli_write_file(call, path, &svg);
    }
    ms_diag_error(call->diag, "cannot draw '%s': %s takes no time", path,
                  count == 1 ? "the schedule" : "one of the schedules");
    ms_buffer_release(&svg);
    return MS_E_USAGE; /* all costs came from options */
}

ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_drawn_schedule *drawn,
                                size_t count, const char *path) {
    ms_gantt gantts[MS_GANTT_PICTURES_MAX];
    if (count == 0) {
        ms_diag_error(call->diag,
                      "cannot draw '%s': none of the schedules is possible here; the table, "
                      "without '--gantt', says why",
                      path);
        return MS_E_NO;
    }
    if (count > MS_GANTT_PICTURES_MAX) {
        return ms_diag_usage(call->diag,
                             "cannot draw '%s': at most %d schedules are stacked in a picture, got "
                             "%zu; name fewer with '--compare'",
                             path, MS_GANTT_PICTURES_MAX, count);
    }
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < count; i++) {
        status = ms_gantt_from_schedule(&drawn[i], call->arena, &gantts[i]);
    }
    return status == MS_OK ? draw(call, gantts, count, path) : ms_diag_no_memory(call->diag);
}
