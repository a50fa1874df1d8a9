/* meshsim schema: prints the JSON Schema of a kind of input files, against which editors check
 * them. */
#include "cli/commands.h"
#include "search/schema.h"

/* The command has no options. */
static const ms_option OPTIONS[] = {{0}};

/* Report an unknown kind with the known ones.  Returns MS_E_USAGE. */
static ms_status refuse(const ms_invocation *call, const char *kind) {
    const char *const *kinds = ms_schema_kinds();
    size_t count = 0;
    while (kinds[count] != NULL) {
        count++;
    }
    ms_diag_unknown(call->diag, "schema", kind, kinds, count);
    return MS_E_USAGE;
}

/* Words of KIND by index; NULL behind the last. */
static const char *kind_word(int index) {
    return ms_schema_kinds()[index];
}

/* Print the schema of a kind; without KIND that of workloads, the first kind. */
static ms_status run(const ms_invocation *call) {
    const char *kind = call->positional_count == 0 ? ms_schema_kinds()[0] : call->positionals[0];
    ms_value *root = NULL;
    ms_status status = ms_schema_build(kind, call->arena, &root);
    if (status == MS_E_RANGE) {
        return refuse(call, kind);
    }
    if (status == MS_E_NOMEM) {
        return ms_diag_no_memory(call->diag);
    }
    return status == MS_OK ? ms_cli_print_json(call, root) : status;
}

const ms_command ms_cmd_schema = {
    .name = "schema",
    .summary = "a JSON Schema of input files, for editors",
    .positional_help = "[KIND]",
    .word = kind_word,
    .positionals = {0, 1},
    .options = OPTIONS,
    .description =
        "Prints the JSON Schema (draft 2020-12) of a kind of input files: workload (without KIND), "
        "platform, gpu, library, framework, space or sweep. An editor that knows JSON Schemas, "
        "such as one with yaml-language-server, shows what each key means, completes keys and "
        "words, and marks what is wrong while a file is typed. A file names its schema in a "
        "comment: '# yaml-language-server: $schema=PATH'; an installed meshsim has them in "
        "share/meshsim/schema. A schema sees keys, types, words and ranges of numbers; what keys "
        "say together, and ranges of values with units, 'meshsim check' sees.",
    .example = "meshsim schema workload",
    .run = run,
};
