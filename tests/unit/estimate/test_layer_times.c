/* Layer times against sums over segments by hand. */
#include <math.h>

#include "collective/collective.h"
#include "estimate/layer_times.h"
#include "platform_fixture.h"

static const ms_precision MIXED = {.parameter_B = 2, .gradient_B = 4, .optimizer_B = 12};

static ms_model small_model(void) {
    return (ms_model){.name = "small",
                      .layers = 8,
                      .hidden = 1024,
                      .heads = 16,
                      .kv_heads = 16,
                      .head_dim = 64,
                      .ffn = 4096,
                      .vocab = 51200,
                      .sequence = 1024,
                      .attention = MS_ATTENTION_FUSED,
                      .has_fused_accumulation = true};
}

static ms_layer_times find(platform_fixture *f, const ms_mesh *mesh, const ms_model *model,
                           const ms_model_layout *layout) {
    ms_layer_times times;
    const ms_job job = {.spec.model = *model,
                        .platform = &f->platform,
                        .mesh = *mesh,
                        .precision = MIXED,
                        .layout = *layout};
    cr_assert_eq(ms_layer_times_find(&job, &f->arena, &f->diag, &times), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return times;
}

/* All layers together. */
static double layers_s(const ms_layer_times *times, int layers) {
    double sum_s = 0.0;
    for (int i = 0; i < layers; i++) {
        sum_s += times->layer_s[i];
    }
    return sum_s;
}

/* Time of an all-reduce between two GPUs of a node. */
static double pair_time_s(platform_fixture *f, double size_B) {
    ms_coll_plan plan;
    double time_s = 0.0;
    ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = (const int[]){0, 1}, .members = 2, .size_B = size_B};
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    cr_assert_eq(ms_coll_plan_time(&f->platform, &plan, &time_s), MS_OK);
    return time_s;
}

/* Forward and backward passes of all stages, segment after segment. */
static double sum_s(platform_fixture *f, const ms_stage_costs *costs) {
    double total_s = 0.0;
    for (int s = 0; s < costs->stages; s++) {
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            const ms_pass_plan *plan = &costs->stage[s].passes[pass];
            for (int i = 0; i < plan->count && (pass == MS_PASS_F || pass == MS_PASS_B); i++) {
                const ms_segment *segment = &costs->segments[plan->first + i];
                total_s +=
                    segment->is_collective ? pair_time_s(f, segment->coll_B) : segment->time_s;
            }
        }
    }
    return total_s;
}

Test(layer_times, add_up_to_one_microbatch) {
    static const char *const NAMES[] = {"pp", "tp"};
    static const int SIZES[] = {4, 2};
    static const int LAYERS[] = {2, 2, 2, 2};
    platform_fixture f;
    ms_stage_costs costs;
    ms_mesh mesh;
    fixture_platform(&f, "dgx-a100", "{nodes: 1}");
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &f.diag), MS_OK);
    ms_model model = small_model();
    ms_model_layout layout = {
        .tp = 2, .pp = 4, .chunks = 1, .dp = 1, .micro_batch = 2, .stage_layers = LAYERS};
    cr_assert_eq(
        ms_model_costs(&model, &layout, &MIXED, &f.platform.gpu, &f.arena, &f.diag, &costs), MS_OK);
    ms_layer_times times = find(&f, &mesh, &model, &layout);
    double total_s = layers_s(&times, 8) + times.first_s + times.last_s;
    cr_assert_lt(fabs(total_s / sum_s(&f, &costs) - 1.0), 1e-12, "%g", total_s);
    cr_assert_gt(times.last_s, times.first_s);
    fixture_release(&f);
}

