/**
 * @file
 * Many schedules in one table: on paper with abstract times, or simulated in a workload on its
 * platform.
 *
 * Schedules that the sizes do not allow, or that need more memory than a cap leaves, are rows with
 * a reason in the place of their figures.
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

/** A schedule that somebody asks for. */
typedef struct ms_schedule_choice {
    const char *name; /**< what a user calls it: "zbv", "csv:FILE" */
    const char *file; /**< the path of the file that holds the order; NULL: the kind makes it */
    ms_schedule_kind kind; /**< MS_SCHEDULE_CUSTOM with a file */
} ms_schedule_choice;

/** A schedule as its kind builds it, or as a file holds it. */
typedef struct ms_opened_schedule {
    ms_program program;
    bool has_cells;     /**< read from a file */
    ms_csv_table cells; /**< of that file */
} ms_opened_schedule;

/** Build a schedule, or read its file.
 *  sizes: P, V, M, N, K as the kind takes them; of a file only K, where 0 is 1.  *opened_out: in
 * `arena`.  Returns as ms_schedule_build, or as ms_csv_load and ms_csv_program. */
ms_status ms_schedule_open(const ms_schedule_choice *choice, const ms_schedule_spec *sizes,
                           ms_arena *arena, ms_diag *diag, ms_opened_schedule *opened_out);

/** Times per stage from a CSV file: a header with the columns forward, input_gradient and
 * weight_gradient, where wanted also stage and p2p, then one line per stage, in any order where a
 * column says which.
 *  path: as in diagnostics.  stages: lines that it must have.  *costs_out: the four lists, in
 * `arena`; nothing else is touched.  Returns MS_OK; MS_E_INPUT with every fault reported; MS_E_IO
 * and MS_E_NOMEM (reported). */
ms_status ms_stage_times_read(const char *path, int stages, ms_arena *arena, ms_diag *diag,
                              ms_schedule_costs *costs_out);

/* ---- on paper ---- */

/** Which schedules are evaluated on paper, and what with.  All is borrowed. */
typedef struct ms_paper_study {
    const ms_schedule_choice *choices; /**< [count] */
    size_t count;
    ms_schedule_spec sizes; /**< P and M of all; V, N, K and reordering for the kinds that take
                               them, where V and K are 2 if they are 0 */
    const ms_schedule_costs *costs; /**< [P] per P-th of the model, spread over a schedule's
                                       stages; p2p [P-1] between neighbouring ranks */
    double cap; /**< microbatches in flight at most, in the unit of peak_inflight; 0: no cap */
} ms_paper_study;

/** A schedule on paper. */
typedef struct ms_paper_row {
    const char *name;
    const char *reason; /**< why it is left out; NULL: it is in the table */
    int64_t chunks;     /**< V */
    /** As from ms_schedule_evaluate with the study's times as those of one virtual stage, which is
     * how a single schedule is evaluated. All times of the row but rank_makespan have this unit. */
    double makespan, bubble_fraction, max_span, max_span_bubble;
    double rank_makespan; /**< makespan with the study's times as those of all stages of a rank
                             together: rows of any V compare by it */
    double peak_inflight; /**< in units of a P-th of the model and one whole microbatch */
    int64_t parameter_replicas, messages;
    double formula_makespan;          /**< NAN: none is known */
    double period;                    /**< time that one more microbatch takes */
    ms_schedule_gap gap;              /**< what the makespan consists of */
    double closed_form, work;         /**< gap.base, as whichever it is; NAN: it is the other */
    const ms_program *program;        /**< NULL: it was not evaluated, and so the next one */
    const ms_schedule_result *result; /**< with the times of each pass */
    double share; /**< what a unit of work on one stage counts in peak_inflight */
} ms_paper_row;

/** Columns of ms_paper_row, see table.h. */
extern const ms_table_column MS_PAPER_COLUMNS[];

/** Take the sizes that a study leaves open (P or M of 0) from the first of its schedules that a
 * file holds; without one they stay open. *study: its `sizes` are set.  Returns as
 * ms_schedule_open.  O(cells of the file). */
ms_status ms_paper_sizes_from_file(ms_paper_study *study, ms_arena *arena, ms_diag *diag);

/** Evaluate schedules on paper.
 *  rows_out: [study->count], in the order of the choices, contents in `arena`.  Returns MS_OK, also
 * when rows are left out; MS_E_INPUT, MS_E_IO for the faults of a file (reported); MS_E_RANGE for
 * costs; MS_E_NOMEM (reported). */
ms_status ms_schedules_evaluate(const ms_paper_study *study, ms_arena *arena, ms_diag *diag,
                                ms_paper_row *rows_out);

/* ---- in a workload ---- */

/** Which schedules are simulated in the place of a workload's own.  All is borrowed. */
typedef struct ms_simulated_study {
    const ms_job *base;                /**< the workload, loaded with its own schedule */
    const ms_schedule_choice *choices; /**< [count] */
    size_t count;
    ms_schedule_spec sizes;      /**< V, N, K and reordering; where 0, those of the workload */
    double cap_B;                /**< memory of a rank at most [B]; 0: no cap */
    int jobs;                    /**< simulations at once, >= 1 */
    const char *trace_folder;    /**< gets the trace of each as NAME.h5; NULL: no traces */
    const char *program_version; /**< as traces tell it */
    /** Called whenever a simulation has ended.  NULL: nobody asks. */
    void (*progress)(void *context, size_t done, size_t count);
    void *context; /**< its first argument */
} ms_simulated_study;

/** A schedule in the workload. */
typedef struct ms_simulated_row {
    const char *name;
    const char *reason;     /**< why it is left out; NULL: it is in the table */
    const char *status;     /**< "simulated", "above_cap", "refused" or "failed" */
    ms_status outcome;      /**< of its simulation; MS_OK also where only the cap leaves it out */
    bool is_repartitioned;  /**< its stages are not the workload's, and got layers of their own */
    ms_run_figures figures; /**< 0 where it was not simulated */
    double peak_B;          /**< most memory of a rank [B]; NAN where it was not simulated */
    const char *trace;      /**< file that holds its trace; NULL: none was asked for */
} ms_simulated_row;

/** Columns of ms_simulated_row, see table.h. */
extern const ms_table_column MS_SIMULATED_COLUMNS[];

/** Simulate schedules in a workload, each in a process of its own, as ms_workers_run does.  Layers
 * of other numbers of stages than the workload's are partitioned as it says, or balanced.
 *  rows_out: [study->count], in the order of the choices, contents in `arena`.  Returns MS_OK, also
 * when some cannot run; MS_E_USAGE when two of them would write one trace; MS_E_INPUT, MS_E_IO for
 * the faults of a file, and MS_E_IO for a trace that cannot be written; as ms_workers_run; all
 * reported. */
ms_status ms_schedules_simulate(const ms_simulated_study *study, ms_arena *arena, ms_diag *diag,
                                ms_simulated_row *rows_out);

/** What a comparison comes to: the status of the worst row, where the program or the system failed;
 * MS_E_NO when no row is in the table and fits in memory; MS_OK.  rows: [count]. */
ms_status ms_schedules_verdict(const ms_simulated_row *rows, size_t count);

/** A workload with one schedule in the place of its own, built and not run.
 *  base: the workload, loaded with its own schedule.  sizes: as in ms_simulated_study.  *job_out:
 * in `arena`.  Returns as ms_job_build, as ms_schedule_open for a file, and MS_E_INPUT (reported)
 * when the workload's costs are those of other stages. */
ms_status ms_schedule_in_workload(const ms_job *base, const ms_schedule_choice *choice,
                                  const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                  ms_job *job_out);

#endif
