/* Reads GPU types from platforms/gpus/NAME.yaml (ms_gpu_read). A type's file may name another type,
 * whose keys hold where the file is silent; the platform's own keys are laid over both. */
#include <stddef.h>
#include <string.h>

#include "base/config/config.h"
#include "base/config/input.h"
#include "cluster/platform/files.h"
#include "cluster/platform/gpu_attention.h"
#include "cluster/platform/gpu_products.h"
#include "cluster/platform/measured.h"

/* The values of a type's keys. */
typedef struct gpu_file {
    const char *type; /* the type on which this one builds */
    ms_gpu_type gpu;
    double slowdown; /* compute_slowdown, where it is one number for all kinds of communication */
    ms_gpu_attention attention;
    const char *measured; /* file of the table of measured kernels */
} gpu_file;

/* Longest chain of types that build on each other. */
enum { DEPTH_MAX = 4 };

#define AT(member) offsetof(gpu_file, gpu.member)

/* Computation shares SMs and memory bandwidth with communication. The factor on its time is 1 where
 * communication takes nothing of these, and at most 2, where it takes half of the GPU. */
#define SLOWDOWN(name, member)                                                                     \
    MS_KEY((name), "factor on the time of computations while such communication runs on the GPU",  \
           NUMBER, offsetof(gpu_file, member), .fallback = "1", MS_RANGE(1, 2))

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
    MS_KEY((key_), "products of operands in " key_, MAP, AT(products.of[format_]),                 \
           .fields = MS_GPU_PRODUCT_FIELDS)

static const char *const GENERATIONS[] = {"none", "volta", "ampere", "hopper", "blackwell", NULL};

