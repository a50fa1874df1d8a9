/* State shared by the files of the lowering: lower.c walks the schedule, fold.c lays
 * collectives out. */
#ifndef MS_LOWER_LOWERING_H
#define MS_LOWER_LOWERING_H

#include "meshsim/lower.h"

/* A communication of one fold class: the same collective in every group of the class. */
typedef struct ms_fold_request {
    double intra_node_B;   /* all-to-all: of a second one inside each node, beside it; 0: none */
    double load_imbalance; /* all-to-all: of the busiest member; 0: 1 */
    ms_coll_kind kind;
    double size_B;
    const int *
        gpus; /* [groups * members] GPUs, group after group; the first group is the simulated one */
    int groups;
    int members; /* per group */
    bool is_pipelined;
} ms_fold_request;

/* A work already made, by what identifies it. */
typedef struct ms_work_key {
    double size_B;
    double intra_node_B;
    double load_imbalance;
    int32_t kind;
    int32_t domain; /* what the caller distinguishes: axis, place */
    int32_t first;  /* lowest GPU of the simulated group, or source of a p2p */
    int32_t second; /* destination of a p2p, else 0 */
} ms_work_key;

/* A fold class whose groups are laid out. */
typedef struct ms_fold_class {
    const ms_coll_plan *plans; /* [groups] the simulated group first, all with the same flows */
    int groups;
} ms_fold_class;

/* Domains of the key table beside the axes: what else is kept in it. */
enum {
    MS_DOMAIN_MESSAGE_STREAMS = MS_AXIS_COUNT,
    MS_DOMAIN_GROUP_STREAMS,
    MS_DOMAIN_STEP_END_STREAMS, /* across pipeline ranks */
    MS_DOMAIN_STEP_END_WORKS,
};

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
    bool is_exact;
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
    /* works */
    int32_t no_work;       /* computation that takes no time, -1 until used */
    int32_t *segment_work; /* [segments] of computations, -1 until used */
    ms_vector keys;        /* of ms_work_key */
    ms_vector key_works;   /* of int32_t, beside keys */
    ms_vector classes;     /* of ms_fold_class */
    int32_t *key_table;    /* open hash over keys, -1 free */
    size_t key_slots;
    int32_t *dag_link;  /* [platform links] index in the graph, -1 until used */
    int32_t *link_load; /* [platform links] crossings by the class at hand */
} ms_lowering;

/* Find a work by key, or -1. */
int32_t ms_lowering_find(const ms_lowering *l, const ms_work_key *key);
/* Remember a work. Memory failures show up in l->keys.failed. */
void ms_lowering_remember(ms_lowering *l, const ms_work_key *key, int32_t work);

/* Note an asynchronous operation (-1: none) of a simulated rank for the step's end. Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_outstanding_add(ms_lowering *l, int32_t sim, int32_t communicator, int32_t op);

/* Remember the plans of a class for ms_fold_check.  plans: borrowed until then.  Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_fold_note(ms_lowering *l, const ms_coll_plan *plans, int groups);

/* Find out, once all works are made, whether the folded graph stands for all ranks exactly: sets
 * l->is_exact to false if that is not certain.  Returns MS_OK; MS_E_NOMEM.  O(links of all groups
 * of all classes). */
ms_status ms_fold_check(ms_lowering *l);

/* Add the work of a class to the graph: the simulated group's links with the load of the whole
 * class; if groups differ, the latency and the outer links of the slowest. *work_out: its index.
 * Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) for an all-to-all among too many members.
 * O(groups * members * links of a route). */
ms_status ms_fold_work(ms_lowering *l, const ms_fold_request *request, int32_t *work_out);

#endif
