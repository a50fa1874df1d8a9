/* What layers and the ends of a model take: one microbatch forwards and backwards through stages of
 * equal numbers of layers. */
#include <math.h>

#include "estimate/pass_map.h"
#include "estimate/segment_times.h"
#include "meshsim/layer_times.h"

/* Equal numbers of layers; where they do not divide the model's ends have one less. */
static int *spread_layers(const ms_layer_times_input *in, ms_arena *arena) {
    int stages = in->layout->pp;
    int *layers = MS_NEW(arena, int, stages);
    int more = in->model->layers % stages;
    for (int i = 0; i < stages && layers != NULL; i++) {
        int s = i < stages - 2 ? i + 1 : i == stages - 2 ? 0 : stages - 1;
        layers[s] = in->model->layers / stages + (i < more);
    }
    return layers;
}

/* The model on one stage per pipeline rank, in one direction. */
static ms_status find_costs(const ms_layer_times_input *in, ms_arena *arena, ms_diag *diag,
                            ms_stage_costs *costs_out) {
    ms_model_layout layout = *in->layout;
    layout.chunks = layout.directions = layout.slices = 1;
    layout.stage_rank = NULL;
    layout.recompute_layers = 0; /* counts from every stage's front: on average all alike */
    layout.stage_layers = spread_layers(in, arena);
    if (layout.stage_layers == NULL) {
        return ms_diag_no_memory(diag);
    }
    return ms_model_costs(in->model, &layout, in->precision, &in->platform->gpu, arena, diag,
                          costs_out);
}

/* Add up when a rank was busy. On a single stage the ends stand before and behind the layers, and
 * the other way round on the way back. */
typedef struct adding {
    ms_layer_times *sum;
    double until_s;
    bool is_single, is_last, has_layer;
} adding;

static void add_op(adding *a, const ms_pass_op *op) {
    double busy_s = fmax(0.0, op->end_s - fmax(a->until_s, op->start_s));
    a->until_s = fmax(a->until_s, op->end_s);
    if (op->layer >= 0) {
        a->sum->layer_s += busy_s;
        a->has_layer = true;
        return;
    }
    a->is_last = a->is_single && a->has_layer ? !a->is_last : a->is_last;
    a->has_layer = false;
    *(a->is_last ? &a->sum->last_s : &a->sum->first_s) += busy_s;
}

/* Where all stages are timed. */
typedef struct stage_timing {
    const ms_stage_costs *costs;
    ms_comm_classes comm;
    ms_plan_space space;
    double *time_s, *end_s; /* [segments of the longest pass] */
    ms_pass_op *ops;        /* the same */
} stage_timing;

static ms_status allocate(stage_timing *t, ms_arena *arena) {
    int longest = 1;
    for (int s = 0; s < t->costs->stages; s++) {
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            int count = t->costs->stage[s].passes[pass].count;
            longest = count > longest ? count : longest;
        }
    }
    t->time_s = MS_NEW(arena, double, longest);
    t->end_s = MS_NEW(arena, double, longest);
    t->ops = MS_NEW(arena, ms_pass_op, longest);
    return t->time_s == NULL || t->end_s == NULL || t->ops == NULL ? MS_E_NOMEM : MS_OK;
}

/* Forward and backward pass of the only microbatch, one behind the other. */
static ms_status time_stage(stage_timing *t, int stage, ms_layer_times *sum) {
    static const ms_pass PASSES[] = {MS_PASS_F, MS_PASS_B};
    adding a = {.sum = sum, .is_single = t->costs->stages == 1, .is_last = stage > 0};
    double from_s = 0.0;
    for (int i = 0; i < 2; i++) {
        const ms_pass_plan *plan = &t->costs->stage[stage].passes[PASSES[i]];
        ms_pass_view view = {.segments = t->costs->segments + plan->first,
                             .time_s = t->time_s,
                             .count = plan->count,
                             .unit = MS_UNIT_FIRST | MS_UNIT_LAST};
        ms_timing timing = {.comm = &t->comm, .space = &t->space, .kind = MS_TIME_EXPECTED};
        ms_status status = ms_segment_times(&timing, view.segments, view.count, stage, t->time_s);
        if (status != MS_OK) {
            return status;
        }
        int count = ms_pass_ops(&view, from_s, t->end_s, t->ops, &from_s);
        for (int k = 0; k < count; k++) {
            add_op(&a, &t->ops[k]);
        }
    }
    return MS_OK;
}

static ms_status time_stages(stage_timing *t, const ms_layer_times_input *in, ms_arena *arena,
                             ms_layer_times *times) {
    ms_status status = ms_comm_classes_init(&t->comm, in->platform, in->mesh, arena);
    t->comm.algorithms = in->algorithms;
    t->comm.expert_mesh = in->expert_mesh;
    status = status == MS_OK ? allocate(t, arena) : status;
    for (int stage = 0; stage < t->costs->stages && status == MS_OK; stage++) {
        status = time_stage(t, stage, times);
    }
    times->layer_s /= in->model->layers;
    return status;
}

ms_status ms_layer_times_find(const ms_layer_times_input *in, ms_diag *diag,
                              ms_layer_times *times_out) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_stage_costs costs;
    ms_status status = find_costs(in, &arena, diag, &costs);
    *times_out = (ms_layer_times){0};
    if (status == MS_OK) {
        stage_timing t = {.costs = &costs};
        ms_plan_space_init(&t.space, diag);
        status = time_stages(&t, in, &arena, times_out);
        if (status == MS_E_NOMEM) {
            ms_diag_error(diag, "out of memory");
        }
        ms_comm_classes_release(&t.comm);
        ms_plan_space_release(&t.space);
    }
    ms_arena_release(&arena);
    return status;
}
