/* What messages between stages take from those of other streams on shared links. See estimate.md.
 */
#ifndef MS_ESTIMATE_QUEUE_SHARING_H
#define MS_ESTIMATE_QUEUE_SHARING_H

#include "estimate/order.h"
#include "estimate/sharing.h"

/* Another stream of messages that crosses a link without room for both. */
typedef struct ms_queue_meeting {
    int32_t queue;
    double short_share; /* of the link that both ask for beyond what it has, at most 1 */
} ms_queue_meeting;

/* Which streams of messages meet. */
typedef struct ms_queue_sharing {
    int32_t *first; /* [queues + 1] of each one's meetings */
    ms_queue_meeting *meetings;
    double *from_s, *until_s; /* [queues] when its last message held the links by itself */
} ms_queue_sharing;

/* Find which streams meet.  *out: in `arena`; NULL where none meet.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT (reported).  O(queues^2 * links of a message). */
ms_status ms_queue_sharing_find(ms_sharing *sharing, const ms_order *order, ms_arena *arena,
                                ms_queue_sharing **out);

/* When a message ends that holds the links of `queue` for `transfer_s` from `start_s` on, if
 * nothing else does. Messages of earlier calls keep their times, and this message waits for the
 * share of the links that they hold, so that all of them together take the time of max-min
 * fairness. */
double ms_queue_sharing_end_s(ms_queue_sharing *sharing, int queue, double start_s,
                              double transfer_s);

#endif
