/* NCCL's tuning model against a table that a program of its own worked out from the published
 * formulas, and the plans that follow it. */
#include "collective/nccl.h"

#include <math.h>
#include <string.h>

#include "plan_fixture.h"

typedef struct nccl_case {
    ms_coll_kind kind;
    double size_B;
    int ranks, nodes;
    ms_gpu_generation generation;
    double intra, inter; /* GB/s */
    bool has_nvls, is_amd;
    double nic_latency_us;
    bool is_in_order, has_sharp;
    int nics;
    ms_coll_algorithm algorithm;
    ms_protocol protocol;
    double time_us;
} nccl_case;

#include "nccl_cases.h"

static void expect_cases(const char *platform, const char *overrides, const nccl_case *cases,
                         size_t count) {
    platform_fixture f;
    fixture_platform(&f, platform, overrides);
    for (size_t i = 0; i < count; i++) {
        const nccl_case *c = &cases[i];
        f.platform.gpu.generation = c->generation;
        f.platform.has_nvls = c->has_nvls;
        f.platform.has_amd_cpu = c->is_amd;
        f.platform.nics.latency_s = 1e-6 * c->nic_latency_us;
        f.platform.nics.is_unordered = !c->is_in_order;
        f.platform.has_sharp = c->has_sharp;
        const ms_nccl_comm comm = {.ranks = c->ranks,
                                   .nodes = c->nodes,
                                   .intra_Bps = 1e9 * c->intra,
                                   .inter_Bps = 1e9 * c->inter,
                                   .nics = c->nics,
                                   .has_equal_nodes = c->ranks > c->nodes};
        const ms_coll_request request = {.kind = c->kind};
        ms_nccl_choice choice = ms_nccl_choose(&f.platform, &comm, &request, c->size_B);
        cr_expect_eq(choice.algorithm, c->algorithm, "case %zu: %s", i,
                     ms_coll_algorithm_name(choice.algorithm));
        cr_expect_eq(choice.protocol, c->protocol, "case %zu: %s", i,
                     ms_protocol_name(choice.protocol));
        cr_expect_float_eq(1e6 * choice.time_s, c->time_us, 1e-9 * c->time_us, "case %zu: %g us", i,
                           1e6 * choice.time_s);
    }
    fixture_release(&f);
}

Test(nccl, choice_equals_the_published_model) {
    expect_cases("dgx-h100", NULL, NCCL_CASES, sizeof NCCL_CASES / sizeof NCCL_CASES[0]);
}

Test(nccl, choice_equals_that_of_2_7) {
    expect_cases("dgx-a100", "{library: nccl-2.7}", NCCL_2_7_CASES,
                 sizeof NCCL_2_7_CASES / sizeof NCCL_2_7_CASES[0]);
}

/* What a way is predicted to take by hand, to the last digits. */
static void expect_time(const ms_platform *platform, const ms_nccl_comm *comm,
                        const ms_coll_request *way, double size_B, double expected_us) {
    double time_us = 1e6 * ms_nccl_time_s(platform, comm, way, size_B);
    cr_expect(time_us == expected_us || fabs(time_us - expected_us) < 1e-9 * expected_us,
              "%d ranks, %g B: %.9g us, not %.9g", comm->ranks, size_B, time_us, expected_us);
}

/* By hand from the formulas of 2.7: a tree of more than two nodes is let have 105 GB/s with LL128
 * on Ampere, of which 0.915 are data, and 80 otherwise; its Simple step between nodes is 50 us; a
 * ring of one GPU a node has 0.7 of its NIC with LL128; a bus of Ampere carries 235 GB/s at most.
 */
