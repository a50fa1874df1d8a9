/**
 * @file
 * Models, GPUs and a diagnostic sink for the model layer's tests.
 */
#ifndef MESHSIM_TEST_MODEL_FIXTURE_H
#define MESHSIM_TEST_MODEL_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/kernel_times.h"
#include "model/model.h"

/** What was reported, one message after the other. */
typedef struct fixture_log {
    char text[4096];
} fixture_log;

static inline void fixture_write(void *context, const char *text) {
    fixture_log *log = context;
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%s", text);
}

/** An A100 80GB in round numbers. */
static inline ms_gpu_type fixture_a100(void) {
    return (ms_gpu_type){.name = "a100",
                         .peak_flop_per_s = 312e12,
                         .clock.sustained = 1,
                         .hbm_B = 80e9,
                         .hbm_Bps = 2.039e12,
                         .sms = 108,
                         .gemm_efficiency = 0.844,
                         .gemm_depth_half = 150,
                         .tile_m = 128,
                         .tile_n = 256,
                         .products.unaligned.share = 1,
                         .attention[MS_ATTENTION_FUSED] = {.forward = {.efficiency = {0.68}},
                                                           .backward = {.efficiency = {0.54}}},
                         .memory_efficiency = 0.85,
                         .kernel_launch_s = 2e-6};
}

/** A GPU without losses. */
static inline ms_gpu_type fixture_ideal(void) {
    return (ms_gpu_type){.name = "ideal",
                         .peak_flop_per_s = 1e15,
                         .clock.sustained = 1,
                         .hbm_B = 1e12,
                         .hbm_Bps = 1e13,
                         .sms = 1,
                         .gemm_efficiency = 1,
                         .gemm_depth_half = 0,
                         .tile_m = 1,
                         .tile_n = 1,
                         .products.unaligned.share = 1,
                         .attention[MS_ATTENTION_FUSED] = {.forward = {.efficiency = {1}},
                                                           .backward = {.efficiency = {1}}},
                         .memory_efficiency = 1};
}

/** A GPT as Megatron-LM built it in 2021: biases, dropout, no fused attention. */
static inline ms_model fixture_gpt(int layers, int hidden, int heads, int vocab) {
    return (ms_model){.name = "gpt",
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .kv_heads = heads,
                      .head_dim = hidden / heads,
                      .ffn = 4 * hidden,
                      .has_bias = true,
                      .has_positions = true,
                      .vocab = vocab,
                      .sequence = 2048,
                      .has_tied_embeddings = true,
                      .dropout = 0.1};
}

/** A Llama shape. */
static inline ms_model fixture_llama(int layers, int hidden, int heads, int kv_heads, int ffn) {
    return (ms_model){.name = "llama",
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .kv_heads = kv_heads,
                      .head_dim = hidden / heads,
                      .ffn = ffn,
                      .is_gated = true,
                      .is_rms_norm = true,
                      .vocab = 128256,
                      .sequence = 8192,
                      .attention = MS_ATTENTION_FUSED,
                      .has_fused_accumulation = true};
}

/** fp16 parameters, fp32 gradients, Adam. */
static inline ms_precision fixture_precision(void) {
    return (ms_precision){.parameter_B = 2, .gradient_B = 4, .optimizer_B = 12};
}

/** A laid-out model with what it lives in. */
typedef struct fixture_costs {
    ms_arena arena;
    fixture_log log;
    ms_diag diag;
    int stage_layers[256];
    ms_model_layout layout;
    int round; /**< microbatches of a round, for bytes sent; 0: none */
    ms_stage_costs costs;
    ms_status status;
} fixture_costs;

/** Fill the layers per stage evenly; a remainder goes to the first stages. */
static inline void fixture_split(fixture_costs *fixture, const ms_model *model) {
    int stages = fixture->layout.pp * fixture->layout.chunks;
    cr_assert_leq(stages, 256);
    for (int i = 0; i < stages; i++) {
        fixture->stage_layers[i] = model->layers / stages + (i < model->layers % stages);
    }
    fixture->layout.stage_layers = fixture->stage_layers;
}

static inline void fixture_init(fixture_costs *fixture) {
    memset(fixture, 0, sizeof *fixture);
    ms_arena_init(&fixture->arena);
    ms_diag_init(&fixture->diag, fixture_write, &fixture->log);
    fixture->layout = (ms_model_layout){.tp = 1, .pp = 1, .chunks = 1, .dp = 1, .micro_batch = 1};
}

