/* The MLP half of a mixture-of-experts layer.
 *
 * A token goes to top_k experts, which makes top_k copies of it. Forward: norm, router, permutation
 * (copies sorted by expert), all-to-all to the experts' ranks (dispatch), received copies sorted by
 * local expert, the experts' products as grouped ones, copies put back in the order of arrival,
 * all-to-all back (combine), the copies of a token summed, residual. Backward takes the same steps
 * in reverse with gradients: there "dispatch" sends the gradients of the results. Shared experts
 * see every token. The router's weight of a copy is applied inside the experts' activation, so that
 * a copy's output need not be kept.
 *
 * With ep > 1 the group waits for its busiest rank: times are that rank's, FLOP and bytes the mean.
 * Source: order of operations of Megatron Core's all-to-all token dispatcher and grouped MLP (Liu
 * et al. 2025, arXiv:2504.14960, section 3); byte counts derived here from what each kernel reads
 * and writes once. Grouped products are timed as one kernel with a tile grid per expert. Of 12
 * grouped shapes measured on an A100 PCIe (SimuMax, system file a100_pcie), forward ones take 3 %
 * longer than so timed on average, weight gradients 5 % less; libraries that launch a kernel per
 * expert can take twice as long on faster GPUs. */
#include <math.h>

#include "model/moe.h"

/* The mixture-of-experts half of a layer while it is added. Copies are per rank and microbatch. */
typedef struct moe_half {
    ms_cost_builder *builder;
    ms_moe_load load;
    int ep;
    double local;    /* experts on this rank */
    double ffn, up;  /* an expert's inner width on this rank, columns of its first product */
    double row_B;    /* a token's hidden state in the working type */
    double sent_B;   /* a token's hidden state on its way to the experts, cast where the token is
                        copied */
    double input_B;  /* a token's hidden state as the experts' products take it */
    double back_B;   /* a token's hidden state on its way back */
    bool has_shared; /* there are shared experts */
    bool is_sequence_parallel; /* tp ranks hold different tokens outside the products */
    double gather_ranks;       /* ranks that share an expert and hold different tokens; each of them
                                  computes the copies of all (ms_moe_gather_ranks) */
    double tokens;             /* of the rank, outside the products */
    bool is_overlapped;        /* the shared experts run beside the all-to-alls */
    bool is_delayed;           /* the experts' weight gradients run beside the last all-to-all */
    unsigned parts;
} moe_half;

/* Inner width of all shared experts together on this rank [elements]. */
static double shared_width(const ms_model *model, double tp) {
    return (double)model->moe.shared_experts * model->moe.shared_ffn / tp;
}

/* Columns of an expert's first product for each column of its inner width: gate and value, or
 * one. */
static double up_factor(const ms_model *model) {
    return model->is_gated ? 2 : 1;
}

/* Set the bytes of a copy on its way to other ranks and back, where the model gives element sizes
 * of its own (fp8) for these. Products in fewer bits take such copies as they arrive. */
static void set_sent_bytes(moe_half *half, const ms_moe *moe) {
    double hidden = half->builder->shard.hidden;
    if (moe->dispatch_element_B > 0) {
        half->sent_B = hidden * moe->dispatch_element_B;
        half->input_B =
            ms_is_quantized(half->builder, MS_PRODUCT_EXPERTS) ? half->sent_B : half->row_B;
    }
    if (moe->combine_element_B > 0) {
        half->back_B = hidden * moe->combine_element_B;
    }
}

/* The half of the layer that the builder is adding, with its sizes on this rank. */
static moe_half half_of(ms_cost_builder *builder, unsigned parts) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    moe_half half = {.builder = builder, .parts = parts, .ep = ms_ep_of(builder->layout)};
    half.load = builder->moe_loads[builder->product.layer];
    half.local = (double)model->moe.experts / half.ep;
    half.ffn = model->moe.ffn / ms_expert_tp(builder->layout);
    half.up = up_factor(model) * half.ffn;
    half.row_B = half.sent_B = half.input_B = half.back_B = shard->hidden * shard->element_B;
    if (half.ep > 1) {
        set_sent_bytes(&half, &model->moe);
    }
    half.has_shared = model->moe.shared_experts > 0;
    half.is_sequence_parallel = builder->layout->has_sequence_parallel && builder->layout->tp > 1;
    half.gather_ranks = ms_moe_gather_ranks(builder->layout);
    half.tokens = shard->plane / shard->hidden;
    half.is_overlapped =
        half.has_shared && half.ep > 1 && model->moe.overlap != MS_MOE_OVERLAP_NONE;
    half.is_delayed = half.ep > 1 && model->moe.overlap == MS_MOE_OVERLAP_ALL &&
                      parts == (MS_PART_INPUT | MS_PART_WEIGHT);
    return half;
}

