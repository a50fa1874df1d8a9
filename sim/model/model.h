/**
 * @file
 * Models, and their costs: from a model, parallel degrees, microbatch size, precision and
 * recomputation follows, for each virtual stage, what a pass computes, communicates and keeps in
 * memory.
 *
 * Pure functions, which know the rates of the GPU type and not the platform's links. Their result,
 * ms_stage_costs (stage_costs.h), is all that later layers see of a model.
 *
 * Nouns of the room `model`, and what the same words mean elsewhere:
 * - layer: a transformer layer. It has two halves, attention and MLP (or experts), each made of
 *   operators (norm, linear layer, activation, attention core). In collective: half of a route.
 * - stage: a virtual pipeline stage; content: the layers, embedding and head that it holds.
 * - pass: F, I, W or B of one microbatch on one stage; plan of a pass: its segments.
 * - segment: computation, or one collective, inside a pass.
 * - part of a pass: forward, input gradient or weight gradient (bits).
 * - FSDP unit: parameters that are gathered together, and whose gradients are reduced together:
 *   a layer, the embedding or the head. In base: the unit of a quantity.
 * - bucket: gradients that one collective reduces.
 * - chunk: a share of a product that runs beside a collective of tensor parallelism. In schedule:
 *   one of the virtual stages of a rank.
 * - slice: a share of a sequence that has passes of its own (schedule.splits).
 * - product: a matrix product with weights; format: the number type that it multiplies in.
 * - working type: the type of parameters and activations (ms_precision.parameter_B).
 * - outline: costs in which layers that are alike are listed once (ms_repeat).
 */
#ifndef MESHSIM_MODEL_H
#define MESHSIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/platform/platform.h"
#include "model/stage_costs.h"

/** Computations of a mixture-of-experts layer that run beside its all-to-alls. */
typedef enum ms_moe_overlap {
    MS_MOE_OVERLAP_NONE,
    MS_MOE_OVERLAP_SHARED, /**< the shared experts: up beside dispatch, down beside combine */
    MS_MOE_OVERLAP_ALL,    /**< the shared experts, and the routed experts' weight gradients beside
                              the last all-to-all */
} ms_moe_overlap;

/** Distribution of the experts' popularity: how unevenly tokens choose experts. */
typedef enum ms_imbalance_kind {
    MS_IMBALANCE_NONE,
    MS_IMBALANCE_LOGNORMAL, /**< an expert's popularity is exp(z), z normal, with a standard
                               deviation of `spread` times the mean */
    MS_IMBALANCE_ZIPF, /**< an expert's popularity is rank^-spread, the ranks in random order */
} ms_imbalance_kind;

/** The kernels that choose the experts of a token. */
typedef enum ms_moe_router {
    MS_MOE_ROUTER_FUSED, /**< one kernel in the forward pass and one in the backward pass */
    MS_MOE_ROUTER_EAGER, /**< PyTorch's operations, each a kernel, in the order of Megatron Core's
                            router */
} ms_moe_router;

/** Features of some families' mixtures of experts. */
typedef struct ms_moe_parts {
    ms_ints dense_layers; /**< numbers of layers that keep the dense MLP besides the
                             first_dense_layers, 0-based in the model */
    bool has_shared_gate; /**< a gate (sigmoid of a product with one column) scales the shared
                             experts' result of each token. Source: Qwen2-MoE
                             (shared_expert_gate) */
} ms_moe_parts;

/** Mixture of experts in place of the MLP of some layers. experts 0: none, and all other members
 * are unused. */
typedef struct ms_moe {
    ms_moe_router router;
    int experts;            /**< routed experts [count] */
    int top_k;              /**< experts each token goes to */
    int ffn;                /**< inner size of an expert [elements] */
    int shared_experts;     /**< experts that every token passes */
    int shared_ffn;         /**< inner size of a shared expert [elements] */
    int first_dense_layers; /**< layers at the front that keep the dense MLP */
    ms_moe_parts parts;
    int every; /**< of each `every` layers behind the first_dense_layers, the last has experts */
    double capacity_factor; /**< an expert takes at most this times the mean number of tokens, and
                               drops the rest; 0: no bound */
    bool has_padding; /**< every expert computes as many tokens as its capacity, padded where fewer
                         arrive */
    int node_limit;   /**< most nodes that hold a token's experts; 0: no limit. With a limit a token
                         is sent to each of its nodes once, and forwarded inside the node */
    bool has_router_bias;      /**< a bias per expert in the router, adjusted without gradient */
    double dispatch_element_B; /**< bytes of an element sent to the experts; 0: as activations */
    double combine_element_B;  /**< bytes of an element sent back; 0: as activations */
    double kept_element_B;     /**< bytes of an element of the experts' inner tensors as they are
                                  kept for the backward pass; 0: as activations */
    ms_moe_overlap overlap;
    ms_imbalance_kind imbalance;
    double spread; /**< parameter of the imbalance; 0: every expert is chosen equally often */
    int seed;      /**< of the random numbers of the imbalance */
} ms_moe;

