/* When the hosts of the ranks have launched an operation (host.h, host.md). A host launches the
 * operations of its rank one after the other, and waits for its GPU before each synchronising
 * operation. The time from a wait to each launch is laid out before the run as a prefix sum; the
 * ends of waits become known during the run. */
#include "simulate/engine/host.h"

#include <math.h>

/* The clock of one rank's host while launches are laid out. */
typedef struct host_clock {
    double after_s; /* launch time since its last wait, or since the start of the run [s] */
    int32_t wait;   /* its last wait, index into ms_host.waits, -1: none so far */
} host_clock;

static const ms_dag_work *work_of(const ms_dag *dag, int32_t op) {
    return &dag->works[dag->ops[op].work];
}

/* Whether launching any work of the graph takes time. */
static bool takes_time(const ms_dag *dag) {
    bool takes_any = false;
    for (int32_t i = 0; i < dag->work_count; i++) {
        takes_any = takes_any || dag->works[i].host_s > 0.0;
    }
    return takes_any;
}

/* Number of waits of all hosts: one for each member of a synchronising operation. */
static int32_t count_waits(const ms_dag *dag) {
    int32_t count = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        if (work_of(dag, op)->is_synchronising) {
            count += dag->member_first[op + 1] - dag->member_first[op];
        }
    }
    return count;
}

/* Set the launch of every member, and the waits of its host before synchronising operations: each
 * host launches its rank's operations in the order of the graph.  clocks: [rank_count] at the start
 * of the run. */
static void lay_out(ms_host *host, host_clock *clocks) {
    const ms_dag *dag = host->dag;
    int32_t waits = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        const ms_dag_work *work = work_of(dag, op);
        for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
            host_clock *clock = &clocks[dag->streams[dag->member_stream[j]].rank];
            if (work->is_synchronising) {
                host->waits[waits] = (ms_host_wait){
                    .after_s = clock->after_s, .end_s = -1.0, .earlier = clock->wait};
                *clock = (host_clock){.wait = waits++};
            }
            clock->after_s += work->host_s;
            host->launches[j] = (ms_host_launch){.after_s = clock->after_s, .wait = clock->wait};
        }
    }
}

/* If launches take no time, the host has no lists and delays nothing. */
ms_status ms_host_init(ms_host *host, const ms_dag *dag, ms_arena *scratch) {
    *host = (ms_host){.dag = dag};
    if (!takes_time(dag)) {
        return MS_OK;
    }
    host->launches = MS_NEW(scratch, ms_host_launch, dag->member_count);
    host->waits = MS_NEW(scratch, ms_host_wait, count_waits(dag));
    host_clock *clocks = MS_NEW(scratch, host_clock, dag->rank_count);
    if (host->launches == NULL || host->waits == NULL || clocks == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t r = 0; r < dag->rank_count; r++) {
        clocks[r].wait = -1;
    }
    lay_out(host, clocks);
    return MS_OK;
}

/* Whether the end of a wait is not known yet; false for -1, the start of the run. */
static bool is_wait_ahead(const ms_host *host, int32_t wait) {
    return wait >= 0 && host->waits[wait].end_s < 0.0;
}

/* When a host goes on after a wait [s]; -1: the start of the run. If the end of the wait is not
 * known yet, the operation in question does not depend on it. The host is then taken not to have
 * been held up at that wait: it arrives there after_s after the wait before it. */
static double end_of_wait_s(const ms_host *host, int32_t wait) {
    double after_s = 0.0;
    while (is_wait_ahead(host, wait)) {
        after_s += host->waits[wait].after_s;
        wait = host->waits[wait].earlier;
    }
    return wait < 0 ? after_s : host->waits[wait].end_s + after_s;
}

/* Set the ends of the waits of all members' hosts before synchronising operation `op`, everything
 * that it waits for having ended at `ready_s`. A host that arrives later goes on at its arrival. */
static void end_waits(ms_host *host, int32_t op, double ready_s) {
    const ms_dag *dag = host->dag;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        ms_host_wait *wait = &host->waits[host->launches[j].wait];
        wait->end_s = fmax(ready_s, end_of_wait_s(host, wait->earlier) + wait->after_s);
    }
}

double ms_host_launched_s(const ms_host *host, int32_t member) {
    const ms_host_launch *launch = &host->launches[member];
    return end_of_wait_s(host, launch->wait) + launch->after_s;
}

double ms_host_earliest_s(const ms_host *host, int32_t op, double launched_s) {
    const ms_dag_work *work = work_of(host->dag, op);
    const ms_fused_pass *fused = ms_fused_pass_of(host->dag, work);
    double behind_s = fused == NULL ? 0.0 : fused->host_s; /* least time from launch to end */
    return launched_s + behind_s - work->time_s;
}

/* The start is the later of `ready_s` and the time that the slowest launch of the members allows.
 * If the end of the host's last wait before a launch is not known yet, the launch is not known
 * exactly; has_passed_wait records this. */
double ms_host_start_s(ms_host *host, int32_t op, double ready_s) {
    const ms_dag *dag = host->dag;
    const ms_dag_work *work = work_of(dag, op);
    if (work->is_synchronising) {
        end_waits(host, op, ready_s);
    }
    if (work->host_s <= 0.0) { /* it has no launch that could delay it */
        return ready_s;
    }
    double launched_s = 0.0;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        launched_s = fmax(launched_s, ms_host_launched_s(host, j));
        host->has_passed_wait =
            host->has_passed_wait || is_wait_ahead(host, host->launches[j].wait);
    }
    return fmax(ready_s, ms_host_earliest_s(host, op, launched_s));
}
