/* Which segments of a pass become one operation; the rules are in pieces.md. */
#include <string.h>

#include "base/firsts.h"
#include "simulate/lower/lowering.h"

/* Sets of ms_when bits: a segment that always runs needs none. */
enum { MASKS = 1 << (MS_WHEN_ROUND + 1) };

typedef enum segment_role {
    ABSENT, /* does not run on the microbatch, or has nothing to do */
    INNER,
    OUTER, /* stays an operation */
} segment_role;

/* A pass being laid out. Arrays are by segment of the plan. */
typedef struct layout_finder {
    ms_lowering *l;
    int p;
    const ms_pass_plan *plan;
    const ms_segment *segments;
    segment_role *role;
    int *waiter;               /* the first segment that waits for it, -1: none */
    int *run;                  /* number of the run that it lies in */
    int32_t *work;             /* of an inner collective */
    int *part;                 /* number of its part in its run */
    bool has_to_compute_first; /* the pass's first operation has to be a computation */
    bool has_changed;
} layout_finder;

ms_status ms_pieces_init(ms_lowering *l) {
    const ms_program *program = &l->job->program;
    size_t slices = l->job->costs.slices > 1 ? (size_t)l->job->costs.slices : 1;
    size_t count = (size_t)program->stages * slices * MS_PASS_COUNT * MASKS;
    if (l->job->spec.simulation.granularity != MS_GRANULARITY_PASS) {
        return MS_OK;
    }
    l->pieces.of = MS_NEW(l->works.arena, ms_pass_layout *, count);
    return l->pieces.of == NULL ? MS_E_NOMEM : MS_OK;
}

/* Whether the members of a collective run the same pass at the same time: they share a layer's
 * work, or the tokens of a microbatch. */
static bool is_within_pass(const ms_segment *segment) {
    static const unsigned WITHIN = MS_AXES_WITHIN_PASSES | MS_AXES_OF_EXPERTS;
    const ms_group_op op = ms_group_op_of(segment);
    return (MS_AXIS_BIT(segment->axis) & WITHIN) != 0 && (ms_group_axes(&op) & ~WITHIN) == 0 &&
           !segment->is_between_directions;
}

/* ---- works ---- */

/* The work of a collective in all its groups at once, made on first use, apart from those of
 * operations.  Groups that are not alike have none: -1. */
static ms_status make_work(layout_finder *f, const ms_segment *segment, int32_t *work_out) {
    ms_lowering *l = f->l;
    const ms_group_op op = ms_group_op_of(segment);
    const int ends[2] = {f->p, -1};
    ms_work_key key = ms_group_key(&op, f->p);
    key.domain = MS_DOMAIN_PIECES;
    key.second = (int32_t)(ms_group_axes(&op) << 4 | (unsigned)segment->axis);
    int32_t found = ms_works_find(&l->works, &key);
    if (found >= 0) {
        *work_out = found - 1;
        return MS_OK;
    }
    ms_step_comm comm = {.groups = ms_traffic_groups(&l->traffic, ends, ms_group_axes(&op))};
    if (comm.groups == NULL) {
        return MS_E_NOMEM;
    }
    comm.request = ms_group_request(&op, comm.groups->members);
    ms_status status = ms_fold_work_of_all(&l->works, &comm, work_out);
    ms_works_remember(&l->works, &key, *work_out + 1);
    return status;
}

static ms_status make_works(layout_finder *f) {
    ms_status status = MS_OK;
    for (int i = 0; i < f->plan->count && status == MS_OK; i++) {
        f->work[i] = -1;
        if (f->role[i] == INNER && f->segments[i].is_collective) {
            status = make_work(f, &f->segments[i], &f->work[i]);
            if (status == MS_OK && f->work[i] < 0) {
                f->role[i] = OUTER;
                f->l->dag->network.pieces.unlike_axes |= MS_AXIS_BIT(f->segments[i].axis);
            }
        }
    }
    return status;
}

/* ---- roles ---- */

static void find_roles(layout_finder *f, unsigned whens) {
    for (int i = 0; i < f->plan->count; i++) {
        const ms_segment *segment = &f->segments[i];
        ms_group_op op = ms_group_op_of(segment);
        bool runs = segment->when == MS_WHEN_ALWAYS || (whens & (1U << segment->when)) != 0;
        f->waiter[i] = -1;
        f->role[i] = INNER;
        if (!runs || (segment->is_collective && !ms_group_runs(f->l, f->p, &op))) {
            f->role[i] = ABSENT;
        } else if (segment->is_collective &&
                   (!is_within_pass(segment) ||
                    (f->l->job->run.operation_axes & MS_AXIS_BIT(segment->axis)) != 0)) {
            f->role[i] = OUTER;
        }
        for (int w = 0; w < segment->wait_count && f->role[i] != ABSENT; w++) {
            int *waiter = &f->waiter[segment->waits[w]];
            *waiter = *waiter < 0 ? i : *waiter;
        }
    }
}

