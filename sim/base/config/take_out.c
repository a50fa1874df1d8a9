/* Removes keys whose value is null from their mapping.
 *
 * An override, or a file that is laid over another one, removes a key by giving it the value null.
 * The null is kept while files are laid over each other, as the key may come from a file below.
 * Once all files are laid, this walk removes the null keys, and every reader takes them as not
 * given. Keys that no table knows stay, so that a typing error is still reported as an unknown key.
 */
#include <string.h>

#include "base/config/fields.h"

const ms_field *ms_field_table_of(const ms_field *row, const ms_node *mapping) {
    const ms_node *kind = ms_node_get(mapping, "kind");
    ms_field_variant variant;
    if (row->fields != NULL || row->shape == NULL || row->shape->variant == NULL || kind == NULL ||
        kind->type != MS_NODE_SCALAR) {
        return row->fields;
    }
    for (int i = 0; row->shape->variant(i, &variant); i++) {
        if (strcmp(variant.kind, kind->text) == 0) {
            return variant.fields;
        }
    }
    return NULL;
}

/* fields: NULL: any key may stand in the mapping.  each: row of the keys that `fields` lacks; NULL:
 * there are none. */
static void take_out(ms_node *mapping, const ms_field *fields, const ms_field *each) {
    for (ms_node *child = mapping->first, *next = NULL; child != NULL; child = next) {
        next = child->next;
        const ms_field *row = fields == NULL ? NULL : ms_field_find(fields, child->key);
        row = row == NULL ? each : row;
        const ms_field_shape *shape = row == NULL ? NULL : row->shape;
        bool is_known = fields == NULL || row != NULL;
        bool is_of_file = shape != NULL && shape->file_key != NULL;
        if (ms_node_takes_out(child) && is_known) {
            ms_node_remove(mapping, child);
        } else if (child->type == MS_NODE_MAPPING && is_known && !is_of_file) {
            take_out(child, row == NULL ? NULL : ms_field_table_of(row, child),
                     shape == NULL ? NULL : shape->each);
        }
    }
}

void ms_config_take_out(ms_node *mapping, const ms_field *fields) {
    if (mapping->type == MS_NODE_MAPPING) {
        take_out(mapping, fields, NULL);
    }
}
