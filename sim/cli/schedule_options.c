/* Reads the options of `meshsim schedule`: names of schedules, sizes, times per stage, the memory
 * cap, and how passes and messages run (schedule_options.h). */
#include "cli/schedule_options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/job_options.h"

ms_status ms_cli_schedule_choice(const ms_invocation *call, const char *name,
                                 ms_schedule_choice *choice_out) {
    static const char PREFIX[] = "csv:";
    ms_schedule_choice choice = {.name = name, .kind = MS_SCHEDULE_CUSTOM};
    size_t length = strcspn(name, "-"); /* names of kinds have no '-' */
    choice.is_reordered = strcmp(name + length, MS_CLI_REORDERED) == 0;
    const char *kind = choice.is_reordered ? ms_arena_strndup(call->arena, name, length) : name;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) == 0) {
        choice.file = name + sizeof PREFIX - 1;
        if (choice.file[0] == '\0') {
            return ms_diag_usage(call->diag, "'csv:' names no file; expected csv:FILE");
        }
    } else if (kind == NULL) {
        return ms_diag_no_memory(call->diag);
    } else if (ms_schedule_kind_from_name(kind, &choice.kind) != MS_OK ||
               (choice.is_reordered && !ms_schedule_kind_traits(choice.kind).takes_reorder)) {
        ms_diag_unknown(call->diag, "schedule", name, ms_schedule_kind_names(),
                        MS_SCHEDULE_KIND_COUNT);
        return MS_E_USAGE;
    }
    *choice_out = choice;
    return MS_OK;
}

ms_status ms_cli_schedule_sizes(const ms_invocation *call, ms_schedule_spec *spec_out) {
    ms_schedule_spec spec = {.is_reordered = ms_cli_has(call, "reorder")};
    const struct {
        const char *name;
        int *out;
    } sizes[] = {
        {"ranks", &spec.pipeline_ranks},
        {"chunks", &spec.chunks},
        {"microbatches", &spec.microbatches},
        {"group", &spec.group},
        {"splits", &spec.slices},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        long value = 0;
        ms_status status = ms_cli_int(call, sizes[i].name, 0, 1, INT_MAX, &value);
        if (status != MS_OK) {
            return status;
        }
        *sizes[i].out = (int)value;
    }
    *spec_out = spec;
    return MS_OK;
}

ms_status ms_cli_schedule_need_sizes(const ms_invocation *call) {
    static const char *const NAMES[] = {"ranks", "microbatches"};
    for (int i = 0; i < 2; i++) {
        if (!ms_cli_has(call, NAMES[i])) {
            return ms_diag_usage(call->diag, "option '--%s' is missing", NAMES[i]);
        }
    }
    return MS_OK;
}

/* An option that takes a list of costs. */
typedef struct cost_option {
    const char *name;
    const char *fallback; /* its default */
    const char *unit;     /* what one cost belongs to: "stage" or "boundary between stages" */
    int count;            /* costs that the list must have, unless one number stands for all */
} cost_option;

/* Number of items of a comma list. */
static size_t count_items(const char *text) {
    size_t count = 1;
    for (; *text != '\0'; text++) {
        count += *text == ',';
    }
    return count;
}

/* Read the number at `text`, which ends at a comma or at the end of the text.  Returns whether it
 * is a number from 0 to MS_SCHEDULE_COST_MAX. strtod alone would accept hexadecimal numbers, NAN
 * and blanks. */
static bool read_cost(const char *text, double *out) {
    size_t width = strcspn(text, ",");
    char *end = NULL;
    double value = strtod(text, &end);
    bool is_clean = width > 0 && end == text + width && strspn(text, "+-.0123456789eE") >= width;
    *out = value;
    return is_clean && value >= 0 && value <= MS_SCHEDULE_COST_MAX;
}

/* Read the list of costs of an option; a single number holds for all stages or boundaries.
 * *costs_out: [option->count] in the arena of the call.  Returns MS_OK; MS_E_USAGE (reported);
 * MS_E_NOMEM. */
