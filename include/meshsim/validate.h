/**
 * @file
 * Validating: measured runs simulated with one set of parameters, predicted against measured.
 *
 * Nothing here tunes anything: a case becomes a job by the rules of cases.h, the job runs, and the
 * difference is the error. A case without a job, or whose job does not run, is skipped with the
 * reason. One whose job does not fit in memory is simulated all the same: it ran.
 */
#ifndef MESHSIM_VALIDATE_H
#define MESHSIM_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/cases.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/job.h"
#include "meshsim/pass_times.h"
#include "meshsim/status.h"
#include "meshsim/table.h"

MS_BEGIN_DECLS

/** Rows that a group of the score has at least if some of them are fitted to. */
enum { MS_VALIDATE_GROUP_MIN = 6 };

/** Whether a row is left out of fits by its id alone. Source: CRC-32 of the id is a multiple of 3,
 * as Python's zlib.crc32(id.encode()) % 3 == 0. */
bool ms_validate_is_third(const char *id);

/** What a run comes to besides its figures. */
typedef ms_pass_times ms_validate_finding;

/** One step time. */
typedef struct ms_validate_row {
    const ms_case *measured; /**< its case */
    const char *id;          /**< its name */
    const char *group;
    bool is_core;
    double predicted_s; /**< NAN if skipped */
    double measured_s;  /**< of a range the nearer end; inside it what is predicted */
    double error;       /**< predicted / measured - 1 */
    bool fits;          /**< in memory, as simulated; it ran, so it did */
    bool is_suspect;    /**< the source's data contradict each other */
    bool is_stated;     /**< the source says what was recomputed */
    bool is_unseen; /**< left out when parameters are fitted: a third of the ids, by their CRC-32,
                         and all of groups under MS_VALIDATE_GROUP_MIN rows */
    const char *framework;
    const char *platform;
    const char *differs; /**< what is simulated otherwise; NULL: nothing */
    const char *mark;    /**< what a page has behind the row */
    const char *reason;  /**< why it is skipped; NULL: it is not */
    ms_run_figures figures;
    ms_validate_finding finding;
} ms_validate_row;

/** One comparison of another quantity: memory, the time of a layer, a phase or a collective. */
typedef struct ms_validate_point {
    const char *id;       /**< of its case; of a collective where it ran */
    const char *group;    /**< NULL: none */
    const char *quantity; /**< such as "peak_alloc", "forward", "all_reduce" */
    const char *rank;     /**< memory: "peak" or "last"; else NULL */
    int64_t ranks;        /**< collective: GPUs that take part */
    int64_t nodes;
    double size_B;      /**< collective; NAN: none */
    double predicted;   /**< [s] or [B] */
    double measured;    /**< likewise */
    double error;       /**< predicted / measured - 1 */
    const char *reason; /**< why it is skipped; NULL: it is not */
} ms_validate_point;

/** What rows of one group come to. */
typedef struct ms_validate_group {
    const char *name;
    int64_t n;
    double mean_abs_error;
    double bias; /**< mean error, with its sign */
    double worst_abs_error;
    const char *worst; /**< id of that row */
} ms_validate_group;

/** A list of points. */
typedef struct ms_validate_points {
    ms_validate_point *items; /**< [count] */
    size_t count;
} ms_validate_points;

/** Groups of rows. */
typedef struct ms_validate_groups {
    ms_validate_group *items; /**< [count], in the order in which files have them */
    size_t count;
} ms_validate_groups;

/** Everything that came out. Arrays in the arena. */
typedef struct ms_validation {
    ms_validate_row *rows; /**< [row_count] each part in the order of the files */
    size_t scored;         /**< rows up to here are of the score, skipped ones included */
    size_t timed;          /**< from there up to here those apart from it; then layers */
    size_t row_count;
    ms_validate_groups groups; /**< of the score */
    ms_validate_groups apart;  /**< of rows outside it */
    ms_validate_points memory; /**< of jobs that ran */
    ms_validate_groups memory_groups;
    ms_validate_points layers;
    ms_validate_points phases; /**< of steps */
    ms_validate_points collectives;
    ms_validate_groups sizes; /**< collectives by size */
    double mean_of_groups;    /**< of the score: mean of the groups' mean errors; NAN: no row */
    double stated_mean;       /**< the same of rows that state what they recompute */
} ms_validation;

/** What to validate. */
typedef struct ms_validate_study {
    const ms_measurements *measurements;
    const char *group;       /**< cases of this group alone; NULL: all */
    const char *id;          /**< this case alone; NULL: all */
    ms_words sets;           /**< overrides of every job, as ms_case_rules_override has them */
    const char *data_folder; /**< of frameworks and platforms */
    int jobs;                /**< simulations at once */
    void (*progress)(void *context, size_t done, size_t count); /**< NULL: nobody asks */
    void *context;
} ms_validate_study;

/** Columns of a table of ms_validate_row, of ms_validate_point and of ms_validate_group. */
extern const ms_table_column MS_VALIDATE_ROW_COLUMNS[];
extern const ms_table_column MS_VALIDATE_MEMORY_COLUMNS[];
extern const ms_table_column MS_VALIDATE_LAYER_COLUMNS[];
extern const ms_table_column MS_VALIDATE_COLLECTIVE_COLUMNS[];
extern const ms_table_column MS_VALIDATE_GROUP_COLUMNS[];

/** Simulate measured runs and compare.
 *  *validation_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) where no case is of the group
 * or id asked for, or a framework cannot be read; MS_E_IO; MS_E_NOMEM. */
ms_status ms_validate_run(const ms_validate_study *study, ms_arena *arena, ms_diag *diag,
                          ms_validation *validation_out);

MS_END_DECLS

#endif
