/* meshsim schedule: a pipeline schedule with abstract costs, on paper. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/show_schedule.h"
#include "meshsim/schedule.h"

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

static ms_status read_kind(const ms_invocation *call, ms_schedule_kind *kind_out) {
    const char *name = call->positionals[0];
    if (ms_schedule_kind_from_name(name, kind_out) == MS_OK) {
        return MS_OK;
    }
    const char *const *names = ms_schedule_kind_names();
    const char *nearest = ms_nearest_word(name, names, MS_SCHEDULE_KIND_COUNT);
    ms_buffer known;
    ms_buffer_init(&known);
    for (size_t i = 0; names[i] != NULL; i++) {
        ms_buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (nearest != NULL) {
        ms_diag_error(call->diag, "unknown schedule '%s'; did you mean '%s'? (known: %s)", name,
                      nearest, ms_buffer_text(&known));
    } else {
        ms_diag_error(call->diag, "unknown schedule '%s' (known: %s)", name,
                      ms_buffer_text(&known));
    }
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

static ms_status read_size(const ms_invocation *call, const char *name, int fallback, int *out) {
    if (fallback < 0 && !ms_cli_has(call, name)) {
        ms_diag_error(call->diag, "option '--%s' is missing", name);
        return MS_E_USAGE;
    }
    long value = 0;
    ms_status status = ms_cli_int(call, name, fallback, 1, INT_MAX, &value);
    *out = (int)value;
    return status;
}

static ms_status read_spec(const ms_invocation *call, ms_schedule_spec *spec) {
    ms_status status = read_kind(call, &spec->kind);
    if (status == MS_OK) {
        status = read_size(call, "ranks", -1, &spec->pipeline_ranks);
    }
    if (status == MS_OK) {
        status = read_size(call, "chunks", 1, &spec->chunks);
    }
    if (status == MS_OK) {
        status = read_size(call, "microbatches", -1, &spec->microbatches);
    }
    if (status == MS_OK) {
        status = read_size(call, "group", 0, &spec->group);
    }
    return status;
}

/* A cost option: what its list runs over, and how long it must be. */
typedef struct cost_option {
    const char *name;
    const char *fallback;
    const char *unit; /* "stage" or "boundary" */
    int count;
} cost_option;

static size_t count_items(const char *text) {
    size_t count = 1;
    for (; *text != '\0'; text++) {
        count += *text == ',';
    }
    return count;
}

/* The number at `text` up to a comma or the end. */
static bool read_cost(const char *text, double *out) {
    size_t width = strcspn(text, ",");
    char *end = NULL;
    double value = strtod(text, &end);
    bool is_clean = width > 0 && end == text + width && strspn(text, "+-.0123456789eE") >= width;
    *out = value;
    return is_clean && isfinite(value) && value >= 0;
}

static ms_status read_costs(const ms_invocation *call, const cost_option *option,
                            const double **costs_out) {
    const char *text = ms_cli_value(call, option->name, option->fallback);
    double *costs = MS_NEW(call->arena, double, option->count);
    if (costs == NULL) {
        return report_no_memory(call);
    }
    size_t items = count_items(text);
    if (items != 1 && items != (size_t)option->count) {
        ms_diag_error(call->diag,
                      "option '--%s' takes one number or one per %s, which makes %d here; got %zu",
                      option->name, option->unit, option->count, items);
        return MS_E_USAGE;
    }
    double value = 0;
    for (size_t i = 0; i < items; i++, text += strcspn(text, ",") + 1) {
        if (!read_cost(text, &value)) {
            ms_diag_error(call->diag, "option '--%s' takes numbers >= 0, got '%.*s'", option->name,
                          (int)strcspn(text, ","), text);
            return MS_E_USAGE;
        }
        if (i < (size_t)option->count) {
            costs[i] = value;
        }
    }
    for (int i = 1; items == 1 && i < option->count; i++) {
        costs[i] = value;
    }
    *costs_out = costs;
    return MS_OK;
}

static ms_status read_all_costs(const ms_invocation *call, int stages, ms_schedule_costs *costs) {
    const struct {
        cost_option option;
        const double **out;
    } rows[] = {
        {{"tf", "1", "stage", stages}, &costs->forward},
        {{"tb", "1", "stage", stages}, &costs->input_grad},
        {{"tw", "1", "stage", stages}, &costs->weight_grad},
        {{"p2p", "0", "boundary between stages", stages - 1}, &costs->p2p},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < sizeof rows / sizeof rows[0]; i++) {
        status = read_costs(call, &rows[i].option, rows[i].out);
    }
    return status;
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

static ms_status write_csv(const ms_invocation *call, const ms_program *program, const char *path) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_program_write_csv(program, &text);
    ms_status status = text.failed
                           ? report_no_memory(call)
                           : ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    ms_buffer_release(&text);
    return status;
}

static ms_status output(const ms_invocation *call, const ms_program *program,
                        const ms_schedule_result *result) {
    const char *csv = ms_cli_value(call, "csv", NULL);
    ms_status status = csv == NULL ? MS_OK : write_csv(call, program, csv);
    bool is_stdout_taken = csv != NULL && strcmp(csv, "-") == 0;
    if (status != MS_OK || is_stdout_taken) {
        return status;
    }
    return ms_cli_has(call, "json")
               ? ms_cli_print_json(call, ms_cli_schedule_tree(call, program, result))
               : print_text(call, program, result);
}

static ms_status run(const ms_invocation *call) {
    const char *csv = ms_cli_value(call, "csv", NULL);
    if (csv != NULL && strcmp(csv, "-") == 0 && ms_cli_has(call, "json")) {
        ms_diag_error(call->diag, "'--csv -' and '--json' both want the standard output");
        return MS_E_USAGE;
    }
    ms_schedule_spec spec = {0};
    ms_program program;
    ms_schedule_costs costs = {0};
    ms_schedule_result result;
    ms_status status = read_spec(call, &spec);
    if (status == MS_OK) {
        status = ms_schedule_build(&spec, call->arena, call->diag, &program);
        status = status == MS_E_INPUT ? MS_E_USAGE : status; /* all of it came from options */
    }
    if (status == MS_OK) {
        status = read_all_costs(call, program.stages, &costs);
    }
    if (status == MS_OK) {
        status = ms_schedule_evaluate(&program, &costs, call->arena, call->diag, &result);
    }
    return status == MS_OK ? output(call, &program, &result) : status;
}

static const ms_option OPTIONS[] = {
    {"ranks", 'p', "P", 1, false, NULL, "pipeline ranks"},
    {"chunks", 'v', "V", 1, false, "1", "virtual stages per rank (interleaved)"},
    {"microbatches", 'm', "M", 1, false, NULL, "microbatches"},
    {"group", 0, "N", 1, false, "P", "microbatches per group of interleaved"},
    {"tf", 0, "T", 1, false, "1", "forward time per virtual stage and microbatch"},
    {"tb", 0, "T", 1, false, "1", "input gradient time, likewise"},
    {"tw", 0, "T", 1, false, "1", "weight gradient time, likewise"},
    {"p2p", 0, "T", 1, false, "0", "latency between neighbouring stages on different ranks"},
    {"csv", 0, "FILE", 1, false, NULL,
     "write the order of passes as PyTorch's compute-only CSV ('-': stdout)"},
    {"json", 0, NULL, 0, false, NULL, "print one JSON object"},
    {0},
};

const ms_command ms_cmd_schedule = {
    .name = "schedule",
    .summary = "Run a pipeline schedule on paper: makespan, bubble, peaks, closed form.",
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
