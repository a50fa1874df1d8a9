/* A job as the rooms below take it, before anything is simulated. */
#include "meshsim/job.h"

ms_estimate_input ms_job_estimate_input(const ms_job *job) {
    return (ms_estimate_input){.platform = &job->platform,
                               .mesh = &job->mesh,
                               .expert_mesh = job->expert_mesh,
                               .program = &job->program,
                               .costs = &job->costs,
                               .algorithms = job->spec.algorithms,
                               .host = ms_spec_host_of(&job->spec),
                               .is_blocking = job->is_blocking,
                               .is_validated_late = job->is_validated_late,
                               .steps = job->spec.simulation.steps,
                               .fidelity = job->spec.simulation.fidelity,
                               .no_fold = job->run.no_fold};
}

ms_status ms_job_estimate(const ms_job *job, ms_arena *arena, ms_diag *diag,
                          ms_estimate *estimate_out) {
    const ms_estimate_input input = ms_job_estimate_input(job);
    return ms_estimate_compute(&input, arena, diag, estimate_out);
}
