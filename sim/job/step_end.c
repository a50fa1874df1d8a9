/* Walks through the end of a step and calls a visitor for each collective, wait and update
 * (step_end.h). */
#include "job/step_end.h"

#include <stddef.h>

/* The end of a job's step, and the visitor that is called for its events. */
typedef struct step_telling {
    const ms_job *job;
    const ms_step_end_visitor *visitor;
    void *context;
    ms_diag *diag;
} step_telling;

/* The pipeline rank that holds the same stages as `p` in the other direction of the pipeline; `p`
 * itself where the pipeline has one direction. */
static int partner_of(const ms_program *program, int p) {
    for (int stage = 0; stage < program->stages; stage++) {
        if (program->stage_rank[stage] == p) {
            return program->stage_rank[(stage + program->model_stages) % program->stages];
        }
    }
    return p;
}

/* The collectives of a plan from `*next` on, up to one between directions.  *next: its place, or
 * the plan's end. */
static ms_status tell_groups(const step_telling *t, int p, const ms_pass_plan *plan, int *next) {
    ms_status status = MS_OK;
    for (; *next < plan->count && status == MS_OK; (*next)++) {
        const ms_segment *segment = &t->job->costs.segments[plan->first + *next];
        if (segment->is_between_directions) {
            return MS_OK;
        }
        status = t->visitor->group(t->context, p, segment);
    }
    return status;
}

/* The step-end plans of pipeline rank `p` and its partner. Both plans have the collectives between
 * the two ranks in the same order. */
static ms_status tell_plan(const step_telling *t, int p, const ms_pass_plan *plans) {
    int ends[2] = {p, partner_of(&t->job->program, p)};
    int count = ends[0] == ends[1] ? 1 : 2;
    int next[2] = {0, 0};
    if (ends[1] < p) {
        return MS_OK; /* told with the partner's */
    }
    for (;;) {
        for (int i = 0; i < count; i++) {
            ms_status status = tell_groups(t, ends[i], &plans[ends[i]], &next[i]);
            if (status != MS_OK) {
                return status;
            }
        }
        bool is_done = next[0] == plans[p].count;
        bool is_partner_done = count == 1 || next[1] == plans[ends[1]].count;
        if (is_done != is_partner_done) {
            ms_diag_error(t->diag, "pipeline ranks %d and %d do not end a step alike", ends[0],
                          ends[1]);
            return MS_E_BUG;
        }
        if (is_done) {
            return MS_OK;
        }
        const ms_segment *segment = &t->job->costs.segments[plans[p].first + next[0]];
        ms_status status = t->visitor->pair(t->context, ends, segment->axis, segment->coll_B);
        if (status != MS_OK) {
            return status;
        }
        next[0]++;
        next[1]++;
    }
}

static ms_status tell_plans(const step_telling *t, const ms_pass_plan *plans) {
    ms_status status = MS_OK;
    int pp = t->job->program.spec.pipeline_ranks;
    for (int p = 0; plans != NULL && p < pp && status == MS_OK; p++) {
        status = tell_plan(t, p, plans);
    }
    return status;
}

/* The all-reduce of the word embedding's gradient between first and last stage, after all other
 * reductions.  Source: Megatron-LM, finalize_model_grads. */
static ms_status tell_tied(const step_telling *t) {
    const ms_program *program = &t->job->program;
    double size_B = t->job->costs.stage[0].tied_B;
    int ends[2] = {program->stage_rank[0], program->stage_rank[program->model_stages - 1]};
    return size_B <= 0.0 || ends[0] == ends[1]
               ? MS_OK
               : t->visitor->pair(t->context, ends, MS_AXIS_PP, size_B);
}

bool ms_step_end_meets(const ms_job *job) {
    bool has_more = job->spec.simulation.steps > 1;
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        has_more = has_more || job->costs.optimizer_s[p] > 0.0;
    }
    return has_more && !ms_job_is_validated_late(job) && job->mesh.ranks > 1;
}

ms_status ms_step_end_visit(const ms_job *job, const ms_step_end_visitor *visitor, void *context,
                            ms_diag *diag) {
    const step_telling t = {job, visitor, context, diag};
    ms_status status = tell_plans(&t, job->costs.before_update);
    status = status == MS_OK ? tell_tied(&t) : status;
    if (status == MS_OK && visitor->meet != NULL && ms_step_end_meets(job)) {
        status = visitor->meet(context);
    }
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        if (status == MS_OK && visitor->update != NULL) {
            visitor->update(context, p);
        }
    }
    return status == MS_OK ? tell_plans(&t, job->costs.after_update) : status;
}
