/* Collectives of a fold class. See decision note folding.md beside this file. */
#include "lower/works.h"

#include "meshsim/coll_class.h"

static int32_t graph_link(ms_works *w, int link) {
    if (w->dag_link[link] < 0) {
        ms_link_info info = ms_platform_link(w->platform, link);
        w->dag_link[link] = ms_dag_add_link(w->dag, info.capacity_Bps, link, info.tier);
    }
    return w->dag_link[link];
}

static void add_crossing(ms_works *w, const ms_flow_link *crossing) {
    ms_dag_add_crossing(w->dag, graph_link(w, crossing->link), crossing->load, crossing->weight);
}

/* The work of a plan that stands for all groups of a class. */
static int32_t add_work(ms_works *w, const ms_fold_request *request, const ms_coll_plan *plan) {
    ms_dag_work work = {
        .host_s = w->launch_s,
        .bytes = plan->sent_B,
        .size_B = plan->size_B,
        .stands_for = request->groups,
        .group_size = request->group.members,
        .tier = (int16_t)plan->tier,
        .coll = (uint8_t)request->group.kind,
        .algorithm = (uint8_t)plan->algorithm,
        .protocol = (uint8_t)plan->protocol,
        .is_communication = true,
        .is_pipelined = request->is_pipelined,
        .load_imbalance = request->group.load_imbalance,
        .tag = -1,
    };
    int32_t index = ms_dag_add_work(w->dag, &work);
    for (int p = 0; p < plan->phase_count; p++) {
        ms_dag_add_phase(w->dag, plan->phases[p].latency_s);
        for (int f = 0; f < plan->phases[p].count; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            ms_dag_add_flow(w->dag, flow->bytes);
            for (int i = 0; i < flow->count; i++) {
                add_crossing(w, &flow->links[i]);
            }
        }
    }
    return index;
}

ms_status ms_fold_work(ms_works *w, const ms_fold_request *request, int32_t *work_out) {
    ms_coll_request first = request->group;
    first.algorithm = w->algorithms.of[first.kind];
    first.protocol = w->algorithms.protocol;
    first.is_stepped = w->is_stepped;
    ms_coll_class class;
    ms_coll_plan plan;
    ms_status status = ms_coll_class_build(w->platform, &first, request->groups, w->link_load,
                                           w->arena, w->diag, &class);
    if (status == MS_OK) {
        w->is_exact = w->is_exact && class.is_even;
        status = ms_coll_class_fold(&class, w->platform, class.slowest, w->arena, &plan);
    }
    if (status != MS_OK) {
        return status;
    }
    *work_out = add_work(w, request, &plan);
    return *work_out < 0 ? MS_E_NOMEM : ms_fold_note(w, class.plans, request->groups);
}
