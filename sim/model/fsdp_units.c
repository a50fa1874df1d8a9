/* The FSDP units of a virtual stage (layers, embedding, head, MTP modules) with their parameters on
 * one rank, and which pipeline rank holds which stage. A unit's parameters are gathered together,
 * and its gradients are reduced together; stages without FSDP are divided in the same way. */
#include "model/mla.h"
#include "model/moe.h"

int ms_stage_owner(const ms_model_layout *layout, int direction, int stage) {
    int stages = layout->pp * layout->chunks;
    return layout->stage_rank != NULL ? layout->stage_rank[direction * stages + stage]
                                      : stage % layout->pp;
}

/* Whether first and last stages are on the same ranks: in every direction, the rank of the last
 * stage must have a first stage, of this or the other direction. */
bool ms_has_joined_ends(const ms_model_layout *layout) {
    int last = layout->pp * layout->chunks - 1,
        directions = layout->directions > 1 ? layout->directions : 1;
    for (int direction = 0; direction < directions; direction++) {
        int owner = ms_stage_owner(layout, direction, last);
        bool is_joined = false;
        for (int other = 0; other < directions; other++) {
            is_joined = is_joined || ms_stage_owner(layout, other, 0) == owner;
        }
        if (!is_joined) {
            return false;
        }
    }
    return true;
}

/* Whether the last stage uses the first stage's word embedding in place, because one rank holds
 * both, as DeepSeek-V3 does (arXiv:2412.19437, section 3.2.3). With ZeRO 3 and several pipeline
 * ranks each stage gathers its own parameters in its passes, and so its own table. */
static bool shares_table(const ms_model_layout *layout) {
    return layout->pp == 1 || (layout->zero < 3 && ms_has_joined_ends(layout));
}

/* Whether the head has a table of its own: the embeddings are untied, or the embedding's table is
 * on another rank. */
static bool has_own_table(const ms_cost_builder *builder) {
    return !builder->model->has_tied_embeddings || !shares_table(builder->layout);
}

static bool has_head(const ms_cost_builder *builder, ms_stage_content content) {
    return content.is_last && builder->model->vocab > 0;
}

static bool has_embedding(const ms_cost_builder *builder, ms_stage_content content) {
    return content.is_first && builder->model->vocab > 0;
}

int ms_stage_fsdp_unit_count(const ms_cost_builder *builder, ms_stage_content content) {
    int modules = has_head(builder, content) ? builder->model->mtp_layers : 0;
    return has_embedding(builder, content) + content.layers + has_head(builder, content) + modules;
}

/* The unit of the final norm and the head's product: gains, bias and, where it has one, its
 * table. */
static ms_fsdp_unit head_unit(const ms_cost_builder *builder) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    ms_fsdp_unit head = {.kind = MS_FSDP_UNIT_HEAD, .layer = -1};
    if (model->parameters_override <= 0) {
        head.parameters.dense = ms_norm_parameters(model) +
                                (ms_has_bias(model, MS_BIAS_HEAD) ? shard->vocab : 0) +
                                (has_own_table(builder) ? shard->vocab * shard->hidden : 0);
    }
    return head;
}

/* Set how many of a layer's parameters are weights of products in fewer bits: of the dense ones all
 * but biases, norms and other parameters that tp does not split, even if only projections or only
 * MLPs multiply in fewer bits. */
static void count_quantized(const ms_cost_builder *builder, int layer, ms_parameter_count *count) {
    if (builder->precision->products.format == MS_PRODUCT_PLAIN) {
        return;
    }
    ms_cost_builder own = *builder;
    own.product.layer = layer;
    bool has_dense =
        ms_is_quantized(&own, MS_PRODUCT_PROJECTIONS) || ms_is_quantized(&own, MS_PRODUCT_MLP);
    if (has_dense && builder->model->parameters_override <= 0) {
        const ms_model *model = builder->model;
        double biases = ms_has_bias(model, MS_BIAS_QKV) ? builder->shard.qkv_width : 0;
        biases += ms_has_bias(model, MS_BIAS_MLP) ? builder->shard.up_width : 0;
        count->dense_quantized =
            count->dense - biases - ms_layer_replicated_parameters(builder->model, layer);
    }
    if (ms_is_quantized(&own, MS_PRODUCT_EXPERTS)) {
        count->expert_quantized = count->expert;
    }
}

