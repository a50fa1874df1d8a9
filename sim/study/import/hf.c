/* `import hf`: a config of Hugging Face's Transformers. */
#include <string.h>

#include "meshsim/hf.h"
#include "study/import/kinds.h"

/* What trains the model, which no config says. Without software a simulated job overlaps nothing
 * and shards nothing, which no user means; Megatron Core is what models are most often pretrained
 * with at the sizes that clusters are planned for, and its documentation asks for sequence
 * parallelism wherever tensor parallelism is used (megatron.core.model_parallel_config,
 * sequence_parallel). */
static const char FRAMEWORK[] = "framework", SEQUENCE[] = "tensor_parallel.sequence";

/* Whether the user says a key, or one above it. */
static bool is_set(const ms_import_source *source, const char *key) {
    for (size_t i = 0; i < source->set_count; i++) {
        size_t length = strcspn(source->sets[i], "=");
        bool is_above = strncmp(source->sets[i], key, length) == 0;
        if (is_above && (key[length] == '\0' || key[length] == '.')) {
            return true;
        }
    }
    return false;
}

/* Both branches of a parallel block cannot have a norm beside sequence parallelism. */
static bool has_sequence(const ms_import_source *source, const ms_node *model) {
    return ms_node_get(model, "branch_norms") == NULL && !is_set(source, SEQUENCE);
}

static ms_status assume(const char *key, const char *value, const char *why, ms_arena *arena,
                        ms_diag *diag, ms_imported *out) {
    const ms_import_setting setting = {.key = key, .value = value};
    const ms_source_key told = {.key = key, .value = value, .fate = MS_SOURCE_ASSUMED, .why = why};
    ms_status status = ms_import_set(out, &setting, arena, diag);
    if (status == MS_OK && ms_source_keys_add(&out->keys, &told, arena) != MS_OK) {
        status = ms_diag_no_memory(diag);
    }
    return status;
}

/* The user's framework goes with the user's other choices. */
ms_status ms_import_assume_software(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                                    ms_imported *out) {
    const ms_node *model = ms_node_get(out->root, "model");
    if (is_set(source, FRAMEWORK)) {
        return MS_OK;
    }
    out->remarks = ms_arena_printf(arena,
                                   "%s# assumed: framework: no config says what trains the model; "
                                   "torchtitan, deepspeed and others: --set framework=NAME\n",
                                   out->remarks == NULL ? "" : out->remarks);
    if (out->remarks == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_status status =
        assume(FRAMEWORK, "megatron-core",
               "no config says what trains the model: --set framework=NAME", arena, diag, out);
    if (status == MS_OK && has_sequence(source, model)) {
        status = assume(SEQUENCE, "true", "what Megatron Core asks for beside tensor parallelism",
                        arena, diag, out);
    }
    return status;
}

/* Set the remark at the head of the file: what of the config is not simulated. */
static ms_status remark(const ms_node *config, ms_arena *arena, ms_diag *diag, ms_imported *out) {
    const char *left_out = ms_hf_left_out(config);
    if (left_out == NULL) {
        return MS_OK;
    }
    out->remarks = ms_arena_printf(arena, "# not simulated: %s\n", left_out);
    return out->remarks == NULL ? ms_diag_no_memory(diag) : MS_OK;
}

static ms_status read_hf(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                         ms_imported *out) {
    ms_node *config = NULL, *model = NULL;
    if (source->file_count != 1) {
        ms_diag_error(diag, "expected one file, got %zu", source->file_count);
        return MS_E_USAGE;
    }
    ms_status status = ms_hf_load(source->files[0], arena, diag, &config);
    status = status == MS_OK ? ms_hf_model(config, arena, diag, &out->keys, &model) : status;
    if (status != MS_OK) {
        return status;
    }
    out->root = ms_import_new_mapping(arena);
    out->about = ms_arena_printf(arena, "the Hugging Face config %s", source->files[0]);
    if (out->root == NULL || out->about == NULL) {
        return ms_diag_no_memory(diag);
    }
    model->key = "model";
    ms_node_append(out->root, model);
    status = remark(config, arena, diag, out);
    return status == MS_OK ? ms_import_assume_software(source, arena, diag, out) : status;
}

ms_status ms_import_config(const char *path, ms_arena *arena, ms_diag *diag,
                           ms_imported *imported_out) {
    const ms_import_source source = {.files = &path, .file_count = 1};
    *imported_out = (ms_imported){.about = ""};
    return read_hf(&source, arena, diag, imported_out);
}

const ms_import_kind ms_import_hf = {
    .name = "hf",
    .product = MS_IMPORT_WORKLOAD,
    .read = read_hf,
};
