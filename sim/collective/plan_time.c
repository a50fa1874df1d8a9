/* The time of plans with nothing else on the links (ms_coll_plan_time): the sum over phases of the
 * time of the slowest flow and the latency. Flows of a phase share links by max-min fairness
 * (fluid.h). "Alone" means without the load of other groups of the class. */
#include <math.h>

#include "collective/collective.h"
#include "collective/fluid.h"

/* Cache of a link capacity while the links of a flow are walked through. Links are numbered tier
 * after tier, and those of one tier have one capacity, unless the platform has factors for single
 * links. */
typedef struct tier_reached {
    int until;           /* number of the first link after the tier */
    double capacity_Bps; /* of the links of the tier */
} tier_reached;

/* The use of a link by a flow, for the fluid model. at: cache, moved on to the link's tier. */
static ms_fluid_use use_of(const ms_platform *platform, const ms_flow_link *link, bool is_alone,
                           tier_reached *at) {
    if (link->link >= at->until || platform->link_factors != NULL) {
        ms_link_info info = ms_platform_link(platform, link->link);
        const ms_tier *tier = &platform->tiers[info.tier];
        *at = (tier_reached){tier->first_link + tier->links, info.capacity_Bps};
    }
    return (ms_fluid_use){.link = link->link,
                          .weight = is_alone ? link->weight : link->load,
                          .capacity_Bps = at->capacity_Bps};
}

/* Time of the only flow of a phase [s]. Most phases have one flow, and there are many of them, so
 * this avoids the storage that the fluid model needs. */
static double time_flow(const ms_platform *platform, const ms_flow *flow, bool is_alone) {
    tier_reached tier = {.until = 0};
    double time_s = 0.0;
    for (int i = 0; i < flow->count; i++) {
        ms_fluid_use use = use_of(platform, &flow->links[i], is_alone, &tier);
        double link_s = ms_fluid_use_time_s(flow->bytes, &use);
        time_s = link_s > time_s ? link_s : time_s;
    }
    return time_s;
}

/* Find the end of each flow of a phase whose flows start together at 0. end_s_out: [flows]. */
static ms_status time_flows(const ms_platform *platform, const ms_phase *phase, bool is_alone,
                            ms_arena *scratch, double *end_s_out) {
    if (phase->count == 1) {
        end_s_out[0] = time_flow(platform, phase->flows, is_alone);
    }
    if (phase->count <= 1) {
        return MS_OK;
    }
    ms_fluid_flow *flows = MS_NEW(scratch, ms_fluid_flow, phase->count);
    if (flows == NULL) {
        return MS_E_NOMEM;
    }
    for (int f = 0; f < phase->count; f++) {
        const ms_flow *flow = &phase->flows[f];
        ms_fluid_use *uses = MS_NEW(scratch, ms_fluid_use, flow->count);
        if (uses == NULL) {
            return MS_E_NOMEM;
        }
        tier_reached tier = {.until = 0};
        for (int i = 0; i < flow->count; i++) {
            uses[i] = use_of(platform, &flow->links[i], is_alone, &tier);
        }
        flows[f] = (ms_fluid_flow){.bytes = flow->bytes, .uses = uses, .count = flow->count};
    }
    return ms_fluid_run(flows, phase->count, end_s_out);
}

/* Find the end of the last flow of a phase; 0 without flows. */
static ms_status time_phase(const ms_platform *platform, const ms_phase *phase, bool is_alone,
                            ms_arena *scratch, double *time_s_out) {
    double one_s = 0.0;
    double *end_s = phase->count <= 1 ? &one_s : MS_NEW(scratch, double, phase->count);
    ms_status status =
        end_s == NULL ? MS_E_NOMEM : time_flows(platform, phase, is_alone, scratch, end_s);
    *time_s_out = 0.0;
    for (int f = 0; f < phase->count && status == MS_OK; f++) {
        *time_s_out = fmax(*time_s_out, end_s[f]);
    }
    return status;
}

ms_status ms_coll_phase_times_alone(const ms_platform *platform, const ms_phase *phase,
                                    ms_arena *scratch, double *end_s_out) {
    return time_flows(platform, phase, true, scratch, end_s_out);
}

/* Time of a plan: its phases run one after the other. is_alone: without the load of other groups.
 */
static ms_status time_plan(const ms_platform *platform, const ms_coll_plan *plan, bool is_alone,
                           double *time_s_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = MS_OK;
    double time_s = 0.0;
    for (int p = 0; p < plan->phase_count && status == MS_OK; p++) {
        double flows_s = 0.0;
        status = time_phase(platform, &plan->phases[p], is_alone, &scratch, &flows_s);
        time_s += flows_s + plan->phases[p].latency_s;
    }
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *time_s_out = time_s;
    }
    return status;
}

ms_status ms_coll_plan_time(const ms_platform *platform, const ms_coll_plan *plan,
                            double *time_s_out) {
    return time_plan(platform, plan, false, time_s_out);
}

ms_status ms_coll_plan_time_alone(const ms_platform *platform, const ms_coll_plan *plan,
                                  double *time_s_out) {
    return time_plan(platform, plan, true, time_s_out);
}

double ms_coll_plan_latency_s(const ms_coll_plan *plan) {
    double latency_s = 0.0;
    for (int p = 0; p < plan->phase_count; p++) {
        latency_s += plan->phases[p].latency_s;
    }
    return latency_s;
}
