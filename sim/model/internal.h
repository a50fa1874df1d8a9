/* Shared inside the room model: sizes of one rank's share of a layer, and the builder that collects
 * the segments and kernels of passes. Functions ms_cost_... append to the builder; `parts` are
 * MS_PART_ bits. Sizes marked [B] are bytes, [elements] numbers of elements, [count] other
 * numbers. */
#ifndef MESHSIM_MODEL_INTERNAL_H
#define MESHSIM_MODEL_INTERNAL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "model/kernel_times.h"
#include "model/model.h"

/** The slice of a sequence that a pass works on. */
typedef struct ms_sequence_slice {
    double count; /**< K, passes that a sequence is cut into */
    double index; /**< number of the slice in the sequence, 0-based */
    double keys;  /**< tokens of the sequence up to the slice's last, to which queries attend */
} ms_sequence_slice;

/** Sizes of a layer's share on one rank. Doubles, because their products pass 2^31. */
typedef struct ms_shard {
    double tp; /**< ranks that share a layer [count] */
    double cp; /**< ranks that share a sequence [count] */
    ms_sequence_slice slice;
    double tokens;    /**< n = micro_batch * sequence / (cp K) */
    double batch;     /**< b, sequences per microbatch */
    double sequence;  /**< s, tokens of the whole sequence */
    double hidden;    /**< h */
    double plane;     /**< elements of a token by hidden tensor outside the split products: n h, or
                         n h / tp with sequence parallelism */
    double heads;     /**< query heads on this rank */
    double kv_heads;  /**< key/value heads on this rank, >= 1 (replicated when tp > kv_heads) */
    double head_dim;  /**< d */
    double q_width;   /**< heads * d */
    double kv_width;  /**< kv_heads * d: the width of the keys, and of the values */
    double qkv_width; /**< q_width + 2 kv_width */
    double ffn;       /**< inner MLP width on this rank */
    double up_width;  /**< columns of the first MLP matrix: ffn, or 2 ffn when gated */
    double vocab;     /**< padded vocabulary on this rank; 0: no embedding and head */
    double element_B; /**< activation element [B] */
    double accumulation_B; /**< gradient element that weight gradients are added to [B] */
} ms_shard;

/** The elements that a matrix product multiplies. */
typedef struct ms_operands {
    double element_B; /**< [B] */
    double scale_B;   /**< an element's share of the scales [B] */
    double speed;     /**< rate of a large product over the rate of the same product in 16 bits */
} ms_operands;

/** Sizes of one rank, in the first slice of a sequence.  tp: degree that was checked against the
 * model.  Pure. */
ms_shard ms_shard_of(const ms_model *model, const ms_model_layout *layout,
                     const ms_precision *precision);
/** Set the sizes to those of slice `slice` (0-based) of a sequence. It has as many tokens as every
 * slice, and its queries attend to `slice` times as many earlier ones. */
void ms_shard_set_slice(ms_shard *shard, int slice);
/** Whether activations are in fp32. A copy to fp32 then costs nothing: PyTorch's Tensor.to returns
 * the tensor itself. */
bool ms_has_fp32_activations(const ms_shard *shard);
/** Keys in the attention window of layer `layer` (0-based) [tokens]; 0: the layer has no window. */
int ms_layer_window(const ms_model *model, int layer);

/** Pairs of a query and a key inside a window of w tokens, over all pairs that the causal mask
 * leaves of a sequence of s tokens: w (2 s - w) / s^2. window 0: none, the share is 1. */
double ms_window_share(int window, double sequence);
/** Parameters of one transformer layer on one rank, without its routed experts. */
double ms_layer_dense_parameters(const ms_model *model, const ms_shard *shard, int layer);
/** Parameters of a layer's routed experts on one rank; 0 for a dense layer. */
double ms_layer_expert_parameters(const ms_model *model, const ms_model_layout *layout, int layer);
/** Parameters of a multi-token prediction module besides its layer: the product that merges the
 * hidden state with the next token's embedding, both their norms and the one before the head.
 * Source: DeepSeek-AI 2024, DeepSeek-V3, arXiv:2412.19437, section 2.2. */
