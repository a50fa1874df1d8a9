/* Which layers of a config have a window. */
#ifndef MS_MODEL_HF_WINDOWS_H
#define MS_MODEL_HF_WINDOWS_H

#include "model/hf/hf.h"

/* Put into the model the window of its layers, and which layers have none. Windows on layers that
 * follow no rhythm are left out, and their keys are not counted as used. layers: number of the
 * model's layers. is_usual: the family has windows on every layer where the config does not say on
 * which. */
void ms_hf_put_windows(ms_hf_reader *r, int layers, bool is_usual);

#endif
