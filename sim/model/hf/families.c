/* Types of models: what Transformers fixes in their code, and the defaults of their configs. A key
 * whose default is `none` there has no row.
 * Source: huggingface/transformers, src/transformers/models: of each type the configuration for
 * defaults, the modeling for what is fixed. */
#include <string.h>

#include "model/hf/hf.h"

static const ms_hf_default LLAMA[] = {{"vocab_size", "32000"},
                                      {"hidden_size", "4096"},
                                      {"intermediate_size", "11008"},
                                      {"num_hidden_layers", "32"},
                                      {"num_attention_heads", "32"},
                                      {"max_position_embeddings", "2048"},
                                      {"tie_word_embeddings", "false"},
                                      {"attention_bias", "false"},
                                      {"mlp_bias", "false"},
                                      {NULL, NULL}};

static const ms_hf_default MISTRAL[] = {{"vocab_size", "32000"},
                                        {"hidden_size", "4096"},
                                        {"intermediate_size", "14336"},
                                        {"num_hidden_layers", "32"},
                                        {"num_attention_heads", "32"},
                                        {"num_key_value_heads", "8"},
                                        {"max_position_embeddings", "131072"},
                                        {"tie_word_embeddings", "false"},
                                        {"sliding_window", "4096"},
                                        {NULL, NULL}};

static const ms_hf_default MIXTRAL[] = {{"vocab_size", "32000"},
                                        {"hidden_size", "4096"},
                                        {"intermediate_size", "14336"},
                                        {"num_hidden_layers", "32"},
                                        {"num_attention_heads", "32"},
                                        {"num_key_value_heads", "8"},
                                        {"max_position_embeddings", "131072"},
                                        {"tie_word_embeddings", "false"},
                                        {"num_experts_per_tok", "2"},
                                        {"num_local_experts", "8"},
                                        {NULL, NULL}};

static const ms_hf_default GEMMA[] = {{"vocab_size", "256000"},
                                      {"hidden_size", "3072"},
                                      {"intermediate_size", "24576"},
                                      {"num_hidden_layers", "28"},
                                      {"num_attention_heads", "16"},
                                      {"num_key_value_heads", "16"},
                                      {"head_dim", "256"},
                                      {"max_position_embeddings", "8192"},
                                      {"tie_word_embeddings", "true"},
                                      {"attention_bias", "false"},
                                      {NULL, NULL}};

static const ms_hf_default GPT2[] = {{"vocab_size", "50257"},
                                     {"n_embd", "768"},
                                     {"n_layer", "12"},
                                     {"n_head", "12"},
                                     {"n_positions", "1024"},
                                     {"resid_pdrop", "0.1"},

                                     {"tie_word_embeddings", "true"},
                                     {NULL, NULL}};

static const ms_hf_default PHI3[] = {{"vocab_size", "32064"},
                                     {"hidden_size", "3072"},
                                     {"intermediate_size", "8192"},
                                     {"num_hidden_layers", "32"},
                                     {"num_attention_heads", "32"},
                                     {"max_position_embeddings", "4096"},
                                     {"original_max_position_embeddings", "4096"},
                                     {"tie_word_embeddings", "false"},
                                     {"resid_pdrop", "0.0"},
                                     {NULL, NULL}};

static const ms_hf_default DEEPSEEK_V2[] = {{"vocab_size", "32000"},
                                            {"hidden_size", "4096"},
                                            {"intermediate_size", "11008"},
                                            {"moe_intermediate_size", "1407"},
                                            {"num_hidden_layers", "32"},
                                            {"num_attention_heads", "32"},
                                            {"max_position_embeddings", "2048"},
                                            {"tie_word_embeddings", "false"},
                                            {"attention_bias", "false"},
                                            {"first_k_dense_replace", "0"},
                                            {"kv_lora_rank", "512"},
                                            {"q_lora_rank", "1536"},
                                            {"n_routed_experts", "64"},
                                            {"n_shared_experts", "2"},
                                            {"qk_nope_head_dim", "128"},
                                            {"qk_rope_head_dim", "64"},
                                            {"v_head_dim", "128"},
                                            {NULL, NULL}};