/** Multi-head latent attention. kv_rank 0: the model has plain or grouped heads, and all other
 * members are unused. Sizes in elements. Source: DeepSeek-AI, DeepSeek-V2, arXiv:2405.04434,
 * section 2.1. */
typedef struct ms_mla {
    int q_rank;  /**< latent of the queries; 0: queries are made from the hidden state itself */
    int kv_rank; /**< latent of keys and values */
    int qk_nope; /**< part of a head's query and key without position */
    int qk_rope; /**< part with rotary position; all heads share the key's */
    int v_dim;   /**< value of a head */
} ms_mla;

/** Implementations of the cross entropy (kernels and bytes: embedding_head.c). */
typedef enum ms_loss {
    MS_LOSS_VOCAB_PARALLEL,     /**< Megatron-LM's, in place */
    MS_LOSS_PLAIN,              /**< PyTorch's over fp32 logits */
    MS_LOSS_FUSED,              /**< one kernel each way, the gradient in place of the logits */
    MS_LOSS_COMPILED,           /**< Megatron-LM's, compiled between its reductions */
    MS_LOSS_TRANSFORMER_ENGINE, /**< Transformer Engine's, the gradient in place of the logits
                                   before the backward pass */
} ms_loss;

/** The framework whose memory-bound kernels run: norms, activations, rotary embedding, softmax,
 * residuals. */
typedef enum ms_kernels {
    MS_KERNELS_FUSED,    /**< Megatron-LM's */
    MS_KERNELS_EAGER,    /**< PyTorch's, one kernel for each operation */
    MS_KERNELS_COMPILED, /**< torch.compile's */
    MS_KERNELS_COUNT,
} ms_kernels;

/** Whether the first products of a half of a layer are one product or several, and how their
 * results lie: the products of queries, keys and values, and those of a gated MLP's gate and
 * value. */
typedef enum ms_projections {
    MS_PROJECTIONS_MERGED,       /**< one product; later backward kernels write into its result's
                                    gradient */
    MS_PROJECTIONS_CONCATENATED, /**< one product; a kernel concatenates its result's gradient */
    MS_PROJECTIONS_SEPARATE,     /**< a product each; the gradients of their input are summed */
    MS_PROJECTIONS_INTERLEAVED,  /**< one product; the queries, keys and values of a head group lie
                                    side by side, and kernels copy those that the attention kernel
                                    does not read in that order */
} ms_projections;

/** Kernels of a framework that read or write more often than Megatron-LM's do. */
typedef struct ms_kernel_traits {
    bool has_two_pass_norms;   /**< layer norms read a row for its mean and variance, and again for
                                  the result; backward, a kernel of its own makes the gain's
                                  gradient */
    bool has_separate_dropout; /**< bias, dropout and residual are a kernel each */
    bool has_cast_gradients;   /**< without fused accumulation: a kernel of its own casts a gradient
                                  to the gradient buffer's type before it is added */
    bool has_complex_rotary;   /**< the rotary embedding multiplies complex numbers in fp32, which
                                  torch.compile does not fuse */
} ms_kernel_traits;

/** Linear layers that may have a bias, bits. */
typedef enum ms_bias {
    MS_BIAS_QKV = 1,              /**< queries, keys and values */
    MS_BIAS_ATTENTION_OUTPUT = 2, /**< the output projection */
    MS_BIAS_MLP = 4,              /**< both products of a dense MLP */
    MS_BIAS_HEAD = 8,
    MS_BIAS_EXPERTS = 16, /**< both products of every routed expert */
} ms_bias;

