/* Lays out the costs of a model: the segments of every pass of every virtual stage and slice, and
 * what each pipeline rank does once per step. ms_model_costs makes all passes; ms_model_outline
 * makes chosen passes, in short. */
#include <string.h>

#include "model/buckets.h"
#include "model/moe.h"

/* Layers of virtual stage `stage`, and whether it is at an end of the pipeline. layer_first: its
 * first layer, 0-based in the model. */
static ms_stage_content content_of(const ms_model_layout *layout, int stage, int layer_first) {
    return (ms_stage_content){.layer_first = layer_first,
                              .layers = layout->stage_layers[stage],
                              .is_first = stage == 0,
                              .is_last = stage == layout->pp * layout->chunks - 1};
}

/* Add the all-gather over tp of a tensor that a stage receives from its neighbour, where each tp
 * rank was sent 1/tp of it. With sequence parallelism each rank works on its share, and nothing is
 * gathered. Source: Narayanan et al., SC'21, section 4.1 (scatter/gather). */
static void add_gather(ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    const ms_model_layout *layout = builder->layout;
    bool receives = pass == MS_PASS_F ? !content.is_first : !content.is_last;
    if (layout->has_scatter_gather && !layout->has_sequence_parallel && receives &&
        pass != MS_PASS_W) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER,
                           shard->tokens * shard->hidden * shard->element_B);
    }
}

/* The set of ms_when values (bits 1 << ms_when) of a plan's segments that do not run on every
 * microbatch. */
static unsigned when_of(const ms_cost_builder *builder, const ms_pass_plan *plan) {
    unsigned when = 0;
    for (int i = plan->first; i < plan->first + plan->count; i++) {
        when |= 1U << MS_AT(&builder->segments, ms_segment, i).when;
    }
    return when & ~(1U << MS_WHEN_ALWAYS);
}

/* Append the segments of one pass of a virtual stage to the builder, FSDP unit by FSDP unit: a
 * forward pass from the first unit, other passes from the last. Returns the range of segments; a
 * pass with no work still gets one compute segment. An outline leaves out units that are like
 * others (ms_outline_next). */
static ms_pass_plan add_pass(ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    ms_cost_begin_plan(builder);
    builder->stage_first = content.layer_first;
    add_gather(builder, pass, content);
    builder->unit.units_first = builder->segments.count;
    int count = ms_stage_fsdp_unit_count(builder, content);
    ms_pass_plan plan = {.first = (int)builder->pass_first};
    ms_outline_run run = ms_outline_begin(builder, content, pass, &plan.repeat);
    for (int i = 0, next = 0; i < count; i = next) {
        bool is_last = i == count - 1;
        ms_fsdp_unit unit =
            ms_stage_fsdp_unit(builder, content, pass == MS_PASS_F ? i : count - 1 - i);
        ms_buckets_begin_unit(builder, pass, pass == MS_PASS_F ? count - 1 - i : i);
        ms_fsdp_unit behind = {.layer = -1};
        if (!is_last) {
            behind =
                ms_stage_fsdp_unit(builder, content, pass == MS_PASS_F ? i + 1 : count - 2 - i);
        }
        ms_fsdp_unit_begin(builder, pass, &unit, is_last ? NULL : &behind);
        ms_cost_add_fsdp_unit(builder, pass, &unit);
        ms_fsdp_unit_end(builder, pass, &unit, is_last);
        next = ms_outline_next(&run, builder, i);
        if (pass == MS_PASS_F && next > i + 1) { /* buckets count units from the stage's end */
            ms_buckets_skip(builder, count - 2 - i, count - 1 - next);
        }
    }
    ms_cost_amax(builder, pass, content);
    if (builder->segments.count == builder->pass_first) {
        ms_cost_compute(builder); /* a pass without work keeps its place in the schedule */
    }
    plan.count = (int)(builder->segments.count - builder->pass_first);
    plan.when = when_of(builder, &plan);
    return plan;
}

