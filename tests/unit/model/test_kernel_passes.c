/* Passes over memory of norms, activations, rotary embedding, softmax, residuals and losses, by the
 * framework whose kernels run. */
#include <math.h>

#include "fixture.h"

/* Times of the forward and the backward pass of one rank that computes for nothing [s]. */
typedef struct pass_times {
    double forward_s, backward_s;
} pass_times;

static const double HBM_BPS = 1e13;

static pass_times times_of_batch(const ms_model *model, int micro_batch) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1e300;
    gpu.hbm_Bps = HBM_BPS;
    if (model->attention != MS_ATTENTION_UNFUSED) { /* all fused kernels alike */
        gpu.attention[model->attention] = gpu.attention[MS_ATTENTION_FUSED];
    }
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.micro_batch = micro_batch;
    fixture_run(&fixture, model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    pass_times times = {.forward_s = fixture_pass_s(&fixture.costs, 0, MS_PASS_F),
                        .backward_s = fixture_pass_s(&fixture.costs, 0, MS_PASS_B)};
    fixture_clear(&fixture);
    return times;
}

static pass_times times_of(const ms_model *model) {
    return times_of_batch(model, 1);
}

/* What changes of a model moves in bytes, against what is expected. */
static void expect_bytes(const ms_model *from, const ms_model *to, double forward_B,
                         double backward_B) {
    pass_times a = times_of(from), b = times_of(to);
    double forward = (b.forward_s - a.forward_s) * HBM_BPS;
    double backward = (b.backward_s - a.backward_s) * HBM_BPS;
    cr_assert_float_eq(forward, forward_B, 1e-6 * fabs(forward_B) + 1e-3, "%g B, not %g", forward,
                       forward_B);
    cr_assert_float_eq(backward, backward_B, 1e-6 * fabs(backward_B) + 1e-3, "%g B, not %g",
                       backward, backward_B);
}

/* A Llama layer, 2 bytes an element: two RMS norms of h, SwiGLU of ffn, q and k turned. */
Test(kernel_passes, eager_llama_layers_write_what_they_compute) {
    ms_model fused = fixture_llama(1, 1024, 16, 4, 4096), eager = fused;
    fused.vocab = eager.vocab = 0;
    eager.kernels = MS_KERNELS_EAGER;
    double n = 8192, turned = 1024 + 256;
    expect_bytes(&fused, &eager, n * (2 * 1024 * (2 * 2 + 28) + 4096 * 2 * 2 + turned * 16),
                 n * (2 * 1024 * (5 * 2 + 72) + 4096 * 4 * 2 + turned * 16));
}

/* A GPT layer: layer norm and GELU are single kernels in PyTorch, too; masking and dropout are not
 * part of another one. */
Test(kernel_passes, eager_gpt_layers_mask_and_drop_apart) {
    ms_model fused = fixture_gpt(1, 1024, 16, 0), eager = fused;
    eager.kernels = MS_KERNELS_EAGER;
    double n = 2048, scores = 16.0 * 2048 * 2048;
    double norms_B = 2 * 2 * n * 1024 * 2; /* their gains' gradients are kernels of their own */
    expect_bytes(&fused, &eager, scores * 2 * 2 + n * 2 * 1024 * 2 * 2, scores * 2 * 2 + norms_B);
    eager.dropout = fused.dropout = 0;
    expect_bytes(&fused, &eager, scores * 2 * 2, scores * 2 * 2 + norms_B);
}

/* Two norms of a layer: one read more forward; backward each kernel reads what it sums, and that
 * for the result once more. An RMS norm is none of them. */
Test(kernel_passes, two_pass_norms_read_their_rows_again) {
    ms_model once = fixture_gpt(1, 1024, 16, 0), twice = once;
    twice.kernel_traits.has_two_pass_norms = true;
    double plane_B = 2048.0 * 1024 * 2;
    expect_bytes(&once, &twice, 2 * plane_B, 2 * 4 * plane_B);
    once.kernels = twice.kernels = MS_KERNELS_EAGER;
    expect_bytes(&once, &twice, 2 * plane_B, 2 * 2 * plane_B);
    ms_model llama = fixture_llama(1, 1024, 16, 4, 4096), other = llama;
    llama.vocab = other.vocab = 0;
    other.kernel_traits.has_two_pass_norms = true;
    expect_bytes(&llama, &other, 0, 0);
}

