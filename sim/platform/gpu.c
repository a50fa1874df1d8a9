/* GPU types: platforms/gpus/NAME.yaml and the overrides a platform lays over it. */
#include <stddef.h>

#include "meshsim/config.h"
#include "meshsim/input.h"
#include "platform/files.h"

typedef struct gpu_file {
    const char *type; /* which file the rest builds on */
    ms_gpu_type gpu;
} gpu_file;

/* Longest chain of types that build on each other. */
enum { DEPTH_MAX = 4 };

#define AT(member) offsetof(gpu_file, gpu.member)

static const ms_field FIELDS[] = {
    {.key = "type",
     .type = MS_FIELD_STRING,
     .offset = offsetof(gpu_file, type),
     .help = "type whose keys hold where this mapping is silent: a file in gpus/, or a path"},
    {.key = "name",
     .type = MS_FIELD_STRING,
     .offset = AT(name),
     .is_required = true,
     .help = "name shown in results"},
    {.key = "peak",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_FLOP_RATE,
     .offset = AT(peak_flop_per_s),
     .is_required = true,
     .minimum = 1e6,
     .maximum = 1e21,
     .help = "dense bf16/fp16 matrix peak, without sparsity"},
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
    {.key = "attention_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(attention_efficiency),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "best share of the peak that fused attention reaches forward"},
    {.key = "attention_backward_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(attention_backward_efficiency),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "best share of the peak that fused attention reaches backward"},
    {.key = "memory_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(memory_efficiency),
     .is_required = true,
     .minimum = 1e-6,
     .maximum = 1,
     .help = "share of hbm_bandwidth that memory-bound kernels reach"},
    {.key = "kernel_launch",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_TIME,
     .offset = AT(kernel_launch_s),
     .fallback = "0 s",
     .help = "fixed time of each kernel beside its roofline time"},
    {.key = "pcie",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BANDWIDTH,
     .offset = AT(pcie_Bps),
     .minimum = 1,
     .maximum = 1e21,
     .help = "bandwidth to or from the host, each way; an offloaded optimizer needs it"},
    {.key = "host_bandwidth",
     .type = MS_FIELD_QUANTITY,
     .dimension = MS_DIM_BANDWIDTH,
     .offset = AT(host_Bps),
     .minimum = 1,
     .maximum = 1e21,
     .help = "a GPU's share of its host's memory bandwidth; an offloaded optimizer needs it"},
    {.key = "compute_slowdown",
     .type = MS_FIELD_NUMBER,
     .offset = AT(compute_slowdown),
     .fallback = "1",
     .minimum = 1,
     .maximum = 100,
     .help = "factor on compute while the same GPU communicates; only 1 so far"},
    {.key = NULL},
};

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
        status = ms_config_fault(l->diag, type, "gpu.type", "no GPU type '%s'%s%s", type->text,
                                 looked, ms_find_yaml_hint(type->text, &search, l->arena));
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

ms_status ms_gpu_read(const ms_node *mapping, const char *const *places, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out) {
    const ms_node *type = ms_node_get(mapping, "type");
    if (type == NULL) {
        return ms_config_fault(diag, mapping, "gpu.type",
                               "required key is missing: the name of a file in gpus/");
    }
    const look l = {.places = places, .arena = arena, .diag = diag};
    ms_node *keys = NULL;
    ms_status status = load_type(type, &l, 1, &keys);
    if (status == MS_OK) {
        status = ms_node_overlay(keys, mapping, arena);
    }
    gpu_file read = {0};
    if (status == MS_OK) {
        status = ms_config_read(keys, FIELDS, "gpu", &read, arena, diag);
    }
    if (status == MS_OK && read.gpu.reserve_B >= read.gpu.hbm_B) {
        status = ms_config_fault(diag, ms_node_get(keys, "reserve"), "gpu.reserve",
                                 "leaves no memory: %.4g GiB of %.4g GiB are reserved",
                                 read.gpu.reserve_B / 0x1p30, read.gpu.hbm_B / 0x1p30);
    }
    if (status == MS_OK && read.gpu.compute_slowdown != 1.0) {
        status =
            ms_config_fault(diag, ms_node_get(keys, "compute_slowdown"), "gpu.compute_slowdown",
                            "computation slowed by communication is not built yet; expected "
                            "1, got %g",
                            read.gpu.compute_slowdown);
    }
    if (status != MS_OK) {
        return status;
    }
    *gpu_out = read.gpu;
    *effective_out = keys;
    return MS_OK;
}
