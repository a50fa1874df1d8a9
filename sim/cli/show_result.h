/* The tables that `run` prints for people, 80 columns wide. */
#ifndef MS_CLI_SHOW_RESULT_H
#define MS_CLI_SHOW_RESULT_H

#include "meshsim/buffer.h"
#include "meshsim/job.h"

/* Print a result's tables. */
void ms_show_result(const ms_result *result, ms_buffer *out);

/* Print "mesh  pp 64 x dp 6 x tp 8 = 3072 GPUs ..." and the schedule. */
void ms_show_job(const ms_job *job, ms_buffer *out);

#endif
