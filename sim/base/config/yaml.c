/* Builds a tree of nodes (config.h) from YAML text. libyaml parses the text into events (a scalar,
 * the start or end of a mapping or sequence, an alias); a builder keeps the open mappings and
 * sequences on a stack and adds each value to the innermost one. The only file that includes
 * yaml.h. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/config/internal.h"
#include "base/text.h"

/* An open mapping or sequence: its start event has come, its end event has not. */
typedef struct level {
    ms_node *node;
    bool has_key;     /* mapping: the next node is a value */
    bool is_key;      /* the level itself is used as a key, a fault: it and its value are dropped */
    bool drops_value; /* the key of the next value was refused */
    const char *key;  /* of the next value */
    ms_mark key_mark;
} level;

/* A value that was named with '&', for aliases ('*'). */
typedef struct anchor {
    const char *name;
    ms_node *node;
} anchor;

/* The state of one parsing. */
typedef struct tree_builder {
    yaml_parser_t parser;
    const ms_yaml_input *input;
    ms_arena *arena;
    ms_diag *diag;
    level levels[MS_DEPTH_LIMIT]; /* [depth] open mappings and sequences, outermost first */
    int depth;
    anchor *anchors; /* [MS_ANCHOR_LIMIT]; NULL until there is an anchor */
    size_t anchor_count;
    size_t nodes;       /* nodes made so far */
    size_t alias_nodes; /* of these, nodes that are copies for aliases */
    ms_node *root;
} tree_builder;

/* The mark between two of libyaml's positions, which count characters from where parsing began. */
static ms_mark mark_between(const tree_builder *builder, const yaml_mark_t *from,
                            const yaml_mark_t *to) {
    return ms_source_mark(&builder->input->source, builder->input->from_characters + from->index,
                          builder->input->from_characters + to->index);
}

/* The mark of the text of an event. */
static ms_mark mark_of(const tree_builder *builder, const yaml_event_t *event) {
    return mark_between(builder, &event->start_mark, &event->end_mark);
}

/* The innermost open mapping or sequence; NULL at the root. */
static level *top(tree_builder *builder) {
    return builder->depth == 0 ? NULL : &builder->levels[builder->depth - 1];
}

/* Report a fault at a mark. Returns MS_E_INPUT. */
static ms_status fail(tree_builder *builder, const ms_mark *mark, const char *text) {
    return ms_diag_at(builder->diag, mark, NULL, "%s", text);
}

/* Report the fault that ended libyaml's parsing, at its place. Two frequent faults have messages of
 * their own: a tab as indentation, and a value that begins with a reserved character. Returns
 * MS_E_INPUT; MS_E_NOMEM, not reported. */
static ms_status report_syntax(tree_builder *builder) {
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        return MS_E_NOMEM;
    }
    ms_mark mark = mark_between(builder, &parser->problem_mark, &parser->problem_mark);
    const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
    if (strstr(problem, "cannot start any token") != NULL) {
        /* the byte of the fault: libyaml counts characters */
        const char *at = builder->input->source.text + builder->input->from_B;
        const char *end = builder->input->source.text + builder->input->source.length_B;
        for (size_t i = 0; at < end && i < parser->problem_mark.index; i++) {
            do {
                at++;
            } while (ms_text_is_continuation(*at));
        }
        if (*at == '\t') {
            return fail(builder, &mark, "not valid YAML: found a tab, indent with spaces");
        }
        return ms_diag_at(builder->diag, &mark, NULL,
                          "not valid YAML: a value cannot start with '%c'; put it in quotes", *at);
    }
    ms_mark context = mark_between(builder, &parser->context_mark, &parser->context_mark);
    if (parser->context == NULL || context.line == mark.line) {
        return ms_diag_at(builder->diag, &mark, NULL, "not valid YAML: %s", problem);
    }
    return ms_diag_at(builder->diag, &mark, NULL, "not valid YAML: %s (%s that began at line %d)",
                      problem, parser->context, context.line);
}

