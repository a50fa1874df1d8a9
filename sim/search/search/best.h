/* The best scores that a search has found so far, and which candidates they rule out. */
#ifndef MS_STUDY_SEARCH_BEST_H
#define MS_STUDY_SEARCH_BEST_H

#include "base/buffer.h"
#include "search/search_goal.h"
#include "search/shards.h"

/* With one objective the `top` lowest scores; with two objectives the Pareto front. */
typedef struct ms_search_best {
    const ms_search_goal *goal;
    size_t top;              /* number of best candidates that are wanted */
    ms_search_score *scores; /* [count] of one objective: scores of the best, rising, each once */
    size_t count;            /* number of `scores`, at most `top` */
    ms_vector front;        /* of ms_search_score, with two objectives: those that none dominates */
    ms_shared_best *shared; /* of a shard: the other shards' scores; NULL: nothing is exchanged */
} ms_search_best;

/* Begin without scores, in `arena`; ms_search_best_release frees the rest.  goal: borrowed.  top:
 * number of best candidates that are wanted, >= 1.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_search_best_init(ms_search_best *best, const ms_search_goal *goal, size_t top,
                              ms_arena *arena);
void ms_search_best_release(ms_search_best *best);

/* Whether a candidate whose score is not below `bound` can no longer be among the best. */
bool ms_search_is_beaten(ms_search_best *best, const ms_search_score *bound);

/* Whether enough scores are known to rule out candidates: `top`, or one with two objectives. */
bool ms_search_best_is_full(const ms_search_best *best);

/* Add the score of a candidate.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_search_best_add(ms_search_best *best, const ms_search_score *score);

#endif