/* Bytes that each rank sends to the next or previous stage per microbatch (or slice of one): 1/tp
 * of the tensor where tp ranks send their shares (has_scatter_gather) or hold shares only. */
static double boundary_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    const ms_model_layout *layout = builder->layout;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    bool is_split = layout->has_scatter_gather || layout->has_sequence_parallel;
    return is_split ? plane_B / shard->tp : plane_B;
}

/* Set all costs of a virtual stage in the current slice: its wanted passes, bytes sent to its
 * neighbours, parameters, the gradient of tied embeddings at the pipeline's ends, and memory. */
static void fill_stage(ms_cost_builder *builder, ms_stage_content content,
                       ms_stage_cost *stage_out) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        stage_out->passes[pass] = builder->wanted.passes >> pass & 1U
                                      ? add_pass(builder, (ms_pass)pass, content)
                                      : (ms_pass_plan){0};
    }
    stage_out->send_forward_B = content.is_last ? 0 : boundary_B(builder);
    stage_out->send_backward_B = content.is_first ? 0 : boundary_B(builder);
    ms_parameter_count count = ms_stage_parameters(builder, content);
    stage_out->parameters = count.dense + count.expert;
    stage_out->expert_parameters = count.expert;
    stage_out->unshard = ms_stage_unshard(builder, count);
    bool is_end = content.is_first || content.is_last;
    bool is_shared = model->has_tied_embeddings || model->mtp_layers > 0;
    if (is_end && is_shared && !ms_has_joined_ends(builder->layout)) {
        stage_out->tied_B = shard->vocab * shard->hidden * shard->accumulation_B;
    }
    stage_out->memory = ms_stage_memory_of(builder, content);
    stage_out->layer_first = content.layer_first;
    stage_out->layers = content.layers;
}

/* Make the buckets of a stage the builder's current ones; the first slice finds them, and they are
 * the same in every slice. Returns false, and marks the builder as failed, when memory is short. */
static bool find_buckets(ms_cost_builder *builder, int slice, int stage, ms_stage_content content) {
    /* stages below pp are the first virtual stages of their ranks */
    struct ms_stage_buckets **found = &builder->unit.buckets.of_stages[stage];
    ms_status status =
        slice == 0 ? ms_buckets_find(builder, content, stage < builder->layout->pp, found) : MS_OK;
    builder->unit.buckets.of = *found;
    builder->segments.failed = builder->segments.failed || status != MS_OK;
    return status == MS_OK;
}

/* Set the costs of all virtual stages in one slice of a sequence. In an outline a stage that is
 * like the one before it copies that stage's costs. Layers that were built for another slice have
 * other costs, and are forgotten first. */
static void fill_slice(ms_cost_builder *builder, int slice, ms_stage_costs *costs) {
    ms_shard_set_slice(&builder->shard, slice);
    memset(builder->built_layers, 0, sizeof builder->built_layers);
    ms_stage_content before = {0};
    for (int stage = 0, layer = 0; stage < costs->stages; stage++) {
        ms_stage_cost *cost = &costs->stage[slice * costs->stages + stage];
        ms_stage_content content = content_of(builder->layout, stage, layer);
        /* stage pp is the first that gathers layer by layer instead of by buckets */
        bool gathers_alike = stage != builder->layout->pp || builder->unit.buckets.of == NULL;
        if (stage > 0 && gathers_alike && ms_outline_is_alike(builder, before, content)) {
            *cost = cost[-1];
            cost->layer_first = layer;
            builder->unit.buckets.of_stages[stage] = builder->unit.buckets.of_stages[stage - 1];
        } else if (find_buckets(builder, slice, stage, content)) {
            fill_stage(builder, content, cost);
        }
        layer += content.layers;
        before = content;
    }
}

/* Parameters of all stages of a pipeline rank. */
typedef struct rank_parameters {
    ms_parameter_count count;
    double own_token_parameters; /* as ms_own_token_parameters, summed over the stages [count] */
    ms_rank_buckets stages;      /* those of them that have buckets */
} rank_parameters;

