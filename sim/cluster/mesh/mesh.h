/**
 * @file
 * Device meshes: named axes over the ranks 0..N-1, in any order, with their groups; and the algebra
 * that makes one mesh from another.
 *
 * A mesh is a strided view: the rank at coordinates c is first + sum(c[axis] * strides[axis]), so
 * transposing, cutting out a sub-mesh, and most reshapes and flattenings only change these numbers.
 * What no strides can say (a list of GPUs, a reshaped transposition, axes flattened over others)
 * has a table of devices beside it: ranks keep their arithmetic, and ms_mesh_device() looks up the
 * GPU. The mesh of a job has one
 * where the job is placed (placement.h).
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

/** Axes from outermost (slowest varying rank, unless transposed) to innermost. */
typedef struct ms_mesh {
    int axes;                            /**< number of axes, 1..MS_MESH_AXES_MAX */
    const char *names[MS_MESH_AXES_MAX]; /**< [axes], outermost first */
    ms_axis kinds[MS_MESH_AXES_MAX];     /**< [axes] */
    int sizes[MS_MESH_AXES_MAX];         /**< [axes] >= 1 */
    int strides[MS_MESH_AXES_MAX];       /**< [axes] rank distance of neighbours along the axis */
    int ranks;                           /**< N, the product of the sizes */
    int first;                           /**< rank at coordinates 0; above 0 in a sub-mesh only */
    const int *devices; /**< [ranks of the whole mesh] GPU of each rank; NULL: rank r is GPU r */
} ms_mesh;

/** Axes to be, outermost first. */
typedef struct ms_mesh_shape {
    const char *const *names; /**< [axes] borrowed */
    const int *sizes;         /**< [axes] >= 1 */
    int axes;
} ms_mesh_shape;

/** The ranks that differ in one axis only, as an arithmetic sequence. */
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

/** The same for a name that should be one. Returns MS_OK; MS_E_INPUT (reported, with the axes, or
 * the nearest one to a slip), *axis_out untouched. */
ms_status ms_mesh_find_axis(const ms_mesh *mesh, const char *name, ms_diag *diag, int *axis_out);
/** Size of an axis by kind; 1 if the mesh has no such axis. */
int ms_mesh_size(const ms_mesh *mesh, ms_axis kind);

/** Coordinates of a rank.  rank: one of the mesh.  coordinates_out: [axes].  O(axes). */
void ms_mesh_coordinates(const ms_mesh *mesh, int rank, int *coordinates_out);
/** Coordinate of a rank on the axis of a kind; 0 if the mesh has no such axis. */
int ms_mesh_coordinate(const ms_mesh *mesh, int rank, ms_axis kind);
/** The rank whose coordinate on the axis of `kind` is `coordinate`, others as `rank`'s. */
int ms_mesh_neighbour(const ms_mesh *mesh, int rank, ms_axis kind, int coordinate);

/** Rank at an index when counting through the axes, innermost fastest.  index: 0..N-1.  O(axes). */
int ms_mesh_rank_at(const ms_mesh *mesh, int index);
/** GPU of a rank.  O(1). */
int ms_mesh_device(const ms_mesh *mesh, int rank);
/** Replace each rank by its GPU.  ranks: [count], such as ms_mesh_members gives. */
void ms_mesh_to_devices(const ms_mesh *mesh, int *ranks, int count);

/** Number of groups along an axis, N / size. */
int ms_mesh_group_count(const ms_mesh *mesh, int axis);
/** Group `index` (0..count-1, in the order of their lowest ranks) along an axis.  O(axes^2).
 */
ms_group ms_mesh_group_at(const ms_mesh *mesh, int axis, int index);

/** Ranks that differ from `rank` on a set of axes only: a group along several axes flattened into
 * one. axes: MS_AXIS_BIT of each kind; kinds the mesh lacks count as size 1.  members_out: [product
 * of their sizes] ranks, ascending, or NULL to count only.  Returns the number of members.
 * O(members * axes). */
int ms_mesh_members(const ms_mesh *mesh, unsigned axes, int rank, int *members_out);
/** Whether a rank is the lowest of its group that spans a set of axes, as in ms_mesh_members: every
 * group has one such rank, so walking over all ranks and taking these meets each group once.
 * O(axes). */
bool ms_mesh_is_lead(const ms_mesh *mesh, unsigned axes, int rank);

/** Sizes of the axes that a framework knows, each >= 1. */
typedef struct ms_axis_sizes {
    int tp, pp, cp, ep, dp;
} ms_axis_sizes;

/** Which meshes ms_mesh_walk_all visits. */
typedef struct ms_mesh_walk {
    int ranks;            /**< product of all sizes */
    ms_axis_sizes most;   /**< largest size of each axis; dp takes what the others leave */
    ms_axis_sizes beside; /**< tp, cp, ep: one more size to visit besides powers of two */
} ms_mesh_walk;

/** Visit every mesh of a number of ranks whose tp, cp and ep are powers of two and whose pp is any
 * divisor of the ranks: tp is the outermost loop, then pp, cp and ep.
 *  visit: its status other than MS_OK ends the walk.  Returns the visitor's last status.  O(visits,
 * and the largest sizes). */
ms_status ms_mesh_walk_all(const ms_mesh_walk *walk,
                           ms_status (*visit)(void *context, const ms_axis_sizes *sizes),
                           void *context);

/** Whichever mesh a set of axes is of.  experts: NULL where the experts have none of their own. */
static inline const ms_mesh *ms_mesh_of_axes(const ms_mesh *mesh, const ms_mesh *experts,
                                             unsigned axes) {
    return (axes & MS_AXES_OF_EXPERTS) != 0 && experts != NULL ? experts : mesh;
}

