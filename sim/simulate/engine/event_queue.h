/*
 * The events of a run that lie ahead, by time; of those at one instant the lowest operation's
 * first.
 *
 * Most events lead to the next one at once: what is taken out leaves its place at the top free, and
 * the next event that is added goes down from there. Only where nothing comes does the last entry.
 */
#ifndef MESHSIM_ENGINE_EVENT_QUEUE_H
#define MESHSIM_ENGINE_EVENT_QUEUE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

enum { MS_EVENT_CHILDREN = 4 };

/** Something that happens to an operation. */
typedef struct ms_event {
    double time_s;
    int32_t op;
    int32_t mover; /**< by which number it is found to be moved, from 1 on; 0: it never moves */
} ms_event;

/** An event in the queue, as one number that says which of two is first: from the top the bits of
 * its time (64), which is no less than 0, so that they are in its order, of its operation and of
 * its mover (32 each). */
__extension__ typedef unsigned __int128 ms_queued;

typedef struct ms_event_queue {
    ms_queued *heap;  /**< [capacity] no entry before its parent; MS_EVENT_CHILDREN each,
                           those of entry i from MS_EVENT_CHILDREN * i + 1 on */
    int32_t count;    /**< entries, the free one at the top included */
    bool is_top_free; /**< the first entry has been taken out, and none has come since */
    int32_t *places;  /**< [movers + 1] where in `heap` the event of a mover is */
} ms_event_queue;

/** An empty queue in `scratch` for at most `capacity` events.
 *  movers: at most so many of them can move at a time.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_event_queue_init(ms_event_queue *queue, int64_t capacity, int32_t movers,
                              ms_arena *scratch);

/** The operation of an entry. */
static inline int32_t ms_queued_op(ms_queued entry) {
    return (int32_t)(uint32_t)(entry >> 32);
}

/** The time of an entry. */
static inline double ms_queued_time_s(ms_queued entry) {
    uint64_t high = (uint64_t)(entry >> 64);
    double time_s = 0.0;
    memcpy(&time_s, &high, sizeof time_s);
    return time_s;
}

/** Give the free place at the top to the last event.  O(log count). */
void ms_event_queue_fill_top(ms_event_queue *queue);

/** When the first event is, INFINITY: there is none.  O(log count). */
static inline double ms_event_queue_first_s(ms_event_queue *queue) {
    if (queue->is_top_free) {
        ms_event_queue_fill_top(queue);
    }
    return queue->count > 0 ? ms_queued_time_s(queue->heap[0]) : (double)INFINITY;
}

/** Add an event at a time of at least 0; there must be room.  O(log count). */
void ms_event_queue_add(ms_event_queue *queue, ms_event event);

/** Take out the first event; there must be one.  O(log count). */
ms_event ms_event_queue_take(ms_event_queue *queue);

/** Give the event that `event.mover` has in the queue another time.  O(log count). */
void ms_event_queue_move(ms_event_queue *queue, ms_event event);

#endif
