/* The clocks of all pipeline ranks while a step's passes run in order. See estimate.md. */
#ifndef MS_ESTIMATE_CLOCKS_H
#define MS_ESTIMATE_CLOCKS_H

#include "estimate/order.h"
#include "estimate/queue_sharing.h"

/* A message between stages. */
typedef struct ms_message_time {
    double transfer_s; /* the time for which the message occupies its stream */
    double latency_s;  /* from then to the arrival */
} ms_message_time;

/* A collective that gathers the parameters of a stage. */
typedef struct ms_unshard_time {
    double time_s;
    int stream; /* carried communicator; -1: its communicator is always free */
} ms_unshard_time;

/* Maximum number of collectives that gather the parameters of one stage: dense parameters and
 * experts. */
enum { MS_UNSHARDS_MAX = 2 };

/* Times of all passes and messages of an order. */
typedef struct ms_order_times {
    const ms_pass_map *const *maps;  /* [slots] */
    const ms_message_time *messages; /* [2 * stages] as in ms_order_op.sends */
    const ms_unshard_time *unshards; /* [MS_UNSHARDS_MAX * stages], time_s < 0: none */
    int carried;                     /* communicators */
    bool waits_for_unshards; /* passes wait for the parameters of their stages as a whole, although
                                only their computations need them */
    bool is_blocking;        /* a rank that sends waits for the arrival */
    double launch_s;         /* time per launch of a rank's host; 0: it is never waited for */
    ms_queue_sharing
        *sharing; /* what messages take from each other on shared links; NULL: nothing */
} ms_order_times;

/* The clocks of all pipeline ranks [s]. The caller owns the storage. */
typedef struct ms_clocks {
    double *rank_s;      /* [P] */
    double *host_s;      /* [P] when the rank's host has launched all that it has come to */
    double *stream_s;    /* [P * MS_CARRIED_MAX] */
    double *queue_s;     /* [queues] streams of messages */
    double *arrival_s;   /* [2 * operations] when each result is on the rank that needs it */
    double *unsharded_s; /* [stages] */
} ms_clocks;

/* Storage for an order's clocks, all at 0.
 *  arrivals: of double, grows as need be; the clocks use it until it is given again.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_clocks_new(const ms_order *order, ms_arena *arena, ms_vector *arrivals,
                        ms_clocks *clocks_out);

/* Advance the clocks by the passes and messages of one step.  O(operations), no allocation. */
void ms_clocks_run(ms_clocks *clocks, const ms_order *order, const ms_order_times *times);

/* When a pipeline rank has ended all that it started. */
double ms_clocks_rank_end_s(const ms_clocks *clocks, int rank, int carried);

#endif
