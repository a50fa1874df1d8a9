/* Which changes a job's platform has a place for. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "search/points.h"
#include "search/whatif.h"

enum {
    SETTINGS_MAX = 2 * MS_TIER_MAX + 8, /* of one change */
    CHANGES_MAX = 2 * MS_TIER_MAX + 8,
};

/* A list under way; memory that runs out shows at its end. */
typedef struct change_list {
    const ms_job *job;
    ms_arena *arena;
    ms_whatif *changes; /* [CHANGES_MAX] */
    size_t count;
} change_list;

/* A change without settings. */
static void begin(change_list *l, const char *change) {
    const char **settings = MS_NEW(l->arena, const char *, SETTINGS_MAX);
    l->changes[l->count++] = (ms_whatif){.change = change, .settings = {.items = settings}};
}

/* One more setting of the change that was begun last. */
static void set(change_list *l, const char *key, const char *value) {
    ms_words *settings = &l->changes[l->count - 1].settings;
    const char **items = (const char **)settings->items;
    const char *text = key == NULL || value == NULL ? NULL : ms_point_setting(key, value, l->arena);
    if (items != NULL && text != NULL) {
        items[settings->count++] = text;
    }
}

/* A unit that numbers are read in, and how many of its dimension's SI unit it has. */
typedef struct scaled_unit {
    const char *name;
    double factor;
} scaled_unit;

/* A value as a file has it: in the first unit that gives it back to the last bit with few digits.
 */
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

static const char *bandwidth_text(const ms_tier *tier, double value_Bps, ms_arena *arena) {
    static const scaled_unit BITS[] = {{"Gbit/s", 125e6}, {"Mbit/s", 125e3}, {NULL, 0}};
    static const scaled_unit BYTES[] = {{"GB/s", 1e9}, {"MB/s", 1e6}, {NULL, 0}};
    return value_text(value_Bps, MS_DIM_BANDWIDTH, tier->is_in_bits ? BITS : BYTES, arena);
}

static const char *tier_key(const change_list *l, const ms_tier *tier, const char *what) {
    return ms_arena_printf(l->arena, "platform.tiers.%s.%s", tier->name, what);
}

static void list_tier(change_list *l, const ms_tier *tier) {
    if (isfinite(tier->bandwidth_Bps)) {
        begin(l, ms_arena_printf(l->arena, "%s bandwidth x 2", tier->name));
        set(l, tier_key(l, tier, "bandwidth"),
            bandwidth_text(tier, 2.0 * tier->bandwidth_Bps, l->arena));
    }
    if (tier->latency_s > 0.0) {
        begin(l, ms_arena_printf(l->arena, "%s latency 0", tier->name));
        set(l, tier_key(l, tier, "latency"), "0 s");
    }
}

/* Latencies that the library has of collectives, whatever the links'. */
static void list_library(change_list *l) {
    static const char NOTHING[] =
        "{tree: [0 s, 0 s, 0 s], ring: [0 s, 0 s, 0 s], collnet_direct: [0 s, 0 s, 0 s], "
        "collnet_chain: [0 s, 0 s, 0 s], nvls: [0 s, 0 s, 0 s], nvls_tree: [0 s, 0 s, 0 s], "
        "pat: [0 s, 0 s, 0 s]}";
    if (l->job->platform->library != NULL) {
        begin(l, "library latencies 0");
        set(l, "platform.library.base_latency", NOTHING);
        set(l, "platform.library.node_latency", NOTHING);
        set(l, "platform.library.net_latency", NOTHING);
        set(l, "platform.library.net_overhead", "[0 s, 0 s]");
    }
}

