/**
 * @file
 * Flows that share links max-min fairly, and dated wake-ups: what SimGrid does for the engine, for
 * large runs without folding (README.md, choice 5).
 *
 * A flow starts when it is asked for and ends when its bytes have gone. In between its rate changes
 * only when a flow starts or ends that it is connected with by shared links: the rates of all flows
 * that are connected are then found anew, once for all that happens at one instant. Several can
 * stand side by side in a process.
 */
#ifndef MESHSIM_ENGINE_MAXMIN_H
#define MESHSIM_ENGINE_MAXMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/event_queue.h"
#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/status.h"

/** Token of the wake-up of which there is one at a time; the others are >= 0. */
enum { MS_MAXMIN_LOOK = -1 };

/** What is simulated, and who is told what happens. */
typedef struct ms_maxmin_setup {
    const double *link_bandwidths; /**< [link_count] payload units per second, > 0 */
    int32_t link_count;
    int32_t timers;     /**< at most so many wake-ups lie ahead, of one token each */
    int64_t flows;      /**< at most so many flows are under way */
    double precision_s; /**< flows that end this close to another event end with it [s] */
    void *context;      /**< first argument of the functions */
    void (*on_wake)(void *context, int32_t token); /**< the date of a wake-up has come */
    void (*on_flow)(void *context, int32_t token); /**< a flow has ended */
} ms_maxmin_setup;

/** A link while flows are simulated. */
typedef struct ms_shared_link {
    double left;   /**< while rates are found: capacity that no flow has yet */
    double weight; /**< likewise: of the flows that have no rate yet */
    int32_t uses;  /**< first of the flows on it, + 1; 0: none */
    int32_t round; /**< in which it was met last */
} ms_shared_link;

/** A flow under way, or a free place. */
typedef struct ms_shared_flow {
    double left;    /**< payload at `since_s` */
    double rate;    /**< payload units per second since then; 0: not found yet */
    double since_s; /**< when the rate last changed */
    double found;   /**< while rates are found: the new one, 0: none yet */
    int32_t uses;   /**< first of the links it uses, + 1; of a free place: the next one, + 1 */
    int32_t token;
    int32_t round; /**< in which it was met last */
} ms_shared_flow;

/** A flow on a link, in a list of the flow and one of the link; or a free place. */
typedef struct ms_shared_use {
    int32_t flow, link, weight;
    int32_t flow_next;            /**< + 1, 0: none; of a free place: the next one, + 1 */
    int32_t link_next, link_last; /**< + 1, 0: none */
} ms_shared_use;

/** A simulation. Arrays in the arena it was given, vectors of its own. */
typedef struct ms_maxmin {
    ms_maxmin_setup setup;
    double clock_s;
    double look_s;         /**< when MS_MAXMIN_LOOK is woken, INFINITY: not */
    ms_event_queue timers; /**< by date, then token */
    ms_event_queue ends;   /**< of flows; what moves is a flow's number + 1 */
    ms_shared_link *links; /**< [link_count] */
    ms_vector flows;       /**< of ms_shared_flow */
    ms_vector uses;        /**< of ms_shared_use */
    ms_vector changed;     /**< links (int32_t) on which flows started or ended at this instant */
    ms_vector met_links;   /**< links (int32_t) that are connected with them */
    ms_vector met_flows;   /**< flows (int32_t) likewise */
    int32_t free_flow, free_use; /**< + 1, 0: none */
    int32_t round;               /**< of finding rates */
    int64_t solved;              /**< flows whose rate was found, so far */
} ms_maxmin;

/** Prepare, at time 0, without flows.  Returns MS_OK; MS_E_NOMEM.  To be released in both cases. */
ms_status ms_maxmin_init(ms_maxmin *run, const ms_maxmin_setup *setup, ms_arena *scratch);

/** Free the vectors. */
void ms_maxmin_release(ms_maxmin *run);

/** Call on_wake(token) once the clock reaches `date_s`; of MS_MAXMIN_LOOK the earliest date. */
void ms_maxmin_wake(ms_maxmin *run, double date_s, int32_t token);

/** Start a flow now and call on_flow(token) at its end.
 *  payload: > 0, in the unit of the bandwidths.  route: [count] links, count >= 1; one that is
 *  crossed k times stands k times side by side.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_maxmin_flow(ms_maxmin *run, double payload, const int32_t *route, int32_t count,
                         int32_t token);

/** Run until nothing lies ahead.  Returns MS_OK; MS_E_NOMEM.  Each instant takes O(uses of the
 *  flows connected with those that start or end, times the distinct rates they get). */
ms_status ms_maxmin_run(ms_maxmin *run);

#endif
