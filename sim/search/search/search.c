/* Every candidate bounded, the hopeful ones estimated, the best simulated first, the rest left out
 * by their bounds. */
#include <stdlib.h>
#include <string.h>

#include "search/points.h"
#include "search/search/bounding.h"
#include "search/search/rows.h"
#include "search/workers.h"

static int compare_estimates(const void *a, const void *b) {
    const ms_feasible *left = a, *right = b;
    int order = ms_search_compare(&left->estimate, &right->estimate);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* ---- simulating ---- */

void ms_search_take_miss(ms_search_state *r, const double *values) {
    ms_search_miss miss = ms_search_miss_of(r->study->goal, values);
    if (r->out->counts.beyond_limits++ == 0 || miss.ratio < r->out->nearest.ratio) {
        r->out->nearest = miss;
    }
}

/* Take the figures of a candidate that was simulated, in this search or before it. */
static ms_status take_figures(ms_search_state *r, size_t place, const ms_run_figures *figures) {
    const ms_search_goal *goal = r->study->goal;
    double values[MS_SEEK_COUNT];
    ms_job_spec spec;
    ms_feasible *of = &MS_AT(&r->feasible, ms_feasible, place);
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
        ms_search_take_miss(r, values);
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

/* Count a candidate that its simulation refused, or whose simulation failed. */
static ms_status take_refusal(ms_search_state *r, size_t place, ms_status status,
                              const char *reason) {
    bool is_illegal = status == MS_E_INPUT;
    ms_search_counts *counts = &r->out->counts;
    ms_feasible *of = &MS_AT(&r->feasible, ms_feasible, place);
    of->is_over = true;
    counts->illegal += is_illegal;
    counts->failed += !is_illegal;
    if (!is_illegal && r->out->failure == MS_OK) {
        r->out->failure = status;
        ms_point_tell_failure(status, reason, r->diag);
    }
    return ms_reasons_add(is_illegal ? &r->illegal : &r->failed, reason, of->index);
}

/* Whether the store has the result of a candidate; if so, take it: the candidate counts as
 * simulated. */
static bool is_stored(ms_search_state *r, size_t place) {
    const ms_search_study *study = r->study;
    bool is_found = false;
    ms_store_row found;
    if (study->store == NULL) {
        return false;
    }
    char *key = MS_AT(&r->feasible, ms_feasible, place).key;
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

/* Take the results that the store has before anything is simulated: they prune candidates that
 * earlier runs or other shards pruned, too, and that would otherwise be simulated first. */
static ms_status take_stored(ms_search_state *r) {
    size_t count = r->study->store == NULL ? 0 : r->feasible.count;
    for (size_t place = r->next; place < count && r->status == MS_OK; place++) {
        ms_feasible *one = &MS_AT(&r->feasible, ms_feasible, place);
        if (!one->is_settled && !ms_search_is_hopeless(r, &one->bound)) {
            r->status = ms_space_spec(r->study->space, one->index, r->diag, &r->spec);
            one->is_settled = r->status == MS_OK && is_stored(r, place);
        }
    }
    return r->status;
}

/* Remove the candidates of the other shards. Candidates with similar bounds are spread over the
 * shards, so that each shard has about as many that cannot be pruned. */
static void leave_others(ms_search_state *r) {
    const ms_study_shard *shard = r->study->shard;
    size_t kept = 0;
    for (size_t place = 0; shard != NULL && place < r->open.count; place++) {
        bool is_others = (int)(place % (size_t)shard->count) != shard->index;
        r->out->counts.of_others += is_others;
        if (!is_others) {
            MS_AT(&r->open, ms_open_candidate, kept++) = MS_AT(&r->open, ms_open_candidate, place);
        }
    }
    r->open.count = shard != NULL ? kept : r->open.count;
}

static const ms_job_spec *next_job(void *context, size_t *ticket_out) {
    ms_search_state *r = context;
    while (r->status == MS_OK && r->next < r->feasible.count) {
        size_t place = r->next++;
        const ms_feasible *one = &MS_AT(&r->feasible, ms_feasible, place);
        ms_search_tell(r, MS_SEARCH_SIMULATING, (int64_t)place, (int64_t)r->feasible.count);
        if (one->is_settled) {
            continue;
        }
        if (ms_search_is_hopeless(r, &one->bound)) {
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

/* Give the outcome of a simulation to the store. */
static ms_status store(ms_search_state *r, size_t place, const ms_worker_outcome *outcome) {
    const ms_search_study *study = r->study;
    ms_arena scratch;
    ms_words settings;
    ms_buffer text;
    int64_t index = MS_AT(&r->feasible, ms_feasible, place).index;
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
        memcpy(row.key, MS_AT(&r->feasible, ms_feasible, place).key, sizeof row.key);
        ms_point_take_outcome(outcome, study->program, &row);
        status = text.failed ? ms_diag_no_memory(r->diag) : ms_store_hold(study->store, &row);
    }
    ms_buffer_release(&text);
    ms_arena_release(&scratch);
    return status;
}

static ms_status end_job(void *context, size_t place, const ms_worker_outcome *outcome) {
    ms_search_state *r = context;
    if (outcome->status == MS_E_INTERRUPTED) {
        return MS_E_INTERRUPTED; /* says nothing of the job */
    }
    ms_status status = outcome->status == MS_OK
                           ? take_figures(r, place, &outcome->figures)
                           : take_refusal(r, place, outcome->status, outcome->reason);
    status = status == MS_OK ? store(r, place, outcome) : status;
    return status == MS_OK ? r->status : status;
}

/* Put the rows that the store holds on the disk. */
static ms_status settle(void *context, double *wait_s_out) {
    ms_search_state *r = context;
    double wait_s = ms_store_wait_s(r->study->store);
    if (wait_s_out != NULL) {
        *wait_s_out = wait_s;
        if (wait_s > 0) {
            return MS_OK;
        }
    }
    r->settled = r->simulated.count;
    return ms_store_settle(r->study->store);
}

/* Begin to share, with those who search the same candidates for as many of the best. */
static ms_status share(ms_search_state *r) {
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
        const ms_open_candidate *one = &MS_AT(&r->open, ms_open_candidate, i);
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

/* Sort the estimated candidates that were not handed to a worker yet: the best estimate is
 * simulated first. */
static void sort_feasible(ms_search_state *r) {
    if (r->feasible.count > r->next) {
        qsort(&MS_AT(&r->feasible, ms_feasible, r->next), r->feasible.count - r->next,
              sizeof(ms_feasible), compare_estimates);
    }
}

static ms_status simulate(ms_search_state *r) {
    const ms_worker_feed feed = {.next = next_job, .done = end_job, .settle = settle, .context = r};
    const ms_workers_options options = {.jobs = r->study->jobs};
    sort_feasible(r);
    if (r->next == r->feasible.count) {
        return r->status;
    }
    ms_status status = ms_workers_stream(&feed, &options, r->arena, r->diag);
    return status == MS_OK ? r->status : status;
}

/* Estimate what may be among the best, and simulate it; then the rest that what was simulated does
 * not beat, which is little. What the store has counts as simulated: where it has as many as are
 * wanted, the rest is estimated before anything is simulated, as a search that is over already has
 * simulated all that is not beaten, and no more. */
static ms_status find_best(ms_search_state *r) {
    ms_status status = ms_search_bound_all(r);
    status = status == MS_OK ? share(r) : status;
    if (status != MS_OK) {
        return status;
    }
    leave_others(r);
    for (bool is_first = true; status == MS_OK; is_first = false) {
        status = ms_search_estimate_open(r, is_first);
        ms_status stored = take_stored(r); /* an interrupted search shows it, too */
        status = status == MS_OK ? stored : status;
        bool is_known = is_first && ms_search_best_is_full(&r->best);
        status = status == MS_OK && !is_known ? simulate(r) : status;
        if (!is_first) {
            break;
        }
    }
    int64_t count = (int64_t)r->feasible.count;
    ms_search_tell(r, MS_SEARCH_SIMULATING, count, count);
    return status;
}

/* ---- the result ---- */

/* Add the candidates that were estimated and not simulated behind `count` rows, as many as the
 * study lists. Returns how many rows there are now. */
static size_t add_estimated(ms_search_state *r, ms_search_row *rows, size_t count) {
    size_t room = count + (size_t)r->study->rest_max;
    if (r->feasible.count > 0) {
        qsort(r->feasible.data, r->feasible.count, sizeof(ms_feasible), compare_estimates);
    }
    for (size_t i = 0; i < r->feasible.count; i++) {
        const ms_feasible *one = &MS_AT(&r->feasible, ms_feasible, i);
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

static ms_status make_rows(ms_search_state *r) {
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

/* Find the best candidate by its estimate, for a search that was interrupted before anything was
 * simulated. */
static ms_status make_expected(ms_search_state *r) {
    const ms_feasible *best = NULL;
    for (size_t i = 0; i < r->feasible.count; i++) {
        const ms_feasible *one = &MS_AT(&r->feasible, ms_feasible, i);
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

static ms_status conclude(ms_search_state *r) {
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
    ms_search_state r = {.study = study, .arena = arena, .diag = diag, .out = result_out};
    if (ms_search_best_init(&r.best, study->goal, (size_t)study->top, arena) != MS_OK ||
        ms_search_best_init(&r.expected, study->goal, (size_t)study->top, arena) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    r.estimator = ms_estimator_new(arena);
    ms_buffer_init(&r.reason);
    ms_vector_init(&r.open, sizeof(ms_open_candidate));
    ms_vector_init(&r.feasible, sizeof(ms_feasible));
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
