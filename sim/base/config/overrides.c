/* Overrides such as --set key.path=value (ms_node_set): splits the text into the keys of the path
 * and the value, walks down the tree along the keys, making missing mappings, and replaces the node
 * at the end. */
#include <ctype.h>
#include <string.h>

#include "base/config/internal.h"
#include "base/text.h"

/* One part of a path: a key, or the index of a list entry. */
typedef struct path_key {
    const char *text; /* [length] inside the assignment; no NUL behind it */
    size_t length;
    bool is_index; /* written as [2]; without brackets it may be an index too */
} path_key;

/* One override. */
typedef struct assignment {
    ms_source source; /* the whole text */
    size_t equals_B;  /* position of the '=' [B] */
    path_key keys[MS_DEPTH_LIMIT];
    int key_count;
    ms_arena *arena;
    ms_diag *diag;
} assignment;

/* The mark of the bytes [from, to) of the override's text. */
static ms_mark mark_bytes(const assignment *override, size_t from, size_t to) {
    return ms_source_mark(&override->source, ms_text_characters(override->source.text, from),
                          ms_text_characters(override->source.text, to));
}

/* The mark of a part of the path. */
static ms_mark mark_key(const assignment *override, const path_key *key) {
    size_t from = (size_t)(key->text - override->source.text);
    return mark_bytes(override, from, from + key->length);
}

/* Report a fault in the form of the override, at its bytes [from, to). Returns MS_E_USAGE. */
static ms_status report_usage(const assignment *override, size_t from, size_t to,
                              const char *text) {
    ms_mark mark = mark_bytes(override, from, to);
    ms_diag_at(override->diag, &mark, NULL, "%s", text);
    return MS_E_USAGE;
}

/* Add a part to the path.  text: [length] bytes of the override's text.  is_index: the part was in
 * brackets, name[2], and so is the index of an entry. Returns MS_OK; MS_E_USAGE (reported). */
static ms_status add_key(assignment *override, const char *text, size_t length, bool is_index) {
    size_t from = (size_t)(text - override->source.text);
    if (length == 0) {
        return report_usage(override, from, from, "expected key.path=value, got an empty key");
    }
    if (override->key_count == MS_DEPTH_LIMIT) {
        return report_usage(override, from, from + length,
                            "expected at most 64 keys in a path, got more");
    }
    override->keys[override->key_count++] = (path_key){text, length, is_index};
    return MS_OK;
}

/* Split the text between two dots: a name, then any number of indices such as "[2]".  Returns
 * MS_OK; MS_E_USAGE (reported). */
static ms_status split_part(assignment *override, const char *at, const char *end) {
    const char *bracket = memchr(at, '[', (size_t)(end - at));
    ms_status status =
        add_key(override, at, (size_t)((bracket == NULL ? end : bracket) - at), false);
    while (status == MS_OK && bracket != NULL) {
        size_t from = (size_t)(bracket - override->source.text);
        const char *close = memchr(bracket, ']', (size_t)(end - bracket));
        if (close == NULL || (close + 1 < end && close[1] != '[')) {
            return report_usage(override, from, from + 1, "expected an index such as 'name[2]'");
        }
        status = add_key(override, bracket + 1, (size_t)(close - bracket) - 1, true);
        bracket = close + 1 < end ? close + 1 : NULL;
    }
    return status;
}

/* Split the text in front of the first '=' at its dots.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status split_path(assignment *override) {
    const char *at = override->source.text;
    const char *equals = memchr(at, '=', override->source.length_B);
    if (equals == NULL) {
        return report_usage(override, 0, override->source.length_B,
                            "expected key.path=value, got no '='");
    }
    override->equals_B = (size_t)(equals - at);
    ms_status status = MS_OK;
    while (status == MS_OK && at != NULL) {
        const char *dot = memchr(at, '.', (size_t)(equals - at));
        status = split_part(override, at, dot == NULL ? equals : dot);
        at = dot == NULL ? NULL : dot + 1;
    }
    return status;
}

/* Parse the text behind the '=' as YAML.  depth: levels of the tree above the value.  Returns
 * MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
static ms_status parse_value(assignment *override, int depth, ms_node **value_out) {
    ms_yaml_input input = {.source = override->source,
                           .from_B = override->equals_B + 1,
                           .from_characters =
                               ms_text_characters(override->source.text, override->equals_B + 1),
                           .depth = depth,
                           .origin = "--set"};
    ms_status status = ms_yaml_build(&input, override->arena, override->diag, value_out);
    if (status == MS_OK && (*value_out)->has_fault) {
        return MS_E_INPUT;
    }
    return status;
}

/* The entry of a sequence by its index; NULL after reporting that the key is no index or too
 * large. */