Test(nccl, the_oldest_version_limits_all_channels_together) {
    static const struct {
        ms_coll_kind kind;
        ms_coll_algorithm algorithm;
        ms_protocol protocol;
        int ranks, nodes;
        double size_B, time_us;
    } CASES[] = {
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, MS_PROTOCOL_LL128, 64, 8, 0x1p30,
         4.4 + 2 * (7 * 1.2 + 3 * 8.5) + 0x1p30 / (0.5e3 * 96.075)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, MS_PROTOCOL_SIMPLE, 64, 8, 0x1p30,
         2 * (7 * 28 + 3 * 50.0) + 0x1p30 / (0.5 * 80e3)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, MS_PROTOCOL_LL128, 8, 8, 65536,
         10 + 7 * 4.0 + 65536 / (0.7 * 180e3 * 8 / 7)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 8, 1, 0x1p30,
         8.4 + 7 * 3.4 + 0x1p30 / (235e3 * 8 / 7)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_COLLNET_DIRECT, MS_PROTOCOL_SIMPLE, 64, 8, 0x1p30,
         INFINITY},
    };
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: nccl-2.7}");
    f.platform.has_sharp = true;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_nccl_comm comm = {.ranks = CASES[i].ranks,
                                   .nodes = CASES[i].nodes,
                                   .intra_Bps = 241e9,
                                   .inter_Bps = CASES[i].ranks > 8 ? 105e9 / 0.9 : 180e9,
                                   .nics = 8,
                                   .has_equal_nodes = CASES[i].ranks > CASES[i].nodes};
        const ms_coll_request way = {
            .kind = CASES[i].kind, .algorithm = CASES[i].algorithm, .protocol = CASES[i].protocol};
        expect_time(&f.platform, &comm, &way, CASES[i].size_B, CASES[i].time_us);
    }
    fixture_release(&f);
}

/* By hand from the formulas of 2.10.3: on eight nodes a ring's 126 steps, 14 of them between nodes,
 * which Simple takes 1.9 times from 4 KiB a rank on; LL's steps inside nodes 1.8 times; a quarter
 * of a ring for LL, but a third of an all-gather on one node; no PAT. */
Test(nccl, older_versions_have_formulas_of_their_own) {
    static const struct {
        ms_coll_kind kind;
        ms_coll_algorithm algorithm;
        ms_protocol protocol;
        int ranks, nodes;
        double size_B, time_us;
    } CASES[] = {
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 64, 8, 0x1p20,
         1.9 * (8.4 + 112 * 3.4 + 14 * 9.6) + 0x1p20 / (180e3 * 64 / 126)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 64, 8, 64 * 4095,
         8.4 + 112 * 3.4 + 14 * 9.6 + 64 * 4095 / (180e3 * 64 / 126)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 64, 8, 64 * 4096,
         1.9 * (8.4 + 112 * 3.4 + 14 * 9.6) + 64 * 4096 / (180e3 * 64 / 126)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, MS_PROTOCOL_LL, 64, 8, 65536,
         3.6 + 112 * 0.47 * 1.8 + 14 * 2.7 + 65536 / (20.4e3 * 64 / 126)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, MS_PROTOCOL_LL, 64, 8, 1024,
         4.4 + 2 * (7 * 0.52 * 1.8 + 3 * 5.0) + 1024 / (0.9 * 20.4e3 / 2)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, MS_PROTOCOL_LL, 8, 1, 16384,
         3.6 + 7 * 0.47 + 16384 / (200e3 / 3 * 8 / 7)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 8, 8, 16384,
         8.4 + 7 * 9.6 + 16384 / (180e3 * 8 / 7)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_PAT, MS_PROTOCOL_SIMPLE, 8, 8, 16384, INFINITY},
        /* a ring has 8 channels of 22.5 GB/s, a tree 16 of 12.5 of which 8 are left */
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, MS_PROTOCOL_SIMPLE, 16, 2, 0x1p30,
         1.9 * (8.4 + 28 * 3.4 + 2 * 9.6) + 0x1p30 / (180e3 * 16 / 30)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, MS_PROTOCOL_SIMPLE, 16, 2, 0x1p30,
         2 * (7 * 28 + 28.0) + 0x1p30 / (0.5 * 0.92 * 100e3)},
    };
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: nccl-2.10}");
    f.platform.has_amd_cpu = false;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_nccl_comm comm = {.ranks = CASES[i].ranks,
                                   .nodes = CASES[i].nodes,
                                   .intra_Bps = 200e9,
                                   .inter_Bps = 180e9,
                                   .nics = 8,
                                   .has_equal_nodes = CASES[i].ranks > CASES[i].nodes};
        const ms_coll_request way = {
            .kind = CASES[i].kind, .algorithm = CASES[i].algorithm, .protocol = CASES[i].protocol};
        expect_time(&f.platform, &comm, &way, CASES[i].size_B, CASES[i].time_us);
    }
    fixture_release(&f);
}

