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
#include "meshsim/spec.h"
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
    ms_spec_host host;          /**< how ranks launch their operations */
} ms_layer_times_input;

/** Times of a microbatch in a step, forward and backward [s]. */
typedef struct ms_layer_times {
    const double *layer_s; /**< [layers] */
    double first_s;        /**< what the first stage has besides: the embedding */
    double last_s;         /**< what the last stage has besides: head and prediction modules */
} ms_layer_times;

/** Time a microbatch through the model, its layers in equal numbers on the pipeline ranks, as most
 * microbatches of a step take it: without what runs on the step's first or last one alone.
 * Computation, or the host's launches where they take longer, and communication that passes wait
 * for, with nothing but its own kind on the links.  *times_out: in `arena`.  Returns MS_OK;
 * MS_E_INPUT (reported) where degrees clash with the model; MS_E_NOMEM (reported).  O(layers +
 * ranks * links of a route), no engine. */
ms_status ms_layer_times_find(const ms_layer_times_input *input, ms_arena *arena, ms_diag *diag,
                              ms_layer_times *times_out);

MS_END_DECLS

#endif
