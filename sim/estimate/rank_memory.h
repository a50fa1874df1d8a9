/**
 * @file
 * What a pipeline rank holds while its actions run: the one memory model.
 *
 * An action takes working memory while it runs; a forward pass keeps activations until the end of
 * its B, or W; the first weight gradients of a round make whole gradients that the last ones hand
 * over; whole parameters are there from a stage's unshard to its reshard. The caller says in which
 * order actions start and end: `check` in that of a rank's list (ms_memory_model_peak), a run at
 * the times of its timeline (ms_memory_compute). It stands below both, and above schedule and
 * model, neither of which knows the other.
 */
#ifndef MESHSIM_RANK_MEMORY_H
#define MESHSIM_RANK_MEMORY_H

#include "base/arena.h"
#include "base/status.h"
#include "model/stage_costs.h"
#include "schedule/schedule.h"

/** What a rank holds at one moment [B]. */
typedef struct ms_held_memory {
    double total_B; /**< sum of those up to other_B */
    double parameter_B, gradient_B, optimizer_B, activation_B, buffer_B;
    double other_B;     /**< what the allocator loses, and framework_B */
    double framework_B; /**< what framework and libraries hold for themselves */
    double update_B;    /**< not in total_B: what comes on top between update and first pass */
    double
        transformer_B; /**< parameters, gradients and optimizer state of transformer layers only */
    int inflight;      /**< (stage, mb) pairs whose activations are kept */
} ms_held_memory;

/** What a rank holds from step to step, and whole parameters that are gathered [B]. */
static inline double ms_held_static_B(const ms_held_memory *held) {
    return held->parameter_B + held->gradient_B + held->optimizer_B;
}

/** The memory of a pipeline rank while its actions run. The model carries counts and not bytes, so
 * that equal states have equal totals in whatever order they were reached, and rounding does not
 * accumulate. */
typedef struct ms_memory_model {
    const ms_program *program;
    const ms_stage_costs *costs;
    int slices;      /**< K, of a sequence, >= 1 */
    int stage_count; /**< stages of the rank */
    int *stages;     /**< [program stages] the rank's own; the first stage_count hold */
    int *place;      /**< [program stages] where a stage stands among them, -1: another rank's */
    int *counts; /**< the next four lists, of which the program changes the first `width` counts */
    int width;
    int *kept;      /**< [own stages * slices] microbatches whose activations are kept, by own stage
                       and slice */
    int *running;   /**< [own stages * slices] passes under way, likewise */
    int *unsharded; /**< [own stages] whether parameters are whole, by own stage */
    int *rounds;    /**< [own stages] whether a round makes whole gradients, likewise */
    const ms_stage_memory **memory; /**< [program stages * slices] per own stage and slice */
} ms_memory_model;

/** Make a model of a program's ranks.
 *  costs: of the program's model_stages, memory filled in.  *model_out: in `arena`; program and
 * costs are kept.  Returns MS_OK; MS_E_NOMEM (not reported).  O(stages * slices). */
ms_status ms_memory_model_init(const ms_program *program, const ms_stage_costs *costs,
                               ms_arena *arena, ms_memory_model *model_out);

/** Turn to a pipeline rank that holds nothing but its states.  O(stages * slices), no allocation,
 * like all below. */
void ms_memory_model_enter(ms_memory_model *model, int rank);
/** An action of the rank starts: it allocates.  O(1). */
void ms_memory_model_start(ms_memory_model *model, const ms_action *action);
/** An action that has started ends: it frees.  O(1). */
void ms_memory_model_end(ms_memory_model *model, const ms_action *action);
/** A stage of the rank is unsharded or resharded.  O(1). */
void ms_memory_model_move(ms_memory_model *model, const ms_shard_move *move);
/** What the rank holds now.  O(stages of the rank * slices). */
ms_held_memory ms_memory_model_weigh(const ms_memory_model *model);

/** Moments of a program's ranks in which a rank may hold most: of every other moment there is one
 * of these with as much of everything. Actions run one after the other as in the rank's list, both
 * of a pair together, which is exact, since what ends makes room for what starts. Moments follow
 * from the order of passes alone, so that one list serves all costs. */
typedef struct ms_memory_moments {
    int *counts;   /**< moment after moment, rank after rank, in the order of the rank's list: of
                      each the first `width` counts of the rank's ms_memory_model */
    size_t *first; /**< [P + 1] where a rank's counts begin */
    int *inflight; /**< [P] of each rank, at most */
} ms_memory_moments;

/** Find them.  model: of the program, with any costs.  *moments_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(actions * stages of a rank * slices), where a rank's list soon
 * repeats itself. */
ms_status ms_memory_moments_find(ms_memory_model *model, ms_arena *arena,
                                 ms_memory_moments *moments_out);

/** What a rank holds when it holds most: that moment's bytes (the first one's, of several),
 * `inflight` at most over the whole list.  moments: of the model's program. */
ms_held_memory ms_memory_model_peak(ms_memory_model *model, const ms_memory_moments *moments,
                                    int rank);

/** Highest peak of any pipeline rank [B].  Likewise. */
double ms_memory_highest_B(ms_memory_model *model, const ms_memory_moments *moments);

#endif
