/* Keys of configs that say nothing which a simulation takes, and why. */
#include <string.h>

#include "model/hf/hf.h"

/* Keys that say nothing which a simulation takes. */
typedef struct ignored_row {
    const char *why;
    const char *const *keys; /* NULL-terminated */
} ignored_row;

static const char NAMES_TOKENS[] = "names tokens";

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const ignored_row ROWS[] = {
    {"says what the file is for",
     KEYS("attn_config.model_type", "ffn_config.model_type", "architectures", "auto_map",
          "transformers_version", "_commit_hash", "task_specific_params")},
    {NAMES_TOKENS, KEYS("ignore_index", "tokenizer_class")},
    {"says how weights begin",
     KEYS("init_device", "init_config", "verbose", "initializer_range", "initializer_factor",
          "init_method", "embedding_init_method", "init_std", "onnx_safe")},
    {"the type of stored weights, which is the workload's to say (precision)",
     KEYS("torch_dtype", "dtype", "bf16", "fp16", "fp32")},
    {"how stored weights are quantised; products in fp8 are the workload's to say "
     "(precision.products)",
     KEYS("quantization_config", "quantization", "compression_config")},
    {"generation alone",
     KEYS("gradient_checkpointing", "prefix", "pre_seq_len", "prefix_projection",
          "quantization_bit", "for_llm_compressor", "use_cache", "cache_implementation", "ep_size",
          "pretraining_tp", "max_length", "do_sample", "num_beams")},
    {"a number inside a kernel that takes as long with any other",
     KEYS("layernorm_epsilon", "attention_multiplier", "scale_emb", "scale_depth", "dim_model_base",
          "embedding_dropout_prob", "embedding_multiplier", "residual_multiplier", "logits_scaling",
          "logit_scale", "clip_qkv", "attn_config.clip_qkv", "attn_config.softmax_scale",
          "softmax_scale", "attn_scale", "floor_scale", "attn_temperature_tuning", "swiglu_limit",
          "swiglu_alpha", "apply_query_key_layer_scaling", "moe_norm_min", "z_loss_weight",
          "ffn_config.moe_jitter_eps", "ffn_config.moe_loss_weight", "score_function",
          "ffn_config.moe_normalize_expert_weights", "attn_config.rope_theta",
          "attn_config.alibi_bias_max", "norm_type", "mlp_type", "qk_norm_type", "slow_but_exact",
          "offset_alibi", "embedding_fraction", "rms_norm_eps", "layer_norm_eps",
          "layer_norm_epsilon", "norm_eps", "norm_epsilon", "rope_theta", "rope_local_base_freq",
          "rotary_emb_base", "query_pre_attn_scalar", "routed_scaling_factor", "norm_topk_prob",
          "scoring_func", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
          "reorder_and_upcast_attn", "rope_interleave", "seq_aux", "aux_loss_alpha",
          "router_aux_loss_coef", "router_z_loss_coef", "router_jitter_noise", "input_jitter_noise",
          "output_router_logits")},
    {"angles of the rotary embedding, whose kernel takes as long with any other",
     KEYS("rope_ratio", "rope_pct", "use_mrope", "use_dynamic_ntk", "rotary_scaling_factor",
          "rotary", "original_rope", "position_embedding_type", "rope_scaling", "rope_parameters",
          "rope_type", "partial_rotary_factor", "rotary_pct", "rotary_dim")},
    {"the function's kernel is counted alike for all; whether an MLP is gated follows from the "
     "model's type",
     KEYS("ffn_config.ffn_act_fn", "hidden_act", "hidden_activation", "activation_function")},
    {"a cap on scores or logits inside kernels that take as long without it",
     KEYS("attn_logit_softcapping", "final_logit_softcapping")},
    {"dropout besides that of the residual path",
     KEYS("embd_pdrop", "attn_pdrop", "emb_pdrop", "embedding_dropout", "activation_dropout",
          "layerdrop", "attn_config.attn_pdrop", "attention_dropout", "classifier_dropout",
          "summary_first_dropout", "attn_dropout_prob", "emb_dropout_prob", "embed_dropout",
          "output_dropout")},
    {"groups of experts; model.moe.node_limit says where they are nodes",
     KEYS("n_group", "topk_group", "topk_method", "num_expert_group")},
    {"no layer keeps a dense MLP", KEYS("intermediate_size")},
    {"the text model has a type of its own", KEYS("model_type")},
    {"latent attention has keys and values for all heads", KEYS("num_key_value_heads")},
    {"the size of a head follows from its parts", KEYS("head_dim", "qk_head_dim")},
    {"heads for classes, which training for text has not",
     KEYS("_num_labels", "summary_type", "summary_use_proj", "summary_activation",
          "summary_proj_to_labels", "id2label", "label2id", "num_labels", "is_decoder",
          "is_encoder_decoder")},
    {"not of the text model, which alone is simulated",
     KEYS("vision_config", "audio_config", "mm_tokens_per_image", "projector_hidden_act",
          "vision_feature_layer", "multimodal_projector_bias", "spatial_merge_size", "embd_layer",
          "img_processor", "audio_processor", "vision_lora", "speech_lora", "image_aspect_ratio",
          "image_grid_pinpoints", "freeze_mm_mlp_adapter", "tune_mm_mlp_adapter",
          "num_image_tokens", "is_composition", "vq_config")},
    {"the same as the longest sequence",
     KEYS("max_seq_len", "model_max_length", "max_position_embeddings", "initial_context_length",
          "n_ctx", "max_sequence_length", "seq_length")},
    {"no experts, whose layers it would name", KEYS("mlp_layer_types")},
    {"how attention is called",
     KEYS("attn_config.attn_impl", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
          "masked_softmax_fusion", "bias_dropout_fusion", "skip_bias_add", "skip_bias_add_qkv",
          "softmax_type", "use_logn_attn", "full_attn_mod", "interpolate_factor",
          "_attn_implementation", "attn_implementation", "_attn_implementation_autoset",
          "use_flash_attn")},
    {"as every model of the type has it",
     KEYS("use_embedding_sharing", "use_gated_activation", "use_parallel_block",
          "use_parallel_embedding", "order_of_interleaved_layers", "layer_switch",
          "post_layer_norm", "apply_residual_connection_post_layernorm", "fp32_residual_connection",
          "qk_norm", "post_norm", "attn_type_list", "attn_config.attn_type", "attn_config.qk_ln",
          "attn_config.prefix_lm", "attn_config.attn_uses_sequence_id", "moe_gate",
          "moe_use_aux_free", "learned_pos_emb", "attention_head_dim", "shared_intermediate_size",
          "intermediate_size_mlp", "ff_factor", "use_rmsnorm", "kv_channels",
          "moe_shared_expert_intermediate_size", "moe_router_enable_expert_bias")},
    {"the same in another of its names",
     KEYS("padded_vocab_size", "num_layers", "num_hidden_layers", "vocab_size")},
    {"heads of keys and values follow from multi_query", KEYS("num_kv_heads", "n_head_kv")},
    {"how keys and values would be shared between layers, which is off", KEYS("cla_share_factor")},
    {"how many tokens experts take, which model.moe.capacity_factor says",
     KEYS("moe_capacity", "moe_drop_tokens", "moe_random_routing_dropped_token")},
    {"prediction modules that the published checkpoints have not: model.mtp_layers says them",
     KEYS("use_mtp", "num_mtp_modules", "mtp_transformer_layers")},
    {"layers without rotary embedding are counted with its kernel",
     KEYS("no_rope_layers", "no_rope_layer_interval")},
    {"attention within chunks counts in full, which is the same for sequences no longer than them",
     KEYS("attention_chunk_size")},
    {"a window that is off, or of layers without a rhythm that model.window_skip_freq could say: "
     "attention counts in full",
     KEYS("sliding_window", "use_sliding_window", "max_window_layers", "layer_types",
          "sliding_window_pattern", "_sliding_window_pattern", "window_size", "attention_types",
          "attention_layers")},
};

/* Names that models for images make up, alike in their ends or beginnings. */
static const struct {
    const char *part;
    bool is_end;
    const char *why;
} ALIKE[] = {
    {"_token_id", true, NAMES_TOKENS},
    {"_token_ids", true, NAMES_TOKENS},
    {"_token_index", true, NAMES_TOKENS},
    {"mm_", false, "not of the text model, which alone is simulated"},
};

static const char *why_alike(const char *key) {
    for (size_t i = 0; i < sizeof ALIKE / sizeof ALIKE[0]; i++) {
        size_t length = strlen(ALIKE[i].part), own = strlen(key);
        const char *at = ALIKE[i].is_end && own > length ? key + own - length : key;
        if (strncmp(at, ALIKE[i].part, length) == 0) {
            return ALIKE[i].why;
        }
    }
    return NULL;
}

const char *ms_hf_ignored_why(const char *key) {
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (const char *const *name = ROWS[i].keys; *name != NULL; name++) {
            if (strcmp(*name, key) == 0) {
                return ROWS[i].why;
            }
        }
    }
    return why_alike(key);
}
