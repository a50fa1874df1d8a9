/* What the links carried, how long they were busy, and the largest share of their capacity that was
 * in use. */
#include "simulate/engine/no_memory.h"
#include "simulate/engine/replay.h"

#include <math.h>
#include <stdlib.h>

/* State of one link while the transfers are swept in time order. */
typedef struct link_state {
    double busy_since_s;
    double share;  /* of the capacity that is in use now */
    int32_t flows; /* that use it now */
} link_state;

/* The start or the end of a transfer. */
typedef struct transfer_point {
    double time_s;
    int32_t record; /* the start of this record, or the end of record ~record */
} transfer_point;

/* By time; ends before starts, so that back-to-back transfers never count as overlapping. */
static int by_time(const void *a, const void *b) {
    const transfer_point *x = a;
    const transfer_point *y = b;
    if (x->time_s != y->time_s) {
        return x->time_s < y->time_s ? -1 : 1;
    }
    return (x->record > y->record) - (x->record < y->record);
}

typedef struct accounting {
    ms_replay *replay;
    link_state *states; /* [links] */
} accounting;

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

/* List the starts and ends of the transfers that take time, in order.  *count_out: how many there
 * are.  Returns NULL where memory runs out. */
static transfer_point *sort_points(const ms_account *account, ms_arena *scratch,
                                   size_t *count_out) {
    transfer_point *points = MS_NEW(scratch, transfer_point, 2 * account->count);
    size_t count = 0;
    for (int32_t i = 0; i < account->count && points != NULL; i++) {
        const ms_flow_record *record = &account->records[i];
        if (record->end_s > record->start_s) {
            points[count++] = (transfer_point){record->start_s, i};
            points[count++] = (transfer_point){record->end_s, ~i};
        }
    }
    if (count > 0) {
        qsort(points, count, sizeof *points, by_time);
    }
    *count_out = count;
    return points;
}

ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    const ms_account *account = &replay->account;
    accounting a = {.replay = replay,
                    .states = MS_NEW(scratch, link_state, replay->dag->network.link_count)};
    size_t count = 0;
    const transfer_point *points =
        account->count < INT32_MAX ? sort_points(account, scratch, &count) : NULL;
    if (points == NULL || a.states == NULL) {
        return ms_engine_no_memory(diag);
    }
    count_bytes(&a);
    for (size_t i = 0; i < count; i++) {
        int32_t record = points[i].record;
        if (record >= 0) {
            begin_transfer(&a, &account->records[record]);
        } else {
            end_transfer(&a, &account->records[~record]);
        }
    }
    return MS_OK;
}
