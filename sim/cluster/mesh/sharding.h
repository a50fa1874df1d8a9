/**
 * @file
 * Sharding specs: how a tensor is distributed over a mesh, the part of it that every rank has, and
 * the collectives that redistribute it from one spec to another.
 *
 * A spec gives every axis of the mesh one placement, as PyTorch's DTensor does: replicate (each
 * rank of the axis has the whole), shard (each has an equal part of one dimension), or partial
 * (each has a term of a sum). Axes that shard the same dimension cut it one after the other, the
 * outermost axis first.
 */
#ifndef MESHSIM_SHARDING_H
#define MESHSIM_SHARDING_H

#include <stdint.h>

#include "cluster/mesh/mesh.h"

enum { MS_TENSOR_DIMENSIONS_MAX = 8 };

/** The part of a tensor that each rank of an axis has: all of it, a shard, or a summand of it. */
typedef enum ms_tensor_placement_kind {
    MS_REPLICATE,
    MS_SHARD,
    MS_PARTIAL
} ms_tensor_placement_kind;

/** How a tensor is distributed over one axis. */
typedef struct ms_tensor_placement {
    ms_tensor_placement_kind kind;
    int dimension; /**< the dimension that is cut, from 0; for MS_SHARD only */
} ms_tensor_placement;

/** The placement of a tensor on each axis of a mesh, in the mesh's order. */
typedef struct ms_spec {
    ms_tensor_placement on[MS_MESH_AXES_MAX];
} ms_spec;

/** Shape and element size of a whole tensor. */
typedef struct ms_tensor {
    int dimensions;                          /**< 1..MS_TENSOR_DIMENSIONS_MAX */
    int64_t shape[MS_TENSOR_DIMENSIONS_MAX]; /**< [dimensions] >= 1 [elements] */
    double element_B;                        /**< bytes of one element [B] */
} ms_tensor;

/** One step of a redistribution: a collective that all groups along one axis run at the same
 * time. */
typedef struct ms_reshard_step {
    ms_coll_kind kind; /**< collective of the step; MS_COLL_NONE: each rank keeps a part of what it
                          has, without communication */
    int axis;          /**< index in the mesh */
    ms_tensor_placement from, to;
    double size_B; /**< full buffer of one rank: the output of an all-gather, the input of other
                      collectives [B] */
    double sent_B; /**< bytes a rank sends [B] */
} ms_reshard_step;

/** Largest number of steps: an axis takes at most one to replicate, on the way, and one to its
 * target. */
enum { MS_RESHARD_STEPS_MAX = 2 * MS_MESH_AXES_MAX };

/** The steps of a redistribution. */
typedef struct ms_reshard_plan {
    ms_reshard_step steps[MS_RESHARD_STEPS_MAX]; /**< [count] in order */
    int count;
    double sent_B; /**< bytes that a rank sends in all steps [B] */
} ms_reshard_plan;

/** The shape of the part of a tensor that every rank has.
 *  local_out: [dimensions] elements.  Returns MS_OK; MS_E_INPUT where a spec shards a dimension
 * that the tensor lacks or that the sizes of its axes do not divide (reported, naming dimension,
 * size and axis).  O(axes). */
ms_status ms_spec_local_shape(const ms_mesh *mesh, const ms_spec *spec, const ms_tensor *tensor,
                              ms_diag *diag, int64_t *local_out);

/** Bytes of a tensor, or of its part on a rank.  shape: [dimensions] elements [B]. */
double ms_tensor_bytes(const ms_tensor *tensor, const int64_t *shape);

/** Plan the redistribution of a tensor from one spec to another: shard to replicate takes an
 * all-gather, shard to shard of another dimension an all-to-all, partial to replicate an
 * all-reduce, partial to shard a reduce-scatter, replicate to shard a cut without communication.
 * Steps that shrink the part of each rank come first; an axis stops sharding a dimension only
 * after the axes inside it.
 *  from, to: both must suit the tensor.  Returns MS_OK; MS_E_INPUT where a local shape does not
 * exist, or an axis would become partial (reported).  O(axes^3).  Source of the sent bytes: ring
 * and pairwise algorithms, (n-1)/n of the buffer, twice that for the all-reduce. */
ms_status ms_reshard(const ms_mesh *mesh, const ms_tensor *tensor, const ms_spec *from,
                     const ms_spec *to, ms_diag *diag, ms_reshard_plan *plan_out);

/** Placement as text: "replicate", "partial", "shard1".  text_out: [size].  Returns text_out. */
char *ms_tensor_placement_text(ms_tensor_placement placement, char *text_out, size_t size);

#endif
