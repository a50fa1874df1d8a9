#include "moe_fixture.h"

Test(moe, published_models_have_their_published_parameters) {
    ms_model mixtral = fixture_mixtral(), deepseek = fixture_deepseek_v3();
    /* sums over the tensors of the published checkpoints */
    cr_assert_eq((int64_t)ms_model_parameters(&mixtral), 46702792704);
    cr_assert_eq((int64_t)ms_model_active_parameters(&mixtral), 12879925248);
    cr_assert_eq((int64_t)ms_model_parameters(&deepseek), 671026419200);
    /* 36.7e9 with the head but without the embedding, as the checkpoint's notes count */
    double active = ms_model_active_parameters(&deepseek) - 129280.0 * 7168;
    cr_assert_float_eq(active / 1e9, 36.7, 0.1);
    /* and 11.6e9 in a module that shares embedding and head: 685e9 with copies of both */
    deepseek.mtp_layers = 1;
    double with_module = ms_model_parameters(&deepseek);
    cr_assert_float_eq((with_module - 671026419200) / 1e9, 11.6, 0.05);
    cr_assert_float_eq((with_module + 2 * 129280.0 * 7168) / 1e9, 685, 1);
}

Test(moe, forward_flop_are_twice_the_active_weights) {
    /* the published count of one training token without its module: 6 x 36.6e9 matrix weights (the
     * head's, not the embedding's) and the attention */
    ms_model model = fixture_deepseek_v3();
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    double s = 4096, h = 7168, gains = 61 * (2 * h + 1536 + 512) + h, bias = 58 * 256;
    double weights = ms_model_active_parameters(&model) - 129280 * h - gains - bias;
    double attention = 61 * 2 * s * s * 128 * (192 + 128);
    cr_assert_lt(fixture_gap(fixture.costs.forward_flop, 2 * s * weights + attention), 1e-14);
    cr_assert_lt(fixture_gap(fixture.costs.attention_flop, attention), 1e-14);
    /* a module adds a layer, its merging product and the head once more */
    double before = fixture.costs.forward_flop, expert = 3.0 * h * 2048;
    model.mtp_layers = 1;
    fixture_run(&fixture, &model, &gpu);
    double layer = h * (1536 + 512 + 64) + 1536 * 128.0 * 192 + 512 * 128.0 * 256 +
                   128.0 * 128 * h + h * 256 + 9 * expert;
    double added = 2 * s * (layer + 2 * h * h + h * 129280) + attention / 61;
    cr_assert_lt(fixture_gap(fixture.costs.forward_flop - before, added), 1e-12);
    fixture_clear(&fixture);
}

/* FLOP of a pass over all stages, fused attention counted whole. */
static double executed_flop(const ms_stage_costs *costs, ms_pass pass) {
    double sum = 0;
    for (int stage = 0; stage < costs->stages; stage++) {
        sum += fixture_pass_flop(costs, stage, pass);
    }
    return sum;
}

Test(moe, executed_flop_is_the_models_whatever_ep_and_imbalance) {
    ms_model model = fixture_small_moe(6);
    model.moe.first_dense_layers = 1;
    model.vocab = 32000;
    ms_gpu_type gpu = fixture_a100();
    for (int ep = 1; ep <= 16; ep *= 4) {
        for (int spread = 0; spread <= 1; spread++) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.ep = ep;
            fixture.layout.pp = 2;
            fixture.layout.micro_batch = 2;
            model.moe.imbalance = MS_IMBALANCE_LOGNORMAL;
            model.moe.spread = spread;
            model.mtp_layers = 1;
            fixture_run(&fixture, &model, &gpu);
            cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
            const ms_stage_costs *costs = &fixture.costs;
            double hidden = costs->attention_flop / 2; /* what the causal mask hides */
            double forward = executed_flop(costs, MS_PASS_F);
            double backward = executed_flop(costs, MS_PASS_B);
            cr_assert_lt(fixture_gap(forward, 2 * (costs->forward_flop - hidden)), 1e-12);
            double weights = costs->forward_flop - costs->attention_flop;
            cr_assert_lt(fixture_gap(backward, 2 * (2 * weights + 1.25 * costs->attention_flop)),
                         1e-12);
            fixture_clear(&fixture);
        }
    }
}

typedef struct traffic_row {
    const char *name;
    ms_model model;
    int ep, micro_batch;
    double forward_B, backward_B; /* of one layer, per rank */
} traffic_row;

