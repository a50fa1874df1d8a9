/* Computes the maximum load on each link (demand.h): a stream runs one phase at a time, so it loads
 * a link with at most the largest load of any of its phases; the maximum of the link is the sum
 * over all streams. */
#include "simulate/engine/demand.h"

#include <math.h>
#include <stdlib.h>

/* A work on a stream: some operation of this work runs on this stream. */
typedef struct stream_work {
    int32_t stream;
    int32_t work;
} stream_work;

/* Working state, one entry per link. Phases and streams are numbered from 1; 0: none yet. Works are
 * visited stream by stream, and phase by phase within a work. A link whose `stream` or `phase`
 * differs from the current one so has to begin a new sum. */
typedef struct link_demand {
    double total_Bps;  /* sum over the streams so far of the maximum load by one of their phases */
    double stream_Bps; /* maximum load by a phase of the current stream so far */
    double phase_Bps;  /* load by the current phase so far */
    int64_t phase;     /* the last phase that used the link */
    int32_t stream;    /* the last stream that used the link, plus 1 */
} link_demand;

/* Order of works for qsort: by stream, then by work. */
static int compare_stream_works(const void *a, const void *b) {
    const stream_work *x = a;
    const stream_work *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return (x->work > y->work) - (x->work < y->work);
}

/* List the works of communications, each with its stream, in `works`, or only count them if that is
 * NULL. An operation of several streams counts at the lowest. A work that runs on one stream
 * several times in a row is listed once; other repeats remain.  last_stream: [work_count] scratch.
 * Returns their number. */
static int64_t list_stream_works(const ms_dag *dag, int32_t *last_stream, stream_work *works) {
    int64_t count = 0;
    for (int32_t i = 0; i < dag->work_count; i++) {
        last_stream[i] = -1;
    }
    for (int32_t op = 0; op < dag->op_count; op++) {
        int32_t work = dag->ops[op].work;
        if (!dag->works[work].is_communication) {
            continue;
        }
        int32_t stream = ms_op_lowest_stream(dag, op);
        if (stream != last_stream[work]) {
            last_stream[work] = stream;
            if (works != NULL) {
                works[count] = (stream_work){.stream = stream, .work = work};
            }
            count++;
        }
    }
    return count;
}

/* Add the load of one flow of a phase to a link, and raise the stream's maximum and the total with
 * it. The flows of a stream are added without those of others in between, and so are the flows of a
 * phase. phase: number of the phase, from 1 on; the same phase has another number on each stream.
 * rate_Bps: maximum rate of the flow times its weight on the link. */
static void add_demand(link_demand *link, int64_t phase, int32_t stream, double rate_Bps,
                       double capacity_Bps) {
    if (link->stream != stream + 1) {
        link->stream = stream + 1;
        link->stream_Bps = 0.0;
    }
    if (link->phase != phase) {
        link->phase = phase;
        link->phase_Bps = 0.0;
    }
    /* flows of a phase share the link: together they take no more than it has */
    link->phase_Bps = fmin(link->phase_Bps + rate_Bps, capacity_Bps);
    if (link->phase_Bps > link->stream_Bps) {
        link->total_Bps += link->phase_Bps - link->stream_Bps;
        link->stream_Bps = link->phase_Bps;
    }
}

/* Add the loads of all phases of an entry, a work on a stream, to their links. *phase_number: the
 * number of the last phase that was added, counted up here. */
static void add_stream_work(const ms_dag *dag, const double *flow_Bps, const stream_work *entry,
                            int64_t *phase_number, link_demand *links) {
    const ms_dag_work *work = &dag->works[entry->work];
    for (int32_t p = work->phase_first; p < work->phase_first + work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[p];
        ++*phase_number;
        for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
            const ms_dag_flow *flow = &dag->network.flows[i];
            for (int32_t c = 0; c < flow->crossing_count && flow_Bps[i] > 0.0; c++) {
                const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
                add_demand(&links[crossing->link], *phase_number, entry->stream,
                           flow_Bps[i] * crossing->weight,
                           dag->network.links[crossing->link].capacity_Bps);
            }
        }
    }
}

/* Each work counts once for each stream that it runs on. A link can bind if the sum of the streams'
 * largest loads exceeds its capacity. */
ms_status ms_demand_find_binding(const ms_dag *dag, const double *flow_Bps, ms_arena *scratch,
                                 bool *can_bind_out) {
    int32_t *last_stream = MS_NEW(scratch, int32_t, dag->work_count);
    link_demand *links = MS_NEW(scratch, link_demand, dag->network.link_count);
    if (last_stream == NULL || links == NULL) {
        return MS_E_NOMEM;
    }
    size_t count = (size_t)list_stream_works(dag, last_stream, NULL);
    stream_work *works = MS_NEW(scratch, stream_work, count);
    if (works == NULL) {
        return MS_E_NOMEM;
    }
    list_stream_works(dag, last_stream, works);
    /* stream by stream, as add_demand needs it, with repeated works side by side */
    qsort(works, count, sizeof *works, compare_stream_works);
    int64_t phase_number = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_stream_works(&works[i - 1], &works[i]) != 0) {
            add_stream_work(dag, flow_Bps, &works[i], &phase_number, links);
        }
    }
    for (int32_t i = 0; i < dag->network.link_count; i++) {
        can_bind_out[i] =
            links[i].total_Bps > dag->network.links[i].capacity_Bps * (1.0 + MS_LINK_EXCESS);
    }
    return MS_OK;
}