/** Features of layers that some families of models have. */
typedef struct ms_layer_parts {
    unsigned biases; /**< MS_BIAS_ bits: biases in addition to those that ms_model.has_bias gives */
    bool has_qk_norms;     /**< queries and keys are normed head by head before the attention */
    bool has_own_qk_gains; /**< the norms of queries and keys have gains for every head, else one
                              head's gains for all heads */
    bool has_gain_norms;   /**< layer norms without bias */
    int window_skip_freq;  /**< N: every N-th layer has no window and attends to all earlier tokens;
                              0: no layer does */
    bool has_post_norms;   /**< results of attention and MLP are normed before they are added to the
                              hidden state */
    bool has_branch_norms; /**< parallel block: attention and MLP have a norm each, else a common
                              one */
} ms_layer_parts;

/** A transformer, GPT or Llama shape, dense or with experts. */
typedef struct ms_model {
    const char *name;
    int layers;    /**< [count] */
    int hidden;    /**< h [elements] */
    int heads;     /**< a, query heads */
    int kv_heads;  /**< key and value heads (a for plain attention) */
    int head_dim;  /**< [elements], default hidden / heads */
    int ffn;       /**< inner size of the MLP [elements] */
    bool is_gated; /**< the MLP has three matrices (SwiGLU) instead of two */
    bool has_bias; /**< biases in all linear layers but the head */
    ms_layer_parts parts;
    bool is_rms_norm;        /**< norms without bias */
    bool is_plain_norm;      /**< norms with neither gain nor bias */
    bool has_positions;      /**< learned position embeddings */
    bool has_alibi;          /**< linear biases on attention scores; without them, and without
                                learned positions, queries and keys are rotated */
    bool has_parallel_block; /**< attention and MLP side by side behind one norm */
    int vocab;               /**< tokens of the vocabulary; 0: no embedding, head or loss */
    int window;   /**< sliding window: a query attends to this many latest keys, its own among them;
                     0: to all. parts.window_skip_freq says which layers have the window */
    int sequence; /**< s, tokens per sequence */
    bool has_tied_embeddings;      /**< the head uses the word embedding's weights */
    ms_attention_kernel attention; /**< fused kernels keep no s*s activations */
    bool has_fused_accumulation;   /**< products that give weight gradients add them to the gradient
                                      buffer themselves; else a kernel of its own does */
    ms_loss loss;
    int loss_metrics; /**< plain cross entropies of the logits that the trainer computes besides the
                         loss, without a gradient [count] */
    ms_kernels kernels;
    ms_projections projections;
    bool repeats_key_values; /**< before the attention, key and value heads are copied until there
                                are as many as query heads (repeat_kv) */
    ms_kernel_traits kernel_traits;
    double dropout; /**< 0: no masks are kept in memory */
    ms_moe moe;
    ms_mla mla;
    double parameters_override; /**< tests: parameters of the whole model, all of them in its layers
                                   and spread evenly over tp and stages [count]; 0: by shape */
    int mtp_layers; /**< multi-token prediction modules behind the last layer, each a layer of the
                       last layer's kind with the model's embedding and head */
} ms_model;

/** Activation recomputation in the backward pass. */
typedef enum ms_recompute {
    MS_RECOMPUTE_NONE,
    MS_RECOMPUTE_FULL,      /**< whole layers from their inputs */
    MS_RECOMPUTE_SELECTIVE, /**< the attention between q, k, v and its output */
} ms_recompute;

/** Parts of layers that the backward pass recomputes in layers that are not recomputed as a whole,
 * bits. */
typedef enum ms_recompute_part {
    MS_RECOMPUTE_NORMS = 1,       /**< results of norms */
    MS_RECOMPUTE_LATENT_UP = 2,   /**< latent attention's products out of the latents: q, k, v */
    MS_RECOMPUTE_ACTIVATIONS = 4, /**< results of the MLP's and the experts' activation */
    /** every second product of gated layers with plain heads: that of the keys, the attention's
     * output product and half of the MLP's first product. The MLP's result is kept instead of its
     * input.
     * Source: torchtitan, selective activation checkpointing at the level of operations, which
     * repeats norms and activations besides. */
    MS_RECOMPUTE_PRODUCTS = 8,
} ms_recompute_part;

/** Which collectives of tensor parallelism run beside the products next to them. */
typedef enum ms_tp_overlap {
    MS_TP_OVERLAP_NONE,
    MS_TP_OVERLAP_BULK,   /**< backward: the gather of an input beside the input gradient, the
                             reduction of the input gradient beside the weight gradient */
    MS_TP_OVERLAP_CHUNKS, /**< bulk, and products cut in tp_chunks chunks, each beside the
                             collective of another chunk; needs sequence parallelism */
    MS_TP_OVERLAP_RING,   /**< bulk, and products cut in tp chunks that travel around a ring of the
                             tp ranks; needs sequence parallelism */
} ms_tp_overlap;

