/* Builds a tree of nodes (config.h) from JSON text. jansson parses the text and decides what is
 * valid JSON. It does not record the places of values, so a cursor walks through the valid text in
 * step with jansson's tree, whose objects keep their keys in the order of the text. The only file
 * that includes jansson.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/internal.h"
#include "base/failure.h"
#include "base/text.h"

/* The position in the text up to which nodes have been built. */
typedef struct text_cursor {
    const ms_source *source;
    size_t at_B, at_characters; /* the position, in bytes and in characters */
    ms_arena *arena;
    ms_diag *diag;
    size_t nodes; /* nodes made so far */
} text_cursor;

/* ---- moving through the text ---- */

/* Move the cursor to the next character. */
static void advance(text_cursor *cursor) {
    do {
        cursor->at_B++;
    } while (ms_text_is_continuation(cursor->source->text[cursor->at_B]));
    cursor->at_characters++;
}

/* Move the cursor past blanks, commas and colons, to the next token. */
static void skip_separators(text_cursor *cursor) {
    while (cursor->at_B < cursor->source->length_B &&
           strchr(" \t\r\n,:", cursor->source->text[cursor->at_B]) != NULL) {
        advance(cursor);
    }
}

/* Move the cursor from a quote to behind the closing quote; escaped quotes do not close. */
static void skip_string(text_cursor *cursor) {
    advance(cursor);
    while (cursor->at_B < cursor->source->length_B && cursor->source->text[cursor->at_B] != '"') {
        bool is_escape = cursor->source->text[cursor->at_B] == '\\';
        advance(cursor);
        if (is_escape) {
            advance(cursor);
        }
    }
    advance(cursor);
}

/* Move the cursor to behind the next token: a string, a bracket, a number or a word.  *from_B_out:
 * where the token begins [B].  Returns its mark. */
static ms_mark next_token(text_cursor *cursor, size_t *from_B_out) {
    skip_separators(cursor);
    size_t from = cursor->at_characters;
    char first = cursor->source->text[cursor->at_B];
    *from_B_out = cursor->at_B;
    if (first == '"') {
        skip_string(cursor);
    } else if (strchr("{}[]", first) != NULL) {
        advance(cursor);
    } else {
        while (cursor->at_B < cursor->source->length_B &&
               strchr(" \t\r\n,:{}[]\"", cursor->source->text[cursor->at_B]) == NULL) {
            advance(cursor);
        }
    }
    return ms_source_mark(cursor->source, from, cursor->at_characters);
}

/* ---- nodes ---- */

/* Report a fault at a mark. Returns MS_E_INPUT. */
static ms_status fail(const text_cursor *cursor, const ms_mark *mark, const char *text) {
    return ms_diag_at(cursor->diag, mark, NULL, "%s", text);
}

static ms_status build(text_cursor *cursor, json_t *value, int depth, ms_node **node_out);

/* Build the node of a value and append it to its parent.  depth: levels above the value. */
static ms_status add_child(text_cursor *cursor, json_t *value, int depth, ms_node *parent,
                           ms_node **child) {
    ms_status status = build(cursor, value, depth, child);
    if (status == MS_OK) {
        ms_node_append(parent, *child);
    }
    return status;
}

/* Build the members of an object: each has a key token, then its value.  depth: of the members. */
static ms_status build_members(text_cursor *cursor, json_t *object, int depth, ms_node *mapping) {
    ms_status status = MS_OK;
    void *member = json_object_iter(object);
    while (member != NULL && status == MS_OK) {
        size_t from_B = 0;
        ms_mark key_mark = next_token(cursor, &from_B);
        const char *key = ms_arena_strdup(cursor->arena, json_object_iter_key(member));
        ms_node *child = NULL;
        status = key == NULL
                     ? MS_E_NOMEM
                     : add_child(cursor, json_object_iter_value(member), depth, mapping, &child);
        if (status == MS_OK) {
            child->key = key;
            child->key_mark = key_mark;
        }
        member = json_object_iter_next(object, member);
    }
    return status;
}

/* Build the entries of an array.  depth: of the entries. */
static ms_status build_entries(text_cursor *cursor, const json_t *array, int depth,
                               ms_node *sequence) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < json_array_size(array) && status == MS_OK; i++) {
        ms_node *child = NULL;
        status = add_child(cursor, json_array_get(array, i), depth, sequence, &child);
    }
    return status;
}

/* Build the node of a value, with everything below it, and move the cursor past the value.  depth:
 * levels above it; the recursion ends at MS_DEPTH_LIMIT.  Returns MS_OK; MS_E_INPUT (reported);
 * MS_E_NOMEM. */
