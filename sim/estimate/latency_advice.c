/* Warns of collectives by ring whose latency dominates their time (ms_advise_rings), for estimates
 * from the segments of the first pipeline rank. */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "collective/coll_class.h"
#include "estimate/advice.h"
#include "job/step_end.h"

enum { ROWS_SHOWN = 3, TEXT_SIZE = 32, LIST_SIZE = 256 };

/* Share of a step above which such latency is worth a warning. */
static const double STEP_SHARE = 0.01;

bool ms_ring_is_dominated(const ms_ring_row *row) {
    /* a ring of two members sends what any other algorithm does */
    return row->is_ring && row->members > 2 && row->latency_s > MS_LATENCY_DOMINATES * row->time_s;
}

/* Write the rows that cost most latency in a step, up to ROWS_SHOWN, as "dp all_reduce of 1 MiB
 * among 2048 (98 %), ...".  rows: [count].  list: [LIST_SIZE]. */
static void list_rows(const ms_ring_row *rows, int count, char *list) {
    bool is_listed[MS_RING_ROWS_MAX] = {false};
    size_t length = 0;
    list[0] = '\0';
    for (int shown = 0; shown < ROWS_SHOWN && length < LIST_SIZE; shown++) {
        int worst = -1;
        for (int i = 0; i < count; i++) {
            double cost_s = is_listed[i] || !ms_ring_is_dominated(&rows[i])
                                ? 0.0
                                : rows[i].count * rows[i].latency_s;
            double worst_s = worst < 0 ? 0.0 : rows[worst].count * rows[worst].latency_s;
            worst = cost_s > worst_s ? i : worst;
        }
        if (worst < 0) {
            break;
        }
        char size[TEXT_SIZE];
        const ms_ring_row *row = &rows[worst];
        is_listed[worst] = true;
        length += (size_t)snprintf(list + length, LIST_SIZE - length,
                                   "%s%s %s of %s among %d (%.0f %%)", shown == 0 ? "" : ", ",
                                   ms_axis_name(row->axis), ms_coll_kind_name(row->kind),
                                   ms_unit_format(row->size_B, MS_DIM_BYTES, size, sizeof size),
                                   row->members, 100.0 * row->latency_s / row->time_s);
    }
}

void ms_advise_rings(const ms_ring_row *rows, int count, double share, const char *about,
                     ms_diag *diag) {
    char list[LIST_SIZE];
    if (share > STEP_SHARE) {
        list_rows(rows, count, list);
        ms_diag_warning(diag,
                        "%s%.1f %% of the step waits for rings whose time is mostly latency: "
                        "%s; " MS_AUTO_IS_RING,
                        about, 100.0 * share, list);
    }
}

/* The collectives for which the first pipeline rank waits in a step, as rows; other pipeline ranks
 * wait for much the same. */
typedef struct ahead {
    const ms_job *job;
    ms_arena *arena; /* scratch */
    int *gpus;       /* [ranks of the mesh] */
    ms_ring_row rows[MS_RING_ROWS_MAX];
    int count;
} ahead;

/* Set algorithm, time and latency of a row from the group of rank 0. A collective that no algorithm
 * lays out keeps zeros, as the estimate refuses it. */
static ms_status time_row(ahead *state, ms_ring_row *row) {
    const ms_job *job = state->job;
    const ms_mesh *mesh = ms_mesh_of_axes(&job->mesh, job->expert_mesh, row->group_axes);
    row->members = ms_mesh_members(mesh, row->group_axes, 0, state->gpus);
    ms_mesh_to_devices(&job->mesh, state->gpus, row->members);
    const ms_coll_request request = {.kind = row->kind,
                                     .algorithm = job->spec.algorithms.of[row->kind],
                                     .gpus = state->gpus,
                                     .members = row->members,
                                     .size_B = row->size_B};
    ms_coll_plan plan;
    ms_status status = ms_coll_plan_build(job->platform, &request, state->arena, &plan);
    if (status != MS_OK) {
        return status == MS_E_NOMEM ? status : MS_OK; /* reported by the estimate */
    }
    row->is_ring = plan.algorithm == MS_ALGORITHM_RING && plan.protocol == MS_PROTOCOL_AUTO;
    status = ms_coll_plan_time(job->platform, &plan, &row->time_s);
    row->latency_s = ms_coll_plan_latency_s(&plan);
    return status;
}

/* Count a synchronous collective `count` times: in the row of its kind, group and size, or in a new
 * row. Other segments, and rows beyond MS_RING_ROWS_MAX, are left out. */
