/* The clocks of all pipeline ranks while a step's passes run in order. See estimate.md. */
#ifndef MS_ESTIMATE_CLOCKS_H
#define MS_ESTIMATE_CLOCKS_H

#include "estimate/order.h"
#include "estimate/queue_sharing.h"

/* A message between stages. */
typedef struct ms_message_time {
    double transfer_s; /* its stream is taken for so long */
    double latency_s;  /* between that and the arrival */
} ms_message_time;

/* A collective that unshards a stage. */
typedef struct ms_unshard_time {
    double time_s;
    int stream; /* carried communicator; -1: one that is always free */
} ms_unshard_time;

/* Collectives that one stage is unsharded by, at most: dense parameters and experts. */
enum { MS_UNSHARDS_MAX = 2 };

/* What everything in an order takes. */
typedef struct ms_order_times {
    const ms_pass_map *const *maps;  /* [slots] */
    const ms_message_time *messages; /* [2 * stages] as in ms_order_op.sends */
    const ms_unshard_time *unshards; /* [MS_UNSHARDS_MAX * stages], time_s < 0: none */
    int carried;                     /* communicators */
    bool waits_for_unshards;   /* whole passes do, though of theirs only computations need to */
    bool is_blocking;          /* a rank that sends waits for the arrival */
    double launch_s;           /* time per launch of a rank's host; 0: it is never waited for */
    ms_queue_sharing *sharing; /* of messages; NULL: they take nothing from each other */
} ms_order_times;

/* A pass without anything beside anything: how long after either clock it ends. */
typedef struct ms_plain_pass {
    double from_rank_s, from_input_s;
} ms_plain_pass;

/* When what is under way ends. All storage is the caller's. */
typedef struct ms_clocks {
    double *rank_s;        /* [P] */
    double *host_s;        /* [P] the rank's host has launched all so far */
    double *stream_s;      /* [P * MS_CARRIED_MAX] */
    double *queue_s;       /* [queues] streams of messages */
    double *arrival_s;     /* [2 * operations] results where they are needed; of plain ones
                              [operations] */
    double *unsharded_s;   /* [stages] */
    ms_plain_pass *passes; /* [slots] room of ms_clocks_run */
} ms_clocks;

/* Storage for an order's clocks, all at 0.
 *  arrivals: of double, grows as need be; the clocks use it until it is given again.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_clocks_new(const ms_order *order, ms_arena *arena, ms_vector *arrivals,
                        ms_clocks *clocks_out);

/* Let one step's passes run, from where the clocks stand.  O(operations), no allocation. */
void ms_clocks_run(ms_clocks *clocks, const ms_order *order, const ms_order_times *times);

/* When a pipeline rank has ended all that it started. */
double ms_clocks_rank_end_s(const ms_clocks *clocks, int rank, int carried);

#endif
