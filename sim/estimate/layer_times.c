/* Times of layers and of the ends of a model (layer_times.h). Forward and backward passes of some
 * microbatches run through stages of equal numbers of layers, each stage by itself; the time by
 * which an operation moves the end of its pass counts for the layer of the operation. */
#include <math.h>

#include "estimate/layer_times.h"
#include "estimate/pass_map.h"
#include "estimate/segment_times.h"

/* Equal numbers of layers for each stage: [layout.pp] in `arena`. A remainder goes to the stages in
 * the middle first.  Returns NULL when memory runs out. */
static int *spread_layers(const ms_job *job, ms_arena *arena) {
    int stages = job->layout.pp;
    int *layers = MS_NEW(arena, int, stages);
    int more = job->spec.model.layers % stages;
    for (int i = 0; i < stages && layers != NULL; i++) {
        int s = i < stages - 2 ? i + 1 : i == stages - 2 ? 0 : stages - 1;
        layers[s] = job->spec.model.layers / stages + (i < more);
    }
    return layers;
}

/* Compute the costs of the model with one stage per pipeline rank, in one direction and unsliced.
 */
static ms_status find_costs(const ms_job *job, ms_arena *arena, ms_diag *diag,
                            ms_stage_costs *costs_out) {
    ms_model_layout layout = job->layout;
    layout.chunks = layout.directions = layout.slices = 1;
    layout.stage_rank = NULL;
    layout.recompute_layers = 0; /* it recomputes the first layers of each stage only; which layers
                                    these are depends on the partition, so that all count alike */
    layout.stage_layers = spread_layers(job, arena);
    if (layout.stage_layers == NULL) {
        return ms_diag_no_memory(diag);
    }
    return ms_model_costs(&job->spec.model, &layout, &job->precision, &job->platform->gpu, arena,
                          diag, costs_out);
}

/* Number of microbatches that run one after the other, of which the last is timed: by then the host
 * and the communicators have a steady distance to the rank's clock. */
enum { MICROBATCHES = 3, PASSES = 2 * MICROBATCHES };

/* The state of ms_layer_times_find. */
typedef struct stage_timing {
    const ms_job *job;
    const ms_stage_costs *costs;
    ms_comm_classes comm;
    ms_layout_storage space;
    double *time_s;  /* [segments of F and B of any stage] */
    double *end_s;   /* the same: scratch of ms_pass_ops */
    ms_pass_op *ops; /* [MICROBATCHES * the same] */
    double *layer_s; /* [layers] times->layer_s, to be written */
    ms_layer_times *times;
} stage_timing;

/* Add the time by which each operation moves the end of the last microbatch to its layer, or to the
 * end of the model that it belongs to; a collective that overlaps with the passes counts only as
 * far as they wait for it. On a single stage, operations before the layers are the embedding's and
 * those after them the head's, in the backward pass the other way round: is_last changes with each
 * run of layers.  ops: [count] of the last microbatch.  until_s: end of the one before. */
static void add_ops(stage_timing *state, int stage, const ms_pass_op *ops, int count,
                    double until_s) {
    bool is_last = stage > 0, has_layer = false;
    for (int i = 0; i < count; i++) {
        double by_s = fmax(0.0, ops[i].end_s - until_s);
        bool is_layer = ops[i].layer >= 0 && ops[i].layer < state->job->spec.model.layers;
        is_last = state->costs->stages == 1 && has_layer && !is_layer ? !is_last : is_last;
        has_layer = is_layer;
        *(is_layer  ? &state->layer_s[ops[i].layer]
          : is_last ? &state->times->last_s
                    : &state->times->first_s) += by_s;
        until_s = fmax(until_s, ops[i].end_s);
    }
}

