/* Which software a case ran, and on which cluster: two tables, and what is read once for all
 * cases. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/cases_rules.h"

/* A source's software by its group, and where a group has two, by what tells them apart. */
typedef struct framework_row {
    const char *group;
    bool asks_parallel_block; /* only models with attention and MLP side by side */
    const char *framework;
    const char *precision; /* only runs in that working type; NULL: in any */
    const char *before;    /* only software of before that month; NULL: of any */
} framework_row;

/* Placeholders of weight gradients are kept by Transformer Engine since 2.3, and Megatron Core 0.15
 * takes them for the output layer, too. The month is an estimate between two measurements: a run of
 * September 2025 has none, one of January 2026 has them.
 * Source: Transformer Engine, pull request 1651; the dates of megatron_ci.yaml. */
static const char CORE_0_15[] = "2025-10";

static const framework_row FRAMEWORKS[] = {
    {"narayanan21", false, "megatron-lm-2021", NULL, NULL},
    {"megatron20", false, "megatron-lm-2020", NULL, NULL},
    {"vtrain", false, "megatron-lm-2021", NULL, NULL},
    {"single_node", false, "megatron-lm-2021", NULL, NULL},
    {"korthikanti22", false, "megatron-lm-2022", NULL, NULL},
    {"megascale", true, "megascale", NULL, NULL},
    {"megascale", false, "megatron-lm-2023", NULL, NULL},
    {"bloom", false, "megatron-deepspeed-fp16", "fp16", NULL},
    {"bloom", false, "megatron-deepspeed", NULL, NULL},
    {"zerobubble", false, "zero-bubble", NULL, NULL},
    {"llama3", false, "llama3", NULL, NULL},
    {"dsv3", false, "deepseek-v3", NULL, NULL},
    {"nemo2407", false, "nemo-2024", NULL, NULL},
    {"dgxc", false, "nemo", NULL, NULL},
    {"mpt", false, "composer", NULL, NULL},
    {"torchtitan", false, "torchtitan", NULL, NULL},
    {"simumax", false, "simumax", NULL, NULL},
    {"megatron_ci", false, "megatron-core-2025", NULL, CORE_0_15},
    {"megatron_ci_small", false, "megatron-core-2025", NULL, CORE_0_15},
    {"megatron_ci", false, "megatron-core", NULL, NULL},
    {"megatron_ci_small", false, "megatron-core", NULL, NULL},
};
/* Of other groups: who shards parameters runs FSDP, everyone else Megatron Core. */
static const char SHARDING_FRAMEWORK[] = "torchtitan";
static const char USUAL_FRAMEWORK[] = "megatron-core";
enum { ZERO_OF_FSDP = 3 };

/* A platform by what a source calls its GPU, and where that leaves several, its network. */
typedef struct cluster_row {
    const char *gpu;      /* part of the GPU's name */
    const char *network;  /* part of the network's; NULL: any */
    const char *file;     /* NULL: there is none yet */
    const char *gpu_type; /* NULL: the platform's own */
} cluster_row;

static const cluster_row CLUSTERS[] = {
    {"PCIe", NULL, NULL, NULL},
    {"A100-SXM4-40GB", NULL, "dgx-a100", "a100-sxm4-40gb"},
    {"80GB", "DGX A100 SuperPOD", "dgx-a100", NULL},
    {"A100", "DGX A100 SuperPOD", "dgx-a100", "a100-sxm4-40gb"}, /* of 2020: others say 80GB */
    {"A100", "Selene", "selene-a100", NULL},
    {"A100", "Omni-Path", "jean-zay-a100", NULL},
    {"A100", "4x HDR200", "hdr4-a100", NULL},
    {"A100", "4xHDR", "hdr4-a100", NULL},
    {"Ampere GPUs", "Clos, Tomahawk 4", "bytedance-a100", NULL},
    {"A100", NULL, "dgx-a100", NULL},
    {"a100", NULL, "dgx-a100", NULL},
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
};

bool ms_case_says(const char *text, const char *word) {
    return text != NULL && strstr(text, word) != NULL;
}

ms_case_rules *ms_case_rules_new(const char *data_folder, ms_arena *arena, ms_diag *diag) {
    ms_case_rules *rules = MS_NEW(arena, ms_case_rules, 1);
    if (rules == NULL) {
        ms_diag_no_memory(diag);
        return NULL;
    }
    rules->data_folder = data_folder;
    rules->arena = arena;
    rules->diag = diag;
    return rules;
}

static const char PLATFORM_PREFIX[] = "platform.";
enum { PLATFORM_PREFIX_LENGTH = sizeof PLATFORM_PREFIX - 1 };

ms_status ms_case_rules_override(ms_case_rules *rules, const ms_words *sets) {
    rules->platform_sets.items = MS_NEW(rules->arena, const char *, sets->count);
    rules->job_sets.items = MS_NEW(rules->arena, const char *, sets->count);
    if (rules->platform_sets.items == NULL || rules->job_sets.items == NULL) {
        return ms_diag_no_memory(rules->diag);
    }
    for (size_t i = 0; i < sets->count; i++) {
        const char *set = sets->items[i];
        bool is_platforms = strncmp(set, PLATFORM_PREFIX, PLATFORM_PREFIX_LENGTH) == 0;
        ms_words *list = is_platforms ? &rules->platform_sets : &rules->job_sets;
        list->items[list->count++] = is_platforms ? set + PLATFORM_PREFIX_LENGTH : set;
    }
    return MS_OK;
}

