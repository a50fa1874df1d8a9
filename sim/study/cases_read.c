/* Measured runs from YAML: a list of cases. */
#include <math.h>
#include <string.h>

#include "study/cases_fields.h"
#include "study/cases_file.h"

/* Cases of such groups are there for their memory; their times are told apart from the score. */
static const char APART_PREFIX[] = "megatron_ci";

/* Whether keys of this name are for readers, whatever comes behind. */
static bool is_for_readers(const char *key) {
    static const char *const PREFIXES[] = {"check", "peak_"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        if (strncmp(key, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Take the keys out of a mapping that a rule names; it may list them. */
static void drop_keys(ms_node *mapping, bool (*is_dropped)(void *context, ms_node *child),
                      void *context) {
    ms_node **place = &mapping->first;
    mapping->last = NULL;
    while (*place != NULL) {
        ms_node *child = *place;
        if (is_dropped(context, child)) {
            *place = child->next;
            mapping->count--;
        } else {
            mapping->last = child;
            place = &child->next;
        }
    }
}

/* What says nothing to the rules: keys without a value, as what is not published is absent, and
 * keys for readers, in a mapping and in those in it. */
static bool is_silent(void *context, ms_node *child) {
    if (ms_cases_is_null(child) || is_for_readers(child->key)) {
        return true;
    }
    bool is_figures = strcmp(child->key, "measured") == 0;
    if (child->type == MS_NODE_MAPPING && !is_figures) {
        drop_keys(child, is_silent, context);
    }
    return false;
}

/* ---- what has to be there, if only as null ---- */

/* A mapping of a row and its keys. */
typedef struct part_row {
    const char *name; /* in the row; NULL: the row itself */
    const ms_field *fields;
    const char *required[10]; /* NULL behind the last */
} part_row;

static const part_row PARTS[] = {
    {NULL,
     MS_CASE_FIELDS,
     {"id", "group", "system", "model", "parallel", "schedule_kind", "micro_batch",
      "global_batch"}},
    {"system", MS_CASE_SYSTEM_FIELDS, {"gpu"}},
    {"model",
     MS_CASE_MODEL_FIELDS,
     {"type", "layers", "hidden", "heads", "ffn", "ffn_mats", "vocab", "seq_len"}},
    {"parallel", MS_CASE_PARALLEL_FIELDS, {"tp", "pp", "dp"}},
};

static bool is_known(const ms_field *fields, const char *key) {
    for (; fields->key != NULL; fields++) {
        if (strcmp(fields->key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an unknown key was probably meant to be this one, so that one slip makes one fault. */
static bool is_misspelt(const ms_node *mapping, const ms_field *fields, const char *key) {
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        if (!is_known(fields, child->key) && ms_nearest_word(child->key, &key, 1) != NULL) {
            return true;
        }
    }
    return false;
}

static ms_status check_part(const ms_cases_reading *reading, const ms_node *row,
                            const char *key_path, const part_row *part) {
    const ms_node *mapping = part->name == NULL ? row : ms_node_get(row, part->name);
    ms_status status = MS_OK;
    if (mapping == NULL || mapping->type != MS_NODE_MAPPING) {
        return MS_OK; /* reported */
    }
    for (const char *const *key = part->required; *key != NULL; key++) {
        if (ms_config_has(mapping, *key) || is_misspelt(mapping, part->fields, *key)) {
            continue;
        }
        const char *path =
            ms_arena_printf(reading->arena, "%s%s%s.%s", key_path, part->name == NULL ? "" : ".",
                            part->name == NULL ? "" : part->name, *key);
        status = path == NULL
                     ? ms_diag_no_memory(reading->diag)
                     : ms_config_fault(reading->diag, mapping, path,
                                       "this key is required; null says that it is not published");
    }
    return status;
}

static ms_status check_required(const ms_cases_reading *reading, const ms_node *row,
                                const char *key_path) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        ms_status one = check_part(reading, row, key_path, &PARTS[i]);
        status = status == MS_OK ? one : status;
    }
    return status;
}

/* ---- keys that no rule knows ---- */

/* Whether a key is none of these and is not like one, so that it is no slip of somebody's pen. */
static bool is_foreign(const ms_field *fields, const char *key) {
    if (is_known(fields, key)) {
        return false;
    }
    for (; fields->key != NULL; fields++) {
        if (ms_nearest_word(key, &fields->key, 1) != NULL) {
            return false;
        }
    }
    return true;
}

/* Keys of a part that no rule knows, while they are listed. */
typedef struct foreign_listing {
    const part_row *part;
    ms_buffer *list;
} foreign_listing;

/* What tables of other sources have besides. */
static bool list_foreign(void *context, ms_node *child) {
    const foreign_listing *listing = context;
    const char *part = listing->part->name;
    if (!is_foreign(listing->part->fields, child->key)) {
        return false;
    }
    ms_buffer_printf(listing->list, "%s%s%s%s", listing->list->length == 0 ? "" : ", ",
                     part == NULL ? "" : part, part == NULL ? "" : ".", child->key);
    return true;
}

/* *keys_out: the keys without a rule, with commas; NULL: there are none. */
static ms_status find_foreign(const ms_cases_reading *reading, ms_node *row,
                              const char **keys_out) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        ms_node *mapping = PARTS[i].name == NULL ? row : ms_node_get(row, PARTS[i].name);
        if (mapping != NULL && mapping->type == MS_NODE_MAPPING) {
            foreign_listing listing = {.part = &PARTS[i], .list = &list};
            drop_keys(mapping, list_foreign, &listing);
        }
    }
    *keys_out = list.length == 0 ? NULL : ms_arena_strdup(reading->arena, ms_buffer_text(&list));
    bool is_short = list.failed || (list.length > 0 && *keys_out == NULL);
    ms_buffer_release(&list);
    return is_short ? ms_diag_no_memory(reading->diag) : MS_OK;
}

/* ---- the parts of a row ---- */

/* A part of a row under its own key path. */
static ms_status read_part(const ms_cases_reading *reading, const ms_node *part,
                           const ms_field *fields, const char *path, void *out) {
    if (part == NULL) {
        return MS_OK; /* reported */
    }
    return ms_config_read(part, fields, path, out, reading->arena, reading->diag);
}

static ms_status read_system(const ms_cases_reading *reading, const ms_node *part,
                             const char *key_path, ms_case *row) {
    ms_case_system_text text = {.system = {.network = NULL}};
    const char *path = ms_arena_printf(reading->arena, "%s.system", key_path);
    ms_status status = path == NULL ? ms_diag_no_memory(reading->diag)
                                    : read_part(reading, part, MS_CASE_SYSTEM_FIELDS, path, &text);
    row->system = text.system;
    row->system.nic_Bps = text.nic_gbit_s * MS_GBIT_S_IN_BPS;
    row->system.nvlink_Bps = text.nvlink_gb_s * MS_GB_S_IN_BPS;
    return status;
}

/* One of two words, as a switch. */
static ms_status read_choice(const ms_cases_reading *reading, const ms_node *node,
                             const char *key_path, const char *const words[2], int *out) {
    if (node == NULL || node->type != MS_NODE_SCALAR) {
        return MS_OK; /* absent, or reported */
    }
    for (int i = 0; i < 2; i++) {
        if (strcmp(node->text, words[i]) == 0) {
            *out = i;
            return MS_OK;
        }
    }
    return ms_config_fault(reading->diag, node, key_path, "unknown word '%s'; expected %s or %s",
                           node->text, words[0], words[1]);
}

static ms_status read_model(const ms_cases_reading *reading, const ms_node *part,
                            const char *key_path, ms_case *row) {
    static const char *const NORMS[2] = {"layer", "rms"};
    static const char *const POSITIONS[2] = {"rope", "learned_absolute"};
    ms_case_model_text text = {.model = {.traits = {.is_tied = MS_CASE_UNKNOWN,
                                                    .has_bias = MS_CASE_UNKNOWN,
                                                    .is_rms_norm = MS_CASE_UNKNOWN,
                                                    .has_learned_positions = MS_CASE_UNKNOWN}}};
    const char *path = ms_arena_printf(reading->arena, "%s.model", key_path);
    if (path == NULL) {
        return ms_diag_no_memory(reading->diag);
    }
    ms_status status = read_part(reading, part, MS_CASE_MODEL_FIELDS, path, &text);
    ms_status norm = read_choice(reading, ms_node_get(part, "norm"), path, NORMS,
                                 &text.model.traits.is_rms_norm);
    ms_status positions = read_choice(reading, ms_node_get(part, "positions"), path, POSITIONS,
                                      &text.model.traits.has_learned_positions);
    row->model = text.model;
    status = status == MS_OK ? norm : status;
    return status == MS_OK ? positions : status;
}

static ms_status read_parallel(const ms_cases_reading *reading, const ms_node *part,
                               const char *key_path, ms_case *row) {
    ms_case_parallel_text text = {.parallel = {.has_sequence_parallel = MS_CASE_UNKNOWN,
                                               .zero = MS_CASE_UNKNOWN,
                                               .reshards = MS_CASE_UNKNOWN}};
    const char *path = ms_arena_printf(reading->arena, "%s.parallel", key_path);
    ms_status status = path == NULL
                           ? ms_diag_no_memory(reading->diag)
                           : read_part(reading, part, MS_CASE_PARALLEL_FIELDS, path, &text);
    row->parallel = text.parallel;
    return status;
}

/* ---- rows ---- */

static bool has_flag(const ms_words *flags, const char *word) {
    for (size_t i = 0; i < flags->count; i++) {
        if (strcmp(flags->items[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static ms_case_use use_of(const ms_case *row) {
    if (row->schedule.kind != NULL && strcmp(row->schedule.kind, "layer") == 0) {
        return MS_CASE_LAYER;
    }
    bool is_apart =
        row->group != NULL && strncmp(row->group, APART_PREFIX, sizeof APART_PREFIX - 1) == 0;
    return is_apart ? MS_CASE_APART : MS_CASE_SCORED;
}

/* An id names one case, whatever file it is in. */
static ms_status check_id(const ms_cases_reading *reading, const ms_node *row,
                          const char *key_path) {
    const ms_node *id = ms_node_get(row, "id");
    const ms_case *cases = reading->out->cases.data;
    if (id == NULL || id->type != MS_NODE_SCALAR) {
        return MS_OK; /* reported */
    }
    for (size_t i = 0; i < reading->out->cases.count; i++) {
        if (cases[i].id != NULL && strcmp(cases[i].id, id->text) == 0) {
            return ms_config_fault(reading->diag, id, key_path,
                                   "id '%s' is there already, at %s:%d", id->text,
                                   cases[i].mark.file, cases[i].mark.line);
        }
    }
    return MS_OK;
}

/* Read the mappings of a row, each whether or not the others could be read. */
static ms_status read_parts(const ms_cases_reading *reading, ms_node *node, const char *key_path,
                            ms_case_text *text) {
    ms_case *row = &text->row;
    const ms_status all[] = {
        check_id(reading, node, key_path),
        read_system(reading, text->system, key_path, row),
        read_model(reading, text->model, key_path, row),
        read_parallel(reading, text->parallel, key_path, row),
        ms_cases_read_measured(reading, node, key_path, &row->measured),
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != MS_OK) {
            return all[i];
        }
    }
    return MS_OK;
}

/* Everything is told by a case's name and summed up by its group. */
static ms_status check_names(const ms_cases_reading *reading, const ms_node *node,
                             const char *key_path, const ms_case *row) {
    return row->id != NULL && row->group != NULL
               ? MS_OK
               : ms_config_fault(reading->diag, node, key_path, "'id' and 'group' cannot be null");
}

/* What a source says in words; NULL: nothing, or not in words. */
static const char *words_of(const ms_node *node) {
    return node != NULL && node->type == MS_NODE_SCALAR ? node->text : NULL;
}

/* Replicas that a source does not count follow from its GPUs. */
static void count_replicas(ms_case *row) {
    ms_case_parallel *p = &row->parallel;
    double pipeline = (double)p->tp * p->pp * (p->cp == 0 ? 1 : p->cp);
    bool follows = p->dp == 0 && pipeline > 0 && fmod(row->gpus, pipeline) == 0;
    p->dp = follows ? (int)(row->gpus / pipeline) : p->dp;
}

static ms_status read_row(const ms_cases_reading *reading, ms_node *node, size_t index) {
    ms_case_text text = {.score_s = NAN};
    const ms_node *id = ms_node_get(node, "id");
    bool is_named = id != NULL && id->type == MS_NODE_SCALAR && !ms_cases_is_null(id);
    const char *key_path = is_named ? ms_arena_strdup(reading->arena, id->text)
                                    : ms_arena_printf(reading->arena, "[%zu]", index);
    if (key_path == NULL) {
        return ms_diag_no_memory(reading->diag);
    }
    if (node->type != MS_NODE_MAPPING) {
        return ms_config_fault(reading->diag, node, key_path, "expected a case, a mapping of keys");
    }
    ms_status required = check_required(reading, node, key_path);
    drop_keys(node, is_silent, NULL);
    const char *foreign_keys = NULL;
    ms_status status = find_foreign(reading, node, &foreign_keys);
    if (status == MS_OK) {
        status =
            ms_config_read(node, MS_CASE_FIELDS, key_path, &text, reading->arena, reading->diag);
    }
    ms_status parts = read_parts(reading, node, key_path, &text);
    ms_case *row = &text.row;
    status = status == MS_OK ? required : status;
    status = status == MS_OK ? parts : status;
    status = status == MS_OK ? check_names(reading, node, key_path, row) : status;
    count_replicas(row);
    row->url = words_of(text.url);
    row->schedule.recompute_words = words_of(text.recompute);
    row->foreign_keys = foreign_keys;
    row->mark = node->mark;
    row->use = use_of(row);
    row->is_suspect = has_flag(&text.flags, "suspect");
    if (row->parallel.stage_layers.count == 0) {
        row->parallel.stage_layers = text.stage_layers;
    }
    ms_vector_add(&reading->out->cases, row, 1); /* a faulty one, too: its id is taken */
    return status;
}

ms_status ms_cases_read_list(const ms_cases_reading *reading, ms_node *list) {
    ms_status status = MS_OK;
    size_t index = 0;
    for (ms_node *node = list->first; node != NULL; node = node->next) {
        ms_status one = read_row(reading, node, index++);
        if (one == MS_E_NOMEM) {
            return one;
        }
        status = status == MS_OK ? one : status;
    }
    if (list->has_fault && status == MS_OK) {
        status = MS_E_INPUT;
    }
    return reading->out->cases.failed ? ms_diag_no_memory(reading->diag) : status;
}
