/* The event queue: a heap in which each entry has four children. It is half as deep as one of two
 * children, and the children of an entry are side by side in the cache. An entry is one 128-bit
 * number, so that comparing events takes one comparison (ms_queued). */
#include "simulate/engine/event_queue.h"

#include <math.h>
#include <string.h>

enum { CHILDREN = 4 };

/* Pack an event into a number: the bits of its time, its operation and its mover. */
static ms_queued to_entry(ms_event event) {
    double time_s = event.time_s + 0.0; /* turns -0, whose bits would sort last, into 0 */
    uint64_t high = 0;
    memcpy(&high, &time_s, sizeof high);
    return (ms_queued)high << 64 | (uint64_t)(uint32_t)event.op << 32 | (uint32_t)event.mover;
}

/* The time of an entry [s]. */
static double time_of(ms_queued entry) {
    uint64_t high = (uint64_t)(entry >> 64);
    double time_s = 0.0;
    memcpy(&time_s, &high, sizeof time_s);
    return time_s;
}

ms_status ms_event_queue_init(ms_event_queue *queue, int64_t capacity, int32_t movers,
                              ms_arena *scratch) {
    *queue = (ms_event_queue){.heap = MS_NEW(scratch, ms_queued, capacity),
                              .indices = MS_NEW(scratch, int32_t, (size_t)movers + 1)};
    return queue->heap == NULL || queue->indices == NULL ? MS_E_NOMEM : MS_OK;
}

double ms_event_queue_first_s(const ms_event_queue *queue) {
    return queue->count > 0 ? time_of(queue->heap[0]) : (double)INFINITY;
}

/* Store an entry at index `index` of the heap, and that index under the event's mover. All events
 * that never move share indices[0], which is never read. */
static void put(ms_event_queue *queue, int32_t index, ms_queued entry) {
    queue->heap[index] = entry;
    queue->indices[(uint32_t)entry] = index;
}

/* Store an entry at `index`, or further up: parents that come after it move down. */
static void sift_up(ms_event_queue *queue, int32_t index, ms_queued entry) {
    while (index > 0 && entry < queue->heap[(index - 1) / CHILDREN]) {
        int32_t parent = (index - 1) / CHILDREN;
        put(queue, index, queue->heap[parent]);
        index = parent;
    }
    put(queue, index, entry);
}

/* The child of `index` that comes first; -1: it has no child. */
static int32_t first_child(const ms_event_queue *queue, int32_t index) {
    int32_t first = CHILDREN * index + 1;
    int32_t end = first + CHILDREN < queue->count ? first + CHILDREN : queue->count;
    if (first >= end) {
        return -1;
    }
    for (int32_t i = first + 1; i < end; i++) {
        first = queue->heap[i] < queue->heap[first] ? i : first;
    }
    return first;
}

/* Store an entry at `index`, or further down: children that come before it move up. */
static void sift_down(ms_event_queue *queue, int32_t index, ms_queued entry) {
    int32_t child = first_child(queue, index);
    while (child >= 0 && queue->heap[child] < entry) {
        put(queue, index, queue->heap[child]);
        index = child;
        child = first_child(queue, index);
    }
    put(queue, index, entry);
}

void ms_event_queue_add(ms_event_queue *queue, ms_event event) {
    sift_up(queue, queue->count++, to_entry(event));
}

ms_event ms_event_queue_take(ms_event_queue *queue) {
    ms_queued first = queue->heap[0];
    if (--queue->count > 0) {
        sift_down(queue, 0, queue->heap[queue->count]);
    }
    return (ms_event){.time_s = time_of(first),
                      .op = (int32_t)(uint32_t)(first >> 32),
                      .mover = (int32_t)(uint32_t)first};
}

void ms_event_queue_move(ms_event_queue *queue, ms_event event) {
    ms_queued entry = to_entry(event);
    int32_t index = queue->indices[event.mover];
    if (entry < queue->heap[index]) {
        sift_up(queue, index, entry);
    } else {
        sift_down(queue, index, entry);
    }
}
