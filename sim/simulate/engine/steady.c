/* Finds the steady state of a shortened job (steady.h, sim/simulate/run/fast_forward.md): in each
 * optimizer step, three successive periods of the timeline in which every operation happens again
 * one period later. Candidates for a period come from the forward passes of the first rank
 * (anchors); a candidate is then compared operation by operation. ms_steady_test compares the
 * timeline with that of a run with small delays, to see whether rounding errors would grow. */
#include "simulate/engine/steady.h"

#include <math.h>

#include "base/firsts.h"

/* PERIODS: number of successive periods that are compared. ANCHORS_MAX: the periods may end at any
 * anchor of the last so many periods of a step; later ones belong to the cool-down. */
enum { PERIODS = 3, ANCHORS_MAX = 3 };

/* Dates of two periods are the same if they differ by at most SAME_SHARE of the period. SimGrid's
 * clock may be coarser (ms_together_s); its resolution is accepted, too, up to CLOCK_SHARE of the
 * period. By that share the step time may then be wrong. */
#define SAME_SHARE  1e-12
#define CLOCK_SHARE 1e-10

/* The cost of the search is counted in looks: one look is the comparison of one operation with its
 * next occurrence. So many looks cost at most as much as simulating an operation (measured: 6 ns
 * for a look, 120 ns for an operation in closed form). */
enum { LOOKS_PER_OPERATION = 16 };

/* Maximum number of looks for each operation of the graph in the test of one candidate. */
enum { LOOKS_OF_CANDIDATE = 2 };

/* The search may cost this share of the simulation of the timeline. The periods of 277 random jobs
 * were found with at most 5 looks for each operation. */
#define SEARCH_SHARE 0.5

/* A period has to be cut at an instant at which no operation starts. These cuts are tried one after
 * the other, as shares of the period before an anchor. */
static const double CUTS[] = {0.0123, 0.3217, 0.5711, 0.7903};

/* Limits of ms_steady_test for the delays in the perturbed run, in units of MS_STEADY_PERTURBATION
 * times the period. They are chosen by experiment: of 1,100 random jobs, those that equalled their
 * whole simulation had periods that grew by 0 to 21 units, mostly by 0 to 1; in those that did not,
 * periods grew by 80 to 600,000. With a limit that is too low, a job is simulated whole without
 * need; with one that is too high, figures differ from the whole simulation, by 1e-8 to 4e-5 in the
 * jobs where this was seen. */
/* Maximum change of the length of the last period. */
#define GROWTH_MAX 30.0
/* Maximum difference between the changes of the last two periods ("bend"). */
#define BEND_MAX   0.02
/* Periods that are longer and shorter in turns have a larger bend. It may be up to TURN_MAX, if it
 * is at most TURN_MORE times the bend one period earlier. */
#define TURN_MAX   1.0
#define TURN_MORE  1.01

/* The state of a search or test. from_s to same_s describe the candidate that is tested now. */
typedef struct steady {
    const ms_dag *dag;
    const ms_host *host;
    const ms_timeline *timeline;
    int32_t *first;          /* [streams + 1] index in `ops` of each stream's first operation */
    int32_t *ops;            /* [members] operations of each stream, in its order */
    int32_t *op_index;       /* [members] index in `ops` of each member's operation */
    int32_t *lengths;        /* [streams] number of operations that start in a period */
    int32_t *launched_first; /* [ranks + 1] into launched; NULL: launching takes no time */
    int32_t *launched; /* [members] members of each rank, in the order in which its host launches */
    double from_s;     /* beginning of the first of the PERIODS periods */
    double period_s;   /* length of a period */
    int32_t mbs;       /* microbatches in a period */
    double same_s;     /* dates that differ by at most this are the same */
    int64_t looks;     /* so far, for all candidates together */
    int64_t looks_max; /* no new candidate is tested after so many */
} steady;

