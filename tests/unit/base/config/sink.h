/* A diagnostics sink that keeps what was said, and an arena, for the tests of the config layer. */
#ifndef MESHSIM_TESTS_SINK_H
#define MESHSIM_TESTS_SINK_H

#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/config/config.h"
#include "base/diag.h"

typedef struct sink {
    ms_arena arena;
    ms_diag diag;
    ms_buffer text;
} sink;

static inline void sink_write(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void sink_init(sink *s) {
    ms_arena_init(&s->arena);
    ms_buffer_init(&s->text);
    ms_diag_init(&s->diag, sink_write, &s->text);
}

static inline void sink_release(sink *s) {
    ms_arena_release(&s->arena);
    ms_buffer_release(&s->text);
}

/* Everything said so far. */
static inline const char *sink_text(const sink *s) {
    return ms_buffer_text(&s->text);
}

/* The first line said, without its end, in the sink's arena. */
static inline const char *sink_first_line(sink *s) {
    const char *text = sink_text(s);
    return ms_arena_strndup(&s->arena, text, strcspn(text, "\n"));
}

/* Lines with a fault, without source lines and carets. */
static inline const char *sink_faults(sink *s) {
    ms_buffer out;
    ms_buffer_init(&out);
    for (const char *at = sink_text(s); *at != '\0';) {
        size_t length = strcspn(at, "\n") + 1;
        if (at[0] != ' ') {
            ms_buffer_add(&out, at, length);
        }
        at += length;
    }
    char *copy = ms_arena_strdup(&s->arena, ms_buffer_text(&out));
    ms_buffer_release(&out);
    return copy;
}

static inline ms_status sink_parse(sink *s, const char *text, ms_node **root_out) {
    return ms_yaml_parse(text, strlen(text), "w.yaml", &s->arena, &s->diag, root_out);
}

#endif
