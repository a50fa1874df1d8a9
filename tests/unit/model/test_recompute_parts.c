#include "moe_fixture.h"

static void run(fixture_costs *fixture, const ms_model *model, unsigned parts, int ep) {
    ms_gpu_type gpu = fixture_a100();
    fixture_init(fixture);
    fixture->layout.recompute_parts = parts;
    fixture->layout.ep = ep;
    fixture_run(fixture, model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* What one layer of DeepSeek-V3 no longer keeps, in bytes of a microbatch of one sequence. */
Test(recompute_parts, are_not_kept) {
    const struct {
        unsigned parts;
        double saved_B; /* per token */
    } ROWS[] = {
        {MS_RECOMPUTE_NORMS, 2 * (2 * 7168 + 1536 + 512)},
        {MS_RECOMPUTE_LATENT_UP, 2 * 128 * (192 + 192 + 128)},
        {MS_RECOMPUTE_ACTIVATIONS, 2 * (8 + 1) * 2048},
        {MS_RECOMPUTE_NORMS | MS_RECOMPUTE_LATENT_UP | MS_RECOMPUTE_ACTIVATIONS,
         2 * (2 * 7168 + 1536 + 512) + 2 * 128 * (192 + 192 + 128) + 2 * (8 + 1) * 2048},
    };
    ms_model model = fixture_deepseek_v3();
    model.vocab = 0;
    model.layers = 1;
    model.moe.first_dense_layers = 0;
    fixture_costs none;
    run(&none, &model, 0, 8);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs some;
        run(&some, &model, ROWS[i].parts, 8);
        double saved_B =
            none.costs.stage[0].memory.activation_B - some.costs.stage[0].memory.activation_B;
        cr_assert_lt(fixture_gap(saved_B, 4096 * ROWS[i].saved_B), 1e-12, "row %zu", i);
        fixture_clear(&some);
    }
    fixture_clear(&none);
}

Test(recompute_parts, cost_their_repetition_in_the_backward_pass_only) {
    ms_model model = fixture_deepseek_v3();
    model.layers = 4;
    fixture_costs none, some;
    run(&none, &model, 0, 8);
    for (unsigned parts = 1; parts < 8; parts++) {
        run(&some, &model, parts, 8);
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            double before = fixture_pass_s(&none.costs, 0, (ms_pass)pass);
            double after = fixture_pass_s(&some.costs, 0, (ms_pass)pass);
            bool is_longer = pass == MS_PASS_I || pass == MS_PASS_B;
            cr_assert(is_longer ? after > before : after == before);
        }
        double repeated = fixture_pass_flop(&some.costs, 0, MS_PASS_B) -
                          fixture_pass_flop(&none.costs, 0, MS_PASS_B);
        /* of these only the products are FLOP */
        double up = 2 * 4096.0 * 128 * (1536 * 192.0 + 512 * 256.0) * 4;
        double expected = parts & MS_RECOMPUTE_LATENT_UP ? up : 0;
        cr_assert_lt(fabs(repeated - expected), 1e-9 * up);
        cr_assert_eq(some.costs.recompute_flop, expected);
        fixture_clear(&some);
    }
    fixture_clear(&none);
}

Test(recompute_parts, whole_layers_repeat_nothing_twice) {
    ms_model model = fixture_deepseek_v3();
    model.layers = 4;
    ms_gpu_type gpu = fixture_a100();
    double seconds[2], flop[2];
    for (int i = 0; i < 2; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.recompute = MS_RECOMPUTE_FULL;
        fixture.layout.recompute_parts = i == 0 ? 0 : 7;
        fixture_run(&fixture, &model, &gpu);
        seconds[i] = fixture_pass_s(&fixture.costs, 0, MS_PASS_B);
        flop[i] = fixture.costs.recompute_flop;
        fixture_clear(&fixture);
    }
    cr_assert_eq(seconds[0], seconds[1]);
    cr_assert_eq(flop[0], flop[1]);
}

Test(recompute_parts, dense_layers_have_norms_and_activations) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    model.vocab = 0;
    fixture_costs none, some;
    run(&none, &model, 0, 1);
    run(&some, &model, MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS, 1);
    double saved_B =
        none.costs.stage[0].memory.activation_B - some.costs.stage[0].memory.activation_B;
    cr_assert_eq(saved_B, 2 * 8192.0 * 2 * (2 * 1024 + 4096));
    fixture_clear(&none);
    fixture_clear(&some);
    ms_gpu_type gpu = fixture_a100();
    fixture_init(&some);
    some.layout.recompute_parts = MS_RECOMPUTE_LATENT_UP;
    fixture_run(&some, &model, &gpu);
    cr_assert_eq(some.status, MS_E_INPUT);
    cr_assert(strstr(some.log.text, "no 'mla'"), "%s", some.log.text);
    fixture_clear(&some);
}

/* Copies that came as fp8 are kept as fp8. */
Test(recompute_parts, copies_are_kept_as_they_came) {
    ms_model model = fixture_small_moe(1);
    fixture_costs wide, narrow;
    run(&wide, &model, 0, 4);
    model.moe.dispatch_element_B = 1.03125;
    run(&narrow, &model, 0, 4);
    double saved_B =
        wide.costs.stage[0].memory.activation_B - narrow.costs.stage[0].memory.activation_B;
    cr_assert_lt(fixture_gap(saved_B, 2048.0 * 4 * 1024 * (2 - 1.03125)), 1e-12);
    fixture_clear(&wide);
    fixture_clear(&narrow);
}

/* A layer that is repeated as a whole has all its tensors then, so no part of it saves memory. */
Test(recompute_parts, mean_nothing_in_layers_recomputed_as_a_whole) {
    ms_gpu_type gpu = fixture_a100();
    ms_model model = fixture_deepseek_v3();
    model.layers = 4;
    for (int recomputed = 0; recomputed <= 2; recomputed += 2) { /* 0: all layers */
        double working_B[2], kept_B[2];
        for (int k = 0; k < 2; k++) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.recompute = MS_RECOMPUTE_FULL;
            fixture.layout.recompute_layers = recomputed;
            fixture.layout.recompute_parts = k == 0 ? 0 : 7;
            fixture.layout.ep = 8;
            fixture_run(&fixture, &model, &gpu);
            cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
            working_B[k] = fixture.costs.stage[0].memory.working_B;
            kept_B[k] = fixture.costs.stage[0].memory.activation_B;
            fixture_clear(&fixture);
        }
        cr_assert_eq(working_B[1], working_B[0]);
        cr_assert(recomputed == 0 ? kept_B[1] == kept_B[0] : kept_B[1] < kept_B[0]);
    }
}

/* Attention's operands are made again where a product of theirs is: 16 heads of 64 and 4 of keys,
 * read and written, 2 bytes an element. */
Test(recompute_parts, products_repeat_the_rotary_embedding) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    model.vocab = 0;
    fixture_costs none, some;
    run(&none, &model, 0, 1);
    run(&some, &model, MS_RECOMPUTE_PRODUCTS, 1);
    const char *const name = "rotary";
    double once_B = 8192.0 * (1024 + 256) * 2 * 2;
    cr_assert_eq(fixture_kernel_B(&none.costs, MS_PASS_F, name), once_B);
    cr_assert_eq(fixture_kernel_B(&none.costs, MS_PASS_B, name), once_B);
    cr_assert_eq(fixture_kernel_B(&some.costs, MS_PASS_F, name), once_B);
    cr_assert_eq(fixture_kernel_B(&some.costs, MS_PASS_B, name), 2 * once_B);
    fixture_clear(&none);
    fixture_clear(&some);
}
