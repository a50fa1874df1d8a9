/* A priority queue of the future events of a run, ordered by time; events at one instant are
 * ordered by operation. */
#ifndef MESHSIM_ENGINE_EVENT_QUEUE_H
#define MESHSIM_ENGINE_EVENT_QUEUE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/** An event: something happens to an operation (it starts or ends) at a time. */
typedef struct ms_event {
    double time_s; /**< [s], at least 0 */
    int32_t op;    /**< operation, or another number that orders events of one instant */
    int32_t mover; /**< number, from 1 on, by which ms_event_queue_move finds the event; 0: the
                      event never moves */
} ms_event;

/** An event as one number, so that numbers are in the order of events. From the top: the bits of
 * its time (64), its operation and its mover (32 each). The bits of doubles that are not negative
 * are in the order of their values. */
__extension__ typedef unsigned __int128 ms_queued;

/** A queue. Its arrays are in the arena given to ms_event_queue_init. */
typedef struct ms_event_queue {
    ms_queued *heap;  /**< [capacity] no entry before its parent; the children of entry i are the
                         four from 4 * i + 1 on */
    int32_t count;    /**< entries */
    int32_t *indices; /**< [movers + 1] index in `heap` of the event of a mover */
} ms_event_queue;

/** Make an empty queue for at most `capacity` events at once.
 *  movers: highest number of a mover.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_event_queue_init(ms_event_queue *queue, int64_t capacity, int32_t movers,
                              ms_arena *scratch);

/** Time of the first event [s]; INFINITY where the queue is empty.  O(1). */
double ms_event_queue_first_s(const ms_event_queue *queue);

/** Add an event; there must be room.  O(log count). */
void ms_event_queue_add(ms_event_queue *queue, ms_event event);

/** Take out the first event; there must be one.  O(log count). */
ms_event ms_event_queue_take(ms_event_queue *queue);

/** Replace the event in the queue that has the mover `event.mover` by `event`, usually with another
 * time.  O(log count). */
void ms_event_queue_move(ms_event_queue *queue, ms_event event);

#endif
