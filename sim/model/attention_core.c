/* Attention proper (the attention core): what a rank computes and sends between q, k and v and the
 * attention's output, in one layer of a pass. It is one fused kernel each way (FlashAttention,
 * cuDNN), or batched products over the whole score matrix. A sequence may be cut in two ways. The
 * cp ranks hold different tokens of it (context parallelism: by a ring, by all-gathers, or by
 * all-to-alls that redistribute tokens to heads). And a schedule with splits runs slices of it one
 * after the other, each in passes of its own. `part` and `parts` are MS_PART_ bits; the builder
 * collects what is added. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/attention_casts.h"
#include "model/fused_attention.h"

/* One call of an attention kernel on a rank: rows of queries against keys. Under the causal mask
 * the queries of a slice attend to all keys of the slices before it and, on average, to half of its
 * own. */
typedef struct attention_work {
    const ms_core *core;
    double heads, kv_heads;
    double queries; /* per sequence on this rank */
    double keys;    /* per sequence, of which the queries attend to some */
    double share;   /* of all pairs of `queries` and the keys of the whole sequence: those that the
                       call covers, before the causal mask halves them */
} attention_work;

/* Sliding window of the layer that is being added [tokens]; 0: none. */
static int window_of(const ms_cost_builder *builder) {
    return ms_layer_window(builder->model, builder->product.layer);
}

/* Query rows of a call on this rank, over all sequences and heads, counted in full rows: the pairs
 * of a query and a key that the masks leave, divided by the pairs of a full row, which attends to
 * all `keys` (or to a whole window). A causal sequence has half as many full rows as queries. So
 * has every step of a ring: a later one has half of the queries against all keys, or all queries
 * against half of the keys. The rows of a slice lack half of the slice's own keys. */
static double full_rows(const ms_cost_builder *builder, const attention_work *work) {
    double pairs = work->queries * builder->shard.sequence * work->share / 2;
    int window = window_of(builder);
    /* a window makes a full row shorter, unless it is as long as the sequence (share 1) */
    bool has_window = window > 0 && work->share < 1;
    double row = has_window ? fmin(window, work->keys) : work->keys;
    return builder->shard.batch * work->heads * pairs / row;
}

/* Key columns of a call on this rank, over all sequences and heads, counted in columns that all
 * queries attend to: the work of the backward kernel, which goes through blocks of keys. A slice
 * has more keys than queries; in other calls the two numbers are taken as equal. */
static double full_columns(const ms_cost_builder *builder, const attention_work *work) {
    double keys_per_query = builder->shard.slice.count > 1 ? work->keys / work->queries : 1;
    return full_rows(builder, work) * keys_per_query;
}

/* The size of a call for ms_fused_attention_efficiency: rows of queries and the keys that a row
 * meets in the forward pass, columns of keys and the queries that a column meets in the backward
 * pass. */
static ms_attention_shape shape_of(const ms_cost_builder *builder, const attention_work *work,
                                   bool is_backward) {
    double pairs = work->queries * builder->shard.sequence * work->share / 2;
    return (ms_attention_shape){.rows = is_backward ? full_columns(builder, work)
                                                    : full_rows(builder, work),
                                .meets = pairs / (is_backward ? work->keys : work->queries),
                                .query_dim = work->core->query_dim,
                                .value_dim = work->core->value_dim};
}

/* Write the label of a call for the kernel table into text [size], such as "b1 s4096 k8192 a32 kv8
 * d128": sequences, queries and (where they differ) keys per sequence, query heads, key and value
 * heads, size of a head. A ring's step has the part of the square that it covers behind the queries
 * ("s4096/4"), a windowed layer its window ("w1024"). An outline lists no kernels and gets "". */
