/* What the links carried, how long they were busy, and how full they were at most.
 *
 * The ports of ranks that do the same carry the same: links of one capacity that the same flows
 * cross as often are accounted for once, by the first of them. */
#include "engine/no_memory.h"
#include "engine/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/random.h"

/* Points in a stretch of time, on average, that are sorted together. */
enum { STRETCH_POINTS = 4 };

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

/* A link and what it is used for. */
typedef struct shared_link {
    uint64_t
        users; /* sum of the mixed flows across it and their weights, then its capacity's bits */
    int32_t link;
} shared_link;

typedef struct accounting {
    ms_replay *replay;
    link_state *states;   /* [links] */
    int32_t *first_alike; /* [links] the lowest link that is used the same, itself or a lower one */
    int32_t *first;       /* [flows + 1] into crossings */
    int32_t *crossings;   /* of each flow, those of links that are the first of their like */
} accounting;

static int by_users(const void *a, const void *b) {
    const shared_link *x = a;
    const shared_link *y = b;
    if (x->users != y->users) {
        return x->users < y->users ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

static void find_users(const ms_dag *dag, shared_link *uses) {
    for (int32_t i = 0; i < dag->network.link_count; i++) {
        uses[i].link = i;
    }
    for (int32_t f = 0; f < dag->network.flow_count; f++) {
        const ms_dag_flow *flow = &dag->network.flows[f];
        for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count;
             c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[c];
            uses[crossing->link].users +=
                ms_random_mix(((uint64_t)f + 1) << 32 | (uint32_t)crossing->weight);
        }
    }
    for (int32_t i = 0; i < dag->network.link_count; i++) {
        uint64_t capacity = 0;
        memcpy(&capacity, &dag->network.links[i].capacity_Bps, sizeof capacity);
        uses[i].users = ms_random_mix(uses[i].users ^ capacity);
    }
}

static void list_crossings(accounting *a) {
    const ms_dag *dag = a->replay->dag;
    int32_t count = 0;
    for (int32_t f = 0; f < dag->network.flow_count; f++) {
        const ms_dag_flow *flow = &dag->network.flows[f];
        a->first[f] = count;
        for (int32_t c = flow->crossing_first; c < flow->crossing_first + flow->crossing_count;
             c++) {
            if (a->first_alike[dag->network.crossings[c].link] == dag->network.crossings[c].link) {
                a->crossings[count++] = c;
            }
        }
    }
    a->first[dag->network.flow_count] = count;
}

static bool find_alike(accounting *a, ms_arena *scratch) {
    const ms_dag *dag = a->replay->dag;
    shared_link *uses = MS_NEW(scratch, shared_link, dag->network.link_count);
    a->states = MS_NEW(scratch, link_state, dag->network.link_count);
    a->first_alike = MS_NEW(scratch, int32_t, dag->network.link_count);
    a->first = MS_NEW(scratch, int32_t, (size_t)dag->network.flow_count + 1);
    a->crossings = MS_NEW(scratch, int32_t, dag->network.crossing_count);
    if (uses == NULL || a->states == NULL || a->first_alike == NULL || a->first == NULL ||
        a->crossings == NULL) {
        return false;
    }
    find_users(dag, uses);
    qsort(uses, (size_t)dag->network.link_count, sizeof *uses, by_users);
    for (int32_t i = 0; i < dag->network.link_count; i++) {
        bool is_first = i == 0 || uses[i].users != uses[i - 1].users;
        a->first_alike[uses[i].link] = is_first ? uses[i].link : a->first_alike[uses[i - 1].link];
    }
    list_crossings(a);
    return true;
}

static void begin_transfer(accounting *a, const ms_flow_record *record) {
    const ms_dag *dag = a->replay->dag;
    double rate_Bps = dag->network.flows[record->flow].bytes / (record->end_s - record->start_s);
    for (int32_t i = a->first[record->flow]; i < a->first[record->flow + 1]; i++) {
        const ms_dag_crossing *crossing = &dag->network.crossings[a->crossings[i]];
        link_state *state = &a->states[crossing->link];
        if (state->flows++ == 0) {
            state->busy_since_s = record->start_s;
            state->share = 0.0;
        }
        state->share +=
            rate_Bps * crossing->weight / dag->network.links[crossing->link].capacity_Bps;
        double *peak = &a->replay->timeline.link_peak[crossing->link];
        *peak = fmin(1.0, fmax(*peak, state->share));
    }
}

static void end_transfer(accounting *a, const ms_flow_record *record) {
    const ms_dag *dag = a->replay->dag;
    double rate_Bps = dag->network.flows[record->flow].bytes / (record->end_s - record->start_s);
    for (int32_t i = a->first[record->flow]; i < a->first[record->flow + 1]; i++) {
        const ms_dag_crossing *crossing = &dag->network.crossings[a->crossings[i]];
        link_state *state = &a->states[crossing->link];
        if (--state->flows == 0) {
            a->replay->timeline.link_busy_s[crossing->link] += record->end_s - state->busy_since_s;
        }
        state->share -=
            rate_Bps * crossing->weight / dag->network.links[crossing->link].capacity_Bps;
    }
}

static void count_bytes(accounting *a) {
    const ms_dag *dag = a->replay->dag;
    for (int64_t i = 0; i < a->replay->account.count; i++) {
        int32_t f = a->replay->account.records[i].flow;
        for (int32_t c = a->first[f]; c < a->first[f + 1]; c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[a->crossings[c]];
            a->replay->timeline.link_bytes[crossing->link] +=
                dag->network.flows[f].bytes * crossing->weight;
        }
    }
}

static void copy_to_alike(accounting *a) {
    ms_timeline *timeline = &a->replay->timeline;
    for (int32_t i = 0; i < a->replay->dag->network.link_count; i++) {
        int32_t first = a->first_alike[i];
        timeline->link_bytes[i] = timeline->link_bytes[first];
        timeline->link_busy_s[i] = timeline->link_busy_s[first];
        timeline->link_peak[i] = timeline->link_peak[first];
    }
}

/* The stretch that a point lies in when the run is cut into `count` of the same length. */
static size_t stretch_of(const point *p, double makespan_s, size_t count) {
    size_t stretch = (size_t)(p->time_s / makespan_s * (double)count);
    return stretch < count ? stretch : count - 1;
}

/* Sort `points`, spread over short stretches of time first: the transfers of a run are spread over
 * it, and a few points at a time are sorted several times as fast as all of them. */
static ms_status sort_points(point **points, size_t count, double makespan_s, ms_arena *scratch) {
    size_t stretches = count / STRETCH_POINTS + 1;
    size_t *end = MS_NEW(scratch, size_t, stretches + 1);
    point *sorted = MS_NEW(scratch, point, count);
    if (end == NULL || sorted == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        end[stretch_of(&(*points)[i], makespan_s, stretches) + 1]++;
    }
    for (size_t i = 0; i < stretches; i++) {
        end[i + 1] += end[i];
    }
    /* end[i] is where stretch i begins; placing its points moves it to where it ends */
    for (size_t i = 0; i < count; i++) {
        sorted[end[stretch_of(&(*points)[i], makespan_s, stretches)]++] = (*points)[i];
    }
    for (size_t i = 0, first = 0; i < stretches; first = end[i++]) {
        qsort(sorted + first, end[i] - first, sizeof *sorted, compare_points);
    }
    *points = sorted;
    return MS_OK;
}

ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    const ms_account *account = &replay->account;
    point *points = MS_NEW(scratch, point, 2 * account->count);
    accounting a = {.replay = replay};
    if (points == NULL || !find_alike(&a, scratch)) {
        return ms_engine_no_memory(diag);
    }
    count_bytes(&a);
    size_t count = 0;
    for (int64_t i = 0; i < account->count; i++) {
        const ms_flow_record *record = &account->records[i];
        if (record->end_s > record->start_s) { /* one that takes no time uses nothing for long */
            points[count++] = (point){.time_s = record->start_s, .record = (int32_t)i};
            points[count++] = (point){.time_s = record->end_s, .record = ~(int32_t)i};
        }
    }
    if (sort_points(&points, count, replay->timeline.makespan_s, scratch) != MS_OK) {
        return ms_engine_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t record = points[i].record;
        if (record >= 0) {
            begin_transfer(&a, &account->records[record]);
        } else {
            end_transfer(&a, &account->records[~record]);
        }
    }
    copy_to_alike(&a);
    return MS_OK;
}
