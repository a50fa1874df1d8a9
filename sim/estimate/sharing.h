/* Collectives that pipeline ranks run at the same time, as those that end a step, and that meet on
 * links without room for all of them. See estimate.md. */
#ifndef MS_ESTIMATE_SHARING_H
#define MS_ESTIMATE_SHARING_H

#include "collective/fluid.h"
#include "estimate/comm_classes.h"

/* A collective that a pipeline rank runs after those before it. */
typedef struct ms_chained {
    ms_class_key key;
    double bytes;
    double time_s;     /* without others beside it */
    double *stream_s;  /* when its communicator is free; set to its end */
    double launched_s; /* when the rank's host has launched it */
} ms_chained;

/* Collectives of one pipeline rank, one after the other. */
typedef struct ms_chain {
    const ms_chained *ops; /* [count] */
    int count;
    double *rank_s; /* when the rank begins; set to the last end */
} ms_chain;

/* Collectives at their places, kept from one run to the next. */
typedef struct ms_sharing {
    const ms_comm_classes *comm;
    ms_plan_space *space;
    ms_arena *arena;
    ms_vector placed;   /* of a private type */
    double *asked;      /* [platform links] shares of each that are asked for; zeros between uses */
    double short_share; /* most that a link is short of */
    bool is_short;      /* of a link more is asked for than it has */
} ms_sharing;

/* Fill a caller's, nothing placed yet; all borrowed.  arena: outlives it.  Returns MS_OK;
 * MS_E_NOMEM; released with ms_sharing_release, also after a failure. */
ms_status ms_sharing_init(ms_sharing *sharing, const ms_comm_classes *comm, ms_plan_space *space,
                          ms_arena *arena);
void ms_sharing_release(ms_sharing *sharing);

/* Run chains beside each other: flows that are under way at once share links by max-min fairness.
 *  *has_met_out: whether a link is short of room if they meet on it; if not, each collective takes
 * its time.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported).  O(events * links that hold flows
 * back * flows * links of a flow). */
ms_status ms_sharing_run(ms_sharing *sharing, const ms_chain *chains, int count, bool *has_met_out);

/* Ask for what a class takes of each link, or forget what is asked for on its links.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_INPUT (reported). */
ms_status ms_sharing_ask(ms_sharing *sharing, const ms_class_key *key);
ms_status ms_sharing_forget(ms_sharing *sharing, const ms_class_key *key);

/* Share of a link that is asked for beyond what it has while a class runs beside what is asked for
 * already: of the link that is shortest, 0 to 1.  Returns as ms_sharing_ask. */
ms_status ms_sharing_short_share(ms_sharing *sharing, const ms_class_key *key, double *share_out);

#endif
