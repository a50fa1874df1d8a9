/**
 * @file
 * Points of a study: many jobs that differ in some settings. They are simulated several at once; a
 * job that a store has already is not simulated again, and every new result is put into the store.
 */
#ifndef MESHSIM_POINTS_H
#define MESHSIM_POINTS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"
#include "job/spec.h"
#include "search/store.h"
#include "search/workers.h"

/** One job of a study. */
typedef struct ms_point {
    ms_job_spec spec;
    ms_words settings; /**< "key.path=value": `run WORKLOAD --set ...` simulates the same job */
} ms_point;

/** The parameters of a study. All is borrowed. */
typedef struct ms_points_study {
    size_t count; /**< of points */
    /** Make the point of an index, in `arena`; called more than once for each.  diag: gets the
     * reason why there is no such job.  Returns MS_OK; MS_E_INPUT where there is no such job, which
     * becomes a refused point; any other status ends the study. */
    ms_status (*make)(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                      ms_point *point_out);
    void *make_context;  /**< its first argument */
    const char *program; /**< version of the program, as in ms_store_key */
    int jobs;            /**< simulations at once, >= 1 */
    ms_store *store;     /**< NULL: there is no store */
    /** Called whenever a point has ended, with the number that have.  NULL: not called. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_points_study;

/** Numbers of points by their fate. */
typedef struct ms_points_counts {
    size_t simulated;  /**< simulated now, without refused and failed ones */
    size_t stored;     /**< found in the store, or the same job as another point */
    size_t refused;    /**< no such job is possible */
    size_t failed;     /**< the simulation crashed or lacked memory; not put into the store */
    ms_status failure; /**< of the first simulation that failed; MS_OK: none failed */
} ms_points_counts;

/** Read a workload with further settings. request: the workload with its own overrides. settings:
 * "key.path=value", applied after the overrides. *spec_out: in `arena`. Returns as
 * ms_job_spec_read. */
ms_status ms_point_read(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                        ms_diag *diag, ms_job_spec *spec_out);

/** The reason why a workload cannot be read with some settings. */
typedef struct ms_point_refusal {
    const char *reason; /**< the first fault in one line; "": there is none */
    bool is_of_key;     /**< a key or its value is wrong whatever the other keys are */
} ms_point_refusal;

/** Read a workload as ms_point_read does, but report nothing: for studies that leave out settings
 * which make no job.
 *  *spec_out: in `arena`. *refusal_out: in `arena`. Returns MS_OK; MS_E_INPUT and MS_E_USAGE for a
 * job that is not possible; MS_E_IO and MS_E_NOMEM for failures of the system. */
ms_status ms_point_try(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                       ms_job_spec *spec_out, ms_point_refusal *refusal_out);

/** A setting, "key.path=value", in `arena`; NULL when memory runs out. */
const char *ms_point_setting(const char *key, const char *value, ms_arena *arena);

/** Add the value of a setting to an object (under `key`) or to a list (key NULL): a number, a
 * boolean or null as such, all else as a text. value: text of the setting behind its '='. A lack of
 * memory shows in the tree's arena. */
void ms_point_add_value(ms_value *parent, const char *key, const char *value);

/** Add settings to an object, each under its whole key ("mesh.tp"). settings: "key.path=value". A
 * lack of memory shows in the tree's arena. */
void ms_point_add_settings(const ms_words *settings, ms_value *object);

/** Append settings as a JSON object on one line. settings: "key.path=value". A lack of memory shows
 * in `out`. */
void ms_point_write_settings(const ms_words *settings, ms_buffer *out);

/** Fill in the row of a job whose simulation has ended: program, status, figures or reason.
 *  outcome: of the simulation; the row borrows its reason. program: version that simulated the job,
 * borrowed. O(1). */
void ms_point_fill_row(const ms_worker_outcome *outcome, const char *program, ms_store_row *row);

/** Report the reason of a simulation that lacked memory or could not read or write a file
 * (MS_E_NOMEM, MS_E_IO). Such a study writes no result, so no table would show the reason. status:
 * of the simulation; for any other status nothing is reported. */
void ms_point_report_failure(ms_status status, const char *reason, ms_diag *diag);

/** Simulate the points of a study. The rows are the same for any number of jobs, and whatever the
 * store has already.
 *  rows_out: [study->count], texts in `arena`; the status of a row whose job has not ended is NULL.
 * *counts_out: set. Returns MS_OK, with a row for every point; MS_E_INTERRUPTED, with the rows that
 * had ended in the store; what `make` returned; as ms_store_put and ms_workers_stream. */
ms_status ms_points_run(const ms_points_study *study, ms_arena *arena, ms_diag *diag,
                        ms_store_row *rows_out, ms_points_counts *counts_out);

/** The status with which a study ends: that of its first failure; MS_E_NO if no job is both
 * possible and fits in memory; else MS_OK. rows: [count]. O(count). */
ms_status ms_points_verdict(const ms_store_row *rows, size_t count, const ms_points_counts *counts);

#endif
