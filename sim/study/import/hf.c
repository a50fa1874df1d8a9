/* `import hf`: a config of Hugging Face's Transformers. */
#include "meshsim/hf.h"
#include "study/import/kinds.h"

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
    const char *left_out = ms_hf_left_out(config);
    if (left_out != NULL) {
        out->remarks = ms_arena_printf(arena, "# not simulated: %s\n", left_out);
        if (out->remarks == NULL) {
            return ms_diag_no_memory(diag);
        }
    }
    model->key = "model";
    ms_node_append(out->root, model);
    return MS_OK;
}

const ms_import_kind ms_import_hf = {
    .name = "hf",
    .product = MS_IMPORT_WORKLOAD,
    .read = read_hf,
};
