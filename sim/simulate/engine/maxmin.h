/*
 * Flows on links that can be too narrow for them, and dated wake-ups (README.md, choices 5 and 6).
 *
 * A flow starts when it is asked for and ends when its bytes have gone. As long as each of its
 * links has room for all that the flows on it could take if they were alone, it runs at its own
 * rate, and nothing that others do changes it. Flows on a link without that room share it max-min
 * fairly: here, or by whoever is told of them (ms_maxmin_setup.share), such as SimGrid. Here the
 * rates of all flows that are connected by shared links with one that starts or ends are found
 * anew, once for all that happens at one instant. Several simulations can stand side by side in a
 * process.
 */
#ifndef MESHSIM_ENGINE_MAXMIN_H
#define MESHSIM_ENGINE_MAXMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "simulate/engine/event_queue.h"

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
    /** Flows have started or ended on `changed` links: what is full among these is this one's
     * matter, through ms_maxmin_hand_over. Returns MS_OK, or what ends the run. NULL: rates are
     * found here. */
    ms_status (*share)(void *share_context);
    void *share_context;
} ms_maxmin_setup;

/** A link while flows are simulated. */
typedef struct ms_shared_link {
    double asked;  /**< payload units per second that all its flows take if each is alone */
    double left;   /**< while rates are found: capacity that no flow has yet */
    double weight; /**< likewise: of the flows that have no rate yet */
    int32_t uses;  /**< first of the flows on it, + 1; 0: none */
    int32_t round; /**< in which it was met last */
} ms_shared_link;

/** A flow under way, or a free place. */
typedef struct ms_shared_flow {
    double left;    /**< payload at `since_s` */
    double alone;   /**< payload units per second with its links to itself */
    double rate;    /**< payload units per second since then; 0: not found yet */
    double since_s; /**< when the rate last changed */
    double found;   /**< while rates are found: the new one, 0: none yet */
    int32_t uses;   /**< first of the links it uses, + 1; of a free place: the next one, + 1 */
    int32_t token;
    int32_t round;  /**< in which it was met last */
    bool is_queued; /**< also of a free place: it has an entry among the ends */
    bool is_away;   /**< it has been handed over: who has it says when it ends */
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
    ms_vector fresh;       /**< flows (int32_t) that started at this instant */
    ms_vector changed; /**< full links (int32_t) on which flows started or ended at this instant */
    ms_vector met_links;         /**< links (int32_t) that are connected with them */
    ms_vector met_flows;         /**< flows (int32_t) likewise */
    int32_t free_flow, free_use; /**< + 1, 0: none */
    int32_t round;               /**< of finding rates */
    int32_t away;                /**< flows that have been handed over and have not ended */
    int64_t solved;              /**< flows whose rate was found, so far */
    bool has_shared;             /**< flows have changed each other's rates */
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

/** A flow, and the use of a link, by number. */
static inline ms_shared_flow *ms_maxmin_flow_at(const ms_maxmin *run, int32_t flow) {
    return &MS_AT(&run->flows, ms_shared_flow, flow);
}

static inline ms_shared_use *ms_maxmin_use_at(const ms_maxmin *run, int32_t use) {
    return &MS_AT(&run->uses, ms_shared_use, use);
}

/** Whether the flows on a link could take more than it has. */
bool ms_maxmin_is_full(const ms_maxmin *run, int32_t link);

/** Give a flow away, with what is left of it now; it stays on its links until ms_maxmin_end. */
void ms_maxmin_hand_over(ms_maxmin *run, int32_t flow);

/** A flow that was handed over ends now: on_flow is called.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_maxmin_end(ms_maxmin *run, int32_t flow);

/** When something lies ahead that is known here: now where flows wait for their rates, INFINITY:
 * never. */
double ms_maxmin_next_s(ms_maxmin *run);

/** The date before which nothing happens to flows, and none but MS_MAXMIN_LOOK is woken, unless
 * somebody starts a flow; `clock_s` where that is not known. */
double ms_maxmin_quiet_until_s(ms_maxmin *run);

/** Let happen what is due at `clock_s`, and share links anew.  Returns as ms_maxmin_run. */
ms_status ms_maxmin_step(ms_maxmin *run);

/** Run until nothing lies ahead.  Returns MS_OK; MS_E_NOMEM; what `share` returns.  Each
 * instant takes O(uses of the
 *  flows connected with those that start or end, times the distinct rates they get). */
ms_status ms_maxmin_run(ms_maxmin *run);

#endif
