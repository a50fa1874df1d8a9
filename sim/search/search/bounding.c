#include "search/search/bounding.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/interrupt.h"

/* Candidates between two calls of the study's progress. */
enum { PROGRESS_EVERY = 256 };

/* How much lower than a bound a simulated step may be that is equal to it but for rounding. */
static const double ROUNDING = 1e-9;

void ms_search_tell(const ms_search_state *r, ms_search_phase phase, int64_t done, int64_t count) {
    const ms_search_progress now = {
        .phase = phase, .done = done, .count = count, .simulated = (int64_t)r->settled};
    if (r->study->progress != NULL) {
        r->study->progress(r->study->context, &now);
    }
}

/* Keep a candidate that fits in memory, unless its bounds are beyond the goal's limits. */
static ms_status keep_feasible(ms_search_state *r, const ms_job_spec *spec,
                               const ms_spec_estimate *estimate, int64_t index) {
    const ms_search_goal *goal = r->study->goal;
    double values[MS_SEEK_COUNT], expected[MS_SEEK_COUNT];
    ms_price_use least = estimate->least, probable = estimate->least;
    least.step_s *= 1 - ROUNDING;
    probable.step_s = estimate->step_s;
    ms_feasible one = {.index = index,
                       .estimate_s = estimate->step_s,
                       .bound_s = least.step_s,
                       .peak_B = estimate->peak_B};
    ms_search_bounds(goal, spec, &least, estimate->peak_B, values);
    ms_search_bounds(goal, spec, &probable, estimate->peak_B, expected);
    one.bound = ms_search_score_of(goal, values);
    one.estimate = ms_search_score_of(goal, expected);
    if (!ms_search_is_within(goal, values)) {
        ms_search_take_miss(r, expected);
        return MS_OK;
    }
    bool has_all = ms_vector_add(&r->feasible, &one, 1) != NULL &&
                   ms_search_best_take(&r->expected, &one.estimate) == MS_OK;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* What refuses a candidate counts it as illegal; all else ends the search.  mute: has heard why. */
static ms_status take_fault(ms_search_state *r, ms_status status, int64_t index,
                            const ms_diag *mute) {
    if (status == MS_E_INPUT) {
        r->out->counts.illegal++;
        return ms_reasons_add(&r->illegal, ms_buffer_text(mute->reason), index);
    }
    if (status != MS_OK) {
        ms_diag_error(r->diag, "%s",
                      mute->reason->length > 0 ? ms_buffer_text(mute->reason)
                                               : ms_status_name(status));
    }
    return status;
}

/* Bound a candidate from its computations.  mute: its reason is empty, and gets why the candidate
 * is no job. */
static ms_status bound_one(ms_search_state *r, int64_t index, ms_diag *mute) {
    const ms_search_goal *goal = r->study->goal;
    ms_price_use least;
    ms_job_spec spec;
    ms_status status = ms_space_spec(r->study->space, index, mute, &spec);
    if (status == MS_E_NO) {
        return MS_OK;
    }
    r->out->counts.enumerated++;
    status = status == MS_OK ? ms_estimator_bound(r->estimator, &spec, mute, &least) : status;
    if (status != MS_OK) {
        return take_fault(r, status, index, mute);
    }
    status = ms_search_goal_check(goal, &spec, r->diag);
    if (status != MS_OK) {
        return status;
    }
    double values[MS_SEEK_COUNT];
    least.step_s *= 1 - ROUNDING;
    ms_search_bounds(goal, &spec, &least, 0.0, values);
    const ms_open_candidate one = {.index = index, .bound = ms_search_score_of(goal, values)};
    return ms_vector_add(&r->open, &one, 1) == NULL ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Count a candidate that does not fit in memory, whose peak is `peak_B`. */
static void take_too_large(ms_search_state *r, double peak_B) {
    bool is_smallest = r->out->counts.does_not_fit == 0 || peak_B < r->out->smallest_B;
    r->out->smallest_B = is_smallest ? peak_B : r->out->smallest_B;
    r->out->counts.does_not_fit++;
}

/* Count a candidate that is beaten: as pruned if it is possible at all, so that whoever asks which
 * ones are has the same answer with and without pruning.  mute: as for bound_one. */
static ms_status prune_one(ms_search_state *r, int64_t index, ms_diag *mute) {
    ms_job_spec spec;
    double peak_B = 0;
    bool fits = false;
    ms_status status = ms_space_spec(r->study->space, index, mute, &spec);
    status = status == MS_OK ? ms_estimator_fit(r->estimator, &spec, mute, &peak_B, &fits) : status;
    if (status != MS_OK) {
        return take_fault(r, status, index, mute);
    }
    r->out->counts.pruned += fits;
    if (!fits) {
        take_too_large(r, peak_B);
    }
    return MS_OK;
}

/* Estimate a candidate.  mute: as for bound_one. */
static ms_status estimate_one(ms_search_state *r, int64_t index, ms_diag *mute) {
    ms_spec_estimate estimate;
    ms_job_spec spec;
    ms_status status = ms_space_spec(r->study->space, index, mute, &spec);
    status = status == MS_OK ? ms_estimator_run(r->estimator, &spec, mute, &estimate) : status;
    if (status != MS_OK) {
        return take_fault(r, status, index, mute);
    }
    if (!estimate.fits) {
        take_too_large(r, estimate.peak_B);
        return MS_OK;
    }
    return keep_feasible(r, &spec, &estimate, index);
}

/* Call `one` for a candidate, with an empty reason. */
static ms_status do_one(ms_search_state *r, int64_t index,
                        ms_status (*one)(ms_search_state *, int64_t, ms_diag *)) {
    size_t failures = ms_failure_count();
    ms_diag mute;
    ms_diag_init_mute(&mute);
    r->reason.length = 0;
    mute.reason = &r->reason;
    return ms_failure_since(failures, one(r, index, &mute));
}

static int compare_bounds(const void *a, const void *b) {
    const ms_open_candidate *left = a, *right = b;
    int order = ms_search_compare(&left->bound, &right->bound);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Bound all candidates. An interrupt is heard between two of them. */
ms_status ms_search_bound_all(ms_search_state *r) {
    int64_t count = ms_space_count(r->study->space);
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (int64_t index = 0; index < count && status == MS_OK; index++) {
        if (index % PROGRESS_EVERY == 0) {
            ms_search_tell(r, MS_SEARCH_BOUNDING, index, count);
        }
        status = ms_interrupt_noted() != 0 ? MS_E_INTERRUPTED : do_one(r, index, bound_one);
    }
    ms_interrupt_obey();
    if (r->open.count > 0) {
        qsort(r->open.data, r->open.count, sizeof(ms_open_candidate), compare_bounds);
    }
    return status;
}

bool ms_search_is_hopeless(ms_search_state *r, const ms_search_score *bound) {
    return !r->study->is_exhaustive && ms_search_is_beaten(&r->best, bound);
}

ms_status ms_search_estimate_open(ms_search_state *r, bool until_expected) {
    bool waits = until_expected && !r->study->is_exhaustive;
    size_t count = r->open.count, kept = 0;
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (size_t i = 0; i < count; i++) {
        const ms_open_candidate one = MS_AT(&r->open, ms_open_candidate, i);
        if (i % PROGRESS_EVERY == 0) {
            ms_search_tell(r, MS_SEARCH_ESTIMATING, (int64_t)i, (int64_t)count);
        }
        status = status == MS_OK && ms_interrupt_noted() != 0 ? MS_E_INTERRUPTED : status;
        if (status == MS_OK && ms_search_is_hopeless(r, &one.bound)) {
            status = do_one(r, one.index, prune_one);
        } else if (status != MS_OK || (waits && ms_search_is_beaten(&r->expected, &one.bound))) {
            MS_AT(&r->open, ms_open_candidate, kept++) = one;
        } else {
            status = do_one(r, one.index, estimate_one);
        }
    }
    ms_interrupt_obey();
    r->open.count = kept;
    return status;
}
