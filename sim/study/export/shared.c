/* What the kinds of exports share: comments, and what of a spec they ask for. */
#include <string.h>

#include "study/export/kinds.h"

/* A text on one line: names may hold anything. */
static void put_line(const char *text, ms_buffer *out) {
    for (; *text != '\0'; text++) {
        char letter = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
        ms_buffer_add(out, &letter, 1);
    }
}

void ms_export_comment(const ms_vector *unsaid, const char *software, ms_buffer *out) {
    for (size_t i = 0; i < unsaid->count; i++) {
        const ms_unsaid *row = &MS_AT(unsaid, ms_unsaid, i);
        ms_buffer_puts(out, "# ");
        put_line(row->key, out);
        if (row->value != NULL) {
            ms_buffer_puts(out, " = ");
            put_line(row->value, out);
        }
        if (row->instead != NULL) {
            ms_buffer_printf(out, " (%s: ", software);
            put_line(row->instead, out);
            ms_buffer_puts(out, ")");
        }
        ms_buffer_puts(out, ": ");
        put_line(row->why, out);
        ms_buffer_puts(out, "\n");
    }
}

void ms_export_name(const ms_export_source *source, const char *line, ms_buffer *out) {
    ms_buffer_printf(out, "%s# ", line);
    put_line(source->path, out);
    ms_buffer_puts(out, ": ");
    put_line(source->job->name, out);
    ms_buffer_puts(out, "\n");
}

const char *ms_export_override(ms_arena *arena, const char *key, const char *value) {
    return ms_arena_printf(arena, "%s=%s", key, value);
}