static void list_gpu(change_list *l) {
    static const scaled_unit RATES[] = {{"TFLOP/s", 1e12}, {NULL, 0}};
    static const scaled_unit BYTES[] = {{"GB/s", 1e9}, {NULL, 0}};
    const ms_gpu_type *gpu = &l->job->platform->gpu;
    const struct {
        const char *key;
        double peak_flop_per_s; /* 0: the GPU has no such products */
    } peaks[] = {{"platform.gpu.peak", gpu->peak_flop_per_s},
                 {"platform.gpu.fp8.peak", gpu->products.of[MS_PRODUCT_FP8].peak_flop_per_s},
                 {"platform.gpu.mxfp8.peak", gpu->products.of[MS_PRODUCT_MXFP8].peak_flop_per_s},
                 {"platform.gpu.nvfp4.peak", gpu->products.of[MS_PRODUCT_NVFP4].peak_flop_per_s},
                 {"platform.gpu.fp32.peak", gpu->products.single.peak_flop_per_s}};
    begin(l, "GPU peak x 2");
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        double twice = 2.0 * peaks[i].peak_flop_per_s;
        if (twice > 0.0) {
            set(l, peaks[i].key, value_text(twice, MS_DIM_FLOP_RATE, RATES, l->arena));
        }
    }
    begin(l, "HBM bandwidth x 2");
    set(l, "platform.gpu.hbm_bandwidth",
        value_text(2.0 * gpu->hbm_Bps, MS_DIM_BANDWIDTH, BYTES, l->arena));
}

/* Communication that takes no time: no overlap hides more. */
static void list_overlap(change_list *l) {
    const ms_platform *platform = l->job->platform;
    begin(l, "perfect overlap");
    for (int t = 0; t < platform->tier_count; t++) {
        set(l, tier_key(l, &platform->tiers[t], "bandwidth"), "unlimited");
        set(l, tier_key(l, &platform->tiers[t], "latency"), "0 s");
    }
    if (platform->library != NULL) {
        set(l, "platform.library", "none");
    }
    set(l, "platform.gpu.compute_slowdown", "1");
}

static void list_jitter(change_list *l) {
    const ms_platform *platform = l->job->platform;
    bool has_slow_nodes =
        platform->slow_nodes.share > 0.0 && !l->job->spec.host.replaces_slow_nodes;
    if (platform->gpu.clock.spread > 0.0 || has_slow_nodes) {
        begin(l, "no jitter");
        set(l, "platform.gpu.spread", "0");
        if (has_slow_nodes) {
            set(l, "platform.slow_nodes", "{share: 0, time: 1}");
        }
    }
}

/* Twice the memory, for less recomputation. */
static void list_memory(change_list *l) {
    static const scaled_unit BYTES[] = {{"GiB", 0x1p30}, {"GB", 1e9}, {NULL, 0}};
    const ms_model_layout *now = &l->job->spec.choices;
    const char *hbm = value_text(2.0 * l->job->platform->gpu.hbm_B, MS_DIM_BYTES, BYTES, l->arena);
    for (int less = 0; less < 2; less++) { /* none, then selective */
        if (now->recompute == MS_RECOMPUTE_NONE ||
            (less == 1 && now->recompute != MS_RECOMPUTE_FULL)) {
            continue;
        }
        const char *kind =
            ms_job_spec_words("recompute")[less == 0 ? MS_RECOMPUTE_NONE : MS_RECOMPUTE_SELECTIVE];
        begin(l, ms_arena_printf(l->arena, "memory x 2, recompute %s", kind));
        set(l, "recompute", kind);
        if (now->recompute_layers > 0) {
            set(l, "recompute_layers", "0");
        }
        set(l, "platform.gpu.hbm", hbm); /* the last one: it goes where it is not needed */
    }
}

ms_status ms_whatif_list(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_whatif **changes_out,
                         size_t *count_out) {
    change_list l = {.job = job, .arena = arena, .changes = MS_NEW(arena, ms_whatif, CHANGES_MAX)};
    if (l.changes == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int t = 0; t < job->platform->tier_count; t++) {
        list_tier(&l, &job->platform->tiers[t]);
    }
    list_library(&l);
    if (job->spec.has_model) {
        list_gpu(&l);
    }
    list_overlap(&l);
    if (job->spec.has_model) {
        list_jitter(&l);
        list_memory(&l);
    }
    if (arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    *changes_out = l.changes;
    *count_out = l.count;
    return MS_OK;
}
