/* Many candidates of one model on one platform. */
#include <math.h>
#include <string.h>

#include "estimate/memo.h"
#include "estimate/step.h"
#include "meshsim/estimate.h"
#include "meshsim/rank_memory.h"

/* What identifies a mesh: axes and their places. */
typedef struct mesh_key {
    int kinds[MS_MESH_AXES_MAX], sizes[MS_MESH_AXES_MAX], strides[MS_MESH_AXES_MAX];
} mesh_key;

/* A schedule brought into order. */
typedef struct known_order {
    ms_program program;
    ms_order order;
} known_order;

/* Costs and an order. */
typedef struct pair_key {
    int costs, order;
} pair_key;

struct ms_estimator {
    const ms_platform *platform;
    const ms_model *model;
    const ms_precision *precision;
    ms_arena *arena;
    ms_arena scratch;
    ms_plan_space space;
    ms_memo meshes, orders, costs, peaks;
    ms_vector comm;        /* of ms_comm_classes *, beside meshes */
    ms_vector known;       /* of known_order *, beside orders */
    ms_vector stage_costs; /* of ms_stage_costs, beside costs */
    ms_vector peaks_B;     /* of double, beside peaks */
};

ms_estimator *ms_estimator_new(const ms_platform *platform, const ms_model *model,
                               const ms_precision *precision, ms_arena *arena) {
    ms_estimator *e = MS_NEW(arena, ms_estimator, 1);
    if (e == NULL) {
        return NULL;
    }
    *e = (ms_estimator){
        .platform = platform, .model = model, .precision = precision, .arena = arena};
    ms_arena_init(&e->scratch);
    ms_plan_space_init(&e->space, NULL);
    ms_memo_init(&e->meshes, sizeof(mesh_key));
    ms_memo_init(&e->orders, sizeof(ms_schedule_spec));
    ms_memo_init(&e->costs, sizeof(ms_model_layout));
    ms_memo_init(&e->peaks, sizeof(pair_key));
    ms_vector_init(&e->comm, sizeof(ms_comm_classes *));
    ms_vector_init(&e->known, sizeof(known_order *));
    ms_vector_init(&e->stage_costs, sizeof(ms_stage_costs));
    ms_vector_init(&e->peaks_B, sizeof(double));
    return e;
}

void ms_estimator_free(ms_estimator *e) {
    for (size_t i = 0; e != NULL && i < e->comm.count; i++) {
        ms_comm_classes_release(MS_AT(&e->comm, ms_comm_classes *, i));
    }
    if (e != NULL) {
        ms_memo_release(&e->meshes);
        ms_memo_release(&e->orders);
        ms_memo_release(&e->costs);
        ms_memo_release(&e->peaks);
        ms_vector_release(&e->comm);
        ms_vector_release(&e->known);
        ms_vector_release(&e->stage_costs);
        ms_vector_release(&e->peaks_B);
        ms_plan_space_release(&e->space);
        ms_arena_release(&e->scratch);
    }
}

static ms_status find_comm(ms_estimator *e, const ms_mesh *mesh, ms_comm_classes **comm_out) {
    mesh_key key;
    int number = 0;
    bool is_new = false;
    memset(&key, 0, sizeof key);
    for (int a = 0; a < mesh->axes; a++) {
        key.kinds[a] = (int)mesh->kinds[a];
        key.sizes[a] = mesh->sizes[a];
        key.strides[a] = mesh->strides[a];
    }
    ms_status status = ms_memo_find(&e->meshes, &key, &number, &is_new);
    if (status == MS_OK && is_new) {
        ms_comm_classes *comm = MS_NEW(e->arena, ms_comm_classes, 1);
        status =
            comm == NULL ? MS_E_NOMEM : ms_comm_classes_init(comm, e->platform, mesh, e->arena);
        status = status == MS_OK && ms_vector_add(&e->comm, &comm, 1) == NULL ? MS_E_NOMEM : status;
    }
    *comm_out = status == MS_OK ? MS_AT(&e->comm, ms_comm_classes *, number) : NULL;
    return status;
}

