/* Writes a tree of nodes as YAML text that parses back to the same tree: mappings and sequences in
 * block style, lists of short words in flow style ([a, b]), strings in quotes where they need them.
 */
#include <stdint.h>
#include <string.h>

#include "base/config/internal.h"
#include "base/text.h"

/* INDENT: blanks per level. SIMPLE_KEY_MAX: longest key that is written as "key:" [B]. */
enum { INDENT = 2, SIMPLE_KEY_MAX = 100 };

/* Append the blanks of a level of indentation. */
static void add_indent(ms_buffer *out, int level) {
    for (int i = 0; i < level * INDENT; i++) {
        ms_buffer_puts(out, " ");
    }
}

/* Append a character of a text in double quotes as an escape sequence. */
static void add_escaped(ms_buffer *out, uint32_t code) {
    if (code == '"' || code == '\\') {
        ms_buffer_printf(out, "\\%c", (int)code);
    } else if (code == '\n') {
        ms_buffer_puts(out, "\\n");
    } else if (code == '\t') {
        ms_buffer_puts(out, "\\t");
    } else if (code <= 0xFF) {
        ms_buffer_printf(out, "\\x%02X", (unsigned)code);
    } else {
        ms_buffer_printf(out, code <= 0xFFFF ? "\\u%04X" : "\\U%08X", (unsigned)code);
    }
}

void ms_yaml_write_quoted(const char *text, ms_buffer *out) {
    ms_buffer_puts(out, "\"");
    while (*text != '\0') {
        uint32_t code = 0xFFFD; /* for a byte that is not UTF-8, which YAML readers refuse */
        size_t length = ms_text_decode(text, SIZE_MAX, &code);
        if (length == 0 || code == '"' || code == '\\' || !ms_text_is_visible(code)) {
            add_escaped(out, code);
        } else {
            ms_buffer_add(out, text, length);
        }
        text += length == 0 ? 1 : length;
    }
    ms_buffer_puts(out, "\"");
}

const char *ms_yaml_quoted_set(const char *head, const char *text, const char *rest,
                               ms_arena *arena) {
    ms_buffer quoted = {0};
    if (text != NULL) {
        ms_yaml_write_quoted(text, &quoted);
    }
    const char *set = text == NULL || quoted.failed
                          ? NULL
                          : ms_arena_printf(arena, "%s%s%s", head, ms_buffer_text(&quoted), rest);
    ms_buffer_release(&quoted);
    return set;
}

static bool is_blank_or_end(char c) {
    return c == ' ' || c == '\t' || c == '\0';
}

/* Whether a text is UTF-8 and has only visible characters and tabs. */
static bool is_seen(const char *text) {
    size_t length = 1;
    for (; *text != '\0' && length > 0; text += length) {
        uint32_t code = 0;
        length = ms_text_decode(text, SIZE_MAX, &code);
        length = ms_text_is_visible(code) || code == '\t' ? length : 0;
    }
    return length > 0;
}

/* Refuse texts that begin with an indicator, have blanks at an end, contain ": " or " #", or have
 * invisible characters. Source: YAML 1.1, section 9.1.3 (plain style). */
