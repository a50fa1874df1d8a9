/* Balanced partitions: layers shared among pipeline stages so that the estimated step is short. */
#ifndef MS_ESTIMATE_PARTITION_H
#define MS_ESTIMATE_PARTITION_H

#include "estimate/layer_times.h"
#include "estimate/rank_memory.h"
#include "estimate/step.h"

/* What a partition is for. */
typedef enum ms_partition_use {
    MS_PARTITION_OF_JOB, /* the only job: a short step, also where it does not fit in memory */
    MS_PARTITION_OF_CANDIDATE, /* one of many, of which those that fit count: a short step; even
                                  loads where no pipeline rank fits, as then no partition does */
    MS_PARTITION_TO_FIT,       /* whether it fits is all that is asked */
} ms_partition_use;

/* A job whose layers are to be shared among its stages. All borrowed. */
typedef struct ms_partition_input {
    const ms_job *job; /* its costs and its stage_layers are not used */
    const ms_layer_times *times;
    ms_step_place place;              /* its scratch and its bound are not used */
    const ms_memory_moments *moments; /* of the job's program */
    unsigned passes;                  /* 1 << ms_pass of all passes in the program */
    ms_partition_use use;
} ms_partition_input;

/* Share the layers: see estimate.md.
 *  *stage_layers_out: [model stages] layers of each virtual stage, in `arena`; if the model refuses
 * all partitions that were tried, one of these.  Returns MS_OK; MS_E_NOMEM (not reported).
 *  A few estimates for each move that shortens the step, and O(stages^3) sums. */
ms_status ms_partition_find(const ms_partition_input *in, ms_arena *arena,
                            const int **stage_layers_out);

#endif