/* By hand: NCCL's search gives a ring the slower speed of NVLink and network, inside nodes and
 * between them; a tree (and PAT, which has its graph) of two nodes up to twice the network's inside
 * them, and with one GPU a node just that, as its logs show (bw 48/24). */
Test(nccl, a_graph_has_the_speed_of_its_slower_links) {
    static const struct {
        ms_coll_kind kind;
        ms_coll_algorithm algorithm;
        int ranks, nodes;
        double intra, inter; /* GB/s */
        double time_us;      /* of 1 GiB with Simple */
    } CASES[] = {
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, 16, 2, 366, 92,
         1.4 * (8.4 + 28 * 3.4 + 2 * 14) + 0x1p30 / (92e3 * 16 / 30)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, 16, 2, 366, 92,
         8.4 + 14 * 3.4 + 14 + 0x1p30 / (92e3 * 16 / 15)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, 16, 2, 366, 92,
         8.4 + 2 * (7 * 4.0 + 14) + 0x1p30 / (0.5 * 0.92 * 184e3)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, 16, 2, 366, 368,
         8.4 + 2 * (7 * 4.0 + 14) + 0x1p30 / (0.5 * 0.92 * 366e3)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, 576, 8, 160, 3420,
         1.4 * (8.4 + 1136 * 3.4 + 14 * 14) + 0x1p30 / (160e3 * 576 / 1150)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, 576, 8, 160, 3420,
         8.4 + 2 * (71 * 4.0 + 3 * 14) + 0x1p30 / (0.5 * 0.92 * 160e3)},
        {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, 2, 2, INFINITY, 46,
         8.4 + 2 * 14 + 0x1p30 / (0.5 * 0.92 * 92e3)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_PAT, 2, 2, INFINITY, 46,
         8 + 14 / 3.5 + 2.8 * 2 + 0x1p30 / (0.75 * 92e3)},
        {MS_COLL_ALL_GATHER, MS_ALGORITHM_PAT, 4, 4, INFINITY, 46,
         8 + 2 * 14 / 3.5 + 2.8 * 4 + 0x1p30 / (0.75 * 46e3)},
    };
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_nccl_comm comm = {.ranks = CASES[i].ranks,
                                   .nodes = CASES[i].nodes,
                                   .intra_Bps = 1e9 * CASES[i].intra,
                                   .inter_Bps = 1e9 * CASES[i].inter,
                                   .nics = 8,
                                   .has_equal_nodes = CASES[i].ranks > CASES[i].nodes};
        const ms_coll_request way = {
            .kind = CASES[i].kind, .algorithm = CASES[i].algorithm, .protocol = MS_PROTOCOL_SIMPLE};
        expect_time(&f.platform, &comm, &way, 0x1p30, CASES[i].time_us);
    }
    fixture_release(&f);
}

/* Links take what nccl-2's steps do, whichever version's steps a collective is timed by. */
Test(nccl, links_are_the_same_for_every_version) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: nccl-2.10}");
    const ms_library *library = f.platform.library;
    cr_assert_eq(library->link_step_s[0], 3.4e-6);
    cr_assert_eq(library->link_step_s[1], 14e-6);
    cr_assert_eq(library->net_s[MS_LIBRARY_RING][MS_LIBRARY_SIMPLE], 9.6e-6);
    fixture_release(&f);
    fixture_platform(&f, "dgx-a100", NULL);
    cr_assert_eq(f.platform.library->link_step_s[1], 14e-6);
    fixture_release(&f);
}

/* A plan of the first `members` GPUs, or of every `stride`-th. */
static ms_coll_plan plan_of(platform_fixture *f, ms_coll_request request, int members, int stride) {
    int *gpus = MS_NEW(&f->arena, int, members);
    ms_coll_plan plan;
    for (int i = 0; i < members; i++) {
        gpus[i] = i * stride;
    }
    request.gpus = gpus;
    request.members = members;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    return plan;
}

/* A small message among many takes what the tree's levels take, and the launch. */
Test(nccl, a_kibibyte_is_microseconds_times_a_logarithm) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 128}");
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 1024};
    double before_s = 0.0;
    for (int nodes = 4; nodes <= 128; nodes *= 2) {
        ms_coll_plan plan = plan_of(&f, request, 8 * nodes, 1);
        double time_s = fixture_plan_time_s(&f, &plan);
        cr_assert_eq(plan.algorithm, MS_ALGORITHM_TREE);
        cr_assert_eq(plan.protocol, MS_PROTOCOL_LL);
        cr_assert(before_s <= 0.0 || time_s - before_s < 12e-6, "%d nodes: %g s more", nodes,
                  time_s - before_s);
        before_s = time_s;
    }
    cr_assert(before_s > 70e-6 && before_s < 120e-6, "%g s among 1,024", before_s);
    fixture_release(&f);
}

