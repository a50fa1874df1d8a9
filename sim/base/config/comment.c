/* Mappings written for people who will change them: each key below a comment that says what it is.
 */
#include <ctype.h>
#include <string.h>

#include "base/config/fields.h"

enum { COMMENT_COLUMNS = 110, LEVEL_COLUMNS = 2 };

static void add_indent(ms_buffer *out, int level) {
    for (int i = 0; i < level * LEVEL_COLUMNS; i++) {
        ms_buffer_puts(out, " ");
    }
}

/* Words on lines that begin with '#'. */
static void add_comment(const char *text, int level, ms_buffer *out) {
    size_t column = 0;
    while (*text != '\0') {
        size_t width = strcspn(text, " ");
        if (column == 0 || column + 1 + width > COMMENT_COLUMNS) {
            ms_buffer_puts(out, column == 0 ? "" : "\n");
            add_indent(out, level);
            ms_buffer_puts(out, "#");
            column = (size_t)(level * LEVEL_COLUMNS) + 1;
        }
        ms_buffer_puts(out, " ");
        ms_buffer_add(out, text, width);
        column += 1 + width;
        text += width;
        text += strspn(text, " ");
    }
    ms_buffer_puts(out, "\n");
}

/* "A sentence." of the words of a table. */
static void add_sentence(const char *before, const char *text, ms_buffer *out) {
    ms_buffer_puts(out, before);
    if (before[0] == '\0') {
        ms_buffer_printf(out, "%c%s.", toupper((unsigned char)text[0]), text + 1);
    } else {
        ms_buffer_printf(out, "%s.", text);
    }
}

static void add_names(const char *(*name)(int index), ms_buffer *out) {
    ms_buffer_puts(out, " Choices: ");
    for (int i = 0; name(i) != NULL; i++) {
        ms_buffer_printf(out, "%s%s", i == 0 ? "" : ", ", name(i));
    }
    ms_buffer_puts(out, ".");
}

/* Write the comment of a key from the key's row: its meaning, its choices or range, and its
 * default. */
static void describe(const ms_field *row, ms_buffer *out) {
    char range[160];
    char words[MS_WORD_LIST_MAX];
    add_sentence("", row->help == NULL ? row->key : row->help, out);
    if (row->words != NULL) {
        ms_field_words(row, words, sizeof words);
        add_sentence(" Choices: ", words, out);
    } else if (row->shape != NULL && row->shape->name != NULL) {
        add_names(row->shape->name, out);
    } else if (row->minimum != 0 || row->maximum != 0) {
        ms_field_range(row, range, sizeof range);
        add_sentence(" It may be ", range, out);
    }
    if (row->fallback != NULL && row->fallback[0] != '\0') {
        add_sentence(" Without it: ", row->fallback, out);
    }
}

/* The row of a key: of the mapping's own table, or of one whose keys may stand there besides. */
static const ms_field *row_of(const ms_field *mapping, const char *key) {
    const ms_field *row = mapping->fields == NULL ? NULL : ms_field_find(mapping->fields, key);
    const ms_field *changes = mapping->shape == NULL ? NULL : mapping->shape->changes;
    return row != NULL || changes == NULL ? row : ms_field_find(changes, key);
}

/* "key: value", each of its lines so many levels deep. */
static void add_value(const ms_node *node, int level, ms_buffer *out) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node child = *node;
    child.next = NULL;
    const ms_node root = {.type = MS_NODE_MAPPING, .first = &child, .last = &child, .count = 1};
    ms_node_write(&root, &text);
    for (const char *line = ms_buffer_text(&text); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        add_indent(out, level);
        ms_buffer_add(out, line, length);
        ms_buffer_puts(out, "\n");
        line += length + (line[length] == '\n');
    }
    ms_buffer_end_part(&text, out);
}

static void add_mapping(const ms_node *node, const ms_field *mapping, int level, ms_buffer *out) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        const ms_field *row = row_of(mapping, child->key);
        bool has_rows = row != NULL && row->fields != NULL && child->type == MS_NODE_MAPPING;
        if (row != NULL) {
            ms_buffer text;
            ms_buffer_init(&text);
            describe(row, &text);
            ms_buffer_puts(out, level == 0 ? "\n" : "");
            add_comment(ms_buffer_text(&text), level, out);
            ms_buffer_end_part(&text, out);
        }
        if (has_rows && child->count > 0) {
            add_indent(out, level);
            ms_buffer_printf(out, "%s:\n", child->key);
            add_mapping(child, row, level + 1, out);
        } else {
            add_value(child, level, out);
        }
    }
}

void ms_config_write_commented(const ms_node *mapping, const ms_field *fields, ms_buffer *out) {
    const ms_field root = {.type = MS_FIELD_MAP, .fields = fields};
    add_mapping(mapping, &root, 0, out);
}
