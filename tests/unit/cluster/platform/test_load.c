/* Platform files: what is read, what is refused, and where the fault is said to be. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform_fixture.h"

/* Every shipped platform loads, keeps the invariants and grows by --set platform.nodes. */
Test(platform_load, every_shipped_file) {
    DIR *folder = opendir(MS_SOURCE_DIR "/platforms");
    cr_assert_not_null(folder);
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char name[256];
        snprintf(name, sizeof name, "%s", entry->d_name);
        char *dot = strrchr(name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0) {
            continue;
        }
        *dot = '\0';
        count++;
        for (int nodes = 0; nodes <= 128; nodes += 128) {
            char overrides[64] = "{}";
            if (nodes > 0) {
                snprintf(overrides, sizeof overrides, "{nodes: %d}", nodes);
            }
            platform_fixture fixture;
            const ms_platform *platform = fixture_platform(&fixture, name, overrides);
            cr_assert_str_eq(platform->name, name);
            cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "%s: %s", name,
                         ms_buffer_text(&fixture.messages));
            cr_assert(nodes == 0 || platform->nodes == nodes);
            fixture_release(&fixture);
        }
    }
    closedir(folder);
    cr_assert_geq(count, 6);
}

/* Every shipped GPU type is read by some platform. */
Test(platform_load, every_shipped_gpu_type) {
    DIR *folder = opendir(MS_SOURCE_DIR "/platforms/gpus");
    cr_assert_not_null(folder);
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0) {
            continue;
        }
        char overrides[320];
        snprintf(overrides, sizeof overrides, "{gpu: {type: %.*s}}", (int)(dot - entry->d_name),
                 entry->d_name);
        platform_fixture fixture;
        const ms_gpu_type *gpu = &fixture_platform(&fixture, "flat", overrides)->gpu;
        cr_assert_eq(strncmp(gpu->name, entry->d_name, strlen(gpu->name)), 0);
        cr_assert(gpu->peak_flop_per_s > 1e12 && gpu->hbm_B > gpu->reserve_B && gpu->sms >= 1);
        cr_assert(gpu->gemm_efficiency > 0 && gpu->gemm_efficiency <= 1);
        cr_assert_leq(gpu->clock.power.idle_W, gpu->clock.power.load_W);
        for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
            cr_assert(gpu->compute_slowdown[kind] >= 1 && gpu->compute_slowdown[kind] <= 2);
        }
        fixture_release(&fixture);
        count++;
    }
    closedir(folder);
    cr_assert_geq(count, 4);
}

Test(platform_load, units_become_si) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", NULL);
    cr_assert_float_eq(platform->tiers[1].bandwidth_Bps, 25e9, 1e-3);
    cr_assert_float_eq(platform->tiers[1].latency_s, 7e-6, 1e-18);
    cr_assert_float_eq(platform->gpu.peak_flop_per_s, 312e12, 1);
    cr_assert_float_eq(platform->gpu.hbm_B, 80 * 0x1p30, 1);
    fixture_release(&fixture);
}

Test(platform_load, overrides_reach_every_part) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(
        &fixture, "dgx-a100",
        "{nodes: 7, node: {nics: 2}, tiers: {rail: {bandwidth: 100 GB/s}, nvlink: {bandwidth: "
        "unlimited}}, gpu: {type: h100-sxm5-80gb, hbm: 96 GB}, pxn: false}");
    cr_assert_eq(platform->nodes, 7);
    cr_assert_eq(platform->nics_per_node, 2);
    cr_assert_eq(platform->gpus_per_node, 8);
    cr_assert_float_eq(platform->tiers[1].bandwidth_Bps, 100e9, 1);
    cr_assert_float_eq(platform->tiers[1].efficiency, 0.92, 1e-15, "kept from the file");
    cr_assert(isinf(platform->tiers[0].bandwidth_Bps));
    cr_assert_str_eq(platform->gpu.name, "h100-sxm5-80gb");
    cr_assert_float_eq(platform->gpu.hbm_B, 96e9, 1);
    cr_assert_not(platform->has_pxn);
    fixture_release(&fixture);
}

