#include "fixture.h"

static double sum_of_uses_s(const ms_stage_costs *costs, const ms_segment *segment) {
    double sum = 0;
    for (int i = segment->kernels.use_first; i < segment->kernels.use_first + segment->kernels.uses;
         i++) {
        cr_assert_lt(costs->uses[i].kernel, costs->kernel_count);
        cr_assert_gt(costs->uses[i].calls, 0);
        sum += costs->uses[i].calls * costs->kernels[costs->uses[i].kernel].time_s;
    }
    return sum;
}

/* What holds for every layout. */
static void check_invariants(const ms_stage_costs *costs) {
    for (int i = 0; i < costs->segment_count; i++) {
        const ms_segment *segment = &costs->segments[i];
        if (segment->is_collective) {
            cr_assert(segment->coll_B > 0 && segment->time_s == 0 && segment->kernels.uses == 0);
            cr_assert(segment->axis > MS_AXIS_NONE && segment->axis < MS_AXIS_COUNT);
        } else {
            cr_assert(segment->time_s > 0);
            cr_assert_lt(fixture_gap(segment->time_s, sum_of_uses_s(costs, segment)), 1e-12);
        }
    }
    for (int i = 0; i < costs->kernel_count; i++) {
        for (int j = 0; j < i; j++) {
            cr_assert(strcmp(costs->kernels[i].name, costs->kernels[j].name) != 0 ||
                          strcmp(costs->kernels[i].shape, costs->kernels[j].shape) != 0,
                      "kernel '%s' '%s' stands twice", costs->kernels[i].name,
                      costs->kernels[i].shape);
        }
    }
    for (int stage = 0; stage < costs->stages; stage++) {
        double both_s =
            fixture_pass_s(costs, stage, MS_PASS_I) + fixture_pass_s(costs, stage, MS_PASS_W);
        double both_flop =
            fixture_pass_flop(costs, stage, MS_PASS_I) + fixture_pass_flop(costs, stage, MS_PASS_W);
        cr_assert_lt(fixture_gap(fixture_pass_s(costs, stage, MS_PASS_B), both_s), 1e-12);
        cr_assert_lt(fixture_gap(fixture_pass_flop(costs, stage, MS_PASS_B), both_flop), 1e-12);
    }
}

/* A random model with a layout that fits it. */
static ms_model random_case(ms_random *random, ms_model_layout *layout) {
    int heads = 8 << ms_random_range(random, 0, 2);
    int head_dim = 32 * (int)ms_random_range(random, 1, 4);
    ms_model model = fixture_gpt((int)ms_random_range(random, 1, 12) * 4, heads * head_dim, heads,
                                 (int)ms_random_range(random, 0, 2) * 1000);
    model.kv_heads = ms_random_range(random, 0, 1) ? heads : heads / 8;
    model.is_gated = ms_random_range(random, 0, 1);
    model.is_rms_norm = ms_random_range(random, 0, 1);
    model.has_bias = ms_random_range(random, 0, 1);
    model.has_positions = ms_random_range(random, 0, 1);
    model.has_tied_embeddings = ms_random_range(random, 0, 1);
    model.attention = (ms_attention_kernel)ms_random_range(random, 0, 1);
    model.has_fused_accumulation = ms_random_range(random, 0, 1);
    model.dropout = ms_random_range(random, 0, 1) ? 0.1 : 0;
    model.sequence = 128 * (int)ms_random_range(random, 1, 8);
    *layout = (ms_model_layout){.tp = 1 << ms_random_range(random, 0, 3),
                                .pp = 1 << ms_random_range(random, 0, 1),
                                .chunks = 1 << ms_random_range(random, 0, 1),
                                .dp = (int)ms_random_range(random, 1, 5),
                                .micro_batch = (int)ms_random_range(random, 1, 4),
                                .zero = (int)ms_random_range(random, 0, 1),
                                .recompute = (ms_recompute)ms_random_range(random, 0, 1),
                                .has_scatter_gather = ms_random_range(random, 0, 1)};
    return model;
}