/* On idle links a ring takes its latency and the bytes at the bandwidth that the model has, but for
 * the launch and the steps lost at a chunk's turn. */
Test(nccl, a_ring_alone_takes_what_the_model_says) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    const ms_library_generation *g = &f.platform.library->generations[MS_GENERATION_AMPERE];
    for (int protocol = MS_PROTOCOL_LL; protocol <= MS_PROTOCOL_SIMPLE; protocol++) {
        const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                         .algorithm = MS_ALGORITHM_RING,
                                         .protocol = (ms_protocol)protocol,
                                         .size_B = 64e6};
        ms_coll_plan plan = plan_of(&f, request, 8, 1);
        ms_nccl_comm comm;
        const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
        cr_assert_eq(ms_nccl_comm_find(&f.platform, gpus, 8, &comm), MS_OK);
        double model_s = ms_nccl_time_s(&f.platform, &comm, &request, request.size_B);
        double steps_s = ms_nccl_latency_s(&f.platform, &comm, &request, request.size_B);
        ms_library_ramp ramp = ms_nccl_ramp(&f.platform, plan.protocol);
        double wanted_s = g->overhead_s + steps_s + ms_library_ramp_s(&ramp, request.size_B) +
                          (model_s - steps_s) * (1.0 + g->ring_turn / 14.0);
        cr_assert_float_eq(fixture_plan_time_s(&f, &plan), wanted_s, 1e-12, "%s",
                           ms_protocol_name(plan.protocol));
    }
    fixture_release(&f);
}

/* Each of n GPUs fetches the whole buffer and its n-th part, so the bus bandwidth grows with n; a
 * ring's does not. Measured: 363, 414, 436, 460 and 473 GB/s. */
Test(nccl, switches_that_reduce_gain_with_members) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    const double measured[] = {363.3, 414.2, 435.6, 460.0, 473.1};
    for (int n = 4; n <= 8; n++) {
        const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 16e9};
        ms_coll_plan plan = plan_of(&f, request, n, 1);
        double busbw_Bps = ms_coll_busbw_Bps(MS_COLL_ALL_REDUCE, n, request.size_B,
                                             fixture_plan_time_s(&f, &plan));
        cr_assert_eq(plan.algorithm, MS_ALGORITHM_NVLS);
        cr_assert_lt(fabs(busbw_Bps / (1e9 * measured[n - 4]) - 1.0), 0.04, "%d: %g GB/s", n,
                     busbw_Bps / 1e9);
    }
    fixture_release(&f);
}

/* The same on an H800's narrower NVLink. Measured: 215 GB/s. Source: NVIDIA/nccl, issue 1374. */
Test(nccl, switches_of_an_h800_reduce) {
    platform_fixture f;
    fixture_platform(&f, "h800", NULL);
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 0x1p33};
    ms_coll_plan plan = plan_of(&f, request, 8, 1);
    double busbw_Bps =
        ms_coll_busbw_Bps(MS_COLL_ALL_REDUCE, 8, 0x1p33, fixture_plan_time_s(&f, &plan));
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_NVLS);
    cr_assert_lt(fabs(busbw_Bps / 215e9 - 1.0), 0.03, "%g GB/s", busbw_Bps / 1e9);
    fixture_release(&f);
}

/* NCCL up to 2.28.3 has NVLS for more than two GPUs of a node only (ncclNvlsInit). Measured among
 * two H100 with nccl-tests: 143.55 us for 32 MiB, each next size twice as large. */
