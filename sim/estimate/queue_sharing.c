/* Finds which queues of messages meet on links (queue_sharing.h), with the shares of links that
 * their classes ask for (sharing.h), and delays messages by those of other queues. */
#include "estimate/queue_sharing.h"

#include <math.h>

/* The class of a message.  message: 2 * stage + (1: forward), as in ms_order_op.sends; `to` is -1
 * where no stage receives it. */
static ms_class_key key_of(const ms_order *order, int message) {
    return (ms_class_key){.kind = MS_COLL_P2P,
                          .from = order->program->stage_rank[message / 2],
                          .to = ms_order_receiver(order->program, message)};
}

/* The state of ms_queue_sharing_find. */
typedef struct queue_listing {
    ms_sharing *sharing;
    const ms_order *order;
    int *messages; /* [queues] a message of each queue, all of which cross the same links; -1: none
                    */
    ms_vector meetings;
} queue_listing;

/* Choose a message of each queue that leaves its rank. */
static void list_messages(queue_listing *listing) {
    for (int q = 0; q < listing->order->queue_count; q++) {
        listing->messages[q] = -1;
    }
    for (int i = 0; i < 2 * listing->order->program->stages; i++) {
        const ms_class_key key = key_of(listing->order, i);
        if (key.to >= 0 && key.to != key.from) {
            listing->messages[listing->order->queues[i]] = i;
        }
    }
}

/* Append the meetings of `queue` with all other queues. */
static ms_status list_meetings(queue_listing *listing, int queue) {
    ms_class_key key = key_of(listing->order, listing->messages[queue]);
    ms_status status = ms_sharing_ask(listing->sharing, &key);
    for (int q = 0; q < listing->order->queue_count && status == MS_OK; q++) {
        ms_queue_meeting meeting = {.queue = q};
        if (q == queue || listing->messages[q] < 0) {
            continue;
        }
        ms_class_key other = key_of(listing->order, listing->messages[q]);
        status = ms_sharing_short_share(listing->sharing, &other, &meeting.short_share);
        if (meeting.short_share > 0.0 && ms_vector_add(&listing->meetings, &meeting, 1) == NULL) {
            status = MS_E_NOMEM;
        }
    }
    return status == MS_OK ? ms_sharing_forget(listing->sharing, &key) : status;
}

/* Append the meetings of all queues, and set out->first and the empty times. */
static ms_status list_all_meetings(queue_listing *listing, ms_queue_sharing *out) {
    int queues = listing->order->queue_count;
    ms_status status = MS_OK;
    list_messages(listing);
    for (int q = 0; q < queues && status == MS_OK; q++) {
        out->first[q] = (int32_t)listing->meetings.count;
        status = listing->messages[q] < 0 ? MS_OK : list_meetings(listing, q);
        out->from_s[q] = out->until_s[q] = -INFINITY;
    }
    out->first[queues] = (int32_t)listing->meetings.count;
    return status;
}

/* If no queues share links, *out stays NULL, and messages take their own times. */
ms_status ms_queue_sharing_find(ms_sharing *sharing, const ms_order *order, ms_arena *arena,
                                ms_queue_sharing **out) {
    int queues = order->queue_count;
    queue_listing listing = {
        .sharing = sharing, .order = order, .messages = MS_NEW(arena, int, queues)};
    ms_queue_sharing *found = MS_NEW(arena, ms_queue_sharing, 1);
    *out = NULL;
    if (found == NULL || listing.messages == NULL) {
        return MS_E_NOMEM;
    }
    *found = (ms_queue_sharing){.first = MS_NEW(arena, int32_t, (size_t)queues + 1),
                                .from_s = MS_NEW(arena, double, queues),
                                .until_s = MS_NEW(arena, double, queues)};
    if (found->first == NULL || found->from_s == NULL || found->until_s == NULL) {
        return MS_E_NOMEM;
    }
    ms_vector_init(&listing.meetings, sizeof(ms_queue_meeting));
    ms_status status = list_all_meetings(&listing, found);
    *out = status == MS_OK && listing.meetings.count > 0 ? found : NULL;
    found->meetings = ms_vector_keep(&listing.meetings, arena);
    return status == MS_OK && found->meetings == NULL ? MS_E_NOMEM : status;
}

double ms_queue_sharing_end_s(ms_queue_sharing *sharing, int queue, double start_s,
                              double transfer_s) {
    double end_s = start_s + transfer_s;
    /* end_s grows with each meeting, so that later meetings see the overlap with the delayed end */
    for (int32_t i = sharing->first[queue]; i < sharing->first[queue + 1]; i++) {
        const ms_queue_meeting *meeting = &sharing->meetings[i];
        double from_s = fmax(start_s, sharing->from_s[meeting->queue]);
        double until_s = fmin(end_s, sharing->until_s[meeting->queue]);
        end_s += fmax(0.0, until_s - from_s) * meeting->short_share;
    }
    sharing->from_s[queue] = end_s - transfer_s;
    sharing->until_s[queue] = end_s;
    return end_s;
}
