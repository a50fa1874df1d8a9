/* Tensor parallelism inside a layer's halves: each half opens with products split by columns and
 * closes with one split by rows.
 *
 * Without sequence parallelism the partial sums of the closing product are all-reduced forward, and
 * the input gradients of the opening product backward. With sequence parallelism the tensors
 * outside the split products are split by tokens. Forward an all-gather opens a half and a
 * reduce-scatter closes it, backward the other way round. The opening product's input, kept split,
 * is gathered once more for its weight gradient. Collectives block, or run beside products that are
 * cut in chunks for them (tp_overlap).
 *
 * Source: Shoeybi et al. 2019, arXiv:1909.08053, section 3; Korthikanti et al. 2022,
 * arXiv:2205.05198, section 4.2.2. */
#include "model/internal.h"

enum { CHUNKS_MAX = 64 };

/* Bytes of the activations of all tokens, which tp's collectives carry [B]. */
static double plane_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    return shard->tokens * shard->hidden * shard->element_B;
}

/* Bytes that a gather of the activations carries [B]: fewer where they are cast for the products
 * before they are gathered. */
static double gathered_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double each_B = ms_gathers_quantized(builder) ? ms_quantized_B(builder) : shard->element_B;
    return shard->tokens * shard->hidden * each_B;
}

/* Add the copy that puts a gathered tensor, or one that is to be reduced, in order. In PyTorch's
 * layout [batch, sequence, hidden] tokens are not the first dimension, while the collective has the
 * ranks' shares one behind the other. bytes: of the tensor, which is read and written. Source:
 * PyTorch, torch/distributed/_functional_collectives (all_gather_tensor and reduce_scatter_tensor
 * of another than the first dimension). */
static void add_ordering(ms_cost_builder *builder, double bytes) {
    const ms_model_layout *layout = builder->layout;
    if (layout->tp > 1 && layout->has_sequence_parallel && layout->tp_style == MS_TP_DTENSOR) {
        ms_cost_compute(builder);
        ms_cost_memory(builder, "token_order", 2 * bytes);
    }
}

bool ms_splits_halves(const ms_cost_builder *builder) {
    return builder->layout->tp > 1 && builder->layout->tp_overlap != MS_TP_OVERLAP_NONE;
}

/* Add the gathers of tokens that open a half with sequence parallelism. In a half whose collectives
 * do not run beside its products, the collectives are added at the half's two ends, although its
 * norm and residual run outside of them. The half's time is the same, because the collectives block
 * what follows in either place. Layers of MS_TP_DTENSOR keep the gathered input for the weight
 * gradient, unless parts of the layer are recomputed. */
void ms_cost_half_begin(ms_cost_builder *builder, unsigned parts) {
    if (builder->layout->has_sequence_parallel) {
        /* gathered tensors: forward the input; backward the output's gradient, and the input for
         * the weight gradient */
        static const unsigned GATHERED[] = {MS_PART_FORWARD, MS_PART_INPUT, MS_PART_WEIGHT};
        bool keeps = builder->layout->tp_style == MS_TP_DTENSOR && builder->repeated == 0;
        unsigned gathered = keeps ? parts & ~(unsigned)MS_PART_WEIGHT : parts;
        for (size_t i = 0; i < sizeof GATHERED / sizeof GATHERED[0]; i++) {
            if (gathered & GATHERED[i]) {
                ms_cost_collective(builder, MS_COLL_ALL_GATHER, gathered_B(builder));
                add_ordering(builder, gathered_B(builder));
            }
        }
    }
    ms_cost_compute(builder);
}

/* The collective that sums the partial results of tp ranks. */
static ms_coll_kind reduction(const ms_cost_builder *builder) {
    return builder->layout->has_sequence_parallel ? MS_COLL_REDUCE_SCATTER : MS_COLL_ALL_REDUCE;
}

/* Add the collective that sums a half's partial results, forward its output's, backward its input
 * gradient's. */