/* Dispatch and combine both send (ep-1)/ep of tokens * top_k * hidden * 2 bytes, in both passes.
 * Source: the all-to-all of every token's copies, Lepikhin et al. 2020, arXiv:2006.16668. */
Test(moe, all_to_all_bytes_follow_the_closed_form) {
    traffic_row rows[] = {
        {"small", fixture_small_moe(1), 4, 1, 2 * 2048.0 * 4 * 1024 * 2 * 3 / 4, 0},
        {"small, ep 16", fixture_small_moe(1), 16, 2, 2 * 4096.0 * 4 * 1024 * 2 * 15 / 16, 0},
        {"mixtral", fixture_mixtral(), 8, 1, 2 * 4096.0 * 2 * 4096 * 2 * 7 / 8, 0},
        {"deepseek", fixture_deepseek_v3(), 64, 1, 2 * 4096.0 * 8 * 7168 * 2 * 63 / 64, 0}};
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ms_model model = rows[i].model;
        model.moe.node_limit = 0;
        model.moe.first_dense_layers = 0;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = rows[i].ep;
        fixture.layout.micro_batch = rows[i].micro_batch;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        fixture_traffic of = {&fixture.costs, 0, MS_PASS_F, MS_AXIS_EP, rows[i].ep};
        double expected = rows[i].forward_B * model.layers;
        cr_assert_eq(fixture_sent_B(of), expected, "%s", rows[i].name);
        of.pass = MS_PASS_I;
        cr_assert_eq(fixture_sent_B(of), expected, "%s", rows[i].name);
        of.pass = MS_PASS_B;
        cr_assert_eq(fixture_sent_B(of), expected, "%s", rows[i].name);
        of.pass = MS_PASS_W;
        cr_assert_eq(fixture_sent_B(of), 0, "%s", rows[i].name);
        fixture_clear(&fixture);
    }
}

/* Source: DeepSeek-AI 2024, arXiv:2412.19437, section 3.3: fp8 to the experts, forward and for the
 * gradients backward, bf16 back; a 4-byte scale per 128 elements. */
Test(moe, elements_on_the_way_have_their_own_size) {
    ms_model model = fixture_small_moe(1);
    model.moe.dispatch_element_B = 1 + 4.0 / 128;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 4;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    double copies = 2048.0 * 4 * 1024;
    for (int pass = MS_PASS_F; pass <= MS_PASS_I; pass++) {
        fixture_traffic of = {&fixture.costs, 0, (ms_pass)pass, MS_AXIS_EP, 4};
        cr_assert_eq(fixture_sent_B(of), copies * (2 + 1.03125) * 3 / 4);
    }
    fixture_clear(&fixture);
}

/* Bytes of all calls of a kernel in a layer's forward and backward pass. */
static double moved_B(const ms_precision *precision, double dispatch_B, const char *name) {
    ms_model model = fixture_small_moe(1);
    model.moe.dispatch_element_B = dispatch_B;
    ms_gpu_type gpu = fixture_a100();
    gpu.products.of[MS_PRODUCT_FP8] =
        (ms_product_rate){.peak_flop_per_s = 624e12, .sustained_clock = 1, .gemm_efficiency = 0.8};
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 4;
    fixture_split(&fixture, &model);
    ms_status status = ms_model_costs(&model, &fixture.layout, precision, &gpu, &fixture.arena,
                                      &fixture.diag, &fixture.costs);
    cr_assert_eq(status, MS_OK, "%s", fixture.log.text);
    const ms_pass_plan *passes = fixture.costs.stage[0].passes;
    double sum = 0;
    for (int pass = MS_PASS_F; pass <= MS_PASS_B; pass++) {
        for (int i = 0; i < passes[pass].count; i++) {
            const ms_segment *segment = &fixture.costs.segments[passes[pass].first + i];
            for (int u = 0; u < segment->kernels.uses; u++) {
                const ms_kernel_use *use = &fixture.costs.uses[segment->kernels.use_first + u];
                const ms_kernel *kernel = &fixture.costs.kernels[use->kernel];
                bool counts =
                    strcmp(kernel->name, name) == 0 && (pass == MS_PASS_F || pass == MS_PASS_B);
                sum += counts ? use->calls * kernel->bytes : 0;
            }
        }
    }
    fixture_clear(&fixture);
    return sum;
}

