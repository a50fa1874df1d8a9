/* Contention between collectives of different pipeline ranks that run at the same time, such as
 * those at the end of a step: where they ask for more than a link's bandwidth, they share it by
 * max-min fairness. The asked share of a link is the share of its bandwidth that flows would take
 * if each ran as fast as it does alone; above 1 the link is short. See estimate.md. */
#ifndef MS_ESTIMATE_SHARING_H
#define MS_ESTIMATE_SHARING_H

#include "collective/fluid.h"
#include "estimate/comm_classes.h"

/* A collective of a chain: one in all groups of a pipeline rank. */
typedef struct ms_chained {
    ms_class_key key;
    double bytes;      /* full buffer [B] */
    double time_s;     /* time without contention from other classes [s] */
    double *stream_s;  /* when its communicator is free [s]; set to the collective's end */
    double launched_s; /* when the rank's host has launched it [s] */
} ms_chained;

/* The collectives of one pipeline rank, which run one after the other. */
typedef struct ms_chain {
    const ms_chained *ops; /* [count] in order */
    int count;
    double *rank_s; /* when the rank can begin [s]; set to the end of the last collective */
} ms_chain;

/* Classes that are laid out on the links, kept from one call to the next. */
typedef struct ms_sharing {
    const ms_comm_classes *comm;
    ms_layout_storage *space;
    ms_arena *arena;
    ms_vector placed;   /* of a private type, one for each class */
    double *asked;      /* [platform links] asked share of each; zeros between uses */
    double short_share; /* result of the visit in ms_sharing_short_share */
    bool is_short;      /* result of the visit in ms_sharing_run: some link is short */
} ms_sharing;

/* Fill a caller's ms_sharing, without classes. Borrows its arguments; `arena` has to outlive it.
 * Returns MS_OK; MS_E_NOMEM. The caller releases it with ms_sharing_release, also after a failure.
 */
ms_status ms_sharing_init(ms_sharing *sharing, const ms_comm_classes *comm,
                          ms_layout_storage *space, ms_arena *arena);
/* Free the storage that is not in the arena. */
void ms_sharing_release(ms_sharing *sharing);

/* Run chains beside each other: flows that are under way at once share links by max-min fairness.
 *  chains: [count]; their clocks are advanced.  *has_met_out: whether a link is short while all
 * collectives of all chains run at once; if not, each collective takes its time_s.  Returns MS_OK;
 * MS_E_NOMEM; MS_E_INPUT (reported).  O(events * links that hold flows back * flows * links of a
 * flow). */
ms_status ms_sharing_run(ms_sharing *sharing, const ms_chain *chains, int count, bool *has_met_out);

/* Add the shares that a class asks for to the asked shares of its links.  Returns MS_OK;
 * MS_E_NOMEM; MS_E_INPUT (reported). */
ms_status ms_sharing_ask(ms_sharing *sharing, const ms_class_key *key);
/* Set the asked shares of all links of a class to 0.  Returns as ms_sharing_ask. */
ms_status ms_sharing_forget(ms_sharing *sharing, const ms_class_key *key);

/* Find by how much the asked shares exceed 1 if a class runs beside the classes that have asked
 * already.  *share_out: on the link of the class with the largest excess; 0: no link is short; at
 * most 1.  Returns as ms_sharing_ask. */
ms_status ms_sharing_short_share(ms_sharing *sharing, const ms_class_key *key, double *share_out);

#endif
