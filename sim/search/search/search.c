/* The run of a search (search.h): finds the best candidates of a space of jobs. Steps: bound every
 * candidate (bounding.c), estimate those whose bounds leave them a chance, simulate the best
 * estimates first, and prune every candidate whose bound is above the results that are wanted. A
 * candidate is one job of the space, known by its number (`index`). A bound is a value of the goal
 * that no simulation of the candidate is below. In this file `r` is the state of the search, and
 * `slot` an index into r->feasible, the candidates that were estimated and fit in memory. */
#include <stdlib.h>
#include <string.h>

#include "search/points.h"
#include "search/search/bounding.h"
#include "search/search/rows.h"
#include "search/workers.h"

/* Order of two entries of r->feasible for qsort: the lower estimate first, then the lower candidate
 * number, so that the order is the same in every run. */
static int compare_estimates(const void *a, const void *b) {
    const ms_feasible *left = a, *right = b;
    int order = ms_search_compare(&left->estimate, &right->estimate);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* ---- simulating ---- */

/* Record the figures of a candidate's simulation, which was run in this search or found in the
 * store: count the candidate, and where it fits in memory and keeps the goal's limits, add its row
 * and its score. slot: index into r->feasible. Returns MS_OK; MS_E_NOMEM (reported); as
 * ms_space_spec. */
static ms_status record_figures(ms_search_state *r, size_t slot, const ms_run_figures *figures) {
    const ms_search_goal *goal = r->study->goal;
    double values[MS_SEEK_COUNT];
    ms_job_spec spec;
    ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, slot);
    candidate->is_over = true;
    if (!figures->fits) { /* although its estimate fits */
        r->out->counts.does_not_fit++;
        return MS_OK;
    }
    ms_status status = ms_space_spec(r->study->space, candidate->index, r->diag, &spec);
    if (status != MS_OK) {
        return status;
    }
    ms_search_values(goal, &spec, figures, values);
    if (!ms_search_is_within(goal, values)) {
        ms_search_record_miss(r, values);
        return MS_OK;
    }
    const ms_search_row row = {.index = candidate->index,
                               .is_simulated = true,
                               .score = ms_search_score_of(goal, values),
                               .figures = *figures,
                               .estimate_s = candidate->estimate_s,
                               .bound_s = candidate->bound_s};
    r->out->counts.simulated++;
    status = ms_search_best_add(&r->best[ms_search_group(r, row.index)], &row.score);
    bool has_all = status == MS_OK && ms_vector_add(&r->simulated, &row, 1) != NULL;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Count a candidate whose job the simulation refused (status MS_E_INPUT), or whose simulation
 * failed (any other status), with its reason. The first failure is reported and kept as the failure
 * of the search. slot: index into r->feasible. Returns MS_OK; MS_E_NOMEM. */
static ms_status record_refusal(ms_search_state *r, size_t slot, ms_status status,
                                const char *reason) {
    bool is_illegal = status == MS_E_INPUT;
    ms_search_counts *counts = &r->out->counts;
    ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, slot);
    candidate->is_over = true;
    counts->illegal += is_illegal;
    counts->failed += !is_illegal;
    if (!is_illegal && r->out->failure == MS_OK) {
        r->out->failure = status;
        ms_point_report_failure(status, reason, r->diag);
    }
    return ms_reasons_add(is_illegal ? &r->illegal : &r->failed, reason, candidate->index);
}

/* Look for the result of a candidate in the store, and record the result as if the candidate had
 * been simulated now. slot: index into r->feasible, whose spec is in r->spec. Returns whether the
 * store has the result; a failure is in r->status. */
static bool use_stored_result(ms_search_state *r, size_t slot) {
    const ms_search_study *study = r->study;
    bool is_found = false;
    ms_store_row found;
    if (study->store == NULL) {
        return false;
    }
    char *key = MS_AT(&r->feasible, ms_feasible, slot).key;
    r->status = ms_store_key(&r->spec, study->program, r->diag, key);
    if (r->status == MS_OK) {
        r->status = ms_store_find(study->store, key, r->arena, &found, &is_found);
    }
    if (r->status == MS_OK && is_found) {
        r->status = found.reason == NULL ? record_figures(r, slot, &found.figures)
                                         : record_refusal(r, slot, MS_E_INPUT, found.reason);
    }
    return is_found;
}

/* Record the stored results of all candidates in r->feasible that are not simulated yet, before any
 * simulation starts. The results of earlier runs and of other shards then prune as many candidates
 * as they did there, instead of being met one by one between simulations. Returns r->status. */
