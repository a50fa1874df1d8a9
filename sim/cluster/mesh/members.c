/* Lists the ranks of a group that spans several axes of a mesh (ms_mesh_members), such as dp and cp
 * together: the ranks whose coordinates differ on these axes only. */
#include "cluster/mesh/mesh.h"

/* List the axes of a set by ascending stride: counting through them with the first one fastest
 * gives ascending ranks.  axes: MS_AXIS_BIT of each kind.  picked_out: [axes of the mesh].  Returns
 * their number. */
static int pick_axes(const ms_mesh *mesh, unsigned axes, int *picked_out) {
    int count = 0;
    for (int a = mesh->axes - 1; a >= 0; a--) {
        if ((axes & MS_AXIS_BIT(mesh->kinds[a])) != 0) {
            int at = count++;
            for (; at > 0 && mesh->strides[picked_out[at - 1]] > mesh->strides[a]; at--) {
                picked_out[at] = picked_out[at - 1];
            }
            picked_out[at] = a;
        }
    }
    return count;
}

bool ms_mesh_is_lead(const ms_mesh *mesh, unsigned axes, int rank) {
    int coordinates[MS_MESH_AXES_MAX];
    ms_mesh_coordinates(mesh, rank, coordinates);
    for (int a = 0; a < mesh->axes; a++) {
        if ((axes & MS_AXIS_BIT(mesh->kinds[a])) != 0 && coordinates[a] != 0) {
            return false;
        }
    }
    return true;
}

/* Start at the member whose coordinates on the set's axes are 0, and count through these axes. */
int ms_mesh_members(const ms_mesh *mesh, unsigned axes, int rank, int *members_out) {
    int picked[MS_MESH_AXES_MAX];
    int coordinates[MS_MESH_AXES_MAX];
    int count = pick_axes(mesh, axes, picked);
    int first = rank; /* the member with coordinate 0 on all axes of the set */
    int members = 1;
    for (int i = 0; i < count; i++) {
        members *= mesh->sizes[picked[i]];
    }
    if (members_out == NULL) {
        return members;
    }
    ms_mesh_coordinates(mesh, rank, coordinates);
    for (int i = 0; i < count; i++) {
        first -= coordinates[picked[i]] * mesh->strides[picked[i]];
    }
    for (int member = 0; member < members; member++) {
        int rest = member; /* member number in mixed radix; its digits are the coordinates */
        members_out[member] = first;
        for (int i = 0; i < count; i++) {
            members_out[member] += rest % mesh->sizes[picked[i]] * mesh->strides[picked[i]];
            rest /= mesh->sizes[picked[i]];
        }
    }
    return members;
}
