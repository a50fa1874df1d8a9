/**
 * @file
 * Comparing pipeline schedules in one table: on paper with abstract times, or simulated in a
 * workload on its platform.
 *
 * P is the number of pipeline ranks, V of virtual stages per rank, M of microbatches, N of
 * microbatches in a group of an interleaved schedule, K of slices of a sequence. A schedule that
 * these sizes do not allow, or that needs more memory than a cap, is a row with a reason instead of
 * figures.
 */
#ifndef MESHSIM_SCHEDULES_H
#define MESHSIM_SCHEDULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "schedule/schedule.h"
#include "schedule/schedule_csv.h"
#include "schedule/schedule_study.h"
#include "search/table.h"
#include "simulate/metrics/metrics.h"
#include "simulate/run/job.h"

/* ---- one schedule ---- */

/** A schedule that a user has chosen. */
typedef struct ms_schedule_choice {
    const char *name; /**< as the user writes it: "zbv", "vhalf-reordered", "csv:FILE" */
    const char *file; /**< path of the file with the order of passes; NULL: the kind builds it */
    ms_schedule_kind kind; /**< MS_SCHEDULE_CUSTOM with a file */
    bool
        is_reordered; /**< the name ends with "-reordered": as with ms_schedule_spec.is_reordered */
} ms_schedule_choice;

/** An open schedule, built by its kind or read from a file. */
typedef struct ms_opened_schedule {
    ms_program program;
    bool has_cells;     /**< it was read from a file */
    ms_csv_table cells; /**< cells of the file, if has_cells */
} ms_opened_schedule;

/** Build a schedule, or read its file.
 *  sizes: P, V, M, N, K as the kind takes them; for a file only K counts, where 0 means 1.
 * *opened_out: in `arena`. Returns as ms_schedule_build, or for a file as ms_csv_load and
 * ms_csv_program. */
ms_status ms_schedule_open(const ms_schedule_choice *choice, const ms_schedule_spec *sizes,
                           ms_arena *arena, ms_diag *diag, ms_opened_schedule *opened_out);

/** Read times per stage from a CSV file: a header with the columns forward, input_gradient and
 * weight_gradient, and optionally stage and p2p; then one line per stage, in any order if there is
 * a column `stage`.
 *  path: of the file. stages: number of lines that it must have. *costs_out: the four lists are
 * set, [stages] each, in `arena`; p2p is 0 without its column. Returns MS_OK; MS_E_INPUT with every
 * fault reported; MS_E_IO and MS_E_NOMEM (reported). */
ms_status ms_stage_times_read(const char *path, int stages, ms_arena *arena, ms_diag *diag,
                              ms_schedule_costs *costs_out);

/* ---- on paper ---- */

/** The parameters of a comparison on paper.  All is borrowed. */
typedef struct ms_paper_study {
    const ms_schedule_choice *choices; /**< [count] */
    size_t count;
    ms_schedule_spec sizes; /**< P and M of all schedules; V, N, K and reordering for the kinds that
                               take them; 0 for V or K means 2 */
    const ms_schedule_costs *costs; /**< [P] times per P-th of the model, which are spread over a
                                       schedule's stages; p2p [P-1] between neighbouring ranks */
    double cap;                     /**< maximum of peak_inflight, in its unit; 0: no cap */
} ms_paper_study;

/** A schedule on paper. */
typedef struct ms_paper_row {
    const char *name;
    const char *reason; /**< why the row is left out; NULL: it is in the table */
    int64_t chunks;     /**< V */
    /** As from ms_schedule_evaluate with the study's times as the times of one virtual stage, which
     * is how a single schedule is evaluated. All times of the row except rank_makespan are in this
     * unit. */
    double makespan, bubble_fraction, max_span, max_span_bubble;
    double rank_makespan; /**< makespan with the study's times as the times of all stages of a rank
                             together: by it, rows of any V can be compared */
    double peak_inflight; /**< maximum over ranks of the work in flight, in units of a P-th of the
                             model and one whole microbatch */
    int64_t parameter_replicas, messages;
    double formula_makespan;          /**< NAN: no formula is known */
    double period;                    /**< time that one more microbatch takes */
    ms_schedule_gap gap;              /**< parts of the makespan */
    double closed_form, work;         /**< gap.base is one of the two; the other is NAN */
    const ms_program *program;        /**< NULL: not evaluated */
    const ms_schedule_result *result; /**< with the times of each pass; NULL: not evaluated */
    double share; /**< one stage on one microbatch (or slice), in the unit of peak_inflight */
} ms_paper_row;