/* Add a memory-bound kernel over all copies that a rank computes. row_B: moved per copy [B]. */
static void add_copies(const moe_half *half, const char *name, double row_B) {
    double mean = half->load.sent * half->gather_ranks,
           busiest = half->load.busiest * half->gather_ranks;
    ms_cost_uneven(half->builder, name, mean * row_B, busiest * row_B, 1);
}

/* Kernels of an eager router, one for each PyTorch operation. Three sorts of them: on tables with
 * an entry for each token and expert, on the chosen entries (top_k for each token), and searches of
 * a table for its largest entries. */
typedef struct router_work {
    int tables;              /* kernels on tables */
    double elements, fp32_B; /* moved per entry by all of these together: elements of the working
                                type, and bytes of other types [B] */
    int choices, searches;   /* kernels of the two other sorts */
} router_work;

/* Work of an eager router; in brackets, bytes per entry of a table, e in the working type.
 * - Forward: scores (e in, 4 out), the search, five operations on the chosen entries (sum, its
 *   bound, quotient, scale, copy); probabilities as a table (zeros, a copy to scatter into: 3 e)
 *   and as a map (zeros, copy to integers, one to scatter into, copy to bits: 2 e + 17). For the
 *   auxiliary loss scores, search and map once more, the sums of map and scores (1 and 4 in), three
 *   operations on the sums; three scatters.
 * - Backward: eight operations on the chosen entries, a table of zeros to scatter into (4 out), two
 *   softmaxes (8 in, e out), the gradient of the sums (4 out), the sum of both scores' gradients (3
 *   e).
 * - Dropping, where an expert takes a bounded number of tokens: a search along the tokens, its map
 *   (zeros, a copy to scatter into, copy to bits: 4 e + 1), the probabilities that are left (2 e +
 *   1); backward the gradient of the last.
 *
 * Source: megatron.core.transformer.moe.moe_utils (topk_routing_with_score_function,
 * compute_routing_scores_for_aux_loss, switch_load_balancing_loss_func,
 * apply_router_token_dropping); bytes derived here. */
static const router_work ROUTING = {14, 9, 47, 11, 2}, ROUTING_BACKWARD = {5, 5, 24, 8, 0},
                         DROPPING = {4, 6, 2, 1, 1}, DROPPING_BACKWARD = {1, 2, 1, 0, 0};

/* Add the search for the largest entries of a table of `tokens` rows. A block of threads, a warp at
 * least, searches the row of a token, and its arithmetic takes longer than reading the row. */
static void add_search(ms_cost_builder *builder, double tokens, double experts) {
    enum { WARP = 32 };
    const ms_gpu_type *gpu = builder->gpu;
    double entries = tokens * fmax(experts, WARP), bytes = 4 * entries;
    double moving_s = bytes / (gpu->hbm_Bps * gpu->memory_efficiency);
    ms_cost_slow_memory(builder, "router_search", bytes,
                        fmax(gpu->kernels.search_s * entries / moving_s, 1));
}

/* Add the kernels of one kind of the router's work. The bytes of tables are divided evenly over the
 * kernels. */
static void add_router_work(const moe_half *half, const char *name, router_work work) {
    ms_cost_builder *builder = half->builder;
    const ms_moe *moe = &builder->model->moe;
    double each_B = work.elements * builder->shard.element_B + work.fp32_B;
    for (int i = 0; i < work.tables; i++) {
        ms_cost_memory(builder, name, half->tokens * moe->experts * each_B / work.tables);
    }
    for (int i = 0; i < work.choices; i++) { /* fp32 in and out */
        ms_cost_memory(builder, "router_choice", half->tokens * moe->top_k * 8);
    }
    for (int i = 0; i < work.searches; i++) {
        add_search(builder, half->tokens, moe->experts);
    }
}

/* Add the choice of experts from the router's logits. The fused kernel reads the logits, and writes
 * probabilities and the chosen experts. */
