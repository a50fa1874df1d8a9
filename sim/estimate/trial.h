/* Trials of overrides. An override is a text "key.path=value" that changes a key of a job. In a
 * trial the job is read once more as if the user had given the overrides, then laid out and
 * estimated, so that every change that is proposed to the user has been tried as it is printed. */
#ifndef MS_ESTIMATE_TRIAL_H
#define MS_ESTIMATE_TRIAL_H

#include "estimate/estimate.h"

/* Maximum number of overrides of one trial: five axes, the order, the experts' axis, microbatches,
 * two keys of the partition, six of sharding and recomputation. */
enum { MS_TRIAL_SETS_MAX = 16 };

/* Trials of one job. */
typedef struct ms_trials {
    const ms_job_spec *spec; /* as ms_job_spec_read left it */
    ms_arena lists;          /* texts of overrides */
    ms_arena arena;          /* specs that were read; the estimator borrows from them */
    ms_diag mute;            /* refusals are not reported */
    ms_estimator *estimator; /* replaced after a number of trials, as its memory grows with each */
    int read;                /* number of specs since it was made */
} ms_trials;

/* The overrides of a trial. */
typedef struct ms_trial_sets {
    const char *items[MS_TRIAL_SETS_MAX];
    size_t count;
} ms_trial_sets;

/* Start trials of a job; the caller releases them in any case.  spec: borrowed.  Returns MS_OK;
 * MS_E_NOMEM (not reported). */
ms_status ms_trials_init(ms_trials *trials, const ms_job_spec *spec);
/* Free all storage of trials. */
void ms_trials_release(ms_trials *trials);

/* Append an override, as printf makes it; the caller appends at most MS_TRIAL_SETS_MAX. Where
 * memory runs out the item is NULL, and ms_trial_read returns MS_E_NOMEM. */
void ms_trial_add(ms_trials *trials, ms_trial_sets *sets, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append the overrides that switch sequence parallelism on. */
void ms_trial_add_sequence_parallel(ms_trials *trials, ms_trial_sets *sets);

/* Append "mesh.AXIS=size" for each axis whose size differs from the job's; an axis that
 * `mesh.order` leaves out is inserted there in the usual order. */
void ms_trial_add_axes(ms_trials *trials, const ms_axis_sizes *sizes, ms_trial_sets *sets);

/* Sizes of the job's axes; ep is that of the experts' mesh where there is one. */
ms_axis_sizes ms_trial_axes(const ms_job_spec *spec);

/* Read the job with the overrides.  *spec_out: valid until the next trial.  Returns MS_OK;
 * MS_E_INPUT where they are refused (not reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_trial_read(ms_trials *trials, const ms_trial_sets *sets, ms_job_spec *spec_out);

/* Read the job with the overrides and find its memory.  *peak_B_out, *fits_out: as for
 * ms_estimator_fit.  Returns as ms_trial_read. */
ms_status ms_trial_fit(ms_trials *trials, const ms_trial_sets *sets, double *peak_B_out,
                       bool *fits_out);

/* Whether a trial ended because the job cannot have these overrides. */
static inline bool ms_trial_is_refused(ms_status status) {
    return status == MS_E_INPUT || status == MS_E_USAGE;
}

/* Copy overrides to an arena.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_trial_keep(const ms_trial_sets *sets, ms_arena *arena, ms_words *words_out);

#endif
