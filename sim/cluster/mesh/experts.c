/* The experts' own mesh: other axes over the same ranks, stage by stage. */
#include <string.h>

#include "cluster/mesh/mesh.h"

static const char *const AXES[] = {"pp", "dp", "ep", "tp"}; /* in their usual order */
enum { AXIS_COUNT = sizeof AXES / sizeof AXES[0] };

/* Place of a name among AXES; AXIS_COUNT for another one. */
static int place_of(const char *name) {
    int index = 0;
    while (index < AXIS_COUNT && strcmp(name, AXES[index]) != 0) {
        index++;
    }
    return index;
}

static ms_status fault_order(ms_diag *diag) {
    return ms_diag_error(diag, "expected pp, dp, ep and tp in 'order', each once, outermost first");
}

/* The axes outermost first, each once. */
static ms_status find_order(const ms_words *order, ms_diag *diag, int *order_out) {
    bool is_found[AXIS_COUNT] = {false};
    for (int i = 0; i < AXIS_COUNT; i++) {
        order_out[i] = i;
    }
    if (order->count == 0) {
        return MS_OK;
    }
    for (int i = 0; i < AXIS_COUNT && order->count == AXIS_COUNT; i++) {
        order_out[i] = place_of(order->items[i]);
        if (order_out[i] == AXIS_COUNT || is_found[order_out[i]]) {
            return fault_order(diag);
        }
        is_found[order_out[i]] = true;
    }
    return order->count == AXIS_COUNT ? MS_OK : fault_order(diag);
}

/* A stage's ranks are the same in both views: what one pipeline rank computes is not shared out
 * anew. */
static ms_status check_stages(const ms_mesh *mesh, const ms_mesh *experts, ms_diag *diag) {
    for (int rank = 0; rank < mesh->ranks; rank++) {
        int stage = ms_mesh_coordinate(mesh, rank, MS_AXIS_PP);
        int own = ms_mesh_coordinate(experts, rank, MS_AXIS_PP);
        if (stage != own) {
            return ms_diag_error(
                diag,
                "rank %d is on pipeline rank %d in 'mesh' and on %d here: let pp stand in "
                "'order' where it leaves the ranks of a stage together",
                rank, stage, own);
        }
    }
    return MS_OK;
}

ms_status ms_mesh_of_experts(const ms_mesh *mesh, const ms_expert_axes *axes, ms_diag *diag,
                             ms_mesh *experts_out) {
    int pp = ms_mesh_size(mesh, MS_AXIS_PP), stage_ranks = mesh->ranks / pp;
    if (ms_mesh_size(mesh, MS_AXIS_EP) > 1) {
        return ms_diag_error(diag,
                             "'mesh' has an axis ep as well: leave it out there, its ranks belong "
                             "to dp");
    }
    int64_t together = (int64_t)axes->ep * axes->tp;
    if (stage_ranks % together != 0) {
        return ms_diag_error(diag, "ep %d x tp %d do not divide the %d ranks of a pipeline rank",
                             axes->ep, axes->tp, stage_ranks);
    }
    const int SIZES[AXIS_COUNT] = {pp, (int)(stage_ranks / together), axes->ep, axes->tp};
    const char *names[AXIS_COUNT];
    int order[AXIS_COUNT], sizes[AXIS_COUNT];
    ms_status status = find_order(&axes->order, diag, order);
    for (int i = 0; status == MS_OK && i < AXIS_COUNT; i++) {
        names[i] = AXES[order[i]];
        sizes[i] = SIZES[order[i]];
    }
    ms_mesh experts;
    status = status == MS_OK ? ms_mesh_init(&experts, names, sizes, AXIS_COUNT, diag) : status;
    status = status == MS_OK ? check_stages(mesh, &experts, diag) : status;
    if (status == MS_OK) {
        experts.devices = mesh->devices;
        *experts_out = experts;
    }
    return status;
}
