/**
 * @file
 * Configs of Hugging Face's Transformers (`config.json`) as the `model:` of a workload.
 */
#ifndef MESHSIM_HF_H
#define MESHSIM_HF_H

#include "base/arena.h"
#include "base/config/config.h"
#include "base/config/source_keys.h"
#include "base/diag.h"
#include "base/status.h"

/** Read a config file, or that of a model's folder.
 *  path: of a JSON file, or of a folder that holds `config.json`.  *config_out: in `arena`. Returns
 * as ms_config_load_json. */
ms_status ms_hf_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **config_out);

/** Read the table of model types, workloads/families/hugging-face.yaml.
 *  data_folder: of installed data; NULL: the file is looked for below the current folder alone.
 *  *types_out: in `arena`.  Returns as ms_yaml_load; MS_E_INPUT (reported) where there is no file.
 */
ms_status ms_hf_load_types(const char *data_folder, ms_arena *arena, ms_diag *diag,
                           ms_node **types_out);

/** A model that was made from a config. */
typedef struct ms_hf_result {
    ms_node *model;       /**< a mapping that ms_model_read takes, in the arena; its values stand
                             where those of the config do */
    ms_source_keys keys;  /**< what became of each key */
    const char *left_out; /**< features of the type of models that are not simulated, in a few
                             words; NULL: none */
} ms_hf_result;

/** Make the `model:` mapping of a config: its own values, and Transformers' defaults of the model's
 * type for keys that it leaves out. In a config of several models, the mapping is that of the text
 * model. types: of ms_hf_load_types. config: of ms_hf_load. *result_out: borrows both. Returns
 * MS_OK; MS_E_INPUT, every fault reported: a type of model that is not known, a value of another
 * type, a size that is neither given nor has a default; MS_E_NOMEM. Source:
 * huggingface/transformers, configuration and modeling of each type. O(keys). */
ms_status ms_hf_model(const ms_node *types, const ms_node *config, ms_arena *arena, ms_diag *diag,
                      ms_hf_result *result_out);

#endif
