/* Works of folded communications: one work for all groups that a class leads (folding.md). It has
 * the flows of one of these groups, but each crossing carries the load of all of them, and links of
 * one class are one link. Groups that a class leads are those whose lowest member class it is. */
#include "simulate/lower/traffic.h"

#include "collective/coll_class.h"

/* A work being laid out. */
typedef struct work_layout {
    ms_works *w;
    const ms_step_comm *comm;
    const int *led; /* [groups] the groups of the communication that the work stands for */
    int groups;
} work_layout;

/* The link that names the class of a link; the link itself where nothing is folded. */
static int32_t class_of(const ms_works *w, int32_t link) {
    return w->link_class == NULL ? link : w->link_class[link];
}

/* Flow `f` of phase `p` in the i-th of the groups that the work stands for. */
static const ms_flow *flow_of(const work_layout *layout, int i, int p, int f) {
    return &layout->comm->plans[layout->led[i]].phases[p].flows[f];
}

/* Add the crossings by flow `f` of phase `p` of all groups to w->link_load: by link, and by class
 * of links, whose sum is stored with the link that names the class. */
static void load_links(const work_layout *layout, int p, int f) {
    for (int i = 0; i < layout->groups; i++) {
        const ms_flow *flow = flow_of(layout, i, p, f);
        for (int c = 0; c < flow->count; c++) {
            const ms_flow_link *crossing = &flow->links[c];
            ms_link_load *link = &layout->w->link_load[crossing->link];
            ms_link_load *class = &layout->w->link_load[class_of(layout->w, crossing->link)];
            link->load += crossing->weight;
            class->class_load += crossing->weight;
            class->most = crossing->weight > class->most ? crossing->weight : class->most;
        }
    }
}

/* Add one crossing to the newest flow for each class of links that flow `f` of phase `p` crosses in
 * any group, and reset w->link_load. The crossing's weight is the load on one link of the class;
 * all links of a class have to carry the same. Returns whether they do. */
static bool add_crossings(const work_layout *layout, int p, int f) {
    bool is_even = true;
    for (int i = 0; i < layout->groups; i++) {
        const ms_flow *flow = flow_of(layout, i, p, f);
        for (int c = 0; c < flow->count; c++) {
            ms_link_load *link = &layout->w->link_load[flow->links[c].link];
            int32_t first = class_of(layout->w, flow->links[c].link);
            ms_link_load *class = &layout->w->link_load[first];
            if (class->class_load > 0) {
                class->crossing_load = link->load;
                ms_dag_crossing *added = ms_dag_add_crossing(
                    layout->w->dag, ms_works_link(layout->w, first), link->load, class->most);
                if (added != NULL) {
                    added->carried = (double)class->class_load / layout->groups;
                }
                class->class_load = class->most = 0;
            }
            is_even = is_even && (link->load == 0 || link->load == class->crossing_load);
            link->load = 0;
        }
    }
    return is_even;
}

/* Add the phases and flows of a plan that stands for no other group. */
static void add_plan(ms_works *w, const ms_coll_plan *plan) {
    for (int p = 0; p < plan->phase_count; p++) {
        ms_dag_add_phase(w->dag, plan->phases[p].latency_s);
        for (int f = 0; f < plan->phases[p].count; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            ms_works_add_flow(w, flow);
            for (int i = 0; i < flow->count; i++) {
                const ms_flow_link *crossing = &flow->links[i];
                ms_dag_add_crossing(w->dag, ms_works_link(w, crossing->link), crossing->weight,
                                    crossing->weight);
            }
        }
    }
}

/* Add the phases and flows of a work that stands for several groups: those of `plan`, the plan of
 * the first group, with crossings of classes of links. Times alone are computed from the plan's own
 * links.  Returns MS_OK; MS_E_NOMEM; MS_E_BUG (reported) if links of one class carry different
 * loads. */
