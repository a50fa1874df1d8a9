/* From a workload file or spec to a job: reads the spec, lays it out, divides the layers among
 * stages and finds their costs. */
#include <string.h>

#include "base/folder.h"
#include "estimate/layer_partition.h"
#include "simulate/run/job.h"

/* Set the costs of all stages: of the spec's model, or as the spec gives them.  Returns MS_OK; as
 * ms_model_costs and ms_costs_build. */
static ms_status find_costs(ms_arena *arena, ms_diag *diag, ms_job *job) {
    if (job->spec.has_model) {
        ms_key_diag placed;
        ms_key_diag_init(&placed, &job->spec, "model", diag);
        return ms_model_costs(&job->spec.model, &job->layout, &job->precision, &job->platform->gpu,
                              arena, &placed.diag, &job->costs);
    }
    const ms_given_sizes sizes = {job->layout.pp, job->layout.chunks, job->layout.slices};
    return ms_costs_build(&job->spec.costs, &sizes, arena, diag, &job->costs);
}

/* Set the name of a job, by default that of its file, and the text of its spec, which is written if
 * the spec is not from a file or has been changed.  Returns MS_OK; MS_E_NOMEM. */
static ms_status name_job(ms_arena *arena, ms_job *job) {
    const ms_job_spec *spec = &job->spec;
    if (job->name == NULL) {
        job->name = spec->source.path == NULL ? "job" : ms_path_stem(spec->source.path, arena);
    }
    if (job->spec.source.text == NULL) {
        ms_buffer text;
        ms_buffer_init(&text);
        (void)ms_job_spec_write(spec, &text); /* a lack of memory is kept in `text` */
        job->spec.source.text = ms_buffer_keep(&text, arena);
    }
    return job->name == NULL || job->spec.source.text == NULL ? MS_E_NOMEM : MS_OK;
}

ms_status ms_job_build(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out) {
    ms_job job;
    ms_status status = ms_job_lay_out(spec, arena, diag, &job);
    status = status == MS_OK ? ms_layer_partition_balance(&job, arena, diag) : status;
    status = status == MS_OK ? name_job(arena, &job) : status;
    status = status == MS_OK ? find_costs(arena, diag, &job) : status;
    status = status == MS_OK ? ms_idle_keys_find(&job, arena, diag, &job.idle_keys) : status;
    if (status == MS_OK) {
        *job_out = job;
    }
    return status;
}

ms_status ms_job_load(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                      ms_job *job_out) {
    ms_job_spec *spec = MS_NEW(arena, ms_job_spec, 1);
    if (spec == NULL) {
        ms_diag_error(diag, "out of memory while reading '%s'", request->workload);
        return MS_E_NOMEM;
    }
    ms_status status = ms_job_spec_read(request, arena, diag, spec);
    if (status == MS_OK) {
        status = ms_job_build(spec, arena, diag, job_out);
    }
    if (status == MS_OK) {
        job_out->run = request->run;
    }
    return status;
}
