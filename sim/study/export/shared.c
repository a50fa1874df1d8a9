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

int ms_export_axis(const ms_spec_mesh *mesh, const char *name) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        if (strcmp(mesh->names[axis], name) == 0) {
            return mesh->sizes[axis];
        }
    }
    return 1;
}

bool ms_export_has_experts(const ms_moe *moe, int layer) {
    bool is_turn = layer >= moe->first_dense_layers &&
                   (layer - moe->first_dense_layers) % moe->every == moe->every - 1;
    for (size_t i = 0; i < moe->parts.dense_layers.count && is_turn; i++) {
        is_turn = moe->parts.dense_layers.items[i] != layer;
    }
    return moe->experts > 0 && is_turn;
}

const char *ms_export_override(ms_arena *arena, const char *key, const char *value) {
    return ms_arena_printf(arena, "%s=%s", key, value);
}
