/* The early bound of a step (work_bound.h): the work of a microbatch, kept by key, times the
 * microbatches and spread over the pipeline ranks; and for schedules whose stages go round the
 * ranks the time of a pipeline that fills, works and drains. */
#include "estimate/work_bound.h"

#include <math.h>
#include <string.h>

#include "estimate/compute.h"
#include "model/model.h"

/* Share of a bound that covers rounding: a simulation adds the times of its operations in another
 * order. */
static const double ROUNDING = 1e-9;

/* All that a microbatch's work depends on. The layout is without pipeline ranks and their stages,
 * and without the number of replicas unless units of sharded state are copied (MS_UNITS_). */
typedef struct work_key {
    const ms_platform *cluster;
    ms_model model;
    ms_precision precision;
    ms_model_layout layout;
} work_key;

void ms_work_bounds_init(ms_memo *bounds) {
    ms_memo_init(bounds, sizeof(work_key), sizeof(ms_microbatch_work));
}

/* ---- a microbatch's work ---- */

/* Make the key of a job's work. Recomputation of some layers counts as none, so that the bound
 * stays below the step. */
static void make_key(const ms_job *job, work_key *key_out) {
    memset(key_out, 0, sizeof *key_out);
    key_out->cluster = job->platform;
    memcpy(&key_out->model, &job->spec.model, sizeof key_out->model);
    memcpy(&key_out->precision, &job->precision, sizeof key_out->precision);
    memcpy(&key_out->layout, &job->layout, sizeof key_out->layout);
    ms_model_layout *layout = &key_out->layout;
    layout->pp = layout->chunks = layout->directions = 1;
    layout->stage_layers = layout->stage_rank = NULL;
    if (layout->units == MS_UNITS_IN_PLACE) {
        layout->dp = 1; /* without copies of units no computation depends on the replicas */
    }
    if (layout->recompute_layers > 0) {
        layout->recompute_layers = 0; /* how many layers are repeated depends on the stages */
        layout->recompute = MS_RECOMPUTE_NONE;
    }
}

/* Computation time of one layer in a pass [s]; 0 if the plan does not list the layer. */
static double layer_pass_s(const ms_stage_costs *costs, const ms_pass_plan *plan, int layer) {
    double sum_s = 0.0;
    for (int i = plan->first; i < plan->first + plan->count; i++) {
        const ms_segment *segment = &costs->segments[i];
        sum_s += segment->layer == layer && !segment->is_collective ? segment->time_s : 0.0;
    }
    return sum_s;
}

/* The least time of any layer's computation, forward and backward [s]; 0 if there is none. An
 * outline leaves out layers that are like one that it lists, so that it lists one with the least
 * time. */
static double least_layer_s(const ms_stage_costs *costs, const ms_stage_cost *stage) {
    const ms_pass_plan *forward = &stage->passes[MS_PASS_F], *back = &stage->passes[MS_PASS_B];
    double least_s = INFINITY;
    int before = -1;
    for (int i = forward->first; i < forward->first + forward->count; i++) {
        int layer = costs->segments[i].layer;
        if (layer >= 0 && layer != before) {
            double layer_s = layer_pass_s(costs, forward, layer);
            double back_s = layer_pass_s(costs, back, layer);
            /* the outline of the backward pass may have left out this layer; it then lists a layer
             * that is like it, which the forward pass lists too */
            least_s = back_s > 0.0 ? fmin(least_s, layer_s + back_s) : least_s;
            before = layer;
        }
    }
    return isfinite(least_s) ? least_s : 0.0;
}

/* Compute the work of a microbatch with a model of one stage. The backward pass counts as B or as I
 * and W apart, whichever is shorter, as the schedule is not known. A slice's layers are not timed.
 * Where the model refuses the layout the work is 0, so that the bound says nothing. */
static ms_status make_work(const work_key *key, ms_arena *scratch, ms_microbatch_work *work_out) {
    const unsigned passes = 1U << MS_PASS_F | 1U << MS_PASS_B | 1U << MS_PASS_I | 1U << MS_PASS_W;
    ms_model_layout layout = key->layout;
    ms_stage_costs costs;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    layout.stage_layers = &key->model.layers;
    *work_out = (ms_microbatch_work){0};
    ms_status status = ms_model_outline(&key->model, &layout, &key->precision, &key->cluster->gpu,
                                        passes, scratch, &mute, &costs);
    if (status != MS_OK) {
        return status == MS_E_NOMEM ? status : MS_OK; /* reported when the job is laid out */
    }
    int slices = costs.slices > 1 ? costs.slices : 1;
    for (int slice = 0; slice < slices; slice++) {
        const ms_stage_cost *stage = ms_stage_cost_of(&costs, 0, slice);
        double back_s = ms_compute_pass_s(&costs, stage, MS_PASS_B);
        double apart_s = ms_compute_pass_s(&costs, stage, MS_PASS_I) +
                         ms_compute_pass_s(&costs, stage, MS_PASS_W);
        work_out->all_s += ms_compute_pass_s(&costs, stage, MS_PASS_F) + fmin(back_s, apart_s);
    }
    work_out->layer_s = slices == 1 ? least_layer_s(&costs, &costs.stage[0]) : 0.0;
    return MS_OK;
}

