/* What is known of Megatron-LM's arguments: how many values each takes, and why those that no key
 * of a workload follows are left out.
 * Source: Megatron-LM, megatron.training.arguments and megatron.training.config, core 0.8 to 0.18;
 * torch.distributed.run and Slurm's srun for those of launchers. */
#include <stdio.h>
#include <string.h>

#include "study/import/megatron_parts.h"

/* Lists of names, without their dashes, a blank on each side of every one of them. */
typedef struct flag_list {
    ms_megatron_arity arity;
    const char *why; /* NULL: the translation asks for them */
    const char *names;
} flag_list;

static const char IS_DATA[] = "data are there when a step wants them";
static const char IS_LOG[] = "logs and profiles are left out";
static const char IS_CHECKPOINT[] = "checkpoints are left out";
static const char IS_RATE[] = "rates, decays and limits change no time";
static const char IS_NUMBERS[] = "the same kernels, with other numbers";
static const char IS_JOB[] = "how a job starts, ends and is watched is no part of a step";
static const char IS_ELSEWHERE[] = "for what is no training of a transformer";
static const char IS_SAME[] = "it is simulated so in any case";
static const char IS_WORKED_OUT[] = "worked out of the others";
static const char IS_GONE[] = "Megatron-LM ignores it, too";

static const flag_list LISTS[] = {
    /* ---- used ---- */
    {MS_TAKES_ONE, NULL,
     " num-layers encoder-num-layers hidden-size ffn-hidden-size num-attention-heads kv-channels "
     "num-query-groups attention-backend position-embedding-type make-vocab-size-divisible-by "
     "normalization mtp-num-layers vocab-size padded-vocab-size seq-length encoder-seq-length "
     "micro-batch-size global-batch-size step-batch-size-schedule window-size "
     "window-attn-skip-freq hidden-dropout "
     "attention-dropout max-position-embeddings optimizer world-size data-parallel-size "
     "virtual-pipeline-model-parallel-size "},
    {MS_TAKES_NONE, NULL,
     " group-query-attention use-rotary-position-embeddings swiglu quick-geglu "
     "untie-embeddings-and-output-weights multi-latent-attention disable-bias-linear "
     "use-flash-attn no-bias-dropout-fusion cross-entropy-loss-fusion "
     "no-gradient-accumulation-fusion deterministic-mode qk-layernorm add-qkv-bias "},
    {MS_TAKES_ONE, NULL,
     " tensor-model-parallel-size pipeline-model-parallel-size context-parallel-size "
     "expert-model-parallel-size expert-tensor-parallel-size pipeline-model-parallel-layout "
     "num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank "
     "decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers "
     "microbatch-group-size-per-virtual-pipeline-stage num-distributed-optimizer-instances "
     "data-parallel-sharding-strategy ddp-bucket-size transformer-impl cross-entropy-fusion-impl "},
    {MS_TAKES_NONE, NULL,
     " sequence-parallel use-distributed-optimizer overlap-grad-reduce overlap-param-gather "
     "tp-comm-overlap account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split "
     "no-overlap-p2p-communication use-tp-pp-dp-mapping use-megatron-fsdp use-custom-fsdp "
     "use-torch-fsdp2 torch-fsdp2-no-reshard-after-forward optimizer-cpu-offload "},
    {MS_TAKES_MANY, NULL, " cp-comm-type rampup-batch-size "},
    /* of Megatron-DeepSpeed (bigscience-workshop/Megatron-DeepSpeed and
     * deepspeedai/Megatron-DeepSpeed, megatron.arguments) */
    {MS_TAKES_ONE, NULL,
     " zero-stage pp-partition-method pad-vocab-size-to num-key-value-heads topk "
     "moe-expert-parallel-size "},
    {MS_TAKES_NONE, NULL, " deepspeed "},
    {MS_TAKES_NONE, IS_SAME,
     " deepspeed-activation-checkpointing abort-on-unmet-fused-kernel-constraints "
     "no-pipeline-parallel create-moe-param-group disable-moe-token-dropping "
     "contigious-checkpointing "},
    {MS_TAKES_ONE, IS_JOB, " kill-switch-path "},
    {MS_TAKES_ONE, IS_LOG, " codecarbon-dir timers-save "},
    {MS_TAKES_NONE, IS_LOG, " use-wandb "},
    {MS_TAKES_NONE, IS_CHECKPOINT, " universal-checkpoint no-load-lr-state "},
    {MS_TAKES_ONE, IS_RATE, " moe-loss-coeff "},
    {MS_TAKES_ONE, IS_NUMBERS, " moe-min-capacity noise-density "},
    {MS_TAKES_ONE, IS_ELSEWHERE, " moe-eval-capacity-factor "},
    {MS_TAKES_NONE, IS_DATA, " loss-on-targets-only reweight-loss-based-on-position-frequency "},
    {MS_TAKES_MANY, IS_DATA, " skip-train-iteration-range "},
    {MS_TAKES_ONE, IS_DATA,
     " train-weighted-split-paths-path valid-weighted-split-paths-path valid-num-workers "
     "tokenizer-name-or-path "},
    /* of Pai-Megatron-Patch (alibaba/Pai-Megatron-Patch, megatron_patch.arguments) */
    {MS_TAKES_ONE, NULL, " qk-nope-head-dim qk-rope-head-dim num-mtp-predictor "},
    {MS_TAKES_NONE, IS_WORKED_OUT, " use-multi-token-prediction enable-shared-expert "},
    {MS_TAKES_ONE, IS_WORKED_OUT, " num-shared-experts "},
    {MS_TAKES_ONE, IS_DATA,
     " extra-vocab-size max-padding-length patch-tokenizer-type train-mode dataset "},
    {MS_TAKES_ONE, NULL,
     " num-experts moe-layer-freq moe-ffn-hidden-size moe-shared-expert-intermediate-size "
     "moe-router-topk moe-expert-capacity-factor q-lora-rank kv-lora-rank qk-head-dim "
     "qk-pos-emb-head-dim v-head-dim "},
    {MS_TAKES_NONE, NULL,
     " moe-router-fusion moe-grouped-gemm moe-pad-expert-input-to-capacity "
     "moe-router-enable-expert-bias moe-shared-expert-overlap moe-shared-expert-gate "},
    {MS_TAKES_ONE, NULL,
     " recompute-granularity recompute-method recompute-num-layers "
     "activations-checkpoint-method activations-checkpoint-num-layers "},
    {MS_TAKES_NONE, NULL,
     " recompute-activations moe-layer-recompute checkpoint-activations "
     "fine-grained-activation-offloading "},
    {MS_TAKES_MANY, NULL, " recompute-modules offload-modules "},
    {MS_TAKES_ONE, NULL,
     " fp8-format fp8-recipe fp4-format num-layers-at-start-in-bf16 num-layers-at-end-in-bf16 "
     "main-grads-dtype main-params-dtype exp-avg-dtype exp-avg-sq-dtype "
     "megatron-fsdp-main-params-dtype megatron-fsdp-main-grads-dtype "},
    {MS_TAKES_NONE, NULL,
     " bf16 fp16 no-fp8-wgrad fp8-param-gather first-last-layers-bf16 tp-only-amax-red "
     "fp8-dot-product-attention fp8-multi-head-attention "
     "accumulate-allreduce-grads-in-fp32 grad-reduce-in-bf16 use-precision-aware-optimizer "},
    /* ---- left out ---- */
    {MS_TAKES_MANY, IS_DATA,
     " data-path train-data-path valid-data-path test-data-path tiktoken-special-tokens "},
    {MS_TAKES_ONE, IS_DATA,
     " split data-args-path per-split-data-args-path data-cache-path num-workers sample-rate "
     "mask-prob short-seq-prob num-dataset-builder-threads object-storage-cache-path "
     "mid-level-dataset-surplus dataloader-type vocab-file merge-file vocab-extra-ids "
     "tokenizer-type tokenizer-model tokenizer-metadata tiktoken-pattern "
     "tiktoken-num-special-tokens tokenizer-hf-include-special-tokens "
     "decoder-seq-length retriever-seq-length sft-tokenizer-prompt-format "
     "tokenizer-prompt-format tokenizer-sentencepiece-legacy mock-data-config data-impl "},
    {MS_TAKES_NONE, IS_DATA,
     " mock-data no-mmap-bin-files reset-position-ids reset-attention-mask eod-mask-loss "
     "no-create-attention-mask-in-dataloader allow-ambiguous-pad-tokens legacy-tokenizer "
     "trust-remote-code mmap-warmup sft calculate-per-token-loss dataloader-fast-cache-load "
     "dataloader-defer-npy-index-mmap fim-data no-data-sharding "},
    {MS_TAKES_MANY, IS_LOG, " profile-ranks "},
    {MS_TAKES_ONE, IS_LOG,
     " log-interval timing-log-level timing-log-option tensorboard-dir tensorboard-log-interval "
     "tensorboard-queue-size wandb-project wandb-entity wandb-exp-name wandb-save-dir "
     "logging-level profile-step-start profile-step-end memory-snapshot-path one-logger-project "
     "one-logger-run-name app-tag-run-name app-tag-run-version config-logger-dir "
     "straggler-ctrlr-port straggler-minmax-count log-loss-scale-to-tensorboard "},
    {MS_TAKES_NONE, IS_LOG,
     " log-params-norm log-num-zeros-in-grad log-throughput log-progress log-energy "
     "no-barrier-with-level-1-timing log-timers-to-tensorboard no-log-loss-scale-to-tensorboard "
     "log-validation-ppl-to-tensorboard log-memory-to-tensorboard log-world-size-to-tensorboard "
     "log-batch-size-to-tensorboard no-log-learnig-rate-to-tensorboard log-straggler profile "
     "log-device-memory-used log-max-attention-logit moe-per-layer-logging one-logger-async "
     "use-pytorch-profiler record-memory-history no-one-logger disable-straggler-on-startup "
     "log-memory-interval log-params-std log-optimizer-in-skipped-iteration "},
    {MS_TAKES_ONE, IS_CHECKPOINT,
     " save load save-interval persistent-save-interval save-retain-interval ckpt-step ckpt-format "
     "ckpt-convert-format ckpt-convert-save dist-ckpt-format dist-ckpt-strictness "
     "non-persistent-save-interval non-persistent-ckpt-type non-persistent-global-ckpt-dir "
     "non-persistent-local-ckpt-dir non-persistent-local-ckpt-algo pretrained-checkpoint "
     "replication-jump replication-factor moe-upcycling-granularity async-ckpt-cpu-priority "
     "ckpt-fully-parallel-load-exchange-algo "},
    {MS_TAKES_NONE, IS_CHECKPOINT,
     " no-save-optim no-save-rng no-load-optim no-load-rng finetune use-checkpoint-args "
     "use-mp-args-from-checkpoint-args exit-on-missing-checkpoint use-dist-ckpt "
     "use-persistent-ckpt-worker auto-detect-ckpt-format ckpt-fully-parallel-save "
     "no-ckpt-fully-parallel-save async-save ckpt-fully-parallel-load "
     "ckpt-assume-constant-structure load-main-params-from-ckpt no-strict-fsdp-dtensor-load "
     "no-use-tokenizer-model-from-checkpoint-args ckpt-convert-update-legacy-dist-opt-format "
     "dist-ckpt-save-pre-mcore-014 dist-ckpt-optim-fully-reshardable "
     "distrib-optim-fully-reshardable-mem-efficient replication moe-use-upcycling "
     "no-initialization perform-initialization save-dgrads save-wgrads "},
    {MS_TAKES_ONE, IS_RATE,
     " lr min-lr lr-decay-style lr-wsd-decay-style lr-decay-iters lr-decay-samples "
     "lr-wsd-decay-samples lr-wsd-decay-iters lr-warmup-fraction lr-warmup-iters "
     "lr-warmup-samples lr-warmup-init warmup decoupled-lr decoupled-min-lr weight-decay "
     "start-weight-decay end-weight-decay weight-decay-incr-style clip-grad adam-beta1 "
     "adam-beta2 adam-eps sgd-momentum loss-scale initial-loss-scale min-loss-scale "
     "loss-scale-window hysteresis muon-momentum muon-extra-scale-factor head-lr-mult "
     "mtp-loss-scaling-factor moe-z-loss-coeff moe-router-bias-update-rate "
     "moe-router-topk-scaling-factor train-iters train-samples train-tokens "},
    {MS_TAKES_MANY, IS_RATE, " moe-aux-loss-coeff "},
    {MS_TAKES_NONE, IS_RATE,
     " override-opt_param-scheduler override-opt-param-scheduler "
     "use-checkpoint-opt_param-scheduler use-checkpoint-opt-param-scheduler "
     "no-weight-decay-cond-type apply-wd-to-qk-layernorm decrease-batch-size-if-needed "},
    {MS_TAKES_ONE, IS_NUMBERS,
     " seed init-method-std embedding-init-method-std norm-epsilon layernorm-epsilon rotary-base "
     "rotary-percent rotary-seq-len-interpolation-factor rope-scaling-factor "
     "rotary-scaling-factor mscale mscale-all-dim rope-type beta-fast beta-slow "
     "original-max-position-embeddings moe-router-score-function moe-token-drop-policy "
     "moe-input-jitter-eps fp8-margin fp8-interval fp8-amax-history-len "
     "fp8-amax-compute-algo softmax-type activation-func-clamp-value glu-linear-offset "
     "fp8-quantizer-factory fp4-recipe fp4-quantizer-factory muon-scale-mode "
     "attention-softmax-denominator-offset "},
    {MS_TAKES_NONE, IS_NUMBERS,
     " apply-layernorm-1p apply-residual-connection-post-layernorm openai-gelu "
     "rotary-interleaved use-rope-scaling init-method-xavier-uniform data-parallel-random-init "
     "moe-router-pre-softmax moe-apply-probs-on-input squared-relu attention-softmax-in-fp32 "
     "apply-query-key-layer-scaling onnx-safe moe-router-force-load-balancing "
     "disable-bf16-reduced-precision-matmul no-rope-freq te-rng-tracker "
     "inference-rng-tracker mtp-use-repeated-layer use-cpu-initialization "},
    {MS_TAKES_MANY, IS_NUMBERS, " moe-router-load-balancing-type "},
    {MS_TAKES_MANY, IS_JOB, " iterations-to-skip high-priority-stream-groups "},
    {MS_TAKES_ONE, IS_JOB,
     " exit-interval exit-duration-in-mins distributed-backend distributed-timeout-minutes "
     "distributed-timeout-seconds-after-init local-rank rank result-rejected-tracker-filename "
     "error-injection-rate error-injection-type rerun-mode adlr-autoresume-interval "
     "manual-gc-interval train-sync-interval check-weight-hash-across-dp-replicas-interval "
     "nccl-communicator-config-path tp-comm-bootstrap-backend eval-iters eval-interval "
     "empty-unused-memory-level yaml-cfg lazy-mpu-init pipeline-model-parallel-comm-backend "
     "eval-micro-batch-size eval-global-batch-size phase-transition-iterations "
     "inprocess-max-iterations inprocess-granularity inprocess-active-world-size "
     "inprocess-monitor-thread-interval inprocess-monitor-process-interval "
     "inprocess-progress-watchdog-interval inprocess-heartbeat-interval inprocess-soft-timeout "
     "inprocess-hard-timeout inprocess-heartbeat-timeout inprocess-barrier-timeout "
     "inprocess-completion-timeout inprocess-last-call-wait inprocess-termination-grace-time "},
    {MS_TAKES_NONE, IS_JOB,
     " exit-signal-handler exit-signal-handler-for-training adlr-autoresume skip-train test-mode "
     "full-validation multiple-validation-sets manual-gc no-manual-gc-eval inprocess-restart "
     "inprocess-empty-cuda-cache enable-ft-package calc-ft-timeouts run-workload-inspector-server "
     "disable-gloo-process-groups use-gloo-process-groups enable-experimental disable-msc "
     "check-for-spiky-loss check-for-large-grads no-check-for-nan-in-loss-and-grad "
     "init-model-with-meta-device disable-jit-fuser use-te "},
    {MS_TAKES_NONE, IS_SAME,
     " moe-permute-fusion no-align-grad-reduce no-align-param-gather "
     "overlap-p2p-communication overlap-p2p-communication-warmup-flush "
     "disable-symmetric-registration "},
    {MS_TAKES_ONE, IS_WORKED_OUT,
     " transformer-pipeline-model-parallel-size consumed-train-samples consumed-valid-samples "
     "skipped-train-samples params-dtype variable-seq-lengths iteration params-dtype "
     "phase-transition-samples total-model-size curr-iteration "},
    {MS_TAKES_NONE, IS_GONE,
     " use-mcore-models no-async-tensor-model-parallel-allreduce "
     "no-scatter-gather-tensors-in-pipeline no-position-embedding "
     "no-contiguous-buffers-in-local-ddp "},
    {MS_TAKES_ONE, IS_GONE, " DDP-impl "},
    {MS_TAKES_ONE, IS_ELSEWHERE,
     " retro-project-dir retro-cyclic-train-iters retro-encoder-layers "
     "retro-encoder-hidden-dropout retro-encoder-attention-dropout retro-num-neighbors "
     "retro-num-retrieved-chunks retro-attention-gate ict-head-size biencoder-projection-dim "
     "ict-load bert-load titles-data-path query-in-block-prob evidence-data-path "
     "block-data-path embedding-path indexer-batch-size indexer-log-interval num-classes img-h "
     "img-w num-channels patch-dim classes-fraction data-per-class-fraction "
     "vision-pretraining-type vision-backbone-type swin-backbone-type mask-type mask-factor "
     "iter-per-epoch dino-local-img-size dino-local-crops-number dino-head-hidden-size "
     "dino-bottleneck-size dino-freeze-last-layer dino-warmup-teacher-temp dino-teacher-temp "
     "dino-warmup-teacher-temp-epochs relative-attention-num-buckets "
     "relative-attention-max-distance inference-batch-times-seqlen-threshold max-tokens-to-oom "
     "bert-embedder-type inference-max-requests inference-max-seq-length "
     "inference-max-batch-size symmetric-ar-type mlp-chunks-for-prefill cuda-graph-warmup-steps "
     "mamba-state-dim mamba-head-dim mamba-num-groups mamba-num-heads "},
    {MS_TAKES_NONE, IS_ELSEWHERE,
     " retro-no-verify-neighbor-count biencoder-shared-query-context-model use-one-sent-docs "
     "retriever-score-scaling vision-pretraining dino-norm-last-layer output-bert-embeddings "
     "flash-decode use-legacy-static-engine inference-dynamic-batching decode-only-cuda-graphs "
     "nccl-all-reduce-for-prefill disable-chunked-prefill cache-mla-latents "
     "disable-mamba-mem-eff-path bert-no-binary-head moe-pad-experts-for-cuda-graph-inference "},
};