static ms_status use_stored_results(ms_search_state *r) {
    size_t count = r->study->store == NULL ? 0 : r->feasible.count;
    for (size_t slot = r->next; slot < count && r->status == MS_OK; slot++) {
        ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, slot);
        if (!candidate->is_settled &&
            !ms_search_is_hopeless(r, candidate->index, &candidate->bound)) {
            r->status = ms_space_spec(r->study->space, candidate->index, r->diag, &r->spec);
            candidate->is_settled = r->status == MS_OK && use_stored_result(r, slot);
        }
    }
    return r->status;
}

/* Remove the candidates of the other shards from r->open, which is sorted by bounds: shard I of N
 * keeps every N-th candidate from the I-th on. So each shard has about as many candidates with low
 * bounds, which cannot be pruned. */
static void remove_other_shards(ms_search_state *r) {
    const ms_study_shard *shard = r->study->shard;
    size_t kept = 0;
    for (size_t slot = 0; shard != NULL && slot < r->open.count; slot++) {
        bool is_others = (int)(slot % (size_t)shard->count) != shard->index;
        r->out->counts.of_others += is_others;
        if (!is_others) {
            MS_AT(&r->open, ms_open_candidate, kept++) = MS_AT(&r->open, ms_open_candidate, slot);
        }
    }
    r->open.count = shard != NULL ? kept : r->open.count;
}

/* `next` of ms_worker_feed: the spec of the next candidate to simulate, in the order of
 * r->feasible. Candidates whose results are stored, and candidates that the results so far prune,
 * are passed over. *ticket_out: index into r->feasible. Returns NULL at the end of the list or
 * after a failure (r->status). */
static const ms_job_spec *next_job(void *context, size_t *ticket_out) {
    ms_search_state *r = context;
    while (r->status == MS_OK && r->next < r->feasible.count) {
        size_t slot = r->next++;
        const ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, slot);
        ms_search_report_progress(r, MS_SEARCH_SIMULATING, (int64_t)slot,
                                  (int64_t)r->feasible.count);
        if (candidate->is_settled) {
            continue;
        }
        if (ms_search_is_hopeless(r, candidate->index, &candidate->bound)) {
            r->out->counts.pruned++;
            continue;
        }
        r->status = ms_space_spec(r->study->space, candidate->index, r->diag, &r->spec);
        /* asks the store once more: another process may have put the result there meanwhile */
        if (r->status == MS_OK && !use_stored_result(r, slot) && r->status == MS_OK) {
            *ticket_out = slot;
            return &r->spec;
        }
    }
    return NULL;
}

/* Hand the outcome of a simulation to the store, which holds the row in memory until
 * write_held_rows. Only results and refusals are kept: a crash or a lack of memory may not happen
 * again. slot: index into r->feasible. Returns MS_OK; MS_E_NOMEM (reported); as ms_space_spec. */
static ms_status hold_in_store(ms_search_state *r, size_t slot, const ms_worker_outcome *outcome) {
    const ms_search_study *study = r->study;
    ms_arena scratch;
    ms_words settings;
    ms_buffer text;
    int64_t index = MS_AT(&r->feasible, ms_feasible, slot).index;
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
        memcpy(row.key, MS_AT(&r->feasible, ms_feasible, slot).key, sizeof row.key);
        ms_point_fill_row(outcome, study->program, &row);
        status = text.failed ? ms_diag_no_memory(r->diag) : ms_store_queue(study->store, &row);
    }
    ms_buffer_release(&text);
    ms_arena_release(&scratch);
    return status;
}

/* `done` of ms_worker_feed: record the outcome of a candidate's simulation and hand it to the
 * store. slot: ticket of next_job, an index into r->feasible. */
static ms_status end_job(void *context, size_t slot, const ms_worker_outcome *outcome) {
    ms_search_state *r = context;
    if (outcome->status == MS_E_INTERRUPTED) {
        return MS_E_INTERRUPTED; /* the job itself has no outcome */
    }
    ms_status status = outcome->status == MS_OK
                           ? record_figures(r, slot, &outcome->figures)
                           : record_refusal(r, slot, outcome->status, outcome->reason);
    status = status == MS_OK ? hold_in_store(r, slot, outcome) : status;
    return status == MS_OK ? r->status : status;
}

/* `settle` of ms_worker_feed: write the rows that the store holds to the disk, unless they should
 * wait for more rows. *wait_s_out: how long they should wait [s]; 0: they are written now. NULL:
 * this is the last call, and they are written. */
static ms_status write_held_rows(void *context, double *wait_s_out) {
    ms_search_state *r = context;
    if (!ms_store_is_due(r->study->store, wait_s_out)) {
        return MS_OK;
    }
    r->settled = r->simulated.count; /* progress counts a result once it is on the disk */
    return ms_store_flush(r->study->store);
}

