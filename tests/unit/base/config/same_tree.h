/* Comparison of two trees, marks and origins aside. */
#ifndef MESHSIM_TESTS_SAME_TREE_H
#define MESHSIM_TESTS_SAME_TREE_H

#include <string.h>

#include "base/config/config.h"

static inline bool is_same_text(const char *a, const char *b) {
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static inline bool is_same_tree(const ms_node *a, const ms_node *b) {
    if (a->type != b->type || a->is_quoted != b->is_quoted || a->count != b->count ||
        !is_same_text(a->text, b->text) || !is_same_text(a->key, b->key)) {
        return false;
    }
    const ms_node *y = b->first;
    for (const ms_node *x = a->first; x != NULL; x = x->next, y = y->next) {
        if (!is_same_tree(x, y)) {
            return false;
        }
    }
    return true;
}

#endif