Test(platform_load, price_and_power) {
    platform_fixture fixture;
    const ms_platform *platform =
        fixture_platform(&fixture, "dgx-h100",
                         "{price: 3 USD/h, network_power: 40 W, pue: 1.2, gpu: {load_power: 0.65 "
                         "kW}, node: {power: 3 kW}}");
    cr_assert_eq(platform->upkeep.rent_USD_per_h, 3);
    cr_assert_eq(platform->upkeep.network_W, 40);
    cr_assert_eq(platform->upkeep.pue, 1.2);
    cr_assert_eq(platform->upkeep.node_W, 3000);
    cr_assert_eq(platform->gpu.clock.power.load_W, 650);
    cr_assert_eq(platform->gpu.clock.power.idle_W, 140);
    fixture_release(&fixture);
    platform = fixture_platform(&fixture, "meta-roce-h100", NULL);
    cr_assert_eq(platform->upkeep.rent_USD_per_h, 0, "nobody rents it out");
    cr_assert_eq(platform->upkeep.node_W, 0);
    cr_assert_eq(platform->upkeep.pue, 1);
    fixture_release(&fixture);
}

/* A format has a peak of its own; what else it is silent about is the type's. */
Test(platform_load, products_of_fewer_bits_have_their_own_peaks) {
    platform_fixture fixture;
    const ms_gpu_type *gpu = &fixture_platform(&fixture, "dgx-h100",
                                               "{gpu: {fp8: {sustained_clock: 0.9, "
                                               "transposing_casts: {torch_compile: 0.5}}, "
                                               "nvfp4: {peak: 1 PFLOP/s}}}")
                                  ->gpu;
    const ms_product_rate *fp8 = &gpu->products.of[MS_PRODUCT_FP8];
    cr_assert_float_eq(fp8->peak_flop_per_s, 1978.9e12, 1);
    cr_assert_eq(fp8->sustained_clock, 0.9);
    cr_assert_eq(fp8->transposing_casts[MS_CASTS_TORCH_COMPILE], 0.5);
    cr_assert_eq(fp8->transposing_casts[MS_CASTS_TRANSFORMER_ENGINE_1], 0.39);
    cr_assert(fp8->rowwise_efficiency < fp8->gemm_efficiency);
    cr_assert(fp8->gemm_efficiency < gpu->gemm_efficiency);
    cr_assert_eq(fp8->layouts, MS_LAYOUTS_TN);
    cr_assert(fp8->blockwise_efficiency < fp8->gemm_efficiency);
    cr_assert(fp8->blockwise_weight_efficiency < fp8->blockwise_efficiency);
    const ms_product_rate *nvfp4 = &gpu->products.of[MS_PRODUCT_NVFP4];
    cr_assert_eq(nvfp4->gemm_efficiency, gpu->gemm_efficiency);
    cr_assert_eq(nvfp4->sustained_clock, gpu->clock.sustained);
    cr_assert_eq(nvfp4->layouts, MS_LAYOUTS_ANY);
    cr_assert_eq(nvfp4->transposing_casts[MS_CASTS_TORCH_COMPILE], 0);
    cr_assert_eq(gpu->products.of[MS_PRODUCT_MXFP8].peak_flop_per_s, 0);
    cr_assert_float_eq(gpu->products.single.peak_flop_per_s, 494.7e12, 1);
    cr_assert_eq(gpu->products.single.gemm_efficiency, gpu->gemm_efficiency);
    fixture_release(&fixture);
    fixture_init(&fixture);
    cr_assert_eq(fixture_load(&fixture, "dgx-a100", "{gpu: {fp8: {gemm_efficiency: 0.7}}}"),
                 MS_E_INPUT);
    cr_assert_not_null(
        strstr(ms_buffer_text(&fixture.messages), "fp8: required key 'peak' is missing"), "%s",
        ms_buffer_text(&fixture.messages));
    fixture_release(&fixture);
}

/* One number is for every kind of communication; a mapping names those that slow computations. */
Test(platform_load, slow_down_is_one_number_or_one_by_kind) {
    platform_fixture fixture;
    const ms_gpu_type *gpu =
        &fixture_platform(&fixture, "dgx-a100", "{gpu: {compute_slowdown: 1.25}}")->gpu;
    cr_assert_eq(gpu->compute_slowdown[MS_COLL_NONE], 1.0);
    for (int kind = MS_COLL_NONE + 1; kind < MS_COLL_COUNT; kind++) {
        cr_assert_eq(gpu->compute_slowdown[kind], 1.25);
    }
    fixture_release(&fixture);
    gpu =
        &fixture_platform(&fixture, "ideal", "{gpu: {compute_slowdown: {all_reduce: 1.2, p2p: 2}}}")
             ->gpu;
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        double factor = kind == MS_COLL_ALL_REDUCE ? 1.2 : kind == MS_COLL_P2P ? 2.0 : 1.0;
        cr_assert_eq(gpu->compute_slowdown[kind], factor, "%s",
                     ms_coll_kind_name((ms_coll_kind)kind));
    }
    fixture_release(&fixture);
}

