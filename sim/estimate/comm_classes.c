#include "estimate/comm_classes.h"

#include <math.h>
#include <string.h>

void ms_plan_space_init(ms_plan_space *space, ms_diag *diag) {
    *space = (ms_plan_space){.diag = diag, .links = -1};
    ms_arena_init(&space->scratch);
    ms_arena_init(&space->kept);
}

void ms_plan_space_release(ms_plan_space *space) {
    ms_arena_release(&space->scratch);
    ms_arena_release(&space->kept);
}

/* Axes that tell the ranks of one pipeline rank apart. */
static unsigned inner_axes(const ms_mesh *mesh) {
    unsigned axes = 0;
    for (int a = 0; a < mesh->axes; a++) {
        axes |= MS_AXIS_BIT(mesh->kinds[a]);
    }
    return axes & ~MS_AXIS_BIT(MS_AXIS_PP);
}

/* GPUs of a pipeline rank, in order of its ranks. */
static void list_gpus(const ms_mesh *mesh, int p, int *gpus) {
    int lead = ms_mesh_neighbour(mesh, mesh->first, MS_AXIS_PP, p);
    int count = ms_mesh_members(mesh, inner_axes(mesh), lead, gpus);
    ms_mesh_to_devices(mesh, gpus, count);
}

/* Where the ranks of pipeline ranks lie: p * shift behind those of the first one, and from there on
 * again every `cell` GPUs at most. */
typedef struct pipeline_grid {
    int shift, cell;
    int span; /* GPUs from the first to the last rank of one pipeline rank */
} pipeline_grid;

static pipeline_grid grid_of(const ms_mesh *mesh) {
    pipeline_grid grid = {.shift = mesh->ranks, .cell = mesh->ranks, .span = 1};
    for (int a = 0; a < mesh->axes; a++) {
        if (mesh->kinds[a] == MS_AXIS_PP) {
            grid.shift = mesh->strides[a];
            grid.cell = mesh->strides[a] * mesh->sizes[a];
        } else {
            grid.span += (mesh->sizes[a] - 1) * mesh->strides[a];
        }
    }
    return grid;
}

/* Whether two rows of GPUs of equal length lie alike among the units of a tier: the same distance
 * into one, or each inside one. */
static bool is_row_alike(int unit, int first_a, int first_b, int count) {
    int into_a = first_a % unit, into_b = first_b % unit;
    return into_a == into_b || (into_a + count <= unit && into_b + count <= unit);
}

/* Whether pipeline ranks p and q, with `step` of their successors, lie alike among the units of a
 * tier. Where units and cells fit into each other, borders between units fall at the same place of
 * every cell. */
static bool is_alike_in(int unit, const pipeline_grid *grid, int p, int q, int step) {
    int shift = grid->shift;
    bool is_nested = unit % grid->cell == 0 || (grid->cell % unit == 0 && shift % unit == 0);
    bool holds_several = grid->cell % unit == 0 && unit % shift == 0;
    if (is_nested || (holds_several && step == 0)) {
        return true;
    }
    if (holds_several) {
        return is_row_alike(unit, p * shift, q * shift, 2 * shift);
    }
    return is_row_alike(unit, p * shift, q * shift, grid->span + step * shift);
}

/* The first pipeline rank that lies as `p` does, by itself (step 0) or with its successor (1). */
static int first_alike(const ms_comm_classes *comm, const pipeline_grid *grid, int p, int step) {
    const ms_platform *platform = comm->platform;
    for (int q = 0; q < p && comm->mesh.devices == NULL && p + step < comm->pp; q++) {
        bool is_same = true;
        for (int t = 0; t + 1 < platform->tier_count && is_same; t++) {
            is_same = is_alike_in(ms_platform_domain(platform, t), grid, p, q, step);
        }
        if (is_same) {
            return q;
        }
    }
    return p;
}

double ms_comm_norm_s(ms_comm_classes *comm) {
    int tier = 0;
    if (comm->norm_s < 0.0) {
        comm->norm_s = ms_coll_world_sum_s(comm->platform, &comm->mesh, &tier);
    }
    return comm->norm_s;
}