/* Get the next event of libyaml. The caller deletes the event. */
static ms_status next_event(tree_builder *builder, yaml_event_t *event) {
    return yaml_parser_parse(&builder->parser, event) ? MS_OK : report_syntax(builder);
}

/* Make a node for an event, with its mark and origin.  *node_out: unchanged on failure.  Returns
 * MS_OK; MS_E_INPUT (too many nodes, reported); MS_E_NOMEM. */
static ms_status new_node(tree_builder *builder, ms_node_type type, const yaml_event_t *event,
                          ms_node **node_out) {
    ms_mark mark = mark_of(builder, event);
    if (++builder->nodes > MS_NODE_LIMIT) {
        return fail(builder, &mark, "expected at most 1,000,000 values in one file, got more");
    }
    ms_node *node = MS_NEW(builder->arena, ms_node, 1);
    if (node == NULL) {
        return MS_E_NOMEM;
    }
    *node = (ms_node){.type = type, .mark = mark, .origin = builder->input->origin};
    *node_out = node;
    return MS_OK;
}

/* Add a value to the innermost open level, in a mapping with the key that was read before it; at
 * depth 0 the value is the root. The value of a refused key is dropped. An empty value has no text
 * that a caret could mark, so it gets the mark of its key. */
static void link_value(tree_builder *builder, ms_node *node) {
    level *parent = top(builder);
    if (parent == NULL) {
        builder->root = node;
        return;
    }
    if (parent->node->type == MS_NODE_MAPPING) {
        parent->has_key = false;
        if (parent->drops_value) {
            parent->drops_value = false;
            return;
        }
        node->key = parent->key;
        node->key_mark = parent->key_mark;
        bool is_nothing = node->type == MS_NODE_SCALAR && !node->is_quoted && *node->text == '\0';
        if (is_nothing) {
            node->mark = node->key_mark;
        }
    }
    ms_node_append(parent->node, node);
}

/* Whether the next node is a key of a mapping. */
static bool expects_key(tree_builder *builder) {
    level *parent = top(builder);
    return parent != NULL && parent->node->type == MS_NODE_MAPPING && !parent->has_key;
}

/* Use a node as key of the next value. A node that cannot be a key is reported, and the value
 * behind it will be dropped. */
static void accept_key(tree_builder *builder, const ms_node *node) {
    level *parent = top(builder);
    char shown[MS_SHOWN_MAX + 4];
    parent->has_key = true;
    parent->drops_value = true;
    parent->node->has_fault = parent->node->has_fault || node->has_fault;
    const char *fault = NULL;
    if (node->type != MS_NODE_SCALAR) {
        fault = "expected a name as key, got a list or mapping";
    } else if (*node->text == '\0') {
        fault = "expected a name as key, got nothing";
    } else if (!node->is_quoted && strcmp(node->text, "<<") == 0) {
        fault = "merge keys ('<<') are not supported; write the keys out";
    } else if (strlen(node->text) > 1000) {
        ms_diag_at(builder->diag, &node->mark, NULL,
                   "expected a key of at most 1000 bytes, got '%s'", ms_shown(node->text, shown));
        parent->node->has_fault = true;
        return;
    }
    if (fault != NULL) {
        ms_diag_at(builder->diag, &node->mark, NULL, "%s", fault);
        parent->node->has_fault = true;
        return;
    }
    parent->drops_value = false;
    parent->key = node->text;
    parent->key_mark = node->mark;
}

/* The anchor of a name; NULL: there is none. */
static anchor *find_anchor(const tree_builder *builder, const char *name) {
    for (size_t i = 0; i < builder->anchor_count; i++) {
        if (strcmp(builder->anchors[i].name, name) == 0) {
            return &builder->anchors[i];
        }
    }
    return NULL;
}

/* Let a name stand for a node, for the aliases behind it. YAML allows a name to be used again for
 * another node. */
