/* Lists of operations that an operation has to wait for, and the lists that are kept while a step
 * is lowered. See decision note waits.md beside this file. */
#ifndef MS_LOWER_WAITS_H
#define MS_LOWER_WAITS_H

#include "base/buffer.h"
#include "schedule/schedule.h"
#include "simulate/graph/dag.h"
#include "simulate/lower/ranks.h"

/* A list of operations to wait for, at most one of each stream: a stream runs in order, so waiting
 * for a later operation includes the earlier ones. Zeroed memory is an empty list. */
typedef struct ms_waits {
    int32_t first; /* its first entry: index into ms_wait_pool.waits + 1; 0: none */
} ms_waits;

/* An entry of a list. */
typedef struct ms_wait {
    int32_t op;
    int32_t stream; /* stream of the operation */
    int32_t next;   /* the next entry of the list, as ms_waits.first */
} ms_wait;

/* Storage of the entries of all lists; those of a cleared list are used again. */
typedef struct ms_wait_pool {
    ms_vector waits; /* of ms_wait; its `failed` says whether memory ran out */
    int32_t free;    /* the first unused entry, as ms_waits.first */
} ms_wait_pool;

/* Fill a caller's pool, empty. */
void ms_wait_pool_init(ms_wait_pool *pool);
/* Free the storage. */
void ms_wait_pool_release(ms_wait_pool *pool);

/* Add an operation of a stream to a list.  op: -1 (of a graph whose construction failed) adds
 * nothing. */
void ms_waits_add(ms_wait_pool *pool, ms_waits *waits, int32_t op, int32_t stream);
/* Add all operations of `other`, which stays as it is. */
void ms_waits_merge(ms_wait_pool *pool, ms_waits *waits, const ms_waits *other);
/* Add all operations of `other`, which is empty afterwards. */
void ms_waits_take(ms_wait_pool *pool, ms_waits *waits, ms_waits *other);
/* Make a list empty. */
void ms_waits_clear(ms_wait_pool *pool, ms_waits *waits);
/* Make the newest member of the graph depend on all operations of a list, except on an operation of
 * stream `own`: the compute stream of the member, whose order implies that dependency. -1: no
 * exception. */
void ms_waits_depend(const ms_wait_pool *pool, const ms_waits *waits, ms_dag *dag, int32_t own);
/* Whether a list is empty. */
static inline bool ms_waits_are_empty(const ms_waits *waits) {
    return waits->first == 0;
}
/* Whether a list holds an operation on another stream than `stream`. */
bool ms_waits_has_other(const ms_wait_pool *pool, const ms_waits *waits, int32_t stream);

/* All lists of a step: operations that something later has to wait for. Index order: [k] is one
 * list for each simulated rank of a pipeline rank, [sim] one for each simulated rank; in [a][k], k
 * is the fastest index. */
typedef struct ms_waiting {
    ms_wait_pool pool;
    int count;        /* number of simulated ranks of one pipeline rank */
    ms_waits *before; /* [k] operations that the operation being lowered has to wait for */
    ms_waits *next;   /* [sim] operations that the rank's next operation has to wait for */
    ms_waits *update; /* [sim] asynchronous collectives that no segment has waited for: the rank's
                         update has to */
    ms_waits *unsharded; /* [stage][k] collectives that gather the parameters of the stage: its next
                            computation has to wait for them */
    ms_waits *arrived[2]; /* [stage][unit][k] arrivals from the neighbour stage that the forward [0]
                             and backward [1] pass of a stage and unit of work have to wait for */
    ms_waits *pair[2];    /* [k] as `next`, for either pass of an overlapped pair */
    ms_waits *ended[2];  /* [segment][k] ends of the asynchronous segments of the pass that is being
                            lowered; [1]: of the second pass of a pair */
    bool *is_awaited[2]; /* [segment] whether a segment has waited for this asynchronous one */
} ms_waiting;

/* Fill a caller's lists, all empty.  longest_pass: maximum number of segments in a pass.  Returns
 * MS_OK; MS_E_NOMEM. The caller calls ms_waiting_release, also after a failure. */
ms_status ms_waiting_init(ms_waiting *waiting, const ms_ranks *ranks, const ms_program *program,
                          int longest_pass, ms_arena *arena);
/* Free the pool. */
void ms_waiting_release(ms_waiting *waiting);

/* Let the operation being lowered wait for lists[k] on each simulated rank k of one pipeline rank:
 * add them to `before`.  lists: [k], which stay as they are. */
void ms_before_merge(ms_waiting *waiting, const ms_waits *lists);
/* As ms_before_merge, but the lists are empty afterwards. */
void ms_before_take(ms_waiting *waiting, ms_waits *lists);

/* Make the newest member of the graph, on a stream of the simulated rank `k` of its pipeline rank,
 * depend on the list `before` of that rank, which is empty afterwards.  own: as for
 * ms_waits_depend. */
void ms_before_depend(ms_waiting *waiting, int k, ms_dag *dag, int32_t own);

/* Make `count` lists empty. */
void ms_lists_clear(ms_waiting *waiting, ms_waits *lists, size_t count);

#endif
