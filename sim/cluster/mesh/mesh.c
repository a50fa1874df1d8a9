/* Device meshes (mesh.h): a rank is a number in mixed radix, whose digits are its coordinates on
 * the named axes. Converts between ranks and coordinates, finds axes and groups, and the tiers of
 * links that groups cross. */
#include "cluster/mesh/mesh.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Largest number of ranks of a mesh. */
enum { RANKS_MAX = 1 << 24 };

/* Check number, names and sizes of axes.  names, sizes: [axes].  Returns MS_OK; MS_E_INPUT
 * (reported). */
static ms_status check_axes(const char *const *names, const int *sizes, int axes, ms_diag *diag) {
    if (axes < 1 || axes > MS_MESH_AXES_MAX) {
        return ms_diag_error(diag, "a mesh has 1 to %d axes, got %d", (int)MS_MESH_AXES_MAX, axes);
    }
    for (int i = 0; i < axes; i++) {
        if (names[i] == NULL || names[i][0] == '\0') {
            return ms_diag_error(diag, "mesh axis %d of %d has no name", i + 1, axes);
        }
        if (sizes[i] < 1) {
            return ms_diag_error(diag, "mesh axis '%s' has size %d; it must be at least 1",
                                 names[i], sizes[i]);
        }
        for (int j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0) {
                return ms_diag_error(diag, "mesh axis '%s' stands twice, with sizes %d and %d",
                                     names[i], sizes[j], sizes[i]);
            }
        }
    }
    return MS_OK;
}

/* The innermost axis gets stride 1, each further one the product of the sizes inside it. */
ms_status ms_mesh_init(ms_mesh *mesh_out, const char *const *names, const int *sizes, int axes,
                       ms_diag *diag) {
    ms_status status = check_axes(names, sizes, axes, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_mesh mesh = {.axes = axes};
    int64_t ranks = 1;
    for (int i = axes - 1; i >= 0; i--) {
        mesh.names[i] = names[i];
        mesh.kinds[i] = ms_axis_from_name(names[i]);
        mesh.sizes[i] = sizes[i];
        mesh.strides[i] = (int)ranks;
        ranks *= sizes[i];
        if (ranks > RANKS_MAX) {
            return ms_diag_error(diag,
                                 "the mesh has more than %d ranks: axis '%s' of size %d over %d",
                                 (int)RANKS_MAX, names[i], sizes[i], mesh.strides[i]);
        }
    }
    mesh.ranks = (int)ranks;
    *mesh_out = mesh;
    return MS_OK;
}

int ms_mesh_axis(const ms_mesh *mesh, const char *name) {
    return ms_word_index(name, mesh->names, mesh->axes);
}

/* Write the names of a mesh's axes, such as "pp, dp, tp".  text: [size]. */
static void list_axes(const ms_mesh *mesh, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < mesh->axes && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%s", i == 0 ? "" : ", ",
                                   mesh->names[i]);
    }
}

ms_status ms_mesh_find_axis(const ms_mesh *mesh, const char *name, ms_diag *diag, int *axis_out) {
    int axis = ms_mesh_axis(mesh, name);
    if (axis >= 0) {
        *axis_out = axis;
        return MS_OK;
    }
    /* a usual name that this mesh lacks, such as cp, is no misspelt name of another axis */
    bool is_usual = ms_axis_from_name(name) != MS_AXIS_OTHER;
    const char *nearest = is_usual ? NULL : ms_nearest_word(name, mesh->names, (size_t)mesh->axes);
    if (nearest != NULL) {
        return ms_diag_error(diag, "the mesh has no axis '%s'; did you mean '%s'?", name, nearest);
    }
    char axes[MS_MESH_AXES_MAX * 16];
    list_axes(mesh, axes, sizeof axes);
    return ms_diag_error(diag, "the mesh has no axis '%s'; its axes are %s", name, axes);
}

/* Index of the axis of a kind; -1 if the mesh has none. */
static int axis_of_kind(const ms_mesh *mesh, ms_axis kind) {
    for (int i = 0; i < mesh->axes; i++) {
        if (mesh->kinds[i] == kind) {
            return i;
        }
    }
    return -1;
}

int ms_mesh_size(const ms_mesh *mesh, ms_axis kind) {
    int axis = axis_of_kind(mesh, kind);
    return axis < 0 ? 1 : mesh->sizes[axis];
}

