/**
 * @file
 * Jobs: from a workload file to a job, and from a job to the result of its simulation.
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

/** The use of the links of a tier in a step. */
typedef struct ms_tier_use {
    double bytes; /**< sum over all ranks of the bytes that each sends, times the number of links of
                     the tier on their route [B] */
    double busy_s;   /**< time that the busiest link is in use [s] */
    double peak_use; /**< highest share of a link's capacity in use at any time, 0..1; a transfer
                        uses its rate times its slowness (ms_flow) */
} ms_tier_use;

/** The times of a pipeline rank in a step: means over its ranks. */
typedef struct ms_pipeline_rank_use {
    int pp;           /**< pipeline rank */
    double compute_s; /**< MS_TIME_COMPUTE [s] */
    double bubble_s;  /**< the three bubble categories [s] */
    double exposed_s; /**< exposed communication of all axes [s] */
    double peak_B;    /**< highest peak memory of its ranks [B] */
} ms_pipeline_rank_use;

/** Collectives of one axis, kind and tier inside fused passes of one kind of pass (granularity
 * `pass`) on whose links other traffic was at the same time, and which are too narrow for both. The
 * fused passes were timed without that traffic. */
typedef struct ms_granularity_risk {
    ms_axis axis;
    ms_coll_kind kind;
    int tier;                    /**< outermost tier that the collectives cross */
    ms_op_kind op_kind;          /**< kind of the pass */
    int stage_first, stage_last; /**< lowest and highest virtual stage with such fused passes */
    int64_t passes;              /**< number of operations that are such fused passes */
    int64_t met;                 /**< how many of them ran while the other traffic did */
    unsigned with;               /**< MS_AXIS_BIT of the axes of the other traffic */
} ms_granularity_risk;

/** The result of a simulation, in numbers; summary.h makes a tree of it. */
typedef struct ms_result {
    const ms_job *job;
    ms_lower_fold fold; /**< how ranks were folded */
    ms_dag dag;         /**< released by ms_result_release */
    ms_timeline timeline;
    ms_metrics metrics;
    ms_rank_memory *memory;       /**< [dag.rank_count] memory of each simulated rank */
    int peak_rank;                /**< index of the simulated rank with the highest peak */
    bool fits;                    /**< the highest peak is within the capacity */
    double capacity_B;            /**< HBM minus the stated reserve */
    ms_tier_use *tiers;           /**< [job->platform.tier_count] */
    double *kernel_calls;         /**< [job->costs.kernel_count] calls per GPU and step */
    ms_pipeline_rank_use *stages; /**< [stage_count] use of each pipeline rank */
    int stage_count;              /**< pipeline ranks */
    ms_granularity_risk *risks;   /**< [risk_count] */
    int risk_count;
    int fast_forwarded;    /**< number of microbatches of each step that were counted, not simulated
                              (timeline.steady) */
    int64_t attempted_ops; /**< cost of all attempts to fast-forward, successful or not (sum of
                              ms_timeline.ops_run) */
    double bounds_s[2]; /**< lower and upper bound of the step time if the fold is not exact; else 0
                           [s] */
    double wall_s;      /**< time that the simulation took (lowering, engine, metrics) [s] */
    double peak_rss_B; /**< peak memory of this process, or of a child that it waited for, until the
                          end of the simulation [B] */
} ms_result;

/** Make a job from a spec: check it, lay it out, divide its layers among stages, find their costs.
 *  *job_out: in `arena`; borrows what the spec borrows.  Returns MS_OK; MS_E_INPUT with every fault
 * reported; MS_E_IO when the schedule's file cannot be read; MS_E_NOMEM. */
ms_status ms_job_build(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out);

/** Read the spec of a workload and make a job from it.  request: the workload's file, changes of
 * its keys, and run choices.  *job_out: in `arena`.  Returns MS_OK; MS_E_INPUT with every fault
 * reported; MS_E_USAGE; MS_E_IO; MS_E_NOMEM. */
ms_status ms_job_load(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                      ms_job *job_out);

/** Build the operation graph of a job by ms_lower. At granularity `pass`, collectives inside a pass
 * are part of its duration. If such collectives may share links with other collectives at unrelated
 * times (ms_granularity_find_clashes), the graph is built again with all collectives of these axes
 * as operations of their own.  *dag_out: initialised here, released by the caller even after a
 * failure. Returns as ms_lower.  O(operations). */
ms_status ms_job_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out);

/** Run a job: lower it, simulate the graph, compute metrics and totals.  job: its run choices may
 * be changed (no_fold, where rounding errors would grow).  *result_out: arrays in `arena`; the
 * caller calls ms_result_release, also after a failure. Returns MS_OK, also when the job does not
 * fit in memory (see `fits`); as ms_job_lower, ms_engine_run and ms_metrics_compute (all reported).
 */
ms_status ms_job_run(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result_out);

/** Find the calls of each kernel per GPU and step, the mean over GPUs.  pp: only the GPUs of this
 * pipeline rank; -1: all GPUs.  *calls_out: [job->costs.kernel_count] in `arena`.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(operations). */
ms_status ms_result_kernel_calls(const ms_result *result, int pp, ms_arena *arena,
                                 double **calls_out);

/** The main figures of a run: plain numbers without pointers, so that one process can send them to
 * another. A figure for which workload or platform do not say enough is NAN. */
typedef struct ms_run_figures {
    double step_time_s;
    double share[MS_TIME_COUNT]; /**< share of the step by category, mean over ranks; sums to 1 */
    double bubble_fraction;      /**< sum of the three bubble shares */
    double idle_fraction;        /**< 1 less the shares of computing and optimizer */
    double exposed_fraction;     /**< sum of the shares of exposed communication of all axes */
    double samples_per_s;
    double tokens_per_s; /**< NAN without a model, as all fields from here to hfu */
    double tokens_per_s_per_gpu;
    double model_tflops_per_gpu; /**< 3 times the forward FLOP per second [TFLOP/s] */
    double mfu, mfu_causal, hfu; /**< shares of the dense bf16 peak; NAN where that is unlimited */
    double peak_B;               /**< peak memory of the rank that needs most [B]; NAN: given costs
                                      say nothing of memory */
    int64_t chunks;              /**< V, virtual stages per rank */
    int64_t parameter_replicas;  /**< copies of each stage's parameters among the pipeline ranks */
    double cost_USD; /**< rent of the GPUs for a step; NAN if the platform has no rent */
    double cost_USD_per_million_tokens; /**< rent per million tokens; NAN also without a model */
    double energy_J; /**< energy of a step [J]; NAN if the platform does not give power */
    bool fits;       /**< the peak is within the capacity */
} ms_run_figures;

/** Find the figures of a finished run. Padding between the fields is 0.  O(1). */
void ms_result_figures(const ms_result *result, ms_run_figures *figures_out);

/** Append the resolved inputs of a job to `out`: the text of ms_job_spec_write_resolved, with the
 * values that were chosen when the job was laid out (batch, overlap of context parallelism, when
 * gradients are reduced). The same job gives the same bytes, wherever its files are.  Returns
 * MS_OK; MS_E_NOMEM, and out->failed is set. */
ms_status ms_job_write_resolved(const ms_job *job, ms_buffer *out);

/** Free what a result holds outside its arena. */
void ms_result_release(ms_result *result);

#endif
