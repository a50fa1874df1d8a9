/**
 * @file
 * The summary of a run as a result tree: `run --json` prints it, and a trace keeps it as /summary.
 *
 * All numbers come from the typed result (simulate/run/job.h); the tree only names them. No layer
 * below this one makes trees.
 */
#ifndef MESHSIM_SUMMARY_H
#define MESHSIM_SUMMARY_H

#include "base/arena.h"
#include "base/status.h"
#include "base/value.h"
#include "simulate/run/job.h"

/** Build the tree of a finished run; functions below add optional parts.  *summary_out: in `arena`.
 * Returns MS_OK; MS_E_NOMEM (not reported).  O(ranks * axes) routes. */
ms_status ms_summary_build(const ms_result *result, ms_arena *arena, ms_value **summary_out);

/** Add the wall time and the memory of the program, under "engine" of a tree of ms_summary_build.
 * They differ from run to run of one job, so that traces do not hold them. */
void ms_summary_add_usage(const ms_result *result, ms_value *summary);

/** Add the contents of a JSON document to a tree, such as a saved summary or saved results.
 *  node: a mapping or a list of ms_config_parse_json; its children become children of `parent`, an
 * object or a list.  Lack of memory sets has_failed of the tree's arena.  O(nodes); the recursion
 * is as deep as the document, whose depth its reader limits. */
void ms_summary_add_json(const ms_node *node, ms_value *parent);

/** Add the parts of `run --ranks` to a tree of ms_summary_build: "ranks", with the pipeline rank of
 * each simulated rank, the number of ranks that it stands for, and its time by category;
 * "group_size" of each collective; and "count_by_pp_rank" of each kernel: how often one GPU of each
 * pipeline rank calls it in a step.  arena: that of the tree.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(operations * pipeline ranks). */
ms_status ms_summary_add_ranks(const ms_result *result, ms_arena *arena, ms_value *summary);

/** Add the parts of `run --passes` to a tree of ms_summary_build: "passes", with times of the first
 * rank's passes, computing time by kind of pass, and phases of a step; "last_rank", with memory of
 * the last pipeline rank and the memory of its GPU that no job can use; and "framework", the name
 * of the framework's profile.  result: as in ms_result_pass_times.  Lack of memory sets has_failed
 * of the tree's arena. */
void ms_summary_add_passes(const ms_result *result, ms_value *summary);

/** Memory of the rank with the highest peak. */
typedef struct ms_summary_memory {
    const ms_held_memory *held; /**< at its peak */
    double capacity_B;          /**< HBM of a GPU minus the platform's reserve [B] */
    bool fits;                  /**< the peak is at most the capacity */
    int rank;                   /**< of the job */
} ms_summary_memory;

/** Add "memory": the peak by use, and whether it fits. */
void ms_summary_add_memory(const ms_summary_memory *memory, ms_value *parent);

/** Add "mesh", the sizes of its axes, outermost first; "expert_mesh" likewise, if the experts have
 * a mesh of their own; and "order", the names of the mesh's axes, outermost first. */
void ms_summary_add_meshes(const ms_job *job, ms_value *parent);

/** Add the name of a tier under a key; null for no tier (`tier` < 0). */
void ms_summary_add_tier(const ms_platform *platform, int tier, const char *key, ms_value *parent);

/** Add "mesh_tiers": the outermost tier that neighbours of each axis' groups cross, null for an
 * axis of size 1.  O(ranks * axes) routes. */
void ms_summary_add_tiers(const ms_job *job, ms_value *parent);

/** Add "placement": the number of GPUs without a rank, idle or on spare nodes, and the spare nodes.
 * Nothing is added for a job whose rank r is on GPU r, for all GPUs. */
void ms_summary_add_placement(const ms_rank_placement *placement, ms_value *parent);

/** Add what a training of so many tokens takes: "training_tokens", "training_days",
 * "training_gpu_hours" of GPUs with a rank, "training_cost" [USD] and "training_energy_MWh".
 * What is not known of a step is null.
 *  tokens: of the whole training; 0 adds nothing.  gpus: with a rank.
 * figures: an object with the figures of a step: "step_time_s", "tokens_per_s", "cost", "energy_J".
 */
void ms_summary_add_training(double tokens, double gpus, ms_value *figures);

#endif
