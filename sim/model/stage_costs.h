/**
 * @file
 * Costs of the passes of each virtual stage: what they compute, communicate and keep in memory.
 * This is all that lowering, engines and metrics see of a model. Times that a workload gives as
 * `costs:` in place of a model are laid out in the same form.
 */
#ifndef MESHSIM_STAGE_COSTS_H
#define MESHSIM_STAGE_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"

/** A kernel shape that occurs in the model, for the kernel table. */
typedef struct ms_kernel {
    const char *name;  /**< such as "qkv", "attention", "mlp_up", "layer_norm" */
    const char *shape; /**< such as "4096x2304x12288" (m x n x k), or bytes moved */
    double flop;       /**< per call */
    double bytes;      /**< moved to and from HBM per call [B] */
    double time_s;     /**< per call, launch included */
    bool is_memory_bound;
} ms_kernel;

/** Calls of one kernel in a segment. */
typedef struct ms_kernel_use {
    int kernel; /**< index into ms_stage_costs.kernels */
    int calls;
} ms_kernel_use;

/** On which microbatches of a step a segment runs. */
typedef enum ms_when {
    MS_WHEN_ALWAYS,
    MS_WHEN_FIRST, /**< the first one for which the stage runs this pass, or a pass that includes
                      it: a whole backward pass includes I and W */
    MS_WHEN_LAST,  /**< the last one */
    MS_WHEN_ROUND, /**< the last one of each round (of the schedule) */
} ms_when;

/** Kernels that a segment calls. */
typedef struct ms_segment_kernels {
    int use_first, uses; /**< ms_stage_costs.uses[use_first .. use_first + uses) */
    int launches;        /**< calls of all kernels of the segment together */
    bool has_host_wait;  /**< the rank's host waits for all work before the segment before it
                            launches the kernels; in an overlapped pair of passes it does not */
} ms_segment_kernels;

/** A segment of a pass: either computation on the compute stream or a collective.
 *  A collective that is not asynchronous blocks all later segments of its rank. An asynchronous one
 * starts when the segments before it have ended, and runs beside those after it, in order with the
 * other collectives of its communicator. The segments that use its result list it in their `waits`;
 * the optimizer, or the step's end, waits for collectives that no segment of the pass waits for. */
typedef struct ms_segment {
    bool is_collective;
    bool is_async;     /**< collective: runs beside the segments after it */
    bool is_recompute; /**< repeats forward work */
    ms_when when;      /**< microbatches that it runs on; on others, waits for it are skipped */
    const int *waits;  /**< [wait_count] asynchronous collectives of the pass, before it, that it
                          waits for: indices counted from the pass's first segment, each once */
    int wait_count;
    bool is_experts; /**< computation: the half's first one that uses routed experts' weights */
    int layer; /**< global transformer layer, 0-based; -1: embedding, head, loss or a whole stage */
    double time_s;       /**< computation [s] */
    double pair_extra_s; /**< time that the computation takes longer in an overlapped pair, since
                            communication holds ms_model_layout.communication_sms SMs [s] */
    double flop;         /**< executed FLOP: fused attention skips half under the causal mask */
    double bytes_moved;  /**< HBM traffic [B] */
    ms_axis axis;        /**< collective: the axis that metrics count its time for */
    unsigned group_axes; /**< collective: axes that its group spans, MS_AXIS_BIT each, and
                            MS_AXES_OF_EXPERTS; 0: `axis` alone */
    ms_coll_kind coll;   /**< collective: the kind, such as MS_COLL_ALL_GATHER */
    double coll_B; /**< collective: full buffer [B]; where coll_intra_node_B > 0, the full buffer of
                      the exchange between nodes */
    double coll_intra_node_B; /**< all-to-all that sends to a node once and forwards inside it: full
                           buffer of the all-to-all among the members of a node that runs beside the
                           exchange between nodes [B]; 0: every two members exchange their own */
    double coll_load_imbalance; /**< all-to-all: bytes of the busiest member, which decide its time,
                                   over those of the mean member (coll_B); 0: all are equal */
    bool is_between_directions; /**< collective of a step's end: between the two pipeline ranks that
                               hold the same stages, rank by rank, once all segments of the passes
                               have ended; group_axes is not used */
    ms_segment_kernels kernels; /**< kernels that the segment calls; a collective counts none */
} ms_segment;

/** Segments of a pass that run several times, one time right after the other. */
typedef struct ms_repeat {
    int first; /**< index of the first repeated segment, counted from the pass's first segment */
    int count; /**< segments of one repetition. As many equal segments precede them, and they wait
                  only for segments of these two groups */
    int times; /**< repetitions beyond the one that is listed; 0: nothing repeats */
} ms_repeat;

/** The segments of one pass over one virtual stage and microbatch, in order. */
typedef struct ms_pass_plan {
    int first; /**< index into ms_stage_costs.segments */
    int count;
    unsigned when;    /**< 1 << ms_when of all its segments that do not run on every microbatch */
    ms_repeat repeat; /**< repeated segments of an outline (ms_model_outline); else empty */
} ms_pass_plan;

