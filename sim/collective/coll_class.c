/* Lays out a class (ms_coll_class_build): the same collective in several groups of GPUs at the same
 * time. Makes the plans of all groups, sets the load of every flow on its links, which is the
 * number of crossings by all groups, and finds the slowest group. In folded simulations and the
 * estimate, one group stands for all: its flow f of phase p stands for this flow of every group. So
 * the plans of all groups need the same flows in the same order. A link's load for flow f of phase
 * p counts only this flow of each group. */
#include "collective/coll_class.h"

#include <math.h>

/* A class under construction. */
typedef struct class_layout {
    const ms_platform *platform;
    const ms_coll_request *first; /* of the first group; the GPUs of the others follow its GPUs */
    int groups;
    int32_t *link_load; /* [platform links] scratch: crossings counted so far, zeros between uses */
    ms_arena *arena;
    ms_diag *diag;
} class_layout;

/* The identity of a flow in a phase across groups that are not laid out alike: flows with equal
 * identities belong together. */
typedef struct flow_kind {
    ms_coll_algorithm algorithm;
    ms_protocol protocol;
    uint64_t kind;
} flow_kind;

/* Number of flows of phase `p`; 0 where the plan has fewer phases. */
static int flows_in(const ms_coll_plan *plan, int p) {
    return p < plan->phase_count ? plan->phases[p].count : 0;
}

/* Flow `f` of phase `p`; NULL where the plan has fewer phases or flows. */
static const ms_flow *flow_at(const ms_coll_plan *plan, int p, int f) {
    return f < flows_in(plan, p) ? &plan->phases[p].flows[f] : NULL;
}

/* Largest number of phases of any group's plan. */
static int most_phases(const ms_coll_plan *plans, int groups) {
    int most = 0;
    for (int g = 0; g < groups; g++) {
        most = plans[g].phase_count > most ? plans[g].phase_count : most;
    }
    return most;
}

/* Largest number of flows that any group's plan has in phase `p`. */
static int most_flows(const ms_coll_plan *plans, int groups, int p) {
    int most = 0;
    for (int g = 0; g < groups; g++) {
        most = flows_in(&plans[g], p) > most ? flows_in(&plans[g], p) : most;
    }
    return most;
}

/* Add (sign 1) the crossings of a flow to link_load, or subtract them (sign -1). flow: NULL:
 * nothing to do. */
static void load_links(const class_layout *c, const ms_flow *flow, int sign) {
    for (int i = 0; flow != NULL && i < flow->count; i++) {
        c->link_load[flow->links[i].link] += sign * flow->links[i].weight;
    }
}

/* Set the load of flow `f` of phase `p` in every group's plan: the crossings of each of its links
 * by this flow of all groups. */
static void load_flow(const class_layout *c, const ms_coll_plan *plans, int groups, int p, int f) {
    for (int g = 0; g < groups; g++) {
        load_links(c, flow_at(&plans[g], p, f), 1);
    }
    for (int g = 0; g < groups; g++) {
        const ms_flow *flow = flow_at(&plans[g], p, f);
        for (int i = 0; flow != NULL && i < flow->count; i++) {
            flow->links[i].load = c->link_load[flow->links[i].link];
        }
    }
    for (int g = 0; g < groups; g++) {
        load_links(c, flow_at(&plans[g], p, f), -1);
    }
}

/* Set the loads of all flows of all groups' plans. */
static void load_class(const class_layout *c, const ms_coll_plan *plans, int groups) {
    int phases = groups > 1 ? most_phases(plans, groups) : 0;
    for (int p = 0; p < phases; p++) {
        for (int f = 0; f < most_flows(plans, groups, p); f++) {
            load_flow(c, plans, groups, p, f);
        }
    }
}

/* Make the plans of all groups, each by itself. is_coarse: as in ms_coll_request. Returns
 * MS_E_INPUT, reported, if no algorithm lays the collective out. */
static ms_status build_plans(const class_layout *c, bool is_coarse, ms_coll_plan *plans) {
    ms_coll_request first = *c->first;
    first.is_coarse = is_coarse;
    ms_status status = ms_coll_plans_build(c->platform, &first, c->groups, c->arena, plans);
    if (status == MS_E_RANGE) {
        ms_coll_report_refusal(&first, c->diag);
        return MS_E_INPUT;
    }
    return status;
}

/* Whether two groups' plans have the same algorithm, protocol and phases, with flows of the same
 * kinds in the same order. */