/** Axes of the experts' own mesh. */
typedef struct ms_expert_axes {
    int ep; /**< ranks that a layer's experts are spread over, >= 1; 0: no mesh of their own */
    int tp; /**< ranks that share an expert, >= 1 */
    ms_words order; /**< pp, dp, ep and tp, outermost first; count 0: in this order */
} ms_expert_axes;

/** Lay the experts' axes over the ranks of a mesh; dp is what they leave of them.
 *  axes: with ep >= 1.  *experts_out: every rank has the pipeline rank it has in `mesh`; static
 * names.  Returns MS_OK; MS_E_INPUT (reported) where they do not divide the ranks, repeat an axis
 * of `mesh` or part a stage.  O(N). Source: Megatron Core, parallel_state.py,
 * expert_decoder_rank_generator. */
ms_status ms_mesh_of_experts(const ms_mesh *mesh, const ms_expert_axes *axes, ms_diag *diag,
                             ms_mesh *experts_out);

/** Whether a platform has every rank's GPU.
 *  Returns MS_OK; MS_E_INPUT (reported, with the numbers).  O(N * axes). */
ms_status ms_mesh_check_devices(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag);

/** Give the ranks GPUs of their own choosing.
 *  mesh: from ms_mesh_init.  devices: [count] GPU of each rank, >= 0, no repeats; copied to
 * `arena`. Returns MS_OK; MS_E_INPUT if count is not N or a device repeats or is negative
 * (reported, naming the numbers); MS_E_NOMEM. Nothing changes then.  O(N log N). */
ms_status ms_mesh_set_devices(ms_mesh *mesh, const int *devices, int count, ms_arena *arena,
                              ms_diag *diag);

/** The same ranks in the same order, under other axes.
 *  Returns MS_OK; MS_E_INPUT as ms_mesh_init, or where the product is not N (reported); MS_E_NOMEM.
 *  O(axes) where strides say it, else O(N * axes) with a table of devices in `arena`. */
ms_status ms_mesh_reshape(const ms_mesh *mesh, const ms_mesh_shape *shape, ms_arena *arena,
                          ms_diag *diag, ms_mesh *mesh_out);

/** The axes in another order; coordinates keep their ranks, so the groups stay as they were.
 *  order: every axis once, outermost first.  Returns MS_OK; MS_E_INPUT for an axis the mesh lacks,
 * or left out, or twice (reported).  O(axes^2). */
ms_status ms_mesh_transpose(const ms_mesh *mesh, const ms_words *order, ms_diag *diag,
                            ms_mesh *mesh_out);

/** The part of a mesh where one axis stands still; that axis is gone from it.
 *  Returns MS_OK; MS_E_INPUT for an unknown axis, the only axis, or a coordinate outside 0..size-1
 * (reported).  O(axes). */
ms_status ms_mesh_sub(const ms_mesh *mesh, const char *axis, int coordinate, ms_diag *diag,
                      ms_mesh *mesh_out);

/** Several axes as one, named by theirs joined with '_' (dp and cp: dp_cp), the first given varying
 * slowest; it stands where the outermost of them stood.
 *  Returns MS_OK; MS_E_INPUT for fewer than two axes, an unknown or repeated one (reported);
 * MS_E_NOMEM.  O(axes) where strides say it, else O(N * axes) with a table in `arena`, which has
 * the name as well. */
ms_status ms_mesh_flatten(const ms_mesh *mesh, const ms_words *axes, ms_arena *arena, ms_diag *diag,
                          ms_mesh *mesh_out);

/** What is known of a mesh to be found. */
typedef struct ms_mesh_wish {
    ms_mesh_shape given;            /**< degrees that are fixed; dp may be among them */
    const ms_words *order;          /**< all axes, outermost first; NULL: dp, pp, cp, others, tp */
    const ms_platform *platform;    /**< the mesh takes all GPUs of the platform */
    bool may_leave_scale_up_domain; /**< tp groups may cross more than the innermost tier */
} ms_mesh_wish;

/** The mesh over all GPUs of a platform with given degrees: dp is what they leave.
 *  Returns MS_OK; MS_E_INPUT where the degrees do not divide the GPUs, or tp groups leave the GPUs
 * that share the innermost tier without leave to (reported, with the numbers and the nearest legal
 * ones).  Names are borrowed from the wish.  O(N) routes. */
ms_status ms_mesh_automatic(const ms_mesh_wish *wish, ms_diag *diag, ms_mesh *mesh_out);

/** Outermost tier that neighbours of any group along an axis cross, rank r on its device; -1 for an
 * axis of size 1. Devices must be GPUs of the platform.  O(N) routes, fewer where the outermost
 * tier is met early. */
int ms_mesh_axis_tier(const ms_mesh *mesh, int axis, const ms_platform *platform);

/** Outermost platform tier that a group's neighbouring members cross, rank r on its device; -1 for
 * a group of one. */
int ms_mesh_group_tier(const ms_mesh *mesh, const ms_group *group, const ms_platform *platform);

/** The keys of `mesh:`, for listings: the axes that are known by name, and their order. */
extern const ms_field MS_MESH_FIELDS[];

/** How they are written: an axis may have a name of its own. */
extern const ms_field_shape MS_MESH_SHAPE;

/** Read the workload's `mesh:` mapping: axis sizes by name and `order: [outermost, ..]` (default
 * [pp, dp, cp, tp], axes absent there with size 1).  Unknown keys are new axes only if they stand
 * in `order`.  Names live in `arena`. Returns MS_OK; MS_E_INPUT, reported. */
ms_status ms_mesh_read(const ms_node *mapping, const char *key_path, ms_arena *arena, ms_diag *diag,
                       ms_mesh *mesh_out);

#endif