Test(nccl, two_gpus_have_no_nvls) {
    static const double MEASURED_US[] = {143.55, 254.57, 466.24, 881.29, 1686.44};
    static const char *const PLATFORMS[] = {"dgx-h100", "dgx-b200", "gb200-nvl72", "h800"};
    platform_fixture f;
    ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 0x1p25};
    fixture_platform(&f, "dgx-h100", NULL);
    for (int i = 0; i < 5; i++, request.size_B *= 2.0) {
        ms_coll_plan plan = plan_of(&f, request, 2, 1);
        double time_us = 1e6 * fixture_plan_time_s(&f, &plan);
        cr_assert_eq(plan.algorithm, MS_ALGORITHM_RING);
        cr_assert_lt(fabs(time_us / MEASURED_US[i] - 1.0), 0.15, "%g B: %g us", request.size_B,
                     time_us);
    }
    const int gpus[] = {0, 1, 8, 9}; /* two of each of two nodes */
    const ms_coll_request tree = {.kind = MS_COLL_ALL_REDUCE,
                                  .algorithm = MS_ALGORITHM_NVLS_TREE,
                                  .gpus = gpus,
                                  .members = 4,
                                  .size_B = 0x1p30};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &tree, &f.arena, &plan), MS_E_RANGE);
    fixture_release(&f);
    for (int i = 0; i < 4; i++) {
        for (int least = 2; least <= 3; least++) { /* versions from 2.28.7 on, and before */
            char overrides[64];
            snprintf(overrides, sizeof overrides, "{library: {nvls_min_gpus: %d}}", least);
            fixture_platform(&f, PLATFORMS[i], overrides);
            request.size_B = 0x1p30;
            cr_expect_eq(plan_of(&f, request, 2, 1).algorithm,
                         least == 2 ? MS_ALGORITHM_NVLS : MS_ALGORITHM_RING, "%s", PLATFORMS[i]);
            cr_expect_eq(plan_of(&f, request, 3, 1).algorithm, MS_ALGORITHM_NVLS, "%s",
                         PLATFORMS[i]);
            fixture_release(&f);
        }
    }
}

/* A rack's 72 NICs carry five times what a GPU's NVLink does, which limits a ring through it. */
Test(nccl, racks_keep_their_switches_for_large_messages) {
    platform_fixture f;
    fixture_platform(&f, "gb200-nvl72", NULL);
    ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 0x1p30};
    double before_s = INFINITY;
    for (int i = 0; i <= 4; i++, request.size_B *= 2.0) {
        ms_coll_plan plan = plan_of(&f, request, 576, 1);
        double time_s = fixture_plan_time_s(&f, &plan);
        cr_assert_eq(plan.algorithm, MS_ALGORITHM_NVLS_TREE, "%g B", request.size_B);
        cr_assert_leq(time_s, 2.0 * before_s, "%g B: %g s", request.size_B, time_s);
        before_s = time_s;
    }
    fixture_release(&f);
}

/* Among nodes of one member each every member sends all parts but its own, in log2(n) rounds. */
Test(nccl, aggregated_trees_send_every_part_once) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    for (int n = 2; n <= 32; n += n < 8 ? 1 : 12) {
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_GATHER, .algorithm = MS_ALGORITHM_PAT, .size_B = 1e6};
        ms_coll_plan plan = plan_of(&f, request, n, 8);
        const ms_flow *flow = &plan.phases[0].flows[0];
        for (int i = 0; i < flow->count; i++) {
            if (ms_platform_link(&f.platform, flow->links[i].link).tier == 1) {
                cr_assert_eq(flow->links[i].weight, n - 1, "of %d", n);
            }
        }
        cr_assert_float_eq(flow->bytes, 1e6 / n / 0.75, 1e-6);
    }
    fixture_release(&f);
}

/* Trees of nodes whose switches reduce: two flows at once, the slower one counts. */
Test(nccl, switches_and_trees_run_at_once) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .algorithm = MS_ALGORITHM_NVLS_TREE, .size_B = 16e9};
    ms_coll_plan plan = plan_of(&f, request, 32, 1);
    cr_assert_eq(plan.phase_count, 1);
    cr_assert_eq(plan.phases[0].count, 2);
    /* a node in the middle of one tree: two children and, in the other tree, its parent */
    double net_s = 4.0 * request.size_B / 16.0 / (0.92 * 50e9);
    double time_s = fixture_plan_time_s(&f, &plan) - ms_coll_plan_latency_s(&plan);
    cr_assert_float_eq(time_s, net_s, 1e-9 * net_s, "%g s", time_s);
    fixture_release(&f);
}