/** Implementation of sequence parallelism among tp ranks. */
typedef enum ms_tp_style {
    MS_TP_MEGATRON, /**< Megatron-LM's, [sequence, batch, hidden]: the ranks' shares lie one behind
                       the other. Layers keep their share of an input, and gather the input again
                       for the weight's gradient */
    MS_TP_DTENSOR,  /**< PyTorch's, [batch, sequence, hidden]: a copy puts a gathered tensor, and
                       one to be reduced, in order. Layers keep gathered inputs, and gather again
                       only where parts of them are recomputed */
} ms_tp_style;

/** How a context-parallel rank gets the keys and values of other ranks' tokens. */
typedef enum ms_cp_kind {
    MS_CP_RING,       /**< blocks travel around the ring, cp - 1 steps each way */
    MS_CP_ALL_GATHER, /**< gathered before the attention, and again in its backward pass */
    MS_CP_ALL_TO_ALL, /**< all-to-alls redistribute q, k and v from tokens to heads, and the
                         attention's output back to tokens */
} ms_cp_kind;

/** Which elements of an operand share a scale, in products in fp8. Source of the names: Transformer
 * Engine (DelayedScaling, Float8CurrentScaling, Float8BlockScaling), torchao (tensorwise,
 * rowwise). */
typedef enum ms_scaling {
    MS_SCALING_DELAYED,   /**< a tensor's, by its maxima in earlier steps */
    MS_SCALING_CURRENT,   /**< a tensor's, by its maximum, which is found before the cast */
    MS_SCALING_ROWWISE,   /**< those of a row along the inner dimension */
    MS_SCALING_BLOCKWISE, /**< 128 elements of an activation's row, 128 x 128 of a weight */
} ms_scaling;

/** Kinds of products with weights, bits. */
typedef enum ms_product_kind {
    MS_PRODUCT_PROJECTIONS = 1, /**< before and behind the attention: q, k, v and output */
    MS_PRODUCT_MLP = 2,         /**< of dense MLPs and shared experts */
    MS_PRODUCT_EXPERTS = 4,     /**< of routed experts */
    MS_PRODUCT_HEAD = 8,
} ms_product_kind;

/** Ranks among which the maxima of tensors are shared before scales are made from them (delayed
 * scaling). */
typedef enum ms_amax_group {
    MS_AMAX_REPLICAS, /**< the tp ranks that share a layer, and the ranks that hold replicas of it
                       */
    MS_AMAX_TENSOR,   /**< the tp ranks that share a layer */
    MS_AMAX_NONE,
} ms_amax_group;

/** Pass in which an input that is kept in fewer bits gets its second form, the one that the product
 * for its weight's gradient takes (casts.c). Not for scales of whole tensors. */
typedef enum ms_second_form {
    MS_SECOND_FORM_FORWARD,  /**< forward: the cast makes both forms, and the second is kept */
    MS_SECOND_FORM_BACKWARD, /**< backward: made from the first form, which is kept */
} ms_second_form;

/** Number type that a tensor is held, sent or multiplied in: that of parameters (the working type),
 * or the format of products. */
typedef enum ms_product_type {
    MS_TYPE_OF_PARAMETERS,
    MS_TYPE_OF_PRODUCTS,
} ms_product_type;

/** Number type of the two products of a fused attention. Source of the names: Transformer Engine's
 * recipes (fp8_dpa, fp8_mha; NVTE_FP8_DPA_BWD=0), Megatron-LM (--fp8-dot-product-attention,
 * --fp8-multi-head-attention). */
typedef enum ms_attention_format {
    MS_ATTENTION_IN_PARAMETERS,   /**< the working type */
    MS_ATTENTION_FP8_FORWARD,     /**< fp8 in the forward pass alone */
    MS_ATTENTION_FP8_DOT_PRODUCT, /**< fp8 in both passes; inputs are cast, results cast back */
    MS_ATTENTION_FP8_MULTI_HEAD,  /**< fp8 in both passes, which the projections next to the
                                     attention hand on and take without casts */
} ms_attention_format;

