/* Collectives of a fold class. See decision note folding.md beside this file. */
#include "graph/lowering.h"

#include <math.h>
#include <string.h>

static uint64_t hash_key(const ms_work_key *key) {
    uint64_t bits = 0;
    memcpy(&bits, &key->size_B, sizeof bits);
    uint64_t h = bits * 0x9E3779B97F4A7C15U;
    h ^= ((uint64_t)(uint32_t)key->kind << 40) ^ ((uint64_t)(uint32_t)key->domain << 32);
    h ^= (uint64_t)(uint32_t)key->first * 0xC2B2AE3D27D4EB4FU;
    h ^= (uint64_t)(uint32_t)key->second * 0x165667B19E3779F9U;
    return h ^ (h >> 29);
}

static bool same_key(const ms_work_key *a, const ms_work_key *b) {
    return a->size_B == b->size_B && a->node_B == b->node_B && a->skew == b->skew &&
           a->kind == b->kind && a->domain == b->domain && a->first == b->first &&
           a->second == b->second;
}

static size_t find_slot(const ms_lowering *l, const ms_work_key *key) {
    size_t slot = (size_t)(hash_key(key) % l->key_slots);
    while (l->key_table[slot] >= 0 &&
           !same_key(&MS_AT(&l->keys, ms_work_key, l->key_table[slot]), key)) {
        slot = (slot + 1) % l->key_slots;
    }
    return slot;
}

int32_t ms_lowering_find(const ms_lowering *l, const ms_work_key *key) {
    if (l->key_slots == 0) {
        return -1;
    }
    int32_t index = l->key_table[find_slot(l, key)];
    return index < 0 ? -1 : MS_AT(&l->key_works, int32_t, index);
}

/* Double the table and enter every key again. */
static bool grow_table(ms_lowering *l) {
    size_t slots = l->key_slots == 0 ? 256 : l->key_slots * 2;
    int32_t *table = MS_NEW(l->arena, int32_t, slots);
    if (table == NULL) {
        return false;
    }
    memset(table, 0xFF, slots * sizeof *table);
    l->key_table = table;
    l->key_slots = slots;
    for (size_t i = 0; i < l->keys.count; i++) {
        table[find_slot(l, &MS_AT(&l->keys, ms_work_key, i))] = (int32_t)i;
    }
    return true;
}

void ms_lowering_remember(ms_lowering *l, const ms_work_key *key, int32_t work) {
    if (l->keys.count * 2 >= l->key_slots && !grow_table(l)) {
        l->keys.failed = true;
        return;
    }
    size_t slot = find_slot(l, key);
    if (ms_vector_add(&l->keys, key, 1) == NULL || ms_vector_add(&l->key_works, &work, 1) == NULL) {
        l->keys.failed = true;
        return;
    }
    l->key_table[slot] = (int32_t)(l->keys.count - 1);
}

/* Count (sign 1) or forget (sign -1) the crossings of a plan's links. */
static void load_links(ms_lowering *l, const ms_coll_plan *plan, int sign) {
    for (int p = 0; p < plan->phase_count; p++) {
        for (int f = 0; f < plan->phases[p].count; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            for (int i = 0; i < flow->count; i++) {
                l->link_load[flow->links[i].link] += sign * flow->links[i].weight;
            }
        }
    }
}

/* Time of a plan while the whole class runs: every link carries the class's load. */
static double loaded_time_s(const ms_lowering *l, const ms_coll_plan *plan) {
    double time_s = 0.0;
    for (int p = 0; p < plan->phase_count; p++) {
        double slowest_s = 0.0;
        for (int f = 0; f < plan->phases[p].count; f++) {
            const ms_flow *flow = &plan->phases[p].flows[f];
            for (int i = 0; i < flow->count; i++) {
                int link = flow->links[i].link;
                double capacity_Bps = ms_platform_link(l->in->platform, link).capacity_Bps;
                slowest_s = fmax(slowest_s, flow->bytes * l->link_load[link] / capacity_Bps);
            }
        }
        time_s += slowest_s + plan->phases[p].latency_s;
    }
    return time_s;
}

static int32_t graph_link(ms_lowering *l, int link) {
    if (l->dag_link[link] < 0) {
        ms_link_info info = ms_platform_link(l->in->platform, link);
        l->dag_link[link] = ms_dag_add_link(l->dag, info.capacity_Bps, link, info.tier);
    }
    return l->dag_link[link];
}

