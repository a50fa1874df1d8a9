/* The best scores of a search so far, which decide what is pruned. With one objective these are the
 * `top` lowest scores; with two objectives the Pareto front: the scores that no other score
 * dominates (is better in one value and not worse in the other). */
#include "search/search/best.h"

ms_status ms_search_best_init(ms_search_best *best, const ms_search_goal *goal, size_t top,
                              ms_arena *arena) {
    *best =
        (ms_search_best){.goal = goal, .top = top, .scores = MS_NEW(arena, ms_search_score, top)};
    ms_vector_init(&best->front, sizeof(ms_search_score));
    return best->scores == NULL ? MS_E_NOMEM : MS_OK;
}

void ms_search_best_release(ms_search_best *best) {
    ms_vector_release(&best->front);
}

/* ---- two objectives ---- */

/* Whether some score of the front dominates a score. */
static bool is_dominated(const ms_search_best *best, const ms_search_score *score) {
    bool is_worse = false;
    for (size_t i = 0; i < best->front.count && !is_worse; i++) {
        is_worse = ms_search_dominates(&MS_AT(&best->front, ms_search_score, i), score);
    }
    return is_worse;
}

/* Add a score to the front, unless a score of the front dominates it. Scores of the front that the
 * new score dominates are removed. Returns MS_OK; MS_E_NOMEM. */
static ms_status add_to_front(ms_search_best *best, const ms_search_score *score) {
    if (is_dominated(best, score)) {
        return MS_OK;
    }
    size_t kept = 0;
    for (size_t i = 0; i < best->front.count; i++) {
        const ms_search_score other = MS_AT(&best->front, ms_search_score, i);
        if (!ms_search_dominates(score, &other)) {
            MS_AT(&best->front, ms_search_score, kept++) = other;
        }
    }
    best->front.count = kept;
    return ms_vector_add(&best->front, score, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

/* ---- one objective ---- */

/* Whether `top` scores are known and a score is above the worst of them, and not equal to it. */
static bool is_above_worst(const ms_search_best *best, const ms_search_score *score) {
    const ms_search_score *worst = &best->scores[best->top - 1];
    return best->count == best->top && ms_search_compare(score, worst) > 0 &&
           !ms_search_is_equal(score, worst);
}

/* Insert a score into the sorted list of the `top` lowest; the last score drops out of a full list.
 * A score that equals one of the list is left out: the candidate may differ from a known one in the
 * order of its axes alone, have no row of its own, and must not take the place of a further one. */
static void insert_score(ms_search_best *best, const ms_search_score *score) {
    bool is_known = is_above_worst(best, score);
    for (size_t i = 0; i < best->count && !is_known; i++) {
        is_known = ms_search_is_equal(score, &best->scores[i]);
    }
    if (is_known) {
        return;
    }
    size_t at = best->count < best->top ? best->count++ : best->top - 1;
    for (; at > 0 && ms_search_compare(&best->scores[at - 1], score) > 0; at--) {
        best->scores[at] = best->scores[at - 1];
    }
    best->scores[at] = *score;
}

bool ms_search_is_beaten(ms_search_best *best, const ms_search_score *bound) {
    if (best->goal->objective_count > 1) {
        return is_dominated(best, bound);
    }
    return is_above_worst(best, bound) ||
           (best->shared != NULL &&
            bound->of[0] > ms_shared_best_limit(best->shared, best->scores, best->count));
}

bool ms_search_best_is_full(const ms_search_best *best) {
    return best->goal->objective_count > 1 ? best->front.count > 0 : best->count == best->top;
}

ms_status ms_search_best_add(ms_search_best *best, const ms_search_score *score) {
    if (best->goal->objective_count > 1) {
        return add_to_front(best, score);
    }
    insert_score(best, score);
    if (best->shared != NULL) {
        ms_shared_best_tell(best->shared, best->scores, best->count);
    }
    return MS_OK;
}
