/* What comes before an operation: lists of operations, and where the lists of a step are kept.
 * See decision note waits.md beside this file. */
#ifndef MS_LOWER_WAITS_H
#define MS_LOWER_WAITS_H

#include "base/buffer.h"
#include "schedule/schedule.h"
#include "simulate/graph/dag.h"
#include "simulate/lower/ranks.h"

/* Operations that something waits for, at most one of each stream: streams run in order, so the
 * last one stands for those before it. Zeroed memory is an empty list. */
typedef struct ms_waits {
    int32_t first; /* into ms_wait_pool.waits, from 1; 0: none */
} ms_waits;

/* One of them. */
typedef struct ms_wait {
    int32_t op;
    int32_t stream;
    int32_t next; /* as ms_waits.first */
} ms_wait;

/* Storage of lists, used again once a list is cleared. */
typedef struct ms_wait_pool {
    ms_vector waits; /* of ms_wait; its failure is kept there */
    int32_t free;    /* head of the unused ones */
} ms_wait_pool;

/* Fill a caller's pool. */
void ms_wait_pool_init(ms_wait_pool *pool);
void ms_wait_pool_release(ms_wait_pool *pool);

/* Wait for an operation, too.  op: -1, of a graph that has failed: nothing. */
void ms_waits_add(ms_wait_pool *pool, ms_waits *waits, int32_t op, int32_t stream);
/* Wait for all of `other`, too. */
void ms_waits_merge(ms_wait_pool *pool, ms_waits *waits, const ms_waits *other);
/* The same, and `other` is empty then. */
void ms_waits_take(ms_wait_pool *pool, ms_waits *waits, ms_waits *other);
/* Wait for nothing any more. */
void ms_waits_clear(ms_wait_pool *pool, ms_waits *waits);
/* Make the newest member of the graph depend on all of a list but what is on its own stream, the
 * compute stream `own` (-1: none is left out): the stream's order says that already. */
void ms_waits_depend(const ms_wait_pool *pool, const ms_waits *waits, ms_dag *dag, int32_t own);
static inline bool ms_waits_are_empty(const ms_waits *waits) {
    return waits->first == 0;
}
/* Whether a list holds an operation on another stream than `stream`. */
bool ms_waits_has_other(const ms_wait_pool *pool, const ms_waits *waits, int32_t stream);

/* The lists of a step; where [k] is said, of one pipeline rank, else of all simulated ranks. */
typedef struct ms_waiting {
    ms_wait_pool pool;
    int count;           /* simulated ranks of one pipeline rank */
    ms_waits *before;    /* [k] the operation at hand */
    ms_waits *next;      /* [sim] what the rank does next */
    ms_waits *update;    /* [sim] its update: asynchronous collectives that no segment waited for */
    ms_waits *unsharded; /* [stage * k] the stage's next computation: its parameters */
    ms_waits *arrived[2]; /* [stage * unit * k] the forward pass of a stage and unit, and the
                             backward one: what the stage beside it has sent */
    ms_waits *pair[2];    /* [k] what either pass of a pair does next */
    ms_waits *ended[2];   /* [segment * k] of the pass under way, or both of a pair: what waits for
                             one of its asynchronous segments */
    bool *is_awaited[2];  /* [segment] whether anything has */
} ms_waiting;

/* Fill a caller's lists, all empty.  longest_pass: segments.  Returns MS_OK; MS_E_NOMEM.  Released
 * with ms_waiting_release, also after a failure. */
ms_status ms_waiting_init(ms_waiting *waiting, const ms_ranks *ranks, const ms_program *program,
                          int longest_pass, ms_arena *arena);
void ms_waiting_release(ms_waiting *waiting);

/* Of all simulated ranks of one pipeline rank: let the operation at hand wait for a list of each,
 * lists[k], too; ms_before_take leaves them empty. */
void ms_before_merge(ms_waiting *waiting, const ms_waits *lists);
void ms_before_take(ms_waiting *waiting, ms_waits *lists);

/* Make the newest member of the graph, on a stream of the rank at place `k`, wait for what the
 * operation at hand waits for; own: as of ms_waits_depend. */
void ms_before_depend(ms_waiting *waiting, int k, ms_dag *dag, int32_t own);

/* Make lists [count] of one pipeline rank empty. */
void ms_lists_clear(ms_waiting *waiting, ms_waits *lists, size_t count);

#endif
