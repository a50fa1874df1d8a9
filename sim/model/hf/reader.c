/* Configs key by key: looking up, types of values, what became of each key. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/hf/hf.h"

enum { PATH_SIZE = 160, MESSAGE_SIZE = 1600, SHOWN_SIZE = 48 };

static void fail(ms_hf_reader *r, ms_status status) {
    r->status = r->status == MS_OK ? status : r->status;
}

/* Whether a value was told of: sizes are asked for more than once. A config as a whole, whose
 * faults are what it lacks, may have many. */
static bool is_told(ms_hf_reader *r, const ms_node *node) {
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

void ms_hf_fault(ms_hf_reader *r, const ms_node *node, const char *key, const char *format, ...) {
    char path[PATH_SIZE];
    char message[MESSAGE_SIZE];
    va_list args;
    if (is_told(r, node)) {
        return;
    }
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s%s", r->prefix, key);
    fail(r, ms_config_fault(r->diag, node, path, "%s", message));
}

/* ---- looking up ---- */

static bool is_null(const ms_node *node) {
    return node->type == MS_NODE_SCALAR && !node->is_quoted && strcmp(node->text, "null") == 0;
}

/* What stands behind a word in a list of pairs, in the arena; NULL: it is not there. */
static const char *behind(ms_hf_reader *r, const char *pairs, const char *word) {
    size_t length = strlen(word);
    while (pairs != NULL && *pairs != '\0') {
        size_t first = strcspn(pairs, " ");
        const char *second = pairs + first + 1;
        size_t second_length = strcspn(second, " ");
        if (first == length && strncmp(pairs, word, length) == 0) {
            const char *found = ms_arena_strndup(r->arena, second, second_length);
            if (found == NULL) {
                fail(r, MS_E_NOMEM);
            }
            return found;
        }
        pairs = second + second_length;
        pairs += *pairs == ' ';
    }
    return NULL;
}

/* A key by its name, or by its path where that has a dot. */
static const ms_node *node_of(const ms_hf_reader *r, const char *name) {
    bool is_there = false;
    const ms_node *node = strchr(name, '.') == NULL ? ms_node_get(r->config, name)
                                                    : ms_node_at(r->config, name, &is_there);
    node = strchr(name, '.') == NULL || is_there ? node : NULL;
    bool is_whole = strcmp(name, "tie_word_embeddings") == 0; /* the whole model's to say, too */
    return node == NULL && is_whole ? ms_node_get(r->root, name) : node;
}

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

/* Transformers' default as if it stood in the config.  goal: NULL: nobody uses it. */
static const ms_node *assume(ms_hf_reader *r, const char *key, const char *goal) {
    const char *text = behind(r, r->family->defaults, key);
    if (text == NULL) {
        return NULL;
    }
    ms_node *node = MS_NEW(r->arena, ms_node, 1);
    if (node == NULL) {
        fail(r, MS_E_NOMEM);
        return NULL;
    }
    *node = (ms_node){.type = MS_NODE_SCALAR, .text = text, .origin = "hf"};
    node->mark = node->key_mark = r->place->mark;
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

static bool has_any(const ms_hf_reader *r, const char *const *names) {
    bool is_there = false;
    for (; *names != NULL && !is_there; names++) {
        is_there = node_of(r, *names) != NULL;
    }
    return is_there;
}

const ms_node *ms_hf_take(ms_hf_reader *r, const char *const *names, const char *goal) {
    const ms_node *found = NULL;
    const char *own[] = {behind(r, r->family->aliases, names[0]), NULL};
    bool has_own = own[0] != NULL && ms_hf_look(r, own[0]) != NULL;
    names = has_own || (own[0] != NULL && !has_any(r, names)) ? own : names;
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

/* The name under which a config has a key, for messages. */
static const char *said_name(ms_hf_reader *r, const char *const *names, const ms_node *node) {
    const char *own = behind(r, r->family->aliases, names[0]);
    const char *usual = NULL;
    for (size_t i = 0; names[i] != NULL && usual == NULL; i++) {
        usual = node_of(r, names[i]) == node ? names[i] : NULL;
    }
    const char *said = own == NULL || node_of(r, own) != node ? usual : own;
    return said != NULL ? said : own == NULL ? names[0] : own;
}

/* ---- types ---- */

/* What came, for a message. */
static const char *shown(const ms_node *node, char *out) {
    if (node->type != MS_NODE_SCALAR) {
        return node->type == MS_NODE_MAPPING ? "an object" : "a list";
    }
    bool is_long = strlen(node->text) > SHOWN_SIZE - 8;
    snprintf(out, SHOWN_SIZE, node->is_quoted ? "the text '%.*s%s'" : "'%.*s%s'", SHOWN_SIZE - 18,
             node->text, is_long ? "..." : "");
    return out;
}

/* What layers have in common that a list says one by one; NULL, reported: they differ. */
static const ms_node *common_of(ms_hf_reader *r, const ms_node *list, const char *key) {
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        if (!ms_node_is_equal(entry, list->first)) {
            ms_hf_fault(r, list, key, "layers that differ in it are not built");
            return NULL;
        }
    }
    return list->first == NULL ? list : list->first;
}

bool ms_hf_int(ms_hf_reader *r, const char *const *names, const char *goal, int *out) {
    const ms_node *node = ms_hf_take(r, names, goal);
    if (node != NULL && node->type == MS_NODE_SEQUENCE && (r->traits & MS_HF_LISTS) != 0) {
        node = common_of(r, node, said_name(r, names, node));
    }
    if (node == NULL) {
        return false;
    }
    bool is_number = node->type == MS_NODE_SCALAR && !node->is_quoted &&
                     node->text[strspn(node->text, "0123456789")] == '\0';
    errno = 0;
    long value = is_number ? strtol(node->text, NULL, 10) : -1;
    if (!is_number || errno != 0 || value > INT_MAX) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, said_name(r, names, node), "expected a whole number, 0 to %d, got %s",
                    INT_MAX, shown(node, text));
        return false;
    }
    *out = (int)value;
    return true;
}

