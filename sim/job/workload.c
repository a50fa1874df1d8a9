#include "job/workload.h"

#include <string.h>

#include "meshsim/input.h"

static const char *const DTYPES[] = {"bf16", "fp16", "fp32", NULL};          /* as MS_DTYPE_ */
static const char *const RECOMPUTES[] = {"none", "full", "selective", NULL}; /* as ms_recompute */
static const char *const FIDELITIES[] = {"analytic", "flow", NULL};

double ms_dtype_B(int dtype) {
    return dtype == MS_DTYPE_FP32 ? 4.0 : 2.0;
}

#define AT(member) offsetof(ms_workload, member)

static const ms_field SCHEDULE_FIELDS[] = {
    {.key = "kind",
     .type = MS_FIELD_STRING,
     .offset = offsetof(ms_workload_schedule, kind),
     .fallback = "1f1b",
     .help = "pipeline schedule, such as 1f1b, interleaved, zbv or dualpipe, or csv:FILE"},
    {.key = "v",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_schedule, chunks),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1024,
     .help = "virtual stages per pipeline rank; 0: as many as the schedule needs, 1 if it takes "
             "any number"},
    {.key = "group",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_schedule, group),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1048576,
     .help = "microbatches per group of the interleaved schedule; 0: the number of pipeline ranks"},
    {.key = "splits",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_schedule, splits),
     .fallback = "1",
     .minimum = 1,
     .maximum = 1024,
     .help = "seq1f1b: parts a sequence is cut into, passes of their own"},
    {.key = "reorder",
     .type = MS_FIELD_BOOL,
     .offset = offsetof(ms_workload_schedule, is_reordered),
     .fallback = "false",
     .help = "vhalf, vmin: move warm-up and cool-down passes into earlier gaps"},
    {.key = "overlap",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_schedule, overlap),
     .fallback = "fused",
     .words = (const char *const[]){"fused", "serial", NULL},
     .help = "forward and backward pass that a schedule pairs: together, or one after the other"},
    {.key = "sends",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_schedule, sends),
     .fallback = "async",
     .words = (const char *const[]){"async", "blocking", NULL},
     .help = "whether a rank that sends to a stage goes on, or waits for the arrival"},
    {.key = "step_end",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_schedule, step_end),
     .fallback = "synchronous",
     .words = (const char *const[]){"synchronous", "post_validation", NULL},
     .help = "whether all ranks wait for the gradient's norm before they update, or each updates "
             "at once"},
    {.key = "deal",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_schedule, deal),
     .fallback = "even",
     .words = (const char *const[]){"even", "balanced", NULL},
     .help = "layers per virtual stage: the same everywhere, or so that the busiest rank is least "
             "busy"},
    {.key = "first_stage_layers",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_schedule, first_stage_layers),
     .minimum = 1,
     .maximum = 100000,
     .help = "layers of the first virtual stage; not given: an equal share"},
    {.key = "last_stage_layers",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_schedule, last_stage_layers),
     .minimum = 1,
     .maximum = 100000,
     .help = "layers of the last virtual stage; not given: an equal share"},
    {.key = "stage_layers",
     .type = MS_FIELD_INTS,
     .offset = offsetof(ms_workload_schedule, stage_layers),
     .minimum = 0,
     .maximum = 100000,
     .help = "layers of every virtual stage, in order of the stages"},
    {0},
};

static const ms_field BATCH_FIELDS[] = {
    {.key = "global",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_batch, global),
     .minimum = 1,
     .maximum = MS_BATCH_MAX,
     .help = "sequences per step over all replicas"},
    {.key = "micro",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_batch, micro),
     .fallback = "1",
     .minimum = 1,
     .maximum = 1000000,
     .help = "sequences per microbatch and replica"},
    {.key = "microbatches",
     .type = MS_FIELD_INT,
     .offset = offsetof(ms_workload_batch, microbatches),
     .minimum = 1,
     .maximum = 10000000,
     .help = "microbatches per step and replica; instead of, or agreeing with, global"},
    {0},
};

