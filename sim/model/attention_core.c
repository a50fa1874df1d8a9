/* Attention proper: what lies between q, k, v and its output, fused or as products over the whole
 * score matrix, on a rank's share of the sequence or of the heads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/attention_casts.h"
#include "model/fused_attention.h"

/* A piece of attention: rows of queries against keys. The queries of a slice of a sequence see the
 * keys of the parts before it and, under the causal mask, half of its own. */
typedef struct attention_work {
    const ms_core *core;
    double heads, kv_heads;
    double queries; /* per sequence on this rank */
    double keys;    /* per sequence that they meet */
    double share;   /* of queries x whole sequence, before the causal mask */
} attention_work;

/* Sliding window of the layer that is being added [tokens]; 0: none. */
static int window_of(const ms_cost_builder *builder) {
    return ms_layer_window(builder->model, builder->product.layer);
}

/* Rows of queries of all heads, counted in full ones: of a causal problem half; a ring's later
 * steps do half the queries or half the keys, all in full; a slice's rows lack half of its own
 * keys.
 */
static double full_rows(const ms_cost_builder *builder, const attention_work *work) {
    double pairs = work->queries * builder->shard.sequence * work->share / 2;
    int window = window_of(builder);
    bool has_window = window > 0 && work->share < 1; /* a full row is as long */
    double row = has_window ? fmin(window, work->keys) : work->keys;
    return builder->shard.batch * work->heads * pairs / row;
}

/* Columns of keys of all heads, counted in full ones, for the backward kernel, whose blocks are of
 * keys; a slice has more keys than queries. */
static double full_columns(const ms_cost_builder *builder, const attention_work *work) {
    double keys_per_query = builder->shard.slice.count > 1 ? work->keys / work->queries : 1;
    return full_rows(builder, work) * keys_per_query;
}

/* A piece as a fused kernel has it: forward rows of queries, backward columns of keys. */
static ms_attention_shape shape_of(const ms_cost_builder *builder, const attention_work *work,
                                   bool is_backward) {
    double pairs = work->queries * builder->shard.sequence * work->share / 2;
    return (ms_attention_shape){.rows = is_backward ? full_columns(builder, work)
                                                    : full_rows(builder, work),
                                .meets = pairs / (is_backward ? work->keys : work->queries),
                                .query_dim = work->core->query_dim,
                                .value_dim = work->core->value_dim};
}

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
    } else if (shard->cp > 1 &&
               work->queries < shard->sequence) { /* each step is a piece of the same square */
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

/* Traffic of a fused kernel: forward q, k and v in and the result out; backward these and the
 * result's gradient in, and the gradients of q, k and v out. */
static double flash_bytes(const ms_cost_builder *builder, const attention_work *work,
                          bool is_backward) {
    const ms_core *core = work->core;
    double operands = work->queries * work->heads * core->query_dim +
                      work->keys * work->kv_heads * (core->query_dim + core->value_dim);
    double result = work->queries * work->heads * core->value_dim;
    bool is_fp8 = ms_has_fp8_attention(builder, is_backward);
    double in_B = is_fp8 ? ms_quantized_B(builder) : builder->shard.element_B;
    double out_B = is_fp8 ? ms_attention_result_B(builder) : builder->shard.element_B;
    double sum_B = is_backward ? (operands + result) * in_B + (result + operands) * out_B
                               : operands * in_B + result * out_B;
    return builder->shard.batch * sum_B;
}

/* Fused attention.  A causal mask lets it skip half of the score matrix. Forward it computes two
 * products, of query and of value width, backward three of query and two of value width.
 * Source: Dao, FlashAttention-2, arXiv:2307.08691, section 4.1 (causal: divided by 2; backward: 2.5
 * times forward), algorithm 2 for the widths. */
static ms_fused_work flash_work(const ms_cost_builder *builder, const attention_work *work,
                                bool is_backward) {
    double query = work->core->query_dim, value = work->core->value_dim;
    /* a product over all scores is 2 q s d; half of them are masked */
    double scores =
        builder->shard.batch * work->heads * work->queries * builder->shard.sequence * work->share;
    double widths = is_backward ? 3 * query + 2 * value : query + value;
    return (ms_fused_work){.flop = scores * widths,
                           .bytes = flash_bytes(builder, work, is_backward),
                           .efficiency = ms_fused_attention_efficiency(
                               builder, shape_of(builder, work, is_backward), is_backward)};
}

/* Attention of whole sequences as a measured table has it. */
typedef struct flash_curve {
    const ms_cost_builder *builder;
    bool is_backward;
} flash_curve;

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

/* Pieces of a sequence, and products in fp8, are no kernels that a table has. */
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

static void add_flash(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
    for (int is_backward = 0; is_backward < 2; is_backward++) {
        if (parts & (is_backward ? MS_PART_INPUT : MS_PART_FORWARD)) {
            ms_cost_attention_casts(builder, work->core, is_backward);
            add_flash_part(builder, work, is_backward);
            ms_cost_attention_casts_back(builder, work->core, is_backward);
        }
    }
}

/* Megatron-LM's softmax works on four rows of scores at a time, of as many sequences and heads, and
 * leaves the others, and scores in fp32, to PyTorch's operations.
 * Source: Megatron-LM, megatron.model.fused_softmax (is_kernel_available: sequences times heads
 * of a rank a multiple of 4; input_in_float16). */
static ms_work softmax_of(const ms_cost_builder *builder, double batch) {
    bool is_odd = fmod(batch, 4) != 0 || ms_is_single(&builder->shard);
    bool is_left = builder->model->kernels == MS_KERNELS_FUSED && is_odd;
    return is_left ? MS_WORK_WIDE_SOFTMAX : MS_WORK_SOFTMAX;
}

/* Attention by batched products over the full score matrix, in a slice of a sequence up to its last
 * key. Linear biases (ALiBi) are written into the matrix, and read when the product adds to it;
 * they have no gradient. Fused kernels make them from a slope per head on the way, without traffic.
 * Source: bigscience-workshop/Megatron-DeepSpeed, ParallelAttention.forward (baddbmm onto the
 * biases, which PyTorch copies to the result first); Press et al. 2021, arXiv:2108.12409. */
static void add_plain(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
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
        ms_cost_passes(builder, "softmax", softmax_of(builder, batch), false, scores);
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){q, v, k, batch});
        ms_cost_memory(builder, "attention_transpose", out_B); /* heads back beside each other */
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "attention_transpose", out_B);
        ms_cost_gemm(builder, "attention_scores", (ms_gemm_shape){q, k, v, batch});  /* dP */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){k, v, q, batch}); /* dV */
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_passes(builder, "softmax_backward", softmax_of(builder, batch), true, scores);
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){q, d, k, batch}); /* dQ */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){k, d, q, batch}); /* dK */
        /* dq, dk and dv are copied into one matrix; with slices, only those of the slice's own
         * tokens */
        double own = builder->shard.slice.count > 1 ? q : k;
        double widths = work->heads * d * q + work->kv_heads * (d + v) * own;
        ms_cost_memory(builder, "qkv_concat", 2 * builder->shard.batch * widths * e);
    }
}