bool ms_hf_flag(ms_hf_reader *r, const char *const *names, const char *goal, bool *out) {
    const ms_node *node = ms_hf_take(r, names, goal);
    if (node == NULL) {
        return false;
    }
    bool is_plain = node->type == MS_NODE_SCALAR && !node->is_quoted;
    bool is_true = is_plain && strcmp(node->text, "true") == 0;
    if (!is_true && !(is_plain && strcmp(node->text, "false") == 0)) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, said_name(r, names, node), "expected true or false, got %s",
                    shown(node, text));
        return false;
    }
    *out = is_true;
    return true;
}

const ms_node *ms_hf_share(ms_hf_reader *r, const char *const *names, const char *goal) {
    const ms_node *node = ms_hf_take(r, names, goal);
    if (node == NULL) {
        return NULL;
    }
    char *end = NULL;
    bool is_plain = node->type == MS_NODE_SCALAR && !node->is_quoted && node->text[0] != '\0';
    double value = is_plain ? strtod(node->text, &end) : -1;
    if (!is_plain || *end != '\0' || !(value >= 0 && value <= 1)) {
        char text[SHOWN_SIZE];
        ms_hf_fault(r, node, said_name(r, names, node), "expected a number, 0 to 1, got %s",
                    shown(node, text));
        return NULL;
    }
    return node;
}

/* ---- the model's mapping ---- */

static ms_node *new_child(ms_hf_reader *r, ms_node *parent, const char *key, ms_node_type type) {
    ms_node *node = MS_NEW(r->arena, ms_node, 1);
    if (node == NULL) {
        fail(r, MS_E_NOMEM);
        return NULL;
    }
    *node = (ms_node){.type = type, .key = key, .origin = "hf"};
    node->mark = node->key_mark = r->place->mark;
    ms_node_append(parent, node);
    return node;
}

static ms_node *mapping_of(ms_hf_reader *r, const char *map) {
    ms_node *found = map == NULL ? r->model : ms_node_get(r->model, map);
    return found == NULL ? new_child(r, r->model, map, MS_NODE_MAPPING) : found;
}

void ms_hf_put(ms_hf_reader *r, const char *map, const char *key, const ms_node *from,
               const char *text) {
    ms_node *mapping = mapping_of(r, map);
    ms_node *node = mapping == NULL ? NULL : new_child(r, mapping, key, MS_NODE_SCALAR);
    if (node == NULL) {
        return;
    }
    node->text = text == NULL ? from->text : text;
    if (from != NULL) {
        node->mark = node->key_mark = from->mark;
    }
}

