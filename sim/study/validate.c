/* Measured runs, simulated: from cases to rows. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "meshsim/checksum.h"
#include "meshsim/workers.h"
#include "study/validate_parts.h"

/* One id in so many is left out when parameters are fitted. */
enum { UNSEEN_SHARE = 3 };

typedef struct validation_run {
    const ms_validate_study *study;
    ms_arena *arena;
    ms_diag *diag;
    ms_case_rules *rules;
    ms_validation *out;
    ms_job_spec *specs; /* [planned] */
    size_t *row_of;     /* [planned] row of each spec */
    size_t planned;
} validation_run;

/* ---- which cases ---- */

static bool is_chosen(const ms_validate_study *study, const ms_case *c) {
    bool is_group = study->group == NULL || strcmp(study->group, c->group) == 0;
    return is_group && (study->id == NULL || strcmp(study->id, c->id) == 0);
}

/* What nobody goes by: the name nearest to it. */
static ms_status refuse_choice(const validation_run *run) {
    const ms_vector *cases = &run->study->measurements->cases;
    bool is_id = run->study->id != NULL;
    const char *word = is_id ? run->study->id : run->study->group;
    const char **names = MS_NEW(run->arena, const char *, cases->count);
    if (names == NULL) {
        return ms_diag_no_memory(run->diag);
    }
    for (size_t i = 0; i < cases->count; i++) {
        const ms_case *c = &MS_AT(cases, ms_case, i);
        names[i] = is_id ? c->id : c->group;
    }
    ms_diag_error(run->diag, "no case %s '%s'%s", is_id ? "named" : "of a group", word,
                  ms_nearest_hint(word, names, cases->count).text);
    return MS_E_INPUT;
}

bool ms_validate_is_third(const char *id) {
    return ms_crc32_add(0, id, strlen(id)) % UNSEEN_SHARE == 0;
}

/* Cases of a group that have a step time in the score, chosen or not. */
static int group_size(const ms_validate_study *study, const char *group) {
    const ms_vector *cases = &study->measurements->cases;
    int count = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const ms_case *c = &MS_AT(cases, ms_case, i);
        count += c->use == MS_CASE_SCORED && strcmp(c->group, group) == 0;
    }
    return count;
}

static bool is_unseen(const ms_validate_study *study, const ms_case *c) {
    return ms_validate_is_third(c->id) || group_size(study, c->group) < MS_VALIDATE_GROUP_MIN;
}

/* Rows of the chosen cases of one use. */
static void add_rows(validation_run *run, ms_case_use use) {
    const ms_vector *cases = &run->study->measurements->cases;
    ms_validation *out = run->out;
    for (size_t i = 0; i < cases->count; i++) {
        const ms_case *c = &MS_AT(cases, ms_case, i);
        if (c->use == use && is_chosen(run->study, c)) {
            out->rows[out->row_count++] = (ms_validate_row){.measured = c,
                                                            .id = c->id,
                                                            .group = c->group,
                                                            .is_core = c->is_core,
                                                            .is_suspect = c->is_suspect,
                                                            .is_unseen = is_unseen(run->study, c),
                                                            .predicted_s = NAN,
                                                            .measured_s = NAN,
                                                            .error = NAN,
                                                            .mark = ""};
        }
    }
}

static ms_status list_rows(validation_run *run) {
    ms_validation *out = run->out;
    out->rows = MS_NEW(run->arena, ms_validate_row, run->study->measurements->cases.count);
    if (out->rows == NULL) {
        return ms_diag_no_memory(run->diag);
    }
    add_rows(run, MS_CASE_SCORED);
    out->scored = out->row_count;
    add_rows(run, MS_CASE_APART);
    out->timed = out->row_count;
    add_rows(run, MS_CASE_LAYER);
    bool is_asked = run->study->group != NULL || run->study->id != NULL;
    return out->row_count == 0 && is_asked ? refuse_choice(run) : MS_OK;
}

/* ---- jobs ---- */

static ms_status plan_row(validation_run *run, size_t index) {
    ms_validate_row *row = &run->out->rows[index];
    ms_case_job job;
    ms_status status = ms_case_translate(run->rules, row->measured, &job);
    if (status != MS_OK) {
        return status;
    }
    const char *words = row->measured->schedule.recompute;
    row->is_stated = words != NULL && strcmp(words, "unstated") != 0;
    row->framework = job.framework;
    row->differs = job.differs[0] == '\0' ? NULL : job.differs;
    row->reason = job.reason;
    if (job.reason == NULL) {
        row->platform = job.spec.platform.cluster->name;
        run->specs[run->planned] = job.spec;
        run->row_of[run->planned++] = index;
    }
    return MS_OK;
}

static ms_status plan_rows(validation_run *run) {
    size_t count = run->out->row_count;
    run->specs = MS_NEW(run->arena, ms_job_spec, count);
    run->row_of = MS_NEW(run->arena, size_t, count);
    if (run->specs == NULL || run->row_of == NULL) {
        return ms_diag_no_memory(run->diag);
    }
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        status = plan_row(run, i);
    }
    return status;
}

