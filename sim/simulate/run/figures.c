/* Figures of a simulation: rates, shares, price, and totals of tiers, kernels and pipeline ranks.
 * Everything that prints, stores or compares a result starts from these. */
#include "simulate/run/figures.h"

#include <math.h>
#include <string.h>

/* The figure if it is known, else NAN: workload or platform do not say enough for it. */
static double known(bool is_known, double figure) {
    return is_known ? figure : (double)NAN;
}

/* Set samples, tokens and FLOP per second. FLOP of a step are 3 times those of the forward pass:
 * forward, and twice as many backward. The causal mask skips half of attention (mfu_causal);
 * recomputation counts only for HFU. */
static void set_rates(const ms_result *result, ms_run_figures *figures) {
    const ms_job *job = result->job;
    double step_s = result->metrics.step_time_s;
    double gpus = job->mesh.ranks;
    double batch = job->global_batch;
    bool has_model = job->spec.has_model;
    double tokens = batch * job->spec.model.sequence;
    double forward = job->costs.forward_flop * batch;
    double attention = job->costs.attention_flop * batch;
    double peak = job->platform->gpu.peak_flop_per_s * gpus * step_s;
    bool has_peak = isfinite(peak) && has_model;
    double executed = 3.0 * forward + job->costs.recompute_flop * batch;
    figures->samples_per_s = batch / step_s;
    figures->tokens_per_s = known(has_model, tokens / step_s);
    figures->tokens_per_s_per_gpu = known(has_model, tokens / step_s / gpus);
    figures->model_tflops_per_gpu = known(has_model, 3.0 * forward / step_s / gpus * 1e-12);
    figures->mfu = known(has_peak, 3.0 * forward / peak);
    figures->mfu_causal = known(has_peak, 3.0 * (forward - 0.5 * attention) / peak);
    figures->hfu = known(has_peak, executed / peak);
}

/* Set the shares of the step by category, and sums of them. */
static void set_shares(const ms_result *result, ms_run_figures *figures) {
    const double *share = result->metrics.share;
    memcpy(figures->share, share, sizeof figures->share);
    figures->bubble_fraction = share[MS_TIME_BUBBLE_WARMUP] + share[MS_TIME_BUBBLE_STEADY] +
                               share[MS_TIME_BUBBLE_COOLDOWN];
    figures->idle_fraction = fmax(0.0, 1.0 - share[MS_TIME_COMPUTE] - share[MS_TIME_OPTIMIZER]);
    for (int c = MS_TIME_EXPOSED_TP; c <= MS_TIME_EXPOSED_DP; c++) {
        figures->exposed_fraction += share[c];
    }
}

/* Set rent and energy of a step. The shares and tokens_per_s must have been set. */
static void take_price(const ms_result *result, ms_run_figures *figures) {
    const ms_job *job = result->job;
    double step_s = figures->step_time_s;
    double busy_s = (figures->share[MS_TIME_COMPUTE] + figures->share[MS_TIME_OPTIMIZER]) * step_s;
    const ms_price_use use = ms_job_price_use(job, step_s, busy_s);
    double tokens = figures->tokens_per_s * step_s; /* NAN without a model, and so is the cost */
    figures->cost_USD =
        known(ms_price_has_rent(job->platform), ms_price_step_USD(job->platform, &use));
    figures->cost_USD_per_million_tokens = figures->cost_USD / tokens * 1e6;
    figures->energy_J =
        known(ms_price_has_power(job->platform), ms_price_step_J(job->platform, &use));
}

void ms_result_figures(const ms_result *result, ms_run_figures *figures_out) {
    memset(figures_out, 0, sizeof *figures_out);
    figures_out->step_time_s = result->metrics.step_time_s;
    set_shares(result, figures_out);
    set_rates(result, figures_out);
    take_price(result, figures_out);
    double peak_B = result->memory[result->peak_rank].held.total_B;
    figures_out->peak_B = known(peak_B > 0, peak_B); /* given costs may say nothing of memory */
    figures_out->fits = result->fits;
    figures_out->chunks = result->job->program.spec.chunks;
    figures_out->parameter_replicas = result->job->program.parameter_replicas;
}