static ms_status add_segment(ahead *state, const ms_segment *segment, double count) {
    if (!segment->is_collective || segment->is_async || segment->is_between_directions ||
        segment->coll == MS_COLL_ALL_TO_ALL) {
        return MS_OK;
    }
    unsigned axes = segment->group_axes != 0 ? segment->group_axes : MS_AXIS_BIT(segment->axis);
    for (int i = 0; i < state->count; i++) {
        ms_ring_row *row = &state->rows[i];
        if (row->axis == segment->axis && row->kind == segment->coll && row->group_axes == axes &&
            row->size_B >= segment->coll_B && row->size_B <= segment->coll_B) {
            row->count += count;
            return MS_OK;
        }
    }
    if (state->count == MS_RING_ROWS_MAX) {
        return MS_OK;
    }
    ms_ring_row row = {.axis = segment->axis,
                       .kind = segment->coll,
                       .group_axes = axes,
                       .size_B = segment->coll_B,
                       .count = count};
    ms_status status = time_row(state, &row);
    state->rows[state->count++] = row;
    return status;
}

/* Count the collectives of a pass that runs `count` times; those of some microbatches only count
 * once. */
static ms_status add_plan(ahead *state, const ms_pass_plan *plan, double count) {
    ms_status status = MS_OK;
    for (int i = 0; i < plan->count && status == MS_OK && count > 0.0; i++) {
        const ms_segment *segment = &state->job->costs.segments[plan->first + i];
        status = add_segment(state, segment, segment->when == MS_WHEN_ALWAYS ? count : 1.0);
    }
    return status;
}

/* Count the collectives of all passes of pipeline rank 0, and of the end of its step. */
static ms_status add_passes(ahead *state) {
    const ms_program *program = &state->job->program;
    /* [stages][MS_PASS_COUNT] how often each pass runs */
    double *counts = MS_NEW(state->arena, double, program->stages *MS_PASS_COUNT);
    if (counts == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = program->first[0]; i < program->first[1]; i++) {
        counts[program->actions[i].stage * MS_PASS_COUNT + program->actions[i].pass] += 1.0;
    }
    ms_status status = MS_OK;
    for (int s = 0; s < program->stages * MS_PASS_COUNT && status == MS_OK; s++) {
        int stage = ms_program_model_stage(program, s / MS_PASS_COUNT);
        const ms_stage_cost *cost = ms_stage_cost_of(&state->job->costs, stage, 0);
        status = add_plan(state, &cost->passes[s % MS_PASS_COUNT], counts[s]);
    }
    const ms_pass_plan *ends[] = {state->job->costs.before_update, state->job->costs.after_update};
    for (int e = 0; e < 2 && status == MS_OK; e++) {
        status = ends[e] == NULL ? MS_OK : add_plan(state, &ends[e][0], 1.0);
    }
    return status;
}

/* Add the all-reduce of the gradient norm, which is all latency, if the step has one and the list
 * of rows is not full. */
static ms_status add_norm(ahead *state) {
    const ms_job *job = state->job;
    if (job->costs.parameters_total <= 0.0 || !ms_step_end_has_barrier(job) ||
        state->count == MS_RING_ROWS_MAX) {
        return MS_OK;
    }
    ms_world_sum sum;
    ms_status status = ms_coll_world_sum(job->platform, &job->mesh, &job->spec.algorithms, &sum);
    if (status == MS_OK) {
        state->rows[state->count++] = (ms_ring_row){.axis = MS_AXIS_OTHER,
                                                    .kind = MS_COLL_ALL_REDUCE,
                                                    .is_ring = sum.algorithm == MS_ALGORITHM_RING &&
                                                               sum.protocol == MS_PROTOCOL_AUTO,
                                                    .members = job->mesh.ranks,
                                                    .size_B = sum.size_B,
                                                    .count = 1.0,
                                                    .time_s = sum.time_s,
                                                    .latency_s = sum.time_s};
    }
    return status;
}

/* The share of the estimated step that is latency of dominated rings, 0..1. */
static double share_of_step(const ahead *state, const ms_estimate *estimate) {
    double latency_s = 0.0;
    for (int i = 0; i < state->count; i++) {
        const ms_ring_row *row = &state->rows[i];
        latency_s += ms_ring_is_dominated(row) ? row->count * row->latency_s : 0.0;
    }
    return estimate->step_s > 0.0 ? fmin(1.0, latency_s / estimate->step_s) : 0.0;
}

ms_status ms_advise_latency_ahead(const ms_job *job, const ms_estimate *estimate, ms_diag *diag) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ahead state = {.job = job, .arena = &scratch, .gpus = MS_NEW(&scratch, int, job->mesh.ranks)};
    ms_status status = state.gpus == NULL ? MS_E_NOMEM : add_passes(&state);
    status = status == MS_OK ? add_norm(&state) : status;
    if (status == MS_OK) {
        ms_advise_rings(state.rows, state.count, share_of_step(&state, estimate), "about ", diag);
    } else {
        ms_diag_error(diag, "out of memory");
    }
    ms_arena_release(&scratch);
    return status;
}