Test(platform_load, slow_down_is_bounded) {
    static const char *const CASES[][2] = {
        {"0.9", "gpu.compute_slowdown: expected 1 to 2, got '0.9'"},
        {"2.1", "gpu.compute_slowdown: expected 1 to 2, got '2.1'"},
        {"{all_reduce: 3}", "gpu.compute_slowdown.all_reduce: expected 1 to 2, got '3'"},
        {"{dp: 1.1}", "gpu.compute_slowdown.dp: unknown key"},
        {"[1, 2]", "gpu.compute_slowdown: expected a mapping"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture fixture;
        char overrides[96];
        snprintf(overrides, sizeof overrides, "{gpu: {compute_slowdown: %s}}", CASES[i][0]);
        fixture_init(&fixture);
        cr_assert_eq(fixture_load(&fixture, "dgx-a100", overrides), MS_E_INPUT);
        cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages), CASES[i][1]), "%s",
                           ms_buffer_text(&fixture.messages));
        fixture_release(&fixture);
    }
}

/* The effective document stands alone: written out and loaded again it gives the same platform. */
Test(platform_load, effective_document_round_trips) {
    char folder[] = "/tmp/meshsim-load-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p.yaml", folder);
    platform_fixture fixture, again;
    const ms_platform *first =
        fixture_platform(&fixture, "selene-a100", "{nodes: 33, gpu: {sms: 99}}");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(fixture.document, &text);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(ms_buffer_text(&text), file);
    fclose(file);
    const ms_platform *second = fixture_platform(&again, path, NULL);
    cr_assert_eq(second->nodes, 33);
    cr_assert_eq(second->gpu.sms, 99);
    cr_assert_eq(second->gpu.hbm_Bps, first->gpu.hbm_Bps);
    cr_assert_eq(second->link_count, first->link_count);
    for (int t = 0; t < first->tier_count; t++) {
        cr_assert_str_eq(second->tiers[t].name, first->tiers[t].name);
        cr_assert_eq(second->tiers[t].latency_s, first->tiers[t].latency_s);
        cr_assert_eq(second->tiers[t].efficiency, first->tiers[t].efficiency);
    }
    ms_buffer_release(&text);
    unlink(path);
    rmdir(folder);
    fixture_release(&fixture);
    fixture_release(&again);
}

/* ---- all keys ---- */

static const char *text_at(const ms_node *root, const char *key) {
    bool is_found = false;
    const ms_node *node = ms_node_at(root, key, &is_found);
    return is_found && node->type == MS_NODE_SCALAR ? node->text : "(none)";
}

/* Defaults of every table, and of the library what its file says, with the platform's changes, of
 * the generation of the GPUs alone. */
Test(platform_list, has_defaults_and_the_constants_of_the_library) {
    static const char *const EXPECTED[][2] = {
        {"name", "dgx-h100"},
        {"pue", "1"},
        {"node.wiring", "switch"},
        {"gpu.sustained_clock", "1"},
        {"gpu.compute_slowdown.p2p", "1"},
        {"tiers.nvlink.latency", "1.7 us"},
        {"tiers.slow.efficiency", "1"},
        {"fabric.core_oversubscription", "1"},
        {"library.name", "nccl-2"},
        {"library.file", "(none)"},
        {"library.net_channels", "5"},
        {"library.formulas", "v2.28"},
        {"library.generations.hopper.channels", "16"},
        {"library.generations.ampere.channels", "(none)"},
    };
    platform_fixture fixture;
    ms_node *listed = NULL;
    const ms_platform *platform =
        fixture_platform(&fixture, "dgx-h100",
                         "{library: {net_channels: 5}, nodes: 64, fabric: {units_per_pod: 1}, "
                         "tiers: {slow: {bandwidth: 1 GB/s}}}");
    cr_assert_eq(
        ms_platform_list(platform, fixture.document, &fixture.arena, &fixture.diag, &listed),
        MS_OK);
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++) {
        cr_assert_str_eq(text_at(listed, EXPECTED[i][0]), EXPECTED[i][1], "%s", EXPECTED[i][0]);
    }
    cr_assert_str_eq(text_at(fixture.document, "pue"), "(none)"); /* the document is as it was */
    fixture_release(&fixture);
}

