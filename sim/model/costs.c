#include <string.h>

#include "model/moe.h"

static ms_stage_content content_of(const ms_model_layout *layout, int stage, int layer_first) {
    return (ms_stage_content){.layer_first = layer_first,
                              .layers = layout->stage_layers[stage],
                              .is_first = stage == 0,
                              .is_last = stage == layout->pp * layout->chunks - 1};
}

/* A receiving stage puts a boundary tensor of which each tp rank got 1/tp together again. With
 * sequence parallelism each rank goes on with its share.
 * Source: Narayanan et al., SC'21, section 4.1 (scatter/gather). */
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

static void add_unit(ms_cost_builder *builder, ms_pass pass, const ms_unit *unit) {
    switch (unit->kind) {
    case MS_UNIT_EMBEDDING:
        ms_cost_embedding(builder, pass);
        break;
    case MS_UNIT_HEAD:
        ms_cost_head(builder, pass);
        break;
    case MS_UNIT_MTP:
        ms_cost_mtp(builder, unit->layer - builder->model->layers, pass);
        break;
    case MS_UNIT_LAYER:
    default:
        ms_cost_layer(builder, unit->layer, pass);
        break;
    }
}

/* One pass of a virtual stage. */
static ms_pass_plan add_pass(ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    ms_cost_begin_plan(builder);
    builder->stage_first = content.layer_first;
    add_gather(builder, pass, content);
    builder->unit.units_first = builder->segments.count;
    int count = ms_stage_unit_count(builder, content);
    for (int i = 0; i < count; i++) {
        bool is_last = i == count - 1;
        ms_unit unit = ms_stage_unit(builder, content, pass == MS_PASS_F ? i : count - 1 - i);
        ms_unit next = {.layer = -1};
        if (!is_last) {
            next = ms_stage_unit(builder, content, pass == MS_PASS_F ? i + 1 : count - 2 - i);
        }
        ms_unit_begin(builder, pass, &unit, is_last ? NULL : &next);
        add_unit(builder, pass, &unit);
        ms_unit_end(builder, pass, &unit, is_last);
    }
    if (builder->segments.count == builder->pass_first) {
        ms_cost_compute(builder); /* nothing to do still is a pass */
    }
    return (ms_pass_plan){.first = (int)builder->pass_first,
                          .count = (int)(builder->segments.count - builder->pass_first)};
}

/* Bytes each rank hands to the next or previous stage. */
static double boundary_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    const ms_model_layout *layout = builder->layout;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    bool is_split = layout->has_scatter_gather || layout->has_sequence_parallel;
    return is_split ? plane_B / shard->tp : plane_B;
}

static void fill_stage(ms_cost_builder *builder, int stage, int layer_first,
                       ms_stage_cost *stage_out) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    ms_stage_content content = content_of(builder->layout, stage, layer_first);
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        stage_out->passes[pass] = add_pass(builder, (ms_pass)pass, content);
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
    stage_out->layer_first = layer_first;
    stage_out->layers = content.layers;
}

/* All stages in one slice of a sequence. */
static void fill_slice(ms_cost_builder *builder, int slice, ms_stage_costs *costs) {
    ms_shard_set_slice(&builder->shard, slice);
    memset(builder->layer_pieces, 0, sizeof builder->layer_pieces);
    for (int stage = 0, layer = 0; stage < costs->stages; stage++) {
        fill_stage(builder, stage, layer, &costs->stage[slice * costs->stages + stage]);
        layer += builder->layout->stage_layers[stage];
    }
}

static bool holds(const ms_model_layout *layout, int rank, int stage) {
    return ms_stage_owner(layout, 0, stage) == rank ||
           (layout->directions > 1 && ms_stage_owner(layout, 1, stage) == rank);
}

/* What a pipeline rank does once per step. */
static void fill_rank(ms_cost_builder *builder, int rank, ms_stage_costs *costs) {
    const ms_model_layout *layout = builder->layout;
    ms_parameter_count count = {0, 0}, none = {0, 0};
    double split_tokens = 0;
    for (int stage = 0; stage < costs->stages; stage++) {
        const ms_stage_cost *cost = &costs->stage[stage];
        if (holds(layout, rank, stage)) {
            ms_stage_content content = content_of(layout, stage, cost->layer_first);
            count.dense += cost->parameters - cost->expert_parameters;
            count.expert += cost->expert_parameters;
            split_tokens += ms_split_token_parameters(builder, content);
        }
    }
    bool has_gather = layout->zero >= 1 && !ms_unshards_in_passes(layout);
    costs->optimizer_s[rank] = ms_optimizer_time_s(builder, count);
    costs->before_update[rank] = ms_before_update(builder, count, split_tokens);
    costs->after_update[rank] = ms_after_update(builder, has_gather ? count : none);
}

/* Copy of a vector's items in the arena; NULL when memory runs out. */
static void *keep(const ms_vector *vector, ms_arena *arena, int *count_out) {
    void *copy = ms_arena_alloc(arena, vector->count, vector->item_B);
    if (copy && vector->count > 0) {
        memcpy(copy, vector->data, vector->count * vector->item_B);
    }
    *count_out = (int)vector->count;
    return copy;
}

static ms_status allocate(ms_arena *arena, int ranks, ms_stage_costs *costs) {
    costs->stage = MS_NEW(arena, ms_stage_cost, costs->slices * costs->stages);
    costs->before_update = MS_NEW(arena, ms_pass_plan, ranks);
    costs->after_update = MS_NEW(arena, ms_pass_plan, ranks);
    costs->optimizer_s = MS_NEW(arena, double, ranks);
    bool is_short =
        !costs->stage || !costs->before_update || !costs->after_update || !costs->optimizer_s;
    return is_short ? MS_E_NOMEM : MS_OK;
}

static ms_status build(ms_cost_builder *builder, ms_stage_costs *costs) {
    int ranks = builder->layout->pp;
    costs->stages = ranks * builder->layout->chunks;
    costs->slices = (int)builder->shard.slice.count;
    if (allocate(builder->arena, ranks, costs) != MS_OK) {
        return MS_E_NOMEM;
    }
    for (int slice = 0; slice < costs->slices; slice++) {
        fill_slice(builder, slice, costs);
    }
    for (int rank = 0; rank < ranks; rank++) {
        fill_rank(builder, rank, costs);
    }
    costs->segments = keep(&builder->segments, builder->arena, &costs->segment_count);
    costs->kernels = keep(&builder->kernels, builder->arena, &costs->kernel_count);
    costs->uses = keep(&builder->uses, builder->arena, &costs->use_count);
    bool is_short = !costs->segments || !costs->kernels || !costs->uses || ms_cost_failed(builder);
    return is_short ? MS_E_NOMEM : MS_OK;
}

ms_status ms_model_costs(const ms_model *model, const ms_model_layout *layout,
                         const ms_precision *precision, const ms_gpu_type *gpu, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out) {
    ms_status status = ms_layout_check(model, layout, gpu, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_cost_builder builder = {.model = model,
                               .layout = layout,
                               .precision = precision,
                               .gpu = gpu,
                               .arena = arena,
                               .shard = ms_shard_of(model, layout, precision)};
    ms_stage_costs costs = {.parameters_total = ms_model_parameters(model),
                            .allocator_overhead = layout->allocator_overhead};
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
