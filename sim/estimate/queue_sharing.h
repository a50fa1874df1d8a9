/* Contention between messages of different queues on shared links. A queue is the stream of
 * messages from one pipeline rank to another in one direction. Two queues meet if some link has
 * less bandwidth than their messages ask for together. See estimate.md. */
#ifndef MS_ESTIMATE_QUEUE_SHARING_H
#define MS_ESTIMATE_QUEUE_SHARING_H

#include "estimate/order.h"
#include "estimate/sharing.h"

/* A meeting of a queue with another one. */
typedef struct ms_queue_meeting {
    int32_t queue;      /* the other queue */
    double short_share; /* share of a link's bandwidth that both queues ask for beyond all it has,
                           on the link with most of it; at most 1 */
} ms_queue_meeting;

/* All queues that meet, and their messages so far. */
typedef struct ms_queue_sharing {
    int32_t *first; /* [queues + 1] queue q has meetings first[q] .. first[q + 1] - 1 */
    ms_queue_meeting *meetings;
    double *from_s, *until_s; /* [queues] time for which the queue's last message held its links, at
                                 the full bandwidth [s] */
} ms_queue_sharing;

/* Find which queues meet.  *out: in `arena`; NULL where none meet.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT (reported).  O(queues^2 * links of a message). */
ms_status ms_queue_sharing_find(ms_sharing *sharing, const ms_order *order, ms_arena *arena,
                                ms_queue_sharing **out);

/* The end of a message of `queue` that could start at `start_s` and takes `transfer_s` without
 * contention [s]. Messages of earlier calls keep their times: for the time that one overlaps with
 * this message, this message is delayed by their short_share of it. All of them together then take
 * as long as with max-min fairness, only the later one bears the whole delay. */
double ms_queue_sharing_end_s(ms_queue_sharing *sharing, int queue, double start_s,
                              double transfer_s);

#endif
