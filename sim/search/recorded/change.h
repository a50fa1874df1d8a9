/* What-ifs of a measured job. */
#ifndef MS_RECORDED_CHANGE_H
#define MS_RECORDED_CHANGE_H

#include "search/recorded/study.h"
#include "simulate/run/job.h"

/* A change of a job: of its layout, or of its workers and transfers. */
typedef struct ms_recorded_change {
    const char *name;          /* for people */
    const ms_program *program; /* another order of passes; NULL: the measured one */
    const int *layers_before;  /* [virtual stages of the job] */
    const int *layers_after;   /* [stages_after]; NULL: the layout stays */
    int stages_after;          /* virtual stages of the model */
    int without_dp;            /* a data-parallel rank that is left out; -1: none */
    int without_stage;         /* >= 0: its worker of this stage is replaced instead, by the median
                                  of the others */
    int replicas;              /* more data-parallel ranks, each drawn from the measured ones */
    uint64_t seed;             /* of these draws */
    double transfer_factor;    /* by which the times of transfers are multiplied */
} ms_recorded_change;

/* The changed job, without launch delays.  *out: in `arena`; borrows from `job`.  Returns MS_OK;
 * MS_E_INPUT (reported) where the job cannot be changed so; MS_E_NOMEM (reported). */
ms_status ms_recorded_change_job(const ms_recorded *job, const ms_recorded_change *change,
                                 ms_arena *arena, ms_diag *diag, ms_recorded **out);

/* Whether the passes of a job are in the order of a program. */
bool ms_recorded_has_order(const ms_recorded *job, const ms_program *program);

/* The schedule with the order of a job's passes; of kind MS_SCHEDULE_CUSTOM where no kind has it.
 */
ms_schedule_spec ms_recorded_schedule(const ms_recorded *job, ms_arena *arena);

/* Load the workload that the job is checked against, or make one, before and after the changes of
 * --set.  *jobs_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) where the workload is
 * another job; as ms_job_load. */
ms_status ms_recorded_load_jobs(const ms_recorded *job, const ms_recorded_whatif *request,
                                ms_arena *arena, ms_diag *diag, ms_job *jobs_out[2]);

/* Add the list `whatif`: the step and S with each change that a call asks for, or else with some
 * that are of interest.  Returns MS_OK; as ms_recorded_load_jobs; MS_E_USAGE (reported). */
ms_status ms_recorded_add_whatifs(const ms_recorded_findings *f, const ms_recorded_whatif *request,
                                  ms_arena *arena, ms_diag *diag, ms_value *root);

#endif