static void add_choice(const moe_half *half) {
    const ms_moe *moe = &half->builder->model->moe;
    if (moe->router == MS_MOE_ROUTER_FUSED) {
        ms_cost_memory(half->builder, "router_top_k",
                       half->tokens * (2 * moe->experts + moe->top_k) * 4);
        return;
    }
    add_router_work(half, "router_table", ROUTING);
    if (moe->capacity_factor > 0) {
        add_router_work(half, "router_table", DROPPING);
    }
}

/* Add the gradient of the choice of experts. The fused kernel reads probabilities and their
 * gradients, and writes the logits' gradients. */
static void add_choice_backward(const moe_half *half) {
    const ms_moe *moe = &half->builder->model->moe;
    if (moe->router == MS_MOE_ROUTER_FUSED) {
        ms_cost_memory(half->builder, "router_backward", 3 * half->tokens * moe->experts * 4);
        return;
    }
    if (moe->capacity_factor > 0) {
        add_router_work(half, "router_table_backward", DROPPING_BACKWARD);
    }
    add_router_work(half, "router_table_backward", ROUTING_BACKWARD);
}

/* Add the router: the product that makes a logit for each token and expert, and the choice of
 * experts. */
static void add_router(const moe_half *half, unsigned parts) {
    ms_cost_builder *builder = half->builder;
    const ms_shard *shard = &builder->shard;
    builder->product.kind = (ms_product_kind)0; /* always in the working type */
    double n = half->tokens, experts = builder->model->moe.experts, h = shard->hidden;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, "router", (ms_gemm_shape){n, experts, h, 1});
        add_choice(half);
    }
    if (parts & MS_PART_INPUT) {
        add_choice_backward(half);
        ms_cost_gemm(builder, "router_input_grad", (ms_gemm_shape){n, h, experts, 1});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, "router_weight_grad", (ms_gemm_shape){experts, h, n, 1});
    }
    builder->product.kind = MS_PRODUCT_MLP;
}

/* Let the host wait for the number of copies that each expert gets. It sizes the all-to-alls and
 * the experts' products by these counts, and launches nothing before the GPU has computed them.
 * With experts that are padded to their capacity all sizes are known before. Source:
 * megatron.core.transformer.moe.token_dispatcher, _maybe_dtoh_and_synchronize; grouped products of
 * Transformer Engine take the numbers of rows as a list. */
static void await_counts(const moe_half *half) {
    if (half->builder->layout->waits_for_counts && !half->builder->model->moe.has_padding) {
        ms_cost_host_wait(half->builder);
    }
}

/* Add the kernel that copies tokens to copies, or sums copies to tokens: it reads one and writes
 * the other. copy_B: bytes of a copy. */
static void add_permutation(const moe_half *half, const char *name, double copy_B) {
    ms_cost_memory(half->builder, name, half->tokens * half->row_B + half->load.sent * copy_B);
}

/* Add the kernel that sorts received copies from the order of their source ranks to that of the
 * local experts, or back. from_B, to_B: bytes of a copy read and written. One local expert needs no
 * sort. */
static void add_sort(const moe_half *half, double from_B, double to_B) {
    if (half->ep > 1 && half->local > 1) {
        add_copies(half, "expert_sort", from_B + to_B);
    }
}

/* Add a grouped product of the copies that a rank received. is_up: the first product of the
 * experts, whose input has the hidden columns; else the second, whose output has them. Casts come
 * before it where it multiplies in fewer bits. */
static void add_grouped(const moe_half *half, unsigned parts, bool is_up,
                        const ms_linear_names *names) {
    double hidden = half->builder->shard.hidden;
    double mean = half->load.sent * half->gather_ranks / half->local;
    double busiest = half->load.busiest * half->gather_ranks / half->local;
    double in = is_up ? hidden : half->ffn, out = is_up ? half->up : hidden;
    double experts = half->local;
    /* dispatch brings the first product's input, and backward the second product's gradient */
    bool is_sent = half->ep > 1 && half->builder->model->moe.dispatch_element_B > 0;
    ms_cost_expert_casts(half->builder, parts,
                         &(ms_expert_casts){.mean = mean * experts,
                                            .busiest = busiest * experts,
                                            .in = in,
                                            .out = out,
                                            .experts = experts,
                                            .is_input_sent = is_sent && is_up,
                                            .is_gradient_sent = is_sent && !is_up});
    if (parts & MS_PART_FORWARD) {
        ms_cost_grouped(half->builder, names->forward,
                        (ms_grouped_gemm){.mean = {mean, out, in, experts},
                                          .busiest = {busiest, out, in, experts}});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_grouped(half->builder, names->input,
                        (ms_grouped_gemm){.mean = {mean, in, out, experts},
                                          .busiest = {busiest, in, out, experts}});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_grouped(half->builder, names->weight,
                        (ms_grouped_gemm){.mean = {out, in, mean, experts},
                                          .busiest = {out, in, busiest, experts},
                                          .is_weight_gradient = true});
        if (ms_has_bias(half->builder->model, MS_BIAS_EXPERTS)) {
            add_copies(half, names->bias, out * half->builder->shard.element_B);
        }
    }
}

