/* What a kernel does, by its name: the only thing that every trace has of it. */
#include "study/kineto/classes.h"

#include <ctype.h>
#include <string.h>

const char *ms_kineto_class_name(ms_kineto_class class) {
    static const char *const NAMES[MS_KINETO_CLASS_COUNT] = {
        [MS_KINETO_GEMM] = "gemm",
        [MS_KINETO_ATTENTION] = "attention",
        [MS_KINETO_ELEMENTWISE] = "elementwise",
        [MS_KINETO_EMBEDDING] = "embedding",
        [MS_KINETO_LOSS] = "loss",
        [MS_KINETO_OPTIMIZER] = "optimizer",
        [MS_KINETO_OTHER] = "other",
        [MS_KINETO_COMMUNICATION] = "communication",
        [MS_KINETO_COPY] = "copy",
    };
    return NAMES[class];
}

/* Parts of names, without capitals; the first one that a name has decides. Templates name what they
 * are made for, so that the narrower word comes first: FlashAttention is made of CUTLASS, a rotary
 * embedding is no embedding. Sources: kernels of PyTorch (ATen/native/cuda), cuBLAS (nvjet, xmma,
 * cutlass, gemv), FlashAttention, Transformer Engine (common/), Apex (csrc/), NCCL (src/device),
 * Triton's names of Inductor (triton_poi_, triton_red_, triton_per_, triton_tem_), Tensile (Cijk_).
 */
static const struct {
    const char *part;
    ms_kineto_class class;
} PARTS[] = {
    {"nccl", MS_KINETO_COMMUNICATION},
    {"rccl", MS_KINETO_COMMUNICATION},
    {"nvshmem", MS_KINETO_COMMUNICATION},
    {"deep_ep", MS_KINETO_COMMUNICATION},
    {"userbuffers", MS_KINETO_COMMUNICATION},
    {"multimem_all", MS_KINETO_COMMUNICATION},
    {"one_shot_all_reduce", MS_KINETO_COMMUNICATION},
    {"two_shot_all_reduce", MS_KINETO_COMMUNICATION},
    {"cross_device_reduce", MS_KINETO_COMMUNICATION},
    {"multi_tensor_apply", MS_KINETO_OPTIMIZER},
    {"adam", MS_KINETO_OPTIMIZER},
    {"l2norm", MS_KINETO_OPTIMIZER},
    {"muon", MS_KINETO_OPTIMIZER},
    {"rotary", MS_KINETO_ELEMENTWISE},
    {"rope", MS_KINETO_ELEMENTWISE},
    {"flash", MS_KINETO_ATTENTION},
    {"fmha", MS_KINETO_ATTENTION},
    {"attention", MS_KINETO_ATTENTION},
    {"attn", MS_KINETO_ATTENTION},
    {"sdpa", MS_KINETO_ATTENTION},
    {"masked_softmax", MS_KINETO_ATTENTION},
    {"cross_entropy", MS_KINETO_LOSS},
    {"crossentropy", MS_KINETO_LOSS},
    {"nll_loss", MS_KINETO_LOSS},
    {"nllloss", MS_KINETO_LOSS},
    {"logsoftmax", MS_KINETO_LOSS},
    {"log_softmax", MS_KINETO_LOSS},
    {"embedding", MS_KINETO_EMBEDDING},
    {"indexselect", MS_KINETO_EMBEDDING},
    {"vectorized_gather", MS_KINETO_EMBEDDING},
    {"compute_grad_weight", MS_KINETO_EMBEDDING},
    {"sum_and_scatter", MS_KINETO_EMBEDDING},
    {"krn_partial", MS_KINETO_EMBEDDING},
    {"norm_", MS_KINETO_ELEMENTWISE},
    {"layernorm", MS_KINETO_ELEMENTWISE},
    {"layer_norm", MS_KINETO_ELEMENTWISE},
    {"rmsnorm", MS_KINETO_ELEMENTWISE},
    {"rms_norm", MS_KINETO_ELEMENTWISE},
    {"ln_fwd", MS_KINETO_ELEMENTWISE},
    {"ln_bwd", MS_KINETO_ELEMENTWISE},
    {"bn_fw", MS_KINETO_ELEMENTWISE}, /* of convolutions, as cuDNN names theirs */
    {"bn_bw", MS_KINETO_ELEMENTWISE},
    {"cudnn_128", MS_KINETO_GEMM},
    {"winograd", MS_KINETO_GEMM},
    {"convolve", MS_KINETO_GEMM},
    {"wgrad", MS_KINETO_GEMM},
    {"dgrad", MS_KINETO_GEMM},
    {"gemm", MS_KINETO_GEMM},
    {"nvjet", MS_KINETO_GEMM},
    {"xmma", MS_KINETO_GEMM},
    {"cutlass", MS_KINETO_GEMM},
    {"cublas", MS_KINETO_GEMM},
    {"splitk", MS_KINETO_GEMM},
    {"gemv", MS_KINETO_GEMM},
    {"cijk_", MS_KINETO_GEMM},
    {"matmul", MS_KINETO_GEMM},
    {"grouped_mm", MS_KINETO_GEMM},
    {"triton_tem_fused_mm", MS_KINETO_GEMM},
    {"triton_tem_fused_addmm", MS_KINETO_GEMM},
    {"triton_tem_fused_bmm", MS_KINETO_GEMM},
    {"elementwise", MS_KINETO_ELEMENTWISE},
    {"triton_poi", MS_KINETO_ELEMENTWISE},
    {"triton_red", MS_KINETO_ELEMENTWISE},
    {"triton_per", MS_KINETO_ELEMENTWISE},
    {"vectorized", MS_KINETO_ELEMENTWISE},
    {"unrolled", MS_KINETO_ELEMENTWISE},
    {"reduce", MS_KINETO_ELEMENTWISE},
    {"catarray", MS_KINETO_ELEMENTWISE},
    {"copy", MS_KINETO_ELEMENTWISE},
    {"cast", MS_KINETO_ELEMENTWISE},
    {"transpose", MS_KINETO_ELEMENTWISE},
    {"dropout", MS_KINETO_ELEMENTWISE},
    {"gelu", MS_KINETO_ELEMENTWISE},
    {"silu", MS_KINETO_ELEMENTWISE},
    {"swiglu", MS_KINETO_ELEMENTWISE},
    {"relu", MS_KINETO_ELEMENTWISE},
    {"gated", MS_KINETO_ELEMENTWISE},
    {"softmax", MS_KINETO_ELEMENTWISE},
    {"permute", MS_KINETO_ELEMENTWISE},
    {"scatter", MS_KINETO_ELEMENTWISE},
    {"gather", MS_KINETO_ELEMENTWISE},
    {"index", MS_KINETO_ELEMENTWISE},
    {"topk", MS_KINETO_ELEMENTWISE},
    {"sort", MS_KINETO_ELEMENTWISE},
    {"scan", MS_KINETO_ELEMENTWISE},
    {"fill", MS_KINETO_ELEMENTWISE},
    {"amax", MS_KINETO_ELEMENTWISE},
    {"quantize", MS_KINETO_ELEMENTWISE},
};

