/* meshsim validate: measured runs, predicted against measured. */
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_validation.h"
#include "cli/worker_options.h"
#include "meshsim/target.h"
#include "meshsim/usage.h"
#include "meshsim/validate.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "group",
     .argument = "G",
     .arguments = 1,
     .fallback = "all",
     .help = "cases of this group only"},
    {.name = "explain",
     .argument = "ID",
     .arguments = 1,
     .help = "one case in full: its job, where the time goes, what its source publishes"},
    {.name = "jobs",
     .argument = "J",
     .arguments = 1,
     .fallback = "processors, at most 4",
     .help = "simulations at once"},
    {.name = "csv",
     .argument = "FILE",
     .arguments = 1,
     .help = "write the rows as CSV",
     .writes = ".csv"},
    {.name = "plot",
     .argument = "FILE",
     .arguments = 1,
     .help = "draw predicted against measured",
     .writes = ".svg"},
    MS_OPTION_JSON,
    {0},
};

/* What cannot be written is told before anything takes long. */
static ms_status check_targets(const ms_invocation *call) {
    static const char *const DATA[] = {"json", "csv", "plot", NULL};
    static const char *const FILES[] = {"csv", "plot", NULL};
    ms_status status = ms_cli_check_stdout(call, DATA);
    for (size_t i = 0; FILES[i] != NULL && status == MS_OK; i++) {
        const char *path = ms_cli_value(call, FILES[i], "-");
        status = strcmp(path, "-") == 0 ? MS_OK : ms_target_check(path, MS_TARGET_TEXT, call->diag);
    }
    return status;
}

static ms_status read_files(const ms_invocation *call, ms_measurements *measurements) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < call->positional_count; i++) {
        ms_status one =
            ms_measurements_read(call->positionals[i], call->arena, call->diag, measurements);
        status = status == MS_OK ? one : status;
    }
    return status;
}

/* Write what an option asks for; nothing without it. */
static ms_status write_option(const ms_invocation *call, const char *option, const ms_validation *v,
                              void (*write)(const ms_validation *, ms_arena *, ms_buffer *)) {
    const char *path = ms_cli_value(call, option, NULL);
    if (path == NULL) {
        return MS_OK;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    write(v, call->arena, &text);
    ms_status status = text.failed || call->arena->has_failed
                           ? ms_diag_no_memory(call->diag)
                           : ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    ms_buffer_release(&text);
    return status;
}

static ms_status show(const ms_invocation *call, const ms_validation *v) {
    ms_status status = write_option(call, "csv", v, ms_show_validation_csv);
    if (status == MS_OK) {
        status = write_option(call, "plot", v, ms_show_validation_plot);
    }
    bool is_taken = strcmp(ms_cli_value(call, "csv", ""), "-") == 0 ||
                    strcmp(ms_cli_value(call, "plot", ""), "-") == 0;
    if (status != MS_OK || is_taken) {
        return status;
    }
    if (ms_cli_has(call, "json")) {
        return ms_cli_print_json(call, ms_show_validation_tree(call, v));
    }
    ms_buffer page;
    ms_buffer_init(&page);
    if (ms_cli_has(call, "explain")) {
        ms_show_validation_case(&v->rows[0], &page);
    } else {
        ms_show_validation_page(v, call->arena, &page);
    }
    return ms_cli_print_page(call, &page);
}

static ms_status run(const ms_invocation *call) {
    ms_measurements measurements;
    ms_validation validation;
    double start_s = ms_wall_s();
    ms_measurements_init(&measurements);
    ms_validate_study study = {.measurements = &measurements,
                               .group = ms_cli_value(call, "group", NULL),
                               .id = ms_cli_value(call, "explain", NULL),
                               .data_folder = ms_cli_data_folder(call->arena),
                               .progress = ms_cli_show_progress,
                               .context = &start_s};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK ? check_targets(call) : status;
    status = status == MS_OK ? read_files(call, &measurements) : status;
    if (status == MS_OK) {
        status = ms_validate_run(&study, call->arena, call->diag, &validation);
    }
    status = status == MS_OK ? show(call, &validation) : status;
    ms_measurements_release(&measurements);
    return status;
}

const ms_command ms_cmd_validate = {
    .name = "validate",
    .summary = "simulate measured runs, predicted against measured",
    .positional_help = "CASES.yaml...",
    .positionals_min = 1,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "Simulates published runs with one set of parameters, nothing of it per run, and prints "
        "predicted against measured step times with their error (predicted / measured - 1), by "
        "group and over all (the mean of the groups' mean errors, so that a large table does not "
        "drown a small one). Memory, times of single layers and collectives are tables of their "
        "own beside it. A run that cannot be simulated is skipped with the reason. "
        "workloads/validation/README.md says what the files hold.",
    .example = "meshsim validate workloads/validation/cases.yaml --group korthikanti22",
    .run = run,
};