/* Long ways take their time with every protocol. */
Test(nccl, latency_of_links_beyond_the_librarys_is_added) {
    platform_fixture near, far;
    fixture_platform(&near, "dgx-h100", NULL);
    fixture_platform(&far, "dgx-h100", "{tiers: {rail: {latency: 57 us}}}");
    for (int protocol = MS_PROTOCOL_LL; protocol <= MS_PROTOCOL_SIMPLE; protocol++) {
        const ms_coll_request request = {.kind = MS_COLL_ALL_GATHER,
                                         .algorithm = MS_ALGORITHM_RING,
                                         .protocol = (ms_protocol)protocol,
                                         .size_B = 1e6};
        ms_coll_plan a = plan_of(&near, request, 4, 8);
        ms_coll_plan b = plan_of(&far, request, 4, 8);
        cr_assert_float_eq(ms_coll_plan_latency_s(&b) - ms_coll_plan_latency_s(&a), 3 * 100e-6,
                           1e-12);
    }
    fixture_release(&near);
    fixture_release(&far);
}

/* Without order there is no protocol but Simple. What EFA reports as its latency is for NCCL's
 * choice only, as a message takes far less. Measured where calls queue up: 98 us for 32 KiB among
 * four nodes, 657 us for 64 MiB, and 26.4 us for 32 KiB in a node. */
Test(nccl, a_network_without_order_leaves_simple) {
    platform_fixture f;
    fixture_platform(&f, "p6-b200", NULL);
    cr_assert_eq(f.platform.nics.latency_s, 35e-6);
    cr_assert(f.platform.nics.is_unordered);
    static const struct {
        double size_B, measured_s;
        int members;
    } POINTS[] = {{0x1p15, 98e-6, 32}, {0x1p26, 657e-6, 32}, {0x1p15, 26.4e-6, 8}};
    ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE};
    for (size_t i = 0; i < sizeof POINTS / sizeof POINTS[0]; i++) {
        request.size_B = POINTS[i].size_B;
        ms_coll_plan plan = plan_of(&f, request, POINTS[i].members, 1);
        cr_assert_eq(plan.algorithm,
                     POINTS[i].members == 32 ? MS_ALGORITHM_NVLS_TREE : MS_ALGORITHM_NVLS);
        cr_assert_eq(plan.protocol, MS_PROTOCOL_SIMPLE);
        double time_s = fixture_plan_time_s(&f, &plan);
        cr_assert_lt(fabs(time_s / POINTS[i].measured_s - 1.0), 0.15, "%zu: %g s", i, time_s);
    }
    request.size_B = 1024;
    cr_assert_eq(plan_of(&f, request, 8, 1).protocol, MS_PROTOCOL_SIMPLE, "inside a node, too");
    f.platform.nics.is_unordered = false;
    cr_assert_eq(plan_of(&f, request, 32, 1).protocol, MS_PROTOCOL_LL);
    fixture_release(&f);
}

/* Switches between nodes that reduce: each port carries its part once up and once down. */
Test(nccl, a_network_that_reduces_carries_every_part_once) {
    static const ms_coll_algorithm WAYS[] = {MS_ALGORITHM_COLLNET_DIRECT,
                                             MS_ALGORITHM_COLLNET_CHAIN, MS_ALGORITHM_NVLS};
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 64, sharp: true}"); /* two scalable units */
    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_REDUCE, .algorithm = WAYS[i], .size_B = 16e9};
        ms_coll_plan plan = plan_of(&f, request, 512, 1);
        const ms_flow *ports = &plan.phases[0].flows[1];
        cr_assert_eq(plan.sent_B, 16e9, "in-network all-reduce: S");
        cr_assert_eq(ports->bytes, 2e9, "an eighth to each of eight NICs");
        for (int l = 0; l < ports->count; l++) {
            cr_assert_eq(ports->links[l].weight, 1, "a leaf passes one copy on");
        }
        double copies = WAYS[i] == MS_ALGORITHM_NVLS ? 1.125 / 0.845 : 1.75;
        double inside_s = copies * 16e9 / (0.815 * 450e9);
        double time_s = fixture_plan_time_s(&f, &plan) - ms_coll_plan_latency_s(&plan);
        cr_assert_float_eq(time_s, inside_s, 1e-9 * inside_s, "NVLink is slower: %g s", time_s);
    }
    fixture_release(&f);
}

