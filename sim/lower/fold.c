/* Collectives of a fold class. See decision note folding.md beside this file. */
#include "lower/works.h"

#include <math.h>
#include <string.h>

/* Kinds of flows that the groups of a class have, where they are not laid out alike. */
enum { SLOTS_MAX = 2 * MS_TIER_MAX + 2 };

/* Count (sign 1) or forget (sign -1) the crossings of a flow. */
static void load_links(ms_works *w, const ms_flow *flow, int sign) {
    for (int i = 0; i < flow->count; i++) {
        w->link_load[flow->links[i].link] += sign * flow->links[i].weight;
    }
}

/* Give flow `f` of phase `p` of every group's plan the load of all of them on each of its links. */
static void load_flow(ms_works *w, const ms_coll_plan *plans, int groups, int p, int f) {
    for (int g = 0; g < groups; g++) {
        load_links(w, &plans[g].phases[p].flows[f], 1);
    }
    for (int g = 0; g < groups; g++) {
        const ms_flow *flow = &plans[g].phases[p].flows[f];
        for (int i = 0; i < flow->count; i++) {
            flow->links[i].load = w->link_load[flow->links[i].link];
        }
    }
    for (int g = 0; g < groups; g++) {
        load_links(w, &plans[g].phases[p].flows[f], -1);
    }
}

static void load_class(ms_works *w, const ms_coll_plan *plans, int groups) {
    for (int p = 0; p < plans[0].phase_count && groups > 1; p++) {
        for (int f = 0; f < plans[0].phases[p].count; f++) {
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

static bool has_same_flows(const ms_coll_plan *a, const ms_coll_plan *b) {
    bool is_same = a->phase_count == b->phase_count;
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

/* The kinds of flow that any group has in phase `p`, in the order met; returns how many. */
static int list_kinds(const ms_coll_plan *plans, int groups, int p, uint64_t *kinds) {
    int count = 0;
    for (int g = 0; g < groups; g++) {
        for (int f = 0; f < plans[g].phases[p].count; f++) {
            uint64_t kind = plans[g].phases[p].flows[f].kind;
            int k = 0;
            while (k < count && kinds[k] != kind) {
                k++;
            }
            if (k == count && count < SLOTS_MAX) {
                kinds[count++] = kind;
            }
        }
    }
    return count;
}

/* Give every group a place for each kind of flow that any group has, empty where it has none. */
static ms_status align_flows(ms_works *w, ms_coll_plan *plans, int groups, int p) {
    uint64_t kinds[SLOTS_MAX];
    int count = list_kinds(plans, groups, p, kinds);
    for (int g = 0; g < groups; g++) {
        ms_phase *phase = &plans[g].phases[p];
        ms_flow *flows = MS_NEW(w->arena, ms_flow, count);
        if (flows == NULL) {
            return MS_E_NOMEM;
        }
        for (int k = 0; k < count; k++) {
            flows[k].kind = kinds[k];
            for (int f = 0; f < phase->count; f++) {
                flows[k] = phase->flows[f].kind == kinds[k] ? phase->flows[f] : flows[k];
            }
        }
        phase->flows = flows;
        phase->count = count;
    }
    return MS_OK;
}

/* Plans of all groups with the same flows in the same places, each loaded by all groups. */
static ms_status plan_class(ms_works *w, const ms_fold_request *request, ms_coll_plan *plans) {
    ms_status status = build_plans(w, request, false, plans);
    if (status == MS_OK && !have_same_flows(plans, request->groups)) {
        w->is_exact = false;
        status = build_plans(w, request, true, plans);
        for (int p = 0; status == MS_OK && p < plans[0].phase_count; p++) {
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

static int32_t add_work(ms_works *w, const ms_fold_request *request, const ms_coll_plan *own,
                        const ms_coll_plan *slowest) {
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
