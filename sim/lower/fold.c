/* Collectives of a fold class. See decision note folding.md beside this file. */
#include "lower/works.h"

#include <math.h>
#include <string.h>

/* What tells the flows of a phase apart in a class whose groups are not laid out alike. */
typedef struct flow_kind {
    ms_coll_algorithm algorithm;
    uint64_t kind;
} flow_kind;

/* Flows of phase `p`; none where the plan has fewer phases. */
static int flows_in(const ms_coll_plan *plan, int p) {
    return p < plan->phase_count ? plan->phases[p].count : 0;
}

/* Flow `f` of phase `p`; NULL where the plan has fewer. */
static const ms_flow *flow_at(const ms_coll_plan *plan, int p, int f) {
    return f < flows_in(plan, p) ? &plan->phases[p].flows[f] : NULL;
}

/* Phases of the group that has most. */
static int most_phases(const ms_coll_plan *plans, int groups) {
    int most = 0;
    for (int g = 0; g < groups; g++) {
        most = plans[g].phase_count > most ? plans[g].phase_count : most;
    }
    return most;
}

/* Flows of phase `p` in the group that has most. */
static int most_flows(const ms_coll_plan *plans, int groups, int p) {
    int most = 0;
    for (int g = 0; g < groups; g++) {
        most = flows_in(&plans[g], p) > most ? flows_in(&plans[g], p) : most;
    }
    return most;
}

/* Count (sign 1) or forget (sign -1) the crossings of a flow, which may be none. */
static void load_links(ms_works *w, const ms_flow *flow, int sign) {
    for (int i = 0; flow != NULL && i < flow->count; i++) {
        w->link_load[flow->links[i].link] += sign * flow->links[i].weight;
    }
}

/* Give flow `f` of phase `p` of every group's plan the load of all of them on each of its links. */
static void load_flow(ms_works *w, const ms_coll_plan *plans, int groups, int p, int f) {
    for (int g = 0; g < groups; g++) {
        load_links(w, flow_at(&plans[g], p, f), 1);
    }
    for (int g = 0; g < groups; g++) {
        const ms_flow *flow = flow_at(&plans[g], p, f);
        for (int i = 0; flow != NULL && i < flow->count; i++) {
            flow->links[i].load = w->link_load[flow->links[i].link];
        }
    }
    for (int g = 0; g < groups; g++) {
        load_links(w, flow_at(&plans[g], p, f), -1);
    }
}

static void load_class(ms_works *w, const ms_coll_plan *plans, int groups) {
    int phases = groups > 1 ? most_phases(plans, groups) : 0;
    for (int p = 0; p < phases; p++) {
        for (int f = 0; f < most_flows(plans, groups, p); f++) {
            load_flow(w, plans, groups, p, f);
        }
    }
}

static int32_t graph_link(ms_works *w, int link) {
    if (w->dag_link[link] < 0) {
        ms_link_info info = ms_platform_link(w->platform, link);
        w->dag_link[link] = ms_dag_add_link(w->dag, info.capacity_Bps, link, info.tier);
    }
    return w->dag_link[link];
}

static int tier_of(const ms_works *w, const ms_flow_link *link) {
    return ms_platform_link(w->platform, link->link).tier;
}

static void add_crossing(ms_works *w, const ms_flow_link *crossing) {
    ms_dag_add_crossing(w->dag, graph_link(w, crossing->link), crossing->load, crossing->weight);
}

/* The simulated group's flow, then the slowest group's links in tiers that the first does not
 * cross. */
static void add_flow(ms_works *w, const ms_flow *own, const ms_flow *slowest) {
    unsigned tiers = 0;
    if (slowest->bytes == 0.0) {
        slowest = own; /* it has no such flow */
    }
    if (own->bytes != slowest->bytes) {
        own = slowest; /* laid out otherwise altogether, such as with fewer rings */
    }
    ms_dag_add_flow(w->dag, own->bytes);
    for (int i = 0; i < own->count; i++) {
        tiers |= 1U << tier_of(w, &own->links[i]);
        add_crossing(w, &own->links[i]);
    }
    for (int i = 0; i < slowest->count && own != slowest; i++) {
        if ((tiers & 1U << tier_of(w, &slowest->links[i])) == 0) {
            add_crossing(w, &slowest->links[i]);
        }
    }
}

