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

static bool is_dominated(const ms_search_best *best, const ms_search_score *score) {
    bool is_worse = false;
    for (size_t i = 0; i < best->front.count && !is_worse; i++) {
        is_worse = ms_search_dominates(&MS_AT(&best->front, ms_search_score, i), score);
    }
    return is_worse;
}

/* Add a score to the front, unless another one dominates it; the scores that it dominates leave. */
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

static bool is_above_last(const ms_search_best *best, const ms_search_score *score) {
    return best->count == best->top && ms_search_compare(score, &best->scores[best->top - 1]) > 0;
}

static void insert(ms_search_best *best, const ms_search_score *score) {
    if (is_above_last(best, score)) {
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
    return is_above_last(best, bound) ||
           (best->shared != NULL &&
            bound->of[0] > ms_shared_best_limit(best->shared, best->scores, best->count));
}

bool ms_search_best_is_full(const ms_search_best *best) {
    return best->goal->objective_count > 1 ? best->front.count > 0 : best->count == best->top;
}

ms_status ms_search_best_take(ms_search_best *best, const ms_search_score *score) {
    if (best->goal->objective_count > 1) {
        return add_to_front(best, score);
    }
    insert(best, score);
    if (best->shared != NULL) {
        ms_shared_best_tell(best->shared, best->scores, best->count);
    }
    return MS_OK;
}