Test(platform_list, a_platform_without_a_library_has_none) {
    platform_fixture fixture;
    ms_node *listed = NULL;
    const ms_platform *platform = fixture_platform(&fixture, "flat", NULL);
    cr_assert_eq(
        ms_platform_list(platform, fixture.document, &fixture.arena, &fixture.diag, &listed),
        MS_OK);
    cr_assert_null(ms_node_get(listed, "library"));
    fixture_release(&fixture);
}

typedef struct bad_case {
    const char *platform, *overrides;
    const char *words; /* must stand in the message */
} bad_case;

static const bad_case BAD[] = {
    {"dgx-a100", "{nodes: 0}", "nodes: expected 1 to"},
    {"dgx-a100", "{nodes: 16777216}", "16777216 nodes of 8 GPUs are 134217728 GPUs"},
    {"dgx-a100", "{node: {nics: 0}}", "node.nics: a 'rails' fabric needs at least 1 NIC"},
    {"dgx-a100", "{node: {nics: 9}}", "9 NICs for 8 GPUs"},
    {"dgx-a100", "{routing_seed: 3}", "routing_seed: only 'ecmp' chooses by a seed"},
    {"flat", "{routing: ecmp}", "routing: 'ecmp' chooses among links of a leaf to the spine"},
    {"tpu-v4", "{routing: ecmp}", "routing: 'ecmp' chooses among links of a leaf to the spine"},
    {"dgx-a100", "{nodes: 100000, routing: ecmp, fabric: {oversubscription: 0.001}}",
     "routing: 'ecmp' numbers every link, and these are 3200000000 above the leaves"},
    {"dgx-a100", "{routing: random}", "routing: expected one of spread or ecmp"},
    {"dgx-a100", "{fabric: {kind: ring}}", "fabric.kind: expected one of flat, rails"},
    {"dgx-a100", "{fabric: {kind: torus}}",
     "fabric.nodes_per_unit: a 'torus' fabric has no such key; it belongs to 'rails' and "
     "'leaf-spine'"},
    {"dgx-a100", "{fabric: {shape: [4]}}",
     "fabric.shape: a 'rails' fabric has no such key; it belongs to 'torus'"},
    {"flat", "{fabric: {shape: [4]}}",
     "fabric.shape: a 'flat' fabric has no such key; it belongs to 'torus'"},
    {"tpu-v4", "{fabric: {shape: [4, 4, 4, 4]}}", "fabric.shape: expected 1 to 3 sizes"},
    {"tpu-v4", "{fabric: {shape: []}}", "fabric.shape: expected 1 to 3 sizes"},
    {"tpu-v4", "{fabric: {shape: [130]}}", "routes of up to 65 hops; at most 64 are supported"},
    {"tpu-v4", "{nodes: 1025}",
     "1025 nodes of 4 chips are neither whole pods of 4096 chips (1024 nodes) nor a box inside "
     "one"},
    {"tpu-v4", "{nodes: 17}", "17 nodes of 4 chips are neither whole pods"},
    {"tpu-v4", "{node: {nics: 0}}", "a 'torus' fabric needs at least 1 NIC a node"},
    {"tpu-v4", "{tiers: {far: {bandwidth: 1 GB/s}}}", "a torus has 1 or 2 tiers"},
    {"dgx-a100", "{fabric: {kind: flat}}", "a flat fabric has 1 tier (GPU to switch), got 3"},
    {"dgx-a100", "{fabric: {units_per_pod: 3}}", "fabric.units_per_pod: needs a fourth tier"},
    {"dgx-a100", "{fabric: {core_oversubscription: 3}}", "needs a fourth tier"},
    {"dgx-a100", "{tiers: {core: {bandwidth: 25 GB/s}}}",
     "fabric.units_per_pod: required key is missing"},
    {"dgx-a100", "{fabric: {oversubscription: 0}}", "fabric.oversubscription: expected 0.001 to"},
    {"dgx-a100", "{tiers: {rail: {bandwidth: 25}}}", "tiers.rail.bandwidth: expected a unit"},
    {"dgx-a100", "{tiers: {rail: {bandwidth: 0 GB/s}}}", "tiers.rail.bandwidth: expected 1 B/s to"},
    {"dgx-a100", "{tiers: {rail: {bandwidth: unlimited, latency: 3}}}",
     "tiers.rail.latency: expected a unit"},
    {"dgx-a100", "{tiers: {rail: {efficiency: 1.1}}}", "tiers.rail.efficiency: expected"},
    {"dgx-a100", "{tiers: {rail: {delay: 1 us}}}", "tiers.rail.delay: unknown key"},
    {"dgx-a100", "{tiers: {'a b': {bandwidth: 1 GB/s}}}", "letters, digits, '_' and '-' only"},
    {"dgx-a100", "{tiers: {rail: 5}}", "tiers.rail: expected a mapping with bandwidth"},
    {"dgx-a100", "{tiers: 5}", "tiers: expected a mapping of tiers"},
    {"dgx-a100", "{gpu: {type: a200}}", "gpu.type: no GPU type 'a200'; looked for"},
    {"dgx-a100", "{gpu: {type: h100}}", " (known: a100-pcie-80gb, "},
    {"dgx-a100", "{gpu: {type: h100}}", ", h100-sxm5-80gb, "},
    {"dgx-a100", "{gpu: {type: [a]}}", "gpu.type: expected the name of a file"},
    {"dgx-a100", "{gpu: 5}", "gpu.type: required key is missing"},
    {"dgx-a100", "{gpu: {hbm: 80}}", "gpu.hbm: expected a unit"},
    {"dgx-a100", "{gpu: {reserve: 80 GiB}}", "leaves no memory: 80 GiB of 80 GiB"},
    {"dgx-a100", "{gpu: {speed: 3}}", "gpu.speed: unknown key"},
    {"dgx-a100", "{gpu: {sustained_clock: 0}}", "gpu.sustained_clock: expected 0.1 to 1"},
    {"dgx-a100", "{gpu: {spread: 1.1}}", "gpu.spread: expected 0 to 1"},
    {"dgx-a100", "{gpu: {idle_power: 500 W}}", "gpu.idle_power: 500 W, more than load_power's"},
    {"mi300x", "{gpu: {type: ideal, load_power: 1 kW}}", "gpu.load_power: needs idle_power beside"},
    {"mi300x", "{gpu: {type: ideal, idle_power: 1 W}}", "gpu.idle_power: needs load_power beside"},
    {"dgx-a100", "{gpu: {load_power: 400}}", "gpu.load_power: expected a unit"},
    {"dgx-a100", "{node: {power: 0 W}}", "node.power: expected 0.001 W"},
    {"dgx-a100", "{price: 2.5}", "price: expected a unit"},
    {"dgx-a100", "{price: 0 USD/h}", "price: expected 1e-09 USD/h"},
    {"dgx-a100", "{network_power: 3 USD/h}", "network_power: '3 USD/h' is a price"},
    {"dgx-a100", "{pue: 0.9}", "pue: expected 1 to 10"},
    {"dgx-a100", "{slow_nodes: {share: 0.1}}", "slow_nodes.time: this key is required"},
    {"dgx-a100", "{slow_nodes: {share: 2, time: 1.1}}", "slow_nodes.share: expected 0 to 1"},
    {"dgx-a100", "{slow_nodes: {share: 0.1, time: 0.9}}", "slow_nodes.time: expected 1 to 10"},
    {"dgx-a100", "{gpu: {gemm_unaligned_batched: 0 FLOP/s}}", "gpu.gemm_unaligned_batched:"},
    {"dgx-a100", "{gpu: {expert_call: 9}}", "gpu.expert_call: expected a unit"},
    {"dgx-a100", "{gpu: {loss_efficiency: 2}}", "gpu.loss_efficiency: expected 0.01 to 1, got '2'"},
    {"dgx-a100", "{gpu: {expert_exposed: 1.1}}", "gpu.expert_exposed: expected 0 to 1"},
    {"dgx-a100", "{gpu: {attention: {flash4: {d64: [0.5, 0.5]}}}}",
     "gpu.attention.flash4: unknown key"},
    {"dgx-a100", "{gpu: {attention: {flash2: {d80: [0.5, 0.5]}}}}",
     "gpu.attention.flash2.d80: unknown key"},
    {"dgx-a100", "{gpu: {attention: {flash2: {d64: 0.5}}}}",
     "gpu.attention: expected two numbers for each, forward and backward, got 1"},
    {"dgx-a100", "{gpu: {attention: {flash2: {ramp: [1, 2, 3]}}}}",
     "gpu.attention: expected two numbers for each, forward and backward, got 3"},
    {"dgx-a100", "{gpu: {attention: {flash2: {d64: [0.5, 1.5]}}}}", "gpu.attention.flash2.d64"},
    {"dgx-h100", "{gpu: {attention: {cudnn: {fp8: {d128: [0.5, 0.4, 0.3]}}}}}",
     "gpu.attention: expected two numbers for each, forward and backward, or the forward one, got "
     "3"},
    {"dgx-h100", "{gpu: {attention: {cudnn: {fp8: {fp8: {d128: [0.5]}}}}}}",
     "gpu.attention.cudnn.fp8.fp8: unknown key"},
    {"dgx-a100", "{colour: red}", "colour: unknown key"},
    {"dgx-a100", "{pxn: maybe}", "pxn: expected"},
    {"dgx-a100", "{library: nccl-9}", "library: no library 'nccl-9'; looked for"},
    {"dgx-a100", "{library: [a]}", "library: expected the name of a file"},
    {"dgx-a100", "{gpu: {generation: none}}", "library: a library needs gpu.generation"},
    {"flat", "{library: nccl-2}", "library: a library needs node.nics"},
    {"flat", "{node: {nics: 1}}", "node.nics: a flat fabric joins GPUs"},
    {"flat", "{node: {wiring: pairs}}", "node.wiring: a flat fabric also joins the GPUs"},
    {"tpu-v4", "{node: {wiring: pairs}}", "node.wiring: a torus also joins the chips"},
    {"mi300x", "{node: {wiring: ring}}",
     "node.wiring: expected one of switch or pairs, got 'ring'"},
    {"mi300x", "{nvls: true}", "nvls: a node wired in pairs has no switch that reduces"},
    {"mi300x", "{nodes: 4096, node: {gpus: 4096}}",
     "node.wiring: pairs of 4096 GPUs in 4096 nodes are 68702699520 links; at most"},
    {"flat", "{fabric: {oversubscription: 2}}",
     "fabric.oversubscription: a 'flat' fabric has no such key; it belongs to 'rails' and"},
    {"flat", "{fabric: {kind: rails}, node: {nics: 1}}", "a 'rails' fabric has 2 to 4 tiers"},
    {"no-such-platform", NULL, "no platform 'no-such-platform'; looked for"},
    {"./no-such-file.yaml", NULL, "no platform './no-such-file.yaml'"},
};

