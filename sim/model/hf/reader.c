/* Reads a Hugging Face config key by key: looks keys up under their names, checks the types of
 * values, builds the model's mapping, and lists what became of each key. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/hf/hf.h"

enum { NAMES_MAX = 8, PATH_SIZE = 160, MESSAGE_SIZE = 1600, SHOWN_SIZE = 48 };

/* Whether a fault of this value was reported before, as sizes are looked up more than once; notes
 * the value if not. The config as a whole may have many faults: the keys that it lacks. */
static bool was_reported(ms_hf_reader *r, const ms_node *node) {
    for (int i = 0; i < r->faulty_count; i++) {
        if (r->faulty[i] == node) {
            return true;
        }
    }
    if (node != r->config && r->faulty_count < MS_HF_FAULTY_MAX) {
        r->faulty[r->faulty_count++] = node;
    }
    return false;
}

/* Report a fault at a key's value, once for each value. The first fault's status is kept. */
void ms_hf_fault(ms_hf_reader *r, const ms_node *node, const char *key, const char *format, ...) {
    char path[PATH_SIZE];
    char message[MESSAGE_SIZE];
    va_list args;
    if (was_reported(r, node)) {
        return;
    }
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s%s", r->prefix, key);
    ms_status status = ms_config_fault(r->diag, node, path, "%s", message);
    r->status = r->status == MS_OK ? status : r->status;
}

/* ---- looking up ---- */

static bool is_null(const ms_node *node) {
    return node->type == MS_NODE_SCALAR && !node->is_quoted && strcmp(node->text, "null") == 0;
}

/* The value of a key by one name, or by a dotted path through nested mappings; NULL: the config
 * lacks it. */
static const ms_node *node_of(const ms_hf_reader *r, const char *name) {
    bool is_there = false;
    const ms_node *node = strchr(name, '.') == NULL ? ms_node_get(r->config, name)
                                                    : ms_node_at(r->config, name, &is_there);
    node = strchr(name, '.') == NULL || is_there ? node : NULL;
    /* in a config of several models this key may be beside the mapping of the text model */
    bool may_be_above = strcmp(name, "tie_word_embeddings") == 0;
    return node == NULL && may_be_above ? ms_node_get(r->root, name) : node;
}

/* Note a key as looked up, once for each name. */
static void remember(ms_hf_reader *r, const ms_hf_taken *taken) {
    for (int i = 0; i < r->taken_count; i++) {
        if (strcmp(r->taken[i].key, taken->key) == 0) {
            return;
        }
    }
    if (r->taken_count < MS_HF_TAKEN_MAX) {
        r->taken[r->taken_count++] = *taken;
    }
}

/* A node with Transformers' default for a key, as if the config had it; NULL: the family has no
 * default. goal: the workload's key that gets the value; NULL: none does, and the key is not noted
 * as looked up. */
static const ms_node *assume(ms_hf_reader *r, const char *key, const char *goal) {
    const ms_node *usual = ms_node_get(r->family.defaults, key);
    ms_node *node = usual == NULL ? NULL : MS_NEW(r->arena, ms_node, 1);
    if (node == NULL) {
        return NULL;
    }
    *node = (ms_node){.type = MS_NODE_SCALAR, .text = ms_hf_text(usual), .origin = "hf"};
    node->mark = node->key_mark = r->type_node->mark;
    if (goal != NULL) {
        remember(r, &(ms_hf_taken){.key = key, .node = node, .goal = goal, .is_assumed = true});
    }
    return node;
}

const ms_node *ms_hf_look(ms_hf_reader *r, const char *key) {
    const ms_node *node = node_of(r, key);
    node = node == NULL ? assume(r, key, NULL) : node;
    return node == NULL || is_null(node) ? NULL : node;
}

/* List the names under which a config may have a key. The name of the family's own counts alone if
 * it has a value, or if the config has none of the usual names. names: [NAMES_MAX], NULL behind the
 * last. */