/* Choices of layout on top of a random case's degrees, each legal for it. */
static void add_choices(ms_random *random, ms_model *model, ms_model_layout *layout) {
    layout->cp = 1 << ms_random_range(random, 0, 2);
    layout->cp_kind = (ms_cp_kind)ms_random_range(random, 0, 2);
    layout->has_cp_overlap = ms_random_range(random, 0, 1);
    if (layout->cp > 1 && layout->cp_kind == MS_CP_RING) {
        model->attention = MS_ATTENTION_FUSED;
    }
    bool is_turned = layout->cp > 1 && layout->cp_kind == MS_CP_ALL_TO_ALL;
    layout->tp = is_turned && layout->tp > 2 ? 2 : layout->tp;
    layout->other = (int)ms_random_range(random, 0, 3);
    layout->recompute = (ms_recompute)ms_random_range(random, 0, 2);
    layout->recompute_layers =
        layout->recompute == MS_RECOMPUTE_FULL ? (int)ms_random_range(random, 0, 1) : 0;
    layout->has_sequence_parallel = ms_random_range(random, 0, 1);
    layout->tp_overlap = (ms_tp_overlap)ms_random_range(
        random, 0, layout->has_sequence_parallel ? MS_TP_OVERLAP_RING : MS_TP_OVERLAP_BULK);
    layout->tp_chunks = 4;
    layout->zero = (int)ms_random_range(random, 0, 3);
    layout->shard_axes =
        layout->zero > 0 && ms_random_range(random, 0, 1) ? MS_AXIS_BIT(MS_AXIS_DP) : 0;
    layout->keeps_parameters = layout->zero == 3 && ms_random_range(random, 0, 1);
    layout->reduce = (ms_reduce)(layout->zero >= 2 ? ms_random_range(random, 0, 2) : 0);
    layout->has_reduce_overlap = ms_random_range(random, 0, 1);
    layout->has_gather_overlap = layout->zero > 0 && ms_random_range(random, 0, 1);
    layout->bucket_B = (double)ms_random_range(random, 0, 10) * 1e6;
}

Test(costs, invariants_hold_for_random_choices) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    ms_gpu_type gpu = fixture_a100();
    for (int i = 0; i < 300; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model model = random_case(&random, &fixture.layout);
        add_choices(&random, &model, &fixture.layout);
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "seed %llu: %s", (unsigned long long)seed,
                     fixture.log.text);
        check_invariants(&fixture.costs);
        fixture_check_waits(&fixture.costs);
        fixture_clear(&fixture);
    }
}

/* Overlap is a matter of when: bytes and FLOP stay. */
Test(costs, overlap_never_changes_bytes_or_flop) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    ms_gpu_type gpu = fixture_a100();
    for (int i = 0; i < 200; i++) {
        fixture_costs with, without;
        fixture_init(&with);
        ms_model model = random_case(&random, &with.layout);
        add_choices(&random, &model, &with.layout);
        with.layout.pp = 1;
        fixture_init(&without);
        with.round = without.round = 2;
        without.layout = with.layout;
        without.layout.has_cp_overlap = without.layout.has_reduce_overlap = false;
        without.layout.has_gather_overlap = false;
        without.layout.tp_overlap = MS_TP_OVERLAP_NONE;
        fixture_run(&with, &model, &gpu);
        fixture_run(&without, &model, &gpu);
        cr_assert(with.status == MS_OK && without.status == MS_OK, "%s%s", with.log.text,
                  without.log.text);
        for (int axis = MS_AXIS_TP; axis <= MS_AXIS_OTHER; axis++) {
            double a = fixture_step_sent_B(&with, (ms_axis)axis, 3);
            double b = fixture_step_sent_B(&without, (ms_axis)axis, 3);
            cr_assert_lt(fixture_gap(a, b), 1e-12, "seed %llu, case %d, axis %s: %g, %g",
                         (unsigned long long)seed, i, ms_axis_name((ms_axis)axis), a, b);
        }
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            double a = fixture_pass_flop(&with.costs, 0, (ms_pass)pass);
            double b = fixture_pass_flop(&without.costs, 0, (ms_pass)pass);
            cr_assert_lt(fixture_gap(a, b), 1e-12);
        }
        fixture_clear(&with);
        fixture_clear(&without);
    }
}

Test(costs, invariants_hold_for_random_models) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    ms_gpu_type gpu = fixture_a100();
    for (int i = 0; i < 150; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model model = random_case(&random, &fixture.layout);
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "seed %llu: %s", (unsigned long long)seed,
                     fixture.log.text);
        check_invariants(&fixture.costs);
        fixture_clear(&fixture);
    }
}

