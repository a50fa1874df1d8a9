/* Finds fused passes that may take another time than their layers would: collectives inside a fused
 * pass were timed on links of their own, but other traffic may run on these links at the same time.
 * Such a pair of a collective inside a fused pass and other traffic is a "meeting". Before a run,
 * meetings that may happen at any time ("clashes") decide which axes stay operations; after a run,
 * those that did happen are reported as risks. */
#include <math.h>
#include <stdlib.h>

#include "base/firsts.h"
#include "simulate/run/figures.h"

/* Two loads exceed a link only if their sum is above its capacity by more than this share: less is
 * rounding. */
static const double EXCESS = 1e-9;

/* A phase of a communication that uses a link. */
typedef struct link_user {
    int32_t link;
    int32_t work;  /* work of operations: a communication, or a fused pass that contains `inner` */
    int32_t inner; /* the communication's own work; equal to `work` outside of fused passes */
    int32_t pp;    /* pipeline rank of the first member */
    bool is_fused; /* the communication is inside a fused pass */
    double share;  /* share of the capacity that the phase uses */
} link_user;

/* A collective `inner` inside the fused pass `work`, and another work `other` that may have met it.
 */
typedef struct meeting {
    int32_t work, inner, other;
} meeting;

/* The state of the search. */
typedef struct risk_finder {
    const ms_dag *dag;
    const ms_timeline *timeline;
    bool is_alone;
    int32_t *op_first;  /* [works + 1] index in `ops` of each work's first operation */
    int32_t *ops;       /* [ops] operations sorted by work, then by start */
    int32_t *any_op;    /* [works] some operation of each work */
    bool *is_hidden;    /* [links] some communication inside a fused pass uses the link */
    double *share;      /* [links] capacity share of the current phase, zeros between phases */
    bool *is_met;       /* [ops] other traffic was on the links of this operation, a fused pass */
    int32_t *last;      /* [works] 1 + the last fused pass that was seen to contain each work */
    ms_vector users;    /* of link_user */
    ms_vector meetings; /* of meeting */
} risk_finder;

/* Order of link users for qsort: by link, then by work. */
static int by_link(const void *a, const void *b) {
    const link_user *x = a;
    const link_user *y = b;
    if (x->link != y->link) {
        return x->link < y->link ? -1 : 1;
    }
    return (x->work > y->work) - (x->work < y->work);
}

/* Order of meetings for qsort: by fused pass, then by collective, then by the other work. */
static int by_works(const void *a, const void *b) {
    const meeting *x = a;
    const meeting *y = b;
    if (x->work != y->work) {
        return x->work < y->work ? -1 : 1;
    }
    if (x->inner != y->inner) {
        return x->inner < y->inner ? -1 : 1;
    }
    return (x->other > y->other) - (x->other < y->other);
}

/* Order of operations for qsort_r: by start.  context: [ops] starts. */
static int by_start(const void *a, const void *b, void *context) {
    const double *start_s = context;
    double x = start_s[*(const int32_t *)a];
    double y = start_s[*(const int32_t *)b];
    return (x > y) - (x < y);
}

/* Count the operations of each work in op_first, and keep one of each in any_op. */
static void count_ops(risk_finder *finder) {
    const ms_dag *dag = finder->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        finder->op_first[dag->ops[op].work + 1]++;
        finder->any_op[dag->ops[op].work] = op;
    }
    ms_firsts_make(finder->op_first, dag->work_count);
}

/* List the operations of each work in the order of their starts, after count_ops. */
static void list_ops(risk_finder *finder) {
    const ms_dag *dag = finder->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        finder->ops[finder->op_first[dag->ops[op].work]++] = op;
    }
    ms_firsts_rewind(finder->op_first, dag->work_count);
    for (int32_t w = 0; w < dag->work_count; w++) {
        size_t count = (size_t)(finder->op_first[w + 1] - finder->op_first[w]);
        if (count > 1) {
            qsort_r(finder->ops + finder->op_first[w], count, sizeof *finder->ops, by_start,
                    finder->timeline->start_s);
        }
    }
}

/* Add a phase of user.inner to the users of each link that its flows cross. Users of links that no
 * fused pass uses are left out, so fused passes have to be added first. `share` is reset at the
 * first crossing of a link.  user: its link and share are set here. */
