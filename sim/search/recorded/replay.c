/* Replays a step of a measured job through its graph, and takes the graph's waits out of measured
 * times. */
#include <string.h>

#include "search/recorded/table.h"

/* Transfers and delays of at most this come from clocks that disagree, and become 0 [ps]. Smaller
 * negative ones stay.  Source: as graph.c. */
static const int64_t CLOCK_LIMIT_PS = -10000000000;

/* Begin of an operation that waits for nothing. */
static const int64_t FREE = INT64_MIN;

/* Let all that wait for a node begin no earlier than its ends.  ends, begins: [node][dp]. */
static void release_nexts(const ms_recorded *job, int node, const int64_t *ends, int64_t *begins) {
    const ms_recorded_graph *graph = job->graph;
    size_t dp = (size_t)job->dp;
    const int64_t *own = ends + (size_t)node * dp;
    for (int i = graph->next_first[node]; i < graph->next_first[node + 1]; i++) {
        int64_t *its = begins + (size_t)graph->nexts[i] * dp;
        for (size_t d = 0; d < dp; d++) {
            its[d] = own[d] > its[d] ? own[d] : its[d];
        }
    }
}

/* Let nothing be waited for.  begins: [count]. */
static void free_all(int64_t *begins, size_t count) {
    for (size_t i = 0; i < count; i++) {
        begins[i] = FREE;
    }
}

/* The latest begin among the members of a unit for data-parallel rank d.  begins: [node][dp]. */
static int64_t latest_begin(const ms_recorded *job, const ms_recorded_unit *unit,
                            const int64_t *begins, size_t d) {
    int64_t latest = INT64_MIN;
    size_t dp = (size_t)job->dp;
    size_t from = unit->is_across_dp ? 0 : d;
    size_t to = unit->is_across_dp ? dp : d + 1;
    for (int i = unit->first; i < unit->first + unit->count; i++) {
        const int64_t *own = begins + (size_t)job->graph->members[i] * dp;
        for (size_t k = from; k < to; k++) {
            latest = own[k] > latest ? own[k] : latest;
        }
    }
    return latest;
}

/* ---- measured times to own times ---- */

/* Set a time of -10 ms and less to 0, and count it. */
static int64_t without_clock_fault(ms_recorded *job, int64_t time_ps) {
    job->clock_faults += time_ps <= CLOCK_LIMIT_PS;
    return time_ps <= CLOCK_LIMIT_PS ? 0 : time_ps;
}

/* Set the own times of the nodes of a unit on data-parallel rank d.  starts, ends: [node][dp] as
 * measured.  own_out: [node][dp]. */
static void derive_unit(ms_recorded *job, const ms_recorded_unit *unit, size_t d,
                        const int64_t *const times[2], int64_t *own_out) {
    size_t dp = (size_t)job->dp;
    const int *members = job->graph->members + unit->first;
    bool is_meeting = unit->is_meeting && ms_recorded_has_rule(job, MS_RULE_WAITING);
    bool is_message = ms_recorded_is_message(job->nodes[members[0]].kind);
    int64_t latest = latest_begin(job, unit, times[0], d);
    int64_t longest = INT64_MIN;
    for (int i = 0; i < unit->count; i++) {
        size_t n = (size_t)members[i] * dp + d;
        int64_t own = times[1][n] - (is_meeting ? latest : times[0][n]);
        own_out[n] = is_meeting ? without_clock_fault(job, own) : own;
        longest = own_out[n] > longest ? own_out[n] : longest;
    }
    for (int i = 0; i < unit->count && is_message && !ms_recorded_has_rule(job, MS_RULE_ENDS);
         i++) {
        own_out[(size_t)members[i] * dp + d] = longest;
    }
}

