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

/** Times of one microbatch in a step, forward and backward pass together [s]. */
typedef struct ms_layer_times {
    const double *layer_s; /**< [layers] */
    double first_s;        /**< of the embedding, on the first stage */
    double last_s;         /**< of head and prediction modules, on the last stage */
} ms_layer_times;

/** Time a microbatch through the model, with equal numbers of layers on the pipeline ranks, but for
 * operations that only the step's first or last microbatch has. Counted are computation, or the
 * host's launches where they take longer, and communication that passes wait for, while only
 * communication of the same kind uses the links.  *times_out: in `arena`.  Returns MS_OK;
 * MS_E_INPUT (reported) where degrees clash with the model; MS_E_NOMEM (reported).  O(layers +
 * ranks * links of a route), no engine. */
ms_status ms_layer_times_find(const ms_layer_times_input *input, ms_arena *arena, ms_diag *diag,
                              ms_layer_times *times_out);

MS_END_DECLS

#endif
