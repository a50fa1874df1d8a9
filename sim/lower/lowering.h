/* State shared by the files that walk the schedule. */
#ifndef MS_LOWER_LOWERING_H
#define MS_LOWER_LOWERING_H

#include "lower/works.h"

/* Collectives that gather a stage: of what is shared by all replicas, and of the experts. */
enum { MS_GATHERS_MAX = 2 };

/* The last asynchronous operation on each stream of a rank that nothing has joined; streams run in
 * order, so the last one is enough. */
typedef struct ms_outstanding {
    int32_t *communicators; /* [capacity] what the caller tells streams apart by */
    int32_t *ops;           /* [capacity] */
    int count, capacity;
} ms_outstanding;

/* Ends of the chains of one pass of a pair, while the other one is lowered. */
typedef struct ms_pair_tails {
    int32_t *tail;      /* [sims] */
    bool *communicates; /* [sims] */
} ms_pair_tails;

typedef struct ms_lowering {
    const ms_lower_input *in;
    ms_diag *diag;
    ms_arena *arena; /* scratch of the whole lowering */
    ms_dag *dag;
    ms_works works;
    /* ranks */
    int pp, group_ranks;     /* pipeline ranks; ranks of one pipeline rank, N / P */
    int steps;               /* optimizer steps */
    int sims;                /* simulated ranks per pipeline rank: 1 or group_ranks */
    int *stage_ranks;        /* [P * group_ranks] ranks of each pipeline rank, in order */
    int *place;              /* [N] where a rank stands among those of its pipeline rank */
    int32_t *tail;           /* [P * sims] last operation of the rank's current chain, -1 */
    bool *tail_communicates; /* [P * sims] whether that is a communication */
    int32_t *async_ends;     /* [2 * longest pass * sims] ends of the asynchronous segments of the
                                passes under way, -1 none */
    int longest_pass;        /* segments */
    int *pass_runs;          /* [stages * MS_PASS_COUNT] units whose pass has been lowered */
    int32_t *gathered; /* [stages * MS_GATHERS_MAX * sims] gathers of a stage under way: what its
                          next pass waits for, -1 none */
    size_t *next_move; /* [P] of the program's gathers, what comes next on each rank */
    ms_outstanding *outstanding; /* [P * sims] asynchronous collectives that the step's end joins */
    int *members;                /* [N / P] ranks of the group at hand */
    ms_pair_tails *pair_tails;   /* [2] of the passes of a pair */
    /* [stages * units * sims] operation that F or I/B of a stage and unit waits for; NOT_YET until
     * its producer was lowered */
    int32_t *forward_in, *backward_in;
    int32_t no_work;       /* computation that takes no time, -1 until used */
    int32_t *segment_work; /* [segments] of computations, -1 until used */
} ms_lowering;

/* Note an asynchronous operation (-1: none) of a simulated rank for the step's end. Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_outstanding_add(ms_lowering *l, int32_t sim, int32_t communicator, int32_t op);

#endif
