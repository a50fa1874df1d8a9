/* Maps of passes (pass_map.h). A pass is run on the clocks of its rank once for each clock at its
 * start: that clock is set to 0 and all others to -INFINITY, so that the clocks at the end are one
 * column of the map. Segments on the chain run one after the other on the compute stream or as
 * synchronous collectives. Asynchronous collectives run beside the chain. In the outline of a model
 * some segments repeat, once per layer that is left out: as soon as every clock advances by the
 * same time per repetition, the rest of the repetitions are added at once. */
#include "estimate/pass_map.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

/* Maximum number of communicators of one rank that a pass uses; of more, the last ones share a
 * clock. */
enum { STREAMS_MAX = 16 };

/* Maximum relative difference between two clocks that differ by rounding alone. */
static const double STEADY = 1e-13;

/* Clocks of a rank while passes run [s]; -INFINITY: unset. */
typedef struct clocks {
    double computed_s;          /* the compute stream is free */
    double host_s;              /* the host has launched all segments so far */
    int ids[STREAMS_MAX];       /* [count] communicators, as numbers of ms_communicator_of */
    double free_s[STREAMS_MAX]; /* [count] when each communicator is free */
    int count;
} clocks;

/* A pass under way. */
typedef struct pass_run {
    const ms_pass_view *pass;
    double *end_s;   /* [count] ends of the asynchronous segments that have run; NAN: the segment is
                        not asynchronous or did not run, so that no segment waits for it */
    double chain_s;  /* end of the last segment on the chain, for which the next one waits */
    double inputs_s; /* arrival of the inputs, for which the first segment on the chain waits;
                        -INFINITY: none, or that segment has run */
    int next;        /* index of the next segment */
    int times_left;  /* repetitions of the pass's repeating segments that are still to run */
    clocks *before;  /* the rank's clocks at the start of the current repetition */
    double chain_before_s; /* chain_s at that time */
    bool is_held;          /* the last segment that ran is a synchronous collective */
    bool is_bound; /* the host has delayed a segment since the start of the current repetition */
    bool is_synchronised; /* the host has made the wait for the GPU that the pass begins with, or
                             the pass has none */
    bool is_paired;  /* the host does not wait within the pass: it is one of a pair, or the caller
                        leaves the host out */
    ms_pass_op *ops; /* operations so far; NULL: they are not listed */
    int op_count;
    ms_slow_spans *slow_spans; /* of the rank; NULL: nothing is slowed down */
    double *slowed_s;          /* [count] slowed time of each computation's last run */
} pass_run;

int ms_communicator_of(const ms_segment *segment) {
    unsigned axes = segment->group_axes;
    axes = axes != 0 ? axes : MS_AXIS_BIT(segment->axis);
    return (int)axes * MS_AXIS_COUNT + (int)segment->axis;
}

/* The clock of the communicator with number `id`; a new communicator gets an unset clock. */
static double *free_of(clocks *now, int id) {
    int i = 0;
    while (i < now->count && now->ids[i] != id) {
        i++;
    }
    if (i == now->count && i < STREAMS_MAX) {
        now->ids[i] = id;
        now->free_s[i] = -INFINITY;
        now->count++;
    }
    return &now->free_s[i < STREAMS_MAX ? i : STREAMS_MAX - 1];
}

/* The MS_UNIT_ bit of the microbatches on which a segment with an ms_when runs. */
static const unsigned UNIT_BITS[] = {[MS_WHEN_ALWAYS] = 0,
                                     [MS_WHEN_FIRST] = MS_UNIT_FIRST,
                                     [MS_WHEN_LAST] = MS_UNIT_LAST,
                                     [MS_WHEN_ROUND] = MS_UNIT_CLOSES_ROUND};

/* Whether a segment runs on a microbatch with the MS_UNIT_ bits `unit`. */
static bool runs_now(const ms_segment *segment, unsigned unit) {
    return segment->when == MS_WHEN_ALWAYS || (unit & UNIT_BITS[segment->when]) != 0;
}

