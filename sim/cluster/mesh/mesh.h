/**
 * @file
 * Device meshes: named axes (tp, pp, dp, ...) over the ranks 0..N-1, in any order, with their
 * groups; and operations that make one mesh from another.
 *
 * A mesh is a strided view: the rank at coordinates c is first + sum(c[axis] * strides[axis]). So
 * transposing, cutting out a sub-mesh, and most reshapes and flattenings only change these numbers.
 * A mesh that strides cannot express (a list of GPUs, a reshaped transposition, axes flattened over
 * others) has a table of devices besides: ranks are still computed by strides, and ms_mesh_device()
 * looks up the GPU of a rank. The mesh of a job has such a table where the job is placed
 * (placement.h).
 */
#ifndef MESHSIM_MESH_H
#define MESHSIM_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/platform/platform.h"

enum { MS_MESH_AXES_MAX = 8 };

/** A mesh. Its axes are listed from outermost to innermost; the outermost one varies slowest with
 * the rank, unless the mesh was transposed. */
typedef struct ms_mesh {
    int axes;                            /**< number of axes, 1..MS_MESH_AXES_MAX */
    const char *names[MS_MESH_AXES_MAX]; /**< [axes], outermost first */
    ms_axis kinds[MS_MESH_AXES_MAX];     /**< [axes] kind by name; MS_AXIS_OTHER for own names */
    int sizes[MS_MESH_AXES_MAX];         /**< [axes] >= 1 */
    int strides[MS_MESH_AXES_MAX];       /**< [axes] rank distance of neighbours along the axis */
    int ranks;                           /**< N, the product of the sizes */
    int first;                           /**< rank at coordinates 0; above 0 in a sub-mesh only */
    const int *devices; /**< [ranks of the whole mesh] GPU of each rank; NULL: rank r is GPU r */
} ms_mesh;

/** Names and sizes of the axes of a mesh to be made, outermost first. */
typedef struct ms_mesh_shape {
    const char *const *names; /**< [axes] borrowed */
    const int *sizes;         /**< [axes] >= 1 */
    int axes;
} ms_mesh_shape;

/** The ranks that differ on one axis only: first, first + stride, first + 2 * stride, ... */
typedef struct ms_group {
    int first;  /**< lowest rank */
    int stride; /**< distance of neighbours */
    int size;   /**< members */
} ms_group;

/** Build a mesh.
 *  names, sizes: [axes] in the order outermost to innermost; names are borrowed.
 *  Returns MS_OK; MS_E_INPUT for a repeated or empty name, size < 1, too many axes, a product above
 * 2^24 (reported, naming the numbers). */
ms_status ms_mesh_init(ms_mesh *mesh_out, const char *const *names, const int *sizes, int axes,
                       ms_diag *diag);

/** Index of an axis by name, -1 if the mesh has none. */
int ms_mesh_axis(const ms_mesh *mesh, const char *name);

/** Index of an axis by a name that the user gave. Returns MS_OK; MS_E_INPUT where the mesh lacks
 * the axis (reported, with all axes or the nearest name), *axis_out is then unchanged. */
ms_status ms_mesh_find_axis(const ms_mesh *mesh, const char *name, ms_diag *diag, int *axis_out);
/** Size of an axis by kind; 1 if the mesh has no such axis. */
int ms_mesh_size(const ms_mesh *mesh, ms_axis kind);

/** Coordinates of a rank.  rank: one of the mesh.  coordinates_out: [axes].  O(axes). */
void ms_mesh_coordinates(const ms_mesh *mesh, int rank, int *coordinates_out);
/** Coordinate of a rank on the axis of a kind; 0 if the mesh has no such axis. */
int ms_mesh_coordinate(const ms_mesh *mesh, int rank, ms_axis kind);
/** The rank that has `coordinate` on the axis of `kind`, and `rank`'s coordinates on all other
 * axes; `rank` if the mesh has no such axis. */
int ms_mesh_neighbour(const ms_mesh *mesh, int rank, ms_axis kind, int coordinate);

/** Rank at an index when counting through the axes, innermost fastest.  index: 0..N-1.  O(axes). */
int ms_mesh_rank_at(const ms_mesh *mesh, int index);
/** GPU of a rank.  O(1). */
int ms_mesh_device(const ms_mesh *mesh, int rank);
/** Replace each rank by its GPU.  ranks: [count], such as ms_mesh_members gives. */
void ms_mesh_to_devices(const ms_mesh *mesh, int *ranks, int count);

