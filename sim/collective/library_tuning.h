/* Latencies and bandwidth share that the cost model of a platform's library (NCCL) gives to a plan.
 * Without a library: 0, and the full bandwidth. */
#ifndef MS_COLLECTIVE_LIBRARY_TUNING_H
#define MS_COLLECTIVE_LIBRARY_TUNING_H

#include "collective/crossings.h"

/* Latencies of one collective. */
typedef struct ms_tuned {
    double overhead_s; /* fixed time of a call, and the ramp of Simple's chunks [s] */
    double steps_s;    /* latency of all steps by the model [s] */
} ms_tuned;

/* Find the latencies of a request, and initialise `crossings` for its routes: they subtract the
 * library's step latencies from those of routes, and have the slowness of the protocol, which
 * reaches only a share of the links' bandwidth.
 *  request: one whose algorithm and protocol ms_coll_choose has chosen; without a library the
 * protocol is MS_PROTOCOL_AUTO.
 * Returns MS_OK; MS_E_NOMEM. The caller releases `crossings` in both cases. */
ms_status ms_tuned_find(const ms_platform *platform, const ms_coll_request *request,
                        ms_crossings *crossings, ms_tuned *tuned_out);

/* Latency of a plan [s].  links_s: latency of the routes along its steps beyond the library's step
 * latencies; may be negative. */
double ms_tuned_latency_s(const ms_tuned *tuned, double links_s);

#endif
