/* The comments behind values: where a number in a file comes from. */
#include <string.h>

#include "base/config/fields.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Beginning of a line of a text, counted from 1; NULL: there are fewer. */
static const char *find_line(const ms_mark *mark, int line) {
    const char *at = mark->source;
    const char *end = at == NULL ? NULL : at + mark->source_B;
    for (int i = 1; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* Where the comment of a line begins, behind its '#'; NULL: there is none. */
static const char *find_comment(const char *line, const char *end) {
    for (const char *at = line; at < end; at++) {
        if (*at == '#' && (at == line || is_blank(at[-1]))) {
            return at + 1;
        }
    }
    return NULL;
}

static void add_trimmed(const char *from, const char *end, ms_buffer *out) {
    while (from < end && is_blank(*from)) {
        from++;
    }
    while (end > from && (is_blank(end[-1]) || end[-1] == '\r')) {
        end--;
    }
    if (end > from) {
        ms_buffer_puts(out, " ");
        ms_buffer_add(out, from, (size_t)(end - from));
    }
}

/* Whether a line is but a comment that stands further right than its beginning: it goes on with
 * the comment above it. */
static bool goes_on(const char *line, const char *end) {
    const char *at = line;
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at > line && at < end && *at == '#';
}

/* The comment on the line of a mark and the lines below that go on with it. */
static void add_comment(const ms_mark *mark, ms_buffer *out) {
    const char *text_end = mark->source + mark->source_B;
    const char *line = find_line(mark, mark->line);
    for (bool is_first = true; line != NULL && line < text_end; is_first = false) {
        const char *end = memchr(line, '\n', (size_t)(text_end - line));
        end = end == NULL ? text_end : end;
        const char *comment = find_comment(line, end);
        if (comment == NULL || (!is_first && !goes_on(line, end))) {
            return;
        }
        add_trimmed(comment, end, out);
        line = end + 1;
    }
}

static void add_source(const ms_path *path, const ms_node *node, ms_buffer *out) {
    char text[MS_PATH_MAX];
    ms_buffer comment;
    ms_buffer_init(&comment);
    const ms_mark *mark = node->key_mark.source != NULL ? &node->key_mark : &node->mark;
    bool has_file = strcmp(node->origin, "file") == 0 && mark->source != NULL;
    if (has_file) {
        add_comment(mark, &comment);
    } else {
        ms_buffer_printf(&comment, " (%s)", node->origin);
    }
    if (comment.length > 0) {
        ms_buffer_printf(out, "%s:%s\n", ms_path_text(path, text), ms_buffer_text(&comment));
    }
    ms_buffer_end_part(&comment, out);
}

static void add_sources(const ms_path *path, const ms_node *node, ms_buffer *out) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_path below = {.parent = path, .key = child->key};
        add_source(&below, child, out);
        if (child->type == MS_NODE_MAPPING) {
            add_sources(&below, child, out);
        }
    }
}

void ms_config_write_sources(const ms_node *mapping, const char *key_path, ms_buffer *out) {
    ms_path path = {.key = key_path};
    add_sources(&path, mapping, out);
}