double ms_mtp_parameters(const ms_model *model);
/** Parameters of the embeddings on one rank: words, and positions if learned. */
double ms_embedding_parameters(const ms_model *model, const ms_shard *shard);
/** Whether a linear layer has a bias. */
bool ms_has_bias(const ms_model *model, ms_bias bias);
/** Parameters of one norm. */
double ms_norm_parameters(const ms_model *model);
/** Set forward_flop, attention_flop and recompute_flop of the costs. */
void ms_count_flop(const ms_model *model, const ms_model_layout *layout, ms_stage_costs *costs);
/** Whether a layer is recomputed as a whole.  position: 0-based in its virtual stage. */
bool ms_is_recomputed(const ms_model_layout *layout, int position);

/** Parts of a layer's work: the forward pass, the input gradient and the weight gradient. A call
 * adds the forward part alone, or one or both of the others. */
enum { MS_PART_FORWARD = 1, MS_PART_INPUT = 2, MS_PART_WEIGHT = 4 };

/** Numbers of parameters on one rank, or shares of them [count]. */
typedef struct ms_parameter_count {
    double dense;            /**< the same on all replicas */
    double expert;           /**< of routed experts that differ over ep or have their own mesh */
    double dense_quantized;  /**< of `dense`, weights of products in fewer bits */
    double expert_quantized; /**< of `expert` */
} ms_parameter_count;

/** Add counts of parameters to a sum of such counts. */
static inline void ms_parameters_add(ms_parameter_count *sum, const ms_parameter_count *more) {
    sum->dense += more->dense;
    sum->expert += more->expert;
    sum->dense_quantized += more->dense_quantized;
    sum->expert_quantized += more->expert_quantized;
}

/** An FSDP unit, whose parameters are gathered and whose gradients are reduced together: a
 * transformer layer, the embedding, the head or an MTP module. */
typedef struct ms_fsdp_unit {
    enum { MS_FSDP_UNIT_EMBEDDING, MS_FSDP_UNIT_LAYER, MS_FSDP_UNIT_HEAD, MS_FSDP_UNIT_MTP } kind;
    int layer; /**< MTP modules count on from the last layer; -1: none */
    ms_parameter_count parameters;
} ms_fsdp_unit;

/** The gathers that a unit's computation waits for, of its dense and of its expert parameters: the
 * numbers that ms_cost_communicate returned; 0: it waits for none. */
typedef struct ms_fsdp_unit_unshards {
    int dense, expert;
} ms_fsdp_unit_unshards;

/** The segments that a layer has in a pass. */
typedef struct ms_built_layer {
    ms_pass_plan plan; /**< count 0: not built yet */
    size_t pass_first; /**< first segment of the pass it was built in */
} ms_built_layer;

/** Kinds of layers that a model can mix (see kind_of in layer.c). */
enum { MS_LAYER_KINDS = 16 };

/** Buckets of gradients while costs are built. */
typedef struct ms_builder_buckets {
    struct ms_stage_buckets *of; /**< of the stage being built; NULL: whole units are reduced */
    struct ms_stage_buckets **of_stages; /**< [stages] */
    ms_vector *listed; /**< ms_made_weights: gets what kernels make (list_weights); else NULL */
} ms_builder_buckets;

/** Position of a pass under construction among its units. */
typedef struct ms_fsdp_unit_progress {
    size_t units_first;             /**< first segment of the pass's first unit */
    size_t open_first;              /**< first segment that more computation may be added to: the
                                       pass's first, or a unit's where units wait for parameters */
    size_t body_first;              /**< first segment of the unit being added, behind its gather */
    ms_fsdp_unit_unshards ready;    /**< gathers of the unit being added */
    ms_fsdp_unit_unshards arriving; /**< gathers under way for the next unit */
    ms_parameter_count bucket;      /**< gradients of units not reduced yet, to go together */
    ms_builder_buckets buckets;
} ms_fsdp_unit_progress;

/** Position of a product in its half of a layer. */
typedef enum ms_side {
    MS_SIDE_NONE,
    MS_SIDE_COLUMN, /**< column-parallel: the half's first product, behind the norm, with columns
                       split over tp */
    MS_SIDE_ROW,    /**< row-parallel: the half's last product, with rows split over tp */
} ms_side;

/** Products of the same input that are kernels of their own where one fused product could be. */
typedef struct ms_side_products {
    int more;   /**< products beside the first one [count] */
    double out; /**< columns of each further product; the first product has the remaining columns
                   [elements] */
} ms_side_products;

