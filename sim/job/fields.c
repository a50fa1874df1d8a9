/* The table of a workload file's keys (MS_WORKLOAD_FIELDS): names, help texts, types, defaults and
 * limits. A row's offset is into ms_spec_text. Words of an enumeration are in the order of its
 * values. */
#include "job/internal.h"

static const char *const DTYPES[] = {"bf16", "fp16", "fp32", NULL};          /* as MS_DTYPE_ */
static const char *const RECOMPUTES[] = {"none", "full", "selective", NULL}; /* as ms_recompute */
static const char *const RECOMPUTE_PARTS[] = {"norms", "latent_up", "activations", "products",
                                              NULL}; /* bits as ms_recompute_part */
static const char *const PRODUCT_KINDS[] = {"projections", "mlp", "experts", "head",
                                            NULL};                   /* bits as ms_product_kind */
static const char *const TYPES[] = {"parameters", "products", NULL}; /* as ms_product_type */

double ms_dtype_B(ms_dtype dtype) {
    return dtype == MS_DTYPE_FP32 ? 4.0 : 2.0;
}

void ms_job_spec_write_keys(ms_buffer *out) {
    ms_config_write_keys(MS_WORKLOAD_FIELDS, "", out);
}

const char *const *ms_job_spec_words(const char *key) {
    return ms_config_row(MS_WORKLOAD_FIELDS, key)->words;
}

/* Offset of a member of the spec, and of a member that is read further before the spec has it. */
#define AT(member)   offsetof(ms_spec_text, spec.member)
#define TEXT(member) offsetof(ms_spec_text, member)

static const char *schedule_name(int index) {
    return index < MS_SCHEDULE_KIND_COUNT ? ms_schedule_kind_names()[index] : NULL;
}

static const char *all_reduce_name(int index) {
    return ms_coll_algorithm_word(MS_COLL_ALL_REDUCE, index);
}

static const ms_field NAME_ROW = MS_KEY("name", NULL, STRING, 0);
static const ms_field_shape SCHEDULE_KIND = {.name = schedule_name, .prefix = MS_SPEC_CSV_PREFIX};
static const ms_field_shape ALL_REDUCE = {.name = all_reduce_name};
static const ms_field_shape FRAMEWORK = {.also = &NAME_ROW};
static const ms_field_shape PLATFORM = {
    .also = &NAME_ROW, .changes = MS_PLATFORM_FIELDS, .file_key = "file"};

static const ms_field SCHEDULE_FIELDS[] = {
    MS_KEY("kind", "pipeline schedule, such as 1f1b, interleaved, zbv or dualpipe, or csv:FILE",
           STRING, TEXT(schedule_kind), .shape = &SCHEDULE_KIND, .fallback = "1f1b"),
    MS_KEY("v",
           "virtual stages per pipeline rank; 0: as many as the schedule needs, 1 if it takes any "
           "number",
           INT, AT(schedule.chunks), .fallback = "0", MS_RANGE(0, 1024)),
    MS_KEY("group",
           "microbatches per group of the interleaved schedule; 0: the number of pipeline ranks",
           INT, AT(schedule.group), .fallback = "0", MS_RANGE(0, 1048576)),
    MS_KEY("splits", "seq1f1b: slices a sequence is cut into, with passes of their own", INT,
           AT(schedule.slices), .fallback = "1", MS_RANGE(1, 1024)),
    MS_KEY("reorder", "vhalf, vmin: move warm-up and cool-down passes into earlier gaps", BOOL,
           AT(schedule.is_reordered), .fallback = "false"),
    MS_KEY("overlap",
           "forward and backward pass that a schedule pairs: together, or one after the other",
           ENUM, AT(schedule.overlap), .fallback = "fused", .words = MS_WORDS("fused", "serial")),
    MS_KEY("communication_sms",
           "SMs that communication holds for itself while such a pair runs together", INT,
           AT(schedule.communication_sms), .fallback = "0", MS_RANGE(0, 1000000)),
    MS_KEY("sends", "whether a rank that sends to a stage goes on, or waits for the arrival", ENUM,
           AT(schedule.sends), .fallback = "async", .words = MS_WORDS("async", "blocking")),
    MS_KEY("step_end",
           "whether all ranks wait for the gradient's norm before they update, or each updates at "
           "once",
           ENUM, AT(schedule.step_end), .fallback = "synchronous",
           .words = MS_WORDS("synchronous", "post_validation")),
    MS_KEY(
        "partition",
        "layers per virtual stage: the same everywhere, or so that the busiest rank is least busy",
        ENUM, AT(schedule.partition.kind), .former = "deal", .fallback = "even",
        .words = MS_WORDS("even", "balanced"), .needs_model = true),
    MS_KEY("first_stage_layers", "layers of the first virtual stage; not given: an equal share",
           INT, AT(schedule.partition.first_stage_layers), MS_RANGE(1, 100000), .is_of_job = true,
           .needs_model = true),
    MS_KEY("last_stage_layers", "layers of the last virtual stage; not given: an equal share", INT,
           AT(schedule.partition.last_stage_layers), MS_RANGE(1, 100000), .is_of_job = true,
           .needs_model = true),
    MS_KEY("stage_layers", "layers of every virtual stage, in order of the stages", INTS,
           AT(schedule.partition.stage_layers), MS_RANGE(0, 100000), .is_of_job = true,
           .needs_model = true),
    {0},
};

