/* Compares schedules by simulating each in the place of a workload's own, on the workload's
 * platform (schedules.h). A row is one schedule; a schedule that cannot run, or needs more memory
 * than a cap, has a reason instead of figures. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/target.h"
#include "base/units.h"
#include "search/schedule_derive.h"
#include "search/schedules.h"
#include "search/time_shares.h"
#include "search/workers.h"
#include "trace/trace.h"

#define FIELD(name) offsetof(ms_simulated_row, name)
#define SHARE(word, index)                                                                         \
    { "time_share." word, MS_COLUMN_NUMBER, FIELD(figures.share[index]), .sort = MS_SORT_LOWEST }
#define UNSORTED_SHARE(word, index)                                                                \
    { "time_share." word, MS_COLUMN_NUMBER, .offset = FIELD(figures.share[index]) }

const ms_table_column MS_SIMULATED_COLUMNS[] = {
    {"schedule", MS_COLUMN_TEXT, FIELD(name), .sort = MS_SORT_LOWEST, .is_of_left_out = true},
    {"status", MS_COLUMN_TEXT, FIELD(status), .is_of_left_out = true},
    {"reason", MS_COLUMN_TEXT, FIELD(reason), .is_optional = true, .is_of_left_out = true},
    {"v", MS_COLUMN_INT, FIELD(figures.chunks), .sort = MS_SORT_LOWEST},
    {"param_replicas", MS_COLUMN_INT, FIELD(figures.parameter_replicas), .sort = MS_SORT_LOWEST},
    {"repartitioned", MS_COLUMN_BOOL, .offset = FIELD(is_repartitioned)},
    {"step_time_s", MS_COLUMN_NUMBER, FIELD(figures.step_time_s), .sort = MS_SORT_LOWEST},
    {"bubble_fraction", MS_COLUMN_NUMBER, FIELD(figures.bubble_fraction), .sort = MS_SORT_LOWEST},
    {"idle_fraction", MS_COLUMN_NUMBER, FIELD(figures.idle_fraction), .sort = MS_SORT_LOWEST},
    {"tokens_per_s_per_gpu", MS_COLUMN_NUMBER, FIELD(figures.tokens_per_s_per_gpu),
     .sort = MS_SORT_HIGHEST},
    {"model_tflops_per_gpu", MS_COLUMN_NUMBER, FIELD(figures.model_tflops_per_gpu),
     .sort = MS_SORT_HIGHEST},
    {"mfu", MS_COLUMN_NUMBER, FIELD(figures.mfu), .sort = MS_SORT_HIGHEST},
    {"exposed_fraction", MS_COLUMN_NUMBER, FIELD(figures.exposed_fraction), .sort = MS_SORT_LOWEST},
    {"peak_B", MS_COLUMN_NUMBER, FIELD(peak_B), .sort = MS_SORT_LOWEST, .is_optional = true,
     .is_of_left_out = true},
    {"fits", MS_COLUMN_BOOL, .offset = FIELD(figures.fits)},
    {"trace", MS_COLUMN_TEXT, FIELD(trace), .is_optional = true},
    MS_TIME_SHARES(SHARE, UNSORTED_SHARE),
    {0},
};

/* The state of the study, `s` in this file. Rows that have a job to simulate are "planned". */
typedef struct simulation {
    const ms_simulated_study *study;
    ms_arena *arena;
    ms_diag *diag;
    ms_simulated_row *rows; /* [study->count] */
    ms_job_spec *specs;     /* [planned] */
    size_t *row_of;         /* [planned] index of each spec's row */
    size_t planned;
} simulation;

/* ---- traces ---- */

/* Set the path of a row's trace, and check that no earlier row has the same path and that the file
 * can be written. Returns MS_OK; MS_E_USAGE for two rows with one path; MS_E_IO; MS_E_NOMEM (all
 * reported). */
static ms_status name_trace(const simulation *s, size_t index) {
    ms_simulated_row *row = &s->rows[index];
    const ms_schedule_choice *choice = &s->study->choices[index];
    const char *stem = ms_path_stem(choice->file != NULL ? choice->file : choice->name, s->arena);
    row->trace =
        stem == NULL ? NULL : ms_arena_printf(s->arena, "%s/%s.h5", s->study->trace_folder, stem);
    if (row->trace == NULL) {
        return ms_diag_no_memory(s->diag);
    }
    for (size_t other = 0; other < index; other++) {
        if (strcmp(s->rows[other].trace, row->trace) == 0) {
            return ms_diag_usage(s->diag, "'%s' and '%s' would both write '%s'",
                                 s->rows[other].name, row->name, row->trace);
        }
    }
    return ms_target_check(row->trace, MS_TARGET_FILE, s->diag);
}

/* Make the folder of the traces and name the trace of every row, before the simulations, so that a
 * path that cannot be written is reported at once. Returns MS_OK; as name_trace. */
static ms_status name_traces(const simulation *s) {
    const char *folder = s->study->trace_folder;
    if (folder == NULL) {
        return MS_OK;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        ms_diag_error(s->diag, "cannot make the folder '%s': %s", folder, strerror(errno));
        return MS_E_IO;
    }
    ms_status status = MS_OK;
    for (size_t i = 0; i < s->study->count && status == MS_OK; i++) {
        status = name_trace(s, i);
    }
    return status;
}