Test(platform_load, faults) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        platform_fixture fixture;
        fixture_init(&fixture);
        fixture.platform.nodes = -7;
        ms_status status = fixture_load(&fixture, BAD[i].platform, BAD[i].overrides);
        const char *text = ms_buffer_text(&fixture.messages);
        cr_assert_eq(status, MS_E_INPUT, "case %zu: %d: %s", i, status, text);
        cr_assert_not_null(strstr(text, BAD[i].words), "case %zu: %s", i, text);
        cr_assert_eq(fixture.platform.nodes, -7, "case %zu: written in spite of a fault", i);
        fixture_release(&fixture);
    }
}

/* All faults of a file at once. */
Test(platform_load, faults_are_gathered) {
    platform_fixture fixture;
    fixture_init(&fixture);
    cr_assert_eq(fixture_load(&fixture, "dgx-a100",
                              "{nodes: 0, tiers: {rail: {efficiency: 2}, spine: {latency: 1}}, "
                              "gpu: {sms: 0}}"),
                 MS_E_INPUT);
    cr_assert_eq(fixture.diag.errors, 4, "%s", ms_buffer_text(&fixture.messages));
    fixture_release(&fixture);
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *folder, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(remove(path), 0);
}

/* GPU types: beside the platform first, then the searched folders; types that build on each other.
 */
