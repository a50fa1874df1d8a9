/* How many parameters a model has, as JSON and on pages. */
#ifndef MS_CLI_SHOW_PARAMETERS_H
#define MS_CLI_SHOW_PARAMETERS_H

#include "meshsim/buffer.h"
#include "meshsim/model.h"
#include "meshsim/value.h"

/* Add `parameters`: of the whole model, without its prediction modules, with the head tied to the
 * embedding and not. */
void ms_show_add_parameters(const ms_model *model, ms_value *root);

/* Append the line that begins with "model", and one each for prediction modules and a tied head. */
void ms_show_parameters(const ms_model *model, ms_buffer *page);

#endif