static void name_shape(const ms_cost_builder *builder, const attention_work *work, char *text,
                       size_t size) {
    const ms_shard *shard = &builder->shard;
    text[0] = '\0';
    if (builder->wanted.is_outline) {
        return;
    }
    int used = snprintf(text, size, "b%.0f s%.0f", shard->batch, work->queries);
    if (work->queries != work->keys) {
        used += snprintf(text + used, size - (size_t)used, " k%.0f", work->keys);
    } else if (shard->cp > 1 && work->queries < shard->sequence) { /* one step of a ring */
        used += snprintf(text + used, size - (size_t)used, "/%.0f", 1 / work->share);
    }
    int window = window_of(builder);
    if (window > 0 && window < shard->sequence) {
        used += snprintf(text + used, size - (size_t)used, " w%d", window);
    }
    used += snprintf(text + used, size - (size_t)used, " a%.0f kv%.0f d%.0f", work->heads,
                     work->kv_heads, work->core->query_dim);
    if (work->core->value_dim != work->core->query_dim) {
        snprintf(text + used, size - (size_t)used, "/%.0f", work->core->value_dim);
    }
}

/* HBM traffic of a fused kernel over all sequences of the microbatch [B]. Forward: q, k and v in,
 * the result out. Backward: these four and the result's gradient in, the gradients of q, k and v
 * out. With fp8 the result and its gradient may differ in type; either order has the same sum. */
static double flash_bytes(const ms_cost_builder *builder, const attention_work *work,
                          bool is_backward) {
    const ms_core *core = work->core;
    double operands = work->queries * work->heads * core->query_dim +
                      work->keys * work->kv_heads * (core->query_dim + core->value_dim);
    double result = work->queries * work->heads * core->value_dim;
    bool is_fp8 = ms_has_fp8_attention(builder, is_backward);
    double in_B = is_fp8 ? ms_quantized_B(builder) : builder->shard.element_B;
    double out_B = is_fp8 ? ms_attention_result_B(builder) : builder->shard.element_B;
    double sequence_B = is_backward ? (operands + result) * in_B + (result + operands) * out_B
                                    : operands * in_B + result * out_B;
    return builder->shard.batch * sequence_B;
}

/* FLOP, bytes and efficiency of one fused attention call. A causal mask lets the kernel skip half
 * of the score matrix. Forward it computes two products, one of query width and one of value width;
 * backward three of query width and two of value width. Source: Dao, FlashAttention-2,
 * arXiv:2307.08691, section 4.1 (causal: divided by 2; backward: 2.5 times forward), algorithm 2
 * for the widths. */
static ms_fused_work flash_work(const ms_cost_builder *builder, const attention_work *work,
                                bool is_backward) {
    double query = work->core->query_dim, value = work->core->value_dim;
    /* a product over all scores is 2 q s d FLOP (q queries, s keys, width d); half are masked */
    double scores =
        builder->shard.batch * work->heads * work->queries * builder->shard.sequence * work->share;
    double widths = is_backward ? 3 * query + 2 * value : query + value;
    return (ms_fused_work){.flop = scores * widths,
                           .bytes = flash_bytes(builder, work, is_backward),
                           .efficiency = ms_fused_attention_efficiency(
                               builder, shape_of(builder, work, is_backward), is_backward)};
}

/* A fused attention call without its sizes, for flash_curve_s: the GPU type and element sizes
 * (builder), and the direction. */
typedef struct flash_curve {
    const ms_cost_builder *builder;
    bool is_backward;
} flash_curve;

/* Time of fused attention over whole causal sequences by the cost model [s]; ms_measured_ratio
 * compares it with measured times. context: a flash_curve. sizes: [6] sequences, tokens per
 * sequence, query heads, key and value heads, size of a head's query, size of a head's value. */
static double flash_curve_s(const void *context, const double *sizes) {
    const flash_curve *curve = context;
    ms_cost_builder builder = *curve->builder;
    builder.shard.batch = sizes[0];
    builder.shard.sequence = sizes[1];
    const ms_core core = {
        .heads = sizes[2], .kv_heads = sizes[3], .query_dim = sizes[4], .value_dim = sizes[5]};
    const attention_work whole = {.core = &core,
                                  .heads = core.heads,
                                  .kv_heads = core.kv_heads,
                                  .queries = sizes[1],
                                  .keys = sizes[1],
                                  .share = 1};
    ms_fused_work work = flash_work(&builder, &whole, curve->is_backward);
    return ms_work_time_s(builder.gpu, &work, NULL);
}

