/**
 * @file
 * Configs of Hugging Face's Transformers (`config.json`) as the `model:` of a workload.
 */
#ifndef MESHSIM_HF_H
#define MESHSIM_HF_H

#include "meshsim/arena.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/source_keys.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Read a config file, or that of a model's folder.
 *  path: of a JSON file, or of a folder that holds `config.json`.  *config_out: in `arena`. Returns
 * as ms_config_load_json. */
ms_status ms_hf_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **config_out);

/** Make the `model:` mapping of a config: what it says, with Transformers' own defaults of the
 * model's type for what it leaves out. Of a config of several models it is that of the text.
 *  config: as ms_hf_load gives it.  keys: gets what became of each key; NULL: nobody asks.
 *  *model_out: a mapping that ms_model_read takes, in `arena`; its values stand where those of the
 * config do.  Returns MS_OK; MS_E_INPUT, every fault reported: a type of model that is not known, a
 * value of another type, a size that is neither given nor has a default; MS_E_NOMEM.
 *  Source: huggingface/transformers, configuration and modeling of each type.  O(keys).
 */
ms_status ms_hf_model(const ms_node *config, ms_arena *arena, ms_diag *diag, ms_source_keys *keys,
                      ms_node **model_out);

/** What of a config's type of models is not simulated, in a few words.
 *  config: one that ms_hf_model takes.  Returns a text of static life; NULL: nothing. */
const char *ms_hf_left_out(const ms_node *config);

MS_END_DECLS

#endif