/* Append the buckets of `stage`, if it has any, to those of a pipeline rank. When memory runs out,
 * nothing is appended. */
static void add_buckets(const ms_cost_builder *builder, int stage, ms_rank_buckets *stages) {
    struct ms_stage_buckets *buckets = builder->unit.buckets.of_stages[stage];
    struct ms_stage_buckets **of =
        buckets == NULL ? NULL
                        : MS_NEW(builder->arena, struct ms_stage_buckets *, stages->count + 1);
    for (int i = 0; of != NULL && i < stages->count; i++) {
        of[i] = stages->of[i];
    }
    if (of != NULL) {
        of[stages->count] = buckets;
        *stages = (ms_rank_buckets){.of = of, .count = stages->count + 1};
    }
}

/* Add a stage's parameters and buckets to the pipeline ranks that hold it, one in each direction.
 * Costs of a stage do not say which parameters are quantized, so these are counted anew where
 * products have a format of fewer bits. ranks: [pp]. */
static void add_stage(const ms_cost_builder *builder, const ms_stage_costs *costs, int stage,
                      rank_parameters *ranks) {
    const ms_model_layout *layout = builder->layout;
    const ms_stage_cost *cost = &costs->stage[stage];
    ms_stage_content content = content_of(layout, stage, cost->layer_first);
    double own_token_parameters = ms_own_token_parameters(builder, content);
    ms_parameter_count count = {.dense = cost->parameters - cost->expert_parameters,
                                .expert = cost->expert_parameters};
    if (builder->precision->products.format != MS_PRODUCT_PLAIN) {
        count = ms_stage_parameters(builder, content);
    }
    int first = ms_stage_owner(layout, 0, stage);
    for (int direction = 0; direction < 2 && (direction == 0 || layout->directions > 1);
         direction++) {
        int owner = ms_stage_owner(layout, direction, stage);
        if (direction == 0 || owner != first) {
            ms_parameters_add(&ranks[owner].count, &count);
            ranks[owner].own_token_parameters += own_token_parameters;
            add_buckets(builder, stage, &ranks[owner].stages);
        }
    }
}

/* Set what each pipeline rank does once per step: reductions of gradients, the optimizer's update,
 * gathers of updated parameters. Returns MS_OK; MS_E_NOMEM. */
static ms_status fill_ranks(ms_cost_builder *builder, ms_stage_costs *costs) {
    const ms_model_layout *layout = builder->layout;
    const ms_parameter_count none = {.dense = 0};
    bool has_gather = layout->zero >= 1 && !ms_unshards_in_passes(layout);
    rank_parameters *ranks = MS_NEW(builder->arena, rank_parameters, layout->pp);
    if (ranks == NULL) {
        return MS_E_NOMEM;
    }
    for (int stage = 0; stage < costs->stages; stage++) {
        add_stage(builder, costs, stage, ranks);
    }
    costs->optimizer_launches = 1; /* ms_optimizer_time_s counts the launch of one kernel */
    for (int p = 0; p < layout->pp; p++) {
        ms_parameter_count count = ranks[p].count;
        costs->optimizer_s[p] = ms_optimizer_time_s(builder, count) + layout->blocking_launch_s;
        costs->before_update[p] =
            ms_before_update(builder, &ranks[p].stages, count, ranks[p].own_token_parameters);
        costs->after_update[p] =
            ms_after_update(builder, &ranks[p].stages, has_gather ? count : none);
    }
    return MS_OK;
}

/* Allocate the arrays of `costs`: [slices * stages] stages and, for each of `ranks` pipeline ranks,
 * the plans of the step's end and the optimizer's time. Returns MS_OK; MS_E_NOMEM. */
static ms_status allocate(ms_arena *arena, int ranks, ms_stage_costs *costs) {
    costs->stage = MS_NEW(arena, ms_stage_cost, costs->slices * costs->stages);
    costs->before_update = MS_NEW(arena, ms_pass_plan, ranks);
    costs->after_update = MS_NEW(arena, ms_pass_plan, ranks);
    costs->optimizer_s = MS_NEW(arena, double, ranks);
    bool is_short =
        !costs->stage || !costs->before_update || !costs->after_update || !costs->optimizer_s;
    return is_short ? MS_E_NOMEM : MS_OK;
}

