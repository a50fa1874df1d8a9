/* Writes a mapping as YAML that people will edit: in front of each key stands a comment with the
 * meaning, choices or range, and default of the key, from the key's row (ms_config_write_commented;
 * `meshsim new` writes workloads so). */
#include <ctype.h>
#include <string.h>

#include "base/config/fields.h"

/* Width of a line, and of a level of indentation [characters]. */
enum { COMMENT_COLUMNS = 110, LEVEL_COLUMNS = 2 };

/* Append the blanks of a level of indentation. */
static void add_indent(ms_buffer *out, int level) {
    for (int i = 0; i < level * LEVEL_COLUMNS; i++) {
        ms_buffer_puts(out, " ");
    }
}

/* Append a text as lines that begin with '#', broken at blanks. */
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

/* Append a text of a table as a sentence.  before: words in front of it; "": the text gets a
 * capital. */
static void add_sentence(const char *before, const char *text, ms_buffer *out) {
    ms_buffer_puts(out, before);
    if (before[0] == '\0') {
        ms_buffer_printf(out, "%c%s.", toupper((unsigned char)text[0]), text + 1);
    } else {
        ms_buffer_printf(out, "%s.", text);
    }
}

/* Append the list of words that a function gives by index. */
static void add_names(const char *(*name)(int index), ms_buffer *out) {
    ms_buffer_puts(out, " Choices: ");
    for (int i = 0; name(i) != NULL; i++) {
        ms_buffer_printf(out, "%s%s", i == 0 ? "" : ", ", name(i));
    }
    ms_buffer_puts(out, ".");
}

/* Append the text of a key's comment, from the key's row. */
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

/* The row of a key: from the mapping's own table, or from the table of further keys that the
 * mapping may have (`changes`); NULL: neither. */
static const ms_field *row_of(const ms_field *mapping, const char *key) {
    const ms_field *row = mapping->fields == NULL ? NULL : ms_field_find(mapping->fields, key);
    const ms_field *changes = mapping->shape == NULL ? NULL : mapping->shape->changes;
    return row != NULL || changes == NULL ? row : ms_field_find(changes, key);
}

/* Append "key: value", on one or more lines that are all indented by `level`. */
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
    ms_buffer_release_part(&text, out);
}

/* Append the keys of a mapping, each below its comment; the keys of nested mappings too where a
 * table describes them. */
static void add_mapping(const ms_node *node, const ms_field *mapping_row, int level,
                        ms_buffer *out) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        const ms_field *row = row_of(mapping_row, child->key);
        bool has_rows = row != NULL && row->fields != NULL && child->type == MS_NODE_MAPPING;
        if (row != NULL) {
            ms_buffer text;
            ms_buffer_init(&text);
            describe(row, &text);
            ms_buffer_puts(out, level == 0 ? "\n" : "");
            add_comment(ms_buffer_text(&text), level, out);
            ms_buffer_release_part(&text, out);
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