/** The product that is being added, and its position in its layer. */
typedef struct ms_product_role {
    ms_product_kind kind; /**< 0: the product is of no kind whose format the user chooses */
    ms_side side;
    ms_side_products apart;
    int layer; /**< layer whose halves are being added; MTP modules are numbered after the last
                  layer */
} ms_product_role;

/** The part of a model's costs that the caller wants. */
typedef struct ms_cost_wanted {
    unsigned passes; /**< 1 << ms_pass of those to be laid out */
    bool is_outline; /**< layers alike are named once, kernels are not listed (layer_outline.c) */
} ms_cost_wanted;

/** The buckets of the stages that a pipeline rank holds. */
typedef struct ms_rank_buckets {
    struct ms_stage_buckets **of; /**< [count] */
    int count;
} ms_rank_buckets;

/** Costs under construction. The vectors remember a failed allocation. */
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
    bool is_recompute;  /**< segments are added for recomputation, that is, they repeat forward work
                         */
    int layer;          /**< layer that is being added, -1: none */
    bool is_tp_split; /**< the half being added runs its collectives over tp beside its products */
    int stage_first;  /**< first layer of the virtual stage being built */
    ms_fsdp_unit_progress unit; /**< position of the pass among its units */
    unsigned repeated;          /**< MS_RECOMPUTE_ bits of the layer being added */
    ms_product_role product;    /**< the product being added, and its position in the layer */
    ms_cost_wanted wanted;
    const struct ms_moe_load *moe_loads; /**< [layers and MTP modules]; NULL without experts */
    ms_built_layer built_layers[MS_LAYER_KINDS]
                               [MS_PASS_COUNT]; /**< segments of the first layer of a kind, which
                                                   are repeated for the other layers of the kind */
} ms_cost_builder;

/** Initialise the vectors of a builder whose inputs are set. */
void ms_cost_begin(ms_cost_builder *builder);
/** Free the vectors. */
void ms_cost_end(ms_cost_builder *builder);
/** Whether an allocation failed. */
bool ms_cost_failed(const ms_cost_builder *builder);
/** The newest segment; NULL when there is none or an allocation failed. */
ms_segment *ms_cost_last_segment(ms_cost_builder *builder);

/** Start a plan (a pass, or a step's end): segments that are added from here on belong to it, and
 * are numbered from here. */
void ms_cost_begin_plan(ms_cost_builder *builder);
/** Open a compute segment for kernels to be added to. The last segment is continued where it is a
 * computation of the same pass and layer, and both or neither are recomputation. */
void ms_cost_compute(ms_cost_builder *builder);
/** Open a compute segment whose kernels the rank's host launches only when all work before it has
 * ended on the GPU. */
void ms_cost_host_wait(ms_cost_builder *builder);
/** Operands of a product of a kind in the layer being added. is_weight_gradient: the product gives
 * a weight's gradient. */
ms_operands ms_operands_of(const ms_cost_builder *builder, ms_product_kind kind,
                           bool is_weight_gradient);
/** Whether all products of a layer multiply in the working type.  layer: as of ms_cost_layer_body.
 */
bool ms_has_plain_products(const ms_cost_builder *builder, int layer);
/** Whether queries and keys are rotated. */
bool ms_is_rotated(const ms_model *model);
/** Whether products of a kind multiply in a format of fewer bits in the layer being added. */
bool ms_is_quantized(const ms_cost_builder *builder, ms_product_kind kind);
/** Add a matrix product C[m,n] = A[m,k] B[k,n], `batch` times, to the open compute segment. */
void ms_cost_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape);
/** Add a matrix product of the kind being added (builder->product.kind), in the format that this
 * kind multiplies in. */
void ms_cost_product(ms_cost_builder *builder, const char *name, ms_gemm_shape shape);
/** Add a matrix product of the kind being added that gives a weight's gradient, and the addition to
 * the accumulated gradient: inside the product's kernel, or in a kernel of its own. */
void ms_cost_weight_gradient(ms_cost_builder *builder, const char *name, ms_gemm_shape shape);
/** Whether an FSDP unit's parameters or gradients are copied before or after their collectives. */
bool ms_copies_units(const ms_model_layout *layout);
/** Whether the gradients of every microbatch are reduced by themselves and accumulated as shards
 * only, so that no product adds to whole gradients. */
