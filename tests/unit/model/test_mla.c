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

/* Sums over a pass's kernels of one name. */
typedef struct kernel_sum {
    double flop, bytes;
} kernel_sum;

static kernel_sum sum_kernels(const ms_stage_costs *costs, ms_pass pass, const char *name) {
    kernel_sum sum = {0, 0};
    ms_pass_plan plan = costs->stage[0].passes[pass];
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &costs->segments[i];
        for (int use = segment->kernels.use_first;
             use < segment->kernels.use_first + segment->kernels.uses; use++) {
            const ms_kernel *kernel = &costs->kernels[costs->uses[use].kernel];
            double calls = strcmp(kernel->name, name) == 0 ? costs->uses[use].calls : 0;
            sum.flop += calls * kernel->flop;
            sum.bytes += calls * kernel->bytes;
        }
    }
    return sum;
}

static double kernel_flop(const ms_stage_costs *costs, ms_pass pass, const char *name) {
    return sum_kernels(costs, pass, name).flop;
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

/* The output product's collectives run beside its pieces, the latents' as before: bytes and FLOP
 * stay, and the free ones are those of attention and MLP (4 pieces, 3 shifts of a ring of 4). */
Test(mla, tensor_parallel_overlap_splits_the_output_product) {
    const struct {
        ms_tp_overlap overlap;
        int forward, input; /* asynchronous collectives of attention and MLP */
    } ROWS[] = {{MS_TP_OVERLAP_NONE, 0, 0},
                {MS_TP_OVERLAP_BULK, 0, 1},
                {MS_TP_OVERLAP_CHUNKS, 4 + 8, 4 + 4 + 1},
                {MS_TP_OVERLAP_RING, 3 + 6, 3 + 3 + 1}};
    ms_gpu_type gpu = fixture_a100();
    ms_model latent = fixture_deepseek_v3();
    latent.moe = (ms_moe){.experts = 0};
    latent.vocab = 0;
    latent.layers = 1;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = 4;
        fixture.layout.tp_chunks = 4;
        fixture.layout.has_sequence_parallel = true;
        fixture.layout.tp_overlap = ROWS[i].overlap;
        fixture_run(&fixture, &latent, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        for (int pass = MS_PASS_F; pass <= MS_PASS_I; pass += MS_PASS_I - MS_PASS_F) {
            fixture_traffic of = {&fixture.costs, 0, (ms_pass)pass, MS_AXIS_TP, 4};
            double expected = (3 * 7168.0 + 1536 + 512 + 64) * 4096 * 2 * 3 / 4;
            cr_assert_lt(fixture_gap(fixture_sent_B(of), expected), 1e-12, "row %zu", i);
            cr_assert_eq(fixture_count_async(&fixture.costs, (ms_pass)pass),
                         pass == MS_PASS_F ? ROWS[i].forward : ROWS[i].input, "row %zu pass %d", i,
                         pass);
        }
        fixture_check_waits(&fixture.costs);
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

/* One dense layer of DeepSeek-V3's attention on 32,768 tokens, eight context-parallel ranks. */
static void lay_out_long(fixture_costs *fixture, ms_cp_kind kind, int tp) {
    ms_model model = fixture_deepseek_v3();
    model.moe = (ms_moe){.experts = 0};
    model.vocab = 0;
    model.layers = 1;
    model.sequence = 32768;
    ms_gpu_type gpu = fixture_a100();
    fixture->layout.cp = 8;
    fixture->layout.tp = tp;
    fixture->layout.cp_kind = kind;
    fixture_run(fixture, &model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* By hand: a token's keys and values are 512 x 128 heads x (128 + 128) = 16,777,216 weights, 2 FLOP
 * each: 33,554,432. A rank has 4,096 tokens and meets 32,768, so that 28,672 arrive as latents:
 * times 33,554,432 that is 962,072,674,304 FLOP, and for all tokens 1,099,511,627,776. Gradients of
 * keys and values stay where they are made, so both of its products run over all tokens too; heads
 * that are exchanged (all-to-all) have been made by their owner, of its 137,438,953,472. */
Test(mla, context_parallel_ranks_make_keys_and_values_of_every_token) {
    const double ALL = 1099511627776, RECEIVED = 962072674304, OWN = 137438953472;
    const struct {
        ms_cp_kind kind;
        double forward, again, gradient; /* products of keys and values, a backward pass's repeat */
        double deferred;                 /* of its weights' gradient, left to a pass of its own */
    } ROWS[] = {{MS_CP_RING, ALL, RECEIVED, ALL, OWN},
                {MS_CP_ALL_GATHER, ALL, ALL, ALL, 0},
                {MS_CP_ALL_TO_ALL, OWN, 0, OWN, OWN}};
    for (size_t i = 0; i < 3 * sizeof ROWS / sizeof ROWS[0]; i++) {
        int tp = i % 3 == 0 ? 1 : i % 3 == 1 ? 4 : 16; /* heads over tp */
        size_t row = i / 3;
        fixture_costs fixture;
        fixture_init(&fixture);
        lay_out_long(&fixture, ROWS[row].kind, tp);
        const struct {
            ms_pass pass;
            const char *kernel;
            double flop;
        } KERNELS[] = {
            {MS_PASS_F, "key_value_up", ROWS[row].forward},
            {MS_PASS_B, "key_value_up", ROWS[row].again},
            {MS_PASS_I, "key_value_up", ROWS[row].again},
            {MS_PASS_B, "key_value_up_input_grad", ROWS[row].gradient},
            {MS_PASS_I, "key_value_up_input_grad", ROWS[row].gradient},
            {MS_PASS_B, "key_value_up_weight_grad", ROWS[row].gradient},
            {MS_PASS_I, "key_value_up_weight_grad", ROWS[row].gradient - ROWS[row].deferred},
            {MS_PASS_W, "key_value_up_weight_grad", ROWS[row].deferred}};
        for (size_t k = 0; k < sizeof KERNELS / sizeof KERNELS[0]; k++) {
            double flop = kernel_flop(&fixture.costs, KERNELS[k].pass, KERNELS[k].kernel);
            cr_assert_eq(flop, KERNELS[k].flop / tp, "kind %zu tp %d kernel %zu: %g", row, tp, k,
                         flop);
        }
        fixture_check_waits(&fixture.costs);
        fixture_clear(&fixture);
    }
}

/* By hand: a key is put together from 128 own parts of 128, read and written, and the shared 64,
 * read once and written 128 times: 41,024 elements; values, 128 of 128, are read and written,
 * 32,768 more: 147,584 bytes a token. Keys and values are 128 x (192 + 128) = 40,960 elements,
 * 81,920 bytes a token; what stands for them 576, 1,152 bytes. */
Test(mla, received_tokens_take_the_memory_of_their_heads) {
    const struct {
        ms_cp_kind kind;
        double moved_B;    /* putting them together forward, in a kernel apart */
        double buffer_B;   /* expanded with gradients; latents and theirs, twice in a ring */
        double kept_key_B; /* keys and values that wait for the backward pass */
    } ROWS[] = {
        {MS_CP_RING, 28672 * 147584.0, 4096 * (2 * 81920.0 + 4 * 1152), 4096 * 81920.0},
        {MS_CP_ALL_GATHER, 32768 * 147584.0, 32768 * (2 * 81920.0 + 2 * 1152), 0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        lay_out_long(&fixture, ROWS[i].kind, 1);
        const ms_stage_costs *costs = &fixture.costs;
        cr_assert_eq(sum_kernels(costs, MS_PASS_F, "key_value_parts").bytes, ROWS[i].moved_B);
        cr_assert_eq(sum_kernels(costs, MS_PASS_B, "key_value_parts").bytes, 2 * ROWS[i].moved_B);
        double planes_B = 2 * 4096 * 7168.0 * 2;
        cr_assert_eq(costs->stage[0].memory.working_B, ROWS[i].buffer_B + planes_B);
        double h = 7168, latents = 1536 + 512;
        double attention = 4 * h + 4 * latents + 2 * 64 + 2 * 128 * (192 + 128) + 4 * 128;
        double mlp = 4 * h + 2 * 3 * 18432;
        double kept_B = 4096 * (attention + mlp) + ROWS[i].kept_key_B;
        cr_assert_lt(fixture_gap(costs->stage[0].memory.activation_B, kept_B), 1e-14);
        fixture_clear(&fixture);
    }
}

/* Compute that the layer's repetition adds to a backward pass is that of its forward pass. */
Test(mla, recomputation_makes_keys_and_values_of_every_token_again) {
    for (int kind = MS_CP_RING; kind <= MS_CP_ALL_GATHER; kind++) {
        fixture_costs plain, repeated;
        fixture_init(&plain);
        fixture_init(&repeated);
        repeated.layout.recompute = MS_RECOMPUTE_FULL;
        lay_out_long(&plain, (ms_cp_kind)kind, 1);
        lay_out_long(&repeated, (ms_cp_kind)kind, 1);
        double added = fixture_pass_flop(&repeated.costs, 0, MS_PASS_B) -
                       fixture_pass_flop(&plain.costs, 0, MS_PASS_B);
        cr_assert_lt(fixture_gap(added, fixture_pass_flop(&plain.costs, 0, MS_PASS_F)), 1e-12);
        fixture_clear(&plain);
        fixture_clear(&repeated);
    }
}

/* With the keys' rotary part and the values' copies, queries are turned in place: 128 rotary parts
 * of 64, read and written, beside the 73,792 elements of keys and values, both ways. */
Test(mla, heads_are_put_together_both_ways) {
    fixture_costs fixture;
    fixture_init(&fixture);
    lay_out_long(&fixture, MS_CP_ALL_TO_ALL, 1);
    double rotary_B = 4096 * (2 * 128 * 64 + 73792.0) * 2;
    cr_assert_eq(sum_kernels(&fixture.costs, MS_PASS_F, "rotary").bytes, rotary_B);
    cr_assert_eq(sum_kernels(&fixture.costs, MS_PASS_B, "rotary").bytes, rotary_B);
    fixture_clear(&fixture);
}

/* What recompute_parts drops and an all-to-all had turned is turned again: queries and keys of 192,
 * values of 128, (cp - 1) / cp of them. */
Test(mla, repeated_heads_are_turned_again) {
    double sent_B[2];
    for (int is_repeated = 0; is_repeated <= 1; is_repeated++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.recompute_parts = is_repeated ? MS_RECOMPUTE_LATENT_UP : 0;
        lay_out_long(&fixture, MS_CP_ALL_TO_ALL, 1);
        sent_B[is_repeated] = fixture_step_sent_B(&fixture, MS_AXIS_CP, 1);
        fixture_clear(&fixture);
    }
    double again_B = 7 / 8.0 * 4096 * 128 * (192 + 192 + 128) * 2;
    cr_assert_lt(fixture_gap(sent_B[1] - sent_B[0], again_B), 1e-12);
}

/* A module's layer makes the keys and values of received tokens too. */
Test(mtp, modules_make_keys_and_values_of_every_token) {
    double flop[2];
    for (int modules = 0; modules <= 1; modules++) {
        ms_model model = fixture_deepseek_v3();
        model.moe = (ms_moe){.experts = 0};
        model.layers = 1;
        model.mtp_layers = modules;
        ms_gpu_type gpu = fixture_a100();
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.cp = 8;
        fixture_run(&fixture, &model, &gpu);
        flop[modules] = kernel_flop(&fixture.costs, MS_PASS_B, "key_value_up_weight_grad");
        fixture_clear(&fixture);
    }
    cr_assert(flop[0] == 4096 * 33554432.0 && flop[1] == 2 * flop[0]);
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

/* A last stage that has the head and a module alone works as hard as one with a layer: by hand, two
 * planes of 4,096 tokens more go over its boundary and the module's layer has the ring's buffers.
 */
Test(mtp, a_module_alone_on_its_stage_has_a_layers_working_memory) {
    ms_model model = fixture_deepseek_v3();
    model.moe = (ms_moe){.experts = 0};
    model.layers = 1;
    model.mtp_layers = 1;
    model.vocab = 128;
    model.sequence = 32768;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.pp = 2;
    fixture.layout.cp = 8;
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    cr_assert(fixture.costs.stage[0].layers == 1 && fixture.costs.stage[1].layers == 0);
    double ring_B = 4096 * (2 * 81920.0 + 4 * 1152), planes_B = 4 * 4096 * 7168.0 * 2;
    for (int stage = 0; stage < 2; stage++) {
        /* probabilities of both heads, in whose place the module's layer works */
        double loss_B = stage == 1 ? 2 * 4096 * 128 * 4.0 : 0;
        cr_assert_eq(fixture.costs.stage[stage].memory.working_B, ring_B + planes_B - loss_B);
    }
    fixture_clear(&fixture);
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
