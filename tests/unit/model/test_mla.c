#include "moe_fixture.h"

Test(mla, parameters_of_one_layer) {
    ms_model model = fixture_deepseek_v3();
    model.moe = (ms_moe){.experts = 0};
    model.vocab = 0;
    model.layers = 1;
    double h = 7168, mlp = 3 * h * 18432, norms = 2 * h + 1536 + 512;
    double down = h * (1536 + 512 + 64);
    double up = 1536 * 128.0 * 192 + 512 * 128.0 * 256 + 128.0 * 128 * h;
    cr_assert_eq(ms_model_parameters(&model), down + up + mlp + norms);
    ms_gpu_type gpu = fixture_a100();
    for (int tp = 1; tp <= 16; tp *= 4) { /* the products into the latents are on every rank */
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = tp;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        cr_assert_eq(fixture.costs.stage[0].parameters, down + (up + mlp) / tp + norms);
        fixture_clear(&fixture);
    }
    model.mla.q_rank = 0; /* queries straight from the hidden state */
    double direct = h * (512 + 64) + h * 128 * 192 + 512 * 128.0 * 256 + 128.0 * 128 * h;
    cr_assert_eq(ms_model_parameters(&model), direct + mlp + 2 * h + 512);
}

/* FLOP of a pass's kernels of one name, per call sums. */
static double kernel_flop(const ms_stage_costs *costs, ms_pass pass, const char *name) {
    double sum = 0;
    ms_pass_plan plan = costs->stage[0].passes[pass];
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &costs->segments[i];
        for (int use = segment->use_first; use < segment->use_first + segment->uses; use++) {
            const ms_kernel *kernel = &costs->kernels[costs->uses[use].kernel];
            sum += strcmp(kernel->name, name) == 0 ? costs->uses[use].calls * kernel->flop : 0;
        }
    }
    return sum;
}

Test(mla, attention_has_its_own_head_sizes) {
    ms_model model = fixture_deepseek_v3();
    model.moe = (ms_moe){.experts = 0};
    model.layers = 2;
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    double s = 4096;
    /* scores over 192, context over 128, half of each; backward 2.5 times */
    double core = s * s * 128 * (192 + 128);
    cr_assert_lt(fixture_gap(kernel_flop(&fixture.costs, MS_PASS_F, "attention"), 2 * core), 1e-14);
    double down = 2 * 2 * s * 7168 * (1536 + 512 + 64);
    cr_assert_lt(fixture_gap(kernel_flop(&fixture.costs, MS_PASS_F, "latent_down"), down), 1e-14);
    double forward = fixture_pass_flop(&fixture.costs, 0, MS_PASS_F);
    double hidden = fixture.costs.attention_flop / 2;
    cr_assert_lt(fixture_gap(forward, fixture.costs.forward_flop - hidden), 1e-12);
    cr_assert_lt(fixture_gap(fixture.costs.attention_flop, 4 * core), 1e-14);
    fixture_clear(&fixture);
}

/* Source: as in the tables of plain attention; latents and expanded heads as arXiv:2405.04434,
 * section 2.1, has them. */
Test(mla, activations_follow_the_closed_form) {
    const struct {
        int tp;
        bool is_split;
    } ROWS[] = {{1, false}, {4, false}, {4, true}};
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model model = fixture_deepseek_v3();
        model.moe = (ms_moe){.experts = 0};
        model.vocab = 0;
        model.layers = 1;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = ROWS[i].tp;
        fixture.layout.has_sequence_parallel = ROWS[i].is_split;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        double t = ROWS[i].tp, split = ROWS[i].is_split ? t : 1, h = 7168, latents = 1536 + 512;
        double attention = (4 * h + 2 * latents) / split + 2 * (latents + 64) +
                           2 * 128 / t * (192 + 192 + 128 + 128) + 4 * 128 / t;
        double mlp = 4 * h / split + 2 * 3 * 18432 / t;
        cr_assert_lt(
            fixture_gap(fixture.costs.stage[0].memory.activation_B, 4096 * (attention + mlp)),
            1e-14, "row %zu", i);
        fixture_clear(&fixture);
    }
}