unsigned ms_unit_bits_used(unsigned unit, const ms_pass_plan *plan) {
    unsigned bits = 0;
    for (size_t when = 0; when < sizeof UNIT_BITS / sizeof UNIT_BITS[0]; when++) {
        bits |= plan->when >> when & 1U ? UNIT_BITS[when] : 0;
    }
    return unit & bits;
}

/* Whether a segment waits for an asynchronous collective that has run on this microbatch. */
static bool waits_for_one(const pass_run *run, const ms_segment *segment) {
    bool waits = false;
    for (int i = 0; i < segment->wait_count; i++) {
        waits = waits || !isnan(run->end_s[segment->waits[i]]);
    }
    return waits;
}

/* Latest end of the asynchronous collectives that a segment waits for; -INFINITY: none. ms_max
 * drops the NAN of a collective that did not run. */
static double waited_s(const pass_run *run, const ms_segment *segment) {
    double until_s = -INFINITY;
    for (int i = 0; i < segment->wait_count; i++) {
        until_s = ms_max(until_s, run->end_s[segment->waits[i]]);
    }
    return until_s;
}

/* Append a segment that has just run to the list of operations, if the caller wants one. */
static void append_op(pass_run *run, const ms_segment *segment) {
    if (run->ops != NULL) {
        run->ops[run->op_count++] = (ms_pass_op){.end_s = run->chain_s, .layer = segment->layer};
    }
}

/* Launch a segment whose streams and inputs are ready at `start_s`.  launches: kernels of the
 * segment.  time_s: time from the segment's start by which its last kernel has to be launched: the
 * time of a computation, 0 for a collective.  Returns when the segment starts [s]. */
static double launch(pass_run *run, clocks *now, int launches, double start_s, double time_s) {
    double launch_s = run->pass->launch_s;
    if (launch_s <= 0.0 || launches == 0) {
        return start_s;
    }
    now->host_s += launches * launch_s;
    run->is_bound = run->is_bound || now->host_s - time_s > start_s;
    return ms_max(start_s, now->host_s - time_s);
}

/* Run the collective `segment`, which is the next one of the pass, on its communicator. A
 * synchronous collective is on the chain, and sets is_held. An asynchronous one starts where the
 * chain has got to, but does not wait for the inputs of the pass; its end is stored in run->end_s
 * for the segments that wait for it. */
static void run_collective(pass_run *run, clocks *now, const ms_segment *segment, double time_s) {
    double *free_s = free_of(now, ms_communicator_of(segment));
    double start_s = ms_max(ms_max(run->chain_s, *free_s), waited_s(run, segment));
    if (!segment->is_async) {
        start_s = ms_max(start_s, run->inputs_s);
        run->inputs_s = -INFINITY;
        start_s = launch(run, now, 1, start_s, 0.0);
        run->chain_s = start_s + time_s;
        run->is_held = true;
    } else {
        start_s = launch(run, now, 1, start_s, 0.0);
        run->end_s[run->next] = start_s + time_s;
    }
    *free_s = start_s + time_s;
    if (run->slow_spans != NULL) {
        ms_slow_spans_note(run->slow_spans, segment->coll, start_s, start_s + time_s);
    }
    append_op(run, segment);
}

/* Run the next segment of a pass, if it runs on this microbatch: advance the clocks that it uses. A
 * computation waits for the chain, for the inputs, for the collectives that it names and, beside
 * another pass of a pair, for the compute stream. The inputs are waited for once, so inputs_s is
 * cleared. A segment whose time is negative (a collective in a group of one rank) does not run. */