/* What is sent in fp8 is cast where tokens are copied, sorted as it came, and a product in fp8
 * takes it without another cast: it makes the second form of it, of inputs (forward) and of
 * gradients (backward), where it had cast both into both forms. */
Test(moe, copies_stay_as_they_were_sent) {
    const double Q = 1 + 4.0 / 128, h = 1024, tokens = 2048, copies = 4 * tokens;
    const ms_precision plain = fixture_precision();
    ms_precision blocks = plain;
    blocks.products = (ms_products){.format = MS_PRODUCT_FP8,
                                    .scaling = MS_SCALING_BLOCKWISE,
                                    .weight_gradients = MS_TYPE_OF_PRODUCTS,
                                    .kept = MS_TYPE_OF_PRODUCTS};
    cr_assert_eq(moved_B(&plain, 0, "moe_permute"), (tokens + copies) * h * 2);
    cr_assert_eq(moved_B(&plain, Q, "moe_permute"), tokens * h * 2 + copies * h * Q);
    cr_assert_eq(moved_B(&plain, Q, "moe_unpermute"), (tokens + copies) * h * 2);
    cr_assert_eq(moved_B(&plain, 0, "expert_sort"), 4 * copies * h * 4);
    cr_assert_eq(moved_B(&plain, Q, "expert_sort"), 2 * copies * h * (2 + Q + 4));
    cr_assert_eq(moved_B(&blocks, Q, "expert_sort"), 2 * copies * h * (2 * Q + 4));
    cr_assert_eq(moved_B(&blocks, 0, "transpose"), 0);
    cr_assert_eq(moved_B(&blocks, Q, "transpose"), 2 * copies * h * 2 * Q);
    double casts_B = moved_B(&blocks, 0, "cast") - moved_B(&blocks, Q, "cast");
    cr_assert_lt(fixture_gap(casts_B, 2 * copies * h * (2 + 2 * Q)), 1e-12);
}

/* Source: the same report, section 3.3.3: inputs of the experts' activation are kept in fp8. */
Test(moe, kept_elements_have_their_own_size) {
    ms_model model = fixture_small_moe(1);
    ms_gpu_type gpu = fixture_a100();
    double kept_B[2];
    for (int i = 0; i < 2; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.recompute_parts = MS_RECOMPUTE_ACTIVATIONS;
        model.moe.kept_element_B = i == 0 ? 0 : 1.03125;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        kept_B[i] = fixture.costs.stage[0].memory.activation_B;
        fixture_clear(&fixture);
    }
    double routed = 2048.0 * model.moe.top_k * model.moe.ffn;
    double shared = 2048.0 * model.moe.shared_experts * model.moe.shared_ffn;
    double inner = (model.is_gated ? 2 : 1) * (routed + shared) * model.layers;
    cr_assert_eq(kept_B[0] - kept_B[1], inner * (2 - 1.03125));
}

Test(moe, limited_routing_crosses_nodes_once) {
    ms_model model = fixture_deepseek_v3();
    model.layers = 1;
    model.moe.first_dense_layers = 0;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 64;
    fixture.layout.ep_node_ranks = 8;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    /* 8 of the 128 experts on 4 of 8 nodes: a node of 32 is missed with probability
     * (96 choose 8) / (128 choose 8), a GPU of 4 with (124 choose 8) / (128 choose 8) */
    double node_missed = 1, rank_missed = 1;
    for (int i = 0; i < 8; i++) {
        node_missed *= (96.0 - i) / (128 - i);
        rank_missed *= (124.0 - i) / (128 - i);
    }
    double plane_B = 4096.0 * 7168 * 2, nodes = 4 * (1 - node_missed);
    ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
    int found = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &fixture.costs.segments[i];
        if (segment->is_collective && segment->axis == MS_AXIS_EP) {
            found++;
            cr_assert_lt(fixture_gap(segment->coll_B, plane_B * nodes), 1e-12);
            cr_assert_lt(fixture_gap(segment->coll_intra_node_B, plane_B * 32 * (1 - rank_missed)),
                         1e-12);
        }
    }
    cr_assert_eq(found, 2);
    /* less between nodes than eight copies, at most one per node allowed */
    cr_assert(nodes > 3.5 && nodes < 4);
    fixture_clear(&fixture);
}