ms_status ms_comm_classes_init(ms_comm_classes *comm_out, const ms_platform *platform,
                               const ms_mesh *mesh, ms_arena *arena) {
    int pp = ms_mesh_size(mesh, MS_AXIS_PP);
    *comm_out = (ms_comm_classes){.platform = platform,
                                  .mesh = *mesh,
                                  .pp = pp,
                                  .group_ranks = mesh->ranks / pp,
                                  .norm_s = -1.0};
    ms_memo_init(&comm_out->keys, sizeof(ms_class_key));
    ms_memo_init(&comm_out->ways, sizeof(ms_class_key));
    ms_memo_init(&comm_out->groups, sizeof(ms_class_key));
    ms_vector_init(&comm_out->class_of, sizeof(int32_t));
    ms_vector_init(&comm_out->classes, sizeof(ms_class_times));
    ms_vector_init(&comm_out->comms, sizeof(ms_class_comms));
    comm_out->alike = MS_NEW(arena, int, pp);
    comm_out->boundary_alike = MS_NEW(arena, int, pp);
    if (comm_out->alike == NULL || comm_out->boundary_alike == NULL) {
        return MS_E_NOMEM;
    }
    pipeline_grid grid = grid_of(mesh);
    for (int p = 0; p < pp; p++) {
        comm_out->alike[p] = first_alike(comm_out, &grid, p, 0);
        comm_out->boundary_alike[p] = first_alike(comm_out, &grid, p, 1);
    }
    return MS_OK;
}

void ms_comm_classes_release(ms_comm_classes *comm) {
    ms_memo_release(&comm->keys);
    ms_memo_release(&comm->ways);
    ms_memo_release(&comm->groups);
    ms_vector_release(&comm->class_of);
    ms_vector_release(&comm->classes);
    ms_vector_release(&comm->comms);
}

ms_class_key ms_class_of_segment(const ms_segment *segment, int p) {
    unsigned axes = segment->group_axes;
    return (ms_class_key){.kind = segment->coll,
                          .bytes = segment->coll_B,
                          .axes = axes != 0 ? axes : MS_AXIS_BIT(segment->axis),
                          .from = p,
                          .to = -1,
                          .intra_node_share = segment->coll_intra_node_B > 0.0
                                                  ? segment->coll_intra_node_B / segment->coll_B
                                                  : 0.0,
                          .load_imbalance = segment->coll_load_imbalance};
}

static double on_line(const ms_time_line *line, double bytes) {
    return line->latency_s + bytes * line->per_B_s + ms_library_ramp_s(&line->ramp, bytes);
}

double ms_class_time_s(const ms_class_times *times, double bytes) {
    return fmax(on_line(&times->narrowest, bytes), on_line(&times->farthest, bytes));
}

double ms_class_bound_s(const ms_class_times *times, double bytes) {
    return on_line(&times->alone, bytes);
}

/* Bytes of a key that a library chooses by; 0 where none does. */
static double chosen_bytes(const ms_comm_classes *comm, const ms_class_key *key) {
    return ms_nccl_applies(comm->platform, key->kind) ? key->bytes : 0.0;
}

ms_class_key ms_class_as_chosen(const ms_comm_classes *comm, const ms_class_key *key) {
    ms_class_key chosen = *key;
    chosen.bytes = chosen_bytes(comm, key);
    return chosen;
}

/* Pipeline ranks of a class, as the first ones that lie like them. */
typedef struct class_ranks {
    int from, to;
} class_ranks;

static class_ranks first_ranks(const ms_comm_classes *comm, const ms_class_key *key) {
    class_ranks ranks = {key->from, key->to};
    int pp = comm->pp;
    if (key->to < 0) {
        ranks.from = comm->alike[key->from];
    } else if (key->to == (key->from + 1) % pp) {
        ranks.from = comm->boundary_alike[key->from];
        ranks.to = (ranks.from + 1) % pp;
    } else if (key->from == (key->to + 1) % pp) {
        ranks.to = comm->boundary_alike[key->to];
        ranks.from = (ranks.to + 1) % pp;
    }
    return ranks;
}