static bool same_communicator(const ms_segment *a, const ms_segment *b) {
    const ms_group_op x = ms_group_op_of(a);
    const ms_group_op y = ms_group_op_of(b);
    return a->axis == b->axis && ms_group_axes(&x) == ms_group_axes(&y);
}

/* What waits for a collective has waited for those before it in its communicator: a segment that
 * does, or the collective itself where it is behind. */
static void find_waiters(layout_finder *f) {
    for (int i = f->plan->count - 1; i >= 0; i--) {
        if (f->role[i] == ABSENT || !f->segments[i].is_async) {
            continue;
        }
        int j = i + 1;
        while (j < f->plan->count && (f->role[j] == ABSENT || !f->segments[j].is_collective ||
                                      !same_communicator(&f->segments[i], &f->segments[j]))) {
            j++;
        }
        int behind = j == f->plan->count ? -1 : f->segments[j].is_async ? f->waiter[j] : j;
        if (behind >= 0 && (f->waiter[i] < 0 || behind < f->waiter[i])) {
            f->waiter[i] = behind;
        }
    }
}

static void turn_out(layout_finder *f, int i) {
    f->role[i] = OUTER;
    f->has_changed = true;
}

/* What opens a pass may not wait for its inputs (an asynchronous collective), or has to be a
 * computation: such collectives stay operations. */
static void check_opening(layout_finder *f) {
    bool is_open = true;
    for (int i = 0; i < f->plan->count && is_open; i++) {
        const ms_segment *segment = &f->segments[i];
        if (f->role[i] == INNER && segment->is_collective &&
            (segment->is_async || f->has_to_compute_first)) {
            turn_out(f, i);
        }
        is_open = f->role[i] == ABSENT ||
                  (segment->is_collective && (segment->is_async || f->has_to_compute_first));
    }
}

static bool waits_for_outer(const layout_finder *f, int i) {
    for (int w = 0; w < f->segments[i].wait_count; w++) {
        if (f->role[f->segments[i].waits[w]] == OUTER) {
            return true;
        }
    }
    return false;
}

/* Number the runs: an operation cuts, and what waits for one begins a new run; so does what a host
 * waits before. */
static void number_runs(layout_finder *f) {
    int run = 0;
    for (int i = 0; i < f->plan->count; i++) {
        bool begins = waits_for_outer(f, i) || f->segments[i].kernels.has_host_wait;
        run += f->role[i] == OUTER || (f->role[i] == INNER && begins);
        f->run[i] = run;
        run += f->role[i] == OUTER;
    }
}

/* Whether an asynchronous collective meets another one of its run on its links. */
static bool meets_another(layout_finder *f, int i) {
    for (int j = i + 1; j < f->waiter[i]; j++) {
        if (f->role[j] == INNER && f->segments[j].is_collective &&
            !same_communicator(&f->segments[i], &f->segments[j]) &&
            ms_dag_works_meet(f->l->dag, f->work[i], f->work[j])) {
            return true;
        }
    }
    return false;
}

/* Asynchronous collectives stay operations that something outside their run waits for, or that
 * share links with others meanwhile. */
static void check_asynchronous(layout_finder *f) {
    for (int i = 0; i < f->plan->count; i++) {
        if (f->role[i] != INNER || !f->segments[i].is_collective || !f->segments[i].is_async) {
            continue;
        }
        int waiter = f->waiter[i];
        if (waiter < 0 || f->role[waiter] != INNER || f->run[waiter] != f->run[i] ||
            meets_another(f, i)) {
            turn_out(f, i);
        }
    }
}

/* ---- places ---- */

static int root_of(int *parent, int k) {
    while (parent[k] != k) {
        parent[k] = parent[parent[k]];
        k = parent[k];
    }
    return k;
}

/* Join the simulated ranks that are in one group of each set of axes. */
static ms_status join_places(ms_lowering *l, const ms_piece_places *places, int *parent) {
    const int ends[2] = {places->p, -1};
    for (int k = 0; k < l->ranks.simulated_per_pp; k++) {
        parent[k] = k;
    }
    for (int a = 0; a < places->axes_count; a++) {
        const ms_comm_groups *groups = ms_traffic_groups(&l->traffic, ends, places->axes[a]);
        for (int k = 0; groups != NULL && k < l->ranks.simulated_per_pp; k++) {
            parent[root_of(parent, k)] = root_of(parent, groups->lead[k]);
        }
        if (groups == NULL) {
            return MS_E_NOMEM;
        }
    }
    return MS_OK;
}

