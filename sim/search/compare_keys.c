/* Keys of guards and tolerances against the paths of quantities (compare.h says how both are
 * written), and what the user may have meant by a key that matches no quantity. */
#include "search/compare_keys.h"

#include <string.h>

/* The rest of a path behind a row's name; called at the ']' of a key. has_begun: the key has some
 * words of the name before the ']'; they must end where a word of the name ends. Returns NULL if
 * they do not. */
static const char *skip_row(const char *path, bool has_begun) {
    if (has_begun && strchr(".]#", *path) == NULL) {
        return NULL;
    }
    const char *end = strchr(path, ']');
    return end == NULL ? NULL : end + 1;
}

/* Walk along the key and the path in parallel: a '*' of the key passes one word of the path, a ']'
 * the rest of a row's name, any other character must be equal. The key matches if the path then
 * ends, or goes on below it ('.' or '['). A key that ends inside a row's name matches nothing. */
ms_key_match ms_key_matches(const char *key, const char *path) {
    if (key[0] == '\0') {
        return MS_KEY_ANCESTOR;
    }
    bool is_in_row = false; /* between '[' and ']' of the key */
    for (const char *start = key; *key != '\0'; key++) {
        if (*key == '*') {
            path += strcspn(path, ".[]"); /* of one word */
        } else if (*key == ']') {
            path = skip_row(path, key > start && key[-1] != '[');
        } else {
            path = *key == *path ? path + 1 : NULL;
        }
        if (path == NULL) {
            return MS_KEY_NONE;
        }
        is_in_row = *key == '[' || (is_in_row && *key != ']');
    }
    if (is_in_row) {
        return MS_KEY_NONE;
    }
    return *path == '\0'                 ? MS_KEY_ITSELF
           : strchr(".[", *path) != NULL ? MS_KEY_ANCESTOR
                                         : MS_KEY_NONE;
}

/* ---- keys that match no quantity ---- */

/* Keys that the user may have meant: every quantity's path, all paths above it, and each list with
 * '*' for its rows. */
typedef struct meant {
    ms_arena arena;
    ms_vector words; /* const char * */
    bool failed;
} meant;

/* Add a key that the user may have meant. word: NULL if memory ran out. */
static void add_word(meant *m, const char *word) {
    if (word == NULL || ms_vector_add(&m->words, &word, 1) == NULL) {
        m->failed = true;
    }
}

/* Add a quantity's path, all paths above it ("a", "a[row]", "a[first words of row]"), and the path
 * with '*' for its row. */
static void add_paths(meant *m, const char *path) {
    bool is_in_row = false;
    for (const char *at = path; *at != '\0' && !m->failed; at++) {
        if (*at == '.' || *at == '[') {
            add_word(m, ms_arena_printf(&m->arena, "%.*s%s", (int)(at - path), path,
                                        is_in_row ? "]" : ""));
        }
        is_in_row = *at == '[' || (is_in_row && *at != ']');
        if (*at == ']') {
            add_word(m, ms_arena_strndup(&m->arena, path, (size_t)(at + 1 - path)));
        }
    }
    add_word(m, path);
    const char *row = strchr(path, '[');
    const char *end = row == NULL ? NULL : strchr(row, ']');
    if (end != NULL) {
        add_word(m, ms_arena_printf(&m->arena, "%.*s[*%s", (int)(row - path), path, end));
    }
}

/* The quantity whose last word is the key, such as memory.peak_B for peak_B; NULL: there is
 * none. */
static const char *find_by_last_word(const char *key, const ms_vector *keys) {
    size_t length = strlen(key);
    for (size_t i = 0; i < keys->count; i++) {
        const char *path = MS_AT(keys, const char *, i);
        size_t all = strlen(path);
        if (all > length && path[all - length - 1] == '.' &&
            strcmp(path + all - length, key) == 0) {
            return path;
        }
    }
    return NULL;
}

/* Report a key that matches no quantity, with the nearest key. keys: of const char *, paths of all
 * quantities. */
static void report_unknown(const char *key, const ms_vector *keys, ms_diag *diag) {
    meant candidates = {.failed = false};
    ms_arena_init(&candidates.arena);
    ms_vector_init(&candidates.words, sizeof(const char *));
    for (size_t i = 0; i < keys->count && !candidates.failed; i++) {
        add_paths(&candidates, MS_AT(keys, const char *, i));
    }
    const char *nearest = find_by_last_word(key, keys);
    if (nearest == NULL) {
        nearest = ms_nearest_word(key, candidates.words.data, candidates.words.count);
    }
    if (nearest != NULL) {
        ms_diag_error(diag, "unknown quantity '%s'; did you mean '%s'?", key, nearest);
    } else {
        ms_diag_error(diag, "unknown quantity '%s'; 'meshsim run --json' prints their names", key);
    }
    ms_vector_release(&candidates.words);
    ms_arena_release(&candidates.arena);
}

/* Check that a key matches some quantity. keys: of const char *. Returns MS_OK; MS_E_USAGE
 * (reported). */
static ms_status check_key(const char *key, const ms_vector *keys, ms_diag *diag) {
    for (size_t i = 0; i < keys->count; i++) {
        if (ms_key_matches(key, MS_AT(keys, const char *, i)) != MS_KEY_NONE) {
            return MS_OK;
        }
    }
    report_unknown(key, keys, diag);
    return MS_E_USAGE;
}

/* A tolerance with the key "" is for all quantities and needs no check. */
ms_status ms_compare_check_keys(const ms_compare_rules *rules, const ms_vector *keys,
                                ms_diag *diag) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < rules->tolerance_count; i++) {
        if (rules->tolerances[i].key[0] != '\0' &&
            check_key(rules->tolerances[i].key, keys, diag) != MS_OK) {
            status = MS_E_USAGE;
        }
    }
    for (size_t i = 0; i < rules->guard_count; i++) {
        if (check_key(rules->guards[i].key, keys, diag) != MS_OK) {
            status = MS_E_USAGE;
        }
    }
    return status;
}
