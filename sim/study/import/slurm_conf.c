/* Slurm's topology.conf: lines of parameters, KEY=VALUE, in any order and of any case; and
 * topology.yaml, which has the same in lists.
 * Source: Slurm, topology.conf(5) and topology.yaml(5). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "study/import/slurm_parts.h"

/* Parameters that are known, with what becomes of them. */
typedef enum conf_key {
    CONF_SWITCH,
    CONF_SWITCHES,
    CONF_NODES,
    CONF_SPEED,
    CONF_BLOCK,
    CONF_SIZES,
    CONF_RING,
    CONF_KEYS,
} conf_key;

static const struct {
    const char *name;
    ms_source_fate fate;
    const char *why;
} KEYS[CONF_KEYS] = {
    [CONF_SWITCH] = {"SwitchName", MS_SOURCE_USED, "fabric"},
    [CONF_SWITCHES] = {"Switches", MS_SOURCE_USED, "tiers, fabric.units_per_pod"},
    [CONF_NODES] = {"Nodes", MS_SOURCE_USED, "nodes, fabric.nodes_per_unit"},
    [CONF_SPEED] = {"LinkSpeed", MS_SOURCE_IGNORED,
                    "Slurm gives it no unit and does not use it; tiers.*.bandwidth and "
                    "fabric.oversubscription say it"},
    [CONF_BLOCK] = {"BlockName", MS_SOURCE_USED, "nodes, fabric"},
    [CONF_SIZES] = {"BlockSizes", MS_SOURCE_USED, "fabric.nodes_per_unit, fabric.units_per_pod"},
    [CONF_RING] = {"RingName", MS_SOURCE_UNKNOWN, NULL},
};

/* A file while it is taken apart. */
typedef struct conf_reader {
    ms_slurm_file *file;
    const char *name, *text; /* text: with '\0' at its end, in the arena */
    size_t length;
    size_t at;
    int line;
    size_t line_start;
    ms_slurm_group group; /* of the line */
    conf_key kind;        /* CONF_SWITCH or CONF_BLOCK; CONF_KEYS: the line has neither */
    bool has_fault;       /* the line has one already */
    conf_key file_kind;   /* of the lines before */
    size_t hosts;         /* in all lists so far */
    int counts[CONF_KEYS];
    ms_mark firsts[CONF_KEYS];
    ms_source_keys *keys;
} conf_reader;

static ms_mark mark_at(const conf_reader *r, size_t at, size_t width) {
    return (ms_mark){.file = r->name,
                     .source = r->text,
                     .source_B = r->length,
                     .line = r->line,
                     .column = (int)(at - r->line_start) + 1,
                     .width = width == 0 ? 1 : (int)width};
}

/* ---- values ---- */

static ms_status read_sizes(conf_reader *r, const char *value, const ms_mark *mark) {
    ms_ints *sizes = &r->file->sizes;
    size_t room = strlen(value) / 2 + 1;
    sizes->count = 0;
    sizes->items = MS_NEW(r->file->arena, int, room);
    if (sizes->items == NULL) {
        return ms_diag_no_memory(r->file->diag);
    }
    r->file->sizes_mark = *mark;
    for (const char *at = value; *at != '\0';) {
        char *end = NULL;
        long size = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
        bool is_sound = size >= 1 && size <= MS_SLURM_NODES_MAX &&
                        (*end == '\0' || (*end == ',' && end[1] != '\0'));
        if (!is_sound || (sizes->count > 0 && size <= sizes->items[sizes->count - 1])) {
            return ms_slurm_fault(r->file, mark,
                                  "expected sizes of blocks that grow, such as 18,144, got '%.80s'",
                                  value);
        }
        sizes->items[sizes->count++] = (int)size;
        at = *end == '\0' ? end : end + 1;
    }
    return MS_OK;
}