/* Time of a fused attention call by the cost model, without a job [s]: bf16, the GPU type's own
 * kernel, no context parallelism, no slices. */
double ms_attention_time_s(const ms_gpu_type *gpu, const double *sizes, bool is_backward) {
    enum { HALF_B = 2 };
    const ms_model model = {.attention = MS_ATTENTION_FUSED};
    const ms_precision precision = {.parameter_B = HALF_B};
    const ms_cost_builder builder = {
        .gpu = gpu,
        .model = &model,
        .precision = &precision,
        .shard = {.cp = 1, .slice = {.count = 1}, .element_B = HALF_B}};
    const flash_curve curve = {.builder = &builder, .is_backward = is_backward};
    return flash_curve_s(&curve, sizes);
}

/* Measured time of a call over its time by the cost model; 0: no measurement applies. Tables of GPU
 * types hold calls over whole sequences in 16 bits: neither parts of sequences, nor windows (which
 * make the share less than 1), nor fp8. */
static double measured_flash(const ms_cost_builder *builder, const attention_work *work,
                             bool is_backward) {
    const flash_curve curve = {.builder = builder, .is_backward = is_backward};
    const double sizes[MS_MEASURED_SIZES] = {builder->shard.batch,  work->queries,
                                             work->heads,           work->kv_heads,
                                             work->core->query_dim, work->core->value_dim};
    bool is_whole =
        work->queries == builder->shard.sequence && work->keys == work->queries && work->share >= 1;
    if (!is_whole || builder->gpu->measured == NULL || ms_has_fp8_attention(builder, is_backward)) {
        return 0;
    }
    return ms_measured_ratio(builder->gpu->measured,
                             is_backward ? MS_MEASURED_ATTENTION_BACKWARD : MS_MEASURED_ATTENTION,
                             sizes, flash_curve_s, &curve);
}

/* Add one fused attention kernel, forward or backward, with its label and its measured ratio. */
static void add_flash_part(ms_cost_builder *builder, const attention_work *work, bool is_backward) {
    char shape[96];
    name_shape(builder, work, shape, sizeof shape);
    if (shape[0] != '\0' && ms_has_fp8_attention(builder, is_backward)) {
        size_t used = strlen(shape);
        snprintf(shape + used, sizeof shape - used, " fp8");
    }
    ms_fused_work fused = flash_work(builder, work, is_backward);
    fused.shape = shape;
    fused.measured = measured_flash(builder, work, is_backward);
    ms_cost_fused(builder, is_backward ? "attention_backward" : "attention", fused);
}

/* Add fused attention for `parts`: the casts to fp8 before each kernel, the kernel, and the casts
 * back behind it. MS_PART_WEIGHT adds nothing, as attention has no weights. */
static void add_flash(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
    for (int is_backward = 0; is_backward < 2; is_backward++) {
        if (parts & (is_backward ? MS_PART_INPUT : MS_PART_FORWARD)) {
            ms_cost_attention_casts(builder, work->core, is_backward);
            add_flash_part(builder, work, is_backward);
            ms_cost_attention_casts_back(builder, work->core, is_backward);
        }
    }
}

/* The softmax that unfused attention runs. batch: sequences times heads on the rank [count].
 * Megatron-LM's fused kernel needs 16 bits and a batch that is a multiple of 4; elsewhere
 * Megatron-LM's model runs PyTorch's operations in fp32. Source: Megatron-LM,
 * megatron.model.fused_softmax (is_kernel_available: sequences times heads of a rank a multiple of
 * 4; input_in_float16). */
static ms_work softmax_of(const ms_cost_builder *builder, double batch) {
    bool is_unfit = fmod(batch, 4) != 0 || ms_has_fp32_activations(&builder->shard);
    bool falls_back = builder->model->kernels == MS_KERNELS_FUSED && is_unfit;
    return falls_back ? MS_WORK_WIDE_SOFTMAX : MS_WORK_SOFTMAX;
}

