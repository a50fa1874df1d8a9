/* Which stage has which layers. */
#ifndef MS_RUN_PARTITION_H
#define MS_RUN_PARTITION_H

#include "meshsim/job.h"

/* Fill job->layout.stage_layers for the stages of job->program: given one by one, or even or
 * balanced shares beside given ends. All else of the layout and the precision are known.  Returns
 * MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
ms_status ms_partition_layers(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job);

#endif
