/**
 * @file
 * The memory of a pipeline rank while its actions run: the one memory model of estimate and
 * metrics.
 *
 * An action needs working memory while it runs. The activations of a forward pass are kept until
 * the end of the same microbatch's B, or W. Whole gradients exist from the first to the last weight
 * gradients of a round, and whole parameters from a stage's unshard to its reshard. The caller
 * decides in which order actions start and end: `check` takes the order of a rank's list
 * (ms_memory_model_peak), a run the times of its timeline (ms_memory_compute in simulate/metrics).
 */
#ifndef MESHSIM_RANK_MEMORY_H
#define MESHSIM_RANK_MEMORY_H

#include "base/arena.h"
#include "base/status.h"
#include "model/stage_costs.h"
#include "schedule/schedule.h"

/** Memory of a rank at one moment, by use [B]. */
typedef struct ms_held_memory {
    double total_B;      /**< sum of the six uses from parameter_B to other_B */
    double parameter_B;  /**< also whole parameters while they are gathered */
    double gradient_B;   /**< also whole gradients of a round */
    double optimizer_B;  /**< state of the optimizer */
    double activation_B; /**< kept for backward passes */
    double buffer_B;     /**< working memory of the actions that run */
    double other_B;      /**< loss of the allocator, and framework_B */
    double framework_B;  /**< buffers of the framework and workspaces of libraries */
    double update_B; /**< not in total_B: memory from the update to the next step's first pass */
    double transformer_B; /**< part of parameter_B + gradient_B + optimizer_B of the layers */
    int inflight;         /**< number of (stage, mb) pairs whose activations are kept */
} ms_held_memory;

/** Parameters, gradients and optimizer state of a rank [B]. */
static inline double ms_held_static_B(const ms_held_memory *held) {
    return held->parameter_B + held->gradient_B + held->optimizer_B;
}

/** The memory of a pipeline rank while its actions run. The model carries counts and not bytes, so
 * that equal states have equal totals in whatever order they were reached, and rounding does not
 * accumulate. */
typedef struct ms_memory_model {
    const ms_program *program;
    const ms_stage_costs *costs;
    int slices;       /**< K slices of a sequence, >= 1 */
    int stage_count;  /**< number of stages of the rank: its own stages */
    int *stages;      /**< [program stages] the own stages are the first stage_count entries */
    int *local_stage; /**< [program stages] index of a stage in `stages`; -1: of another rank */
    int *counts;      /**< storage of the four lists kept, running, unsharded and rounds */
    int width;        /**< number of counts that the program changes, which come first */
    int *kept;        /**< [own stages][slices] microbatches whose activations are kept */
    int *running;     /**< [own stages][slices] passes under way */
    int *unsharded;   /**< [own stages] 1 while the parameters of the stage are whole */
    int *rounds;      /**< [own stages] 1 while a round makes whole gradients of the stage */
    const ms_stage_memory **memory; /**< [program stages * slices] by own stage and slice */
} ms_memory_model;

/** Make a model of a program's ranks. It holds the memory of one rank at a time, which
 * ms_memory_model_set_rank chooses.
 *  costs: of the program's model_stages; without stages only moments can be found.  *model_out: in
 * `arena`; borrows program and costs.  Returns MS_OK; MS_E_NOMEM (not reported).  O(stages *
 * slices). */
ms_status ms_memory_model_init(const ms_program *program, const ms_stage_costs *costs,
                               ms_arena *arena, ms_memory_model *model_out);

/** Set the model to a pipeline rank before its first action. It then holds parameters, gradients,
 * optimizer state and framework only.  O(stages * slices), no allocation, like all functions below.
 */
void ms_memory_model_set_rank(ms_memory_model *model, int rank);
/** An action of the rank starts: it allocates.  O(1). */
void ms_memory_model_start(ms_memory_model *model, const ms_action *action);
/** An action that has started ends: it frees.  O(1). */
void ms_memory_model_end(ms_memory_model *model, const ms_action *action);
/** A stage of the rank is unsharded or resharded.  O(1). */
void ms_memory_model_move(ms_memory_model *model, const ms_shard_move *move);
/** The memory of the rank now.  O(stages of the rank * slices). */
ms_held_memory ms_memory_model_weigh(const ms_memory_model *model);

/** The moments at which a rank's memory may peak: for each other moment one of these has at least
 * as much of everything. Actions run one after the other as in the rank's list, both of a pair
 * together; this is exact, as an action starts when the one before it has freed its memory. Moments
 * depend on the order of passes alone, so that one list serves all costs. */
typedef struct ms_memory_moments {
    int *counts;   /**< for each rank, for each moment in the order of its list: the first `width`
                      counts of the rank's ms_memory_model */
    size_t *first; /**< [P + 1] index in `counts` of each rank's first count */
    int *inflight; /**< [P] maximum of ms_held_memory.inflight over each rank's list */
} ms_memory_moments;

/** Find the moments of all ranks.  model: of the program, with any costs.  *moments_out: in
 * `arena`.  Returns MS_OK; MS_E_NOMEM (not reported).  O(actions * stages of a rank * slices),
 * where a rank's list soon repeats itself. */
ms_status ms_memory_moments_find(ms_memory_model *model, ms_arena *arena,
                                 ms_memory_moments *moments_out);

/** The memory of a rank at its peak: at the first moment with the largest total, but with the
 * maximum of `inflight` over the rank's whole list.  moments: of the model's program. */
ms_held_memory ms_memory_model_peak(ms_memory_model *model, const ms_memory_moments *moments,
                                    int rank);

/** Highest peak of memory of any pipeline rank [B].  moments: of the model's program. */
double ms_memory_highest_B(ms_memory_model *model, const ms_memory_moments *moments);

#endif