const ms_field MS_GPU_FIELDS[] = {
    MS_KEY("type", "type whose keys hold where this mapping is silent: a file in gpus/, or a path",
           STRING, offsetof(gpu_file, type), .gives_rest = true),
    MS_KEY("name", "name shown in results", STRING, AT(name), .is_required = true),
    MS_KEY("generation", "generation that communication libraries know it by", ENUM, AT(generation),
           .words = GENERATIONS, .fallback = "none"),
    MS_KEY("peak", "dense bf16/fp16 matrix peak, without sparsity", QUANTITY, AT(peak_flop_per_s),
           .dimension = MS_DIM_FLOP_RATE, .is_required = true, MS_RANGE(1e6, 1e21)),
    MS_KEY("sustained_clock",
           "share of the peak's clock that matrix units hold under the power limit", NUMBER,
           AT(clock.sustained), .fallback = "1", MS_RANGE(0.1, 1)),
    MS_KEY("spread",
           "range of the times that GPUs of the type take for the same arithmetic, over their "
           "median; a step runs at the slowest one's pace",
           NUMBER, AT(clock.spread), .fallback = "0", MS_RANGE(0, 1)),
    MS_KEY("hbm", "memory capacity", QUANTITY, AT(hbm_B), .dimension = MS_DIM_BYTES,
           .is_required = true, MS_RANGE(1, 1e18)),
    MS_KEY("hbm_bandwidth", "memory bandwidth", QUANTITY, AT(hbm_Bps),
           .dimension = MS_DIM_BANDWIDTH, .is_required = true, MS_RANGE(1, 1e21)),
    MS_KEY("reserve", "memory the job cannot use: context, communication library, fragmentation",
           QUANTITY, AT(reserve_B), .dimension = MS_DIM_BYTES, .fallback = "0 B"),
    MS_KEY("sms", "streaming multiprocessors [count]", INT, AT(sms), .is_required = true,
           MS_RANGE(1, 1000000)),
    MS_KEY("gemm_efficiency", "best share of the peak that a large matrix product reaches", NUMBER,
           AT(gemm_efficiency), .is_required = true, MS_RANGE(1e-6, 1)),
    MS_KEY("gemm_unaligned", "what is left of that where rows are aligned to 2 bytes instead of 16",
           NUMBER, AT(products.unaligned.share), .fallback = "1", MS_RANGE(0.1, 1)),
    MS_KEY(
        "gemm_unaligned_batched",
        "peak of batched products of rows that are not aligned to 16 bytes, without matrix units",
        QUANTITY, AT(products.unaligned.batched_flop_per_s), .dimension = MS_DIM_FLOP_RATE,
        MS_RANGE(1e6, 1e21)),
    MS_KEY("gemm_depth_half",
           "inner dimension at which half of gemm_efficiency is reached [elements]", NUMBER,
           AT(gemm_depth_half), .fallback = "0", MS_RANGE(0, 1e9)),
    MS_KEY("tile_m", "rows of the output tile of one SM [elements]", INT, AT(tile_m),
           .fallback = "128", MS_RANGE(1, 65536)),
    MS_KEY("tile_n", "columns of the output tile of one SM [elements]", INT, AT(tile_n),
           .fallback = "128", MS_RANGE(1, 65536)),
    MS_KEY("expert_call",
           "time from one expert's product to the next, where each is a call of its own", QUANTITY,
           AT(products.grouped.call_s), .dimension = MS_DIM_TIME, .fallback = "0 s"),
    MS_KEY("expert_exposed",
           "share of an expert's product's memory traffic that arithmetic does not hide", NUMBER,
           AT(products.grouped.exposed), .fallback = "0", MS_RANGE(0, 1)),
    MS_KEY("fp32", "products of operands in fp32, as TF32 where the GPU has it", MAP,
           AT(products.single), .fields = MS_GPU_SINGLE_FIELDS),
    PRODUCT_FIELD("fp8", MS_PRODUCT_FP8),
    PRODUCT_FIELD("mxfp8", MS_PRODUCT_MXFP8),
    PRODUCT_FIELD("nvfp4", MS_PRODUCT_NVFP4),
    MS_KEY("attention_efficiency", "best share of the peak that fused attention reaches forward",
           NUMBER, offsetof(gpu_file, attention.own_forward), .is_required = true,
           MS_RANGE(1e-6, 1)),
    MS_KEY("attention_backward_efficiency",
           "best share of the peak that fused attention reaches backward", NUMBER,
           offsetof(gpu_file, attention.own_backward), .is_required = true, MS_RANGE(1e-6, 1)),
    MS_KEY("attention", "what generations of fused attention reach, by the size of a head", MAP,
           offsetof(gpu_file, attention.kernels), .fields = MS_GPU_ATTENTION_FIELDS),
    MS_KEY("memory_efficiency", "share of hbm_bandwidth that memory-bound kernels reach", NUMBER,
           AT(memory_efficiency), .is_required = true, MS_RANGE(1e-6, 1)),
    MS_KEY("loss_efficiency",
           "share of hbm_bandwidth that kernels of a cross entropy reach; not given: "
           "memory_efficiency",
           NUMBER, AT(kernels.loss_share), MS_RANGE(0.01, 1)),
    MS_KEY("top_k_search", "time of torch.topk for each entry of a router's rows", QUANTITY,
           AT(kernels.search_s), .dimension = MS_DIM_TIME, .fallback = "0 s"),
    MS_KEY("kernel_launch", "fixed time of each kernel beside its roofline time", QUANTITY,
           AT(kernel_launch_s), .dimension = MS_DIM_TIME, .fallback = "0 s"),
    MS_KEY("measured",
           "CSV of measured kernels: kernel,shape,time; they override what the keys above say",
           STRING, offsetof(gpu_file, measured)),
    MS_KEY("pcie", "bandwidth to or from the host, each way; an offloaded optimizer needs it",
           QUANTITY, AT(host.pcie_Bps), .dimension = MS_DIM_BANDWIDTH, MS_RANGE(1, 1e21)),
    MS_KEY("host_bandwidth",
           "a GPU's share of its host's memory bandwidth; an offloaded optimizer needs it",
           QUANTITY, AT(host.memory_Bps), .dimension = MS_DIM_BANDWIDTH, MS_RANGE(1, 1e21)),
    MS_KEY("load_power", "electrical power while it computes", QUANTITY, AT(clock.power.load_W),
           .dimension = MS_DIM_POWER, MS_RANGE(1e-3, 1e9)),
    MS_KEY("idle_power", "electrical power while it waits in the middle of a job", QUANTITY,
           AT(clock.power.idle_W), .dimension = MS_DIM_POWER, .maximum = 1e9),
    MS_KEY("compute_slowdown",
           "factor on computations while communication runs on the GPU, one or by kind", MAP, 0,
           .fields = SLOWDOWN_FIELDS, .shape = &SLOWDOWNS),
    {.key = NULL},
};
enum { FIELD_COUNT = sizeof MS_GPU_FIELDS / sizeof MS_GPU_FIELDS[0] };

/* Where GPU types are looked for. */
typedef struct type_lookup {
    const char *const *paths; /* NULL at the end */
    ms_arena *arena;
    ms_diag *diag;
} type_lookup;

/* Find the file of a GPU type.  type: node with its name or path.  *path_out: in the arena. Returns
 * MS_OK; MS_E_INPUT where there is none (reported, with the names that there are); MS_E_NOMEM. */
