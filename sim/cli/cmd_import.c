/* meshsim import: files of other software as workloads. */
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_parameters.h"
#include "meshsim/import.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .fallback = "-",
     .help = "write the workload there, '-' for standard output",
     .writes = ".yaml"},
    {.name = "set",
     .argument = "key.path=value",
     .arguments = 1,
     .is_repeatable = true,
     .help = "give the workload a key, in the place of what the source says"},
    {.name = "quiet", .help = "do not tell what became of each of the source's keys"},
    MS_OPTION_JSON,
    {0},
};

static void add_keys(const ms_imported *imported, ms_value *root) {
    ms_value *rows = ms_value_add(root, "keys", MS_VALUE_ARRAY);
    for (const ms_source_key *key = imported->keys.first; key != NULL; key = key->next) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", key->key);
        ms_value_add_string(row, "value", key->value == NULL ? "" : key->value);
        ms_value_add_string(row, "fate", ms_source_fate_name(key->fate));
        ms_value_add_string(row, "why", key->why == NULL ? "" : key->why);
        ms_value_add_int(row, "line", key->mark.line);
    }
}

static ms_status print_json(const ms_invocation *call, const ms_imported *imported,
                            const ms_buffer *text) {
    ms_value *root = ms_value_new_object(call->arena);
    if (imported->has_model) {
        ms_show_add_parameters(&imported->model, root);
    }
    ms_value *missing = ms_value_add(root, "missing", MS_VALUE_ARRAY);
    for (int i = 0; i < imported->missing_count; i++) {
        ms_value_add_string(missing, NULL, imported->missing[i]);
    }
    add_keys(imported, root);
    ms_value_add_string(root, "workload", ms_buffer_text(text));
    return ms_cli_print_json(call, root);
}

static ms_status print_page(const ms_invocation *call, const ms_imported *imported) {
    ms_buffer page;
    ms_buffer_init(&page);
    if (imported->has_model) {
        const ms_parameter_parts parts = ms_model_parameter_parts(&imported->model);
        ms_buffer_printf(&page, "name       %s\n", imported->model.name);
        ms_show_parameters(&imported->model, &page);
        ms_buffer_printf(&page, "exactly    %.0f parameters, %.0f active",
                         parts.total - parts.modules, parts.active - parts.active_modules);
        ms_buffer_puts(&page, parts.modules > 0 ? ", without prediction modules\n" : "\n");
    }
    for (int i = 0; i < imported->missing_count; i++) {
        ms_buffer_printf(&page, "%s%s", i == 0 ? "required   " : ", ", imported->missing[i]);
    }
    ms_buffer_puts(&page, imported->missing_count > 0 ? ", see the file's comments\n" : "");
    return ms_cli_print_page(call, &page);
}

static ms_status print_all(const ms_invocation *call, const ms_imported *imported) {
    bool has_json = ms_cli_has(call, "json");
    const char *path = ms_cli_value(call, "output", has_json ? NULL : "-");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_import_write(imported, &text);
    ms_status status =
        text.failed || call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
    if (status == MS_OK && path != NULL) {
        status = ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    }
    if (status == MS_OK && has_json) {
        status = print_json(call, imported, &text);
    } else if (status == MS_OK && strcmp(path, "-") != 0) {
        status = print_page(call, imported);
    }
    ms_buffer_release(&text);
    return status;
}

static ms_status run(const ms_invocation *call) {
    static const char *const FILES[] = {"output", NULL};
    ms_imported imported;
    ms_given sets = ms_cli_all(call, "set");
    const ms_import_source source = {.files = call->positionals + 1,
                                     .file_count = call->positional_count - 1,
                                     .sets = sets.values,
                                     .set_count = sets.count,
                                     .data_folder = ms_cli_data_folder(call->arena)};
    ms_status status = ms_cli_check_targets(call, FILES);
    if (status == MS_OK) {
        status = ms_import_read(call->positionals[0], &source, call->arena, call->diag, &imported);
    }
    if (status == MS_OK && !ms_cli_has(call, "quiet")) {
        ms_source_keys_tell(&imported.keys, call->diag);
    }
    return status == MS_OK ? print_all(call, &imported) : status;
}

const ms_command ms_cmd_import = {
    .name = "import",
    .summary = "make a workload of what other software has",
    .positional_help = "KIND FILE...",
    .positionals_min = 2,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "KIND hf: a Hugging Face config (config.json, or the folder of a model) gives the model "
        "of a workload, with Transformers' own defaults for what it leaves out. KIND megatron: the "
        "arguments of a run of Megatron-LM, as a command line, a shell script (which is not run; "
        "variables that another file sets: give that file, too, in front), MODEL_ARGS of its "
        "tests in YAML, or the block 'arguments' of a log, give model, mesh, schedule, batch and "
        "all else but the platform. What the source "
        "does not say, such as the platform, stands in the file as a comment that begins with "
        "'required:', inside a mapping as 'required'; --set gives it. Tells on stderr, and in "
        "--json, of each of the "
        "source's keys whether it is used, assumed, ignored (and why) or unknown.",
    .example = "meshsim import hf config.json -o workload.yaml --set platform=dgx-h100",
    .run = run,
};