static ms_status read_hosts(conf_reader *r, const char *value, const ms_mark *mark,
                            ms_words *hosts) {
    if (strcasecmp(value, "ALL") == 0) {
        return ms_slurm_fault(r->file, mark,
                              "which nodes 'ALL' is, says slurm.conf; expected a list of them");
    }
    if (r->hosts > MS_SLURM_NODES_MAX) {
        return MS_E_INPUT; /* reported */
    }
    ms_status status = ms_slurm_hosts(value, mark, r->file->arena, r->file->diag, hosts);
    r->hosts += status == MS_OK ? hosts->count : 0;
    return status == MS_OK && r->hosts > MS_SLURM_NODES_MAX
               ? ms_slurm_fault(r->file, mark, "the file names more than %d nodes and switches",
                                (int)MS_SLURM_NODES_MAX)
               : status;
}

static ms_status name_group(conf_reader *r, conf_key key, const char *value, const ms_mark *mark) {
    if (r->kind != CONF_KEYS) {
        return ms_slurm_fault(r->file, mark, "a line names a second switch or block, '%.80s'",
                              value);
    }
    if (r->file_kind != CONF_KEYS && r->file_kind != key) {
        return ms_slurm_fault(r->file, mark,
                              "expected lines of one plug-in, got SwitchName and BlockName");
    }
    for (const char *letter = value; *letter != '\0'; letter++) {
        if (!isgraph((unsigned char)*letter)) {
            return ms_slurm_fault(r->file, mark, "a name has a letter that none can have");
        }
    }
    r->kind = r->file_kind = key;
    r->group.name = value;
    r->group.mark = *mark;
    return MS_OK;
}

static ms_status take(conf_reader *r, conf_key key, const char *value, const ms_mark *mark) {
    r->firsts[key] = r->counts[key]++ == 0 ? *mark : r->firsts[key];
    switch (key) {
    case CONF_SWITCH:
    case CONF_BLOCK:
        return name_group(r, key, value, mark);
    case CONF_NODES:
        r->group.nodes_mark = *mark;
        return read_hosts(r, value, mark, &r->group.nodes);
    case CONF_SWITCHES:
        r->group.switches_mark = *mark;
        return read_hosts(r, value, mark, &r->group.switches);
    case CONF_SIZES:
        return read_sizes(r, value, mark);
    case CONF_RING:
        return ms_slurm_fault(r->file, mark,
                              "topology/ring is not read; expected SwitchName or BlockName");
    default:
        return MS_OK;
    }
}

/* ---- lines ---- */

static conf_key find_key(const char *name) {
    for (int i = 0; i < CONF_KEYS; i++) {
        if (strcasecmp(KEYS[i].name, name) == 0) {
            return (conf_key)i;
        }
    }
    return CONF_KEYS;
}

static ms_status tell(const conf_reader *r, const ms_source_key *key) {
    ms_status status = ms_source_keys_add(r->keys, key, r->file->arena);
    return status == MS_OK ? MS_OK : ms_diag_no_memory(r->file->diag);
}

static ms_status end_line(conf_reader *r) {
    ms_status status = MS_OK;
    const ms_slurm_group *group = &r->group;
    bool has_lists = group->nodes.count + group->switches.count > 0;
    if (r->has_fault) {
        status = MS_E_INPUT; /* reported */
    } else if (r->kind == CONF_KEYS && has_lists) {
        const ms_mark *mark = group->nodes.count > 0 ? &group->nodes_mark : &group->switches_mark;
        status = ms_slurm_fault(r->file, mark,
                                "a list without the SwitchName or BlockName it "
                                "belongs to on its line");
    } else if (r->kind != CONF_KEYS && !has_lists) {
        status = ms_slurm_fault(r->file, &group->mark, "'%.80s' has neither Nodes nor Switches",
                                group->name);
    } else if (r->kind == CONF_SWITCH && group->nodes.count > 0 && group->switches.count > 0) {
        status = ms_slurm_fault(r->file, &group->mark,
                                "'%.80s' has both Nodes and Switches; expected one of them",
                                group->name);
    } else if (r->kind == CONF_BLOCK && group->switches.count > 0) {
        status = ms_slurm_fault(r->file, &group->switches_mark, "a block has no Switches");
    } else if (r->kind != CONF_KEYS) {
        ms_vector_add(&r->file->groups, group, 1);
        status = r->file->groups.failed ? ms_diag_no_memory(r->file->diag) : MS_OK;
    }
    r->kind = CONF_KEYS;
    r->has_fault = false;
    r->group = (ms_slurm_group){.name = NULL};
    return status;
}