static const ms_hf_default DEEPSEEK_V3[] = {{"vocab_size", "129280"},
                                            {"hidden_size", "7168"},
                                            {"intermediate_size", "18432"},
                                            {"moe_intermediate_size", "2048"},
                                            {"num_hidden_layers", "61"},
                                            {"num_attention_heads", "128"},
                                            {"max_position_embeddings", "4096"},
                                            {"tie_word_embeddings", "false"},
                                            {"attention_bias", "false"},
                                            {"first_k_dense_replace", "3"},
                                            {"kv_lora_rank", "512"},
                                            {"q_lora_rank", "1536"},
                                            {"n_routed_experts", "256"},
                                            {"n_shared_experts", "1"},
                                            {"num_experts_per_tok", "8"},
                                            {"qk_nope_head_dim", "128"},
                                            {"qk_rope_head_dim", "64"},
                                            {"v_head_dim", "128"},
                                            {NULL, NULL}};

static const ms_hf_default GEMMA2[] = {{"vocab_size", "256000"},
                                       {"hidden_size", "2304"},
                                       {"intermediate_size", "9216"},
                                       {"num_hidden_layers", "26"},
                                       {"num_attention_heads", "8"},
                                       {"num_key_value_heads", "4"},
                                       {"head_dim", "256"},
                                       {"max_position_embeddings", "8192"},
                                       {"tie_word_embeddings", "true"},
                                       {"attention_bias", "false"},
                                       {NULL, NULL}};

static const ms_hf_default GEMMA3[] = {{"vocab_size", "262208"},
                                       {"hidden_size", "2304"},
                                       {"intermediate_size", "9216"},
                                       {"num_hidden_layers", "26"},
                                       {"num_attention_heads", "8"},
                                       {"num_key_value_heads", "4"},
                                       {"head_dim", "256"},
                                       {"max_position_embeddings", "131072"},
                                       {"tie_word_embeddings", "true"},
                                       {"attention_bias", "false"},
                                       {NULL, NULL}};

static const ms_hf_default GPT_NEOX[] = {{"vocab_size", "50432"},
                                         {"hidden_size", "6144"},
                                         {"intermediate_size", "24576"},
                                         {"num_hidden_layers", "44"},
                                         {"num_attention_heads", "64"},
                                         {"max_position_embeddings", "2048"},
                                         {"tie_word_embeddings", "false"},
                                         {"attention_bias", "true"},
                                         {"hidden_dropout", "0.0"},
                                         {"use_parallel_residual", "true"},
                                         {NULL, NULL}};

static const ms_hf_default PHI[] = {
    {"vocab_size", "51200"},          {"hidden_size", "2048"},
    {"intermediate_size", "8192"},    {"num_hidden_layers", "24"},
    {"num_attention_heads", "32"},    {"max_position_embeddings", "2048"},
    {"tie_word_embeddings", "false"}, {"resid_pdrop", "0.0"},
    {"qk_layernorm", "false"},        {NULL, NULL}};

static const ms_hf_default PHIMOE[] = {{"vocab_size", "32064"},
                                       {"hidden_size", "4096"},
                                       {"intermediate_size", "6400"},
                                       {"num_hidden_layers", "32"},
                                       {"num_attention_heads", "32"},
                                       {"num_key_value_heads", "8"},
                                       {"max_position_embeddings", "131072"},
                                       {"tie_word_embeddings", "false"},
                                       {"num_experts_per_tok", "2"},
                                       {"num_local_experts", "16"},
                                       {"attention_bias", "false"},
                                       {"lm_head_bias", "false"},
                                       {NULL, NULL}};

static const ms_hf_default QWEN2[] = {{"vocab_size", "151936"},
                                      {"hidden_size", "4096"},
                                      {"intermediate_size", "22016"},
                                      {"num_hidden_layers", "32"},
                                      {"num_attention_heads", "32"},
                                      {"num_key_value_heads", "32"},
                                      {"max_position_embeddings", "32768"},
                                      {"tie_word_embeddings", "false"},
                                      {"use_sliding_window", "false"},
                                      {"sliding_window", "4096"},
                                      {"max_window_layers", "28"},
                                      {NULL, NULL}};