static void add_attention(ms_cost_builder *builder, unsigned parts, const attention_work *work) {
    if (builder->model->attention != MS_ATTENTION_UNFUSED) {
        add_flash(builder, parts, work);
    } else {
        add_plain(builder, parts, work);
    }
}

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

static int exchange(ms_cost_builder *builder, ms_coll_kind kind, double bytes, bool is_async) {
    return ms_cost_communicate(
        builder,
        &(ms_comm){.axis = MS_AXIS_CP, .kind = kind, .bytes = bytes, .is_async = is_async});
}

/* Bytes of a token's keys and values on one rank, for the rank's share of the sequence. */
static double block_B(const ms_cost_builder *builder, const ms_core *core) {
    return builder->shard.tokens * core->shared_width * builder->shard.element_B;
}

/* Go on once `tokens` tokens of other ranks are there (after: as of ms_cost_compute_after): make
 * keys and values from what stands for them, in a backward pass anew, as they are not kept. */
static void receive(ms_cost_builder *builder, unsigned part, const ms_core *core, double tokens,
                    int after) {
    bool was_recompute = builder->is_recompute;
    builder->is_recompute = was_recompute || (core->expand != NULL && part == MS_PART_INPUT);
    ms_cost_compute_after(builder, after);
    if (core->expand != NULL) {
        core->expand(builder, MS_PART_FORWARD, tokens);
    }
    builder->is_recompute = was_recompute;
    ms_cost_compute(builder);
}

/* Take the gradients of keys and values of `tokens` received tokens back to what stands for them.
 * Only that travels on, so the weights' gradients are made here too, also in a pass that leaves
 * others to a later one: no rank ever holds a token's gradients of all queries. The ranks' sums are
 * added up where replicas reduce gradients, which context-parallel ranks are. */
static void give_back(ms_cost_builder *builder, unsigned part, const ms_core *core, double tokens) {
    if (core->expand != NULL && part == MS_PART_INPUT) {
        core->expand(builder, MS_PART_INPUT | MS_PART_WEIGHT, tokens);
    }
}

