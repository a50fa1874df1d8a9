/* Which cluster a case ran on: a platform by the words of its source, with the rates and nodes that
 * the source publishes. */
#include <math.h>
#include <string.h>

#include "study/cases_rules.h"

/* A platform by what a source calls its GPU, and where that leaves several, its network. */
typedef struct ms_cluster_row {
    const char *gpu;      /* part of the GPU's name */
    const char *network;  /* part of the network's; NULL: any */
    const char *file;     /* NULL: there is none yet */
    const char *gpu_type; /* NULL: the platform's own */
} ms_cluster_row;

static const ms_cluster_row CLUSTERS[] = {
    {"PCIe", NULL, NULL, NULL},
    {"40GB", NULL, "dgx-a100", "a100-sxm4-40gb"}, /* no other GPU has so much */
    {"40 GB", NULL, "dgx-a100", "a100-sxm4-40gb"},
    {"80GB", "DGX A100 SuperPOD", "dgx-a100", NULL},
    {"A100", "DGX A100 SuperPOD", "dgx-a100", "a100-sxm4-40gb"}, /* of 2020: others say 80GB */
    {"A100", "Selene", "selene-a100", NULL},
    {"A100", "Omni-Path", "jean-zay-a100", NULL},
    {"A100", "4x HDR200", "hdr4-a100", NULL},
    {"A100", "4xHDR", "hdr4-a100", NULL},
    {"Ampere GPUs", "Clos, Tomahawk 4", "bytedance-a100", NULL},
    {"A100", NULL, "dgx-a100", NULL},
    {"a100", NULL, "dgx-a100", NULL},
    {"A800", NULL, "dgx-a100", NULL}, /* an A100 with two thirds of its NVLinks */
    {"V100", NULL, "dgx2-v100", NULL},
    {"H100-SXM5 96GB", NULL, "meta-roce-h100", "h100-sxm5-96gb"},
    {"H100", "RoCE", "meta-roce-h100", NULL},
    {"H200", NULL, "dgx-h200", NULL},
    {"H100", NULL, "dgx-h100", NULL},
    {"H800", NULL, "h800", NULL},
    {"GB200", NULL, "gb200-nvl72", NULL},
    {"B200", "EFA", "p6-b200", NULL},
    {"B200", "stas00/ml-engineering", "p6-b200", NULL}, /* its B200 are AWS's P6-B200 */
    {"B200", NULL, "dgx-b200", NULL},
    {"MI300X", NULL, "mi300x", NULL},
    {"TPU-v4", NULL, "tpu-v4-palm", NULL},
    {"TPU v4", NULL, "tpu-v4-palm", NULL},
    {"TPUv4", NULL, "tpu-v4-palm", NULL},
};

static const ms_cluster_row *cluster_of(const ms_case_system *system) {
    for (size_t i = 0; i < sizeof CLUSTERS / sizeof CLUSTERS[0]; i++) {
        const ms_cluster_row *row = &CLUSTERS[i];
        bool has_network = row->network == NULL || ms_case_says(system->network, row->network);
        if (ms_case_says(system->gpu, row->gpu) && has_network) {
            return row;
        }
    }
    return NULL;
}

/* ---- what a source publishes of its nodes and links ---- */

/* What data sheets round: a rate within it is the platform's. */
static const double RATE_TOLERANCE = 0.02;

/* NVLinks of an A800, as of an H800, one direction [B/s]. Source: NVIDIA A800 data sheet, 400 GB/s
 * in both directions together. */
static const double A800_NVLINK_BPS = 200e9;

static bool is_other_rate(double published_Bps, double own_Bps) {
    return published_Bps > 0 && own_Bps > 0 &&
           fabs(published_Bps - own_Bps) > RATE_TOLERANCE * own_Bps;
}

/* A part of the cluster that a source says otherwise than its platform has it, as overrides. */
typedef struct cluster_changes {
    const ms_platform *own; /* as its file has it */
    const ms_case_system *system;
    ms_arena *arena;
    ms_words sets;
    bool is_short;
} cluster_changes;

enum { NODE_CHANGES = 2 }; /* beside one per tier */

