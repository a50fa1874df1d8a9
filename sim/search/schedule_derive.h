/* A workload with one schedule in the place of its own. */
#ifndef MS_STUDY_SCHEDULE_DERIVE_H
#define MS_STUDY_SCHEDULE_DERIVE_H

#include "search/schedules.h"

/* What comes of it. */
typedef struct ms_schedule_derived {
    ms_job_spec spec;      /* borrows from the base */
    const char *reason;    /* why the schedule cannot run in the workload; NULL: nothing is known */
    bool is_repartitioned; /* as in ms_simulated_row */
} ms_schedule_derived;

/* The sizes of a schedule that is built by its kind: V, N, K and reordering as far as the kind
 * takes them. Those of `given` count, then those of `own`, then 2 virtual stages and 2 slices; P
 * and M are those of `own`. */
ms_schedule_spec ms_schedule_sizes(ms_schedule_kind kind, const ms_schedule_spec *given,
                                   const ms_schedule_spec *own);

/* Put a schedule in the place of a workload's own.
 *  base: the workload, loaded.  sizes: as in ms_simulated_study.  *derived_out: contents in
 * `arena`. Returns MS_OK, also with a reason; as ms_schedule_open for a file; MS_E_NOMEM; all
 * reported. */
ms_status ms_schedule_derive(const ms_job *base, const ms_schedule_choice *choice,
                             const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                             ms_schedule_derived *derived_out);

#endif
