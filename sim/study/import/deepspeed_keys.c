/* What is known of DeepSpeed's configuration that no key of a workload follows.
 * Source: deepspeedai/DeepSpeed, its page "DeepSpeed Configuration JSON"; deepspeed.runtime.config,
 * .constants, .zero.config, .zero.offload_config and .tensor_parallel.config. */
#include <stdio.h>
#include <string.h>

#include "study/import/deepspeed_parts.h"

const ms_deepspeed_optimizer MS_DEEPSPEED_OPTIMIZERS[] = {
    {"adamw", 2}, {"adam", 2},    {"lamb", 2},       {"fusedadam", 2},  {"deepspeedcpuadam", 2},
    {"lion", 1},  {"muon", 1},    {"adagrad", 1},    {"onebitadam", 2}, {"zerooneadam", 2},
    {"sgd", 1},   {"rmsprop", 1}, {"onebitlamb", 2}, {NULL, 0}};

/* Mappings whose keys are told of one by one. */
static const char SECTIONS[] =
    " zero_optimization zero_optimization.offload_optimizer zero_optimization.offload_param fp16 "
    "bf16 bfloat16 optimizer data_types tensor_parallel tensor_parallel.tp pipeline "
    "activation_checkpointing ";

/* Keys that a translation may ask for. */
static const char ASKED[] =
    " " MS_DEEPSPEED_GLOBAL " " MS_DEEPSPEED_MICRO " " MS_DEEPSPEED_STEPS " " MS_DEEPSPEED_STAGE
    " " MS_DEEPSPEED_OVERLAP " " MS_DEEPSPEED_BUCKET " " MS_DEEPSPEED_SCATTER
    " " MS_DEEPSPEED_OFFLOAD " " MS_DEEPSPEED_BF16 " " MS_DEEPSPEED_FP16 " " MS_DEEPSPEED_MASTER
    " " MS_DEEPSPEED_STATES " " MS_DEEPSPEED_GRADIENTS " " MS_DEEPSPEED_OPTIMIZER
    " " MS_DEEPSPEED_TENSOR " " MS_DEEPSPEED_SEQUENCE " " MS_DEEPSPEED_PIPELINE
    " " MS_DEEPSPEED_CHECKPOINT " zero_optimization.cpu_offload bfloat16.enabled "
    "fp16.fp16_master_weights_and_grads ";

static const char IS_RATE[] = "rates, decays and scales change no time";
static const char IS_LOG[] = "logs and profiles are left out";
static const char IS_CHECKPOINT[] = "checkpoints are left out";
static const char IS_DATA[] = "data are there when a step wants them";
static const char IS_CALLERS[] = "the model's code says which layers are repeated";
static const char IS_LIVE[] = "parameters are gathered a layer ahead and freed behind it";
static const char IS_HOST[] = "the host's side of an offloaded optimizer is bound by its link";

#define SAME(path_, why_)                                                                          \
    { .path = (path_), .why = (why_) }
#define OTHER(path_, why_)                                                                         \
    { .path = (path_), .why = (why_), .is_different = true, .is_switch = true }