/* The ends and layers are the same on one stage, where they stand one behind the other. */
Test(layer_times, tell_ends_from_layers_on_one_stage) {
    static const char *const NAMES[] = {"pp", "tp"};
    platform_fixture f;
    ms_model model = small_model();
    ms_layer_times times[2];
    fixture_platform(&f, "dgx-a100", "{nodes: 1}");
    for (int i = 0; i < 2; i++) {
        int pp = i == 0 ? 1 : 4;
        ms_mesh mesh;
        ms_model_layout layout = {.tp = 2, .pp = pp, .chunks = 1, .dp = 1, .micro_batch = 2};
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, (const int[]){pp, 2}, 2, &f.diag), MS_OK);
        times[i] = find(&f, &mesh, &model, &layout);
    }
    cr_assert_lt(fabs(layers_s(&times[0], 8) / layers_s(&times[1], 8) - 1.0), 1e-9);
    cr_assert_lt(fabs(times[0].first_s / times[1].first_s - 1.0), 1e-9);
    cr_assert_lt(fabs(times[0].last_s / times[1].last_s - 1.0), 1e-9);
    fixture_release(&f);
}

/* With ZeRO-1 gradients are reduced and parameters gathered once in a step, in the buckets of
 * Megatron Core whole stages at once: no microbatch in between takes longer than without replicas.
 */
Test(layer_times, leave_out_what_runs_once_in_a_step) {
    static const char *const NAMES[] = {"pp", "dp"};
    platform_fixture f;
    ms_model model = small_model();
    ms_layer_times times[2];
    fixture_platform(&f, "dgx-a100", "{nodes: 1}");
    for (int i = 0; i < 2; i++) {
        int dp = i == 0 ? 1 : 4;
        ms_mesh mesh;
        ms_model_layout layout = {.tp = 1,
                                  .pp = 2,
                                  .chunks = 1,
                                  .dp = dp,
                                  .micro_batch = 2,
                                  .zero = 1,
                                  .has_reduce_overlap = true,
                                  .has_gather_overlap = true,
                                  .bucketing = MS_BUCKETS_MEGATRON};
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, (const int[]){2, dp}, 2, &f.diag), MS_OK);
        times[i] = find(&f, &mesh, &model, &layout);
    }
    cr_assert_lt(fabs(layers_s(&times[0], 8) / layers_s(&times[1], 8) - 1.0), 1e-9);
    cr_assert_lt(fabs(times[0].first_s / times[1].first_s - 1.0), 1e-9);
    cr_assert_lt(fabs(times[0].last_s / times[1].last_s - 1.0), 1e-9);
    fixture_release(&f);
}

/* A host that takes longer to launch each kernel than any kernel takes sets the pace: a microbatch
 * takes a launch for each kernel and collective. */
Test(layer_times, follow_a_slow_host) {
    static const char *const NAMES[] = {"pp", "tp"};
    platform_fixture f;
    ms_mesh mesh;
    ms_stage_costs costs;
    ms_layer_times times;
    int launches = 0;
    fixture_platform(&f, "dgx-a100", "{nodes: 1}");
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, (const int[]){2, 1}, 2, &f.diag), MS_OK);
    ms_model model = small_model();
    ms_model_layout layout = {.tp = 1,
                              .pp = 2,
                              .chunks = 1,
                              .dp = 1,
                              .micro_batch = 1,
                              .stage_layers = (const int[]){4, 4}};
    cr_assert_eq(
        ms_model_costs(&model, &layout, &MIXED, &f.platform.gpu, &f.arena, &f.diag, &costs), MS_OK);
    for (int s = 0; s < 2; s++) {
        const ms_pass_plan *passes = costs.stage[s].passes;
        for (int i = 0; i < passes[MS_PASS_F].count; i++) {
            launches += costs.segments[passes[MS_PASS_F].first + i].kernels.launches;
        }
        for (int i = 0; i < passes[MS_PASS_B].count; i++) {
            launches += costs.segments[passes[MS_PASS_B].first + i].kernels.launches;
        }
    }
    const double LAUNCH_S = 0.1;
    const ms_job job = {.spec.model = model,
                        .platform = &f.platform,
                        .mesh = mesh,
                        .precision = MIXED,
                        .layout = layout,
                        .host = {.launch_s = LAUNCH_S}};
    cr_assert_eq(ms_layer_times_find(&job, &f.arena, &f.diag, &times), MS_OK);
    double total_s = layers_s(&times, 8) + times.first_s + times.last_s;
    cr_assert_lt(fabs(total_s / (launches * LAUNCH_S) - 1.0), 1e-9, "%g, %d launches", total_s,
                 launches);
    fixture_release(&f);
}