static ms_status build(text_cursor *cursor, json_t *value, int depth, ms_node **node_out) {
    size_t from_B = 0;
    ms_node *node = MS_NEW(cursor->arena, ms_node, 1);
    if (node == NULL) {
        return MS_E_NOMEM;
    }
    *node = (ms_node){.mark = next_token(cursor, &from_B), .origin = "file"};
    if (++cursor->nodes > MS_NODE_LIMIT) {
        return fail(cursor, &node->mark, "expected at most 1,000,000 values in one file, got more");
    }
    *node_out = node;
    if (json_is_object(value) || json_is_array(value)) {
        bool is_object = json_is_object(value);
        node->type = is_object ? MS_NODE_MAPPING : MS_NODE_SEQUENCE;
        if (depth >= MS_DEPTH_LIMIT) {
            return fail(cursor, &node->mark,
                        "expected at most 64 levels of objects and lists, got more");
        }
        ms_status status = is_object ? build_members(cursor, value, depth + 1, node)
                                     : build_entries(cursor, value, depth + 1, node);
        (void)next_token(cursor, &from_B); /* the bracket that closes it */
        return status;
    }
    node->is_quoted = json_is_string(value);
    node->text = node->is_quoted ? ms_arena_strdup(cursor->arena, json_string_value(value))
                                 : ms_arena_strndup(cursor->arena, cursor->source->text + from_B,
                                                    cursor->at_B - from_B);
    return node->text == NULL ? MS_E_NOMEM : MS_OK;
}

/* ---- reading ---- */

/* Report jansson's complaint at its place. Its text quotes the input behind " near ", which is cut
 * off, as the message shows the line. Returns MS_E_INPUT; MS_E_NOMEM, not reported. */
static ms_status report_syntax(const ms_source *source, const json_error_t *error, ms_diag *diag) {
    char text[JSON_ERROR_TEXT_LENGTH];
    size_t position = error->position < 0 ? 0 : (size_t)error->position;
    size_t characters =
        ms_text_characters(source->text, position < source->length_B ? position : source->length_B);
    /* jansson has read one character further than the fault */
    size_t at = characters > 0 ? characters - 1 : 0;
    ms_mark mark = ms_source_mark(source, at, at + 1);
    snprintf(text, sizeof text, "%s", error->text);
    char *quote = strstr(text, " near ");
    if (quote != NULL) {
        *quote = '\0';
    }
    if (json_error_code(error) == json_error_out_of_memory) {
        return MS_E_NOMEM;
    }
    char shown[MS_SHOWN_MAX + 4];
    char letter = at < source->length_B ? source->text[at] : '\0';
    bool is_comment = letter == '/' || letter == '#';
    return ms_diag_at(diag, &mark, NULL, "not valid JSON: %s%s", ms_shown(text, shown),
                      is_comment ? "; JSON has no comments" : "");
}

/* malloc for jansson, which does not report every failed allocation: here the failure is
 * recorded. */
static void *allocate(size_t size) {
    void *memory = (malloc)(size);
    if (memory == NULL) {
        ms_failure_note_memory();
    }
    return memory;
}

/* Parse a source whose text is valid UTF-8, and build its tree.  *root_out: a mapping.  Returns
 * MS_OK; MS_E_INPUT (reported); MS_E_NOMEM, not reported. */
static ms_status parse(const ms_source *source, ms_arena *arena, ms_diag *diag,
                       ms_node **root_out) {
    json_error_t error;
    if (strspn(source->text, " \t\r\n") == source->length_B) {
        const ms_mark mark = {.file = source->file, .line = 1, .column = 1, .width = 1};
        return ms_diag_at(diag, &mark, NULL, "expected JSON, got an empty file");
    }
    size_t failures = ms_failure_count();
    json_set_alloc_funcs(allocate, (free));
    json_t *tree = json_loadb(source->text, source->length_B,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    /* without memory the tree may be wrong: jansson drops characters */
    if (ms_failure_count() != failures) {
        json_decref(tree);
        return MS_E_NOMEM;
    }
    if (tree == NULL) {
        return report_syntax(source, &error, diag);
    }
    text_cursor cursor = {.source = source, .arena = arena, .diag = diag};
    ms_node *root = NULL;
    ms_status status = build(&cursor, tree, 0, &root);
    json_decref(tree);
    if (status == MS_OK && root->type != MS_NODE_MAPPING) {
        char shown[MS_SHOWN_MAX + 8];
        return ms_diag_at(diag, &root->mark, NULL, "expected keys and values, got %s",
                          ms_node_shown(root, shown));
    }
    if (status == MS_OK) {
        *root_out = root;
    }
    return status;
}

ms_status ms_config_parse_json(const ms_text *text, ms_arena *arena, ms_diag *diag,
                               ms_node **root_out) {
    ms_source source;
    ms_status status = ms_source_init(&source, text->name, text->data, text->length_B, arena, diag);
    status = status == MS_OK ? parse(&source, arena, diag, root_out) : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

ms_status ms_config_load_json(const char *path, ms_arena *arena, ms_diag *diag,
                              ms_node **root_out) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_file_read(path, MS_FILE_JSON, &text, diag);
    if (status == MS_OK) {
        const ms_text document = {path, ms_buffer_text(&text), text.length};
        status = ms_config_parse_json(&document, arena, diag, root_out);
    } else if (status == MS_E_NOMEM) {
        ms_diag_no_memory(diag);
    }
    ms_buffer_release(&text);
    return status;
}
