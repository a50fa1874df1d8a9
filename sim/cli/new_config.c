#include "cli/new_config.h"

#include "cli/job_options.h"
#include "search/config_workload.h"

static void add_place(ms_value *row, const ms_mark *mark) {
    ms_value_add_int(row, "line", mark->line);
    ms_value_add_int(row, "column", mark->column);
    ms_value_add_int(row, "width", mark->width);
}

/* A scalar as it stands, or a list of words in brackets. */
static const char *text_of(const ms_node *node, ms_arena *arena) {
    if (node->type == MS_NODE_SCALAR) {
        return node->text;
    }
    const char *text = "[";
    for (const ms_node *entry = node->first; entry != NULL && text != NULL; entry = entry->next) {
        text = ms_arena_printf(arena, "%s%s%s", text, entry->text, entry->next == NULL ? "" : ", ");
    }
    return text == NULL ? NULL : ms_arena_printf(arena, "%s]", text);
}

/* A row for each key below a mapping.  path: of the mapping, with a dot at its end. */
static void add_workload(const ms_node *mapping, const char *path, ms_arena *arena,
                         ms_value *rows) {
    for (const ms_node *node = mapping->first; node != NULL; node = node->next) {
        const char *key = ms_arena_printf(arena, "%s%s", path, node->key);
        if (key != NULL && node->type == MS_NODE_MAPPING) {
            const char *below = ms_arena_printf(arena, "%s.", key);
            add_workload(node, below == NULL ? "" : below, arena, rows);
        } else {
            ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
            ms_value_add_string(row, "key", key);
            ms_value_add_string(row, "value", text_of(node, arena));
            ms_value_add_bool(row, "is_text", node->is_quoted);
            add_place(row, &node->mark);
        }
    }
}

static void add_keys(const ms_source_keys *keys, ms_value *rows) {
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", key->key);
        ms_value_add_string(row, "value", key->value == NULL ? "" : key->value);
        ms_value_add_string(row, "fate", ms_source_fate_name(key->fate));
        ms_value_add_string(row, "why", key->why == NULL ? "" : key->why);
        add_place(row, &key->mark);
    }
}

ms_status ms_cli_print_config(const ms_invocation *call) {
    const char *path = ms_cli_value(call, "model", "");
    ms_config_workload workload;
    ms_status status = ms_config_workload_read(path, ms_cli_data_folder(call->arena), call->arena,
                                               call->diag, &workload);
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = ms_value_new_object(call->arena);
    const ms_node *model = ms_node_get(workload.root, "model");
    ms_value_add_string(root, "file", model->mark.file);
    ms_value_add_string(root, "remarks", workload.remarks);
    add_workload(workload.root, "", call->arena, ms_value_add(root, "workload", MS_VALUE_ARRAY));
    add_keys(&workload.keys, ms_value_add(root, "keys", MS_VALUE_ARRAY));
    return ms_cli_print_json(call, root);
}
