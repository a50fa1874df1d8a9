/* The resolved inputs of a job: its spec, with the values that were chosen when the job was laid
 * out. */
#include "simulate/run/job.h"

/* The spec leaves some keys open, which laying out the job has decided. They are set in a copy of
 * the spec, which is then written. */
ms_status ms_job_write_resolved(const ms_job *job, ms_buffer *out) {
    ms_job_spec spec = job->spec;
    spec.batch.global = job->global_batch;
    spec.batch.microbatches = job->microbatches;
    if (spec.has_model) {
        spec.reduce = (int)job->layout.reduce;
        spec.cp_overlap = job->layout.has_cp_overlap ? 1 : 0;
    }
    return ms_job_spec_write_resolved(&spec, out);
}
