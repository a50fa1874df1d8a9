/* See simgrid_all.h. The replay (sim/simulate/engine/replay.h) keeps count of what waits for what;
 * every operation is handed to this engine. */
#include "simgrid_all.h"

#include <math.h>
#include <string.h>

#include "activities.h"
#include "simulate/engine/replay.h"
#include "simulate/engine/simgrid_start.h"

/* An operation under way. */
typedef struct op_progress {
    int32_t phase; /* communication: index into ms_dag_network.phases */
    int32_t left;  /* of its phase, what has not ended: flows, then the latency */
    bool is_late;  /* the latency of the phase passes */
    bool is_ready; /* it starts at a known date that lies ahead */
} op_progress;

/* Routes over all links: a link of weight k stands k times, common factors of a link's weights
 * taken out. */
typedef struct routes {
    double scale;       /* payload units per byte, a power of two, as payloads are whole numbers */
    double *bandwidths; /* [link_count] payload units per second */
    int32_t *divisor;   /* [link_count] greatest common divisor of the weights */
    int32_t *first;     /* [flow_count + 1] */
    int32_t *links;     /* of flow i: links[first[i]] .. */
} routes;

typedef struct whole_run {
    ms_replay *replay;
    routes routes;
    op_progress *steps; /* [op_count] */
    int32_t
        *on_stream; /* [stream_count] computation under way whose first member it is, -1: none */
    int32_t *live;  /* [rank_count][MS_COLL_COUNT] communications that run on the rank */
} whole_run;

static const ms_dag_work *work_of(const whole_run *run, int32_t op) {
    return &run->replay->dag->works[run->replay->dag->ops[op].work];
}

/* ---- routes ---- */

static int32_t gcd(int32_t a, int32_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

/* Payloads as large as a double holds exactly, in nanobytes at least. */
static double choose_scale(const ms_dag_network *network) {
    double bytes_max = 1.0;
    for (int32_t i = 0; i < network->flow_count; i++) {
        bytes_max = fmax(bytes_max, network->flows[i].bytes);
    }
    return ldexp(1.0, (int)fmin(30.0, 51.0 - floor(log2(bytes_max))));
}

/* Write the routes, or only count their links if `links` is NULL; returns how many. */
static int32_t write_routes(const ms_dag_network *network, routes *r) {
    int32_t count = 0;
    for (int32_t i = 0; i < network->flow_count; i++) {
        const ms_dag_flow *flow = &network->flows[i];
        r->first[i] = count;
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &network->crossings[flow->crossing_first + c];
            int32_t times = crossing->weight / r->divisor[crossing->link];
            for (int32_t k = 0; k < times && r->links != NULL; k++) {
                r->links[count + k] = crossing->link;
            }
            count += times;
        }
    }
    r->first[network->flow_count] = count;
    return count;
}

static bool init_routes(routes *r, const ms_dag_network *network, ms_arena *scratch) {
    r->scale = choose_scale(network);
    r->bandwidths = MS_NEW(scratch, double, network->link_count);
    r->divisor = MS_NEW(scratch, int32_t, network->link_count);
    r->first = MS_NEW(scratch, int32_t, (size_t)network->flow_count + 1);
    if (r->bandwidths == NULL || r->divisor == NULL || r->first == NULL) {
        return false;
    }
    for (int32_t c = 0; c < network->crossing_count; c++) {
        const ms_dag_crossing *crossing = &network->crossings[c];
        r->divisor[crossing->link] = gcd(crossing->weight, r->divisor[crossing->link]);
    }
    for (int32_t i = 0; i < network->link_count; i++) {
        r->bandwidths[i] = network->links[i].capacity_Bps / fmax(1.0, r->divisor[i]) * r->scale;
    }
    r->links = MS_NEW(scratch, int32_t, write_routes(network, r));
    if (r->links == NULL) {
        return false;
    }
    write_routes(network, r);
    return true;
}

/* ---- the run ---- */

static int32_t first_stream(const ms_dag *dag, int32_t op) {
    return dag->member_stream[dag->member_first[op]];
}

