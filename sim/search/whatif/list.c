/* Lists the changes that a what-if study simulates (whatif.h): "what would the step take if this
 * part of the cluster were better". A change is a name for people and the settings that make it;
 * changes of parts that the job's platform does not have are not listed. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "search/points.h"
#include "search/whatif.h"

enum {
    SETTINGS_MAX =
        2 * MS_TIER_MAX + 8, /* of one change; list_overlap has two per tier and two more */
    CHANGES_MAX = 2 * MS_TIER_MAX + 8, /* two per tier and at most seven others */
};

/* The list of changes while it grows. A lack of memory shows in the arena, which ms_whatif_list
 * checks at the end. */
typedef struct change_list {
    const ms_job *job;
    ms_arena *arena;
    ms_whatif *changes; /* [CHANGES_MAX] */
    size_t count;
} change_list;

/* Append a change without settings. change: its name for people; NULL if memory ran out. */
static void begin_change(change_list *list, const char *change) {
    const char **settings = MS_NEW(list->arena, const char *, SETTINGS_MAX);
    list->changes[list->count++] = (ms_whatif){.change = change, .settings = {.items = settings}};
}

/* Add a setting, "key=value", to the last change. key, value: NULL if memory ran out. */
static void add_setting(change_list *list, const char *key, const char *value) {
    ms_words *settings = &list->changes[list->count - 1].settings;
    const char **items = (const char **)settings->items;
    const char *text =
        key == NULL || value == NULL ? NULL : ms_point_setting(key, value, list->arena);
    if (items != NULL && text != NULL) {
        items[settings->count++] = text;
    }
}

/* A unit by its name, and its size in the SI unit of its dimension. */
typedef struct scaled_unit {
    const char *name;
    double factor;
} scaled_unit;

/* Write a value with its unit, as a file has it: in the first of the units in which ten digits,
 * read back, give exactly the same number; else in the SI unit with 17 digits, which always do.
 * value: in the SI unit. units: ends with a name of NULL. */
static const char *value_text(double value, ms_dimension dimension, const scaled_unit *units,
                              ms_arena *arena) {
    for (const scaled_unit *unit = units; unit->name != NULL; unit++) {
        const char *why = NULL;
        double back = 0.0;
        const char *text = ms_arena_printf(arena, "%.10g %s", value / unit->factor, unit->name);
        if (text != NULL && ms_unit_parse(text, dimension, &back, &why) == MS_OK && back == value) {
            return text;
        }
    }
    return ms_arena_printf(arena, "%.17g %s", value, ms_unit_si(dimension));
}

/* A bandwidth as text, in bits or bytes per second as the tier's own file gives its bandwidth. */
static const char *bandwidth_text(const ms_tier *tier, double value_Bps, ms_arena *arena) {
    static const scaled_unit BITS[] = {{"Gbit/s", 125e6}, {"Mbit/s", 125e3}, {NULL, 0}};
    static const scaled_unit BYTES[] = {{"GB/s", 1e9}, {"MB/s", 1e6}, {NULL, 0}};
    return value_text(value_Bps, MS_DIM_BANDWIDTH, tier->is_in_bits ? BITS : BYTES, arena);
}

/* The key of a network tier, such as `bandwidth` of the tier `rail`:
 * "platform.tiers.rail.bandwidth". */
static const char *tier_key(const change_list *list, const ms_tier *tier, const char *what) {
    return ms_arena_printf(list->arena, "platform.tiers.%s.%s", tier->name, what);
}

/* Add the change to twice the bandwidth of a network tier, if the bandwidth is finite, and the
 * change to no latency, if the tier has a latency. */
static void list_tier(change_list *list, const ms_tier *tier) {
    if (isfinite(tier->bandwidth_Bps)) {
        begin_change(list, ms_arena_printf(list->arena, "%s bandwidth x 2", tier->name));
        add_setting(list, tier_key(list, tier, "bandwidth"),
                    bandwidth_text(tier, 2.0 * tier->bandwidth_Bps, list->arena));
    }
    if (tier->latency_s > 0.0) {
        begin_change(list, ms_arena_printf(list->arena, "%s latency 0", tier->name));
        add_setting(list, tier_key(list, tier, "latency"), "0 s");
    }
}

/* Add the change that sets all latencies of the collectives' library to 0 (NCCL's, per algorithm:
 * one each for the protocols LL, LL128 and Simple). They are counted beside the latencies of the
 * links. */
static void list_library(change_list *list) {
    static const char NOTHING[] =
        "{tree: [0 s, 0 s, 0 s], ring: [0 s, 0 s, 0 s], collnet_direct: [0 s, 0 s, 0 s], "
        "collnet_chain: [0 s, 0 s, 0 s], nvls: [0 s, 0 s, 0 s], nvls_tree: [0 s, 0 s, 0 s], "
        "pat: [0 s, 0 s, 0 s]}";
    if (list->job->platform->library != NULL) {
        begin_change(list, "library latencies 0");
        add_setting(list, "platform.library.base_latency", NOTHING);
        add_setting(list, "platform.library.node_latency", NOTHING);
        add_setting(list, "platform.library.net_latency", NOTHING);
        add_setting(list, "platform.library.net_overhead", "[0 s, 0 s]");
    }
}