/* List the operations of every stream (base/firsts.h).  Returns whether there was memory. */
static bool list_streams(steady *search, ms_arena *scratch) {
    const ms_dag *dag = search->dag;
    search->first = MS_NEW(scratch, int32_t, (size_t)dag->stream_count + 1);
    search->ops = MS_NEW(scratch, int32_t, dag->member_count);
    search->op_index = MS_NEW(scratch, int32_t, dag->member_count);
    search->lengths = MS_NEW(scratch, int32_t, dag->stream_count);
    if (search->first == NULL || search->ops == NULL || search->op_index == NULL ||
        search->lengths == NULL) {
        return false;
    }
    for (int32_t m = 0; m < dag->member_count; m++) {
        search->first[dag->member_stream[m] + 1]++;
    }
    ms_firsts_make(search->first, dag->stream_count);
    for (int32_t op = 0; op < dag->op_count; op++) {
        for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
            search->op_index[m] = search->first[dag->member_stream[m]]++;
            search->ops[search->op_index[m]] = op;
        }
    }
    ms_firsts_rewind(search->first, dag->stream_count);
    return true;
}

/* List the members of every rank in the order in which its host launches them, which is that of the
 * graph. Nothing is listed if launching takes no time.  Returns whether there was memory. */
static bool list_launches(steady *search, ms_arena *scratch) {
    const ms_dag *dag = search->dag;
    if (search->host->launches == NULL) {
        return true;
    }
    search->launched_first = MS_NEW(scratch, int32_t, (size_t)dag->rank_count + 1);
    search->launched = MS_NEW(scratch, int32_t, dag->member_count);
    if (search->launched_first == NULL || search->launched == NULL) {
        return false;
    }
    for (int32_t m = 0; m < dag->member_count; m++) {
        search->launched_first[dag->streams[dag->member_stream[m]].rank + 1]++;
    }
    ms_firsts_make(search->launched_first, dag->rank_count);
    for (int32_t m = 0; m < dag->member_count; m++) { /* in the order of their operations */
        search->launched[search->launched_first[dag->streams[dag->member_stream[m]].rank]++] = m;
    }
    ms_firsts_rewind(search->launched_first, dag->rank_count);
    return true;
}

/* Whether operation `later` does the same as `op`, but for a microbatch that is `mbs` further on.
 * An operation without microbatch must have none later. */
static bool is_later_mb(const steady *search, int32_t op, int32_t later, int32_t mbs) {
    const ms_dag_op *a = &search->dag->ops[op];
    const ms_dag_op *b = &search->dag->ops[later];
    return a->work == b->work && a->stage == b->stage && a->chunk == b->chunk &&
           a->layer == b->layer && a->kind == b->kind && a->axis == b->axis &&
           (a->mb < 0 ? b->mb == a->mb : b->mb == a->mb + mbs);
}

/* The operation one period after a member's operation, by counting on its stream; -1: there is
 * none. */
static int32_t next_occurrence(const steady *search, int32_t member) {
    int32_t stream = search->dag->member_stream[member];
    int32_t at = search->op_index[member] + search->lengths[stream];
    return search->lengths[stream] > 0 && at < search->first[stream + 1] ? search->ops[at] : -1;
}

/* Whether the dependencies of a member and of its next occurrence correspond: each dependency is
 * the next occurrence of the other's, or the same operation, from before the steady state. */
static bool has_same_deps(const steady *search, int32_t member, int32_t later_member) {
    const ms_dag *dag = search->dag;
    int32_t count = dag->dep_first[member + 1] - dag->dep_first[member];
    if (count != dag->dep_first[later_member + 1] - dag->dep_first[later_member]) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t dep = dag->deps[dag->dep_first[member] + i];
        int32_t later = dag->deps[dag->dep_first[later_member] + i];
        if (dep != later && next_occurrence(search, dag->member_first[dep]) != later) {
            return false;
        }
    }
    return true;
}

/* Whether an operation happens again one period later: on all its streams, with corresponding
 * dependencies, and with start and end one period later. */