/* What a step would show, and no key says. */
static const struct {
    ms_megatron_arity arity;
    const char *name, *why;
} DIFFERENT[] = {
    {MS_TAKES_NONE, "qk-l2-norm", "queries and keys are not normalised"},
    {MS_TAKES_ONE, "ds-sequence-parallel-size", "no axis is DeepSpeed's sequence parallelism"},
    {MS_TAKES_NONE, "cpu-optimizer", "the optimizer stays on the GPU"},
    {MS_TAKES_NONE, "memory-centric-tiled-linear", "products are whole"},
    {MS_TAKES_NONE, "random-ltd", "all layers see all tokens"},
    {MS_TAKES_NONE, "curriculum-learning", "sequences have their full length"},
    {MS_TAKES_ONE, "mlp-type", "no dense MLP stands beside the experts"},
    {MS_TAKES_ONE, "moe-train-capacity-factor", "experts take what comes"},
    {MS_TAKES_ONE, "glu-activation", "the MLP has two matrices"},
    {MS_TAKES_ONE, "attention-sink-k", "attention has no sinks"},
    {MS_TAKES_NONE, "fused-padded-mla-attention", "latent attention's kernel is not padded"},
    {MS_TAKES_NONE, "use-fast-rms-layernorm", "norms are Transformer Engine's"},
    {MS_TAKES_NONE, "use-fast-cross-entropy-loss", "the loss is Megatron-LM's"},
    {MS_TAKES_ONE, "custom-pipeline-layers", "see --pipeline-model-parallel-layout"},
    {MS_TAKES_ONE, "moe-flex-dispatcher-num-sms", "all-to-alls hold no SMs"},
    {MS_TAKES_MANY, "hierarchical-context-parallel-sizes", "context parallelism has one level"},
    {MS_TAKES_NONE, "no-masked-softmax-fusion", "the softmax is fused"},
    {MS_TAKES_NONE, "no-bias-gelu-fusion", "bias and activation are fused"},
    {MS_TAKES_NONE, "no-bias-swiglu-fusion", "bias and activation are fused"},
    {MS_TAKES_NONE, "no-rope-fusion", "the rotary embedding is fused"},
    {MS_TAKES_NONE, "no-persist-layer-norm", "norms are the persistent kernels"},
    {MS_TAKES_NONE, "use-te-activation-func", "the activation is Megatron-LM's kernel"},
    {MS_TAKES_NONE, "use-fused-weighted-squared-relu", "the activation is not fused with weights"},
    {MS_TAKES_NONE, "fp32-residual-connection", "residuals are in the parameters' type"},
    {MS_TAKES_NONE, "fp16-lm-cross-entropy", "the loss is in fp32"},
    {MS_TAKES_NONE, "distribute-saved-activations", "kept layer inputs are whole on each tp rank"},
    {MS_TAKES_ONE, "cpu-offloading-num-layers", "no whole layer's activations go to the host"},
    {MS_TAKES_NONE, "no-clone-scatter-output-in-embedding", "the embedding's output is a copy"},
    {MS_TAKES_ONE, "tp-comm-overlap-cfg", "products are cut as by default"},
    {MS_TAKES_NONE, "disable-tp-comm-overlap-ag", "gathers run beside products, too"},
    {MS_TAKES_NONE, "disable-tp-comm-overlap-rs", "reductions run beside products, too"},
    {MS_TAKES_NONE, "disable-tp-comm-split-ag", "gathers run beside products, too"},
    {MS_TAKES_NONE, "disable-tp-comm-split-rs", "reductions run beside products, too"},
    {MS_TAKES_NONE, "tp-comm-overlap-rs-dgrad", "that reduction runs beside the weight gradient"},
    {MS_TAKES_NONE, "disable-tp-comm-bulk-dgrad", "gathers run beside input gradients"},
    {MS_TAKES_NONE, "disable-tp-comm-bulk-wgrad", "reductions run beside weight gradients"},
    {MS_TAKES_ONE, "optimizer-offload-fraction", "an offloaded optimizer is there as a whole"},
    {MS_TAKES_NONE, "use-torch-optimizer-for-cpu-offload", "the host's update is bound by bytes"},
    {MS_TAKES_NONE, "overlap-cpu-optimizer-d2h-h2d", "the host's link and update take turns"},
    {MS_TAKES_NONE, "no-pin-cpu-grads", "the host's memory is pinned"},
    {MS_TAKES_NONE, "no-pin-cpu-params", "the host's memory is pinned"},
    {MS_TAKES_ONE, "muon-num-ns-steps", "an update is bound by bytes"},
    {MS_TAKES_ONE, "muon-tp-mode", "an update is bound by bytes"},
    {MS_TAKES_ONE, "muon-fp32-matmul-prec", "an update is bound by bytes"},
    {MS_TAKES_NONE, "muon-use-nesterov", "an update is bound by bytes"},
    {MS_TAKES_NONE, "muon-no-split-qkv", "an update is bound by bytes"},
    {MS_TAKES_NONE, "use-legacy-models", "the models are Megatron Core's"},
    {MS_TAKES_NONE, "defer-embedding-wgrad-compute", "no weight gradient is put off"},
    {MS_TAKES_ONE, "wgrad-deferral-limit", "no weight gradient is put off"},
    {MS_TAKES_ONE, "ddp-num-buckets",
     "buckets have the elements of --ddp-bucket-size, or Megatron Core's own number"},
    {MS_TAKES_NONE, "ddp-pad-buckets-for-high-nccl-busbw", "buckets are not padded"},
    {MS_TAKES_NONE, "ddp-reduce-scatter-with-fp32-accumulation", "gradients are sent as they are"},
    {MS_TAKES_NONE, "ddp-average-in-collective", "kernels of their own scale gradients"},
    {MS_TAKES_NONE, "no-gradient-reduce-div-fusion", "kernels of their own scale gradients"},
    {MS_TAKES_NONE, "overlap-param-gather-with-optimizer-step",
     "parameters are gathered after the update"},
    {MS_TAKES_NONE, "use-ring-exchange-p2p", "messages are NCCL's"},
    {MS_TAKES_NONE, "use-nccl-ub", "collectives copy through their own buffers"},
    {MS_TAKES_NONE, "use-sharp", "the library chooses algorithms; see collectives.algorithms"},
    {MS_TAKES_ONE, "sharp-enabled-group", "the library chooses algorithms"},
    {MS_TAKES_NONE, "fsdp-double-buffer", "gathered units are not buffered twice"},
    {MS_TAKES_ONE, "suggested-communication-unit-size", "units are layers"},
    {MS_TAKES_NONE, "keep-fp8-transpose-cache", "transposed weights are made anew"},
    {MS_TAKES_NONE, "enable-full-sharding-in-hsdp", "state is sharded as without"},
    {MS_TAKES_ONE, "outer-dp-sharding-strategy", "state is sharded in one level"},
    {MS_TAKES_ONE, "megatron-fsdp-grad-comm-dtype", "gradients are sent as they are accumulated"},
    {MS_TAKES_NONE, "reuse-grad-buf-for-mxfp8-param-ag", "gathered parameters have a buffer"},
    {MS_TAKES_NONE, "fp4-param-gather", "parameters are gathered in their own type"},
    {MS_TAKES_ONE, "moe-token-dispatcher-type", NULL},   /* by its value */
    {MS_TAKES_ONE, "moe-flex-dispatcher-backend", NULL}, /* by its value */
    {MS_TAKES_NONE, "moe-enable-deepep", "tokens go by plain all-to-alls"},
    {MS_TAKES_ONE, "moe-deepep-num-sms", "all-to-alls hold no SMs"},
    {MS_TAKES_ONE, "moe-hybridep-num-sms", "all-to-alls hold no SMs"},
    {MS_TAKES_NONE, "overlap-moe-expert-parallel-comm",
     "no microbatch computes beside another one's all-to-alls"},
    {MS_TAKES_NONE, "delay-wgrad-compute", "no weight gradient is put off"},
    {MS_TAKES_NONE, "moe-use-legacy-grouped-gemm", "grouped products are Transformer Engine's"},
    {MS_TAKES_NONE, "moe-extended-tp", "see --expert-tensor-parallel-size"},
    {MS_TAKES_ONE, "moe-router-dtype", "the router works in the parameters' type"},
    {MS_TAKES_ONE, "moe-router-num-groups", "all experts of a token may lie anywhere"},
    {MS_TAKES_ONE, "moe-router-group-topk", "all experts of a token may lie anywhere"},
    {MS_TAKES_NONE, "moe-router-padding-for-fp8", "no tokens are padded"},
    {MS_TAKES_NONE, "moe-router-padding-for-quantization", "no tokens are padded"},
    {MS_TAKES_NONE, "enable-cuda-graph", "CUDA graphs hold no memory of their own"},
    {MS_TAKES_NONE, "external-cuda-graph", "CUDA graphs hold no memory of their own"},
    {MS_TAKES_ONE, "cuda-graph-impl", "CUDA graphs hold no memory of their own"},
    {MS_TAKES_MANY, "cuda-graph-scope", "CUDA graphs hold no memory of their own"},
    {MS_TAKES_MANY, "cuda-graph-modules", "CUDA graphs hold no memory of their own"},
    {MS_TAKES_MANY, "mrope-section", "positions are rotated as in one dimension"},
    {MS_TAKES_ONE, "decoder-num-layers", "the model is a decoder alone"},
    {MS_TAKES_ONE, "heterogeneous-layers-config-path", "all layers are alike"},
    {MS_TAKES_ONE, "heterogeneous-layers-config-encoded-json", "all layers are alike"},
    {MS_TAKES_NONE, "retro-add-retriever", "the model is a plain transformer"},
    {MS_TAKES_NONE, "perform-rl-step", "the step is one of pre-training"},
    {MS_TAKES_NONE, "is-hybrid-model", "the model is a plain transformer"},
    {MS_TAKES_ONE, "hybrid-attention-ratio", "the model is a plain transformer"},
    {MS_TAKES_ONE, "hybrid-mlp-ratio", "the model is a plain transformer"},
    {MS_TAKES_ONE, "hybrid-override-pattern", "the model is a plain transformer"},
    {MS_TAKES_ONE, "hybrid-layer-pattern", "the model is a plain transformer"},
    {MS_TAKES_MANY, "spec", "the model is a plain transformer"},
    {MS_TAKES_NONE, "embed-layernorm", "no norm behind the embedding"},
    {MS_TAKES_ONE, "deepspeed_config", "of DeepSpeed's own file nothing is read here"},
    {MS_TAKES_ONE, "deepspeed-config", "of DeepSpeed's own file nothing is read here"},
    {MS_TAKES_NONE, "partition-activations", "kept activations are not shared by tp ranks"},
    {MS_TAKES_NONE, "checkpoint-in-cpu", "kept activations stay on the GPU"},
    {MS_TAKES_ONE, "kitchen-config-file", "products multiply as --fp8-format says"},
    {MS_TAKES_ONE, "kitchen-recipe-number", "products multiply as --fp8-format says"},
};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

