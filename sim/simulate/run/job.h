/**
 * @file
 * Jobs: a workload file, read and checked, laid out on its platform, simulated and summed up.
 */
#ifndef MESHSIM_JOB_H
#define MESHSIM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "cluster/mesh/mesh.h"
#include "estimate/estimate.h"
#include "job/spec.h"
#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"
#include "simulate/lower/lower.h"
#include "simulate/metrics/metrics.h"

/** What the links of a tier did in a step. */
typedef struct ms_tier_use {
    double bytes;    /**< sum over the ranks of the bytes that each sends, times the links of the
                        tier on their way [B] */
    double busy_s;   /**< of the busiest link */
    double peak_use; /**< highest share of a link's capacity in use at any time; a transfer uses its
                        rate times its slowness (ms_flow) */
} ms_tier_use;

/** What the simulated ranks of a pipeline rank did in a step: the mean of their times. */
typedef struct ms_stage_use {
    int pp; /**< pipeline rank */
    double compute_s, bubble_s, exposed_s;
    double peak_B; /**< the highest of them */
} ms_stage_use;

/** Collectives of one sort inside pieces of one kind of pass (granularity `pass`), which other
 * traffic met on links that are too narrow for both. They were timed without it. */
typedef struct ms_granularity_risk {
    ms_axis axis;
    ms_coll_kind kind;
    int tier;
    ms_op_kind op_kind;          /**< of the pass */
    int stage_first, stage_last; /**< virtual stages whose pieces are among them */
    int64_t pieces;              /**< operations that are such pieces, in these stages */
    int64_t met;                 /**< of them, how many ran while something else did */
    unsigned with;               /**< MS_AXIS_BIT of the axes of what they met */
} ms_granularity_risk;

/** The outcome of a simulation, in numbers; summary.h makes a tree of it. */
typedef struct ms_result {
    const ms_job *job;
    ms_lower_fold fold; /**< which ranks stood for others */
    ms_dag dag;         /**< released by ms_result_release */
    ms_timeline timeline;
    ms_metrics metrics;
    ms_rank_memory *memory;     /**< [dag.rank_count] */
    int peak_rank;              /**< simulated rank index with the highest peak */
    bool fits;                  /**< peak within capacity */
    double capacity_B;          /**< HBM minus the stated reserve */
    ms_tier_use *tiers;         /**< [job->platform.tier_count] */
    double *kernel_calls;       /**< [job->costs.kernel_count] per GPU and step */
    ms_stage_use *stages;       /**< [stage_count] */
    int stage_count;            /**< pipeline ranks */
    ms_granularity_risk *risks; /**< [risk_count] */
    int risk_count;
    int fast_forwarded;    /**< microbatches of each step that were counted, not simulated
                              (timeline.steady) */
    int64_t attempted_ops; /**< cost of all attempts to fast-forward, successful or not (sum of
                              ms_timeline.ops_run) */
    double bounds_s[2];    /**< between which a step lies that is not folded exactly; else 0 */
    double wall_s;         /**< time the simulation took (lowering, engine, metrics) */
    double peak_rss_B;     /**< most memory that this process, or one that it waited for, ever had,
                               at the simulation's end */
} ms_result;

/** Make a job of a spec: check it, lay it out, partition its layers, find what they cost.
 *  *job_out: in `arena`; borrows what the spec borrows.  Returns MS_OK; MS_E_INPUT with every fault
 * reported; MS_E_IO when the schedule's file cannot be read; MS_E_NOMEM. */
ms_status ms_job_build(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out);

/** Read the spec of a workload, and make a job of it.  Returns MS_OK; MS_E_INPUT with every fault
 * reported; MS_E_USAGE; MS_E_IO; MS_E_NOMEM. */
ms_status ms_job_load(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                      ms_job *job_out);

/** Build the operation graph of a job by ms_lower. At granularity `pass`, collectives inside a pass
 * are part of its time; where such collectives would share links with other traffic, the graph is
 * built again with the collectives of these axes as operations of their own.  *dag_out: initialised
 * here, released by the caller even after a failure.  Returns as ms_lower.  O(operations). */
ms_status ms_job_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out);

/** Lower, simulate, measure and sum up.  *result_out: released by the caller with
 * ms_result_release, also after a failure. Returns MS_OK also when the job does not fit in memory
 * (see `fits`). */
ms_status ms_job_run(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result_out);

/** Calls of each kernel per GPU and step.  pp: of the GPUs of this pipeline rank; -1: of all.
 *  *calls_out: [job->costs.kernel_count] in `arena`.  Returns MS_OK; MS_E_NOMEM, not reported.
 * O(operations). */
ms_status ms_result_kernel_calls(const ms_result *result, int pp, ms_arena *arena,
                                 double **calls_out);

/** What a run comes to: plain numbers, so that one process can hand them to another as they are.
 * NAN is what a workload or a platform does not say enough for. */
typedef struct ms_run_figures {
    double step_time_s;
    double share[MS_TIME_COUNT]; /**< of the step, mean over ranks; they sum to 1 */
    double bubble_fraction;      /**< the three bubble shares */
    double idle_fraction;        /**< all but computing and the optimizer */
    double exposed_fraction;     /**< waiting for communication of any axis */
    double samples_per_s;
    double tokens_per_s; /**< NAN without a model, as all up to peak_B */
    double tokens_per_s_per_gpu;
    double model_tflops_per_gpu; /**< 3 x forward [TFLOP/s] */
    double mfu, mfu_causal, hfu; /**< of the dense bf16 peak; NAN where that is unlimited */
    double peak_B;               /**< memory of the rank that needs most */
    int64_t chunks;              /**< V */
    int64_t parameter_replicas;  /**< copies of each stage's parameters among the pipeline ranks */
    double cost_USD;             /**< rent of a step; NAN where the platform does not say it */
    double cost_USD_per_million_tokens; /**< the same of its tokens; NAN without a model, too */
    double energy_J; /**< of a step; NAN where the platform does not say enough of power */
    bool fits;       /**< the peak is within the capacity */
} ms_run_figures;

/** Figures of a finished run; bytes between the fields are 0.  O(1). */
void ms_result_figures(const ms_result *result, ms_run_figures *figures_out);

/** Append the resolved inputs of a job: what ms_job_spec_write_resolved does, with the values that
 * were found when the job was laid out (batch, overlap of context parallelism, when gradients are
 * reduced). The same job gives the same bytes, wherever its files lie.  Returns MS_OK; MS_E_NOMEM,
 * and out->failed. */
ms_status ms_job_write_resolved(const ms_job *job, ms_buffer *out);

/** Free what a result holds outside its arena. */
void ms_result_release(ms_result *result);

#endif