/* Add the changes to twice the GPU's peak rate, in every number format that it has, and to twice
 * the bandwidth of its memory (HBM). */
static void list_gpu(change_list *list) {
    static const scaled_unit RATES[] = {{"TFLOP/s", 1e12}, {NULL, 0}};
    static const scaled_unit BYTES[] = {{"GB/s", 1e9}, {NULL, 0}};
    const ms_gpu_type *gpu = &list->job->platform->gpu;
    const struct {
        const char *key;
        double peak_flop_per_s; /* 0: the GPU does not multiply in this format */
    } peaks[] = {{"platform.gpu.peak", gpu->peak_flop_per_s},
                 {"platform.gpu.fp8.peak", gpu->products.of[MS_PRODUCT_FP8].peak_flop_per_s},
                 {"platform.gpu.mxfp8.peak", gpu->products.of[MS_PRODUCT_MXFP8].peak_flop_per_s},
                 {"platform.gpu.nvfp4.peak", gpu->products.of[MS_PRODUCT_NVFP4].peak_flop_per_s},
                 {"platform.gpu.fp32.peak", gpu->products.single.peak_flop_per_s}};
    begin_change(list, "GPU peak x 2");
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        double twice = 2.0 * peaks[i].peak_flop_per_s;
        if (twice > 0.0) {
            add_setting(list, peaks[i].key,
                        value_text(twice, MS_DIM_FLOP_RATE, RATES, list->arena));
        }
    }
    begin_change(list, "HBM bandwidth x 2");
    add_setting(list, "platform.gpu.hbm_bandwidth",
                value_text(2.0 * gpu->hbm_Bps, MS_DIM_BANDWIDTH, BYTES, list->arena));
}

/* Add the change to communication that takes no time and does not slow computing down. No overlap
 * of communication and computing can gain more than this change. */
static void list_overlap(change_list *list) {
    const ms_platform *platform = list->job->platform;
    begin_change(list, "perfect overlap");
    for (int tier = 0; tier < platform->tier_count; tier++) {
        add_setting(list, tier_key(list, &platform->tiers[tier], "bandwidth"), "unlimited");
        add_setting(list, tier_key(list, &platform->tiers[tier], "latency"), "0 s");
    }
    if (platform->library != NULL) {
        add_setting(list, "platform.library", "none");
    }
    add_setting(list, "platform.gpu.compute_slowdown", "1");
}

/* Add the change to GPUs that are all equally fast, if the platform's GPUs differ or some of its
 * nodes are slow. */
static void list_jitter(change_list *list) {
    const ms_platform *platform = list->job->platform;
    bool has_slow_nodes =
        platform->slow_nodes.share > 0.0 && !list->job->spec.host.replaces_slow_nodes;
    if (platform->gpu.clock.spread > 0.0 || has_slow_nodes) {
        begin_change(list, "no jitter");
        add_setting(list, "platform.gpu.spread", "0");
        if (has_slow_nodes) {
            add_setting(list, "platform.slow_nodes", "{share: 0, time: 1}");
        }
    }
}

/* Add the changes to twice the memory with less recomputation: with none and, if everything is
 * recomputed now, with selective recomputation. The setting of the memory comes last in each
 * change, because ms_whatif_run removes the last setting where the memory is not needed. */
static void list_memory(change_list *list) {
    static const scaled_unit BYTES[] = {{"GiB", 0x1p30}, {"GB", 1e9}, {NULL, 0}};
    const ms_model_layout *now = &list->job->spec.choices;
    const char *hbm =
        value_text(2.0 * list->job->platform->gpu.hbm_B, MS_DIM_BYTES, BYTES, list->arena);
    for (int less = 0; less < 2; less++) { /* none, then selective */
        if (now->recompute == MS_RECOMPUTE_NONE ||
            (less == 1 && now->recompute != MS_RECOMPUTE_FULL)) {
            continue;
        }
        const char *kind =
            ms_job_spec_words("recompute")[less == 0 ? MS_RECOMPUTE_NONE : MS_RECOMPUTE_SELECTIVE];
        begin_change(list, ms_arena_printf(list->arena, "memory x 2, recompute %s", kind));
        add_setting(list, "recompute", kind);
        if (now->recompute_layers > 0) {
            add_setting(list, "recompute_layers", "0");
        }
        add_setting(list, "platform.gpu.hbm", hbm);
    }
}

/* Changes of the GPU, its speed and its memory need a model: without one the workload gives the
 * times of passes. */
ms_status ms_whatif_list(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_whatif **changes_out,
                         size_t *count_out) {
    change_list list = {
        .job = job, .arena = arena, .changes = MS_NEW(arena, ms_whatif, CHANGES_MAX)};
    if (list.changes == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int tier = 0; tier < job->platform->tier_count; tier++) {
        list_tier(&list, &job->platform->tiers[tier]);
    }
    list_library(&list);
    if (job->spec.has_model) {
        list_gpu(&list);
    }
    list_overlap(&list);
    if (job->spec.has_model) {
        list_jitter(&list);
        list_memory(&list);
    }
    if (arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    *changes_out = list.changes;
    *count_out = list.count;
    return MS_OK;
}
