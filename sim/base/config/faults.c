/* Reports faults of values with their place and key path, and writes key paths as text (fields.h,
 * config.h). */
#include <stdarg.h>
#include <stdio.h>

#include "base/config/fields.h"

enum { MESSAGE_MAX = 1536 };

/* The list is linked from its end, so the parts are collected first. The first part is the caller's
 * own text and is not shortened. */
const char *ms_path_text(const ms_path *path, char *out) {
    const ms_path *parts[MS_DEPTH_LIMIT * 2];
    size_t count = 0;
    for (; path != NULL && count < sizeof parts / sizeof parts[0]; path = path->parent) {
        parts[count++] = path;
    }
    size_t length = 0;
    out[0] = '\0';
    while (count > 0 && length < MS_PATH_MAX) {
        const ms_path *part = parts[--count];
        char shown[MS_SHOWN_MAX + 4];
        int added = 0;
        if (part->key == NULL) {
            added = snprintf(out + length, MS_PATH_MAX - length, "[%zu]", part->index);
        } else if (part->parent == NULL) {
            added = snprintf(out + length, MS_PATH_MAX - length, "%s", part->key);
        } else {
            added = snprintf(out + length, MS_PATH_MAX - length, "%s%s", length == 0 ? "" : ".",
                             ms_shown(part->key, shown));
        }
        length += (size_t)added;
    }
    return out;
}

/* Format a message and report it at a mark. */
static void report(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format,
                   va_list args) {
    char message[MESSAGE_MAX];
    vsnprintf(message, sizeof message, format, args);
    ms_diag_at(diag, mark, key_path, "%s", message);
}

void ms_reading_fault(ms_reading *reading, const ms_mark *mark, const ms_path *path,
                      const char *format, ...) {
    char text[MS_PATH_MAX];
    va_list args;
    va_start(args, format);
    report(reading->diag, mark, ms_path_text(path, text), format, args);
    va_end(args);
    reading->has_fault = true;
    reading->diag->key_faults++;
}

ms_status ms_config_fault(ms_diag *diag, const ms_node *node, const char *key_path,
                          const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(diag, node == NULL ? NULL : ms_node_fault_mark(node), key_path, format, args);
    va_end(args);
    return MS_E_INPUT;
}