/* Total per rank of what tp exchanges in one layer, with and without sequence parallelism. */
Test(moe, tensor_parallel_bytes_inside_experts) {
    const struct {
        int tp;
        bool is_split;
    } ROWS[] = {{2, false}, {4, false}, {2, true}, {4, true}, {8, true}};
    ms_model model = fixture_small_moe(1);
    model.kv_heads = 16;
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        double tp = ROWS[i].tp;
        fixture.layout.tp = ROWS[i].tp;
        fixture.layout.ep = 4;
        fixture.layout.has_sequence_parallel = ROWS[i].is_split;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        fixture_traffic of = {&fixture.costs, 0, MS_PASS_F, MS_AXIS_TP, tp};
        double plane_B = 2048.0 * 1024 * 2, share = (tp - 1) / tp;
        /* all-reduces: one for the attention, one for routed and shared experts together.
         * Split: gather and reduce-scatter of a plane for the attention and for the shared experts,
         * and of the copies of all tp ranks, top_k planes in sum */
        double expected =
            ROWS[i].is_split ? share * plane_B * (2 + 2 + 2 * 4) : 2 * 2 * share * plane_B;
        cr_assert_lt(fixture_gap(fixture_sent_B(of), expected), 1e-12, "row %zu", i);
        /* each rank of a split layer dispatches the copies of its own tokens only */
        of.axis = MS_AXIS_EP;
        of.members = 4;
        double copies_B = 2 * 4 * plane_B * 3 / 4;
        cr_assert_eq(fixture_sent_B(of), ROWS[i].is_split ? copies_B / tp : copies_B);
        fixture_clear(&fixture);
    }
}

Test(moe, experts_are_split_over_ep_and_the_rest_is_not) {
    ms_model model = fixture_mixtral();
    ms_gpu_type gpu = fixture_a100();
    double experts = 32 * 8.0 * 3 * 4096 * 14336;
    for (int ep = 1; ep <= 8; ep *= 2) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = ep;
        fixture.layout.dp = 2;
        fixture.layout.zero = 1;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        const ms_stage_costs *costs = &fixture.costs;
        double padding = 2.0 * (32000 % 128 ? 128 - 32000 % 128 : 0) * 4096;
        double rest = ms_model_parameters(&model) - experts + padding;
        cr_assert_eq(costs->stage[0].parameters, rest + experts / ep);
        double apart = ep > 1 ? experts / ep : 0; /* without ep they are reduced with the rest */
        double together = ep > 1 ? rest : rest + experts;
        ms_pass_plan before = costs->before_update[0], after = costs->after_update[0];
        cr_assert_eq(costs->stage[0].expert_parameters, apart);
        cr_assert_eq(fixture_plan_B(&fixture, before, FIXTURE_DENSE), 4 * together);
        cr_assert_eq(fixture_plan_B(&fixture, before, FIXTURE_EXPERT), 4 * apart);
        cr_assert_eq(fixture_plan_B(&fixture, after, FIXTURE_DENSE), 2 * together);
        cr_assert_eq(fixture_plan_B(&fixture, after, FIXTURE_EXPERT), 2 * apart);
        /* optimizer state: the rest over dp x ep, the experts over dp */
        double sharded = rest / (2 * ep) + experts / ep / 2;
        cr_assert_lt(fixture_gap(costs->stage[0].memory.optimizer_B, 12 * sharded), 1e-14);
        fixture_clear(&fixture);
    }
}

Test(moe, expert_gradients_leave_ep_out_of_their_group) {
    ms_model model = fixture_small_moe(2);
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 4;
    fixture.layout.dp = 2;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    ms_pass_plan plan = fixture.costs.before_update[0];
    double experts = 2 * 16.0 / 4 * 3 * 1024 * 512;
    double rest = fixture.costs.stage[0].parameters - experts;
    cr_assert_eq(fixture_plan_B(&fixture, plan, FIXTURE_EXPERT), 4 * experts);
    cr_assert_eq(fixture_plan_B(&fixture, plan, FIXTURE_DENSE), 4 * rest);
    fixture_clear(&fixture);
}

Test(moe, dense_layers_stand_in_front_and_between) {
    ms_model model = fixture_small_moe(8);
    model.moe.first_dense_layers = 2;
    model.moe.every = 3;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 2;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
    unsigned seen = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &fixture.costs.segments[i];
        seen |= segment->is_collective ? 1U << segment->layer : 0;
    }
    cr_assert_eq(seen, 1U << 4 | 1U << 7);
    fixture_clear(&fixture);
}