void ms_case_differs(ms_case_translation *t, const char *what) {
    ms_buffer_printf(&t->differs, "%s%s", t->differs.length == 0 ? "" : "; ", what);
}

ms_status ms_case_refuse(ms_case_translation *t, const char *format, ...) {
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    t->out->reason = ms_arena_strdup(t->rules->arena, why);
    return t->out->reason == NULL ? ms_diag_no_memory(t->rules->diag) : MS_E_NO;
}

/* ---- frameworks ---- */

/* Whether a run's software was of before a month: "(2025-10-02)" in its provenance. */
static bool is_before(const ms_case *c, const char *month) {
    const char *date = c->provenance == NULL ? NULL : strrchr(c->provenance, '(');
    return date != NULL && strncmp(date + 1, month, strlen(month)) < 0;
}

static const char *framework_name(const ms_case *c) {
    for (size_t i = 0; i < sizeof FRAMEWORKS / sizeof FRAMEWORKS[0]; i++) {
        const framework_row *row = &FRAMEWORKS[i];
        bool goes = !row->asks_parallel_block || c->model.traits.has_parallel_block;
        goes =
            goes && (row->precision == NULL || ms_case_says(c->schedule.precision, row->precision));
        goes = goes && (row->before == NULL || is_before(c, row->before));
        if (goes && strcmp(row->group, c->group) == 0) {
            return row->framework;
        }
    }
    return c->parallel.zero == ZERO_OF_FSDP ? SHARDING_FRAMEWORK : USUAL_FRAMEWORK;
}

ms_status ms_case_find_framework(ms_case_rules *rules, const ms_case *c,
                                 const ms_case_framework **framework_out) {
    const char *name = framework_name(c);
    for (int i = 0; i < rules->framework_count; i++) {
        if (strcmp(rules->frameworks[i].name, name) == 0) {
            *framework_out = &rules->frameworks[i];
            return MS_OK;
        }
    }
    ms_case_framework *framework = &rules->frameworks[rules->framework_count];
    ms_status status = ms_job_spec_of_framework(name, rules->data_folder, rules->arena, rules->diag,
                                                &framework->spec);
    if (status == MS_OK) {
        framework->name = name;
        rules->framework_count++; /* as many as the table has at most */
        *framework_out = framework;
    }
    return status;
}

/* ---- clusters ---- */

static const cluster_row *cluster_of(const ms_case_system *system) {
    for (size_t i = 0; i < sizeof CLUSTERS / sizeof CLUSTERS[0]; i++) {
        const cluster_row *row = &CLUSTERS[i];
        bool has_network = row->network == NULL || ms_case_says(system->network, row->network);
        if (ms_case_says(system->gpu, row->gpu) && has_network) {
            return row;
        }
    }
    return NULL;
}

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

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

/* Load a platform with the overrides; the names of its tiers are known only once it is there. */
static ms_status load_overridden(ms_case_rules *rules, const ms_spec_cluster *cluster,
                                 ms_job_spec *spec) {
    ms_status status = ms_spec_set_cluster(spec, cluster, rules->arena, rules->diag);
    if (status != MS_OK || rules->platform_sets.count == 0) {
        return status;
    }
    ms_words sets;
    ms_spec_cluster changed = *cluster;
    changed.sets = &sets;
    status = ms_case_spread_sets(rules, spec->platform.cluster, &sets);
    return status == MS_OK ? ms_spec_set_cluster(spec, &changed, rules->arena, rules->diag)
                           : status;
}

/* Load a platform of so many nodes, once. */
static ms_status load(ms_case_rules *rules, const cluster_row *row, int nodes, ms_job_spec *spec) {
    for (int i = 0; i < rules->cluster_count; i++) {
        const ms_case_cluster *known = &rules->clusters[i];
        if (known->nodes == nodes && is_same(known->file, row->file) &&
            is_same(known->gpu_type, row->gpu_type)) {
            spec->platform = known->platform;
            return MS_OK;
        }
    }
    const ms_spec_cluster cluster = {.file = row->file,
                                     .gpu_type = row->gpu_type,
                                     .nodes = nodes,
                                     .data_folder = rules->data_folder};
    ms_status status = load_overridden(rules, &cluster, spec);
    if (status == MS_OK && rules->cluster_count < MS_CASE_CLUSTERS_MAX) {
        rules->clusters[rules->cluster_count++] =
            (ms_case_cluster){row->file, row->gpu_type, nodes, spec->platform};
    }
    return status;
}

ms_status ms_case_set_cluster(ms_case_rules *rules, const ms_case_system *system, int gpus,
                              ms_job_spec *spec) {
    const cluster_row *row = cluster_of(system);
    if (row == NULL || row->file == NULL) {
        return MS_E_NO;
    }
    ms_status status = load(rules, row, 1, spec); /* how large is a node? */
    if (status != MS_OK) {
        return status;
    }
    int node = spec->platform.cluster->gpus_per_node;
    return load(rules, row, (gpus + node - 1) / node, spec);
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