/** Number of groups along an axis, N / size. */
int ms_mesh_group_count(const ms_mesh *mesh, int axis);
/** A group along an axis.  index: 0..count-1; groups are numbered in the order of their lowest
 * ranks. O(axes^2). */
ms_group ms_mesh_group_at(const ms_mesh *mesh, int axis, int index);

/** The ranks that differ from `rank` on a set of axes only: a group along several axes flattened
 * into one.  axes: MS_AXIS_BIT of each kind; kinds that the mesh lacks count as size 1.
 * members_out: [product of their sizes] ranks, ascending; NULL: only count.  Returns the number of
 * members. O(members * axes). */
int ms_mesh_members(const ms_mesh *mesh, unsigned axes, int rank, int *members_out);
/** Whether a rank is the lowest of its group along a set of axes (as in ms_mesh_members). Every
 * group has one such rank, so a loop over all ranks that takes only these visits each group once.
 * O(axes). */
bool ms_mesh_is_lead(const ms_mesh *mesh, unsigned axes, int rank);

/** Sizes of the axes that a framework knows, each >= 1. */
typedef struct ms_axis_sizes {
    int tp, pp, cp, ep, dp;
} ms_axis_sizes;

/** The set of meshes that ms_mesh_walk_all visits. */
typedef struct ms_mesh_walk {
    int ranks;            /**< product of all sizes */
    ms_axis_sizes most;   /**< largest size of each axis; dp is not limited */
    ms_axis_sizes beside; /**< of tp, cp and ep: one more size to visit besides powers of two */
} ms_mesh_walk;

/** Visit every mesh of a number of ranks whose tp, cp and ep are powers of two and whose pp is any
 * divisor of the ranks; dp is the quotient. tp is the outermost loop, then pp, cp and ep.
 *  visit: a status other than MS_OK ends the walk.  Returns the visitor's last status.  O(visits,
 * and the largest sizes). */
ms_status ms_mesh_walk_all(const ms_mesh_walk *walk,
                           ms_status (*visit)(void *context, const ms_axis_sizes *sizes),
                           void *context);

/** The mesh that a set of axes belongs to: `experts` if the set has MS_AXES_OF_EXPERTS, else
 * `mesh`. experts: NULL where the experts have no mesh of their own; the result is then `mesh`. */
static inline const ms_mesh *ms_mesh_of_axes(const ms_mesh *mesh, const ms_mesh *experts,
                                             unsigned axes) {
    return (axes & MS_AXES_OF_EXPERTS) != 0 && experts != NULL ? experts : mesh;
}

/** Axes of the experts' own mesh. */
typedef struct ms_expert_axes {
    int ep;         /**< ranks over which a layer's experts are distributed, >= 1; 0: no own mesh */
    int tp;         /**< ranks that share each expert, >= 1 */
    ms_words order; /**< pp, dp, ep and tp, outermost first; count 0: in this order */
} ms_expert_axes;

/** Make the experts' own mesh over the ranks of a mesh; its dp is the quotient of the ranks of a
 * pipeline rank and ep * tp.
 *  axes: with ep >= 1.  *experts_out: every rank has the same pipeline rank as in `mesh`; its names
 * are static.  Returns MS_OK; MS_E_INPUT (reported) where ep * tp does not divide the ranks of a
 * pipeline rank, `mesh` has an axis ep as well, or a stage would get other ranks.  O(N).  Source:
 * Megatron Core, parallel_state.py, expert_decoder_rank_generator. */
ms_status ms_mesh_of_experts(const ms_mesh *mesh, const ms_expert_axes *axes, ms_diag *diag,
                             ms_mesh *experts_out);

/** Check that a platform has the GPU of every rank.
 *  Returns MS_OK; MS_E_INPUT (reported, with the numbers).  O(N * axes). */
ms_status ms_mesh_check_devices(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag);

/** Set the GPU of each rank.
 *  mesh: from ms_mesh_init.  devices: [count] GPU of each rank, >= 0, no repeats; copied to
 * `arena`. Returns MS_OK; MS_E_INPUT if count is not N or a device repeats or is negative
 * (reported, naming the numbers); MS_E_NOMEM. On failure the mesh is unchanged.  O(N log N). */