Test(costs, better_gpus_make_no_pass_slower) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    for (int i = 0; i < 40; i++) {
        fixture_costs before, after;
        fixture_init(&before);
        fixture_init(&after);
        ms_model model = random_case(&random, &before.layout);
        after.layout = before.layout;
        ms_gpu_type gpu = fixture_a100();
        fixture_run(&before, &model, &gpu);
        gpu.peak_flop_per_s *= 1 + ms_random_unit(&random);
        gpu.hbm_Bps *= 1 + ms_random_unit(&random);
        fixture_run(&after, &model, &gpu);
        cr_assert(before.status == MS_OK && after.status == MS_OK);
        for (int stage = 0; stage < before.costs.stages; stage++) {
            for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
                double a = fixture_pass_s(&after.costs, stage, (ms_pass)pass);
                double b = fixture_pass_s(&before.costs, stage, (ms_pass)pass);
                cr_assert(a > 0 && a <= b, "seed %llu", (unsigned long long)seed);
            }
        }
        fixture_clear(&before);
        fixture_clear(&after);
    }
}

/* FLOP of a pass over all stages. */
static double total_flop(const ms_stage_costs *costs, ms_pass pass) {
    double sum = 0;
    for (int stage = 0; stage < costs->stages; stage++) {
        sum += fixture_pass_flop(costs, stage, pass);
    }
    return sum;
}

Test(costs, executed_flop_is_the_models_whatever_the_layout) {
    ms_model model = fixture_gpt(16, 1024, 16, 51200);
    ms_gpu_type gpu = fixture_a100();
    for (int tp = 1; tp <= 8; tp *= 2) {
        for (int pp = 1; pp <= 4; pp *= 2) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.tp = tp;
            fixture.layout.pp = pp;
            fixture.layout.chunks = 2;
            fixture.layout.micro_batch = 3;
            fixture.layout.recompute = MS_RECOMPUTE_FULL;
            fixture_run(&fixture, &model, &gpu);
            cr_assert_eq(fixture.status, MS_OK);
            const ms_stage_costs *costs = &fixture.costs;
            double forward = total_flop(costs, MS_PASS_F) * tp;
            double backward = total_flop(costs, MS_PASS_B) * tp;
            cr_assert_lt(fixture_gap(forward, 3 * costs->forward_flop), 1e-12);
            cr_assert_lt(
                fixture_gap(backward, 3 * (2 * costs->forward_flop + costs->recompute_flop)),
                1e-12);
            fixture_clear(&fixture);
        }
    }
}

Test(costs, fused_attention_skips_what_the_mask_hides) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    model.vocab = 0;
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    const ms_stage_costs *costs = &fixture.costs;
    double weights = costs->forward_flop - costs->attention_flop;
    cr_assert_lt(fixture_gap(total_flop(costs, MS_PASS_F), weights + 0.5 * costs->attention_flop),
                 1e-12);
    cr_assert_lt(
        fixture_gap(total_flop(costs, MS_PASS_B), 2 * weights + 1.25 * costs->attention_flop),
        1e-12);
    fixture_clear(&fixture);
}

/* Compute and collective segments of one layer in a pass. */
static void count_layer(const ms_stage_costs *costs, int stage, ms_pass pass, int layer,
                        int counts_out[2]) {
    ms_pass_plan plan = costs->stage[stage].passes[pass];
    counts_out[0] = counts_out[1] = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        if (costs->segments[i].layer == layer) {
            counts_out[costs->segments[i].is_collective]++;
        }
    }
}

