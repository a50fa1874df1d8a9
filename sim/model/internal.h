/**
 * @file
 * Shared inside the model layer: sizes of one tensor-parallel rank, and the builder that collects
 * segments and kernels.
 */
#ifndef MESHSIM_MODEL_INTERNAL_H
#define MESHSIM_MODEL_INTERNAL_H

#include <stdbool.h>

#include "meshsim/buffer.h"
#include "meshsim/model.h"

/** Sizes as one tensor-parallel rank sees them. Doubles: their products pass 2^31. */
typedef struct ms_shard {
    double tp;        /**< ranks that share a layer [count] */
    double tokens;    /**< n = micro_batch * sequence */
    double batch;     /**< b, sequences per microbatch */
    double sequence;  /**< s */
    double hidden;    /**< h */
    double heads;     /**< query heads on this rank */
    double kv_heads;  /**< key/value heads on this rank, >= 1 (replicated when tp > kv_heads) */
    double head_dim;  /**< d */
    double q_width;   /**< heads * d */
    double kv_width;  /**< kv_heads * d, of keys alone */
    double qkv_width; /**< q_width + 2 kv_width */
    double ffn;       /**< inner MLP width on this rank */
    double up_width;  /**< columns of the first MLP matrix: ffn, or 2 ffn when gated */
    double vocab;     /**< padded vocabulary on this rank; 0: no embedding and head */
    double element_B; /**< activation element [B] */
    double accumulation_B; /**< gradient element that weight gradients are added to [B] */
} ms_shard;

/** Sizes of one rank.  tp: degree that was checked against the model.  Pure. */
ms_shard ms_shard_of(const ms_model *model, const ms_model_layout *layout,
                     const ms_precision *precision);

/** Vocabulary rounded up as Megatron-LM does, to a multiple of 128 * tp.
 *  Source: Megatron-LM, option --make-vocab-size-divisible-by, default 128. */
double ms_padded_vocab(int vocab, int tp);

/** Parameters of one transformer layer on one rank. */
double ms_layer_parameters(const ms_model *model, const ms_shard *shard);
/** Parameters of the embeddings on one rank: words, and positions if learned. */
double ms_embedding_parameters(const ms_model *model, const ms_shard *shard);
/** Parameters of one norm. */
double ms_norm_parameters(const ms_model *model);

/** Fill forward_flop, attention_flop and recompute_flop. */
void ms_count_flop(const ms_model *model, ms_recompute recompute, ms_stage_costs *costs);

/** Which halves of a backward pass a group of kernels belongs to; forward stands alone. */
enum { MS_PART_FORWARD = 1, MS_PART_INPUT = 2, MS_PART_WEIGHT = 4 };

/** Kinds of layers that a model can mix (see kind_of in layer.c). */
enum { MS_LAYER_KINDS = 8 };

/** Costs under construction. A failed allocation is kept by the vectors. */
typedef struct ms_cost_builder {
    const ms_model *model;
    const ms_model_layout *layout;
    const ms_precision *precision;
    const ms_gpu_type *gpu;
    ms_arena *arena;
    ms_shard shard;
    ms_vector segments; /**< ms_segment */
    ms_vector kernels;  /**< ms_kernel */
    ms_vector uses;     /**< ms_kernel_use */
    size_t pass_first;  /**< first segment of the pass being built */
    bool is_recompute;  /**< what is added repeats forward work */
    int layer;          /**< layer that is being added, -1: none */
    ms_pass_plan layer_plan[MS_LAYER_KINDS][MS_PASS_COUNT]; /**< pieces of the first layer built of
                                               a kind, repeated for the others; count 0: not built
                                               yet */
} ms_cost_builder;

/** Fill a caller's builder, empty. */
void ms_cost_begin(ms_cost_builder *builder);
/** Free the vectors. */
void ms_cost_end(ms_cost_builder *builder);
/** Whether an allocation failed. */
bool ms_cost_failed(const ms_cost_builder *builder);

/** Start computing: opens a compute segment, or goes on with the last one when it is of the same
 * pass, layer and kind. */
