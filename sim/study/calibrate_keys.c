/* Parameters of platforms that can be calibrated, with what is plausible for them. */
#include "study/calibrate_keys.h"

#include <math.h>
#include <string.h>

/* Ranges: shares of a data sheet's figure from a twentieth on; latencies and launches from a tenth
 * of a microsecond to what a slow Ethernet switch or a busy host takes; ramps from one chunk of
 * NCCL to the largest messages that anybody measures. */
static const ms_calibrated_value GPU_SHARE = {NULL, NULL, MS_DIM_NONE, 0.05, 1, false};
static const ms_calibrated_value LATENCY = {NULL, NULL, MS_DIM_TIME, 10e-9, 1e-3, true};
static const ms_calibrated_value LAUNCH = {NULL, NULL, MS_DIM_TIME, 0.1e-6, 1e-3, true};
static const ms_calibrated_value DEPTH = {NULL, NULL, MS_DIM_NONE, 1, 5000, true};
static const ms_calibrated_value TURN = {NULL, NULL, MS_DIM_NONE, 0, 1, false};
static const ms_calibrated_value RAMP_TIME = {NULL, NULL, MS_DIM_TIME, 1e-6, 1e-2, true};
static const ms_calibrated_value RAMP_SIZE = {NULL, NULL, MS_DIM_BYTES, 65536, 0x1p36, true};

/* A list while it is made. */
typedef struct key_lister {
    ms_arena *arena;
    ms_calibrated_value *values;
    size_t count;
    bool has_failed;
} key_lister;

static void add(key_lister *list, const ms_calibrated_value *range, const char *key,
                double *value) {
    ms_calibrated_value *added = &list->values[list->count++];
    *added = *range;
    added->key = key;
    added->value = value;
    list->has_failed = list->has_failed || key == NULL;
}

static void add_tiers(key_lister *list, ms_platform *platform) {
    for (int i = 0; i < platform->tier_count; i++) {
        ms_tier *tier = &platform->tiers[i];
        if (!isfinite(tier->bandwidth_Bps)) {
            continue; /* nothing of it can be told from times */
        }
        add(list, &GPU_SHARE, ms_arena_printf(list->arena, "tiers.%s.efficiency", tier->name),
            &tier->efficiency);
        add(list, &LATENCY, ms_arena_printf(list->arena, "tiers.%s.latency", tier->name),
            &tier->latency_s);
    }
}

static void add_library(key_lister *list, ms_gpu_generation generation, ms_library *library) {
    static const char *const NAMES[MS_GENERATIONS] = {[MS_GENERATION_VOLTA] = "volta",
                                                      [MS_GENERATION_AMPERE] = "ampere",
                                                      [MS_GENERATION_HOPPER] = "hopper",
                                                      [MS_GENERATION_BLACKWELL] = "blackwell"};
    ms_library_generation *g = &library->generations[generation];
    const struct {
        const char *key;
        const ms_calibrated_value *range;
        double *value;
    } KEYS[] = {{"overhead", &LAUNCH, &g->overhead_s},
                {"ring_turn", &TURN, &g->ring_turn},
                {"nvls_share", &GPU_SHARE, &g->nvls_share},
                {"ramp_time", &RAMP_TIME, &g->ramp.time_s},
                {"ramp_size", &RAMP_SIZE, &g->ramp.half_B}};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const char *key = ms_arena_printf(list->arena, "library.generations.%s.%s",
                                          NAMES[generation], KEYS[i].key);
        add(list, KEYS[i].range, key, KEYS[i].value);
    }
}

size_t ms_calibrated_values(ms_calibrated_platform *copy, ms_arena *arena,
                            ms_calibrated_value *values_out) {
    key_lister list = {.arena = arena, .values = values_out};
    ms_gpu_type *gpu = &copy->platform.gpu;
    add(&list, &GPU_SHARE, "gpu.gemm_efficiency", &gpu->gemm_efficiency);
    add(&list, &DEPTH, "gpu.gemm_depth_half", &gpu->gemm_depth_half);
    add(&list, &GPU_SHARE, "gpu.memory_efficiency", &gpu->memory_efficiency);
    add(&list, &LAUNCH, "gpu.kernel_launch", &gpu->kernel_launch_s);
    ms_attention_rates *own = &gpu->attention[MS_ATTENTION_FUSED];
    add(&list, &GPU_SHARE, "gpu.attention_efficiency", &own->forward.efficiency[0]);
    add(&list, &GPU_SHARE, "gpu.attention_backward_efficiency", &own->backward.efficiency[0]);
    add_tiers(&list, &copy->platform);
    if (copy->platform.library != NULL) {
        add_library(&list, gpu->generation, &copy->library);
    }
    return list.has_failed ? 0 : list.count;
}

double ms_calibrated_place(const ms_calibrated_value *value) {
    double at = fmin(fmax(*value->value, value->low), value->high);
    return value->is_logarithmic ? log(at / value->low) / log(value->high / value->low)
                                 : (at - value->low) / (value->high - value->low);
}

void ms_calibrated_set(const ms_calibrated_value *value, double place) {
    *value->value = value->is_logarithmic ? value->low * pow(value->high / value->low, place)
                                          : value->low + place * (value->high - value->low);
}

const char *ms_calibrated_text(double value, ms_dimension dimension, ms_arena *arena) {
    switch (dimension) {
    case MS_DIM_TIME:
        return ms_arena_printf(arena, "%.5g us", 1e6 * value);
    case MS_DIM_BYTES:
        return ms_arena_printf(arena, "%.0f B", value);
    default:
        return ms_arena_printf(arena, "%.5g", value);
    }
}
