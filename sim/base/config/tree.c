/* Trees of nodes (config.h): appending, copying, merging and looking up, and the form in which
 * messages show a node. */
#include <stdio.h>
#include <string.h>

#include "base/config/internal.h"
#include "base/text.h"

void ms_node_append(ms_node *parent, ms_node *child) {
    child->next = NULL;
    if (parent->last == NULL) {
        parent->first = child;
    } else {
        parent->last->next = child;
    }
    parent->last = child;
    parent->count++;
    parent->has_fault = parent->has_fault || child->has_fault;
}

ms_node *ms_node_get(const ms_node *mapping, const char *key) {
    if (mapping == NULL || mapping->type != MS_NODE_MAPPING) {
        return NULL;
    }
    for (ms_node *child = mapping->first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

/* Walk down key by key; the walk stops at the first key that a mapping lacks. */
const ms_node *ms_node_at(const ms_node *root, const char *key_path, bool *is_found_out) {
    const ms_node *node = root;
    while (node != NULL && *key_path != '\0') {
        char key[MS_KEY_MAX];
        size_t length = strcspn(key_path, ".");
        const ms_node *child = NULL;
        if (length < sizeof key) {
            memcpy(key, key_path, length);
            key[length] = '\0';
            child = ms_node_get(node, key);
        }
        if (child == NULL) {
            break;
        }
        node = child;
        key_path += length + (key_path[length] == '.' ? 1 : 0);
    }
    if (is_found_out != NULL) {
        *is_found_out = node != NULL && *key_path == '\0';
    }
    return node;
}

void ms_node_drop(ms_node *mapping, const char *key) {
    const ms_node *child = ms_node_get(mapping, key);
    if (child != NULL) {
        ms_node_remove(mapping, child);
    }
}

/* The recursion is bounded: the parser, ms_node_set and aliases keep to MS_DEPTH_LIMIT levels. */
ms_node *ms_node_copy(const ms_node *node, ms_arena *arena) {
    ms_node *copy = MS_NEW(arena, ms_node, 1);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *node;
    copy->next = copy->first = copy->last = NULL;
    copy->count = 0;
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_node *child_copy = ms_node_copy(child, arena);
        if (child_copy == NULL) {
            return NULL;
        }
        ms_node_append(copy, child_copy);
    }
    return copy;
}

size_t ms_node_total(const ms_node *node) {
    size_t total = 1;
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        total += ms_node_total(child);
    }
    return total;
}

int ms_node_depth(const ms_node *node) {
    int deepest = 0;
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        int depth = ms_node_depth(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return node->type == MS_NODE_SCALAR ? 0 : deepest + 1;
}

/* The node keeps its address, because its parent and siblings point to it. */
ms_status ms_node_assign(ms_node *to, const ms_node *from, ms_arena *arena) {
    ms_node *copy = ms_node_copy(from, arena);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    copy->key = to->key;
    copy->key_mark = from->key == NULL ? to->key_mark : from->key_mark;
    copy->next = to->next;
    *to = *copy;
    return MS_OK;
}

void ms_node_remove(ms_node *parent, const ms_node *child) {
    ms_node *before = NULL; /* the sibling in front of the child */
    for (ms_node *node = parent->first; node != child; node = node->next) {
        before = node;
    }
    *(before == NULL ? &parent->first : &before->next) = child->next;
    parent->last = parent->last == child ? before : parent->last;
    parent->count--;
}

/* Lay one child of another mapping onto the mapping `base`: over the child with the same key, or as
 * a new one. */
static ms_status merge_child(ms_node *base, const ms_node *child, ms_arena *arena) {
    ms_node *present = ms_node_get(base, child->key);
    if (present != NULL) {
        return ms_node_overlay(present, child, arena);
    }
    ms_node *copy = ms_node_copy(child, arena);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    ms_node_append(base, copy);
    return MS_OK;
}

ms_status ms_node_overlay(ms_node *base, const ms_node *over, ms_arena *arena) {
    if (base->type != MS_NODE_MAPPING || over->type != MS_NODE_MAPPING) {
        return ms_node_assign(base, over, arena);
    }
    base->has_fault = base->has_fault || over->has_fault;
    for (const ms_node *child = over->first; child != NULL; child = child->next) {
        ms_status status = merge_child(base, child, arena);
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* A value of `under` is copied only where `base` has no value, or an empty one that is not null. */
ms_status ms_node_underlay(ms_node *base, const ms_node *under, ms_arena *arena) {
    ms_status status = MS_OK;
    for (const ms_node *child = under->first; child != NULL && status == MS_OK;
         child = child->next) {
        ms_node *present = ms_node_get(base, child->key);
        bool is_empty =
            present == NULL || (ms_node_is_null(present) && !ms_node_is_removal(present));
        if (is_empty) {
            status = merge_child(base, child, arena);
        } else if (present->type == MS_NODE_MAPPING && child->type == MS_NODE_MAPPING) {
            status = ms_node_underlay(present, child, arena);
        }
    }
    return status;
}

bool ms_node_is_null(const ms_node *node) {
    static const char *const NULLS[] = {"", "~", "null", "Null", "NULL"};
    if (node->type != MS_NODE_SCALAR || node->is_quoted) {
        return false;
    }
    return ms_word_index(node->text, NULLS, sizeof NULLS / sizeof NULLS[0]) >= 0;
}

bool ms_node_is_removal(const ms_node *node) {
    return node != NULL && ms_node_is_null(node) && node->text[0] != '\0';
}

/* The text is cut at MS_SHOWN_MAX bytes, but not within a character; then each character is copied
 * or replaced. */
const char *ms_shown(const char *text, char *out) {
    size_t length = strlen(text);
    bool is_cut = length > MS_SHOWN_MAX;
    length = is_cut ? MS_SHOWN_MAX : length;
    while (is_cut && length > 0 &&
           ms_text_is_continuation(text[length])) { /* no character cut in two */
        length--;
    }
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t size = ms_text_decode(text + at, length - at, &code);
        bool is_seen = size > 0 && ms_text_is_visible(code);
        size = size > 0 ? size : 1;
        memcpy(out + used, is_seen ? text + at : "?", is_seen ? size : 1);
        used += is_seen ? size : 1;
        at += size;
    }
    strcpy(out + used, is_cut ? "..." : "");
    return out;
}

const char *ms_node_shown(const ms_node *node, char *out) {
    char text[MS_SHOWN_MAX + 4];
    if (node->type == MS_NODE_SEQUENCE) {
        return "a list";
    }
    if (node->type == MS_NODE_MAPPING) {
        return "a mapping";
    }
    if (ms_node_is_null(node)) {
        return "nothing";
    }
    snprintf(out, MS_SHOWN_MAX + 8, "'%s'", ms_shown(node->text, text));
    return out;
}

/* A mapping or list that begins on a later line than its key is reported at the key. */
const ms_mark *ms_node_fault_mark(const ms_node *node) {
    bool begins_below_key = node->type != MS_NODE_SCALAR && node->key_mark.file != NULL &&
                            node->key_mark.line != node->mark.line;
    return begins_below_key ? &node->key_mark : &node->mark;
}