void ms_cost_half_end(ms_cost_builder *builder, unsigned parts) {
    if (parts & (MS_PART_FORWARD | MS_PART_INPUT)) {
        add_ordering(builder, plane_B(builder));
        ms_cost_collective(builder, reduction(builder), plane_B(builder));
    }
}

/* Number of chunks into which a product is cut so that it overlaps with its collective; 1: the
 * product stays whole. */
static int chunk_count(const ms_cost_builder *builder) {
    switch (builder->layout->tp_overlap) {
    case MS_TP_OVERLAP_CHUNKS:
        return builder->layout->tp_chunks;
    case MS_TP_OVERLAP_RING:
        return builder->layout->tp;
    case MS_TP_OVERLAP_NONE:
    case MS_TP_OVERLAP_BULK:
    default:
        return 1;
    }
}

/* Start the asynchronous collective of one chunk of a product; in a ring it is a shift to the next
 * rank. Returns the number to wait for it by (ms_cost_communicate). */
static int start_chunk(ms_cost_builder *builder, ms_coll_kind kind) {
    double bytes = kind == MS_COLL_ALL_GATHER ? gathered_B(builder) : plane_B(builder);
    if (builder->layout->tp_overlap == MS_TP_OVERLAP_RING) {
        kind = MS_COLL_RING_SHIFT;
    }
    return ms_cost_communicate(builder, &(ms_comm){.axis = MS_AXIS_TP,
                                                   .kind = kind,
                                                   .bytes = bytes / chunk_count(builder),
                                                   .is_async = true});
}

/* Add a product, `in` to `out` columns, over tokens that are gathered chunk by chunk: each chunk is
 * multiplied when its gather has ended. In a ring the first chunk is the rank's own. A product in
 * one chunk follows a blocking gather. */
static void gather_and_multiply(ms_cost_builder *builder, const char *name, double in, double out) {
    int chunks = chunk_count(builder);
    double tokens = builder->shard.tokens;
    if (chunks == 1) {
        if (builder->layout->has_sequence_parallel) {
            ms_cost_collective(builder, MS_COLL_ALL_GATHER, gathered_B(builder));
        }
        ms_cost_compute(builder);
        ms_cost_product(builder, name, (ms_gemm_shape){tokens, out, in, 1});
        return;
    }
    int gathered[CHUNKS_MAX] = {0};
    int own = builder->layout->tp_overlap == MS_TP_OVERLAP_RING ? 1 : 0;
    for (int i = own; i < chunks; i++) {
        gathered[i] = start_chunk(builder, MS_COLL_ALL_GATHER);
    }
    for (int i = 0; i < chunks; i++) {
        ms_cost_compute_after(builder, gathered[i]);
        ms_cost_product(builder, name, (ms_gemm_shape){tokens / chunks, out, in, 1});
    }
}

/* Add a product, `in` to `out` columns, whose partial sums are reduced chunk by chunk: each chunk's
 * reduction runs beside the products behind it. In a ring the last chunk is the rank's own. A
 * product in one chunk precedes a blocking reduction. */
static void multiply_and_reduce(ms_cost_builder *builder, const char *name, double in, double out) {
    int chunks = chunk_count(builder);
    double tokens = builder->shard.tokens;
    if (chunks == 1) {
        ms_cost_product(builder, name, (ms_gemm_shape){tokens, out, in, 1});
        ms_cost_collective(builder, reduction(builder), plane_B(builder));
        ms_cost_compute(builder);
        return;
    }
    int last = 0;
    int sent = builder->layout->tp_overlap == MS_TP_OVERLAP_RING ? chunks - 1 : chunks;
    for (int i = 0; i < chunks; i++) {
        ms_cost_compute(builder);
        ms_cost_product(builder, name, (ms_gemm_shape){tokens / chunks, out, in, 1});
        if (i < sent) {
            last = start_chunk(builder, MS_COLL_REDUCE_SCATTER);
        }
    }
    ms_cost_compute_after(builder, last);
}

