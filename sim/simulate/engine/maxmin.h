/* Flows on links that may be too narrow for them, and dated wake-ups (README.md, choices 5 and 6).
 *
 * A flow starts when the caller starts it and ends when its payload has been sent. As long as each
 * of its links has room for all that the flows on it would take alone, the flow runs at its own
 * rate, and no other flow changes that. A link without that room is full: its flows share it by
 * max-min fairness. They do so here, or in another simulator (SimGrid) that setup.share hands them
 * to. Here the rates of all flows connected by shared links with a flow that starts or ends are
 * found anew, once for all that happens at one instant. Several simulations can exist side by side
 * in a process. */
#ifndef MESHSIM_ENGINE_MAXMIN_H
#define MESHSIM_ENGINE_MAXMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "simulate/engine/event_queue.h"

/** Token of the one wake-up that can be moved to an earlier date; tokens of all others are >= 0. */
enum { MS_MAXMIN_LOOK = -1 };

/** What is simulated, and the callbacks of a simulation. */
typedef struct ms_maxmin_setup {
    const double *link_bandwidths; /**< [link_count] payload units per second, > 0 */
    int32_t link_count;
    int32_t timers;     /**< maximum number of pending wake-ups, without MS_MAXMIN_LOOK */
    int64_t flows;      /**< maximum number of flows under way */
    double precision_s; /**< flows that end this close to another event end with it [s] */
    void *context;      /**< first argument of the functions */
    void (*on_wake)(void *context, int32_t token); /**< the date of a wake-up has come */
    void (*on_flow)(void *context, int32_t token); /**< a flow has ended */
    /** Called when flows have started or ended on full links, which ms_maxmin.changed lists: it
     * takes over the flows of those links with ms_maxmin_hand_over. Returns MS_OK, or the status
     * that ends the run. NULL: rates are found here. */
    ms_status (*share)(void *share_context);
    void *share_context;
} ms_maxmin_setup;

/** A link while flows are simulated. */
typedef struct ms_shared_link {
    double asked;  /**< payload units per second that all its flows take if each is alone */
    double left;   /**< while rates are found: bandwidth that is not assigned to a flow yet */
    double weight; /**< while rates are found: sum of the weights of flows without a rate */
    int32_t uses;  /**< its first use, + 1; 0: no flow is on it */
    int32_t round; /**< last search for rates that took it in (ms_maxmin.round) */
} ms_shared_link;

/** A flow under way, or a free slot in the array of flows. */
typedef struct ms_shared_flow {
    double left;    /**< payload at `since_s` */
    double alone;   /**< payload units per second with its links to itself */
    double rate;    /**< payload units per second since then; 0: not found yet */
    double since_s; /**< when `rate` last changed */
    double found;   /**< while rates are found: the new rate, 0: none yet */
    int32_t uses;   /**< its first use, + 1; of a free slot: the next free slot, + 1 */
    int32_t token;  /**< argument of on_flow at its end */
    int32_t round;  /**< last search for rates that took it in (ms_maxmin.round) */
    bool is_queued; /**< it has an entry in the queue of ends. A free slot may have one, too (at
                       INFINITY, of a flow that had been handed over), which the next flow moves */
    bool is_away;   /**< it has been handed over: ms_maxmin_end is called when it ends */
} ms_shared_flow;

/** A use: a flow on a link. It is an entry in the list of the flow and in that of the link; or a
 * free slot in the array of uses. */
typedef struct ms_shared_use {
    int32_t flow, link, weight;
    int32_t flow_next; /**< next use of the flow, + 1, 0: none; of a free slot: the next one, + 1 */
    int32_t link_next, link_last; /**< next and previous use of the link, + 1, 0: none */
} ms_shared_use;