Test(platform_load, gpu_types_are_found_and_build_on_each_other) {
    char folder[] = "/tmp/meshsim-gpus-XXXXXX";
    char path[128];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gpus", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    write_file(folder, "p.yaml",
               "name: p\nnodes: 2\nnode: {gpus: 1}\ngpu: {type: mine}\n"
               "tiers: {port: {bandwidth: 1 GB/s}}\nfabric: {kind: flat}\n");
    write_file(folder, "gpus/mine.yaml", "type: a100-sxm4-80gb\nname: mine\nsms: 7\n");
    write_file(folder, "gpus/loop.yaml", "type: loop\nname: loop\n");
    snprintf(path, sizeof path, "%s/p.yaml", folder);
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, path, NULL);
    cr_assert_str_eq(platform->gpu.name, "mine");
    cr_assert_eq(platform->gpu.sms, 7);
    cr_assert_float_eq(platform->gpu.hbm_Bps, 2039e9, 1);
    fixture_release(&fixture);
    fixture_init(&fixture);
    cr_assert_eq(fixture_load(&fixture, path, "{gpu: {type: loop}}"), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages), "build on each other"));
    fixture_release(&fixture);
    remove_file(folder, "gpus/mine.yaml");
    remove_file(folder, "gpus/loop.yaml");
    remove_file(folder, "gpus");
    remove_file(folder, "p.yaml");
    rmdir(folder);
}

