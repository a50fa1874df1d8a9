/* Mesh algebra: mixed-radix numbers over named axes. */
#include "meshsim/mesh.h"

#include <stdint.h>
#include <string.h>

enum { RANKS_MAX = 1 << 24 };

static ms_status check_axes(const char *const *names, const int *sizes, int axes, ms_diag *diag) {
    if (axes < 1 || axes > MS_MESH_AXES_MAX) {
        ms_diag_error(diag, "a mesh has 1 to %d axes, got %d", (int)MS_MESH_AXES_MAX, axes);
        return MS_E_INPUT;
    }
    for (int i = 0; i < axes; i++) {
        if (names[i] == NULL || names[i][0] == '\0') {
            ms_diag_error(diag, "mesh axis %d of %d has no name", i + 1, axes);
            return MS_E_INPUT;
        }
        if (sizes[i] < 1) {
            ms_diag_error(diag, "mesh axis '%s' has size %d; it must be at least 1", names[i],
                          sizes[i]);
            return MS_E_INPUT;
        }
        for (int j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0) {
                ms_diag_error(diag, "mesh axis '%s' stands twice, with sizes %d and %d", names[i],
                              sizes[j], sizes[i]);
                return MS_E_INPUT;
            }
        }
    }
    return MS_OK;
}

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
            ms_diag_error(diag, "the mesh has more than %d ranks: axis '%s' of size %d over %d",
                          (int)RANKS_MAX, names[i], sizes[i], mesh.strides[i]);
            return MS_E_INPUT;
        }
    }
    mesh.ranks = (int)ranks;
    *mesh_out = mesh;
    return MS_OK;
}

int ms_mesh_axis(const ms_mesh *mesh, const char *name) {
    for (int i = 0; i < mesh->axes; i++) {
        if (strcmp(mesh->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

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

static int coordinate_on(const ms_mesh *mesh, int rank, int axis) {
    return rank / mesh->strides[axis] % mesh->sizes[axis];
}

void ms_mesh_coordinates(const ms_mesh *mesh, int rank, int *coordinates_out) {
    for (int i = 0; i < mesh->axes; i++) {
        coordinates_out[i] = coordinate_on(mesh, rank, i);
    }
}

int ms_mesh_rank(const ms_mesh *mesh, const int *coordinates) {
    int rank = 0;
    for (int i = 0; i < mesh->axes; i++) {
        rank += coordinates[i] * mesh->strides[i];
    }
    return rank;
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

ms_group ms_mesh_group(const ms_mesh *mesh, int axis, int rank) {
    int stride = mesh->strides[axis];
    return (ms_group){.first = rank - coordinate_on(mesh, rank, axis) * stride,
                      .stride = stride,
                      .size = mesh->sizes[axis]};
}

int ms_mesh_group_count(const ms_mesh *mesh, int axis) {
    return mesh->ranks / mesh->sizes[axis];
}

ms_group ms_mesh_group_at(const ms_mesh *mesh, int axis, int index) {
    int stride = mesh->strides[axis];
    int size = mesh->sizes[axis];
    return (ms_group){
        .first = index / stride * stride * size + index % stride, .stride = stride, .size = size};
}

int ms_mesh_group_tier(const ms_group *group, const ms_platform *platform) {
    int tier = -1;
    for (int i = 0; i + 1 < group->size; i++) {
        int rank = group->first + i * group->stride;
        ms_route route;
        ms_platform_route(platform, rank, rank + group->stride, &route);
        tier = route.tier > tier ? route.tier : tier;
    }
    return tier;
}
