/* Measured runs: on which cluster they ran and with which software, by the words of their sources.
 */
#include "cases_fixture.h"

Test(case_sources, clusters_go_by_gpu_and_network) {
    static const struct {
        const char *gpu, *network, *platform, *type;
    } ROWS[] = {
        {"A100-SXM4-40GB", "RoCE", "dgx-a100", "a100-sxm4-40gb"},
        {"A100-SXM4", "DGX A100 SuperPOD, HDR IB", "dgx-a100", "a100-sxm4-40gb"},
        {"A100-SXM4-80GB", "DGX A100 SuperPOD, HDR IB", "dgx-a100", "a100-sxm4-80gb"},
        {"A100-SXM4-80GB", "Omni-Path", "jean-zay-a100", "a100-sxm4-80gb"},
        {"A100-SXM4", "800 Gbit/s per node (4x HDR200)", "hdr4-a100", "a100-sxm4-80gb"},
        {"A100-class Ampere (\"NVIDIA Ampere GPUs\")", "3-layer Clos, Tomahawk 4 switches",
         "bytedance-a100", "a100-sxm4-80gb"},
        {"H100-SXM5-80GB 700W", "RoCE 400G", "meta-roce-h100", "h100-sxm5-80gb"},
        {"H100-SXM5-80GB", NULL, "dgx-h100", "h100-sxm5-80gb"},
        {"H100-SXM5 96GB HBM2e 500W cap", "RDMA", "meta-roce-h100", "h100-sxm5-96gb"},
        {"H200-SXM5-141GB", "RDMA", "dgx-h200", "h200-sxm5-141gb"},
        {"B200-SXM6", NULL, "dgx-b200", "b200-sxm6"},
        {"B200", "EFA 400G per GPU", "p6-b200", "b200-sxm6"},
        {"GB200", NULL, "gb200-nvl72", "gb200"},
        {"A100-PCIe-80GB", NULL, NULL, NULL},
        {"MI300X", NULL, "mi300x", "mi300x"},
        {"MI250X", NULL, NULL, NULL},
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const ms_case_system system = {.gpu = ROWS[i].gpu, .network = ROWS[i].network};
        const ms_platform *platform = NULL;
        ms_status status = ms_case_find_platform(f.rules, &system, 8, &platform);
        cr_assert_eq(status, ROWS[i].platform == NULL ? MS_E_NO : MS_OK, "%s", ROWS[i].gpu);
        if (status == MS_OK) {
            cr_assert_str_eq(platform->name, ROWS[i].platform, "%s", ROWS[i].gpu);
            cr_assert_str_eq(platform->gpu.name, ROWS[i].type, "%s", ROWS[i].gpu);
        }
    }
    cr_assert_eq(f.messages.length, 0, "%s", ms_buffer_text(&f.messages));
    cases_end(&f);
}

