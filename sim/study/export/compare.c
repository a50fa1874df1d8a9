/* In which keys two jobs differ: what the words of other software leave unsaid is found by reading
 * them back, and not by what the exporter believes to have said. */
#include <string.h>

#include "meshsim/spec.h"
#include "study/export/kinds.h"

enum { PATH_MAX_B = 200 };

/* One comparison. */
typedef struct key_comparison {
    const ms_export_reasons *reasons;
    const char *defaults; /* every key with its default, a line each */
    ms_arena *arena;
    ms_vector *unsaid;
    bool has_failed;
} key_comparison;

/* A value on one line. */
static void put_value(const ms_node *node, ms_buffer *out) {
    if (node->type == MS_NODE_SCALAR) {
        ms_buffer_puts(out, node->text);
        return;
    }
    bool is_mapping = node->type == MS_NODE_MAPPING;
    ms_buffer_puts(out, is_mapping ? "{" : "[");
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_buffer_printf(out, "%s%s%s", child == node->first ? "" : ", ",
                         is_mapping ? child->key : "", is_mapping ? ": " : "");
        put_value(child, out); /* as deep as a workload's keys */
    }
    ms_buffer_puts(out, is_mapping ? "}" : "]");
}

static const char *text_of(key_comparison *c, const ms_node *node) {
    ms_buffer text;
    ms_buffer_init(&text);
    put_value(node, &text);
    const char *kept = ms_buffer_keep(&text, c->arena);
    c->has_failed = c->has_failed || kept == NULL;
    return kept == NULL ? "" : kept;
}

const char *ms_export_defaults(ms_arena *arena) {
    ms_buffer lines;
    ms_buffer_init(&lines);
    ms_job_spec_write_keys(&lines);
    return ms_buffer_keep(&lines, arena);
}

const char *ms_export_default(const char *defaults, const char *path, ms_arena *arena) {
    size_t length = strlen(path);
    for (const char *line = defaults; *line != '\0';) {
        const char *end = line + strcspn(line, "\n");
        if (strncmp(line, path, length) == 0 && strncmp(line + length, " = ", 3) == 0) {
            const char *value = line + length + 3;
            const char *comment = strstr(value, " #");
            size_t size = comment == NULL || comment > end ? (size_t)(end - value)
                                                           : (size_t)(comment - value);
            size -= size > 0 && value[size - 1] == ' ';
            return size == 0 ? "none" : ms_arena_strndup(arena, value, size);
        }
        line = end + (*end == '\n');
    }
    return "none";
}

static const char *default_of(key_comparison *c, const char *path) {
    const char *found = ms_export_default(c->defaults, path, c->arena);
    c->has_failed = c->has_failed || found == NULL;
    return found == NULL ? "none" : found;
}

static const char *reason_of(const key_comparison *c, const char *path) {
    for (const ms_export_reason *row = c->reasons->of_keys; row->key != NULL; row++) {
        size_t length = strlen(row->key);
        if (strncmp(path, row->key, length) == 0 && (path[length] == '\0' || path[length] == '.')) {
            return row->why;
        }
    }
    return c->reasons->usual;
}

static void add(key_comparison *c, const char *path, const ms_node *mine, const ms_node *theirs) {
    const ms_unsaid row = {.key = ms_arena_strdup(c->arena, path),
                           .value = mine == NULL ? default_of(c, path) : text_of(c, mine),
                           .instead = theirs == NULL ? default_of(c, path) : text_of(c, theirs),
                           .why = reason_of(c, path)};
    bool is_same = strcmp(row.value, row.instead) == 0;
    if (row.key == NULL || (!is_same && ms_vector_add(c->unsaid, &row, 1) == NULL)) {
        c->has_failed = true;
    }
}

static bool is_mapping(const ms_node *node) {
    return node != NULL && node->type == MS_NODE_MAPPING;
}

/* Below a mapping of either side; as deep as a workload's keys. */
static void walk(key_comparison *c, const ms_node *mine, const ms_node *theirs, const char *path);

static void walk_key(key_comparison *c, const char *path, const ms_node *mine,
                     const ms_node *theirs) {
    if (is_mapping(mine) || is_mapping(theirs)) {
        walk(c, is_mapping(mine) ? mine : NULL, is_mapping(theirs) ? theirs : NULL, path);
    } else if (!ms_node_is_equal(mine, theirs)) {
        add(c, path, mine, theirs);
    }
}

