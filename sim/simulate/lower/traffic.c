/* The groups that communications run in (traffic.h). Groups of a set of axes and pairs of ranks of
 * two pipeline ranks are made on first use. Once ranks are folded, groups are sorted by the classes
 * of their members: class `k` leads a group if `k` is the lowest class in it, and one group of
 * those is simulated. */
#include "simulate/lower/traffic.h"

#include <stdlib.h>

#include "base/firsts.h"
#include "base/number.h"

void ms_traffic_init(ms_traffic *traffic, const ms_ranks *ranks, ms_arena *arena) {
    *traffic = (ms_traffic){.ranks = ranks, .arena = arena};
    ms_vector_init(&traffic->comms, sizeof(ms_step_comm));
    ms_vector_init(&traffic->streams, sizeof(ms_comm_stream));
}

void ms_traffic_release(ms_traffic *traffic) {
    ms_vector_release(&traffic->comms);
    ms_vector_release(&traffic->streams);
}

/* List the members of every group that spans groups->axes, as GPUs and as indices in the stage,
 * group after group in the order of their lowest ranks. */
static void list_members(const ms_ranks *ranks, ms_comm_groups *groups) {
    int next = 0;
    for (int rank_in_stage = 0; rank_in_stage < ranks->per_pp; rank_in_stage++) {
        int rank = ms_rank_at(ranks, groups->ends[0], rank_in_stage);
        if (!ms_rank_is_lead(ranks, groups->axes, rank)) {
            continue;
        }
        int *members = groups->gpus + next;
        int count = ms_ranks_members(ranks, groups->axes, rank, members);
        for (int m = 0; m < count; m++) {
            groups->ranks_in_stage[next++] = ranks->rank_in_stage[members[m]];
        }
        groups->count++;
    }
    ms_mesh_to_devices(ranks->mesh, groups->gpus, next);
}

/* List the pairs of ranks that have the same index in the stage on the two pipeline ranks
 * groups->ends, in the order of this index. */
static void list_pairs(const ms_ranks *ranks, ms_comm_groups *groups) {
    for (int rank_in_stage = 0; rank_in_stage < ranks->per_pp; rank_in_stage++) {
        groups->gpus[2 * rank_in_stage] = ms_rank_at(ranks, groups->ends[0], rank_in_stage);
        groups->gpus[2 * rank_in_stage + 1] = ms_rank_at(ranks, groups->ends[1], rank_in_stage);
        groups->ranks_in_stage[rank_in_stage] = rank_in_stage;
    }
    groups->count = ranks->per_pp;
    ms_mesh_to_devices(ranks->mesh, groups->gpus, 2 * groups->count);
}

/* The class that leads a group: the lowest class of its members. */
static int group_lead(const ms_ranks *ranks, const ms_comm_groups *groups, int group) {
    const int *ranks_in_stage = groups->ranks_in_stage + (size_t)group * (size_t)groups->ranks_each;
    int lead = ranks->class_of[ranks_in_stage[0]];
    for (int m = 1; m < groups->ranks_each; m++) {
        int k = ranks->class_of[ranks_in_stage[m]];
        lead = k < lead ? k : lead;
    }
    return lead;
}

/* List the classes in a group, ascending and each once, in member_classes from index `next` on, and
 * set the lead of these classes.  group: the first of the groups that its lead leads.  Returns the
 * index behind the last class. */
static int list_classes(const ms_ranks *ranks, ms_comm_groups *groups, int group, int next) {
    const int *ranks_in_stage = groups->ranks_in_stage + (size_t)group * (size_t)groups->ranks_each;
    int first = next;
    for (int m = 0; m < groups->ranks_each; m++) {
        groups->member_classes[next++] = ranks->class_of[ranks_in_stage[m]];
    }
    qsort(groups->member_classes + first, (size_t)(next - first), sizeof(int), ms_compare_ints);
    int kept = first;
    for (int i = first; i < next; i++) {
        if (i == first || groups->member_classes[i] != groups->member_classes[kept - 1]) {
            groups->member_classes[kept++] = groups->member_classes[i];
        }
    }
    for (int i = first; i < kept; i++) {
        groups->lead[groups->member_classes[i]] = groups->member_classes[first];
    }
    return kept;
}

