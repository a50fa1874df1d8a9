/* A workload with one schedule in the place of its own. */
#ifndef MS_STUDY_SCHEDULE_REQUEST_H
#define MS_STUDY_SCHEDULE_REQUEST_H

#include "meshsim/schedules.h"

/* A workload: as it was asked for, and loaded with its own schedule. */
typedef struct ms_schedule_base {
    const ms_job_request *request;
    const ms_job *job;
} ms_schedule_base;

/* What to ask for. */
typedef struct ms_schedule_request {
    ms_job_request job;
    const char *reason; /* why the schedule cannot run in the workload; NULL: it can */
    bool is_dealt_anew; /* as in ms_simulated_row */
} ms_schedule_request;

/* Ask for a workload with a schedule in the place of its own.
 *  sizes: as in ms_simulated_study.  *request_out: in `arena`, what the base borrows stays
 * borrowed. Returns MS_OK, also with a reason; as ms_schedule_open for a file; MS_E_NOMEM; all
 * reported. */
ms_status ms_schedule_request_make(const ms_schedule_base *base, const ms_schedule_choice *choice,
                                   const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                   ms_schedule_request *request_out);

#endif
