/**
 * @file
 * Balanced layer partitions: layers shared among pipeline stages so that the estimated step is
 * short.
 */
#ifndef MESHSIM_LAYER_PARTITION_H
#define MESHSIM_LAYER_PARTITION_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** Share the layers of a balanced partition among the stages so that the estimated step is short;
 * if partitions were found with which the job fits in memory, one of these. A partition that is
 * known already stays.
 *  job: of ms_job_lay_out; its layout.stage_layers is filled, in `arena`, where it has a model.
 * Returns MS_OK; MS_E_NOMEM (reported); MS_E_INPUT (reported) where the parallel degrees do not
 * suit the model.  O(1) estimates, as in ms_estimator_run, for each layer that moves. */
ms_status ms_layer_partition_balance(ms_job *job, ms_arena *arena, ms_diag *diag);

#endif