static ms_status build_plans(ms_works *w, const ms_fold_request *request, bool is_coarse,
                             ms_coll_plan *plans) {
    for (int g = 0; g < request->groups; g++) {
        ms_coll_request group = {.kind = request->kind,
                                 .algorithm = w->algorithms.of[request->kind],
                                 .gpus = request->gpus + (size_t)g * (size_t)request->members,
                                 .members = request->members,
                                 .size_B = request->size_B,
                                 .intra_node_B = request->intra_node_B,
                                 .load_imbalance = request->load_imbalance,
                                 .is_coarse = is_coarse};
        ms_status status = ms_coll_plan_build(w->platform, &group, w->arena, &plans[g]);
        if (status == MS_E_RANGE) {
            ms_coll_report_refusal(&group, w->diag);
            return MS_E_INPUT;
        }
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* Whether two groups are laid out in the same phases, be it with other flows. */
static bool has_same_phases(const ms_coll_plan *a, const ms_coll_plan *b) {
    return a->algorithm == b->algorithm && a->phase_count == b->phase_count;
}

static bool has_same_flows(const ms_coll_plan *a, const ms_coll_plan *b) {
    bool is_same = has_same_phases(a, b);
    for (int p = 0; p < a->phase_count && is_same; p++) {
        is_same = a->phases[p].count == b->phases[p].count;
        for (int f = 0; f < a->phases[p].count && is_same; f++) {
            is_same = a->phases[p].flows[f].kind == b->phases[p].flows[f].kind;
        }
    }
    return is_same;
}

static bool have_same_flows(const ms_coll_plan *plans, int groups) {
    for (int g = 1; g < groups; g++) {
        if (!has_same_flows(&plans[0], &plans[g])) {
            return false;
        }
    }
    return true;
}

static bool is_of_kind(const ms_coll_plan *plan, const ms_flow *flow, flow_kind kind) {
    return plan->algorithm == kind.algorithm && flow->kind == kind.kind;
}

/* Enter the kinds of a group's flows in phase `p` that are not among the `count` in the list yet.
 * Returns how many there are then. */
static int list_kinds(const ms_coll_plan *plan, int p, flow_kind *kinds, int count) {
    for (int f = 0; f < flows_in(plan, p); f++) {
        const ms_flow *flow = &plan->phases[p].flows[f];
        int k = 0;
        while (k < count && !is_of_kind(plan, flow, kinds[k])) {
            k++;
        }
        if (k == count) {
            kinds[count++] = (flow_kind){plan->algorithm, flow->kind};
        }
    }
    return count;
}

/* Give a group a place for each of `count` kinds in phase `p`, empty where it has no such flow. */
static ms_status place_flows(ms_works *w, ms_coll_plan *plan, int p, const flow_kind *kinds,
                             int count) {
    ms_flow *flows = MS_NEW(w->arena, ms_flow, count);
    if (flows == NULL) {
        return MS_E_NOMEM;
    }
    for (int k = 0; k < count; k++) {
        flows[k].kind = kinds[k].kind;
        for (int f = 0; f < plan->phases[p].count; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            flows[k] = is_of_kind(plan, flow, kinds[k]) ? *flow : flows[k];
        }
    }
    plan->phases[p].flows = flows;
    plan->phases[p].count = count;
    return MS_OK;
}

/* Give every group that has a phase `p` a place for each kind of flow that any group has in it. */
static ms_status align_flows(ms_works *w, ms_coll_plan *plans, int groups, int p) {
    int all = 0;
    int count = 0;
    for (int g = 0; g < groups; g++) {
        all += flows_in(&plans[g], p);
    }
    flow_kind *kinds = MS_NEW(w->arena, flow_kind, all);
    ms_status status = kinds == NULL ? MS_E_NOMEM : MS_OK;
    for (int g = 0; g < groups && status == MS_OK; g++) {
        count = list_kinds(&plans[g], p, kinds, count);
    }
    for (int g = 0; g < groups && status == MS_OK; g++) {
        if (p < plans[g].phase_count) {
            status = place_flows(w, &plans[g], p, kinds, count);
        }
    }
    return status;
}

/* Plans of all groups with the same flows in the same places, each loaded by all groups. */
static ms_status plan_class(ms_works *w, const ms_fold_request *request, ms_coll_plan *plans) {
    ms_status status = build_plans(w, request, false, plans);
    if (status == MS_OK && !have_same_flows(plans, request->groups)) {
        w->is_exact = false;
        status = build_plans(w, request, true, plans);
        int phases = status == MS_OK ? most_phases(plans, request->groups) : 0;
        for (int p = 0; status == MS_OK && p < phases; p++) {
            status = align_flows(w, plans, request->groups, p);
        }
    }
    if (status == MS_OK) {
        load_class(w, plans, request->groups);
    }
    return status;
}

/* The group that takes longest while the whole class runs. */
static ms_status find_slowest(ms_works *w, const ms_coll_plan *plans, int groups,
                              int *slowest_out) {
    const ms_platform *platform = w->platform;
    double longest_s = 0.0;
    *slowest_out = 0;
    for (int g = 0; g < groups && groups > 1; g++) {
        double time_s = 0.0;
        ms_status status = ms_coll_plan_time(platform, &plans[g], &time_s);
        if (status != MS_OK) {
            return status;
        }
        bool is_first = g == 0;
        w->is_exact = w->is_exact && (is_first || fabs(time_s - longest_s) <= 1e-12 * longest_s);
        if (is_first || time_s > longest_s * (1.0 + 1e-12)) {
            longest_s = time_s;
            *slowest_out = g;
        }
    }
    return MS_OK;
}

/* The work of the first group's plan, as slow as the slowest one's; that one's alone where it is
 * laid out in other phases. */
static int32_t add_work(ms_works *w, const ms_fold_request *request, const ms_coll_plan *first,
                        const ms_coll_plan *slowest) {
    const ms_coll_plan *own = has_same_phases(first, slowest) ? first : slowest;
    ms_dag_work work = {
        .bytes = own->sent_B,
        .size_B = own->size_B,
        .stands_for = request->groups,
        .group_size = request->members,
        .tier = (int16_t)slowest->tier,
        .coll = (uint8_t)request->kind,
        .algorithm = (uint8_t)own->algorithm,
        .is_communication = true,
        .is_pipelined = request->is_pipelined,
        .load_imbalance = request->load_imbalance,
        .tag = -1,
    };
    int32_t index = ms_dag_add_work(w->dag, &work);
    for (int p = 0; p < own->phase_count; p++) {
        ms_dag_add_phase(w->dag, slowest->phases[p].latency_s);
        for (int f = 0; f < own->phases[p].count; f++) {
            add_flow(w, &own->phases[p].flows[f], &slowest->phases[p].flows[f]);
        }
    }
    return index;
}

ms_status ms_fold_work(ms_works *w, const ms_fold_request *request, int32_t *work_out) {
    ms_coll_plan *plans = MS_NEW(w->arena, ms_coll_plan, request->groups);
    if (plans == NULL) {
        return MS_E_NOMEM;
    }
    int slowest = 0;
    ms_status status = plan_class(w, request, plans);
    if (status == MS_OK) {
        status = find_slowest(w, plans, request->groups, &slowest);
    }
    if (status != MS_OK) {
        return status;
    }
    *work_out = add_work(w, request, &plans[0], &plans[slowest]);
    return *work_out < 0 ? MS_E_NOMEM : ms_fold_note(w, plans, request->groups);
}
