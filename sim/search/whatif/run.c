/* Runs a what-if study (whatif.h): simulates the job once per change, each in a process of its own,
 * and ranks the changes by the share of the step that they save. */
#include <string.h>

#include "search/points.h"
#include "search/whatif.h"
#include "search/workers.h"

/* Changes that make a job, and the specs of these jobs. */
typedef struct candidates {
    ms_whatif *rows;    /* [count] */
    ms_job_spec *specs; /* [count] */
    size_t count;
} candidates;

/* List the changes and read the job with each of them. Changes with which the job cannot be read
 * are left out without a message. *out: in `arena`. Returns MS_OK; MS_E_IO; MS_E_NOMEM
 * (reported). */
static ms_status find_candidates(const ms_whatif_study *study, ms_arena *arena, ms_diag *diag,
                                 candidates *out) {
    ms_whatif *changes = NULL;
    size_t count = 0;
    ms_status status = ms_whatif_list(study->job, arena, diag, &changes, &count);
    if (status != MS_OK) {
        return status;
    }
    *out = (candidates){.rows = changes, .specs = MS_NEW(arena, ms_job_spec, count)};
    status = out->specs == NULL ? MS_E_NOMEM : MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        ms_point_refusal refusal; /* not reported: the job has nothing that the change changes */
        status = ms_point_try(study->request, &changes[i].settings, arena, &out->specs[out->count],
                              &refusal);
        if (status == MS_OK) {
            out->rows[out->count++] = changes[i];
        }
        status = status == MS_E_INPUT || status == MS_E_USAGE ? MS_OK : status;
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* Whether a job with less recomputation fits in memory at all. If it already fits in the GPU's
 * present memory, the last setting, twice the memory, is removed from the row, and the row's name
 * says so. figures: of the simulation with twice the memory. */
static bool check_memory(const ms_job *job, const ms_run_figures *figures, ms_arena *arena,
                         ms_whatif *row) {
    double capacity_B = job->platform->gpu.hbm_B - job->platform->gpu.reserve_B;
    if (!figures->fits) {
        return false;
    }
    if (figures->peak_B <= capacity_B) {
        row->settings.count--;
        row->change =
            ms_arena_printf(arena, "recompute %s, which fits", strrchr(row->change, ' ') + 1);
    }
    return true;
}

/* Turn the outcomes of the simulations into rows, in their order, at the beginning of c->rows.
 * Refused jobs are left out; a failed simulation ends the study. outcomes: [c->count]. Returns
 * MS_OK; the status of the first failure (reported). */
static ms_status make_rows(const ms_whatif_study *study, const candidates *c,
                           const ms_worker_outcome *outcomes, ms_arena *arena, ms_diag *diag,
                           size_t *count_out) {
    static const char MEMORY[] = "recompute="; /* which a change of the memory begins with */
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        const ms_worker_outcome *outcome = &outcomes[i];
        ms_whatif row = c->rows[i];
        bool is_row = outcome->status == MS_OK;
        if (!is_row && outcome->status != MS_E_INPUT) {
            ms_diag_error(diag, "what if %s: %s", row.change, outcome->reason);
            return outcome->status;
        }
        if (is_row && strncmp(row.settings.items[0], MEMORY, sizeof MEMORY - 1) == 0) {
            is_row = check_memory(study->job, &outcome->figures, arena, &row);
        }
        if (is_row) {
            row.step_time_s = outcome->figures.step_time_s;
            c->rows[kept++] = row;
        }
    }
    *count_out = kept;
    return MS_OK;
}

/* Less recomputation is simulated with twice the memory, and make_rows finds out whether it needs
 * that. */
ms_status ms_whatif_run(const ms_whatif_study *study, ms_arena *arena, ms_diag *diag,
                        ms_whatif **rows_out, size_t *count_out) {
    candidates c;
    ms_status status = find_candidates(study, arena, diag, &c);
    if (status != MS_OK) {
        return status;
    }
    const ms_workers_options options = {.jobs = study->jobs,
                                        .progress = study->progress,
                                        .progress_context = study->progress_context};
    ms_worker_outcome *outcomes = MS_NEW(arena, ms_worker_outcome, c.count);
    if (outcomes == NULL) {
        return ms_diag_no_memory(diag);
    }
    status = ms_workers_run(c.specs, c.count, &options, arena, diag, outcomes);
    status = status == MS_OK ? make_rows(study, &c, outcomes, arena, diag, count_out) : status;
    *rows_out = c.rows;
    return status;
}

void ms_whatif_rank(double step_time_s, ms_whatif *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        rows[i].gain = 1.0 - rows[i].step_time_s / step_time_s;
    }
    /* insertion sort keeps the order of equal gains; there are about twenty rows */
    for (size_t i = 1; i < count; i++) {
        const ms_whatif row = rows[i];
        size_t at = i;
        for (; at > 0 && rows[at - 1].gain < row.gain; at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

void ms_whatif_add(const ms_whatif *rows, size_t count, ms_value *parent, const char *key) {
    ms_value *list = ms_value_add(parent, key, MS_VALUE_ARRAY);
    for (size_t i = 0; i < count; i++) {
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "change", rows[i].change);
        ms_point_add_settings(&rows[i].settings, ms_value_add(row, "settings", MS_VALUE_OBJECT));
        ms_value_add_double(row, "step_time_s", rows[i].step_time_s);
        ms_value_add_double(row, "gain", rows[i].gain);
    }
}
