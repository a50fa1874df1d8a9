/* Products of more and of fewer bits than 16 of a GPU type. */
#include "platform/gpu_products.h"

#include <stddef.h>

#define AT(member) offsetof(ms_product_rate, member)

#define CASTS_FIELD(key_, generation_)                                                             \
    {                                                                                              \
        .key = (key_), .type = MS_FIELD_NUMBER, .offset = (generation_) * sizeof(double),          \
        .minimum = 0.01, .maximum = 1,                                                             \
        .help = "share of hbm_bandwidth that such kernels of " key_                                \
                " reach; not given: memory_efficiency"                                             \
    }

static const ms_field CASTS_FIELDS[] = {
    CASTS_FIELD("transformer_engine_1", MS_CASTS_TRANSFORMER_ENGINE_1),
    CASTS_FIELD("torch_compile", MS_CASTS_TORCH_COMPILE),
    {.key = NULL},
};

#define PEAK_FIELD                                                                                 \
    {                                                                                              \
        .key = "peak", .type = MS_FIELD_QUANTITY, .dimension = MS_DIM_FLOP_RATE,                   \
        .offset = AT(peak_flop_per_s), .minimum = 1e6, .maximum = 1e21,                            \
        .help = "dense matrix peak in this format, without sparsity"                               \
    }

#define EFFICIENCY_FIELD                                                                           \
    {                                                                                              \
        .key = "gemm_efficiency", .type = MS_FIELD_NUMBER, .offset = AT(gemm_efficiency),          \
        .minimum = 1e-6, .maximum = 1,                                                             \
        .help = "best share of that peak that a large matrix product reaches; not given: the "     \
                "type's"                                                                           \
    }

#define CLOCK_FIELD                                                                                \
    {                                                                                              \
        .key = "sustained_clock", .type = MS_FIELD_NUMBER, .offset = AT(sustained_clock),          \
        .minimum = 0.1, .maximum = 1,                                                              \
        .help = "share of the peak's clock held under the power limit; not given: the type's"      \
    }

const ms_field MS_GPU_SINGLE_FIELDS[] = {PEAK_FIELD, EFFICIENCY_FIELD, CLOCK_FIELD, {.key = NULL}};

const ms_field MS_GPU_PRODUCT_FIELDS[] = {
    PEAK_FIELD,
    EFFICIENCY_FIELD,
    {.key = "blockwise_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(blockwise_efficiency),
     .minimum = 1e-6,
     .maximum = 1,
     .help = "the same of products with scales of blocks; not given: as others"},
    {.key = "blockwise_weight_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(blockwise_weight_efficiency),
     .minimum = 1e-6,
     .maximum = 1,
     .help = "the same of weight gradients, whose operands both have scales of rows of blocks; "
             "not given: as other products with scales of blocks"},
    {.key = "rowwise_efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = AT(rowwise_efficiency),
     .minimum = 1e-6,
     .maximum = 1,
     .help = "the same of products with scales of rows; not given: as others"},
    CLOCK_FIELD,
    {.key = "transposing_casts",
     .type = MS_FIELD_MAP,
     .offset = AT(transposing_casts),
     .fields = CASTS_FIELDS,
     .help = "casts that write a tensor's transposed form, by generation of kernels"},
    {.key = "layouts",
     .type = MS_FIELD_ENUM,
     .offset = AT(layouts),
     .words = (const char *const[]){"any", "tn", NULL},
     .help = "operands that products take: any, or contiguous along the inner dimension only"},
    {.key = NULL}};

/* Let the type's own figures hold where a mapping is silent. */
static ms_status take_rate(const ms_node *mapping, const char *name, ms_diag *diag,
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

ms_status ms_gpu_products_take(const ms_node *keys, ms_diag *diag, ms_gpu_type *gpu) {
    const struct {
        const char *name;
        ms_product_rate *rate;
    } RATES[] = {{"fp32", &gpu->products.single},
                 {"fp8", &gpu->products.of[MS_PRODUCT_FP8]},
                 {"mxfp8", &gpu->products.of[MS_PRODUCT_MXFP8]},
                 {"nvfp4", &gpu->products.of[MS_PRODUCT_NVFP4]}};
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < sizeof RATES / sizeof RATES[0]; i++) {
        status =
            take_rate(ms_node_get(keys, RATES[i].name), RATES[i].name, diag, gpu, RATES[i].rate);
    }
    return status;
}
