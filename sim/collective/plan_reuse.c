/* Lays out the same collective in many groups of GPUs (ms_coll_plans_build). Most groups are copies
 * of an earlier group, shifted to other nodes or slots (a slot is a GPU's index in its node). A
 * copy gets the plan of this group, its original, with shifted links. */
#include "collective/coll_class.h"

/* Number of originals that are kept to compare with, the latest ones. */
enum { ORIGINALS_MAX = 8 };

/* A group that was laid out by itself. */
typedef struct original {
    const int *gpus; /* [members] */
    const ms_coll_plan *plan;
    int group;            /* its index among the groups */
    ms_group_move extent; /* its lowest and highest GPU and slot, and tier; no distances */
} original;

/* The layout of many groups under way. */
typedef struct plan_reuse {
    const ms_platform *platform;
    int members;
    ms_arena *arena;
    original originals[ORIGINALS_MAX];
    int count; /* number of originals: groups that were laid out by themselves so far */
} plan_reuse;

/* Extend an interval [low, high] to contain a value. */
static void widen(int bounds[2], int value) {
    bounds[0] = value < bounds[0] ? value : bounds[0];
    bounds[1] = value > bounds[1] ? value : bounds[1];
}

/* Keep a group that was laid out by itself as an original, in place of the oldest one if there are
 * ORIGINALS_MAX already. */
static void remember(plan_reuse *reuse, int group, const int *gpus, const ms_coll_plan *plan) {
    int node = reuse->platform->gpus_per_node;
    ms_group_move extent = {
        .gpus = {gpus[0], gpus[0]}, .slots = {gpus[0] % node, gpus[0] % node}, .tier = plan->tier};
    for (int i = 1; i < reuse->members; i++) {
        widen(extent.gpus, gpus[i]);
        widen(extent.slots, gpus[i] % node);
    }
    reuse->originals[reuse->count++ % ORIGINALS_MAX] =
        (original){.gpus = gpus, .plan = plan, .group = group, .extent = extent};
}

/* Whether a group is a shifted copy of the original, so that it has the same plan over shifted
 * links.  shifts_out: see ms_platform_moves_alike. */
static bool is_moved(const plan_reuse *reuse, const original *from, const int *gpus,
                     int *shifts_out) {
    int node = reuse->platform->gpus_per_node;
    int on = gpus[0] - from->gpus[0]; /* shift of every GPU: over nodes, then slots */
    ms_group_move move = from->extent;
    move.slots_on = gpus[0] % node - from->gpus[0] % node;
    move.nodes = (on - move.slots_on) / node;
    if (!ms_platform_moves_alike(reuse->platform, &move, shifts_out)) {
        return false;
    }
    bool is_same = true;
    for (int i = 1; i < reuse->members && is_same; i++) {
        is_same = gpus[i] - from->gpus[i] == on;
    }
    return is_same;
}

/* Copy a phase and its flows, with link numbers shifted.  shifts: [tiers] to add to link numbers.
 * Returns false if memory runs out. */
static bool move_flows(const plan_reuse *reuse, const ms_phase *from, const int *shifts,
                       ms_phase *phase) {
    *phase = *from;
    phase->flows = MS_NEW(reuse->arena, ms_flow, from->count);
    for (int f = 0; f < from->count && phase->flows != NULL; f++) {
        ms_flow *flow = &phase->flows[f];
        *flow = from->flows[f];
        flow->links = MS_NEW(reuse->arena, ms_flow_link, flow->count);
        if (flow->links == NULL) {
            return false;
        }
        int tier = 0; /* of the current link: links are numbered, and sorted, tier after tier */
        for (int i = 0; i < flow->count; i++) {
            ms_flow_link link = from->flows[f].links[i];
            while (tier + 1 < reuse->platform->tier_count &&
                   link.link >= reuse->platform->tiers[tier + 1].first_link) {
                tier++;
            }
            link.link += shifts[tier];
            link.load = link.weight; /* that of the original may count a class already */
            flow->links[i] = link;
        }
    }
    return phase->flows != NULL;
}

/* Make the plan of a shifted copy from that of its original.  shifts: [tiers] to add to link
 * numbers.  Phases that share their flows do so in the copy, too. */
static ms_status move_plan(const plan_reuse *reuse, const original *one, const int *shifts,
                           ms_coll_plan *plan_out) {
    const ms_coll_plan *from = one->plan;
    ms_coll_plan plan = *from;
    plan.copy_of = 1 + one->group;
    plan.phases = MS_NEW(reuse->arena, ms_phase, from->phase_count);
    if (plan.phases == NULL) {
        return MS_E_NOMEM;
    }
    for (int p = 0; p < from->phase_count; p++) {
        if (ms_coll_phase_is_again(from, p)) {
            plan.phases[p] = from->phases[p];
            plan.phases[p].flows = plan.phases[p - 1].flows;
        } else if (!move_flows(reuse, &from->phases[p], shifts, &plan.phases[p])) {
            return MS_E_NOMEM;
        }
    }
    *plan_out = plan;
    return MS_OK;
}

/* The original of which a group is a shifted copy; NULL: none of those kept. */
static const original *find_original(const plan_reuse *reuse, const int *gpus, int *shifts_out) {
    int kept = reuse->count < ORIGINALS_MAX ? reuse->count : ORIGINALS_MAX;
    for (int i = 0; i < kept; i++) {
        if (is_moved(reuse, &reuse->originals[i], gpus, shifts_out)) {
            return &reuse->originals[i];
        }
    }
    return NULL;
}

/* Lay out the same collective in many groups. Each group is compared with the originals; if it is a
 * shifted copy of none, it is laid out by itself and becomes an original. */
ms_status ms_coll_plans_build(const ms_platform *platform, const ms_coll_request *first, int groups,
                              ms_arena *arena, ms_coll_plan *plans_out) {
    plan_reuse reuse = {.platform = platform, .members = first->members, .arena = arena};
    ms_coll_request group = *first;
    ms_status status = MS_OK;
    for (int g = 0; g < groups && status == MS_OK; g++) {
        int shifts[MS_TIER_MAX];
        group.gpus = first->gpus + (size_t)g * (size_t)first->members;
        /* links with factors of their own are not alike, so copies would take other times */
        const original *from =
            platform->link_factors == NULL ? find_original(&reuse, group.gpus, shifts) : NULL;
        if (from != NULL) {
            status = move_plan(&reuse, from, shifts, &plans_out[g]);
            continue;
        }
        status = ms_coll_plan_build(platform, &group, arena, &plans_out[g]);
        if (status == MS_OK) {
            remember(&reuse, g, group.gpus, &plans_out[g]);
        }
    }
    return status;
}