static ms_status find_order(ms_estimator *e, const ms_schedule_spec *spec, ms_diag *diag,
                            int *number_out, known_order **order_out) {
    ms_schedule_spec key;
    bool is_new = false;
    memset(&key, 0, sizeof key);
    key.kind = spec->kind;
    key.pipeline_ranks = spec->pipeline_ranks;
    key.chunks = spec->chunks;
    key.microbatches = spec->microbatches;
    key.group = spec->group;
    key.slices = spec->slices;
    key.is_reordered = spec->is_reordered;
    ms_status status = ms_memo_find(&e->orders, &key, number_out, &is_new);
    if (status == MS_OK && is_new) {
        known_order *known = MS_NEW(e->arena, known_order, 1);
        status =
            known == NULL ? MS_E_NOMEM : ms_schedule_build(spec, e->arena, diag, &known->program);
        status = status == MS_OK
                     ? ms_order_make(&known->program, e->arena, &e->scratch, diag, &known->order)
                     : status;
        known = status == MS_OK ? known : NULL; /* refused for good */
        status = ms_vector_add(&e->known, &known, 1) == NULL ? MS_E_NOMEM : status;
    }
    *order_out = status == MS_OK ? MS_AT(&e->known, known_order *, *number_out) : NULL;
    return status == MS_OK && *order_out == NULL ? MS_E_INPUT : status;
}

/* Layers spread evenly over the virtual stages. */
static const int *spread(const ms_estimator *e, int stages, ms_arena *arena) {
    int *layers = MS_NEW(arena, int, stages);
    for (int s = 0; s < stages && layers != NULL; s++) {
        layers[s] = e->model->layers / stages;
    }
    return layers;
}

/* Whether two segments take the same time and wait for the same; of which layer they are does not
 * count. */
static bool is_same_segment(const ms_segment *a, const ms_segment *b) {
    bool is_same = a->is_collective == b->is_collective && a->is_async == b->is_async &&
                   a->when == b->when && a->time_s == b->time_s && a->axis == b->axis &&
                   a->group_axes == b->group_axes && a->coll == b->coll && a->coll_B == b->coll_B &&
                   a->coll_intra_node_B == b->coll_intra_node_B &&
                   a->coll_load_imbalance == b->coll_load_imbalance &&
                   a->wait_count == b->wait_count;
    for (int i = 0; i < a->wait_count && is_same; i++) {
        is_same = a->waits[i] == b->waits[i];
    }
    return is_same;
}

/* Let stages whose passes are those of the stage before share its segments, so that each different
 * pass is worked out once. */
static void share_passes(ms_stage_costs *costs) {
    for (int s = 1; s < costs->stages * (costs->slices > 1 ? costs->slices : 1); s++) {
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            const ms_pass_plan *before = &costs->stage[s - 1].passes[pass];
            ms_pass_plan *own = &costs->stage[s].passes[pass];
            bool is_same = own->count == before->count;
            for (int i = 0; i < own->count && is_same; i++) {
                is_same = is_same_segment(&costs->segments[own->first + i],
                                          &costs->segments[before->first + i]);
            }
            own->first = is_same ? before->first : own->first;
        }
    }
}