/* Over blanks, comments and lines that a '\' at their end makes one; stands at a letter or at the
 * end of a line. */
static void skip(conf_reader *r) {
    while (r->at < r->length) {
        char letter = r->text[r->at];
        if (letter == '#') {
            r->at += strcspn(r->text + r->at, "\n");
        } else if (letter == '\\' && (r->text[r->at + 1] == '\n' || r->text[r->at + 1] == '\r')) {
            r->at += strcspn(r->text + r->at, "\n") + 1;
            r->line++;
            r->line_start = r->at;
        } else if (letter == ' ' || letter == '\t' || letter == '\r') {
            r->at++;
        } else {
            return;
        }
    }
}

/* A value: in quotes, or up to a blank. */
static const char *take_value(conf_reader *r, ms_mark *mark) {
    size_t length = strcspn(r->text + r->at, " \t\r\n#");
    size_t after = 0;
    if (r->text[r->at] == '"') {
        size_t inner = strcspn(r->text + r->at + 1, "\"\n");
        after = r->text[r->at + 1 + inner] == '"';
        length = inner;
        r->at++;
    }
    *mark = mark_at(r, r->at, length);
    const char *value = ms_arena_strndup(r->file->arena, r->text + r->at, length);
    r->at += length + after;
    return value;
}

static ms_status read_parameter(conf_reader *r) {
    size_t start = r->at, length = strcspn(r->text + r->at, "= \t\r\n#\"");
    ms_mark mark = mark_at(r, start, length);
    const char *name = ms_arena_strndup(r->file->arena, r->text + start, length);
    r->at += length;
    skip(r);
    if (name == NULL) {
        return ms_diag_no_memory(r->file->diag);
    }
    if (length == 0 || r->text[r->at] != '=') {
        r->at += strcspn(r->text + r->at, "\n");
        return ms_slurm_fault(r->file, &mark, "expected KEY=VALUE, got '%.80s'",
                              length == 0 ? "a sign alone" : name);
    }
    r->at++;
    skip(r);
    const char *value = take_value(r, &mark);
    if (value == NULL) {
        return ms_diag_no_memory(r->file->diag);
    }
    conf_key key = find_key(name);
    if (key == CONF_KEYS) {
        return tell(r, &(ms_source_key){
                           .key = name, .value = value, .fate = MS_SOURCE_UNKNOWN, .mark = mark});
    }
    return value[0] == '\0' ? ms_slurm_fault(r->file, &mark, "%s has no value", KEYS[key].name)
                            : take(r, key, value, &mark);
}

static ms_status read_lines(conf_reader *r) {
    ms_status status = MS_OK;
    while (r->at <= r->length) {
        skip(r);
        ms_status one = MS_OK;
        if (r->at >= r->length || r->text[r->at] == '\n') {
            one = end_line(r);
            r->at++;
            r->line++;
            r->line_start = r->at;
        } else {
            one = read_parameter(r);
            r->has_fault = r->has_fault || one != MS_OK;
        }
        if (one == MS_E_NOMEM) {
            return one;
        }
        status = status == MS_OK ? one : status;
    }
    return status;
}

static ms_status tell_all(const conf_reader *r) {
    ms_status status = MS_OK;
    for (int i = 0; i < CONF_KEYS && status == MS_OK; i++) {
        if (r->counts[i] > 0) {
            status = tell(r, &(ms_source_key){
                                 .key = KEYS[i].name,
                                 .value = ms_arena_printf(r->file->arena, "%d times", r->counts[i]),
                                 .fate = KEYS[i].fate,
                                 .why = KEYS[i].why,
                                 .mark = r->firsts[i]});
        }
    }
    return status;
}

