/* Keys that the user gave and that change nothing in the job at hand. */
#ifndef MS_RUN_IDLE_KEYS_H
#define MS_RUN_IDLE_KEYS_H

#include "meshsim/job.h"

/* Fill a loaded job's notes: of the keys that stand in the workload (not of their defaults) those
 * that ask for something which this job has no place for. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_idle_keys_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job);

#endif