static bool comes_again(const steady *search, int32_t op) {
    const ms_dag *dag = search->dag;
    int32_t first = dag->member_first[op];
    int32_t later = next_occurrence(search, first);
    if (later < 0 || !is_later_mb(search, op, later, search->mbs) ||
        dag->member_first[later + 1] - dag->member_first[later] !=
            dag->member_first[op + 1] - first) {
        return false;
    }
    for (int32_t m = first; m < dag->member_first[op + 1]; m++) {
        int32_t other = dag->member_first[later] + m - first;
        if (dag->member_stream[m] != dag->member_stream[other] ||
            next_occurrence(search, m) != later || !has_same_deps(search, m, other)) {
            return false;
        }
    }
    const ms_timeline *timeline = search->timeline;
    return fabs(timeline->start_s[later] - timeline->start_s[op] - search->period_s) <=
               search->same_s &&
           fabs(timeline->end_s[later] - timeline->end_s[op] - search->period_s) <= search->same_s;
}

/* Position in `ops` of the first operation of a stream that starts at `time_s` or later. */
static int32_t first_from(const steady *search, int32_t stream, double time_s) {
    int32_t begin = search->first[stream], end = search->first[stream + 1];
    while (begin < end) {
        int32_t middle = begin + (end - begin) / 2;
        if (search->timeline->start_s[search->ops[middle]] < time_s) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/* Find where each period begins on a stream, whose operations start in the order of the stream.
 *  begins_out: [PERIODS + 1] index in `ops` of the first operation of each period; the last one is
 * that behind the last period.  Returns whether no operation starts so near to a boundary that
 * rounding decides which period it belongs to. */
static bool cut_stream(const steady *search, int32_t stream, int32_t begins_out[PERIODS + 1]) {
    bool is_clear = true;
    for (int i = 0; i <= PERIODS; i++) {
        double boundary_s = search->from_s + i * search->period_s;
        int32_t at = first_from(search, stream, boundary_s - 2.0 * search->same_s);
        bool is_last = at == search->first[stream + 1];
        is_clear = is_clear && (is_last || search->timeline->start_s[search->ops[at]] >
                                               boundary_s + 2.0 * search->same_s);
        begins_out[i] = at;
    }
    return is_clear;
}

/* Set `lengths`, the number of operations that start in a period on each stream. Returns whether it
 * is the same in all periods, and not 0 on every stream. */
static bool count_lengths(steady *search) {
    bool is_same = true, has_any = false;
    for (int32_t stream = 0; stream < search->dag->stream_count && is_same; stream++) {
        int32_t begins[PERIODS + 1];
        is_same = cut_stream(search, stream, begins);
        search->lengths[stream] = begins[1] - begins[0];
        has_any = has_any || search->lengths[stream] > 0;
        for (int i = 1; i < PERIODS; i++) {
            is_same = is_same && begins[i + 1] - begins[i] == search->lengths[stream];
        }
        search->looks++;
    }
    return is_same && has_any;
}

/* Whether each operation of a stream that starts in one of the periods but the last one happens
 * again one period later. */
static bool is_stream_steady(steady *search, int32_t stream) {
    int32_t begin = first_from(search, stream, search->from_s);
    int32_t end = begin + (PERIODS - 1) * search->lengths[stream];
    bool is_same = true;
    for (int32_t i = begin; i < end && is_same; i++) {
        is_same = comes_again(search, search->ops[i]);
        search->looks++;
    }
    return is_same;
}

/* Whether any operation that runs during the periods takes longer than a period. Such an operation
 * may be under way at two cuts, which a comparison of starts would not show. The search pays for
 * the look at all operations. */
static bool has_long_operation(steady *search) {
    const ms_timeline *timeline = search->timeline;
    double to_s = search->from_s + PERIODS * search->period_s;
    bool has = false;
    for (int32_t op = 0; op < timeline->op_count && !has; op++) {
        has = timeline->end_s[op] > search->from_s && timeline->start_s[op] < to_s &&
              timeline->end_s[op] - timeline->start_s[op] > search->period_s;
    }
    search->looks += timeline->op_count;
    return has;
}

/* Whether the periods of the current candidate are alike on all streams. */
static bool is_steady(steady *search) {
    bool is_same = count_lengths(search);
    for (int32_t stream = 0; stream < search->dag->stream_count && is_same; stream++) {
        is_same = is_stream_steady(search, stream);
    }
    return is_same && !has_long_operation(search);
}

/* The operation that a member belongs to. */
static int32_t op_of(const steady *search, int32_t member) {
    return search->ops[search->op_index[member]];
}

/* The launches of a rank's host, by index in `members`, and those of the current candidate. */
typedef struct launches {
    const int32_t *members; /* [count] members of the rank's operations, in the order of launches */
    int32_t count;
    int32_t begin, end; /* from the first launch whose operation starts in the periods to behind
                           the last one */
    int32_t length;     /* number of launches whose operations start in the first period */
} launches;

/* Find the launches of a rank's host whose operations start within the periods of the current
 * candidate: those from `begin` to before `end`, of which the first period has `length`. */
static launches find_launches(const steady *search, int32_t rank) {
    int32_t first = search->launched_first[rank];
    launches of_host = {.members = search->launched + first,
                        .count = search->launched_first[rank + 1] - first};
    for (int32_t i = 0; i < of_host.count; i++) {
        double behind_s =
            search->timeline->start_s[op_of(search, of_host.members[i])] - search->from_s;
        if (behind_s >= 0.0 && behind_s < PERIODS * search->period_s) {
            of_host.begin = of_host.end == 0 ? i : of_host.begin;
            of_host.end = i + 1;
            of_host.length += behind_s < search->period_s;
        }
    }
    return of_host;
}

/* Whether a host launches the same operations in the same order in each period: the launch that
 * comes `length` launches later is that of the operation's next occurrence. */
static bool is_launched_again(const steady *search, const launches *of_host) {
    const int32_t *stream = search->dag->member_stream;
    bool is_same = of_host->length > 0;
    for (int32_t i = of_host->begin; i < of_host->end - of_host->length && is_same; i++) {
        int32_t member = of_host->members[i], later = of_host->members[i + of_host->length];
        is_same = stream[member] == stream[later] &&
                  next_occurrence(search, member) == op_of(search, later) &&
                  is_later_mb(search, op_of(search, member), op_of(search, later), search->mbs);
    }
    return is_same;
}

/* Whether each launch of a host is also at a time one period later. */
static bool is_launched_in_time(const steady *search, const launches *of_host) {
    bool is_same = true;
    for (int32_t i = of_host->begin; i < of_host->end - of_host->length && is_same; i++) {
        double by_s = ms_host_launched_s(search->host, of_host->members[i + of_host->length]) -
                      ms_host_launched_s(search->host, of_host->members[i]);
        is_same = fabs(by_s - search->period_s) <= search->same_s;
    }
    return is_same;
}

/* Whether a host is ahead of its GPU and stays ahead: it takes at most a period to launch the
 * operations of a period, no operation from the periods on starts late because of its launch, and
 * after the periods the host never waits for its GPU. Then launch times change no date. */
static bool is_ahead(const steady *search, const launches *of_host) {
    double by_s =
        ms_host_launched_s(search->host, of_host->members[of_host->begin + of_host->length]) -
        ms_host_launched_s(search->host, of_host->members[of_host->begin]);
    bool stays_ahead = by_s <= search->period_s;
    for (int32_t i = of_host->begin; i < of_host->count && stays_ahead; i++) {
        int32_t op = op_of(search, of_host->members[i]);
        const ms_dag_work *work = &search->dag->works[search->dag->ops[op].work];
        double launched_s = ms_host_launched_s(search->host, of_host->members[i]);
        stays_ahead = (i >= of_host->end || !work->is_synchronising) &&
                      (work->host_s <= 0.0 || ms_host_earliest_s(search->host, op, launched_s) <
                                                  search->timeline->start_s[op]);
    }
    return stays_ahead;
}

/* Whether the hosts of all ranks repeat what they do: each launch comes a period later, or the host
 * is ahead. has_passed_wait: some launch time is not exact, so nothing is concluded from them. */
static bool are_hosts_steady(const steady *search) {
    bool all_steady = search->launched == NULL || !search->host->has_passed_wait;
    for (int32_t rank = 0; rank < search->dag->rank_count && search->launched != NULL && all_steady;
         rank++) {
        launches of_host = find_launches(search, rank);
        all_steady = is_launched_again(search, &of_host) &&
                     (is_launched_in_time(search, &of_host) || is_ahead(search, &of_host));
    }
    return all_steady;
}

/* Anchors: occurrences of one operation of the first rank's compute stream in a step, the last
 * forward pass with a microbatch, of any stage or of a given one, and its earlier occurrences. Two
 * successive ones are one repetition of the graph apart (ms_dag_repeat.mbs). A period is a whole
 * number of anchors. */
typedef struct anchors {
    double *start_s; /* [count] starts, the latest first */
    int count;
} anchors;

/* List the anchors of a step.  stage: -1: any.  Returns whether there was memory. */
static bool list_anchors(const steady *search, int32_t step, int32_t stage, ms_arena *scratch,
                         anchors *anchors_out) {
    const ms_dag *dag = search->dag;
    int32_t stream = dag->ranks[0].compute;
    int32_t last = -1;
    size_t most = (size_t)(search->first[stream + 1] - search->first[stream]);
    anchors_out->count = 0;
    anchors_out->start_s = MS_NEW(scratch, double, most + 1);
    for (int32_t i = search->first[stream + 1];
         i-- > search->first[stream] && anchors_out->start_s != NULL;) {
        int32_t op = search->ops[i];
        if (op >= dag->step_first[step + 1] || op < dag->step_first[step]) {
            continue;
        }
        bool is_first = last < 0 && dag->ops[op].kind == MS_OP_FORWARD && dag->ops[op].mb >= 0 &&
                        (stage < 0 || dag->ops[op].stage == stage);
        if (is_first || (last >= 0 && is_later_mb(search, op, last, dag->repeat.mbs))) {
            anchors_out->start_s[anchors_out->count++] = search->timeline->start_s[op];
            last = op;
        }
    }
    return anchors_out->start_s != NULL;
}

/* Whether the anchors of a candidate are one period apart: a quick test that rejects most wrong
 * candidates before is_steady compares all operations.  last: index of the anchor at the end of the
 * periods; length: anchors in a period. */
static bool have_same_anchors(steady *search, const anchors *anchor_list, int last, int length) {
    bool is_same = true;
    for (int i = last + PERIODS * length; i > last + length && is_same; i--) {
        is_same = fabs(anchor_list->start_s[i - length] - anchor_list->start_s[i] -
                       search->period_s) <= search->same_s;
        search->looks++;
    }
    return is_same;
}

/* Whether the periods of `length` anchors that end with anchor `last` are alike for some cut. Sets
 * the candidate's fields of `search`. */
static bool is_period(steady *search, const anchors *anchor_list, int last, int length) {
    double begin_s = anchor_list->start_s[last + PERIODS * length];
    search->mbs = length * search->dag->repeat.mbs;
    search->period_s = (anchor_list->start_s[last] - begin_s) / PERIODS;
    search->same_s =
        fmax(SAME_SHARE * search->period_s,
             fmin(ms_together_s(anchor_list->start_s[last]), CLOCK_SHARE * search->period_s));
    bool is_alike = false;
    bool is_likely = have_same_anchors(search, anchor_list, last, length);
    for (size_t c = 0; c < sizeof CUTS / sizeof CUTS[0] && is_likely && !is_alike; c++) {
        search->from_s = begin_s - CUTS[c] * search->period_s;
        is_alike = is_steady(search) && are_hosts_steady(search);
    }
    return is_alike;
}

/* Find the shortest period of a step, trying the latest ends first.  Returns its number of anchors;
 * 0: none was found within looks_max. */
static int find_period(steady *search, const anchors *anchor_list) {
    for (int length = 1; PERIODS * length < anchor_list->count; length++) {
        for (int last = 0;
             last < ANCHORS_MAX * length && last + PERIODS * length < anchor_list->count &&
             search->looks < search->looks_max;
             last++) {
            if (is_period(search, anchor_list, last, length)) {
                return length;
            }
        }
    }
    return 0;
}

/* Find the repeated period of a step, and enter it in `found`: the second of the three periods.
 * Anchors of stage 0 are tried first, then those of any stage. *is_found_out: whether there is one
 * whose number of repetitions divides that of the job.  Returns whether there was memory. */
static bool find_repeated_period(steady *search, int32_t step, ms_arena *scratch, ms_steady *found,
                                 bool *is_found_out) {
    /* in a V the last forward passes may be of the last stage alone, in the cool-down (zbv) */
    static const int32_t STAGES[] = {0, -1};
    const ms_dag_repeat *repeat = &search->dag->repeat;
    int length = 0;
    for (int i = 0; i < 2 && length == 0; i++) {
        anchors anchor_list;
        if (!list_anchors(search, step, STAGES[i], scratch, &anchor_list)) {
            return false;
        }
        length = find_period(search, &anchor_list);
    }
    *is_found_out = length > 0 && repeat->times % length == 0;
    if (*is_found_out) {
        found->of_step[step] = (ms_repeated_period){.from_s = search->from_s + search->period_s,
                                                    .period_s = search->period_s,
                                                    .mbs = search->mbs,
                                                    .times = repeat->times / length};
    } else {
        found->seen_mbs = length > 0 ? search->mbs : 0;
    }
    return true;
}

/* The search is limited: comparisons of operations (`looks`) may cost a share of the run at most,
 * and their cost is added to ops_run. Either every step has a repeated period, or none is used. */
ms_status ms_steady_find(const ms_dag *dag, const ms_host *host, ms_arena *scratch,
                         ms_timeline *timeline) {
    double left = (double)(dag->repeat.ops_max - timeline->ops_run);
    double looks = LOOKS_PER_OPERATION * fmin(SEARCH_SHARE * timeline->op_count, left);
    /* looks_max leaves room for one more candidate, which may exceed it */
    steady search = {.dag = dag,
                     .host = host,
                     .timeline = timeline,
                     .looks_max =
                         (int64_t)looks - LOOKS_OF_CANDIDATE * (int64_t)timeline->op_count};
    ms_steady *found = &timeline->steady;
    bool is_found = dag->step_count <= MS_REPEATED_PERIODS_MAX;
    found->count = 0;
    if (!list_streams(&search, scratch) || !list_launches(&search, scratch)) {
        return MS_E_NOMEM;
    }
    for (int32_t step = 0; step < dag->step_count && is_found; step++) {
        if (!find_repeated_period(&search, step, scratch, found, &is_found)) {
            return MS_E_NOMEM;
        }
    }
    timeline->ops_run += search.looks / LOOKS_PER_OPERATION;
    found->count = is_found ? dag->step_count : 0;
    return MS_OK;
}

double ms_steady_until_s(const ms_timeline *timeline) {
    const ms_repeated_period *last = &timeline->steady.of_step[timeline->steady.count - 1];
    /* from_s begins the second period, and an operation that starts in the last one may end up to a
     * period later: PERIODS periods in all; half a period for the delays */
    return last->from_s + (PERIODS + 0.5) * last->period_s;
}

/* How the delays of dates change from period to period in the perturbed run: maxima over all dates
 * of a period, in units of MS_STEADY_PERTURBATION times the period. */
typedef struct lateness {
    double growth;          /* change of the delay over the last period */
    double bend;            /* difference between this change and that over the period before */
    double bend_before;     /* as bend, one period earlier */
    bool has_period_before; /* the period before the first one is alike, so bend_before is valid */
} lateness;

/* Add a date (start or end) of an operation and of its occurrences in successive periods.  date_s,
 * perturbed_s: [op_count] dates of both runs.  ops: the occurrences; ops[0] is that of the period
 * before the first one, or ops[1] if there is none. */
static void add_date(const steady *search, const double *date_s, const double *perturbed_s,
                     const int32_t ops[PERIODS + 1], lateness *worst) {
    double late[PERIODS + 1];
    for (int i = 0; i <= PERIODS; i++) {
        late[i] =
            (perturbed_s[ops[i]] - date_s[ops[i]]) / (MS_STEADY_PERTURBATION * search->period_s);
    }
    double before_s = date_s[ops[1]] - date_s[ops[0]] - search->period_s;
    worst->has_period_before =
        worst->has_period_before && fabs(before_s) <= CLOCK_SHARE * search->period_s;
    worst->growth = fmax(worst->growth, fabs(late[3] - late[2]));
    worst->bend = fmax(worst->bend, fabs(late[3] - 2.0 * late[2] + late[1]));
    worst->bend_before = fmax(worst->bend_before, fabs(late[2] - 2.0 * late[1] + late[0]));
}

/* Add the starts and ends of all operations of a stream that start in the first period. */
static void add_lateness(const steady *search, const ms_timeline *perturbed, int32_t stream,
                         lateness *worst) {
    const ms_timeline *timeline = search->timeline;
    int32_t length = search->lengths[stream];
    for (int32_t i = search->first[stream]; i + 2 * length < search->first[stream + 1]; i++) {
        const int32_t *op = &search->ops[i];
        double periods = (timeline->start_s[*op] - search->from_s) / search->period_s;
        if (periods >= 0.0 && periods < 1.0) {
            bool has_before = i - length >= search->first[stream];
            const int32_t ops[PERIODS + 1] = {has_before ? op[-length] : *op, *op, op[length],
                                              op[2 * length]};
            add_date(search, timeline->start_s, perturbed->start_s, ops, worst);
            add_date(search, timeline->end_s, perturbed->end_s, ops, worst);
        }
    }
}

/* Whether the delays in the periods of one repeated period stay within the limits. */
static bool is_period_stable(steady *search, const ms_repeated_period *repeated,
                             const ms_timeline *perturbed) {
    search->from_s = repeated->from_s - repeated->period_s;
    search->period_s = repeated->period_s;
    lateness worst = {.has_period_before = true};
    bool is_alike = count_lengths(search);
    for (int32_t stream = 0; stream < search->dag->stream_count; stream++) {
        add_lateness(search, perturbed, stream, &worst);
    }
    bool takes_turns = worst.has_period_before && worst.bend <= TURN_MAX &&
                       worst.bend <= TURN_MORE * worst.bend_before;
    return is_alike && worst.growth <= GROWTH_MAX && (worst.bend <= BEND_MAX || takes_turns);
}

/* By how much the delay of a date lies outside the range that sums and maxima of delayed operations
 * can give: from 0 to MS_STEADY_PERTURBATION of the time before the date. The result is in units of
 * MS_STEADY_PERTURBATION times the period; if it is negative or 0, the date is within the range. */
static double excess_delay(const steady *search, double date_s, double perturbed_s) {
    double late_s = perturbed_s - date_s;
    double most_s = MS_STEADY_PERTURBATION * date_s;
    return fmax(-late_s, late_s - most_s) / (MS_STEADY_PERTURBATION * search->period_s);
}

/* Whether the dates between two repeated periods are stable. In the whole job they come later and
 * so are rounded differently; the difference must not grow before the next repeated period. from_s,
 * to_s: the operations that run between these dates are tested [s]. */
static bool is_between_stable(const steady *search, const ms_timeline *perturbed, double from_s,
                              double to_s) {
    const ms_timeline *timeline = search->timeline;
    double most = 0.0;
    for (int32_t op = 0; op < timeline->op_count; op++) {
        if (timeline->start_s[op] >= from_s && timeline->end_s[op] < to_s) {
            most = fmax(most, excess_delay(search, timeline->start_s[op], perturbed->start_s[op]));
            most = fmax(most, excess_delay(search, timeline->end_s[op], perturbed->end_s[op]));
        }
    }
    return most <= GROWTH_MAX;
}

/* The periods themselves are tested, and the times between the repeated periods of two steps. */
ms_status ms_steady_test(const ms_dag *dag, const ms_timeline *timeline,
                         const ms_timeline *perturbed, ms_arena *scratch, bool *is_stable_out) {
    steady search = {.dag = dag, .timeline = timeline};
    if (!list_streams(&search, scratch)) {
        return MS_E_NOMEM;
    }
    bool is_stable = true;
    for (int32_t i = 0; i < timeline->steady.count && is_stable; i++) {
        const ms_repeated_period *repeated = &timeline->steady.of_step[i];
        is_stable = is_period_stable(&search, repeated, perturbed) &&
                    (i == 0 || is_between_stable(&search, perturbed,
                                                 repeated[-1].from_s + repeated[-1].period_s,
                                                 repeated->from_s));
    }
    *is_stable_out = is_stable;
    return MS_OK;
}
