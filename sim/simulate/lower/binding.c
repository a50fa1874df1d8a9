/* Finds the links that can hold flows back, before ranks are folded: the maximum load that all
 * groups of all communications can put on each link at once, derived in
 * simulate/engine/contention.h. A stream runs one phase at a time, so it counts with its largest
 * phase. (engine/demand.c does the same for a finished graph.) */
#include <math.h>

#include "base/number.h"
#include "simulate/lower/refine.h"

/* The load on a link. Phases and streams are numbered from 1; 0: none yet. Sums of the current
 * phase and stream begin anew when `phase` or `stream` of the link is an older one. */
typedef struct link_need {
    double capacity_Bps;
    double total_Bps;  /* sum over the streams so far of the largest load by one of their phases */
    double stream_Bps; /* largest load by a phase of the current stream so far */
    double phase_Bps;  /* load by the current phase so far */
    double total_weight, stream_weight, phase_weight; /* the same, counted in crossings */
    int64_t phase;                                    /* the last phase that used the link */
    int64_t stream;                                   /* the last stream that used the link */
    bool is_short; /* the flows of one phase alone exceed the capacity */
} link_need;

/* The state of the search. */
typedef struct demand_finder {
    const ms_platform *platform;
    link_need *links; /* [platform links] */
    int64_t phase;    /* number of the current phase */
    int64_t stream;   /* number of the current stream */
} demand_finder;

/* Add the load of one crossing by a flow of the current phase, of rate `rate_Bps` [B/s], to its
 * link, and raise the maximum of the stream and the total with it. A phase loads a link with at
 * most its capacity. */
static void add_crossing_load(demand_finder *finder, const ms_flow_link *crossing,
                              double rate_Bps) {
    link_need *link = &finder->links[crossing->link];
    if (link->stream != finder->stream) {
        link->stream = finder->stream;
        link->stream_Bps = link->stream_weight = 0.0;
    }
    if (link->phase != finder->phase) {
        link->phase = finder->phase;
        link->phase_Bps = link->phase_weight = 0.0;
    }
    double asked_Bps = link->phase_Bps + rate_Bps * crossing->weight;
    link->is_short = link->is_short || asked_Bps > link->capacity_Bps * (1.0 + MS_LINK_EXCESS);
    link->phase_Bps = ms_min(asked_Bps, link->capacity_Bps);
    link->phase_weight += crossing->weight;
    link->total_weight += ms_max(0.0, link->phase_weight - link->stream_weight);
    link->stream_weight = ms_max(link->stream_weight, link->phase_weight);
    if (link->phase_Bps > link->stream_Bps) {
        link->total_Bps += link->phase_Bps - link->stream_Bps;
        link->stream_Bps = link->phase_Bps;
    }
}

/* Add the loads of all phases of one group's plan on the current stream, each flow at the rate it
 * has alone. A phase that repeats an earlier one adds nothing. */
static void add_plan_load(demand_finder *finder, const ms_coll_plan *plan) {
    for (int p = 0; p < plan->phase_count; p++) {
        if (ms_coll_phase_is_again(plan, p)) {
            continue;
        }
        finder->phase++;
        for (int i = 0; i < plan->phases[p].count; i++) {
            const ms_flow *flow = &plan->phases[p].flows[i];
            double rate_Bps = INFINITY;
            for (int c = 0; c < flow->count; c++) {
                const ms_flow_link *crossing = &flow->links[c];
                rate_Bps =
                    ms_min(rate_Bps, finder->links[crossing->link].capacity_Bps / crossing->weight);
            }
            for (int c = 0; c < flow->count && flow->bytes > 0.0; c++) {
                add_crossing_load(finder, &flow->links[c], rate_Bps);
            }
        }
    }
}

/* Add the loads of a stream's communications, entries `first` to before `end` of traffic->streams.
 * All these communications have the same groups, and every group has a stream of its own. */
static void add_stream_load(demand_finder *finder, const ms_traffic *traffic, size_t first,
                            size_t end) {
    int32_t comm = MS_AT(&traffic->streams, ms_comm_stream, first).comm;
    int groups = MS_AT(&traffic->comms, ms_step_comm, comm).groups->count;
    for (int g = 0; g < groups; g++) {
        finder->stream++;
        for (size_t i = first; i < end; i++) {
            comm = MS_AT(&traffic->streams, ms_comm_stream, i).comm;
            add_plan_load(finder, &MS_AT(&traffic->comms, ms_step_comm, comm).plans[g]);
        }
    }
}

/* The entries of traffic->streams with the same stream are neighbours. Their communications run one
 * after the other, so together they load a link with at most the largest of their loads. */
ms_status ms_find_binding_links(const ms_traffic *traffic, const ms_platform *platform,
                                ms_arena *scratch, bool *can_bind_out,
                                double *max_concurrent_flows_out) {
    demand_finder finder = {.platform = platform,
                            .links = MS_NEW(scratch, link_need, platform->link_count)};
    if (finder.links == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < platform->link_count; i++) {
        finder.links[i].capacity_Bps = ms_platform_link(platform, i).capacity_Bps;
    }
    const ms_vector *streams = &traffic->streams;
    for (size_t first = 0, end = 0; first < streams->count; first = end) {
        while (end < streams->count && MS_AT(streams, ms_comm_stream, end).stream ==
                                           MS_AT(streams, ms_comm_stream, first).stream) {
            end++;
        }
        add_stream_load(&finder, traffic, first, end);
    }
    for (int i = 0; i < platform->link_count; i++) {
        const link_need *link = &finder.links[i];
        can_bind_out[i] =
            link->is_short || link->total_Bps > link->capacity_Bps * (1.0 + MS_LINK_EXCESS);
        max_concurrent_flows_out[i] = can_bind_out[i] ? link->total_weight : 0.0;
    }
    return MS_OK;
}
