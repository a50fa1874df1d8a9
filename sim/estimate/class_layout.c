/* Lays the groups of a class out (comm_classes.h): lists the GPUs of each group, builds the plans
 * of the collective on the platform's links (collective/coll_class.h), and takes lines of time from
 * the slowest groups, and from the fastest ones for bounds. */
#include "estimate/class_layout.h"

#include <math.h>
#include <string.h>

void ms_layout_storage_init(ms_layout_storage *space, ms_diag *diag) {
    *space = (ms_layout_storage){.diag = diag, .links = -1};
    ms_arena_init(&space->scratch);
    ms_arena_init(&space->kept);
    ms_vector_init(&space->arrivals, sizeof(double));
}

void ms_layout_storage_release(ms_layout_storage *space) {
    ms_arena_release(&space->scratch);
    ms_arena_release(&space->kept);
    ms_vector_release(&space->arrivals);
}

/* The axes of a mesh but pp, as MS_AXIS_BIT: ranks of one pipeline rank differ on them. */
static unsigned inner_axes(const ms_mesh *mesh) {
    unsigned axes = 0;
    for (int a = 0; a < mesh->axes; a++) {
        axes |= MS_AXIS_BIT(mesh->kinds[a]);
    }
    return axes & ~MS_AXIS_BIT(MS_AXIS_PP);
}

/* List the GPUs of the ranks of pipeline rank `p`, ranks ascending.  gpus: [group_ranks]. */
static void list_gpus(const ms_mesh *mesh, int p, int *gpus) {
    int lead = ms_mesh_neighbour(mesh, mesh->first, MS_AXIS_PP, p);
    int count = ms_mesh_members(mesh, inner_axes(mesh), lead, gpus);
    ms_mesh_to_devices(mesh, gpus, count);
}

/* A class whose groups are being laid out. */
typedef struct class_plans {
    const ms_comm_classes *comm;
    ms_layout_storage *space;
    const ms_class_key *key;
    double bytes;    /* size by which a library chooses [B] */
    const int *gpus; /* [groups * members] group after group */
    int groups, members;
    ms_coll_class class; /* no groups: not laid out */
} class_plans;

/* List the GPUs of the groups inside the key's pipeline rank. Each group is listed from its lead,
 * its lowest rank. */
static ms_status list_groups(class_plans *layout) {
    const ms_mesh *mesh = &layout->comm->mesh;
    int count = layout->comm->group_ranks;
    int *ranks = MS_NEW(&layout->space->scratch, int, count);
    int *gpus = MS_NEW(&layout->space->scratch, int, count);
    if (ranks == NULL || gpus == NULL) {
        return MS_E_NOMEM;
    }
    const ms_mesh *view = ms_comm_mesh(layout->comm, layout->key->axes);
    int lead = ms_mesh_neighbour(mesh, mesh->first, MS_AXIS_PP, layout->key->from);
    /* On the job's mesh the leads are the ranks with coordinate 0 on the group's axes. On the
     * experts' mesh every rank is tried. */
    unsigned others = view == mesh ? layout->key->axes : 0;
    int leads = ms_mesh_members(mesh, inner_axes(mesh) & ~others, lead, ranks);
    int next = 0;
    for (int i = 0; i < leads; i++) {
        if (view == mesh || ms_mesh_is_lead(view, layout->key->axes, ranks[i])) {
            layout->members = ms_mesh_members(view, layout->key->axes, ranks[i], gpus + next);
            next += layout->members;
            layout->groups++;
        }
    }
    ms_mesh_to_devices(mesh, gpus, next);
    layout->gpus = gpus;
    return MS_OK;
}

