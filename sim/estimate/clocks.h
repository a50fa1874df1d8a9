/* The clocks of all pipeline ranks while the passes of a step run in the order of order.h. A clock
 * is the time at which a rank, its host, a communicator or a queue of messages is free. See
 * estimate.md. */
#ifndef MS_ESTIMATE_CLOCKS_H
#define MS_ESTIMATE_CLOCKS_H

#include "estimate/order.h"
#include "estimate/queue_sharing.h"

/* A message between stages. */
typedef struct ms_message_time {
    double transfer_s; /* time for which the message occupies its queue [s] */
    double latency_s;  /* time from the end of the transfer to the arrival [s] */
} ms_message_time;

/* A collective that gathers the parameters of a stage. */
typedef struct ms_unshard_time {
    double time_s; /* [s]; < 0: there is no such collective, or its group is one rank */
    int stream;    /* index of its carried communicator; -1: its communicator is always free */
} ms_unshard_time;

/* Maximum number of collectives that gather the parameters of one stage: dense parameters and
 * experts. */
enum { MS_UNSHARDS_MAX = 2 };

/* Times of all passes and messages of an order. */
typedef struct ms_order_times {
    const ms_pass_map *const *maps;  /* [slots] map of each slot */
    const ms_message_time *messages; /* [2 * stages] indexed as ms_order_op.sends */
    const ms_unshard_time *unshards; /* [stages][MS_UNSHARDS_MAX] */
    int carried;                     /* number of carried communicators */
    bool waits_for_unshards;   /* a pass starts after its stage is unsharded, although only its
                                  computations need the parameters; false for the bound */
    bool is_blocking;          /* a rank that sends waits until its message arrives */
    double launch_s;           /* time per launch of a rank's host; 0: nothing waits for it [s] */
    ms_queue_sharing *sharing; /* contention between queues on shared links; NULL: none */
} ms_order_times;

/* The clocks of all pipeline ranks [s]. The caller owns the storage. */
typedef struct ms_clocks {
    double *rank_s;      /* [P] the rank has ended its operations so far */
    double *host_s;      /* [P] the rank's host has launched all its operations so far */
    double *stream_s;    /* [P][MS_CARRIED_MAX] each carried communicator is free */
    double *queue_s;     /* [queues] the last message of each queue has left */
    double *arrival_s;   /* [2 * operations] each result is on the rank that needs it; indexed as
                            ms_order_op.inputs */
    double *unsharded_s; /* [stages] the parameters of the stage are gathered */
} ms_clocks;

/* Allocate the clocks of an order in `arena`, all at 0 but the arrivals, which are unset.
 *  arrivals: of double, grows as needed; the clocks use it until another call gets it.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_clocks_new(const ms_order *order, ms_arena *arena, ms_vector *arrivals,
                        ms_clocks *clocks_out);

/* Advance the clocks by all operations of one step and their messages.  O(operations), no
 * allocation. */
void ms_clocks_run(ms_clocks *clocks, const ms_order *order, const ms_order_times *times);

/* When a pipeline rank has ended its passes and all collectives on its carried communicators [s].
 *  carried: number of these. */
double ms_clocks_rank_end_s(const ms_clocks *clocks, int rank, int carried);

#endif
