/* What the links carried, how long they were busy, and how full they were at most.
 *
 * The ports of ranks that do the same carry the same: links of one capacity that the same flows
 * cross as often are accounted for once, by the first of them. */
#include "simulate/engine/no_memory.h"
#include "simulate/engine/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum {
    STRETCH_POINTS = 4,  /* in a stretch of time, on average, that are sorted together */
    INSERTED_POINTS = 16 /* at most that are inserted one by one */
};

/* State of one link while the transfers are swept in time order. */
typedef struct link_state {
    double busy_since_s;
    double share;  /* of the capacity that is in use now */
    int32_t flows; /* that use it now */
} link_state;

/* Beginnings and ends of transfers: a record begins, or ~record ends. */
typedef struct point_list {
    const ms_flow_record *records;
    double makespan_s;
    int32_t *sorted;  /* [2 * records] */
    int32_t *end;     /* [stretches + 1] into sorted */
    size_t stretches; /* of the same length that the run is cut into */
} point_list;

static inline double time_of(const point_list *points, int32_t point) {
    return point >= 0 ? points->records[point].start_s : points->records[~point].end_s;
}

/* By time; ends before beginnings, so that back-to-back transfers never count as overlapping. */
static int compare_points(const void *a, const void *b, void *context) {
    const point_list *points = context;
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    double x_s = time_of(points, x);
    double y_s = time_of(points, y);
    if (x_s != y_s) {
        return x_s < y_s ? -1 : 1;
    }
    return (x > y) - (x < y);
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
            a->replay->timeline.link_busy_s[crossing->link] +=
                ms_steady_length_s(&a->replay->timeline.steady, state->busy_since_s, record->end_s);
        }
        state->share -=
            rate_Bps * crossing->weight / dag->network.links[crossing->link].capacity_Bps;
    }
}

static void count_bytes(accounting *a) {
    const ms_dag *dag = a->replay->dag;
    for (int64_t i = 0; i < a->replay->account.count; i++) {
        const ms_flow_record *record = &a->replay->account.records[i];
        int32_t f = record->flow;
        double times = ms_steady_count(&a->replay->timeline.steady, record->start_s);
        for (int32_t c = a->first[f]; c < a->first[f + 1]; c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[a->crossings[c]];
            a->replay->timeline.link_bytes[crossing->link] +=
                times * ms_dag_flow_payload_B(&dag->network.flows[f]) * crossing->weight;
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

static size_t stretch_of(const point_list *points, double time_s) {
    size_t stretch = (size_t)(time_s / points->makespan_s * (double)points->stretches);
    return stretch < points->stretches ? stretch : points->stretches - 1;
}

/* One that takes no time uses nothing for long. */
static bool takes_time(const ms_flow_record *record) {
    return record->end_s > record->start_s;
}

/* Put every point into its stretch; end[i] is where stretch i begins, and then where it ends. */
static void spread_points(point_list *points, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (takes_time(&points->records[i])) {
            points->end[stretch_of(points, points->records[i].start_s) + 1]++;
            points->end[stretch_of(points, points->records[i].end_s) + 1]++;
        }
    }
    for (size_t i = 0; i < points->stretches; i++) {
        points->end[i + 1] += points->end[i];
    }
    for (int32_t i = 0; i < count; i++) {
        if (takes_time(&points->records[i])) {
            points->sorted[points->end[stretch_of(points, points->records[i].start_s)]++] = i;
            points->sorted[points->end[stretch_of(points, points->records[i].end_s)]++] = ~i;
        }
    }
}

/* A few points, most of them in order already. */
static void insert_points(point_list *points, int32_t first, int32_t end) {
    for (int32_t i = first + 1; i < end; i++) {
        int32_t point = points->sorted[i];
        int32_t place = i;
        while (place > first && compare_points(&points->sorted[place - 1], &point, points) > 0) {
            points->sorted[place] = points->sorted[place - 1];
            place--;
        }
        points->sorted[place] = point;
    }
}

/* Sort beginnings and ends, spread over short stretches of time first: the transfers of a run are
 * spread over it, and a few points at a time are sorted several times as fast as all of them.
 * *count_out: how many there are.  Returns MS_OK; MS_E_NOMEM. */
static ms_status sort_points(point_list *points, int32_t count, ms_arena *scratch,
                             int32_t *count_out) {
    points->stretches = (size_t)count * 2 / STRETCH_POINTS + 1;
    points->end = MS_NEW(scratch, int32_t, points->stretches + 1);
    points->sorted = MS_NEW(scratch, int32_t, 2 * (size_t)count);
    if (points->end == NULL || points->sorted == NULL) {
        return MS_E_NOMEM;
    }
    spread_points(points, count);
    int32_t first = 0;
    for (size_t i = 0; i < points->stretches; first = points->end[i++]) {
        int32_t few = points->end[i] - first;
        if (few <= INSERTED_POINTS) {
            insert_points(points, first, points->end[i]);
        } else {
            qsort_r(points->sorted + first, (size_t)few, sizeof *points->sorted, compare_points,
                    points);
        }
    }
    *count_out = first;
    return MS_OK;
}

ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    const ms_account *account = &replay->account;
    accounting a = {.replay = replay};
    point_list points = {.records = account->records, .makespan_s = replay->timeline.makespan_s};
    int32_t count = 0;
    if (account->count > INT32_MAX / 2 || !find_alike(&a, scratch) ||
        sort_points(&points, (int32_t)account->count, scratch, &count) != MS_OK) {
        return ms_engine_no_memory(diag);
    }
    count_bytes(&a);
    for (int32_t i = 0; i < count; i++) {
        int32_t record = points.sorted[i];
        if (record >= 0) {
            begin_transfer(&a, &account->records[record]);
        } else {
            end_transfer(&a, &account->records[~record]);
        }
    }
    copy_to_alike(&a);
    return MS_OK;
}
