/* What a platform's library says of a plan that is laid out; nothing without a library. */
#ifndef MS_COLLECTIVE_TUNED_H
#define MS_COLLECTIVE_TUNED_H

#include "collective/crossings.h"

typedef struct ms_tuned {
    double overhead_s; /* before the first step, and as the pipeline fills */
    double steps_s;    /* of all steps, as the library has them */
} ms_tuned;

/* Find it, and initialise `crossings`: their latencies are those beyond the library's steps, their
 * slowness is that of the protocol, which reaches only a share of the links' bandwidth.
 *  request: as a row's `plan` gets it.  Returns MS_OK; MS_E_NOMEM, crossings are released all the
 * same. */
ms_status ms_tuned_find(const ms_platform *platform, const ms_coll_request *request,
                        ms_crossings *crossings, ms_tuned *tuned_out);

/* Latency of a plan whose routes add `links_s` to the library's steps, or take it away [s]. */
double ms_tuned_latency_s(const ms_tuned *tuned, double links_s);

#endif
