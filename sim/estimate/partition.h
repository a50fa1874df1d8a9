/* Balanced partitions: layers are shared out to pipeline stages so that the estimated step is
 * short. The caller has laid out the job, but for the number of layers per stage. */
#ifndef MS_ESTIMATE_PARTITION_H
#define MS_ESTIMATE_PARTITION_H

#include "estimate/layer_times.h"
#include "estimate/rank_memory.h"
#include "estimate/step.h"

/* The purpose of a partition, which decides how much work is spent on it. */
typedef enum ms_partition_use {
    MS_PARTITION_OF_JOB, /* the only job: the step is shortened even if no partition fits in memory
                          */
    MS_PARTITION_OF_CANDIDATE, /* one of many candidates, of which only those that fit count: the
                                  step is shortened unless every pipeline rank needs too much
                                  memory, as then no partition fits */
    MS_PARTITION_TO_FIT,       /* only whether some partition fits: the first that does is taken */
} ms_partition_use;

/* A job whose layers are to be shared out to its stages. All borrowed. */
typedef struct ms_partition_input {
    const ms_job *job; /* its costs and its stage_layers are not used; its program has no actions
                          until `open` was called */
    const ms_layer_times *times;
    ms_step_context context; /* its order, scratch and bound are not used */
    /* Called before the first step is estimated, as many partitions need none: finds the order of
     * the passes, and gives `job` the program.  Returns MS_OK; MS_E_NOMEM and others, which
     * ms_partition_find returns. */
    ms_status (*open)(void *opener, const ms_order **order_out);
    void *opener;                     /* its first argument */
    const ms_memory_moments *moments; /* of the job's program */
    unsigned passes;                  /* 1 << ms_pass of all passes in the program */
    ms_partition_use use;
} ms_partition_input;

/* Share out the layers of a job: see estimate.md.
 *  *stage_layers_out: [model stages] number of layers of each virtual stage, in `arena`; if the
 * model refuses all partitions that were tried, one of these.  Returns MS_OK; MS_E_NOMEM (not
 * reported); as `open`. A few estimates for each move that shortens the step, and O(stages^3) sums.
 */
ms_status ms_partition_find(const ms_partition_input *in, ms_arena *arena,
                            const int **stage_layers_out);

#endif
