/* Values of varied keys: reads them from YAML, and sets them in a spec that was read without them.
 * Setting a number or a word directly (ms_setter) spares reading the workload file again for every
 * candidate; keys and values without a setter are read with the file. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "search/search/space.h"
#include "search/sweep/values.h"

/* ---- into a spec ---- */

/* Read a whole number from 0 to MS_BATCH_MAX. Returns false, with *out unchanged, for any other
 * text. */
static bool read_int(const char *value, int *out) {
    char *end = NULL;
    long number = strtol(value, &end, 10);
    bool is_int = end != value && *end == '\0' && number >= 0 && number <= MS_BATCH_MAX;
    if (is_int) {
        *out = (int)number;
    }
    return is_int;
}

/* Setter of schedule.kind. Returns false for a text that names no kind, such as a file of a
 * schedule. */
static bool set_kind(ms_job_spec *spec, const char *value) {
    ms_schedule_kind kind = MS_SCHEDULE_CUSTOM;
    if (ms_schedule_kind_from_name(value, &kind) != MS_OK) {
        return false;
    }
    spec->schedule.kind = kind;
    spec->schedule.csv = NULL;
    return true;
}

/* Setter of recompute. Returns false, with the spec unchanged, for a text that is none of its
 * words. */
static bool set_recompute(ms_job_spec *spec, const char *value) {
    int word = ms_word_index(value, ms_job_spec_words("recompute"), MS_RECOMPUTE_SELECTIVE + 1);
    spec->choices.recompute = word >= 0 ? (ms_recompute)word : spec->choices.recompute;
    return word >= 0;
}

/* Setter of tensor_parallel.sequence, a truth value. Returns false, with the spec unchanged, for
 * any other text. */
static bool set_sequence(ms_job_spec *spec, const char *value) {
    static const char *const WORDS[] = {"false", "true"};
    int word = ms_word_index(value, WORDS, 2);
    spec->choices.has_sequence_parallel =
        word < 0 ? spec->choices.has_sequence_parallel : word == 1;
    return word >= 0;
}

/* A key whose value is an int in the spec. */
#define NUMBER(member) .offset = offsetof(ms_job_spec, member)

/* Three keys have functions of their own; the others are ints in the spec, set at their offset. */
const ms_setter *ms_space_setter(const char *key) {
    static const ms_setter SETTERS[] = {
        {"schedule.kind", .set = set_kind},
        {"recompute", .set = set_recompute},
        {"tensor_parallel.sequence", .set = set_sequence},
        {"schedule.v", NUMBER(schedule.chunks)},
        {"schedule.group", NUMBER(schedule.group)},
        {"batch.micro", NUMBER(batch.micro)},
        {"batch.global", NUMBER(batch.global)},
        {"data_parallel.zero", NUMBER(choices.zero)},
        {"expert_mesh.ep", NUMBER(experts.ep)},
        {"expert_mesh.tp", NUMBER(experts.tp)},
    };
    for (size_t i = 0; i < sizeof SETTERS / sizeof SETTERS[0]; i++) {
        if (strcmp(SETTERS[i].key, key) == 0) {
            return &SETTERS[i];
        }
    }
    return NULL;
}

bool ms_space_set(const ms_setter *setter, const char *value, ms_job_spec *spec) {
    return setter->set != NULL ? setter->set(spec, value)
                               : read_int(value, (int *)(void *)((char *)spec + setter->offset));
}

/* ---- from YAML ---- */

/* Read one key with its value. The setter is kept only if it takes the value, which a trial on an
 * empty spec shows; otherwise the key is read with the file. *setting_out: borrows the key; the
 * value is in `arena`. */
static ms_status read_setting(const char *key, const ms_node *node, ms_arena *arena, ms_diag *diag,
                              space_setting *setting_out) {
    ms_job_spec trial = {0};
    const char *value = ms_sweep_value_text(node, arena);
    *setting_out = (space_setting){.key = key, .value = value};
    if (value == NULL || key == NULL) {
        return ms_diag_no_memory(diag);
    }
    const ms_setter *setter = node->type == MS_NODE_SCALAR ? ms_space_setter(key) : NULL;
    setting_out->setter = setter != NULL && ms_space_set(setter, value, &trial) ? setter : NULL;
    return MS_OK;
}

/* A mapping gives one setting per key below `key`, any other node a single setting of `key`. */
ms_status ms_space_read_value(const char *key, const ms_node *node, ms_arena *arena, ms_diag *diag,
                              space_value *value_out) {
    bool is_composite = node->type == MS_NODE_MAPPING;
    size_t count = is_composite ? node->count : 1;
    space_setting *settings = MS_NEW(arena, space_setting, count);
    if (settings == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_status status = MS_OK;
    if (!is_composite) {
        status = read_setting(key, node, arena, diag, settings);
    }
    const ms_node *child = is_composite ? node->first : NULL;
    for (size_t i = 0; child != NULL && status == MS_OK; child = child->next, i++) {
        const char *path = ms_arena_printf(arena, "%s.%s", key, child->key);
        status = read_setting(path, child, arena, diag, &settings[i]);
    }
    *value_out = (space_value){.settings = settings, .count = count};
    return status;
}
