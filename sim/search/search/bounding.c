/* The first two steps of a search (search.c): bounds and estimates of candidates. The bound of a
 * candidate follows from its computations alone and takes little time, so every candidate gets one.
 * An estimate also covers the schedule, the communication and the memory; only candidates whose
 * bounds leave them a chance are estimated. `r` is the state of the search. */
#include "search/search/bounding.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/interrupt.h"

/* Number of candidates between two calls of the study's `progress`. */
enum { PROGRESS_EVERY = 256 };

/* Share by which bounds of a step are lowered. A simulated step that equals its bound except for
 * rounding is then not below the bound. */
static const double ROUNDING = 1e-9;

void ms_search_report_progress(const ms_search_state *r, ms_search_phase phase, int64_t done,
                               int64_t count) {
    const ms_search_progress now = {
        .phase = phase, .done = done, .count = count, .simulated = (int64_t)r->settled};
    if (r->study->progress != NULL) {
        r->study->progress(r->study->context, &now);
    }
}

void ms_search_record_miss(ms_search_state *r, const double *values) {
    ms_search_miss miss = ms_search_miss_of(r->study->goal, values);
    if (r->out->counts.beyond_limits++ == 0 || miss.ratio < r->out->nearest.ratio) {
        r->out->nearest = miss;
    }
}

/* Add an estimated candidate that fits in memory to r->feasible, unless bounds of its quantities
 * are beyond the goal's limits. Its bound is the goal's score with the bound of its step, its
 * estimate the score with the estimated step. */
