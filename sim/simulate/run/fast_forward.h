/* Simulating a part of a job whose steps repeat themselves, instead of the whole:
 * fast_forward.md. */
#ifndef MS_RUN_FAST_FORWARD_H
#define MS_RUN_FAST_FORWARD_H

#include "simulate/run/job.h"

/* A part of a job: the same job with fewer microbatches. */
typedef struct ms_part {
    ms_job job;           /* the job with fewer microbatches */
    ms_lower_fold fold;   /* set by the caller when the part has been lowered */
    ms_dag_repeat repeat; /* the periods left out; times 0: there is no part to attempt */
    int seen_mbs; /* set by the caller after a run: microbatches of a period that was found but does
                     not divide what is left out; 0: there is none */
    int attempts; /* number of attempts so far, without fitted ones */
    int periods;  /* periods of the last such attempt beside those that fill the pipeline */
    bool is_fitted;  /* the part was fitted to the period found in the attempt before */
    int64_t ops_run; /* set by the caller: cost of all attempts, sum of ms_timeline.ops_run */
} ms_part;

/* Choose the next part of a job to simulate: as many microbatches as fill its pipeline and a few
 * periods; after failed attempts, more periods. part: all zero at first; then that of the last
 * attempt, which failed. In `arena`, borrows from the job. Returns MS_OK, also when there is no
 * further part (repeat.times 0); MS_E_NOMEM (not reported). O(actions). */
ms_status ms_part_choose(const ms_job *job, ms_arena *arena, ms_part *part);

/* Maximum cost of the next attempt, so that all attempts together cost at most half of simulating
 * the whole job, in the unit of ms_timeline.ops_run.
 *  dag: the graph of the part.  Returns less than 0 if the attempts so far have cost more.
 * O(operations). */
int64_t ms_part_ops_max(const ms_part *part, const ms_dag *dag);

/* Find whether a part stands for the whole job: on every simulated rank, the whole's list of
 * actions must be that of the part, with the actions of the repeated period inserted as often as
 * the part leaves them out. result: of the part.  arena: for scratch.  Returns MS_OK, also if the
 * timeline has no repeated period; MS_E_NOMEM (not reported).  O(operations + actions of every
 * simulated rank). */
ms_status ms_part_compare(const ms_part *part, const ms_job *job, const ms_result *result,
                          ms_arena *arena, bool *stands_for_out);

#endif