/* Set the costs of all slices, stages and ranks, and move the segments, kernels and uses into the
 * arena. Returns MS_OK or MS_E_NOMEM, which is not reported. */
static ms_status build(ms_cost_builder *builder, ms_stage_costs *costs) {
    int ranks = builder->layout->pp;
    costs->stages = ranks * builder->layout->chunks;
    costs->slices = (int)builder->shard.slice.count;
    builder->unit.buckets.of_stages =
        MS_NEW(builder->arena, struct ms_stage_buckets *, costs->stages);
    if (allocate(builder->arena, ranks, costs) != MS_OK ||
        builder->unit.buckets.of_stages == NULL) {
        return MS_E_NOMEM;
    }
    for (int slice = 0; slice < costs->slices; slice++) {
        fill_slice(builder, slice, costs);
    }
    if (fill_ranks(builder, costs) != MS_OK) {
        return MS_E_NOMEM;
    }
    costs->segment_count = (int)builder->segments.count;
    costs->kernel_count = (int)builder->kernels.count;
    costs->segments = ms_vector_keep(&builder->segments, builder->arena);
    costs->kernels = ms_vector_keep(&builder->kernels, builder->arena);
    costs->uses = ms_vector_keep(&builder->uses, builder->arena);
    bool is_short = !costs->segments || !costs->kernels || !costs->uses || ms_cost_failed(builder);
    return is_short ? MS_E_NOMEM : MS_OK;
}

/* Check the layout of `given`, then lay out the costs of its model. given: has only its inputs set;
 * it is copied. *costs_out is set on success only; every fault is reported. */
static ms_status lay_out(const ms_cost_builder *given, ms_diag *diag, ms_stage_costs *costs_out) {
    const ms_model *model = given->model;
    const ms_model_layout *layout = given->layout;
    ms_status status = ms_layout_check(model, layout, given->gpu, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_cost_builder builder = *given;
    builder.shard = ms_shard_of(model, layout, given->precision);
    ms_stage_costs costs = {.parameters_total = ms_model_parameters(model),
                            .allocator_overhead = layout->allocator_overhead,
                            .workspace_B = ms_workspace_B(&builder)};
    ms_count_flop(model, layout, &costs);
    ms_cost_begin(&builder);
    status = ms_moe_loads_new(&builder, &builder.moe_loads);
    status = status == MS_OK ? build(&builder, &costs) : status;
    ms_cost_end(&builder);
    if (status == MS_OK) {
        *costs_out = costs;
    } else {
        ms_diag_error(diag, "out of memory while laying out the model");
    }
    return status;
}

/* Lay out the costs of a model with all passes, every layer and the table of kernels. */
ms_status ms_model_costs(const ms_model *model, const ms_model_layout *layout,
                         const ms_precision *precision, const ms_gpu_type *gpu, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out) {
    ms_cost_builder given = {.model = model,
                             .layout = layout,
                             .precision = precision,
                             .gpu = gpu,
                             .arena = arena,
                             .wanted = {.passes = (1U << MS_PASS_COUNT) - 1}};
    return lay_out(&given, diag, costs_out);
}

/* Lay out the costs of a model as an outline, with the passes that are asked for. */
ms_status ms_model_outline(const ms_model *model, const ms_model_layout *layout,
                           const ms_precision *precision, const ms_gpu_type *gpu, unsigned passes,
                           ms_arena *arena, ms_diag *diag, ms_stage_costs *costs_out) {
    ms_cost_builder given = {.model = model,
                             .layout = layout,
                             .precision = precision,
                             .gpu = gpu,
                             .arena = arena,
                             .wanted = {.passes = passes, .is_outline = true}};
    return lay_out(&given, diag, costs_out);
}