bool ms_makes_gradients_anew(const ms_model_layout *layout);
/** Add the kernel that adds a microbatch's gradients of `parameters` parameters to the accumulated
 * ones; nothing where these are shards (ms_makes_gradients_anew). */
void ms_cost_accumulate(ms_cost_builder *builder, double parameters);
/** Add a kernel that is bound by memory.  bytes: read and written [B]. */
void ms_cost_memory(ms_cost_builder *builder, const char *name, double bytes);
/** Add a memory-bound kernel that takes `slower` times (>= 1) as long as other memory-bound kernels
 * of the same bytes. */
void ms_cost_slow_memory(ms_cost_builder *builder, const char *name, double bytes, double slower);
/** Kinds of memory-bound work (kernel_passes.c). */
typedef enum ms_work {
    MS_WORK_LAYER_NORM,
    MS_WORK_RMS_NORM,
    MS_WORK_GELU,
    MS_WORK_SWIGLU,
    MS_WORK_ROTARY,
    MS_WORK_SOFTMAX,
    MS_WORK_WIDE_SOFTMAX, /**< an operation of PyTorch a kernel, in fp32 */
    MS_WORK_RESIDUAL,
    MS_WORK_DROPPED_RESIDUAL, /**< forward, with dropout before it */
    MS_WORK_COUNT,
} ms_work;
/** Add memory-bound work of a layer, such as a norm. For the kernels of the model's framework, a
 * table in kernel_passes.c gives how many kernels the work takes and how often they read or write
 * each element. is_backward: of the backward pass. elements: of the work's result [count]. */
void ms_cost_memory_work(ms_cost_builder *builder, const char *name, ms_work work, bool is_backward,
                         double elements);
/** Work of one kernel, from which its time follows. */
typedef struct ms_fused_work {
    double flop, bytes;
    double exposed_B;  /**< bytes whose traffic adds to the roofline's time [B] */
    double efficiency; /**< share of the peak of 16 bits that the arithmetic reaches */
    double measured;   /**< factor on the time, of ms_measured_ratio; 0: none is measured */
    const char *shape; /**< label of the size, for the kernel table */
} ms_fused_work;
/** Time of a kernel by the cost model [s].  *is_memory_bound_out: may be NULL. */
double ms_work_time_s(const ms_gpu_type *gpu, const ms_fused_work *work, bool *is_memory_bound_out);
/** Add a fused kernel. */
void ms_cost_fused(ms_cost_builder *builder, const char *name, ms_fused_work work);
/** Products of several experts in one kernel. */
typedef struct ms_grouped_gemm {
    ms_gemm_shape mean;      /**< product of a rank of the group on average */
    ms_gemm_shape busiest;   /**< product of the busiest rank, which all others wait for */
    bool is_weight_gradient; /**< adds to the accumulated gradient */
} ms_grouped_gemm;
/** Add the products of a group of experts: FLOP and bytes of the mean rank, time of the busiest. */
void ms_cost_grouped(ms_cost_builder *builder, const char *name, ms_grouped_gemm work);
/** Add a memory-bound kernel over experts' copies: bytes of the mean rank, time of the busiest
 * rank, `slower` (>= 1) times as long as other memory-bound kernels of its bytes. */
void ms_cost_uneven(ms_cost_builder *builder, const char *name, double mean_B, double busiest_B,
                    double slower);
/** A collective to add. */
typedef struct ms_comm {
    ms_axis axis;
    unsigned group_axes; /**< MS_AXIS_BIT, and MS_AXES_OF_EXPERTS; 0: `axis` alone */
    ms_coll_kind kind;
    double bytes; /**< full buffer [B]; 0: none is added */
    bool is_async;
    ms_when when;
    int after;                  /**< asynchronous collective that it waits for, by the number that
                                     ms_cost_communicate returned; 0: none */
    double intra_node_B;        /**< as coll_intra_node_B of a segment */
    double load_imbalance;      /**< as coll_load_imbalance of a segment */
    bool is_between_directions; /**< as of a segment: group_axes is not used */
} ms_comm;
/** Ranks of a group that spans a set of axes. axes: MS_AXIS_BIT of each, and MS_AXES_OF_EXPERTS
 * where the axes are those of the experts' own mesh. */
double ms_group_size(const ms_model_layout *layout, unsigned axes);
/** A set of axes as a group of experts spans it: with MS_AXES_OF_EXPERTS where the experts have a
 * mesh of their own. */
