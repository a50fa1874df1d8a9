/* GPU types: platforms/gpus/NAME.yaml and the overrides a platform lays over it. */
#include <stddef.h>
#include <string.h>

#include "meshsim/config.h"
#include "meshsim/input.h"
#include "platform/files.h"
#include "platform/gpu_attention.h"
#include "platform/gpu_products.h"
#include "platform/measured.h"

typedef struct gpu_file {
    const char *type; /* which file the rest builds on */
    ms_gpu_type gpu;
    double slowdown; /* compute_slowdown where it is one number for all kinds */
    ms_gpu_attention attention;
    const char *measured; /* the table's file */
} gpu_file;

/* Longest chain of types that build on each other. */
enum { DEPTH_MAX = 4 };

#define AT(member) offsetof(gpu_file, gpu.member)

/* Computation shares SMs and memory bandwidth with communication: what runs beside it at best takes
 * nothing from it, at worst half of the GPU. */
#define SLOWDOWN(name, member)                                                                     \
    {                                                                                              \
        .key = (name), .type = MS_FIELD_NUMBER, .offset = offsetof(gpu_file, member),              \
        .fallback = "1", .minimum = 1, .maximum = 2,                                               \
        .help = "factor on the time of computations while such communication runs on the GPU"      \
    }

static const ms_field SLOWDOWN_FIELDS[] = {
    SLOWDOWN("p2p", gpu.compute_slowdown[MS_COLL_P2P]),
    SLOWDOWN("all_reduce", gpu.compute_slowdown[MS_COLL_ALL_REDUCE]),
    SLOWDOWN("reduce_scatter", gpu.compute_slowdown[MS_COLL_REDUCE_SCATTER]),
    SLOWDOWN("all_gather", gpu.compute_slowdown[MS_COLL_ALL_GATHER]),
    SLOWDOWN("all_to_all", gpu.compute_slowdown[MS_COLL_ALL_TO_ALL]),
    SLOWDOWN("broadcast", gpu.compute_slowdown[MS_COLL_BROADCAST]),
    SLOWDOWN("ring_shift", gpu.compute_slowdown[MS_COLL_RING_SHIFT]),
    {.key = NULL},
};

static const ms_field SLOWDOWN_OF_ALL = SLOWDOWN("compute_slowdown", slowdown);
static const ms_field_shape SLOWDOWNS = {.also = &SLOWDOWN_OF_ALL};

#define PRODUCT_FIELD(key_, format_)                                                               \
    {                                                                                              \
        .key = (key_), .type = MS_FIELD_MAP, .offset = AT(products.of[format_]),                   \
        .fields = MS_GPU_PRODUCT_FIELDS, .help = "products of operands in " key_                   \
    }

static const char *const GENERATIONS[] = {"none", "volta", "ampere", "hopper", "blackwell", NULL};