static bool has_same_flows(const ms_coll_plan *a, const ms_coll_plan *b) {
    bool is_same = a->algorithm == b->algorithm && a->protocol == b->protocol &&
                   a->phase_count == b->phase_count;
    for (int p = 0; p < a->phase_count && is_same; p++) {
        is_same = a->phases[p].count == b->phases[p].count;
        for (int f = 0; f < a->phases[p].count && is_same; f++) {
            is_same = a->phases[p].flows[f].kind == b->phases[p].flows[f].kind;
        }
    }
    return is_same;
}

/* Whether the plans of all groups have the same flows. */
static bool have_same_flows(const ms_coll_plan *plans, int groups) {
    for (int g = 1; g < groups; g++) {
        if (!has_same_flows(&plans[0], &plans[g])) {
            return false;
        }
    }
    return true;
}

/* Whether a flow of a plan has an identity. */
static bool is_of_kind(const ms_coll_plan *plan, const ms_flow *flow, flow_kind kind) {
    return plan->algorithm == kind.algorithm && plan->protocol == kind.protocol &&
           flow->kind == kind.kind;
}

/* Append the identities of a group's flows in phase `p` that are not in the list yet. count: length
 * of the list. Returns its new length. */
static int list_kinds(const ms_coll_plan *plan, int p, flow_kind *kinds, int count) {
    for (int f = 0; f < flows_in(plan, p); f++) {
        const ms_flow *flow = &plan->phases[p].flows[f];
        int k = 0;
        while (k < count && !is_of_kind(plan, flow, kinds[k])) {
            k++;
        }
        if (k == count) {
            kinds[count++] = (flow_kind){plan->algorithm, plan->protocol, flow->kind};
        }
    }
    return count;
}

/* Rearrange a group's flows in phase `p`: one flow for each of `count` identities, in their order;
 * an empty one where the group has no such flow. */
static ms_status place_flows(const class_layout *c, ms_coll_plan *plan, int p,
                             const flow_kind *kinds, int count) {
    ms_flow *flows = MS_NEW(c->arena, ms_flow, count);
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

/* Give all groups the same flows in phase `p`: one for every identity that a flow of any group has
 * in this phase. Groups without this phase stay as they are. */
static ms_status align_flows(const class_layout *c, ms_coll_plan *plans, int groups, int p) {
    int all = 0;
    int count = 0;
    for (int g = 0; g < groups; g++) {
        all += flows_in(&plans[g], p);
    }
    flow_kind *kinds = MS_NEW(c->arena, flow_kind, all);
    ms_status status = kinds == NULL ? MS_E_NOMEM : MS_OK;
    for (int g = 0; g < groups && status == MS_OK; g++) {
        count = list_kinds(&plans[g], p, kinds, count);
    }
    for (int g = 0; g < groups && status == MS_OK; g++) {
        if (p < plans[g].phase_count) {
            status = place_flows(c, &plans[g], p, kinds, count);
        }
    }
    return status;
}

/* Whether the loads of a group's flows in phase `p` miss crossings of their links by other groups.
 * This is so where another group crosses such a link with a flow of a kind that this group has only
 * on other links. c->link_load: at the call, the crossings by all flows of the phase in all groups;
 * it is changed on the way, and the same again at the end. */
static bool lacks_load(const class_layout *c, const ms_coll_plan *plan, int p) {
    bool lacks = false;
    /* subtract the loads that the group's flows have, look for crossings left over, and add them
     * again */
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int f = 0; f < flows_in(plan, p); f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            for (int i = 0; i < flow->count; i++) {
                c->link_load[flow->links[i].link] += sign * flow->links[i].load;
            }
        }
        for (int f = 0; f < flows_in(plan, p) && sign < 0; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            for (int i = 0; i < flow->count; i++) {
                lacks = lacks || c->link_load[flow->links[i].link] > 0;
            }
        }
    }
    return lacks;
}

/* Whether the loads in each group's plan count all crossings of its links by all groups. In
 * fidelity `flow`, a collective other than an all-to-all has one flow, and they do. In fidelity
 * `step`, messages are of several kinds, and the loads of one flow may miss others. For each phase
 * the crossings of all groups are added to link_load, then every group is checked, and the
 * crossings are subtracted again. */
static bool tells_all_load(const class_layout *c, const ms_coll_plan *plans) {
    bool lacks = false;
    for (int p = 0; p < plans[0].phase_count && c->groups > 1 && !lacks; p++) {
        if (ms_coll_phase_is_again(&plans[0], p)) {
            continue;
        }
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (int g = 0; g < c->groups && sign < 0 && !lacks; g++) {
                lacks = lacks_load(c, &plans[g], p);
            }
            for (int g = 0; g < c->groups; g++) {
                for (int f = 0; f < flows_in(&plans[g], p); f++) {
                    load_links(c, &plans[g].phases[p].flows[f], sign);
                }
            }
        }
    }
    return !lacks;
}