/* Add unfused attention: batched products over the full score matrix (in a slice of a sequence, up
 * to the slice's last key), with softmax and dropout as kernels between them. Linear biases (ALiBi)
 * are written into the matrix and read when the product adds to it; they have no gradient. Fused
 * kernels compute these biases from a slope per head, without traffic. Source:
 * bigscience-workshop/Megatron-DeepSpeed, ParallelAttention.forward (baddbmm onto the biases, which
 * PyTorch copies to the result first); Press et al. 2021, arXiv:2108.12409. */
static void add_unfused(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
    /* queries and keys per sequence, sizes of a head's query and value; products per kernel */
    double q = work->queries, k = work->keys, d = work->core->query_dim, v = work->core->value_dim;
    double batch = builder->shard.batch * work->heads;
    double scores = batch * q * k, e = builder->shard.element_B;
    double out_B = 2 * batch * q * v * e;
    bool has_dropout = builder->model->dropout > 0;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, "attention_scores", (ms_gemm_shape){q, k, d, batch});
        if (builder->model->has_alibi) {
            ms_cost_memory(builder, "alibi", 2 * scores * e);
        }
        ms_cost_memory_work(builder, "softmax", softmax_of(builder, batch), false, scores);
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){q, v, k, batch});
        /* from [sequences * heads][queries] to the heads of a token side by side */
        ms_cost_memory(builder, "attention_transpose", out_B);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "attention_transpose", out_B);
        ms_cost_gemm(builder, "attention_scores", (ms_gemm_shape){q, k, v, batch});  /* dP */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){k, v, q, batch}); /* dV */
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_memory_work(builder, "softmax_backward", softmax_of(builder, batch), true, scores);
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){q, d, k, batch}); /* dQ */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){k, d, q, batch}); /* dK */
        /* dQ, dK and dV are copied into one matrix. With slices it holds the slice's own tokens: dK
         * and dV of earlier tokens wait for the backward passes of their slices */
        double own = builder->shard.slice.count > 1 ? q : k;
        double widths = work->heads * d * q + work->kv_heads * (d + v) * own;
        ms_cost_memory(builder, "qkv_concat", 2 * builder->shard.batch * widths * e);
    }
}

/* Add one call of the model's attention: its fused kernel, or unfused products. */
static void add_attention(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
    if (builder->model->attention != MS_ATTENTION_UNFUSED) {
        add_flash(builder, parts, work);
    } else {
        add_unfused(builder, parts, work);
    }
}

/* The call that covers all queries of the rank and all keys that its slice may attend to. A query
 * of slice i of K attends to the keys of i slices and, on average, to half of its own slice: (i +
 * 1/2) / K of the sequence. `share` is twice that, because its readers halve it for the causal
 * mask. A window leaves only some of these pairs. */
static attention_work whole_work(const ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    return (attention_work){.core = core,
                            .heads = core->heads,
                            .kv_heads = core->kv_heads,
                            .queries = shard->sequence / shard->cp / shard->slice.count,
                            .keys = shard->slice.keys,
                            .share = (2 * shard->slice.index + 1) / shard->slice.count *
                                     ms_window_share(window_of(builder), shard->sequence)};
}

/* Add a collective over the cp group. bytes: full buffer [B]. Returns the number to wait for it by,
 * as ms_cost_communicate does. */
static int add_cp_collective(ms_cost_builder *builder, ms_coll_kind kind, double bytes,
                             bool is_async) {
    return ms_cost_communicate(
        builder,
        &(ms_comm){.axis = MS_AXIS_CP, .kind = kind, .bytes = bytes, .is_async = is_async});
}

/* Bytes of a block: the keys and values of the rank's own tokens as cp ranks exchange them, with
 * latent attention the latents that they are made from [B]. */
static double block_B(const ms_cost_builder *builder, const ms_core *core) {
    return builder->shard.tokens * core->shared_width * builder->shard.element_B;
}

/* Open the computation on `tokens` tokens that other cp ranks have sent. after: the collective that
 * brings them, as for ms_cost_compute_after. With latent attention (core->expand) it begins with
 * the products that make keys and values from the received latents. In a backward pass these
 * products are recomputation, because the expanded keys and values are not kept. */
