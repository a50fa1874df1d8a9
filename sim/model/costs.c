#include <string.h>

#include "model/internal.h"

static ms_stage_content content_of(const ms_model_layout *layout, int stage) {
    return (ms_stage_content){.layers = layout->stage_layers[stage],
                              .is_first = stage == 0,
                              .is_last = stage == layout->pp * layout->chunks - 1};
}

/* A receiving stage puts a boundary tensor of which each tp rank got 1/tp together again.
 * Source: Narayanan et al., SC'21, section 4.1 (scatter/gather). */
static void add_gather(ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    bool receives = pass == MS_PASS_F ? !content.is_first : !content.is_last;
    if (builder->layout->has_scatter_gather && receives && pass != MS_PASS_W) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER,
                           shard->tokens * shard->hidden * shard->element_B);
    }
}

/* One pass of a virtual stage whose layers start at `layer_first`. */
static ms_pass_plan add_pass(ms_cost_builder *builder, ms_pass pass, ms_stage_content content,
                             int layer_first) {
    builder->pass_first = builder->segments.count;
    add_gather(builder, pass, content);
    if (pass == MS_PASS_F) {
        if (content.is_first) {
            ms_cost_embedding(builder, pass);
        }
        for (int i = 0; i < content.layers; i++) {
            ms_cost_layer(builder, layer_first + i, pass);
        }
        if (content.is_last) {
            ms_cost_head(builder, pass);
        }
    } else {
        if (content.is_last) {
            ms_cost_head(builder, pass);
        }
        for (int i = content.layers - 1; i >= 0; i--) {
            ms_cost_layer(builder, layer_first + i, pass);
        }
        if (content.is_first) {
            ms_cost_embedding(builder, pass);
        }
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
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    return builder->layout->has_scatter_gather ? plane_B / shard->tp : plane_B;
}

static void fill_stage(ms_cost_builder *builder, int stage, int layer_first,
                       ms_stage_cost *stage_out) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    ms_stage_content content = content_of(builder->layout, stage);
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        stage_out->passes[pass] = add_pass(builder, (ms_pass)pass, content, layer_first);
    }
    stage_out->send_forward_B = content.is_last ? 0 : boundary_B(builder);
    stage_out->send_backward_B = content.is_first ? 0 : boundary_B(builder);
    stage_out->parameters = ms_stage_parameters(builder, content);
    bool is_end = content.is_first || content.is_last;
    if (is_end && model->has_tied_embeddings && builder->layout->pp > 1) {
        stage_out->tied_B = shard->vocab * shard->hidden * shard->accumulation_B;
    }
    stage_out->memory = ms_stage_memory_of(builder, content);
    stage_out->layer_first = layer_first;
    stage_out->layers = content.layers;
}

/* Traffic of an optimizer step per parameter. Gradients: zeroed on every rank; read for the norm,
 * read and written by clipping, read by the update. Update: master copy and moments in and out, the
 * working copy out.  Source: derived from Adam (Kingma and Ba 2015) in mixed precision (Rajbhandari
 * et al. 2020, arXiv:1910.02054, section 3.1). A separate fp32 copy of 2-byte gradients is not
 * counted. */
static double optimizer_time_s(const ms_cost_builder *builder, double parameters) {
    const ms_precision *precision = builder->precision;
    double own = builder->layout->zero >= 1 ? parameters / builder->layout->dp : parameters;
    double zeroing_B = parameters * precision->gradient_B;
    double update_B =
        own * (4 * precision->gradient_B + 2 * precision->optimizer_B + precision->parameter_B);
    return ms_roofline_s(builder->gpu, 0, zeroing_B + update_B, 1, NULL);
}

/* What a pipeline rank does once per step; virtual stage s sits on pipeline rank s mod P. */
static void fill_ranks(const ms_cost_builder *builder, ms_stage_costs *costs) {
    const ms_precision *precision = builder->precision;
    for (int rank = 0; rank < builder->layout->pp; rank++) {
        double parameters = 0;
        for (int stage = rank; stage < costs->stages; stage += builder->layout->pp) {
            parameters += costs->stage[stage].parameters;
        }
        costs->optimizer_s[rank] = optimizer_time_s(builder, parameters);
        costs->gradient_B[rank] = parameters * precision->gradient_B;
        costs->gather_B[rank] =
            builder->layout->zero >= 1 ? parameters * precision->parameter_B : 0;
    }
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

static ms_status build(ms_cost_builder *builder, ms_stage_costs *costs) {
    int ranks = builder->layout->pp;
    costs->stages = ranks * builder->layout->chunks;
    costs->stage = MS_NEW(builder->arena, ms_stage_cost, costs->stages);
    costs->optimizer_s = MS_NEW(builder->arena, double, ranks);
    costs->gradient_B = MS_NEW(builder->arena, double, ranks);
    costs->gather_B = MS_NEW(builder->arena, double, ranks);
    if (!costs->stage || !costs->optimizer_s || !costs->gradient_B || !costs->gather_B) {
        return MS_E_NOMEM;
    }
    for (int stage = 0, layer = 0; stage < costs->stages; stage++) {
        fill_stage(builder, stage, layer, &costs->stage[stage]);
        layer += builder->layout->stage_layers[stage];
    }
    fill_ranks(builder, costs);
    costs->segments = keep(&builder->segments, builder->arena, &costs->segment_count);
    costs->kernels = keep(&builder->kernels, builder->arena, &costs->kernel_count);
    costs->uses = keep(&builder->uses, builder->arena, &costs->use_count);
    bool is_short = !costs->segments || !costs->kernels || !costs->uses || ms_cost_failed(builder);
    return is_short ? MS_E_NOMEM : MS_OK;
}

ms_status ms_model_costs(const ms_model *model, const ms_model_layout *layout,
                         const ms_precision *precision, const ms_gpu_type *gpu, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out) {
    ms_status status = ms_layout_check(model, layout, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_cost_builder builder = {.model = model,
                               .layout = layout,
                               .precision = precision,
                               .gpu = gpu,
                               .arena = arena,
                               .shard = ms_shard_of(model, layout, precision)};
    ms_stage_costs costs = {.parameters_total = ms_model_parameters(model)};
    ms_count_flop(model, layout->recompute, &costs);
    ms_cost_begin(&builder);
    status = build(&builder, &costs);
    ms_cost_end(&builder);
    if (status == MS_OK) {
        *costs_out = costs;
    } else {
        ms_diag_error(diag, "out of memory while laying out the model");
    }
    return status;
}