/** Bytes per GPU of one virtual stage. */
typedef struct ms_stage_memory {
    double parameter_B;
    double gradient_B;
    double optimizer_B;
    double activation_B;  /**< kept from a microbatch's F to its B (or W) */
    double working_B;     /**< peak extra during one pass: recomputed layer, logits, communication
                             buffers */
    double transformer_B; /**< share of parameter_B + gradient_B + optimizer_B that belongs to
                             transformer layers */
    double round_B; /**< whole gradients, beside gradient_B from a round's first weight gradients to
                       its last ones; 0: gradients are not reduced by rounds */
    double round_transformer_B; /**< share of round_B that belongs to transformer layers */
    double unsharded_B; /**< whole parameters, beside parameter_B while the schedule has the stage
                          gathered; 0: the schedule does not place gathers */
    double unsharded_transformer_B; /**< share of unsharded_B that belongs to transformer layers */
    double framework_B; /**< buffers of the framework, which the stages of a rank share: the rank
                           holds as many bytes as its stage with most */
    double update_B;    /**< made by the update and held until the next step's first pass */
} ms_stage_memory;

/** One virtual stage. */
typedef struct ms_stage_cost {
    ms_pass_plan passes[MS_PASS_COUNT]; /**< F, I, W and B (I and W fused, with recomputation) */
    ms_pass_plan unshard;   /**< asynchronous collectives that gather all its parameters, where the
                               schedule says when; else empty */
    double send_forward_B;  /**< activation each rank sends to stage + 1 per microbatch [B]; 0 for
                               the last stage */
    double send_backward_B; /**< gradient each rank sends to stage - 1 [B]; 0 for the first */
    double parameters;      /**< per GPU (after tp and ep) [count] */
    double expert_parameters; /**< of these, the routed experts' */
    double tied_B; /**< gradient bytes of the word embedding that first and last stage, on
                      different ranks, reduce; else 0 */
    ms_stage_memory memory;
    int layer_first, layers; /**< transformer layers in it */
} ms_stage_cost;

/** Costs of all virtual stages of a model. */
typedef struct ms_stage_costs {
    int stages;           /**< virtual stages S = P*V */
    int slices;           /**< K, slices a sequence is cut into; 0 means 1 */
    ms_stage_cost *stage; /**< [K*S] slice q of stage s at q*S + s; passes and activations are the
                             slice's, states and counts the whole stage's */
    ms_segment *segments;
    int segment_count;
    ms_kernel *kernels; /**< unique kernel shapes */
    int kernel_count;
    ms_kernel_use *uses;
    double parameters_total; /**< of the whole model [count] */
    double *optimizer_s;     /**< [P] optimizer update of one pipeline rank [s] */
    int optimizer_launches;  /**< kernels that the update launches on each rank */
    /** [P] segments of the step's end before and after the optimizer: reductions of gradients that
     * the passes do not reduce, and gathers of parameters that the passes do not gather. Experts
     * have collectives of their own, whose groups leave ep out. NULL: none. */
    ms_pass_plan *before_update, *after_update;
    double allocator_overhead; /**< share of activations and working memory that the allocator loses
                                  on top */
    double workspace_B;        /**< of libraries, on every rank [B] */
    double forward_flop;   /**< matrix FLOP of one forward pass of one sequence through the whole
                              model, attention not halved */
    double attention_flop; /**< the attention-score share of it (halved by the causal convention) */
    double recompute_flop; /**< forward_flop's share that the backward pass repeats; 0 without
                              recomputation */
} ms_stage_costs;

/** Costs of a stage of the model for `mb`, which is microbatch * K + slice. */
static inline const ms_stage_cost *ms_stage_cost_of(const ms_stage_costs *costs, int stage,
                                                    int mb) {
    int slice = costs->slices > 1 ? mb % costs->slices : 0;
    return &costs->stage[slice * costs->stages + stage];
}

/** Times of passes and memory given in place of a model: one value, or a list. */
typedef struct ms_given_costs {
    ms_numbers forward, input_gradient, weight_gradient; /**< one, or one per virtual stage [s] */
    ms_numbers p2p;       /**< one, or one per virtual stage: bytes that it sends either way [B] */
    ms_numbers optimizer; /**< one, or one per pipeline rank [s] */
    ms_numbers states;    /**< one, or one per virtual stage: held all the time, in the result
                             counted as parameters [B] */
    ms_numbers activations; /**< one, or one per virtual stage: held from F to the end of the
                               backward pass [B] */
} ms_given_costs;

/** Sizes of the pipeline that given costs are laid out for. */
typedef struct ms_given_sizes {
    int ranks;  /**< P */
    int chunks; /**< V */
    int slices; /**< K, slices of a sequence, each of which costs the given time; 0 means 1 */
} ms_given_sizes;

/** The keys of `costs:`, for listings. */
extern const ms_field MS_COSTS_FIELDS[];

/** Read the workload's `costs:` mapping (forward, input_gradient, weight_gradient [s], p2p,
 * states, activations [B]: a value or a list per virtual stage; optimizer [s]: per pipeline rank).
 *  *costs_out: lists in `arena`.  Returns MS_OK; MS_E_INPUT, reported; MS_E_NOMEM. */
ms_status ms_costs_read(const ms_node *mapping, const char *key_path, ms_arena *arena,
                        ms_diag *diag, ms_given_costs *costs_out);

/** The `costs:` mapping of given costs.  *mapping_out: in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_costs_write(const ms_given_costs *costs, ms_arena *arena, ms_node **mapping_out);

/** Check given costs that do not come from a file, as ms_model_check does a model.  Returns MS_OK;
 * MS_E_INPUT, every fault reported. */
ms_status ms_costs_check(const ms_given_costs *costs, const char *key_path, const ms_node *root,
                         ms_diag *diag);

/** Lay given costs out in the form of a model's costs, with one compute segment per pass, B = I +
 * W, no kernels. given: every list has one value, or P*V (optimizer: P).  *costs_out: in
 * `arena`.  Returns MS_OK; MS_E_NOMEM, reported. */
ms_status ms_costs_build(const ms_given_costs *given, const ms_given_sizes *sizes, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out);

#endif