static ms_status find_file(const ms_node *type, const type_lookup *lookup, const char **path_out) {
    const ms_file_search search = {.folders = lookup->paths, .subfolder = "gpus/"};
    const char *looked = NULL;
    ms_status status = ms_find_yaml(type->text, &search, lookup->arena, path_out, &looked);
    if (status == MS_OK && *path_out == NULL) {
        const char *names = ms_find_yaml_names(&search, lookup->arena);
        status = ms_config_fault(
            lookup->diag, type, "gpu.type", "no GPU type '%s'%s%s%s%s%s", type->text, looked,
            ms_find_yaml_hint(type->text, &search, lookup->arena),
            names[0] == '\0' ? "" : " (known: ", names, names[0] == '\0' ? "" : ")");
    }
    return status;
}

/* Load the keys of a type's file, laid over the keys of the type on which it builds, and so on.
 * type: node with the name.  depth: of the chain, from 1.  Returns MS_OK; MS_E_INPUT (reported);
 * MS_E_IO; MS_E_NOMEM. */
static ms_status load_type(const ms_node *type, const type_lookup *lookup, int depth,
                           ms_node **keys_out) {
    if (type->type != MS_NODE_SCALAR) {
        return ms_config_fault(lookup->diag, type, "gpu.type",
                               "expected the name of a file in gpus/");
    }
    if (depth > DEPTH_MAX) {
        return ms_config_fault(lookup->diag, type, "type", "more than %d types build on each other",
                               (int)DEPTH_MAX);
    }
    const char *path = NULL;
    ms_node *file = NULL;
    ms_status status = find_file(type, lookup, &path);
    status = status == MS_OK ? ms_yaml_load(path, lookup->arena, lookup->diag, &file) : status;
    status = status == MS_OK ? ms_input_expect(file, MS_INPUT_GPU, path, lookup->diag) : status;
    const ms_node *base = status == MS_OK ? ms_node_get(file, "type") : NULL;
    if (base == NULL) {
        *keys_out = file;
        return status;
    }
    ms_node *below = NULL;
    status = load_type(base, lookup, depth + 1, &below);
    status = status == MS_OK ? ms_node_overlay(below, file, lookup->arena) : status;
    if (status == MS_OK) {
        *keys_out = below;
    }
    return status;
}

/* Read the keys of a type. compute_slowdown may be a mapping by kind of communication or one
 * number: for a number, its row in the table is replaced, and the number is stored for all
 * kinds. */
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

/* Check that load and idle power are given both or neither, and that the load power is not lower:
 * the energy of computing is counted as the difference. */
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

/* The keys of the type and of the platform are laid over each other first; then the result is read
 * and checked, so that faults are reported at the file that has the key. */
ms_status ms_gpu_read(const ms_node *mapping, const char *const *paths, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out) {
    const ms_node *type = ms_node_get(mapping, "type");
    if (type == NULL || ms_node_is_removal(type)) {
        return ms_config_fault(diag, mapping, "gpu.type",
                               "required key is missing: the name of a file in gpus/");
    }
    const type_lookup lookup = {.paths = paths, .arena = arena, .diag = diag};
    ms_node *keys = NULL;
    ms_status status = load_type(type, &lookup, 1, &keys);
    status = status == MS_OK ? ms_node_overlay(keys, mapping, arena) : status;
    if (status == MS_OK) {
        ms_config_remove_nulls(keys, MS_GPU_FIELDS);
    }
    gpu_file values = {0};
    status = status == MS_OK ? read_keys(keys, arena, diag, &values) : status;
    if (status == MS_OK) {
        status = ms_gpu_attention_store(&values.attention, ms_node_get(keys, "attention"), diag,
                                        &values.gpu);
    }
    status = status == MS_OK ? ms_gpu_products_complete(keys, diag, &values.gpu) : status;
    if (status == MS_OK && values.measured != NULL) {
        status = ms_measured_load(ms_node_get(keys, "measured"), arena, diag, &values.gpu.measured);
    }
    status = status == MS_OK ? check_power(keys, &values.gpu.clock.power, diag) : status;
    if (status == MS_OK && values.gpu.reserve_B >= values.gpu.hbm_B) {
        status = ms_config_fault(diag, ms_node_get(keys, "reserve"), "gpu.reserve",
                                 "leaves no memory: %.4g GiB of %.4g GiB are reserved",
                                 values.gpu.reserve_B / 0x1p30, values.gpu.hbm_B / 0x1p30);
    }
    if (status != MS_OK) {
        return status;
    }
    *gpu_out = values.gpu;
    *effective_out = keys;
    return MS_OK;
}
