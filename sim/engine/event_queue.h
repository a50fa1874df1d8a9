/**
 * @file
 * The events of a run that lie ahead, by time; of those at one instant the lowest operation's
 * first.
 *
 * An operation has at most one event ahead of it, so that its number is enough to find the event.
 */
#ifndef MESHSIM_ENGINE_EVENT_QUEUE_H
#define MESHSIM_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/status.h"

enum { MS_EVENT_CHILDREN = 4 };

/** Something that happens to an operation. */
typedef struct ms_event {
    double time_s;
    int32_t op;
} ms_event;

typedef struct ms_event_queue {
    ms_event *heap; /**< [capacity] no entry before its parent; MS_EVENT_CHILDREN each,
                      those of entry i from MS_EVENT_CHILDREN * i + 1 on */
    int32_t count;
    int32_t
        *places; /**< [op_count] where in `heap` an operation's event is; NULL: events never move */
} ms_event_queue;

/** An empty queue in `scratch` for at most `capacity` events of `op_count` operations.
 *  moves: whether events may move.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_event_queue_init(ms_event_queue *queue, int64_t capacity, int32_t op_count, bool moves,
                              ms_arena *scratch);

/** Add an event; there must be room.  O(log count). */
void ms_event_queue_add(ms_event_queue *queue, ms_event event);

/** Take out the first event; there must be one.  O(log count). */
ms_event ms_event_queue_take(ms_event_queue *queue);

/** Give the event that `event.op` has in the queue another time; needs `places`.  O(log count). */
void ms_event_queue_move(ms_event_queue *queue, ms_event event);

#endif