static void begin_on_received(ms_cost_builder *builder, unsigned part, const ms_core *core,
                              double tokens, int after) {
    bool was_recompute = builder->is_recompute;
    builder->is_recompute = was_recompute || (core->expand != NULL && part == MS_PART_INPUT);
    ms_cost_compute_after(builder, after);
    if (core->expand != NULL) {
        core->expand(builder, MS_PART_FORWARD, tokens);
    }
    builder->is_recompute = was_recompute;
    ms_cost_compute(builder);
}

/* Add the backward pass of the products that make keys and values from received latents, if the
 * model has such products: from the gradients of the keys and values of `tokens` received tokens to
 * the gradients of their latents. Only the latter travel on. The products' weight gradients are
 * computed here too, even in a pass (I) that leaves other weight gradients to a later pass, because
 * no rank ever holds the gradients of a token's keys and values from all queries. Each cp rank so
 * has a partial sum; the reduction over the replicas, which includes cp, adds them up. */
static void add_latent_gradients(ms_cost_builder *builder, unsigned part, const ms_core *core,
                                 double tokens) {
    if (core->expand != NULL && part == MS_PART_INPUT) {
        core->expand(builder, MS_PART_INPUT | MS_PART_WEIGHT, tokens);
    }
}

/* Add a memory-bound kernel that reads or writes `rows` vectors of `width` elements for each of the
 * rank's tokens. */
static void add_rows(ms_cost_builder *builder, const char *name, double rows, double width) {
    ms_cost_memory(builder, name, rows * builder->shard.tokens * width * builder->shard.element_B);
}

/* Add the kernel that adds the partial result of a ring's step to the sum: two vectors in, one
 * out. */
static void add_merge(ms_cost_builder *builder, const char *name, double width) {
    add_rows(builder, name, 3, width);
}

/* Add the kernels that copy and sum tensors in one step of a ring, beside the attention kernel.
 * step: 0-based. In a later step some ranks handle half of the queries or of the keys; the costs
 * are those of a rank that handles all of them. Keys and values are packed into the buffer that is
 * sent, and so are the gradients of each backward step. The gradients of the first step are copied
 * to where those of the others are added. The forward result is a sum over all steps that starts
 * from zeros, because the softmax's weight of the first step is known with the other steps only.
 * The gradient of the queries starts as a copy. Source: Transformer Engine,
 * transformer_engine.pytorch.attention (AttnFuncWithCP, flash_attn_fwd_out_correction). */
static void add_ring_copies(ms_cost_builder *builder, const ms_core *core, bool is_forward,
                            int step) {
    double queries = core->heads * core->query_dim, results = core->heads * core->value_dim;
    if (step == 0) {
        add_rows(builder, "kv_packing", 2, core->shared_width);
    }
    if (is_forward && step == 0) {
        add_rows(builder, "attention_merge", 1, results);
    }
    if (is_forward) {
        add_merge(builder, "attention_merge", results);
        return;
    }
    add_rows(builder, "kv_packing", 2, core->shared_width);
    if (step == 0) {
        add_rows(builder, "kv_gradient_merge", 2, core->shared_width);
        add_rows(builder, "attention_merge_backward", 2, queries);
    } else {
        add_merge(builder, "attention_merge_backward", queries);
    }
}

/* Add ring attention. Blocks of keys and values travel around the ring, and each rank attends to
 * the block that it holds while the next one arrives. A rank holds one early and one late part of
 * the sequence (zig-zag), so that under a causal mask every step of every rank is the same 1/cp of
 * its work: with parts of c tokens the first step has c^2/2 + c^2 + c^2/2 pairs; a later one has 2c
 * keys against c late queries, or c early keys against 2c queries. In the backward pass the
 * gradients of keys and values follow their block and end at its owner, after cp - 1 hops like the
 * block itself. Source: Liu et al. 2023, arXiv:2310.01889, section 3 (ring); Dubey et al. 2024,
 * arXiv:2407.21783, section 3.3.2 (2 cp parts); hops derived here. */
