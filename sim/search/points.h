/**
 * @file
 * Points of a study: many jobs that differ in some settings, simulated several at once, what is in
 * a store already left out, and every one that ends put there.
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
    ms_words settings; /**< "key.path=value": what makes `run WORKLOAD --set ...` the same job */
} ms_point;

/** What is asked of a study. All is borrowed. */
typedef struct ms_points_study {
    size_t count; /**< of points */
    /** Makes a point, in `arena`; called more than once for each.  diag: hears why there is no such
     * job.  Returns MS_OK; MS_E_INPUT where there is none, which leaves the others be; anything
     * else ends the study. */
    ms_status (*make)(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                      ms_point *point_out);
    void *make_context;  /**< its first argument */
    const char *program; /**< as in ms_store_key */
    int jobs;            /**< simulations at once, >= 1 */
    ms_store *store;     /**< NULL: none */
    /** Called whenever one has ended.  NULL: nobody asks. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_points_study;

/** What became of the points. */
typedef struct ms_points_counts {
    size_t simulated;  /**< now; refused and failed ones not among them */
    size_t stored;     /**< found in the store, or the same job as another point */
    size_t refused;    /**< there is no such job */
    size_t failed;     /**< crashed, or lacked memory; not put into the store */
    ms_status failure; /**< of the first that failed; MS_OK: none */
} ms_points_counts;

/** Read a workload with settings behind the overrides of its request.  Returns as ms_job_spec_read.
 */
ms_status ms_point_read(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                        ms_diag *diag, ms_job_spec *spec_out);

/** Why a workload cannot be read with some settings. */
typedef struct ms_point_refusal {
    const char *reason; /**< the first fault in one line; "" if there is none */
    bool is_of_key;     /**< a key or its value is wrong by itself, whatever the other keys say */
} ms_point_refusal;

/** Read a workload as ms_point_read does, but report nothing, since settings that make no job are
 * left out.
 *  *refusal_out: in `arena`.  Returns MS_OK; MS_E_INPUT and MS_E_USAGE for a job that cannot be;
 * MS_E_IO and MS_E_NOMEM for failures of the system. */
ms_status ms_point_try(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                       ms_job_spec *spec_out, ms_point_refusal *refusal_out);

/** A setting, "key.path=value", in `arena`; NULL when memory runs out. */
const char *ms_point_setting(const char *key, const char *value, ms_arena *arena);

/** Add the value of a setting to an object (key) or a list (key NULL): a number, a boolean or null
 * as such, all else as its text.  Lack of memory shows in the tree's arena. */
void ms_point_add_value(ms_value *parent, const char *key, const char *value);

/** Add settings to an object, each under its whole key.  settings: "key.path=value". */
void ms_point_add_settings(const ms_words *settings, ms_value *object);

/** Append settings as a JSON object on one line. */
void ms_point_write_settings(const ms_words *settings, ms_buffer *out);

/** Fill the row of a simulated job, except key and settings.
 *  outcome: of the job; its figures or its reason, borrowed.  O(1). */
void ms_point_take_outcome(const ms_worker_outcome *outcome, const char *program,
                           ms_store_row *row);

/** Report the reason of a simulation that lacked memory or could not read or write: no result is
 * written then, so no table would show it.  status: of the simulation; any other reports nothing.
 */
void ms_point_tell_failure(ms_status status, const char *reason, ms_diag *diag);

/** Simulate the points of a study.  What comes out is the same for any number of jobs, and whatever
 * the store has already.
 *  rows_out: [count], texts in `arena`; where a job has not ended its status is NULL.  Returns
 * MS_OK, with a row for every point; MS_E_INTERRUPTED with what had ended by then in the store;
 * what `make` returned; as ms_store_put and ms_workers_stream. */
ms_status ms_points_run(const ms_points_study *study, ms_arena *arena, ms_diag *diag,
                        ms_store_row *rows_out, ms_points_counts *counts_out);

/** What a study's rows come to: the first failure of the program or the system; MS_E_NO where no
 * job is both possible and fits in memory; else MS_OK.  O(count). */
ms_status ms_points_verdict(const ms_store_row *rows, size_t count, const ms_points_counts *counts);

#endif
