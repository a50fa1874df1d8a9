/* Sliding-window attention. */
#include <math.h>

#include "fixture.h"

enum { WINDOW = 1024, CP = 4 };

static ms_model model_with(int window) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    model.window = window;
    model.vocab = 0;
    return model;
}

static void run(fixture_costs *fixture, const ms_model *model) {
    ms_gpu_type gpu = fixture_a100();
    fixture_run(fixture, model, &gpu);
}

static double core_flop(const ms_model *model, int cp, ms_cp_kind kind, const char *kernel) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.cp = cp;
    fixture.layout.cp_kind = kind;
    run(&fixture, model);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    double flop = fixture_kernel(&fixture.costs, kernel)->flop;
    fixture_clear(&fixture);
    return flop;
}

/* Each query meets the latest WINDOW keys, the first ones as many as there are: two products
 * forward and five backward, 2 FLOP for each of 64 elements of 16 heads. */
Test(window, pairs_are_those_of_the_mask) {
    ms_model model = model_with(WINDOW);
    double pairs = 0;
    for (int query = 0; query < model.sequence; query++) {
        pairs += fmin(query + 1, WINDOW);
    }
    cr_assert_gt(model.sequence, 2 * WINDOW);
    double one = pairs * 2 * 64 * 16;
    double forward = core_flop(&model, 1, MS_CP_RING, "attention");
    double backward = core_flop(&model, 1, MS_CP_RING, "attention_backward");
    cr_assert_float_eq(forward / (2 * one), 1, 1e-3, "%g", forward / one);
    cr_assert_float_eq(backward / (5 * one), 1, 1e-3, "%g", backward / one);
}

/* Ranks of a sequence share its pairs, by heads or by queries. */
Test(window, ranks_share_the_pairs) {
    ms_model model = model_with(WINDOW);
    double whole = core_flop(&model, 1, MS_CP_RING, "attention");
    const ms_cp_kind KINDS[] = {MS_CP_ALL_TO_ALL, MS_CP_ALL_GATHER};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        cr_assert_float_eq(CP * core_flop(&model, CP, KINDS[i], "attention") / whole, 1, 1e-12);
    }
}

/* What a window leaves of a sequence's figures. */
typedef struct window_figures {
    double attention_s, model_flop, activation_B;
} window_figures;

static window_figures figures_of(int window, ms_attention_kernel kernel, const char *name) {
    ms_model model = model_with(window);
    model.attention = kernel;
    fixture_costs fixture;
    fixture_init(&fixture);
    run(&fixture, &model);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    window_figures figures = {fixture_kernel(&fixture.costs, name)->time_s,
                              fixture.costs.attention_flop,
                              fixture.costs.stage[0].memory.activation_B};
    fixture_clear(&fixture);
    return figures;
}

/* A kernel's time falls with its pairs, but for starts and ends of blocks, which are shorter and
 * more alike; a window as long as the sequence is none. */
Test(window, fused_kernels_skip_what_is_outside) {
    int sequence = model_with(0).sequence;
    double x = WINDOW / (double)sequence, share = x * (2 - x);
    window_figures all = figures_of(0, MS_ATTENTION_FUSED, "attention");
    window_figures same = figures_of(sequence, MS_ATTENTION_FUSED, "attention");
    window_figures less = figures_of(WINDOW, MS_ATTENTION_FUSED, "attention");
    cr_assert_eq(same.attention_s, all.attention_s);
    cr_assert_eq(same.model_flop, all.model_flop);
    cr_assert_float_eq(less.model_flop / all.model_flop, share, 1e-12);
    cr_assert_float_eq(less.attention_s / all.attention_s / share, 1, 0.1);
    cr_assert_eq(less.activation_B, all.activation_B);
}

/* Of six layers the third and the sixth attend to everything: FLOP, and each layer's kernel. */
Test(window, some_layers_skip_it) {
    ms_model model = fixture_llama(6, 1024, 16, 4, 4096);
    model.window = WINDOW;
    model.parts.window_skip_freq = 3;
    double x = WINDOW / (double)model.sequence, share = x * (2 - x);
    fixture_costs fixture, all;
    fixture_init(&fixture);
    fixture_init(&all);
    fixture.layout.recompute = all.layout.recompute = MS_RECOMPUTE_SELECTIVE;
    run(&fixture, &model);
    model.window = 0;
    run(&all, &model);
    double whole = all.costs.attention_flop;
    cr_assert_float_eq(fixture.costs.attention_flop / whole, (2 + 4 * share) / 6, 1e-12);
    cr_assert_float_eq(fixture.costs.recompute_flop / all.costs.recompute_flop, (2 + 4 * share) / 6,
                       1e-12);
    int windowed = 0, full = 0;
    for (int i = 0; i < fixture.costs.kernel_count; i++) {
        const ms_kernel *kernel = &fixture.costs.kernels[i];
        if (strcmp(kernel->name, "attention") == 0) {
            double part = kernel->flop / fixture_kernel(&all.costs, "attention")->flop;
            bool is_full = strstr(kernel->shape, " w1024") == NULL;
            cr_assert_float_eq(part, is_full ? 1 : share, 1e-9);
            full += is_full;
            windowed += !is_full;
        }
    }
    cr_assert(full >= 1 && windowed >= 1, "%d, %d", full, windowed);
    fixture_clear(&fixture);
    fixture_clear(&all);
}

/* Products over the whole score matrix mask the rest of it. */
Test(window, plain_products_compute_all_the_same) {
    window_figures all = figures_of(0, MS_ATTENTION_UNFUSED, "attention_scores");
    window_figures less = figures_of(WINDOW, MS_ATTENTION_UNFUSED, "attention_scores");
    cr_assert_eq(less.attention_s, all.attention_s);
    cr_assert_eq(less.activation_B, all.activation_B);
}

Test(window, rings_slices_and_first_kernels_are_refused) {
    static const struct {
        int cp, slices;
        ms_attention_kernel kernel;
        const char *expected;
    } ROWS[] = {{CP, 1, MS_ATTENTION_FUSED, "steps of a ring"},
                {1, 4, MS_ATTENTION_FUSED, "slices of a sequence unequal"},
                {1, 1, MS_ATTENTION_FLASH1, "its generation has no window"},
                {1, 1, MS_ATTENTION_TRITON, "its generation has no window"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model model = model_with(WINDOW);
        model.attention = ROWS[i].kernel;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.cp = ROWS[i].cp;
        fixture.layout.slices = ROWS[i].slices;
        ms_gpu_type gpu = fixture_a100();
        gpu.attention[ROWS[i].kernel] = gpu.attention[MS_ATTENTION_FUSED];
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_E_INPUT, "row %zu", i);
        cr_assert_not_null(strstr(fixture.log.text, ROWS[i].expected), "row %zu: %s", i,
                           fixture.log.text);
        fixture_clear(&fixture);
    }
}
