/* Works of collectives (works.h): laying a collective out over links with the job's algorithm, and
 * adding its work, flows and links to the graph. */
#include "simulate/lower/works.h"

#include "collective/coll_class.h"

int32_t ms_works_link(ms_works *w, int link) {
    if (w->dag_link[link] < 0) {
        ms_link_info info = ms_platform_link(w->platform, link);
        w->dag_link[link] = ms_dag_add_link(w->dag, info.capacity_Bps, link, info.tier);
    }
    return w->dag_link[link];
}

int32_t ms_works_add(ms_works *w, const ms_coll_request *request, const ms_coll_plan *plan,
                     ms_dag_work work) {
    work.host_s = w->launch_s;
    work.bytes = plan->sent_B;
    work.size_B = plan->size_B;
    work.group_size = request->members;
    work.tier = (int16_t)plan->tier;
    work.coll = (uint8_t)request->kind;
    work.algorithm = (uint8_t)plan->algorithm;
    work.protocol = (uint8_t)plan->protocol;
    work.is_communication = true;
    work.tag = -1;
    return ms_dag_add_work(w->dag, &work);
}

ms_dag_flow *ms_works_add_flow(ms_works *w, const ms_flow *flow) {
    ms_dag_flow *added = ms_dag_add_flow(w->dag, flow->bytes);
    if (added != NULL && flow->slowness > 0.0) {
        added->slowness = flow->slowness;
    }
    return added;
}

ms_coll_request ms_works_choose(const ms_works *w, const ms_coll_request *request) {
    ms_coll_request with = *request;
    with.algorithm = w->algorithms.of[request->kind];
    with.protocol = w->algorithms.protocol;
    with.leaves_node = w->algorithms.messages != MS_MESSAGES_PAIR;
    with.is_stepped = w->is_stepped;
    return with;
}

ms_status ms_works_plan(const ms_works *w, const ms_coll_request *request, int groups,
                        ms_coll_plan *plans_out) {
    const ms_coll_request with = ms_works_choose(w, request);
    ms_status status = ms_coll_plans_build(w->platform, &with, groups, w->arena, plans_out);
    if (status == MS_E_RANGE) {
        ms_coll_report_refusal(&with, w->diag);
        return MS_E_INPUT;
    }
    return status;
}