unsigned ms_axes_of_experts(const ms_model_layout *layout, unsigned axes);
/** The group_axes (of ms_comm) of one axis of the experts; 0, for the axis alone, where the experts
 * have no mesh of their own. */
unsigned ms_axis_of_experts(const ms_model_layout *layout, ms_axis axis);
/** Ranks that share an expert. */
double ms_expert_tp(const ms_model_layout *layout);
/** Add a collective, unless its group has one member or it has no bytes. Returns the number by
 * which later segments wait for it, counted from 1 in the pass; 0 where none is needed: nothing
 * was added, or the collective blocks. */
int ms_cost_communicate(ms_cost_builder *builder, const ms_comm *comm);
/** Let a segment wait for one more asynchronous collective of its pass.  after: as
 * ms_cost_communicate returned it; 0: for nothing. */
void ms_cost_wait(ms_cost_builder *builder, ms_segment *segment, int after);
/** Start computing after an asynchronous collective.  after: as ms_cost_communicate returned it; 0:
 * plain ms_cost_compute. */
void ms_cost_compute_after(ms_cost_builder *builder, int after);
/** Add a blocking collective over tp; nothing when tp is 1. bytes: full buffer [B]. */
void ms_cost_collective(ms_cost_builder *builder, ms_coll_kind kind, double bytes);
/** Append a copy of a built layer's segments for another layer of the pass being built. Waits for
 * segments outside of the layer are left out. */
void ms_cost_copy_layer(ms_cost_builder *builder, const ms_built_layer *built, int layer);
/** Time of work on a GPU: the longer of arithmetic and memory traffic, plus the launch [s].
 *  efficiency: share of the peak, > 0.  *is_memory_bound_out: may be NULL. */
double ms_roofline_s(const ms_gpu_type *gpu, double flop, double bytes, double efficiency,
                     bool *is_memory_bound_out);

/** Names of the products of a linear layer. */
typedef struct ms_linear_names {
    const char *forward, *input, *weight, *bias;
} ms_linear_names;

/** Size of a linear layer: its rows, and its columns on this rank. */
typedef struct ms_linear_size {
    double tokens, in, out;
} ms_linear_size;

/** Whether products multiply 8 bits with a scale for every row. */
bool ms_has_row_scales(const ms_products *products);
/** Whether the products that give gradients take operands in the other layout than the forward
 * product, so that a second form of each is cast ("columns" in casts.c). */
bool ms_has_second_forms(const ms_cost_builder *builder);
/** Bytes of an element in the format of fewer bits, with its share of the scales [B]. */
double ms_quantized_B(const ms_cost_builder *builder);
/** Whether tp ranks gather the tokens of the product being added in fewer bits. */
bool ms_gathers_quantized(const ms_cost_builder *builder);
/** Add the casts before a linear layer's forward product: of its input, and of a weight that was
 * gathered. As for the next two functions, nothing where the product multiplies in the working
 * type. */
void ms_cost_input_cast(ms_cost_builder *builder, ms_linear_size size);
/** Add the casts before the product that gives the input's gradient: of the output's gradient. */
void ms_cost_gradient_cast(ms_cost_builder *builder, ms_linear_size size);
/** Add the casts and copies of a linear layer's input for the product that gives the weight's
 * gradient. */
void ms_cost_input_columns(ms_cost_builder *builder, ms_linear_size size);
/** Whether the cast of an output's gradient sums the bias's gradient on the way. */
bool ms_sums_bias_in_cast(const ms_cost_builder *builder);
/** Share of its bytes that the norm being added moves: less than 1 where it writes its result in
 * fewer bits. */
double ms_norm_share(const ms_cost_builder *builder);
/** Sizes of a product of routed experts, from which its casts follow. */
typedef struct ms_expert_casts {
    double mean, busiest;                 /**< copies on a rank, all its experts together [count] */
    double in, out;                       /**< columns [elements] */
    double experts;                       /**< of the rank [count] */
    bool is_input_sent, is_gradient_sent; /**< input, output's gradient: they arrive from other
                                             ranks in fewer bits */
} ms_expert_casts;
/** Add the casts that a product of routed experts needs in `parts`. */
void ms_cost_expert_casts(ms_cost_builder *builder, unsigned parts, const ms_expert_casts *work);
/** Bytes whose traffic takes as long as casting `weights` weights once per step [B]; 0 where every
 * pass casts them. */
