/* What the links carried, how long they were busy, and how full they were at most. */
#include "engine/core.h"

#include <math.h>
#include <stdlib.h>

/* State of one link while the transfers are swept in time order. */
typedef struct link_state {
    double busy_since_s;
    double share;  /* of the capacity that is in use now */
    int32_t flows; /* that use it now */
} link_state;

/* Beginning or end of a transfer. */
typedef struct point {
    double time_s;
    int32_t record; /* ~record: the end */
} point;

/* By time; ends before beginnings, so that back-to-back transfers never count as overlapping. */
static int compare_points(const void *a, const void *b) {
    const point *x = a;
    const point *y = b;
    if (x->time_s != y->time_s) {
        return x->time_s < y->time_s ? -1 : 1;
    }
    return (x->record > y->record) - (x->record < y->record);
}

static void begin_transfer(ms_walk *walk, link_state *states, const ms_flow_record *record) {
    const ms_dag *dag = walk->dag;
    const ms_dag_flow *flow = &dag->flows[record->flow];
    double rate_Bps = flow->bytes / (record->end_s - record->start_s);
    for (int32_t i = flow->crossing_first; i < flow->crossing_first + flow->crossing_count; i++) {
        const ms_dag_crossing *crossing = &dag->crossings[i];
        link_state *state = &states[crossing->link];
        if (state->flows++ == 0) {
            state->busy_since_s = record->start_s;
            state->share = 0.0;
        }
        state->share += rate_Bps * crossing->weight / dag->links[crossing->link].capacity_Bps;
        double *peak = &walk->timeline.link_peak[crossing->link];
        *peak = fmin(1.0, fmax(*peak, state->share));
    }
}

static void end_transfer(ms_walk *walk, link_state *states, const ms_flow_record *record) {
    const ms_dag *dag = walk->dag;
    const ms_dag_flow *flow = &dag->flows[record->flow];
    double rate_Bps = flow->bytes / (record->end_s - record->start_s);
    for (int32_t i = flow->crossing_first; i < flow->crossing_first + flow->crossing_count; i++) {
        const ms_dag_crossing *crossing = &dag->crossings[i];
        link_state *state = &states[crossing->link];
        if (--state->flows == 0) {
            walk->timeline.link_busy_s[crossing->link] += record->end_s - state->busy_since_s;
        }
        state->share -= rate_Bps * crossing->weight / dag->links[crossing->link].capacity_Bps;
    }
}

static void count_bytes(ms_walk *walk) {
    const ms_dag *dag = walk->dag;
    for (int64_t i = 0; i < walk->account.count; i++) {
        const ms_dag_flow *flow = &dag->flows[walk->account.records[i].flow];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &dag->crossings[flow->crossing_first + c];
            walk->timeline.link_bytes[crossing->link] += flow->bytes * crossing->weight;
        }
    }
}

ms_status ms_account_links(ms_walk *walk, ms_arena *scratch, ms_diag *diag) {
    const ms_account *account = &walk->account;
    point *points = MS_NEW(scratch, point, 2 * account->count);
    link_state *states = MS_NEW(scratch, link_state, walk->dag->link_count);
    if (points == NULL || states == NULL) {
        return ms_engine_no_memory(diag);
    }
    count_bytes(walk);
    size_t count = 0;
    for (int64_t i = 0; i < account->count; i++) {
        const ms_flow_record *record = &account->records[i];
        if (record->end_s > record->start_s) { /* one that takes no time uses nothing for long */
            points[count++] = (point){.time_s = record->start_s, .record = (int32_t)i};
            points[count++] = (point){.time_s = record->end_s, .record = ~(int32_t)i};
        }
    }
    qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 0; i < count; i++) {
        int32_t record = points[i].record;
        if (record >= 0) {
            begin_transfer(walk, states, &account->records[record]);
        } else {
            end_transfer(walk, states, &account->records[~record]);
        }
    }
    return MS_OK;
}