static void run_segment(pass_run *run, clocks *now) {
    const ms_segment *segment = &run->pass->segments[run->next];
    double time_s = run->pass->time_s[run->next];
    run->end_s[run->next] = NAN; /* no segment waits for this one, unless run_collective sets it */
    if (!runs_now(segment, run->pass->unit) || time_s < 0.0) {
        return;
    }
    if (segment->is_collective) {
        run_collective(run, now, segment, time_s);
        return;
    }
    double start_s = ms_max(ms_max(run->chain_s, run->inputs_s), waited_s(run, segment));
    start_s = ms_max(start_s, now->computed_s);
    run->inputs_s = -INFINITY;
    if (!run->is_synchronised || (segment->kernels.has_host_wait && !run->is_paired)) {
        now->host_s = ms_max(now->host_s, start_s);
        run->is_synchronised = true;
    }
    start_s = launch(run, now, segment->kernels.launches, start_s,
                     segment->time_s * run->pass->compute_factor);
    if (run->slow_spans != NULL) {
        time_s = ms_slowed_end_s(run->slow_spans->spans, run->slow_spans->count, start_s, time_s) -
                 start_s;
        run->slowed_s[run->next] = time_s;
    }
    run->chain_s = now->computed_s = start_s + time_s;
    append_op(run, segment);
}

/* Save the clocks at the start of a repetition. Communicators are copied one by one, as the arrays
 * are mostly empty. */
static void save_clocks(pass_run *run, const clocks *now) {
    run->before->computed_s = now->computed_s;
    run->before->host_s = now->host_s;
    run->is_bound = false;
    run->before->count = now->count;
    for (int i = 0; i < now->count; i++) {
        run->before->free_s[i] = now->free_s[i];
    }
    run->chain_before_s = run->chain_s;
}

/* By how much the clocks advanced in a repetition [s]: by as much as the chain or, while no segment
 * of the chain depends on the clock that the run starts from, by as much as the communicator that
 * advanced most. */
static double advance_s(const pass_run *run, const clocks *now) {
    double by_s = run->chain_s > -INFINITY ? run->chain_s - run->chain_before_s : 0.0;
    for (int i = 0; i < now->count && run->chain_s == -INFINITY; i++) {
        by_s = now->free_s[i] > -INFINITY ? ms_max(by_s, now->free_s[i] - run->before->free_s[i])
                                          : by_s;
    }
    return by_s;
}

/* Whether a clock advanced by `by_s`, up to rounding, or did not move: it is unset or not used. */
static bool has_advanced_by(double by_s, double from_s, double to_s) {
    return from_s == to_s || fabs(to_s - from_s - by_s) <= STEADY * fabs(to_s);
}

/* Whether the host delays all later repetitions alike. Either its clock advanced by `by_s` like the
 * others; or it advanced by less and delayed no segment, and then it never will. */
static bool is_host_steady(const pass_run *run, const clocks *now, double by_s) {
    double host_s = run->before->host_s;
    return has_advanced_by(by_s, host_s, now->host_s) ||
           (!run->is_bound && now->host_s - host_s < by_s);
}

/* Whether all clocks advanced by `by_s` in the last repetition. Then they do so in every later one:
 * segments only add times to clocks and take maxima, and both keep a common shift. */
static bool is_steady(const pass_run *run, const clocks *now, double by_s) {
    const ms_repeat *repeat = &run->pass->repeat;
    const double *end_s = run->end_s + repeat->first;
    bool is_same = isfinite(by_s) && now->count == run->before->count &&
                   has_advanced_by(by_s, run->before->computed_s, now->computed_s) &&
                   is_host_steady(run, now, by_s);
    for (int i = 0; i < now->count && is_same; i++) {
        is_same = has_advanced_by(by_s, run->before->free_s[i], now->free_s[i]);
    }
    for (int i = 0; i < repeat->count && is_same; i++) {
        bool runs = !isnan(end_s[i]); /* the same in every repetition of a pass */
        is_same = !runs || has_advanced_by(by_s, end_s[i - repeat->count], end_s[i]);
    }
    return is_same;
}

/* Run all repetitions that are left at once, after is_steady. Clocks that did not move in the last
 * repetition stay; the host advances by its own time per repetition, which may be less. */