/* The platform that a case of 64 GPUs ran on. */
static const ms_platform *published_platform(cases_fixture *f, const ms_case_system *system) {
    const ms_platform *platform = NULL;
    enum { GPUS = 64 };
    cr_assert_eq(ms_case_find_platform(f->rules, system, GPUS, &platform), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return platform;
}

Test(case_sources, nodes_and_rates_are_the_published_ones) {
    static const struct {
        ms_case_system system;
        int nodes, gpus, nics;
        double nvlink_Bps, rail_Bps, spine_Bps;
    } ROWS[] = {
        {{.gpu = "A100-SXM4-80GB"}, 8, 8, 8, 300e9, 25e9, 25e9},
        {{.gpu = "A100-SXM4-80GB", .nic_Bps = 6.25e9}, 8, 8, 8, 300e9, 6.25e9, 6.25e9},
        {{.gpu = "A100-SXM4-80GB", .nic_Bps = 24.8e9}, 8, 8, 8, 300e9, 25e9, 25e9}, /* rounded */
        {{.gpu = "A100-SXM4-40GB", .node_gpus = 4}, 16, 4, 4, 300e9, 25e9, 25e9},
        {{.gpu = "A100-SXM4-40GB", .node_gpus = 16}, 4, 16, 16, 300e9, 25e9, 25e9},
        {{.gpu = "A800-SXM4-80GB"}, 8, 8, 8, 200e9, 25e9, 25e9},
        {{.gpu = "A100 80GB", .nvlink_Bps = 150e9}, 8, 8, 8, 150e9, 25e9, 25e9},
        /* four NICs carry what eight GPUs are said to have */
        {{.gpu = "V100-SXM2", .node_gpus = 8, .nic_Bps = 12.5e9}, 8, 8, 4, 150e9, 25e9, 25e9},
        /* a tray of four is no domain of NVLink */
        {{.gpu = "GB200", .node_gpus = 4}, 1, 72, 72, 900e9, 50e9, 50e9},
        {{.gpu = "GB200", .node_gpus = 4, .nvlink_gpus = 32}, 2, 32, 32, 900e9, 50e9, 50e9},
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const ms_platform *platform = published_platform(&f, &ROWS[i].system);
        cr_assert_eq(platform->nodes, ROWS[i].nodes, "row %zu: %d nodes", i, platform->nodes);
        cr_assert_eq(platform->gpus_per_node, ROWS[i].gpus, "row %zu", i);
        cr_assert_eq(platform->nics_per_node, ROWS[i].nics, "row %zu", i);
        const double rates[] = {ROWS[i].nvlink_Bps, ROWS[i].rail_Bps, ROWS[i].spine_Bps};
        for (int t = 0; t < platform->tier_count; t++) {
            double found_Bps = platform->tiers[t].bandwidth_Bps;
            cr_assert_float_eq(found_Bps, rates[t], 1e-6 * rates[t], "row %zu, tier %d: %g", i, t,
                               found_Bps);
        }
    }
    cases_end(&f);
}

Test(case_sources, overrides_stand_above_what_is_published) {
    cases_fixture f;
    cases_start(&f);
    const char *items[] = {"platform.tiers.rail.bandwidth=10 GB/s"};
    const ms_words sets = {.items = items, .count = 1};
    cr_assert_eq(ms_case_rules_override(f.rules, &sets), MS_OK);
    const ms_case_system system = {.gpu = "A100-SXM4-80GB", .nic_Bps = 6.25e9};
    const ms_platform *platform = published_platform(&f, &system);
    cr_assert_eq(platform->tiers[1].bandwidth_Bps, 10e9);
    cr_assert_eq(platform->tiers[2].bandwidth_Bps, 6.25e9);
    cases_end(&f);
}

/* ---- software ---- */

Test(case_sources, software_of_unknown_groups_goes_by_source_and_day) {
    static const struct {
        const char *framework, *more, *system, *parallel;
    } ROWS[] = {
        {"megatron-core", "", NULL, NULL},
        {"megatron-lm-2020", "", "gpu: V100-SXM2", NULL},
        {"megatron-deepspeed", ", source: 'Using DeepSpeed and Megatron (2201.11990)'", NULL, NULL},
        {"megatron-deepspeed-fp16", ", precision: fp16, source: Megatron-DeepSpeed 2021", NULL,
         NULL},
        {"nemo-2024", ", source: MLPerf Training 3.1 2023-11", NULL, NULL},
        {"megatron-lm-2021", ", source: X et al. 2022, url: 'https://arxiv.org/abs/2201.11990v3'",
         NULL, NULL},
        {"megatron-lm-2022", ", source: X et al. 2022", NULL, NULL},
        {"megatron-lm-2023", ", source: X 2023-12", NULL, NULL},
        {"megatron-lm-2020", ", source: results (2020-21)", NULL, NULL},
        {"megatron-core", ", source: X 2024-03, provenance: at 2021ab", NULL, NULL},
        {"megatron-core", ", source: 2048 GPUs at 20.21 s", NULL, NULL},
        {"nemo-2024", ", source: NeMo 24.07", NULL, NULL},
        {"nemo", ", source: NeMo 25.02", NULL, NULL},
        {"nemo", ", source: nvidia/DGXC-benchmarking of DeepSeek-V3", NULL, NULL},
        {"deepspeed", ", source: DeepSpeed 2023", NULL, NULL},
        {"t5x", "", "gpu: TPU v4", NULL},
        {"torchtitan", "", NULL, "tp: 1, pp: 1, dp: 1024, zero: 3"},
        {"composer", ", source: X et al. 2023", NULL, "tp: 1, pp: 1, dp: 1024, zero: 3"},
        {"torchtitan", ", source: X 2025-02", NULL, "tp: 1, pp: 1, dp: 1024, zero: 3"},
        {"torchtitan-2025", ", source: X 2026", NULL, "tp: 1, pp: 1, dp: 1024, zero: 3"},
        {"deepspeed", ", source: X 2021", NULL, "tp: 1, pp: 1, dp: 1024, zero: 3"},
        {"simumax", ", framework: simumax, source: NeMo", NULL, NULL},
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char id[] = "a";
        id[0] = (char)('a' + i);
        const ms_case_job job = cases_job(&f, &(case_words){.id = id,
                                                            .group = "unknown",
                                                            .system = ROWS[i].system,
                                                            .parallel = ROWS[i].parallel,
                                                            .more = ROWS[i].more});
        cr_assert_str_eq(job.framework, ROWS[i].framework, "row %zu: %s", i, job.framework);
    }
    cases_end(&f);
}

Test(case_sources, a_profile_that_is_not_there_is_told_at_its_case) {
    cases_fixture f;
    cases_start(&f);
    ms_case_job job;
    const ms_case *c = cases_read(&f, &(case_words){.id = "gpt3", .more = ", framework: nimo"});
    cr_assert_eq(ms_case_translate(f.rules, c, &job), MS_E_INPUT);
    const char *told = ms_buffer_text(&f.messages);
    cr_assert_not_null(
        strstr(told, "cases.yaml:1:3: error: gpt3: framework: no framework 'nimo'; did you mean"),
        "%s", told);
    cr_assert_eq(f.diag.errors, 1);
    cases_end(&f);
}

/* What a source says of itself leads to the same software as its group, but for one that measured
 * an old Megatron years later. */
Test(case_sources, sources_of_the_score_are_known_by_their_words) {
    cases_fixture f;
    cases_start(&f);
    cr_assert_eq(ms_measurements_read(MS_SOURCE_DIR "/workloads/validation/cases.yaml", &f.arena,
                                      &f.diag, &f.found),
                 MS_OK);
    size_t known = 0;
    for (size_t i = 0; i < f.found.cases.count; i++) {
        ms_case c = MS_AT(&f.found.cases, ms_case, i);
        ms_case_job by_group, by_words;
        cr_assert_eq(ms_case_translate(f.rules, &c, &by_group), MS_OK);
        bool is_late = strcmp(c.group, "vtrain") == 0;
        c.group = "unknown";
        cr_assert_eq(ms_case_translate(f.rules, &c, &by_words), MS_OK);
        bool is_same = strcmp(by_group.framework, by_words.framework) == 0;
        cr_assert(is_same || is_late, "%s: %s, not %s", c.id, by_words.framework,
                  by_group.framework);
        known += is_same;
    }
    cr_assert_gt(known, 200);
    cases_end(&f);
}
