/* Reads the rates of a GPU type's matrix products in formats of more and of fewer bits than 16
 * (gpu_products.h). */
#include "cluster/platform/gpu_products.h"

#include <stddef.h>

#define AT(member) offsetof(ms_product_rate, member)

#define CASTS_FIELD(key_, generation_)                                                             \
    MS_KEY((key_),                                                                                 \
           "share of hbm_bandwidth that such kernels of " key_                                     \
           " reach; not given: memory_efficiency",                                                 \
           NUMBER, (generation_) * sizeof(double), MS_RANGE(0.01, 1))

static const ms_field CASTS_FIELDS[] = {
    CASTS_FIELD("transformer_engine_1", MS_CASTS_TRANSFORMER_ENGINE_1),
    CASTS_FIELD("torch_compile", MS_CASTS_TORCH_COMPILE),
    {.key = NULL},
};

#define PEAK_FIELD                                                                                 \
    MS_KEY("peak", "dense matrix peak in this format, without sparsity", QUANTITY,                 \
           AT(peak_flop_per_s), .dimension = MS_DIM_FLOP_RATE, MS_RANGE(1e6, 1e21))

#define EFFICIENCY_FIELD                                                                           \
    MS_KEY("gemm_efficiency",                                                                      \
           "best share of that peak that a large matrix product reaches; not given: the type's",   \
           NUMBER, AT(gemm_efficiency), MS_RANGE(1e-6, 1))

#define CLOCK_FIELD                                                                                \
    MS_KEY("sustained_clock",                                                                      \
           "share of the peak's clock held under the power limit; not given: the type's", NUMBER,  \
           AT(sustained_clock), MS_RANGE(0.1, 1))

const ms_field MS_GPU_SINGLE_FIELDS[] = {PEAK_FIELD, EFFICIENCY_FIELD, CLOCK_FIELD, {.key = NULL}};

const ms_field MS_GPU_PRODUCT_FIELDS[] = {
    PEAK_FIELD,
    EFFICIENCY_FIELD,
    MS_KEY("blockwise_efficiency",
           "the same of products with scales of blocks; not given: as others", NUMBER,
           AT(blockwise_efficiency), MS_RANGE(1e-6, 1)),
    MS_KEY("blockwise_weight_efficiency",
           "the same of weight gradients, whose operands both have scales of rows of blocks; not "
           "given: as other products with scales of blocks",
           NUMBER, AT(blockwise_weight_efficiency), MS_RANGE(1e-6, 1)),
    MS_KEY("rowwise_efficiency", "the same of products with scales of rows; not given: as others",
           NUMBER, AT(rowwise_efficiency), MS_RANGE(1e-6, 1)),
    CLOCK_FIELD,
    MS_KEY("transposing_casts",
           "casts that write a tensor's transposed form, by generation of kernels", MAP,
           AT(transposing_casts), .fields = CASTS_FIELDS),
    MS_KEY("layouts",
           "operands that products take: any, or contiguous along the inner dimension only", ENUM,
           AT(layouts), .words = MS_WORDS("any", "tn")),
    {.key = NULL}};

/* Check the rate of a format, and fill in the type's own efficiency and clock where its mapping has
 * none.  mapping: NULL: the GPU has no such products.  Returns MS_OK; MS_E_INPUT (reported). */
static ms_status complete_rate(const ms_node *mapping, const char *name, ms_diag *diag,
                               const ms_gpu_type *gpu, ms_product_rate *rate) {
    if (mapping != NULL && rate->peak_flop_per_s <= 0) {
        return ms_config_fault(diag, mapping, "gpu",
                               "%s: required key 'peak' is missing: the dense peak in it", name);
    }
    if (rate->gemm_efficiency <= 0) {
        rate->gemm_efficiency = gpu->gemm_efficiency;
    }
    if (rate->sustained_clock <= 0) {
        rate->sustained_clock = gpu->clock.sustained;
    }
    return MS_OK;
}

ms_status ms_gpu_products_complete(const ms_node *keys, ms_diag *diag, ms_gpu_type *gpu) {
    const struct {
        const char *name;
        ms_product_rate *rate;
    } RATES[] = {{"fp32", &gpu->products.single},
                 {"fp8", &gpu->products.of[MS_PRODUCT_FP8]},
                 {"mxfp8", &gpu->products.of[MS_PRODUCT_MXFP8]},
                 {"nvfp4", &gpu->products.of[MS_PRODUCT_NVFP4]}};
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < sizeof RATES / sizeof RATES[0]; i++) {
        status = complete_rate(ms_node_get(keys, RATES[i].name), RATES[i].name, diag, gpu,
                               RATES[i].rate);
    }
    return status;
}
