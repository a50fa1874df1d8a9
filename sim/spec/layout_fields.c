/* The keys that say how a model is laid out over the axes. */
#include "spec/text.h"

#define AT(member) offsetof(ms_spec_text, spec.member)

static const char *const BUFFERS[] = {
    "grouped_products",      "gather",
    "weight_gradients",      "scores",
    "last_gradients",        "main_gradients",
    "prefetched_parameters", NULL}; /* bits as ms_framework_buffer */
static const char *const OFFLOADED[] = {"norms", "attention", "experts",
                                        NULL}; /* bits as ms_offload_part */

const ms_field MS_TENSOR_FIELDS[] = {
    {.key = "sequence",
     .type = MS_FIELD_BOOL,
     .offset = AT(tensor.has_sequence_parallel),
     .fallback = "false",
     .help = "sequence parallelism: norms and dropout on 1/tp of the tokens, all-reduces become "
             "reduce-scatters and all-gathers"},
    {.key = "overlap",
     .type = MS_FIELD_ENUM,
     .offset = AT(tensor.overlap),
     .fallback = "none",
     .words = (const char *const[]){"none", "bulk", "chunks", "ring", NULL},
     .help = "what runs beside the products: nothing; backward collectives; pieces of products"},
    {.key = "style",
     .type = MS_FIELD_ENUM,
     .offset = AT(tensor.style),
     .fallback = "megatron",
     .words = (const char *const[]){"megatron", "dtensor", NULL},
     .help = "sequence: dtensor copies what it gathers and reduces into order, and keeps it"},
    {.key = "chunks",
     .type = MS_FIELD_INT,
     .offset = AT(tensor.chunks),
     .fallback = "4",
     .minimum = 2,
     .maximum = 64,
     .help = "pieces that overlap: chunks cuts a product into"},
    {.key = "allow_slow",
     .type = MS_FIELD_BOOL,
     .offset = AT(tensor.allows_slow),
     .fallback = "false",
     .help = "accept more tp ranks than GPUs that share the fast links"},
    {0},
};

const ms_field MS_CONTEXT_FIELDS[] = {
    {.key = "kind",
     .type = MS_FIELD_ENUM,
     .offset = AT(context.kind),
     .fallback = "ring",
     .words = (const char *const[]){"ring", "all_gather", "all_to_all", NULL},
     .help = "how ranks of a cp group see each other's keys and values"},
    {.key = "overlap",
     .type = MS_FIELD_SWITCH,
     .offset = AT(context.overlap),
     .help = "ring: a block travels beside the attention on the one before; default: true for it"},
    {0},
};

