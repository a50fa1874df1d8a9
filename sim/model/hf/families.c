/* Types of models: what Transformers fixes in their code, and the defaults of their configs. A key
 * whose default is `none` there has no entry.
 * Source: huggingface/transformers, src/transformers/models: of each type the configuration for
 * defaults and names of keys, the modeling for what is fixed; of chatglm (THUDM/chatglm3-6b),
 * deepseek, minicpm, bailing_moe, baichuan (baichuan-inc), internlm2 and Yi the code beside their
 * checkpoints. */
#include <string.h>

#include "model/hf/adapt.h"

/* Defaults: keys and values in turn. */
static const char LLAMA[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false mlp_bias false";

static const char MISTRAL[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 14336 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 8 max_position_embeddings 131072 "
    "tie_word_embeddings false sliding_window 4096";

static const char MIXTRAL[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 14336 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 8 max_position_embeddings 131072 "
    "tie_word_embeddings false num_experts_per_tok 2 num_local_experts 8";

static const char GEMMA[] =
    "vocab_size 256000 hidden_size 3072 intermediate_size 24576 num_hidden_layers 28 "
    "num_attention_heads 16 num_key_value_heads 16 head_dim 256 "
    "max_position_embeddings 8192 tie_word_embeddings true attention_bias false";

static const char GPT2[] =
    "vocab_size 50257 n_embd 768 n_layer 12 n_head 12 n_positions 1024 resid_pdrop 0.1 "
    "tie_word_embeddings true";

static const char PHI3[] =
    "vocab_size 32064 hidden_size 3072 intermediate_size 8192 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 4096 "
    "original_max_position_embeddings 4096 tie_word_embeddings false resid_pdrop 0.0";

static const char DEEPSEEK_V2[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 11008 "
    "moe_intermediate_size 1407 num_hidden_layers 32 num_attention_heads 32 "
    "max_position_embeddings 2048 tie_word_embeddings false attention_bias false "
    "first_k_dense_replace 0 kv_lora_rank 512 q_lora_rank 1536 n_routed_experts 64 "
    "n_shared_experts 2 qk_nope_head_dim 128 qk_rope_head_dim 64 v_head_dim 128";

static const char DEEPSEEK_V3[] =
    "vocab_size 129280 hidden_size 7168 intermediate_size 18432 "
    "moe_intermediate_size 2048 num_hidden_layers 61 num_attention_heads 128 "
    "max_position_embeddings 4096 tie_word_embeddings false attention_bias false "
    "first_k_dense_replace 3 kv_lora_rank 512 q_lora_rank 1536 n_routed_experts 256 "
    "n_shared_experts 1 num_experts_per_tok 8 qk_nope_head_dim 128 qk_rope_head_dim 64 "
    "v_head_dim 128";

static const char GEMMA2[] =
    "vocab_size 256000 hidden_size 2304 intermediate_size 9216 num_hidden_layers 26 "
    "num_attention_heads 8 num_key_value_heads 4 head_dim 256 "
    "max_position_embeddings 8192 tie_word_embeddings true attention_bias false "
    "sliding_window 4096 sliding_window_pattern 2";

static const char GEMMA3[] =
    "vocab_size 262208 hidden_size 2304 intermediate_size 9216 num_hidden_layers 26 "
    "num_attention_heads 8 num_key_value_heads 4 head_dim 256 "
    "max_position_embeddings 131072 tie_word_embeddings true attention_bias false "
    "sliding_window 4096 sliding_window_pattern 6";

static const char GPT_NEOX[] =
    "vocab_size 50432 hidden_size 6144 intermediate_size 24576 num_hidden_layers 44 "
    "num_attention_heads 64 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias true hidden_dropout 0.0 use_parallel_residual true";

static const char PHI[] =
    "vocab_size 51200 hidden_size 2048 intermediate_size 8192 num_hidden_layers 24 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "resid_pdrop 0.0 qk_layernorm false";

static const char PHIMOE[] =
    "vocab_size 32064 hidden_size 4096 intermediate_size 6400 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 8 max_position_embeddings 131072 "
    "tie_word_embeddings false num_experts_per_tok 2 num_local_experts 16 "
    "attention_bias false lm_head_bias false";

static const char QWEN2[] =
    "vocab_size 151936 hidden_size 4096 intermediate_size 22016 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 32 max_position_embeddings 32768 "
    "tie_word_embeddings false use_sliding_window false sliding_window 4096 "
    "max_window_layers 28";

static const char QWEN2_MOE[] =
    "vocab_size 151936 hidden_size 2048 intermediate_size 5632 num_hidden_layers 24 "
    "num_attention_heads 16 num_key_value_heads 16 max_position_embeddings 32768 "
    "tie_word_embeddings false decoder_sparse_step 1 moe_intermediate_size 1408 "
    "shared_expert_intermediate_size 5632 num_experts_per_tok 4 num_experts 60 "
    "qkv_bias true";

static const char QWEN3[] =
    "vocab_size 151936 hidden_size 4096 intermediate_size 22016 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 32 head_dim 128 "
    "max_position_embeddings 32768 tie_word_embeddings false attention_bias false "
    "use_sliding_window false sliding_window 4096 max_window_layers 28";

static const char QWEN3_MOE[] =
    "vocab_size 151936 hidden_size 2048 intermediate_size 6144 num_hidden_layers 24 "
    "num_attention_heads 32 num_key_value_heads 4 max_position_embeddings 32768 "
    "tie_word_embeddings false attention_bias false decoder_sparse_step 1 "
    "moe_intermediate_size 768 num_experts_per_tok 8 num_experts 128";

static const char GPT_OSS[] =
    "vocab_size 201088 hidden_size 2880 intermediate_size 2880 num_hidden_layers 36 "
    "num_attention_heads 64 num_key_value_heads 8 head_dim 64 "
    "max_position_embeddings 131072 tie_word_embeddings false num_experts_per_tok 4 "
    "num_local_experts 128 attention_bias true sliding_window 128 "
    "sliding_window_pattern 2";

static const char LLAMA4[] =
    "vocab_size 202048 hidden_size 5120 intermediate_size 8192 "
    "intermediate_size_mlp 16384 num_hidden_layers 48 num_attention_heads 40 "
    "num_key_value_heads 8 head_dim 128 max_position_embeddings 131072 "
    "tie_word_embeddings false num_experts_per_tok 1 num_local_experts 16 "
    "interleave_moe_layer_step 1 use_qk_norm true attention_bias false";

static const char OLMO[] =
    "vocab_size 50304 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false";

static const char OLMO3[] =
    "vocab_size 50304 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false sliding_window 4096 sliding_window_pattern 4";

static const char OLMOE[] =
    "vocab_size 50304 hidden_size 2048 intermediate_size 2048 num_hidden_layers 16 "
    "num_attention_heads 16 max_position_embeddings 4096 tie_word_embeddings false "
    "attention_bias false num_experts_per_tok 8 num_experts 64";

static const char GLM[] =
    "vocab_size 151552 hidden_size 4096 intermediate_size 13696 num_hidden_layers 40 "
    "num_attention_heads 32 num_key_value_heads 2 head_dim 128 "
    "max_position_embeddings 131072 tie_word_embeddings false attention_bias true";

static const char GLM4_MOE[] =
    "vocab_size 151552 hidden_size 4096 intermediate_size 10944 "
    "moe_intermediate_size 1408 num_hidden_layers 46 num_attention_heads 96 "
    "num_key_value_heads 8 max_position_embeddings 131072 tie_word_embeddings false "
    "attention_bias false num_experts_per_tok 8 n_routed_experts 128 n_shared_experts 1 "
    "first_k_dense_replace 1 use_qk_norm false";

static const char CHATGLM[] =
    "hidden_size 4096 num_layers 28 "
    "num_attention_heads 32 kv_channels 128 seq_length 2048 tie_word_embeddings false "
    "add_qkv_bias false";

static const char STARCODER2[] =
    "vocab_size 49152 hidden_size 3072 intermediate_size 12288 num_hidden_layers 30 "
    "num_attention_heads 24 num_key_value_heads 2 max_position_embeddings 4096 "
    "tie_word_embeddings true residual_dropout 0.0 use_bias true";

static const char GPT_BIGCODE[] =
    "vocab_size 50257 n_embd 768 n_layer 12 n_head 12 n_positions 1024 resid_pdrop 0.1 "
    "tie_word_embeddings true multi_query true";

static const char FALCON[] =
    "vocab_size 65024 hidden_size 4544 num_hidden_layers 32 num_attention_heads 71 "
    "max_position_embeddings 2048 tie_word_embeddings true hidden_dropout 0.0 "
    "alibi false bias false multi_query true parallel_attn true "
    "new_decoder_architecture false";

static const char BLOOM[] = "vocab_size 250880 hidden_size 64 n_layer 2 n_head 8 seq_length 2048 "
                            "tie_word_embeddings true hidden_dropout 0.0";

static const char OPT[] =
    "vocab_size 50272 hidden_size 768 ffn_dim 3072 num_hidden_layers 12 "
    "num_attention_heads 12 max_position_embeddings 2048 tie_word_embeddings true "
    "dropout 0.1 enable_bias true do_layer_norm_before true";

static const char MPT[] = "vocab_size 50368 d_model 2048 n_layers 24 n_heads 16 max_seq_len 2048 "
                          "tie_word_embeddings true resid_pdrop 0.0 expansion_ratio 4 no_bias true "
                          "attn_config.alibi true";

static const char GPTJ[] = "vocab_size 50400 n_embd 4096 n_layer 28 n_head 16 n_positions 2048 "
                           "tie_word_embeddings false resid_pdrop 0.0";

static const char COHERE[] =
    "vocab_size 256000 hidden_size 8192 intermediate_size 22528 num_hidden_layers 40 "
    "num_attention_heads 64 max_position_embeddings 8192 tie_word_embeddings true "
    "attention_bias false use_qk_norm false";

static const char COHERE2[] =
    "vocab_size 256000 hidden_size 8192 intermediate_size 22528 num_hidden_layers 40 "
    "num_attention_heads 64 max_position_embeddings 8192 tie_word_embeddings true "
    "attention_bias false sliding_window 4096 sliding_window_pattern 4";

static const char STABLELM[] =
    "vocab_size 50304 hidden_size 2560 intermediate_size 6912 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 32 max_position_embeddings 4096 "
    "tie_word_embeddings false hidden_dropout 0.0 use_qkv_bias false qk_layernorm false "
    "use_parallel_residual false";

static const char INTERNLM2[] =
    "vocab_size 103168 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "bias true";

static const char BAICHUAN[] =
    "vocab_size 125696 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 tie_word_embeddings false";

static const char GRANITE_MOE[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false num_experts_per_tok 2 num_local_experts 8";

static const char NEMOTRON[] =
    "vocab_size 256000 hidden_size 6144 intermediate_size 24576 num_hidden_layers 32 "
    "num_attention_heads 48 max_position_embeddings 4096 tie_word_embeddings false "
    "hidden_dropout 0.0 attention_bias false mlp_bias false";

static const char DBRX[] =
    "vocab_size 32000 d_model 2048 n_layers 24 n_heads 16 max_seq_len 2048 "
    "tie_word_embeddings false resid_pdrop 0.0 attn_config.kv_n_heads 1 "
    "ffn_config.ffn_hidden_size 3584 ffn_config.moe_num_experts 4 ffn_config.moe_top_k 1";

static const char MINIMAX_M2[] = "tie_word_embeddings false";

static const char SMOLLM3[] =
    "vocab_size 128256 hidden_size 2048 intermediate_size 11008 num_hidden_layers 36 "
    "num_attention_heads 16 num_key_value_heads 4 max_position_embeddings 32768 "
    "tie_word_embeddings true attention_bias false mlp_bias false";

static const char ERNIE[] =
    "vocab_size 103424 hidden_size 1024 intermediate_size 3072 num_hidden_layers 18 "
    "num_attention_heads 16 num_key_value_heads 2 head_dim 128 "
    "max_position_embeddings 131072 tie_word_embeddings true use_bias false";

static const char ERNIE_MOE[] =
    "vocab_size 103424 hidden_size 2560 intermediate_size 12288 "
    "moe_intermediate_size 1536 num_hidden_layers 28 num_attention_heads 20 "
    "num_key_value_heads 4 max_position_embeddings 131072 tie_word_embeddings true "
    "use_bias false moe_k 6 moe_num_experts 64 moe_num_shared_experts 2 "
    "moe_layer_start_index 1 moe_layer_interval 1";

static const char HUNYUAN[] =
    "vocab_size 290943 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false";

static const char HUNYUAN_MOE[] =
    "vocab_size 290943 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false num_experts 1 moe_topk 1 use_mixed_mlp_moe true";

static const char SEED_OSS[] =
    "vocab_size 155136 hidden_size 4096 intermediate_size 27648 num_hidden_layers 64 "
    "num_attention_heads 80 num_key_value_heads 8 head_dim 128 "
    "max_position_embeddings 524288 tie_word_embeddings false attention_bias true "
    "attention_out_bias false mlp_bias false";

static const char DOTS1[] =
    "vocab_size 152064 hidden_size 4608 intermediate_size 10944 "
    "moe_intermediate_size 1408 num_hidden_layers 62 num_attention_heads 32 "
    "num_key_value_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false first_k_dense_replace 0";

static const char APERTUS[] =
    "vocab_size 131072 hidden_size 4096 intermediate_size 14336 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 65536 tie_word_embeddings false "
    "attention_bias false";

static const char DEEPSEEK[] =
    "vocab_size 102400 hidden_size 4096 intermediate_size 11008 "
    "moe_intermediate_size 1407 num_hidden_layers 30 num_attention_heads 32 "
    "num_key_value_heads 32 max_position_embeddings 2048 tie_word_embeddings false "
    "attention_bias false first_k_dense_replace 0";

static const char MINICPM[] =
    "vocab_size 32000 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings true "
    "attention_bias false";

static const char EXAONE4[] =
    "vocab_size 102400 hidden_size 4096 intermediate_size 16384 num_hidden_layers 32 "
    "num_attention_heads 32 num_key_value_heads 32 max_position_embeddings 2048 "
    "tie_word_embeddings false sliding_window 4096";

static const char BAILING[] =
    "tie_word_embeddings false use_qkv_bias false first_k_dense_replace 0";

static const char NORMS_BEHIND[] =
    "that norms stand behind attention and MLP, not before them; they "
    "are as many and as large";

static const ms_hf_family FAMILIES[] = {
    {.model_type = "apertus", .traits = MS_HF_QK_NORMS, .defaults = APERTUS},
    {.model_type = "baichuan",
     .traits = MS_HF_GATED,
     .defaults = BAICHUAN,
     .aliases = "max_position_embeddings model_max_length",
     .adapt = ms_hf_adapt_baichuan},
    {.model_type = "bailing_moe",
     .traits = MS_HF_GATED | MS_HF_EXPERTS,
     .defaults = BAILING,
     .adapt = ms_hf_adapt_biases},
    {.model_type = "bloom",
     .traits = MS_HF_LAYER_NORM | MS_HF_ALL_BIASES | MS_HF_ALIBI,
     .defaults = BLOOM,
     .aliases = "max_position_embeddings seq_length",
     .left_out = "the norm of the embedding"},
    {.model_type = "chatglm",
     .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV,
     .defaults = CHATGLM,
     .aliases = "num_hidden_layers num_layers intermediate_size ffn_hidden_size "
                "num_key_value_heads multi_query_group_num head_dim kv_channels "
                "vocab_size padded_vocab_size max_position_embeddings seq_length "
                "qkv_bias add_qkv_bias",
     .adapt = ms_hf_adapt_chatglm},
    {.model_type = "cohere",
     .traits = MS_HF_GATED | MS_HF_GAIN_NORMS | MS_HF_PARALLEL,
     .defaults = COHERE,
     .adapt = ms_hf_adapt_own_gains},
    {.model_type = "cohere2",
     .traits = MS_HF_GATED | MS_HF_GAIN_NORMS | MS_HF_PARALLEL,
     .defaults = COHERE2},
    {.model_type = "dbrx",
     .traits = MS_HF_GATED | MS_HF_GAIN_NORMS | MS_HF_EXPERTS,
     .defaults = DBRX,
     .aliases = "max_position_embeddings max_seq_len "
                "num_key_value_heads attn_config.kv_n_heads "
                "num_local_experts ffn_config.moe_num_experts "
                "num_experts_per_tok ffn_config.moe_top_k "
                "moe_intermediate_size ffn_config.ffn_hidden_size"},
    {.model_type = "deepseek", .traits = MS_HF_GATED | MS_HF_EXPERTS, .defaults = DEEPSEEK},
    {.model_type = "deepseek_v2",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT,
     .defaults = DEEPSEEK_V2},
    {.model_type = "deepseek_v3",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT | MS_HF_CORRECTION_BIAS,
     .defaults = DEEPSEEK_V3},
    {.model_type = "dots1",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS | MS_HF_CORRECTION_BIAS,
     .defaults = DOTS1},
    {.model_type = "ernie4_5",
     .traits = MS_HF_GATED,
     .defaults = ERNIE,
     .adapt = ms_hf_adapt_biases},
    {.model_type = "ernie4_5_moe",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_CORRECTION_BIAS,
     .defaults = ERNIE_MOE,
     .aliases = "num_local_experts moe_num_experts num_experts_per_tok moe_k "
                "n_shared_experts moe_num_shared_experts",
     .adapt = ms_hf_adapt_biases},
    {.model_type = "exaone4",
     .traits = MS_HF_GATED | MS_HF_QK_NORMS,
     .defaults = EXAONE4,
     .left_out = NORMS_BEHIND},
    {.model_type = "falcon",
     .traits = MS_HF_LAYER_NORM,
     .defaults = FALCON,
     .adapt = ms_hf_adapt_falcon},
    {.model_type = "gemma", .traits = MS_HF_GATED, .defaults = GEMMA},
    {.model_type = "gemma2", .traits = MS_HF_GATED | MS_HF_POST_NORMS, .defaults = GEMMA2},
    {.model_type = "gemma3",
     .traits = MS_HF_GATED | MS_HF_POST_NORMS | MS_HF_QK_NORMS,
     .defaults = GEMMA3},
    {.model_type = "gemma3_text",
     .traits = MS_HF_GATED | MS_HF_POST_NORMS | MS_HF_QK_NORMS,
     .defaults = GEMMA3},
    {.model_type = "glm", .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV, .defaults = GLM},
    {.model_type = "glm4",
     .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV | MS_HF_POST_NORMS,
     .defaults = GLM},
    {.model_type = "glm4_moe",
     .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV | MS_HF_EXPERTS | MS_HF_CORRECTION_BIAS,
     .defaults = GLM4_MOE},
    {.model_type = "glm4v_moe_text",
     .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV | MS_HF_EXPERTS | MS_HF_CORRECTION_BIAS,
     .defaults = GLM4_MOE},
    {.model_type = "glm4v_text",
     .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV | MS_HF_POST_NORMS,
     .defaults = GLM},
    {.model_type = "gpt2",
     .traits = MS_HF_LAYER_NORM | MS_HF_LEARNED | MS_HF_ALL_BIASES,
     .defaults = GPT2},
    {.model_type = "gpt_bigcode",
     .traits = MS_HF_LAYER_NORM | MS_HF_LEARNED | MS_HF_ALL_BIASES,
     .defaults = GPT_BIGCODE,
     .adapt = ms_hf_adapt_multi_query},
    {.model_type = "gpt_neox",
     .traits = MS_HF_LAYER_NORM | MS_HF_MLP_BIASES | MS_HF_BRANCH_NORMS,
     .defaults = GPT_NEOX},
    {.model_type = "gpt_oss",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_EXPERT_BIASES | MS_HF_CORRECTION_BIAS,
     .defaults = GPT_OSS,
     .left_out = "the attention sinks, a number per head"},
    {.model_type = "gptj",
     .traits = MS_HF_LAYER_NORM | MS_HF_PARALLEL | MS_HF_MLP_BIASES | MS_HF_HEAD_BIAS,
     .defaults = GPTJ},
    {.model_type = "granite", .traits = MS_HF_GATED, .defaults = LLAMA},
    {.model_type = "granitemoe", .traits = MS_HF_GATED | MS_HF_EXPERTS, .defaults = GRANITE_MOE},
    {.model_type = "granitemoeshared",
     .traits = MS_HF_GATED | MS_HF_EXPERTS,
     .defaults = GRANITE_MOE,
     .aliases = "shared_expert_intermediate_size shared_intermediate_size"},
    {.model_type = "hunyuan_v1_dense", .traits = MS_HF_GATED | MS_HF_QK_NORMS, .defaults = HUNYUAN},
    {.model_type = "hunyuan_v1_moe",
     .traits = MS_HF_LISTS | MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS,
     .defaults = HUNYUAN_MOE,
     .aliases = "num_experts_per_tok moe_topk n_shared_experts num_shared_expert",
     .adapt = ms_hf_adapt_hunyuan},
    {.model_type = "internlm2",
     .traits = MS_HF_GATED,
     .defaults = INTERNLM2,
     .adapt = ms_hf_adapt_internlm},
    {.model_type = "kimi_k2",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_LATENT | MS_HF_CORRECTION_BIAS,
     .defaults = DEEPSEEK_V3},
    {.model_type = "llama", .traits = MS_HF_GATED, .defaults = LLAMA},
    {.model_type = "llama4_text",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_ONE_SHARED,
     .defaults = LLAMA4,
     .aliases = "intermediate_size intermediate_size_mlp "
                "moe_intermediate_size intermediate_size",
     .left_out = "attention within chunks, which sequences up to attention_chunk_size do not meet"},
    {.model_type = "minicpm", .traits = MS_HF_GATED, .defaults = MINICPM},
    {.model_type = "minimax_m2",
     .traits = MS_HF_GATED | MS_HF_EXPERTS,
     .defaults = MINIMAX_M2,
     .aliases = "moe_intermediate_size intermediate_size",
     .adapt = ms_hf_adapt_minimax},
    {.model_type = "mistral", .traits = MS_HF_GATED | MS_HF_WINDOW, .defaults = MISTRAL},
    {.model_type = "mixtral",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_WINDOW,
     .defaults = MIXTRAL},
    {.model_type = "mpt",
     .traits = MS_HF_LAYER_NORM,
     .defaults = MPT,
     .aliases = "max_position_embeddings max_seq_len "
                "num_key_value_heads attn_config.kv_n_heads",
     .adapt = ms_hf_adapt_mpt},
    {.model_type = "nemotron", .traits = MS_HF_LAYER_NORM, .defaults = NEMOTRON},
    {.model_type = "olmo", .traits = MS_HF_GATED | MS_HF_PLAIN_NORMS, .defaults = OLMO},
    {.model_type = "olmo2",
     .traits = MS_HF_GATED | MS_HF_QK_NORMS | MS_HF_OWN_QK_GAINS,
     .defaults = OLMO,
     .left_out = NORMS_BEHIND},
    {.model_type = "olmo3",
     .traits = MS_HF_GATED | MS_HF_QK_NORMS | MS_HF_OWN_QK_GAINS,
     .defaults = OLMO3,
     .left_out = NORMS_BEHIND},
    {.model_type = "olmoe",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS | MS_HF_OWN_QK_GAINS,
     .defaults = OLMOE},
    {.model_type = "opt",
     .traits = MS_HF_LAYER_NORM | MS_HF_LEARNED,
     .defaults = OPT,
     .aliases = "intermediate_size ffn_dim resid_pdrop dropout",
     .adapt = ms_hf_adapt_opt,
     .left_out = "two positions that no token takes"},
    {.model_type = "phi",
     .traits = MS_HF_LAYER_NORM | MS_HF_ALL_BIASES | MS_HF_HEAD_BIAS | MS_HF_PARALLEL,
     .defaults = PHI},
    {.model_type = "phi3", .traits = MS_HF_GATED | MS_HF_WINDOW, .defaults = PHI3},
    {.model_type = "phimoe",
     .traits = MS_HF_GATED | MS_HF_LAYER_NORM | MS_HF_EXPERTS | MS_HF_WINDOW,
     .defaults = PHIMOE},
    {.model_type = "qwen2", .traits = MS_HF_GATED | MS_HF_QKV_BIASES, .defaults = QWEN2},
    {.model_type = "qwen2_5_vl", .traits = MS_HF_GATED | MS_HF_QKV_BIASES, .defaults = QWEN2},
    {.model_type = "qwen2_5_vl_text", .traits = MS_HF_GATED | MS_HF_QKV_BIASES, .defaults = QWEN2},
    {.model_type = "qwen2_moe",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_SHARED_GATE,
     .defaults = QWEN2_MOE},
    {.model_type = "qwen2_vl", .traits = MS_HF_GATED | MS_HF_QKV_BIASES, .defaults = QWEN2},
    {.model_type = "qwen2_vl_text", .traits = MS_HF_GATED | MS_HF_QKV_BIASES, .defaults = QWEN2},
    {.model_type = "qwen3", .traits = MS_HF_GATED | MS_HF_QK_NORMS, .defaults = QWEN3},
    {.model_type = "qwen3_moe",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS,
     .defaults = QWEN3_MOE},
    {.model_type = "qwen3_vl_moe_text",
     .traits = MS_HF_GATED | MS_HF_EXPERTS | MS_HF_QK_NORMS,
     .defaults = QWEN3_MOE},
    {.model_type = "qwen3_vl_text", .traits = MS_HF_GATED | MS_HF_QK_NORMS, .defaults = QWEN3},
    {.model_type = "RefinedWeb",
     .traits = MS_HF_LAYER_NORM,
     .defaults = FALCON,
     .adapt = ms_hf_adapt_falcon},
    {.model_type = "RefinedWebModel",
     .traits = MS_HF_LAYER_NORM,
     .defaults = FALCON,
     .adapt = ms_hf_adapt_falcon},
    {.model_type = "seed_oss", .traits = MS_HF_GATED | MS_HF_ATTENTION_QKV, .defaults = SEED_OSS},
    {.model_type = "smollm3", .traits = MS_HF_GATED, .defaults = SMOLLM3},
    {.model_type = "stablelm",
     .traits = MS_HF_GATED | MS_HF_LAYER_NORM,
     .defaults = STABLELM,
     .adapt = ms_hf_adapt_own_gains},
    {.model_type = "starcoder2",
     .traits = MS_HF_LAYER_NORM | MS_HF_WINDOW,
     .defaults = STARCODER2,
     .adapt = ms_hf_adapt_biases},
    {.model_type = "Yi", .traits = MS_HF_GATED, .defaults = LLAMA},
    {.model_type = NULL}};

/* Types that are known, and have what is not built. */
static const struct {
    const char *types; /* between blanks */
    const char *why;
} UNBUILT[] = {
    {" bamba falcon_h1 granitemoehybrid jamba nemotron_h zamba zamba2 ",
     "layers of a state-space model (Mamba)"},
    {" mamba mamba2 falcon_mamba ", "layers of a state-space model (Mamba)"},
    {" qwen3_next qwen3_5 qwen3_5_moe kimi_linear ",
     "layers of linear attention (gated delta networks)"},
    {" minimax minimax_text_01 minimax_m1 ", "layers of linear attention (lightning attention)"},
    {" rwkv rwkv5 rwkv6 rwkv7 recurrent_gemma lfm2 lfm2_moe ", "recurrent or convolutional layers"},
    {" deepseek_v32 glm_moe_dsa ", "attention to keys that an indexer picks (sparse attention)"},
    {" gemma3n gemma3n_text ",
     "embeddings and streams of every layer (AltUp, per-layer embeddings)"},
    {" mllama mllama_text_model ", "layers of cross attention to images"},
    {" t5 mt5 umt5 bart mbart pegasus whisper ", "an encoder beside the decoder"},
    {" bert roberta xlm-roberta deberta-v2 electra modernbert ",
     "an encoder, which is no causal model"},
    {" nemotron-nas openelm deci ", "layers of different widths"},
};

const char *ms_hf_unbuilt(const char *model_type) {
    size_t length = strlen(model_type);
    for (size_t i = 0; i < sizeof UNBUILT / sizeof UNBUILT[0] && length > 0; i++) {
        const char *at = strstr(UNBUILT[i].types, model_type);
        while (at != NULL && (at[-1] != ' ' || at[length] != ' ')) {
            at = strstr(at + 1, model_type);
        }
        if (at != NULL && strchr(model_type, ' ') == NULL) {
            return UNBUILT[i].why;
        }
    }
    return NULL;
}

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

ms_hint ms_hf_hint(const char *model_type) {
    const char *names[sizeof FAMILIES / sizeof FAMILIES[0]];
    size_t count = 0;
    for (const ms_hf_family *family = FAMILIES; family->model_type != NULL; family++) {
        names[count++] = family->model_type;
    }
    return ms_nearest_hint(model_type, names, count);
}
