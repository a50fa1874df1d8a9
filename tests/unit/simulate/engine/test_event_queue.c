/* The queue of events: by time, then by operation, whatever the order they came in. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "cases.h"
#include "simulate/engine/event_queue.h"

enum { EVENTS = 1000 };

static bool is_in_order(ms_event a, ms_event b) {
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.op < b.op);
}

Test(event_queue, ties_go_to_the_lowest_operation) {
    ms_arena arena;
    ms_event_queue queue;
    ms_arena_init(&arena);
    cr_assert_eq(ms_event_queue_init(&queue, 4, 0, &arena), MS_OK);
    ms_event_queue_add(&queue, (ms_event){.time_s = 1.0, .op = 7});
    ms_event_queue_add(&queue, (ms_event){.time_s = 1.0, .op = 3});
    ms_event_queue_add(&queue, (ms_event){.time_s = 0.5, .op = 9});
    ms_event_queue_add(&queue, (ms_event){.time_s = 1.0, .op = 5});
    static const int32_t ORDER[] = {9, 3, 5, 7};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(ms_event_queue_take(&queue).op, ORDER[i]);
    }
    cr_assert_eq(ms_event_queue_first_s(&queue), INFINITY);
    ms_arena_release(&arena);
}

/* Few distinct times, so that many tie, and as many taken out between as come in, so that the heap
 * has every shape. */
Test(event_queue, leaves_in_order) {
    uint64_t seed = case_seed(20261122);
    printf("MS_SEED=%llu\n", (unsigned long long)seed);
    ms_arena arena;
    ms_event_queue queue;
    ms_random random = {.state = seed};
    ms_arena_init(&arena);
    cr_assert_eq(ms_event_queue_init(&queue, EVENTS, 0, &arena), MS_OK);
    ms_event last = {.time_s = -1.0};
    int32_t added = 0;
    for (int32_t taken = 0; taken < EVENTS;) {
        bool is_empty = added == taken;
        bool adds = added < EVENTS && (is_empty || ms_random_range(&random, 0, 4) < 3);
        if (adds) {
            /* nothing happens before what has happened */
            double time_s = fmax(last.time_s, 0.0) + (double)ms_random_range(&random, 0, 3);
            int32_t op = (added++ * 389) % EVENTS;
            bool is_late = time_s == last.time_s && op < last.op;
            ms_event_queue_add(&queue,
                               (ms_event){.time_s = time_s + (is_late ? 1.0 : 0.0), .op = op});
            continue;
        }
        ms_event event = ms_event_queue_take(&queue);
        cr_assert(is_in_order(last, event), "%g %d before %g %d", last.time_s, last.op,
                  event.time_s, event.op);
        last = event;
        taken++;
    }
    cr_assert_eq(ms_event_queue_first_s(&queue), INFINITY);
    ms_arena_release(&arena);
}

enum { MOVERS = 60 };

/* The first of the events that lie ahead, by looking at them all. */
static int32_t find_first(const ms_event *ahead) {
    int32_t first = -1;
    for (int32_t i = 0; i < MOVERS; i++) {
        bool is_ahead = ahead[i].mover > 0;
        first = is_ahead && (first < 0 || is_in_order(ahead[i], ahead[first])) ? i : first;
    }
    return first;
}

/* What comes, moves and leaves in any order leaves as from a list that is searched: also right
 * after one was taken out, when its place is still free. */
Test(event_queue, moves) {
    uint64_t seed = case_seed(20261122);
    printf("MS_SEED=%llu\n", (unsigned long long)seed);
    ms_arena arena;
    ms_event_queue queue;
    ms_random random = {.state = seed};
    ms_event ahead[MOVERS] = {{0}};
    int32_t moved = 0;
    ms_arena_init(&arena);
    cr_assert_eq(ms_event_queue_init(&queue, MOVERS, MOVERS, &arena), MS_OK);
    for (int32_t i = 0; i < 20 * EVENTS; i++) {
        int32_t at = (int32_t)ms_random_range(&random, 0, MOVERS - 1);
        double time_s = (double)ms_random_range(&random, 0, 9);
        if (ms_random_range(&random, 0, 2) == 0 && find_first(ahead) >= 0) {
            int32_t first = find_first(ahead);
            cr_assert_eq(ms_event_queue_take(&queue).op, ahead[first].op);
            ahead[first].mover = 0;
        } else if (ahead[at].mover == 0) {
            ahead[at] = (ms_event){.time_s = time_s, .op = at, .mover = 1 + at};
            ms_event_queue_add(&queue, ahead[at]);
        } else {
            ahead[at].time_s = time_s;
            ms_event_queue_move(&queue, ahead[at]);
            moved++;
        }
    }
    cr_assert_gt(moved, EVENTS);
    ms_arena_release(&arena);
}
