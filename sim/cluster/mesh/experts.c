/* Makes the experts' own mesh (ms_mesh_of_experts): a second mesh with the axes pp, dp, ep and tp
 * over the ranks of a job's mesh, as Megatron Core's parallel folding does. The ranks of a pipeline
 * rank are the same in both meshes. */
#include "base/text.h"
#include "cluster/mesh/mesh.h"

static const char *const AXES[] = {"pp", "dp", "ep", "tp"}; /* in their usual order */
enum { AXIS_COUNT = sizeof AXES / sizeof AXES[0] };

/* Report an order that does not name each axis once. Returns MS_E_INPUT. */
static ms_status report_order(ms_diag *diag) {
    return ms_diag_error(diag, "expected pp, dp, ep and tp in 'order', each once, outermost first");
}

/* Read the order of the axes.  order: outermost first; count 0: the usual order.  order_out:
 * [AXIS_COUNT] indices into AXES, outermost first.  Returns MS_OK; MS_E_INPUT (reported). */
static ms_status find_order(const ms_words *order, ms_diag *diag, int *order_out) {
    bool is_found[AXIS_COUNT] = {false};
    for (int i = 0; i < AXIS_COUNT; i++) {
        order_out[i] = i;
    }
    if (order->count == 0) {
        return MS_OK;
    }
    for (int i = 0; i < AXIS_COUNT && order->count == AXIS_COUNT; i++) {
        order_out[i] = ms_word_index(order->items[i], AXES, AXIS_COUNT);
        if (order_out[i] < 0 || is_found[order_out[i]]) {
            return report_order(diag);
        }
        is_found[order_out[i]] = true;
    }
    return order->count == AXIS_COUNT ? MS_OK : report_order(diag);
}

/* Check that every rank has the same pipeline rank in both meshes: experts belong to the layers of
 * a stage, so their axes may only divide the ranks of that stage. */
static ms_status check_stages(const ms_mesh *mesh, const ms_mesh *experts, ms_diag *diag) {
    for (int rank = 0; rank < mesh->ranks; rank++) {
        int stage = ms_mesh_coordinate(mesh, rank, MS_AXIS_PP);
        int experts_stage = ms_mesh_coordinate(experts, rank, MS_AXIS_PP);
        if (stage != experts_stage) {
            return ms_diag_error(
                diag,
                "rank %d is on pipeline rank %d in 'mesh' and on %d here: let pp stand in "
                "'order' where it leaves the ranks of a stage together",
                rank, stage, experts_stage);
        }
    }
    return MS_OK;
}

/* dp takes the ranks of a pipeline rank that ep and tp leave. The GPUs are those of the job's mesh,
 * rank by rank. */
ms_status ms_mesh_of_experts(const ms_mesh *mesh, const ms_expert_axes *axes, ms_diag *diag,
                             ms_mesh *experts_out) {
    int pp = ms_mesh_size(mesh, MS_AXIS_PP), stage_ranks = mesh->ranks / pp;
    if (ms_mesh_size(mesh, MS_AXIS_EP) > 1) {
        return ms_diag_error(diag,
                             "'mesh' has an axis ep as well: leave it out there, its ranks belong "
                             "to dp");
    }
    int64_t ranks_of_experts = (int64_t)axes->ep * axes->tp;
    if (stage_ranks % ranks_of_experts != 0) {
        return ms_diag_error(diag, "ep %d x tp %d do not divide the %d ranks of a pipeline rank",
                             axes->ep, axes->tp, stage_ranks);
    }
    const int SIZES[AXIS_COUNT] = {pp, (int)(stage_ranks / ranks_of_experts), axes->ep, axes->tp};
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