/* A layer norm of 16,384 rows of 1,024, forward and backward, on an A100 of 40 GB. */
static void time_norm(bool is_two_pass, double times_s[2]) {
    ms_model model = fixture_gpt(1, 1024, 16, 0);
    model.kernel_traits.has_two_pass_norms = is_two_pass;
    model.sequence = 16384;
    ms_gpu_type gpu = fixture_a100();
    gpu.hbm_Bps = 1555e9;
    gpu.memory_efficiency = 0.85;
    gpu.kernel_launch_s = 2e-6;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.micro_batch = 1;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    times_s[0] = times_s[1] = 0;
    for (int k = 0; k < fixture.costs.kernel_count; k++) {
        const ms_kernel *kernel = &fixture.costs.kernels[k];
        times_s[0] += strcmp(kernel->name, "layer_norm") == 0 ? kernel->time_s : 0;
        times_s[1] += strcmp(kernel->name, "norm_backward") == 0 ? kernel->time_s : 0;
    }
    fixture_clear(&fixture);
}

/* Apex's FusedLayerNorm took 75.1 us forward and 176.2 us backward, its FastLayerNorm 86.6 us
 * backward (NVIDIA/apex, pull request 1037). */
Test(kernel_passes, norms_take_as_long_as_apexs) {
    double two_pass_s[2], one_pass_s[2];
    time_norm(true, two_pass_s);
    time_norm(false, one_pass_s);
    cr_assert_float_eq(two_pass_s[0], 75.1e-6, 0.06 * 75.1e-6, "%g", two_pass_s[0]);
    cr_assert_float_eq(two_pass_s[1], 176.2e-6, 0.06 * 176.2e-6, "%g", two_pass_s[1]);
    cr_assert_float_eq(one_pass_s[1], 86.6e-6, 0.11 * 86.6e-6, "%g", one_pass_s[1]);
}

/* Two residuals of a layer: the sum with the bias is written and read again, and so is what
 * dropout leaves. Without dropout nothing changes. */
Test(kernel_passes, separate_dropout_writes_what_it_hands_on) {
    ms_model fused = fixture_gpt(1, 1024, 16, 0), separate = fused;
    separate.kernel_traits.has_separate_dropout = true;
    double plane_B = 2048.0 * 1024 * 2;
    expect_bytes(&fused, &separate, 2 * 4 * plane_B, 0);
    fused.dropout = separate.dropout = 0;
    expect_bytes(&fused, &separate, 0, 0);
}

/* Weights of a layer, 12 h^2 (biases and norms are not counted): a copy in fp32 is written and read
 * in place of the gradient itself. Into a buffer of the same type nothing is cast. */
Test(kernel_passes, cast_gradients_are_copied_first) {
    ms_model plain = fixture_gpt(1, 1024, 16, 0), cast = plain;
    plain.has_fused_accumulation = cast.has_fused_accumulation = false;
    cast.kernel_traits.has_cast_gradients = true;
    expect_bytes(&plain, &cast, 0, 12 * 1024.0 * 1024 * (2 + 4 + 4 - 2));
    plain.has_fused_accumulation = cast.has_fused_accumulation = true;
    expect_bytes(&plain, &cast, 0, 0);
}

/* Half of the norms find their input in registers, and leave their gradient there; their gains'
 * gradients are kernels of their own. */
Test(kernel_passes, compiled_layers_spare_a_pass_of_half_of_the_norms) {
    ms_model fused = fixture_llama(1, 1024, 16, 4, 4096), compiled = fused;
    fused.vocab = compiled.vocab = 0;
    compiled.kernels = MS_KERNELS_COMPILED;
    double plane_B = 8192.0 * 1024 * 2;
    expect_bytes(&fused, &compiled, -plane_B, 2 * plane_B);
}