/* A kernel that reads and writes so many rows of a width for each of the rank's tokens. */
static void add_rows(ms_cost_builder *builder, const char *name, double rows, double width) {
    ms_cost_memory(builder, name, rows * builder->shard.tokens * width * builder->shard.element_B);
}

/* Sum of partial results of a ring's steps: both in, one out. */
static void add_merge(ms_cost_builder *builder, const char *name, double width) {
    add_rows(builder, name, 3, width);
}

/* What a ring's kernels move beside the attention of a step, on the rank that does all of it in
 * full. Keys and values are packed into the buffer that travels, and so are their gradients of each
 * step; the first step's are copied where the others' are added. The result is a sum over all steps
 * from zeros on, as the first step's share of it is known with the others only; the queries'
 * gradient begins as a copy.
 * Source: Transformer Engine, transformer_engine.pytorch.attention (AttnFuncWithCP,
 * flash_attn_fwd_out_correction). */
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

/* Blocks of keys and values travel around the ring; each rank attends to the one it holds while the
 * next one arrives. A rank holds one early and one late part of the sequence (zig-zag), so under a
 * causal mask every step of every rank is the same 1/cp of its work: with parts of c tokens the
 * first one is c^2/2 + c^2 + c^2/2, a later one 2c early keys against c late queries or the other
 * way round. Backward the gradients of keys and values follow their block and end at its owner,
 * cp - 1 hops as the block itself.
 * Source: Liu et al. 2023, arXiv:2310.01889, section 3 (ring); Dubey et al. 2024,
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
            sent_B += kv_B; /* gradients of the step before */
        }
        int next = exchange(builder, MS_COLL_RING_SHIFT, sent_B, is_async);
        if (step > 0) {
            receive(builder, part, core, builder->shard.tokens, arriving);
        } else {
            ms_cost_compute(builder); /* its own block, of which keys and values are there */
        }
        add_flash(builder, part, &work);
        if (step > 0) {
            give_back(builder, part, core, builder->shard.tokens);
        }
        add_ring_copies(builder, core, is_forward, step);
        arriving = next;
    }
    if (!is_forward) { /* gradients are home; each step's were added to those that came along */
        ms_cost_compute_after(builder, arriving);
        for (int step = 1; step < steps; step++) {
            add_merge(builder, "kv_gradient_merge", core->shared_width);
        }
    }
}

/* Keys and values of the whole sequence on every rank, for its own queries (an early and a late
 * part); gathered again backward instead of kept. Where latents stand for them, those of the rank's
 * own tokens are made with the others' in one product.
 * Source: Dubey et al. 2024, arXiv:2407.21783, section 3.3.2. */
static void add_gathered(ms_cost_builder *builder, unsigned part, const ms_core *core) {
    double cp = builder->shard.cp, whole_B = cp * block_B(builder, core);
    attention_work work = whole_work(builder, core);
    exchange(builder, MS_COLL_ALL_GATHER, whole_B, false);
    receive(builder, part, core, cp * builder->shard.tokens, 0);
    add_attention(builder, part, &work);
    give_back(builder, part, core, cp * builder->shard.tokens);
    if (part == MS_PART_INPUT) {
        exchange(builder, MS_COLL_REDUCE_SCATTER, whole_B, false);
        ms_cost_compute(builder);
    }
}

/* Columns of q, k and v that a rank sends when an all-to-all redistributes them from tokens to
 * heads (DeepSpeed Ulysses). Key and value heads that are fewer than the ranks are copied before.
 */
typedef struct exchanged_widths {
    double query, key, value;
} exchanged_widths;

static exchanged_widths exchanged_of(const ms_cost_builder *builder, const ms_core *core) {
    double kv_heads = fmax(core->kv_heads, builder->shard.cp);
    return (exchanged_widths){.query = core->heads * core->query_dim,
                              .key = kv_heads * core->query_dim,
                              .value = kv_heads * core->value_dim};
}

/* Columns of q, k and v that a backward pass makes anew and has to redistribute again: where the
 * whole core is repeated, its repetition redistributes all of them itself. */
static exchanged_widths exchanged_again(const ms_cost_builder *builder, const ms_core *core) {
    unsigned repeated = builder->layout->recompute_parts;
    bool has_all = repeated & MS_RECOMPUTE_LATENT_UP;
    bool has_keys = has_all || (repeated & MS_RECOMPUTE_PRODUCTS);
    exchanged_widths width = exchanged_of(builder, core);
    return (exchanged_widths){.query = has_all ? width.query : 0,
                              .key = has_keys ? width.key : 0,
                              .value = has_all ? width.value : 0};
}