enum { NAME_MAX_B = 80 };

/* A name among others, each with a blank around it; its place, NULL: it is not there. */
static const char *find_word(const char *names, const char *name) {
    char word[NAME_MAX_B + 3];
    if (name[0] == '\0' || strlen(name) > NAME_MAX_B || strchr(name, ' ') != NULL) {
        return NULL;
    }
    snprintf(word, sizeof word, " %s ", name);
    return strstr(names, word);
}

/* Other software's names for arguments of Megatron-LM. */
static const struct {
    const char *name, *usual;
} OTHERS[] = {
    {"--qk-nope-head-dim", "--qk-head-dim"},
    {"--qk-rope-head-dim", "--qk-pos-emb-head-dim"},
    {"--num-mtp-predictor", "--mtp-num-layers"},
    {"--topk", "--moe-router-topk"},
    {"--moe-expert-parallel-size", "--expert-model-parallel-size"},
};

bool ms_megatron_is_called(const char *name, const char *usual) {
    bool is_it = strcmp(name, usual) == 0;
    for (size_t i = 0; i < COUNT_OF(OTHERS) && !is_it; i++) {
        is_it = strcmp(OTHERS[i].usual, usual) == 0 && strcmp(OTHERS[i].name, name) == 0;
    }
    return is_it;
}

bool ms_megatron_find_flag(const char *name, ms_megatron_flag *flag_out) {
    if (strncmp(name, "--", 2) != 0) {
        return false;
    }
    size_t length = strlen(name), off = strlen(MS_MEGATRON_OFF);
    if (length > off && strcmp(name + length - off, MS_MEGATRON_OFF) == 0) {
        *flag_out = (ms_megatron_flag){.arity = MS_TAKES_NONE, .name = name, .why = "it is off"};
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
        if (find_word(LISTS[i].names, name + 2) != NULL) {
            *flag_out = (ms_megatron_flag){.arity = LISTS[i].arity,
                                           .is_used = LISTS[i].why == NULL,
                                           .name = name,
                                           .why = LISTS[i].why};
            return true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(DIFFERENT); i++) {
        if (strcmp(DIFFERENT[i].name, name + 2) == 0) {
            *flag_out = (ms_megatron_flag){.arity = DIFFERENT[i].arity,
                                           .is_different = true,
                                           .name = name,
                                           .why = DIFFERENT[i].why};
            return true;
        }
    }
    return false;
}
