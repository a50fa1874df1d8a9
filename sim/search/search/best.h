/* The best scores that a search has found so far, and what they leave no hope for. */
#ifndef MS_STUDY_SEARCH_BEST_H
#define MS_STUDY_SEARCH_BEST_H

#include "base/buffer.h"
#include "search/search_goal.h"
#include "search/shards.h"

typedef struct ms_search_best {
    const ms_search_goal *goal;
    size_t top;
    ms_search_score *scores; /* [count] of one objective: scores of the best, rising */
    size_t count;            /* of them, at most `top` */
    ms_vector front;         /* of ms_search_score; of two objectives: those that none dominates */
    ms_shared_best *shared;  /* of a shard: what the others have found; NULL: nothing is shared */
} ms_search_best;

/* top: how many are wanted, >= 1.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_search_best_init(ms_search_best *best, const ms_search_goal *goal, size_t top,
                              ms_arena *arena);
void ms_search_best_release(ms_search_best *best);

/* Whether a candidate with a bound cannot be among the wanted ones any more. */
bool ms_search_is_beaten(ms_search_best *best, const ms_search_score *bound);

/* Whether it can leave out others: as many as are wanted are known, of two objectives any. */
bool ms_search_best_is_full(const ms_search_best *best);

/* Take the score of one that was found.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_search_best_take(ms_search_best *best, const ms_search_score *score);

#endif
