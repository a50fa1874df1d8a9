/* Which layers of a config have a window. */
#ifndef MS_MODEL_HF_WINDOWS_H
#define MS_MODEL_HF_WINDOWS_H

#include "model/hf/hf.h"

/* Put into the model the window of its layers, and which of them have none. One that follows no
 * rhythm is left out, and its keys are not used.  layers: of the model.  is_usual: where the config
 * says nothing of which, every layer has the window that it names. */
void ms_hf_put_windows(ms_hf_reader *r, int layers, bool is_usual);

#endif
