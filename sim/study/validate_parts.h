/* What the files of validation share. */
#ifndef MS_VALIDATE_PARTS_H
#define MS_VALIDATE_PARTS_H

#include "meshsim/validate.h"

/* Marks that a page has behind a row. */
#define MS_VALIDATE_LARGE   "!"
#define MS_VALIDATE_SUSPECT "?"

/* In a child: fill the ms_validate_finding of a run. */
void ms_validate_find(size_t index, const ms_result *result, void *finding_out);

/* Part the step of every pipeline rank into phases.
 *  phase_s_out: [MS_STEP_PHASE_COUNT] mean over ranks; NAN where several steps were simulated, or
 * memory ran out. */
void ms_validate_find_phases(const ms_result *result, double *phase_s_out);

/* Sum errors up by group.  An item of a group without a name is left out. */
typedef struct ms_error_item {
    const char *group;
    const char *id;
    double error;
} ms_error_item;

/* items: [count].  *groups_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_validate_sum_up(const ms_error_item *items, size_t count, ms_arena *arena,
                             ms_validate_groups *groups_out);

/* Mean of the groups' mean errors; NAN without a group. */
double ms_validate_mean(const ms_validate_groups *groups);

/* Memory, layer times and phases of rows that ran, into the validation.  Returns likewise. */
ms_status ms_validate_take_points(ms_arena *arena, ms_validation *validation);

/* Time the study's collectives on idle links, into the validation.  Returns as ms_validate_run. */
ms_status ms_validate_collectives(const ms_validate_study *study, ms_case_rules *rules,
                                  ms_arena *arena, ms_diag *diag, ms_validation *validation);

#endif