static void add_ring(ms_cost_builder *builder, unsigned part, const ms_core *core) {
    int steps = (int)builder->shard.cp;
    bool is_forward = part == MS_PART_FORWARD;
    bool is_async = builder->layout->has_cp_overlap;
    double kv_B = block_B(builder, core);
    attention_work work = whole_work(builder, core);
    work.keys = work.queries;
    work.share = 1.0 / steps;
    int arriving = 0;
    for (int step = 0; step < steps; step++) {
        double sent_B = step < steps - 1 ? kv_B : 0;
        if (!is_forward && step > 0) {
            sent_B += kv_B; /* the gradients of the block of the previous step */
        }
        int next = add_cp_collective(builder, MS_COLL_RING_SHIFT, sent_B, is_async);
        if (step > 0) {
            begin_on_received(builder, part, core, builder->shard.tokens, arriving);
        } else {
            ms_cost_compute(builder); /* the rank's own block, whose keys and values it has made */
        }
        add_flash(builder, part, &work);
        if (step > 0) {
            add_latent_gradients(builder, part, core, builder->shard.tokens);
        }
        add_ring_copies(builder, core, is_forward, step);
        arriving = next;
    }
    if (!is_forward) { /* the block's gradients are back at its owner; on their way each step but
                          the first has added its own gradients to the received sums */
        ms_cost_compute_after(builder, arriving);
        for (int step = 1; step < steps; step++) {
            add_merge(builder, "kv_gradient_merge", core->shared_width);
        }
    }
}

/* Add attention with gathered keys: every cp rank gathers the keys and values of the whole sequence
 * for its own queries (an early and a late part). The backward pass gathers them again, as they are
 * not kept, and reduce-scatters their gradients. With latent attention the latents are gathered,
 * and the keys and values of all tokens are made from them in one product. Source: Dubey et al.
 * 2024, arXiv:2407.21783, section 3.3.2. */
static void add_gathered(ms_cost_builder *builder, unsigned part, const ms_core *core) {
    double cp = builder->shard.cp, whole_B = cp * block_B(builder, core);
    attention_work work = whole_work(builder, core);
    add_cp_collective(builder, MS_COLL_ALL_GATHER, whole_B, false);
    begin_on_received(builder, part, core, cp * builder->shard.tokens, 0);
    add_attention(builder, part, &work);
    add_latent_gradients(builder, part, core, cp * builder->shard.tokens);
    if (part == MS_PART_INPUT) {
        add_cp_collective(builder, MS_COLL_REDUCE_SCATTER, whole_B, false);
        ms_cost_compute(builder);
    }
}

/* Elements per token of q, k and v that a rank sends when an all-to-all redistributes them from
 * tokens to heads (DeepSpeed Ulysses). Where there are fewer key and value heads than cp ranks they
 * are copied first, so that every rank gets one. */
typedef struct exchanged_widths {
    double query, key, value;
} exchanged_widths;

/* The widths of a redistribution of q, k and v. */
static exchanged_widths exchanged_of(const ms_cost_builder *builder, const ms_core *core) {
    double kv_heads = fmax(core->kv_heads, builder->shard.cp);
    return (exchanged_widths){.query = core->heads * core->query_dim,
                              .key = kv_heads * core->query_dim,
                              .value = kv_heads * core->value_dim};
}

/* The widths of those of q, k and v that a backward pass recomputes and so has to redistribute once
 * more: all three with MS_RECOMPUTE_LATENT_UP, the keys with MS_RECOMPUTE_PRODUCTS. Selective
 * recomputation is not counted here: it repeats the whole core, and that repetition adds its own
 * all-to-alls. */
static exchanged_widths exchanged_again(const ms_cost_builder *builder, const ms_core *core) {
    unsigned repeated = builder->layout->recompute_parts;
    bool has_all = repeated & MS_RECOMPUTE_LATENT_UP;
    bool has_keys = has_all || (repeated & MS_RECOMPUTE_PRODUCTS);
    exchanged_widths width = exchanged_of(builder, core);
    return (exchanged_widths){.query = has_all ? width.query : 0,
                              .key = has_keys ? width.key : 0,
                              .value = has_all ? width.value : 0};
}

/* Add the all-to-alls of q, k and v, and open the computation behind them. */
static void exchange_heads(ms_cost_builder *builder, exchanged_widths width) {
    double row_B = builder->shard.tokens * builder->shard.element_B;
    add_cp_collective(builder, MS_COLL_ALL_TO_ALL, row_B * width.query, false);
    add_cp_collective(builder, MS_COLL_ALL_TO_ALL, row_B * width.key, false);
    add_cp_collective(builder, MS_COLL_ALL_TO_ALL, row_B * width.value, false);
    ms_cost_compute(builder);
}

