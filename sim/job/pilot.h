/* What layers and the ends of a model take on the job's platform. */
#ifndef MS_JOB_PILOT_H
#define MS_JOB_PILOT_H

#include "meshsim/job.h"

/* Times of one microbatch, forward and backward [s]. */
typedef struct ms_pilot_times {
    double layer_s; /* a layer on average */
    double first_s; /* what the first stage has besides: the embedding */
    double last_s;  /* what the last stage has besides: head and prediction modules */
} ms_pilot_times;

/* Run one microbatch through the model, its layers in equal numbers on the pipeline ranks, with
 * closed forms: computation, and communication that is not hidden inside a pass. The job needs
 * platform, mesh, model, layout and precision.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM.
 */
ms_status ms_pilot_run(const ms_job *job, ms_diag *diag, ms_pilot_times *times_out);

#endif
