/**
 * @file
 * Balanced layer partitions: layers are shared out to pipeline stages so that the estimated step is
 * short. The function is in estimator.c, as it needs estimates.
 */
#ifndef MESHSIM_LAYER_PARTITION_H
#define MESHSIM_LAYER_PARTITION_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** Share out the layers of a balanced partition to the stages so that the estimated step is short.
 * If some of the partitions that are tried fit in memory, one of these is taken. A job whose
 * layout.stage_layers is set already, or that has no model, stays as it is.
 *  job: of ms_job_lay_out; its layout.stage_layers is set, in `arena`. Returns MS_OK; MS_E_NOMEM
 * (reported); MS_E_INPUT (reported) where the parallel degrees do not suit the model.  O(1)
 * estimates, as in ms_estimator_run, for each layer that moves. */
ms_status ms_layer_partition_balance(ms_job *job, ms_arena *arena, ms_diag *diag);

#endif