/* Bytes over all links of a tier that one operation of a work sends, with all works that it stands
 * for [B]. */
static double work_bytes(const ms_dag *dag, const ms_dag_work *work, int tier) {
    double bytes = 0.0;
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[work->phase_first + p];
        for (int32_t f = 0; f < phase->flow_count; f++) {
            const ms_dag_flow *flow = &dag->network.flows[phase->flow_first + f];
            for (int32_t c = 0; c < flow->crossing_count; c++) {
                const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
                bool is_here = dag->network.links[crossing->link].tier == tier;
                bytes += is_here ? ms_dag_flow_payload_B(flow) * crossing->carried : 0.0;
            }
        }
    }
    return work->stands_for * bytes;
}

/* Bytes over all links of a tier in a step, the mean over steps [B].  counts: [works] how often
 * each work is carried out in all steps. */
static double tier_bytes(const ms_dag *dag, const double *counts, int tier) {
    double bytes = 0.0;
    for (int32_t w = 0; w < dag->work_count; w++) {
        bytes += counts[w] * work_bytes(dag, &dag->works[w], tier);
    }
    return bytes / dag->step_count;
}

/* The use of the links of a tier in a step: busy_s and peak_use are maxima over its links.  counts:
 * as for tier_bytes. */
static ms_tier_use use_of_tier(const ms_result *result, const double *counts, int tier) {
    const ms_dag *dag = &result->dag;
    ms_tier_use use = {.bytes = tier_bytes(dag, counts, tier)};
    for (int32_t link = 0; link < dag->network.link_count; link++) {
        if (dag->network.links[link].tier == tier) {
            use.busy_s = fmax(use.busy_s, result->timeline.link_busy_s[link]);
            use.peak_use = fmax(use.peak_use, result->timeline.link_peak[link]);
        }
    }
    /* a mean over all steps; it may exceed the step time, which does not include the first step */
    use.busy_s = fmin(use.busy_s / dag->step_count, result->metrics.step_time_s);
    return use;
}

/* Set the use of all tiers.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_tiers(ms_result *result, ms_arena *arena) {
    int tiers = result->job->platform->tier_count;
    double *counts = MS_NEW(arena, double, result->dag.work_count);
    result->tiers = MS_NEW(arena, ms_tier_use, tiers);
    if (counts == NULL || result->tiers == NULL) {
        return MS_E_NOMEM;
    }
    ms_timeline_count_works(&result->dag, &result->timeline, counts);
    for (int t = 0; t < tiers; t++) {
        result->tiers[t] = use_of_tier(result, counts, t);
    }
    return MS_OK;
}

/* Add the kernel calls of a work to `calls`.  ranks: number of ranks that carry it out, summed over
 * its operations.  calls: [kernel_count]. */
static void count_kernels(const ms_stage_costs *costs, const ms_dag_work *work, double ranks,
                          double *calls) {
    const ms_segment *segment = work->tag < 0 ? NULL : &costs->segments[work->tag];
    for (int u = 0; segment != NULL && u < segment->kernels.uses; u++) {
        const ms_kernel_use *use = &costs->uses[segment->kernels.use_first + u];
        calls[use->kernel] += (double)use->calls * ranks;
    }
}

/* Add the kernel calls of all works inside a fused pass to `calls`. ranks: as for count_kernels. */
static void count_hidden_kernels(const ms_stage_costs *costs, const ms_dag *dag,
                                 const ms_fused_pass *fused, double ranks, double *calls) {
    for (int32_t p = 0; p < fused->part_count; p++) {
        const ms_dag_part *part = &dag->network.fused.parts[fused->part_first + p];
        count_kernels(costs, &dag->works[part->work], ranks, calls);
    }
}

