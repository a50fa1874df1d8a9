/* Reads a space's file (`search --space`) into a request for a space. The values of a key become
 * the text that `--vary` takes ("key=v1,v2"), so that both ways are read by the same code
 * (space.c). */
#include <string.h>

#include "base/config/input.h"
#include "search/points.h"
#include "search/search/space.h"
#include "search/sweep/values.h"

/* Keys of the file, as ms_config_read fills them in. */
typedef struct space_text {
    bool has_defaults;
    ms_ints gpus;
    ms_words platforms;
    const ms_node *vary;
} space_text;

#define AT(member) offsetof(space_text, member)

static const char ALL[] = "all"; /* of an axis of the mesh: every divisor */

/* For schemas: a key of `vary` has the word "all", or values as in a sweep. */
static const ms_field_shape ALL_OR_VALUES = {.also = &MS_SWEEP_VALUES_ROW};
static const char *const ALL_WORDS[] = {ALL, NULL};
static const ms_field ALL_ROW =
    MS_KEY("values", NULL, ENUM, 0, .words = ALL_WORDS, .shape = &ALL_OR_VALUES);
static const ms_field_shape VARIED = {.each = &ALL_ROW};

const ms_field MS_SPACE_FIELDS[] = {
    MS_KEY("usual", "vary what is usual, too", BOOL, AT(has_defaults), .fallback = "false"),
    MS_KEY("gpus", "numbers of GPUs; those of the workload where it is not given", INTS, AT(gpus),
           MS_RANGE(1, 1 << 24)),
    MS_KEY("platforms", "platform files, or names of some; the workload's where it is not given",
           WORDS, AT(platforms)),
    MS_KEY("vary",
           "keys, and of each a list of values, a range {from, to, step or factor}, or, of an axis "
           "of the mesh, all",
           NODE, AT(vary), .shape = &VARIED),
    {.key = NULL},
};

/* The values of a key as one text, separated by commas. A list is written as YAML without its
 * brackets, which quotes elements where needed. values: of a range, listed. The text is in `arena`;
 * NULL when memory runs out. */
static const char *join(const ms_node *node, const ms_words *values, ms_arena *arena) {
    if (node->type == MS_NODE_SEQUENCE) {
        const char *list = ms_sweep_value_text(node, arena);
        return list == NULL ? NULL : ms_arena_strndup(arena, list + 1, strlen(list) - 2);
    }
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t i = 0; i < values->count; i++) {
        ms_buffer_printf(&text, "%s%s", i == 0 ? "" : ", ", values->items[i]);
    }
    return ms_buffer_keep(&text, arena);
}

/* Make the text "KEY=V1,V2" of a key that a file varies, as the option --vary has it. node: the
 * values of the key: a list, a range, or "all" for an axis of the mesh. *text_out: in `arena`.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
static ms_status read_varied(const ms_node *node, ms_arena *arena, ms_diag *diag,
                             const char **text_out) {
    ms_words values = {NULL, 0};
    const char *path = ms_arena_printf(arena, "vary.%s", node->key);
    if (path == NULL) {
        return ms_diag_no_memory(diag);
    }
    if (strchr(node->key, '=') != NULL) {
        return ms_config_fault(diag, node, path, "expected a key such as 'batch.micro'");
    }
    bool is_all = node->type == MS_NODE_SCALAR && strcmp(node->text, ALL) == 0 &&
                  ms_mesh_key_axis(node->key) >= 0;
    ms_status status = is_all ? MS_OK : ms_sweep_list_values(node, path, arena, diag, &values);
    if (status != MS_OK) {
        return status;
    }
    const char *text = is_all ? ALL : join(node, &values, arena);
    *text_out = text == NULL ? NULL : ms_point_setting(node->key, text, arena);
    return *text_out == NULL ? ms_diag_no_memory(diag) : MS_OK;
}

/* Whether the command line varies a key that the file varies too; the command line's values count
 * then. */
static bool is_overridden(const ms_words *own, const char *key) {
    size_t length = strlen(key);
    bool is_found = false;
    for (size_t i = 0; i < own->count; i++) {
        is_found =
            is_found || (strncmp(own->items[i], key, length) == 0 && own->items[i][length] == '=');
    }
    return is_found;
}

/* Append the keys of `vary` and their nodes in the file to those of the command line. vary: the
 * node of the file's key; NULL: the file has none. Returns MS_OK; MS_E_INPUT with every fault
 * reported; MS_E_NOMEM (reported). */
static ms_status add_varied(const ms_node *vary, ms_arena *arena, ms_diag *diag,
                            ms_space_request *request) {
    if (vary != NULL && vary->type != MS_NODE_MAPPING) {
        return ms_config_fault(diag, vary, "vary",
                               "expected keys and their values, such as 'mesh.tp: [1, 2, 4]'");
    }
    const ms_words own = request->varied;
    size_t count = own.count + (vary == NULL ? 0 : vary->count);
    const char **items = MS_NEW(arena, const char *, count + 1);
    const ms_node **nodes = MS_NEW(arena, const ms_node *, count + 1);
    if (items == NULL || nodes == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_words all = {items, 0};
    for (; all.count < own.count; all.count++) {
        items[all.count] = own.items[all.count];
        nodes[all.count] = NULL;
    }
    ms_status status = MS_OK;
    for (const ms_node *child = vary == NULL ? NULL : vary->first;
         child != NULL && status != MS_E_NOMEM; child = child->next) {
        if (!is_overridden(&own, child->key)) {
            nodes[all.count] = child;
            ms_status one = read_varied(child, arena, diag, &items[all.count++]);
            status = status == MS_OK || one == MS_E_NOMEM ? one : status;
        }
    }
    request->varied = all;
    request->nodes = nodes;
    return status;
}

/* Where the command line gives `gpus` or `platforms`, the file's are ignored; keys of `vary` are
 * added one by one. */
ms_status ms_space_read_file(const char *path, ms_arena *arena, ms_diag *diag,
                             ms_space_request *request) {
    ms_node *root = NULL;
    space_text text = {.has_defaults = false};
    ms_status status = ms_yaml_load(path, arena, diag, &root);
    status = status == MS_OK ? ms_input_expect(root, MS_INPUT_SPACE, path, diag) : status;
    status =
        status == MS_OK ? ms_config_read(root, MS_SPACE_FIELDS, "", &text, arena, diag) : status;
    if (status != MS_OK) {
        return status;
    }
    request->has_defaults = request->has_defaults || text.has_defaults;
    if (request->gpus.count == 0) {
        request->gpus = text.gpus;
        request->gpus_node = ms_node_get(root, "gpus");
    }
    if (request->platforms.count == 0) {
        request->platforms = text.platforms;
        request->platforms_node = ms_node_get(root, "platforms");
    }
    return add_varied(text.vary, arena, diag, request);
}