/* List the groups that each class leads (base/firsts.h). */
static void list_led(const ms_ranks *ranks, ms_comm_groups *groups) {
    int classes = ranks->simulated_per_pp;
    for (int group = 0; group < groups->count; group++) {
        groups->group_first[group_lead(ranks, groups, group) + 1]++;
    }
    ms_firsts_make(groups->group_first, classes);
    for (int group = 0; group < groups->count; group++) {
        groups->led[groups->group_first[group_lead(ranks, groups, group)]++] = group;
    }
    ms_firsts_rewind(groups->group_first, classes);
}

/* Set the classes of groups, once classes of ranks are known: lead, member classes and led groups.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status fold_groups(const ms_traffic *traffic, ms_comm_groups *groups) {
    const ms_ranks *ranks = traffic->ranks;
    int classes = ranks->simulated_per_pp;
    groups->lead = MS_NEW(traffic->arena, int, classes);
    groups->class_first = MS_NEW(traffic->arena, int, classes + 1);
    groups->group_first = MS_NEW(traffic->arena, int, classes + 1);
    groups->member_classes = MS_NEW(traffic->arena, int, ranks->per_pp);
    groups->led = MS_NEW(traffic->arena, int, groups->count);
    if (traffic->arena->has_failed) {
        return MS_E_NOMEM;
    }
    list_led(ranks, groups);
    int next = 0;
    for (int k = 0; k < classes; k++) {
        groups->class_first[k] = next;
        if (groups->group_first[k] < groups->group_first[k + 1]) {
            next = list_classes(ranks, groups, groups->led[groups->group_first[k]], next);
        }
    }
    groups->class_first[classes] = next;
    return MS_OK;
}

ms_status ms_traffic_fold(ms_traffic *traffic) {
    traffic->has_classes = true;
    ms_status status = MS_OK;
    for (int p = 0; p < traffic->ranks->pp && traffic->groups != NULL; p++) {
        for (ms_comm_groups *groups = traffic->groups[p]; groups != NULL && status == MS_OK;
             groups = groups->next) {
            status = fold_groups(traffic, groups);
        }
    }
    return status;
}

/* Make the groups of pipeline rank ends[0] that span `axes`, or the pairs for axes 0, and enter
 * them in the traffic.  Returns NULL when memory runs out. */
static ms_comm_groups *make_groups(ms_traffic *traffic, const int ends[2], unsigned axes) {
    const ms_ranks *ranks = traffic->ranks;
    ms_comm_groups *groups = MS_NEW(traffic->arena, ms_comm_groups, 1);
    if (groups == NULL) {
        return NULL;
    }
    int rank = ms_rank_at(ranks, ends[0], 0);
    int members = axes == 0 ? 2 : ms_ranks_members(ranks, axes, rank, NULL);
    *groups = (ms_comm_groups){.ends = {ends[0], ends[1]},
                               .axes = axes,
                               .members = members,
                               .ranks_each = axes == 0 ? 1 : members,
                               .gpus = MS_NEW(traffic->arena, int, 2 * ranks->per_pp),
                               .ranks_in_stage = MS_NEW(traffic->arena, int, ranks->per_pp)};
    if (groups->gpus == NULL || groups->ranks_in_stage == NULL) {
        return NULL;
    }
    if (axes == 0) {
        list_pairs(ranks, groups);
    } else {
        list_members(ranks, groups);
    }
    if (traffic->has_classes && fold_groups(traffic, groups) != MS_OK) {
        return NULL;
    }
    groups->next = traffic->groups[ends[0]];
    return traffic->groups[ends[0]] = groups;
}

ms_comm_groups *ms_traffic_groups(ms_traffic *traffic, const int ends[2], unsigned axes) {
    if (traffic->groups == NULL) {
        traffic->groups = MS_NEW(traffic->arena, ms_comm_groups *, traffic->ranks->pp);
    }
    ms_comm_groups *groups = traffic->groups == NULL ? NULL : traffic->groups[ends[0]];
    while (groups != NULL && (groups->axes != axes || (axes == 0 && groups->ends[1] != ends[1]))) {
        groups = groups->next;
    }
    return groups != NULL || traffic->groups == NULL ? groups : make_groups(traffic, ends, axes);
}