/* 2 bytes a logit: 38 and 14 over a split vocabulary, 22 and 26 as PyTorch has it, 2 and 4 fused,
 * 6 and 4 in Transformer Engine's kernels. */
Test(kernel_passes, losses_move_their_bytes) {
    ms_model split = fixture_llama(1, 1024, 16, 4, 4096), plain = split, fused = split;
    plain.loss = MS_LOSS_PLAIN;
    fused.loss = MS_LOSS_FUSED;
    double logits = 8192.0 * 128256;
    expect_bytes(&split, &plain, (22 - 38) * logits, (26 - 14) * logits);
    expect_bytes(&split, &fused, (2 - 38) * logits, (4 - 14) * logits);
    fused.loss = MS_LOSS_TRANSFORMER_ENGINE;
    expect_bytes(&split, &fused, (6 - 38) * logits, (4 - 14) * logits);
}

/* A GPU type on which kernels of a loss reach a quarter of the bandwidth that others do. */
Test(kernel_passes, losses_have_their_own_share_of_the_bandwidth) {
    static const char *const NAMES[] = {"cross_entropy", "cross_entropy_backward", "loss_metric"};
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    model.loss_metrics = 1;
    ms_gpu_type gpus[] = {fixture_a100(), fixture_a100()};
    gpus[1].kernels.loss_share = gpus[1].memory_efficiency / 4;
    fixture_costs at[2];
    for (int i = 0; i < 2; i++) {
        gpus[i].kernel_launch_s = 0;
        fixture_init(&at[i]);
        fixture_run(&at[i], &model, &gpus[i]);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const ms_kernel *plain = fixture_kernel(&at[0].costs, NAMES[i]);
        const ms_kernel *slow = fixture_kernel(&at[1].costs, NAMES[i]);
        cr_assert_eq(slow->bytes, plain->bytes);
        cr_assert_lt(fixture_gap(slow->time_s, 4 * plain->time_s), 1e-12, "%s", NAMES[i]);
    }
    cr_assert_eq(fixture_kernel(&at[1].costs, "head")->time_s,
                 fixture_kernel(&at[0].costs, "head")->time_s);
    fixture_clear(&at[0]);
    fixture_clear(&at[1]);
}

/* Each metric is a plain cross entropy forward, whatever the loss is. */
Test(kernel_passes, metrics_read_the_logits_again) {
    ms_model silent = fixture_llama(1, 1024, 16, 4, 4096), reporting = silent;
    silent.loss = reporting.loss = MS_LOSS_FUSED;
    reporting.loss_metrics = 2;
    expect_bytes(&silent, &reporting, 2 * 22 * 8192.0 * 128256, 0);
}

/* Gradients of q, k, v (1,024 and twice 256 columns), and of gate and value, are copied into one
 * matrix each, 2 bytes an element in and out; unfused attention has done so before. */
Test(kernel_passes, gradients_of_merged_projections_are_put_together) {
    ms_model merged = fixture_llama(1, 1024, 16, 4, 4096), joined = merged;
    merged.vocab = joined.vocab = 0;
    joined.projections = MS_PROJECTIONS_CONCATENATED;
    expect_bytes(&merged, &joined, 0, 8192.0 * (1536 + 8192) * 2 * 2);
    joined.attention = merged.attention = MS_ATTENTION_UNFUSED;
    expect_bytes(&merged, &joined, 0, 8192.0 * 8192 * 2 * 2);
}

/* A product each reads the input again: forward, and for the weights; backward each writes an
 * input's gradient, and three sums read two and write one of them, which a compiled kernel does on
 * the way. */
Test(kernel_passes, separate_projections_share_an_input) {
    ms_model merged = fixture_llama(1, 1024, 16, 4, 4096), apart = merged;
    merged.vocab = apart.vocab = 0;
    apart.projections = MS_PROJECTIONS_SEPARATE;
    double plane_B = 8192.0 * 1024 * 2;
    expect_bytes(&merged, &apart, 3 * plane_B, (3 + 3 + 3 * 3) * plane_B);
    merged.kernels = apart.kernels = MS_KERNELS_COMPILED;
    expect_bytes(&merged, &apart, 3 * plane_B, (3 + 3 + 3) * plane_B);
}