static void walk(key_comparison *c, const ms_node *mine, const ms_node *theirs, const char *path) {
    for (int side = 0; side < 2; side++) {
        const ms_node *at = side == 0 ? mine : theirs;
        for (at = at == NULL ? NULL : at->first; at != NULL && !c->has_failed; at = at->next) {
            const char *below =
                ms_arena_printf(c->arena, "%s%s%s", path, path[0] == '\0' ? "" : ".", at->key);
            if (below == NULL) {
                c->has_failed = true;
            } else if (side == 0) {
                walk_key(c, below, at, ms_node_get(theirs, at->key));
            } else if (mine == NULL || ms_node_get(mine, at->key) == NULL) {
                walk_key(c, below, NULL, at);
            }
        }
    }
}

ms_status ms_export_tree(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                         ms_node **root_out) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_job_spec_write(spec, &text);
    if (status != MS_OK) {
        status = ms_diag_no_memory(diag);
    } else {
        status = ms_yaml_parse(ms_buffer_text(&text), text.length, "export", arena, diag, root_out);
    }
    ms_buffer_release(&text);
    return status;
}

/* What no choice of words is about. */
static void leave_out(ms_export_pair *pair) {
    ms_job_spec *mine = &pair->mine, *theirs = &pair->theirs;
    theirs->name = mine->name;
    theirs->description = mine->description;
    theirs->model.name = mine->model.name;
    theirs->platform = mine->platform;
    if (mine->framework.name == NULL) {
        theirs->framework = mine->framework;
    }
    bool is_plain = mine->precision.products.format == MS_PRODUCT_PLAIN &&
                    theirs->precision.products.format == MS_PRODUCT_PLAIN;
    if (is_plain) { /* all else of products is unused */
        theirs->precision.products = mine->precision.products;
    }
}

/* The platform's keys, which nothing stands beside. */
static void add_platform(key_comparison *c, const ms_node *platform) {
    for (const ms_node *at = platform == NULL ? NULL : platform->first; at != NULL; at = at->next) {
        const ms_unsaid row = {.key = ms_arena_printf(c->arena, "platform.%s", at->key),
                               .value = text_of(c, at),
                               .why = reason_of(c, "platform")};
        c->has_failed =
            c->has_failed || row.key == NULL || ms_vector_add(c->unsaid, &row, 1) == NULL;
    }
}

/* Where a key, or the nearest mapping around it, stands among all keys. */
static const char *place_of(const key_comparison *c, const char *key) {
    for (size_t length = strlen(key); length > 0;) {
        for (const char *line = c->defaults; line != NULL && *line != '\0';) {
            if (strncmp(line, key, length) == 0 && line[length] == ' ') {
                return line;
            }
            line = strchr(line, '\n');
            line = line == NULL ? NULL : line + 1;
        }
        for (length--; length > 0 && key[length] != '.';) {
            length--;
        }
    }
    return c->defaults;
}

/* In the order of a workload's keys, behind the first ones.  O(rows^2), of some tens. */
static void sort(const key_comparison *c, size_t first) {
    for (size_t i = first + 1; i < c->unsaid->count; i++) {
        ms_unsaid row = MS_AT(c->unsaid, ms_unsaid, i);
        const char *place = place_of(c, row.key);
        size_t at = i;
        for (; at > first && place_of(c, MS_AT(c->unsaid, ms_unsaid, at - 1).key) > place; at--) {
            MS_AT(c->unsaid, ms_unsaid, at) = MS_AT(c->unsaid, ms_unsaid, at - 1);
        }
        MS_AT(c->unsaid, ms_unsaid, at) = row;
    }
}

ms_status ms_export_compare(ms_export_pair *pair, const ms_export_reasons *reasons, ms_arena *arena,
                            ms_diag *diag, ms_vector *unsaid) {
    ms_node *mine = NULL, *theirs = NULL;
    leave_out(pair);
    ms_status status = ms_export_tree(&pair->mine, arena, diag, &mine);
    status = status == MS_OK ? ms_export_tree(&pair->theirs, arena, diag, &theirs) : status;
    if (status != MS_OK) {
        return status;
    }
    key_comparison c = {.reasons = reasons,
                        .defaults = ms_export_defaults(arena),
                        .arena = arena,
                        .unsaid = unsaid};
    if (c.defaults == NULL) {
        return ms_diag_no_memory(diag);
    }
    add_platform(&c, ms_node_get(mine, "platform"));
    size_t first = unsaid->count;
    walk(&c, mine, theirs, "");
    sort(&c, first);
    return c.has_failed ? ms_diag_no_memory(diag) : MS_OK;
}

ms_status ms_export_keep(const ms_vector *unsaid, ms_arena *arena, ms_diag *diag,
                         ms_exported *out) {
    ms_unsaid *items = MS_NEW(arena, ms_unsaid, unsaid->count + 1);
    if (items == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (size_t i = 0; i < unsaid->count; i++) {
        items[i] = MS_AT(unsaid, ms_unsaid, i);
    }
    out->unsaid = items;
    out->unsaid_count = unsaid->count;
    return MS_OK;
}