static ms_status find_costs(ms_estimator *e, const ms_model_layout *given,
                            const ms_program *program, ms_diag *diag, int *number_out) {
    ms_model_layout layout;
    bool is_new = false;
    memcpy(&layout, given, sizeof layout); /* unused bytes are part of the key */
    layout.chunks = program->spec.chunks;
    layout.directions = program->parameter_replicas;
    layout.slices = program->spec.slices;
    layout.stage_layers = NULL;
    layout.stage_rank = NULL;
    ms_status status = ms_memo_find(&e->costs, &layout, number_out, &is_new);
    if (status == MS_OK && is_new) {
        ms_stage_costs costs = {0};
        layout.stage_layers = spread(e, layout.pp * layout.chunks, e->arena);
        layout.stage_rank = program->stage_rank;
        status = layout.stage_layers == NULL
                     ? MS_E_NOMEM
                     : ms_model_costs(e->model, &layout, e->precision, &e->platform->gpu, e->arena,
                                      diag, &costs);
        costs.stages = status == MS_OK ? costs.stages : 0; /* refused for good */
        share_passes(&costs);
        if (ms_vector_add(&e->stage_costs, &costs, 1) == NULL) {
            return MS_E_NOMEM;
        }
    }
    bool is_refused =
        status == MS_OK && MS_AT(&e->stage_costs, ms_stage_costs, *number_out).stages == 0;
    return is_refused ? MS_E_INPUT : status;
}

static ms_status find_peak(ms_estimator *e, pair_key key, const ms_program *program,
                           double *peak_B_out) {
    int number = 0;
    bool is_new = false;
    ms_status status = ms_memo_find(&e->peaks, &key, &number, &is_new);
    if (status == MS_OK && is_new) {
        double peak_B = 0.0;
        status = ms_estimate_peak_B(program, &MS_AT(&e->stage_costs, ms_stage_costs, key.costs),
                                    &e->scratch, &peak_B);
        status =
            status == MS_OK && ms_vector_add(&e->peaks_B, &peak_B, 1) == NULL ? MS_E_NOMEM : status;
    }
    *peak_B_out = status == MS_OK ? MS_AT(&e->peaks_B, double, number) : 0.0;
    return status;
}

static ms_status run_steps(ms_estimator *e, const ms_candidate *c, const known_order *known,
                           int costs, ms_candidate_estimate *estimate) {
    ms_comm_classes *comm = NULL;
    ms_status status = find_comm(e, c->mesh, &comm);
    ms_step_input step = {.program = &known->program,
                          .order = &known->order,
                          .costs = &MS_AT(&e->stage_costs, ms_stage_costs, costs),
                          .is_blocking = c->is_blocking,
                          .is_validated_late = c->is_validated_late,
                          .steps = c->steps};
    ms_timing timing = {.comm = comm, .space = &e->space, .kind = MS_TIME_EXPECTED};
    double bound_s = 0.0;
    status = status == MS_OK ? ms_step_run(&step, &timing, &e->scratch, &estimate->step_s) : status;
    timing.kind = MS_TIME_BOUND;
    status = status == MS_OK ? ms_step_run(&step, &timing, &e->scratch, &bound_s) : status;
    estimate->lower_bound_s = MS_BOUND_SHARE * bound_s;
    return status;
}

static ms_status run(ms_estimator *e, const ms_candidate *c, ms_diag *diag,
                     ms_candidate_estimate *estimate) {
    known_order *known = NULL;
    pair_key key = {0, 0};
    e->space.diag = diag;
    ms_status status = find_order(e, &c->schedule, diag, &key.order, &known);
    if (status != MS_OK) {
        return status;
    }
    status = find_costs(e, c->layout, &known->program, diag, &key.costs);
    status = status == MS_OK ? find_peak(e, key, &known->program, &estimate->peak_B) : status;
    status = status == MS_OK ? run_steps(e, c, known, key.costs, estimate) : status;
    estimate->fits = estimate->peak_B <= e->platform->gpu.hbm_B - e->platform->gpu.reserve_B;
    return status;
}

ms_status ms_estimator_run(ms_estimator *estimator, const ms_candidate *candidate, ms_diag *diag,
                           ms_candidate_estimate *estimate_out) {
    ms_candidate_estimate estimate = {0};
    ms_status status = run(estimator, candidate, diag, &estimate);
    ms_arena_clear(&estimator->scratch);
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while estimating the step");
    } else if (status == MS_OK) {
        *estimate_out = estimate;
    }
    return status;
}
