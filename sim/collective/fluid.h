/**
 * @file
 * Fluid model: flows that start at the same time and share links by max-min fairness, with nothing
 * else on the links.
 *
 * Gives the time of a phase of several flows that runs alone. Phases that share links with other
 * phases are simulated by SimGrid.
 */
#ifndef MESHSIM_FLUID_H
#define MESHSIM_FLUID_H

#include <stdint.h>

#include "base/status.h"

/** A use: the crossing of a link by a flow. */
typedef struct ms_fluid_use {
    int32_t link;        /**< any number that identifies the link */
    int32_t weight;      /**< capacity that a rate of 1 takes, >= 1 */
    double capacity_Bps; /**< of the link, the same in all its uses, > 0 and finite [B/s] */
} ms_fluid_use;

/** Time that a link needs for a flow of `bytes` [B], with nothing else on the link [s]. */
static inline double ms_fluid_use_time_s(double bytes, const ms_fluid_use *use) {
    return bytes * use->weight / use->capacity_Bps;
}

/** A transfer. Its rate r obeys sum over flows of weight * r <= capacity on every link. */
typedef struct ms_fluid_flow {
    double bytes;             /**< >= 0 [B] */
    const ms_fluid_use *uses; /**< [count], each link at most once; none: it takes no time */
    int count;
} ms_fluid_flow;

/** Find the ends of `count` flows that all start at 0.
 *  Rates are max-min fair: no flow can have a higher rate without lowering that of a flow with the
 * same or a lower rate. When a flow ends, the others share the capacity that it leaves. end_s_out:
 * [count] end of each flow [s].  Returns MS_OK; MS_E_NOMEM (not reported).
 *  A single flow in O(uses); several in O(count^2 uses) at most. */
ms_status ms_fluid_run(const ms_fluid_flow *flows, int count, double *end_s_out);

/** Find the rates of `count` flows while all of them run, as in ms_fluid_run.
 *  rate_Bps_out: [count]; INFINITY for a flow without uses.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(count uses) for each link that holds flows back. */
ms_status ms_fluid_rates(const ms_fluid_flow *flows, int count, double *rate_Bps_out);

#endif