void ms_recorded_derive(ms_recorded *job, int64_t *scratch) {
    size_t dp = (size_t)job->dp;
    size_t count = (size_t)job->node_count * dp;
    int64_t *starts = scratch;
    int64_t *ends = scratch + count;
    for (int step = 0; step < job->step_count; step++) {
        int64_t *delays = job->delay_ps + (size_t)step * count;
        int64_t *own = job->own_ps + (size_t)step * count;
        int64_t origin = INT64_MAX;
        int64_t end = INT64_MIN;
        for (size_t i = 0; i < count; i++) {
            starts[i] = delays[i];
            ends[i] = starts[i] + own[i];
            origin = starts[i] < origin ? starts[i] : origin;
            end = ends[i] > end ? ends[i] : end;
        }
        job->base_ps[step] = end - origin;
        free_all(delays, count);
        for (int n = 0; n < job->node_count; n++) {
            release_nexts(job, n, ends, delays);
        }
        for (size_t i = 0; i < count; i++) {
            delays[i] =
                without_clock_fault(job, starts[i] - (delays[i] == FREE ? origin : delays[i]));
        }
        for (int unit = 0; unit < job->graph->unit_count; unit++) {
            for (size_t d = 0; d < dp; d++) {
                derive_unit(job, &job->graph->units[unit], d,
                            (const int64_t *const[2]){starts, ends}, own);
            }
        }
    }
}

/* ---- replay ---- */

/* Begin a node: add its delays to what it waits for.  begins: [dp] of the node.  Returns the least
 * of them. */
static int64_t begin_node(const ms_recorded_replay *r, int node, size_t at, int64_t *begins) {
    size_t dp = (size_t)r->job->dp;
    size_t n = (size_t)node * dp;
    int64_t least = INT64_MAX;
    for (size_t d = 0; d < dp; d++) {
        begins[d] = begins[d] == FREE ? 0 : begins[d];
        begins[d] += r->delays != NULL && r->delays[n + d] ? r->job->delay_ps[at + n + d] : 0;
        least = begins[d] < least ? begins[d] : least;
    }
    return least;
}

/* End a node of a unit that has begun.  latest: latest begin of all, where the unit is across
 * data-parallel ranks.  Returns the latest of its ends. */
static int64_t end_node(const ms_recorded_replay *r, const ms_recorded_unit *unit, int node,
                        size_t at, int64_t latest) {
    const ms_recorded *job = r->job;
    const ms_recorded_node *facts = &job->nodes[node];
    size_t n = (size_t)node * (size_t)job->dp;
    int64_t ideal = r->ideal_ps[facts->kind * job->stages + facts->stage];
    int64_t most = INT64_MIN;
    for (size_t d = 0; d < (size_t)job->dp; d++) {
        int64_t begin = unit->is_across_dp ? latest
                        : unit->count == 1 ? r->begins_ps[n + d]
                                           : latest_begin(job, unit, r->begins_ps, d);
        bool is_ideal = r->is_ideal != NULL && r->is_ideal[n + d];
        int64_t end = begin + (is_ideal ? ideal : job->own_ps[at + n + d]);
        r->ends_ps[n + d] = end;
        most = end > most ? end : most;
    }
    return most;
}

int64_t ms_recorded_replay_step(const ms_recorded_replay *r, int step) {
    const ms_recorded *job = r->job;
    size_t count = (size_t)job->node_count * (size_t)job->dp;
    size_t at = (size_t)step * count;
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    free_all(r->begins_ps, count);
    for (int u = 0; u < job->graph->unit_count; u++) {
        const ms_recorded_unit *unit = &job->graph->units[u];
        const int *members = job->graph->members + unit->first;
        for (int i = 0; i < unit->count; i++) {
            int64_t begin =
                begin_node(r, members[i], at, r->begins_ps + (size_t)members[i] * (size_t)job->dp);
            least = begin < least ? begin : least;
        }
        int64_t latest = unit->is_across_dp ? latest_begin(job, unit, r->begins_ps, 0) : INT64_MIN;
        for (int i = 0; i < unit->count; i++) {
            int64_t end = end_node(r, unit, members[i], at, latest);
            most = end > most ? end : most;
            release_nexts(job, members[i], r->ends_ps, r->begins_ps);
        }
    }
    return most - least;
}