static void list_names(ms_hf_reader *r, const char *key, const char **names) {
    const ms_node *also = ms_hf_fact(r->types, key, "also");
    const ms_node *own = ms_node_get(r->family.keys, key);
    size_t count = 1;
    names[0] = key;
    for (const ms_node *name = ms_hf_first(also); name != NULL && count < NAMES_MAX - 1;
         name = name->next) {
        names[count++] = ms_hf_text(name);
    }
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        has_any = has_any || node_of(r, names[i]) != NULL;
    }
    if (own != NULL && (!has_any || ms_hf_look(r, ms_hf_text(own)) != NULL)) {
        names[0] = ms_hf_text(own);
        count = 1;
    }
    names[count] = NULL;
}

/* Look a key up under any of its names. All names that the config has are noted as used, and must
 * give equal values. */
const ms_node *ms_hf_take(ms_hf_reader *r, const char *key, const char *goal) {
    const ms_node *fact = ms_hf_fact(r->types, key, "gives");
    const ms_node *found = NULL;
    const char *names[NAMES_MAX];
    goal = goal == NULL ? ms_hf_text(fact) : goal;
    list_names(r, key, names);
    for (size_t i = 0; names[i] != NULL; i++) {
        const ms_node *node = node_of(r, names[i]);
        if (node == NULL) {
            continue;
        }
        remember(r, &(ms_hf_taken){.key = names[i], .node = node, .goal = goal});
        if (found != NULL && !ms_node_is_equal(found, node)) {
            ms_hf_fault(r, node, names[i], "says another value than '%s', which means the same",
                        found->key);
        }
        found = found == NULL ? node : found;
    }
    for (size_t i = 0; names[i] != NULL && found == NULL; i++) {
        found = assume(r, names[i], goal);
    }
    return found == NULL || is_null(found) ? NULL : found;
}

/* The name under which the config has a key, for messages. node: the key's value. */
static const char *given_name(ms_hf_reader *r, const char *key, const ms_node *node) {
    const char *names[NAMES_MAX];
    list_names(r, key, names);
    for (size_t i = 0; names[i] != NULL; i++) {
        if (node_of(r, names[i]) == node) {
            return names[i];
        }
    }
    return names[0];
}

/* ---- types ---- */

/* A value in words, for a message. out: [SHOWN_SIZE]. */
static const char *shown(const ms_node *node, char *out) {
    if (node->type != MS_NODE_SCALAR) {
        return node->type == MS_NODE_MAPPING ? "an object" : "a list";
    }
    bool is_long = strlen(node->text) > SHOWN_SIZE - 8;
    snprintf(out, SHOWN_SIZE, node->is_quoted ? "the text '%.*s%s'" : "'%.*s%s'", SHOWN_SIZE - 18,
             node->text, is_long ? "..." : "");
    return out;
}

/* The entry that all entries of a list equal, where a config has one for each layer; NULL,
 * reported: entries differ. An empty list is returned as it is. */
static const ms_node *common_of(ms_hf_reader *r, const ms_node *list, const char *key) {
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        if (!ms_node_is_equal(entry, list->first)) {
            ms_hf_fault(r, list, key, "layers that differ in it are not built");
            return NULL;
        }
    }
    return list->first == NULL ? list : list->first;
}

/* A node as a whole number; -1: it is no plain number, negative, or too large for an int. */
int ms_hf_whole_of(const ms_node *node) {
    bool is_number = node != NULL && node->type == MS_NODE_SCALAR && !node->is_quoted &&
                     node->text[0] != '\0' && node->text[strspn(node->text, "0123456789")] == '\0';
    errno = 0;
    long value = is_number ? strtol(node->text, NULL, 10) : -1;
    return errno != 0 || value > INT_MAX ? -1 : (int)value;
}

/* Look a key up as a whole number. A list becomes its common entry in families with such lists; any
 * other node than a number is a fault. */
bool ms_hf_int(ms_hf_reader *r, const char *key, int *out) {
    const ms_node *node = ms_hf_take(r, key, NULL);
    if (node != NULL && node->type == MS_NODE_SEQUENCE && (r->traits & MS_HF_LISTS) != 0) {
        node = common_of(r, node, given_name(r, key, node));
    }
    if (node == NULL) {
        return false;
    }
    int value = ms_hf_whole_of(node);
    if (value < 0) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, given_name(r, key, node), "expected a whole number, 0 to %d, got %s",
                    INT_MAX, shown(node, text));
        return false;
    }
    *out = value;
    return true;
}