static void exchange_heads(ms_cost_builder *builder, exchanged_widths width) {
    double row_B = builder->shard.tokens * builder->shard.element_B;
    exchange(builder, MS_COLL_ALL_TO_ALL, row_B * width.query, false);
    exchange(builder, MS_COLL_ALL_TO_ALL, row_B * width.key, false);
    exchange(builder, MS_COLL_ALL_TO_ALL, row_B * width.value, false);
    ms_cost_compute(builder);
}

/* Tokens against heads: every rank gets whole sequences of 1/cp of the heads.
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
        exchange(builder, MS_COLL_ALL_TO_ALL, out_B, false);
        ms_cost_compute(builder);
        add_attention(builder, part, &work);
    }
    exchange_heads(builder, exchanged_of(builder, core));
    if (part == MS_PART_FORWARD) {
        add_attention(builder, part, &work);
        exchange(builder, MS_COLL_ALL_TO_ALL, out_B, false);
        ms_cost_compute(builder);
    }
}

double ms_core_key_value_B(const ms_cost_builder *builder, const ms_core *core, double tokens) {
    return tokens * core->kv_heads * (core->query_dim + core->value_dim) * builder->shard.element_B;
}

/* Parts go backwards from the last one, and each adds the gradients of all keys and values it has
 * seen to those of the parts behind it: both in, the sum out. */
static void add_key_value_sum(ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    if (shard->slice.index < shard->slice.count - 1) {
        double seen_B = ms_core_key_value_B(builder, core, shard->batch * shard->slice.keys);
        ms_cost_memory(builder, "kv_gradient_merge", 3 * seen_B);
    }
}

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

/* Bytes kept where tokens are redistributed to heads: q, k and v wait for the backward pass as they
 * arrived, with the copies of fewer key and value heads; and fused attention's output is kept a
 * second time, for its own backward pass.
 * Source: DeepSpeed, deepspeed/sequence/layer.py (attention between all-to-alls keeps its inputs
 * and its output, the output product its own input). */
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

/* Bytes of the buffers of the redistribution: the widest tensor as it left and as it arrives, and
 * the tensors that are redistributed again for the backward pass. */
static double exchange_buffer_B(const ms_cost_builder *builder, const ms_core *core) {
    bool is_repeated = builder->layout->recompute == MS_RECOMPUTE_SELECTIVE;
    exchanged_widths again =
        is_repeated ? exchanged_of(builder, core) : exchanged_again(builder, core);
    double widest = core->heads * fmax(core->query_dim, core->value_dim);
    return builder->shard.tokens * (2 * widest + again.query + again.key + again.value) *
           builder->shard.element_B;
}

/* Full matrix: the softmax's result, and with dropout its mask and its result, per head and key.
 * Fused: maximum and sum of each row as one fp32 (their log-sum-exp). */
double ms_core_activation_B(const ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    double exchanged_B = kept_exchanged_B(builder, core);
    if (builder->model->attention != MS_ATTENTION_UNFUSED) {
        return exchanged_B + shard->tokens * core->heads * 4;
    }
    double per_score = builder->model->dropout > 0 ? 2 * shard->element_B + 1 : shard->element_B;
    return exchanged_B + shard->tokens * (per_score * core->heads * shard->slice.keys);
}

double ms_core_buffer_B(const ms_cost_builder *builder, const ms_core *core) {
    const ms_shard *shard = &builder->shard;
    if (shard->slice.count > 1) { /* the last slice needs no buffer for the gradients of the other
                                     slices' keys and values, which are in place already */
        bool is_last = shard->slice.index == shard->slice.count - 1;
        return ms_core_key_value_B(builder, core,
                                   is_last ? shard->tokens : shard->batch * shard->slice.keys);
    }
    if (shard->cp <= 1) {
        return 0;
    }
    double kv_B = block_B(builder, core);
    /* keys and values made of a received token, and their gradients */
    double made_B =
        core->expand != NULL ? 2 * ms_core_key_value_B(builder, core, shard->tokens) : 0;
    switch (builder->layout->cp_kind) {
    case MS_CP_ALL_GATHER: /* what is gathered for keys and values, and its gradients */
        return shard->cp * (2 * kv_B + made_B);
    case MS_CP_ALL_TO_ALL:
        return exchange_buffer_B(builder, core);
    case MS_CP_RING:
    default: /* the block at hand and the one arriving, each with gradients */
        return 4 * kv_B + made_B;
    }
}