void ms_cost_compute(ms_cost_builder *builder);
/** Add a matrix product C[m,n] = A[m,k] B[k,n], `batch` times, to the open compute segment. */
void ms_cost_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape);
/** Add the product that gives a weight's gradient, and its addition to the accumulated gradient:
 * inside the kernel, or as a kernel of its own. */
void ms_cost_weight_gradient(ms_cost_builder *builder, const char *name, ms_gemm_shape shape);
/** Add a kernel that adds a microbatch's gradient to the accumulated one. */
void ms_cost_accumulate(ms_cost_builder *builder, double parameters);
/** Add a kernel that is bound by memory.  bytes: read and written [B]. */
void ms_cost_memory(ms_cost_builder *builder, const char *name, double bytes);
/** Work of one kernel. */
typedef struct ms_fused_work {
    double flop, bytes;
    double exposed_B;  /**< part of bytes that arithmetic never hides [B] */
    double efficiency; /**< share of the peak the arithmetic reaches */
    const char *shape;
} ms_fused_work;
/** Add a fused kernel. */
void ms_cost_fused(ms_cost_builder *builder, const char *name, ms_fused_work work);
/** Add a collective over tp; nothing when tp is 1.  bytes: full buffer [B]. */
void ms_cost_collective(ms_cost_builder *builder, ms_coll_kind kind, double bytes);
/** Repeat segments `plan` for another layer. */
void ms_cost_repeat(ms_cost_builder *builder, ms_pass_plan plan, int layer);

/** Time of work on a GPU: the longer of arithmetic and memory traffic, plus the launch [s].
 *  efficiency: share of the peak, > 0.  *is_memory_bound_out: may be NULL. */
double ms_roofline_s(const ms_gpu_type *gpu, double flop, double bytes, double efficiency,
                     bool *is_memory_bound_out);

/** Names of the products of a linear layer. */
typedef struct ms_linear_names {
    const char *forward, *input, *weight, *bias;
} ms_linear_names;

/** Pieces that the halves of a layer share; `parts`: MS_PART_ bits. */

/** Add a norm over whole tokens. */
void ms_cost_norm(ms_cost_builder *builder, unsigned parts);
/** Add a residual with its bias and dropout. */
void ms_cost_residual(ms_cost_builder *builder, unsigned parts);
/** Add a linear layer of the rank's tokens, `in` to `out` columns on this rank. */
void ms_cost_linear(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                    double in, double out);

/** Open a half: the collective over tp that its first product waits for, if any. */
void ms_cost_half_begin(ms_cost_builder *builder, unsigned parts);
/** Close a half: the collective over tp that follows its last product. */
void ms_cost_half_end(ms_cost_builder *builder, unsigned parts);
/** Add the attention half of a layer, without the collective that ends it. */
void ms_cost_attention_half(ms_cost_builder *builder, unsigned parts);
/** Add the dense MLP half of a layer, without the collective that ends it. */
void ms_cost_mlp_half(ms_cost_builder *builder, unsigned parts);

/** Add one transformer layer's part of a pass. */
void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass);
/** Add the input embedding's part of a pass (first stage). */
void ms_cost_embedding(ms_cost_builder *builder, ms_pass pass);
/** Add the final norm, the head and the loss (last stage). */
void ms_cost_head(ms_cost_builder *builder, ms_pass pass);

/** Bytes that one microbatch keeps in one transformer layer without recomputation [B]. */
double ms_layer_activation_B(const ms_model *model, const ms_shard *shard);

/** What a virtual stage holds. */
typedef struct ms_stage_content {
    int layers;
    bool is_first, is_last;
} ms_stage_content;

/** Parameters on one rank of a stage [count].  A tied head on another pipeline rank than the
 * embedding keeps its own copy. */
double ms_stage_parameters(const ms_cost_builder *builder, ms_stage_content content);
/** Fill a stage's memory. */
ms_stage_memory ms_stage_memory_of(const ms_cost_builder *builder, ms_stage_content content);

/** Refuse degrees that clash with the shape, with numbers and the nearest legal values. */
ms_status ms_layout_check(const ms_model *model, const ms_model_layout *layout, ms_diag *diag);

#endif