/* Add the backward pass of a half's opening product, `in` to `out` columns. The gather of its input
 * runs beside the input gradient, and the reduction of the input gradient beside the weight
 * gradient. Source: Megatron-LM, LinearWithGradAccumulationAndAsyncCommunication (order of
 * operations). */
static void column_backward(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                            double in, double out) {
    ms_comm gather = {.axis = MS_AXIS_TP, .kind = MS_COLL_ALL_GATHER, .is_async = true};
    gather.bytes = builder->layout->has_sequence_parallel ? gathered_B(builder) : 0;
    ms_comm reduce = {.axis = MS_AXIS_TP, .kind = reduction(builder), .is_async = true};
    reduce.bytes = plane_B(builder);
    int gathered = 0, reduced = 0;
    if (parts & MS_PART_WEIGHT) {
        gathered = ms_cost_communicate(builder, &gather);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_compute(builder);
        ms_cost_linear(builder, MS_PART_INPUT, names, in, out);
        reduced = ms_cost_communicate(builder, &reduce);
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_compute_after(builder, gathered);
        ms_cost_linear(builder, MS_PART_WEIGHT, names, in, out);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_compute_after(builder, reduced);
    }
}

/* Add the linear layer that opens a half, with its columns split over tp and, in a half that
 * overlaps them, with its collectives. */
static void add_column(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                       double in, double out) {
    builder->product.side = MS_SIDE_COLUMN;
    if (!builder->is_tp_split) {
        ms_cost_linear(builder, parts, names, in, out);
    } else if (parts & MS_PART_FORWARD) {
        ms_cost_compute(builder);
        ms_cost_input_cast(builder, (ms_linear_size){builder->shard.tokens, in, out});
        gather_and_multiply(builder, names->forward, in, out);
    } else {
        column_backward(builder, parts, names, in, out);
    }
    builder->product.side = MS_SIDE_NONE;
}

/* Add the linear layer that opens a half. Products that could be several stay one where their
 * collectives overlap. A kernel concatenates the result's gradient for models that need it, but
 * behind unfused attention, which has counted that copy (attention_core.c). */
void ms_cost_opening(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                     ms_side_products apart, double out) {
    ms_projections projections = builder->model->projections;
    bool is_unfused = builder->model->attention == MS_ATTENTION_UNFUSED;
    bool is_joined = is_unfused && builder->product.kind == MS_PRODUCT_PROJECTIONS;
    if (projections == MS_PROJECTIONS_CONCATENATED && (parts & MS_PART_INPUT) && apart.more > 0 &&
        !is_joined) {
        ms_cost_compute(builder);
        ms_cost_memory(builder, "projections_concat",
                       2 * builder->shard.tokens * out * builder->shard.element_B);
    }
    if (projections == MS_PROJECTIONS_SEPARATE && !builder->is_tp_split) {
        builder->product.apart = apart;
    }
    add_column(builder, parts, names, builder->shard.hidden, out);
    builder->product.apart = (ms_side_products){.more = 0};
}

/* Add the linear layer that closes a half. Where collectives overlap: forward, product and
 * reduction chunk by chunk; backward, the output's gradient is gathered and multiplied chunk by
 * chunk. */
void ms_cost_row(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names, double in,
                 double out) {
    const ms_linear_size size = {builder->shard.tokens, in, out};
    builder->product.side = MS_SIDE_ROW;
    if (!builder->is_tp_split) {
        ms_cost_linear(builder, parts, names, in, out);
    } else if (parts & MS_PART_FORWARD) {
        ms_cost_compute(builder);
        ms_cost_input_cast(builder, size);
        multiply_and_reduce(builder, names->forward, in, out);
    } else {
        if (parts & MS_PART_INPUT) { /* backward, the product has columns and rows exchanged */
            ms_cost_compute(builder);
            ms_cost_gradient_cast(builder, size);
            gather_and_multiply(builder, names->input, out, in);
        }
        ms_cost_linear(builder, parts & MS_PART_WEIGHT, names, in, out);
    }
    builder->product.side = MS_SIDE_NONE;
}