/* `keep` of ms_workers_options, called in a child: write the trace of a row, if one is wanted.
 * index: of the spec. */
static ms_status keep_trace(void *context, size_t index, const ms_result *result, ms_diag *diag) {
    const simulation *s = context;
    const char *path = s->rows[s->row_of[index]].trace;
    return path == NULL ? MS_OK : ms_trace_write(path, result, s->study->program_version, diag);
}

/* ---- rows ---- */

/* Leave a row out of the table. reason: NULL if memory ran out for it. Returns MS_OK; MS_E_NOMEM
 * (reported). */
static ms_status leave_out(const simulation *s, ms_simulated_row *row, const char *status,
                           const char *reason) {
    row->status = status;
    row->reason = reason;
    return reason == NULL ? ms_diag_no_memory(s->diag) : MS_OK;
}

/* Derive the spec of a row and add it to the planned ones. Returns MS_OK; as ms_schedule_derive. */
static ms_status plan_row(simulation *s, size_t index) {
    const ms_simulated_study *study = s->study;
    ms_simulated_row *row = &s->rows[index];
    ms_schedule_derived derived;
    ms_status status = ms_schedule_derive(study->base, &study->choices[index], &study->sizes,
                                          s->arena, s->diag, &derived);
    if (status != MS_OK) {
        return status;
    }
    row->is_repartitioned = derived.is_repartitioned;
    s->specs[s->planned] = derived.spec;
    s->row_of[s->planned++] = index;
    return MS_OK;
}

/* Leave a row out if it needs more memory than the study's cap. Returns MS_OK; MS_E_NOMEM
 * (reported). */
static ms_status check_cap(const simulation *s, ms_simulated_row *row) {
    double cap_B = s->study->cap_B;
    if (cap_B <= 0 || !(row->peak_B > cap_B)) { /* a NAN, without a model, is not above */
        return MS_OK;
    }
    char peak[32];
    char cap[32];
    return leave_out(s, row, "above_cap",
                     ms_arena_printf(s->arena, "needs %s, above the cap of %s",
                                     ms_unit_format(row->peak_B, MS_DIM_BYTES, peak, sizeof peak),
                                     ms_unit_format(cap_B, MS_DIM_BYTES, cap, sizeof cap)));
}

/* Fill in a row from the outcome of its simulation, and print the messages of a successful one.
 * Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status set_outcome(const simulation *s, const ms_worker_outcome *outcome,
                             ms_simulated_row *row) {
    row->outcome = outcome->status;
    if (outcome->status != MS_OK) {
        return leave_out(s, row, outcome->status == MS_E_INPUT ? "refused" : "failed",
                         outcome->reason);
    }
    if (outcome->talk[0] != '\0') {
        s->diag->write(s->diag->context, outcome->talk);
    }
    row->figures = outcome->figures;
    row->peak_B = outcome->figures.peak_B;
    return check_cap(s, row);
}

/* Simulate the planned rows, and fill them in. Returns MS_OK; as ms_workers_run; MS_E_NOMEM
 * (reported). */
static ms_status run(simulation *s) {
    const ms_simulated_study *study = s->study;
    ms_worker_outcome *outcomes = MS_NEW(s->arena, ms_worker_outcome, s->planned);
    if (outcomes == NULL) {
        return ms_diag_no_memory(s->diag);
    }
    const ms_workers_options options = {.jobs = study->jobs,
                                        .keep = keep_trace,
                                        .keep_context = s,
                                        .progress = study->progress,
                                        .progress_context = study->context};
    ms_status status = ms_workers_run(s->specs, s->planned, &options, s->arena, s->diag, outcomes);
    for (size_t i = 0; i < s->planned && status == MS_OK; i++) {
        status = set_outcome(s, &outcomes[i], &s->rows[s->row_of[i]]);
    }
    return status;
}

/* Name the traces and derive all specs before the first simulation, so that faults are reported at
 * once. */
ms_status ms_schedules_simulate(const ms_simulated_study *study, ms_arena *arena, ms_diag *diag,
                                ms_simulated_row *rows_out) {
    simulation s = {.study = study,
                    .arena = arena,
                    .diag = diag,
                    .rows = rows_out,
                    .specs = MS_NEW(arena, ms_job_spec, study->count),
                    .row_of = MS_NEW(arena, size_t, study->count)};
    if (s.specs == NULL || s.row_of == NULL) {
        return ms_diag_no_memory(s.diag);
    }
    for (size_t i = 0; i < study->count; i++) {
        rows_out[i] = (ms_simulated_row){
            .name = study->choices[i].name, .status = "simulated", .peak_B = NAN};
    }
    ms_status status = name_traces(&s);
    for (size_t i = 0; i < study->count && status == MS_OK; i++) {
        status = plan_row(&s, i);
    }
    return status == MS_OK ? run(&s) : status;
}

ms_status ms_schedules_verdict(const ms_simulated_row *rows, size_t count) {
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].outcome != MS_OK && rows[i].outcome != MS_E_INPUT) { /* no fault of the job */
            return rows[i].outcome;
        }
        has_any = has_any || (rows[i].reason == NULL && rows[i].figures.fits);
    }
    return has_any ? MS_OK : MS_E_NO;
}