/* List the sets of joined ranks. */
static ms_status list_places(ms_lowering *l, ms_piece_places *places) {
    int count = l->ranks.simulated_per_pp;
    int *parent = MS_NEW(l->works.arena, int, count);
    int *set = MS_NEW(l->works.arena, int, count);
    places->first = MS_NEW(l->works.arena, int, (size_t)count + 1);
    places->places = MS_NEW(l->works.arena, int, count);
    if (parent == NULL || set == NULL || places->first == NULL || places->places == NULL ||
        join_places(l, places, parent) != MS_OK) {
        return MS_E_NOMEM;
    }
    for (int k = 0; k < count; k++) { /* number the roots, and count at the end of each set */
        set[k] = root_of(parent, k) == k ? places->count++ : -1;
    }
    for (int k = 0; k < count; k++) {
        places->first[set[root_of(parent, k)] + 1]++;
    }
    ms_firsts_make(places->first, places->count);
    for (int k = 0; k < count; k++) {
        places->places[places->first[set[root_of(parent, k)]]++] = k;
    }
    ms_firsts_rewind(places->first, places->count);
    return MS_OK;
}

static bool same_axes(const ms_piece_places *a, const ms_piece_places *b) {
    return a->p == b->p && a->axes_count == b->axes_count &&
           memcmp(a->axes, b->axes, (size_t)a->axes_count * sizeof *a->axes) == 0;
}

/* The sets of ranks that go through pieces of the collectives of `wanted`, found on first use. */
static ms_status find_places(ms_lowering *l, const ms_piece_places *wanted,
                             const ms_piece_places **places_out) {
    ms_piece_places *found = l->pieces.places;
    while (found != NULL && !same_axes(found, wanted)) {
        found = found->next;
    }
    if (found == NULL) {
        found = MS_NEW(l->works.arena, ms_piece_places, 1);
        if (found == NULL) {
            return MS_E_NOMEM;
        }
        *found = *wanted;
        found->next = l->pieces.places;
        l->pieces.places = found;
        ms_status status = list_places(l, found);
        if (status != MS_OK) {
            return status;
        }
    }
    *places_out = found;
    return MS_OK;
}

/* ---- runs ---- */

/* Number of a collective's communicator among those of the run: the axes that groups span. */
static int communicator_of(ms_piece_places *places, const ms_segment *segment) {
    const ms_group_op op = ms_group_op_of(segment);
    int i = 0;
    while (i < places->axes_count && places->axes[i] != ms_group_axes(&op)) {
        i++;
    }
    if (i == places->axes_count) {
        places->axes[places->axes_count++] = ms_group_axes(&op);
    }
    return i;
}

static void add_part(layout_finder *f, int i, int32_t work, int communicator) {
    const ms_segment *segment = &f->segments[i];
    ms_dag_part part = {.work = work,
                        .communicator = (int16_t)communicator,
                        .axis = segment->is_collective ? (uint8_t)segment->axis : MS_AXIS_NONE,
                        .is_async = segment->is_collective && segment->is_async};
    ms_dag_add_part(f->l->dag, &part);
    for (int w = 0; w < segment->wait_count; w++) {
        int waited = segment->waits[w];
        if (f->role[waited] == INNER && f->run[waited] == f->run[i]) {
            ms_dag_add_part_wait(f->l->dag, f->part[waited]);
        }
    }
}

/* Note the operations before a run that a segment of it waits for. */
static void add_waits(const layout_finder *f, int i, ms_piece_run *run) {
    for (int w = 0; w < f->segments[i].wait_count; w++) {
        int waited = f->segments[i].waits[w];
        if (f->role[waited] == OUTER) {
            run->waits[run->wait_count++] = waited;
        }
    }
}

/* Add the piece and the work of a run.  is_synchronising: as in ms_dag_work. */
static ms_status add_piece(layout_finder *f, bool is_synchronising, ms_piece_run *run) {
    ms_lowering *l = f->l;
    ms_piece_places places = {.p = f->p};
    int parts = 0;
    run->waits = MS_NEW(l->works.arena, int, f->plan->count);
    if (run->waits == NULL) {
        return MS_E_NOMEM;
    }
    int32_t piece = ms_dag_add_piece(l->dag);
    for (int i = run->first; i < run->end; i++) {
        const ms_segment *segment = &f->segments[i];
        if (f->role[i] == ABSENT) {
            continue;
        }
        f->part[i] = parts++;
        int32_t work = segment->is_collective
                           ? f->work[i]
                           : ms_segment_work(l, f->plan->first + i, MS_TURN_AHEAD) +
                                 l->factor_of[f->p * l->ranks.simulated_per_pp];
        int communicator = segment->is_collective ? communicator_of(&places, segment) : -1;
        add_part(f, i, work, communicator);
        add_waits(f, i, run);
    }
    const ms_dag_work work = {.is_synchronising = is_synchronising,
                              .stands_for = 1,
                              .group_size = 1,
                              .tier = -1,
                              .tag = -1,
                              .piece = piece + 1};
    run->work = ms_dag_add_work(l->dag, &work);
    return find_places(l, &places, &run->places);
}