static const ms_field PRECISION_FIELDS[] = {
    {.key = "parameters",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_precision, parameters),
     .fallback = "bf16",
     .words = (const char *const[]){"bf16", "fp16", NULL},
     .help = "type of working parameters and activations"},
    {.key = "gradients",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(ms_workload_precision, gradients),
     .fallback = "fp32",
     .words = DTYPES,
     .help = "type in which gradients are accumulated and reduced"},
    {.key = "optimizer",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BYTES,
     .offset = offsetof(ms_workload_precision, optimizer_B),
     .fallback = "12 B",
     .minimum = 0,
     .maximum = 64,
     .help = "optimizer state per parameter; Adam with fp32 master copy and two moments: 12 B"},
    {0},
};

const ms_field MS_WORKLOAD_FIELDS[] = {
    {.key = "name", .type = MS_FIELD_STRING, .offset = AT(name), .help = "name of the workload"},
    {.key = "description",
     .type = MS_FIELD_STRING,
     .offset = AT(description),
     .help = "what it is and where its figures come from"},
    {.key = "platform",
     .type = MS_FIELD_NODE,
     .offset = AT(platform),
     .is_required = true,
     .help = "platform file, or {file: name, key: override, ...}"},
    {.key = "mesh",
     .type = MS_FIELD_NODE,
     .offset = AT(mesh),
     .is_required = true,
     .help = "sizes of the axes and their order"},
    {.key = "model", .type = MS_FIELD_NODE, .offset = AT(model), .help = "the transformer"},
    {.key = "costs",
     .type = MS_FIELD_NODE,
     .offset = AT(costs),
     .help = "given times per virtual stage, instead of a model"},
    {.key = "schedule",
     .type = MS_FIELD_MAP,
     .offset = AT(schedule),
     .fields = SCHEDULE_FIELDS,
     .help = "pipeline schedule and how layers are dealt to stages"},
    {.key = "batch",
     .type = MS_FIELD_MAP,
     .offset = AT(batch),
     .fields = BATCH_FIELDS,
     .help = "sequences per step"},
    {.key = "precision",
     .type = MS_FIELD_MAP,
     .offset = AT(precision),
     .fields = PRECISION_FIELDS,
     .help = "bytes per stored element"},
    {.key = "tensor_parallel",
     .type = MS_FIELD_MAP,
     .offset = 0,
     .fields = MS_TENSOR_FIELDS,
     .help = "how tp ranks share a layer"},
    {.key = "context_parallel",
     .type = MS_FIELD_MAP,
     .offset = 0,
     .fields = MS_CONTEXT_FIELDS,
     .help = "how cp ranks share a sequence"},
    {.key = "data_parallel",
     .type = MS_FIELD_MAP,
     .offset = 0,
     .fields = MS_DATA_FIELDS,
     .help = "what replicas share"},
    {.key = "pipeline",
     .type = MS_FIELD_MAP,
     .offset = 0,
     .fields = MS_PIPELINE_FIELDS,
     .help = "how stages exchange tensors"},
    {.key = "memory",
     .type = MS_FIELD_MAP,
     .offset = 0,
     .fields = MS_MEMORY_FIELDS,
     .help = "what memory is lost to"},
    {.key = "recompute",
     .type = MS_FIELD_ENUM,
     .offset = AT(layout.recompute),
     .fallback = "none",
     .words = RECOMPUTES,
     .help = "activations recomputed in the backward pass"},
    {.key = "recompute_parts",
     .type = MS_FIELD_WORDS,
     .offset = AT(recompute_parts),
     .help = "parts of layers recomputed beside that: norms, latent_up, activations"},
    {.key = "recompute_layers",
     .type = MS_FIELD_INT,
     .offset = AT(layout.recompute_layers),
     .fallback = "0",
     .minimum = 0,
     .maximum = 100000,
     .help = "full: first layers of each virtual stage that are recomputed; 0: all"},
    {.key = "steps",
     .type = MS_FIELD_INT,
     .offset = AT(steps),
     .fallback = "1",
     .minimum = 1,
     .maximum = 64,
     .help = "optimizer steps that are simulated; of several the first is not measured"},
    {.key = "fidelity",
     .type = MS_FIELD_ENUM,
     .offset = AT(fidelity),
     .fallback = "flow",
     .words = FIDELITIES,
     .help = "analytic: no contention; flow: transfers share links"},
    {.key = "seed",
     .type = MS_FIELD_INT,
     .offset = AT(seed),
     .fallback = "1",
     .minimum = 0,
     .maximum = 2147483647,
     .help = "seed of everything random; kept in the trace"},
    {0},
};

