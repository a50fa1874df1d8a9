/**
 * @file
 * Device meshes: named axes over the ranks 0..N-1, in any order, with their groups.
 */
#ifndef MESHSIM_MESH_H
#define MESHSIM_MESH_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/config.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/platform.h"
#include "meshsim/status.h"

enum { MS_MESH_AXES_MAX = 8 };

/** Axes from outermost (slowest varying rank) to innermost. */
typedef struct ms_mesh {
    int axes;                            /**< number of axes, 1..MS_MESH_AXES_MAX */
    const char *names[MS_MESH_AXES_MAX]; /**< [axes], outermost first */
    ms_axis kinds[MS_MESH_AXES_MAX];     /**< [axes] */
    int sizes[MS_MESH_AXES_MAX];         /**< [axes] >= 1 */
    int strides[MS_MESH_AXES_MAX];       /**< [axes] rank distance of neighbours along the axis */
    int ranks;                           /**< N, the product of the sizes */
} ms_mesh;

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
/** Size of an axis by kind; 1 if the mesh has no such axis. */
int ms_mesh_size(const ms_mesh *mesh, ms_axis kind);

/** Coordinates of a rank.  rank: 0..N-1.  coordinates_out: [axes].  O(axes). */
void ms_mesh_coordinates(const ms_mesh *mesh, int rank, int *coordinates_out);
/** Rank at coordinates [axes].  O(axes). */
int ms_mesh_rank(const ms_mesh *mesh, const int *coordinates);
/** Coordinate of a rank on the axis of a kind; 0 if the mesh has no such axis. */
int ms_mesh_coordinate(const ms_mesh *mesh, int rank, ms_axis kind);
/** The rank whose coordinate on the axis of `kind` is `coordinate`, others as `rank`'s. */
int ms_mesh_neighbour(const ms_mesh *mesh, int rank, ms_axis kind, int coordinate);

/** The group of `rank` along axis index `axis` (0..axes-1).  O(1). */
ms_group ms_mesh_group(const ms_mesh *mesh, int axis, int rank);
/** Number of groups along an axis, N / size. */
int ms_mesh_group_count(const ms_mesh *mesh, int axis);
/** Group `index` (0..count-1, in the order of their lowest ranks) along an axis.  O(1). */
ms_group ms_mesh_group_at(const ms_mesh *mesh, int axis, int index);

/** Ranks that differ from `rank` on a set of axes only: a group along several axes flattened into
 * one. axes: MS_AXIS_BIT of each kind; kinds the mesh lacks count as size 1.  members_out: [product
 * of their sizes] ranks, ascending, or NULL to count only.  Returns the number of members.
 * O(members * axes). */
int ms_mesh_members(const ms_mesh *mesh, unsigned axes, int rank, int *members_out);

/** Invariants: round trips rank <-> coordinates, groups of each axis partition the ranks.
 *  Returns MS_OK; MS_E_BUG, reported.  O(N * axes). */
ms_status ms_mesh_check(const ms_mesh *mesh, ms_diag *diag);

/** Outermost platform tier that a group's neighbouring members cross (rank r on GPU r); -1 for a
 * group of one. */
int ms_mesh_group_tier(const ms_group *group, const ms_platform *platform);

/** Read the workload's `mesh:` mapping: axis sizes by name and `order: [outermost, ..]` (default
 * [pp, dp, cp, tp], axes absent there with size 1).  Unknown keys are new axes only if they stand
 * in `order`.  Names live in `arena`. Returns MS_OK; MS_E_INPUT, reported. */
ms_status ms_mesh_read(const ms_node *mapping, const char *key_path, ms_arena *arena, ms_diag *diag,
                       ms_mesh *mesh_out);

#endif