/* The calls are the mean per GPU and step. They are counted by work: how many ranks carry out a
 * work, times the calls of its kernels. */
ms_status ms_result_kernel_calls(const ms_result *result, int pp, ms_arena *arena,
                                 double **calls_out) {
    const ms_stage_costs *costs = &result->job->costs;
    const ms_dag *dag = &result->dag;
    double *calls = MS_NEW(arena, double, costs->kernel_count);
    /* [works] number of ranks that carry out each work, summed over its operations */
    double *ranks = MS_NEW(arena, double, dag->work_count);
    double gpus = (double)result->job->mesh.ranks /
                  (pp < 0 ? 1 : ms_mesh_size(&result->job->mesh, MS_AXIS_PP));
    if (calls == NULL || ranks == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < dag->op_count; i++) {
        double times = ms_steady_count(&result->timeline.steady, result->timeline.start_s[i]);
        for (int32_t m = dag->member_first[i]; m < dag->member_first[i + 1]; m++) {
            const ms_dag_stream *stream = &dag->streams[dag->member_stream[m]];
            const ms_dag_rank *rank = &dag->ranks[stream->rank];
            ranks[dag->ops[i].work] += pp < 0 || rank->pp == pp ? times * rank->multiplicity : 0;
        }
    }
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[w]);
        count_kernels(costs, &dag->works[w], ranks[w], calls);
        if (fused != NULL) {
            count_hidden_kernels(costs, dag, fused, ranks[w], calls);
        }
    }
    for (int k = 0; k < costs->kernel_count; k++) {
        calls[k] = calls[k] / gpus / dag->step_count;
    }
    *calls_out = calls;
    return MS_OK;
}

/* Find the use of one pipeline rank: the means of times over its simulated ranks, which begin with
 * `first`, weighted by multiplicity, and the highest peak of memory of any of them.  Returns the
 * first simulated rank of the next pipeline rank. */
static int use_of_pipeline_rank(const ms_result *result, int first, ms_pipeline_rank_use *use_out) {
    const ms_dag *dag = &result->dag;
    ms_pipeline_rank_use use = {.pp = dag->ranks[first].pp};
    double count = 0.0;
    int next = first;
    for (; next < dag->rank_count && dag->ranks[next].pp == use.pp; next++) {
        const double *time_s = result->metrics.ranks[next].time_s;
        double weight = dag->ranks[next].multiplicity;
        count += weight;
        use.compute_s += weight * time_s[MS_TIME_COMPUTE];
        for (int c = MS_TIME_BUBBLE_WARMUP; c <= MS_TIME_BUBBLE_COOLDOWN; c++) {
            use.bubble_s += weight * time_s[c];
        }
        for (int c = MS_TIME_EXPOSED_TP; c <= MS_TIME_EXPOSED_DP; c++) {
            use.exposed_s += weight * time_s[c];
        }
        use.peak_B = fmax(use.peak_B, result->memory[next].held.total_B);
    }
    use.compute_s /= count;
    use.bubble_s /= count;
    use.exposed_s /= count;
    *use_out = use;
    return next;
}

/* Set the use of all pipeline ranks.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_stages(ms_result *result, ms_arena *arena) {
    int ranks = result->dag.rank_count;
    result->stages = MS_NEW(arena, ms_pipeline_rank_use, ranks);
    result->stage_count = 0;
    if (result->stages == NULL) {
        return MS_E_NOMEM;
    }
    for (int first = 0; first < ranks;) {
        first = use_of_pipeline_rank(result, first, &result->stages[result->stage_count++]);
    }
    return MS_OK;
}

ms_status ms_result_sum_up(ms_result *result, ms_arena *arena) {
    ms_status status = find_tiers(result, arena);
    status =
        status == MS_OK ? ms_result_kernel_calls(result, -1, arena, &result->kernel_calls) : status;
    status = status == MS_OK ? find_stages(result, arena) : status;
    return status == MS_OK ? ms_granularity_find_risks(result, arena) : status;
}