/* Add the first product of the routed experts. */
static void add_expert_up(const moe_half *half, unsigned parts) {
    static const ms_linear_names UP = {"expert_up", "expert_up_input_grad", "expert_up_weight_grad",
                                       "expert_up_bias_grad"};
    add_grouped(half, parts, true, &UP);
}

/* Add the second product of the routed experts. */
static void add_expert_down(const moe_half *half, unsigned parts) {
    static const ms_linear_names DOWN = {"expert_down", "expert_down_input_grad",
                                         "expert_down_weight_grad", "expert_down_bias_grad"};
    add_grouped(half, parts, false, &DOWN);
}

/* Add the activation of the routed experts: the first product's columns in, `ffn` out; backward
 * these columns and the result's gradient in, the columns' gradient out. */
static void add_expert_activation(const moe_half *half, unsigned parts) {
    double e = half->builder->shard.element_B;
    if ((parts & MS_PART_FORWARD) || ms_repeats(half->builder, parts, MS_RECOMPUTE_ACTIVATIONS)) {
        add_copies(half, "expert_activation", (half->up + half->ffn) * e);
    }
    if (parts & MS_PART_INPUT) {
        add_copies(half, "expert_activation_backward", (2 * half->up + half->ffn) * e);
    }
}

/* Open the computation of the shared experts. With sequence parallelism they have collectives over
 * tp of their own. Else their partial sums join those of the routed experts, and the half's
 * collective sums both. */
static void begin_shared(const moe_half *half) {
    if (half->is_sequence_parallel) {
        ms_cost_half_begin(half->builder, half->parts);
    } else {
        ms_cost_compute(half->builder);
    }
}

/* Close the shared experts' computation, as begin_shared has opened it. */
static void end_shared(const moe_half *half) {
    if (half->is_sequence_parallel) {
        ms_cost_half_end(half->builder, half->parts);
    }
}

/* Add the first product and the activation of the shared experts, in reverse in a backward pass.
 * Forward they open the shared experts, backward they close them. */
static void add_shared_up(const moe_half *half) {
    static const ms_linear_names UP = {"shared_up", "shared_up_input_grad", "shared_up_weight_grad",
                                       NULL};
    ms_cost_builder *builder = half->builder;
    const ms_shard *shard = &builder->shard;
    double width = shared_width(builder->model, shard->tp);
    double up = up_factor(builder->model) * width;
    double rows_B = shard->tokens * shard->element_B;
    bool is_forward = (half->parts & MS_PART_FORWARD) != 0;
    if (!half->has_shared) {
        return;
    }
    if (is_forward) {
        begin_shared(half);
    }
    ms_cost_compute(builder);
    if (ms_repeats(builder, half->parts, MS_RECOMPUTE_ACTIVATIONS)) {
        ms_cost_memory(builder, "shared_activation", (up + width) * rows_B);
    }
    if (half->parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "shared_activation_backward", (2 * up + width) * rows_B);
    }
    ms_cost_linear(builder, half->parts, &UP, shard->hidden, up);
    if (is_forward) {
        ms_cost_memory(builder, "shared_activation", (up + width) * rows_B);
    } else {
        end_shared(half);
    }
}

/* Add the second product of the shared experts, which closes them forward and opens them
 * backward. */
static void add_shared_down(const moe_half *half) {
    static const ms_linear_names DOWN = {"shared_down", "shared_down_input_grad",
                                         "shared_down_weight_grad", NULL};
    ms_cost_builder *builder = half->builder;
    const ms_shard *shard = &builder->shard;
    bool is_forward = (half->parts & MS_PART_FORWARD) != 0;
    if (!half->has_shared) {
        return;
    }
    if (!is_forward) {
        begin_shared(half);
    }
    ms_cost_compute(builder);
    ms_cost_linear(builder, half->parts, &DOWN, shared_width(builder->model, shard->tp),
                   shard->hidden);
    if (is_forward) {
        end_shared(half);
    }
}