/** Which products multiply in which number format, and how their operands are cast and kept. */
typedef struct ms_products {
    ms_product_format format;          /**< MS_PRODUCT_PLAIN: all other members are unused */
    ms_scaling scaling;                /**< of fp8 */
    unsigned kinds;                    /**< MS_PRODUCT_ bits of kinds; 0: all but the head */
    ms_product_type weight_gradients;  /**< type that products for weight gradients multiply in */
    ms_product_type kept;              /**< type that inputs are kept in for the backward pass */
    ms_second_form second_form;        /**< of inputs that are kept in the products' format */
    ms_product_type tensor_gathers;    /**< type that tp ranks gather tokens in */
    ms_product_type parameter_gathers; /**< type that replicas gather parameters in */
    int first_plain_layers;            /**< first layers, whose products stay in the working type */
    int last_plain_layers;             /**< last layers, likewise */
    ms_amax_group amax;                /**< delayed scaling: ranks that share maxima */
    ms_cast_kernels casts;             /**< generation of the kernels that cast */
    ms_attention_format attention; /**< of the attention; other than IN_PARAMETERS with fp8 only */
} ms_products;

/** Bytes per element of stored tensors, and number formats of products. */
typedef struct ms_precision {
    double parameter_B; /**< working parameters and activations, 2 or 4 */
    double gradient_B;  /**< accumulated gradients, 2 or 4 */
    double optimizer_B; /**< per parameter: master copy and moments, 12 for Adam with fp32 */
    ms_products products;
} ms_precision;

/** After which microbatches of a step the gradients of a virtual stage are reduced over the
 * replicas. */
typedef enum ms_reduce {
    MS_REDUCE_LAST,  /**< the last one; until then a rank holds whole gradients */
    MS_REDUCE_EVERY, /**< ZeRO 2, 3: each one, so that a rank keeps only a shard */
    MS_REDUCE_ROUND, /**< ZeRO 2, 3: the last one of each round, in a schedule that takes
                        microbatches in rounds; during a round a rank holds whole gradients */
} ms_reduce;

/** Which gradients are put together in a bucket, which one collective reduces. */
typedef enum ms_bucketing {
    MS_BUCKETS_LAYERS,   /**< of layers, the embedding and the head, until they fill a bucket */
    MS_BUCKETS_WEIGHTS,  /**< of weights, until they fill a bucket */
    MS_BUCKETS_CAPPED,   /**< of weights, as many as a bucket has room for */
    MS_BUCKETS_STAGES,   /**< of a virtual stage */
    MS_BUCKETS_MEGATRON, /**< Megatron Core's: of weights in the pipeline's first stage, of all
                            other stages as a whole */
} ms_bucketing;

/** How the parameters and gradients of an FSDP unit lie in the buffers that are gathered and
 * reduced. */
typedef enum ms_units {
    MS_UNITS_IN_PLACE,   /**< products read from and write to these buffers */
    MS_UNITS_FLAT,       /**< parameters are views of the gathered buffer; gradients are
                            concatenated, cast and divided before they are reduced (FSDP) */
    MS_UNITS_PARAMETERS, /**< parameters are copied out of the gathered buffer, gradients into the
                            buffer that is reduced (FSDP2) */
} ms_units;

/** Kernels that a framework runs around the reductions and the update of a step. */
typedef enum ms_update_kernels {
    MS_UPDATE_FUSED,      /**< none besides one update kernel, which also writes the working copy;
                             collectives average */
    MS_UPDATE_SEPARATE,   /**< also kernels that check and scale gradients before their reduction,
                             and one that makes the working copy from the master copy */
    MS_UPDATE_OPERATIONS, /**< a kernel for each operation of Adam's update, over fp32 tensors */
} ms_update_kernels;

/** A mesh of the routed experts' own over the same ranks (parallel folding): the tp x cp x dp ranks
 * of a pipeline rank are tp x ep x dp ranks to its experts. Source: Liu et al. 2025,
 * arXiv:2504.14960, section 3.3 (MoE parallel folding). */
typedef struct ms_expert_mesh {
    int tp; /**< ranks that share an expert; 0: experts have no mesh of their own, and are spread
               over the layout's tp and ep and replicated over its other axes */
    int dp; /**< ranks that hold replicas of the same experts */
} ms_expert_mesh;

/** Libraries whose matrix products hold workspaces. */
typedef enum ms_libraries {
    MS_LIBRARIES_NONE,
    MS_LIBRARIES_TORCH,              /**< cuBLAS, a workspace for each of PyTorch's two threads */
    MS_LIBRARIES_TRANSFORMER_ENGINE, /**< PyTorch's two cuBLAS workspaces, and Transformer Engine's
                                        own */
} ms_libraries;