double ms_weight_casts_B(const ms_cost_builder *builder, double weights);
/** Bytes of the quantized copies of `weights` weights [B]. A rank holds them beside the weights in
 * the working type, or in their place: the latter's bytes are taken off, and the result may be
 * below 0. */
double ms_held_weights_B(const ms_cost_builder *builder, double weights);
/** Bytes per element of a product's input as it is kept for the backward pass [B]. */
double ms_kept_input_B(const ms_cost_builder *builder, ms_product_kind kind);

/** Add one operator of a half of a layer: a norm, a linear layer, an activation, the attention. */
typedef void (*ms_operator)(ms_cost_builder *builder, unsigned parts);
/** Add the operators of a half, given in forward order. In a backward pass they are added in
 * reverse where collectives stand between them, else in the order given, which then gives the same
 * sums. */
void ms_cost_operators(ms_cost_builder *builder, unsigned parts, const ms_operator *operators,
                       size_t count);
/** Add an operator without its collectives over tp: another branch of the layer runs these for both
 * branches. */
void ms_cost_without_collectives(ms_cost_builder *builder, unsigned parts, ms_operator add);
/** Whether `parts` are of a backward pass that repeats `what` of the layer being added. */
bool ms_repeats(const ms_cost_builder *builder, unsigned parts, ms_recompute_part what);
/** Add a norm over whole tokens. */
void ms_cost_norm(ms_cost_builder *builder, unsigned parts);
/** Add the norm before the product that opens a half. */
void ms_cost_opening_norm(ms_cost_builder *builder, unsigned parts);
/** Add the end of a half of a layer: its post-norm, if any, bias, dropout and residual. */
void ms_cost_residual(ms_cost_builder *builder, unsigned parts);
/** Add a linear layer of the rank's tokens, `in` to `out` columns on this rank. */
void ms_cost_linear(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                    double in, double out);
/** Add a linear layer of any number of tokens. */
void ms_cost_linear_of(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                       ms_linear_size size);
/** Add the linear layer that opens a half, its columns split over tp; in a half whose collectives
 * run beside its products, with the collectives. apart: how the layer falls into several products,
 * for models that do not merge these. out: columns of all on this rank. */
void ms_cost_opening(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                     ms_side_products apart, double out);
/** Add the linear layer that closes a half, its rows split over tp, `in` of them on this rank; in a
 * half whose collectives run beside its products, with the collectives. */
void ms_cost_row(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names, double in,
                 double out);

/** Attention proper, between q, k, v and its output, as one rank has it. */
typedef struct ms_core {
    double heads;        /**< query heads */
    double kv_heads;     /**< key and value heads */
    double query_dim;    /**< of a head's query and key [elements] */
    double value_dim;    /**< of a head's value [elements] */
    double shared_width; /**< elements per token that context-parallel ranks exchange: keys and
                            values, or the latents that these are made from */
    void (*expand)(ms_cost_builder *builder, unsigned parts,
                   double tokens); /**< adds the kernels that make keys and values from the latents
                                      of tokens; NULL: keys and values are exchanged */
} ms_core;
/** Attention of plain or grouped heads. */
ms_core ms_head_core(const ms_cost_builder *builder);
/** Add the attention core with its exchange over cp. Under selective recomputation the part
 * MS_PART_INPUT first repeats the core's forward pass. */
void ms_cost_core(ms_cost_builder *builder, unsigned parts, const ms_core *core);
/** Bytes that the attention core keeps per microbatch besides q, k, v and its output [B]. Selective
 * recomputation repeats them. */
double ms_core_activation_B(const ms_cost_builder *builder, const ms_core *core);
/** Bytes of the core's buffers during a pass [B]: of the exchange over cp or, with slices, a
 * slice's gradients of all keys and values that it has attended to. */
double ms_core_buffer_B(const ms_cost_builder *builder, const ms_core *core);
/** Bytes of the keys and values of `tokens` tokens, or of their gradients [B]. */
double ms_core_key_value_B(const ms_cost_builder *builder, const ms_core *core, double tokens);

/** Whether collectives over tp run beside the first and last products of a half, instead of before
 * and behind them. */
bool ms_splits_halves(const ms_cost_builder *builder);

