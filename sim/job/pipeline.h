/* The schedule of a job. */
#ifndef MS_JOB_PIPELINE_H
#define MS_JOB_PIPELINE_H

#include "job/workload.h"

/* Fill job->program from the workload's `schedule`; mesh and microbatches are known.
 *  home: folder that a CSV file's path starts at.  Returns MS_OK; MS_E_INPUT, MS_E_IO (reported);
 * MS_E_NOMEM. */
ms_status ms_pipeline_build(const ms_workload *w, const char *home, ms_arena *arena, ms_diag *diag,
                            ms_job *job);

#endif