/* `platform: name` means `platform: {file: name}`, so that overrides find a mapping. */
static ms_status normalise_platform(ms_node *root, ms_arena *arena) {
    ms_node *platform = ms_node_get(root, "platform");
    if (platform == NULL || platform->type != MS_NODE_SCALAR) {
        return MS_OK;
    }
    ms_node *file = MS_NEW(arena, ms_node, 1);
    if (file == NULL) {
        return MS_E_NOMEM;
    }
    *file = *platform;
    file->key = "file";
    file->next = NULL;
    platform->type = MS_NODE_MAPPING;
    platform->text = NULL;
    platform->first = file;
    platform->last = file;
    platform->count = 1;
    return MS_OK;
}

/* The --set overrides in the order given. */
static ms_status apply_request(const ms_job_request *request, ms_node *root, ms_arena *arena,
                               ms_diag *diag) {
    ms_status first = MS_OK;
    for (size_t i = 0; i < request->set_count; i++) {
        ms_status status = ms_node_set(root, request->sets[i], arena, diag);
        if (status == MS_OK) {
            status = normalise_platform(root, arena); /* it may have named another platform */
        }
        first = first == MS_OK ? status : first;
    }
    return first;
}

/* Either a model or costs, and with costs nothing that only a model gives a meaning. */
static ms_status check_choice(const ms_node *root, const ms_workload *workload, ms_diag *diag) {
    if ((workload->model == NULL) == (workload->costs == NULL)) {
        const ms_node *place = workload->costs != NULL ? workload->costs : root;
        return ms_config_fault(diag, place, "",
                               workload->costs == NULL
                                   ? "expected either 'model' or 'costs', got neither"
                                   : "expected either 'model' or 'costs', got both");
    }
    static const struct {
        const char *mapping; /* NULL: the root */
        const char *key;
    } OF_MODELS[] = {{NULL, "precision"},
                     {NULL, "tensor_parallel"},
                     {NULL, "context_parallel"},
                     {NULL, "data_parallel"},
                     {NULL, "pipeline"},
                     {NULL, "memory"},
                     {NULL, "recompute"},
                     {NULL, "recompute_parts"},
                     {NULL, "recompute_layers"},
                     {"schedule", "deal"},
                     {"schedule", "first_stage_layers"},
                     {"schedule", "last_stage_layers"},
                     {"schedule", "stage_layers"}};
    ms_status status = MS_OK;
    for (size_t i = 0; workload->costs != NULL && i < sizeof OF_MODELS / sizeof OF_MODELS[0]; i++) {
        const char *key = OF_MODELS[i].key;
        const ms_node *mapping =
            OF_MODELS[i].mapping == NULL ? root : ms_node_get(root, OF_MODELS[i].mapping);
        const ms_node *node = ms_node_get(mapping, key);
        if (node != NULL) {
            status = ms_config_fault(diag, node, key,
                                     "says nothing beside 'costs'; it needs a "
                                     "'model'");
        }
    }
    return status;
}

ms_status ms_workload_read(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                           ms_workload *workload_out) {
    *workload_out = (ms_workload){.schedule = {.chunks = -1}};
    ms_node *root = NULL;
    ms_status status = ms_yaml_load(request->workload, arena, diag, &root);
    if (status != MS_OK) {
        return status;
    }
    status = ms_input_expect(root, MS_INPUT_WORKLOAD, request->workload, diag);
    if (status == MS_OK) {
        status = normalise_platform(root, arena);
    }
    if (status == MS_OK) {
        status = apply_request(request, root, arena, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    workload_out->root = root;
    status = ms_config_read(root, MS_WORKLOAD_FIELDS, "", workload_out, arena, diag);
    ms_status choice = check_choice(root, workload_out, diag);
    return status == MS_OK ? choice : status;
}
