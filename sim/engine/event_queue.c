/* A heap of four children per entry: half as deep as one of two, and the children of an entry lie
 * side by side in the cache. */
#include "engine/event_queue.h"

enum { CHILDREN = MS_EVENT_CHILDREN };

/* Without a branch: which of two events comes first is anyone's guess, the processor's too. */
static inline bool is_before(ms_event a, ms_event b) {
    return (a.time_s < b.time_s) | ((a.time_s == b.time_s) & (a.op < b.op));
}

ms_status ms_event_queue_init(ms_event_queue *queue, int64_t capacity, int32_t op_count, bool moves,
                              ms_arena *scratch) {
    *queue = (ms_event_queue){.heap = MS_NEW(scratch, ms_event, capacity),
                              .places = moves ? MS_NEW(scratch, int32_t, op_count) : NULL};
    return queue->heap == NULL || (moves && queue->places == NULL) ? MS_E_NOMEM : MS_OK;
}

static inline void put(ms_event_queue *queue, int32_t place, ms_event event) {
    queue->heap[place] = event;
    if (queue->places != NULL) {
        queue->places[event.op] = place;
    }
}

/* Put `event` at `place` or, as long as it comes before its parent, further up. */
static void sift_up(ms_event_queue *queue, int32_t place, ms_event event) {
    while (place > 0) {
        int32_t parent = (place - 1) / CHILDREN;
        if (!is_before(event, queue->heap[parent])) {
            break;
        }
        put(queue, place, queue->heap[parent]);
        place = parent;
    }
    put(queue, place, event);
}

/* The first of the children of `place`, of which there is at least one. */
static inline int32_t first_child(const ms_event_queue *queue, int32_t place) {
    const ms_event *heap = queue->heap;
    int32_t first = CHILDREN * place + 1;
    if (first + CHILDREN <= queue->count) {
        int32_t left = first + is_before(heap[first + 1], heap[first]);
        int32_t right = first + 2 + is_before(heap[first + 3], heap[first + 2]);
        return is_before(heap[right], heap[left]) ? right : left;
    }
    for (int32_t i = first + 1; i < queue->count; i++) {
        first = is_before(heap[i], heap[first]) ? i : first;
    }
    return first;
}

/* Put `event` at `place` or, as long as a child comes before it, further down. */
static void sift_down(ms_event_queue *queue, int32_t place, ms_event event) {
    while (CHILDREN * place + 1 < queue->count) {
        int32_t child = first_child(queue, place);
        if (!is_before(queue->heap[child], event)) {
            break;
        }
        put(queue, place, queue->heap[child]);
        place = child;
    }
    put(queue, place, event);
}

void ms_event_queue_add(ms_event_queue *queue, ms_event event) {
    sift_up(queue, queue->count++, event);
}

ms_event ms_event_queue_take(ms_event_queue *queue) {
    ms_event first = queue->heap[0];
    if (--queue->count > 0) {
        sift_down(queue, 0, queue->heap[queue->count]);
    }
    return first;
}

void ms_event_queue_move(ms_event_queue *queue, ms_event event) {
    int32_t place = queue->places[event.op];
    if (is_before(event, queue->heap[place])) {
        sift_up(queue, place, event);
    } else {
        sift_down(queue, place, event);
    }
}
