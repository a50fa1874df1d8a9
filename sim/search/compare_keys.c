#include "search/compare_keys.h"

#include <string.h>

/* The rest of a path behind the word that it begins with, in a row's name too. */
static const char *behind_word(const char *path) {
    return path + strcspn(path, ".[]");
}

/* The rest of a path behind the row that it stands in; NULL unless a word of the row's name ends
 * here, or its name has not begun. */
static const char *behind_row(const char *path, bool has_begun) {
    if (has_begun && strchr(".]#", *path) == NULL) {
        return NULL;
    }
    const char *end = strchr(path, ']');
    return end == NULL ? NULL : end + 1;
}

ms_key_match ms_key_holds(const char *key, const char *path) {
    if (key[0] == '\0') {
        return MS_KEY_ABOVE;
    }
    bool is_in_row = false;
    for (const char *start = key; *key != '\0'; key++) {
        if (*key == '*') {
            path = behind_word(path);
        } else if (*key == ']') {
            path = behind_row(path, key > start && key[-1] != '[');
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
    return *path == '\0' ? MS_KEY_ITSELF : strchr(".[", *path) != NULL ? MS_KEY_ABOVE : MS_KEY_NONE;
}

/* ---- keys that stand for nothing ---- */

/* What somebody may have meant by a key: every path, the families it belongs to, and all rows. */
typedef struct meant {
    ms_arena arena;
    ms_vector words; /* const char * */
    bool failed;
} meant;

static void add_word(meant *m, const char *word) {
    if (word == NULL || ms_vector_add(&m->words, &word, 1) == NULL) {
        m->failed = true;
    }
}

static void add_families(meant *m, const char *path) {
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

/* The quantity whose last word is the key, such as memory.peak_B for peak_B; NULL if there is none.
 */
static const char *ending_in(const char *key, const ms_vector *keys) {
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

static void report_unknown(const char *key, const ms_vector *keys, ms_diag *diag) {
    meant m = {.failed = false};
    ms_arena_init(&m.arena);
    ms_vector_init(&m.words, sizeof(const char *));
    for (size_t i = 0; i < keys->count && !m.failed; i++) {
        add_families(&m, MS_AT(keys, const char *, i));
    }
    const char *nearest = ending_in(key, keys);
    if (nearest == NULL) {
        nearest = ms_nearest_word(key, m.words.data, m.words.count);
    }
    if (nearest != NULL) {
        ms_diag_error(diag, "unknown quantity '%s'; did you mean '%s'?", key, nearest);
    } else {
        ms_diag_error(diag, "unknown quantity '%s'; 'meshsim run --json' prints their names", key);
    }
    ms_vector_release(&m.words);
    ms_arena_release(&m.arena);
}

static ms_status check_key(const char *key, const ms_vector *keys, ms_diag *diag) {
    for (size_t i = 0; i < keys->count; i++) {
        if (ms_key_holds(key, MS_AT(keys, const char *, i)) != MS_KEY_NONE) {
            return MS_OK;
        }
    }
    report_unknown(key, keys, diag);
    return MS_E_USAGE;
}

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