/** Buffers that a framework keeps from the first pass on, bits. */
typedef enum ms_framework_buffer {
    MS_BUFFER_GROUPED_PRODUCTS = 1, /**< workspaces of the experts' products: one for each stream */
    MS_BUFFER_GATHER = 2,           /**< buffer in which the output layer gathers the sequence */
    MS_BUFFER_WEIGHT_GRADIENTS = 4, /**< placeholders for weight gradients that products add to the
                                       gradient buffer themselves, one for each shape */
    MS_BUFFER_SCORES = 8,           /**< a score matrix of unfused attention */
    MS_BUFFER_LAST_GRADIENTS = 16,  /**< a microbatch's gradients in the parameters' type, until the
                                       next microbatch has made its own */
    MS_BUFFER_MAIN_GRADIENTS = 32,  /**< copies of gradients in fp32 for the update, held from the
                                       update to the next step's first pass */
    MS_BUFFER_PREFETCHED = 64, /**< ZeRO 3: whole parameters that are gathered far ahead; for the
                                  next step as soon as the update is over */
} ms_framework_buffer;

/** Activations of a layer that are kept on the host until the backward pass, bits. */
typedef enum ms_offload_part {
    MS_OFFLOAD_NORMS = 1,     /**< inputs and results of norms */
    MS_OFFLOAD_ATTENTION = 2, /**< queries, keys, values, scores and the output of attention */
    MS_OFFLOAD_EXPERTS = 4,   /**< copies of tokens and inner tensors of routed experts */
} ms_offload_part;

/** Memory that a framework and its libraries hold for themselves. */
typedef struct ms_framework_memory {
    ms_libraries libraries;
    double cublas_B; /**< workspace of one handle of cuBLAS [B]; 0: what PyTorch takes on the GPU */
    unsigned buffers; /**< MS_BUFFER_ bits */
} ms_framework_memory;

/** How a model is laid out over the GPUs: parallel degrees, and the choices that go with them. */
typedef struct ms_model_layout {
    int tp;                     /**< tensor-parallel degree */
    int pp;                     /**< pipeline ranks P */
    int chunks;                 /**< virtual stages per pipeline rank V */
    int dp;                     /**< data-parallel degree */
    int ep;                     /**< expert-parallel degree; 0 means 1 */
    ms_expert_mesh expert_mesh; /**< the experts' own mesh over the ranks, if any */
    int ep_node_ranks;          /**< members of an ep group that share a node; 0: all of them */
    int micro_batch;            /**< b, sequences per microbatch and replica */
    int cp;                     /**< context-parallel degree; 0 means 1 */
    ms_cp_kind cp_kind;
    bool has_cp_overlap; /**< ring: a block travels while the rank attends to the previous block */
    int other; /**< size of the user's own axis (MS_AXIS_OTHER), which holds further replicas; 0
                  means 1 */
    ms_recompute recompute;
    unsigned recompute_parts; /**< MS_RECOMPUTE_ bits, in layers not recomputed as a whole */
    int recompute_layers; /**< full: first layers of each virtual stage that are recomputed; 0: all
                           */
    bool has_sequence_parallel; /**< norms, dropout and residuals on 1/tp of the tokens; all-reduces
                                   become reduce-scatters and all-gathers */
    ms_tp_overlap tp_overlap;
    ms_tp_style tp_style;
    int tp_chunks;    /**< chunks of MS_TP_OVERLAP_CHUNKS */
    int zero;         /**< ZeRO stage, what is sharded over the replicas: 1 optimizer state, 2 also
                         gradients, 3 also parameters */
    int state_copies; /**< equal sets of shards among the replicas; 0 means 1 */
    unsigned shard_axes;        /**< MS_AXIS_BIT of the axes that state is sharded over (hybrid
                                   sharding); replicas along other axes hold copies of the shards.
                                   0: all axes of replicas */
    bool keeps_parameters;      /**< ZeRO 3: parameters are gathered once per step, not before every
                                   pass */
    bool has_placed_unshards;   /**< ZeRO 3: whole stages are gathered and resharded beside the
                                  passes, where the schedule says */
    ms_reduce reduce;           /**< when gradients are reduced */
    bool all_reduces_gradients; /**< ZeRO 1: gradients are all-reduced instead of reduce-scattered,
                                   then each replica updates its shard and gathers; no effect with
                                   two directions */
    bool has_reduce_overlap;    /**< gradients are reduced beside the backward pass, else at the
                                   step's end */
    bool has_gather_overlap; /**< parameters are gathered one layer ahead, beside the passes: with
                                ZeRO 1 and 2 in a step's first forward pass instead of the previous
                                step's end, with ZeRO 3 in every pass that needs them */
    ms_units units;          /**< zero 2 and 3: copies of gathered and reduced units */
    ms_bucketing bucketing;
    double bucket_B; /**< size from which on a gradient bucket is full; with MS_BUCKETS_CAPPED the
                        largest size [B]. 0: each unit or weight is a bucket; with
                        MS_BUCKETS_MEGATRON: Megatron Core's own size */
    ms_update_kernels update;
    bool is_offloaded;         /**< the optimizer's state is held, and updated, on the host */
    double allocator_overhead; /**< share of activations and working memory that the allocator
                                  loses on top */
    ms_framework_memory framework_memory;
    bool has_scatter_gather; /**< each tp rank sends 1/tp of a boundary tensor, an all-gather
                                restores it at the receiver */
    double slowest_gpu; /**< time of the job's slowest GPU over that of a typical GPU of the type,
                           for the same arithmetic; 0 means 1 */
    double blocking_launch_s; /**< time of a kernel's launch where the host waits for every kernel
                                 before it launches the next; 0: hosts launch ahead [s] */
    bool waits_for_counts;    /**< a host that launches ahead waits, in every layer with experts,
                                 for the number of copies that each expert gets */
    int communication_sms;    /**< SMs that communication holds while an overlapped pair of passes
                                 runs; kernels that arithmetic bounds have the others */
    const int *stage_layers;  /**< [P*V] transformer layers per virtual stage */
    unsigned offloaded; /**< MS_OFFLOAD_ bits: activations that are kept on the host from F to B */
    int directions; /**< directions of the pipeline (DualPipe: 2); with two, two pipeline ranks hold
                       each stage's parameters; 0 means 1 */
    int slices; /**< equal slices that each sequence is cut into, with passes of their own: all that
                   is done for every microbatch is done for every slice; 0 means 1 */
    const int *stage_rank; /**< [directions*P*V] pipeline rank of each virtual stage, direction
                              after direction; NULL: stage mod P */
} ms_model_layout;