/* Megatron Core with Transformer Engine copies, 2 bytes an element in and out. A Llama layer with
 * 16 heads in 4 groups: queries (1,024 columns) and values (256), backward all gradients (1,536).
 * Its one sequence is in order for FlashAttention. */
Test(kernel_passes, interleaved_projections_are_taken_apart) {
    ms_model merged = fixture_llama(1, 1024, 16, 4, 4096), apart = merged;
    merged.vocab = apart.vocab = 0;
    apart.projections = MS_PROJECTIONS_INTERLEAVED;
    double row_B = 8192 * 2.0 * 2;
    expect_bytes(&merged, &apart, row_B * (1024 + 256), row_B * 1536);
    merged.attention = apart.attention = MS_ATTENTION_UNFUSED;
    expect_bytes(&merged, &apart, 0, 0);
}

/* Without rotary embedding, and as many heads of keys as of queries, cuDNN's kernel reads and
 * writes what the product gives and takes; FlashAttention needs it apart, both ways. */
Test(kernel_passes, flash_attention_wants_its_operands_apart) {
    ms_model merged = fixture_gpt(1, 1024, 16, 0), apart = merged;
    apart.projections = MS_PROJECTIONS_INTERLEAVED;
    double row_B = 2048 * 2.0 * 2;
    merged.attention = apart.attention = MS_ATTENTION_CUDNN;
    expect_bytes(&merged, &apart, 0, 0);
    merged.attention = apart.attention = MS_ATTENTION_FLASH2;
    expect_bytes(&merged, &apart, row_B * 3072, row_B * 3072);
}

/* Of two sequences, which Megatron Core has position by position, it copies all operands once more
 * (1,536 columns), and its result (1,024) back, both ways. */
Test(kernel_passes, flash_attention_wants_whole_sequences) {
    ms_model merged = fixture_llama(1, 1024, 16, 4, 4096), apart = merged;
    merged.attention = apart.attention = MS_ATTENTION_FLASH2;
    merged.vocab = apart.vocab = 0;
    apart.projections = MS_PROJECTIONS_INTERLEAVED;
    double row_B = 2 * 8192 * 2.0 * 2;
    pass_times a = times_of_batch(&merged, 2), b = times_of_batch(&apart, 2);
    double forward_B = row_B * (1024 + 256 + 1536 + 1024), backward_B = row_B * (1536 + 1024);
    cr_assert_lt(fixture_gap((b.forward_s - a.forward_s) * HBM_BPS, forward_B), 1e-6);
    cr_assert_lt(fixture_gap((b.backward_s - a.backward_s) * HBM_BPS, backward_B), 1e-6);
}

/* Compiled kernels leave complex numbers to PyTorch's operations, 16 bytes more an element; where
 * operations are chosen one by one, the embedding runs once more backward. */
Test(kernel_passes, complex_rotary_embeddings_stay_as_they_are) {
    ms_model real = fixture_llama(1, 1024, 16, 4, 4096), complex = real;
    real.vocab = complex.vocab = 0;
    real.kernels = complex.kernels = MS_KERNELS_COMPILED;
    complex.kernel_traits.has_complex_rotary = true;
    double turned = 8192.0 * (1024 + 256);
    expect_bytes(&real, &complex, turned * 16, turned * 16);
    real.kernels = complex.kernels = MS_KERNELS_EAGER;
    expect_bytes(&real, &complex, 0, 0);
}

/* Keys and values of 256 columns to 1,024 and back, 2 bytes an element, which attention reads in
 * full: as keys and values forward, backward they and their gradients, each for the causal half's
 * two passes. Compiled, the values are read only where they are written. */
Test(kernel_passes, repeated_heads_are_copied) {
    ms_model grouped = fixture_llama(1, 1024, 16, 4, 4096), repeated = grouped;
    grouped.vocab = repeated.vocab = 0;
    repeated.repeats_key_values = true;
    double n = 8192, copies = 2 * (1024 + 256) * 2.0, more = 2 * (1024 - 256) * 2.0;
    expect_bytes(&grouped, &repeated, n * (copies + more), n * (copies + 2 * more));
    grouped.kernels = repeated.kernels = MS_KERNELS_COMPILED;
    copies = 2 * 1024 * 2;
    expect_bytes(&grouped, &repeated, n * (copies + more), n * (copies + 2 * more));
    grouped.kv_heads = repeated.kv_heads = 16;
    expect_bytes(&grouped, &repeated, 0, 0);
}