/** Lay out `model` with fixture->layout (its degrees filled by the caller). */
static inline void fixture_run(fixture_costs *fixture, const ms_model *model,
                               const ms_gpu_type *gpu) {
    ms_precision precision = fixture_precision();
    fixture_split(fixture, model);
    fixture->status = ms_model_costs(model, &fixture->layout, &precision, gpu, &fixture->arena,
                                     &fixture->diag, &fixture->costs);
}

static inline void fixture_clear(fixture_costs *fixture) {
    ms_arena_release(&fixture->arena);
}

/** Compute seconds of a pass. */
static inline double fixture_pass_s(const ms_stage_costs *costs, int stage, ms_pass pass) {
    ms_pass_plan plan = costs->stage[stage].passes[pass];
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        sum += costs->segments[i].time_s;
    }
    return sum;
}

/** FLOP of a pass. */
static inline double fixture_pass_flop(const ms_stage_costs *costs, int stage, ms_pass pass) {
    ms_pass_plan plan = costs->stage[stage].passes[pass];
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        sum += costs->segments[i].flop;
    }
    return sum;
}

/** Bytes a rank sends in a collective of n members with a full buffer of S bytes. */
static inline double fixture_coll_sent_B(ms_coll_kind kind, double n, double S) {
    switch (kind) {
    case MS_COLL_ALL_REDUCE:
        return 2 * (n - 1) / n * S;
    case MS_COLL_RING_SHIFT:
        return S;
    default:
        return (n - 1) / n * S;
    }
}

/** Members of a collective segment's group. */
static inline double fixture_members(const ms_model_layout *layout, const ms_segment *segment) {
    const int SIZES[MS_AXIS_COUNT] = {[MS_AXIS_TP] = layout->tp,
                                      [MS_AXIS_CP] = layout->cp,
                                      [MS_AXIS_EP] = layout->ep,
                                      [MS_AXIS_DP] = layout->dp,
                                      [MS_AXIS_OTHER] = layout->other};
    unsigned axes = segment->group_axes ? segment->group_axes : MS_AXIS_BIT(segment->axis);
    if (segment->is_between_directions) {
        return layout->directions;
    }
    double members = 1;
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        bool is_in = (axes & MS_AXIS_BIT(axis)) && SIZES[axis] > 1;
        members *= is_in ? SIZES[axis] : 1;
    }
    return members;
}

/** Bytes a rank sends over an axis in the segments of a plan that run on microbatch `mb` of
 * `microbatches`. */
static inline double fixture_plan_sent_B(const fixture_costs *fixture, ms_pass_plan plan,
                                         ms_axis axis, int mb, int microbatches) {
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &fixture->costs.segments[i];
        bool runs = segment->when == MS_WHEN_ALWAYS ||
                    (segment->when == MS_WHEN_FIRST && mb == 0) ||
                    (segment->when == MS_WHEN_LAST && mb == microbatches - 1) ||
                    (segment->when == MS_WHEN_ROUND &&
                     ((mb + 1) % fixture->round == 0 || mb == microbatches - 1));
        if (segment->is_collective && segment->axis == axis && runs) {
            sum += fixture_coll_sent_B(segment->coll, fixture_members(&fixture->layout, segment),
                                       segment->coll_B);
        }
    }
    return sum;
}

/** Which of a rank's parameters a collective of its step's end is over. */
typedef enum fixture_share { FIXTURE_DENSE, FIXTURE_EXPERT } fixture_share;

/** Full buffers of a plan's collectives over the replicas [B]: experts' groups leave ep out. */
static inline double fixture_plan_B(const fixture_costs *fixture, ms_pass_plan plan,
                                    fixture_share share) {
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &fixture->costs.segments[i];
        bool has_ep = (segment->group_axes & MS_AXIS_BIT(MS_AXIS_EP)) != 0;
        cr_assert(segment->is_collective);
        if (segment->axis == MS_AXIS_DP && has_ep == (share == FIXTURE_DENSE)) {
            sum += segment->coll_B;
        }
    }
    return sum;
}

/** Bytes a rank of a single pipeline rank sends over an axis in a step with fused backward passes.
 */