/* Whether a key that is known is the one asked for: `key` among `ranks`, with `bytes`. */
static bool is_asked_for(const ms_class_key *known, const ms_class_key *key, class_ranks ranks,
                         double bytes) {
    return known->from == ranks.from && known->to == ranks.to && known->kind == key->kind &&
           known->axes == key->axes && known->bytes == bytes &&
           known->intra_node_share == key->intra_node_share &&
           known->load_imbalance == key->load_imbalance;
}

bool ms_class_is_same(const ms_class_key *a, const ms_class_key *b) {
    return is_asked_for(a, b, (class_ranks){b->from, b->to}, b->bytes);
}

/* A class while it is laid out. */
typedef struct class_plans {
    const ms_comm_classes *comm;
    ms_plan_space *space;
    const ms_class_key *key;
    double bytes;
    const int *gpus; /* [groups * members] group after group */
    int groups, members;
    bool is_for_times; /* groups that take the same time as others may be left out */
    ms_coll_class class;
} class_plans;

/* Groups of ranks that differ on the class's axes. */
static ms_status list_groups(class_plans *c) {
    const ms_mesh *mesh = &c->comm->mesh;
    int count = c->comm->group_ranks;
    int *ranks = MS_NEW(&c->space->scratch, int, count);
    int *gpus = MS_NEW(&c->space->scratch, int, count);
    if (ranks == NULL || gpus == NULL) {
        return MS_E_NOMEM;
    }
    const ms_mesh *view = ms_comm_mesh(c->comm, c->key->axes);
    int lead = ms_mesh_neighbour(mesh, mesh->first, MS_AXIS_PP, c->key->from);
    unsigned others = view == mesh ? c->key->axes : 0; /* whose ranks are no lead but the first */
    int leads = ms_mesh_members(mesh, inner_axes(mesh) & ~others, lead, ranks);
    int next = 0;
    for (int i = 0; i < leads; i++) {
        if (view == mesh || ms_mesh_is_lead(view, c->key->axes, ranks[i])) {
            c->members = ms_mesh_members(view, c->key->axes, ranks[i], gpus + next);
            next += c->members;
            c->groups++;
        }
    }
    ms_mesh_to_devices(mesh, gpus, next);
    c->gpus = gpus;
    return MS_OK;
}

/* Pairs of a rank and its peer on the other pipeline rank. */
static ms_status list_pairs(class_plans *c) {
    int count = c->comm->group_ranks;
    int *sides = MS_NEW(&c->space->scratch, int, 2 * count);
    int *gpus = MS_NEW(&c->space->scratch, int, 2 * count);
    if (sides == NULL || gpus == NULL) {
        return MS_E_NOMEM;
    }
    list_gpus(&c->comm->mesh, c->key->from, sides);
    list_gpus(&c->comm->mesh, c->key->to, sides + count);
    for (int i = 0; i < count; i++) {
        gpus[2 * i] = sides[i];
        gpus[2 * i + 1] = sides[count + i];
    }
    c->gpus = gpus;
    c->groups = count;
    c->members = 2;
    return MS_OK;
}

/* Node that a group lies in; -1: in several. */
static int node_of(const class_plans *c, int group) {
    const int *gpus = c->gpus + (size_t)group * (size_t)c->members;
    int node = ms_platform_node(c->comm->platform, gpus[0]);
    for (int i = 1; i < c->members; i++) {
        if (ms_platform_node(c->comm->platform, gpus[i]) != node) {
            return -1;
        }
    }
    return node;
}

/* Whether two groups that each lie in one node have the same places in it. */
static bool lie_alike(const class_plans *c, int a, int b) {
    const int *one = c->gpus + (size_t)a * (size_t)c->members;
    const int *other = c->gpus + (size_t)b * (size_t)c->members;
    int moved = (node_of(c, b) - node_of(c, a)) * c->comm->platform->gpus_per_node;
    for (int i = 0; i < c->members; i++) {
        if (one[i] + moved != other[i]) {
            return false;
        }
    }
    return true;
}

