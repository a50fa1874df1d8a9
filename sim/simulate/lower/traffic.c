/* The groups that communications run in (traffic.h). Groups of a set of axes and pairs of ranks of
 * two pipeline ranks are made on first use. Once ranks are folded, groups are sorted by the classes
 * of their members: class `k` leads a group if `k` is the lowest class in it, and one group of
 * those is simulated. */
#include "simulate/lower/traffic.h"

#include <stdlib.h>

#include "base/firsts.h"

void ms_traffic_init(ms_traffic *traffic, const ms_ranks *ranks, ms_arena *arena) {
    *traffic = (ms_traffic){.ranks = ranks, .arena = arena};
    ms_vector_init(&traffic->comms, sizeof(ms_step_comm));
    ms_vector_init(&traffic->streams, sizeof(ms_comm_stream));
}

void ms_traffic_release(ms_traffic *traffic) {
    ms_vector_release(&traffic->comms);
    ms_vector_release(&traffic->streams);
}

/* List the members of every group that spans g->axes, as GPUs and as places, group after group in
 * the order of their lowest places. */
static void list_members(const ms_ranks *ranks, ms_comm_groups *g) {
    int next = 0;
    for (int place = 0; place < ranks->per_pp; place++) {
        int rank = ms_rank_at(ranks, g->ends[0], place);
        if (!ms_rank_is_lead(ranks, g->axes, rank)) {
            continue;
        }
        int *members = g->gpus + next;
        int count = ms_ranks_members(ranks, g->axes, rank, members);
        for (int m = 0; m < count; m++) {
            g->places[next++] = ranks->place[members[m]];
        }
        g->count++;
    }
    ms_mesh_to_devices(ranks->mesh, g->gpus, next);
}

/* List the pairs of ranks at the same place of the pipeline ranks g->ends, by place. */
static void list_pairs(const ms_ranks *ranks, ms_comm_groups *g) {
    for (int place = 0; place < ranks->per_pp; place++) {
        g->gpus[2 * place] = ms_rank_at(ranks, g->ends[0], place);
        g->gpus[2 * place + 1] = ms_rank_at(ranks, g->ends[1], place);
        g->places[place] = place;
    }
    g->count = ranks->per_pp;
    ms_mesh_to_devices(ranks->mesh, g->gpus, 2 * g->count);
}

/* The class that leads a group: the lowest class of its members. */
static int group_lead(const ms_ranks *ranks, const ms_comm_groups *g, int group) {
    const int *places = g->places + (size_t)group * (size_t)g->places_each;
    int lead = ranks->class_of[places[0]];
    for (int m = 1; m < g->places_each; m++) {
        int k = ranks->class_of[places[m]];
        lead = k < lead ? k : lead;
    }
    return lead;
}