/* The kind of communication that slows a computation down most now; its speed has that number. */
static int32_t slowest_kind(const whole_run *run, int32_t op) {
    const ms_dag *dag = run->replay->dag;
    int32_t slowest = MS_COLL_NONE;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        int32_t rank = dag->streams[dag->member_stream[j]].rank;
        for (int32_t kind = 0; kind < MS_COLL_COUNT; kind++) {
            bool is_slower =
                dag->network.compute_slowdown[kind] > dag->network.compute_slowdown[slowest];
            slowest = run->live[rank * MS_COLL_COUNT + kind] > 0 && is_slower ? kind : slowest;
        }
    }
    return slowest;
}

/* The communications on some ranks have changed: so may have the speed of every computation. */
static void set_speeds(whole_run *run) {
    for (int32_t i = 0; i < run->replay->dag->stream_count; i++) {
        if (run->on_stream[i] >= 0) {
            activities_set_speed(i, slowest_kind(run, run->on_stream[i]));
        }
    }
}

static void communicate(whole_run *run, int32_t op, int32_t change) {
    const ms_dag *dag = run->replay->dag;
    int32_t kind = work_of(run, op)->coll;
    if (dag->network.compute_slowdown[kind] == 1.0) {
        return;
    }
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        const ms_dag_stream *stream = &dag->streams[dag->member_stream[j]];
        run->live[stream->rank * MS_COLL_COUNT + kind] += change;
        if (stream->peer >= 0 && stream->peer != stream->rank) {
            run->live[stream->peer * MS_COLL_COUNT + kind] += change;
        }
    }
    set_speeds(run);
}

static void start_flow(whole_run *run, int32_t op, int32_t flow) {
    const routes *r = &run->routes;
    const ms_dag_flow *of = &run->replay->dag->network.flows[flow];
    ms_timeline *timeline = &run->replay->timeline;
    ms_account *account = &run->replay->account;
    double now_s = activities_clock_s();
    int32_t links = r->first[flow + 1] - r->first[flow];
    int32_t record = (int32_t)account->count;
    uint64_t payload = (uint64_t)llround(of->bytes * r->scale);
    if (of->crossing_count == 0) {
        return;
    }
    account->records[account->count++] =
        (ms_flow_record){.start_s = now_s, .end_s = now_s, .flow = flow, .owner = op};
    if (links > 0 && payload > 0) {
        activities_flow(payload, &r->links[r->first[flow]], links, record);
        timeline->flows++;
        run->steps[op].left++;
    }
}

/* The communication is over: what it slowed down goes on at full speed. */
static void end_communication(whole_run *run, int32_t op) {
    communicate(run, op, -1);
    if (!work_of(run, op)->is_pipelined) {
        ms_replay_settle(run->replay, op, activities_clock_s(), activities_clock_s());
    }
}

/* Go on with a communication until it has to wait for SimGrid or is over. */
static void advance(whole_run *run, int32_t op) {
    const ms_dag_work *work = work_of(run, op);
    op_progress *at = &run->steps[op];
    int32_t end = work->phase_first + work->phase_count;
    while (at->left == 0 && at->phase < end) {
        const ms_dag_phase *phase = &run->replay->dag->network.phases[at->phase];
        if (!at->is_late) {
            for (int32_t i = 0; i < phase->flow_count; i++) {
                start_flow(run, op, phase->flow_first + i);
            }
            at->is_late = true; /* next, once the flows have ended */
            continue;
        }
        at->is_late = false;
        double now_s = activities_clock_s();
        if (++at->phase == end && work->is_pipelined) {
            ms_replay_settle(run->replay, op, now_s, now_s + phase->latency_s);
        }
        if (phase->latency_s > 0.0) {
            activities_timer(now_s + phase->latency_s, op);
            run->replay->timeline.timers++;
            at->left = 1;
        }
    }
    if (at->left == 0) {
        end_communication(run, op);
    }
}

static void end_computation(whole_run *run, int32_t op) {
    run->on_stream[first_stream(run->replay->dag, op)] = -1;
    ms_replay_settle(run->replay, op, activities_clock_s(), activities_clock_s());
}

static void begin_computation(whole_run *run, int32_t op) {
    double time_s = work_of(run, op)->time_s;
    int32_t host = first_stream(run->replay->dag, op);
    run->on_stream[host] = op;
    run->replay->timeline.timers++;
    if (time_s > 0.0) {
        activities_set_speed(host, slowest_kind(run, op));
        activities_compute(time_s, host, op);
    } else {
        end_computation(run, op);
    }
}

