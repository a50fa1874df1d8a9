/* Every candidate bounded, the hopeful ones estimated, the best simulated first, the rest left out
 * by their bounds. */
#include "meshsim/search.h"

#include <stdlib.h>
#include <string.h>

#include "meshsim/estimate.h"
#include "meshsim/failure.h"
#include "meshsim/interrupt.h"
#include "meshsim/points.h"
#include "meshsim/workers.h"
#include "study/search/best.h"
#include "study/search/reasons.h"
#include "study/search/rows.h"

/* Candidates between two calls of the study's progress. */
enum { PROGRESS_EVERY = 256 };

/* How much lower than a bound a simulated step may be that is equal to it but for rounding. */
static const double ROUNDING = 1e-9;

/* A candidate that is not estimated yet. */
typedef struct open_candidate {
    int64_t index;
    ms_search_score bound; /* from its computations alone */
} open_candidate;

/* A candidate that fits in memory. */
typedef struct feasible {
    int64_t index;
    double estimate_s, bound_s, peak_B;
    ms_search_score estimate, bound; /* by which they are ordered, and left out */
    bool is_settled;                 /* the store has it */
    bool is_over;                    /* it was simulated, or refused */
    char key[MS_SHA256_HEX];         /* with a store, once it is looked for there */
} feasible;

typedef struct search_run {
    const ms_search_study *study;
    ms_arena *arena;
    ms_diag *diag;
    ms_search_findings *out;
    ms_estimator *estimator;
    ms_buffer reason;    /* why the candidate at hand is refused */
    ms_vector open;      /* of open_candidate, lowest bounds first */
    ms_vector feasible;  /* of feasible, those from `next` on by their estimates */
    ms_vector simulated; /* of ms_search_row, those that fit */
    size_t settled;      /* of them, in the store where there is one */
    ms_reasons illegal, failed;
    ms_search_best best, expected; /* of what was simulated; by the estimates */
    size_t next;                   /* feasible ones below are given, found or left out */
    ms_job_spec spec;              /* the one that is given now */
    ms_shared_best shared;         /* of a shard: what the others have found */
    ms_status status;              /* of `next_job`, which has no other way to tell */
} search_run;

static void tell_progress(const search_run *r, ms_search_phase phase, int64_t done, int64_t count) {
    const ms_search_progress now = {
        .phase = phase, .done = done, .count = count, .simulated = (int64_t)r->settled};
    if (r->study->progress != NULL) {
        r->study->progress(r->study->context, &now);
    }
}

/* ---- bounding and estimating ---- */

static ms_search_score bound_score(const ms_search_goal *goal, const ms_job_spec *spec,
                                   const ms_price_use *least) {
    double values[MS_SEEK_COUNT];
    ms_search_bounds(goal, spec, least, 0.0, values);
    return ms_search_score_of(goal, values);
}