static void run_repetitions_left(pass_run *run, clocks *now, double by_s) {
    const ms_repeat *repeat = &run->pass->repeat;
    double *end_s = run->end_s + repeat->first;
    double sum_s = run->times_left * by_s;
    for (int i = 0; i < now->count; i++) {
        now->free_s[i] += now->free_s[i] == run->before->free_s[i] ? 0.0 : sum_s;
    }
    for (int i = 0; i < repeat->count; i++) {
        end_s[i] += end_s[i] == end_s[i - repeat->count] ? 0.0 : sum_s;
    }
    now->computed_s += now->computed_s == run->before->computed_s ? 0.0 : sum_s;
    if (now->host_s > -INFINITY) {
        now->host_s += run->times_left * (now->host_s - run->before->host_s);
    }
    run->chain_s += sum_s;
    run->times_left = 0;
}

/* Go on to the next segment: at the end of a repetition to its first segment again, until no
 * repetition is left. The ends of the repetition's segments are copied to the equal segments before
 * it (ms_repeat), where the next repetition looks for the collectives that it waits for. is_alone:
 * no other pass runs beside this pass and moves the clocks. */
static void go_to_next(pass_run *run, clocks *now, bool is_alone) {
    const ms_repeat *repeat = &run->pass->repeat;
    int end = repeat->first + repeat->count;
    run->next++;
    if (run->times_left == 0) {
        return;
    }
    if (run->next == end) {
        double by_s = advance_s(run, now);
        if (is_alone && is_steady(run, now, by_s)) {
            run_repetitions_left(run, now, by_s);
            return;
        }
        double *now_s = run->end_s + repeat->first;
        memcpy(now_s - repeat->count, now_s, (size_t)repeat->count * sizeof *now_s);
        run->next = repeat->first;
        run->times_left--;
    }
    if (run->next == repeat->first) {
        save_clocks(run, now);
    }
}

/* Run segments up to the end of the pass or, with until_held, for one turn in a pair: at least one
 * segment, up to and including a synchronous collective, or up to a segment that waits for an
 * asynchronous one. A pass without any segment on the chain still ends after its inputs arrive. */
static void run_segments(pass_run *run, clocks *now, bool until_held) {
    run->is_held = false;
    for (bool is_first = true; run->next < run->pass->count; is_first = false) {
        const ms_segment *segment = &run->pass->segments[run->next];
        bool waits = !is_first && waits_for_one(run, segment);
        if (until_held && (run->is_held || waits)) {
            return;
        }
        run_segment(run, now);
        go_to_next(run, now, !until_held);
    }
    run->chain_s = ms_max(run->chain_s, run->inputs_s);
}

/* Whether the pass waits for asynchronous collective number `async`, so that it does not end before
 * the collective. Waits of other asynchronous collectives do not count, as these may outlive the
 * pass themselves. */
static bool is_waited_for(const ms_segment *segments, int count, int async) {
    for (int i = async + 1; i < count; i++) {
        for (int k = 0; k < segments[i].wait_count && !segments[i].is_async; k++) {
            if (segments[i].waits[k] == async) {
                return true;
            }
        }
    }
    return false;
}

int ms_carried_find(const ms_carried *carried, const ms_segment *segment) {
    int id = ms_communicator_of(segment);
    for (int k = 0; k < carried->count; k++) {
        if (carried->ids[k] == id) {
            return k;
        }
    }
    return -1;
}

void ms_carried_add(ms_carried *carried, const ms_segment *segments, int count) {
    for (int i = 0; i < count; i++) {
        if (!segments[i].is_async || is_waited_for(segments, count, i)) {
            continue;
        }
        if (ms_carried_find(carried, &segments[i]) < 0 && carried->count < MS_CARRIED_MAX) {
            carried->ids[carried->count++] = ms_communicator_of(&segments[i]);
        }
    }
}

/* The clocks at the start of a pass: clock `source` (MS_FROM_) is 0, the others are unset. */
static clocks clocks_from(const ms_carried *carried, int source) {
    clocks now = {.computed_s = -INFINITY, .host_s = source == MS_FROM_HOST ? 0.0 : -INFINITY};
    for (int k = 0; k < carried->count; k++) {
        *free_of(&now, carried->ids[k]) = source == MS_FROM_STREAM + k ? 0.0 : -INFINITY;
    }
    return now;
}

