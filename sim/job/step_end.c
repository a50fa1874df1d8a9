/* Walks through the end of a job's step in the order in which every rank does it, and calls a
 * visitor for each collective, meeting and update (step_end.h). Lowering and the estimate both use
 * it. */
#include "job/step_end.h"

#include <stddef.h>

/* The walk: the job, and the visitor that is called for its events. */
typedef struct reduction_walk {
    const ms_job *job;
    const ms_step_end_visitor *visitor;
    void *context;
    ms_diag *diag;
} reduction_walk;

/* The pipeline rank that holds the same stages as `p` in the other direction of the pipeline; `p`
 * itself in a pipeline with one direction. */
static int partner_of(const ms_program *program, int p) {
    for (int stage = 0; stage < program->stages; stage++) {
        if (program->stage_rank[stage] == p) {
            return program->stage_rank[(stage + program->model_stages) % program->stages];
        }
    }
    return p;
}

/* Visit the collectives of a plan from `*next` on, up to but not including a collective between the
 * two directions. *next: becomes the index of that collective, or the plan's end. */
static ms_status visit_groups(const reduction_walk *walk, int p, const ms_pass_plan *plan,
                              int *next) {
    ms_status status = MS_OK;
    for (; *next < plan->count && status == MS_OK; (*next)++) {
        const ms_segment *segment = &walk->job->costs.segments[plan->first + *next];
        if (segment->is_between_directions) {
            return MS_OK;
        }
        status = walk->visitor->group(walk->context, p, segment);
    }
    return status;
}

/* Visit the plans of pipeline rank `p` and of its partner in turns. Both plans have the same
 * collectives between the two ranks in the same order; each is visited once, when both plans have
 * come to it. plans: [P]. */
static ms_status visit_plan(const reduction_walk *walk, int p, const ms_pass_plan *plans) {
    int ends[2] = {p, partner_of(&walk->job->program, p)};
    int count = ends[0] == ends[1] ? 1 : 2;
    int next[2] = {0, 0};
    if (ends[1] < p) {
        return MS_OK; /* visited with its partner, which has the lower number */
    }
    for (;;) {
        for (int i = 0; i < count; i++) {
            ms_status status = visit_groups(walk, ends[i], &plans[ends[i]], &next[i]);
            if (status != MS_OK) {
                return status;
            }
        }
        bool is_done = next[0] == plans[p].count;
        bool is_partner_done = count == 1 || next[1] == plans[ends[1]].count;
        if (is_done != is_partner_done) {
            ms_diag_error(walk->diag, "pipeline ranks %d and %d do not end a step alike", ends[0],
                          ends[1]);
            return MS_E_BUG;
        }
        if (is_done) {
            return MS_OK;
        }
        const ms_segment *segment = &walk->job->costs.segments[plans[p].first + next[0]];
        ms_status status = walk->visitor->pair(walk->context, ends, segment->axis, segment->coll_B);
        if (status != MS_OK) {
            return status;
        }
        next[0]++;
        next[1]++;
    }
}

/* Visit the plans of all pipeline ranks. plans: [P]; NULL: none. */
static ms_status visit_plans(const reduction_walk *walk, const ms_pass_plan *plans) {
    ms_status status = MS_OK;
    int pp = walk->job->program.spec.pipeline_ranks;
    for (int p = 0; plans != NULL && p < pp && status == MS_OK; p++) {
        status = visit_plan(walk, p, plans);
    }
    return status;
}

/* Visit the all-reduce of the word embedding's gradient between first and last stage, after all
 * other reductions. Source: Megatron-LM, finalize_model_grads. */
static ms_status visit_tied(const reduction_walk *walk) {
    const ms_program *program = &walk->job->program;
    double size_B = walk->job->costs.stage[0].tied_B;
    int ends[2] = {program->stage_rank[0], program->stage_rank[program->model_stages - 1]};
    return size_B <= 0.0 || ends[0] == ends[1]
               ? MS_OK
               : walk->visitor->pair(walk->context, ends, MS_AXIS_PP, size_B);
}

/* Whether all ranks wait for each other before the update. With one step and updates of no time,
 * nothing would follow the meeting. */
bool ms_step_end_has_barrier(const ms_job *job) {
    bool has_more = job->spec.simulation.steps > 1;
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        has_more = has_more || job->costs.optimizer_s[p] > 0.0;
    }
    return has_more && !ms_job_is_validated_late(job) && job->mesh.ranks > 1;
}

/* Call the visitor for all events at a step's end: reductions, tied embeddings, the meeting of all
 * ranks, updates, gathers. */
ms_status ms_step_end_visit(const ms_job *job, const ms_step_end_visitor *visitor, void *context,
                            ms_diag *diag) {
    const reduction_walk walk = {job, visitor, context, diag};
    ms_status status = visit_plans(&walk, job->costs.before_update);
    status = status == MS_OK ? visit_tied(&walk) : status;
    if (status == MS_OK && visitor->meet != NULL && ms_step_end_has_barrier(job)) {
        status = visitor->meet(context);
    }
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        if (status == MS_OK && visitor->update != NULL) {
            visitor->update(context, p);
        }
    }
    return status == MS_OK ? visit_plans(&walk, job->costs.after_update) : status;
}
