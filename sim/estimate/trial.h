/* Trials of overrides: a job is read once more as if the user had typed them, laid out and
 * estimated, so that what is proposed to the user has been tried as it is printed. */
#ifndef MS_ESTIMATE_TRIAL_H
#define MS_ESTIMATE_TRIAL_H

#include "estimate/estimate.h"

/* Maximum number of overrides of one trial: five axes, the order, the experts' axis, microbatches,
 * two keys of the partition, six of sharding and recomputation. */
enum { MS_TRIAL_SETS_MAX = 16 };

/* Trials of one job. */
typedef struct ms_trials {
    const ms_job_spec *spec; /* as ms_job_spec_read left it */
    ms_arena lists;          /* overrides */
    ms_arena arena;          /* specs; the estimator borrows from them */
    ms_diag mute;
    ms_estimator *estimator; /* what it keeps grows with every trial, so it is made anew at times */
    int read;                /* specs that it knows */
} ms_trials;

/* Overrides as a list that grows. */
typedef struct ms_trial_sets {
    const char *items[MS_TRIAL_SETS_MAX];
    size_t count;
} ms_trial_sets;

/* Start trials; release them in any case.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_trials_init(ms_trials *trials, const ms_job_spec *spec);
void ms_trials_release(ms_trials *trials);

/* Append an override; a lack of memory is reported where the overrides are used. */
void ms_trial_add(ms_trials *trials, ms_trial_sets *sets, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append the overrides that switch sequence parallelism on. */
void ms_trial_add_sequence_parallel(ms_trials *trials, ms_trial_sets *sets);

/* Append "mesh.AXIS=size" for each axis whose size differs from the job's; an axis that
 * `mesh.order` leaves out is inserted there in the usual order. */
void ms_trial_add_axes(ms_trials *trials, const ms_axis_sizes *sizes, ms_trial_sets *sets);

/* Sizes of the job's axes; ep is that of the experts' own mesh where there is one. */
ms_axis_sizes ms_trial_axes(const ms_job_spec *spec);

/* Read the job with the overrides.  *spec_out: valid until the next trial.  Returns MS_OK;
 * MS_E_INPUT where they are refused (not reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_trial_read(ms_trials *trials, const ms_trial_sets *sets, ms_job_spec *spec_out);

/* Read the job with the overrides and find its memory peak.  Returns as ms_trial_read. */
ms_status ms_trial_fit(ms_trials *trials, const ms_trial_sets *sets, double *peak_B_out,
                       bool *fits_out);

/* Whether a trial ended because the job cannot have these overrides. */
static inline bool ms_trial_is_refused(ms_status status) {
    return status == MS_E_INPUT || status == MS_E_USAGE;
}

/* Copy overrides to an arena.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_trial_keep(const ms_trial_sets *sets, ms_arena *arena, ms_words *words_out);

#endif