static void change(cluster_changes *changes, const char *set) {
    changes->is_short = changes->is_short || set == NULL;
    changes->sets.items[changes->sets.count++] = set;
}

static void change_rate(cluster_changes *changes, int tier, double bandwidth_Bps) {
    change(changes, ms_arena_printf(changes->arena, "tiers.%s.bandwidth=%.9g B/s",
                                    changes->own->tiers[tier].name, bandwidth_Bps));
}

/* Nodes of so many GPUs, with their share of the NICs. Where NVLink joins more than a node, its
 * domain is what platforms call one. */
static void change_node(cluster_changes *changes) {
    const ms_case_system *system = changes->system;
    int own = changes->own->gpus_per_node, own_nics = changes->own->nics_per_node;
    int gpus = system->nvlink_gpus > 0 ? system->nvlink_gpus : system->node_gpus;
    bool is_tray = system->nvlink_gpus == 0 && ms_case_says(system->gpu, "GB200");
    if (gpus == 0 || gpus == own || is_tray) {
        return;
    }
    int nics = (int)((long)own_nics * gpus / own);
    change(changes, ms_arena_printf(changes->arena, "node.gpus=%d", gpus));
    change(changes, ms_arena_printf(changes->arena, "node.nics=%d", nics == 0 ? 1 : nics));
}

static void change_nvlink(cluster_changes *changes) {
    double published_Bps = changes->system->nvlink_Bps;
    if (published_Bps == 0 && ms_case_says(changes->system->gpu, "A800")) {
        published_Bps = A800_NVLINK_BPS;
    }
    if (is_other_rate(published_Bps, changes->own->tiers[0].bandwidth_Bps)) {
        change_rate(changes, 0, published_Bps);
    }
}

/* What a GPU has of its node's ports [B/s]; 0: the platform has none. */
static double network_Bps(const ms_platform *platform) {
    bool has_network = platform->tier_count > 1 && platform->nics_per_node > 0;
    return has_network ? platform->tiers[1].bandwidth_Bps * platform->nics_per_node /
                             platform->gpus_per_node
                       : 0;
}

bool ms_case_has_other_network(const ms_case_system *system, const ms_platform *platform) {
    return is_other_rate(system->nic_Bps, network_Bps(platform));
}

/* A fabric of the same build, at the rate that a GPU has of its node's ports. */
static void change_network(cluster_changes *changes) {
    const ms_platform *own = changes->own;
    if (!ms_case_has_other_network(changes->system, own)) {
        return;
    }
    double share = changes->system->nic_Bps / network_Bps(own);
    for (int t = 1; t < own->tier_count; t++) {
        change_rate(changes, t, own->tiers[t].bandwidth_Bps * share);
    }
}

/* What a source says otherwise. Only of nodes of NVLink with NICs: what a node or a link is on
 * others, sources say in too many ways.  Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status find_changes(const ms_case_rules *rules, const ms_platform *own,
                              const ms_case_system *system, ms_words *sets_out) {
    cluster_changes changes = {.own = own, .system = system, .arena = rules->arena};
    changes.sets.items = MS_NEW(rules->arena, const char *, NODE_CHANGES + (size_t)own->tier_count);
    bool is_usual = network_Bps(own) > 0 && strcmp(own->tiers[0].name, "nvlink") == 0;
    if (changes.sets.items != NULL && is_usual) {
        change_node(&changes);
        change_nvlink(&changes);
        change_network(&changes);
    }
    *sets_out = changes.sets;
    return changes.sets.items == NULL || changes.is_short ? ms_diag_no_memory(rules->diag) : MS_OK;
}

/* ---- loading ---- */

static const char ANY_TIER[] = "tiers.*.";
enum { ANY_TIER_LENGTH = sizeof ANY_TIER - 1 };