/* List the GPUs of pairs: rank i of pipeline rank key->from and rank i of key->to. */
static ms_status list_pairs(class_plans *layout) {
    int count = layout->comm->group_ranks;
    int *sides = MS_NEW(&layout->space->scratch, int, 2 * count);
    int *gpus = MS_NEW(&layout->space->scratch, int, 2 * count);
    if (sides == NULL || gpus == NULL) {
        return MS_E_NOMEM;
    }
    list_gpus(&layout->comm->mesh, layout->key->from, sides);
    list_gpus(&layout->comm->mesh, layout->key->to, sides + count);
    for (int i = 0; i < count; i++) {
        gpus[2 * i] = sides[i];
        gpus[2 * i + 1] = sides[count + i];
    }
    layout->gpus = gpus;
    layout->groups = count;
    layout->members = 2;
    return MS_OK;
}

/* The node in which all members of a group lie; -1: they lie in several. */
static int node_of(const class_plans *layout, int group) {
    const int *gpus = layout->gpus + (size_t)group * (size_t)layout->members;
    int node = ms_platform_node(layout->comm->platform, gpus[0]);
    for (int i = 1; i < layout->members; i++) {
        if (ms_platform_node(layout->comm->platform, gpus[i]) != node) {
            return -1;
        }
    }
    return node;
}

/* Whether two groups, each inside a node, have the same positions in their nodes. */
static bool lie_alike(const class_plans *layout, int a, int b) {
    const int *one = layout->gpus + (size_t)a * (size_t)layout->members;
    const int *other = layout->gpus + (size_t)b * (size_t)layout->members;
    int moved = (node_of(layout, b) - node_of(layout, a)) * layout->comm->platform->gpus_per_node;
    for (int i = 0; i < layout->members; i++) {
        if (one[i] + moved != other[i]) {
            return false;
        }
    }
    return true;
}

/* Number of groups inside the first group's node, if the groups of every other node repeat them:
 * the same number, listed one after the other, at the same positions; else 0. */
static int count_repeated(const class_plans *layout) {
    int first = layout->groups > 0 ? node_of(layout, 0) : -1, count = 1;
    if (first < 0) {
        return 0;
    }
    while (count < layout->groups && node_of(layout, count) == first) {
        count++;
    }
    for (int g = count; g < layout->groups; g++) {
        int node = node_of(layout, g);
        bool is_own = g % count == 0 || node == node_of(layout, g - 1);
        if (node < 0 || node == first || !is_own || !lie_alike(layout, g % count, g)) {
            return 0;
        }
    }
    return layout->groups % count == 0 ? count : 0;
}

/* Keep only the groups of the first node if those of all other nodes repeat them. Nodes are alike,
 * and groups inside a node load no links outside of it, so that all nodes take equally long. */
static void keep_first_node(class_plans *layout) {
    bool are_alike = layout->comm->platform->link_factors == NULL;
    int count = layout->members > 1 && are_alike ? count_repeated(layout) : 0;
    layout->groups = count > 0 ? count : layout->groups;
}

/* Whether a is above b; where both are equal, whether a_next is above b_next. */
static bool is_above(double a, double b, double a_next, double b_next) {
    return a > b || (a == b && a_next > b_next);
}

/* Whether line a has less bandwidth than line b; where both are equal, a longer latency. */
static bool is_narrower(const ms_time_line *a, const ms_time_line *b) {
    return is_above(a->per_B_s, b->per_B_s, a->latency_s, b->latency_s);
}

/* Whether line a has a longer latency than line b; where both are equal, less bandwidth. */
static bool is_farther(const ms_time_line *a, const ms_time_line *b) {
    return is_above(a->latency_s, b->latency_s, a->per_B_s, b->per_B_s);
}

/* A time in whole units of `unit_s` [s], which drops rounding errors: they depend on the size for
 * which the class was laid out first, and so on the specs that came before. */
static double round_off(double time_s, double unit_s) {
    return rint(time_s / unit_s) * unit_s;
}

/* Take the line of a group's plan.  is_alone: without the load of other groups on its links. The
 * plan's latency includes the ramp at the size c->bytes; the line keeps the ramp apart, as it
 * depends on the size. */
