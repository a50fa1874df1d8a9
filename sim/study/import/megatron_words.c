/* Words of Megatron-LM's arguments and what a workload says for them.
 * Source: Megatron-LM, megatron.training.arguments. */
#include "study/import/megatron_words.h"

#include <stddef.h>

const ms_megatron_pair MS_MEGATRON_MODEL_PAIRS[] = {
    {"--untie-embeddings-and-output-weights", "model.tied_embeddings", "false", "true", 0, NULL},
    {"--no-gradient-accumulation-fusion", "model.fused_accumulation", "false", "true", 0, NULL},
    {"--no-bias-dropout-fusion", "model.separate_dropout", "true", NULL, 0, NULL},
    {NULL, NULL, NULL, NULL, 0, NULL},
};

const ms_megatron_pair MS_MEGATRON_LATENT_PAIRS[] = {
    {"--q-lora-rank", "model.mla.q_rank", NULL, "0", 0, NULL},
    {"--kv-lora-rank", "model.mla.kv_rank", NULL, "32", 1, "--multi-latent-attention"},
    {"--qk-head-dim", "model.mla.qk_nope", NULL, "128", 1, NULL},
    {"--qk-pos-emb-head-dim", "model.mla.qk_rope", NULL, "64", 1, NULL},
    {"--v-head-dim", "model.mla.v_dim", NULL, "128", 1, NULL},
    {NULL, NULL, NULL, NULL, 0, NULL},
};

const ms_megatron_pair MS_MEGATRON_EXPERT_PAIRS[] = {
    {"--moe-router-topk", "model.moe.top_k", NULL, "2", 1, NULL},
    {"--moe-ffn-hidden-size", "model.moe.ffn", NULL, NULL, 1, NULL},
    {"--moe-router-enable-expert-bias", "model.moe.router_bias", "true", NULL, 0, NULL},
    {"--moe-router-fusion", "model.moe.router", "fused", NULL, 0, NULL},
    {NULL, NULL, NULL, NULL, 0, NULL},
};

const ms_megatron_pair MS_MEGATRON_DATA_PAIRS[] = {
    {"--optimizer-cpu-offload", "data_parallel.offload", "true", NULL, 0, NULL},
    {NULL, NULL, NULL, NULL, 0, NULL},
};

const ms_megatron_recipe MS_MEGATRON_RECIPES[] = {{"delayed", "fp8", "delayed"},
                                                  {"tensorwise", "fp8", "current"},
                                                  {"blockwise", "fp8", "blockwise"},
                                                  {"mxfp8", "mxfp8", NULL},
                                                  {NULL, NULL, NULL}};

const ms_megatron_cp_type MS_MEGATRON_CP_TYPES[] = {{"p2p", "ring", NULL},
                                                    {"a2a", "all_to_all", NULL},
                                                    {"allgather", "all_gather", NULL},
                                                    {"a2a+p2p", "ring", "it has one level, a ring"},
                                                    {NULL, NULL, NULL}};

const ms_megatron_recomputed MS_MEGATRON_RECOMPUTED[] = {
    {"layernorm", "norms", MS_RECOMPUTE_NORMS},
    {"mla_up_proj", "latent_up", MS_RECOMPUTE_LATENT_UP},
    {"moe_act", "activations", MS_RECOMPUTE_ACTIVATIONS},
    {NULL, NULL, MS_RECOMPUTE_NORMS}};

const ms_megatron_offloaded MS_MEGATRON_OFFLOADED[] = {
    {"norms", {"attn_norm", "mlp_norm", NULL}, MS_OFFLOAD_NORMS},
    {"attention", {"core_attn", NULL, NULL}, MS_OFFLOAD_ATTENTION},
    {"experts", {"expert_fc1", NULL, NULL}, MS_OFFLOAD_EXPERTS},
    {NULL, {NULL, NULL, NULL}, MS_OFFLOAD_NORMS}};

const char *const MS_MEGATRON_STRATEGIES[4] = {"no_shard", "optim", "optim_grads",
                                               "optim_grads_params"};

const ms_megatron_type MS_MEGATRON_TYPES[] = {{"fp32", 4},     {"float32", 4}, {"bf16", 2},
                                              {"bfloat16", 2}, {"fp16", 2},    {"float16", 2},
                                              {"fp8", 1},      {"uint8", 1},   {NULL, 0}};