/* Coordinate of a rank on an axis, given by index. */
static int coordinate_on(const ms_mesh *mesh, int rank, int axis) {
    return (rank - mesh->first) / mesh->strides[axis] % mesh->sizes[axis];
}

void ms_mesh_coordinates(const ms_mesh *mesh, int rank, int *coordinates_out) {
    for (int i = 0; i < mesh->axes; i++) {
        coordinates_out[i] = coordinate_on(mesh, rank, i);
    }
}

int ms_mesh_rank_at(const ms_mesh *mesh, int index) {
    int rank = mesh->first;
    for (int i = mesh->axes - 1; i >= 0; i--) {
        rank += index % mesh->sizes[i] * mesh->strides[i];
        index /= mesh->sizes[i];
    }
    return rank;
}

int ms_mesh_device(const ms_mesh *mesh, int rank) {
    return mesh->devices == NULL ? rank : mesh->devices[rank];
}

void ms_mesh_to_devices(const ms_mesh *mesh, int *ranks, int count) {
    for (int i = 0; i < count; i++) {
        ranks[i] = ms_mesh_device(mesh, ranks[i]);
    }
}

int ms_mesh_coordinate(const ms_mesh *mesh, int rank, ms_axis kind) {
    int axis = axis_of_kind(mesh, kind);
    return axis < 0 ? 0 : coordinate_on(mesh, rank, axis);
}

int ms_mesh_neighbour(const ms_mesh *mesh, int rank, ms_axis kind, int coordinate) {
    int axis = axis_of_kind(mesh, kind);
    if (axis < 0) {
        return rank;
    }
    return rank + (coordinate - coordinate_on(mesh, rank, axis)) * mesh->strides[axis];
}

int ms_mesh_group_count(const ms_mesh *mesh, int axis) {
    return mesh->ranks / mesh->sizes[axis];
}

/* The axis with the smallest stride of those that are not in the set `taken`; -1 if there is none.
 * taken: bit i is axis i. */
static int closest_axis(const ms_mesh *mesh, unsigned taken) {
    int closest = -1;
    for (int i = mesh->axes - 1; i >= 0; i--) {
        bool is_free = (taken & (1U << (unsigned)i)) == 0;
        if (is_free && (closest < 0 || mesh->strides[i] < mesh->strides[closest])) {
            closest = i;
        }
    }
    return closest;
}

ms_group ms_mesh_group_at(const ms_mesh *mesh, int axis, int index) {
    unsigned taken = 1U << (unsigned)axis;
    int first = mesh->first;
    /* counting through the other axes, that of the smallest stride fastest, gives ascending
     * ranks */
    for (int i = closest_axis(mesh, taken); i >= 0; i = closest_axis(mesh, taken)) {
        first += index % mesh->sizes[i] * mesh->strides[i];
        index /= mesh->sizes[i];
        taken |= 1U << (unsigned)i;
    }
    return (ms_group){.first = first, .stride = mesh->strides[axis], .size = mesh->sizes[axis]};
}

/* The outermost tier that the route between the GPUs of two ranks crosses. */
static int neighbour_tier(const ms_mesh *mesh, int rank, int neighbour,
                          const ms_platform *platform) {
    ms_route route;
    ms_platform_route(platform, ms_mesh_device(mesh, rank), ms_mesh_device(mesh, neighbour),
                      &route);
    return route.tier;
}

int ms_mesh_group_tier(const ms_mesh *mesh, const ms_group *group, const ms_platform *platform) {
    int tier = -1;
    /* ends early at the outermost tier of the platform: no higher one can follow */
    for (int m = 0; m + 1 < group->size && tier + 1 < platform->tier_count; m++) {
        int rank = group->first + m * group->stride;
        int crossed = neighbour_tier(mesh, rank, rank + group->stride, platform);
        tier = crossed > tier ? crossed : tier;
    }
    return tier;
}

int ms_mesh_axis_tier(const ms_mesh *mesh, int axis, const ms_platform *platform) {
    int tier = -1;
    int groups = ms_mesh_group_count(mesh, axis);
    for (int i = 0; i < groups && tier + 1 < platform->tier_count; i++) {
        ms_group group = ms_mesh_group_at(mesh, axis, i);
        int crossed = ms_mesh_group_tier(mesh, &group, platform);
        tier = crossed > tier ? crossed : tier;
    }
    return tier;
}