/* Groups of the first node that stand before those of others, if the groups of every node follow
 * each other and lie as these do; else 0. */
static int count_repeated(const class_plans *c) {
    int first = c->groups > 0 ? node_of(c, 0) : -1, count = 1;
    if (first < 0) {
        return 0;
    }
    while (count < c->groups && node_of(c, count) == first) {
        count++;
    }
    for (int g = count; g < c->groups; g++) {
        int node = node_of(c, g);
        bool is_own = g % count == 0 || node == node_of(c, g - 1);
        if (node < 0 || node == first || !is_own || !lie_alike(c, g % count, g)) {
            return 0;
        }
    }
    return c->groups % count == 0 ? count : 0;
}

/* Leave out groups that repeat those of the first node in others: nodes are alike, and what runs
 * inside one loads nothing outside of it, so that all take the same time. */
static void keep_first_node(class_plans *c) {
    int count = c->members > 1 ? count_repeated(c) : 0;
    c->groups = count > 0 ? count : c->groups;
}

static bool is_above(double a, double b, double a_next, double b_next) {
    return a > b || (a == b && a_next > b_next);
}

static bool is_narrower(const ms_time_line *a, const ms_time_line *b) {
    return is_above(a->per_B_s, b->per_B_s, a->latency_s, b->latency_s);
}

static bool is_farther(const ms_time_line *a, const ms_time_line *b) {
    return is_above(a->latency_s, b->latency_s, a->per_B_s, b->per_B_s);
}

/* Line of a plan; is_alone: without the other groups. */
static ms_status line_of(const class_plans *c, const ms_coll_plan *plan, bool is_alone,
                         ms_time_line *line_out) {
    const ms_platform *platform = c->comm->platform;
    double time_s = 0.0;
    double latency_s = ms_coll_plan_latency_s(plan);
    ms_status status = is_alone ? ms_coll_plan_time_alone(platform, plan, &time_s)
                                : ms_coll_plan_time(platform, plan, &time_s);
    ms_library_ramp ramp = ms_nccl_ramp(platform, plan->protocol);
    *line_out = (ms_time_line){.latency_s = latency_s - ms_library_ramp_s(&ramp, c->bytes),
                               .per_B_s = fmax(0.0, time_s - latency_s) / MS_CLASS_REFERENCE_B,
                               .ramp = ramp};
    return status;
}

static ms_status add_to_least(const class_plans *c, const ms_coll_plan *plan, ms_time_line *least) {
    ms_time_line line;
    ms_status status = line_of(c, plan, true, &line);
    if (status == MS_OK) {
        least->latency_s = fmin(least->latency_s, line.latency_s);
        least->per_B_s = fmin(least->per_B_s, line.per_B_s);
        bool is_less = line.ramp.time_s < least->ramp.time_s;
        least->ramp = is_less ? line.ramp : least->ramp;
    }
    return status;
}

/* Each group by itself, as it would be laid out alone and as it is beside the others. */
static ms_status time_alone(const class_plans *c, ms_time_line *alone_out) {
    ms_time_line least = {.latency_s = INFINITY, .per_B_s = INFINITY, .ramp = {.time_s = INFINITY}};
    ms_status status = MS_OK;
    for (int g = 0; g < c->class.groups && status == MS_OK; g++) {
        status = add_to_least(c, &c->class.own[g], &least);
        if (status == MS_OK && c->class.plans != c->class.own) {
            status = add_to_least(c, &c->class.plans[g], &least);
        }
    }
    *alone_out = least;
    return status;
}

/* The slowest groups by bandwidth and by latency; where all take equally long, the first. */
static ms_status time_groups(const class_plans *c, ms_class_times *times) {
    bool is_alone = c->comm->is_alone;
    int groups = c->class.is_even && !c->comm->is_unfolded ? 1 : c->class.groups;
    for (int g = 0; g < groups; g++) {
        ms_time_line line;
        const ms_coll_plan *plan = is_alone ? &c->class.own[g] : &c->class.plans[g];
        ms_status status = line_of(c, plan, is_alone, &line);
        if (status != MS_OK) {
            return status;
        }
        times->narrowest = is_narrower(&line, &times->narrowest) ? line : times->narrowest;
        times->farthest = is_farther(&line, &times->farthest) ? line : times->farthest;
    }
    return MS_OK;
}

