#include "fixture.h"

typedef struct context_case {
    int batch, sequence, heads, kv_heads, tp, cp;
} context_case;

static const context_case CASES[] = {
    {1, 8192, 32, 8, 1, 2}, {2, 16384, 32, 8, 4, 4}, {1, 131072, 128, 8, 8, 16}};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0], HEAD_DIM = 128 };

static void lay_out(fixture_costs *fixture, const context_case *c, ms_cp_kind kind, bool overlaps) {
    ms_model model =
        fixture_llama(2, c->heads * HEAD_DIM, c->heads, c->kv_heads, 2 * c->heads * HEAD_DIM);
    model.vocab = 0;
    model.sequence = c->sequence;
    ms_gpu_type gpu = fixture_a100();
    fixture_init(fixture);
    fixture->layout.tp = c->tp;
    fixture->layout.cp = c->cp;
    fixture->layout.cp_kind = kind;
    fixture->layout.has_cp_overlap = overlaps;
    fixture->layout.micro_batch = c->batch;
    fixture_run(fixture, &model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* Keys and values of a rank's own tokens, 2-byte elements. */
static double own_kv_B(const context_case *c) {
    double tokens = (double)c->batch * c->sequence / c->cp;
    return tokens * 2 * (c->kv_heads / (double)c->tp) * HEAD_DIM * 2;
}

/* Source: a block of K and V goes round in cp - 1 steps forward; backward it does so again and its
 * gradients once (Liu et al. 2023, arXiv:2310.01889). */
Test(context, ring_sends_each_block_to_every_other_rank) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        const context_case *c = &CASES[i];
        for (int overlaps = 0; overlaps <= 1; overlaps++) {
            fixture_costs fixture;
            lay_out(&fixture, c, MS_CP_RING, overlaps);
            double expected = 2 * (1 + 2) * (c->cp - 1) * own_kv_B(c);
            double sent = fixture_step_sent_B(&fixture, MS_AXIS_CP, 1);
            cr_assert_lt(fixture_gap(sent, expected), 1e-14, "case %zu", i);
            fixture_check_waits(&fixture.costs);
            fixture_clear(&fixture);
        }
    }
}

/* In units of a rank's tokens, 2 layers, 2 bytes an element. Results: zeros, and two in and one out
 * at every step. Queries' gradients: copied at the first step, added at the others. Keys and values
 * are packed once each way, and their gradients at every step; these are copied once and added at
 * the other steps.
 * Source: Transformer Engine, transformer_engine.pytorch.attention (AttnFuncWithCP). */
Test(context, ring_copies_and_sums_what_its_steps_give) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        const context_case *c = &CASES[i];
        fixture_costs at;
        lay_out(&at, c, MS_CP_RING, true);
        double layers = 2, kv_B = own_kv_B(c), later = c->cp - 1;
        double q_B = kv_B * c->heads / (2.0 * c->kv_heads);
        const struct {
            const char *name;
            ms_pass pass;
            double expected_B;
        } ROWS[] = {{"kv_packing", MS_PASS_F, 2 * kv_B},
                    {"attention_merge", MS_PASS_F, (1 + 3 * c->cp) * q_B},
                    {"kv_packing", MS_PASS_B, 2 * (1 + c->cp) * kv_B},
                    {"attention_merge_backward", MS_PASS_B, (2 + 3 * later) * q_B},
                    {"kv_gradient_merge", MS_PASS_B, (2 + 3 * later) * kv_B}};
        for (size_t k = 0; k < sizeof ROWS / sizeof ROWS[0]; k++) {
            double bytes = fixture_kernel_B(&at.costs, ROWS[k].pass, ROWS[k].name);
            cr_assert_lt(fixture_gap(bytes, layers * ROWS[k].expected_B), 1e-12, "%s",
                         ROWS[k].name);
        }
        fixture_clear(&at);
    }
}

/* Source: forward an all-gather of cp blocks; backward another and a reduce-scatter of the
 * gradients (Dubey et al. 2024, arXiv:2407.21783, section 3.3.2): (cp - 1) blocks each. */
Test(context, all_gather_sends_what_the_ring_does) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        fixture_costs fixture;
        lay_out(&fixture, &CASES[i], MS_CP_ALL_GATHER, false);
        double expected = 2 * 3 * (CASES[i].cp - 1) * own_kv_B(&CASES[i]);
        cr_assert_lt(fixture_gap(fixture_step_sent_B(&fixture, MS_AXIS_CP, 1), expected), 1e-14);
        fixture_clear(&fixture);
    }
}

/* Source: Jacobs et al. 2023, arXiv:2309.14509, section 3.2: all-to-alls of q, k, v and the output
 * each way, (cp - 1)/cp of a rank's own part of each; here with as many copies of fewer key and
 * value heads as there are ranks. */