/* Latency by NCCL's formula: straight 2 (3.7 + 7 * 0.4) + 31 us, whatever the number of nodes. */
Test(nccl, a_network_that_reduces_knows_no_logarithm) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 128, sharp: true}");
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .algorithm = MS_ALGORITHM_COLLNET_DIRECT, .size_B = 0};
    for (int nodes = 4; nodes <= 32; nodes *= 2) {
        ms_coll_plan plan = plan_of(&f, request, 8 * nodes, 1);
        cr_assert_float_eq(fixture_plan_time_s(&f, &plan), 2e-6 + 44e-6, 1e-9);
    }
    fixture_release(&f);
}

Test(nccl, a_network_that_does_not_reduce_is_refused) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    int gpus[16];
    for (int i = 0; i < 16; i++) {
        gpus[i] = i;
    }
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                     .algorithm = MS_ALGORITHM_COLLNET_DIRECT,
                                     .gpus = gpus,
                                     .members = 16,
                                     .size_B = 1};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_E_RANGE);
    ms_coll_report_refusal(&request, &f.diag);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "switches between them that reduce"));
    fixture_release(&f);
}

Test(nccl, without_a_library_all_is_as_the_links_say) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{library: none}");
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE, .size_B = 1024};
    ms_coll_plan plan = plan_of(&f, request, 8, 1);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_RING);
    cr_assert_eq(plan.protocol, MS_PROTOCOL_AUTO);
    cr_assert_float_eq(plan.phases[0].latency_s, 14 * 3.4e-6, 1e-12);
    const int gpus[] = {0, 1};
    ms_coll_request asked = {.kind = MS_COLL_ALL_REDUCE,
                             .protocol = MS_PROTOCOL_LL,
                             .gpus = gpus,
                             .members = 2,
                             .size_B = 1};
    cr_assert_eq(ms_coll_plan_build(&f.platform, &asked, &f.arena, &plan), MS_E_RANGE);
    asked.protocol = MS_PROTOCOL_AUTO;
    asked.algorithm = MS_ALGORITHM_NVLS;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &asked, &f.arena, &plan), MS_E_RANGE);
    ms_coll_report_refusal(&asked, &f.diag);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "'nvls' needs one node"));
    fixture_release(&f);
}

/* Switches reduce with Simple only: not the place is at fault but the protocol. */
Test(nccl, a_protocol_that_an_algorithm_has_not_is_refused_as_such) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    const int gpus[] = {0, 1, 2, 3};
    ms_coll_plan plan;
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                     .algorithm = MS_ALGORITHM_NVLS,
                                     .protocol = MS_PROTOCOL_LL128,
                                     .gpus = gpus,
                                     .members = 4,
                                     .size_B = 1};
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_E_RANGE);
    ms_coll_report_refusal(&request, &f.diag);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "protocol 'll128' is not offered"));
    fixture_release(&f);
}

Test(nccl, protocols_by_name) {
    ms_protocol protocol = MS_PROTOCOL_AUTO;
    cr_assert_eq(ms_protocol_read("ll128", &protocol), MS_OK);
    cr_assert_eq(protocol, MS_PROTOCOL_LL128);
    cr_assert_eq(ms_protocol_read("fast", &protocol), MS_E_RANGE);
    cr_assert_eq(protocol, MS_PROTOCOL_LL128, "untouched");
    cr_assert_str_eq(ms_protocol_name(MS_PROTOCOL_AUTO), "simple");
}

/* Messages, exchanges and shifts take a collective's overhead beside their routes' latency. */
Test(nccl, messages_have_the_overhead_of_collectives) {
    static const ms_coll_kind KINDS[] = {MS_COLL_P2P, MS_COLL_ALL_TO_ALL, MS_COLL_RING_SHIFT};
    for (int i = 0; i < 3; i++) {
        double latency_s[2];
        for (int has_library = 0; has_library < 2; has_library++) {
            platform_fixture f;
            fixture_platform(&f, "dgx-a100", has_library ? NULL : "{library: none}");
            ms_coll_request request = {.kind = KINDS[i], .size_B = 0x1p20};
            ms_coll_plan plan = plan_of(&f, request, 2, 1);
            cr_assert_eq(plan.phase_count, 1);
            latency_s[has_library] = plan.phases[0].latency_s;
            fixture_release(&f);
        }
        cr_assert_float_eq(latency_s[1] - latency_s[0], 22e-6, 1e-12, "kind %d", KINDS[i]);
    }
}