static ms_status reserve_links(ms_plan_space *space, int links) {
    if (space->links >= links) {
        return MS_OK;
    }
    space->link_load = MS_NEW(&space->kept, int32_t, links);
    space->links = space->link_load == NULL ? -1 : links;
    return space->link_load == NULL ? MS_E_NOMEM : MS_OK;
}

/* The class among the ranks of its key; no groups where they have one member. */
static ms_status build_class(class_plans *c) {
    ms_status status = reserve_links(c->space, c->comm->platform->link_count);
    if (status == MS_OK) {
        status = c->key->to >= 0 ? list_pairs(c) : list_groups(c);
    }
    if (status != MS_OK || c->members < 2) {
        return status;
    }
    if (c->is_for_times) {
        keep_first_node(c);
    }
    ms_coll_request first = {.kind = c->key->kind,
                             .algorithm = c->comm->algorithms.of[c->key->kind],
                             .gpus = c->gpus,
                             .members = c->members,
                             .protocol = c->comm->algorithms.protocol,
                             .size_B = MS_CLASS_REFERENCE_B,
                             .choice_B = c->bytes,
                             .intra_node_B = c->key->intra_node_share * MS_CLASS_REFERENCE_B,
                             .load_imbalance = c->key->load_imbalance};
    return ms_coll_class_build(c->comm->platform, &first, c->groups, c->space->link_load,
                               &c->space->scratch, c->space->diag, &c->class);
}

ms_status ms_comm_class_build(const ms_comm_classes *comm, ms_plan_space *space,
                              const ms_class_key *key, ms_coll_class *class_out) {
    class_plans c = {.comm = comm, .space = space, .key = key, .bytes = key->bytes};
    ms_status status = build_class(&c);
    *class_out = c.class;
    return status;
}

static ms_status lay_out(class_plans *c, ms_class_times *times) {
    c->is_for_times = true;
    ms_status status = build_class(c);
    status = status == MS_OK && c->class.groups > 0 ? time_alone(c, &times->alone) : status;
    if (status != MS_OK || c->class.groups == 0) {
        return status;
    }
    return time_groups(c, times);
}

static bool is_same_comm(const ms_nccl_comm *a, const ms_nccl_comm *b) {
    return a->ranks == b->ranks && a->nodes == b->nodes && a->nics == b->nics &&
           a->has_equal_nodes == b->has_equal_nodes &&
           (a->nodes == a->ranks) == (b->nodes == b->ranks);
}

/* Enter a group's communicator if there is none of its sort yet. */
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

static ms_status list_comms(class_plans *c, ms_class_comms *all) {
    ms_status status = c->key->to >= 0 ? list_pairs(c) : list_groups(c);
    if (status == MS_OK) {
        keep_first_node(c);
    }
    for (int g = 0; g < c->groups && c->members > 1 && status == MS_OK; g++) {
        ms_nccl_comm comm;
        status = ms_nccl_comm_find(c->comm->platform, c->gpus + (size_t)g * (size_t)c->members,
                                   c->members, &comm);
        if (status == MS_OK) {
            add_comm(all, &comm);
        }
    }
    ms_arena_clear(&c->space->scratch);
    return status;
}

/* What the library takes for the groups of a class, as a number: the same for sizes that it takes
 * the same for.  key: without bytes. */
