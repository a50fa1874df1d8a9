/* Works of communications where one group stands for all groups of a pipeline rank although they
 * differ (`--fold bounded`, folding.md): the slowest group is simulated with the load of all groups
 * on its links, and the work has bounds of the time that any group may take. */
#include <math.h>

#include "simulate/lower/traffic.h"

/* A communication being laid out. */
typedef struct bounded_layout {
    ms_works *w;
    const ms_step_comm *comm;
    int slowest;      /* the group that takes longest alone, so far */
    double longest_s; /* its time alone [s] */
} bounded_layout;

/* Upper bound of the time of a phase's flows, without latency [s]: every flow gets only the least
 * share of its links that max-min fairness can leave it, that is, the capacity divided by the
 * maximum number of crossings by concurrent flows. On a link that cannot bind only the flow's own
 * crossings count. */
static double least_share_s(const ms_works *w, const ms_phase *phase) {
    double most_s = 0.0;
    for (int f = 0; f < phase->count; f++) {
        const ms_flow *flow = &phase->flows[f];
        for (int i = 0; i < flow->count; i++) {
            int link = flow->links[i].link;
            double capacity_Bps = ms_platform_link(w->platform, link).capacity_Bps;
            double crossings = fmax(flow->links[i].weight, w->max_concurrent_flows[link]);
            most_s = fmax(most_s, flow->bytes * crossings / capacity_Bps);
        }
    }
    return most_s;
}

/* Latency of a plan's last phase [s], which passes after its last flow. */
static double last_latency_s(const ms_coll_plan *plan) {
    return plan->phase_count > 0 ? plan->phases[plan->phase_count - 1].latency_s : 0.0;
}

/* Widen the bounds of a work so that they include group number `group`; group 0 sets them. The
 * lower bound is the time of the fastest group alone, the upper one that of a group with the least
 * share of its links. Both are split into the time up to the last flow's end and the last latency.
 * Also keeps the slowest group; the tolerance keeps the first of groups that differ by rounding.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status widen_bounds(bounded_layout *layout, int group, ms_dag_bounds bounds[2]) {
    const ms_coll_plan *plan = &layout->comm->plans[group];
    double alone_s = 0.0;
    ms_status status = ms_coll_plan_time_alone(layout->w->platform, plan, &alone_s);
    double shared_s = ms_coll_plan_latency_s(plan);
    for (int p = 0; p < plan->phase_count; p++) {
        shared_s += least_share_s(layout->w, &plan->phases[p]);
    }
    double latency_s = last_latency_s(plan);
    bool is_first = group == 0;
    double least_s = is_first ? INFINITY : bounds[0].transfer_s;
    bounds[0].transfer_s = fmin(least_s, alone_s - latency_s);
    bounds[0].latency_s = is_first ? latency_s : fmin(bounds[0].latency_s, latency_s);
    bounds[1].transfer_s = fmax(bounds[1].transfer_s, fmax(alone_s, shared_s) - latency_s);
    bounds[1].latency_s = fmax(bounds[1].latency_s, latency_s);
    if (alone_s > layout->longest_s * (1.0 + 1e-12)) {
        layout->longest_s = alone_s;
        layout->slowest = group;
    }
    return status;
}

/* Add to link_load, link by link, the crossings of flow `f` of phase `p` in the plans of all groups
 * (sign 1), or subtract them again (sign -1). */
static void load_flow(const bounded_layout *layout, int p, int f, int sign) {
    for (int g = 0; g < layout->comm->groups->count; g++) {
        const ms_coll_plan *plan = &layout->comm->plans[g];
        bool has_flow = p < plan->phase_count && f < plan->phases[p].count;
        for (int c = 0; has_flow && c < plan->phases[p].flows[f].count; c++) {
            const ms_flow_link *crossing = &plan->phases[p].flows[f].links[c];
            layout->w->link_load[crossing->link].load += sign * crossing->weight;
        }
    }
}

/* Add the flows of phase `p` of the slowest group. On each link a flow has the load of the flows
 * with the same number of all groups. */
static void add_flows(const bounded_layout *layout, int p) {
    const ms_phase *phase = &layout->comm->plans[layout->slowest].phases[p];
    for (int f = 0; f < phase->count; f++) {
        const ms_flow *flow = &phase->flows[f];
        ms_works_add_flow(layout->w, flow);
        load_flow(layout, p, f, 1);
        for (int i = 0; i < flow->count; i++) {
            int link = flow->links[i].link;
            ms_dag_add_crossing(layout->w->dag, ms_works_link(layout->w, link),
                                layout->w->link_load[link].load, flow->links[i].weight);
        }
        load_flow(layout, p, f, -1);
    }
}

/* The work stands for the groups of all classes. It has the plan of the slowest group, and bounds
 * that hold for every group. */
ms_status ms_bounded_work(ms_works *w, const ms_step_comm *comm, int32_t *work_out) {
    bounded_layout layout = {.w = w, .comm = comm};
    ms_dag_work work = {.stands_for = comm->groups->count, .is_pipelined = comm->is_pipelined};
    ms_status status = MS_OK;
    for (int g = 0; g < comm->groups->count && status == MS_OK; g++) {
        status = widen_bounds(&layout, g, work.bounds);
    }
    if (status != MS_OK) {
        return status;
    }
    const ms_coll_plan *plan = &comm->plans[layout.slowest];
    *work_out = ms_works_add(w, &comm->request, plan, work);
    for (int p = 0; p < plan->phase_count; p++) {
        ms_dag_add_phase(w->dag, plan->phases[p].latency_s);
        add_flows(&layout, p);
    }
    return *work_out < 0 ? MS_E_NOMEM : MS_OK;
}