static const ms_hf_default QWEN2_MOE[] = {{"vocab_size", "151936"},
                                          {"hidden_size", "2048"},
                                          {"intermediate_size", "5632"},
                                          {"num_hidden_layers", "24"},
                                          {"num_attention_heads", "16"},
                                          {"num_key_value_heads", "16"},
                                          {"max_position_embeddings", "32768"},
                                          {"tie_word_embeddings", "false"},
                                          {"decoder_sparse_step", "1"},
                                          {"moe_intermediate_size", "1408"},
                                          {"shared_expert_intermediate_size", "5632"},
                                          {"num_experts_per_tok", "4"},
                                          {"num_experts", "60"},
                                          {"qkv_bias", "true"},
                                          {NULL, NULL}};

static const ms_hf_default QWEN3[] = {{"vocab_size", "151936"},
                                      {"hidden_size", "4096"},
                                      {"intermediate_size", "22016"},
                                      {"num_hidden_layers", "32"},
                                      {"num_attention_heads", "32"},
                                      {"num_key_value_heads", "32"},
                                      {"head_dim", "128"},
                                      {"max_position_embeddings", "32768"},
                                      {"tie_word_embeddings", "false"},
                                      {"attention_bias", "false"},
                                      {"use_sliding_window", "false"},
                                      {"sliding_window", "4096"},
                                      {"max_window_layers", "28"},
                                      {NULL, NULL}};

static const ms_hf_default QWEN3_MOE[] = {{"vocab_size", "151936"},
                                          {"hidden_size", "2048"},
                                          {"intermediate_size", "6144"},
                                          {"num_hidden_layers", "24"},
                                          {"num_attention_heads", "32"},
                                          {"num_key_value_heads", "4"},
                                          {"max_position_embeddings", "32768"},
                                          {"tie_word_embeddings", "false"},
                                          {"attention_bias", "false"},
                                          {"decoder_sparse_step", "1"},
                                          {"moe_intermediate_size", "768"},
                                          {"num_experts_per_tok", "8"},
                                          {"num_experts", "128"},
                                          {NULL, NULL}};

static const ms_hf_family FAMILIES[] = {
    {"deepseek_v2", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT, DEEPSEEK_V2},
    {"deepseek_v3", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT | MS_HF_CORRECTION_BIAS,
     DEEPSEEK_V3},
    {"gemma", MS_HF_GATED, GEMMA},
    {"gemma2", MS_HF_GATED | MS_HF_POST_NORMS, GEMMA2},
    {"gemma3", MS_HF_GATED | MS_HF_POST_NORMS | MS_HF_QK_NORMS, GEMMA3},
    {"gemma3_text", MS_HF_GATED | MS_HF_POST_NORMS | MS_HF_QK_NORMS, GEMMA3},
    {"gpt2", MS_HF_LAYER_NORM | MS_HF_LEARNED | MS_HF_ALL_BIASES, GPT2},
    {"gpt_neox", MS_HF_LAYER_NORM | MS_HF_MLP_BIASES, GPT_NEOX},
    {"kimi_k2", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT | MS_HF_CORRECTION_BIAS, DEEPSEEK_V3},
    {"llama", MS_HF_GATED, LLAMA},
    {"mistral", MS_HF_GATED | MS_HF_WINDOW, MISTRAL},
    {"mixtral", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_WINDOW, MIXTRAL},
    {"phi", MS_HF_LAYER_NORM | MS_HF_ALL_BIASES | MS_HF_HEAD_BIAS | MS_HF_PARALLEL, PHI},
    {"phi3", MS_HF_GATED | MS_HF_WINDOW, PHI3},
    {"phimoe", MS_HF_GATED | MS_HF_LAYER_NORM | MS_HF_EXPERTS | MS_HF_WINDOW, PHIMOE},
    {"qwen2", MS_HF_GATED | MS_HF_QKV_BIASES, QWEN2},
    {"qwen2_moe", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_SHARED_GATE, QWEN2_MOE},
    {"qwen3", MS_HF_GATED | MS_HF_QK_NORMS, QWEN3},
    {"qwen3_moe", MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS, QWEN3_MOE},
    {NULL, 0, NULL}};

const ms_hf_family *ms_hf_family_of(const char *model_type) {
    for (const ms_hf_family *family = FAMILIES; family->model_type != NULL; family++) {
        if (strcmp(family->model_type, model_type) == 0) {
            return family;
        }
    }
    return NULL;
}

void ms_hf_list_families(ms_buffer *out) {
    for (const ms_hf_family *family = FAMILIES; family->model_type != NULL; family++) {
        ms_buffer_printf(out, "%s%s", family == FAMILIES ? "" : ", ", family->model_type);
    }
}