/** Columns of ms_paper_row, see table.h. */
extern const ms_table_column MS_PAPER_COLUMNS[];

/** Set the sizes that a study leaves open (P or M of 0) to those of the first of its schedules that
 * is read from a file. Without such a schedule they stay open. *study: its `sizes` are set. Returns
 * as ms_schedule_open. O(cells of the file). */
ms_status ms_paper_sizes_from_file(ms_paper_study *study, ms_arena *arena, ms_diag *diag);

/** Evaluate schedules on paper.
 *  rows_out: [study->count], in the order of the choices, contents in `arena`. Returns MS_OK, also
 * when rows are left out; MS_E_INPUT and MS_E_IO for the faults of a file (reported); MS_E_RANGE
 * for costs out of range; MS_E_NOMEM (reported). */
ms_status ms_schedules_evaluate(const ms_paper_study *study, ms_arena *arena, ms_diag *diag,
                                ms_paper_row *rows_out);

/* ---- in a workload ---- */

/** The parameters of a comparison by simulation.  All is borrowed. */
typedef struct ms_simulated_study {
    const ms_job *base;                /**< the workload, loaded with its own schedule */
    const ms_schedule_choice *choices; /**< [count] schedules that replace the workload's own */
    size_t count;
    ms_schedule_spec sizes;      /**< V, N, K and reordering; 0: that of the workload */
    double cap_B;                /**< maximum memory of a rank [B]; 0: no cap */
    int jobs;                    /**< simulations at once, >= 1 */
    const char *trace_folder;    /**< gets a trace of each schedule, NAME.h5; NULL: no traces */
    const char *program_version; /**< that traces have */
    /** Called whenever a simulation has ended.  NULL: not called. */
    void (*progress)(void *context, size_t done, size_t count);
    void *context; /**< its first argument */
} ms_simulated_study;

/** A schedule in the workload. */
typedef struct ms_simulated_row {
    const char *name;
    const char *reason;     /**< why the row is left out; NULL: it is in the table */
    const char *status;     /**< "simulated", "above_cap", "refused" or "failed" */
    ms_status outcome;      /**< of the simulation; MS_OK also if only the cap leaves the row out */
    bool is_repartitioned;  /**< it has another number of stages, with a balanced partition of its
                               own */
    ms_run_figures figures; /**< 0: not simulated */
    double peak_B;          /**< maximum memory of a rank [B]; NAN: not simulated */
    const char *trace;      /**< path of its trace; NULL: none is wanted */
} ms_simulated_row;

/** Columns of ms_simulated_row, see table.h. */
extern const ms_table_column MS_SIMULATED_COLUMNS[];

/** Simulate schedules in the place of a workload's own, each in a process of its own, as
 * ms_workers_run does. If a schedule has another number of stages than the workload's, the layers
 * are partitioned as the workload says where that is possible, else balanced.
 *  rows_out: [study->count], in the order of the choices, contents in `arena`. Returns MS_OK, also
 * when some schedules cannot run; MS_E_USAGE when two schedules would write the same trace;
 * MS_E_INPUT and MS_E_IO for the faults of a file, and MS_E_IO for a trace that cannot be written;
 * as ms_workers_run; all reported. */
ms_status ms_schedules_simulate(const ms_simulated_study *study, ms_arena *arena, ms_diag *diag,
                                ms_simulated_row *rows_out);

/** The status with which a comparison ends: that of the first row where the program or the system
 * failed; MS_E_NO when no row is in the table and fits in memory; else MS_OK. rows: [count]. */
ms_status ms_schedules_verdict(const ms_simulated_row *rows, size_t count);

/** Build, but do not run, a workload with one schedule in the place of its own.
 *  base: the workload, loaded with its own schedule. sizes: as in ms_simulated_study. *job_out: in
 * `arena`. Returns as ms_job_build; as ms_schedule_open for a file. */
ms_status ms_schedule_in_workload(const ms_job *base, const ms_schedule_choice *choice,
                                  const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                  ms_job *job_out);

#endif
