/* The first two steps of a search (search.c): bounds and estimates of candidates. The bound of a
 * candidate follows from its computations alone and takes little time, so every candidate gets one.
 * An estimate also covers the schedule, the communication and the memory; only candidates whose
 * bounds leave them a chance are estimated. `r` is the state of the search. */
#include "search/search/bounding.h"

#include <stdlib.h>
#include <string.h>

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
static ms_status keep_feasible(ms_search_state *r, const ms_spec_estimate *estimate,
                               int64_t index) {
    const ms_search_goal *goal = r->study->goal;
    ms_job_spec spec;
    ms_status status = ms_space_spec(r->study->space, index, r->diag, &spec);
    if (status != MS_OK) {
        return status;
    }
    double bounds[MS_SEEK_COUNT], expected[MS_SEEK_COUNT];
    ms_price_use least = estimate->least, probable = estimate->least;
    least.step_s *= 1 - ROUNDING;
    probable.step_s = estimate->step_s;
    ms_feasible kept = {.index = index,
                        .estimate_s = estimate->step_s,
                        .bound_s = least.step_s,
                        .peak_B = estimate->peak_B};
    ms_search_bounds(goal, &spec, &least, estimate->peak_B, bounds);
    ms_search_bounds(goal, &spec, &probable, estimate->peak_B, expected);
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
 * job: it is counted as illegal. Any other status ends the search and is reported. */
static ms_status count_fault(ms_search_state *r, const ms_visit *visit) {
    if (visit->status == MS_E_INPUT) {
        r->out->counts.illegal++;
        return ms_reasons_add(&r->illegal, ms_buffer_text(&visit->reason), visit->index);
    }
    ms_diag_error(r->diag, "%s",
                  visit->reason.length > 0 ? ms_buffer_text(&visit->reason)
                                           : ms_status_name(visit->status));
    return visit->status;
}

/* Add a bounded candidate to r->open. A number that stands for the same job as a lower number
 * (MS_E_NO) is not counted. Returns MS_OK, also for an illegal candidate; MS_E_INPUT (reported) if
 * the job lacks something that the goal asks for, such as a price; MS_E_NOMEM. */
static ms_status add_open(ms_search_state *r, const ms_visit *visit) {
    const ms_search_goal *goal = r->study->goal;
    ms_price_use least = visit->found.least;
    ms_job_spec spec;
    if (visit->status == MS_E_NO) {
        return MS_OK;
    }
    r->out->counts.enumerated++;
    if (visit->status != MS_OK) {
        return count_fault(r, visit);
    }
    ms_status status = ms_space_spec(r->study->space, visit->index, r->diag, &spec);
    status = status == MS_OK ? ms_search_goal_check(goal, &spec, r->diag) : status;
    if (status != MS_OK) {
        return status;
    }
    double values[MS_SEEK_COUNT];
    least.step_s *= 1 - ROUNDING;
    ms_search_bounds(goal, &spec, &least, 0.0, values);
    const ms_open_candidate one = {.index = visit->index,
                                   .bound = ms_search_score_of(goal, values)};
    return ms_vector_add(&r->open, &one, 1) == NULL ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Count a candidate that does not fit in memory, and keep the smallest peak of all such candidates.
 * peak_B: memory that the candidate needs on the rank that needs most [B]. */
static void count_too_large(ms_search_state *r, double peak_B) {
    bool is_smallest = r->out->counts.does_not_fit == 0 || peak_B < r->out->smallest_B;
    r->out->smallest_B = is_smallest ? peak_B : r->out->smallest_B;
    r->out->counts.does_not_fit++;
}

/* Record a candidate that was estimated, or only fitted because its bound is beyond the results so
 * far: add it to r->feasible if it was estimated and fits in memory, and count it otherwise. It is
 * counted as pruned only if it is legal and fits, which is found without its estimate. So an
 * exhaustive search counts the same illegal and too large candidates. */
static ms_status record_visit(ms_search_state *r, const ms_visit *visit) {
    if (visit->status != MS_OK) {
        return count_fault(r, visit);
    }
    if (!visit->found.fits) {
        count_too_large(r, visit->found.peak_B);
        return MS_OK;
    }
    r->out->counts.pruned += visit->kind == MS_VISIT_FIT;
    return visit->kind == MS_VISIT_FIT ? MS_OK : keep_feasible(r, &visit->found, visit->index);
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
    ms_visit *window = r->visitors.window;
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (int64_t first = 0; first < count && status == MS_OK;) {
        size_t size = 0;
        for (; size < r->visitors.size && first + (int64_t)size < count; size++) {
            window[size].index = first + (int64_t)size;
            window[size].kind = MS_VISIT_BOUND;
        }
        ms_visitors_run(&r->visitors, size);
        for (size_t i = 0; i < size && status == MS_OK; i++) {
            if (window[i].index % PROGRESS_EVERY == 0) {
                ms_search_report_progress(r, MS_SEARCH_BOUNDING, window[i].index, count);
            }
            status =
                ms_interrupt_pending_signal() != 0 ? MS_E_INTERRUPTED : add_open(r, &window[i]);
        }
        first += (int64_t)size;
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

/* Whether a candidate is left for the second round: its bound is beyond the best estimates so
 * far. */
static bool is_unlikely(ms_search_state *r, const ms_open_candidate *candidate) {
    return ms_search_is_beaten(&r->expected[ms_search_group(r, candidate->index)],
                               &candidate->bound);
}

/* Set the visits of a window: each candidate is pruned, left, or estimated. first: index into
 * r->open of the first of them. Returns their number. */
static size_t choose_visits(ms_search_state *r, size_t first, bool leaves_unlikely) {
    size_t size = 0, estimates = 0;
    for (; size < r->visitors.size && first + size < r->open.count &&
           estimates < r->visitors.estimates_max;
         size++) {
        const ms_open_candidate *candidate = &MS_AT(&r->open, ms_open_candidate, first + size);
        ms_visit *visit = &r->visitors.window[size];
        visit->index = candidate->index;
        visit->kind = ms_search_is_hopeless(r, candidate->index, &candidate->bound) ? MS_VISIT_FIT
                      : leaves_unlikely && is_unlikely(r, candidate)                ? MS_VISIT_NONE
                                                                     : MS_VISIT_ESTIMATE;
        estimates += visit->kind == MS_VISIT_ESTIMATE;
    }
    return size;
}

/* Each candidate is pruned, left in r->open for the second round, or estimated. An estimate of the
 * window shows that a later candidate is unlikely: the visit of that one is then dropped, so that
 * the result does not depend on the size of the window. Interrupts are held back and looked for
 * between two candidates. */
ms_status ms_search_estimate_open(ms_search_state *r, bool until_expected) {
    bool leaves_unlikely = until_expected && !r->study->is_exhaustive;
    size_t count = r->open.count, kept = 0, size = 0;
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (size_t i = 0, first = 0; i < count; i++) {
        if (i == first + size && status == MS_OK) {
            first = i;
            size = choose_visits(r, first, leaves_unlikely);
            ms_visitors_run(&r->visitors, size);
        }
        const ms_open_candidate candidate = MS_AT(&r->open, ms_open_candidate, i);
        if (i % PROGRESS_EVERY == 0) {
            ms_search_report_progress(r, MS_SEARCH_ESTIMATING, (int64_t)i, (int64_t)count);
        }
        /* after an interrupt or a failure the rest stays in r->open, unchanged */
        status = status == MS_OK && ms_interrupt_pending_signal() != 0 ? MS_E_INTERRUPTED : status;
        const ms_visit *visit = status == MS_OK ? &r->visitors.window[i - first] : NULL;
        if (visit == NULL || visit->kind == MS_VISIT_NONE ||
            (visit->kind == MS_VISIT_ESTIMATE && leaves_unlikely && is_unlikely(r, &candidate))) {
            MS_AT(&r->open, ms_open_candidate, kept++) = candidate;
        } else {
            status = record_visit(r, visit);
        }
    }
    ms_interrupt_obey();
    r->open.count = kept;
    return status;
}
