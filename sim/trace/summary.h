/**
 * @file
 * The summary of a run as a result tree: what `run --json` prints and a trace keeps under /summary.
 *
 * All numbers come from the typed result (job.h); the tree only names them. No layer below this one
 * makes trees.
 */
#ifndef MESHSIM_SUMMARY_H
#define MESHSIM_SUMMARY_H

#include "base/arena.h"
#include "base/status.h"
#include "base/value.h"
#include "simulate/run/job.h"

/** Build the tree of a finished run, without what ms_summary_add_usage adds.  *summary_out: in
 * `arena`.  Returns MS_OK; MS_E_NOMEM (not reported).  O(ranks * axes) routes. */
ms_status ms_summary_build(const ms_result *result, ms_arena *arena, ms_value **summary_out);

/** Add to such a tree what differs from run to run of the same job, under "engine": the wall time
 * and the memory that the program took. Traces do not hold these. */
void ms_summary_add_usage(const ms_result *result, ms_value *summary);

/** Add what a document of JSON holds to such a tree: a saved summary, or saved results.
 *  node: a mapping or a list, as ms_config_parse_json makes them; its children become children of
 * `parent`, an object or a list.  Lack of memory shows in the tree's arena.  O(nodes); it goes as
 * deep as the document, whose depth its reader limits. */
void ms_summary_add_json(const ms_node *node, ms_value *parent);

/** Add to such a tree what `run --ranks` asks for: "ranks", of each simulated rank its pipeline
 * rank, how many ranks it stands for, and its time by category; to the collectives "group_size",
 * and to the kernels "count_by_pp_rank": how often one GPU of each pipeline rank calls the kernel
 * in a step. arena: that of the tree.  Returns MS_OK; MS_E_NOMEM (not reported).  O(operations *
 * pipeline ranks). */
ms_status ms_summary_add_ranks(const ms_result *result, ms_arena *arena, ms_value *summary);

/** Add to such a tree what `run --passes` asks for: "passes", times of the first rank's passes,
 * computing time by kind of pass, phases of a step; "last_rank", memory of the last pipeline rank
 * and, of its GPU type, the memory that no job can use; and "framework", the name of the
 * framework's profile.  result: as in ms_result_pass_times.  Lack of memory shows in the tree's
 * arena. */
void ms_summary_add_passes(const ms_result *result, ms_value *summary);

/** Memory of the rank that needs most. */
typedef struct ms_summary_memory {
    const ms_held_memory *held; /**< at its peak */
    double capacity_B;          /**< HBM minus the stated reserve */
    bool fits;
    int rank; /**< of the job */
} ms_summary_memory;

/** Add "memory": the peak by class, and whether it fits. */
void ms_summary_add_memory(const ms_summary_memory *memory, ms_value *parent);

/** Add "mesh": the sizes of its axes, outermost first; and "expert_mesh" where the experts have one
 * of their own; and "order", the names of the mesh's axes likewise. */
void ms_summary_add_meshes(const ms_job *job, ms_value *parent);

/** Add the name of a tier under a key; null where `tier` is below 0, as there is none. */
void ms_summary_add_tier(const ms_platform *platform, int tier, const char *key, ms_value *parent);

/** Add "mesh_tiers": the outermost tier that neighbours of each axis' groups cross, null for an
 * axis of size 1.  O(ranks * axes) routes. */
void ms_summary_add_tiers(const ms_job *job, ms_value *parent);

/** Add "placement": GPUs without a rank, idle or on spare nodes, and these nodes; nothing for a job
 * that takes every GPU, rank r GPU r. */
void ms_summary_add_placement(const ms_rank_placement *placement, ms_value *parent);

/** Add what a training of so many tokens takes: "training_tokens", "training_days",
 * "training_gpu_hours" of GPUs with a rank, "training_cost" [USD] and "training_energy_MWh".
 * What is not known of a step is null.
 *  tokens: of the whole training; 0 adds nothing.  gpus: with a rank.
 * figures: an object with the figures of a step: "step_time_s", "tokens_per_s", "cost", "energy_J".
 */
void ms_summary_add_training(double tokens, double gpus, ms_value *figures);

#endif
