/* `model: {hf: config.json}` of a workload: the model of a Hugging Face config is laid below the
 * model's own keys, which count first. */
#include <string.h>

#include "job/internal.h"
#include "model/hf.h"

/* Lay the model of the Hugging Face config that `model.hf` names below the model's other keys. Then
 * the key `hf` is removed, as the tree has all of the config's model. */
ms_status ms_spec_lay_hf(const char *folder, const char *data_folder, ms_node *root,
                         ms_arena *arena, ms_diag *diag) {
    ms_node *model = ms_node_get(root, "model");
    const ms_node *hf = ms_node_get(model, "hf");
    if (hf == NULL || ms_node_is_removal(hf)) {
        return MS_OK;
    }
    if (hf->type != MS_NODE_SCALAR || hf->text[0] == '\0') {
        return ms_config_fault(diag, hf, "model.hf",
                               "expected the path of a Hugging Face config, or of its folder");
    }
    bool is_whole = hf->text[0] == '/' || strcmp(folder, ".") == 0;
    const char *path = is_whole ? hf->text : ms_arena_printf(arena, "%s/%s", folder, hf->text);
    ms_node *config = NULL, *types = NULL;
    ms_hf_result result = {.model = NULL};
    ms_status status = path == NULL ? ms_diag_no_memory(diag) : MS_OK;
    status = status == MS_OK ? ms_hf_load(path, arena, diag, &config) : status;
    status = status == MS_OK ? ms_hf_load_types(data_folder, arena, diag, &types) : status;
    status = status == MS_OK ? ms_hf_model(types, config, arena, diag, &result) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_node_remove(model, hf);
    return ms_node_underlay(model, result.model, arena);
}
