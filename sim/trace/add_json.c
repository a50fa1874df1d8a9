/* From documents of JSON to trees of results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/summary.h"

/* A number, or one of the words of JSON. */
static void add_word(const char *word, const char *key, ms_value *parent) {
    char *end = NULL;
    errno = 0;
    long long integer = strtoll(word, &end, 10);
    if (*end == '\0' && errno == 0) {
        ms_value_add_int(parent, key, integer);
    } else if (strcmp(word, "null") == 0) {
        ms_value_add(parent, key, MS_VALUE_NULL);
    } else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        ms_value_add_bool(parent, key, word[0] == 't');
    } else {
        ms_value_add_double(parent, key, strtod(word, NULL));
    }
}

void ms_summary_add_json(const ms_node *node, ms_value *parent) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        if (child->type == MS_NODE_MAPPING) {
            ms_summary_add_json(child, ms_value_add(parent, child->key, MS_VALUE_OBJECT));
        } else if (child->type == MS_NODE_SEQUENCE) {
            ms_summary_add_json(child, ms_value_add(parent, child->key, MS_VALUE_ARRAY));
        } else if (child->is_quoted) {
            ms_value_add_string(parent, child->key, child->text);
        } else {
            add_word(child->text, child->key, parent);
        }
    }
}
