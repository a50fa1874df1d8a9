/* Checks that a platform has all GPUs that a mesh uses (ms_mesh_check_devices). */
#include "cluster/mesh/mesh.h"

ms_status ms_mesh_check_devices(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag) {
    int gpus = ms_platform_gpus(platform);
    if (mesh->devices == NULL && mesh->first == 0 && mesh->ranks > gpus) {
        return ms_diag_error(diag, "the mesh has %d ranks, platform '%s' has %d GPUs", mesh->ranks,
                             platform->name, gpus);
    }
    /* a list of devices, or a sub-mesh: each GPU is looked at */
    for (int index = 0; index < mesh->ranks; index++) {
        int device = ms_mesh_device(mesh, ms_mesh_rank_at(mesh, index));
        if (device >= gpus) {
            return ms_diag_error(diag, "the mesh uses GPU %d, platform '%s' has 0 to %d", device,
                                 platform->name, gpus - 1);
        }
    }
    return MS_OK;
}