/* Whether the run from segment `first` on is worth an operation: it has a computation, and more.
 * *end_out: behind its last segment. */
static bool is_worth_it(const layout_finder *f, int first, int *end_out) {
    int computations = 0;
    int count = 0;
    int i = first;
    for (; i < f->plan->count && f->role[i] != OUTER && f->run[i] == f->run[first]; i++) {
        count += f->role[i] == INNER;
        computations += f->role[i] == INNER && !f->segments[i].is_collective;
    }
    *end_out = i;
    return count > 1 && computations > 0;
}

static bool has_computation(const layout_finder *f, int first, int end) {
    bool has_any = false;
    for (int i = first; i < end; i++) {
        has_any = has_any || (f->role[i] != ABSENT && !f->segments[i].is_collective);
    }
    return has_any;
}

static ms_status add_runs(layout_finder *f, bool is_synchronising, ms_pass_layout *layout) {
    layout->runs = MS_NEW(f->l->works.arena, ms_piece_run, f->plan->count);
    ms_status status = layout->runs == NULL ? MS_E_NOMEM : MS_OK;
    for (int i = 0, end = 0; i < f->plan->count && status == MS_OK; i = end) {
        bool is_run = is_worth_it(f, i, &end) && f->role[i] == INNER;
        end = end > i && (is_run || f->role[i] != ABSENT) ? end : i + 1;
        if (is_run) {
            ms_piece_run *run = &layout->runs[layout->count++];
            *run = (ms_piece_run){.first = i, .end = end};
            status = add_piece(f, is_synchronising || f->segments[i].kernels.has_host_wait, run);
        }
        is_synchronising = is_synchronising && !has_computation(f, i, end);
    }
    return status;
}

static bool init_finder(layout_finder *f) {
    size_t count = (size_t)f->plan->count;
    ms_arena *arena = f->l->works.arena;
    f->role = MS_NEW(arena, segment_role, count);
    f->waiter = MS_NEW(arena, int, count);
    f->run = MS_NEW(arena, int, count);
    f->work = MS_NEW(arena, int32_t, count);
    f->part = MS_NEW(arena, int, count);
    return !arena->has_failed;
}

static ms_status lay_out(ms_lowering *l, int p, const ms_action *action, unsigned whens,
                         ms_pass_layout *layout) {
    bool is_synchronising = ms_host_waits(&l->job->host, (ms_pass)action->pass, l->ranks.pp > 1);
    layout_finder f = {.l = l,
                       .p = p,
                       .plan = &ms_lowering_cost(l, action)->passes[action->pass],
                       .has_to_compute_first =
                           is_synchronising || l->job->program.shard_moves != NULL};
    f.segments = &l->job->costs.segments[f.plan->first];
    if (!init_finder(&f)) {
        return MS_E_NOMEM;
    }
    find_roles(&f, whens);
    find_waiters(&f);
    ms_status status = make_works(&f);
    check_opening(&f);
    for (f.has_changed = status == MS_OK; f.has_changed;) {
        f.has_changed = false;
        number_runs(&f);
        check_asynchronous(&f);
    }
    return status == MS_OK ? add_runs(&f, is_synchronising, layout) : status;
}

ms_status ms_pieces_find(ms_lowering *l, int p, const ms_action *action, unsigned whens,
                         const ms_pass_layout **layout_out) {
    *layout_out = NULL;
    if (l->pieces.of == NULL || !ms_computes_evenly(l, p)) {
        return MS_OK;
    }
    int slices = l->job->costs.slices > 1 ? l->job->costs.slices : 1;
    size_t index = (size_t)action->stage * (size_t)slices + (size_t)(action->mb % slices);
    index = (index * MS_PASS_COUNT + (size_t)action->pass) * MASKS + whens;
    ms_status status = MS_OK;
    if (l->pieces.of[index] == NULL) {
        l->pieces.of[index] = MS_NEW(l->works.arena, ms_pass_layout, 1);
        status = l->pieces.of[index] == NULL ? MS_E_NOMEM
                                             : lay_out(l, p, action, whens, l->pieces.of[index]);
    }
    *layout_out = l->pieces.of[index];
    return status;
}