static void add_phase(risk_finder *finder, const ms_dag_phase *phase, link_user user) {
    const ms_dag_network *network = &finder->dag->network;
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        const ms_dag_flow *flow = &network->flows[i];
        double time_s = ms_dag_flow_time_s(finder->dag, i, finder->is_alone);
        for (int32_t c = 0; c < flow->crossing_count && time_s > 0.0; c++) {
            const ms_dag_crossing *crossing = &network->crossings[flow->crossing_first + c];
            finder->share[crossing->link] += flow->bytes * crossing->weight / time_s /
                                             network->links[crossing->link].capacity_Bps;
        }
    }
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        const ms_dag_flow *flow = &network->flows[i];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            user.link = network->crossings[flow->crossing_first + c].link;
            user.share = finder->share[user.link];
            finder->share[user.link] = 0.0;
            finder->is_hidden[user.link] = finder->is_hidden[user.link] || user.is_fused;
            if (user.share > 0.0 && finder->is_hidden[user.link]) {
                ms_vector_add(&finder->users, &user, 1);
            }
        }
    }
}

/* Add all phases of user.inner to the users of links. */
static void add_user(risk_finder *finder, link_user user) {
    const ms_dag_work *work = &finder->dag->works[user.inner];
    for (int32_t p = 0; p < work->phase_count; p++) {
        add_phase(finder, &finder->dag->network.phases[work->phase_first + p], user);
    }
}

/* The pipeline rank of a work's operations. */
static int32_t pp_of(const risk_finder *finder, int32_t work) {
    const ms_dag *dag = finder->dag;
    int32_t member = dag->member_first[finder->any_op[work]];
    return dag->ranks[dag->streams[dag->member_stream[member]].rank].pp;
}

/* Add the phases of work `w` to the users of links; of a fused pass, those of each communication
 * inside it. A communication that occurs several times is added once: then last[inner] is w + 1. */
static void add_work(risk_finder *finder, int32_t w) {
    const ms_dag *dag = finder->dag;
    const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[w]);
    int32_t pp = pp_of(finder, w);
    for (int32_t p = 0; fused != NULL && p < fused->part_count; p++) {
        int32_t inner = dag->network.fused.parts[fused->part_first + p].work;
        if (finder->last[inner] != w + 1) {
            finder->last[inner] = w + 1;
            add_user(finder, (link_user){.work = w, .inner = inner, .pp = pp, .is_fused = true});
        }
    }
    if (fused == NULL) {
        add_user(finder, (link_user){.work = w, .inner = w, .pp = pp});
    }
}

/* Whether a collective inside a fused pass may meet another user of its link: both together exceed
 * the capacity, and they may run at the same time. Two fused passes of one pipeline rank never
 * meet: on one rank they run one after the other, and each work has the load of the other ranks'
 * groups on its links already. */
static bool may_meet(const link_user *fused, const link_user *other) {
    bool is_apart = !other->is_fused || fused->pp != other->pp;
    return fused->is_fused && is_apart && fused->share + other->share > 1.0 + EXCESS;
}

/* Add the meetings that may have happened on one link, whose users are those from `first` to before
 * `end`. */
static void add_meetings(risk_finder *finder, size_t first, size_t end) {
    const link_user *users = finder->users.data;
    for (size_t i = first; i < end; i++) {
        for (size_t j = first; j < end && users[i].is_fused; j++) {
            if (may_meet(&users[i], &users[j])) {
                const meeting met = {users[i].work, users[i].inner, users[j].work};
                ms_vector_add(&finder->meetings, &met, 1);
            }
        }
    }
}

/* Find all meetings that may have happened, sorted by fused pass and collective. */
static void find_meetings(risk_finder *finder) {
    size_t count = finder->users.count;
    if (count > 1) {
        qsort(finder->users.data, count, sizeof(link_user), by_link);
    }
    const link_user *users = finder->users.data;
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && users[end].link == users[first].link) {
            end++;
        }
        add_meetings(finder, first, end);
    }
    if (finder->meetings.count > 1) {
        qsort(finder->meetings.data, finder->meetings.count, sizeof(meeting), by_works);
    }
}

/* Whether an operation of work `other` ran at the same time as operation `op`. Operations of one
 * work follow each other, so only the last one that started before the end of `op` has to be tested
 * (bisection by start). Operations of which one begins as the other ends do not count, however the
 * dates are rounded. */