/* Begin an operation that is launched. */
static void begin_launched(whole_run *run, int32_t op) {
    const ms_dag_work *work = work_of(run, op);
    if (work->is_communication) {
        run->steps[op].phase = work->phase_first;
        communicate(run, op, 1);
        advance(run, op);
    } else {
        begin_computation(run, op);
    }
}

static void begin(void *context, ms_event start) {
    whole_run *run = context;
    if (start.time_s > activities_clock_s()) { /* its host launches it then, or a message arrives */
        run->steps[start.op].is_ready = true;
        activities_timer(start.time_s, start.op);
    } else {
        begin_launched(run, start.op);
    }
}

static void on_computed(void *context, int32_t op) {
    whole_run *run = context;
    end_computation(run, op);
    ms_replay_drain(run->replay);
}

/* A latency of an operation has passed, or the date of its start has come. */
static void on_timer(void *context, int32_t op) {
    whole_run *run = context;
    if (run->steps[op].is_ready) {
        run->steps[op].is_ready = false;
        begin_launched(run, op);
    } else {
        run->steps[op].left--;
        advance(run, op);
    }
    ms_replay_drain(run->replay);
}

static void on_flow(void *context, int32_t index) {
    whole_run *run = context;
    ms_flow_record *record = &run->replay->account.records[index];
    record->end_s = activities_clock_s();
    on_timer(run, record->owner);
}

static bool init_run(whole_run *run, bool **is_ours, ms_arena *scratch) {
    const ms_dag *dag = run->replay->dag;
    run->steps = MS_NEW(scratch, op_progress, dag->op_count);
    run->on_stream = MS_NEW(scratch, int32_t, dag->stream_count);
    run->live = MS_NEW(scratch, int32_t, (size_t)dag->rank_count * MS_COLL_COUNT);
    *is_ours = MS_NEW(scratch, bool, dag->work_count);
    if (run->steps == NULL || run->on_stream == NULL || run->live == NULL || *is_ours == NULL) {
        return false;
    }
    for (int32_t i = 0; i < dag->stream_count; i++) {
        run->on_stream[i] = -1;
    }
    memset(*is_ours, true, (size_t)dag->work_count * sizeof(bool));
    return init_routes(&run->routes, &dag->network, scratch);
}

/* Let SimGrid run the graph of a prepared replay. */
static ms_status run_graph(ms_replay *replay, ms_arena *scratch) {
    const ms_dag *dag = replay->dag;
    whole_run run = {.replay = replay};
    bool *is_ours = NULL;
    double speeds[MS_COLL_COUNT];
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        speeds[kind] = 1.0 / dag->network.compute_slowdown[kind];
    }
    activities_setup setup = {.link_count = dag->network.link_count,
                              .host_count = dag->stream_count,
                              .speeds = speeds,
                              .speed_count = MS_COLL_COUNT,
                              .context = &run,
                              .on_timer = on_timer,
                              .on_flow = on_flow,
                              .on_computed = on_computed};
    if (!init_run(&run, &is_ours, scratch) ||
        ms_simgrid_choose_precision(replay, scratch, &setup.precision_s) != MS_OK) {
        return MS_E_NOMEM;
    }
    setup.link_bandwidths = run.routes.bandwidths;
    replay->is_contended = is_ours;
    replay->begin = begin;
    replay->context = &run;
    replay->has_slowdown = false; /* that is SimGrid's matter as well */
    replay->timeline.has_shared = true;
    activities_start(&setup);
    ms_replay_start(replay);
    ms_replay_drain(replay);
    activities_run();
    return MS_OK;
}

ms_status simgrid_all_run(const ms_dag *dag, ms_arena *arena, ms_diag *diag,
                          ms_timeline *timeline_out) {
    ms_arena scratch;
    ms_replay replay;
    ms_arena_init(&scratch);
    ms_status status = ms_replay_init(&replay, dag, MS_FIDELITY_FLOW, &scratch, arena, diag);
    status = status == MS_OK ? run_graph(&replay, &scratch) : status;
    status = status == MS_OK ? ms_replay_check_done(&replay, &scratch, diag) : status;
    if (status == MS_OK) {
        ms_replay_write_starts(&replay);
        status = ms_account_links(&replay, &scratch, diag);
        *timeline_out = replay.timeline;
    }
    ms_replay_release(&replay);
    ms_arena_release(&scratch);
    return status;
}