/* Whether `part`, without capitals, stands in a name. */
static bool has_part(const char *name, size_t length, const char *part) {
    size_t part_B = strlen(part);
    for (size_t at = 0; at + part_B <= length; at++) {
        size_t same = 0;
        while (same < part_B && tolower((unsigned char)name[at + same]) == part[same]) {
            same++;
        }
        if (same == part_B) {
            return true;
        }
    }
    return false;
}

ms_kineto_class ms_kineto_class_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        if (has_part(name, length, PARTS[i].part)) {
            return PARTS[i].class;
        }
    }
    return MS_KINETO_OTHER;
}

/* Likewise. The first names are those that c10d's ProcessGroupNCCL gives record_param_comms, the
 * others parts of NCCL's kernels. */
ms_coll_kind ms_kineto_coll_of(const char *name) {
    static const struct {
        const char *part;
        ms_coll_kind kind;
    } KINDS[] = {
        {"reduce_scatter", MS_COLL_REDUCE_SCATTER},
        {"reducescatter", MS_COLL_REDUCE_SCATTER},
        {"allreduce", MS_COLL_ALL_REDUCE},
        {"all_reduce", MS_COLL_ALL_REDUCE},
        {"allgather", MS_COLL_ALL_GATHER},
        {"all_gather", MS_COLL_ALL_GATHER},
        {"all_to_all", MS_COLL_ALL_TO_ALL},
        {"alltoall", MS_COLL_ALL_TO_ALL},
        {"broadcast", MS_COLL_BROADCAST},
        {"send", MS_COLL_P2P},
        {"recv", MS_COLL_P2P},
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (has_part(name, length, KINDS[i].part)) {
            return KINDS[i].kind;
        }
    }
    return MS_COLL_NONE;
}

/* Bytes of an element. Source: c10's names of scalar types, and CUDA's in kernels' operators. */
int ms_kineto_type_B(const char *type) {
    static const struct {
        const char *part;
        int bytes;
    } TYPES[] = {
        {"float8", 1}, {"bfloat16", 2}, {"half", 2}, {"double", 8}, {"long", 8}, {"float", 4},
        {"short", 2},  {"byte", 1},     {"char", 1}, {"bool", 1},   {"int", 4},
    };
    size_t length = strlen(type);
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (has_part(type, length, TYPES[i].part)) {
            return TYPES[i].bytes;
        }
    }
    return 0;
}
