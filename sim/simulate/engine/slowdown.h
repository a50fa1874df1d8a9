/**
 * @file
 * Computations that communication on their rank slows down.
 *
 * By the rule of collective/slowdown.h. A computation keeps count of what is left of it, so that
 * every change of its factor, up or down, gives it a new end, which moves in the queue. A
 * communication runs on the ranks of its members, of a message also on the receiver's, from its
 * start to its end.
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

/** Arrays in the scratch arena. */
typedef struct ms_slowdown {
    const ms_dag *dag;
    ms_event_queue *queue; /**< holds the end of every computation under way */
    ms_running *running;   /**< [stream_count] by the stream of the computation's first member */
    int32_t *on_stream;    /**< [stream_count] computation under way, -1: none */
    int32_t *stream_first; /**< [rank_count + 1] streams of rank r: streams[stream_first[r]] .. */
    int32_t *streams;      /**< [stream_count] */
    int32_t *live;         /**< [rank_count][MS_COLL_COUNT] communications that run on the rank */
    double *factor;        /**< [rank_count] on its computations now */
    int32_t *computing;    /**< [rank_count] streams of the rank with a computation under way */
} ms_slowdown;

/** Whether communications of `work` slow computations down. */
bool ms_slowdown_concerns(const ms_dag *dag, const ms_dag_work *work);

/** Prepare, nothing runs.  queue: where ends of computations move.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_slowdown_init(ms_slowdown *slowdown, const ms_dag *dag, ms_event_queue *queue,
                           ms_arena *scratch);

/** Whether computation `op` is under way. */
bool ms_slowdown_is_running(const ms_slowdown *slowdown, int32_t op);

/** A computation starts; its end joins the queue. */
void ms_slowdown_begin(ms_slowdown *slowdown, ms_event start);

/** A computation has ended. */
void ms_slowdown_end(ms_slowdown *slowdown, int32_t op);

/** A communication starts (change 1) or ends (change -1) at `event`: the ends of the computations
 * on its ranks move. */
void ms_slowdown_communicate(ms_slowdown *slowdown, ms_event event, int32_t change);

#endif