static ms_status keep_feasible(ms_search_state *r, const ms_job_spec *spec,
                               const ms_spec_estimate *estimate, int64_t index) {
    const ms_search_goal *goal = r->study->goal;
    double bounds[MS_SEEK_COUNT], expected[MS_SEEK_COUNT];
    ms_price_use least = estimate->least, probable = estimate->least;
    least.step_s *= 1 - ROUNDING;
    probable.step_s = estimate->step_s;
    ms_feasible kept = {.index = index,
                        .estimate_s = estimate->step_s,
                        .bound_s = least.step_s,
                        .peak_B = estimate->peak_B};
    ms_search_bounds(goal, spec, &least, estimate->peak_B, bounds);
    ms_search_bounds(goal, spec, &probable, estimate->peak_B, expected);
    kept.bound = ms_search_score_of(goal, bounds);
    kept.estimate = ms_search_score_of(goal, expected);
    if (!ms_search_is_within(goal, bounds)) {
        ms_search_record_miss(r, expected);
        return MS_OK;
    }
    bool has_all =
        ms_vector_add(&r->feasible, &kept, 1) != NULL &&
        ms_search_best_add(&r->expected[ms_search_group(r, index)], &kept.estimate) == MS_OK;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Handle a candidate that could not be bounded or estimated. MS_E_INPUT means that there is no such
 * job: it is counted as illegal. Any other status ends the search and is reported. mute: has the
 * reason, as apply_muted prepares it. */
static ms_status count_fault(ms_search_state *r, ms_status status, int64_t index,
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

/* Bound a candidate and add it to r->open. A number that stands for the same job as a lower number
 * (MS_E_NO) is not counted. mute: collects the reason why there is no such job (apply_muted).
 * Returns MS_OK, also for an illegal candidate; MS_E_INPUT (reported) if the job lacks something
 * that the goal asks for, such as a price; MS_E_NOMEM. */
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
        return count_fault(r, status, index, mute);
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

/* Count a candidate that does not fit in memory, and keep the smallest peak of all such candidates.
 * peak_B: memory that the candidate needs on the rank that needs most [B]. */
static void count_too_large(ms_search_state *r, double peak_B) {
    bool is_smallest = r->out->counts.does_not_fit == 0 || peak_B < r->out->smallest_B;
    r->out->smallest_B = is_smallest ? peak_B : r->out->smallest_B;
    r->out->counts.does_not_fit++;
}

/* Count a candidate whose bound is beyond the results so far. It is counted as pruned only if it is
 * legal and fits in memory, which is checked without its estimate. So an exhaustive search counts
 * the same illegal and too large candidates. mute: as for bound_one. */
static ms_status prune_one(ms_search_state *r, int64_t index, ms_diag *mute) {
    ms_job_spec spec;
    double peak_B = 0;
    bool fits = false;
    ms_status status = ms_space_spec(r->study->space, index, mute, &spec);
    status = status == MS_OK ? ms_estimator_fit(r->estimator, &spec, mute, &peak_B, &fits) : status;
    if (status != MS_OK) {
        return count_fault(r, status, index, mute);
    }
    r->out->counts.pruned += fits;
    if (!fits) {
        count_too_large(r, peak_B);
    }
    return MS_OK;
}

/* Estimate a candidate, and add it to r->feasible if it fits in memory. mute: as for bound_one. */
static ms_status estimate_one(ms_search_state *r, int64_t index, ms_diag *mute) {
    ms_spec_estimate estimate;
    ms_job_spec spec;
    ms_status status = ms_space_spec(r->study->space, index, mute, &spec);
    status = status == MS_OK ? ms_estimator_run(r->estimator, &spec, mute, &estimate) : status;
    if (status != MS_OK) {
        return count_fault(r, status, index, mute);
    }
    if (!estimate.fits) {
        count_too_large(r, estimate.peak_B);
        return MS_OK;
    }
    return keep_feasible(r, &spec, &estimate, index);
}

/* Call `visit` for a candidate with diagnostics that print nothing and collect the first fault in
 * r->reason. A failure of the system during the call, such as a lack of memory, replaces the
 * status: it must not pass for an illegal candidate. */
static ms_status apply_muted(ms_search_state *r, int64_t index,
                             ms_status (*visit)(ms_search_state *, int64_t, ms_diag *)) {
    size_t failures = ms_failure_count();
    ms_diag mute;
    ms_diag_init_mute(&mute);
    r->reason.length = 0;
    mute.reason = &r->reason;
    return ms_failure_since(failures, visit(r, index, &mute));
}

/* Order of two entries of r->open for qsort: the lower bound first, then the lower candidate
 * number. */
static int compare_bounds(const void *a, const void *b) {
    const ms_open_candidate *left = a, *right = b;
    int order = ms_search_compare(&left->bound, &right->bound);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Interrupts are held back and looked for between two candidates. */
ms_status ms_search_bound_all(ms_search_state *r) {
    int64_t count = ms_space_count(r->study->space);
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (int64_t index = 0; index < count && status == MS_OK; index++) {
        if (index % PROGRESS_EVERY == 0) {
            ms_search_report_progress(r, MS_SEARCH_BOUNDING, index, count);
        }
        status = ms_interrupt_pending_signal() != 0 ? MS_E_INTERRUPTED
                                                    : apply_muted(r, index, bound_one);
    }
    ms_interrupt_obey();
    if (r->open.count > 0) {
        qsort(r->open.data, r->open.count, sizeof(ms_open_candidate), compare_bounds);
    }
    return status;
}

size_t ms_search_group(const ms_search_state *r, int64_t index) {
    return r->groups > 1 ? ms_space_platform_of(r->study->space, index) : 0;
}

bool ms_search_is_hopeless(ms_search_state *r, int64_t index, const ms_search_score *bound) {
    return !r->study->is_exhaustive &&
           ms_search_is_beaten(&r->best[ms_search_group(r, index)], bound);
}

/* Each candidate is pruned, left in r->open for the second round, or estimated. Interrupts are held
 * back and looked for between two candidates. */
ms_status ms_search_estimate_open(ms_search_state *r, bool until_expected) {
    bool leaves_unlikely = until_expected && !r->study->is_exhaustive;
    size_t count = r->open.count, kept = 0;
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (size_t i = 0; i < count; i++) {
        const ms_open_candidate candidate = MS_AT(&r->open, ms_open_candidate, i);
        ms_search_best *expected = &r->expected[ms_search_group(r, candidate.index)];
        if (i % PROGRESS_EVERY == 0) {
            ms_search_report_progress(r, MS_SEARCH_ESTIMATING, (int64_t)i, (int64_t)count);
        }
        /* after an interrupt or a failure the rest stays in r->open, unchanged */
        status = status == MS_OK && ms_interrupt_pending_signal() != 0 ? MS_E_INTERRUPTED : status;
        if (status == MS_OK && ms_search_is_hopeless(r, candidate.index, &candidate.bound)) {
            status = apply_muted(r, candidate.index, prune_one);
        } else if (status != MS_OK ||
                   (leaves_unlikely && ms_search_is_beaten(expected, &candidate.bound))) {
            MS_AT(&r->open, ms_open_candidate, kept++) = candidate;
        } else {
            status = apply_muted(r, candidate.index, estimate_one);
        }
    }
    ms_interrupt_obey();
    r->open.count = kept;
    return status;
}
