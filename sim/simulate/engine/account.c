/* Accounts for the links after a run: bytes carried, time busy and peak utilisation of each link,
 * from the records of all transfers. The starts and ends of transfers are sorted by time and swept
 * once, while a state of each link counts the transfers on it. */
#include "simulate/engine/replay.h"

#include <math.h>
#include <stdlib.h>

enum {
    SLICE_POINTS = 4,    /* points in a slice of time, on average */
    INSERTED_POINTS = 16 /* points of a slice that an insertion sort takes at most */
};

/* State of one link during the sweep. */
typedef struct link_state {
    double busy_since_s; /* when the first of the current transfers started */
    double share;        /* share of the capacity in use now */
    int32_t flows;       /* number of transfers that use it now */
} link_state;

/* A point is the start or end of a transfer: point r is the start of record r, point ~r its end. */
typedef struct point_list {
    const ms_flow_record *records;
    double makespan_s;
    int32_t *sorted; /* [2 * records] points */
    int32_t *end;    /* [slices + 1] index in `sorted` behind the points of each slice of time */
    size_t slices;   /* number of slices of equal length that the run is divided into */
} point_list;

static inline double time_of(const point_list *points, int32_t point) {
    return point >= 0 ? points->records[point].start_s : points->records[~point].end_s;
}

/* Order of points for qsort_r: by time. Points at one time are in the order of their numbers, so
 * ends (negative) come before starts, and back-to-back transfers never count as overlapping. */
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

/* The state of the sweep. */
typedef struct accounting {
    ms_replay *replay;
    link_state *states; /* [links] */
} accounting;

/* Enter a transfer on each link that it crosses, at its mean rate, and update the peak of these
 * links. The share is set to 0 on a link without transfers, so that rounding errors do not add
 * up. */
static void begin_transfer(accounting *a, const ms_flow_record *record) {
    const ms_dag *dag = a->replay->dag;
    const ms_dag_flow *flow = &dag->network.flows[record->flow];
    double rate_Bps = flow->bytes / (record->end_s - record->start_s);
    for (int32_t c = 0; c < flow->crossing_count; c++) {
        const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
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

/* Remove a transfer from each link that it crosses. A link that is left without transfers has been
 * busy since busy_since_s; within a repeated period, that time counts once per repetition. */
static void end_transfer(accounting *a, const ms_flow_record *record) {
    const ms_dag *dag = a->replay->dag;
    const ms_dag_flow *flow = &dag->network.flows[record->flow];
    double rate_Bps = flow->bytes / (record->end_s - record->start_s);
    for (int32_t c = 0; c < flow->crossing_count; c++) {
        const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
        link_state *state = &a->states[crossing->link];
        if (--state->flows == 0) {
            a->replay->timeline.link_busy_s[crossing->link] +=
                ms_steady_length_s(&a->replay->timeline.steady, state->busy_since_s, record->end_s);
        }
        state->share -=
            rate_Bps * crossing->weight / dag->network.links[crossing->link].capacity_Bps;
    }
}

/* Sum up the bytes that each link carries. A transfer of a repeated period counts once per
 * repetition. */
static void count_bytes(accounting *a) {
    const ms_dag *dag = a->replay->dag;
    for (int64_t i = 0; i < a->replay->account.count; i++) {
        const ms_flow_record *record = &a->replay->account.records[i];
        const ms_dag_flow *flow = &dag->network.flows[record->flow];
        double times = ms_steady_count(&a->replay->timeline.steady, record->start_s);
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
            a->replay->timeline.link_bytes[crossing->link] +=
                times * ms_dag_flow_payload_B(flow) * crossing->weight;
        }
    }
}

/* The slice of time that an instant lies in; the end of the run belongs to the last slice. */
static size_t slice_of(const point_list *points, double time_s) {
    size_t slice = (size_t)(time_s / points->makespan_s * (double)points->slices);
    return slice < points->slices ? slice : points->slices - 1;
}

/* Whether a transfer takes time. A transfer that takes none has no rate and is left out of the
 * sweep. */
static bool takes_time(const ms_flow_record *record) {
    return record->end_s > record->start_s;
}

/* Put every point into its slice (counting sort). At first end[i] is the index at which slice i
 * begins; as points are stored it moves on to the index at which the slice ends. */
static void spread_points(point_list *points, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (takes_time(&points->records[i])) {
            points->end[slice_of(points, points->records[i].start_s) + 1]++;
            points->end[slice_of(points, points->records[i].end_s) + 1]++;
        }
    }
    for (size_t i = 0; i < points->slices; i++) {
        points->end[i + 1] += points->end[i];
    }
    for (int32_t i = 0; i < count; i++) {
        if (takes_time(&points->records[i])) {
            points->sorted[points->end[slice_of(points, points->records[i].start_s)]++] = i;
            points->sorted[points->end[slice_of(points, points->records[i].end_s)]++] = ~i;
        }
    }
}

/* Sort the points from index `first` to before `end` by insertion: they are few, and most of them
 * are in order already. */
static void insert_points(point_list *points, int32_t first, int32_t end) {
    for (int32_t i = first + 1; i < end; i++) {
        int32_t point = points->sorted[i];
        int32_t to = i;
        while (to > first && compare_points(&points->sorted[to - 1], &point, points) > 0) {
            points->sorted[to] = points->sorted[to - 1];
            to--;
        }
        points->sorted[to] = point;
    }
}

/* Sort the starts and ends of `count` records by time. The transfers of a run are spread over its
 * time, so the points are divided into short slices of time first: to sort slices of a few points
 * is several times as fast as to sort all points together.  *count_out: number of points, two for
 * each transfer that takes time.  Returns MS_OK; MS_E_NOMEM. */
static ms_status sort_points(point_list *points, int32_t count, ms_arena *scratch,
                             int32_t *count_out) {
    points->slices = (size_t)count * 2 / SLICE_POINTS + 1;
    points->end = MS_NEW(scratch, int32_t, points->slices + 1);
    points->sorted = MS_NEW(scratch, int32_t, 2 * (size_t)count);
    if (points->end == NULL || points->sorted == NULL) {
        return MS_E_NOMEM;
    }
    spread_points(points, count);
    int32_t first = 0;
    for (size_t i = 0; i < points->slices; first = points->end[i++]) {
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

/* A sweep over the starts and ends of all transfers, in the order of time. A start is the number of
 * its record, an end the bitwise complement (~) of the number. */
ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    const ms_account *account = &replay->account;
    accounting a = {.replay = replay,
                    .states = MS_NEW(scratch, link_state, replay->dag->network.link_count)};
    point_list points = {.records = account->records, .makespan_s = replay->timeline.makespan_s};
    int32_t count = 0;
    /* twice as many points as records have to fit into an int32_t */
    if (account->count > INT32_MAX / 2 || a.states == NULL ||
        sort_points(&points, (int32_t)account->count, scratch, &count) != MS_OK) {
        return ms_engine_no_memory(diag);
    }
    count_bytes(&a);
    for (int32_t i = 0; i < count; i++) { /* the sweep */
        int32_t record = points.sorted[i];
        if (record >= 0) {
            begin_transfer(&a, &account->records[record]);
        } else {
            end_transfer(&a, &account->records[~record]);
        }
    }
    return MS_OK;
}
