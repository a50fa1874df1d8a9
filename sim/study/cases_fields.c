/* The keys of a case, as its source's figures were written down. Those of no use here are known all
 * the same, so that a misspelt one is told. */
#include "study/cases_fields.h"

#define SYSTEM_AT(member)   offsetof(ms_case_system_text, member)
#define MODEL_AT(member)    offsetof(ms_case_model_text, member)
#define PARALLEL_AT(member) offsetof(ms_case_parallel_text, member)
#define ROW_AT(member)      offsetof(ms_case_text, member)

enum { ELEMENTS_MAX = 100000000, RANKS_MAX = 1 << 24 };
/* What platforms have at most, whose nodes and rates these take the place of. */
enum { NODE_MAX = 4096, RATE_MAX = 1000000 };

#define BOUNDED_FIELD(type_, key_, offset_, minimum_, maximum_, help_)                             \
    {                                                                                              \
        .key = (key_), .type = MS_FIELD_##type_, .offset = (offset_), .minimum = (minimum_),       \
        .maximum = (maximum_), .help = (help_)                                                     \
    }
#define COUNT_FIELD(key, offset, help)  BOUNDED_FIELD(INT, key, offset, 1, ELEMENTS_MAX, help)
#define NODE_FIELD(key, offset, help)   BOUNDED_FIELD(INT, key, offset, 1, NODE_MAX, help)
#define RANKS_FIELD(key, offset, help)  BOUNDED_FIELD(INT, key, offset, 1, RANKS_MAX, help)
#define SIZE_FIELD(key, offset, help)   BOUNDED_FIELD(INT, key, offset, 0, ELEMENTS_MAX, help)
#define RATE_FIELD(key, offset, help)   BOUNDED_FIELD(NUMBER, key, offset, 0, RATE_MAX, help)
#define NUMBER_FIELD(key, offset, help) BOUNDED_FIELD(NUMBER, key, offset, 0, 1e18, help)
#define FIELD(type_, key_, offset_, help_)                                                         \
    { .key = (key_), .type = MS_FIELD_##type_, .offset = (offset_), .help = (help_) }

const ms_field MS_CASE_SYSTEM_FIELDS[] = {
    FIELD(STRING, "gpu", SYSTEM_AT(system.gpu), "GPU type in the source's words"),
    FIELD(STRING, "network", SYSTEM_AT(system.network), "network in the source's words"),
    FIELD(NODE, "name", SYSTEM_AT(unread), "name of the cluster"),
    FIELD(NODE, "environment", SYSTEM_AT(unread), "which software"),
    COUNT_FIELD("nodes", SYSTEM_AT(nodes), "nodes"),
    NODE_FIELD("gpus_per_node", SYSTEM_AT(system.node_gpus), "GPUs of a node"),
    NODE_FIELD("nvlink_domain_gpus", SYSTEM_AT(system.nvlink_gpus), "GPUs that NVLink joins"),
    RATE_FIELD("nvlink_gb_s_per_dir", SYSTEM_AT(nvlink_gb_s), "NVLink of a GPU, GB/s one way"),
    FIELD(NODE, "nvlink_effective_gb_s_per_dir", SYSTEM_AT(unread), "what it reaches"),
    RATE_FIELD("nic_gbit_s_per_gpu", SYSTEM_AT(nic_gbit_s), "network of a GPU, Gbit/s one way"),
    {0},
};

const ms_field MS_CASE_MODEL_FIELDS[] = {
    FIELD(STRING, "type", MODEL_AT(model.type), "gpt, llama, moe_mla or moe"),
    FIELD(NODE, "name", MODEL_AT(unread), "name of the model"),
    FIELD(NODE, "params_published", MODEL_AT(unread), "parameters"),
    FIELD(NODE, "params_computed", MODEL_AT(unread), "parameters"),
    COUNT_FIELD("layers", MODEL_AT(model.layers), "transformer layers"),
    COUNT_FIELD("hidden", MODEL_AT(model.hidden), "hidden size"),
    COUNT_FIELD("heads", MODEL_AT(model.heads), "query heads"),
    COUNT_FIELD("kv_heads", MODEL_AT(model.kv_heads), "key and value heads"),
    COUNT_FIELD("head_dim", MODEL_AT(model.head_dim), "size of a head"),
    COUNT_FIELD("ffn", MODEL_AT(model.ffn), "inner size of the MLP"),
    COUNT_FIELD("ffn_mats", MODEL_AT(model.ffn_mats), "matrices of the MLP, 2 or 3"),
    COUNT_FIELD("vocab", MODEL_AT(model.vocab), "vocabulary"),
    COUNT_FIELD("seq_len", MODEL_AT(model.sequence), "tokens per sequence"),
    SIZE_FIELD("mtp_layers", MODEL_AT(model.mtp_layers), "prediction modules"),
    SIZE_FIELD("experts", MODEL_AT(model.experts.experts), "routed experts of a layer"),
    SIZE_FIELD("topk", MODEL_AT(model.experts.top_k), "experts of a token"),
    SIZE_FIELD("moe_ffn", MODEL_AT(model.experts.ffn), "inner size of an expert"),
    SIZE_FIELD("shared_experts", MODEL_AT(model.experts.shared_experts), "shared experts"),
    SIZE_FIELD("shared_ffn", MODEL_AT(model.experts.shared_ffn), "inner size of all of those"),
    SIZE_FIELD("dense_layers", MODEL_AT(model.experts.dense_layers), "dense layers at the front"),
    SIZE_FIELD("q_lora", MODEL_AT(model.experts.mla.q_rank), "latent of the queries"),
    SIZE_FIELD("kv_lora", MODEL_AT(model.experts.mla.kv_rank), "latent of keys and values"),
    SIZE_FIELD("qk_nope", MODEL_AT(model.experts.mla.qk_nope), "part of a key without position"),
    SIZE_FIELD("qk_rope", MODEL_AT(model.experts.mla.qk_rope), "part with rotary position"),
    SIZE_FIELD("v_dim", MODEL_AT(model.experts.mla.v_dim), "value of a head"),
    FIELD(BOOL, "alibi", MODEL_AT(model.traits.has_alibi), "attention biases, no embeddings"),
    FIELD(BOOL, "parallel_transformer_block", MODEL_AT(model.traits.has_parallel_block),
          "attention and MLP side by side"),
    FIELD(STRING, "sliding_window_attention", MODEL_AT(model.traits.window), "window of attention"),
    FIELD(SWITCH, "tied", MODEL_AT(model.traits.is_tied), "the head uses the embedding's weights"),
    FIELD(SWITCH, "bias", MODEL_AT(model.traits.has_bias), "biases in the linear layers"),
    FIELD(STRING, "norm", MODEL_AT(norm), "layer or rms"),
    FIELD(STRING, "positions", MODEL_AT(positions), "learned_absolute or rope"),
    {0},
};

const ms_field MS_CASE_PARALLEL_FIELDS[] = {
    RANKS_FIELD("tp", PARALLEL_AT(parallel.tp), "tensor-parallel ranks"),
    RANKS_FIELD("pp", PARALLEL_AT(parallel.pp), "pipeline ranks"),
    RANKS_FIELD("vpp", PARALLEL_AT(parallel.vpp), "virtual stages of a pipeline rank"),
    RANKS_FIELD("dp", PARALLEL_AT(parallel.dp), "replicas, expert-parallel ranks among them"),
    RANKS_FIELD("cp", PARALLEL_AT(parallel.cp), "context-parallel ranks"),
    RANKS_FIELD("ep", PARALLEL_AT(parallel.ep), "expert-parallel ranks"),
    RANKS_FIELD("etp", PARALLEL_AT(parallel.etp), "ranks that share an expert"),
    COUNT_FIELD("optimizer_instances", PARALLEL_AT(instances), "copies of sharded state"),
    FIELD(SWITCH, "sp", PARALLEL_AT(parallel.has_sequence_parallel), "sequence parallelism"),
    {.key = "zero",
     .type = MS_FIELD_INT,
     .offset = PARALLEL_AT(parallel.zero),
     .minimum = 0,
     .maximum = 3,
     .help = "what replicas share: 1 optimizer state, 2 gradients too, 3 parameters too"},
    FIELD(SWITCH, "reshard", PARALLEL_AT(parallel.reshards),
          "parameters go after the forward pass"),
    FIELD(WORDS, "order", PARALLEL_AT(parallel.order), "axes, outermost first"),
    FIELD(INTS, "stage_layers", PARALLEL_AT(parallel.stage_layers), "layers of every stage"),
    FIELD(STRING, "layout", PARALLEL_AT(parallel.layout), "Megatron's word for the stages"),
    {0},
};

const ms_field MS_CASE_FIELDS[] = {
    FIELD(STRING, "id", ROW_AT(row.id), "name of the case, its own among all files"),
    FIELD(STRING, "source", ROW_AT(row.source), "where it was published"),
    FIELD(NODE, "table", ROW_AT(unread), "where in the source"),
    FIELD(NODE, "url", ROW_AT(url), "address of the source"),
    FIELD(STRING, "provenance", ROW_AT(row.provenance),
          "how it was read, and when it was put there"),
    FIELD(NODE, "trust", ROW_AT(unread), "A+, A, B+ or B"),
    FIELD(STRING, "framework", ROW_AT(row.framework), "profile of its software"),
    FIELD(STRING, "group", ROW_AT(row.group), "cases that are scored together"),
    FIELD(BOOL, "core", ROW_AT(row.is_core), "of the recommended first set"),
    RANKS_FIELD("num_gpus", ROW_AT(row.gpus), "GPUs"),
    FIELD(NODE, "num_gpus_candidates", ROW_AT(unread), "how many there may have been"),
    FIELD(NODE, "system", ROW_AT(system), "where it ran"),
    FIELD(NODE, "model", ROW_AT(model), "what was trained"),
    FIELD(NODE, "parallel", ROW_AT(parallel), "how it was laid out"),
    FIELD(NODE, "schedule", ROW_AT(unread), "the source's word for the pipeline's order"),
    FIELD(STRING, "schedule_kind", ROW_AT(row.schedule.kind),
          "1f1b, interleaved, zbh1, zbh2, dualpipe or layer"),
    FIELD(NODE, "recompute", ROW_AT(recompute), "the source's word for it"),
    FIELD(STRING, "recompute_kind", ROW_AT(row.schedule.recompute),
          "none, full, selective, partial or unstated"),
    FIELD(STRING, "precision", ROW_AT(row.schedule.precision), "of products and gradients"),
    COUNT_FIELD("micro_batch", ROW_AT(row.schedule.micro_batch), "sequences per microbatch"),
    COUNT_FIELD("global_batch", ROW_AT(row.schedule.global_batch), "sequences per step"),
    COUNT_FIELD("num_microbatches", ROW_AT(row.schedule.microbatches), "per step and replica"),
    FIELD(INTS, "stage_layers", ROW_AT(stage_layers), "layers of every stage"),
    FIELD(NODE, "measured", ROW_AT(measured), "figures of the source, units in their names"),
    FIELD(NODE, "measured_other", ROW_AT(unread), "the same on other machines"),
    NUMBER_FIELD("score_step_time_s", ROW_AT(score_s), "step time to predict, in seconds"),
    NUMBER_FIELD("score_peak_alloc_bytes", ROW_AT(score_B), "peak memory to predict, in bytes"),
    FIELD(STRING, "notes", ROW_AT(row.notes), "what is assumed or missing"),
    FIELD(WORDS, "flags", ROW_AT(flags), "the same as words"),
    FIELD(WORDS, "args", ROW_AT(row.arguments), "arguments of the run"),
    FIELD(NODE, "other_versions", ROW_AT(unread), "the same with other software"),
    {0},
};