static ms_status add_anchor(tree_builder *builder, const yaml_char_t *name, ms_node *node) {
    const char *text = (const char *)name;
    anchor *known = find_anchor(builder, text);
    if (known != NULL) {
        known->node = node;
        return MS_OK;
    }
    if (builder->anchor_count == MS_ANCHOR_LIMIT) {
        return fail(builder, &node->mark, "expected at most 1,000 anchors ('&'), got more");
    }
    if (builder->anchors == NULL) {
        builder->anchors = MS_NEW(builder->arena, anchor, MS_ANCHOR_LIMIT);
    }
    char *copy = ms_arena_strdup(builder->arena, text);
    if (copy == NULL || builder->anchors == NULL) {
        return MS_E_NOMEM;
    }
    builder->anchors[builder->anchor_count++] = (anchor){copy, node};
    return MS_OK;
}

/* Handle the anchor and the tag of a node, either of which may be NULL. Tags are reported as
 * faults. */
static ms_status add_properties(tree_builder *builder, ms_node *node, const yaml_char_t *name,
                                const yaml_char_t *tag) {
    if (tag != NULL) {
        ms_diag_at(builder->diag, &node->mark, NULL,
                   "tags such as '!!str' are not supported; put a text in quotes instead");
        node->has_fault = true;
    }
    return name == NULL ? MS_OK : add_anchor(builder, name, node);
}

/* Add a node that is complete: as key where a mapping expects one, otherwise as value. */
static void add_node(tree_builder *builder, ms_node *node) {
    if (expects_key(builder)) {
        accept_key(builder, node);
    } else {
        link_value(builder, node);
    }
}

/* Make a node for a scalar and add it. */
static ms_status on_scalar(tree_builder *builder, const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    ms_node *node = NULL;
    ms_status status = new_node(builder, MS_NODE_SCALAR, event, &node);
    if (node == NULL) {
        return status;
    }
    if (memchr(text, '\0', length) != NULL) {
        ms_diag_at(builder->diag, &node->mark, NULL, "expected text without NUL characters");
        node->has_fault = true;
    }
    node->text = ms_arena_strndup(builder->arena, text, length);
    if (node->text == NULL) {
        return MS_E_NOMEM;
    }
    /* a plain text that would need quotes on a line of its own (several lines, a lone '-') is a
     * string, too */
    node->is_quoted =
        event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || !ms_text_is_plain(node->text);
    status = add_properties(builder, node, event->data.scalar.anchor, event->data.scalar.tag);
    if (status == MS_OK) {
        add_node(builder, node);
    }
    return status;
}

/* Open a mapping or sequence. It is linked to its parent now, before its children exist, unless it
 * is in the place of a key. */
static ms_status on_start(tree_builder *builder, const yaml_event_t *event) {
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    ms_node *node = NULL;
    ms_status status =
        new_node(builder, is_mapping ? MS_NODE_MAPPING : MS_NODE_SEQUENCE, event, &node);
    if (node == NULL) {
        return status;
    }
    if (builder->depth + builder->input->depth >= MS_DEPTH_LIMIT) {
        return fail(builder, &node->mark,
                    "expected at most 64 levels of mappings and lists, got more");
    }
    const yaml_char_t *name =
        is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag =
        is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    status = add_properties(builder, node, name, tag);
    if (status != MS_OK) {
        return status;
    }
    bool is_key = expects_key(builder);
    if (!is_key) {
        link_value(builder, node);
    }
    builder->levels[builder->depth++] = (level){.node = node, .is_key = is_key};
    return MS_OK;
}

/* Compare children of a mapping for qsort: by key, then by place in the file. */
static int compare_keys(const void *a, const void *b) {
    const ms_node *left = *(const ms_node *const *)a;
    const ms_node *right = *(const ms_node *const *)b;
    int order = strcmp(left->key, right->key);
    if (order != 0) {
        return order;
    }
    return left->key_mark.line != right->key_mark.line
               ? (left->key_mark.line < right->key_mark.line ? -1 : 1)
               : left->key_mark.column - right->key_mark.column;
}

