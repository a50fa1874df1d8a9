/* What virtual stages hold, in units that are gathered and reduced as a whole. */
#include "model/internal.h"

/* Whether the head has a table of its own on its rank. */
static bool has_own_table(const ms_cost_builder *builder) {
    return !builder->model->has_tied_embeddings || builder->layout->pp > 1;
}

static bool has_head(const ms_cost_builder *builder, ms_stage_content content) {
    return content.is_last && builder->model->vocab > 0;
}

static bool has_embedding(const ms_cost_builder *builder, ms_stage_content content) {
    return content.is_first && builder->model->vocab > 0;
}

int ms_stage_unit_count(const ms_cost_builder *builder, ms_stage_content content) {
    return has_embedding(builder, content) + content.layers + has_head(builder, content);
}

static ms_unit head_unit(const ms_cost_builder *builder) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    ms_unit head = {.kind = MS_UNIT_HEAD, .layer = -1};
    if (model->parameters_override <= 0) {
        head.parameters.dense =
            ms_norm_parameters(model) + (has_own_table(builder) ? shard->vocab * shard->hidden : 0);
    }
    return head;
}

static ms_unit layer_unit(const ms_cost_builder *builder, int layer) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    int ep = builder->layout->ep > 1 ? builder->layout->ep : 1;
    double experts = ms_layer_expert_parameters(model, shard, layer, ep);
    ms_unit unit = {.kind = MS_UNIT_LAYER, .layer = layer};
    unit.parameters.dense = ms_layer_dense_parameters(model, shard, layer);
    /* without ep experts are reduced and gathered with the rest */
    *(ep > 1 ? &unit.parameters.expert : &unit.parameters.dense) += experts;
    return unit;
}

ms_unit ms_stage_unit(const ms_cost_builder *builder, ms_stage_content content, int index) {
    const ms_shard *shard = &builder->shard;
    int layer = index - has_embedding(builder, content);
    if (layer < 0) {
        return (ms_unit){.kind = MS_UNIT_EMBEDDING,
                         .layer = -1,
                         .parameters = {.dense = ms_embedding_parameters(builder->model, shard)}};
    }
    if (layer < content.layers) {
        return layer_unit(builder, content.layer_first + layer);
    }
    return head_unit(builder);
}

ms_parameter_count ms_stage_parameters(const ms_cost_builder *builder, ms_stage_content content) {
    ms_parameter_count sum = {0, 0};
    int units = ms_stage_unit_count(builder, content);
    for (int i = 0; i < units; i++) {
        ms_unit unit = ms_stage_unit(builder, content, i);
        sum.dense += unit.parameters.dense;
        sum.expert += unit.parameters.expert;
    }
    return sum;
}

double ms_split_token_parameters(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    if (!builder->layout->has_sequence_parallel) {
        return 0;
    }
    double biases = model->has_bias ? 2 * builder->shard.hidden : 0;
    double layer = 2 * ms_norm_parameters(model) + biases;
    return content.layers * layer + (has_head(builder, content) ? ms_norm_parameters(model) : 0);
}
