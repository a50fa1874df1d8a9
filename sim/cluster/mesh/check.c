/* What must hold for every mesh. */
#include <stdint.h>

#include "cluster/mesh/mesh.h"

static ms_status fail(ms_diag *diag, const char *what, int rank, int axis) {
    ms_diag_error(diag, "mesh invariant broken: %s (rank %d, axis %d)", what, rank, axis);
    return MS_E_BUG;
}

static ms_status check_round_trips(const ms_mesh *mesh, ms_diag *diag) {
    int64_t places = 1;
    for (int axis = 0; axis < mesh->axes; axis++) {
        places *= mesh->sizes[axis];
    }
    if (places != mesh->ranks) {
        return fail(diag, "the product of the sizes is not the number of ranks", mesh->ranks, -1);
    }
    for (int place = 0; place < mesh->ranks; place++) {
        int rank = ms_mesh_rank_at(mesh, place);
        int coordinates[MS_MESH_AXES_MAX];
        ms_mesh_coordinates(mesh, rank, coordinates);
        for (int axis = 0; axis < mesh->axes; axis++) {
            if (coordinates[axis] < 0 || coordinates[axis] >= mesh->sizes[axis]) {
                return fail(diag, "coordinate outside its axis", rank, axis);
            }
        }
        if (ms_mesh_rank(mesh, coordinates) != rank) {
            return fail(diag, "coordinates lead to another rank", rank, -1);
        }
    }
    return MS_OK;
}

/* Every member names this group as its own, so groups are disjoint; counted, they cover all. */
static ms_status check_partition(const ms_mesh *mesh, int axis, ms_diag *diag) {
    int covered = 0;
    int previous = -1;
    int last = ms_mesh_rank_at(mesh, mesh->ranks - 1);
    for (int index = 0; index < ms_mesh_group_count(mesh, axis); index++) {
        ms_group group = ms_mesh_group_at(mesh, axis, index);
        if (group.first <= previous) {
            return fail(diag, "groups out of order", group.first, axis);
        }
        previous = group.first;
        for (int i = 0; i < group.size; i++) {
            int rank = group.first + i * group.stride;
            if (rank > last || ms_mesh_group(mesh, axis, rank).first != group.first) {
                return fail(diag, "member belongs to another group", rank, axis);
            }
            covered++;
        }
    }
    return covered == mesh->ranks ? MS_OK : fail(diag, "groups miss ranks", covered, axis);
}

ms_status ms_mesh_check(const ms_mesh *mesh, ms_diag *diag) {
    ms_status status = check_round_trips(mesh, diag);
    for (int axis = 0; axis < mesh->axes && status == MS_OK; axis++) {
        status = check_partition(mesh, axis, diag);
    }
    return status;
}

ms_status ms_mesh_check_devices(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag) {
    int gpus = ms_platform_gpus(platform);
    if (mesh->devices == NULL && mesh->first == 0 && mesh->ranks > gpus) {
        ms_diag_error(diag, "the mesh has %d ranks, platform '%s' has %d GPUs", mesh->ranks,
                      platform->name, gpus);
        return MS_E_INPUT;
    }
    for (int place = 0; place < mesh->ranks; place++) {
        int device = ms_mesh_device(mesh, ms_mesh_rank_at(mesh, place));
        if (device >= gpus) {
            ms_diag_error(diag, "the mesh uses GPU %d, platform '%s' has 0 to %d", device,
                          platform->name, gpus - 1);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}