static const ms_field BATCH_FIELDS[] = {
    MS_KEY("global", "sequences per step over all replicas", INT, AT(batch.global),
           MS_RANGE(1, MS_BATCH_MAX)),
    MS_KEY("micro", "sequences per microbatch and replica", INT, AT(batch.micro), .fallback = "1",
           MS_RANGE(1, 1000000)),
    MS_KEY("microbatches",
           "microbatches per step and replica; instead of, or agreeing with, global", INT,
           AT(batch.microbatches), MS_RANGE(1, 10000000)),
    {0},
};

static const ms_field PRECISION_FIELDS[] = {
    MS_KEY("parameters", "type of working parameters and activations", ENUM,
           AT(precision.parameters), .fallback = "bf16", .words = DTYPES),
    MS_KEY("gradients", "type in which gradients are accumulated and reduced", ENUM,
           AT(precision.gradients), .fallback = "fp32", .words = DTYPES),
    MS_KEY("optimizer",
           "optimizer state per parameter; Adam with fp32 master copy and two moments: 12 B",
           QUANTITY, AT(precision.optimizer_B), .dimension = MS_DIM_BYTES, .fallback = "12 B",
           MS_RANGE(0, 64)),
    MS_KEY("products", "type in which products with weights multiply; parameters: the working one",
           ENUM, AT(precision.products.format), .fallback = "parameters",
           .words = MS_WORDS("parameters", "fp8", "mxfp8", "nvfp4")),
    MS_KEY("scaling",
           "fp8: a scale per tensor, by the steps before or by the tensor itself, per row, or per "
           "block of 128",
           ENUM, AT(precision.products.scaling), .fallback = "delayed",
           .words = MS_WORDS("delayed", "current", "rowwise", "blockwise")),
    MS_KEY("amax_group",
           "delayed: who shares maxima in every pass: ranks of a layer and of its replicas, of a "
           "layer, or none",
           ENUM, AT(precision.products.amax), .fallback = "replicas",
           .words = MS_WORDS("replicas", "tensor", "none")),
    MS_KEY("casts",
           "kernels that cast operands: as fast as their bytes say, or those of a generation", ENUM,
           AT(precision.products.casts), .fallback = "streaming",
           .words = MS_WORDS("streaming", "transformer_engine_1", "torch_compile")),
    MS_KEY("products_of", "products that multiply in that type; not given: all but the head", FLAGS,
           AT(precision.products.kinds), .words = PRODUCT_KINDS),
    MS_KEY("weight_gradients", "type in which the products that give weights' gradients multiply",
           ENUM, AT(precision.products.weight_gradients), .fallback = "products", .words = TYPES),
    MS_KEY("kept", "type in which products' inputs wait for the backward pass", ENUM,
           AT(precision.products.kept), .fallback = "products", .words = TYPES),
    MS_KEY("second_form",
           "pass in which kept inputs with scales of rows or blocks get their form for weights' "
           "gradients",
           ENUM, AT(precision.products.second_form), .fallback = "forward",
           .words = MS_WORDS("forward", "backward")), /* as ms_second_form */
    MS_KEY("tensor_gathers",
           "type in which tp ranks gather tokens for products (tensor_parallel.sequence)", ENUM,
           AT(precision.products.tensor_gathers), .fallback = "products", .words = TYPES),
    MS_KEY("parameter_gathers",
           "type in which replicas gather the weights of products; products: they hold no other",
           ENUM, AT(precision.products.parameter_gathers), .fallback = "parameters",
           .words = TYPES),
    MS_KEY("first_plain_layers", "first layers whose products all multiply in the working type",
           INT, AT(precision.products.first_plain_layers), .fallback = "0", MS_RANGE(0, 100000)),
    MS_KEY("attention",
           "what the products of fused attention multiply in: the working type; fp8 forward, or "
           "both ways between casts, or taken from and handed to the products beside it",
           ENUM, AT(precision.products.attention), .fallback = "parameters",
           .words = MS_WORDS("parameters", "fp8_forward", "fp8_dot_product",
                             "fp8_multi_head")), /* as ms_attention_format */
    MS_KEY("last_plain_layers", "last layers of which the same holds", INT,
           AT(precision.products.last_plain_layers), .fallback = "0", MS_RANGE(0, 100000)),
    {0},
};

