/* Memory that a framework and its libraries hold from the first pass on, whatever runs: library
 * workspaces, and buffers that frameworks keep. Source of the sizes: PyTorch,
 * parseChosenWorkspaceSize of ATen's CublasHandlePool (:4096:2:16:8, 32 MiB on Hopper and
 * Blackwell); Transformer Engine, get_cublas_workspace_size_bytes (32 MiB from Hopper on, else 4
 * MiB; grouped products have one for each of 4 streams). */
#include <math.h>

#include "model/mla.h"
#include "model/moe.h"

static const double MIB = 1024.0 * 1024;
static const double CUBLAS_HOPPER_B = 32 * 1024.0 * 1024;
static const double CUBLAS_EARLIER_B = (2 * 4096 + 8 * 16) * 1024.0;
static const double ENGINE_HOPPER_MIB = 32, ENGINE_EARLIER_MIB = 4;

/* PyTorch has a handle of cuBLAS, and with it a workspace, for each of two threads: one runs the
 * forward passes, autograd's runs the backward passes. */
enum { CUBLAS_THREADS = 2, GROUPED_STREAMS = 4 };

/* Bytes of library workspaces on a rank [B]: PyTorch's cuBLAS workspaces and, with Transformer
 * Engine, its own: one, and one for each stream of grouped products. */
double ms_workspace_B(const ms_cost_builder *builder) {
    const ms_framework_memory *framework = &builder->layout->framework_memory;
    if (framework->libraries == MS_LIBRARIES_NONE) {
        return 0;
    }
    bool is_new = builder->gpu->generation >= MS_GENERATION_HOPPER;
    double usual_B = is_new ? CUBLAS_HOPPER_B : CUBLAS_EARLIER_B;
    double cublas_B = framework->cublas_B > 0 ? framework->cublas_B : usual_B;
    bool is_grouped =
        builder->model->moe.experts > 0 && (framework->buffers & MS_BUFFER_GROUPED_PRODUCTS);
    double engine_B = (is_new ? ENGINE_HOPPER_MIB : ENGINE_EARLIER_MIB) * MIB;
    double streams = framework->libraries == MS_LIBRARIES_TRANSFORMER_ENGINE
                         ? 1 + (is_grouped ? GROUPED_STREAMS : 0)
                         : 0;
    return CUBLAS_THREADS * cublas_B + streams * engine_B;
}

/* Weights of the products in one layer of each kind (dense, experts) that a stage has [count].
 * Equal shapes share a placeholder, so that a kind is counted once, and one expert stands for
 * all. */
static double layer_weights(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    /* layers in MTP modules are numbered on behind the last layer */
    int modules = content.is_last ? model->mtp_layers : 0;
    bool has_dense = false, has_moe = false;
    for (int i = 0; i < content.layers + modules; i++) {
        bool is_moe = ms_layer_is_moe(model, content.layer_first + i);
        has_moe = has_moe || is_moe;
        has_dense = has_dense || !is_moe;
    }
    double attention = ms_is_mla(model) ? ms_mla_parameters(model, shard)
                                        : shard->hidden * (shard->qkv_width + shard->q_width);
    double dense = shard->hidden * (shard->up_width + shard->ffn);
    double shared = ms_moe_shared_parameters(model, shard) -
                    (double)model->moe.experts * shard->hidden; /* no placeholder for the router */
    double local = (double)model->moe.experts / ms_ep_of(builder->layout);
    double expert = ms_moe_expert_parameters(model, builder->layout) / fmax(local, 1);
    return (has_dense || has_moe ? attention : 0) + (has_dense ? dense : 0) +
           (has_moe ? shared + expert : 0);
}

/* Bytes of placeholders for weight gradients [B]. Where products add weight gradients to the
 * gradient buffer themselves, Transformer Engine and Megatron-LM give autograd a tensor of the
 * weight's shape instead, one for each shape, and keep it. Source: Transformer Engine,
 * get_dummy_wgrad of its modules; Megatron-LM, megatron.core.tensor_parallel.layers, which uses it
 * for the output layer, too. */
static double placeholder_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    double head = content.is_last ? builder->shard.vocab * builder->shard.hidden : 0;
    return model->has_fused_accumulation
               ? (layer_weights(builder, content) + head) * builder->shard.element_B
               : 0;
}

/* Bytes of the buffers that a framework keeps for a stage (ms_framework_buffer) [B]: on the last
 * stage the one in which the output layer gathers tokens, placeholders, and the scores of unfused
 * attention. Buffers of gradients and of prefetched parameters are not in it: zero_sharding.c
 * counts them. */
double ms_framework_buffer_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    unsigned buffers = builder->layout->framework_memory.buffers;
    double sum_B = 0;
    bool gathers = builder->layout->has_sequence_parallel && builder->layout->tp > 1;
    if ((buffers & MS_BUFFER_GATHER) && gathers && content.is_last && shard->vocab > 0) {
        sum_B += shard->tokens * shard->hidden * shard->element_B;
    }
    if (buffers & MS_BUFFER_WEIGHT_GRADIENTS) {
        sum_B += placeholder_B(builder, content);
    }
    if ((buffers & MS_BUFFER_SCORES) && builder->model->attention == MS_ATTENTION_UNFUSED) {
        sum_B += shard->element_B * shard->tokens * shard->heads * shard->slice.keys;
    }
    return sum_B;
}
