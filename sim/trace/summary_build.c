/* Builds the tree of a run's result (summary.h). Each add_ function below adds the part of its name
 * to the root; the keys are those of `run --json`. */
#include "trace/summary.h"

#include "simulate/run/pass_times.h"

/* The axes of `comm`, in order. */
static const ms_axis AXES[] = {MS_AXIS_TP, MS_AXIS_CP, MS_AXIS_EP,
                               MS_AXIS_PP, MS_AXIS_DP, MS_AXIS_OTHER};
enum { AXIS_COUNT = sizeof AXES / sizeof AXES[0] };

/* Add an empty object under a key, or to a list (key NULL). */
static ms_value *object(ms_value *parent, const char *key) {
    return ms_value_add(parent, key, MS_VALUE_OBJECT);
}

/* Add an empty list under a key. */
static ms_value *array(ms_value *parent, const char *key) {
    return ms_value_add(parent, key, MS_VALUE_ARRAY);
}

/* Add the size of each axis of a mesh. */
static void add_sizes(const ms_mesh *mesh, ms_value *sizes) {
    for (int a = 0; a < mesh->axes; a++) {
        ms_value_add_int(sizes, mesh->names[a], mesh->sizes[a]);
    }
}

void ms_summary_add_meshes(const ms_job *job, ms_value *parent) {
    add_sizes(&job->mesh, object(parent, "mesh"));
    if (job->expert_mesh != NULL) {
        add_sizes(job->expert_mesh, object(parent, "expert_mesh"));
    }
    ms_value *order = array(parent, "order");
    for (int a = 0; a < job->mesh.axes; a++) {
        ms_value_add_string(order, NULL, job->mesh.names[a]);
    }
}

/* Add the names and sizes of the job. */
static void add_job(const ms_job *job, ms_value *root) {
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "platform", job->platform->name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_summary_add_placement(&job->placement, root);
    ms_summary_add_meshes(job, root);
    ms_summary_add_tiers(job, root);
    ms_value_add_string(root, "schedule", job->program.name);
    ms_value_add_string(root, "fidelity", ms_fidelity_name(job->spec.simulation.fidelity));
    ms_value_add_string(root, "granularity", ms_granularity_name(job->spec.simulation.granularity));
}

void ms_summary_add_placement(const ms_rank_placement *placement, ms_value *parent) {
    if (placement->gpus == NULL) {
        return;
    }
    ms_value *tree = object(parent, "placement");
    ms_value_add_int(tree, "idle_gpus", placement->idle_gpus);
    ms_value_add_int(tree, "spare_gpus", placement->spare_gpus);
    ms_value *nodes = array(tree, "spare_nodes");
    for (int i = 0; i < placement->spare_count; i++) {
        ms_value_add_int(nodes, NULL, placement->spares[i]);
    }
}

void ms_summary_add_tier(const ms_platform *platform, int tier, const char *key, ms_value *parent) {
    if (tier < 0) {
        ms_value_add(parent, key, MS_VALUE_NULL);
    } else {
        ms_value_add_string(parent, key, platform->tiers[tier].name);
    }
}

/* Add the outermost tier that groups along each axis of a mesh cross. */
static void add_mesh_tiers(const ms_platform *platform, const ms_mesh *mesh, ms_value *tiers) {
    for (int a = 0; a < mesh->axes; a++) {
        ms_summary_add_tier(platform, ms_mesh_axis_tier(mesh, a, platform), mesh->names[a], tiers);
    }
}

void ms_summary_add_tiers(const ms_job *job, ms_value *parent) {
    add_mesh_tiers(job->platform, &job->mesh, object(parent, "mesh_tiers"));
    if (job->expert_mesh != NULL) {
        add_mesh_tiers(job->platform, job->expert_mesh, object(parent, "expert_mesh_tiers"));
    }
}