/* ---- topology.yaml ---- */

/* Keys of an entry, and the parameters of a line that they are. */
typedef struct yaml_key {
    const char *name;
    conf_key key;
} yaml_key;
static const yaml_key SWITCH_KEYS[] = {
    {"switch", CONF_SWITCH}, {"nodes", CONF_NODES}, {"children", CONF_SWITCHES}, {NULL, CONF_KEYS}};
static const yaml_key BLOCK_KEYS[] = {
    {"block", CONF_BLOCK}, {"nodes", CONF_NODES}, {NULL, CONF_KEYS}};

static ms_status fault_at(const conf_reader *r, const ms_node *node, const char *what) {
    return ms_slurm_fault(r->file, &node->mark, "%s", what);
}

/* The parameters of an entry. */
static ms_status read_entry(conf_reader *r, const ms_node *entry, const yaml_key *keys) {
    ms_status status = MS_OK;
    if (entry->type != MS_NODE_MAPPING) {
        return fault_at(r, entry, "expected an entry with a name and nodes or children");
    }
    for (const ms_node *node = entry->first; node != NULL && status == MS_OK; node = node->next) {
        const yaml_key *row = keys;
        while (row->name != NULL && strcmp(row->name, node->key) != 0) {
            row++;
        }
        if (row->name == NULL) {
            status =
                tell(r, &(ms_source_key){
                            .key = node->key, .fate = MS_SOURCE_UNKNOWN, .mark = node->key_mark});
        } else if (node->type != MS_NODE_SCALAR || node->text[0] == '\0') {
            status = fault_at(r, node, "expected names, such as node[01-16]");
        } else {
            status = take(r, row->key, node->text, &node->mark);
        }
    }
    r->has_fault = status != MS_OK;
    ms_status ended = end_line(r);
    return status == MS_OK ? ended : status;
}

static ms_status read_entries(conf_reader *r, const ms_node *list, const yaml_key *keys) {
    ms_status status = MS_OK;
    if (list->type != MS_NODE_SEQUENCE) {
        return fault_at(r, list, "expected a list");
    }
    for (const ms_node *node = list->first; node != NULL && status != MS_E_NOMEM;
         node = node->next) {
        ms_status one = read_entry(r, node, keys);
        status = status == MS_OK || one == MS_E_NOMEM ? one : status;
    }
    return status;
}

/* "block_sizes" as a line has them. */
static ms_status read_size_list(conf_reader *r, const ms_node *list) {
    ms_buffer text;
    ms_buffer_init(&text);
    for (const ms_node *node = list->first; node != NULL; node = node->next) {
        ms_buffer_printf(&text, "%s%s", text.length == 0 ? "" : ",",
                         node->type == MS_NODE_SCALAR ? node->text : "?");
    }
    ms_status status = text.failed ? ms_diag_no_memory(r->file->diag)
                                   : take(r, CONF_SIZES, ms_buffer_text(&text), &list->mark);
    ms_buffer_release(&text);
    return status;
}

/* The topology that is the cluster's, of several; the others are those of partitions. */
static ms_status choose_topology(conf_reader *r, const ms_node *root, const ms_node **out) {
    ms_status status = MS_OK;
    const ms_node *chosen = root->type == MS_NODE_MAPPING ? root : root->first;
    for (const ms_node *node = root->first; root != chosen && node != NULL; node = node->next) {
        const ms_node *is_default = ms_node_get(node, "cluster_default");
        bool is_it = is_default != NULL && is_default->type == MS_NODE_SCALAR &&
                     strcmp(is_default->text, "true") == 0;
        chosen = is_it ? node : chosen;
    }
    for (const ms_node *node = root->first; root != chosen && node != NULL && status == MS_OK;
         node = node->next) {
        const ms_source_key key = {.key = "topology",
                                   .fate = MS_SOURCE_IGNORED,
                                   .why = "another one is the cluster's default",
                                   .mark = node->mark};
        status = node == chosen ? MS_OK : tell(r, &key);
    }
    *out = chosen;
    return status;
}