static ms_status find_ways(ms_comm_classes *comm, ms_plan_space *space, const ms_class_key *key,
                           double bytes, uint64_t *ways_out) {
    int number = 0;
    bool is_new = false;
    ms_status status = ms_memo_find(&comm->groups, key, &number, &is_new);
    if (status == MS_OK && is_new) {
        ms_class_comms all = {.count = 0};
        class_plans c = {.comm = comm, .space = space, .key = key};
        status = list_comms(&c, &all);
        status = ms_vector_add(&comm->comms, &all, 1) == NULL ? MS_E_NOMEM : status;
    }
    if (status != MS_OK) {
        return status;
    }
    const ms_class_comms *all = &MS_AT(&comm->comms, ms_class_comms, number);
    const ms_coll_request request = {.kind = key->kind,
                                     .algorithm = comm->algorithms.of[key->kind],
                                     .protocol = comm->algorithms.protocol};
    uint64_t ways = 1;
    for (int i = 0; i < all->count && i < MS_CLASS_COMMS_MAX; i++) {
        ways = ways << 12 | ms_nccl_way(comm->platform, &all->comms[i], &request, bytes);
    }
    if (all->count > MS_CLASS_COMMS_MAX) {
        memcpy(&ways, &bytes, sizeof ways); /* every size for itself */
    }
    *ways_out = ways;
    return MS_OK;
}

/* The class whose key is in full, by number. */
static ms_status find_class(ms_comm_classes *comm, ms_plan_space *space, const ms_class_key *key,
                            double bytes, int *number_out) {
    ms_class_times times = {.key = *key};
    bool is_new = false;
    ms_status status = ms_memo_find(&comm->ways, key, number_out, &is_new);
    if (status == MS_OK && is_new) {
        class_plans c = {.comm = comm, .space = space, .key = &times.key, .bytes = bytes};
        status = lay_out(&c, &times);
        ms_arena_clear(&space->scratch);
        times.is_refused = status != MS_OK;
        status = ms_vector_add(&comm->classes, &times, 1) == NULL ? MS_E_NOMEM : status;
    }
    return status;
}

/* Where a key that was asked for lately is noted. */
static int16_t *place_of(ms_comm_classes *comm, const ms_class_key *key, class_ranks ranks) {
    unsigned sum = 3U * (unsigned)ranks.from + 5U * (unsigned)ranks.to + 7U * (unsigned)key->kind;
    return &comm->recent[(sum + key->axes) % MS_RECENT_CLASSES];
}

/* Enter a key that is new, and find its class. */
static ms_status add_key(ms_comm_classes *comm, ms_plan_space *space, const ms_class_key *sized) {
    int class = 0;
    ms_class_key by_way = *sized;
    ms_status status = MS_OK;
    by_way.bytes = 0.0;
    if (sized->bytes > 0.0) {
        status = find_ways(comm, space, &by_way, sized->bytes, &by_way.ways);
    }
    status = status == MS_OK ? find_class(comm, space, &by_way, sized->bytes, &class) : status;
    int32_t kept = (int32_t) class;
    return ms_vector_add(&comm->class_of, &kept, 1) == NULL ? MS_E_NOMEM : status;
}

ms_status ms_comm_classes_find(ms_comm_classes *comm, ms_plan_space *space, const ms_class_key *key,
                               const ms_class_times **times_out) {
    class_ranks ranks = first_ranks(comm, key);
    double bytes = chosen_bytes(comm, key);
    int16_t *recent = place_of(comm, key, ranks);
    int number = *recent - 1;
    ms_status status = MS_OK;
    if (number < 0 ||
        !is_asked_for(&MS_AT(&comm->keys.keys, ms_class_key, number), key, ranks, bytes)) {
        ms_class_key sized = *key;
        bool is_new = false;
        sized.from = ranks.from;
        sized.to = ranks.to;
        sized.bytes = bytes;
        status = ms_memo_find(&comm->keys, &sized, &number, &is_new);
        *recent = number < INT16_MAX ? (int16_t)(number + 1) : 0;
        status = status == MS_OK && is_new ? add_key(comm, space, &sized) : status;
    }
    if (status == MS_OK) {
        int class = MS_AT(&comm->class_of, int32_t, number);
        *times_out = &MS_AT(&comm->classes, ms_class_times, class);
        status = (*times_out)->is_refused ? MS_E_INPUT : MS_OK;
    }
    return status;
}
