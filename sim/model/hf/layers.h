/* Which layers of a config have experts. */
#ifndef MS_MODEL_HF_LAYERS_H
#define MS_MODEL_HF_LAYERS_H

#include "model/hf/hf.h"

/* Put into the model which layers keep a dense MLP. layers: number of the model's layers. Returns
 * whether any layer does. */
bool ms_hf_put_dense_layers(ms_hf_reader *r, int layers);

#endif
