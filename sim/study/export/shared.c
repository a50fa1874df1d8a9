/* What the kinds of exports share: comments, and what of a spec they ask for. */
#include <string.h>

#include "study/export/kinds.h"

void ms_export_comment(const ms_vector *unsaid, const char *software, ms_buffer *out) {
    for (size_t i = 0; i < unsaid->count; i++) {
        const ms_unsaid *row = &MS_AT(unsaid, ms_unsaid, i);
        ms_buffer_puts(out, "# ");
        ms_buffer_puts_inline(out, row->key);
        if (row->value != NULL) {
            ms_buffer_puts(out, " = ");
            ms_buffer_puts_inline(out, row->value);
        }
        if (row->instead != NULL) {
            ms_buffer_printf(out, " (%s: ", software);
            ms_buffer_puts_inline(out, row->instead);
            ms_buffer_puts(out, ")");
        }
        ms_buffer_puts(out, ": ");
        ms_buffer_puts_inline(out, row->why);
        ms_buffer_puts(out, "\n");
    }
}

void ms_export_name(const ms_export_source *source, const char *line, ms_buffer *out) {
    ms_buffer_printf(out, "%s# ", line);
    ms_buffer_puts_inline(out, source->path);
    ms_buffer_puts(out, ": ");
    ms_buffer_puts_inline(out, source->job->name);
    ms_buffer_puts(out, "\n");
}

const char *ms_export_override(ms_arena *arena, const char *key, const char *value) {
    return ms_arena_printf(arena, "%s=%s", key, value);
}