/* Add attention with tokens redistributed to heads: after all-to-alls of q, k and v every rank has
 * whole sequences of 1/cp of the heads; a fourth all-to-all takes the result back to tokens.
 * Backward the result's gradient is redistributed first, and the gradients of q, k and v last.
 * Source: Jacobs et al. 2023, arXiv:2309.14509, section 3 (four all-to-alls). */
static void add_all_to_all(ms_cost_builder *builder, unsigned part, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    double out_B = shard->tokens * shard->element_B * core->heads * core->value_dim;
    attention_work work = whole_work(builder, core);
    work.queries = shard->sequence;
    work.heads = core->heads / shard->cp;
    work.kv_heads = fmax(core->kv_heads, shard->cp) / shard->cp;
    if (part == MS_PART_INPUT) {
        if (builder->repeated != 0 && builder->layout->recompute != MS_RECOMPUTE_SELECTIVE) {
            exchange_heads(builder, exchanged_again(builder, core));
        }
        add_cp_collective(builder, MS_COLL_ALL_TO_ALL, out_B, false);
        ms_cost_compute(builder);
        add_attention(builder, part, &work);
    }
    exchange_heads(builder, exchanged_of(builder, core));
    if (part == MS_PART_FORWARD) {
        add_attention(builder, part, &work);
        add_cp_collective(builder, MS_COLL_ALL_TO_ALL, out_B, false);
        ms_cost_compute(builder);
    }
}

double ms_core_key_value_B(const ms_cost_builder *builder, const ms_core *core, double tokens) {
    return tokens * core->kv_heads * (core->query_dim + core->value_dim) * builder->shard.element_B;
}

/* Add the kernel that sums gradients of keys and values over slices. Backward passes run from the
 * last slice to the first. Each but the last adds the gradients of all keys and values that it has
 * attended to (those of earlier slices included) to the gradients that later slices have left: two
 * in, the sum out. */
static void add_key_value_sum(ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    if (shard->slice.index < shard->slice.count - 1) {
        double seen_B = ms_core_key_value_B(builder, core, shard->batch * shard->slice.keys);
        ms_cost_memory(builder, "kv_gradient_merge", 3 * seen_B);
    }
}

/* Add one part of the core, MS_PART_FORWARD or MS_PART_INPUT, with the job's kind of context
 * parallelism, if any. */
static void add_part(ms_cost_builder *builder, unsigned part, const ms_core *core) {
    if (builder->shard.cp <= 1) {
        attention_work work = whole_work(builder, core);
        add_attention(builder, part, &work);
        if (part == MS_PART_INPUT) {
            add_key_value_sum(builder, core);
        }
        return;
    }
    switch (builder->layout->cp_kind) {
    case MS_CP_ALL_GATHER:
        add_gathered(builder, part, core);
        break;
    case MS_CP_ALL_TO_ALL:
        add_all_to_all(builder, part, core);
        break;
    case MS_CP_RING:
    default:
        add_ring(builder, part, core);
        break;
    }
}

/* Add the attention core of a layer for `parts`. Selective recomputation repeats the core's forward
 * part before its backward part, in segments of their own, which are marked as recomputation. */
void ms_cost_core(ms_cost_builder *builder, unsigned parts, const ms_core *core) {
    if (parts & MS_PART_FORWARD) {
        add_part(builder, MS_PART_FORWARD, core);
    }
    if (!(parts & MS_PART_INPUT)) {
        return;
    }
    if (builder->layout->recompute == MS_RECOMPUTE_SELECTIVE) {
        builder->is_recompute = true;
        ms_cost_compute(builder);
        add_part(builder, MS_PART_FORWARD, core);
        builder->is_recompute = false;
        ms_cost_compute(builder);
    }
    add_part(builder, MS_PART_INPUT, core);
}

