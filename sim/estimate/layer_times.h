/**
 * @file
 * Layer times: times of a model's layers and of its two ends (embedding and head) on a platform, by
 * which a balanced partition shares layers out to pipeline stages. A closed form: no graph is built
 * and nothing is simulated.
 */
#ifndef MESHSIM_LAYER_TIMES_H
#define MESHSIM_LAYER_TIMES_H

#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** Times of one microbatch in a step, forward and backward pass together [s]. */
typedef struct ms_layer_times {
    const double *layer_s; /**< [layers] time of each transformer layer */
    double first_s;        /**< time of the embedding, on the first stage */
    double last_s;         /**< time of head and prediction modules, on the last stage */
} ms_layer_times;

/** Find how long each layer and both ends of the model take for one microbatch. Each layer is timed
 * with equal numbers of layers on the pipeline ranks. A time is that of the computation, or of the
 * host's launches where they take longer, plus the communication that passes wait for. This
 * communication is timed as if the links carried no other kind of communication. Operations of the
 * step's first or last microbatch alone are left out.
 *  job: with a model; the members stage_layers and stage_rank of its layout are not used.
 * *times_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) where degrees clash with the model;
 * MS_E_NOMEM (reported).  O(layers + ranks * links of a route), no engine. */
ms_status ms_layer_times_find(const ms_job *job, ms_arena *arena, ms_diag *diag,
                              ms_layer_times *times_out);

#endif
