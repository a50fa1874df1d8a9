/* Adds the defaults of field tables to a tree, as keys with the origin "default" (ms_config_fill):
 * for lists of everything that a run used, not only of the keys in its files. */
#include <string.h>

#include "base/config/fields.h"

/* Arena for the new nodes, and sink for faults of the tables. */
typedef struct default_maker {
    ms_arena *arena;
    ms_diag *diag;
} default_maker;

static ms_status fill(ms_node *mapping, const ms_field *fields, const default_maker *maker);

/* Make the mapping of a MAP row from its defaults.  *node_out: NULL if no key of it has a
 * default. */
static ms_status make_mapping(const ms_field *row, const default_maker *maker, ms_node **node_out) {
    ms_node *made = MS_NEW(maker->arena, ms_node, 1);
    if (made == NULL) {
        return MS_E_NOMEM;
    }
    *made = (ms_node){.type = MS_NODE_MAPPING, .origin = "default"};
    ms_status status = fill(made, row->fields, maker);
    *node_out = made->count > 0 ? made : NULL;
    return status;
}

/* Add the default of a key that a mapping lacks, if it has one.  row: of the key. */
static ms_status add_absent(ms_node *mapping, const ms_field *row, const default_maker *maker) {
    ms_node *node = NULL;
    ms_status status = MS_OK;
    if (row->type == MS_FIELD_MAP && !ms_field_has_required(row->fields)) {
        status = make_mapping(row, maker, &node);
    } else if (row->fallback != NULL) {
        status = ms_field_parse_fallback(row, maker->arena, maker->diag, &node);
    }
    if (status == MS_OK && node != NULL) {
        node->key = row->key;
        node->origin = "default";
        ms_node_append(mapping, node);
    }
    return status;
}

/* Fill the mappings whose keys are names that the user chose, such as tiers.  fields: table of the
 * other keys; NULL: there is none.  each: row of the mappings. */
static ms_status fill_each(ms_node *mapping, const ms_field *fields, const ms_field *each,
                           const default_maker *maker) {
    ms_status status = MS_OK;
    for (ms_node *child = mapping->first; child != NULL && status == MS_OK; child = child->next) {
        bool is_named = fields != NULL && ms_field_find(fields, child->key) != NULL;
        if (!is_named && child->type == MS_NODE_MAPPING && each->fields != NULL) {
            status = fill(child, each->fields, maker);
        }
    }
    return status;
}

/* Fill a nested mapping by the table of its row or kind, and the mappings with names of the user's
 * in it. */
static ms_status fill_child(ms_node *child, const ms_field *row, const default_maker *maker) {
    const ms_field *fields = ms_field_table_of(row, child);
    ms_status status = fields == NULL ? MS_OK : fill(child, fields, maker);
    return status == MS_OK && row->shape != NULL && row->shape->each != NULL
               ? fill_each(child, fields, row->shape->each, maker)
               : status;
}

/* Fill a mapping by its table: add absent keys, go into the mappings that are present. */
static ms_status fill(ms_node *mapping, const ms_field *fields, const default_maker *maker) {
    ms_status status = MS_OK;
    for (const ms_field *row = fields; row->key != NULL && status == MS_OK; row++) {
        ms_node *child = ms_node_get(mapping, row->key);
        if (child == NULL) {
            status = add_absent(mapping, row, maker);
        } else if (child->type == MS_NODE_MAPPING) {
            status = fill_child(child, row, maker);
        }
    }
    return status;
}

ms_status ms_config_fill(ms_node *mapping, const ms_field *fields, ms_arena *arena, ms_diag *diag) {
    const default_maker maker = {arena, diag};
    return fill(mapping, fields, &maker);
}
