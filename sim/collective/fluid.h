/**
 * @file
 * Transfers that start together and share links by max-min fairness, with nothing else on the
 * links.
 *
 * The closed form behind a phase of several flows; one that shares links with other phases is
 * SimGrid's.
 */
#ifndef MESHSIM_FLUID_H
#define MESHSIM_FLUID_H

#include <stdint.h>

#include "base/status.h"

/** A link on the way of a flow. */
typedef struct ms_fluid_use {
    int32_t link;        /**< what tells links apart */
    int32_t weight;      /**< how much of it a rate of 1 takes, >= 1 */
    double capacity_Bps; /**< of the link, the same in all uses of it, > 0 and finite */
} ms_fluid_use;

/** Time that a link needs for what `bytes` [B] at a rate of 1 send over it, with nothing else [s].
 */
static inline double ms_fluid_use_time_s(double bytes, const ms_fluid_use *use) {
    return bytes * use->weight / use->capacity_Bps;
}

/** A transfer. Its rate r obeys sum over flows of weight * r <= capacity on every link. */
typedef struct ms_fluid_flow {
    double bytes;             /**< >= 0 [B] */
    const ms_fluid_use *uses; /**< [count], each link at most once; none: it takes no time */
    int count;
} ms_fluid_flow;

/** When each of `count` flows that start together ends [s].
 *  Every flow has the largest rate that takes nothing from one with a smaller rate; when one ends
 *  the others share what it leaves.  end_s_out: [count].  Returns MS_OK; MS_E_NOMEM (not reported).
 *  A single flow in O(uses); several in O(count^2 uses) at most. */
ms_status ms_fluid_run(const ms_fluid_flow *flows, int count, double *end_s_out);

/** Rates of `count` flows while all of them are under way, as in ms_fluid_run.
 *  rate_Bps_out: [count]; INFINITY for a flow without uses.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(count uses) for each link that holds flows back. */
ms_status ms_fluid_rates(const ms_fluid_flow *flows, int count, double *rate_Bps_out);

#endif