/* Add an all-to-all of the copies over ep. element_B: of an element; 0: as activations are. Returns
 * the number to wait for it by (ms_cost_communicate). With a limit on a token's nodes, a token
 * crosses to each of its nodes once (reach.nodes on average), and is forwarded there to the
 * reach.ranks members that hold its experts. */
static int add_all_to_all(const moe_half *half, double element_B, bool is_async) {
    ms_cost_builder *builder = half->builder;
    const ms_model_layout *layout = builder->layout;
    const ms_moe *moe = &builder->model->moe;
    double row_B = builder->shard.hidden * (element_B > 0 ? element_B : builder->shard.element_B);
    ms_comm comm = {.axis = MS_AXIS_EP,
                    .group_axes = ms_axis_of_experts(layout, MS_AXIS_EP),
                    .kind = MS_COLL_ALL_TO_ALL,
                    .bytes = half->load.sent * row_B,
                    .is_async = is_async,
                    .load_imbalance = half->load.busiest / half->load.sent};
    int nodes = layout->ep_node_ranks > 0 ? half->ep / layout->ep_node_ranks : 1;
    if (moe->node_limit > 0 && nodes > 1) {
        ms_moe_reach reach = ms_moe_reach_of(moe, nodes, layout->ep_node_ranks);
        double tokens = half->load.sent / moe->top_k;
        comm.bytes = tokens * reach.nodes * row_B;
        comm.intra_node_B = tokens * reach.ranks * row_B;
    }
    return ms_cost_communicate(builder, &comm);
}

/* Add a collective of copies over the ranks that share an expert, where these hold different
 * copies. Copies are gathered before the experts' products; the partial sums of the results are
 * reduce-scattered behind them. after: the collective that it waits for. */
static void exchange_copies(const moe_half *half, ms_coll_kind kind, int after) {
    ms_cost_communicate(
        half->builder,
        &(ms_comm){.axis = MS_AXIS_TP,
                   .group_axes = ms_axis_of_experts(half->builder->layout, MS_AXIS_TP),
                   .kind = kind,
                   .bytes = half->load.sent * half->gather_ranks * half->row_B,
                   .after = after});
}

/* Open the routed experts' computation, in a segment of its own among several ep ranks. The segment
 * is marked (is_experts): it waits for a gather of the experts' parameters. after: the all-to-all
 * that brings the copies. */
static void begin_experts(const moe_half *half, int after) {
    if (half->gather_ranks > 1) {
        exchange_copies(half, MS_COLL_ALL_GATHER, after);
        ms_cost_compute(half->builder);
    } else {
        ms_cost_compute_after(half->builder, after);
    }
    ms_segment *experts = ms_cost_last_segment(half->builder);
    if (experts) {
        experts->is_experts = true;
    }
}

/* Sum the results over the ranks that share an expert, and leave each rank its own copies. */
static void end_experts(const moe_half *half) {
    if (half->gather_ranks > 1) {
        exchange_copies(half, MS_COLL_REDUCE_SCATTER, 0);
    }
}

/* Add `count` kernels that sum two tensors of the half's tokens: two in, one out. Compiled kernels
 * sum on the way. Source: PyTorch, torch::autograd::InputBuffer::accumulate. */
static void add_sums(const moe_half *half, int count) {
    for (int i = 0; i < count && half->builder->model->kernels != MS_KERNELS_COMPILED; i++) {
        ms_cost_memory(half->builder, "branch_sum", 3 * half->tokens * half->row_B);
    }
}

/* Add the gate that scales the shared experts' result token by token. Forward the half's input and
 * the result in, the scaled result out; backward the scaled result's gradient in, the result's
 * gradient out, the result in for the gate's gradient, and the gradient of the input added (2). The
 * product with the gate's one column is part of these kernels. */
static void add_shared_gate(const moe_half *half) {
    bool is_forward = (half->parts & MS_PART_FORWARD) != 0;
    if (half->builder->model->moe.parts.has_shared_gate &&
        (half->parts & (MS_PART_FORWARD | MS_PART_INPUT))) {
        ms_cost_memory(half->builder, is_forward ? "shared_gate" : "shared_gate_backward",
                       (is_forward ? 3 : 5) * half->tokens * half->row_B);
    }
}