/* Open the exchange of best results with the other shards of the search, and let r->best use it.
 * Nothing is exchanged without a folder, for two objectives, or for the best of each platform: the
 * files hold one value per candidate. `identity` has all that the result of the search depends on,
 * so that files of another search in the same folder are ignored. */
static ms_status open_sharing(ms_search_state *r) {
    const ms_search_study *study = r->study;
    ms_buffer identity;
    if (study->share == NULL || study->goal->objective_count > 1 || r->groups > 1) {
        return MS_OK;
    }
    ms_buffer_init(&identity);
    ms_buffer_printf(&identity, "%s\n%d\n%d %.17g\n", study->program, study->top,
                     (int)study->goal->objectives[0], study->goal->training_tokens);
    ms_buffer_add(&identity, (const char *)study->goal->limits, sizeof study->goal->limits);
    for (size_t i = 0; i < r->open.count; i++) {
        const ms_open_candidate *candidate = &MS_AT(&r->open, ms_open_candidate, i);
        ms_buffer_add(&identity, (const char *)&candidate->index, sizeof candidate->index);
        ms_buffer_add(&identity, (const char *)candidate->bound.of, sizeof candidate->bound.of);
    }
    ms_status status =
        identity.failed
            ? MS_E_NOMEM
            : ms_shared_best_open(study->share, study->shard, ms_buffer_text(&identity),
                                  identity.length, (size_t)study->top, r->arena, &r->shared);
    ms_buffer_release(&identity);
    r->best->shared = status == MS_OK ? &r->shared : NULL;
    return status == MS_E_NOMEM ? ms_diag_no_memory(r->diag) : status;
}

/* Sort the candidates of r->feasible from one on by their estimates. */
static void sort_feasible(ms_search_state *r, size_t first) {
    if (r->feasible.count > first) {
        qsort(&MS_AT(&r->feasible, ms_feasible, first), r->feasible.count - first,
              sizeof(ms_feasible), compare_estimates);
    }
}

/* Simulate the candidates in r->feasible from r->next on, several at once, until none is left that
 * is not pruned. Returns as ms_workers_stream, or the first failure of next_job. */
static ms_status simulate(ms_search_state *r) {
    const ms_worker_feed feed = {
        .next = next_job, .done = end_job, .settle = write_held_rows, .context = r};
    const ms_workers_options options = {.jobs = r->study->jobs};
    sort_feasible(r, r->next);
    if (r->next == r->feasible.count) {
        return r->status;
    }
    ms_status status = ms_workers_stream(&feed, &options, r->arena, r->diag);
    return status == MS_OK ? r->status : status;
}

/* Find the best candidates in two rounds. The first round estimates the candidates whose bounds are
 * no worse than the best estimates, and simulates them. The second round estimates and simulates
 * those of the rest that the results of the first round do not prune, which are few. Where the
 * store already has as many results as are wanted, the first round simulates nothing: a completed
 * search, when it is repeated, then finds all its results in the store, since it prunes with the
 * same final results. Fills r->feasible and r->simulated. */
static ms_status find_best(ms_search_state *r) {
    ms_status status = ms_search_bound_all(r);
    status = status == MS_OK ? open_sharing(r) : status;
    if (status != MS_OK) {
        return status;
    }
    remove_other_shards(r);
    for (bool is_first = true; status == MS_OK; is_first = false) {
        status = ms_search_estimate_open(r, is_first);
        ms_status stored = use_stored_results(r); /* an interrupted search shows them, too */
        status = status == MS_OK ? stored : status;
        bool has_enough = is_first;
        for (size_t group = 0; group < r->groups; group++) {
            has_enough = has_enough && ms_search_best_is_full(&r->best[group]);
        }
        status = status == MS_OK && !has_enough ? simulate(r) : status;
        if (!is_first) {
            break;
        }
    }
    int64_t count = (int64_t)r->feasible.count;
    ms_search_report_progress(r, MS_SEARCH_SIMULATING, count, count);
    return status;
}

/* ---- the result ---- */

/* Add rows for the candidates that were estimated and not simulated, the best estimates first, at
 * most as many as the study lists (rest_max). Sorts r->feasible and sets r->out->estimated to the
 * number of all such candidates. rows: [count] filled ones, with room for rest_max more. Returns
 * the number of filled rows afterwards. */