const ms_field MS_GPU_FIELDS[] = {
    {.key = "type",
     .type = MS_FIELD_STRING,
     .offset = offsetof(gpu_file, type),
     .gives_rest = true,
     .help = "type whose keys hold where this mapping is silent: a file in gpus/, or a path"},
    {.key = "name",
     .type = MS_FIELD_STRING,
     .offset = AT(name),
     .is_required = true,
     .help = "name shown in results"},
    {.key = "generation",
     .type = MS_FIELD_ENUM,
     .offset = AT(generation),
     .words = GENERATIONS,
     .fallback = "none",
     .help = "generation that communication libraries know it by"},
    {.key = "peak",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_FLOP_RATE,
     .offset = AT(peak_flop_per_s),
     .is_required = true,
     .minimum = 1e6,
     .maximum = 1e21,
     .help = "dense bf16/fp16 matrix peak, without sparsity"},
    {.key = "sustained_clock",
     .type = MS_FIELD_NUMBER,
     .offset = AT(clock.sustained),
     .fallback = "1",
     .minimum = 0.1,
     .maximum = 1,
     .help = "share of the peak's clock that matrix units hold under the power limit"},
    {.key = "spread",
     .type = MS_FIELD_NUMBER,
     .offset = AT(clock.spread),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1,
     .help = "range of the times that GPUs of the type take for the same arithmetic, over their "
             "median; a step runs at the slowest one's pace"},
    {.key = "hbm",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BYTES,
     .offset = AT(hbm_B),
     .is_required = true,
     .minimum = 1,
     .maximum = 1e18,
     .help = "memory capacity"},
    {.key = "hbm_bandwidth",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BANDWIDTH,
     .offset = AT(hbm_Bps),
     .is_required = true,
     .minimum = 1,
     .maximum = 1e21,
     .help = "memory bandwidth"},
    {.key = "reserve",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BYTES,
     .offset = AT(reserve_B),
     .fallback = "0 B",
     .help = "memory the job cannot use: context, communication library, fragmentation"},
    {.key = "sms",
     .type = MS_FIELD_INT,
     .offset = AT(sms),
     .is_required = true,
     .minimum = 1,
     .maximum = 1000000,
     .help = "streaming multiprocessors [count]"},
    {.key = "gemm_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(gemm_efficiency),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "best share of the peak that a large matrix product reaches"},
    {.key = "gemm_unaligned",
     .type = MS_FIELD_NUMBER,
     .offset = AT(products.unaligned.share),
     .fallback = "1",
     .minimum = 0.1,
     .maximum = 1,
     .help = "what is left of that where rows are aligned to 2 bytes instead of 16"},
    {.key = "gemm_unaligned_batched",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_FLOP_RATE,
     .offset = AT(products.unaligned.batched_flop_per_s),
     .minimum = 1e6,
     .maximum = 1e21,
     .help =
         "peak of batched products of rows that are not aligned to 16 bytes, without matrix units"},
    {.key = "gemm_depth_half",
     .type = MS_FIELD_NUMBER,
     .offset = AT(gemm_depth_half),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1e9,
     .help = "inner dimension at which half of gemm_efficiency is reached [elements]"},
    {.key = "tile_m",
     .type = MS_FIELD_INT,
     .offset = AT(tile_m),
     .fallback = "128",
     .minimum = 1,
     .maximum = 65536,
     .help = "rows of the output tile of one SM [elements]"},
    {.key = "tile_n",
     .type = MS_FIELD_INT,
     .offset = AT(tile_n),
     .fallback = "128",
     .minimum = 1,
     .maximum = 65536,
     .help = "columns of the output tile of one SM [elements]"},
    {.key = "expert_call",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_TIME,
     .offset = AT(products.grouped.call_s),
     .fallback = "0 s",
     .help = "time from one expert's product to the next, where each is a call of its own"},
    {.key = "expert_exposed",
     .type = MS_FIELD_NUMBER,
     .offset = AT(products.grouped.exposed),
     .fallback = "0",
     .minimum = 0,
     .maximum = 1,
     .help = "share of an expert's product's memory traffic that arithmetic does not hide"},
    {.key = "fp32",
     .type = MS_FIELD_MAP,
     .offset = AT(products.single),
     .fields = MS_GPU_SINGLE_FIELDS,
     .help = "products of operands in fp32, as TF32 where the GPU has it"},
    PRODUCT_FIELD("fp8", MS_PRODUCT_FP8),
    PRODUCT_FIELD("mxfp8", MS_PRODUCT_MXFP8),
    PRODUCT_FIELD("nvfp4", MS_PRODUCT_NVFP4),
    {.key = "attention_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(gpu_file, attention.own_forward),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "best share of the peak that fused attention reaches forward"},
    {.key = "attention_backward_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(gpu_file, attention.own_backward),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "best share of the peak that fused attention reaches backward"},
    {.key = "attention",
     .type = MS_FIELD_MAP,
     .offset = offsetof(gpu_file, attention.kernels),
     .fields = MS_GPU_ATTENTION_FIELDS,
     .help = "what generations of fused attention reach, by the size of a head"},
    {.key = "memory_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(memory_efficiency),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "share of hbm_bandwidth that memory-bound kernels reach"},
    {.key = "loss_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(kernels.loss_share),
     .minimum = 0.01,
     .maximum = 1,
     .help = "share of hbm_bandwidth that kernels of a cross entropy reach; not given: "
             "memory_efficiency"},
    {.key = "top_k_search",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_TIME,
     .offset = AT(kernels.search_s),
     .fallback = "0 s",
     .help = "time of torch.topk for each entry of a router's rows"},
    {.key = "kernel_launch",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_TIME,
     .offset = AT(kernel_launch_s),
     .fallback = "0 s",
     .help = "fixed time of each kernel beside its roofline time"},
    {.key = "measured",
     .type = MS_FIELD_STRING,
     .offset = offsetof(gpu_file, measured),
     .help = "CSV of measured kernels: kernel,shape,time; they override what the keys above say"},
    {.key = "pcie",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BANDWIDTH,
     .offset = AT(host.pcie_Bps),
     .minimum = 1,
     .maximum = 1e21,
     .help = "bandwidth to or from the host, each way; an offloaded optimizer needs it"},
    {.key = "host_bandwidth",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BANDWIDTH,
     .offset = AT(host.memory_Bps),
     .minimum = 1,
     .maximum = 1e21,
     .help = "a GPU's share of its host's memory bandwidth; an offloaded optimizer needs it"},
    {.key = "load_power",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_POWER,
     .offset = AT(clock.power.load_W),
     .minimum = 1e-3,
     .maximum = 1e9,
     .help = "electrical power while it computes"},
    {.key = "idle_power",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_POWER,
     .offset = AT(clock.power.idle_W),
     .maximum = 1e9,
     .help = "electrical power while it waits in the middle of a job"},
    {.key = "compute_slowdown",
     .type = MS_FIELD_MAP,
     .fields = SLOWDOWN_FIELDS,
     .shape = &SLOWDOWNS,
     .help = "factor on computations while communication runs on the GPU, one or by kind"},
    {.key = NULL},
};
enum { FIELD_COUNT = sizeof MS_GPU_FIELDS / sizeof MS_GPU_FIELDS[0] };

/* Where to look for types, and with what. */
typedef struct look {
    const char *const *places; /* NULL at the end */
    ms_arena *arena;
    ms_diag *diag;
} look;

/* Path of a GPU type's file, in the arena. */
static ms_status find_file(const ms_node *type, const look *l, const char **path_out) {
    const ms_file_search search = {.folders = l->places, .subfolder = "gpus/"};
    const char *looked = NULL;
    ms_status status = ms_find_yaml(type->text, &search, l->arena, path_out, &looked);
    if (status == MS_OK && *path_out == NULL) {
        const char *names = ms_find_yaml_names(&search, l->arena);
        status = ms_config_fault(
            l->diag, type, "gpu.type", "no GPU type '%s'%s%s%s%s%s", type->text, looked,
            ms_find_yaml_hint(type->text, &search, l->arena),
            names[0] == '\0' ? "" : " (known: ", names, names[0] == '\0' ? "" : ")");
    }
    return status;
}

/* The keys of the file that a `type` node names, laid over those of the type that file builds on.
 */
static ms_status load_type(const ms_node *type, const look *l, int depth, ms_node **keys_out) {
    if (type->type != MS_NODE_SCALAR) {
        return ms_config_fault(l->diag, type, "gpu.type", "expected the name of a file in gpus/");
    }
    if (depth > DEPTH_MAX) {
        return ms_config_fault(l->diag, type, "type", "more than %d types build on each other",
                               (int)DEPTH_MAX);
    }
    const char *path = NULL;
    ms_node *file = NULL;
    ms_status status = find_file(type, l, &path);
    if (status == MS_OK) {
        status = ms_yaml_load(path, l->arena, l->diag, &file);
    }
    if (status == MS_OK) {
        status = ms_input_expect(file, MS_INPUT_GPU, path, l->diag);
    }
    const ms_node *base = status == MS_OK ? ms_node_get(file, "type") : NULL;
    if (base == NULL) {
        *keys_out = file;
        return status;
    }
    ms_node *below = NULL;
    status = load_type(base, l, depth + 1, &below);
    if (status == MS_OK) {
        status = ms_node_overlay(below, file, l->arena);
    }
    if (status == MS_OK) {
        *keys_out = below;
    }
    return status;
}

/* Read the keys of a type; a slow-down that is no mapping is one number for all kinds. */
static ms_status read_keys(const ms_node *keys, ms_arena *arena, ms_diag *diag, gpu_file *out) {
    ms_field fields[FIELD_COUNT];
    memcpy(fields, MS_GPU_FIELDS, sizeof fields);
    const ms_node *slowdown = ms_node_get(keys, SLOWDOWN_OF_ALL.key);
    bool is_number = slowdown != NULL && slowdown->type == MS_NODE_SCALAR;
    for (int i = 0; i < FIELD_COUNT - 1 && is_number; i++) {
        if (strcmp(fields[i].key, SLOWDOWN_OF_ALL.key) == 0) {
            fields[i] = SLOWDOWN_OF_ALL;
        }
    }
    ms_status status = ms_config_read(keys, fields, "gpu", out, arena, diag);
    out->gpu.compute_slowdown[MS_COLL_NONE] = 1.0;
    for (int kind = MS_COLL_NONE + 1; kind < MS_COLL_COUNT && is_number; kind++) {
        out->gpu.compute_slowdown[kind] = out->slowdown;
    }
    return status;
}

/* Energy needs both powers, and counts what computing takes on top of waiting. */
static ms_status check_power(const ms_node *keys, const ms_gpu_power *power, ms_diag *diag) {
    const ms_node *load = ms_node_get(keys, "load_power");
    const ms_node *idle = ms_node_get(keys, "idle_power");
    if ((load == NULL) != (idle == NULL)) {
        return ms_config_fault(diag, load == NULL ? idle : load,
                               load == NULL ? "gpu.idle_power" : "gpu.load_power",
                               "needs %s beside it", load == NULL ? "load_power" : "idle_power");
    }
    return power->idle_W <= power->load_W
               ? MS_OK
               : ms_config_fault(diag, idle, "gpu.idle_power", "%g W, more than load_power's %g W",
                                 power->idle_W, power->load_W);
}

ms_status ms_gpu_read(const ms_node *mapping, const char *const *places, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out) {
    const ms_node *type = ms_node_get(mapping, "type");
    if (type == NULL || ms_node_takes_out(type)) {
        return ms_config_fault(diag, mapping, "gpu.type",
                               "required key is missing: the name of a file in gpus/");
    }
    const look l = {.places = places, .arena = arena, .diag = diag};
    ms_node *keys = NULL;
    ms_status status = load_type(type, &l, 1, &keys);
    if (status == MS_OK) {
        status = ms_node_overlay(keys, mapping, arena);
    }
    if (status == MS_OK) {
        ms_config_take_out(keys, MS_GPU_FIELDS);
    }
    gpu_file read = {0};
    if (status == MS_OK) {
        status = read_keys(keys, arena, diag, &read);
    }
    if (status == MS_OK) {
        status =
            ms_gpu_attention_take(&read.attention, ms_node_get(keys, "attention"), diag, &read.gpu);
    }
    if (status == MS_OK) {
        status = ms_gpu_products_take(keys, diag, &read.gpu);
    }
    if (status == MS_OK && read.measured != NULL) {
        status = ms_measured_load(ms_node_get(keys, "measured"), arena, diag, &read.gpu.measured);
    }
    if (status == MS_OK) {
        status = check_power(keys, &read.gpu.clock.power, diag);
    }
    if (status == MS_OK && read.gpu.reserve_B >= read.gpu.hbm_B) {
        status = ms_config_fault(diag, ms_node_get(keys, "reserve"), "gpu.reserve",
                                 "leaves no memory: %.4g GiB of %.4g GiB are reserved",
                                 read.gpu.reserve_B / 0x1p30, read.gpu.hbm_B / 0x1p30);
    }
    if (status != MS_OK) {
        return status;
    }
    *gpu_out = read.gpu;
    *effective_out = keys;
    return MS_OK;
}