/* ---- results ---- */

/* What a prediction is held against: one number, or of a range the end that is nearer. */
static double measured_of(const ms_case_measured *measured, double predicted_s) {
    if (isnan(measured->low_s)) {
        return measured->step_s;
    }
    return fmin(fmax(predicted_s, measured->low_s), measured->high_s);
}

static const char *mark_of(const ms_validate_row *row) {
    return row->is_suspect ? MS_VALIDATE_SUSPECT : !row->fits ? MS_VALIDATE_LARGE : "";
}

static void take_outcome(const ms_worker_outcome *outcome, ms_validate_row *row) {
    if (outcome->status != MS_OK) {
        row->reason = outcome->reason;
        return;
    }
    row->figures = outcome->figures;
    row->fits = outcome->figures.fits;
    row->predicted_s = outcome->figures.step_time_s;
    row->measured_s = measured_of(&row->measured->measured, row->predicted_s);
    row->error = row->predicted_s / row->measured_s - 1;
    row->mark = mark_of(row);
    if (outcome->finding != NULL) {
        memcpy(&row->finding, outcome->finding, sizeof row->finding);
    }
}

static ms_status simulate(validation_run *run) {
    const ms_validate_study *study = run->study;
    ms_worker_outcome *outcomes = MS_NEW(run->arena, ms_worker_outcome, run->planned);
    if (outcomes == NULL) {
        return ms_diag_no_memory(run->diag);
    }
    const ms_workers_options options = {.jobs = study->jobs,
                                        .needs_operations = true,
                                        .find = ms_validate_find,
                                        .finding_B = sizeof(ms_validate_finding),
                                        .progress = study->progress,
                                        .progress_context = study->context};
    ms_status status =
        ms_workers_run(run->specs, run->planned, &options, run->arena, run->diag, outcomes);
    for (size_t i = 0; i < run->planned && status == MS_OK; i++) {
        take_outcome(&outcomes[i], &run->out->rows[run->row_of[i]]);
        status = outcomes[i].status == MS_E_INTERRUPTED ? MS_E_INTERRUPTED : MS_OK;
    }
    return status;
}

/* Which rows are summed up. */
typedef struct row_range {
    size_t from, to; /* [from, to) */
    bool must_state; /* those alone that state what they recompute */
} row_range;

/* Errors of step times of some rows by group. */
static ms_status sum_up(const validation_run *run, row_range range,
                        ms_validate_groups *groups_out) {
    size_t count = range.to - range.from;
    ms_error_item *items = MS_NEW(run->arena, ms_error_item, count);
    if (items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const ms_validate_row *row = &run->out->rows[range.from + i];
        bool counts =
            row->reason == NULL && !isnan(row->error) && (row->is_stated || !range.must_state);
        items[i] = (ms_error_item){counts ? row->group : NULL, row->id, row->error};
    }
    return ms_validate_sum_up(items, count, run->arena, groups_out);
}

double ms_validate_mean(const ms_validate_groups *groups) {
    double sum = 0;
    for (size_t i = 0; i < groups->count; i++) {
        sum += groups->items[i].mean_abs_error;
    }
    return groups->count == 0 ? NAN : sum / (double)groups->count;
}

static ms_status conclude(validation_run *run) {
    ms_validation *out = run->out;
    ms_validate_groups stated;
    bool has_all = sum_up(run, (row_range){0, out->scored, false}, &out->groups) == MS_OK &&
                   sum_up(run, (row_range){0, out->scored, true}, &stated) == MS_OK &&
                   sum_up(run, (row_range){out->scored, out->timed, false}, &out->apart) == MS_OK &&
                   ms_validate_take_points(run->arena, out) == MS_OK;
    if (!has_all) {
        return ms_diag_no_memory(run->diag);
    }
    out->mean_of_groups = ms_validate_mean(&out->groups);
    out->stated_mean = ms_validate_mean(&stated);
    return MS_OK;
}

ms_status ms_validate_run(const ms_validate_study *study, ms_arena *arena, ms_diag *diag,
                          ms_validation *validation_out) {
    *validation_out = (ms_validation){.mean_of_groups = NAN};
    validation_run run = {.study = study,
                          .arena = arena,
                          .diag = diag,
                          .rules = ms_case_rules_new(study->data_folder, arena, diag),
                          .out = validation_out};
    ms_status status =
        run.rules == NULL ? MS_E_NOMEM : ms_case_rules_override(run.rules, &study->sets);
    status = status == MS_OK ? list_rows(&run) : status;
    status = status == MS_OK ? plan_rows(&run) : status;
    status = status == MS_OK ? simulate(&run) : status;
    status = status == MS_OK ? conclude(&run) : status;
    bool is_whole = study->group == NULL && study->id == NULL;
    if (status == MS_OK && is_whole) {
        status = ms_validate_collectives(study, run.rules, arena, diag, validation_out);
    }
    return status;
}