/* Add the half's forward part. The shared experts' first product is added behind the dispatch, and
 * the second behind the combine, so that they run beside the all-to-alls where these are
 * asynchronous. */
static void add_forward(const moe_half *half) {
    ms_cost_builder *builder = half->builder;
    const ms_moe *moe = &builder->model->moe;
    bool is_async = half->is_overlapped;
    ms_cost_compute(builder);
    ms_cost_norm(builder, half->parts);
    add_router(half, half->parts);
    await_counts(half);
    add_permutation(half, "moe_permute", half->sent_B);
    int dispatched = add_all_to_all(half, moe->dispatch_element_B, is_async);
    add_shared_up(half);
    begin_experts(half, dispatched);
    add_sort(half, half->sent_B, half->input_B);
    add_expert_up(half, half->parts);
    add_expert_activation(half, half->parts);
    add_expert_down(half, half->parts);
    add_sort(half, half->row_B, half->back_B);
    end_experts(half);
    int combined = add_all_to_all(half, moe->combine_element_B, is_async);
    add_shared_down(half);
    ms_cost_compute_after(builder, combined);
    add_permutation(half, "moe_unpermute", half->back_B);
    add_shared_gate(half);
    /* the shared experts' result is added to that of the routed experts */
    add_sums(half, half->has_shared);
    ms_cost_residual(builder, half->parts);
}

/* The parts of an expert's products that are added between the all-to-alls: without the weight
 * gradients, where these are delayed until the last all-to-all is under way. */
static unsigned expert_parts(const moe_half *half) {
    return half->is_delayed ? MS_PART_INPUT : half->parts;
}

/* Add the half's input gradients and, in a whole backward pass, its weight gradients. */
static void add_backward(const moe_half *half) {
    ms_cost_builder *builder = half->builder;
    const ms_moe *moe = &builder->model->moe;
    bool is_async = half->is_overlapped, ends_async = half->is_overlapped || half->is_delayed;
    ms_cost_compute(builder);
    ms_cost_residual(builder, half->parts);
    add_shared_gate(half);
    add_permutation(half, "moe_unpermute_backward", half->sent_B);
    int dispatched = add_all_to_all(half, moe->dispatch_element_B, is_async);
    add_shared_down(half);
    begin_experts(half, dispatched);
    add_sort(half, half->sent_B, half->input_B);
    add_expert_down(half, expert_parts(half));
    add_expert_activation(half, half->parts);
    add_expert_up(half, expert_parts(half));
    add_sort(half, half->row_B, half->back_B);
    end_experts(half);
    int combined = add_all_to_all(half, moe->combine_element_B, ends_async);
    add_shared_up(half);
    if (half->is_delayed) {
        ms_cost_compute(builder);
        add_expert_down(half, MS_PART_WEIGHT);
        add_expert_up(half, MS_PART_WEIGHT);
    }
    ms_cost_compute_after(builder, combined);
    add_permutation(half, "moe_permute_backward", half->back_B);
    add_router(half, half->parts);
    add_sums(half, 1 + half->has_shared); /* router, routed and shared experts share their input */
    ms_cost_norm(builder, half->parts);
}

/* Add the weight gradients of a backward pass that is split in two (W), which has no
 * all-to-alls. */
static void add_weight_gradients(const moe_half *half) {
    add_shared_down(half);
    ms_cost_compute(half->builder);
    add_expert_down(half, MS_PART_WEIGHT);
    add_expert_up(half, MS_PART_WEIGHT);
    add_shared_up(half);
    ms_cost_compute(half->builder);
    add_router(half, MS_PART_WEIGHT);
}

/* Add the half for `parts`: forward, backward with input gradients, or weight gradients alone.
 * Without sequence parallelism one collective over tp sums the partial results of routed and shared
 * experts. */
void ms_cost_moe(ms_cost_builder *builder, unsigned parts) {
    moe_half half = half_of(builder, parts);
    if (parts & MS_PART_FORWARD) {
        add_forward(&half);
    } else if (parts & MS_PART_INPUT) {
        add_backward(&half);
    } else {
        add_weight_gradients(&half);
    }
    if (!half.is_sequence_parallel) {
        ms_cost_half_end(builder, parts);
    }
}