/* Add the throughput of the run, in samples, tokens and FLOP. */
static void add_rates(const ms_result *result, const ms_run_figures *figures, ms_value *root) {
    ms_value_add_double(root, "samples_per_s", figures->samples_per_s);
    ms_value_add_double(root, "tokens_per_s", figures->tokens_per_s);
    ms_value_add_double(root, "tokens_per_s_per_gpu", figures->tokens_per_s_per_gpu);
    ms_value_add_int(root, "global_batch", result->job->global_batch);
    ms_value_add_int(root, "num_microbatches", result->job->microbatches);
    ms_value_add_double(root, "model_tflops_per_gpu", figures->model_tflops_per_gpu);
    ms_value_add_double(root, "mfu", figures->mfu);
    ms_value_add_double(root, "mfu_causal", figures->mfu_causal);
    ms_value_add_double(root, "hfu", figures->hfu);
    ms_value_add_string(root, "flop_convention",
                        "mfu: 3 x forward matrix FLOP, head included, attention not halved; "
                        "mfu_causal halves attention; hfu adds recomputation");
}

/* Add the cost and the energy of a step; null where the platform gives no price or no power. */
static void add_price(const ms_run_figures *figures, ms_value *root) {
    ms_value_add_double(root, "cost", figures->cost_USD);
    ms_value_add_double(root, "cost_per_million_tokens", figures->cost_USD_per_million_tokens);
    ms_value_add_double(root, "energy_J", figures->energy_J);
    ms_value_add_string(root, "energy_convention", ms_price_energy_convention());
}

/* Add times by category, and the parts of MS_TIME_OTHER.  times: [MS_TIME_COUNT].  others:
 * [MS_OTHER_COUNT]. */
static void add_categories(ms_value *times_out, const double *times, ms_value *others_out,
                           const double *others) {
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        ms_value_add_double(times_out, ms_time_category_name((ms_time_category)c), times[c]);
    }
    for (int part = 0; part < MS_OTHER_COUNT; part++) {
        ms_value_add_double(others_out, ms_other_part_name((ms_other_part)part), others[part]);
    }
}

/* Add the shares of a step's time: bubble, idle time and all categories. */
static void add_shares(const ms_result *result, const ms_run_figures *figures, ms_value *root) {
    double compute = figures->share[MS_TIME_COMPUTE];
    double bubble = figures->bubble_fraction;
    ms_value_add_double(root, "bubble_fraction", bubble);
    ms_value_add_double(root, "bubble_ratio", compute > 0.0 ? bubble / compute : 0.0);
    ms_value_add_double(root, "idle_fraction", figures->idle_fraction);
    ms_value_add_double(root, "compute_slowdown", result->metrics.slowed_share);
    ms_value *shares = object(root, "time_share");
    ms_value *parts = object(root, "other_parts");
    add_categories(shares, figures->share, parts, result->metrics.other_share);
}

/* Add the communication of a rank along each axis, mean over all ranks. */
static void add_comm(const ms_result *result, ms_value *root) {
    ms_value *comm = object(root, "comm");
    for (int i = 0; i < AXIS_COUNT; i++) {
        const ms_axis_use *use = &result->metrics.axes[AXES[i]];
        ms_value *axis = object(comm, ms_axis_name(AXES[i]));
        ms_value_add_double(axis, "bytes_per_rank", use->bytes);
        ms_value_add_double(axis, "busy_s", use->busy_s);
        ms_value_add_double(axis, "exposed_s", use->exposed_s);
        ms_value_add_double(axis, "overlapped_s", use->overlapped_s);
        ms_value_add_double(axis, "in_idle_s", use->in_idle_s);
        ms_value_add_double(axis, "wait_s", use->wait_s);
    }
}

/* The name of a tier; "none" for no tier. */
static const char *tier_name(const ms_platform *platform, int tier) {
    return tier >= 0 && tier < platform->tier_count ? platform->tiers[tier].name : "none";
}

/* Add a row for each group of equal collectives or messages. Times are means over its operations;
 * ms_coll_row defines the figures. */
static void add_collectives(const ms_result *result, ms_value *root) {
    ms_value *rows = array(root, "collectives");
    for (int i = 0; i < result->metrics.collective_count; i++) {
        const ms_coll_row *c = &result->metrics.collectives[i];
        ms_value *row = object(rows, NULL);
        ms_value_add_string(row, "axis", ms_axis_name(c->axis));
        ms_value_add_string(row, "kind", ms_coll_kind_name(c->kind));
        ms_value_add_string(row, "tier", tier_name(result->job->platform, c->tier));
        ms_value_add_string(row, "algorithm",
                            ms_coll_algorithm_name((ms_coll_algorithm)c->algorithm));
        ms_value_add_double(row, "count_per_rank", c->count_per_rank);
        ms_value_add_double(row, "size_B", c->size_B);
        ms_value_add_double(row, "time_s", c->time_s);
        ms_value_add_double(row, "alone_s", c->alone_s);
        ms_value_add_double(row, "latency_s", c->latency_s);
        ms_value_add_double(row, "busbw_Bps",
                            ms_coll_busbw_Bps(c->kind, c->group_size, c->size_B, c->time_s));
        ms_value_add_double(row, "wait_s", c->wait_s);
    }
}

