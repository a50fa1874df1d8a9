/* Sorts the keys of a mapping into the order of its field table (ms_config_arrange): a file that
 * was put together from several then reads like one that a person wrote. */
#include <string.h>

#include "base/config/fields.h"

/* Remove the child with a key from a list of siblings, and return it; NULL: there is none. */
static ms_node *remove_from_list(ms_node **first, const char *key) {
    for (ms_node **at = first; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->key, key) == 0) {
            ms_node *found = *at;
            *at = found->next;
            return found;
        }
    }
    return NULL;
}

/* The children are unlinked, then linked again: first those of the table's rows, then the rest. */
void ms_config_arrange(ms_node *mapping, const ms_field *fields) {
    ms_node *rest = mapping->first;
    mapping->first = mapping->last = NULL;
    mapping->count = 0;
    for (const ms_field *field = fields; field->key != NULL; field++) {
        ms_node *child = remove_from_list(&rest, field->key);
        if (child == NULL) {
            continue;
        }
        ms_node_append(mapping, child);
        if (child->type == MS_NODE_MAPPING && field->fields != NULL) {
            ms_config_arrange(child, field->fields);
        }
    }
    while (rest != NULL) {
        ms_node *child = rest;
        rest = child->next;
        ms_node_append(mapping, child);
    }
}