static inline double fixture_step_sent_B(const fixture_costs *fixture, ms_axis axis,
                                         int microbatches) {
    const ms_stage_costs *costs = &fixture->costs;
    double sum = 0;
    for (int stage = 0; stage < costs->stages; stage++) {
        for (int mb = 0; mb < microbatches; mb++) {
            const ms_pass_plan *passes = costs->stage[stage].passes;
            sum += fixture_plan_sent_B(fixture, passes[MS_PASS_F], axis, mb, microbatches);
            sum += fixture_plan_sent_B(fixture, passes[MS_PASS_B], axis, mb, microbatches);
        }
    }
    return sum + fixture_plan_sent_B(fixture, costs->before_update[0], axis, 0, 1) +
           fixture_plan_sent_B(fixture, costs->after_update[0], axis, 0, 1);
}

/** Whether a segment waits for segment `place` of its pass. */
static inline bool fixture_waits(const ms_segment *segment, int place) {
    bool waits = false;
    for (int i = 0; i < segment->wait_count; i++) {
        waits = waits || segment->waits[i] == place;
    }
    return waits;
}

/** Whether some segment of a pass waits for segment `place` of it. */
static inline bool fixture_is_awaited(const ms_stage_costs *costs, ms_pass_plan plan, int place) {
    bool is_awaited = false;
    for (int k = place + 1; k < plan.count; k++) {
        is_awaited = is_awaited || fixture_waits(&costs->segments[plan.first + k], place);
    }
    return is_awaited;
}

/** What holds of the waits of every pass: they name different asynchronous collectives before the
 * segment, of its own layer. */
static inline void fixture_check_waits(const ms_stage_costs *costs) {
    int parts = costs->slices > 1 ? costs->slices : 1;
    for (int i = 0; i < parts * costs->stages * MS_PASS_COUNT; i++) {
        ms_pass_plan plan = costs->stage[i / MS_PASS_COUNT].passes[i % MS_PASS_COUNT];
        for (int k = 0; k < plan.count; k++) {
            const ms_segment *segment = &costs->segments[plan.first + k];
            for (int j = 0; j < segment->wait_count; j++) {
                int place = segment->waits[j];
                cr_assert(place >= 0 && place < k);
                const ms_segment *awaited = &costs->segments[plan.first + place];
                cr_assert(awaited->is_collective && awaited->is_async);
                cr_assert(awaited->layer == segment->layer || awaited->layer < 0); /* buckets */
                cr_assert(j == 0 || segment->waits[j - 1] != place);
            }
        }
    }
}

/** Relative difference. */
static inline double fixture_gap(double a, double b) {
    return a == b ? 0 : fabs(a - b) / fmax(fabs(a), fabs(b));
}

/** Bytes that the kernels of a name move in a pass of stage 0. */
static inline double fixture_kernel_B(const ms_stage_costs *costs, ms_pass pass, const char *name) {
    ms_pass_plan plan = costs->stage[0].passes[pass];
    double bytes = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        ms_segment_kernels called = costs->segments[i].kernels;
        for (int u = called.use_first; u < called.use_first + called.uses; u++) {
            const ms_kernel *kernel = &costs->kernels[costs->uses[u].kernel];
            bool is_it = strcmp(kernel->name, name) == 0;
            bytes += is_it ? costs->uses[u].calls * kernel->bytes : 0;
        }
    }
    return bytes;
}

/** The first kernel of a name. */
static inline const ms_kernel *fixture_kernel(const ms_stage_costs *costs, const char *name) {
    for (int i = 0; i < costs->kernel_count; i++) {
        if (strcmp(costs->kernels[i].name, name) == 0) {
            return &costs->kernels[i];
        }
    }
    cr_assert_fail("no kernel '%s'", name);
    return NULL;
}

/** Seed of a property test: MS_SEED when set. */
static inline uint64_t fixture_seed(void) {
    const char *text = getenv("MS_SEED");
    return text ? strtoull(text, NULL, 10) : 20260101;
}

/** Collectives of a pass of the first stage that other segments run beside. */
static inline int fixture_count_async(const ms_stage_costs *costs, ms_pass pass) {
    ms_pass_plan plan = costs->stage[0].passes[pass];
    int count = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        count += costs->segments[i].is_async;
    }
    return count;
}

#endif