static bool crosses_tier(const ms_lowering *l, const ms_flow *flow, int tier) {
    for (int i = 0; i < flow->count; i++) {
        if (ms_platform_link(l->in->platform, flow->links[i].link).tier == tier) {
            return true;
        }
    }
    return false;
}

static void add_crossing(ms_lowering *l, const ms_flow_link *crossing) {
    ms_dag_add_crossing(l->dag, graph_link(l, crossing->link), l->link_load[crossing->link],
                        crossing->weight);
}

/* The simulated group's flow, then the slowest group's links in tiers that the first does not
 * cross. */
static void add_flow(ms_lowering *l, const ms_flow *own, const ms_flow *slowest) {
    if (own->bytes != slowest->bytes) {
        own = slowest; /* laid out otherwise altogether, such as with fewer rings */
    }
    ms_dag_add_flow(l->dag, own->bytes);
    for (int i = 0; i < own->count; i++) {
        add_crossing(l, &own->links[i]);
    }
    for (int i = 0; i < slowest->count; i++) {
        int tier = ms_platform_link(l->in->platform, slowest->links[i].link).tier;
        if (!crosses_tier(l, own, tier)) {
            add_crossing(l, &slowest->links[i]);
        }
    }
}

static ms_status build_plans(ms_lowering *l, const ms_class_request *request, ms_coll_plan *plans) {
    for (int g = 0; g < request->groups; g++) {
        ms_coll_request group = {.kind = request->kind,
                                 .algorithm = MS_ALGORITHM_AUTO,
                                 .gpus = request->gpus + (size_t)g * (size_t)request->members,
                                 .members = request->members,
                                 .size_B = request->size_B,
                                 .node_B = request->node_B,
                                 .skew = request->skew};
        ms_status status = ms_coll_plan_build(l->in->platform, &group, l->arena, &plans[g]);
        if (status == MS_E_RANGE && request->kind == MS_COLL_ALL_TO_ALL) {
            ms_diag_error(l->diag, "%s among %d ranks is not laid out; at most %d are",
                          ms_coll_kind_name(request->kind), request->members,
                          (int)MS_PAIRWISE_MEMBERS_MAX);
            return MS_E_INPUT;
        }
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* The group that takes longest under the class's load. */
static int find_slowest(ms_lowering *l, const ms_coll_plan *plans, int groups) {
    int slowest = 0;
    double longest_s = loaded_time_s(l, &plans[0]);
    for (int g = 1; g < groups; g++) {
        double time_s = loaded_time_s(l, &plans[g]);
        l->is_exact = l->is_exact && fabs(time_s - longest_s) <= 1e-12 * longest_s;
        if (time_s > longest_s * (1.0 + 1e-12)) {
            longest_s = time_s;
            slowest = g;
        }
    }
    return slowest;
}

static int32_t add_work(ms_lowering *l, const ms_class_request *request, const ms_coll_plan *own,
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
        .skew = request->skew,
        .tag = -1,
    };
    int32_t index = ms_dag_add_work(l->dag, &work);
    for (int p = 0; p < own->phase_count; p++) {
        ms_dag_add_phase(l->dag, slowest->phases[p].latency_s);
        for (int f = 0; f < own->phases[p].count; f++) {
            add_flow(l, &own->phases[p].flows[f], &slowest->phases[p].flows[f]);
        }
    }
    return index;
}

ms_status ms_class_work(ms_lowering *l, const ms_class_request *request, int32_t *work_out) {
    ms_coll_plan *plans = MS_NEW(l->arena, ms_coll_plan, request->groups);
    if (plans == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = build_plans(l, request, plans);
    if (status != MS_OK) {
        return status;
    }
    for (int g = 0; g < request->groups; g++) {
        load_links(l, &plans[g], 1);
    }
    const ms_coll_plan *slowest = &plans[find_slowest(l, plans, request->groups)];
    *work_out = add_work(l, request, &plans[0], slowest);
    for (int g = 0; g < request->groups; g++) {
        load_links(l, &plans[g], -1);
    }
    return *work_out < 0 ? MS_E_NOMEM : MS_OK;
}