static ms_status line_of(const class_plans *layout, const ms_coll_plan *plan, bool is_alone,
                         ms_time_line *line_out) {
    const ms_platform *platform = layout->comm->platform;
    double time_s = 0.0;
    double latency_s = ms_coll_plan_latency_s(plan);
    ms_status status = is_alone ? ms_coll_plan_time_alone(platform, plan, &time_s)
                                : ms_coll_plan_time(platform, plan, &time_s);
    ms_library_ramp ramp = ms_nccl_ramp(platform, plan->protocol);
    double sent_s = fmax(0.0, time_s - latency_s);
    latency_s -= ms_library_ramp_s(&ramp, layout->bytes);
    *line_out = (ms_time_line){.latency_s = round_off(latency_s, 1e-15),
                               .per_B_s = round_off(sent_s, 1e-14) / MS_CLASS_REFERENCE_B,
                               .ramp = ramp};
    return status;
}

/* Lower each coefficient of `least` to that of a plan alone on the links: the line then lies below
 * all plans at every size. */
static ms_status add_to_least(const class_plans *layout, const ms_coll_plan *plan,
                              ms_time_line *least) {
    ms_time_line line;
    ms_status status = line_of(layout, plan, true, &line);
    if (status == MS_OK) {
        least->latency_s = fmin(least->latency_s, line.latency_s);
        least->per_B_s = fmin(least->per_B_s, line.per_B_s);
        bool is_less = line.ramp.time_s < least->ramp.time_s;
        least->ramp = is_less ? line.ramp : least->ramp;
    }
    return status;
}

/* Find a line that is never above the time of any group without the traffic of others: both as each
 * group is laid out by itself and as it is laid out beside the others. */
static ms_status time_alone(const class_plans *layout, ms_time_line *alone_out) {
    ms_time_line least = {.latency_s = INFINITY, .per_B_s = INFINITY, .ramp = {.time_s = INFINITY}};
    ms_status status = MS_OK;
    for (int g = 0; g < layout->class.groups && status == MS_OK; g++) {
        bool is_copy =
            layout->class.own[g].copy_of > 0; /* of a group that is in the line already */
        status = is_copy ? MS_OK : add_to_least(layout, &layout->class.own[g], &least);
        is_copy = is_copy && layout->class.plans[g].copy_of > 0;
        if (status == MS_OK && !is_copy && layout->class.plans != layout->class.own) {
            status = add_to_least(layout, &layout->class.plans[g], &least);
        }
    }
    *alone_out = least;
    return status;
}

/* Find the lines of the group with the least bandwidth and of that with the longest latency. Where
 * all groups take equally long and one stands for all, the first one is enough. */
static ms_status time_groups(const class_plans *layout, ms_class_times *times) {
    bool is_alone = layout->comm->is_alone;
    int groups = layout->class.is_even && !layout->comm->is_unfolded ? 1 : layout->class.groups;
    for (int g = 0; g < groups; g++) {
        ms_time_line line;
        const ms_coll_plan *plan = is_alone ? &layout->class.own[g] : &layout->class.plans[g];
        ms_status status = line_of(layout, plan, is_alone, &line);
        if (status != MS_OK) {
            return status;
        }
        times->narrowest = is_narrower(&line, &times->narrowest) ? line : times->narrowest;
        times->farthest = is_farther(&line, &times->farthest) ? line : times->farthest;
    }
    return MS_OK;
}

/* Make room for the loads of `links` links in the space, all zero. */
static ms_status reserve_links(ms_layout_storage *space, int links) {
    if (space->links >= links) {
        return MS_OK;
    }
    space->link_load = MS_NEW(&space->kept, int32_t, links);
    space->links = space->link_load == NULL ? -1 : links;
    return space->link_load == NULL ? MS_E_NOMEM : MS_OK;
}

/* List the groups of the pipeline ranks that the class's key names. */
static ms_status list_members(class_plans *layout) {
    ms_status status = reserve_links(layout->space, layout->comm->platform->link_count);
    if (status == MS_OK) {
        status = layout->key->to >= 0 ? list_pairs(layout) : list_groups(layout);
    }
    return status;
}

/* Lay the groups of a class out on the links, with MS_CLASS_REFERENCE_B bytes. Groups of one member
 * do not communicate: the class then has no groups. */