/** Open a half: the collective over tp that its first product waits for, if any. */
void ms_cost_half_begin(ms_cost_builder *builder, unsigned parts);
/** Close a half: the collective over tp that follows its last product. */
void ms_cost_half_end(ms_cost_builder *builder, unsigned parts);
/** Add the attention half of a layer, without the collective that ends it. */
void ms_cost_attention_half(ms_cost_builder *builder, unsigned parts);
/** Add the dense MLP half of a layer, without the collective that ends it. */
void ms_cost_mlp_half(ms_cost_builder *builder, unsigned parts);

/** Add the attention of a parallel block between norm and residual, without the reduction of its
 * output's partial sums, which the MLP branch adds. */
void ms_cost_attention_branch(ms_cost_builder *builder, unsigned parts);
/** Add the MLP of a parallel block between norm and residual, without the gather of its input,
 * which the attention branch adds. */
void ms_cost_mlp_branch(ms_cost_builder *builder, unsigned parts);

/** Add a unit's part of a pass, without the gather and the reduction of its parameters. */
void ms_cost_add_fsdp_unit(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit);
/** Add one transformer layer's part of a pass. */
void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass);
/** Add the kernels and collectives of one layer. layer: 0-based in the model; the layers in MTP
 * modules are numbered on behind the last layer. */
void ms_cost_layer_body(ms_cost_builder *builder, int layer, ms_pass pass, bool is_recomputed);
/** Whether two layers cost the same.  positions: of each, 0-based in its virtual stage. */
bool ms_layers_are_alike(const ms_cost_builder *builder, const int layers[2],
                         const int positions[2]);
/** Add an MTP module's part of a pass (last stage).  module: 0-based. */
void ms_cost_mtp(ms_cost_builder *builder, int module, ms_pass pass);
/** Add the input embedding's part of a pass (first stage). */
void ms_cost_embedding(ms_cost_builder *builder, ms_pass pass);
/** Add the final norm, the head and the loss (last stage). */
void ms_cost_head(ms_cost_builder *builder, ms_pass pass);

/** Bytes that one microbatch keeps in the attention half of a layer, norm included, without
 * recomputation of the whole layer [B]. moved_B: further bytes, which recomputation leaves to the
 * pass that makes them again. */
typedef struct ms_kept_bytes {
    double kept_B, moved_B;
} ms_kept_bytes;
/** A layer's parameters that every tp rank holds whole and, with sequence parallelism, uses for its
 * own tokens only [count]. */
double ms_layer_replicated_parameters(const ms_model *model, int layer);

/** Contents of a virtual stage. */
typedef struct ms_stage_content {
    int layer_first, layers;
    bool is_first, is_last;
} ms_stage_content;

/** Workspaces that libraries hold on a rank [B]. */
double ms_workspace_B(const ms_cost_builder *builder);

/** Buffers that the framework keeps for a stage from the first pass on [B]. */
double ms_framework_buffer_B(const ms_cost_builder *builder, ms_stage_content content);

/** Add the end of a stage's pass under delayed scaling: ranks share the maxima that the pass has
 * found, and a kernel makes scales from them. */
void ms_cost_amax(ms_cost_builder *builder, ms_pass pass, ms_stage_content content);

/** Number of FSDP units of a stage [count]. */
int ms_stage_fsdp_unit_count(const ms_cost_builder *builder, ms_stage_content content);
/** An FSDP unit of a stage.  index: 0-based, in forward order. */
ms_fsdp_unit ms_stage_fsdp_unit(const ms_cost_builder *builder, ms_stage_content content,
                                int index);

/** Pipeline rank that owns a stage.  direction: 0-based. */
int ms_stage_owner(const ms_model_layout *layout, int direction, int stage);
/** Whether every rank with a last stage also has a first stage, in any direction. The word
 * embedding's gradients of both are then summed on the rank, without an exchange. */
bool ms_has_joined_ends(const ms_model_layout *layout);

/** Parameters of a stage on one rank [count]. A tied head, or MTP modules, on another pipeline rank
 * than the embedding keep a copy of its table; so they do where stages gather their parameters
 * separately (ZeRO 3). */
ms_parameter_count ms_stage_parameters(const ms_cost_builder *builder, ms_stage_content content);
/** A stage's parameters that every tp rank holds whole and, with sequence parallelism, uses for its
 * own tokens only: norms and biases behind row-split products [count]; 0 without it. */
double ms_own_token_parameters(const ms_cost_builder *builder, ms_stage_content content);
/** Fill a stage's memory. */
ms_stage_memory ms_stage_memory_of(const ms_cost_builder *builder, ms_stage_content content);

