/* Finds whether the communicator of messages between pipeline stages spans several nodes on a mesh
 * (ms_coll_choices_on), since NCCL then gives its peers fewer channels (ms_nccl_message_Bps). */
#include "collective/coll_class.h"

/* Whether a pipeline has ranks on several nodes. first: rank of its first stage. */
static bool pipeline_leaves_node(const ms_platform *platform, const ms_mesh *mesh, int first) {
    int node = ms_platform_node(platform, ms_mesh_device(mesh, first));
    int stages = ms_mesh_members(mesh, MS_AXIS_BIT(MS_AXIS_PP), first, NULL);
    for (int p = 1; p < stages; p++) {
        int rank = ms_mesh_neighbour(mesh, first, MS_AXIS_PP, p);
        if (ms_platform_node(platform, ms_mesh_device(mesh, rank)) != node) {
            return true;
        }
    }
    return false;
}

/* Whether any pipeline of the mesh has ranks on several nodes. */
static bool any_pipeline_leaves(const ms_platform *platform, const ms_mesh *mesh) {
    for (int rank = 0; rank < mesh->ranks; rank++) {
        bool is_first = ms_mesh_coordinate(mesh, rank, MS_AXIS_PP) == 0;
        if (is_first && pipeline_leaves_node(platform, mesh, rank)) {
            return true;
        }
    }
    return false;
}

/* Whether the mesh has ranks on several nodes. */
static bool world_leaves(const ms_platform *platform, const ms_mesh *mesh) {
    int node = ms_platform_node(platform, ms_mesh_device(mesh, 0));
    for (int rank = 1; rank < mesh->ranks; rank++) {
        if (ms_platform_node(platform, ms_mesh_device(mesh, rank)) != node) {
            return true;
        }
    }
    return false;
}

/* Resolve the communicator of messages on a mesh: if it spans several nodes, channels are those of
 * MS_MESSAGES_WORLD, otherwise those of a pair of ranks. */
ms_coll_choices ms_coll_choices_on(const ms_platform *platform, const ms_mesh *mesh,
                                   ms_coll_choices asked) {
    bool leaves = asked.messages == MS_MESSAGES_WORLD      ? world_leaves(platform, mesh)
                  : asked.messages == MS_MESSAGES_PIPELINE ? any_pipeline_leaves(platform, mesh)
                                                           : false;
    asked.messages = leaves ? MS_MESSAGES_WORLD : MS_MESSAGES_PAIR;
    return asked;
}