static ms_status build_class(class_plans *layout) {
    if (layout->members < 2) {
        return MS_OK;
    }
    ms_coll_request first = {.kind = layout->key->kind,
                             .algorithm = layout->comm->algorithms.of[layout->key->kind],
                             .gpus = layout->gpus,
                             .members = layout->members,
                             .protocol = layout->comm->algorithms.protocol,
                             .leaves_node = layout->comm->algorithms.messages != MS_MESSAGES_PAIR,
                             .size_B = MS_CLASS_REFERENCE_B,
                             .choice_B = layout->bytes,
                             .intra_node_B = layout->key->intra_node_share * MS_CLASS_REFERENCE_B,
                             .load_imbalance = layout->key->load_imbalance};
    return ms_coll_class_build(layout->comm->platform, &first, layout->groups,
                               layout->space->link_load, &layout->space->scratch,
                               layout->space->diag, &layout->class);
}

ms_status ms_comm_class_build(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, ms_coll_class *class_out) {
    class_plans layout = {.comm = comm, .space = space, .key = key, .bytes = key->bytes};
    ms_status status = list_members(&layout);
    status = status == MS_OK ? build_class(&layout) : status;
    *class_out = layout.class;
    return status;
}

/* Lay a class out and find its lines, which stay zeros where the class has no groups. */
static ms_status time_class(class_plans *layout, ms_class_times *times) {
    ms_status status = build_class(layout);
    status =
        status == MS_OK && layout->class.groups > 0 ? time_alone(layout, &times->alone) : status;
    return status == MS_OK && layout->class.groups > 0 ? time_groups(layout, times) : status;
}

ms_status ms_class_times_find(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, double bytes, ms_class_times *times_out) {
    class_plans layout = {.comm = comm, .space = space, .key = key, .bytes = bytes};
    ms_class_times times = {.key = *key};
    ms_status status = list_members(&layout);
    if (status == MS_OK && layout.members > 1) {
        keep_first_node(&layout);
        status = time_class(&layout, &times);
    }
    ms_arena_clear(&space->scratch);
    times.key = *key;
    times.is_refused = status != MS_OK;
    *times_out = times;
    return status;
}

/* Whether a library chooses alike for two communicators. Their bandwidths follow from the fields
 * that are compared, as all nodes of a platform are alike. */
static bool is_same_comm(const ms_nccl_comm *a, const ms_nccl_comm *b) {
    return a->ranks == b->ranks && a->nodes == b->nodes && a->nics == b->nics &&
           a->has_equal_nodes == b->has_equal_nodes &&
           (a->nodes == a->ranks) == (b->nodes == b->ranks);
}

/* Add a group's communicator to the list unless it has an equal one. All that do not fit together
 * count as one more. */
static void add_comm(ms_class_comms *all, const ms_nccl_comm *comm) {
    for (int i = 0; i < all->count && i < MS_CLASS_COMMS_MAX; i++) {
        if (is_same_comm(&all->comms[i], comm)) {
            return;
        }
    }
    if (all->count < MS_CLASS_COMMS_MAX) {
        all->comms[all->count] = *comm;
    }
    all->count += all->count <= MS_CLASS_COMMS_MAX;
}

/* Groups with a single member communicate nothing, and have no communicator. */
ms_status ms_class_comms_list(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, ms_class_comms *all_out) {
    class_plans layout = {.comm = comm, .space = space, .key = key};
    *all_out = (ms_class_comms){.count = 0};
    ms_status status = list_members(&layout);
    if (status == MS_OK) {
        keep_first_node(&layout);
    }
    for (int g = 0; g < layout.groups && layout.members > 1 && status == MS_OK; g++) {
        ms_nccl_comm one;
        status = ms_nccl_comm_find(comm->platform, layout.gpus + (size_t)g * (size_t)layout.members,
                                   layout.members, &one);
        if (status == MS_OK) {
            add_comm(all_out, &one);
        }
    }
    ms_arena_clear(&space->scratch);
    return status;
}
