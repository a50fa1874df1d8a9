/* meshsim export: workloads as files of other software. */
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "meshsim/export.h"

static const char *kind_word(int index) {
    const ms_export_kind *kind = ms_export_kinds()[index];
    return kind == NULL ? NULL : kind->name;
}

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .fallback = "-",
     .help = "write the file there, '-' for standard output",
     .writes = ".sh, .toml or .json"},
    MS_OPTION_PLATFORM,
    MS_OPTION_SET,
    {.name = "quiet", .help = "do not tell what the file leaves unsaid"},
    MS_OPTION_JSON,
    {0},
};

static ms_status print_json(const ms_invocation *call, const ms_export_kind *kind,
                            const ms_exported *exported) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "kind", kind->name);
    ms_value *rows = ms_value_add(root, "unsaid", MS_VALUE_ARRAY);
    for (size_t i = 0; i < exported->unsaid_count; i++) {
        const ms_unsaid *unsaid = &exported->unsaid[i];
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", unsaid->key);
        ms_value_add_string(row, "value", unsaid->value == NULL ? "" : unsaid->value);
        ms_value_add_string(row, "instead", unsaid->instead == NULL ? "" : unsaid->instead);
        ms_value_add_string(row, "why", unsaid->why);
    }
    ms_value_add_string(root, "text", exported->text);
    return ms_cli_print_json(call, root);
}

/* A file that cannot hold comments leaves this to the terminal. */
static void tell(const ms_invocation *call, const ms_export_kind *kind,
                 const ms_exported *exported) {
    for (size_t i = 0; i < exported->unsaid_count; i++) {
        const ms_unsaid *unsaid = &exported->unsaid[i];
        ms_diag_note(
            call->diag, NULL, unsaid->key, "%s%s%s%s%s%snot said: %s",
            unsaid->value == NULL ? "" : unsaid->value, unsaid->instead == NULL ? "" : " (",
            unsaid->instead == NULL ? "" : kind->software, unsaid->instead == NULL ? "" : ": ",
            unsaid->instead == NULL ? "" : unsaid->instead,
            unsaid->instead != NULL ? "), "
            : unsaid->value == NULL ? ""
                                    : ", ",
            unsaid->why);
    }
}

static ms_status run(const ms_invocation *call) {
    static const char *const FILES[] = {"output", NULL};
    const char *path = ms_cli_value(call, "output", ms_cli_has(call, "json") ? NULL : "-");
    ms_given sets = ms_cli_all(call, "set");
    const ms_job_request request = {.workload = call->positionals[1],
                                    .platform = ms_cli_value(call, "platform", NULL),
                                    .data_folder = ms_cli_data_folder(call->arena),
                                    .sets = sets.values,
                                    .set_count = sets.count};
    ms_job job;
    ms_exported exported;
    const ms_export_kind *kind = ms_export_find(call->positionals[0], call->diag);
    ms_status status = kind == NULL ? MS_E_USAGE : ms_cli_check_targets(call, FILES);
    status = status == MS_OK ? ms_job_load(&request, call->arena, call->diag, &job) : status;
    if (status != MS_OK) {
        return status;
    }
    const ms_export_source source = {
        .job = &job, .path = call->positionals[1], .data_folder = request.data_folder};
    status = ms_export_write(kind, &source, call->arena, call->diag, &exported);
    if (status == MS_OK && !ms_cli_has(call, "quiet") && !kind->has_comments) {
        tell(call, kind, &exported);
    }
    if (status == MS_OK && path != NULL) {
        status = ms_cli_write_file(call, path, exported.text, strlen(exported.text));
    }
    return status == MS_OK && ms_cli_has(call, "json") ? print_json(call, kind, &exported) : status;
}

const ms_command ms_cmd_export = {
    .name = "export",
    .summary = "say a workload in the words of other software",
    .positional_help = "KIND WORKLOAD.yaml",
    .word = kind_word,
    .positionals_min = 2,
    .positionals_max = 2,
    .options = OPTIONS,
    .description =
        "KIND megatron: the arguments of Megatron-LM, as a shell script that holds an array of "
        "them, to source, to paste from, or to run with the arguments of data and tokenizer "
        "behind it. KIND torchtitan: its job config, TOML; KIND deepspeed: DeepSpeed's "
        "configuration, JSON; the models of both are code of your own. "
        "Keys "
        "that the other software has no words for stand in the file as comments "
        "(of JSON on stderr), each with its value, what that software does instead, and why; in "
        "--json under 'unsaid'. "
        "These are found by reading the file back as 'import' does, so that what is not listed "
        "comes back as it is. Takes what 'search' writes, too.",
    .example = "meshsim export megatron workloads/tiny.yaml -o train.sh",
    .run = run,
};
