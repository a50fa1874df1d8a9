/* Reads the workload's `placement` mapping into the placement that the user asks for
 * (ms_placement_read). */
#include <stddef.h>
#include <string.h>

#include "base/config/ranges.h"
#include "cluster/placement/placement.h"

/* Node numbers are below it, and a list has at most so many nodes: as many as a platform may have
 * GPUs. */
enum { NODES_MAX = 1 << 24 };

/* The values of the mapping's keys. */
typedef struct placement_keys {
    const ms_node *nodes, *spares;
    ms_words order;
    const char *file;
} placement_keys;

static const ms_field NODE_LIST = MS_KEY("nodes", NULL, WORDS, 0);
static const ms_field_shape NODES = {.also = &NODE_LIST};

const ms_field MS_PLACEMENT_FIELDS[] = {
    MS_KEY("nodes", "nodes that the ranks fill, in this order, such as [0-127, 136]", NODE,
           offsetof(placement_keys, nodes), .shape = &NODES),
    MS_KEY("order",
           "[node, gpu]: a node is filled before the next; [gpu, node]: a rank on each in turn",
           WORDS, offsetof(placement_keys, order), .fallback = "[node, gpu]"),
    MS_KEY("file", "CSV file with a line 'rank,gpu' for every rank", STRING,
           offsetof(placement_keys, file)),
    MS_KEY("spares", "nodes kept free: how many (the last ones), or which, such as [126, 127]",
           NODE, offsetof(placement_keys, spares), .shape = &NODES),
    {.key = NULL},
};

/* Append the node numbers of one text, such as "0-127", to a list of int. */
static ms_status add_text(const ms_node *node, const char *key_path, ms_diag *diag,
                          ms_vector *numbers) {
    bool is_text = node->type == MS_NODE_SCALAR && node->text != NULL;
    int count = is_text ? ms_ranges_read(node->text, NODES_MAX, NULL) : -1;
    if (count < 0) {
        return ms_config_fault(diag, node, key_path,
                               "expected numbers of nodes and ranges such as [0-127, 136]");
    }
    int *added = ms_vector_add(numbers, NULL, (size_t)count);
    if (added == NULL) {
        return MS_E_NOMEM;
    }
    ms_ranges_read(node->text, NODES_MAX, added);
    return MS_OK;
}

/* Read node numbers from a text, or from a sequence of texts.  Returns MS_OK; MS_E_INPUT
 * (reported); MS_E_NOMEM. */
static ms_status read_nodes(const ms_node *node, const char *key_path, ms_arena *arena,
                            ms_diag *diag, ms_ints *nodes_out) {
    ms_vector numbers;
    ms_vector_init(&numbers, sizeof(int));
    ms_status status =
        node->type == MS_NODE_SEQUENCE ? MS_OK : add_text(node, key_path, diag, &numbers);
    for (const ms_node *child = node->type == MS_NODE_SEQUENCE ? node->first : NULL;
         child != NULL && status == MS_OK; child = child->next) {
        status = add_text(child, key_path, diag, &numbers);
    }
    if (status == MS_OK && numbers.count == 0) {
        status = ms_config_fault(diag, node, key_path, "names no node");
    }
    nodes_out->count = numbers.count;
    nodes_out->items = ms_vector_keep(&numbers, arena);
    return status == MS_OK && nodes_out->items == NULL ? MS_E_NOMEM : status;
}

/* Whether a value is a single number. In `spares` such a number is a count, not a node. */
static bool is_count(const ms_node *node) {
    return node->type == MS_NODE_SCALAR && node->text != NULL && node->text[0] != '\0' &&
           node->text[strspn(node->text, "0123456789")] == '\0';
}

/* Read `spares`: the number of nodes, or a list of nodes. */
static ms_status read_spares(const ms_node *node, ms_arena *arena, ms_diag *diag,
                             ms_rank_placement_choice *choice) {
    if (!is_count(node)) {
        return read_nodes(node, "placement.spares", arena, diag, &choice->spares);
    }
    int count = 0;
    if (ms_ranges_read(node->text, NODES_MAX, &count) < 0) {
        return ms_config_fault(diag, node, "placement.spares", "expected fewer than %d nodes",
                               (int)NODES_MAX);
    }
    choice->spare_count = count;
    return MS_OK;
}

/* Read `order`, whose last entry varies fastest: [node, gpu] fills a node before the next, [gpu,
 * node] is cyclic. */
static ms_status read_order(const ms_node *mapping, const ms_words *order, ms_diag *diag,
                            bool *is_cyclic_out) {
    static const char *const WORDS[2] = {"node", "gpu"};
    for (int outer = 0; outer < 2; outer++) {
        if (order->count == 2 && strcmp(order->items[0], WORDS[outer]) == 0 &&
            strcmp(order->items[1], WORDS[1 - outer]) == 0) {
            *is_cyclic_out = outer == 1;
            return MS_OK;
        }
    }
    return ms_config_fault(diag, ms_node_get(mapping, "order"), "placement.order",
                           "expected [node, gpu] or [gpu, node], outermost first");
}

/* Refuse `nodes` and `order` beside `file`: a file places every rank. */
static ms_status check_file(const ms_node *mapping, const placement_keys *keys, ms_diag *diag) {
    static const char *const OTHERS[] = {"nodes", "order"};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0] && keys->file != NULL; i++) {
        const ms_node *other = ms_node_get(mapping, OTHERS[i]);
        if (other != NULL) {
            status = ms_config_fault(diag, other, i == 0 ? "placement.nodes" : "placement.order",
                                     "the file '%s' places every rank; leave it out", keys->file);
        }
    }
    return status;
}

ms_status ms_placement_read(const ms_node *mapping, const char *folder, ms_arena *arena,
                            ms_diag *diag, ms_rank_placement_choice *choice_out) {
    ms_rank_placement_choice choice = {.is_given = mapping != NULL, .folder = folder};
    placement_keys keys = {.nodes = NULL};
    ms_status status = mapping == NULL ? MS_OK
                                       : ms_config_read(mapping, MS_PLACEMENT_FIELDS, "placement",
                                                        &keys, arena, diag);
    choice.file = keys.file;
    /* all parts are read before the first fault is returned, so that each fault is reported */
    ms_status parts[] = {MS_OK, MS_OK, MS_OK, MS_OK};
    if (status == MS_OK) {
        parts[0] = keys.nodes == NULL
                       ? MS_OK
                       : read_nodes(keys.nodes, "placement.nodes", arena, diag, &choice.nodes);
        parts[1] = keys.spares == NULL ? MS_OK : read_spares(keys.spares, arena, diag, &choice);
        parts[2] = ms_node_get(mapping, "order") == NULL
                       ? MS_OK
                       : read_order(mapping, &keys.order, diag, &choice.is_cyclic);
        parts[3] = check_file(mapping, &keys, diag);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == MS_OK; i++) {
        status = parts[i];
    }
    if (status == MS_OK) {
        *choice_out = choice;
    }
    return status;
}