/* Look a key up as true or false; quoted words are no flags. */
bool ms_hf_flag(ms_hf_reader *r, const char *key, bool *out) {
    const ms_node *node = ms_hf_take(r, key, NULL);
    if (node == NULL) {
        return false;
    }
    bool is_plain = node->type == MS_NODE_SCALAR && !node->is_quoted;
    bool is_true = is_plain && strcmp(node->text, "true") == 0;
    if (!is_true && !(is_plain && strcmp(node->text, "false") == 0)) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, given_name(r, key, node), "expected true or false, got %s",
                    shown(node, text));
        return false;
    }
    *out = is_true;
    return true;
}

/* Look a key up as a number of 0 to 1. The node is returned instead of the number, so that the
 * model gets the number as it is written. */
const ms_node *ms_hf_fraction(ms_hf_reader *r, const char *key) {
    const ms_node *node = ms_hf_take(r, key, NULL);
    if (node == NULL) {
        return NULL;
    }
    char *end = NULL;
    bool is_plain = node->type == MS_NODE_SCALAR && !node->is_quoted && node->text[0] != '\0';
    double value = is_plain ? strtod(node->text, &end) : -1;
    if (!is_plain || *end != '\0' || !(value >= 0 && value <= 1)) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, given_name(r, key, node), "expected a number, 0 to 1, got %s",
                    shown(node, text));
        return NULL;
    }
    return node;
}

/* ---- the model's mapping ---- */

/* A new node at the end of a mapping or list, with the place of model_type; NULL: no memory. */
static ms_node *new_child(ms_hf_reader *r, ms_node *parent, const char *key, ms_node_type type) {
    ms_node *node = parent == NULL ? NULL : MS_NEW(r->arena, ms_node, 1);
    if (node != NULL) {
        *node = (ms_node){.type = type, .key = key, .origin = "hf"};
        node->mark = node->key_mark = r->type_node->mark;
        ms_node_append(parent, node);
    }
    return node;
}

/* Make a node of the model at a path of at most one dot, in a mapping that is made where it is
 * missing.  Returns NULL when memory runs out. */
static ms_node *new_value(ms_hf_reader *r, const char *path, ms_node_type type) {
    const char *dot = strchr(path, '.');
    if (dot == NULL) {
        return new_child(r, r->model, path, type);
    }
    const char *map = ms_arena_strndup(r->arena, path, (size_t)(dot - path));
    ms_node *mapping = map == NULL ? NULL : ms_node_get(r->model, map);
    mapping = mapping == NULL ? new_child(r, r->model, map, MS_NODE_MAPPING) : mapping;
    return new_child(r, mapping, dot + 1, type);
}

/* Put a value into the model. Without `text` the value is copied from `from`, which must then be
 * there. */
void ms_hf_put(ms_hf_reader *r, const char *key, const ms_node *from, const char *text) {
    ms_node *node = new_value(r, key, MS_NODE_SCALAR);
    if (node != NULL) {
        node->text = text == NULL ? from->text : text;
        node->mark = from == NULL ? node->mark : from->mark;
        node->key_mark = node->mark;
    }
}

void ms_hf_put_int(ms_hf_reader *r, const char *key, const ms_node *from, int value) {
    const char *text = ms_arena_printf(r->arena, "%d", value);
    if (text != NULL) {
        ms_hf_put(r, key, from, text);
    }
}

/* Put a list of texts into the model. */
void ms_hf_put_list(ms_hf_reader *r, const char *key, const char *const *texts, size_t count) {
    ms_node *list = new_value(r, key, MS_NODE_SEQUENCE);
    for (size_t i = 0; i < count; i++) {
        ms_node *entry = new_child(r, list, NULL, MS_NODE_SCALAR);
        if (entry != NULL) {
            entry->text = texts[i];
        }
    }
}

/* Copy a whole number from the config to the model. Its goal is a dotted path, from which "model."
 * is removed. */
