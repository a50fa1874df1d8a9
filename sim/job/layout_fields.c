/* The tables of a workload's keys that say how a model is laid out over the axes: tensor_parallel,
 * context_parallel, data_parallel, pipeline and memory. Rows as in fields.c. */
#include "job/spec_text.h"

#define AT(member) offsetof(ms_spec_text, spec.member)

static const char *const BUFFERS[] = {
    "grouped_products",      "gather",
    "weight_gradients",      "scores",
    "last_gradients",        "main_gradients",
    "prefetched_parameters", NULL}; /* bits as ms_framework_buffer */
static const char *const OFFLOADED[] = {"norms", "attention", "experts",
                                        NULL}; /* bits as ms_offload_part */

const ms_field MS_TENSOR_FIELDS[] = {
    MS_KEY("sequence",
           "sequence parallelism: norms and dropout on 1/tp of the tokens, all-reduces become "
           "reduce-scatters and all-gathers",
           BOOL, AT(choices.has_sequence_parallel), .fallback = "false"),
    MS_KEY("overlap",
           "what runs beside the products: nothing; backward collectives; pieces of products", ENUM,
           AT(choices.tp_overlap), .fallback = "none",
           .words = MS_WORDS("none", "bulk", "chunks", "ring")),
    MS_KEY("style", "sequence: dtensor copies what it gathers and reduces into order, and keeps it",
           ENUM, AT(choices.tp_style), .fallback = "megatron",
           .words = MS_WORDS("megatron", "dtensor")),
    MS_KEY("chunks", "pieces that overlap: chunks cuts a product into", INT, AT(choices.tp_chunks),
           .fallback = "4", MS_RANGE(2, 64)),
    MS_KEY("allow_slow", "accept more tp ranks than GPUs that share the fast links", BOOL,
           AT(allows_slow_tp), .fallback = "false"),
    {0},
};

const ms_field MS_CONTEXT_FIELDS[] = {
    MS_KEY("kind", "how ranks of a cp group see each other's keys and values", ENUM,
           AT(choices.cp_kind), .fallback = "ring",
           .words = MS_WORDS("ring", "all_gather", "all_to_all")),
    MS_KEY("overlap",
           "ring: a block travels beside the attention on the one before; default: true for it",
           SWITCH, AT(cp_overlap)),
    {0},
};

const ms_field MS_DATA_FIELDS[] = {
    MS_KEY("zero",
           "sharded over the replicas: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters "
           "too (FSDP)",
           INT, AT(choices.zero), .fallback = "0", MS_RANGE(0, 3)),
    MS_KEY("shard",
           "axes that state is sharded over, copies on the others (hybrid); default: all replicas",
           WORDS, AT(shard)),
    MS_KEY("copies", "equal sets of shards among the replicas", INT, AT(choices.state_copies),
           .fallback = "1", MS_RANGE(1, 1 << 24)),
    MS_KEY("keep_parameters",
           "zero 3: gather parameters once per step instead of before every pass", BOOL,
           AT(choices.keeps_parameters), .fallback = "false"),
    MS_KEY("gather_stages",
           "zero 3: gather the next so many whole stages of a rank's list, 0: layer by layer "
           "(default, where no schedule file says when)",
           INT, AT(gather_stages), MS_RANGE(0, 1024)),
    MS_KEY("reduce",
           "when a stage's gradients are reduced: after its last microbatch; zero 2 and 3: after "
           "every one (default without pp), or the last of each round (interleaved schedules)",
           ENUM, AT(reduce), .former = "reduce_every",
           .words = MS_WORDS("last", "every", "round")), /* as ms_reduce */
    MS_KEY("all_reduce",
           "zero 1: all-reduce gradients instead of scattering them to the shards' ranks", BOOL,
           AT(choices.all_reduces_gradients), .fallback = "false"),
    MS_KEY("overlap_reduce", "reduce gradients bucket by bucket beside the last backward pass",
           BOOL, AT(choices.has_reduce_overlap), .fallback = "false"),
    MS_KEY("overlap_gather", "gather parameters a layer ahead, beside the passes", BOOL,
           AT(choices.has_gather_overlap), .fallback = "false"),
    MS_KEY("units",
           "zero 2 and 3: what of a layer is copied around its gathers and reductions: nothing; "
           "gradients into a flat buffer (FSDP); parameters and gradients (FSDP2)",
           ENUM, AT(choices.units), .fallback = "in_place",
           .words = MS_WORDS("in_place", "flat", "parameters")), /* as ms_units */
    MS_KEY("bucketing",
           "what gradients are reduced together: of layers, or of weights, until they make a "
           "bucket; of weights that fit into one; of virtual stages; or as Megatron Core cuts them",
           ENUM, AT(choices.bucketing), .fallback = "layers",
           .words =
               MS_WORDS("layers", "weights", "capped", "stages", "megatron")), /* as ms_bucketing */
    MS_KEY("bucket",
           "smallest gradient bucket, of capped ones the largest; 0 B: one per layer, one per "
           "weight, or Megatron Core's 40 million elements or a million per replica",
           QUANTITY, AT(choices.bucket_B), .dimension = MS_DIM_BYTES, .fallback = "0 B",
           MS_RANGE(0, 1e15)),
    MS_KEY("update",
           "whether kernels of their own check and scale gradients before they are reduced, and "
           "copy the updated master copy to the working one; or each operation is a kernel",
           ENUM, AT(choices.update), .fallback = "fused",
           .words = MS_WORDS("fused", "separate", "operations")), /* as ms_update_kernels */
    MS_KEY("offload", "optimizer state and update on the host, over the GPU's host link", BOOL,
           AT(choices.is_offloaded), .fallback = "false"),
    {0},
};

const ms_field MS_PIPELINE_FIELDS[] = {
    MS_KEY("scatter_gather",
           "each tp rank sends 1/tp of a boundary tensor, the receiver gathers it over tp", BOOL,
           AT(choices.has_scatter_gather), .fallback = "false"),
    MS_KEY("communicator",
           "whose communicator messages between stages travel in, by which the library gives them "
           "channels: one of their two ranks, the pipeline's, or that of all ranks",
           ENUM, AT(algorithms.messages), .fallback = "pair",
           .words = MS_WORDS("pair", "pipeline", "world")), /* as ms_message_comm */
    {0},
};

const ms_field MS_MEMORY_FIELDS[] = {
    MS_KEY("allocator_overhead",
           "share of activations and working memory that the allocator loses on top", NUMBER,
           AT(choices.allocator_overhead), .fallback = "0", MS_RANGE(0, 10)),
    MS_KEY("libraries", "whose matrix products hold workspaces", ENUM,
           AT(choices.framework_memory.libraries), .fallback = "none",
           .words = MS_WORDS("none", "torch", "transformer_engine")),
    MS_KEY("cublas_workspace",
           "workspace of each handle of cuBLAS; 0 B: what PyTorch takes on the GPU", QUANTITY,
           AT(choices.framework_memory.cublas_B), .dimension = MS_DIM_BYTES, .fallback = "0 B",
           MS_RANGE(0, 1e12)),
    MS_KEY("buffers", "what the framework keeps from the first pass on", FLAGS,
           AT(choices.framework_memory.buffers), .words = BUFFERS),
    MS_KEY("offload", "what of a layer's activations waits on the host for its backward pass",
           FLAGS, AT(choices.offloaded), .words = OFFLOADED),
    {0},
};
