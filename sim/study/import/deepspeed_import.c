/* `import deepspeed`: DeepSpeed's configuration, with the config of the model beside it. */
#include "meshsim/deepspeed.h"
#include "meshsim/hf.h"
#include "study/import/kinds.h"

static const char FRAMEWORK[] = "deepspeed";

/* Of one or two files which is the configuration, and which the model's. */
typedef struct deepspeed_files {
    ms_node *config, *model; /* model: NULL: none */
    const char *path;        /* of the configuration */
    int hidden;              /* size of the model; 0: there is none */
    ms_source_keys keys;     /* of its config */
} deepspeed_files;

static ms_status load(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                      deepspeed_files *out) {
    ms_status status = MS_OK;
    if (source->file_count > 2) {
        ms_diag_error(diag, "expected a configuration and the config of its model, got %zu files",
                      source->file_count);
        return MS_E_USAGE;
    }
    for (size_t i = 0; i < source->file_count && status == MS_OK; i++) {
        ms_node *root = NULL;
        status = ms_hf_load(source->files[i], arena, diag, &root);
        bool is_model = status == MS_OK && ms_config_has(root, "model_type");
        bool is_second = status == MS_OK && (is_model ? out->model : out->config) != NULL;
        if (is_second) {
            status = ms_config_fault(diag, root, "",
                                     is_model ? "expected one config of a model, got two"
                                              : "expected one configuration of DeepSpeed, and the "
                                                "model's config, which has a 'model_type'");
        } else if (status == MS_OK && is_model) {
            out->model = root;
        } else if (status == MS_OK) {
            out->config = root;
            out->path = source->files[i];
        }
    }
    if (status == MS_OK && out->config == NULL) {
        status = ms_config_fault(diag, out->model, "",
                                 "expected a configuration of DeepSpeed, got that of a model; "
                                 "'import hf' takes one alone");
    }
    return status;
}

static ms_status hang_settings(const ms_deepspeed_job *job, ms_arena *arena, ms_diag *diag,
                               ms_imported *out) {
    const ms_import_setting framework = {.key = "framework", .value = FRAMEWORK};
    ms_status status = ms_import_set(out, &framework, arena, diag);
    for (size_t i = 0; i < job->settings.count && status == MS_OK; i++) {
        const ms_deepspeed_setting *setting = &MS_AT(&job->settings, ms_deepspeed_setting, i);
        const ms_import_setting one = {setting->key, setting->value, setting->what, setting->mark};
        status = ms_import_set(out, &one, arena, diag);
    }
    out->remarks = ms_arena_strdup(arena, ms_buffer_text(&job->remarks));
    return status == MS_OK && out->remarks == NULL ? ms_diag_no_memory(diag) : status;
}

/* The model's keys, and the size that buckets follow from. */
static ms_status add_model(deepspeed_files *files, ms_arena *arena, ms_diag *diag, ms_node *root) {
    ms_node *model = NULL;
    ms_model sizes;
    if (files->model == NULL) {
        return MS_OK;
    }
    ms_status status = ms_hf_model(files->model, arena, diag, &files->keys, &model);
    if (status == MS_OK) {
        status = ms_model_read(model, "model", arena, diag, &sizes);
    }
    if (status == MS_OK) {
        model->key = "model";
        ms_node_append(root, model);
        files->hidden = sizes.hidden;
    }
    return status;
}

static ms_status import(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                        ms_deepspeed_job *job, ms_imported *out) {
    deepspeed_files files = {.config = NULL};
    ms_status status = load(source, arena, diag, &files);
    if (status != MS_OK) {
        return status;
    }
    out->root = ms_import_new_mapping(arena);
    out->about = ms_arena_printf(arena, "the DeepSpeed configuration %s", files.path);
    if (out->root == NULL || out->about == NULL) {
        return ms_diag_no_memory(diag);
    }
    status = add_model(&files, arena, diag, out->root);
    status = status == MS_OK ? ms_deepspeed_translate(files.config, files.hidden, arena, diag, job)
                             : status;
    status = status == MS_OK ? hang_settings(job, arena, diag, out) : status;
    out->keys = job->keys;
    for (const ms_source_key *key = files.keys.first; key != NULL && status == MS_OK;
         key = key->next) {
        status =
            ms_source_keys_add(&out->keys, key, arena) == MS_OK ? MS_OK : ms_diag_no_memory(diag);
    }
    return status;
}

static ms_status read_deepspeed(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                                ms_imported *out) {
    ms_deepspeed_job job;
    ms_deepspeed_job_init(&job);
    ms_status status = import(source, arena, diag, &job, out);
    ms_deepspeed_job_release(&job);
    return status;
}

const ms_import_kind ms_import_deepspeed = {
    .name = "deepspeed",
    .product = MS_IMPORT_WORKLOAD,
    .read = read_deepspeed,
};