static const ms_deepspeed_key KEYS[] = {
    SAME("optimizer.params", IS_RATE),
    SAME("optimizer.legacy_fusion", "an update is bound by bytes"),
    SAME("scheduler", IS_RATE),
    SAME("gradient_clipping", "the norm that clips is found in any case"),
    SAME("prescale_gradients", IS_RATE),
    SAME("gradient_predivide_factor", IS_RATE),
    OTHER("communication_data_type", "gradients are sent as they are accumulated"),
    SAME("seq_parallel_communication_data_type", "gradients are sent as they are accumulated"),
    SAME("seq_parallel_comm_data_type", "gradients are sent as they are accumulated"),
    OTHER("sparse_gradients", "gradients are dense"),
    OTHER("disable_allgather", "updated parameters are gathered"),
    SAME("fp16", IS_RATE),
    SAME("bf16.immediate_grad_update", "gradients are added behind each pass"),
    SAME("bf16.check_grad_overflow", "the norm that is found in any case tells"),
    SAME("bfloat16", IS_RATE),
    OTHER("amp", "products are in the type of parameters"),
    OTHER("torch_autocast", "products are in the type of parameters"),
    SAME("zero_allow_untested_optimizer", IS_RATE),
    SAME("zero_force_ds_cpu_optimizer", IS_HOST),
    /* ---- ZeRO ---- */
    SAME("zero_optimization.allgather_partitions", "shards are gathered by all-gathers"),
    SAME("zero_optimization.allgather_bucket_size", "shards are gathered layer by layer"),
    SAME("zero_optimization.contiguous_gradients", "gradients are copied into a bucket"),
    SAME("zero_optimization.use_multi_rank_bucket_allreduce", "shards are reduced together"),
    SAME("zero_optimization.load_from_fp32_weights", IS_CHECKPOINT),
    SAME("zero_optimization.elastic_checkpoint", IS_CHECKPOINT),
    SAME("zero_optimization.pipeline_loading_checkpoint", IS_CHECKPOINT),
    SAME("zero_optimization.sub_group_size", "an update is bound by bytes"),
    SAME("zero_optimization.compute_grad_norm", "the gradient's norm is found in any case"),
    SAME("zero_optimization.cpu_offload_use_pin_memory", "the host's memory is pinned"),
    SAME("zero_optimization.stage3_prefetch_bucket_size", IS_LIVE),
    SAME("zero_optimization.prefetch_bucket_size", IS_LIVE),
    SAME("zero_optimization.stage3_max_live_parameters", IS_LIVE),
    SAME("zero_optimization.max_live_parameters", IS_LIVE),
    SAME("zero_optimization.stage3_max_reuse_distance", IS_LIVE),
    SAME("zero_optimization.max_reuse_distance", IS_LIVE),
    SAME("zero_optimization.stage3_param_persistence_threshold", "small parameters are few"),
    SAME("zero_optimization.param_persistence_threshold", "small parameters are few"),
    SAME("zero_optimization.stage3_model_persistence_threshold", "small parameters are few"),
    SAME("zero_optimization.model_persistence_threshold", "small parameters are few"),
    SAME("zero_optimization.stage3_module_granularity_threshold", IS_LIVE),
    SAME("zero_optimization.module_granularity_threshold", IS_LIVE),
    SAME("zero_optimization.stage3_gather_16bit_weights_on_model_save", IS_CHECKPOINT),
    SAME("zero_optimization.stage3_gather_fp16_weights_on_model_save", IS_CHECKPOINT),
    SAME("zero_optimization.gather_16bit_weights_on_model_save", IS_CHECKPOINT),
    OTHER("zero_optimization.stage3_use_all_reduce_for_fetch_params",
          "parameters are gathered by all-gathers"),
    OTHER("zero_optimization.stage3_allgather_sequential", "a layer is gathered at once"),
    SAME("zero_optimization.stage3_partition_stream_chunk_size", "how a job starts is no step"),
    SAME("zero_optimization.ignore_unused_parameters", "all parameters are used"),
    OTHER("zero_optimization.legacy_stage1", "gradients are reduced to the shards' ranks"),
    SAME("zero_optimization.round_robin_gradients", IS_HOST),
    OTHER("zero_optimization.zero_hpz_partition_size",
          "parameters are gathered from all replicas in the backward pass, too"),
    OTHER("zero_optimization.zero_quantized_weights", "parameters are gathered in their own type"),
    OTHER("zero_optimization.zero_quantized_nontrainable_weights", "all parameters are trained"),
    OTHER("zero_optimization.zero_quantized_gradients", "gradients are reduced in their own type"),
    SAME("zero_optimization.zeropp_loco_param", IS_RATE),
    OTHER("zero_optimization.mics_shard_size", "state is sharded over all replicas"),
    OTHER("zero_optimization.mics_hierarchical_params_gather", "gathers have one level"),
    SAME("zero_optimization.memory_efficient_linear", "gathered weights are freed behind a pass"),
    SAME("zero_optimization.override_module_apply", "how a job starts is no step"),
    SAME("zero_optimization.log_trace_cache_warnings", IS_LOG),
    SAME("zero_optimization.enable_sanity_checks", IS_LOG),
    OTHER("zero_optimization.zenflow", "the whole gradient updates in every step"),
    SAME("zero_optimization.leaf_module", IS_LIVE),
    SAME("zero_optimization.parameter_alignment", "shards are equal"),
    SAME("zero_optimization.save_muon_momentum_buffer_in_memory", IS_HOST),
    SAME("zero_optimization.offload_optimizer", IS_HOST),
    OTHER("zero_optimization.offload_param.device", "parameters stay on the GPUs"),
    SAME("zero_optimization.offload_param", "parameters stay on the GPUs"),
    OTHER("zero_optimization.cpu_offload_param", "parameters stay on the GPUs"),
    /* ---- axes ---- */
    OTHER("tensor_parallel.tp_overlap_comm", "reductions of tp ranks stand behind products"),
    SAME("tensor_parallel", "how layers are cut follows from the model"),
    SAME("pipeline.partition", "stages have equal shares of the layers"),
    SAME("pipeline.seed_layers", "the same kernels, with other numbers"),
    SAME("pipeline.pipe_partitioned", "boundary tensors are those of a whole rank"),
    SAME("pipeline.grad_partitioned", "boundary tensors are those of a whole rank"),
    SAME("pipeline.use_reentrant", IS_CALLERS),
    SAME("use_data_before_expert_parallelism", "the model's code says which ranks have experts"),
    /* ---- activations ---- */
    OTHER("activation_checkpointing.cpu_checkpointing", "kept inputs of layers stay on the GPUs"),
    OTHER("activation_checkpointing.partition_activations",
          "kept inputs of layers are whole on each tp rank"),
    SAME("activation_checkpointing", IS_CALLERS),
    /* ---- all else ---- */
    OTHER("sparse_attention", "attention is dense"),
    OTHER("progressive_layer_drop", "all layers are trained"),
    OTHER("compression_training", "parameters are as they are"),
    OTHER("quantize_training", "parameters are as they are"),
    OTHER("eigenvalue", "no curvature is looked for"),
    OTHER("compile", "kernels are those of the profile; see model.kernels"),
    OTHER("graph_harvesting", "kernels are launched one by one"),
    OTHER("elasticity", "the batch is that of the other keys"),
    SAME("managed_gradient_accumulation", "gradients are applied behind the last microbatch"),
    SAME("autotuning", "how a job starts is no step"),
    SAME("hybrid_engine", "the step is one of training"),
    SAME("data_efficiency", IS_DATA),
    SAME("data_sampling", IS_DATA),
    SAME("curriculum_learning", IS_DATA),
    SAME("dataloader_drop_last", IS_DATA),
    SAME("vocabulary_size", "the model's config says it"),
    SAME("checkpoint", IS_CHECKPOINT),
    SAME("nebula", IS_CHECKPOINT),
    SAME("load_universal_checkpoint", IS_CHECKPOINT),
    SAME("use_node_local_storage", IS_CHECKPOINT),
    SAME("aio", IS_HOST),
    SAME("steps_per_print", IS_LOG),
    SAME("wall_clock_breakdown", IS_LOG),
    SAME("memory_breakdown", IS_LOG),
    SAME("dump_state", IS_LOG),
    SAME("log_level", IS_LOG),
    SAME("flops_profiler", IS_LOG),
    SAME("comms_logger", IS_LOG),
    SAME("comms_config", IS_LOG),
    SAME("monitor_config", IS_LOG),
    SAME("tensorboard", IS_LOG),
    SAME("wandb", IS_LOG),
    SAME("comet", IS_LOG),
    SAME("csv_monitor", IS_LOG),
    {.path = NULL}};

static const ms_deepspeed_key *find_exactly(const char *path, size_t length) {
    for (const ms_deepspeed_key *key = KEYS; key->path != NULL; key++) {
        if (strlen(key->path) == length && strncmp(key->path, path, length) == 0) {
            return key;
        }
    }
    return NULL;
}

const ms_deepspeed_key *ms_deepspeed_find_key(const char *path) {
    /* keys of ZeRO that nobody knows are not excused by its section, which has no row */
    for (size_t length = strlen(path); length > 0;) {
        const ms_deepspeed_key *key = find_exactly(path, length);
        if (key != NULL) {
            return key;
        }
        for (length--; length > 0 && path[length] != '.';) {
            length--;
        }
    }
    return NULL;
}

/* A path among others, each with a blank around it. */
static bool is_among(const char *paths, const char *path) {
    char word[96];
    int length = snprintf(word, sizeof word, " %s ", path);
    return length < (int)sizeof word && strchr(path, ' ') == NULL && strstr(paths, word) != NULL;
}

bool ms_deepspeed_is_section(const char *path) {
    return is_among(SECTIONS, path);
}

bool ms_deepspeed_is_asked(const char *path) {
    return is_among(ASKED, path);
}