/* Bytes that all-to-all context parallelism keeps on top of q, k, v and the result of the rank's
 * own tokens [B]. The redistributed q, k and v are kept for the backward pass in place of those of
 * the own tokens. They have as many elements, except where key and value heads are copied
 * (exchanged_widths); these copies are kept too, unless the backward pass recomputes and
 * redistributes keys or values again (exchanged_again). Fused attention's result is kept a second
 * time, before the all-to-all, for the attention's own backward pass. Source: DeepSpeed,
 * deepspeed/sequence/layer.py (attention between all-to-alls keeps its inputs and its output, the
 * output product its own input). */
static double kept_exchanged_B(const ms_cost_builder *builder, const ms_core *core) {
    if (builder->shard.cp <= 1 || builder->layout->cp_kind != MS_CP_ALL_TO_ALL) {
        return 0;
    }
    exchanged_widths width = exchanged_of(builder, core), again = exchanged_again(builder, core);
    double keys = again.key > 0 ? 0 : width.key - core->kv_heads * core->query_dim;
    double values = again.value > 0 ? 0 : width.value - core->kv_heads * core->value_dim;
    double out =
        builder->model->attention != MS_ATTENTION_UNFUSED ? core->heads * core->value_dim : 0;
    return builder->shard.tokens * (keys + values + out) * builder->shard.element_B;
}

/* Bytes of the buffers of all-to-alls during a pass [B]: the widest tensor before and after its
 * redistribution, and the tensors that are redistributed again in the backward pass. Under
 * selective recomputation these are q, k and v. */
static double exchange_buffer_B(const ms_cost_builder *builder, const ms_core *core) {
    bool is_repeated = builder->layout->recompute == MS_RECOMPUTE_SELECTIVE;
    exchanged_widths again =
        is_repeated ? exchanged_of(builder, core) : exchanged_again(builder, core);
    double widest = core->heads * fmax(core->query_dim, core->value_dim);
    return builder->shard.tokens * (2 * widest + again.query + again.key + again.value) *
           builder->shard.element_B;
}

/* Bytes that the attention core keeps for its backward pass besides q, k, v and its output [B].
 * Unfused: the softmax's result for every head, query and key, with dropout also the mask (1 byte)
 * and the dropout's result. Fused: maximum and sum of each row as one fp32 (their log-sum-exp).
 * With all-to-alls over cp also kept_exchanged_B. */
double ms_core_activation_B(const ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    double exchanged_B = kept_exchanged_B(builder, core);
    if (builder->model->attention != MS_ATTENTION_UNFUSED) {
        return exchanged_B + shard->tokens * core->heads * 4;
    }
    double per_score = builder->model->dropout > 0 ? 2 * shard->element_B + 1 : shard->element_B;
    return exchanged_B + shard->tokens * (per_score * core->heads * shard->slice.keys);
}

/* Bytes of the core's buffers during a pass [B]. With slices: the gradients of all keys and values
 * that the slice has attended to. With cp: the exchanged keys and values or their latents, what is
 * made from these, and their gradients. */
double ms_core_buffer_B(const ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    if (shard->slice.count > 1) {
        /* the last slice runs backward first: there are no sums yet, so it writes its gradients of
         * earlier slices' keys and values in place (memory.c counts them: waiting_gradients_B) */
        bool is_last = shard->slice.index == shard->slice.count - 1;
        return ms_core_key_value_B(builder, core,
                                   is_last ? shard->tokens : shard->batch * shard->slice.keys);
    }
    if (shard->cp <= 1) {
        return 0;
    }
    double kv_B = block_B(builder, core);
    /* latent attention: keys and values made from one block of latents, and their gradients */
    double made_B =
        core->expand != NULL ? 2 * ms_core_key_value_B(builder, core, shard->tokens) : 0;
    switch (builder->layout->cp_kind) {
    case MS_CP_ALL_GATHER: /* the gathered blocks of all ranks, and their gradients */
        return shard->cp * (2 * kv_B + made_B);
    case MS_CP_ALL_TO_ALL:
        return exchange_buffer_B(builder, core);
    case MS_CP_RING:
    default: /* the current block and the arriving one, each with its gradients */
        return 4 * kv_B + made_B;
    }
}