bool ms_text_is_plain(const char *text) {
    size_t length = strlen(text);
    if (length == 0) {
        return true; /* an empty value */
    }
    if (strchr(",[]{}#&*!|>'\"%@` \t", text[0]) != NULL || is_blank_or_end(text[length - 1])) {
        return false;
    }
    if ((text[0] == '-' || text[0] == '?' || text[0] == ':') && is_blank_or_end(text[1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool is_key = text[i] == ':' && is_blank_or_end(text[i + 1]);
        bool is_comment = text[i] == '#' && is_blank_or_end(text[i - 1]);
        if (is_key || is_comment) {
            return false;
        }
    }
    return is_seen(text);
}

/* Whether a text needs no quotes in any position, in flow style and as a key too: letters, digits
 * and the characters of names, numbers and units. */
static bool is_word(const char *text) {
    static const char *const INSIDE = "_./%+- ";
    for (const char *at = text; *at != '\0'; at++) {
        bool is_alnum =
            (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_alnum && (at == text || strchr(INSIDE, *at) == NULL)) {
            return false;
        }
    }
    return *text != '\0' && text[strlen(text) - 1] != ' ';
}

/* Append a scalar, in quotes if it is a string or cannot be plain. */
static void write_scalar(const ms_node *node, ms_buffer *out) {
    if (!node->is_quoted && ms_text_is_plain(node->text)) {
        ms_buffer_puts(out, node->text);
    } else {
        ms_yaml_write_quoted(node->text, out);
    }
}

/* Whether a sequence is written on one line as [a, b]: its entries are scalars, in quotes or
 * words. */
static bool is_flow(const ms_node *sequence) {
    for (const ms_node *child = sequence->first; child != NULL; child = child->next) {
        if (child->type != MS_NODE_SCALAR || (!child->is_quoted && !is_word(child->text))) {
            return false;
        }
    }
    return true;
}

/* Append a sequence in flow style. */
static void write_flow(const ms_node *sequence, ms_buffer *out) {
    ms_buffer_puts(out, "[");
    for (const ms_node *child = sequence->first; child != NULL; child = child->next) {
        write_scalar(child, out);
        ms_buffer_puts(out, child->next == NULL ? "" : ", ");
    }
    ms_buffer_puts(out, "]");
}

static void write_children(const ms_node *node, int level, bool is_inline, ms_buffer *out);

/* Append a value behind "key:" or "-", and the end of its line.  level: of the key or "-".
 * is_entry: the value is behind a "-". */
static void write_value(const ms_node *node, int level, bool is_entry, ms_buffer *out) {
    if (node->type == MS_NODE_SCALAR) {
        ms_buffer_puts(out, node->is_quoted || *node->text != '\0' ? " " : "");
        write_scalar(node, out);
        ms_buffer_puts(out, "\n");
    } else if (node->type == MS_NODE_SEQUENCE && is_flow(node)) {
        ms_buffer_puts(out, " ");
        write_flow(node, out);
        ms_buffer_puts(out, "\n");
    } else if (node->count == 0) {
        ms_buffer_puts(out, " {}\n");
    } else {
        ms_buffer_puts(out, is_entry ? " " : "\n");
        write_children(node, level + 1, is_entry, out);
    }
}

/* Append a key and its colon. A long key is no simple key of YAML, and takes the form "? key" and,
 * on the next line, ":". */
static void write_key(const char *key, int level, ms_buffer *out) {
    bool is_long = strlen(key) > SIMPLE_KEY_MAX;
    ms_buffer_puts(out, is_long ? "? " : "");
    if (is_word(key)) {
        ms_buffer_puts(out, key);
    } else {
        ms_yaml_write_quoted(key, out);
    }
    if (is_long) {
        ms_buffer_puts(out, "\n");
        add_indent(out, level);
    }
    ms_buffer_puts(out, ":");
}

/* Append the children of a mapping or sequence, each on lines of its own.  level: of the children.
 * is_inline: the first child continues the line of a "-" (or is at the start of the text), so it is
 * not indented. */
static void write_children(const ms_node *node, int level, bool is_inline, ms_buffer *out) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        add_indent(out, is_inline && child == node->first ? 0 : level);
        bool is_entry = node->type == MS_NODE_SEQUENCE;
        if (is_entry) {
            ms_buffer_puts(out, "-");
        } else {
            write_key(child->key, level, out);
        }
        write_value(child, level, is_entry, out);
    }
}

void ms_node_write(const ms_node *node, ms_buffer *out) {
    if (node->type == MS_NODE_SCALAR) {
        write_scalar(node, out);
        ms_buffer_puts(out, "\n");
    } else if (node->type == MS_NODE_SEQUENCE && is_flow(node)) {
        write_flow(node, out);
        ms_buffer_puts(out, "\n");
    } else if (node->count == 0) {
        ms_buffer_puts(out, "{}\n");
    } else {
        write_children(node, 0, true, out);
    }
}