ms_status ms_mesh_set_devices(ms_mesh *mesh, const int *devices, int count, ms_arena *arena,
                              ms_diag *diag);

/** Make a mesh with other axes over the same ranks in the same order.
 *  Returns MS_OK; MS_E_INPUT as ms_mesh_init, or where the product is not N (reported); MS_E_NOMEM.
 *  O(axes) where strides can express it, else O(N * axes) with a table of devices in `arena`. */
ms_status ms_mesh_reshape(const ms_mesh *mesh, const ms_mesh_shape *shape, ms_arena *arena,
                          ms_diag *diag, ms_mesh *mesh_out);

/** Make a mesh with the axes in another order; coordinates keep their ranks, so the groups stay the
 * same.
 *  order: every axis once, outermost first.  Returns MS_OK; MS_E_INPUT for an axis that the mesh
 * lacks, or that is left out or named twice (reported).  O(axes^2). */
ms_status ms_mesh_transpose(const ms_mesh *mesh, const ms_words *order, ms_diag *diag,
                            ms_mesh *mesh_out);

/** Make the sub-mesh of the ranks that have one coordinate on one axis; the sub-mesh lacks that
 * axis.
 *  Returns MS_OK; MS_E_INPUT for an unknown axis, the only axis, or a coordinate outside 0..size-1
 * (reported).  O(axes). */
ms_status ms_mesh_sub(const ms_mesh *mesh, const char *axis, int coordinate, ms_diag *diag,
                      ms_mesh *mesh_out);

/** Make a mesh in which several axes are one. Its name is theirs joined with '_' (dp and cp:
 * dp_cp), the first of `axes` varies slowest, and it takes the position of the outermost of them.
 *  Returns MS_OK; MS_E_INPUT for fewer than two axes, an unknown or repeated one (reported);
 * MS_E_NOMEM.  O(axes) where strides can express it, else O(N * axes) with a table of devices.
 * Table and name are in `arena`. */
ms_status ms_mesh_flatten(const ms_mesh *mesh, const ms_words *axes, ms_arena *arena, ms_diag *diag,
                          ms_mesh *mesh_out);

/** The input of ms_mesh_automatic. */
typedef struct ms_mesh_wish {
    ms_mesh_shape given;            /**< degrees that are fixed; dp may be among them */
    const ms_words *order;          /**< all axes, outermost first; NULL: dp, pp, cp, others, tp */
    const ms_platform *platform;    /**< the mesh takes all GPUs of the platform */
    bool may_leave_scale_up_domain; /**< tp groups may cross more than the innermost tier */
} ms_mesh_wish;

/** Make the mesh over all GPUs of a platform with given degrees; dp is the quotient.
 *  Returns MS_OK; MS_E_INPUT where the degrees do not divide the number of GPUs, or where tp groups
 * cross more than the innermost tier and may not (reported, with the numbers and the nearest legal
 * ones).  Names are borrowed from the wish.  O(N) routes. */
ms_status ms_mesh_automatic(const ms_mesh_wish *wish, ms_diag *diag, ms_mesh *mesh_out);

/** The outermost tier that neighbours in any group along an axis cross, each rank on its GPU; -1
 * for an axis of size 1. Devices must be GPUs of the platform.  O(N) routes, fewer where the
 * outermost tier is met early. */
int ms_mesh_axis_tier(const ms_mesh *mesh, int axis, const ms_platform *platform);

/** The outermost tier that neighbouring members of a group cross, each rank on its GPU; -1 for a
 * group of one. */
int ms_mesh_group_tier(const ms_mesh *mesh, const ms_group *group, const ms_platform *platform);

/** The keys of `mesh:`, for listings: the axes that are known by name, and their order. */
extern const ms_field MS_MESH_FIELDS[];

/** The shape of `mesh:`: an axis may have a name of the user's. */
extern const ms_field_shape MS_MESH_SHAPE;

/** Read the workload's `mesh:` mapping: axis sizes by name and `order: [outermost, ..]` (default
 * [pp, dp, cp, tp], axes absent there with size 1).  Unknown keys are new axes only if `order`
 * names them.  Names live in `arena`. Returns MS_OK; MS_E_INPUT, reported. */
ms_status ms_mesh_read(const ms_node *mapping, const char *key_path, ms_arena *arena, ms_diag *diag,
                       ms_mesh *mesh_out);

#endif
