/* Fused passes (granularity `pass`, fused_passes.md): finds which segments of a pass become one
 * operation. A segment is a computation or a collective of a pass's plan. A run is a sequence of
 * segments that become one operation, a fused pass; collectives that cannot be in a fused pass stay
 * operations and end a run. A pass is laid out once for each stage, slice, pass and set of segments
 * that run on the microbatch. */
#include <string.h>

#include "base/firsts.h"
#include "simulate/lower/lowering.h"

/* Number of sets of ms_when bits (1 << ms_when): which conditional segments run. */
enum { MASKS = 1 << (MS_WHEN_ROUND + 1) };

/* What becomes of a segment. */
typedef enum segment_role {
    ABSENT, /* does not run on the microbatch, or has nothing to do */
    INNER,  /* can be in a fused pass */
    OUTER,  /* a collective that stays an operation */
} segment_role;

/* A pass being laid out. Arrays are by segment of the plan; segments are counted from its first. */
typedef struct layout_finder {
    ms_lowering *l;
    int p;
    const ms_pass_plan *plan;
    const ms_segment *segments;
    segment_role *role;
    int *waiter;               /* the first segment that waits for each, -1: none */
    int *run;                  /* number of the run that each is in */
    int32_t *work;             /* work of an inner collective, -1 for all others */
    int *part;                 /* number of the segment's part in its fused pass */
    bool has_to_compute_first; /* the pass's first operation has to be a computation */
    bool has_changed;          /* some role has changed since the runs were numbered */
} layout_finder;

ms_status ms_pass_layouts_init(ms_lowering *l) {
    const ms_program *program = &l->job->program;
    size_t slices = l->job->costs.slices > 1 ? (size_t)l->job->costs.slices : 1;
    size_t count = (size_t)program->stages * slices * MS_PASS_COUNT * MASKS;
    if (l->job->spec.simulation.granularity != MS_GRANULARITY_PASS) {
        return MS_OK;
    }
    l->layouts.of = MS_NEW(l->works.arena, ms_pass_layout *, count);
    return l->layouts.of == NULL ? MS_E_NOMEM : MS_OK;
}

/* Whether the members of a collective run the same pass at the same time (tp, cp, ep): they share
 * the work of a layer or the tokens of a microbatch. Only such collectives can be in a fused pass.
 * Members on both directions of a pipeline (is_between_directions) run different passes. */
static bool is_within_pass(const ms_segment *segment) {
    static const unsigned WITHIN = MS_AXES_WITHIN_PASSES | MS_AXES_OF_EXPERTS;
    const ms_group_op op = ms_group_op_of(segment);
    return (MS_AXIS_BIT(segment->axis) & WITHIN) != 0 && (ms_group_axes(&op) & ~WITHIN) == 0 &&
           !segment->is_between_directions;
}

/* ---- works ---- */

/* Find the work of a collective in all its groups at once, made on first use. Works inside fused
 * passes are kept apart from those of operations by their key.  *work_out: -1 if the groups take
 * different times, so that one work cannot stand for all.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as
 * ms_works_plan. */
