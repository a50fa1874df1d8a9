/**
 * @file
 * Balanced layer partitions: layers shared among pipeline stages by what they take on a platform.
 */
#ifndef MESHSIM_LAYER_PARTITION_H
#define MESHSIM_LAYER_PARTITION_H

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/layer_times.h"
#include "meshsim/spec.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Times of a job's layers, which know nothing of its schedule: jobs that differ in that alone have
 * the same.
 *  spec: with a model.  laid_out: of ms_job_lay_out with this spec.  Returns as
 * ms_layer_times_find.
 */
ms_status ms_layer_partition_times(const ms_job_spec *spec, const ms_job_layout *laid_out,
                                   ms_diag *diag, ms_layer_times *times_out);

/** Share layers out by their times, as ms_layer_partition_balance does.  Returns MS_OK; MS_E_NOMEM
 * (not reported).  O(layers * stages). */
ms_status ms_layer_partition_share(const ms_job_spec *spec, const ms_layer_times *times,
                                   ms_arena *arena, ms_job_layout *laid_out);

/** Share the layers of a balanced partition out: each to the stage whose pipeline rank is least
 * busy so far, with what the model's ends take counted. A partition that is known already stays.
 *  spec: with a model.  laid_out: of ms_job_lay_out with this spec; layout.stage_layers is filled,
 * in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(layers * stages + ms_layer_times_find). */
ms_status ms_layer_partition_balance(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                     ms_job_layout *laid_out);

MS_END_DECLS

#endif
