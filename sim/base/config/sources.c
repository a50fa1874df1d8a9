/* Lists the comments behind the keys of a document, which say where a number comes from
 * (ms_config_write_sources). Comments are not part of the tree, so they are looked up in the text
 * of the file by the place of each key. */
#include <string.h>

#include "base/config/fields.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Where line number `line`, from 1, of a mark's file begins; NULL: the file has fewer lines. */
static const char *find_line(const ms_mark *mark, int line) {
    const char *at = mark->source;
    const char *end = at == NULL ? NULL : at + mark->source_B;
    for (int i = 1; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* Where the comment of a line begins, behind its '#'; NULL: there is none. YAML takes a '#' as the
 * start of a comment only at the beginning of a line or behind a blank. */
static const char *find_comment(const char *line, const char *end) {
    for (const char *at = line; at < end; at++) {
        if (*at == '#' && (at == line || is_blank(at[-1]))) {
            return at + 1;
        }
    }
    return NULL;
}

/* Append a blank and the text without blanks around it, unless the text is empty. */
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

/* Whether a line is nothing but an indented comment: such a line continues the comment above it. */
static bool continues_comment(const char *line, const char *end) {
    const char *at = line;
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at > line && at < end && *at == '#';
}

/* Append the comment on the line of a mark, with the lines below that continue it. */
static void add_comment(const ms_mark *mark, ms_buffer *out) {
    const char *text_end = mark->source + mark->source_B;
    const char *line = find_line(mark, mark->line);
    for (bool is_first = true; line != NULL && line < text_end; is_first = false) {
        const char *end = memchr(line, '\n', (size_t)(text_end - line));
        end = end == NULL ? text_end : end;
        const char *comment = find_comment(line, end);
        if (comment == NULL || (!is_first && !continues_comment(line, end))) {
            return;
        }
        add_trimmed(comment, end, out);
        line = end + 1;
    }
}

/* Append the line of one key: the comment from the file, or the origin in brackets where no file
 * gives the value. */
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
    ms_buffer_release_part(&comment, out);
}

/* Append the lines of all keys below a node. */
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
