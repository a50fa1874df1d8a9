/* What must hold for every mesh: round trips from a rank to its coordinates and back, and groups
 * of each axis that partition the ranks. */
#ifndef MS_MESH_CHECK_H
#define MS_MESH_CHECK_H

#include <stdint.h>

#include "cluster/mesh/mesh.h"

/* The rank at coordinates [axes]. */
static inline int mesh_rank(const ms_mesh *mesh, const int *coordinates) {
    int rank = mesh->first;
    for (int i = 0; i < mesh->axes; i++) {
        rank += coordinates[i] * mesh->strides[i];
    }
    return rank;
}

/* The group of a rank along an axis, by the axis's index. */
static inline ms_group mesh_group(const ms_mesh *mesh, int axis, int rank) {
    int coordinates[MS_MESH_AXES_MAX];
    ms_mesh_coordinates(mesh, rank, coordinates);
    int stride = mesh->strides[axis];
    return (ms_group){
        .first = rank - coordinates[axis] * stride, .stride = stride, .size = mesh->sizes[axis]};
}

static inline ms_status mesh_fault(ms_diag *diag, const char *what, int rank, int axis) {
    ms_diag_error(diag, "mesh invariant broken: %s (rank %d, axis %d)", what, rank, axis);
    return MS_E_BUG;
}

static inline ms_status mesh_check_round_trips(const ms_mesh *mesh, ms_diag *diag) {
    int64_t places = 1;
    for (int axis = 0; axis < mesh->axes; axis++) {
        places *= mesh->sizes[axis];
    }
    if (places != mesh->ranks) {
        return mesh_fault(diag, "the product of the sizes is not the number of ranks", mesh->ranks,
                          -1);
    }
    for (int place = 0; place < mesh->ranks; place++) {
        int rank = ms_mesh_rank_at(mesh, place);
        int coordinates[MS_MESH_AXES_MAX];
        ms_mesh_coordinates(mesh, rank, coordinates);
        for (int axis = 0; axis < mesh->axes; axis++) {
            if (coordinates[axis] < 0 || coordinates[axis] >= mesh->sizes[axis]) {
                return mesh_fault(diag, "coordinate outside its axis", rank, axis);
            }
        }
        if (mesh_rank(mesh, coordinates) != rank) {
            return mesh_fault(diag, "coordinates lead to another rank", rank, -1);
        }
    }
    return MS_OK;
}

/* Every member names this group as its own, so groups are disjoint; counted, they cover all. */
static inline ms_status mesh_check_partition(const ms_mesh *mesh, int axis, ms_diag *diag) {
    int covered = 0;
    int previous = -1;
    int last = ms_mesh_rank_at(mesh, mesh->ranks - 1);
    for (int index = 0; index < ms_mesh_group_count(mesh, axis); index++) {
        ms_group group = ms_mesh_group_at(mesh, axis, index);
        if (group.first <= previous) {
            return mesh_fault(diag, "groups out of order", group.first, axis);
        }
        previous = group.first;
        for (int i = 0; i < group.size; i++) {
            int rank = group.first + i * group.stride;
            if (rank > last || mesh_group(mesh, axis, rank).first != group.first) {
                return mesh_fault(diag, "member belongs to another group", rank, axis);
            }
            covered++;
        }
    }
    return covered == mesh->ranks ? MS_OK : mesh_fault(diag, "groups miss ranks", covered, axis);
}

static inline ms_status mesh_check(const ms_mesh *mesh, ms_diag *diag) {
    ms_status status = mesh_check_round_trips(mesh, diag);
    for (int axis = 0; axis < mesh->axes && status == MS_OK; axis++) {
        status = mesh_check_partition(mesh, axis, diag);
    }
    return status;
}

#endif
