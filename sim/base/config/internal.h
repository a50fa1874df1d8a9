/* Declarations that the files of the room base/config share: input texts with their lines, building
 * and copying nodes. */
#ifndef MESHSIM_CONFIG_INTERNAL_H
#define MESHSIM_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/config/config.h"
#include "base/config/input.h"

enum {
    MS_DEPTH_LIMIT = 64,     /* levels of mappings and sequences in one tree */
    MS_NODE_LIMIT = 1000000, /* nodes of one tree */
    MS_ALIAS_LIMIT = 100000, /* nodes of one tree that come from aliases */
    MS_ANCHOR_LIMIT = 1000,  /* anchors of one document */
    MS_KEY_MAX = 256,        /* bytes of one key of a dotted path that is looked up */
    MS_SHOWN_MAX = 64,       /* bytes of user text in a message */
};

/* An input text, checked to be UTF-8, and where its lines start. Everything lies in one arena. */
typedef struct ms_source {
    const char *file; /* name in diagnostics */
    const char *text; /* [length_B], then a NUL; no byte order mark */
    size_t length_B;
    size_t *lines; /* [line_count]: index of each line's first character, in characters */
    size_t line_count;
} ms_source;

/* A text to be parsed as YAML: a whole file, the part of an override behind '=', or a default. */
typedef struct ms_yaml_input {
    ms_source source;
    size_t from_B;          /* parsing starts here [B] */
    size_t from_characters; /* characters before `from_B` */
    int depth;              /* levels of the tree above the place where the result will be put */
    const char *origin;     /* origin of every node */
    bool is_document;       /* a whole file, whose root must be a mapping that is not empty */
    bool takes_list;        /* the root may also be a list */
} ms_yaml_input;

/* Copy `text`, check it and find its lines.  Returns MS_OK; MS_E_INPUT, reported; MS_E_NOMEM. */
ms_status ms_source_init(ms_source *source, const char *name, const char *text, size_t length_B,
                         ms_arena *arena, ms_diag *diag);

/* The mark of the characters [from, to) of a source, cut at the end of the line. Both count from 0
 * at the start of the source, in characters. */
ms_mark ms_source_mark(const ms_source *source, size_t from, size_t to);

/* Parse the text that `input` describes.  Returns as ms_yaml_parse, but does not report
 * MS_E_NOMEM. */
ms_status ms_yaml_build(const ms_yaml_input *input, ms_arena *arena, ms_diag *diag,
                        ms_node **root_out);

/* Replace the value of `to` by a copy of the value of `from`. `to` keeps its key and its position
 * in its parent. */
ms_status ms_node_assign(ms_node *to, const ms_node *from, ms_arena *arena);

/* Number of nodes in a tree, itself included, and its levels (0 for a scalar). */
size_t ms_node_total(const ms_node *node);
int ms_node_depth(const ms_node *node);

/* Whether a node is YAML's null: nothing, ~ or null. */
bool ms_node_is_null(const ms_node *node);

/* Whether YAML reads a text without quotes, as a value of a block mapping or sequence, as that
 * text. */
bool ms_text_is_plain(const char *text);

/* Make a text fit for a message: invisible characters become '?', and a text longer than
 * MS_SHOWN_MAX is cut and ends in "...".  out: [MS_SHOWN_MAX + 4].  Returns out. */
const char *ms_shown(const char *text, char *out);

/* A node's value as messages show it: "'text'", "nothing", "a list", "a mapping". out:
 * [MS_SHOWN_MAX + 8]. */
const char *ms_node_shown(const ms_node *node, char *out);

/* The noun for a kind of files, such as "a workload". */
const char *ms_input_noun(ms_input_kind kind);

/* The place at which a fault of a whole value is reported: see ms_config_fault. */
const ms_mark *ms_node_fault_mark(const ms_node *node);

#endif
