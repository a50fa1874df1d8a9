/* `import megatron`: the arguments of a run of Megatron-LM. */
#include <string.h>

#include "study/import/kinds.h"
#include "study/import/megatron_parts.h"

static const char FRAMEWORK[] = "framework=";

/* One import. */
typedef struct megatron_import {
    const ms_import_source *source;
    ms_arena *arena;
    ms_diag *diag;
    ms_imported *out;
    ms_megatron_arguments arguments;
    ms_megatron_job job;
} megatron_import;

static bool is_yaml_name(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static ms_status load(const megatron_import *m, ms_text *texts) {
    for (size_t i = 0; i < m->source->file_count; i++) {
        const char *path = m->source->files[i];
        ms_buffer bytes;
        ms_buffer_init(&bytes);
        ms_status status =
            ms_file_read(path, is_yaml_name(path) ? MS_FILE_YAML : MS_FILE_TEXT, &bytes, m->diag);
        const char *copy = NULL;
        if (status == MS_OK) {
            char *kept = MS_NEW(m->arena, char, bytes.length + 1);
            copy = kept;
            if (kept != NULL && bytes.length > 0) {
                memcpy(kept, bytes.data, bytes.length);
            }
        }
        texts[i] = (ms_text){path, copy, bytes.length};
        ms_buffer_release(&bytes);
        if (status != MS_OK || copy == NULL) {
            return status == MS_OK ? ms_diag_no_memory(m->diag) : status;
        }
    }
    return MS_OK;
}

/* The framework that an override names: what it holds is asked for before. */
static const char *framework_of(const ms_import_source *source) {
    static const char *const KEYS[] = {FRAMEWORK, "framework.name="};
    const char *found = NULL;
    for (size_t i = 0; i < source->set_count; i++) {
        for (size_t j = 0; j < sizeof KEYS / sizeof KEYS[0]; j++) {
            size_t length = strlen(KEYS[j]);
            bool is_it = strncmp(source->sets[i], KEYS[j], length) == 0;
            found = is_it ? source->sets[i] + length : found;
        }
    }
    return found;
}

/* ---- the tree ---- */

static ms_status hang_settings(const megatron_import *m) {
    const ms_import_setting framework = {.key = "framework", .value = m->job.framework};
    ms_status status = ms_import_set(m->out, &framework, m->arena, m->diag);
    for (size_t i = 0; i < m->job.settings.count && status == MS_OK; i++) {
        const ms_megatron_setting *setting = &MS_AT(&m->job.settings, ms_megatron_setting, i);
        const ms_import_setting one = {setting->key, setting->value, setting->from, setting->mark};
        status = ms_import_set(m->out, &one, m->arena, m->diag);
    }
    return status;
}

/* ---- what became of the arguments ---- */

static void remark(ms_buffer *remarks, const char *name, const char *what) {
    ms_buffer_puts(remarks, "# ");
    ms_buffer_puts_inline(remarks, name);
    ms_buffer_printf(remarks, ": %s\n", what == NULL ? "" : what); /* NULL: a short arena */
}

static ms_status tell_argument(const megatron_import *m, const ms_megatron_argument *argument,
                               ms_buffer *remarks) {
    static const ms_source_fate FATES[] = {MS_SOURCE_UNKNOWN, MS_SOURCE_USED, MS_SOURCE_IGNORED,
                                           MS_SOURCE_IGNORED}; /* as ms_megatron_use */
    const char *why = argument->why;
    if (argument->use == MS_MEGATRON_DIFFERENT) {
        why = ms_arena_printf(m->arena, "simulated otherwise: %s", argument->why);
        remark(remarks, argument->name, why);
    } else if (argument->use == MS_MEGATRON_UNKNOWN) {
        remark(remarks, argument->name, "not known");
    }
    const ms_source_key key = {.key = argument->name,
                               .value = argument->value[0] == '\0' ? NULL : argument->value,
                               .fate = FATES[argument->use],
                               .why = why,
                               .mark = argument->mark};
    ms_status status = ms_source_keys_add(&m->out->keys, &key, m->arena);
    return status == MS_OK ? MS_OK : ms_diag_no_memory(m->diag);
}

/* What a script left to its surroundings, and how it was read. */
static ms_status tell_note(const megatron_import *m, const ms_megatron_note *note,
                           ms_buffer *remarks) {
    const ms_source_key key = {.key = note->what,
                               .value = note->took == NULL
                                            ? "left out"
                                            : ms_arena_printf(m->arena, "takes %s", note->took),
                               .fate = MS_SOURCE_ASSUMED,
                               .why = note->why,
                               .mark = note->mark};
    ms_buffer_printf(remarks, "# line %d: ", note->mark.line);
    ms_buffer_puts_inline(remarks, note->what);
    ms_buffer_puts(remarks, ": ");
    ms_buffer_puts_inline(remarks, key.value == NULL ? "" : key.value);
    ms_buffer_puts(remarks, ", ");
    ms_buffer_puts_inline(remarks, note->why);
    ms_buffer_puts(remarks, "\n");
    bool has_all = key.value != NULL && ms_source_keys_add(&m->out->keys, &key, m->arena) == MS_OK;
    return has_all ? MS_OK : ms_diag_no_memory(m->diag);
}

/* Comments name what was taken on a doubt, and what is simulated otherwise. */
static ms_status tell_all(const megatron_import *m) {
    ms_buffer remarks;
    ms_buffer_init(&remarks);
    ms_status status = MS_OK;
    for (size_t i = 0; i < m->arguments.notes.count && status == MS_OK; i++) {
        status = tell_note(m, &MS_AT(&m->arguments.notes, ms_megatron_note, i), &remarks);
    }
    for (size_t i = 0; i < m->arguments.items.count && status == MS_OK; i++) {
        status = tell_argument(m, &MS_AT(&m->arguments.items, ms_megatron_argument, i), &remarks);
    }
    m->out->remarks = remarks.failed ? NULL : ms_arena_strdup(m->arena, ms_buffer_text(&remarks));
    ms_buffer_release(&remarks);
    return m->out->remarks == NULL ? ms_diag_no_memory(m->diag) : status;
}

static ms_status import(megatron_import *m) {
    ms_text *texts = MS_NEW(m->arena, ms_text, m->source->file_count + 1);
    const ms_megatron_facts facts = {.framework = framework_of(m->source),
                                     .gpus = m->source->gpus,
                                     .data_folder = m->source->data_folder};
    ms_status status = texts == NULL ? ms_diag_no_memory(m->diag) : load(m, texts);
    status = status == MS_OK ? ms_megatron_read(texts, m->source->file_count, m->source->defines,
                                                m->arena, m->diag, &m->arguments)
                             : status;
    status = status == MS_OK
                 ? ms_megatron_translate(&m->arguments, &facts, m->arena, m->diag, &m->job)
                 : status;
    m->out->gpus = m->job.gpus;
    status = status == MS_OK ? hang_settings(m) : status;
    return status == MS_OK ? tell_all(m) : status;
}

static ms_status read_megatron(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                               ms_imported *out) {
    megatron_import m = {.source = source, .arena = arena, .diag = diag, .out = out};
    out->root = ms_import_new_mapping(arena);
    out->about = ms_arena_printf(arena, "the arguments of Megatron-LM in %s", source->files[0]);
    if (out->root == NULL || out->about == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_megatron_arguments_init(&m.arguments);
    ms_megatron_job_init(&m.job);
    ms_status status = import(&m);
    ms_megatron_arguments_release(&m.arguments);
    ms_megatron_job_release(&m.job);
    return status;
}

const ms_import_kind ms_import_megatron = {
    .name = "megatron",
    .product = MS_IMPORT_WORKLOAD,
    .read = read_megatron,
};