/* Kinds of collectives that have more than one algorithm. */
static const ms_field ALGORITHM_FIELDS[] = {
    MS_KEY("all_reduce",
           "auto (as the platform's library takes it), ring, tree, nvls, nvls_tree, collnet_direct "
           "or collnet_chain",
           STRING, TEXT(all_reduce), .shape = &ALL_REDUCE, .fallback = "auto"),
    {0},
};

static const ms_field COLLECTIVE_FIELDS[] = {
    MS_KEY("algorithms", "what each kind is laid out by, as NCCL_ALGO says it", MAP, 0,
           .fields = ALGORITHM_FIELDS),
    {0},
};

static const ms_field EXPERT_FIELDS[] = {
    MS_KEY("ep", "ranks that the experts of a layer are spread over", INT, AT(experts.ep),
           MS_RANGE(1, MS_BATCH_MAX)),
    MS_KEY("tp", "ranks that share an expert", INT, AT(experts.tp), .fallback = "1",
           MS_RANGE(1, MS_BATCH_MAX)),
    MS_KEY("order", "pp, dp, ep and tp, outermost first; default: in this order", WORDS,
           AT(experts.order)),
    {0},
};

static const ms_field FRAMEWORK_FIELDS[] = {
    MS_KEY("name",
           "a profile by its name or path: its choices hold where the workload says nothing; none: "
           "no profile",
           STRING, AT(framework.name), .is_required = true),
    MS_KEY("expanded", "its choices stand in this file already, as in a trace: no profile is read",
           BOOL, AT(framework.is_expanded), .fallback = "false"),
    {0},
};

/* The other keys of the mapping are those of a platform's file. */
static const ms_field PLATFORM_FIELDS[] = {
    MS_KEY("file", "a platform by its name or path; any other key of `platform` changes its file's",
           STRING, 0, .is_required = true),
    {0},
};

static const char *const SYNCS[] = {"messages", "norm",    "kernels",
                                    "batch",    "experts", NULL}; /* bits as ms_host_sync */

static const ms_field HOST_FIELDS[] = {
    MS_KEY("launch",
           "time in which a rank's host launches one kernel or communication; 0 s: CUDA graphs, or "
           "not counted",
           QUANTITY, AT(host.launch_s), .dimension = MS_DIM_TIME, .fallback = "0 s",
           MS_RANGE(0, 1)),
    MS_KEY("sync",
           "where the host waits for its GPU: messages between stages, the gradient's norm, every "
           "kernel, a batch's sizes, the copies that experts get",
           FLAGS, AT(host.syncs), .words = SYNCS),
    MS_KEY("replaces_slow_nodes", "nodes that compute slower than others are found and replaced",
           BOOL, AT(host.replaces_slow_nodes), .fallback = "false"),
    {0},
};

