#include "job/pilot.h"

#include <math.h>

#include "meshsim/engine.h"
#include "meshsim/lower.h"

/* Equal numbers of layers; where they do not divide the model's ends have one less. */
static ms_status spread_layers(ms_job *pilot, ms_arena *arena) {
    int stages = pilot->layout.pp;
    int *layers = MS_NEW(arena, int, stages);
    if (layers == NULL) {
        return MS_E_NOMEM;
    }
    int more = pilot->model.layers % stages;
    for (int i = 0; i < stages; i++) {
        int s = i < stages - 2 ? i + 1 : i == stages - 2 ? 0 : stages - 1;
        layers[s] = pilot->model.layers / stages + (i < more);
    }
    pilot->layout.stage_layers = layers;
    return MS_OK;
}

/* One microbatch on one stage per rank, in one direction. */
static ms_status lay_out(ms_job *pilot, ms_arena *arena, ms_diag *diag) {
    ms_schedule_spec spec = {.kind = MS_SCHEDULE_1F1B,
                             .pipeline_ranks = pilot->layout.pp,
                             .chunks = 1,
                             .microbatches = 1};
    pilot->layout.chunks = pilot->layout.copies = pilot->layout.parts = 1;
    pilot->layout.stage_rank = NULL;
    pilot->layout.recompute_layers = 0; /* counts from every stage's front: on average all alike */
    ms_status status = ms_schedule_build(&spec, arena, diag, &pilot->program);
    status = status == MS_OK ? spread_layers(pilot, arena) : status;
    return status == MS_OK ? ms_model_costs(&pilot->model, &pilot->layout, &pilot->precision,
                                            &pilot->platform.gpu, arena, diag, &pilot->costs)
                           : status;
}

/* Sum up when a stage was busy. On a single stage the ends stand before and behind the layers, and
 * the other way round on the way back. */
static void add_stage(const ms_dag *dag, const ms_timeline *timeline, int stage, int stages,
                      ms_pilot_times *sum) {
    double until_s = 0.0;
    bool is_last = stage > 0, has_layer = false;
    for (int32_t i = 0; i < dag->op_count; i++) {
        const ms_dag_op *op = &dag->ops[i];
        if (op->mb < 0 || op->stage != stage || op->kind == MS_OP_P2P) {
            continue;
        }
        double from_s = fmax(until_s, timeline->start_s[i]);
        double busy_s = fmax(0.0, timeline->end_s[i] - from_s);
        until_s = fmax(until_s, timeline->end_s[i]);
        if (op->layer >= 0) {
            sum->layer_s += busy_s;
            has_layer = true;
            continue;
        }
        is_last = stages == 1 && has_layer ? !is_last : is_last;
        has_layer = false;
        *(is_last ? &sum->last_s : &sum->first_s) += busy_s;
    }
}

static ms_status simulate(const ms_job *pilot, ms_arena *arena, ms_diag *diag,
                          ms_pilot_times *times) {
    ms_lower_input input = {.platform = &pilot->platform,
                            .mesh = &pilot->mesh,
                            .program = &pilot->program,
                            .costs = &pilot->costs};
    ms_dag dag;
    ms_timeline timeline;
    bool is_exact = false;
    ms_status status = ms_lower(&input, diag, &dag, &is_exact);
    if (status == MS_OK) {
        status = ms_engine_run(&dag, MS_FIDELITY_ANALYTIC, arena, diag, &timeline);
    }
    for (int stage = 0; status == MS_OK && stage < pilot->layout.pp; stage++) {
        add_stage(&dag, &timeline, stage, pilot->layout.pp, times);
    }
    times->layer_s /= pilot->model.layers;
    ms_dag_release(&dag);
    return status;
}

ms_status ms_pilot_run(const ms_job *job, ms_diag *diag, ms_pilot_times *times_out) {
    ms_job pilot = *job;
    ms_arena scratch;
    ms_arena_init(&scratch);
    *times_out = (ms_pilot_times){0};
    ms_status status = lay_out(&pilot, &scratch, diag);
    status = status == MS_OK ? simulate(&pilot, &scratch, diag, times_out) : status;
    ms_arena_release(&scratch);
    return status;
}
