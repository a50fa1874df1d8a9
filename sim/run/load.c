/* From a spec to a job: laid out, its layers on their stages, with what they cost. */
#include <string.h>

#include "meshsim/job.h"
#include "meshsim/layer_partition.h"

/* Name of a workload without a `name:` key: its file's, without folder and ending. */
static const char *stem_of(ms_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');
    return ms_arena_strndup(arena, base, dot == NULL ? strlen(base) : (size_t)(dot - base));
}

static ms_status find_costs(ms_arena *arena, ms_diag *diag, ms_job *job) {
    if (job->spec.has_model) {
        ms_key_diag placed;
        ms_key_diag_init(&placed, &job->spec, "model", diag);
        return ms_model_costs(&job->spec.model, &job->layout, &job->precision, &job->platform.gpu,
                              arena, &placed.diag, &job->costs);
    }
    const ms_given_sizes sizes = {job->layout.pp, job->layout.chunks, job->layout.slices};
    return ms_costs_build(&job->spec.costs, &sizes, arena, diag, &job->costs);
}

/* What a laid-out spec says. */
static ms_job job_of(const ms_job_spec *spec, const ms_job_layout *laid_out) {
    return (ms_job){.spec = *spec,
                    .name = spec->name,
                    .schedule_text = laid_out->schedule_text,
                    .platform = *spec->platform.cluster,
                    .mesh = laid_out->mesh,
                    .placement = laid_out->placement,
                    .expert_mesh = laid_out->expert_mesh,
                    .precision = laid_out->precision,
                    .layout = laid_out->layout,
                    .program = laid_out->program,
                    .global_batch = laid_out->global_batch,
                    .microbatches = laid_out->microbatches,
                    .is_validated_late = spec->schedule.step_end == MS_STEP_END_POST_VALIDATION,
                    .is_blocking = spec->schedule.sends == MS_SENDS_BLOCKING,
                    .has_pairs = laid_out->has_pairs};
}

/* Name and text of a job; a spec that comes from no file, or was changed since, is written. */
static ms_status name_job(const ms_job_spec *spec, ms_arena *arena, ms_job *job) {
    if (job->name == NULL) {
        job->name = spec->source.path == NULL ? "job" : stem_of(arena, spec->source.path);
    }
    if (job->spec.source.text == NULL) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_status status = ms_job_spec_write(spec, &text);
        job->spec.source.text =
            status == MS_OK ? ms_arena_strdup(arena, ms_buffer_text(&text)) : NULL;
        ms_buffer_release(&text);
    }
    return job->name == NULL || job->spec.source.text == NULL ? MS_E_NOMEM : MS_OK;
}

ms_status ms_job_build(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out) {
    ms_job_layout laid_out;
    ms_status status = ms_job_lay_out(spec, arena, diag, &laid_out);
    if (status == MS_OK && spec->has_model) {
        status = ms_layer_partition_balance(spec, arena, diag, &laid_out);
    }
    if (status != MS_OK) {
        return status;
    }
    ms_job *job = MS_NEW(arena, ms_job, 1);
    if (job == NULL) {
        return MS_E_NOMEM;
    }
    *job = job_of(spec, &laid_out);
    status = name_job(spec, arena, job);
    status = status == MS_OK ? find_costs(arena, diag, job) : status;
    if (status == MS_OK) {
        status = ms_idle_keys_find(spec, &laid_out, &job->costs, arena, diag, &job->idle_keys);
    }
    if (status == MS_OK) {
        *job_out = *job;
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
