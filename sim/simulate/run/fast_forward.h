/* Simulating a part of a step that repeats itself: fast_forward.md. */
#ifndef MS_RUN_FAST_FORWARD_H
#define MS_RUN_FAST_FORWARD_H

#include "simulate/run/job.h"

/* A job that does a part of what another one does. */
typedef struct ms_part {
    ms_job job;         /* with fewer microbatches */
    ms_lower_fold fold; /* set when it is lowered */
    ms_dag_repeat
        repeat;   /* what is left out; times 0: nothing, the job is better simulated whole */
    int seen_mbs; /* set by the one who ran it: microbatches of a period that was found but does not
                     divide what is left out, 0: there is none */
    int attempts; /* that were made, fitted ones not counted */
    int periods;  /* of the last of them, beside those that fill the pipeline */
    bool is_fitted;  /* to what was seen in the attempt before */
    int64_t ops_run; /* what all attempts so far have cost: sum of ms_timeline.ops_run */
} ms_part;

/* Choose a part of a job to simulate: as many microbatches as fill its pipeline, and a few periods
 * more; where that did not do, many more.
 *  part: all zero, or the one before, which does not stand for the whole; in `arena`, borrows from
 * the job.  Returns MS_OK, also when there is no such part (any more); MS_E_NOMEM (not reported).
 * O(actions). */
ms_status ms_part_choose(const ms_job *job, ms_arena *arena, ms_part *part);

/* Maximum cost of the next attempt, so that all attempts together cost at most half of simulating
 * the whole job, in the unit of ms_timeline.ops_run.
 *  dag: of the part.  Returns less than 0 where nothing is left.  O(operations). */
int64_t ms_part_ops_max(const ms_part *part, const ms_dag *dag);

/* Find whether the whole job does what a part of it did, with the stretch that its timeline repeats
 * as often as the part leaves it out: by the lists of actions of both, on every simulated rank.
 *  result: of the part.  arena: for the time being.  Returns MS_OK; MS_E_NOMEM (not reported).
 * O(operations + actions of every simulated rank). */
ms_status ms_part_compare(const ms_part *part, const ms_job *job, const ms_result *result,
                          ms_arena *arena, bool *stands_for_out);

#endif