/* A pass's collectives and what waits for them. */
static int count_waits(const ms_stage_costs *costs, ms_pass pass, int *async_out) {
    ms_pass_plan plan = costs->stage[0].passes[pass];
    int waits = 0;
    *async_out = 0;
    for (int i = 0; i < plan.count; i++) {
        const ms_segment *segment = &costs->segments[plan.first + i];
        *async_out += segment->is_async;
        if (segment->wait_count > 0) {
            cr_assert(segment->waits[0] < i && segment->wait_count == 1);
            const ms_segment *awaited = &costs->segments[plan.first + segment->waits[0]];
            cr_assert(awaited->is_collective && awaited->is_async);
            cr_assert_eq(awaited->layer, segment->layer);
            waits++;
        }
        cr_assert(segment->is_collective || segment->time_s > 0);
    }
    return waits;
}

Test(moe, overlap_moves_nothing_but_the_order) {
    ms_gpu_type gpu = fixture_a100();
    for (int tp = 1; tp <= 2; tp++) {
        fixture_costs plain;
        ms_model model = fixture_small_moe(4);
        for (int overlap = MS_MOE_OVERLAP_NONE; overlap <= MS_MOE_OVERLAP_ALL; overlap++) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.ep = 4;
            fixture.layout.tp = tp;
            fixture.layout.has_sequence_parallel = tp > 1;
            model.moe.overlap = (ms_moe_overlap)overlap;
            fixture_run(&fixture, &model, &gpu);
            cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
            if (overlap == MS_MOE_OVERLAP_NONE) {
                plain = fixture;
                continue;
            }
            for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
                fixture_traffic of = {&fixture.costs, 0, (ms_pass)pass, MS_AXIS_EP, 4};
                fixture_traffic before = {&plain.costs, 0, (ms_pass)pass, MS_AXIS_EP, 4};
                double a_s = fixture_pass_s(&fixture.costs, 0, (ms_pass)pass);
                double b_s = fixture_pass_s(&plain.costs, 0, (ms_pass)pass);
                cr_assert_eq(fixture_sent_B(of), fixture_sent_B(before));
                cr_assert_lt(fixture_gap(a_s, b_s), 1e-12);
                int async = 0, waits = count_waits(&fixture.costs, (ms_pass)pass, &async);
                /* dispatch and combine of four layers, each waited for */
                cr_assert_eq(async, pass == MS_PASS_W ? 0 : 8);
                cr_assert_eq(waits, async);
            }
            fixture_clear(&fixture);
        }
        fixture_clear(&plain);
    }
}

Test(moe, activations_follow_the_closed_form) {
    const struct {
        int ep, tp, top_k;
        bool is_split;
    } ROWS[] = {{1, 1, 4, false}, {4, 1, 2, false}, {4, 2, 4, false}, {4, 4, 4, true}};
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model model = fixture_small_moe(1);
        model.moe.top_k = ROWS[i].top_k;
        fixture_costs fixture;
        fixture_init(&fixture);
        double t = ROWS[i].tp, s = 2048, h = 1024, split = ROWS[i].is_split ? t : 1;
        fixture.layout.ep = ROWS[i].ep;
        fixture.layout.tp = ROWS[i].tp;
        fixture.layout.has_sequence_parallel = ROWS[i].is_split;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        double attention = 4 * h / split + 2 * (1024 + 2 * 256) / t + 2 * 1024 / t + 4 * 16 / t;
        double router = 4 * (16 + 2.0 * ROWS[i].top_k) / split;
        double copy = 2 * (h + 3 * 512 / t), shared = 2 * 3 * 768 / t;
        double expected = s * (attention + 4 * h / split + router + ROWS[i].top_k * copy + shared);
        cr_assert_lt(fixture_gap(fixture.costs.stage[0].memory.activation_B, expected), 1e-14,
                     "row %zu", i);
        fixture_clear(&fixture);
    }
}

/* The gate's weight is applied to the result of a plain activation in a kernel of its own, which
 * keeps it: first product, result, weighted result. */