Test(mla, tensor_parallel_ranks_sum_the_latents) {
    const struct {
        bool is_split;
        ms_pass pass;
        double widths; /* elements per token, doubled for an all-reduce */
    } ROWS[] = {{false, MS_PASS_F, 2 * 7168.0},
                {false, MS_PASS_B, 2 * (1536 + 512 + 64.0)},
                {true, MS_PASS_F, 7168 + 1536 + 512 + 64.0},
                {true, MS_PASS_I, 7168 + 1536 + 512 + 64.0}};
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model latent = fixture_deepseek_v3();
        latent.moe = (ms_moe){.experts = 0};
        latent.vocab = 0;
        latent.layers = 1;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = 4;
        fixture.layout.has_sequence_parallel = ROWS[i].is_split;
        fixture_run(&fixture, &latent, &gpu);
        fixture_traffic of = {&fixture.costs, 0, ROWS[i].pass, MS_AXIS_TP, 4};
        double mlp = 2 * 7168.0; /* an all-reduce, or gather and reduce-scatter */
        double expected = (ROWS[i].widths + mlp) * 4096 * 2 * 3 / 4;
        cr_assert_lt(fixture_gap(fixture_sent_B(of), expected), 1e-12, "row %zu", i);
        fixture_clear(&fixture);
    }
}

/* Ring over cp: in each of cp - 1 steps a rank hands on the latent and the shared key of its
 * tokens, not the keys and values of all heads. */
Test(mla, context_parallel_ranks_exchange_the_latent) {
    ms_gpu_type gpu = fixture_a100();
    for (int cp = 2; cp <= 8; cp *= 2) {
        ms_model model = fixture_deepseek_v3();
        model.moe = (ms_moe){.experts = 0};
        model.vocab = 0;
        model.layers = 1;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.cp = cp;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
        double sent_B = 0;
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            const ms_segment *segment = &fixture.costs.segments[i];
            if (segment->is_collective) {
                cr_assert(segment->axis == MS_AXIS_CP && segment->coll == MS_COLL_RING_SHIFT);
                sent_B += segment->coll_B;
            }
        }
        cr_assert_lt(fixture_gap(sent_B, (cp - 1) * 4096.0 / cp * (512 + 64) * 2), 1e-12);
        fixture_clear(&fixture);
    }
}

Test(mtp, modules_stand_on_the_last_stage_with_a_copy_of_the_embedding) {
    ms_model model = fixture_deepseek_v3();
    fixture_costs plain, with;
    ms_gpu_type gpu = fixture_a100();
    fixture_init(&plain);
    plain.layout.pp = 4;
    plain.layout.ep = 8;
    fixture_run(&plain, &model, &gpu);
    model.mtp_layers = 1;
    fixture_init(&with);
    with.layout.pp = 4;
    with.layout.ep = 8;
    fixture_run(&with, &model, &gpu);
    cr_assert(plain.status == MS_OK && with.status == MS_OK);
    for (int stage = 0; stage < 4; stage++) {
        const ms_stage_cost *a = &plain.costs.stage[stage], *b = &with.costs.stage[stage];
        double table = 129280.0 * 7168;
        double expert = 3.0 * 7168 * 2048 * 256 / 8;
        double whole = with.costs.parameters_total - plain.costs.parameters_total;
        double added = stage == 3 ? whole - 7 * expert + table : 0;
        cr_assert_eq(b->parameters - a->parameters, added);
        cr_assert_eq(b->expert_parameters - a->expert_parameters, stage == 3 ? expert : 0);
        cr_assert_eq(b->tied_B, stage == 0 || stage == 3 ? 4 * table : 0);
        cr_assert_eq(a->tied_B, 0);
        cr_assert(stage == 3 ? b->memory.activation_B > a->memory.activation_B
                             : b->memory.activation_B == a->memory.activation_B);
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            double before = fixture_pass_s(&plain.costs, stage, (ms_pass)pass);
            double after = fixture_pass_s(&with.costs, stage, (ms_pass)pass);
            cr_assert(stage == 3 ? after > before : after == before);
        }
    }
    fixture_clear(&plain);
    fixture_clear(&with);
}

Test(mtp, recomputation_repeats_the_modules_layer) {
    ms_model model = fixture_small_moe(4);
    model.vocab = 32000;
    model.mtp_layers = 2;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 2;
    fixture.layout.recompute = MS_RECOMPUTE_FULL;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    const ms_stage_costs *costs = &fixture.costs;
    ms_pass_plan plan = costs->stage[0].passes[MS_PASS_B];
    double repeated = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        repeated += costs->segments[i].is_recompute ? costs->segments[i].flop : 0;
    }
    cr_assert_lt(fixture_gap(repeated, costs->recompute_flop - costs->attention_flop / 2), 1e-12);
    fixture_clear(&fixture);
}