/* Allocate the lists of a stage, for the stage with the most segments. */
static ms_status allocate(stage_timing *state, ms_arena *arena) {
    int longest = 1;
    for (int s = 0; s < state->costs->stages; s++) {
        int count = state->costs->stage[s].passes[MS_PASS_F].count;
        count += state->costs->stage[s].passes[MS_PASS_B].count;
        longest = count > longest ? count : longest;
    }
    state->time_s = MS_NEW(arena, double, longest);
    state->end_s = MS_NEW(arena, double, longest);
    state->ops = MS_NEW(arena, ms_pass_op, MICROBATCHES * longest);
    return state->time_s == NULL || state->end_s == NULL || state->ops == NULL ? MS_E_NOMEM : MS_OK;
}

/* Time the passes of a stage over several microbatches, of which the first two are not counted. No
 * MS_UNIT_ bits are set: operations that run once per step, on its first or last microbatch, are
 * left out. */
static ms_status time_stage(stage_timing *state, int stage) {
    const ms_stage_cost *cost = &state->costs->stage[stage];
    ms_timing timing = {
        .job = state->job, .comm = &state->comm, .space = &state->space, .kind = MS_TIME_EXPECTED};
    ms_pass_view passes[PASSES];
    double *time_s = state->time_s;
    for (int i = 0; i < 2; i++) {
        ms_pass pass = i == 0 ? MS_PASS_F : MS_PASS_B;
        const ms_pass_plan *plan = &cost->passes[pass];
        passes[i] = (ms_pass_view){
            .segments = state->costs->segments + plan->first,
            .time_s = time_s,
            .count = plan->count,
            .launch_s = state->job->host.launch_s,
            .compute_factor = ms_timing_factor(&timing, stage),
            .synchronises = ms_host_waits(&state->job->host, pass, state->costs->stages > 1)};
        ms_status status =
            ms_segment_times(&timing, passes[i].segments, plan->count, stage, time_s);
        if (status != MS_OK) {
            return status;
        }
        time_s += plan->count;
    }
    for (int i = 2; i < PASSES; i++) {
        passes[i] = passes[i - 2];
    }
    /* every microbatch has the same number of operations */
    int count = ms_pass_ops(passes, PASSES, state->end_s, state->ops),
        before = count / MICROBATCHES * 2;
    add_ops(state, stage, state->ops + before, count - before,
            before > 0 ? state->ops[before - 1].end_s : 0.0);
    return MS_OK;
}

/* Time all stages. Communication is timed with all groups of a class at once and one standing for
 * all, whatever the job's fidelity, so that the partition does not depend on it. */
static ms_status time_stages(stage_timing *state, ms_arena *arena) {
    ms_status status = ms_comm_classes_init(&state->comm, state->job, arena);
    state->comm.is_alone = state->comm.is_unfolded = false;
    status = status == MS_OK ? allocate(state, arena) : status;
    for (int stage = 0; stage < state->costs->stages && status == MS_OK; stage++) {
        status = time_stage(state, stage);
    }
    return status;
}

/* The layers are timed in stages that are laid out for this purpose, in an arena that is released
 * at the end. */
ms_status ms_layer_times_find(const ms_job *job, ms_arena *arena, ms_diag *diag,
                              ms_layer_times *times_out) {
    ms_arena own;
    ms_arena_init(&own);
    ms_stage_costs costs;
    double *layer_s = MS_NEW(arena, double, job->spec.model.layers);
    ms_layer_times times = {.layer_s = layer_s};
    ms_status status =
        layer_s == NULL ? ms_diag_no_memory(diag) : find_costs(job, &own, diag, &costs);
    if (status == MS_OK) {
        stage_timing state = {.job = job, .costs = &costs, .layer_s = layer_s, .times = &times};
        ms_layout_storage_init(&state.space, diag);
        status = time_stages(&state, &own);
        if (status == MS_E_NOMEM) {
            ms_diag_error(diag, "out of memory");
        }
        ms_comm_classes_release(&state.comm);
        ms_layout_storage_release(&state.space);
    }
    if (status == MS_OK) {
        *times_out = times;
    }
    ms_arena_release(&own);
    return status;
}