Test(moe, plain_experts_keep_their_result_unweighted_too) {
    ms_model model = fixture_small_moe(1);
    model.is_gated = false;
    model.moe.shared_experts = 0;
    ms_gpu_type gpu = fixture_a100();
    double kept_B[2];
    for (int i = 0; i < 2; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.recompute_parts = i == 0 ? 0 : MS_RECOMPUTE_ACTIVATIONS;
        fixture_run(&fixture, &model, &gpu);
        kept_B[i] = fixture.costs.stage[0].memory.activation_B;
        fixture_clear(&fixture);
    }
    double attention = 4 * 1024 + 2 * (1024 + 2 * 256) + 2 * 1024 + 4 * 16;
    double token = attention + 4 * 1024 + 4 * (16 + 2.0 * 4);
    cr_assert_lt(fixture_gap(kept_B[0], 2048 * (token + 4 * 2 * (1024 + 3 * 512))), 1e-14);
    cr_assert_lt(fixture_gap(kept_B[1], 2048 * (token + 4 * 2 * (1024 + 512))), 1e-14);
}

Test(moe, clashing_degrees_are_refused_with_numbers) {
    const struct {
        int ep, node_ranks, tp, experts, top_k, node_limit;
        const char *expected;
    } ROWS[] = {
        {6, 0, 1, 16, 4, 0,
         "expert-parallel degree '6' does not divide 16 experts: nearest that "
         "does is 4 or 8"},
        {32, 0, 1, 16, 4, 0, "'32' does not divide 16 experts: nearest that does is 16"},
        {8, 3, 1, 16, 4, 0, "on a node '3' does not divide 8 members"},
        {1, 0, 1, 8, 9, 0, "top_k '9' is more than the 8 experts"},
        {8, 1, 1, 16, 4, 1,
         "node_limit '1' leaves 2 experts (2 on each of 8 nodes) to choose "
         "top_k 4 from: at least 2 nodes are needed"},
        {4, 0, 1, 0, 0, 0, "expert-parallel degree '4' needs a model with experts"},
        {1, 0, 16, 16, 4, 0,
         "'16' does not divide 500 columns of an expert (moe.ffn): nearest "
         "that does is 10 or 20"},
    };
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model model = fixture_small_moe(1);
        model.kv_heads = 16;
        model.moe.ffn = 500;
        model.moe.experts = ROWS[i].experts;
        model.moe.top_k = ROWS[i].top_k;
        model.moe.node_limit = ROWS[i].node_limit;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = ROWS[i].ep;
        fixture.layout.ep_node_ranks = ROWS[i].node_ranks;
        fixture.layout.tp = ROWS[i].tp;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_E_INPUT, "row %zu", i);
        cr_assert(strstr(fixture.log.text, ROWS[i].expected), "row %zu: %s", i, fixture.log.text);
        fixture_clear(&fixture);
    }
}

Test(moe, every_failing_allocation_is_reported) {
    ms_model model = fixture_small_moe(3);
    ms_gpu_type gpu = fixture_a100();
    model.moe.imbalance = MS_IMBALANCE_ZIPF;
    model.moe.spread = 0.5;
    for (long allowed = 0;; allowed++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = 2;
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

/* Computations of the first stage's pass that a host waits before, and collectives before the last
 * of them. */
static int host_waits(const ms_stage_costs *costs, ms_pass pass, int *collectives_out) {
    const ms_pass_plan *plan = &costs->stage[0].passes[pass];
    int waits = 0, collectives = 0;
    for (int i = 0; i < plan->count; i++) {
        const ms_segment *segment = &costs->segments[plan->first + i];
        collectives += segment->is_collective;
        if (segment->kernels.has_host_wait) {
            cr_assert_not(segment->is_collective);
            *collectives_out = collectives;
            waits++;
        }
    }
    return waits;
}

/* Behind the router and before the dispatch, in forward passes alone, and in none where experts are
 * filled up; what they compute is the same. */
Test(moe, a_host_waits_for_the_copies_of_each_expert) {
    ms_model model = fixture_small_moe(1);
    ms_gpu_type gpu = fixture_a100();
    double flop[2] = {0, 0};
    for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = 4;
        fixture.layout.waits_for_counts = is_waiting;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        int before = -1;
        cr_assert_eq(host_waits(&fixture.costs, MS_PASS_F, &before), is_waiting);
        cr_assert_eq(before, is_waiting ? 0 : -1);
        cr_assert_eq(host_waits(&fixture.costs, MS_PASS_B, &before), 0);
        flop[is_waiting] = executed_flop(&fixture.costs, MS_PASS_F);
        model.moe.capacity_factor = 1;
        model.moe.has_padding = true;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(host_waits(&fixture.costs, MS_PASS_F, &before), 0);
        model.moe.capacity_factor = 0;
        model.moe.has_padding = false;
        fixture_clear(&fixture);
    }
    cr_assert_eq(flop[0], flop[1]);
}
