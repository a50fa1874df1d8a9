/* A workload with one schedule in the place of its own. */
#ifndef MS_STUDY_SCHEDULE_DERIVE_H
#define MS_STUDY_SCHEDULE_DERIVE_H

#include "search/schedules.h"

/* The derived job. */
typedef struct ms_schedule_derived {
    ms_job_spec spec;      /* borrows from the base */
    bool is_repartitioned; /* as in ms_simulated_row */
} ms_schedule_derived;

/* The sizes of a schedule that its kind builds, as far as the kind uses each. P and M are those of
 * `own`. V, N, K and reordering are given, else those of `own`, else 2 for V and K.
 *  given: 0 where a size is not given. own: sizes of the workload's own schedule. */
ms_schedule_spec ms_schedule_sizes(ms_schedule_kind kind, const ms_schedule_spec *given,
                                   const ms_schedule_spec *own);

/* Cost of a stage where the costs of equal parts of the model are given: the sum over the parts, or
 * shares of parts, that it consists of.  parts: [count]. stage: one of `stages` equal ones. O(count
 * / stages). */
double ms_schedule_spread(const double *parts, int count, int stages, int stage);

/* Put a schedule in the place of a workload's own. Given costs are spread over its stages.
 *  base: the workload, loaded. sizes: as in ms_simulated_study. *derived_out: contents in `arena`.
 * Returns MS_OK; as ms_schedule_open for a file; MS_E_IO; MS_E_NOMEM; all reported. */
ms_status ms_schedule_derive(const ms_job *base, const ms_schedule_choice *choice,
                             const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                             ms_schedule_derived *derived_out);

#endif