/* A host that waits for every kernel adds its launch to each, and to the update. */
Test(kernel_passes, blocking_launches_add_up) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    ms_gpu_type gpu = fixture_a100();
    double pass_s[2], update_s[2];
    int calls = 0;
    for (int is_blocking = 0; is_blocking < 2; is_blocking++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.blocking_launch_s = is_blocking ? 1e-3 : 0;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        const ms_stage_costs *costs = &fixture.costs;
        pass_s[is_blocking] = fixture_pass_s(costs, 0, MS_PASS_F);
        update_s[is_blocking] = costs->optimizer_s[0];
        ms_pass_plan plan = costs->stage[0].passes[MS_PASS_F];
        calls = 0;
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            calls += costs->segments[i].kernels.launches;
        }
        fixture_clear(&fixture);
    }
    cr_assert_gt(calls, 10);
    cr_assert_float_eq(pass_s[1] - pass_s[0], calls * 1e-3, 1e-12);
    cr_assert_float_eq(update_s[1] - update_s[0], 1e-3, 1e-12);
}

/* A communication is launched by a host that has waited, too: two all-reduces of a layer forward,
 * each behind the computation before it. Hosts that run ahead launch them beside the kernels. */
Test(kernel_passes, blocking_launches_of_communications_add_up) {
    const ms_model model = fixture_gpt(1, 1024, 16, 0);
    ms_gpu_type gpu = fixture_a100();
    double pass_s[2];
    int launches[2] = {0, 0};
    for (int is_blocking = 0; is_blocking < 2; is_blocking++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = 2;
        fixture.layout.blocking_launch_s = is_blocking ? 1e-3 : 0;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        pass_s[is_blocking] = fixture_pass_s(&fixture.costs, 0, MS_PASS_F);
        ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            launches[is_blocking] += fixture.costs.segments[i].kernels.launches;
        }
        fixture_clear(&fixture);
    }
    cr_assert_eq(launches[1], launches[0] + 2);
    cr_assert_float_eq(pass_s[1] - pass_s[0], launches[1] * 1e-3, 1e-12);
}

/* An operation a kernel is launched as often. */
Test(kernel_passes, eager_kernels_are_launched_one_by_one) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    model.vocab = 0;
    ms_gpu_type gpu = fixture_ideal();
    int calls[2] = {0, 0};
    for (int is_eager = 0; is_eager < 2; is_eager++) {
        model.kernels = is_eager ? MS_KERNELS_EAGER : MS_KERNELS_FUSED;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture_run(&fixture, &model, &gpu);
        ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            const ms_segment *segment = &fixture.costs.segments[i];
            for (int u = segment->kernels.use_first;
                 u < segment->kernels.use_first + segment->kernels.uses; u++) {
                calls[is_eager] += fixture.costs.uses[u].calls;
            }
        }
        fixture_clear(&fixture);
    }
    cr_assert_eq(calls[1] - calls[0], 2 * 5 + 1 + 2, "%d and %d", calls[0], calls[1]);
}

/* With two heads a rank, Megatron-LM's softmax does not apply to one sequence: five operations each
 * way move 2 e + 32 B a score, backward 2 e + 36 B, more than PyTorch's own in two. */
Test(kernel_passes, softmax_takes_four_rows_at_a_time) {
    ms_model fused = fixture_gpt(1, 1024, 2, 0), eager = fused;
    fused.dropout = eager.dropout = 0;
    eager.kernels = MS_KERNELS_EAGER;
    double scores = 2.0 * 2048 * 2048, norms_B = 2 * 2 * 2048 * 1024 * 2;
    expect_bytes(&eager, &fused, scores * (2 * 2 + 32 - 4 * 2),
                 scores * (2 * 2 + 36 - 5 * 2) - norms_B);
}