/** Why the attention cannot multiply in fp8 as `products->attention` chooses.  Returns words for a
 * message, to follow the name of the choice and a colon; NULL: it can, or fp8 is not chosen. */
const char *ms_attention_format_against(const ms_model *model, const ms_model_layout *layout,
                                        const ms_products *products, const ms_gpu_type *gpu);

/** The keys of `model:`, for listings. */
extern const ms_field MS_MODEL_FIELDS[];

/** Read the workload's `model:` mapping.  `type: gpt|llama` sets the defaults of the shape flags.
 * mapping: borrowed. *model_out: strings in `arena`. Returns MS_OK; MS_E_INPUT, every fault
 * reported (heads not dividing hidden, kv_heads not dividing heads, ...); MS_E_NOMEM.
 */
ms_status ms_model_read(const ms_node *mapping, const char *key_path, ms_arena *arena,
                        ms_diag *diag, ms_model *model_out);

/** Write a model as a `model:` mapping, from which ms_model_read makes an equal model. Sizes that
 * follow from others are in it as if they were given.  *mapping_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_model_write(const ms_model *model, ms_arena *arena, ms_node **mapping_out);

/** Check a model that does not come from a file, or was changed since: the ranges of its keys, and
 * sizes that depend on each other.  root: document for the places of keys, may be NULL.  Returns
 * MS_OK; MS_E_INPUT, every fault reported. */
ms_status ms_model_check(const ms_model *model, const char *key_path, const ms_node *root,
                         ms_diag *diag);

/** Total parameters of a model [count]: layers, embeddings of the unpadded vocabulary, final norm
 * and an untied head, MTP modules without their copies of embedding and head. Source: Narayanan et
 * al., SC'21, equation 2, for a GPT; ours has the final norm's 2 hidden on top.
 */
double ms_model_parameters(const ms_model *model);

/** Parameters of the whole model that one token meets [count]: all but the routed experts that it
 * does not go to. */
double ms_model_active_parameters(const ms_model *model);

/** Whether the MLP of a layer is a mixture of experts.  layer: 0-based; those behind the last one
 * (MTP modules) are as the last one. */
bool ms_layer_is_moe(const ms_model *model, int layer);

/** Layers with experts [count]. */
int ms_model_expert_layers(const ms_model *model);