static size_t add_estimated(ms_search_state *r, ms_search_row *rows, size_t count) {
    size_t room = count + (size_t)r->study->rest_max;
    sort_feasible(r, 0);
    for (size_t i = 0; i < r->feasible.count; i++) {
        const ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, i);
        r->out->estimated += !candidate->is_over;
        if (!candidate->is_over && count < room) {
            rows[count++] = (ms_search_row){.index = candidate->index,
                                            .figures.peak_B = candidate->peak_B,
                                            .estimate_s = candidate->estimate_s,
                                            .bound_s = candidate->bound_s};
        }
    }
    return count;
}

/* Make the lists of the result from the simulated and the estimated candidates. Returns MS_OK;
 * MS_E_NOMEM (not reported); as ms_search_make_rows. */
static ms_status make_rows(ms_search_state *r) {
    size_t count = r->simulated.count;
    ms_search_row *rows = MS_NEW(r->arena, ms_search_row, count + (size_t)r->study->rest_max);
    if (rows == NULL) {
        return count == 0 && r->study->rest_max == 0 ? MS_OK : MS_E_NOMEM; /* OK: no rows */
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = MS_AT(&r->simulated, ms_search_row, i);
    }
    return ms_search_make_rows(r->study, rows, (size_t[]){count, add_estimated(r, rows, count)},
                               r->arena, r->diag, r->out);
}

/* Set `expected` of the result to the candidate with the best estimate, if the search was
 * interrupted before any candidate was simulated. Returns MS_OK; MS_E_NOMEM (not reported); as
 * ms_space_spec. */
static ms_status make_expected(ms_search_state *r) {
    const ms_feasible *best = NULL;
    for (size_t i = 0; i < r->feasible.count; i++) {
        const ms_feasible *candidate = &MS_AT(&r->feasible, ms_feasible, i);
        best = best == NULL || compare_estimates(candidate, best) < 0 ? candidate : best;
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

/* Make the findings of a complete or interrupted search: its rows, and the reasons of illegal and
 * failed candidates. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status make_findings(ms_search_state *r) {
    ms_space *space = r->study->space;
    ms_search_findings *out = r->out;
    ms_status status = make_rows(r);
    status = status == MS_OK ? make_expected(r) : status;
    status = status == MS_OK
                 ? ms_reasons_list(&r->illegal, space, r->arena, &out->illegal, &out->illegal_count)
                 : status;
    status = status == MS_OK
                 ? ms_reasons_list(&r->failed, space, r->arena, &out->failed, &out->failed_count)
                 : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(r->diag) : status;
}

/* After an interrupt the findings are made from the results so far. Everything but the findings is
 * released before the function returns. */
ms_status ms_search_run(const ms_search_study *study, ms_arena *arena, ms_diag *diag,
                        ms_search_findings *result_out) {
    *result_out = (ms_search_findings){.failure = MS_OK};
    ms_search_state r = {.study = study, .arena = arena, .diag = diag, .out = result_out};
    size_t platforms = ms_space_platforms(study->space)->count;
    r.groups = study->is_by_platform && platforms > 1 ? platforms : 1;
    r.best = MS_NEW(arena, ms_search_best, r.groups);
    r.expected = MS_NEW(arena, ms_search_best, r.groups);
    for (size_t i = 0; i < r.groups; i++) {
        if (r.best == NULL || r.expected == NULL ||
            ms_search_best_init(&r.best[i], study->goal, (size_t)study->top, arena) != MS_OK ||
            ms_search_best_init(&r.expected[i], study->goal, (size_t)study->top, arena) != MS_OK) {
            return ms_diag_no_memory(diag);
        }
    }
    ms_status status = ms_visitors_init(&r.visitors, study->space, study->jobs, arena);
    ms_vector_init(&r.open, sizeof(ms_open_candidate));
    ms_vector_init(&r.feasible, sizeof(ms_feasible));
    ms_vector_init(&r.simulated, sizeof(ms_search_row));
    ms_reasons_init(&r.illegal, arena);
    ms_reasons_init(&r.failed, arena);
    status = status != MS_OK ? ms_diag_no_memory(diag) : find_best(&r);
    if (status == MS_OK || status == MS_E_INTERRUPTED) {
        result_out->is_partial = status != MS_OK;
        ms_status end = make_findings(&r);
        status = end == MS_OK ? status : end;
    }
    ms_visitors_release(&r.visitors);
    for (size_t i = 0; i < r.groups; i++) {
        ms_search_best_release(&r.best[i]);
        ms_search_best_release(&r.expected[i]);
    }
    ms_vector_release(&r.open);
    ms_vector_release(&r.feasible);
    ms_vector_release(&r.simulated);
    ms_reasons_release(&r.illegal);
    ms_reasons_release(&r.failed);
    return status;
}