/* Every allocation of the arena may fail; none is overlooked, nothing is written. */
Test(platform_load, memory_running_out_is_reported) {
    long failures = 0;
    for (long allowed = 0;; allowed++) {
        platform_fixture fixture;
        fixture_init(&fixture);
        fixture.platform.nodes = -7;
        ms_arena_fail_after(&fixture.arena, allowed);
        ms_status status = fixture_load(&fixture, "dgx-a100", NULL);
        bool is_done = status == MS_OK;
        if (!is_done) {
            cr_assert_eq(status, MS_E_NOMEM, "after %ld: %d", allowed, status);
            cr_assert_eq(fixture.platform.nodes, -7);
            failures++;
        }
        fixture_release(&fixture);
        if (is_done) {
            break;
        }
    }
    cr_assert_gt(failures, 10);
}

/* A chain of bases: each lies below the file that names it, with GPU types of its own folder. */
Test(platform_load, a_base_holds_what_a_file_leaves_out) {
    char folder[] = "/tmp/meshsim-base-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gpus", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    write_file(folder, "gpus/mine.yaml", "type: a100-sxm4-80gb\nname: mine\nsms: 7\n");
    write_file(folder, "one.yaml",
               "base: dgx-a100\nname: one\ngpu: {type: mine}\ntiers: {rail: {efficiency: 0.5}}\n"
               "library: {generations: {ampere: {overhead: 5 us}}}\n");
    write_file(folder, "two.yaml",
               "base: ./one.yaml\nname: two\nnodes: 3\nlibrary: {generations: {ampere: "
               "{ring_turn: 0.25}}}\n");
    write_file(folder, "loop.yaml", "base: loop\nname: loop\n");
    write_file(folder, "typo.yaml", "base: dgx-a100\nname: typo\ntiers: {rial: {efficiency: 1}}\n");
    write_file(folder, "lost.yaml", "base: dgx-a101\nname: lost\n");
    snprintf(path, sizeof path, "%s/two.yaml", folder);
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, path, NULL);
    const ms_library_generation *ampere = &platform->library->generations[MS_GENERATION_AMPERE];
    cr_assert_str_eq(platform->name, "two");
    cr_assert_eq(platform->nodes, 3);
    cr_assert_eq(platform->gpu.sms, 7);
    cr_assert_eq(platform->tiers[1].efficiency, 0.5);
    cr_assert_eq(platform->tiers[1].bandwidth_Bps, 25e9);
    cr_assert_float_eq(ampere->overhead_s, 5e-6, 1e-18);
    cr_assert_eq(ampere->ring_turn, 0.25);
    cr_assert_eq(ampere->channels, 12);
    cr_assert_null(ms_node_get(fixture.document, "base"));
    fixture_release(&fixture);
    static const char *const REFUSED[][2] = {{"loop", "build on each other"},
                                             {"typo", "did you mean 'rail'?"},
                                             {"lost", "no platform 'dgx-a101'"}};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        fixture_init(&fixture);
        snprintf(path, sizeof path, "%s/%s.yaml", folder, REFUSED[i][0]);
        cr_assert_eq(fixture_load(&fixture, path, NULL), MS_E_INPUT, "%s", REFUSED[i][0]);
        cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages), REFUSED[i][1]), "%s: %s",
                           REFUSED[i][0], ms_buffer_text(&fixture.messages));
        fixture_release(&fixture);
    }
    static const char *const FILES[] = {"gpus/mine.yaml", "gpus",      "one.yaml", "two.yaml",
                                        "loop.yaml",      "typo.yaml", "lost.yaml"};
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        remove_file(folder, FILES[i]);
    }
    rmdir(folder);
}
