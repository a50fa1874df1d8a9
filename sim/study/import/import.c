/* What all kinds of imports share: the table of kinds, overrides, the file that is written. */
#include <string.h>

#include "meshsim/platform.h"
#include "study/import/kinds.h"

/* In the order of the help page. A row is added together with its file. */
static const ms_import_kind *const KINDS[] = {&ms_import_hf, NULL};

enum { KIND_MAX = sizeof KINDS / sizeof KINDS[0] };

const ms_import_kind *ms_import_find_kind(const char *name, ms_diag *diag) {
    const char *names[KIND_MAX];
    size_t count = 0;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        if (strcmp(KINDS[i]->name, name) == 0) {
            return KINDS[i];
        }
        names[count++] = KINDS[i]->name;
    }
    ms_diag_unknown(diag, "kind", name, names, count);
    return NULL;
}

/* Whether no override has said a key since. */
static bool is_open(const ms_imported *imported, const ms_import_open *open) {
    bool is_there = false;
    const ms_node *node = ms_node_at(imported->root, open->key, &is_there);
    return is_there && node->type == MS_NODE_SCALAR && strcmp(node->text, MS_IMPORT_REQUIRED) == 0;
}

/* Keys of mappings that are missing; the model is not complete without its own. */
static bool find_open(ms_imported *out) {
    bool is_model_open = false;
    for (const ms_import_open *open = out->first_open; open != NULL; open = open->next) {
        bool is_missing = is_open(out, open);
        if (is_missing && out->missing_count < MS_IMPORT_MISSING_MAX) {
            out->missing[out->missing_count++] = open->key;
        }
        is_model_open = is_model_open || (is_missing && strncmp(open->key, "model.", 6) == 0);
    }
    return is_model_open;
}

/* What the user says of keys that the source leaves out. */
static ms_status fill(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                      ms_node *root) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < source->fill_count && status == MS_OK; i++) {
        const char *text = source->fills[i];
        const char *key = ms_arena_strndup(arena, text, strcspn(text, "="));
        if (key == NULL) {
            return ms_diag_no_memory(diag);
        }
        status = ms_config_has(root, key) ? MS_OK : ms_node_set(root, text, arena, diag);
    }
    return status;
}

static ms_status override(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                          ms_node *root) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < source->set_count && status == MS_OK; i++) {
        status = ms_node_set(root, source->sets[i], arena, diag);
    }
    return status;
}

/* Whether overrides say how many nodes there are. */
static ms_status say_nodes(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                           bool *are_said_out) {
    ms_node *said = ms_import_new_mapping(arena);
    ms_status status = said == NULL ? ms_diag_no_memory(diag) : override(source, arena, diag, said);
    if (status == MS_OK) {
        ms_node_at(said, "platform.nodes", are_said_out);
    }
    return status;
}

static void pass_over(void *context, const char *text) {
    (void)context;
    (void)text;
}

/* GPUs of a node of the workload's platform; 0: there is none, or none that is found from here, as
 * where the workload goes to another folder. */
static int find_node_gpus(const ms_import_source *source, ms_arena *arena, const ms_node *file) {
    const char *const *folders = NULL;
    ms_platform platform;
    ms_diag silent;
    ms_diag_init(&silent, pass_over, NULL);
    bool is_found =
        file != NULL && file->type == MS_NODE_SCALAR &&
        ms_platform_folders(NULL, source->data_folder, arena, &folders) == MS_OK &&
        ms_platform_load(file->text, folders, NULL, arena, &silent, &platform, NULL) == MS_OK;
    return is_found ? platform.gpus_per_node : 0;
}

/* As many nodes as the GPUs of the job fill, or why not. */
static ms_status fit_nodes(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                           ms_imported *out) {
    bool is_there = false, are_said = false;
    const ms_node *file = ms_node_at(out->root, "platform.file", &is_there);
    if (out->gpus == 0 || source->gpus > 0 || !is_there) {
        return MS_OK;
    }
    ms_status status = say_nodes(source, arena, diag, &are_said);
    int of_node = status == MS_OK && !are_said ? find_node_gpus(source, arena, file) : 0;
    if (status != MS_OK || of_node == 0) {
        return status;
    }
    if (out->gpus % of_node == 0) {
        const char *nodes = ms_arena_printf(arena, "%d", out->gpus / of_node);
        const ms_import_setting setting = {.key = "platform.nodes", .value = nodes};
        return nodes == NULL ? ms_diag_no_memory(diag) : ms_import_set(out, &setting, arena, diag);
    }
    out->remarks = ms_arena_printf(
        arena, "%s# platform.nodes: %d GPUs of the job do not fill nodes of %d each\n",
        out->remarks == NULL ? "" : out->remarks, out->gpus, of_node);
    return out->remarks == NULL ? ms_diag_no_memory(diag) : MS_OK;
}

/* The overrides, and what the model then is. */
static ms_status complete(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                          ms_imported *out) {
    ms_status status = fill(source, arena, diag, out->root);
    status = status == MS_OK ? override(source, arena, diag, out->root) : status;
    ms_config_take_out(out->root, MS_WORKLOAD_FIELDS);
    status = status == MS_OK ? fit_nodes(source, arena, diag, out) : status;
    const ms_node *model = ms_node_get(out->root, "model");
    out->missing_count = ms_job_spec_missing(out->root, out->missing);
    bool is_model_open = find_open(out);
    if (status == MS_OK && model != NULL && !is_model_open) {
        out->has_model = true;
        status = ms_model_read(model, "model", arena, diag, &out->model);
    }
    return status;
}

ms_status ms_import_read(const char *kind, const ms_import_source *source, ms_arena *arena,
                         ms_diag *diag, ms_imported *imported_out) {
    const ms_import_kind *found = ms_import_find_kind(kind, diag);
    if (found == NULL) {
        return MS_E_USAGE;
    }
    ms_imported imported = {.about = "", .product = found->product};
    ms_status status = found->read(source, arena, diag, &imported);
    if (status == MS_OK && found->product == MS_IMPORT_WORKLOAD) {
        status = complete(source, arena, diag, &imported);
    }
    if (status == MS_OK) {
        *imported_out = imported;
    }
    return status;
}

/* What the user owes first, then what else is to say of the source. */
static void write_comments(const ms_imported *imported, ms_buffer *out) {
    for (const ms_import_open *open = imported->first_open; open != NULL; open = open->next) {
        if (is_open(imported, open)) {
            ms_buffer_printf(out, "# required: %s  # ", open->key);
            ms_buffer_puts_inline(out, open->why);
            ms_buffer_puts(out, "\n");
        }
    }
    ms_buffer_puts(out, imported->remarks == NULL ? "" : imported->remarks);
}

void ms_import_write(const ms_imported *imported, ms_buffer *out) {
    if (imported->product == MS_IMPORT_TABLE) {
        ms_table_write_csv(&imported->table, out);
        return;
    }
    ms_buffer_puts(out, "# Imported by meshsim from ");
    ms_buffer_puts_inline(out, imported->about);
    ms_buffer_puts(out, ".\n");
    write_comments(imported, out);
    ms_job_spec_write_draft(imported->root, out);
}
