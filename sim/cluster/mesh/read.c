/* Reads the workload's `mesh:` mapping (ms_mesh_read): the sizes of its axes and their order. An
 * axis may have a name of the user's; so the field table for the sizes is made at run time from the
 * names in `order`. */
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "cluster/mesh/mesh.h"

/* Largest size of one axis: the largest number of ranks of a mesh. */
enum { SIZE_MAX_AXIS = 1 << 24 };

/* The values of the mapping. */
typedef struct mesh_file {
    int sizes[MS_MESH_AXES_MAX]; /* by position in the order */
    int left_out;                /* the size of every axis outside the order, always 1 */
    ms_words order;
} mesh_file;

#define AXIS(name_, offset_, help_)                                                                \
    MS_KEY((name_), (help_), INT, (offset_), .fallback = "1", MS_RANGE(1, SIZE_MAX_AXIS))
#define KNOWN_AXIS(name_, help_) AXIS(name_, offsetof(mesh_file, left_out), help_)

const ms_field MS_MESH_FIELDS[] = {
    KNOWN_AXIS("tp", "tensor-parallel ranks: they share a layer"),
    KNOWN_AXIS("cp", "context-parallel ranks: they share a sequence"),
    KNOWN_AXIS("ep", "expert-parallel ranks: each has some of a layer's experts"),
    KNOWN_AXIS("pp", "pipeline-parallel ranks: each has some of the layers"),
    KNOWN_AXIS("dp", "data-parallel ranks: replicas"),
    MS_KEY("order", "axes, outermost first; one more may have a name of its own", WORDS,
           offsetof(mesh_file, order), .fallback = "[pp, dp, cp, tp]"),
    {.key = NULL},
};

static const ms_field OWN_AXIS = KNOWN_AXIS("axis", "ranks along an axis with a name of its own");

const ms_field_shape MS_MESH_SHAPE = {.each = &OWN_AXIS};

/* Whether the order names an axis. */
static bool is_ordered(const ms_words *order, const char *name) {
    return ms_word_index(name, order->items, (int)order->count) >= 0;
}

/* Read the names of the axes, outermost first; without the key, the default order.  order_path: key
 * path for messages.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
static ms_status read_order(const ms_node *mapping, const char *order_path, ms_arena *arena,
                            ms_diag *diag, ms_words *order_out) {
    const ms_node *node = ms_node_get(mapping, "order");
    if (node == NULL) {
        mesh_file defaults = {0};
        ms_status status = ms_config_read(NULL, MS_MESH_FIELDS, "", &defaults, arena, diag);
        *order_out = defaults.order;
        return status;
    }
    if (node->type != MS_NODE_SEQUENCE || node->count < 1 || node->count > MS_MESH_AXES_MAX) {
        return ms_config_fault(diag, node, order_path,
                               "expected a sequence of 1 to %d axis names, outermost first",
                               (int)MS_MESH_AXES_MAX);
    }
    *order_out = (ms_words){.items = MS_NEW(arena, const char *, node->count)};
    if (order_out->items == NULL) {
        return MS_E_NOMEM;
    }
    for (const ms_node *item = node->first; item != NULL; item = item->next) {
        if (item->type != MS_NODE_SCALAR || item->text[0] == '\0' ||
            strcmp(item->text, "order") == 0) {
            return ms_config_fault(diag, item, order_path, "expected the name of an axis");
        }
        if (is_ordered(order_out, item->text)) {
            return ms_config_fault(diag, item, order_path, "axis '%s' stands twice", item->text);
        }
        order_out->items[order_out->count++] = item->text;
    }
    return MS_OK;
}

/* Whether a key is an axis of a usual name with size 1, which need not be in the order. */
static bool is_trivial(const ms_node *axis) {
    return axis->type == MS_NODE_SCALAR && strcmp(axis->text, "1") == 0 &&
           ms_axis_from_name(axis->key) != MS_AXIS_OTHER;
}