/* Report keys that a mapping has twice. Sorting by key finds them in O(n log n); of equal keys the
 * first in the file stays the one that ms_node_get finds. */
static ms_status check_repeats(tree_builder *builder, ms_node *mapping) {
    if (mapping->count < 2) {
        return MS_OK;
    }
    const ms_node **sorted = MS_NEW(builder->arena, const ms_node *, mapping->count);
    if (sorted == NULL) {
        return MS_E_NOMEM;
    }
    size_t count = 0;
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        sorted[count++] = child;
    }
    qsort(sorted, count, sizeof(const ms_node *), compare_keys);
    const ms_node *first = sorted[0];
    for (size_t i = 1; i < count; i++) {
        if (strcmp(first->key, sorted[i]->key) != 0) {
            first = sorted[i];
            continue;
        }
        char shown[MS_SHOWN_MAX + 4];
        ms_diag_at(builder->diag, &sorted[i]->key_mark, NULL,
                   "repeated key '%s', first at line %d:%d", ms_shown(first->key, shown),
                   first->key_mark.line, first->key_mark.column);
        mapping->has_fault = true;
    }
    return MS_OK;
}

/* Close the innermost mapping or sequence, and pass its faults on to its parent. A mapping or
 * sequence that stands where a key is expected is reported as a fault (accept_key). */
static ms_status on_end(tree_builder *builder) {
    level *ended = top(builder);
    ms_status status = MS_OK;
    if (ended->node->type == MS_NODE_MAPPING) {
        status = check_repeats(builder, ended->node);
    }
    builder->depth--;
    level *parent = top(builder);
    if (parent != NULL) {
        parent->node->has_fault = parent->node->has_fault || ended->node->has_fault;
    }
    if (ended->is_key) {
        accept_key(builder, ended->node);
    }
    return status;
}

/* Check that the copy for an alias to `node` keeps the tree finite and within its limits, and count
 * the copy's nodes. An alias to a level that is still open would contain itself.  mark: of the
 * alias. */
static ms_status check_alias(tree_builder *builder, const ms_node *node, const ms_mark *mark) {
    for (int i = 0; i < builder->depth; i++) {
        if (builder->levels[i].node == node) {
            return fail(builder, mark, "this alias contains itself");
        }
    }
    if (builder->depth + builder->input->depth + ms_node_depth(node) > MS_DEPTH_LIMIT) {
        return fail(builder, mark,
                    "expected at most 64 levels of mappings and lists, got more by aliases");
    }
    size_t total = ms_node_total(node);
    builder->alias_nodes += total;
    builder->nodes += total;
    if (builder->alias_nodes > MS_ALIAS_LIMIT) {
        return fail(builder, mark, "expected at most 100,000 values made by aliases, got more");
    }
    return MS_OK;
}

/* Add a copy of the node that an alias names. Copies keep every node of the tree a child of one
 * parent. */
static ms_status on_alias(tree_builder *builder, const yaml_event_t *event) {
    char shown[MS_SHOWN_MAX + 4];
    const char *name = (const char *)event->data.alias.anchor;
    ms_mark mark = mark_of(builder, event);
    const anchor *found = find_anchor(builder, name);
    if (found == NULL) {
        return ms_diag_at(builder->diag, &mark, NULL, "alias '*%s' has no anchor '&%s' before it",
                          ms_shown(name, shown), shown);
    }
    ms_status status = check_alias(builder, found->node, &mark);
    if (status != MS_OK) {
        return status;
    }
    ms_node *copy = ms_node_copy(found->node, builder->arena);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    copy->key = NULL;
    copy->key_mark = (ms_mark){0};
    add_node(builder, copy);
    return MS_OK;
}

/* Accept the first document of a text, and refuse a second one. */
static ms_status on_document(tree_builder *builder, const yaml_event_t *event, bool *has_document) {
    if (*has_document) {
        ms_mark mark = mark_of(builder, event);
        return fail(builder, &mark, "expected one document, got a second one");
    }
    *has_document = true;
    return MS_OK;
}