Test(costs, layers_keep_their_granularity) {
    const struct {
        int tp;
        ms_recompute recompute;
        ms_pass pass;
        int computes, collectives;
    } ROWS[] = {{4, MS_RECOMPUTE_NONE, MS_PASS_F, 2, 2}, {4, MS_RECOMPUTE_NONE, MS_PASS_B, 2, 2},
                {4, MS_RECOMPUTE_FULL, MS_PASS_B, 4, 4}, {4, MS_RECOMPUTE_FULL, MS_PASS_I, 4, 4},
                {4, MS_RECOMPUTE_FULL, MS_PASS_W, 1, 0}, {1, MS_RECOMPUTE_NONE, MS_PASS_F, 1, 0},
                {1, MS_RECOMPUTE_FULL, MS_PASS_B, 2, 0}, {1, MS_RECOMPUTE_NONE, MS_PASS_B, 1, 0}};
    ms_model model = fixture_gpt(8, 1024, 16, 51200);
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = ROWS[i].tp;
        fixture.layout.pp = 2;
        fixture.layout.recompute = ROWS[i].recompute;
        fixture_run(&fixture, &model, &gpu);
        for (int layer = 0; layer < 8; layer++) {
            int counts[2];
            count_layer(&fixture.costs, layer / 4, ROWS[i].pass, layer, counts);
            cr_assert_eq(counts[0], ROWS[i].computes, "row %zu layer %d", i, layer);
            cr_assert_eq(counts[1], ROWS[i].collectives, "row %zu layer %d", i, layer);
        }
        fixture_clear(&fixture);
    }
}

Test(costs, layer_all_reduces_carry_a_plane) {
    /* b=2 s=2048 h=8192 bf16: 67.1 MB each, two per layer and forward pass */
    ms_model model = fixture_gpt(1, 8192, 64, 0);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.tp = 8;
    fixture.layout.micro_batch = 2;
    fixture_run(&fixture, &model, &gpu);
    ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
    double payload_B = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        if (fixture.costs.segments[i].is_collective) {
            cr_assert_eq(fixture.costs.segments[i].coll, MS_COLL_ALL_REDUCE);
            payload_B += fixture.costs.segments[i].coll_B;
        }
    }
    cr_assert_eq(payload_B, 2 * 67108864.0);
    fixture_clear(&fixture);
}

Test(costs, recomputation_repeats_the_forward_pass_of_layers) {
    ms_model model = fixture_gpt(8, 1024, 16, 0);
    fixture_costs none, full;
    ms_gpu_type gpu = fixture_a100();
    fixture_init(&none);
    none.layout.tp = 2;
    fixture_run(&none, &model, &gpu);
    fixture_init(&full);
    full.layout.tp = 2;
    full.layout.recompute = MS_RECOMPUTE_FULL;
    fixture_run(&full, &model, &gpu);
    double forward_s = fixture_pass_s(&none.costs, 0, MS_PASS_F);
    double added_s =
        fixture_pass_s(&full.costs, 0, MS_PASS_B) - fixture_pass_s(&none.costs, 0, MS_PASS_B);
    cr_assert_lt(fixture_gap(added_s, forward_s), 1e-12);
    double marked_s = 0;
    for (int i = 0; i < full.costs.stage[0].passes[MS_PASS_B].count; i++) {
        const ms_segment *segment =
            &full.costs.segments[full.costs.stage[0].passes[MS_PASS_B].first + i];
        marked_s += segment->is_recompute ? segment->time_s : 0;
    }
    cr_assert_lt(fixture_gap(marked_s, forward_s), 1e-12);
    fixture_clear(&none);
    fixture_clear(&full);
}

Test(costs, backward_passes_walk_the_layers_down) {
    ms_model model = fixture_gpt(6, 512, 8, 51200);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.pp = 2;
    fixture_run(&fixture, &model, &gpu);
    for (int stage = 0; stage < 2; stage++) {
        const ms_stage_cost *cost = &fixture.costs.stage[stage];
        cr_assert_eq(cost->layer_first, 3 * stage);
        cr_assert_eq(cost->layers, 3);
        int up = cost->layer_first, down = cost->layer_first + 2;
        for (int i = 0; i < cost->passes[MS_PASS_F].count; i++) {
            int layer = fixture.costs.segments[cost->passes[MS_PASS_F].first + i].layer;
            cr_assert(layer == -1 || layer == up++);
        }
        for (int i = 0; i < cost->passes[MS_PASS_B].count; i++) {
            int layer = fixture.costs.segments[cost->passes[MS_PASS_B].first + i].layer;
            cr_assert(layer == -1 || layer == down--);
        }
        cr_assert(up == cost->layer_first + 3 && down == cost->layer_first - 1);
    }
    fixture_clear(&fixture);
}

