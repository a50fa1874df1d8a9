/* What the files that import DeepSpeed's configuration share, and the words that its exporter
 * writes. */
#ifndef MS_DEEPSPEED_PARTS_H
#define MS_DEEPSPEED_PARTS_H

#include "meshsim/deepspeed.h"

/* What is known of a key that no key of a workload follows. */
typedef struct ms_deepspeed_key {
    const char *path;  /* dotted; a mapping stands for all that is in it; NULL: ends the list */
    const char *why;   /* it changes nothing, or: what is simulated in its place */
    bool is_different; /* a step would show it */
    bool is_switch;    /* of one that is different: only if it is not false, 0, 1, -1 or "none" */
} ms_deepspeed_key;

/* Find a key by its path, or that of the mapping around it; NULL: it is not known. */
const ms_deepspeed_key *ms_deepspeed_find_key(const char *path);

/* Whether a mapping is one of sections, each of whose keys is told of by itself. */
bool ms_deepspeed_is_section(const char *path);

/* Whether a translation may ask for a key. */
bool ms_deepspeed_is_asked(const char *path);

/* What an optimizer keeps of a parameter beside a master copy. */
typedef struct ms_deepspeed_optimizer {
    const char *type; /* in small letters; NULL: ends the list */
    int moments;      /* in fp32 each */
} ms_deepspeed_optimizer;
extern const ms_deepspeed_optimizer MS_DEEPSPEED_OPTIMIZERS[];

/* Paths that importer and exporter share. */
#define MS_DEEPSPEED_GLOBAL     "train_batch_size"
#define MS_DEEPSPEED_MICRO      "train_micro_batch_size_per_gpu"
#define MS_DEEPSPEED_STEPS      "gradient_accumulation_steps"
#define MS_DEEPSPEED_STAGE      "zero_optimization.stage"
#define MS_DEEPSPEED_OVERLAP    "zero_optimization.overlap_comm"
#define MS_DEEPSPEED_BUCKET     "zero_optimization.reduce_bucket_size"
#define MS_DEEPSPEED_SCATTER    "zero_optimization.reduce_scatter"
#define MS_DEEPSPEED_OFFLOAD    "zero_optimization.offload_optimizer.device"
#define MS_DEEPSPEED_BF16       "bf16.enabled"
#define MS_DEEPSPEED_FP16       "fp16.enabled"
#define MS_DEEPSPEED_MASTER     "bf16.bf16_master_weights_and_grads"
#define MS_DEEPSPEED_STATES     "bf16.bf16_optimizer_states"
#define MS_DEEPSPEED_GRADIENTS  "data_types.grad_accum_dtype"
#define MS_DEEPSPEED_OPTIMIZER  "optimizer.type"
#define MS_DEEPSPEED_TENSOR     "tensor_parallel.autotp_size"
#define MS_DEEPSPEED_SEQUENCE   "sequence_parallel_size"
#define MS_DEEPSPEED_PIPELINE   "pipeline.stages"
#define MS_DEEPSPEED_CHECKPOINT "pipeline.activation_checkpoint_interval"

/* Elements of a bucket where none are given. Source: deepspeed.runtime.zero.config. */
#define MS_DEEPSPEED_BUCKET_ELEMENTS 5e8

#endif