/* Add the load of the links of each tier. */
static void add_tiers(const ms_result *result, ms_value *root) {
    const ms_platform *platform = result->job->platform;
    ms_value *tiers = object(root, "tiers");
    for (int t = 0; t < platform->tier_count; t++) {
        ms_value *tier = object(tiers, platform->tiers[t].name);
        ms_value_add_double(tier, "bytes", result->tiers[t].bytes);
        ms_value_add_double(tier, "busy_s", result->tiers[t].busy_s);
        ms_value_add_double(tier, "peak_use", result->tiers[t].peak_use);
    }
}

/* Add a row for each kernel: calls in a step, and time and rate of one call. */
static void add_kernels(const ms_result *result, ms_value *root) {
    const ms_stage_costs *costs = &result->job->costs;
    ms_value *rows = array(root, "kernels");
    for (int k = 0; k < costs->kernel_count; k++) {
        const ms_kernel *kernel = &costs->kernels[k];
        ms_value *row = object(rows, NULL);
        ms_value_add_string(row, "name", kernel->name);
        ms_value_add_string(row, "shape", kernel->shape);
        ms_value_add_double(row, "count", result->kernel_calls[k]);
        ms_value_add_double(row, "time_s", kernel->time_s);
        ms_value_add_double(row, "flop_per_s",
                            kernel->time_s > 0.0 ? kernel->flop / kernel->time_s : 0.0);
        ms_value_add_string(row, "bound", kernel->is_memory_bound ? "memory" : "compute");
    }
}

void ms_summary_add_memory(const ms_summary_memory *memory, ms_value *parent) {
    const ms_held_memory *held = memory->held;
    ms_value *parts = object(parent, "memory");
    ms_value_add_double(parts, "capacity_B", memory->capacity_B);
    ms_value_add_double(parts, "peak_B", held->total_B);
    ms_value_add_bool(parts, "fits", memory->fits);
    ms_value_add_double(parts, "parameters_B", held->parameter_B);
    ms_value_add_double(parts, "gradients_B", held->gradient_B);
    ms_value_add_double(parts, "optimizer_B", held->optimizer_B);
    ms_value_add_double(parts, "activations_B", held->activation_B);
    ms_value_add_double(parts, "buffers_B", held->buffer_B);
    ms_value_add_double(parts, "other_B", held->other_B);
    ms_value_add_double(parts, "transformer_B", held->transformer_B);
    ms_value_add_int(parts, "peak_rank", memory->rank);
}

/* Add the memory of the rank with the highest peak. */
static void add_memory(const ms_result *result, ms_value *root) {
    const ms_summary_memory memory = {.held = &result->memory[result->peak_rank].held,
                                      .capacity_B = result->capacity_B,
                                      .fits = result->fits,
                                      .rank = result->dag.ranks[result->peak_rank].rank};
    ms_summary_add_memory(&memory, root);
}

/* Add a row for each pipeline rank: its computation, bubble, exposed communication and memory. */
static void add_stages(const ms_result *result, ms_value *root) {
    ms_value *rows = array(root, "stages");
    for (int i = 0; i < result->stage_count; i++) {
        const ms_pipeline_rank_use *stage = &result->stages[i];
        ms_value *row = object(rows, NULL);
        ms_value_add_int(row, "pp_rank", stage->pp);
        ms_value_add_double(row, "compute_s", stage->compute_s);
        ms_value_add_double(row, "bubble_s", stage->bubble_s);
        ms_value_add_double(row, "exposed_s", stage->exposed_s);
        ms_value_add_double(row, "peak_B", stage->peak_B);
    }
}