Test(costs, scatter_gather_sends_a_share_and_gathers_it) {
    ms_model model = fixture_gpt(4, 1024, 16, 51200);
    fixture_costs whole, shared;
    ms_gpu_type gpu = fixture_a100();
    fixture_init(&whole);
    whole.layout.tp = 4;
    whole.layout.pp = 4;
    fixture_run(&whole, &model, &gpu);
    fixture_init(&shared);
    shared.layout = whole.layout;
    shared.layout.has_scatter_gather = true;
    fixture_run(&shared, &model, &gpu);
    double plane_B = 2.0 * 2048 * 1024;
    for (int stage = 0; stage < 4; stage++) {
        const ms_stage_cost *a = &whole.costs.stage[stage], *b = &shared.costs.stage[stage];
        cr_assert_eq(a->send_forward_B, stage < 3 ? plane_B : 0);
        cr_assert_eq(b->send_forward_B, stage < 3 ? plane_B / 4 : 0);
        cr_assert_eq(a->send_backward_B, stage > 0 ? plane_B : 0);
        cr_assert_eq(b->send_backward_B, stage > 0 ? plane_B / 4 : 0);
        cr_assert_eq(b->passes[MS_PASS_F].count, a->passes[MS_PASS_F].count + (stage > 0));
        cr_assert_eq(b->passes[MS_PASS_I].count, a->passes[MS_PASS_I].count + (stage < 3));
        cr_assert_eq(b->passes[MS_PASS_B].count, a->passes[MS_PASS_B].count + (stage < 3));
        cr_assert_eq(b->passes[MS_PASS_W].count, a->passes[MS_PASS_W].count);
        const ms_segment *first = &shared.costs.segments[b->passes[MS_PASS_F].first];
        if (stage > 0) {
            cr_assert_eq(first->coll, MS_COLL_ALL_GATHER);
            cr_assert_eq(first->coll_B, plane_B);
        }
    }
    fixture_clear(&whole);
    fixture_clear(&shared);
}

Test(costs, ends_cost_more_than_the_middle) {
    ms_model model = fixture_gpt(8, 1024, 16, 51200);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.pp = 4;
    fixture.layout.tp = 2;
    fixture_run(&fixture, &model, &gpu);
    const ms_stage_costs *costs = &fixture.costs;
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        double middle = fixture_pass_s(costs, 1, (ms_pass)pass);
        cr_assert_eq(middle, fixture_pass_s(costs, 2, (ms_pass)pass));
        cr_assert_gt(fixture_pass_s(costs, 0, (ms_pass)pass), middle);
        cr_assert_gt(fixture_pass_s(costs, 3, (ms_pass)pass), middle);
    }
    cr_assert(costs->stage[0].tied_B > 0 && costs->stage[3].tied_B > 0);
    cr_assert(costs->stage[1].tied_B == 0 && costs->stage[2].tied_B == 0);
    fixture_clear(&fixture);
}

Test(costs, separate_gradient_addition_costs_its_bytes) {
    ms_model model = fixture_gpt(1, 1024, 16, 0);
    model.has_bias = false;
    fixture_costs fused, apart;
    ms_gpu_type gpu = fixture_ideal();
    fixture_init(&apart);
    fixture_run(&apart, &model, &gpu);
    model.has_fused_accumulation = true;
    gpu.hbm_Bps = 1e300; /* only to take the fused products' own traffic away */
    fixture_init(&fused);
    fixture_run(&fused, &model, &gpu);
    double weights = 12.0 * 1024 * 1024;
    double added_s =
        fixture_pass_s(&apart.costs, 0, MS_PASS_W) - fixture_pass_s(&fused.costs, 0, MS_PASS_W);
    cr_assert_lt(fixture_gap(added_s, weights * (2 + 4 + 4) / 1e13), 1e-9);
    fixture_clear(&fused);
    fixture_clear(&apart);
}

Test(costs, every_failing_allocation_is_reported) {
    ms_model model = fixture_gpt(4, 512, 8, 51200);
    ms_gpu_type gpu = fixture_a100();
    for (long allowed = 0;; allowed++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.pp = 2;
        ms_arena_fail_after(&fixture.arena, allowed);
        fixture_run(&fixture, &model, &gpu);
        ms_status status = fixture.status;
        bool is_reported = strstr(fixture.log.text, "memory") != NULL;
        fixture_clear(&fixture);
        if (status == MS_OK) {
            cr_assert_gt(allowed, 10);
            return;
        }
        cr_assert(status == MS_E_NOMEM && is_reported, "after %ld allocations", allowed);
    }
}