static ms_status read_yaml(conf_reader *r, const ms_text *text) {
    ms_node *root = NULL;
    const ms_node *chosen = NULL;
    ms_status status = ms_yaml_parse_list(text, r->file->arena, r->file->diag, &root);
    status = status == MS_OK && root->has_fault ? MS_E_INPUT : status; /* reported */
    status = status == MS_OK ? choose_topology(r, root, &chosen) : status;
    if (status != MS_OK) {
        return status;
    }
    const ms_node *tree = ms_node_get(chosen, "tree"), *block = ms_node_get(chosen, "block");
    const ms_node *switches = tree == NULL ? NULL : ms_node_get(tree, "switches");
    const ms_node *blocks = block == NULL ? NULL : ms_node_get(block, "blocks");
    const ms_node *sizes = block == NULL ? NULL : ms_node_get(block, "block_sizes");
    if (chosen == NULL || (switches == NULL && blocks == NULL)) {
        return fault_at(r, chosen == NULL ? root : chosen,
                        "expected a topology with switches below 'tree', or blocks below 'block'");
    }
    status = read_entries(r, switches != NULL ? switches : blocks,
                          switches != NULL ? SWITCH_KEYS : BLOCK_KEYS);
    return status == MS_OK && switches == NULL && sizes != NULL ? read_size_list(r, sizes) : status;
}

static bool is_yaml_name(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* ---- all ---- */

static ms_status read_file(conf_reader *r, const ms_text *text) {
    ms_slurm_file *file = r->file;
    char *copy = MS_NEW(file->arena, char, text->length_B + 1);
    if (copy == NULL) {
        return ms_diag_no_memory(file->diag);
    }
    memcpy(copy, text->length_B == 0 ? "" : text->data, text->length_B);
    r->text = copy;
    r->length = text->length_B;
    r->name = text->name;
    const ms_mark whole = {.file = text->name};
    if (memchr(copy, '\0', text->length_B) != NULL) {
        return ms_slurm_fault(file, &whole, "a byte that no text has");
    }
    ms_status status = is_yaml_name(text->name) ? read_yaml(r, text) : read_lines(r);
    if (status == MS_OK && file->groups.count == 0) {
        status = ms_slurm_fault(file, &whole, "expected lines with SwitchName or BlockName");
    }
    status = status == MS_OK ? tell_all(r) : status;
    if (status == MS_OK) {
        file->out->has_blocks = r->file_kind == CONF_BLOCK;
        file->out->nodes_mark = r->firsts[CONF_NODES];
        status = file->out->has_blocks ? ms_slurm_blocks(file) : ms_slurm_tree(file);
    }
    return status;
}

ms_status ms_slurm_read(const ms_text *text, ms_arena *arena, ms_diag *diag, ms_source_keys *keys,
                        ms_slurm_topology *topology_out) {
    ms_slurm_topology topology = {.rails = 1};
    ms_slurm_file file = {.arena = arena, .diag = diag, .out = &topology};
    conf_reader r = {
        .file = &file, .line = 1, .kind = CONF_KEYS, .file_kind = CONF_KEYS, .keys = keys};
    ms_vector_init(&file.groups, sizeof(ms_slurm_group));
    ms_buffer_init(&file.remarks);
    ms_status status = read_file(&r, text);
    if (status == MS_OK) {
        topology.remarks =
            file.remarks.failed ? NULL : ms_arena_strdup(arena, ms_buffer_text(&file.remarks));
        status = topology.remarks == NULL ? ms_diag_no_memory(diag) : MS_OK;
    }
    ms_vector_release(&file.groups);
    ms_buffer_release(&file.remarks);
    if (status == MS_OK) {
        *topology_out = topology;
    }
    return status;
}