/* The hint for an axis that the order leaves out: a usual axis has to be added to the order;
 * another name may be misspelt. NULL when memory runs out. */
static const char *advise(const ms_node *axis, const ms_words *order, ms_arena *arena) {
    if (ms_axis_from_name(axis->key) != MS_AXIS_OTHER) {
        return "; add it there, or leave it out: an axis of size 1 need not stand in it";
    }
    const char *nearest = ms_nearest_word(axis->key, order->items, order->count);
    return nearest == NULL ? "; add it there"
                           : ms_arena_printf(arena, "; did you mean '%s'?", nearest);
}

/* Report axes that have a size but are not in the order. read_sizes would report them as unknown
 * keys, without this reason.  mapping: may be NULL.  key_path, order_path: of the mapping and its
 * order, for messages. */
static ms_status check_left_out(const ms_node *mapping, const char *order_path,
                                const char *key_path, const ms_words *order, ms_arena *arena,
                                ms_diag *diag) {
    ms_status status = MS_OK;
    for (const ms_node *child = mapping == NULL ? NULL : mapping->first; child != NULL;
         child = child->next) {
        if (strcmp(child->key, "order") == 0 || is_ordered(order, child->key) ||
            is_trivial(child)) {
            continue;
        }
        const char *path = ms_arena_printf(arena, "%s.%s", key_path, child->key);
        const char *advice = advise(child, order, arena);
        if (path == NULL || advice == NULL) {
            return MS_E_NOMEM;
        }
        const ms_node at = {.mark = child->key_mark};
        status = ms_config_fault(diag, &at, path, "axis '%s' does not stand in '%s'%s", child->key,
                                 order_path, advice);
    }
    return status;
}

/* Read the sizes by a table with a row for each axis of the order, for the order itself, and for
 * each usual axis outside the order, which must have the size 1. */
static ms_status read_sizes(const ms_node *mapping, const char *key_path, const ms_words *order,
                            ms_arena *arena, ms_diag *diag, mesh_file *file) {
    ms_field fields[MS_MESH_AXES_MAX + MS_AXIS_COUNT + 2] = {{.key = NULL}};
    for (size_t i = 0; i < order->count; i++) {
        fields[i] =
            (ms_field)AXIS(order->items[i], offsetof(mesh_file, sizes) + i * sizeof(int), NULL);
    }
    size_t count = order->count;
    fields[count++] =
        (ms_field)MS_KEY("order", "axes, outermost first", WORDS, offsetof(mesh_file, order));
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_OTHER; axis++) {
        if (!is_ordered(order, ms_axis_name((ms_axis)axis))) {
            fields[count++] = (ms_field)MS_KEY(ms_axis_name((ms_axis)axis),
                                               "an axis outside the order has the size 1", INT,
                                               offsetof(mesh_file, left_out), MS_RANGE(1, 1));
        }
    }
    return ms_config_read(mapping, fields, key_path, file, arena, diag);
}

/* The order is read first, as it decides which keys are axes. */
ms_status ms_mesh_read(const ms_node *mapping, const char *key_path, ms_arena *arena, ms_diag *diag,
                       ms_mesh *mesh_out) {
    if (mapping != NULL && mapping->type != MS_NODE_MAPPING) {
        return ms_config_fault(diag, mapping, key_path, "expected a mapping of axes to sizes");
    }
    ms_words order = {0};
    const char *order_path = ms_arena_printf(arena, "%s.order", key_path);
    if (order_path == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = read_order(mapping, order_path, arena, diag, &order);
    status = status == MS_OK ? check_left_out(mapping, order_path, key_path, &order, arena, diag)
                             : status;
    mesh_file file = {0};
    status = status == MS_OK ? read_sizes(mapping, key_path, &order, arena, diag, &file) : status;
    if (status != MS_OK) {
        return status;
    }
    return ms_mesh_init(mesh_out, order.items, file.sizes, (int)order.count, diag);
}