/* The unit of a layer. layer: 0-based in the model; MTP modules are numbered on. */
static ms_fsdp_unit layer_unit(const ms_cost_builder *builder, int layer) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    const ms_model_layout *layout = builder->layout;
    double experts = ms_layer_expert_parameters(model, layout, layer);
    ms_fsdp_unit unit = {.kind = MS_FSDP_UNIT_LAYER, .layer = layer};
    unit.parameters.dense = ms_layer_dense_parameters(model, shard, layer);
    /* experts that are replicated over the same ranks as other parameters are reduced and gathered
     * with those */
    bool is_separate = ms_ep_of(layout) > 1 || layout->expert_mesh.tp > 0;
    *(is_separate ? &unit.parameters.expert : &unit.parameters.dense) += experts;
    count_quantized(builder, layer, &unit.parameters);
    return unit;
}

/* The unit of an MTP module. A last stage that cannot use the first stage's word embedding in place
 * needs a copy, which counts with the first module, unless the (tied) head has one already. */
static ms_fsdp_unit mtp_unit(const ms_cost_builder *builder, int module) {
    const ms_model *model = builder->model;
    ms_fsdp_unit unit = layer_unit(builder, model->layers + module);
    bool has_copy = module == 0 && !shares_table(builder->layout) && !model->has_tied_embeddings;
    unit.kind = MS_FSDP_UNIT_MTP;
    unit.parameters.dense += ms_mtp_parameters(model);
    unit.parameters.dense += has_copy ? ms_embedding_parameters(model, &builder->shard) : 0;
    return unit;
}

/* Unit `index` of a stage, in forward order: embedding, layers, head, MTP modules. */
ms_fsdp_unit ms_stage_fsdp_unit(const ms_cost_builder *builder, ms_stage_content content,
                                int index) {
    const ms_shard *shard = &builder->shard;
    int layer = index - has_embedding(builder, content);
    if (layer < 0) {
        return (ms_fsdp_unit){
            .kind = MS_FSDP_UNIT_EMBEDDING,
            .layer = -1,
            .parameters = {.dense = ms_embedding_parameters(builder->model, shard)}};
    }
    if (layer < content.layers) {
        return layer_unit(builder, content.layer_first + layer);
    }
    int module = layer - content.layers - 1;
    return module < 0 ? head_unit(builder) : mtp_unit(builder, module);
}

/* Parameters of a stage on one rank: the sum over its units. */
ms_parameter_count ms_stage_parameters(const ms_cost_builder *builder, ms_stage_content content) {
    ms_parameter_count sum = {.dense = 0};
    int units = ms_stage_fsdp_unit_count(builder, content);
    for (int i = 0; i < units; i++) {
        ms_fsdp_unit unit = ms_stage_fsdp_unit(builder, content, i);
        ms_parameters_add(&sum, &unit.parameters);
    }
    return sum;
}

/* Parameters of a stage that tp ranks hold whole and use for their own tokens [count]: in layers,
 * the final norm, and MTP modules with their layers; 0 without sequence parallelism. */
double ms_own_token_parameters(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    if (!builder->layout->has_sequence_parallel) {
        return 0;
    }
    double sum = 0;
    for (int i = 0; i < content.layers; i++) {
        sum += ms_layer_replicated_parameters(model, content.layer_first + i);
    }
    if (has_head(builder, content)) {
        sum += ms_norm_parameters(model);
        for (int module = 0; module < model->mtp_layers; module++) {
            sum += ms_mtp_parameters(model) + ms_layer_replicated_parameters(model, model->layers);
        }
    }
    return sum;
}