void ms_hf_put_int(ms_hf_reader *r, const char *map, const char *key, const ms_node *from,
                   int value) {
    const char *text = ms_arena_printf(r->arena, "%d", value);
    if (text == NULL) {
        fail(r, MS_E_NOMEM);
        return;
    }
    ms_hf_put(r, map, key, from, text);
}

void ms_hf_put_list(ms_hf_reader *r, const char *map, const char *key, const char *const *texts,
                    size_t count) {
    ms_node *mapping = mapping_of(r, map);
    ms_node *list = mapping == NULL ? NULL : new_child(r, mapping, key, MS_NODE_SEQUENCE);
    for (size_t i = 0; i < count && list != NULL; i++) {
        ms_node *entry = new_child(r, list, NULL, MS_NODE_SCALAR);
        if (entry == NULL) {
            return;
        }
        entry->text = texts[i];
    }
}

void ms_hf_put_flag(ms_hf_reader *r, const char *key, const ms_node *from, bool value) {
    ms_hf_put(r, NULL, key, from, value ? "true" : "false");
}

/* ---- what became of the keys ---- */

static const ms_hf_taken *find_taken(const ms_hf_reader *r, const char *key) {
    for (int i = 0; i < r->taken_count; i++) {
        if (strcmp(r->taken[i].key, key) == 0 && !r->taken[i].is_assumed) {
            return &r->taken[i];
        }
    }
    return NULL;
}

static void add_key(ms_hf_reader *r, ms_source_keys *keys, const ms_source_key *key) {
    if (ms_source_keys_add(keys, key, r->arena) != MS_OK) {
        fail(r, MS_E_NOMEM);
    }
}

/* Whether a key below this one was looked up. */
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

/* Beside the text model's mapping stand the keys of others, and those of all of them together. */
static const char NOT_TEXT[] = "not of the text model, which alone is simulated";

/* Keys of a mapping.  path: of the mapping, with a dot behind it, within what holds the text
 * model's keys; NULL: it is what their config stands in. */
static void list_mapping(ms_hf_reader *r, const ms_node *mapping, const char *path,
                         ms_source_keys *keys) {
    for (const ms_node *node = mapping->first; node != NULL; node = node->next) {
        const char *own =
            path == NULL ? node->key : ms_arena_printf(r->arena, "%s%s", path, node->key);
        if (own == NULL) {
            fail(r, MS_E_NOMEM);
            return;
        }
        bool is_apart = path != NULL && path[0] == '\0' && node->type == MS_NODE_MAPPING;
        if (is_apart && is_taken_apart(r, own)) {
            const char *inner = ms_arena_printf(r->arena, "%s.", own);
            if (inner != NULL) {
                list_mapping(r, node, inner, keys);
            } else {
                fail(r, MS_E_NOMEM);
            }
            continue;
        }
        const ms_hf_taken *taken = find_taken(r, own);
        bool is_used = taken != NULL && taken->node == node;
        const char *why = is_used ? taken->goal : ms_hf_ignored_why(own);
        why = why == NULL && path == NULL ? NOT_TEXT : why;
        ms_source_key key = {
            .key = path == NULL ? own : ms_arena_printf(r->arena, "%s%s", r->prefix, own),
            .value = node->text,
            .fate = is_used       ? MS_SOURCE_USED
                    : why != NULL ? MS_SOURCE_IGNORED
                                  : MS_SOURCE_UNKNOWN,
            .why = why,
            .mark = node->key_mark};
        if (key.key == NULL) {
            fail(r, MS_E_NOMEM);
            return;
        }
        if (node != r->config) {
            add_key(r, keys, &key);
        }
    }
}

void ms_hf_list_keys(ms_hf_reader *r, const ms_node *root, ms_source_keys *keys) {
    if (root != r->config) {
        list_mapping(r, root, NULL, keys);
    }
    list_mapping(r, r->config, "", keys);
    const char *why =
        ms_arena_printf(r->arena, "Transformers' default for %s", r->family->model_type);
    if (why == NULL) {
        fail(r, MS_E_NOMEM);
    }
    for (int i = 0; i < r->taken_count && r->status == MS_OK; i++) {
        const ms_hf_taken *taken = &r->taken[i];
        if (taken->is_assumed) {
            add_key(r, keys,
                    &(ms_source_key){.key = taken->key,
                                     .value = taken->node->text,
                                     .fate = MS_SOURCE_ASSUMED,
                                     .why = why,
                                     .mark = r->place->mark});
        }
    }
}