/* Run both passes of a pair to the end, in turns: each turn runs one pass up to its next collective
 * that it waits for, so that the other pass computes while the collective is under way. The end of
 * the later pass becomes runs[0].chain_s. */
static void run_in_turns(pass_run runs[2], clocks *now) {
    while (runs[0].next < runs[0].pass->count || runs[1].next < runs[1].pass->count) {
        run_segments(&runs[0], now, true);
        run_segments(&runs[1], now, true);
    }
    runs[0].chain_s = ms_max(runs[0].chain_s, runs[1].chain_s);
}

/* Run a pass to the end, or both passes of a pair (runs[1].pass not NULL).  runs: with all fields
 * set but the repetitions. */
static void run_passes(pass_run runs[2], clocks *now) {
    clocks before[2];
    for (int i = 0; i < 2 && runs[i].pass != NULL; i++) {
        runs[i].times_left = runs[i].pass->repeat.times;
        runs[i].before = &before[i];
    }
    if (runs[1].pass == NULL) {
        run_segments(&runs[0], now, false);
    } else {
        run_in_turns(runs, now);
    }
    runs[0].before = NULL; /* `before` is local to this function */
    runs[1].before = NULL;
}

/* Sum of the times of segments first .. first + count - 1 of a pass that run [s]: their duration if
 * all are on the chain.  *is_chain_out: set to false if one is asynchronous, else not changed. */
static double sum_chain(const ms_pass_view *pass, int first, int count, bool *is_chain_out) {
    double sum_s = 0.0;
    for (int i = first; i < first + count; i++) {
        bool runs = runs_now(&pass->segments[i], pass->unit) && pass->time_s[i] >= 0.0;
        *is_chain_out = *is_chain_out && !pass->segments[i].is_async;
        sum_s += runs ? pass->time_s[i] : 0.0;
    }
    return sum_s;
}

/* The clocks of a rank while it runs a pass without asynchronous collectives [s]. */
typedef struct chain_clocks {
    double end_s;         /* end of the last segment */
    double host_s;        /* the host has launched the last segment */
    bool is_synchronised; /* as in pass_run */
} chain_clocks;

/* Run segments first .. first + count - 1 of a pass one after the other: what run_segment does, for
 * passes without asynchronous collectives. A host that waits for its GPU continues from the end of
 * the last segment: before the pass's first computation, and before kernels with has_host_wait.
 * Segments with a negative time do not run. */
static void run_chain(const ms_pass_view *pass, int first, int count, chain_clocks *now) {
    for (int i = first; i < first + count; i++) {
        const ms_segment *segment = &pass->segments[i];
        int launches = segment->is_collective ? 1 : segment->kernels.launches;
        /* as `launch`: a computation may begin but not end before its last kernel is launched */
        double own_s = segment->is_collective ? 0.0 : segment->time_s * pass->compute_factor;
        if (!runs_now(segment, pass->unit) || pass->time_s[i] < 0.0) {
            continue;
        }
        if ((!now->is_synchronised || segment->kernels.has_host_wait) && !segment->is_collective) {
            now->host_s = ms_max(now->host_s, now->end_s);
            now->is_synchronised = true;
        }
        now->host_s += launches * pass->launch_s;
        now->end_s =
            ms_max(now->end_s, launches > 0 ? now->host_s - own_s : -INFINITY) + pass->time_s[i];
    }
}

/* Add repeat->times repetitions of the repeating segments at once. sum_s: time of one repetition
 * without the host. Either no launch delays a segment, or there is a repetition with the last
 * delay. Each repetition before the delayed one takes the time of the host (once.host_s); the
 * delayed one ends once.end_s after the host's clock at its start; each repetition after it takes
 * sum_s. The end is the longest of these paths: all repetitions but the delayed one take the larger
 * of the two times.
 */