const ms_field MS_DATA_FIELDS[] = {
    {.key = "zero",
     .type = MS_FIELD_INT,
     .offset = AT(data.zero),
     .fallback = "0",
     .minimum = 0,
     .maximum = 3,
     .help = "sharded over the replicas: 0 nothing, 1 optimizer state, 2 gradients too, 3 "
             "parameters too (FSDP)"},
    {.key = "shard",
     .type = MS_FIELD_WORDS,
     .offset = AT(data.shard),
     .help = "axes that state is sharded over, copies on the others (hybrid); default: all "
             "replicas"},
    {.key = "copies",
     .type = MS_FIELD_INT,
     .offset = AT(data.copies),
     .fallback = "1",
     .minimum = 1,
     .maximum = 1 << 24,
     .help = "equal sets of shards among the replicas"},
    {.key = "keep_parameters",
     .type = MS_FIELD_BOOL,
     .offset = AT(data.keeps_parameters),
     .fallback = "false",
     .help = "zero 3: gather parameters once per step instead of before every pass"},
    {.key = "gather_stages",
     .type = MS_FIELD_INT,
     .offset = AT(data.gather_stages),
     .minimum = 0,
     .maximum = 1024,
     .help = "zero 3: gather the next so many whole stages of a rank's list, 0: layer by layer "
             "(default, "
             "where no schedule file says when)"},
    {.key = "reduce",
     .former = "reduce_every",
     .type = MS_FIELD_ENUM,
     .offset = AT(data.reduce),
     .words = (const char *const[]){"last", "every", "round", NULL}, /* as ms_reduce */
     .help = "when a stage's gradients are reduced: after its last microbatch; zero 2 and 3: after "
             "every one (default without pp), or the last of each round (interleaved schedules)"},
    {.key = "all_reduce",
     .type = MS_FIELD_BOOL,
     .offset = AT(data.all_reduces),
     .fallback = "false",
     .help = "zero 1: all-reduce gradients instead of scattering them to the shards' ranks"},
    {.key = "overlap_reduce",
     .type = MS_FIELD_BOOL,
     .offset = AT(data.has_reduce_overlap),
     .fallback = "false",
     .help = "reduce gradients bucket by bucket beside the last backward pass"},
    {.key = "overlap_gather",
     .type = MS_FIELD_BOOL,
     .offset = AT(data.has_gather_overlap),
     .fallback = "false",
     .help = "gather parameters a layer ahead, beside the passes"},
    {.key = "units",
     .type = MS_FIELD_ENUM,
     .offset = AT(data.units),
     .fallback = "in_place",
     .words = (const char *const[]){"in_place", "flat", "parameters", NULL}, /* as ms_units */
     .help = "zero 2 and 3: what of a layer is copied around its gathers and reductions: nothing; "
             "gradients into a flat buffer (FSDP); parameters and gradients (FSDP2)"},
    {.key = "bucketing",
     .type = MS_FIELD_ENUM,
     .offset = AT(data.bucketing),
     .fallback = "layers",
     .words = (const char *const[]){"layers", "weights", "capped", "stages", "megatron",
                                    NULL}, /* as ms_bucketing */
     .help = "what gradients are reduced together: of layers, or of weights, until they make "
             "a bucket; of weights that fit into one; of virtual stages; or as Megatron Core cuts "
             "them"},
    {.key = "bucket",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BYTES,
     .offset = AT(data.bucket_B),
     .fallback = "0 B",
     .minimum = 0,
     .maximum = 1e15,
     .help = "smallest gradient bucket, of capped ones the largest; 0 B: one per layer, one per "
             "weight, or Megatron Core's 40 million elements or a million per replica"},
    {.key = "update",
     .type = MS_FIELD_ENUM,
     .offset = AT(data.update),
     .fallback = "fused",
     .words =
         (const char *const[]){"fused", "separate", "operations", NULL}, /* as ms_update_kernels */
     .help = "whether kernels of their own check and scale gradients before they are reduced, and "
             "copy the updated master copy to the working one; or each operation is a kernel"},
    {.key = "offload",
     .type = MS_FIELD_BOOL,
     .offset = AT(data.is_offloaded),
     .fallback = "false",
     .help = "optimizer state and update on the host, over the GPU's host link"},
    {0},
};

const ms_field MS_PIPELINE_FIELDS[] = {
    {.key = "scatter_gather",
     .type = MS_FIELD_BOOL,
     .offset = AT(has_scatter_gather),
     .fallback = "false",
     .help = "each tp rank sends 1/tp of a boundary tensor, the receiver gathers it over tp"},
    {.key = "communicator",
     .type = MS_FIELD_ENUM,
     .offset = AT(algorithms.messages),
     .fallback = "pair",
     .words = (const char *const[]){"pair", "pipeline", "world", NULL}, /* as ms_message_comm */
     .help = "whose communicator messages between stages travel in, by which the library gives "
             "them channels: one of their two ranks, the pipeline's, or that of all ranks"},
    {0},
};

const ms_field MS_MEMORY_FIELDS[] = {
    {.key = "allocator_overhead",
     .type = MS_FIELD_NUMBER,
     .offset = AT(allocator_overhead),
     .fallback = "0",
     .minimum = 0,
     .maximum = 10,
     .help = "share of activations and working memory that the allocator loses on top"},
    {.key = "libraries",
     .type = MS_FIELD_ENUM,
     .offset = AT(framework_memory.libraries),
     .fallback = "none",
     .words = (const char *const[]){"none", "torch", "transformer_engine", NULL},
     .help = "whose matrix products hold workspaces"},
    {.key = "cublas_workspace",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BYTES,
     .offset = AT(framework_memory.cublas_B),
     .fallback = "0 B",
     .minimum = 0,
     .maximum = 1e12,
     .help = "workspace of each handle of cuBLAS; 0 B: what PyTorch takes on the GPU"},
    {.key = "buffers",
     .type = MS_FIELD_FLAGS,
     .offset = AT(framework_memory.buffers),
     .words = BUFFERS,
     .help = "what the framework keeps from the first pass on"},
    {.key = "offload",
     .type = MS_FIELD_FLAGS,
     .offset = AT(offloaded),
     .words = OFFLOADED,
     .help = "what of a layer's activations waits on the host for its backward pass"},
    {0},
};