/* Add the time on the critical path by category. */
static void add_critical_path(const ms_result *result, ms_value *root) {
    static const struct {
        const char *key;
        ms_time_category category;
    } KEYS[] = {{"compute", MS_TIME_COMPUTE},     {"optimizer", MS_TIME_OPTIMIZER},
                {"imbalance", MS_TIME_IMBALANCE}, {"tp", MS_TIME_EXPOSED_TP},
                {"cp", MS_TIME_EXPOSED_CP},       {"ep", MS_TIME_EXPOSED_EP},
                {"pp", MS_TIME_EXPOSED_PP},       {"dp", MS_TIME_EXPOSED_DP},
                {"other", MS_TIME_OTHER}};
    ms_value *path = object(root, "critical_path");
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        ms_value_add_double(path, KEYS[i].key, result->metrics.critical_s[KEYS[i].category]);
    }
}

/* Add the collectives inside fused passes (granularity: pass) that shared links with other traffic:
 * the passes may then take longer or shorter than their layers would. Key "pieces" is the number of
 * these fused passes, "met" how many of them ran beside the other traffic, "with" the axes of that
 * traffic. */
static void add_risks(const ms_result *result, ms_value *root) {
    ms_value *rows = array(root, "granularity_risk");
    for (int i = 0; i < result->risk_count; i++) {
        const ms_granularity_risk *risk = &result->risks[i];
        ms_value *row = object(rows, NULL);
        ms_value_add_string(row, "pass", ms_op_kind_name(risk->op_kind));
        ms_value_add_int(row, "stage_first", risk->stage_first);
        ms_value_add_int(row, "stage_last", risk->stage_last);
        ms_value_add_string(row, "axis", ms_axis_name(risk->axis));
        ms_value_add_string(row, "kind", ms_coll_kind_name(risk->kind));
        ms_value_add_string(row, "tier", tier_name(result->job->platform, risk->tier));
        ms_value *with = array(row, "with");
        for (int axis = MS_AXIS_NONE + 1; axis < MS_AXIS_COUNT; axis++) {
            if (risk->with & MS_AXIS_BIT(axis)) {
                ms_value_add_string(with, NULL, ms_axis_name((ms_axis)axis));
            }
        }
        ms_value_add_int(row, "pieces", risk->passes);
        ms_value_add_int(row, "met", risk->met);
    }
}

/* Add the bounds of the step time, if folding makes the step time inexact. */
static void add_bounds(const ms_result *result, ms_value *root) {
    if (!result->fold.is_exact) {
        ms_value *bounds = array(root, "step_time_bounds_s");
        ms_value_add_double(bounds, NULL, result->bounds_s[0]);
        ms_value_add_double(bounds, NULL, result->bounds_s[1]);
    }
}

/* Add the size of the simulation, and how far it was folded and fast-forwarded. */
static void add_engine(const ms_result *result, ms_value *root) {
    ms_value *engine = object(root, "engine");
    ms_value_add_int(engine, "ops", result->dag.op_count);
    ms_value_add_int(engine, "flows", result->timeline.flows);
    ms_value_add_int(engine, "simulated_ranks", result->dag.rank_count);
    ms_value_add_int(engine, "fold_classes", result->fold.classes);
    ms_value_add_int(engine, "fast_forwarded", result->fast_forwarded);
    ms_value_add_int(engine, "attempted_ops", result->attempted_ops);
    ms_value_add_bool(engine, "fold_exact", result->fold.is_exact);
    ms_value_add_string(engine, "solver", ms_solver_name(result->job->run.solver));
}

void ms_summary_add_usage(const ms_result *result, ms_value *summary) {
    ms_value *engine = summary->last;
    ms_value_add_double(engine, "wall_s", result->wall_s);
    ms_value_add_double(engine, "peak_rss_B", result->peak_rss_B);
}

/* ---- ranks ---- */

/* Add the times of a rank [s]: by category, by part of the category `other`, and the time that
 * communication added to computations (slowed_s). */
static void add_rank_times(const ms_rank_metrics *metrics, ms_value *row) {
    ms_value *times = object(row, "time_s");
    ms_value *others = object(row, "other_s");
    add_categories(times, metrics->time_s, others, metrics->other_s);
    ms_value_add_double(row, "slowed_s", metrics->slowed_s);
}

/* Add to each kernel of the summary how often each pipeline rank calls it. The new list is the last
 * member of the kernel's row. */