static ms_status make_work(layout_finder *finder, const ms_segment *segment, int32_t *work_out) {
    ms_lowering *l = finder->l;
    const ms_group_op op = ms_group_op_of(segment);
    const int ends[2] = {finder->p, -1};
    ms_work_key key = ms_group_key(&op, finder->p);
    key.domain = MS_DOMAIN_FUSED_PASSES;
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

/* Make the works of all inner collectives. A collective whose groups take different times becomes
 * an outer one, and its axis is entered in unlike_axes. */
static ms_status make_works(layout_finder *finder) {
    ms_status status = MS_OK;
    for (int i = 0; i < finder->plan->count && status == MS_OK; i++) {
        finder->work[i] = -1;
        if (finder->role[i] == INNER && finder->segments[i].is_collective) {
            status = make_work(finder, &finder->segments[i], &finder->work[i]);
            if (status == MS_OK && finder->work[i] < 0) {
                finder->role[i] = OUTER;
                finder->l->dag->network.fused.unlike_axes |= MS_AXIS_BIT(finder->segments[i].axis);
            }
        }
    }
    return status;
}

/* ---- roles ---- */

/* Set the role that every segment has at first, which later steps may change to OUTER, and the
 * first segment that waits for it (-1: none does).  whens: set of 1 << ms_when of the conditional
 * segments that run. */
static void find_roles(layout_finder *finder, unsigned whens) {
    for (int i = 0; i < finder->plan->count; i++) {
        const ms_segment *segment = &finder->segments[i];
        ms_group_op op = ms_group_op_of(segment);
        bool runs = segment->when == MS_WHEN_ALWAYS || (whens & (1U << segment->when)) != 0;
        finder->waiter[i] = -1;
        finder->role[i] = INNER;
        if (!runs || (segment->is_collective && !ms_group_runs(finder->l, finder->p, &op))) {
            finder->role[i] = ABSENT;
        } else if (segment->is_collective &&
                   (!is_within_pass(segment) ||
                    (finder->l->job->run.operation_axes & MS_AXIS_BIT(segment->axis)) != 0)) {
            finder->role[i] = OUTER;
        }
        for (int w = 0; w < segment->wait_count && finder->role[i] != ABSENT; w++) {
            int *waiter = &finder->waiter[segment->waits[w]];
            *waiter = *waiter < 0 ? i : *waiter;
        }
    }
}

/* Whether two collectives run on the same communicator: they have the same axis and groups. */
static bool same_communicator(const ms_segment *a, const ms_segment *b) {
    const ms_group_op x = ms_group_op_of(a);
    const ms_group_op y = ms_group_op_of(b);
    return a->axis == b->axis && ms_group_axes(&x) == ms_group_axes(&y);
}

/* Complete `waiter`, the first segment that waits for each asynchronous collective. Collectives of
 * one communicator run in order, so a segment that waits for collective j has waited for collective
 * i before it as well. If j is asynchronous, i gets the waiter of j where that is earlier; if j
 * blocks, j itself waits for i. The loop goes backwards, so that the waiter of j is complete. */
static void find_waiters(layout_finder *finder) {
    for (int i = finder->plan->count - 1; i >= 0; i--) {
        if (finder->role[i] == ABSENT || !finder->segments[i].is_async) {
            continue;
        }
        int j = i + 1;
        while (j < finder->plan->count &&
               (finder->role[j] == ABSENT || !finder->segments[j].is_collective ||
                !same_communicator(&finder->segments[i], &finder->segments[j]))) {
            j++;
        }
        int behind = j == finder->plan->count       ? -1
                     : finder->segments[j].is_async ? finder->waiter[j]
                                                    : j;
        if (behind >= 0 && (finder->waiter[i] < 0 || behind < finder->waiter[i])) {
            finder->waiter[i] = behind;
        }
    }
}

/* Let a segment stay an operation. */
static void make_outer(layout_finder *finder, int i) {
    finder->role[i] = OUTER;
    finder->has_changed = true;
}

/* Let collectives that open a pass stay operations where they cannot be in a fused pass. An
 * asynchronous collective must not wait for the pass's inputs, as a fused pass does. With
 * has_to_compute_first, collectives before the first computation stay operations as well. The
 * opening ends with the first computation or, without has_to_compute_first, with the first blocking
 * collective. */
static void check_opening(layout_finder *finder) {
    bool is_open = true;
    for (int i = 0; i < finder->plan->count && is_open; i++) {
        const ms_segment *segment = &finder->segments[i];
        if (finder->role[i] == INNER && segment->is_collective &&
            (segment->is_async || finder->has_to_compute_first)) {
            make_outer(finder, i);
        }
        is_open = finder->role[i] == ABSENT ||
                  (segment->is_collective && (segment->is_async || finder->has_to_compute_first));
    }
}

/* Whether a segment waits for a collective that is an operation. */
static bool waits_for_outer(const layout_finder *finder, int i) {
    for (int w = 0; w < finder->segments[i].wait_count; w++) {
        if (finder->role[finder->segments[i].waits[w]] == OUTER) {
            return true;
        }
    }
    return false;
}

/* Number the runs. A collective that is an operation has a number of its own; a segment that waits
 * for one, or before which the host waits for its GPU, begins a new run. */
static void number_runs(layout_finder *finder) {
    int run = 0;
    for (int i = 0; i < finder->plan->count; i++) {
        bool begins = waits_for_outer(finder, i) || finder->segments[i].kernels.has_host_wait;
        run += finder->role[i] == OUTER || (finder->role[i] == INNER && begins);
        finder->run[i] = run;
        run += finder->role[i] == OUTER;
    }
}

/* Whether an asynchronous collective shares links with another collective of its run that comes
 * before its waiter, and so may run at the same time. The contention of the two collectives cannot
 * be known in a fused pass.
 */
static bool meets_another(layout_finder *finder, int i) {
    for (int j = i + 1; j < finder->waiter[i]; j++) {
        if (finder->role[j] == INNER && finder->segments[j].is_collective &&
            !same_communicator(&finder->segments[i], &finder->segments[j]) &&
            ms_dag_works_meet(finder->l->dag, finder->work[i], finder->work[j])) {
            return true;
        }
    }
    return false;
}

/* Let asynchronous collectives stay operations if nothing in their own run waits for them, or if
 * they share links with other collectives of the run. This may cut runs, so it is repeated until
 * nothing changes. */
static void check_asynchronous(layout_finder *finder) {
    for (int i = 0; i < finder->plan->count; i++) {
        if (finder->role[i] != INNER || !finder->segments[i].is_collective ||
            !finder->segments[i].is_async) {
            continue;
        }
        int waiter = finder->waiter[i];
        if (waiter < 0 || finder->role[waiter] != INNER || finder->run[waiter] != finder->run[i] ||
            meets_another(finder, i)) {
            make_outer(finder, i);
        }
    }
}

/* ---- ranks ---- */

/* The representative of the set that `k` is in, of a union-find forest; halves paths on the way. */
static int root_of(int *parent, int k) {
    while (parent[k] != k) {
        parent[k] = parent[parent[k]];
        k = parent[k];
    }
    return k;
}

/* Join the simulated ranks of pipeline rank sets->p that are in a common group of any of the sets
 * of axes in `sets`, as a union-find forest over classes k. parent: [simulated_per_pp] set here.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status join_ranks(ms_lowering *l, const ms_rank_sets *sets, int *parent) {
    const int ends[2] = {sets->p, -1};
    for (int k = 0; k < l->ranks.simulated_per_pp; k++) {
        parent[k] = k;
    }
    for (int a = 0; a < sets->axes_count; a++) {
        const ms_comm_groups *groups = ms_traffic_groups(&l->traffic, ends, sets->axes[a]);
        for (int k = 0; groups != NULL && k < l->ranks.simulated_per_pp; k++) {
            parent[root_of(parent, k)] = root_of(parent, groups->lead[k]);
        }
        if (groups == NULL) {
            return MS_E_NOMEM;
        }
    }
    return MS_OK;
}

/* List in `sets` the sets of ranks that run a fused pass together: those that join_ranks joins.
 * sets: its pipeline rank and axes are given, the rest is set here. Returns MS_OK; MS_E_NOMEM. */
static ms_status list_rank_sets(ms_lowering *l, ms_rank_sets *sets) {
    int count = l->ranks.simulated_per_pp;
    int *parent = MS_NEW(l->works.arena, int, count);
    int *set = MS_NEW(l->works.arena, int, count);
    sets->first = MS_NEW(l->works.arena, int, (size_t)count + 1);
    sets->ranks = MS_NEW(l->works.arena, int, count);
    if (parent == NULL || set == NULL || sets->first == NULL || sets->ranks == NULL ||
        join_ranks(l, sets, parent) != MS_OK) {
        return MS_E_NOMEM;
    }
    for (int k = 0; k < count; k++) { /* number the roots, and count at the end of each set */
        set[k] = root_of(parent, k) == k ? sets->count++ : -1;
    }
    for (int k = 0; k < count; k++) {
        sets->first[set[root_of(parent, k)] + 1]++;
    }
    ms_firsts_make(sets->first, sets->count);
    for (int k = 0; k < count; k++) {
        sets->ranks[sets->first[set[root_of(parent, k)]]++] = k;
    }
    ms_firsts_rewind(sets->first, sets->count);
    return MS_OK;
}

/* Whether two records are for the same pipeline rank and the same sets of axes, in the same order.
 */
static bool same_axes(const ms_rank_sets *a, const ms_rank_sets *b) {
    return a->p == b->p && a->axes_count == b->axes_count &&
           memcmp(a->axes, b->axes, (size_t)a->axes_count * sizeof *a->axes) == 0;
}

/* Find the sets of ranks that run fused passes together whose collectives have the axes of
 * `wanted`; made on first use.  *sets_out: borrowed from l->layouts.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_rank_sets(ms_lowering *l, const ms_rank_sets *wanted,
                                const ms_rank_sets **sets_out) {
    ms_rank_sets *found = l->layouts.sets;
    while (found != NULL && !same_axes(found, wanted)) {
        found = found->next;
    }
    if (found == NULL) {
        found = MS_NEW(l->works.arena, ms_rank_sets, 1);
        if (found == NULL) {
            return MS_E_NOMEM;
        }
        *found = *wanted;
        found->next = l->layouts.sets;
        l->layouts.sets = found;
        ms_status status = list_rank_sets(l, found);
        if (status != MS_OK) {
            return status;
        }
    }
    *sets_out = found;
    return MS_OK;
}

/* ---- runs ---- */

/* The number of a collective's communicator among those of its fused pass: the index in sets->axes
 * of the axes that its group spans, which are appended on first use. */
static int communicator_of(ms_rank_sets *sets, const ms_segment *segment) {
    const ms_group_op op = ms_group_op_of(segment);
    int i = 0;
    while (i < sets->axes_count && sets->axes[i] != ms_group_axes(&op)) {
        i++;
    }
    if (i == sets->axes_count) {
        sets->axes[sets->axes_count++] = ms_group_axes(&op);
    }
    return i;
}

/* Add segment `i` to the newest fused pass as a part, with its waits for asynchronous parts of the
 * same run. communicator: -1 for a computation. */
static void add_part(layout_finder *finder, int i, int32_t work, int communicator) {
    const ms_segment *segment = &finder->segments[i];
    ms_dag_part part = {.work = work,
                        .communicator = (int16_t)communicator,
                        .axis = segment->is_collective ? (uint8_t)segment->axis : MS_AXIS_NONE,
                        .is_async = segment->is_collective && segment->is_async};
    ms_dag_add_part(finder->l->dag, &part);
    for (int w = 0; w < segment->wait_count; w++) {
        int waited = segment->waits[w];
        if (finder->role[waited] == INNER && finder->run[waited] == finder->run[i]) {
            ms_dag_add_part_wait(finder->l->dag, finder->part[waited]);
        }
    }
}

/* Add the collectives that segment `i` waits for and that are operations to the waits of its run.
 * Only a run's first segment has such waits, since a segment with them begins a run (number_runs).
 */
static void add_outer_waits(const layout_finder *finder, int i, ms_segment_run *run) {
    for (int w = 0; w < finder->segments[i].wait_count; w++) {
        int waited = finder->segments[i].waits[w];
        if (finder->role[waited] == OUTER) {
            run->waits[run->wait_count++] = waited;
        }
    }
}

/* Add the fused pass of a run and the work that is this fused pass to the graph, and find the sets
 * of ranks that run it together.  is_synchronising: as in ms_dag_work.  run: its segments are set;
 * the rest is set here. Returns MS_OK; MS_E_NOMEM. */
static ms_status add_fused_pass(layout_finder *finder, bool is_synchronising, ms_segment_run *run) {
    ms_lowering *l = finder->l;
    ms_rank_sets sets = {.p = finder->p};
    int parts = 0;
    run->waits = MS_NEW(l->works.arena, int, finder->plan->count);
    if (run->waits == NULL) {
        return MS_E_NOMEM;
    }
    int32_t fused = ms_dag_add_fused_pass(l->dag);
    for (int i = run->first; i < run->end; i++) {
        const ms_segment *segment = &finder->segments[i];
        if (finder->role[i] == ABSENT) {
            continue;
        }
        finder->part[i] = parts++;
        int32_t work = segment->is_collective
                           ? finder->work[i]
                           : ms_segment_work(l, finder->plan->first + i, MS_TURN_AHEAD) +
                                 l->factor_of[finder->p * l->ranks.simulated_per_pp];
        int communicator = segment->is_collective ? communicator_of(&sets, segment) : -1;
        add_part(finder, i, work, communicator);
        add_outer_waits(finder, i, run);
    }
    const ms_dag_work work = {.is_synchronising = is_synchronising,
                              .stands_for = 1,
                              .group_size = 1,
                              .tier = -1,
                              .tag = -1,
                              .fused = fused + 1};
    run->work = ms_dag_add_work(l->dag, &work);
    return find_rank_sets(l, &sets, &run->sets);
}

/* Whether the run that segment `first` begins is to be a fused pass: it has a computation and at
 * least one other segment. *end_out: index behind the last segment of the run; `first` itself for
 * an outer segment. */
static bool is_fusion_useful(const layout_finder *finder, int first, int *end_out) {
    int computations = 0;
    int count = 0;
    int i = first;
    for (; i < finder->plan->count && finder->role[i] != OUTER &&
           finder->run[i] == finder->run[first];
         i++) {
        count += finder->role[i] == INNER;
        computations += finder->role[i] == INNER && !finder->segments[i].is_collective;
    }
    *end_out = i;
    return count > 1 && computations > 0;
}

/* Whether a computation runs among the segments from `first` to before `end`. */
static bool has_computation(const layout_finder *finder, int first, int end) {
    bool has_any = false;
    for (int i = first; i < end; i++) {
        has_any = has_any || (finder->role[i] != ABSENT && !finder->segments[i].is_collective);
    }
    return has_any;
}

/* Make the fused passes of a pass.  is_synchronising: the host waits for its GPU before the first
 * computation of the pass, so the fused pass with that computation is synchronising; so is a fused
 * pass whose first segment has a wait of the host. */
static ms_status add_runs(layout_finder *finder, bool is_synchronising, ms_pass_layout *layout) {
    layout->runs = MS_NEW(finder->l->works.arena, ms_segment_run, finder->plan->count);
    ms_status status = layout->runs == NULL ? MS_E_NOMEM : MS_OK;
    for (int i = 0, end = 0; i < finder->plan->count && status == MS_OK; i = end) {
        bool is_run = is_fusion_useful(finder, i, &end) && finder->role[i] == INNER;
        /* go on behind the run; outer segments and absent ones before a run are passed one by one
         */
        end = end > i && (is_run || finder->role[i] != ABSENT) ? end : i + 1;
        if (is_run) {
            ms_segment_run *run = &layout->runs[layout->count++];
            *run = (ms_segment_run){.first = i, .end = end};
            status = add_fused_pass(
                finder, is_synchronising || finder->segments[i].kernels.has_host_wait, run);
        }
        is_synchronising = is_synchronising && !has_computation(finder, i, end);
    }
    return status;
}

/* Allocate the arrays of a finder. Returns whether there was memory. */
static bool init_finder(layout_finder *finder) {
    size_t count = (size_t)finder->plan->count;
    ms_arena *arena = finder->l->works.arena;
    finder->role = MS_NEW(arena, segment_role, count);
    finder->waiter = MS_NEW(arena, int, count);
    finder->run = MS_NEW(arena, int, count);
    finder->work = MS_NEW(arena, int32_t, count);
    finder->part = MS_NEW(arena, int, count);
    return !arena->has_failed;
}

/* Lay out the fused passes of an action's pass on pipeline rank `p`. Waits of the host and gathered
 * parameters hold up computations only, not the collectives before the first one: therefore
 * has_to_compute_first.  whens: as for ms_pass_layout_find. layout: empty. Returns MS_OK;
 * MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
static ms_status lay_out(ms_lowering *l, int p, const ms_action *action, unsigned whens,
                         ms_pass_layout *layout) {
    bool is_synchronising = ms_host_waits(&l->job->host, (ms_pass)action->pass, l->ranks.pp > 1);
    layout_finder finder = {.l = l,
                            .p = p,
                            .plan = &ms_lowering_cost(l, action)->passes[action->pass],
                            .has_to_compute_first =
                                is_synchronising || l->job->program.shard_moves != NULL};
    finder.segments = &l->job->costs.segments[finder.plan->first];
    if (!init_finder(&finder)) {
        return MS_E_NOMEM;
    }
    find_roles(&finder, whens);
    find_waiters(&finder);
    ms_status status = make_works(&finder);
    check_opening(&finder);
    for (finder.has_changed = status == MS_OK; finder.has_changed;) {
        finder.has_changed = false;
        number_runs(&finder);
        check_asynchronous(&finder);
    }
    return status == MS_OK ? add_runs(&finder, is_synchronising, layout) : status;
}

ms_status ms_pass_layout_find(ms_lowering *l, int p, const ms_action *action, unsigned whens,
                              const ms_pass_layout **layout_out) {
    *layout_out = NULL;
    if (l->layouts.of == NULL || !ms_computes_evenly(l, p)) {
        return MS_OK;
    }
    int slices = l->job->costs.slices > 1 ? l->job->costs.slices : 1;
    /* index order of the table: [stage][slice][pass][whens] */
    size_t index = (size_t)action->stage * (size_t)slices + (size_t)(action->mb % slices);
    index = (index * MS_PASS_COUNT + (size_t)action->pass) * MASKS + whens;
    ms_status status = MS_OK;
    if (l->layouts.of[index] == NULL) {
        l->layouts.of[index] = MS_NEW(l->works.arena, ms_pass_layout, 1);
        status = l->layouts.of[index] == NULL ? MS_E_NOMEM
                                              : lay_out(l, p, action, whens, l->layouts.of[index]);
    }
    *layout_out = l->layouts.of[index];
    return status;
}
