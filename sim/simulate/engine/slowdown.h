/**
 * @file
 * Computations that communication on their rank slows down.
 *
 * They follow the rule of collective/slowdown.h. Each computation under way keeps the time that is
 * left of it at full speed. When its factor changes, up or down, a new end follows, and the event
 * of the end moves in the queue. A communication runs on the ranks of its members from its start to
 * its end; a message runs on the rank of its receiver as well.
 */
#ifndef MESHSIM_ENGINE_SLOWDOWN_H
#define MESHSIM_ENGINE_SLOWDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "collective/slowdown.h"
#include "simulate/engine/event_queue.h"
#include "simulate/graph/dag.h"

/** All communications and computations under way. Arrays in the scratch arena. */
typedef struct ms_slowdown {
    const ms_dag *dag;
    ms_event_queue *queue; /**< holds the end of every computation under way; the mover of an end is
                              1 + the stream of the computation's first member */
    ms_running *running;   /**< [stream_count] by the stream of the computation's first member */
    int32_t *on_stream;    /**< [stream_count] computation under way, -1: none */
    int32_t *stream_first; /**< [rank_count + 1] streams of rank r: streams[stream_first[r]] to
                              before streams[stream_first[r + 1]] */
    int32_t *streams;      /**< [stream_count] */
    int32_t *live;         /**< [rank_count][MS_COLL_COUNT] number of communications of each kind
                              that run on the rank */
    double *factor;        /**< [rank_count] factor on the rank's computations now */
    int32_t *computing;    /**< [rank_count] streams of the rank with a computation under way */
} ms_slowdown;

/** Whether communications of `work` slow computations down. */
bool ms_work_slows_compute(const ms_dag *dag, const ms_dag_work *work);

/** Prepare, with nothing under way.  queue: where ends of computations are entered and moved;
 * borrowed.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_slowdown_init(ms_slowdown *slowdown, const ms_dag *dag, ms_event_queue *queue,
                           ms_arena *scratch);

/** Whether computation `op` is under way. */
bool ms_slowdown_is_running(const ms_slowdown *slowdown, int32_t op);

/** Let a computation start: its end is entered in the queue.  start: operation and time. */
void ms_slowdown_begin(ms_slowdown *slowdown, ms_event start);

/** Remove computation `op`, whose end has been taken from the queue. */
void ms_slowdown_end(ms_slowdown *slowdown, int32_t op);

/** Let a communication start (change 1) or end (change -1), and move the ends of the computations
 * on its ranks.  event: operation and time. */
void ms_slowdown_change_comm(ms_slowdown *slowdown, ms_event event, int32_t change);

#endif