/** Whether parameters are gathered in or beside the passes; else at the step's end, if at all. */
bool ms_unshards_in_passes(const ms_model_layout *layout);
/** Add what comes before a unit's part of a pass: the gather of its parameters or, where gathers
 * are one unit ahead, of those of `next` (NULL: `unit` is the last). */
void ms_fsdp_unit_begin(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit,
                        const ms_fsdp_unit *next);
/** Sets of axes: those over which ranks hold the same parameters (`all`), and those of them over
 * which ZeRO shards state (`shard`). */
typedef struct ms_shard_group {
    unsigned all, shard;
} ms_shard_group;
/** The axes of the parameters of routed experts (is_expert), or of all other parameters. */
ms_shard_group ms_shard_group_of(const ms_model_layout *layout, bool is_expert);
/** Whether passes reduce gradients; else the step's end does. */
bool ms_reduces_in_passes(const ms_model_layout *layout);
/** Add the reduction of gradients over the replicas. bytes: of the whole gradients on a rank [B].
 * is_at_end: at the step's end, where it blocks. */
void ms_shard_reduce(ms_cost_builder *builder, double bytes, bool is_expert, bool is_at_end);
/** Add what follows a unit's part of a pass: its waits for gathers, and the reduction of gradients
 * once a bucket is full. is_last: of the pass. */
void ms_fsdp_unit_end(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit,
                      bool is_last);
/** Segments of the step's end before the optimizer: reductions that the passes have not done, and
 * the sums over both directions. stages: the rank's stages with buckets; none where whole units
 * are reduced. held: parameters of both directions. own_token_parameters: of
 * ms_own_token_parameters. */
ms_pass_plan ms_before_update(ms_cost_builder *builder, const ms_rank_buckets *stages,
                              ms_parameter_count held, double own_token_parameters);
/** Segments of the step's end after the optimizer: the gathers of parameters that the passes do not
 * gather. gathered: parameters of the rank's stages; 0: passes gather them. */
ms_pass_plan ms_after_update(ms_cost_builder *builder, const ms_rank_buckets *stages,
                             ms_parameter_count gathered);
/** Segments that gather a whole stage's parameters, where the schedule says when; else none. */
ms_pass_plan ms_stage_unshard(ms_cost_builder *builder, ms_parameter_count count);
/** Time of zeroing, clipping and update of one rank's parameters [s]. */
double ms_optimizer_time_s(const ms_cost_builder *builder, ms_parameter_count count);

/** Bytes that a rank holds from step to step [B]. */
typedef struct ms_state_bytes {
    double parameter_B, gradient_B, optimizer_B;
    double round_B;     /**< whole gradients, while a round of microbatches makes them */
    double update_B;    /**< made by the update, held until the next step's first pass */
    double unsharded_B; /**< whole parameters, while the schedule has them gathered */
} ms_state_bytes;
/** States of `count` parameters, which a rank holds before they are sharded. */
ms_state_bytes ms_states_of(const ms_cost_builder *builder, ms_parameter_count count);
/** Bytes of gathered units, and of a bucket of gradients, during a pass [B]. largest_unit:
 * [count]. */
double ms_fsdp_unit_buffers_B(const ms_cost_builder *builder, double largest_unit);

/** The longest run of layers that are alike in a pass, of which an outline leaves some out. */
typedef struct ms_outline_run {
    int from, until;   /**< units [from, until) in the order of the pass */
    size_t firsts[3];  /**< first segments of the run's second to fourth unit */
    ms_repeat *repeat; /**< of the pass */
} ms_outline_run;
/** Find the longest run of alike layers of a pass; empty where no outline is built. *repeat_out:
 * the pass's, which ms_outline_next sets later. */
ms_outline_run ms_outline_begin(const ms_cost_builder *builder, ms_stage_content content,
                                ms_pass pass, ms_repeat *repeat_out);
/** The unit to add after unit `unit`, the last one that was added: the next one, or the last of the
 * run where those between are left out. */
int ms_outline_next(ms_outline_run *run, const ms_cost_builder *builder, int unit);
/** Whether a stage is like the one before it, but for which layers it has. */
bool ms_outline_is_alike(const ms_cost_builder *builder, ms_stage_content before,
                         ms_stage_content content);

#endif
