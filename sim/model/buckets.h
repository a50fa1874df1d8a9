/*
 * Gradient buckets that end between any two weights: the buckets of a stage (buckets.c), and where
 * passes reduce and gather them (bucket_passes.c). buckets.md has the rules and the reasons.
 */
#ifndef MESHSIM_MODEL_BUCKETS_H
#define MESHSIM_MODEL_BUCKETS_H

#include "model/internal.h"

/** Kinds of buckets: gradients of routed experts, and of all other parameters, are reduced over
 * different ranks. */
enum { MS_BUCKET_DENSE, MS_BUCKET_EXPERT, MS_BUCKET_KINDS };

/** Parameters whose gradients are reduced, and which are gathered, as one buffer. */
typedef struct ms_bucket {
    double parameters; /**< [count] */
    double quantized;  /**< of these, weights of products in fewer bits [count] */
    int event;         /**< event of the stage's backward pass that it is reduced behind */
} ms_bucket;

/** Buckets of a kind in the order in which a backward pass completes them. */
typedef struct ms_bucket_list {
    ms_bucket *items; /**< [count] */
    int count;
} ms_bucket_list;

/** An FSDP unit of a stage. Its events are numbered on through the stage: one for each kernel that
 * makes a weight's gradient, and one for the unit's end, when the gradients of its other parameters
 * (norms, biases, tables) are complete. */
typedef struct ms_bucket_unit {
    int first_event, events;
    int lowest[MS_BUCKET_KINDS];  /**< first bucket with parameters of it; -1: none */
    int reached[MS_BUCKET_KINDS]; /**< smallest `lowest` of this unit and of those before it in
                                     forward order; the list's count: none of them has a bucket */
} ms_bucket_unit;

/** The buckets of a stage, and the position of a pass among them. Units are counted in the order of
 * the backward pass. */
typedef struct ms_stage_buckets {
    ms_bucket_list of[MS_BUCKET_KINDS];
    ms_bucket_unit *units; /**< [unit_count] */
    int unit_count;
    bool is_gathered; /**< parameters are gathered in these buckets; in later stages of a rank they
                         are gathered layer by layer, in place of a gather one stage ahead */
    int *gathers[MS_BUCKET_KINDS]; /**< [of[kind].count] gather of each bucket, by the number that
                                      ms_cost_communicate returned */
    int unit;                      /**< unit being added */
    int event;                     /**< index of the unit's next event */
    int next[MS_BUCKET_KINDS];     /**< next bucket to be reduced */
    bool is_reducing;              /**< the pass reduces gradients */
    bool is_ordered; /**< a bucket ends inside the unit, whose kernels are added in the order they
                        run */
} ms_stage_buckets;

/** The parameters whose gradients one kernel makes. */
typedef struct ms_made_weights {
    double each;  /**< parameters of a weight [count] */
    double count; /**< weights */
    bool is_expert;
} ms_made_weights;

/** Parameters of a bucket, counted as experts' or as all others'. */
static inline ms_parameter_count ms_bucket_count(const ms_bucket *bucket, bool is_expert) {
    return is_expert ? (ms_parameter_count){.expert = bucket->parameters,
                                            .expert_quantized = bucket->quantized}
                     : (ms_parameter_count){.dense = bucket->parameters,
                                            .dense_quantized = bucket->quantized};
}

/** Find the buckets of a stage. is_first_of_rank: the stage is the first virtual stage of its rank.
 * *buckets_out: in the builder's arena; NULL where whole units are reduced, or nothing is. Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_buckets_find(ms_cost_builder *builder, ms_stage_content content, bool is_first_of_rank,
                          ms_stage_buckets **buckets_out);

/** Begin a unit of a pass.  unit: 0-based in the order of the backward pass. */
void ms_buckets_begin_unit(ms_cost_builder *builder, ms_pass pass, int unit);
/** Report that the unit's next kernel has made the gradients of `count` weights of `each`
 * parameters. Buckets that this event completes are reduced behind the kernel. */
void ms_buckets_count_event(ms_cost_builder *builder, double each, double count, bool is_expert);
/** End a unit: reduce the buckets that its last event completes. layer: as of
 * ms_cost_builder.layer. */
void ms_buckets_end_unit(ms_cost_builder *builder, int layer);

/** Take the gathers of unit `from` as those of unit `to`, which is like it; the units between the
 * two are left out of an outline. */
void ms_buckets_skip(ms_cost_builder *builder, int from, int to);
/** Whether two neighbouring units complete the same buckets at the same events. */
bool ms_buckets_are_alike(const ms_stage_buckets *buckets, int a, int b);

#endif
