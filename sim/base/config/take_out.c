/* Removes keys whose value is null from their mapping (ms_config_remove_nulls).
 *
 * An override, or a file that is laid over another one, removes a key by giving it the value null.
 * The null is kept while files are laid over each other, as the key may come from a file below.
 * Once all files are laid, this walk removes the null keys, and every reader treats them as not
 * given. Keys that no table knows stay, so that a misspelt key is still reported as unknown. */
#include <string.h>

#include "base/config/fields.h"

/* Look for the variant whose name is the value of the key `kind`. */
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

/* Remove the null keys of a mapping and of the mappings below it.  fields: its table; NULL: any key
 * is known.  each: row of the keys that `fields` lacks; NULL: such keys are unknown, and stay.
 * Mappings that name a file are left to the reader of that file (see config.h). */
static void remove_nulls(ms_node *mapping, const ms_field *fields, const ms_field *each) {
    for (ms_node *child = mapping->first, *next = NULL; child != NULL; child = next) {
        next = child->next;
        const ms_field *row = fields == NULL ? NULL : ms_field_find(fields, child->key);
        row = row == NULL ? each : row;
        const ms_field_shape *shape = row == NULL ? NULL : row->shape;
        bool is_known = fields == NULL || row != NULL;
        bool is_of_file = shape != NULL && shape->file_key != NULL;
        if (ms_node_is_removal(child) && is_known) {
            ms_node_remove(mapping, child);
        } else if (child->type == MS_NODE_MAPPING && is_known && !is_of_file) {
            remove_nulls(child, row == NULL ? NULL : ms_field_table_of(row, child),
                         shape == NULL ? NULL : shape->each);
        }
    }
}

void ms_config_remove_nulls(ms_node *mapping, const ms_field *fields) {
    if (mapping->type == MS_NODE_MAPPING) {
        remove_nulls(mapping, fields, NULL);
    }
}