/* Make together->plans from together->own: with the same flows in the same order in all groups, and
 * with loads. Where the groups' own plans have the same flows (and, in fidelity `step`, complete
 * loads, which direct messages need not have), they are taken as they are. Otherwise, the groups
 * are laid out coarsely, and flows are rearranged. */
static ms_status plan_together(const class_layout *c, ms_coll_class *together) {
    together->plans = together->own;
    together->is_even = have_same_flows(together->own, c->groups);
    ms_status status = MS_OK;
    bool has_steps = c->first->is_stepped && together->own[0].algorithm != MS_ALGORITHM_DIRECT;
    if (together->is_even && has_steps) {
        load_class(c, together->own, c->groups);
        together->is_even = tells_all_load(c, together->own);
    }
    if (!together->is_even) {
        together->plans = MS_NEW(c->arena, ms_coll_plan, c->groups);
        status = together->plans == NULL ? MS_E_NOMEM : build_plans(c, true, together->plans);
        int phases = status == MS_OK ? most_phases(together->plans, c->groups) : 0;
        for (int p = 0; status == MS_OK && p < phases; p++) {
            status = align_flows(c, together->plans, c->groups, p);
        }
    }
    if (status == MS_OK) {
        load_class(c, together->plans, c->groups);
    }
    return status;
}

/* Whether a group that is a shifted copy of another one has the same loads on its links as the
 * original. */
static bool has_same_load(const ms_coll_plan *copy, const ms_coll_plan *original) {
    bool is_same = true;
    for (int p = 0; p < copy->phase_count && is_same; p++) {
        if (ms_coll_phase_is_again(copy, p)) {
            continue;
        }
        for (int f = 0; f < copy->phases[p].count && is_same; f++) {
            const ms_flow *flow = &copy->phases[p].flows[f], *other = &original->phases[p].flows[f];
            for (int i = 0; i < flow->count && is_same; i++) {
                is_same = flow->links[i].load == other->links[i].load;
            }
        }
    }
    return is_same;
}

/* Find the time of group `g` while all groups run: that of its original where the loads are the
 * same.  times_s: [groups] set for the groups before `g` [s]. */
static ms_status time_group(const ms_platform *platform, const ms_coll_class *together, int g,
                            double *times_s) {
    const ms_coll_plan *plan = &together->plans[g];
    int original = plan->copy_of - 1;
    if (original >= 0 && has_same_load(plan, &together->plans[original])) {
        times_s[g] = times_s[original];
        return MS_OK;
    }
    return ms_coll_plan_time(platform, plan, &times_s[g]);
}

/* Find the group that takes longest while all groups run, and whether all take equally long, up to
 * rounding. */
static ms_status find_slowest(const class_layout *c, ms_coll_class *together) {
    double longest_s = 0.0;
    double *times_s = MS_NEW(c->arena, double, together->groups);
    if (times_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int g = 0; g < together->groups && together->groups > 1; g++) {
        ms_status status = time_group(c->platform, together, g, times_s);
        double time_s = times_s[g];
        if (status != MS_OK) {
            return status;
        }
        bool is_first = g == 0;
        together->is_even =
            together->is_even && (is_first || fabs(time_s - longest_s) <= 1e-12 * longest_s);
        if (is_first || time_s > longest_s * (1.0 + 1e-12)) {
            longest_s = time_s;
            together->slowest = g;
        }
    }
    return MS_OK;
}

/* Lay out a class: plans of each group by itself, plans with the same flows and with loads, and the
 * slowest group. */
ms_status ms_coll_class_build(const ms_platform *platform, const ms_coll_request *first, int groups,
                              // NOLINTNEXTLINE(readability-non-const-parameter): a struct of it
                              int32_t *link_load, ms_arena *arena, ms_diag *diag,
                              ms_coll_class *class_out) {
    class_layout c = {platform, first, groups, link_load, arena, diag};
    ms_coll_class together = {.own = MS_NEW(arena, ms_coll_plan, groups), .groups = groups};
    ms_status status = together.own == NULL ? MS_E_NOMEM : build_plans(&c, false, together.own);
    status = status == MS_OK ? plan_together(&c, &together) : status;
    status = status == MS_OK ? find_slowest(&c, &together) : status;
    if (status == MS_OK) {
        *class_out = together;
    }
    return status;
}