const ms_field MS_WORKLOAD_FIELDS[] = {
    MS_KEY("name", "name of the workload", STRING, AT(name)),
    MS_KEY("description", "what it is and where its figures come from", STRING, AT(description)),
    MS_KEY("framework", "the software: a profile's name, or {name: NAME, expanded: true}", MAP, 0,
           .fields = FRAMEWORK_FIELDS, .shape = &FRAMEWORK, .is_of_job = true, .needs_model = true),
    MS_KEY("platform", "platform file, or {file: name, key: override, ...}", NODE, TEXT(platform),
           .fields = PLATFORM_FIELDS, .shape = &PLATFORM, .is_required = true, .is_of_job = true),
    MS_KEY("mesh", "sizes of the axes and their order", NODE, TEXT(mesh), .fields = MS_MESH_FIELDS,
           .shape = &MS_MESH_SHAPE, .is_required = true, .is_of_job = true),
    MS_KEY(
        "placement",
        "which GPU each rank sits on, and which nodes are spares; every GPU has a rank without it",
        NODE, TEXT(placement), .fields = MS_PLACEMENT_FIELDS, .is_of_job = true),
    MS_KEY("expert_mesh", "axes of the experts over the same ranks, in place of the mesh's", MAP, 0,
           .fields = EXPERT_FIELDS, .is_of_job = true),
    MS_KEY("model", "the transformer", NODE, TEXT(model), .fields = MS_MODEL_FIELDS),
    MS_KEY("costs", "given times per virtual stage, instead of a model", NODE, TEXT(costs),
           .fields = MS_COSTS_FIELDS, .is_of_job = true),
    MS_KEY("schedule", "pipeline schedule, and which stage has which layers", MAP, 0,
           .fields = SCHEDULE_FIELDS),
    MS_KEY("batch", "sequences per step", MAP, 0, .fields = BATCH_FIELDS, .is_of_job = true),
    MS_KEY("precision", "bytes per stored element", MAP, 0, .fields = PRECISION_FIELDS,
           .needs_model = true),
    MS_KEY("tensor_parallel", "how tp ranks share a layer", MAP, 0, .fields = MS_TENSOR_FIELDS,
           .needs_model = true),
    MS_KEY("context_parallel", "how cp ranks share a sequence", MAP, 0, .fields = MS_CONTEXT_FIELDS,
           .needs_model = true),
    MS_KEY("data_parallel", "what replicas share", MAP, 0, .fields = MS_DATA_FIELDS,
           .needs_model = true),
    MS_KEY("pipeline", "how stages exchange tensors", MAP, 0, .fields = MS_PIPELINE_FIELDS,
           .needs_model = true),
    MS_KEY("collectives", "how collectives are carried out", MAP, 0, .fields = COLLECTIVE_FIELDS),
    MS_KEY("host", "how fast the hosts launch what the GPUs run", MAP, 0, .fields = HOST_FIELDS),
    MS_KEY("memory", "what memory is lost to", MAP, 0, .fields = MS_MEMORY_FIELDS,
           .needs_model = true),
    MS_KEY("recompute", "activations recomputed in the backward pass", ENUM, AT(choices.recompute),
           .fallback = "none", .words = RECOMPUTES, .needs_model = true),
    MS_KEY("recompute_parts", "parts of layers recomputed beside that", FLAGS,
           AT(choices.recompute_parts), .words = RECOMPUTE_PARTS, .needs_model = true),
    MS_KEY("recompute_layers",
           "full: first layers of each virtual stage that are recomputed; 0: all", INT,
           AT(choices.recompute_layers), .fallback = "0", MS_RANGE(0, 100000), .needs_model = true),
    MS_KEY("steps", "optimizer steps that are simulated; of several the first is not measured", INT,
           AT(simulation.steps), .fallback = "1", MS_RANGE(1, 64)),
    MS_KEY("fidelity",
           "analytic: no contention; flow: transfers share links; step: and collectives are played "
           "step by step",
           ENUM, AT(simulation.fidelity), .fallback = "flow", .words = MS_FIDELITY_WORDS,
           .is_of_job = true),
    MS_KEY("granularity",
           "layer: every layer's computations and collectives are operations; pass: a pass is one, "
           "with the collectives among the ranks that run it together",
           ENUM, AT(simulation.granularity), .fallback = "layer", .words = MS_GRANULARITY_WORDS,
           .is_of_job = true),
    {.former = "seed",
     .help = "nothing was drawn by it; 'model.moe.seed' draws how unevenly experts are chosen, "
             "'platform.routing_seed' the routes that 'ecmp' hashes"},
};
