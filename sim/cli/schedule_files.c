/* Schedules from kinds and files, and back to files. */
#include <string.h>

#include "cli/schedule_options.h"

static const char PREFIX[] = "csv:";

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

static ms_status build(const ms_invocation *call, const char *name, const ms_schedule_spec *sizes,
                       ms_cli_schedule *schedule) {
    ms_schedule_spec spec = *sizes;
    bool has_sizes = sizes->pipeline_ranks > 0 && sizes->microbatches > 0;
    ms_status status = has_sizes ? MS_OK : ms_cli_schedule_need_sizes(call);
    if (status == MS_OK) {
        status = ms_cli_schedule_kind(call, name, &spec.kind);
    }
    if (status == MS_OK) {
        status = ms_schedule_build(&spec, call->arena, call->diag, &schedule->program);
        status = status == MS_E_INPUT ? MS_E_USAGE : status; /* all of it came from options */
    }
    return status;
}

/* Sizes on the command line must be those of the file. */
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
            bool may_be_parts =
                i == 2 && given->slices == 0 && sizes[i].found % sizes[i].given == 0;
            ms_diag_error(call->diag, "'--%s' is %d, and the file has %d; leave it out%s",
                          sizes[i].name, sizes[i].given, sizes[i].found,
                          may_be_parts ? ", or say with '--splits' how many parts of a sequence "
                                         "make a microbatch"
                                       : "");
            return MS_E_USAGE;
        }
    }
    if (given->group != 0 || given->is_reordered) {
        ms_diag_error(call->diag, "'--group' and '--reorder' make an order; a file has its own");
        return MS_E_USAGE;
    }
    return MS_OK;
}

static ms_status read_file(const ms_invocation *call, const char *name,
                           const ms_schedule_spec *given, ms_cli_schedule *schedule) {
    const char *path = name + sizeof PREFIX - 1;
    if (path[0] == '\0') {
        ms_diag_error(call->diag, "'csv:' names no file; expected csv:FILE");
        return MS_E_USAGE;
    }
    schedule->has_table = true;
    int splits = given->slices == 0 ? 1 : given->slices;
    ms_status status = ms_csv_load(path, call->arena, call->diag, &schedule->table);
    if (status == MS_OK) {
        status = ms_csv_program(&schedule->table, name, splits, call->arena, call->diag,
                                &schedule->program);
    }
    return status == MS_OK ? check_sizes(call, given, &schedule->program.spec) : status;
}

ms_status ms_cli_schedule_load_named(const ms_invocation *call, const char *name,
                                     const ms_schedule_spec *spec, ms_cli_schedule *schedule_out) {
    ms_cli_schedule schedule = {.has_table = false};
    bool is_file = strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
    ms_status status =
        is_file ? read_file(call, name, spec, &schedule) : build(call, name, spec, &schedule);
    if (status == MS_OK) {
        *schedule_out = schedule;
    }
    return status;
}

ms_status ms_cli_schedule_load(const ms_invocation *call, ms_cli_schedule *schedule_out) {
    ms_schedule_spec spec;
    ms_status status = ms_cli_schedule_sizes(call, &spec);
    return status == MS_OK
               ? ms_cli_schedule_load_named(call, call->positionals[0], &spec, schedule_out)
               : status;
}

/* The form that --csv-form names; MS_E_USAGE (reported) if there is none. */
static ms_status read_form(const ms_invocation *call, ms_csv_form *form_out) {
    static const struct {
        const char *name;
        ms_csv_form form;
    } FORMS[] = {{"compute", {false, false, false}},
                 {"sends", {.has_sends = true}},
                 {"comms", {.has_sends = true, .has_shards = true}}};
    const char *name = ms_cli_value(call, "csv-form", "compute");
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        if (strcmp(name, FORMS[i].name) == 0) {
            *form_out = FORMS[i].form;
            form_out->merges_pairs = ms_cli_has(call, "merge-bw");
            return MS_OK;
        }
    }
    ms_diag_error(call->diag, "option '--csv-form' is compute, sends or comms, got '%s'", name);
    return MS_E_USAGE;
}

static ms_status read_dialect(const ms_invocation *call, bool *is_legacy_out) {
    const char *name = ms_cli_value(call, "csv-dialect", "current");
    *is_legacy_out = strcmp(name, "legacy") == 0;
    if (*is_legacy_out || strcmp(name, "current") == 0) {
        return MS_OK;
    }
    ms_diag_error(call->diag, "option '--csv-dialect' is current or legacy, got '%s'", name);
    return MS_E_USAGE;
}

ms_status ms_cli_schedule_write(const ms_invocation *call, const ms_cli_schedule *schedule) {
    const char *path = ms_cli_value(call, "csv", NULL);
    bool keeps_form = schedule->has_table && !ms_cli_has(call, "csv-form") &&
                      !ms_cli_has(call, "csv-dialect") && !ms_cli_has(call, "merge-bw");
    ms_csv_form form;
    ms_csv_table table = schedule->table;
    bool is_legacy = false;
    ms_status status = read_form(call, &form);
    if (status == MS_OK) {
        status = read_dialect(call, &is_legacy);
    }
    if (status == MS_OK && path != NULL && !keeps_form) {
        status = ms_csv_lower(&schedule->program, &form, call->arena, call->diag, &table);
        table.is_legacy = is_legacy;
    }
    if (status != MS_OK || path == NULL) {
        return status;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    ms_csv_write(&table, &text);
    status = text.failed ? report_no_memory(call)
                         : ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    ms_buffer_release(&text);
    return status;
}