/* Handle one event of libyaml.  has_document: whether a document has begun; updated. */
static ms_status on_event(tree_builder *builder, const yaml_event_t *event, bool *has_document) {
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(builder, event, has_document);
    case YAML_SCALAR_EVENT:
        return on_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return on_start(builder, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(builder);
    case YAML_ALIAS_EVENT:
        return on_alias(builder, event);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return MS_OK;
}

/* Build the tree from all events of the text. */
static ms_status read_events(tree_builder *builder) {
    bool has_document = false;
    bool is_end = false;
    while (!is_end) {
        yaml_event_t event;
        ms_status status = next_event(builder, &event);
        if (status != MS_OK) {
            return status;
        }
        status = on_event(builder, &event, &has_document);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* Check that there is a root, and that the root of a document is a mapping, or a list where the
 * input takes one. */
static ms_status check_root(tree_builder *builder) {
    const ms_source *source = &builder->input->source;
    ms_mark start =
        ms_source_mark(source, builder->input->from_characters, builder->input->from_characters);
    if (builder->root == NULL) {
        return fail(builder, &start,
                    builder->input->is_document ? "expected keys and values, got nothing"
                                                : "expected a value behind '=', got nothing");
    }
    bool is_list = builder->input->takes_list && builder->root->type == MS_NODE_SEQUENCE;
    if (builder->input->is_document && builder->root->type != MS_NODE_MAPPING && !is_list) {
        char shown[MS_SHOWN_MAX + 8];
        return ms_diag_at(builder->diag, &builder->root->mark, NULL,
                          "expected keys and values, got %s", ms_node_shown(builder->root, shown));
    }
    return MS_OK;
}

/* Run libyaml over the text from byte from_B on, and check the root at the end. */
ms_status ms_yaml_build(const ms_yaml_input *input, ms_arena *arena, ms_diag *diag,
                        ms_node **root_out) {
    tree_builder *builder = MS_NEW(arena, tree_builder, 1);
    if (builder == NULL) {
        return MS_E_NOMEM;
    }
    builder->input = input;
    builder->arena = arena;
    builder->diag = diag;
    if (!yaml_parser_initialize(&builder->parser)) {
        return MS_E_NOMEM;
    }
    yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder->parser,
                                 (const unsigned char *)input->source.text + input->from_B,
                                 input->source.length_B - input->from_B);
    ms_status status = read_events(builder);
    yaml_parser_delete(&builder->parser);
    status = status == MS_OK ? check_root(builder) : status;
    if (status == MS_OK) {
        *root_out = builder->root;
    }
    return status;
}

/* Parse a whole document.  input: its flags say what the root may be; its source is set here. */
static ms_status parse_document(ms_yaml_input *input, const ms_text *text, ms_arena *arena,
                                ms_diag *diag, ms_node **root_out) {
    ms_status status =
        ms_source_init(&input->source, text->name, text->data, text->length_B, arena, diag);
    status = status == MS_OK ? ms_yaml_build(input, arena, diag, root_out) : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

ms_status ms_yaml_parse(const char *text, size_t length_B, const char *name, ms_arena *arena,
                        ms_diag *diag, ms_node **root_out) {
    ms_yaml_input input = {.origin = "file", .is_document = true};
    const ms_text document = {name, text, length_B};
    return parse_document(&input, &document, arena, diag, root_out);
}

ms_status ms_yaml_parse_list(const ms_text *text, ms_arena *arena, ms_diag *diag,
                             ms_node **root_out) {
    ms_yaml_input input = {.origin = "file", .is_document = true, .takes_list = true};
    return parse_document(&input, text, arena, diag, root_out);
}

ms_status ms_yaml_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **root_out) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_file_read(path, MS_FILE_YAML, &text, diag);
    if (status == MS_OK) {
        status = ms_yaml_parse(ms_buffer_text(&text), text.length, path, arena, diag, root_out);
    } else if (status == MS_E_NOMEM) {
        ms_diag_no_memory(diag);
    }
    ms_buffer_release(&text);
    return status;
}