static ms_node *find_entry(const assignment *override, const ms_node *sequence,
                           const path_key *key) {
    size_t index = 0;
    bool is_number = true;
    for (size_t i = 0; i < key->length; i++) {
        /* no sequence has so many entries; the limit keeps `index` from overflowing */
        is_number = is_number && isdigit((unsigned char)key->text[i]) && index <= MS_NODE_LIMIT;
        index = is_number ? index * 10 + (size_t)(key->text[i] - '0') : index;
    }
    ms_mark mark = mark_key(override, key);
    if (!is_number || index >= sequence->count) {
        if (sequence->count == 0) {
            ms_diag_at(override->diag, &mark, NULL, "the list here is empty, set it as a whole");
        } else {
            ms_diag_at(override->diag, &mark, NULL,
                       "expected the number of a list entry, 0 to %zu, got '%.*s'",
                       sequence->count - 1,
                       (int)(key->length > MS_SHOWN_MAX ? MS_SHOWN_MAX : key->length), key->text);
        }
        return NULL;
    }
    ms_node *entry = sequence->first;
    for (; index > 0; index--) {
        entry = entry->next;
    }
    return entry;
}

/* Find the child of a mapping or sequence that a part of the path names. A mapping that lacks the
 * key gets an empty value under it. */
static ms_status find_child(assignment *override, ms_node *parent, const path_key *key,
                            ms_node **child_out) {
    if (parent->type == MS_NODE_SEQUENCE) {
        *child_out = find_entry(override, parent, key);
        return *child_out == NULL ? MS_E_INPUT : MS_OK;
    }
    ms_mark mark = mark_key(override, key);
    if (key->is_index) {
        return ms_diag_at(override->diag, &mark, NULL,
                          "expected a key here, got the number of a list entry");
    }
    char *name = ms_arena_strndup(override->arena, key->text, key->length);
    if (name == NULL) {
        return MS_E_NOMEM;
    }
    ms_node *child = ms_node_get(parent, name);
    if (child == NULL) {
        child = MS_NEW(override->arena, ms_node, 1);
        if (child == NULL) {
            return MS_E_NOMEM;
        }
        *child = (ms_node){.type = MS_NODE_SCALAR,
                           .text = "",
                           .key = name,
                           .key_mark = mark,
                           .mark = mark,
                           .origin = "--set"};
        ms_node_append(parent, child);
    }
    *child_out = child;
    return MS_OK;
}

/* Prepare a node for a child: an empty value becomes a mapping without keys, a mapping or sequence
 * stays, and any other scalar is a fault.  key: part of the path that names the child, for the
 * message. */
static ms_status make_container(const assignment *override, ms_node *node, const path_key *key) {
    if (node->type != MS_NODE_SCALAR) {
        return MS_OK;
    }
    if (ms_node_is_null(node)) {
        node->type = MS_NODE_MAPPING;
        node->text = NULL;
        return MS_OK;
    }
    char shown[MS_SHOWN_MAX + 8];
    ms_mark mark = mark_key(override, key);
    /* the path up to the dot or bracket in front of the key */
    return ms_diag_at(override->diag, &mark, NULL, "there are no keys below '%.*s', it holds %s",
                      (int)(key->text - override->source.text) - 1, override->source.text,
                      ms_node_shown(node, shown));
}

/* Set the value at the end of the path. A value of null stays in the tree: the key may be one of a
 * file that is read later (a platform's), and ms_config_remove_nulls removes it after that. */
static ms_status apply(assignment *override, ms_node *root) {
    ms_node *value = NULL;
    ms_status status = parse_value(override, override->key_count, &value);
    ms_node *node = root;
    for (int i = 0; status == MS_OK && i < override->key_count; i++) {
        ms_node *parent = node;
        status = make_container(override, parent, &override->keys[i]);
        status = status == MS_OK ? find_child(override, parent, &override->keys[i], &node) : status;
    }
    if (status == MS_OK) {
        value->key_mark = mark_bytes(override, 0, override->equals_B);
        const char *key = node->key;
        status = ms_node_assign(node, value, override->arena);
        node->key = key;
        node->key_mark = value->key_mark;
    }
    return status;
}

ms_status ms_node_set(ms_node *root, const char *text, ms_arena *arena, ms_diag *diag) {
    assignment *override = MS_NEW(arena, assignment, 1);
    if (override == NULL) {
        return ms_diag_no_memory(diag);
    }
    override->arena = arena;
    override->diag = diag;
    ms_status status = ms_source_init(&override->source, "--set", text, strlen(text), arena, diag);
    status = status == MS_OK ? split_path(override) : status;
    status = status == MS_OK ? apply(override, root) : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