static ms_status read_costs(const ms_invocation *call, const cost_option *option,
                            const double **costs_out) {
    const char *text = ms_cli_value(call, option->name, option->fallback);
    double *costs = MS_NEW(call->arena, double, option->count);
    if (costs == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    size_t items = count_items(text);
    if (items != 1 && items != (size_t)option->count) {
        return ms_diag_usage(
            call->diag,
            "option '--%s' takes one number or one per %s, which makes %d here; got %zu",
            option->name, option->unit, option->count, items);
    }
    double value = 0;
    for (size_t i = 0; i < items; i++, text += strcspn(text, ",") + 1) {
        if (!read_cost(text, &value)) {
            return ms_diag_usage(call->diag, "option '--%s' takes numbers from 0 to %g, got '%.*s'",
                                 option->name, MS_SCHEDULE_COST_MAX, (int)strcspn(text, ","), text);
        }
        /* A single number is one item also where the list must be empty (p2p of one stage). */
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

/* Read --fbscale: an overlapped pair takes so many times the sum of its two passes.  MS_E_USAGE
 * (reported). */
static ms_status read_pair_scale(const ms_invocation *call, double *scale_out) {
    double scale = 1;
    ms_status status = ms_cli_number(call, "fbscale", 1, &scale);
    if (status == MS_OK && !(scale > 0 && scale <= MS_SCHEDULE_SCALE_MAX)) {
        return ms_diag_usage(call->diag,
                             "option '--fbscale' takes a number above 0, to %g, got '%s'",
                             MS_SCHEDULE_SCALE_MAX, ms_cli_value(call, "fbscale", ""));
    }
    *scale_out = scale;
    return status;
}

ms_status ms_cli_schedule_cap(const ms_invocation *call, double *cap_out) {
    double cap = 0;
    const char *reason = NULL;
    const char *text = ms_cli_value(call, "memory-cap", "");
    /* A text parses as bytes only with a unit; a number of microbatches has none. */
    if (ms_unit_parse(text, MS_DIM_BYTES, &cap, &reason) == MS_OK) {
        ms_diag_error(call->diag,
                      "'--memory-cap %s' is in bytes, which needs '--compare' with '--workload'; "
                      "on paper it is a number of microbatches",
                      text);
        return MS_E_USAGE;
    }
    ms_status status = ms_cli_number(call, "memory-cap", 0, &cap);
    if (status == MS_OK && ms_cli_has(call, "memory-cap") && !(cap > 0)) {
        return ms_diag_usage(call->diag, "option '--memory-cap' takes a number > 0, got '%s'",
                             ms_cli_value(call, "memory-cap", ""));
    }
    *cap_out = cap;
    return status;
}

/* Read the times per stage and the latencies per boundary, from the file of --costs or from --tf,
 * --tb, --tw and --p2p.  stages: virtual stages of the whole model, P * V. */
static ms_status read_lists(const ms_invocation *call, int stages, ms_schedule_costs *costs) {
    const struct {
        cost_option option;
        const double **out;
    } rows[] = {
        {{"tf", "1", "stage", stages}, &costs->forward},
        {{"tb", "1", "stage", stages}, &costs->input_grad},
        {{"tw", "1", "stage", stages}, &costs->weight_grad},
        {{"p2p", "0", "boundary between stages", stages - 1}, &costs->p2p},
    };
    const char *path = ms_cli_value(call, "costs", NULL);
    if (path != NULL) {
        return ms_stage_times_read(path, stages, call->arena, call->diag, costs);
    }
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < sizeof rows / sizeof rows[0]; i++) {
        status = read_costs(call, &rows[i].option, rows[i].out);
    }
    return status;
}

ms_status ms_cli_schedule_costs(const ms_invocation *call, int stages,
                                ms_schedule_costs *costs_out) {
    int overlap = 0, sends = 0;
    *costs_out = (ms_schedule_costs){0};
    ms_status status = read_lists(call, stages, costs_out);
    if (status == MS_OK) {
        status = ms_cli_choice(call, "overlap", ms_job_spec_words("schedule.overlap"), &overlap);
    }
    if (status == MS_OK) {
        status = ms_cli_choice(call, "sends", ms_job_spec_words("schedule.sends"), &sends);
    }
    costs_out->is_serial = overlap == 1; /* "serial", the second word */
    costs_out->is_blocking = sends == 1; /* "blocking", the second word */
    return status == MS_OK ? read_pair_scale(call, &costs_out->pair_scale) : status;
}
