#include "cli/result_file.h"

#include <stddef.h>
#include <string.h>

#include "trace/summary.h"

#define AT(member) offsetof(ms_cli_result_file, member)

static const ms_field PAGE_FIELDS[] = {
    MS_KEY("title", "what it is about", STRING, AT(title)),
    MS_KEY("subject", "what came first", STRING, AT(subject)),
    MS_KEY("command", "command line", STRING, AT(command)),
    MS_KEY("files", "files that were read", WORDS, AT(files)),
    {.key = NULL},
};

bool ms_cli_is_result_file(const char *path) {
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

ms_status ms_cli_read_result_file(const ms_invocation *call, const char *path,
                                  ms_cli_result_file *file_out) {
    ms_node *root = NULL;
    ms_cli_result_file file = {.tree = NULL};
    ms_status status = ms_config_load_json(path, call->arena, call->diag, &root);
    if (status != MS_OK) {
        return status;
    }
    if (ms_node_get(root, "mean_of_groups") == NULL) {
        return ms_config_fault(call->diag, root, "",
                               "expected a trace, or what 'meshsim validate --json' prints");
    }
    const ms_node *page = ms_node_get(root, "page");
    if (page != NULL) {
        status = ms_config_read(page, PAGE_FIELDS, "page", &file, call->arena, call->diag);
        ms_node_remove(root, page);
    }
    ms_value *tree = ms_value_new_object(call->arena);
    ms_summary_add_json(root, tree);
    file.tree = tree;
    if (status == MS_OK && call->arena->has_failed) {
        status = ms_diag_no_memory(call->diag);
    }
    if (status == MS_OK) {
        *file_out = file;
    }
    return status;
}
