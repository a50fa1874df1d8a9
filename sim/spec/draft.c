/* Workload files that still lack something. */
#include <string.h>

#include "spec/text.h"

/* What every workload needs, with what a user may put there. */
static const struct {
    const char *key;
    const char *other; /* the key that may stand in its place; NULL: none */
    const char *example;
} NEEDED[] = {
    {"platform", NULL, "platform: {file: dgx-h100, nodes: 8}  # a cluster, see 'meshsim platform'"},
    {"model", "costs", "model: {...}"},
    {"mesh", NULL, "mesh: {dp: 64}  # sizes of dp, pp, tp, cp, ep; their product is the GPUs"},
    {"batch", NULL, "batch: {global: 512, micro: 1}  # sequences per step, and per microbatch"},
};

/* A key of the root with its value. */
static void write_key(const ms_node *node, ms_buffer *out) {
    ms_node child = *node;
    ms_node root = {.type = MS_NODE_MAPPING, .first = &child, .last = &child, .count = 1};
    child.next = NULL;
    ms_node_write(&root, out);
}

static void write_need(const ms_node *root, const char *key, ms_buffer *out) {
    for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0]; i++) {
        bool has_other = NEEDED[i].other != NULL && ms_config_has(root, NEEDED[i].other);
        if (strcmp(NEEDED[i].key, key) == 0 && !has_other) {
            ms_buffer_printf(out, "# required: %s\n", NEEDED[i].example);
        }
    }
}

void ms_job_spec_write_draft(ms_node *root, ms_buffer *out) {
    ms_config_arrange(root, MS_WORKLOAD_FIELDS);
    for (const ms_field *field = MS_WORKLOAD_FIELDS; field->key != NULL; field++) {
        const ms_node *node = ms_node_get(root, field->key);
        if (node != NULL) {
            write_key(node, out);
        } else {
            write_need(root, field->key, out);
        }
    }
}

int ms_job_spec_missing(const ms_node *root, const char *keys_out[MS_MISSING_MAX]) {
    int count = 0;
    for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0]; i++) {
        bool is_there = ms_config_has(root, NEEDED[i].key) ||
                        (NEEDED[i].other != NULL && ms_config_has(root, NEEDED[i].other));
        if (!is_there) {
            keys_out[count++] = NEEDED[i].key;
        }
    }
    return count;
}