static ms_status add_class(const work_layout *layout, const ms_coll_plan *plan) {
    bool is_even = true;
    for (int p = 0; p < plan->phase_count; p++) {
        const ms_phase *phase = &plan->phases[p];
        double *alone_s = MS_NEW(layout->w->arena, double, phase->count);
        if (alone_s == NULL || ms_coll_phase_times_alone(layout->w->platform, phase,
                                                         layout->w->arena, alone_s) != MS_OK) {
            return MS_E_NOMEM;
        }
        ms_dag_add_phase(layout->w->dag, phase->latency_s);
        for (int f = 0; f < phase->count; f++) {
            ms_dag_flow *added = ms_works_add_flow(layout->w, &phase->flows[f]);
            if (added != NULL) {
                added->alone_s = alone_s[f];
            }
            load_links(layout, p, f);
            is_even = add_crossings(layout, p, f) && is_even;
        }
    }
    if (!is_even) {
        ms_diag_error(layout->w->diag, "bug: links of one class carry different loads");
        return MS_E_BUG;
    }
    return MS_OK;
}

ms_status ms_works_make_alone(ms_works *w, const ms_coll_request *request, bool is_pipelined,
                              int32_t *work_out) {
    ms_coll_plan plan;
    ms_status status = ms_works_plan(w, request, 1, &plan);
    if (status == MS_OK) {
        const ms_dag_work work = {.stands_for = 1, .is_pipelined = is_pipelined};
        *work_out = ms_works_add(w, request, &plan, work);
        add_plan(w, &plan);
        status = *work_out < 0 ? MS_E_NOMEM : MS_OK;
    }
    return status;
}

/* There are three cases: nothing is folded; an inexact fold, where a work has bounds; and an exact
 * fold, where the work stands for all groups that class `k` leads. */
ms_status ms_fold_work(ms_works *w, const ms_step_comm *comm, int k, int32_t *work_out) {
    const ms_comm_groups *groups = comm->groups;
    work_layout layout = {.w = w,
                          .comm = comm,
                          .led = groups->led + groups->group_first[k],
                          .groups = groups->group_first[k + 1] - groups->group_first[k]};
    if (w->link_class == NULL) { /* nothing is folded: each class leads one group */
        ms_coll_request request = comm->request;
        request.gpus = groups->gpus + (size_t)layout.led[0] * (size_t)request.members;
        return ms_works_make_alone(w, &request, comm->is_pipelined, work_out);
    }
    const ms_coll_plan *plan = &comm->plans[layout.led[0]];
    const ms_dag_work work = {.stands_for = layout.groups, .is_pipelined = comm->is_pipelined};
    if (w->max_concurrent_flows != NULL) { /* an inexact fold */
        return ms_bounded_work(w, comm, work_out);
    }
    *work_out = ms_works_add(w, &comm->request, plan, work);
    return *work_out < 0 ? MS_E_NOMEM : add_class(&layout, plan);
}

/* All groups are laid out as one class. If they take equal times, the work gets the plan of the
 * first group, with the loads of all groups on its links (add_class). */
ms_status ms_fold_work_of_all(ms_works *w, const ms_step_comm *comm, int32_t *work_out) {
    ms_coll_request first = ms_works_choose(w, &comm->request);
    if (w->group_load == NULL) {
        w->group_load = MS_NEW(w->arena, int32_t, w->platform->link_count);
    }
    ms_coll_class class;
    first.gpus = comm->groups->gpus;
    *work_out = -1;
    ms_status status = w->group_load == NULL
                           ? MS_E_NOMEM
                           : ms_coll_class_build(w->platform, &first, comm->groups->count,
                                                 w->group_load, w->arena, w->diag, &class);
    if (status != MS_OK || !class.is_even) {
        return status;
    }
    ms_step_comm together = *comm;
    together.plans = class.plans;
    const work_layout layout = {
        .w = w, .comm = &together, .led = comm->groups->led, .groups = comm->groups->count};
    const ms_dag_work work = {.stands_for = layout.groups};
    *work_out = ms_works_add(w, &comm->request, class.plans, work);
    return *work_out < 0 ? MS_E_NOMEM : add_class(&layout, class.plans);
}
