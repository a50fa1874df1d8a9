#include "cli/complete_key.h"

#include <string.h>

#include "base/config/config.h"
#include "cluster/platform/platform.h"
#include "job/spec.h"

enum { TABLES_MAX = 8 };

/* What may stand at one level of a key path. */
typedef struct key_level {
    const ms_field *tables[TABLES_MAX];
    int count;
    const ms_field *each; /* any other key; NULL: there is none */
} key_level;

static void add_table(key_level *level, const ms_field *fields) {
    if (fields != NULL && level->count < TABLES_MAX) {
        level->tables[level->count++] = fields;
    }
}

/* The keys below a row, of all kinds where it has several. */
static key_level level_below(const ms_field *row) {
    key_level level = {.count = 0};
    add_table(&level, row->fields);
    if (row->shape != NULL) {
        ms_field_variant variant;
        add_table(&level, row->shape->changes);
        for (int i = 0; row->shape->variant != NULL && row->shape->variant(i, &variant); i++) {
            add_table(&level, variant.fields);
        }
        level.each = row->shape->each;
    }
    return level;
}

static bool has_level_below(const ms_field *row) {
    const key_level level = level_below(row);
    return level.count > 0 || level.each != NULL;
}

static const ms_field *find_row(const key_level *level, const char *key, size_t length) {
    for (int i = 0; i < level->count; i++) {
        for (const ms_field *row = level->tables[i]; row->key != NULL; row++) {
            if (strlen(row->key) == length && strncmp(row->key, key, length) == 0) {
                return row;
            }
        }
    }
    return level->each;
}

static void offer_rows(ms_completion *c, const key_level *level) {
    for (int i = 0; i < level->count; i++) {
        for (const ms_field *row = level->tables[i]; row->key != NULL; row++) {
            if (find_row(level, row->key, strlen(row->key)) == row) { /* of two kinds once */
                ms_completion_offer(c, row->key, has_level_below(row) ? "." : "=",
                                    row->help == NULL ? "" : row->help);
            }
        }
    }
}

/* The folder of files whose names a key takes; NULL: it takes none.  path: as typed, `length` bytes
 * of it. */
static const char *folder_of(const char *path, size_t length) {
    static const char OF_PLATFORM[] = "platform.";
    static const struct {
        const char *key, *folder;
    } FOLDERS[] = {{"framework", "workloads/frameworks"},
                   {"framework.name", "workloads/frameworks"},
                   {"platform", "platforms"},
                   {"file", "platforms"},
                   {"base", "platforms"},
                   {"gpu", "platforms/gpus"},
                   {"gpu.type", "platforms/gpus"},
                   {"library", "platforms/libraries"},
                   {"library.file", "platforms/libraries"}};
    size_t before = sizeof OF_PLATFORM - 1;
    if (length > before && strncmp(path, OF_PLATFORM, before) == 0) {
        path += before;
        length -= before;
    }
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        const char *key = FOLDERS[i].key;
        if (strlen(key) == length && strncmp(path, key, length) == 0) {
            return FOLDERS[i].folder;
        }
    }
    return NULL;
}

/* What stands behind '=': one of the key's words, or several with commas between them.  folder: of
 * files whose names are words of it, too; NULL: there is none. */
static void offer_values(ms_completion *c, const ms_field *row, const char *folder) {
    static const char *const BOOLS[] = {"true", "false", NULL};
    bool is_bool = row->type == MS_FIELD_BOOL || row->type == MS_FIELD_SWITCH;
    const char *const *word = is_bool ? BOOLS : row->words;
    const char *(*name)(int index) = row->shape == NULL ? NULL : row->shape->name;
    ms_completion_keep_list(c);
    if (folder != NULL) {
        ms_completion_installed(c, folder, "");
    }
    for (; word != NULL && *word != NULL; word++) {
        ms_completion_offer(c, *word, "", "");
    }
    for (int i = 0; name != NULL && name(i) != NULL; i++) {
        ms_completion_offer(c, name(i), "", "");
    }
}

void ms_completion_key(ms_completion *c, ms_option_takes takes) {
    const char *path = c->typed;
    key_level level = {.count = 0};
    add_table(&level, takes == MS_TAKES_WORKLOAD_KEY ? MS_WORKLOAD_FIELDS : MS_PLATFORM_FIELDS);
    for (;;) {
        size_t length = strcspn(c->typed, ".=");
        char end = c->typed[length];
        if (end == '\0') {
            offer_rows(c, &level);
            return;
        }
        const ms_field *row = find_row(&level, c->typed, length);
        ms_completion_keep(c, length + 1);
        if (row == NULL || end == '=') {
            if (row != NULL) {
                offer_values(c, row, folder_of(path, (size_t)(c->typed - path) - 1));
            }
            return;
        }
        level = level_below(row);
    }
}
