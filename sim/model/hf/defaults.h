/* Defaults of configs, of each type of models or of several alike: what Transformers fills in where
 * a config has no entry.  A key whose default is `none` there has none here.  Keys and values in
 * turn.
 * Source: as for families.c, which alone includes this. */
#ifndef MS_MODEL_HF_DEFAULTS_H
#define MS_MODEL_HF_DEFAULTS_H

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

static const char BAILING_V2[] =
    "tie_word_embeddings false use_qkv_bias false first_k_dense_replace 0 use_qk_norm true";

static const char CODEGEN[] = "vocab_size 50400 n_embd 4096 n_layer 28 n_head 16 n_positions 2048 "
                              "tie_word_embeddings false resid_pdrop 0.0";

static const char EXAONE[] =
    "vocab_size 102400 hidden_size 2048 num_layers 32 num_attention_heads 32 "
    "max_position_embeddings 2048 tie_word_embeddings true";

static const char GPT_NEO[] =
    "vocab_size 50257 hidden_size 2048 num_layers 24 num_heads 16 max_position_embeddings 2048 "
    "tie_word_embeddings true resid_dropout 0.0 attention_out_bias true";

static const char INTERNLM[] =
    "vocab_size 103168 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 2048 tie_word_embeddings false bias true";

static const char INTERNLM3[] =
    "vocab_size 128512 hidden_size 4096 intermediate_size 11008 num_hidden_layers 32 "
    "num_attention_heads 32 max_position_embeddings 32768 tie_word_embeddings false "
    "qkv_bias false bias false";

static const char QWEN[] =
    "vocab_size 151936 hidden_size 4096 intermediate_size 22016 num_hidden_layers 32 "
    "num_attention_heads 32 seq_length 8192 tie_word_embeddings false no_bias true";

static const char MINISTRAL3[] =
    "vocab_size 131072 hidden_size 4096 intermediate_size 14336 num_hidden_layers 34 "
    "num_attention_heads 32 num_key_value_heads 8 head_dim 128 max_position_embeddings 262144 "
    "tie_word_embeddings false";

#endif