static bool runs_beside(const risk_finder *finder, int32_t op, int32_t other) {
    double together_s = ms_together_s(finder->timeline->end_s[op]);
    int32_t low = finder->op_first[other];
    int32_t high = finder->op_first[other + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (finder->timeline->start_s[finder->ops[middle]] <
            finder->timeline->end_s[op] - together_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > finder->op_first[other] && finder->timeline->end_s[finder->ops[low - 1]] >
                                                finder->timeline->start_s[op] + together_s;
}

/* Mark in is_met those operations of a meeting's fused pass during which an operation of the
 * meeting's other work ran. Returns whether there is one. */
static bool mark_ops(risk_finder *finder, const meeting *m) {
    bool has_any = false;
    for (int32_t i = finder->op_first[m->work]; i < finder->op_first[m->work + 1]; i++) {
        if (runs_beside(finder, finder->ops[i], m->other)) {
            finder->is_met[finder->ops[i]] = true;
            has_any = true;
        }
    }
    return has_any;
}

/* The axis of the collective `inner` inside a fused pass. */
static ms_axis axis_of(const ms_dag *dag, int32_t fused, int32_t inner) {
    const ms_fused_pass *p = ms_fused_pass_of(dag, &dag->works[fused]);
    int32_t i = 0;
    while (dag->network.fused.parts[p->part_first + i].work != inner) {
        i++;
    }
    return (ms_axis)dag->network.fused.parts[p->part_first + i].axis;
}

/* The row of risks for a collective inside a fused pass, by axis, kind, tier and kind of pass;
 * added if it is new. NULL when memory runs out.  op: some operation that is the fused pass. */
static ms_granularity_risk *find_row(ms_vector *rows, const ms_dag *dag, int32_t fused,
                                     int32_t inner, int32_t op) {
    const ms_granularity_risk key = {.axis = axis_of(dag, fused, inner),
                                     .kind = (ms_coll_kind)dag->works[inner].coll,
                                     .tier = dag->works[inner].tier,
                                     .op_kind = (ms_op_kind)dag->ops[op].kind};
    for (size_t i = 0; i < rows->count; i++) {
        ms_granularity_risk *row = &MS_AT(rows, ms_granularity_risk, i);
        if (row->axis == key.axis && row->kind == key.kind && row->tier == key.tier &&
            row->op_kind == key.op_kind) {
            return row;
        }
    }
    return ms_vector_add(rows, &key, 1);
}

/* The axes of a work's communication, MS_AXIS_BIT each: of a fused pass, those of all
 * communications inside it.  op: some operation of the work. */
static unsigned axes_of(const ms_dag *dag, int32_t work, int32_t op) {
    const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[work]);
    unsigned axes = fused == NULL ? MS_AXIS_BIT(dag->ops[op].axis) : 0;
    for (int axis = MS_AXIS_NONE + 1; fused != NULL && axis < MS_AXIS_COUNT; axis++) {
        axes |= fused->axes[axis].busy_s > 0.0 ? MS_AXIS_BIT(axis) : 0;
    }
    return axes;
}

/* Add the risk of one collective inside one fused pass to its row, if other traffic did meet it:
 * count the operations that are this fused pass, and those that were met.  first, end: its
 * meetings. */
static void add_risk(risk_finder *finder, const meeting *first, const meeting *end,
                     ms_vector *rows) {
    int32_t begin = finder->op_first[first->work];
    int32_t after = finder->op_first[first->work + 1];
    unsigned with = 0;
    for (int32_t i = begin; i < after; i++) {
        finder->is_met[finder->ops[i]] = false;
    }
    for (const meeting *m = first; m < end; m++) {
        bool is_new = m == first || m->other != m[-1].other;
        if (is_new && mark_ops(finder, m)) {
            with |= axes_of(finder->dag, m->other, finder->ops[finder->op_first[m->other]]);
        }
    }
    if (with == 0) {
        return;
    }
    ms_granularity_risk *row =
        find_row(rows, finder->dag, first->work, first->inner, finder->ops[begin]);
    int stage = finder->dag->ops[finder->ops[begin]].stage;
    if (row == NULL) {
        return;
    }
    row->with |= with;
    row->stage_first = row->passes == 0 || stage < row->stage_first ? stage : row->stage_first;
    row->stage_last = stage > row->stage_last ? stage : row->stage_last;
    for (int32_t i = begin; i < after; i++) {
        int32_t op = finder->ops[i];
        int64_t times =
            (int64_t)ms_steady_count(&finder->timeline->steady, finder->timeline->start_s[op]);
        row->passes += times;
        row->met += finder->is_met[op] ? times : 0;
    }
}

/* Add the communications inside all fused passes that run to the users of links. */
static void add_fused_passes(risk_finder *finder) {
    for (int32_t w = 0; w < finder->dag->work_count; w++) {
        if (finder->op_first[w] < finder->op_first[w + 1] && finder->dag->works[w].fused > 0) {
            add_work(finder, w);
        }
    }
}

/* Allocate the arrays of a finder, without users and meetings. Returns whether there was memory. */
static bool alloc_finder(risk_finder *finder, ms_arena *scratch) {
    const ms_dag *dag = finder->dag;
    finder->op_first = MS_NEW(scratch, int32_t, (size_t)dag->work_count + 1);
    finder->ops = MS_NEW(scratch, int32_t, dag->op_count);
    finder->share = MS_NEW(scratch, double, dag->network.link_count);
    finder->is_met = MS_NEW(scratch, bool, dag->op_count);
    finder->last = MS_NEW(scratch, int32_t, dag->work_count);
    finder->any_op = MS_NEW(scratch, int32_t, dag->work_count);
    finder->is_hidden = MS_NEW(scratch, bool, dag->network.link_count);
    return !scratch->has_failed;
}

/* Find all risks of a run.  rows: of ms_granularity_risk, output.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_rows(risk_finder *finder, ms_vector *rows) {
    count_ops(finder);
    add_fused_passes(finder);
    for (int32_t w = 0; w < finder->dag->work_count; w++) {
        if (finder->op_first[w] < finder->op_first[w + 1] && finder->dag->works[w].fused == 0) {
            add_work(finder, w);
        }
    }
    find_meetings(finder);
    if (finder->meetings.count > 0) {
        list_ops(finder);
    }
    const meeting *all = finder->meetings.data;
    for (size_t first = 0, end = 0; first < finder->meetings.count; first = end) {
        while (end < finder->meetings.count && all[end].work == all[first].work &&
               all[end].inner == all[first].inner) {
            end++;
        }
        add_risk(finder, all + first, all + end, rows);
    }
    return finder->users.failed || finder->meetings.failed || rows->failed ? MS_E_NOMEM : MS_OK;
}

/* Whether the traffic that meets a collective inside a fused pass may come at any time: it is on
 * another pipeline rank, or it is of an axis whose groups take different times, so that ranks of
 * one pipeline rank are not in step. */
static bool is_unlike(const risk_finder *finder, const meeting *m) {
    bool is_operation = finder->dag->works[m->other].fused == 0;
    unsigned axis = MS_AXIS_BIT(finder->dag->ops[finder->any_op[m->other]].axis);
    return pp_of(finder, m->work) != pp_of(finder, m->other) ||
           (is_operation && (finder->dag->network.fused.unlike_axes & axis) != 0);
}

/* The axes of collectives inside fused passes that may meet other collectives of passes at any
 * time, MS_AXIS_BIT each. */
static unsigned clashing_axes(risk_finder *finder) {
    unsigned axes = 0;
    count_ops(finder);
    add_fused_passes(finder);
    for (int32_t w = 0; w < finder->dag->work_count; w++) {
        bool is_there =
            finder->op_first[w] < finder->op_first[w + 1] && finder->dag->works[w].is_communication;
        if (is_there &&
            (MS_AXIS_BIT(finder->dag->ops[finder->any_op[w]].axis) & MS_AXES_WITHIN_PASSES) != 0) {
            add_work(finder, w);
        }
    }
    find_meetings(finder);
    for (size_t i = 0; i < finder->meetings.count; i++) {
        const meeting *m = &MS_AT(&finder->meetings, meeting, i);
        axes |= is_unlike(finder, m) ? MS_AXIS_BIT(axis_of(finder->dag, m->work, m->inner)) : 0;
    }
    return axes;
}

ms_status ms_granularity_find_clashes(const ms_dag *dag, unsigned *axes_out) {
    ms_arena scratch;
    risk_finder finder = {.dag = dag};
    ms_arena_init(&scratch);
    ms_vector_init(&finder.users, sizeof(link_user));
    ms_vector_init(&finder.meetings, sizeof(meeting));
    ms_status status = MS_E_NOMEM;
    if (alloc_finder(&finder, &scratch)) {
        *axes_out = clashing_axes(&finder);
        status = finder.users.failed || finder.meetings.failed ? MS_E_NOMEM : MS_OK;
    }
    ms_vector_release(&finder.users);
    ms_vector_release(&finder.meetings);
    ms_arena_release(&scratch);
    return status;
}

/* If every communication takes its time alone, transfers share no links, and there are no risks. */
ms_status ms_granularity_find_risks(ms_result *result, ms_arena *arena) {
    if (result->dag.network.fused.count == 0) {
        return MS_OK;
    }
    ms_arena scratch;
    ms_vector rows;
    risk_finder finder = {.dag = &result->dag,
                          .timeline = &result->timeline,
                          .is_alone = result->dag.network.fused.is_alone};
    ms_arena_init(&scratch);
    ms_vector_init(&rows, sizeof(ms_granularity_risk));
    ms_vector_init(&finder.users, sizeof(link_user));
    ms_vector_init(&finder.meetings, sizeof(meeting));
    ms_status status = MS_E_NOMEM;
    if (alloc_finder(&finder, &scratch)) {
        status = finder.is_alone
                     ? MS_OK
                     : find_rows(&finder, &rows); /* if alone, transfers share no links */
    }
    result->risk_count = (int)rows.count;
    result->risks = ms_vector_keep(&rows, arena);
    status = result->risks == NULL ? MS_E_NOMEM : status;
    ms_vector_release(&finder.users);
    ms_vector_release(&finder.meetings);
    ms_arena_release(&scratch);
    return status;
}
