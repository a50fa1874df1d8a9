/* Writes the placement that a user asks for back as the `placement` mapping (ms_placement_write):
 * the reverse of read.c. */
#include "cluster/placement/placement.h"

/* Makes nodes of a tree; once memory has run out it makes no more. */
typedef struct tree_writer {
    ms_arena *arena;
    bool has_failed;
} tree_writer;

/* Make a node and append it to a parent, which may be NULL.  key: NULL in a sequence.  text: of a
 * scalar, where NULL means that memory ran out; NULL for other types.  Returns NULL on failure. */
static ms_node *add_node(tree_writer *writer, ms_node *parent, ms_node_type type, const char *key,
                         const char *text) {
    ms_node *node = writer->has_failed ? NULL : MS_NEW(writer->arena, ms_node, 1);
    if (node == NULL || (type == MS_NODE_SCALAR && text == NULL)) {
        writer->has_failed = true;
        return NULL;
    }
    *node = (ms_node){.type = type, .key = key, .text = text, .origin = "file"};
    if (parent != NULL) {
        ms_node_append(parent, node);
    }
    return node;
}

/* Append a sequence of numbers under a key, consecutive numbers as a range such as 0-127. For an
 * empty list nothing is appended. */
static void add_numbers(tree_writer *writer, ms_node *mapping, const char *key,
                        const ms_ints *numbers) {
    ms_node *list =
        numbers->count == 0 ? NULL : add_node(writer, mapping, MS_NODE_SEQUENCE, key, NULL);
    for (size_t i = 0; list != NULL && !writer->has_failed && i < numbers->count; i++) {
        size_t first = i;
        while (i + 1 < numbers->count && numbers->items[i + 1] == numbers->items[i] + 1) {
            i++;
        }
        int from = numbers->items[first];
        int to = numbers->items[i];
        add_node(writer, list, MS_NODE_SCALAR, NULL,
                 from == to ? ms_arena_printf(writer->arena, "%d", from)
                            : ms_arena_printf(writer->arena, "%d-%d", from, to));
    }
}

ms_status ms_placement_write(const ms_rank_placement_choice *choice, ms_arena *arena,
                             ms_node **mapping_out) {
    tree_writer writer = {.arena = arena};
    *mapping_out = NULL;
    if (!choice->is_given) {
        return MS_OK;
    }
    ms_node *mapping = add_node(&writer, NULL, MS_NODE_MAPPING, NULL, NULL);
    add_numbers(&writer, mapping, "nodes", &choice->nodes);
    if (choice->is_cyclic) {
        ms_node *order = add_node(&writer, mapping, MS_NODE_SEQUENCE, "order", NULL);
        add_node(&writer, order, MS_NODE_SCALAR, NULL, "gpu");
        add_node(&writer, order, MS_NODE_SCALAR, NULL, "node");
    }
    if (choice->file != NULL) {
        add_node(&writer, mapping, MS_NODE_SCALAR, "file", choice->file);
    }
    add_numbers(&writer, mapping, "spares", &choice->spares);
    if (choice->spares.count == 0) {
        add_node(&writer, mapping, MS_NODE_SCALAR, "spares",
                 ms_arena_printf(arena, "%d", choice->spare_count));
    }
    *mapping_out = writer.has_failed ? NULL : mapping;
    return writer.has_failed ? MS_E_NOMEM : MS_OK;
}
