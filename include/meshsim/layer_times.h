/**
 * @file
 * Layer times: what a model's layers and its two ends take on a platform, so that they can be
 * shared among pipeline stages. A closed form: no graph is built and nothing is simulated.
 */
#ifndef MESHSIM_LAYER_TIMES_H
#define MESHSIM_LAYER_TIMES_H

#include "meshsim/collective.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/mesh.h"
#include "meshsim/model.h"
#include "meshsim/platform.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** What is timed. All borrowed. */
typedef struct ms_layer_times_input {
    const ms_platform *platform;
    const ms_mesh *mesh;
    const ms_mesh *expert_mesh; /**< the experts' own view of its ranks; NULL: `mesh` */
    const ms_model *model;
    const ms_model_layout *layout; /**< stage_layers and stage_rank are not used */
    const ms_precision *precision;
    ms_coll_choices algorithms; /**< what collectives are laid out by */
} ms_layer_times_input;

/** Times of one microbatch, forward and backward [s]. */
typedef struct ms_layer_times {
    double layer_s; /**< a layer on average */
    double first_s; /**< what the first stage has besides: the embedding */
    double last_s;  /**< what the last stage has besides: head and prediction modules */
} ms_layer_times;

/** Time one microbatch through the model, its layers in equal numbers on the pipeline ranks:
 * computation, and communication that is not hidden inside a pass, with nothing but its own kind on
 * the links.  Returns MS_OK; MS_E_INPUT (reported) where degrees clash with the model; MS_E_NOMEM
 * (reported).  O(layers + ranks * links of a route), no engine. */
ms_status ms_layer_times_find(const ms_layer_times_input *input, ms_diag *diag,
                              ms_layer_times *times_out);

MS_END_DECLS

#endif