Test(context, all_to_all_sends_queries_keys_values_and_outputs) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        const context_case *c = &CASES[i];
        fixture_costs fixture;
        lay_out(&fixture, c, MS_CP_ALL_TO_ALL, false);
        double heads = c->heads / (double)c->tp;
        double kv_heads = fmax(c->kv_heads / (double)c->tp, c->cp);
        double token_B = 2 * HEAD_DIM * (2 * heads + 2 * kv_heads);
        double own_B = (double)c->batch * c->sequence / c->cp * token_B;
        double expected = 2 * 2 * (c->cp - 1.0) / c->cp * own_B;
        double sent = fixture_step_sent_B(&fixture, MS_AXIS_CP, 1);
        cr_assert_lt(fixture_gap(sent, expected), 1e-14, "case %zu", i);
        fixture_clear(&fixture);
    }
}

Test(context, ranks_share_the_work_evenly) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        context_case alone = CASES[i];
        alone.cp = 1;
        fixture_costs whole;
        lay_out(&whole, &alone, MS_CP_RING, false);
        for (int kind = MS_CP_RING; kind <= MS_CP_ALL_TO_ALL; kind++) {
            fixture_costs part;
            lay_out(&part, &CASES[i], (ms_cp_kind)kind, false);
            for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
                double all = fixture_pass_flop(&whole.costs, 0, (ms_pass)pass);
                double own = fixture_pass_flop(&part.costs, 0, (ms_pass)pass);
                cr_assert_lt(fixture_gap(own * CASES[i].cp, all), 1e-12, "case %zu kind %d", i,
                             kind);
            }
            fixture_clear(&part);
        }
        fixture_clear(&whole);
    }
}

Test(context, groups_share_weights_and_halve_activations) {
    for (int kind = MS_CP_RING; kind <= MS_CP_ALL_TO_ALL; kind++) {
        context_case one = {1, 16384, 32, 8, 2, 1}, two = {1, 16384, 32, 8, 2, 2};
        fixture_costs alone, pair;
        lay_out(&alone, &one, (ms_cp_kind)kind, false);
        lay_out(&pair, &two, (ms_cp_kind)kind, false);
        const ms_stage_memory *a = &alone.costs.stage[0].memory;
        const ms_stage_memory *b = &pair.costs.stage[0].memory;
        cr_assert_eq(a->parameter_B, b->parameter_B);
        cr_assert_eq(a->gradient_B, b->gradient_B);
        /* the output of attention between all-to-alls waits both turned and as it came: two layers
         * of 8,192 tokens, 16 heads of 128 */
        double turned_B = kind == MS_CP_ALL_TO_ALL ? 2 * 8192 * 16 * 128 * 2.0 : 0;
        cr_assert_eq(a->activation_B, 2 * (b->activation_B - turned_B));
        fixture_clear(&alone);
        fixture_clear(&pair);
    }
}

/* By hand: 64 heads, 8 of keys and values, on 8 tp ranks, 8 heads to 1; each of 8 cp ranks needs a
 * head of keys and values of its own, so 7 copies of 2 x 128 elements wait for the backward pass, a
 * layer's 2,048 tokens each, and the output of 8 x 128 once more. */
Test(context, copies_of_key_and_value_heads_wait_for_the_backward_pass) {
    context_case c = {1, 16384, 64, 8, 8, 8};
    fixture_costs ring, turned;
    lay_out(&ring, &c, MS_CP_RING, false);
    lay_out(&turned, &c, MS_CP_ALL_TO_ALL, false);
    double more_B =
        turned.costs.stage[0].memory.activation_B - ring.costs.stage[0].memory.activation_B;
    cr_assert_eq(more_B, 2 * 2048 * (7 * 2 * 128 + 8 * 128) * 2.0);
    fixture_clear(&ring);
    fixture_clear(&turned);
}

Test(context, ring_overlaps_every_block_but_the_last_gradients) {
    fixture_costs fixture;
    lay_out(&fixture, &CASES[1], MS_CP_RING, true);
    const ms_stage_costs *costs = &fixture.costs;
    for (int pass = MS_PASS_F; pass <= MS_PASS_I; pass++) {
        ms_pass_plan plan = costs->stage[0].passes[pass];
        int shifts = 0, waits = 0;
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            shifts += costs->segments[i].is_async;
            waits += costs->segments[i].wait_count;
            cr_assert(!costs->segments[i].is_async || costs->segments[i].axis == MS_AXIS_CP);
        }
        /* two layers of cp - 1 shifts; backward one more, gradients only, awaited by what follows
         */
        cr_assert_eq(shifts, 2 * (pass == MS_PASS_F ? 3 : 4));
        cr_assert_eq(waits, shifts);
    }
    fixture_clear(&fixture);
}

/* Gradients are reduced over dp x cp. */
Test(context, gradients_are_reduced_over_replicas_and_sequence_parts) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.cp = 4;
    fixture.layout.dp = 6;
    fixture_run(&fixture, &model, &gpu);
    double gradient_B = 4 * fixture.costs.stage[0].parameters;
    double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, 5);
    cr_assert_lt(fixture_gap(sent, 2 * 23 / 24.0 * gradient_B), 1e-14);
    fixture_clear(&fixture);
}