/** Parameters of a model, part by part [count]. */
typedef struct ms_parameter_parts {
    double total, active;  /**< as ms_model_parameters and ms_model_active_parameters have them */
    double modules;        /**< the part of `total` that is in MTP modules, their layers included */
    double active_modules; /**< the part of `modules` that one token meets */
    double embedding;      /**< words, and learned positions */
    double head;           /**< of the head's matrix, whether or not it is the embedding's */
} ms_parameter_parts;

/** Count the parameters of a model part by part. O(layers). */
ms_parameter_parts ms_model_parameter_parts(const ms_model *model);

/** Check that a layout can train a model on a GPU type, as ms_model_costs does before it starts.
 *  layout: stage_layers NULL where layers are not shared out among stages yet; checks that depend
 * on them are then left out.  Returns MS_OK; MS_E_INPUT when degrees clash with the shape, every
 * fault reported with the numbers and the nearest legal values.  O(stages). */
ms_status ms_layout_check(const ms_model *model, const ms_model_layout *layout,
                          const ms_gpu_type *gpu, ms_diag *diag);

/** Lay a model out.
 *  Tensor parallelism is Megatron-LM's: the vocabulary is padded to a multiple of 128 tp, key/value
 * heads are copied where tp is a multiple of their number, norms work on all tokens or, with
 * sequence parallelism, on 1/tp of them. A transformer layer gives two compute segments and two
 * all-reduces forward and backward (one compute segment without tp; all-gathers and reduce-scatters
 * with sequence parallelism; more segments where something runs beside its products); full
 * recomputation repeats the forward ones, collectives included, before its backward pass. A pass
 * split in I and W keeps the gathered output gradient for W and gathers the input again. Context
 * parallelism divides tokens, not weights; under a causal mask each rank has an early and a late
 * part of the sequence, so all have equal work. Sharded state is gathered and reduced layer by
 * layer, embedding and head apart. With tied embeddings the last stage holds a copy of the word
 * embedding, unless it is on one rank with the first stage (of either direction) and neither
 * gathers its parameters (ZeRO 3). The loss's three reductions over tp are added as one all-reduce
 * of 12 bytes per token. The embedding's gradient is dense.
 *
 * Experts: every ep rank sends the copies of its tokens to the experts' ranks and gets the results
 * back, in both passes; times and memory are the busiest rank's, which its group waits for, FLOP
 * and bytes the mean. Every tp rank computes latent attention's products into the latents. MTP
 * modules are on the last stage, which then needs the embedding as with tied embeddings; their
 * segments have no layer.
 *
 * Two directions: a rank's optimizer, gradients and gathers are those of the stages of both
 * directions on it. Each direction reduces over its own replicas and shards its state over them;
 * the two ranks with the same stages then sum the shards that each holds.
 *
 * Slices: the queries of a slice attend to the keys of earlier slices and, causally, of their own.
 * Forward passes run from the first slice to the last, backward passes from the last to the first.
 * Each backward pass adds its gradients, of all keys and values that the slice has attended to, to
 * the sums that later slices have left, which wait in working_B. All other costs of a pass are
 * those of the slice's tokens, but for work on whole weights: adding to their gradients, gathers
 * and reductions that are not once per step. Recomputed layers keep the keys and values that later
 * slices attend to.
 *
 * costs_out: in `arena`.  O(slices * stages * layers per stage), about 0.2 ms for 126 layers.
 *  Returns MS_OK; MS_E_INPUT when degrees clash with the shape (heads or ffn not divisible by tp,
 * the sequence by cp, tp or slices, layers not summing up, more stages than layers, a choice that
 * needs another stage of ZeRO, directions whose ranks do not pair up), reported with the
 * numbers and the nearest legal values; MS_E_NOMEM. */
ms_status ms_model_costs(const ms_model *model, const ms_model_layout *layout,
                         const ms_precision *precision, const ms_gpu_type *gpu, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out);

/** An outline of the costs of a model, for estimates: of a run of layers that are alike, the first
 * few and the last are listed (`repeat` of a pass says how many are left out), stages that are
 * alike share the segments of their passes, and kernels are not listed. Times, bytes and memory are
 * those of ms_model_costs.  passes: 1 << ms_pass of those wanted; others stay empty.  O(stages +
 * layers). Returns as ms_model_costs. */
ms_status ms_model_outline(const ms_model *model, const ms_model_layout *layout,
                           const ms_precision *precision, const ms_gpu_type *gpu, unsigned passes,
                           ms_arena *arena, ms_diag *diag, ms_stage_costs *costs_out);

#endif