static void repeat_chain(const ms_pass_view *pass, double sum_s, chain_clocks *now) {
    const ms_repeat *repeat = &pass->repeat;
    chain_clocks once = {.end_s = -INFINITY, .host_s = 0.0, .is_synchronised = true};
    if (repeat->times == 0) {
        return;
    }
    run_chain(pass, repeat->first, repeat->count, &once);
    double by_s = (repeat->times - 1) * ms_max(sum_s, once.host_s);
    now->end_s = ms_max(now->end_s + repeat->times * sum_s, now->host_s + once.end_s + by_s);
    now->host_s += repeat->times * once.host_s;
}

/* Compute the entries for clock `source` of a pass without asynchronous collectives whose launches
 * take time.  sum_s: time of the repeating segments. */
static void map_launched_chain(const ms_pass_view *pass, int source, double sum_s,
                               ms_pass_map *map_out) {
    chain_clocks now = {.end_s = source == MS_FROM_HOST ? -INFINITY : 0.0,
                        .host_s = source == MS_FROM_HOST ? 0.0 : -INFINITY,
                        .is_synchronised = !pass->synchronises};
    int until = pass->repeat.first + pass->repeat.count;
    run_chain(pass, 0, until, &now);
    repeat_chain(pass, sum_s, &now);
    run_chain(pass, until, pass->count - until, &now);
    map_out->end_s[source] = now.end_s;
    map_out->host_s[source] = now.host_s;
}

/* Whether the host waits for the GPU in a repeating segment. repeat_chain holds only without, as it
 * lets the host run ahead from one repetition to the next. */
static bool has_host_wait(const ms_pass_view *pass, const ms_repeat *repeat) {
    bool has_one = false;
    for (int i = repeat->first; i < repeat->first + repeat->count; i++) {
        has_one = has_one || pass->segments[i].kernels.has_host_wait;
    }
    return has_one;
}

/* Set the entries of clock `source` of a map on which no clock after the pass depends.  carried:
 * number of carried communicators. */
static void clear_source(ms_pass_map *map, int source, int carried) {
    map->end_s[source] = map->host_s[source] = -INFINITY;
    for (int k = 0; k < carried; k++) {
        map->stream_s[k][source] = -INFINITY;
    }
}

/* Compute the map of a pass without asynchronous collectives in closed form: from the later of its
 * rank's and its inputs' clock on, it takes the sum of its segments, or longer where the host
 * launches them more slowly. No communicator is carried.  Returns whether the pass is of this form;
 * otherwise *map_out may be changed. */
static bool map_chain(const ms_pass_view *pass, ms_pass_map *map_out) {
    const ms_repeat *repeat = &pass->repeat;
    bool is_chain = true;
    double sum_s = sum_chain(pass, 0, pass->count, &is_chain);
    if (!is_chain || (pass->launch_s > 0.0 && has_host_wait(pass, repeat))) {
        return false;
    }
    double repeated_s = sum_chain(pass, repeat->first, repeat->count, &is_chain);
    sum_s += repeat->times * repeated_s;
    map_out->end_s[MS_FROM_RANK] = map_out->end_s[MS_FROM_INPUT] = sum_s;
    clear_source(map_out, MS_FROM_HOST, 0);
    for (int source = 0; source < MS_FROM_STREAM && pass->launch_s > 0.0; source++) {
        map_launched_chain(pass, source, repeated_s, map_out);
    }
    return true;
}

/* A single pass without carried communicators has a shortcut (map_chain). Otherwise the passes are
 * run once for each clock at their start (see the top of this file). The clock of the host has no
 * effect if launches take no time. */