/** A simulation. Arrays in the arena it was given, vectors of its own. */
typedef struct ms_maxmin {
    ms_maxmin_setup setup;
    double clock_s;
    double look_s;         /**< date of the wake-up MS_MAXMIN_LOOK, INFINITY: none */
    ms_event_queue timers; /**< all other wake-ups, by date, then token */
    ms_event_queue ends;   /**< ends of flows; the mover of an end is the flow's number + 1 */
    ms_shared_link *links; /**< [link_count] */
    ms_vector flows;       /**< of ms_shared_flow */
    ms_vector uses;        /**< of ms_shared_use */
    ms_vector fresh;       /**< flows (int32_t) that started at this instant */
    ms_vector changed; /**< full links (int32_t) on which flows started or ended at this instant */
    ms_vector met_links;         /**< links (int32_t) connected with the changed ones */
    ms_vector met_flows;         /**< flows (int32_t) connected with the changed links */
    int32_t free_flow, free_use; /**< first free slot among flows and uses, + 1, 0: none */
    int32_t round;               /**< number of the last search for rates, from 1 on */
    int32_t away;                /**< flows that have been handed over and have not ended */
    int64_t solved;              /**< flows whose rate was found, so far */
    bool has_shared;             /**< flows have changed each other's rates */
} ms_maxmin;

/** Prepare a simulation at time 0 without flows.  Returns MS_OK; MS_E_NOMEM. The caller must call
 * ms_maxmin_release in both cases. */
ms_status ms_maxmin_init(ms_maxmin *run, const ms_maxmin_setup *setup, ms_arena *scratch);

/** Free the vectors. */
void ms_maxmin_release(ms_maxmin *run);

/** Call on_wake(token) once the clock reaches `date_s` [s]. For MS_MAXMIN_LOOK, the earliest of its
 * pending dates counts. */
void ms_maxmin_wake_at(ms_maxmin *run, double date_s, int32_t token);

/** Start a flow now and call on_flow(token) at its end.
 *  payload: > 0, in the unit of the bandwidths.  route: [count] links, count >= 1; a link that is
 *  crossed k times is listed k times in a row.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_maxmin_flow(ms_maxmin *run, double payload, const int32_t *route, int32_t count,
                         int32_t token);

/** The flow with a number; valid until a flow is added. */
static inline ms_shared_flow *ms_maxmin_flow_at(const ms_maxmin *run, int32_t flow) {
    return &MS_AT(&run->flows, ms_shared_flow, flow);
}

/** The use with a number; valid until a use is added. */
static inline ms_shared_use *ms_maxmin_use_at(const ms_maxmin *run, int32_t use) {
    return &MS_AT(&run->uses, ms_shared_use, use);
}

/** Whether a link is full: its flows would take more than its bandwidth if each were alone. */
bool ms_maxmin_is_full(const ms_maxmin *run, int32_t link);

/** Hand a flow over to another simulator, which sends the payload that is left now
 * (ms_shared_flow.left). The flow stays on its links until ms_maxmin_end. */
void ms_maxmin_hand_over(ms_maxmin *run, int32_t flow);

/** End a flow now: take it off its links and call on_flow. For flows that were handed over. Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_maxmin_end(ms_maxmin *run, int32_t flow);

/** Date of the next event that is known here [s]: the clock where flows wait for their rates;
 * INFINITY: there is none. */
double ms_maxmin_next_s(ms_maxmin *run);

/** Date before which, unless the caller starts a flow, no flow ends or changes its rate and no
 * wake-up but MS_MAXMIN_LOOK is due [s]; `clock_s` where that date is not known. */
double ms_maxmin_quiet_until_s(ms_maxmin *run);

/** Handle all wake-ups and ends that are due at `clock_s`, then share links anew.  Returns as
 * ms_maxmin_run. */
ms_status ms_maxmin_step(ms_maxmin *run);

/** Run until no event is known.  Returns MS_OK; MS_E_NOMEM; what setup.share returns.  Each instant
 * takes O(u * r): u uses of the flows connected with those that start or end, r distinct rates that
 * these flows get. */
ms_status ms_maxmin_run(ms_maxmin *run);

#endif