ms_status ms_case_spread_sets(const ms_case_rules *rules, const ms_platform *platform,
                              ms_words *sets_out) {
    size_t most = rules->platform_sets.count * (size_t)platform->tier_count;
    *sets_out = (ms_words){.items = MS_NEW(rules->arena, const char *, most)};
    bool has_all = sets_out->items != NULL;
    for (size_t i = 0; i < rules->platform_sets.count && has_all; i++) {
        const char *set = rules->platform_sets.items[i];
        bool is_any = strncmp(set, ANY_TIER, ANY_TIER_LENGTH) == 0;
        for (int t = 0; t < (is_any ? platform->tier_count : 1) && has_all; t++) {
            const char *one = is_any
                                  ? ms_arena_printf(rules->arena, "tiers.%s.%s",
                                                    platform->tiers[t].name, set + ANY_TIER_LENGTH)
                                  : set;
            sets_out->items[sets_out->count++] = one;
            has_all = one != NULL;
        }
    }
    return has_all ? MS_OK : ms_diag_no_memory(rules->diag);
}

/* What a source publishes otherwise than a platform has it, and behind that what the user does.
 *  own: as its file has it. */
static ms_status find_sets(const ms_case_rules *rules, const ms_platform *own,
                           const ms_case_system *system, ms_words *sets_out) {
    ms_words published, users;
    ms_status status = find_changes(rules, own, system, &published);
    status = status == MS_OK ? ms_case_spread_sets(rules, own, &users) : status;
    if (status != MS_OK) {
        return status;
    }
    size_t count = published.count + users.count;
    *sets_out = (ms_words){.items = MS_NEW(rules->arena, const char *, count + 1), .count = count};
    if (sets_out->items == NULL) {
        return ms_diag_no_memory(rules->diag);
    }
    for (size_t i = 0; i < count; i++) {
        sets_out->items[i] =
            i < published.count ? published.items[i] : users.items[i - published.count];
    }
    return MS_OK;
}

static bool is_known(const ms_case_cluster *known, const ms_case_cluster *wanted) {
    bool goes = known->row == wanted->row && known->nodes == wanted->nodes &&
                known->sets.count == wanted->sets.count;
    for (size_t i = 0; i < known->sets.count && goes; i++) {
        goes = strcmp(known->sets.items[i], wanted->sets.items[i]) == 0;
    }
    return goes;
}

/* Load a cluster, once; its platform is the job's then. */
static ms_status load(ms_case_rules *rules, ms_case_cluster *wanted, ms_job_spec *spec) {
    for (int i = 0; i < rules->cluster_count; i++) {
        if (is_known(&rules->clusters[i], wanted)) {
            spec->platform = rules->clusters[i].platform;
            return MS_OK;
        }
    }
    const ms_spec_cluster cluster = {.file = wanted->row->file,
                                     .gpu_type = wanted->row->gpu_type,
                                     .nodes = wanted->nodes,
                                     .sets = &wanted->sets,
                                     .data_folder = rules->data_folder};
    ms_status status = ms_spec_set_cluster(spec, &cluster, rules->arena, rules->diag);
    if (status == MS_OK && rules->cluster_count < MS_CASE_CLUSTERS_MAX) {
        wanted->platform = spec->platform;
        rules->clusters[rules->cluster_count++] = *wanted;
    }
    return status;
}

ms_status ms_case_set_cluster(ms_case_rules *rules, const ms_case_system *system, int gpus,
                              ms_job_spec *spec) {
    ms_case_cluster wanted = {.row = cluster_of(system), .nodes = 1};
    if (wanted.row == NULL || wanted.row->file == NULL) {
        return MS_E_NO;
    }
    ms_status status = load(rules, &wanted, spec); /* which tiers, and how fast are they? */
    if (status == MS_OK) {
        status = find_sets(rules, spec->platform.cluster, system, &wanted.sets);
    }
    if (status == MS_OK) {
        status = load(rules, &wanted, spec); /* how large is a node? */
    }
    if (status != MS_OK) {
        return status;
    }
    int node = spec->platform.cluster->gpus_per_node;
    wanted.nodes = (gpus + node - 1) / node;
    return load(rules, &wanted, spec);
}

ms_status ms_case_find_platform(ms_case_rules *rules, const ms_case_system *system, int gpus,
                                const ms_platform **platform_out) {
    ms_job_spec spec = {.folder = "."};
    ms_status status = ms_case_set_cluster(rules, system, gpus, &spec);
    if (status == MS_OK) {
        *platform_out = spec.platform.cluster;
    }
    return status;
}
