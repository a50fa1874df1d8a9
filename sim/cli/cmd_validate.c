/* meshsim validate: measured runs, predicted against measured. */
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/markdown_tables.h"
#include "cli/show_ablation.h"
#include "cli/show_validation.h"
#include "cli/tool.h"
#include "cli/worker_options.h"
#include "meshsim/usage.h"
#include "meshsim/validate.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "own",
     .argument = "CSV",
     .arguments = 1,
     .is_repeatable = true,
     .help = "runs of your own: a table of id, workload, step_time and keys to override"},
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

/* Options that name a file to write. */
static const char *const TARGETS[] = {"csv", "plot", "html", NULL};

static ms_status read_files(const ms_invocation *call, ms_measurements *measurements) {
    const ms_given own = ms_cli_all(call, "own");
    const ms_given files[] = {{call->positionals, call->positional_count}, own};
    ms_status status = MS_OK;
    if (files[0].count + own.count == 0) {
        ms_diag_error(call->diag, "expected files of measured runs, or --own CSV");
        return MS_E_USAGE;
    }
    for (size_t list = 0; list < sizeof files / sizeof files[0]; list++) {
        for (size_t i = 0; i < files[list].count; i++) {
            ms_status one =
                ms_measurements_read(files[list].values[i], call->arena, call->diag, measurements);
            status = status == MS_OK ? one : status;
        }
    }
    return status;
}

/* Write what an option asks for; nothing without it. */
static ms_status write_option(const ms_invocation *call, const char *option, const ms_ablation *a,
                              void (*write)(const ms_ablation *, ms_arena *, ms_buffer *)) {
    ms_buffer text;
    ms_buffer_init(&text);
    if (ms_cli_has(call, option)) {
        write(a, call->arena, &text);
    }
    return ms_cli_write_option(call, option, &text);
}

static void write_csv(const ms_ablation *a, ms_arena *arena, ms_buffer *out) {
    if (a->count > 0) {
        ms_show_ablation_csv(a, arena, out);
    } else {
        ms_show_validation_csv(&a->whole, arena, out);
    }
}

static ms_value *make_tree(const ms_invocation *call, const ms_ablation *a) {
    ms_value *root = ms_show_validation_tree(call, &a->whole);
    if (a->count > 0) {
        ms_show_ablation_list(a, call->arena, root);
    }
    return root;
}

static ms_status write_html(const ms_invocation *call, const ms_ablation *a) {
    const ms_given own = ms_cli_all(call, "own");
    const size_t count = call->positional_count + own.count;
    const char **files = MS_NEW(call->arena, const char *, count + 1);
    if (!ms_cli_has(call, "html") || files == NULL) {
        return files == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_own = i >= call->positional_count;
        files[i] = is_own ? own.values[i - call->positional_count] : call->positionals[i];
    }
    const char *group = ms_cli_value(call, "group", NULL);
    const ms_cli_page page = {.title = group == NULL
                                           ? "validation"
                                           : ms_arena_printf(call->arena, "validation: %s", group),
                              .files = {files, count}};
    return ms_cli_write_html(call, &page, make_tree(call, a));
}

/* a: without rows where no ablation was asked for. */
static ms_status show(const ms_invocation *call, const ms_ablation *a) {
    ms_status status = write_option(call, "csv", a, write_csv);
    if (status == MS_OK && ms_cli_has(call, "plot")) {
        status = ms_cli_draw(call, "plot", NULL, make_tree(call, a));
    }
    status = status == MS_OK ? write_html(call, a) : status;
    if (status != MS_OK || ms_cli_takes_stdout(call, TARGETS)) {
        return status;
    }
    if (ms_cli_wants_tree(call)) {
        const char *group = ms_cli_value(call, "group", NULL);
        return ms_cli_print_tree(call, group, MS_VALIDATE_TABLES, make_tree(call, a));
    }
    ms_buffer page;
    ms_buffer_init(&page);
    if (a->count > 0) {
        ms_show_ablation_page(a, call->arena, &page);
    } else if (ms_cli_has(call, "explain")) {
        ms_show_validation_case(&a->whole.rows[0], &page);
    } else {
        ms_show_validation_page(&a->whole, call->arena, &page);
    }
    return ms_cli_print_page(call, &page);
}

/* ---- the study ---- */

/* How far it has come. */
typedef struct runs_done {
    double start_s; /* on the clock of ms_wall_s */
    size_t done, count;
} runs_done;

static void note_progress(void *context, size_t done, size_t count) {
    runs_done *runs = context;
    runs->done = done;
    runs->count = count;
    ms_cli_show_progress(&runs->start_s, done, count);
}

/* Errors of a part of the runs are no score, so that none is shown. */
static void tell_rest(const ms_invocation *call, const runs_done *runs) {
    ms_cli_leave_progress(&runs->start_s);
    ms_diag_note(call->diag, NULL, NULL,
                 "interrupted after %zu of %zu simulations; nothing is shown of them, and nothing "
                 "written: --group G takes less time",
                 runs->done, runs->count);
}

static ms_status run(const ms_invocation *call) {
    ms_measurements measurements;
    ms_ablation ablation = {.count = 0};
    runs_done runs = {.start_s = ms_wall_s()};
    ms_given sets = ms_cli_all(call, "set");
    ms_measurements_init(&measurements);
    ms_validate_study study = {.measurements = &measurements,
                               .group = ms_cli_value(call, "group", NULL),
                               .id = ms_cli_value(call, "explain", NULL),
                               .sets = {.items = sets.values, .count = sets.count},
                               .data_folder = ms_cli_data_folder(call->arena),
                               .progress = note_progress,
                               .context = &runs};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK ? ms_cli_check_targets(call, TARGETS) : status;
    status = status == MS_OK ? read_files(call, &measurements) : status;
    if (status == MS_OK && ms_cli_has(call, "ablation")) {
        status = ms_ablation_run(&study, MS_MECHANISMS, call->arena, call->diag, &ablation);
    } else if (status == MS_OK) {
        status = ms_validate_run(&study, call->arena, call->diag, &ablation.whole);
    }
    if (status == MS_E_INTERRUPTED) {
        tell_rest(call, &runs);
    }
    status = status == MS_OK ? show(call, &ablation) : status;
    ms_measurements_release(&measurements);
    return status;
}

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
    .run = run,
};
