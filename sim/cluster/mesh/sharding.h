/**
 * @file
 * Sharding specs: how a tensor lies over a mesh, what every rank holds of it, and which collectives
 * bring it from one spec to another.
 *
 * A spec gives every axis of the mesh one placement: replicate (each rank of the axis has the
 * whole), shard (each has an equal part of one dimension), or partial (each has a term of a sum).
 * Axes that shard the same dimension cut it one after the other, the outermost axis first.
 */
#ifndef MESHSIM_SHARDING_H
#define MESHSIM_SHARDING_H

#include <stdint.h>

#include "cluster/mesh/mesh.h"

enum { MS_TENSOR_DIMENSIONS_MAX = 8 };

/** What the ranks of an axis have of a tensor: all of it, a part, or a summand of it. */
typedef enum ms_tensor_placement_kind {
    MS_REPLICATE,
    MS_SHARD,
    MS_PARTIAL
} ms_tensor_placement_kind;

/** How a tensor lies over an axis. */
typedef struct ms_tensor_placement {
    ms_tensor_placement_kind kind;
    int dimension; /**< that is cut, 0-based; of shard only */
} ms_tensor_placement;

/** Placements by mesh axis, in the mesh's order. */
typedef struct ms_spec {
    ms_tensor_placement on[MS_MESH_AXES_MAX];
} ms_spec;

/** A tensor. */
typedef struct ms_tensor {
    int dimensions;                          /**< 1..MS_TENSOR_DIMENSIONS_MAX */
    int64_t shape[MS_TENSOR_DIMENSIONS_MAX]; /**< [dimensions] >= 1 [elements] */
    double element_B;                        /**< bytes of one element [B] */
} ms_tensor;

/** One step of a redistribution, which all groups along one axis do at the same time. */
typedef struct ms_reshard_step {
    ms_coll_kind kind; /**< collective of the step; MS_COLL_NONE: each rank keeps a part of what it
                          has, without communication */
    int axis;          /**< of the mesh */
    ms_tensor_placement from, to;
    double size_B; /**< full buffer of one rank, as collectives count it: all-gather its output, the
                      others their input [B] */
    double sent_B; /**< bytes a rank sends [B] */
} ms_reshard_step;

/** At most one step onto and one off each axis. */
enum { MS_RESHARD_STEPS_MAX = 2 * MS_MESH_AXES_MAX };

/** What moves a tensor from one placement to another. */
typedef struct ms_reshard_plan {
    ms_reshard_step steps[MS_RESHARD_STEPS_MAX]; /**< [count] in order */
    int count;
    double sent_B; /**< bytes a rank sends, all steps [B] */
} ms_reshard_plan;

/** What every rank holds of a tensor.
 *  local_out: [dimensions] elements.  Returns MS_OK; MS_E_INPUT where a spec shards a dimension
 * that the tensor lacks or that the sizes of its axes do not divide (reported, naming dimension,
 * size and axis).  O(axes). */
ms_status ms_spec_local_shape(const ms_mesh *mesh, const ms_spec *spec, const ms_tensor *tensor,
                              ms_diag *diag, int64_t *local_out);

/** Bytes of a local shape [B]. */
double ms_tensor_bytes(const ms_tensor *tensor, const int64_t *shape);

/** From one spec to another, and which collectives that takes: shard to replicate an all-gather,
 * shard to shard of another dimension an all-to-all, partial to replicate an all-reduce, partial to
 * shard a reduce-scatter, replicate to shard a cut without traffic. Steps that shrink what a rank
 * holds come first; an axis leaves a dimension only after the axes inside it.
 *  Both specs must suit the tensor.  Returns MS_OK; MS_E_INPUT where a local shape does not exist,
 * or an axis is to become partial (reported).  O(axes^3). Source of the sent bytes: ring and
 * pairwise algorithms, (n-1)/n of the buffer, twice that for the all-reduce. */
ms_status ms_reshard(const ms_mesh *mesh, const ms_tensor *tensor, const ms_spec *from,
                     const ms_spec *to, ms_diag *diag, ms_reshard_plan *plan_out);

/** Placement as text: "replicate", "partial", "shard1".  text_out: [size].  Returns text_out. */
char *ms_tensor_placement_text(ms_tensor_placement placement, char *text_out, size_t size);

#endif