bool ms_hf_copy(ms_hf_reader *r, const char *key, const char *goal) {
    static const char MODEL[] = "model.";
    const ms_node *fact = ms_hf_fact(r->types, key, "gives");
    const ms_node *from = ms_hf_take(r, key, goal);
    int value = 0;
    bool has_value = ms_hf_int(r, key, &value);
    goal = goal == NULL ? ms_hf_text(fact) : goal;
    if (has_value) {
        size_t length = strncmp(goal, MODEL, sizeof MODEL - 1) == 0 ? sizeof MODEL - 1 : 0;
        ms_hf_put_int(r, goal + length, from, value);
    }
    return has_value;
}

/* ---- what became of the keys ---- */

/* The note of a key of the config that was looked up by this name; NULL: it was not. */
static const ms_hf_taken *find_taken(const ms_hf_reader *r, const char *key) {
    for (int i = 0; i < r->taken_count; i++) {
        if (strcmp(r->taken[i].key, key) == 0 && !r->taken[i].is_assumed) {
            return &r->taken[i];
        }
    }
    return NULL;
}

/* Whether a key below the mapping `path` was looked up. */
static bool is_taken_apart(const ms_hf_reader *r, const char *path) {
    size_t length = strlen(path);
    for (int i = 0; i < r->taken_count; i++) {
        const char *key = r->taken[i].key;
        bool is_below = strncmp(key, path, length) == 0 && key[length] == '.';
        if (is_below && !r->taken[i].is_assumed) {
            return true;
        }
    }
    return false;
}

/* Two texts as one, in the arena; "" where memory runs out. */
static const char *joined(const ms_hf_reader *r, const char *first, const char *second) {
    const char *text = ms_arena_printf(r->arena, "%s%s", first, second);
    return text == NULL ? "" : text;
}

/* List one key of the config. path: of the key, below the mapping that holds the text model's keys.
 * is_text: the key is in that mapping; else it is beside it, where the keys of the other models of
 * a config are, and keys of all of them together. */
static void list_key(const ms_hf_reader *r, const ms_node *node, const char *path, bool is_text,
                     ms_source_keys *keys) {
    const ms_hf_taken *taken = find_taken(r, path);
    bool is_used = taken != NULL && taken->node == node;
    const char *why = is_used ? taken->goal : ms_hf_ignored_why(r->types, path);
    why = why == NULL && !is_text ? "not of the text model, which alone is simulated" : why;
    (void)ms_source_keys_add(keys,
                             &(ms_source_key){.key = is_text ? joined(r, r->prefix, path) : path,
                                              .value = node->text,
                                              .fate = is_used       ? MS_SOURCE_USED
                                                      : why != NULL ? MS_SOURCE_IGNORED
                                                                    : MS_SOURCE_UNKNOWN,
                                              .why = why,
                                              .mark = node->key_mark},
                             r->arena);
}

/* List the text model's keys. Of a mapping in it that was looked up key by key, the keys are
 * listed. */
static void list_text_keys(const ms_hf_reader *r, ms_source_keys *keys) {
    for (const ms_node *node = r->config->first; node != NULL; node = node->next) {
        bool is_apart = node->type == MS_NODE_MAPPING && is_taken_apart(r, node->key);
        if (!is_apart) {
            list_key(r, node, node->key, true, keys);
        }
        for (const ms_node *inner = is_apart ? node->first : NULL; inner != NULL;
             inner = inner->next) {
            list_key(r, inner, joined(r, joined(r, node->key, "."), inner->key), true, keys);
        }
    }
}

/* List what became of each key: keys beside the text model's first, then the text model's, then
 * defaults that were assumed. */
void ms_hf_list_keys(ms_hf_reader *r, ms_source_keys *keys) {
    for (const ms_node *node = r->root == r->config ? NULL : r->root->first; node != NULL;
         node = node->next) {
        if (node != r->config) {
            list_key(r, node, node->key, false, keys);
        }
    }
    list_text_keys(r, keys);
    const char *why = joined(r, "Transformers' default for ", r->family.model_type);
    for (int i = 0; i < r->taken_count; i++) {
        const ms_hf_taken *taken = &r->taken[i];
        if (taken->is_assumed) {
            (void)ms_source_keys_add(keys,
                                     &(ms_source_key){.key = taken->key,
                                                      .value = taken->node->text,
                                                      .fate = MS_SOURCE_ASSUMED,
                                                      .why = why,
                                                      .mark = r->type_node->mark},
                                     r->arena);
        }
    }
}