static ms_status add_kernel_calls(const ms_result *result, ms_arena *arena, ms_value *summary) {
    const ms_value *rows = ms_value_get(summary, "kernels");
    int stages = ms_mesh_size(&result->job->mesh, MS_AXIS_PP);
    for (ms_value *row = rows->first; row != NULL; row = row->next) {
        array(row, "count_by_pp_rank");
    }
    for (int pp = 0; pp < stages; pp++) {
        double *calls = NULL;
        ms_status status = ms_result_kernel_calls(result, pp, arena, &calls);
        if (status != MS_OK) {
            return status;
        }
        for (ms_value *row = rows->first; row != NULL; row = row->next) {
            ms_value_add_double(row->last, NULL, *calls++);
        }
    }
    return MS_OK;
}

/* The rows of collectives, which are in the summary already, get the size of their group. */
ms_status ms_summary_add_ranks(const ms_result *result, ms_arena *arena, ms_value *summary) {
    const ms_dag *dag = &result->dag;
    ms_value *rows = array(summary, "ranks");
    for (int32_t i = 0; i < dag->rank_count; i++) {
        ms_value *row = object(rows, NULL);
        ms_value_add_int(row, "rank", dag->ranks[i].rank);
        ms_value_add_int(row, "pp_rank", dag->ranks[i].pp);
        ms_value_add_int(row, "count", dag->ranks[i].multiplicity);
        if (row != NULL) {
            add_rank_times(&result->metrics.ranks[i], row);
        }
    }
    const ms_value *collectives = ms_value_get(summary, "collectives");
    int at = 0;
    for (ms_value *row = collectives->first; row != NULL; row = row->next) {
        ms_value_add_int(row, "group_size", result->metrics.collectives[at++].group_size);
    }
    return arena->has_failed ? MS_E_NOMEM : add_kernel_calls(result, arena, summary);
}

/* ---- passes ---- */

void ms_summary_add_passes(const ms_result *result, ms_value *summary) {
    ms_pass_times times;
    ms_result_pass_times(result, &times);
    ms_value *passes = object(summary, "passes");
    ms_value_add_double(passes, "forward_s", times.forward_s);
    ms_value_add_double(passes, "backward_s", times.backward_s);
    ms_value *kinds = object(passes, "compute_s");
    for (int kind = 0; kind < MS_OP_OPTIMIZER; kind++) {
        ms_value_add_double(kinds, ms_op_kind_name((ms_op_kind)kind), times.pass_s[kind]);
    }
    ms_value *phases = object(passes, "phase_s");
    for (int phase = 0; phase < MS_STEP_PHASE_COUNT; phase++) {
        ms_value_add_double(phases, ms_step_phase_name((ms_step_phase)phase), times.phase_s[phase]);
    }
    ms_value *last = object(summary, "last_rank");
    ms_value_add_double(last, "peak_B", times.last_peak_B);
    ms_value_add_double(last, "static_B", times.last_static_B);
    ms_value_add_double(last, "reserve_B", times.reserve_B);
    const char *framework = result->job->spec.framework.name;
    ms_value_add_string(summary, "framework", framework == NULL ? "none" : framework);
}

/* ---- all of it ---- */

ms_status ms_summary_build(const ms_result *result, ms_arena *arena, ms_value **summary_out) {
    ms_value *root = ms_value_new_object(arena);
    if (root == NULL) {
        return MS_E_NOMEM;
    }
    ms_run_figures figures;
    ms_result_figures(result, &figures);
    add_job(result->job, root);
    ms_value_add_int(root, "steps", result->metrics.step_count);
    ms_value_add_double(root, "step_time_s", result->metrics.step_time_s);
    add_bounds(result, root);
    add_rates(result, &figures, root);
    add_price(&figures, root);
    add_shares(result, &figures, root);
    add_comm(result, root);
    add_collectives(result, root);
    add_tiers(result, root);
    add_kernels(result, root);
    add_memory(result, root);
    add_stages(result, root);
    add_critical_path(result, root);
    add_risks(result, root);
    add_engine(result, root); /* the last one: ms_summary_add_usage adds to it */
    if (arena->has_failed) {  /* something may be missing anywhere in the tree */
        return MS_E_NOMEM;
    }
    *summary_out = root;
    return MS_OK;
}