void ms_pass_map_make(const ms_pass_view *pass, const ms_pass_view *second,
                      const ms_carried *carried, double *end_s, ms_pass_map *map_out) {
    if (second == NULL && carried->count == 0 && map_chain(pass, map_out)) {
        return;
    }
    for (int source = 0; source < MS_FROM_STREAM + carried->count; source++) {
        clocks now = clocks_from(carried, source);
        if (source == MS_FROM_HOST && pass->launch_s <= 0.0) {
            clear_source(map_out, source, carried->count);
            continue;
        }
        pass_run start = {.pass = pass,
                          .end_s = end_s,
                          .is_synchronised = !pass->synchronises,
                          .is_paired = second != NULL,
                          .chain_s = source == MS_FROM_RANK ? 0.0 : -INFINITY,
                          .inputs_s = source == MS_FROM_INPUT ? 0.0 : -INFINITY};
        pass_run runs[2] = {start, start};
        runs[1].pass = second;
        runs[1].end_s = end_s + pass->count;
        run_passes(runs, &now);
        map_out->end_s[source] = runs[0].chain_s;
        map_out->host_s[source] = now.host_s;
        for (int k = 0; k < carried->count; k++) {
            map_out->stream_s[k][source] = now.free_s[k];
        }
    }
}

/* Whether a pass has asynchronous collectives, also those that do not run on its microbatch. */
static bool has_async(const ms_pass_view *pass) {
    bool has_one = false;
    for (int i = 0; i < pass->count; i++) {
        has_one = has_one || pass->segments[i].is_async;
    }
    return has_one;
}

/* ms_pass_slow_down of a pass without asynchronous collectives, where nothing is slowed down. Times
 * still become differences of two clocks, (now + time) - now, as in a pass that has such
 * collectives: stages with and without them then have the same times to the last bit. */
static void round_chain(const ms_pass_view *pass, double *slowed_s) {
    const ms_repeat *repeat = &pass->repeat;
    int end = repeat->first + repeat->count;
    double now_s = 0.0, before_s = 0.0;
    for (int i = 0; i < pass->count; i++) {
        before_s = i == repeat->first ? now_s : before_s;
        bool runs = runs_now(&pass->segments[i], pass->unit) && pass->time_s[i] >= 0.0;
        if (runs && pass->segments[i].is_collective) {
            now_s += pass->time_s[i];
        } else if (runs) {
            slowed_s[i] = now_s + pass->time_s[i] - now_s;
            now_s += slowed_s[i];
        }
        now_s += i + 1 == end ? repeat->times * (now_s - before_s) : 0.0;
    }
}

/* The passes are run once with all clocks unset, so that they wait for nothing but each other, and
 * without the host. Each computation is slowed down by the collectives that run beside it
 * (slow_spans). */
void ms_pass_slow_down(const ms_pass_view *pass, const ms_pass_view *second, const double *factors,
                       double *end_s, double *slowed_s) {
    if (second == NULL && !has_async(pass)) {
        round_chain(pass, slowed_s);
        return;
    }
    clocks now = {.computed_s = -INFINITY, .host_s = -INFINITY};
    ms_slow_spans slow_spans = {.factors = factors};
    pass_run start = {.pass = pass,
                      .inputs_s = -INFINITY,
                      .is_synchronised = true,
                      .is_paired = true,
                      .slow_spans = &slow_spans};
    pass_run runs[2] = {start, start};
    runs[0].end_s = end_s;
    runs[0].slowed_s = slowed_s;
    runs[1].pass = second;
    runs[1].end_s = end_s + pass->count;
    runs[1].slowed_s = slowed_s + pass->count;
    run_passes(runs, &now);
}

/* The passes run one after the other: each begins where the chain of the pass before it has
 * ended. */
int ms_pass_ops(const ms_pass_view *passes, int count, double *end_s, ms_pass_op *ops_out) {
    clocks now = {.computed_s = -INFINITY};
    double until_s = 0.0;
    int op_count = 0;
    for (int i = 0; i < count; i++) {
        pass_run run = {.pass = &passes[i],
                        .chain_s = until_s,
                        .inputs_s = -INFINITY,
                        .is_synchronised = !passes[i].synchronises,
                        .ops = ops_out + op_count};
        run.end_s = end_s;
        run_segments(&run, &now, false);
        until_s = run.chain_s;
        op_count += run.op_count;
    }
    return op_count;
}