/* Order of integers for qsort. */
static int by_number(const void *a, const void *b) {
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

/* List the classes in a group, ascending and each once, in member_classes from index `next` on, and
 * set the lead of these classes.  group: the first of the groups that its lead leads.  Returns the
 * index behind the last class. */
static int list_classes(const ms_ranks *ranks, ms_comm_groups *g, int group, int next) {
    const int *places = g->places + (size_t)group * (size_t)g->places_each;
    int first = next;
    for (int m = 0; m < g->places_each; m++) {
        g->member_classes[next++] = ranks->class_of[places[m]];
    }
    qsort(g->member_classes + first, (size_t)(next - first), sizeof(int), by_number);
    int kept = first;
    for (int i = first; i < next; i++) {
        if (i == first || g->member_classes[i] != g->member_classes[kept - 1]) {
            g->member_classes[kept++] = g->member_classes[i];
        }
    }
    for (int i = first; i < kept; i++) {
        g->lead[g->member_classes[i]] = g->member_classes[first];
    }
    return kept;
}

/* List the groups that each class leads (base/firsts.h). */
static void list_led(const ms_ranks *ranks, ms_comm_groups *g) {
    int classes = ranks->simulated_per_pp;
    for (int group = 0; group < g->count; group++) {
        g->group_first[group_lead(ranks, g, group) + 1]++;
    }
    ms_firsts_make(g->group_first, classes);
    for (int group = 0; group < g->count; group++) {
        g->led[g->group_first[group_lead(ranks, g, group)]++] = group;
    }
    ms_firsts_rewind(g->group_first, classes);
}

/* Set the classes of groups, once classes of ranks are known: lead, member classes and led groups.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status fold_groups(const ms_traffic *traffic, ms_comm_groups *g) {
    const ms_ranks *ranks = traffic->ranks;
    int classes = ranks->simulated_per_pp;
    g->lead = MS_NEW(traffic->arena, int, classes);
    g->class_first = MS_NEW(traffic->arena, int, classes + 1);
    g->group_first = MS_NEW(traffic->arena, int, classes + 1);
    g->member_classes = MS_NEW(traffic->arena, int, ranks->per_pp);
    g->led = MS_NEW(traffic->arena, int, g->count);
    if (traffic->arena->has_failed) {
        return MS_E_NOMEM;
    }
    list_led(ranks, g);
    int next = 0;
    for (int k = 0; k < classes; k++) {
        g->class_first[k] = next;
        if (g->group_first[k] < g->group_first[k + 1]) {
            next = list_classes(ranks, g, g->led[g->group_first[k]], next);
        }
    }
    g->class_first[classes] = next;
    return MS_OK;
}

ms_status ms_traffic_fold(ms_traffic *traffic) {
    traffic->has_classes = true;
    ms_status status = MS_OK;
    for (int p = 0; p < traffic->ranks->pp && traffic->groups != NULL; p++) {
        for (ms_comm_groups *g = traffic->groups[p]; g != NULL && status == MS_OK; g = g->next) {
            status = fold_groups(traffic, g);
        }
    }
    return status;
}

/* Make the groups of pipeline rank ends[0] that span `axes`, or the pairs for axes 0, and enter
 * them in the traffic.  Returns NULL when memory runs out. */
static ms_comm_groups *make_groups(ms_traffic *traffic, const int ends[2], unsigned axes) {
    const ms_ranks *ranks = traffic->ranks;
    ms_comm_groups *g = MS_NEW(traffic->arena, ms_comm_groups, 1);
    if (g == NULL) {
        return NULL;
    }
    int rank = ms_rank_at(ranks, ends[0], 0);
    int members = axes == 0 ? 2 : ms_ranks_members(ranks, axes, rank, NULL);
    *g = (ms_comm_groups){.ends = {ends[0], ends[1]},
                          .axes = axes,
                          .members = members,
                          .places_each = axes == 0 ? 1 : members,
                          .gpus = MS_NEW(traffic->arena, int, 2 * ranks->per_pp),
                          .places = MS_NEW(traffic->arena, int, ranks->per_pp)};
    if (g->gpus == NULL || g->places == NULL) {
        return NULL;
    }
    if (axes == 0) {
        list_pairs(ranks, g);
    } else {
        list_members(ranks, g);
    }
    if (traffic->has_classes && fold_groups(traffic, g) != MS_OK) {
        return NULL;
    }
    g->next = traffic->groups[ends[0]];
    return traffic->groups[ends[0]] = g;
}

ms_comm_groups *ms_traffic_groups(ms_traffic *traffic, const int ends[2], unsigned axes) {
    if (traffic->groups == NULL) {
        traffic->groups = MS_NEW(traffic->arena, ms_comm_groups *, traffic->ranks->pp);
    }
    ms_comm_groups *g = traffic->groups == NULL ? NULL : traffic->groups[ends[0]];
    while (g != NULL && (g->axes != axes || (axes == 0 && g->ends[1] != ends[1]))) {
        g = g->next;
    }
    return g != NULL || traffic->groups == NULL ? g : make_groups(traffic, ends, axes);
}