/* Keep one that fits, unless its bounds are beyond what the goal allows. */
static ms_status keep_feasible(search_run *r, const ms_job_spec *spec,
                               const ms_spec_estimate *estimate, int64_t index) {
    const ms_search_goal *goal = r->study->goal;
    double values[MS_SEEK_COUNT], expected[MS_SEEK_COUNT];
    ms_price_use least = estimate->least, probable = estimate->least;
    least.step_s *= 1 - ROUNDING;
    probable.step_s = estimate->step_s;
    feasible one = {.index = index,
                    .estimate_s = estimate->step_s,
                    .bound_s = least.step_s,
                    .peak_B = estimate->peak_B};
    ms_search_bounds(goal, spec, &least, estimate->peak_B, values);
    ms_search_bounds(goal, spec, &probable, estimate->peak_B, expected);
    one.bound = ms_search_score_of(goal, values);
    one.estimate = ms_search_score_of(goal, expected);
    if (!ms_search_is_within(goal, values)) {
        r->out->counts.beyond_limits++;
        return MS_OK;
    }
    bool has_all = ms_vector_add(&r->feasible, &one, 1) != NULL &&
                   ms_search_best_take(&r->expected, &one.estimate) == MS_OK;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* What refuses a candidate counts it as illegal; all else ends the search.  mute: has heard why. */
static ms_status take_fault(search_run *r, ms_status status, int64_t index, const ms_diag *mute) {
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

/* Bound a candidate from its computations.  mute: its reason is empty; gets why there is no such
 * job. */
static ms_status bound_one(search_run *r, int64_t index, ms_diag *mute) {
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
    least.step_s *= 1 - ROUNDING;
    const open_candidate one = {.index = index, .bound = bound_score(goal, &spec, &least)};
    return ms_vector_add(&r->open, &one, 1) == NULL ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Count one that does not fit. */
static void take_too_large(search_run *r, double peak_B) {
    bool is_smallest = r->out->counts.does_not_fit == 0 || peak_B < r->out->smallest_B;
    r->out->smallest_B = is_smallest ? peak_B : r->out->smallest_B;
    r->out->counts.does_not_fit++;
}

/* Count a candidate that is beaten: as pruned if it is possible at all, so that whoever asks which
 * ones are has the same answer with and without pruning.  mute: as for bound_one. */
static ms_status prune_one(search_run *r, int64_t index, ms_diag *mute) {
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
static ms_status estimate_one(search_run *r, int64_t index, ms_diag *mute) {
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

/* Do something with a open_candidate, with an empty reason. */
static ms_status do_one(search_run *r, int64_t index,
                        ms_status (*one)(search_run *, int64_t, ms_diag *)) {
    size_t failures = ms_failure_count();
    ms_diag mute;
    ms_diag_init_mute(&mute);
    r->reason.length = 0;
    mute.reason = &r->reason;
    return ms_failure_since(failures, one(r, index, &mute));
}

static int compare_bounds(const void *a, const void *b) {
    const open_candidate *left = a, *right = b;
    int order = ms_search_compare(&left->bound, &right->bound);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Bound all candidates. An interrupt is heard between two of them. */
static ms_status bound_all(search_run *r) {
    int64_t count = ms_space_count(r->study->space);
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (int64_t index = 0; index < count && status == MS_OK; index++) {
        if (index % PROGRESS_EVERY == 0) {
            tell_progress(r, MS_SEARCH_BOUNDING, index, count);
        }
        status = ms_interrupt_noted() != 0 ? MS_E_INTERRUPTED : do_one(r, index, bound_one);
    }
    ms_interrupt_obey();
    if (r->open.count > 0) {
        qsort(r->open.data, r->open.count, sizeof(open_candidate), compare_bounds);
    }
    return status;
}

/* Whether a candidate cannot be among the wanted ones any more. */
static bool is_beaten(search_run *r, const ms_search_score *bound) {
    return !r->study->is_exhaustive && ms_search_is_beaten(&r->best, bound);
}

/* Estimate the open candidates that are not beaten, those of the lowest bounds first.
 * until_expected: those stay open whose bounds are beyond the estimates of as many as are wanted,
 * as what will be simulated soon is likely to beat them. */
static ms_status estimate_open(search_run *r, bool until_expected) {
    bool waits = until_expected && !r->study->is_exhaustive;
    size_t count = r->open.count, kept = 0;
    ms_status status = MS_OK;
    ms_interrupt_hold();
    for (size_t i = 0; i < count; i++) {
        const open_candidate one = MS_AT(&r->open, open_candidate, i);
        if (i % PROGRESS_EVERY == 0) {
            tell_progress(r, MS_SEARCH_ESTIMATING, (int64_t)i, (int64_t)count);
        }
        status = status == MS_OK && ms_interrupt_noted() != 0 ? MS_E_INTERRUPTED : status;
        if (status == MS_OK && is_beaten(r, &one.bound)) {
            status = do_one(r, one.index, prune_one);
        } else if (status != MS_OK || (waits && ms_search_is_beaten(&r->expected, &one.bound))) {
            MS_AT(&r->open, open_candidate, kept++) = one;
        } else {
            status = do_one(r, one.index, estimate_one);
        }
    }
    ms_interrupt_obey();
    r->open.count = kept;
    return status;
}

static int compare_estimates(const void *a, const void *b) {
    const feasible *left = a, *right = b;
    int order = ms_search_compare(&left->estimate, &right->estimate);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* ---- simulating ---- */

/* What came of one that was simulated, now or before. */
static ms_status take_figures(search_run *r, size_t place, const ms_run_figures *figures) {
    const ms_search_goal *goal = r->study->goal;
    double values[MS_SEEK_COUNT];
    ms_job_spec spec;
    feasible *of = &MS_AT(&r->feasible, feasible, place);
    of->is_over = true;
    if (!figures->fits) {
        r->out->counts.does_not_fit++;
        return MS_OK;
    }
    ms_status status = ms_space_spec(r->study->space, of->index, r->diag, &spec);
    if (status != MS_OK) {
        return status;
    }
    ms_search_values(goal, &spec, figures, values);
    if (!ms_search_is_within(goal, values)) {
        r->out->counts.beyond_limits++;
        return MS_OK;
    }
    const ms_search_row one = {.index = of->index,
                               .is_simulated = true,
                               .score = ms_search_score_of(goal, values),
                               .figures = *figures,
                               .estimate_s = of->estimate_s,
                               .bound_s = of->bound_s};
    r->out->counts.simulated++;
    status = ms_search_best_take(&r->best, &one.score);
    bool has_all = status == MS_OK && ms_vector_add(&r->simulated, &one, 1) != NULL;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* What a job that a simulation refused, or that failed, counts as. */
static ms_status take_refusal(search_run *r, size_t place, ms_status status, const char *reason) {
    bool is_illegal = status == MS_E_INPUT;
    ms_search_counts *counts = &r->out->counts;
    feasible *of = &MS_AT(&r->feasible, feasible, place);
    of->is_over = true;
    counts->illegal += is_illegal;
    counts->failed += !is_illegal;
    if (!is_illegal && r->out->failure == MS_OK) {
        r->out->failure = status;
        ms_point_tell_failure(status, reason, r->diag);
    }
    return ms_reasons_add(is_illegal ? &r->illegal : &r->failed, reason, of->index);
}

/* Whether the store has a candidate already; then it counts as simulated. */
static bool is_stored(search_run *r, size_t place) {
    const ms_search_study *study = r->study;
    bool is_found = false;
    ms_store_row found;
    if (study->store == NULL) {
        return false;
    }
    char *key = MS_AT(&r->feasible, feasible, place).key;
    r->status = ms_store_key(&r->spec, study->program, r->diag, key);
    if (r->status == MS_OK) {
        r->status = ms_store_find(study->store, key, r->arena, &found, &is_found);
    }
    if (r->status == MS_OK && is_found) {
        r->status = found.reason == NULL ? take_figures(r, place, &found.figures)
                                         : take_refusal(r, place, MS_E_INPUT, found.reason);
    }
    return is_found;
}

/* Take what the store has, before anything is simulated: it was simulated with the knowledge of
 * what is best, and without it one would begin with candidates that shards have left out. */
static ms_status take_stored(search_run *r) {
    size_t count = r->study->store == NULL ? 0 : r->feasible.count;
    for (size_t place = r->next; place < count && r->status == MS_OK; place++) {
        feasible *one = &MS_AT(&r->feasible, feasible, place);
        if (!one->is_settled && !is_beaten(r, &one->bound)) {
            r->status = ms_space_spec(r->study->space, one->index, r->diag, &r->spec);
            one->is_settled = r->status == MS_OK && is_stored(r, place);
        }
    }
    return r->status;
}

/* Leave to the other shards what is theirs: candidates of similar bounds are spread, so that each
 * has about as many that cannot be left out. */
static void leave_others(search_run *r) {
    const ms_study_shard *shard = r->study->shard;
    size_t kept = 0;
    for (size_t place = 0; shard != NULL && place < r->open.count; place++) {
        bool is_others = (int)(place % (size_t)shard->count) != shard->index;
        r->out->counts.of_others += is_others;
        if (!is_others) {
            MS_AT(&r->open, open_candidate, kept++) = MS_AT(&r->open, open_candidate, place);
        }
    }
    r->open.count = shard != NULL ? kept : r->open.count;
}

static const ms_job_spec *next_job(void *context, size_t *ticket_out) {
    search_run *r = context;
    while (r->status == MS_OK && r->next < r->feasible.count) {
        size_t place = r->next++;
        const feasible *one = &MS_AT(&r->feasible, feasible, place);
        tell_progress(r, MS_SEARCH_SIMULATING, (int64_t)place, (int64_t)r->feasible.count);
        if (one->is_settled) {
            continue;
        }
        if (is_beaten(r, &one->bound)) {
            r->out->counts.pruned++;
            continue;
        }
        r->status = ms_space_spec(r->study->space, one->index, r->diag, &r->spec);
        if (r->status == MS_OK && !is_stored(r, place) && r->status == MS_OK) {
            *ticket_out = place;
            return &r->spec;
        }
    }
    return NULL;
}

/* Let the store hold what came of a simulation. */
static ms_status store(search_run *r, size_t place, const ms_worker_outcome *outcome) {
    const ms_search_study *study = r->study;
    ms_arena scratch;
    ms_words settings;
    ms_buffer text;
    int64_t index = MS_AT(&r->feasible, feasible, place).index;
    if (study->store == NULL || (outcome->status != MS_OK && outcome->status != MS_E_INPUT)) {
        return MS_OK;
    }
    ms_arena_init(&scratch);
    ms_buffer_init(&text);
    ms_job_spec spec;
    ms_status status = ms_space_spec(study->space, index, r->diag, &spec);
    status = status == MS_OK ? ms_space_settings(study->space, index, &scratch, &settings) : status;
    if (status == MS_OK) {
        ms_point_write_settings(&settings, &text);
        ms_store_row row = {.workload = spec.name == NULL ? "" : spec.name,
                            .platform = spec.platform.cluster->name,
                            .gpus = ms_spec_ranks(&spec),
                            .settings = ms_buffer_text(&text)};
        memcpy(row.key, MS_AT(&r->feasible, feasible, place).key, sizeof row.key);
        ms_point_take_outcome(outcome, study->program, &row);
        status = text.failed ? ms_diag_no_memory(r->diag) : ms_store_hold(study->store, &row);
    }
    ms_buffer_release(&text);
    ms_arena_release(&scratch);
    return status;
}

static ms_status end_job(void *context, size_t place, const ms_worker_outcome *outcome) {
    search_run *r = context;
    if (outcome->status == MS_E_INTERRUPTED) {
        return MS_E_INTERRUPTED; /* says nothing of the job */
    }
    ms_status status = outcome->status == MS_OK
                           ? take_figures(r, place, &outcome->figures)
                           : take_refusal(r, place, outcome->status, outcome->reason);
    status = status == MS_OK ? store(r, place, outcome) : status;
    return status == MS_OK ? r->status : status;
}

/* Put what the store holds. */
static ms_status settle_now(search_run *r) {
    ms_status status = r->study->store == NULL ? MS_OK : ms_store_settle(r->study->store);
    r->settled = r->simulated.count;
    return status;
}

static ms_status settle(void *context, double *wait_s_out) {
    search_run *r = context;
    *wait_s_out = r->study->store == NULL ? 0 : ms_store_wait_s(r->study->store);
    return *wait_s_out > 0 ? MS_OK : settle_now(r);
}

/* Begin to share, with those who search the same candidates for as many of the best. */
static ms_status share(search_run *r) {
    const ms_search_study *study = r->study;
    ms_buffer what;
    if (study->share == NULL || study->goal->objective_count > 1) {
        return MS_OK;
    }
    ms_buffer_init(&what);
    ms_buffer_printf(&what, "%s\n%d\n%d %.17g\n", study->program, study->top,
                     (int)study->goal->objectives[0], study->goal->training_tokens);
    ms_buffer_add(&what, (const char *)study->goal->limits, sizeof study->goal->limits);
    for (size_t i = 0; i < r->open.count; i++) {
        const open_candidate *one = &MS_AT(&r->open, open_candidate, i);
        ms_buffer_add(&what, (const char *)&one->index, sizeof one->index);
        ms_buffer_add(&what, (const char *)one->bound.of, sizeof one->bound.of);
    }
    ms_status status =
        what.failed ? MS_E_NOMEM
                    : ms_shared_best_open(study->share, study->shard, ms_buffer_text(&what),
                                          what.length, (size_t)study->top, r->arena, &r->shared);
    ms_buffer_release(&what);
    r->best.shared = status == MS_OK ? &r->shared : NULL;
    return status == MS_E_NOMEM ? ms_diag_no_memory(r->diag) : status;
}

/* Bring what is estimated and not given yet into the order in which it is simulated. */
static void sort_feasible(search_run *r) {
    if (r->feasible.count > r->next) {
        qsort(&MS_AT(&r->feasible, feasible, r->next), r->feasible.count - r->next,
              sizeof(feasible), compare_estimates);
    }
}

static ms_status simulate(search_run *r) {
    const ms_worker_feed feed = {.next = next_job, .done = end_job, .settle = settle, .context = r};
    const ms_workers_options options = {.jobs = r->study->jobs};
    sort_feasible(r);
    if (r->next == r->feasible.count) {
        return r->status;
    }
    ms_status status = ms_workers_stream(&feed, &options, r->arena, r->diag);
    ms_status rest = settle_now(r); /* what had ended when an interrupt or a failure came */
    status = status == MS_OK || (status == MS_E_INTERRUPTED && rest != MS_OK) ? rest : status;
    return status == MS_OK ? r->status : status;
}

/* Estimate what may be among the best, and simulate it; then the rest that what was simulated does
 * not beat, which is little. What the store has counts as simulated: where it has as many as are
 * wanted, the rest is estimated before anything is simulated, as a search that is over already has
 * simulated all that is not beaten, and no more. */
static ms_status find_best(search_run *r) {
    ms_status status = bound_all(r);
    status = status == MS_OK ? share(r) : status;
    if (status != MS_OK) {
        return status;
    }
    leave_others(r);
    for (bool is_first = true; status == MS_OK; is_first = false) {
        status = estimate_open(r, is_first);
        ms_status stored = take_stored(r); /* an interrupted search shows it, too */
        status = status == MS_OK ? stored : status;
        bool is_known = is_first && ms_search_best_is_full(&r->best);
        status = status == MS_OK && !is_known ? simulate(r) : status;
        if (!is_first) {
            break;
        }
    }
    int64_t count = (int64_t)r->feasible.count;
    tell_progress(r, MS_SEARCH_SIMULATING, count, count);
    return status;
}

/* ---- what came of it ---- */

/* Those that were estimated and not simulated, as far as there is room for them, after `count`
 * rows. Returns how many rows there are now. */
static size_t add_estimated(search_run *r, ms_search_row *rows, size_t count) {
    size_t room = count + (size_t)r->study->rest_max;
    if (r->feasible.count > 0) {
        qsort(r->feasible.data, r->feasible.count, sizeof(feasible), compare_estimates);
    }
    for (size_t i = 0; i < r->feasible.count; i++) {
        const feasible *one = &MS_AT(&r->feasible, feasible, i);
        r->out->estimated += !one->is_over;
        if (!one->is_over && count < room) {
            rows[count++] = (ms_search_row){.index = one->index,
                                            .figures.peak_B = one->peak_B,
                                            .estimate_s = one->estimate_s,
                                            .bound_s = one->bound_s};
        }
    }
    return count;
}

static ms_status make_rows(search_run *r) {
    size_t count = r->simulated.count;
    ms_search_row *rows = MS_NEW(r->arena, ms_search_row, count + (size_t)r->study->rest_max);
    if (rows == NULL) {
        return count == 0 && r->study->rest_max == 0 ? MS_OK : MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = MS_AT(&r->simulated, ms_search_row, i);
    }
    return ms_search_make_rows(r->study, rows, (size_t[]){count, add_estimated(r, rows, count)},
                               r->arena, r->diag, r->out);
}

/* The best by its estimate, for who has interrupted a search before anything was simulated. */
static ms_status make_expected(search_run *r) {
    const feasible *best = NULL;
    for (size_t i = 0; i < r->feasible.count; i++) {
        const feasible *one = &MS_AT(&r->feasible, feasible, i);
        best = best == NULL || compare_estimates(one, best) < 0 ? one : best;
    }
    if (best == NULL || !r->out->is_partial || r->out->row_count > 0) {
        return MS_OK;
    }
    ms_search_row *row = MS_NEW(r->arena, ms_search_row, 1);
    if (row == NULL) {
        return MS_E_NOMEM;
    }
    *row = (ms_search_row){
        .index = best->index, .estimate_s = best->estimate_s, .bound_s = best->bound_s};
    r->out->expected = row;
    ms_status status = ms_space_spec(r->study->space, row->index, r->diag, &row->spec);
    return status == MS_OK
               ? ms_space_settings(r->study->space, row->index, r->arena, &row->settings)
               : status;
}

static ms_status conclude(search_run *r) {
    ms_space *space = r->study->space;
    ms_search_findings *out = r->out;
    ms_status status = make_rows(r);
    status = status == MS_OK ? make_expected(r) : status;
    if (status == MS_OK) {
        status = ms_reasons_list(&r->illegal, space, r->arena, &out->illegal, &out->illegal_count);
    }
    if (status == MS_OK) {
        status = ms_reasons_list(&r->failed, space, r->arena, &out->failed, &out->failed_count);
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(r->diag) : status;
}

ms_status ms_search_run(const ms_search_study *study, ms_arena *arena, ms_diag *diag,
                        ms_search_findings *result_out) {
    *result_out = (ms_search_findings){.failure = MS_OK};
    search_run r = {.study = study, .arena = arena, .diag = diag, .out = result_out};
    if (ms_search_best_init(&r.best, study->goal, (size_t)study->top, arena) != MS_OK ||
        ms_search_best_init(&r.expected, study->goal, (size_t)study->top, arena) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    r.estimator = ms_estimator_new(arena);
    ms_buffer_init(&r.reason);
    ms_vector_init(&r.open, sizeof(open_candidate));
    ms_vector_init(&r.feasible, sizeof(feasible));
    ms_vector_init(&r.simulated, sizeof(ms_search_row));
    ms_reasons_init(&r.illegal, arena);
    ms_reasons_init(&r.failed, arena);
    ms_status status = r.estimator == NULL ? ms_diag_no_memory(diag) : find_best(&r);
    if (status == MS_OK || status == MS_E_INTERRUPTED) {
        result_out->is_partial = status != MS_OK;
        ms_status end = conclude(&r);
        status = end == MS_OK ? status : end;
    }
    ms_estimator_free(r.estimator);
    ms_buffer_release(&r.reason);
    ms_search_best_release(&r.best);
    ms_search_best_release(&r.expected);
    ms_vector_release(&r.open);
    ms_vector_release(&r.feasible);
    ms_vector_release(&r.simulated);
    ms_reasons_release(&r.illegal);
    ms_reasons_release(&r.failed);
    return status;
}