/* Find the work of a microbatch by its key, computed on first use. */
static ms_status find_work(ms_memo *bounds, const work_key *key, ms_arena *scratch,
                           ms_microbatch_work *work_out) {
    int number = 0;
    bool is_new = false;
    ms_status status = ms_memo_find_or_add(bounds, key, &number, &is_new);
    if (status != MS_OK) {
        return status;
    }
    ms_microbatch_work *known = MS_MEMO_VALUE(bounds, ms_microbatch_work, number);
    status = is_new ? make_work(key, scratch, known) : MS_OK;
    *work_out = *known;
    return status;
}

/* ---- the pipeline ---- */

/* Whether a schedule places virtual stage s on pipeline rank s mod P, and has whole backward
 * passes: the cases for which layers_at_least holds. */
static bool is_looped(const ms_job_spec *spec) {
    switch (spec->schedule.kind) {
    case MS_SCHEDULE_GPIPE:
    case MS_SCHEDULE_1F1B:
    case MS_SCHEDULE_INTERLEAVED:
    case MS_SCHEDULE_INTERLEAVED_TORCH:
    case MS_SCHEDULE_INTERLEAVED_FLEXIBLE:
    case MS_SCHEDULE_LOOPED_BFS:
        return spec->schedule.csv == NULL;
    default:
        return false;
    }
}

/* Layers of virtual stage `stage` in a partition that is not balanced.  open: of
 * ms_spec_open_stages. Where layers do not divide evenly, the smaller number, which keeps the bound
 * one. */
static int layers_of(const ms_spec_partition *given, const ms_open_stages *open, int stage) {
    if (given->stage_layers.count > 0) {
        return given->stage_layers.items[stage];
    }
    bool is_open = stage >= open->first && stage < open->first + open->count;
    return is_open               ? open->layers / open->count
           : stage < open->first ? given->first_stage_layers
                                 : given->last_stage_layers;
}

/* Minimum length of a step, in times of one layer forward and backward. Rank p waits while the
 * first microbatch goes forward through the ranks before it, computes all its layers for M
 * microbatches, and waits while the last one goes backward through the ranks before it. This makes
 * M x_p + y_0 + .. + y_(p-1) layers, with x_p layers of rank p and y_i layers of stage i, the first
 * one of rank i. The maximum over p counts. */
static double layers_at_least(const ms_job *job) {
    const ms_job_spec *spec = &job->spec;
    const ms_spec_partition *given = &spec->schedule.partition;
    int pp = job->layout.pp, chunks = spec->schedule.chunks > 1 ? spec->schedule.chunks : 1;
    double microbatches = job->microbatches;
    if (given->stage_layers.count == 0 && given->kind == MS_PARTITION_BALANCED) {
        /* The shares x are not known. The maximum over p of M x_p + x_0 + .. + x_(p-1) is least
         * where the sum is the same for all p, that is where x_p = (1 - 1/M)^p x_0; then it is M
         * x_0. With several chunks only the mean of M x_p is used. */
        double left = pow(1.0 - 1.0 / microbatches, pp);
        return chunks == 1 ? spec->model.layers / (1.0 - left)
                           : microbatches * spec->model.layers / pp;
    }
    const ms_open_stages open = ms_spec_open_stages(spec, pp * chunks);
    double before = 0.0, most = 0.0;
    for (int p = 0; p < pp; p++) {
        int own = 0;
        for (int chunk = 0; chunk < chunks; chunk++) {
            own += layers_of(given, &open, chunk * pp + p);
        }
        most = fmax(most, before + microbatches * own);
        before += layers_of(given, &open, p);
    }
    return most;
}

ms_status ms_work_bound_find(ms_memo *bounds, const ms_job *job, ms_arena *scratch,
                             ms_work_bound *bound_out) {
    ms_microbatch_work work;
    work_key key;
    *bound_out = (ms_work_bound){0};
    /* With several steps, or ranks that update without waiting for each other, a step is the time
     * between two ends, which the mean over ranks does not bound. */
    bool is_single = job->spec.simulation.steps <= 1 && !ms_job_is_validated_late(job);
    if (!job->spec.has_model) {
        return MS_OK;
    }
    make_key(job, &key);
    ms_status status = find_work(bounds, &key, scratch, &work);
    if (status != MS_OK) {
        return status;
    }
    double factor = ms_job_least_compute_factor(job) * (1.0 - ROUNDING);
    bound_out->busy_s = job->microbatches * work.all_s / job->layout.pp * factor;
    bound_out->step_s = is_single ? bound_out->busy_s : 0.0;
    if (is_single && is_looped(&job->spec) && work.layer_s > 0.0) {
        double waiting_s = work.layer_s * layers_at_least(job) * factor;
        bound_out->step_s = fmax(bound_out->step_s, waiting_s);
    }
    return MS_OK;
}
