/* How a router's kernels choose experts. */
#include "moe_fixture.h"

enum { TOKENS = 2048, EXPERTS = 64 };

/* A layer of experts on a rank of its own.  factor: the capacity's; 0: not bounded. */
static void run_router(fixture_costs *fixture, ms_moe_router router, double factor,
                       const ms_gpu_type *gpu) {
    ms_model model = fixture_small_moe(1);
    model.moe.experts = EXPERTS;
    model.moe.router = router;
    model.moe.capacity_factor = factor;
    fixture_init(fixture);
    fixture->layout.micro_batch = 1;
    fixture_run(fixture, &model, gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* What a pass calls a kernel for, all its shapes together. */
typedef struct calls {
    int count;
    double bytes, time_s;
} calls;

static calls calls_of(const ms_stage_costs *costs, ms_pass pass, const char *name) {
    calls sum = {0};
    ms_pass_plan plan = costs->stage[0].passes[pass];
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        ms_segment_kernels kernels = costs->segments[i].kernels;
        for (int u = kernels.use_first; u < kernels.use_first + kernels.uses; u++) {
            const ms_kernel *kernel = &costs->kernels[costs->uses[u].kernel];
            int count = strcmp(kernel->name, name) == 0 ? costs->uses[u].calls : 0;
            sum.count += count;
            sum.bytes += count * kernel->bytes;
            sum.time_s += count * kernel->time_s;
        }
    }
    return sum;
}

/* One table of 9 e + 47 bytes an entry in 14 kernels, eleven operations on what is chosen, a search
 * for it and one for the auxiliary loss; backward 5 e + 24 in five, eight more. */
Test(router, eager_ones_are_operations_on_tables) {
    const ms_gpu_type gpu = fixture_a100();
    fixture_costs eager;
    run_router(&eager, MS_MOE_ROUTER_EAGER, 0, &gpu);
    const double entries = (double)TOKENS * EXPERTS;
    calls tables = calls_of(&eager.costs, MS_PASS_F, "router_table");
    cr_assert_eq(tables.count, 14);
    cr_assert_lt(fixture_gap(tables.bytes, entries * (9 * 2 + 47)), 1e-12);
    cr_assert_eq(calls_of(&eager.costs, MS_PASS_F, "router_choice").count, 11);
    cr_assert_eq(calls_of(&eager.costs, MS_PASS_F, "router_search").count, 2);
    calls back = calls_of(&eager.costs, MS_PASS_B, "router_table_backward");
    cr_assert_eq(back.count, 5);
    cr_assert_lt(fixture_gap(back.bytes, entries * (5 * 2 + 24)), 1e-12);
    cr_assert_eq(calls_of(&eager.costs, MS_PASS_B, "router_choice").count, 8);
    cr_assert_eq(calls_of(&eager.costs, MS_PASS_B, "router_search").count, 0);
    cr_assert_eq(calls_of(&eager.costs, MS_PASS_F, "router_top_k").count, 0);
    fixture_clear(&eager);
}

Test(router, fused_ones_are_a_kernel_each_way) {
    const ms_gpu_type gpu = fixture_a100();
    fixture_costs fused;
    run_router(&fused, MS_MOE_ROUTER_FUSED, 1.25, &gpu);
    cr_assert_eq(calls_of(&fused.costs, MS_PASS_F, "router_top_k").count, 1);
    cr_assert_eq(calls_of(&fused.costs, MS_PASS_F, "router_search").count, 0);
    cr_assert_eq(calls_of(&fused.costs, MS_PASS_B, "router_backward").count, 1);
    fixture_clear(&fused);
}

/* A bounded number of tokens is chosen by one more search, and masks the probabilities: 6 e + 2
 * bytes in four kernels, and 2 e + 1 in one backward. */
Test(router, a_capacity_takes_another_search) {
    const ms_gpu_type gpu = fixture_a100();
    const double entries = (double)TOKENS * EXPERTS;
    fixture_costs bounded;
    run_router(&bounded, MS_MOE_ROUTER_EAGER, 1.25, &gpu);
    calls tables = calls_of(&bounded.costs, MS_PASS_F, "router_table");
    cr_assert_eq(tables.count, 14 + 4);
    cr_assert_lt(fixture_gap(tables.bytes, entries * (15 * 2 + 49)), 1e-12);
    cr_assert_eq(calls_of(&bounded.costs, MS_PASS_F, "router_search").count, 3);
    calls back = calls_of(&bounded.costs, MS_PASS_B, "router_table_backward");
    cr_assert_lt(fixture_gap(back.bytes, entries * (7 * 2 + 25)), 1e-12);
    fixture_clear(&bounded);
}

/* What several branches made of a token, and their gradients, are summed: two planes of 2,048
 * tokens of 1,024 in, one out; a compiled kernel does so on the way. */
Test(router, branches_beside_it_are_summed) {
    const double plane_B = (double)TOKENS * 1024 * 2;
    const struct {
        int shared_experts;
        ms_kernels kernels;
        int forward, backward;
    } CASES[] = {{1, MS_KERNELS_FUSED, 1, 2},
                 {0, MS_KERNELS_FUSED, 0, 1},
                 {1, MS_KERNELS_EAGER, 1, 2},
                 {1, MS_KERNELS_COMPILED, 0, 0}};
    const ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_model model = fixture_small_moe(1);
        model.moe.shared_experts = CASES[i].shared_experts;
        model.kernels = CASES[i].kernels;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.micro_batch = 1;
        fixture_run(&fixture, &model, &gpu);
        calls forward = calls_of(&fixture.costs, MS_PASS_F, "branch_sum");
        calls backward = calls_of(&fixture.costs, MS_PASS_B, "branch_sum");
        cr_assert_eq(forward.count, CASES[i].forward, "%zu", i);
        cr_assert_eq(backward.count, CASES[i].backward, "%zu", i);
        cr_assert_eq(forward.bytes + backward.bytes,
                     3 * plane_B * (CASES[i].forward + CASES[i].backward), "%zu", i);
        fixture_clear(&fixture);
    }
}

/* A search takes its time for each entry, of a warp's 32 at least, or that of reading them. */
Test(router, searches_take_longer_than_their_bytes) {
    ms_gpu_type gpu = fixture_a100();
    gpu.kernel_launch_s = 0;
    gpu.kernels.search_s = 0;
    fixture_costs read, searched;
    run_router(&read, MS_MOE_ROUTER_EAGER, 0, &gpu);
    gpu.kernels.search_s = 0.08e-9;
    run_router(&searched, MS_MOE_ROUTER_EAGER, 0, &gpu);
    const double entries = (double)TOKENS * EXPERTS;
    cr_assert_lt(fixture_gap(fixture_kernel(&read.costs, "router_search")->time_s,
                             4 * entries / (gpu.hbm_Bps * gpu.memory_efficiency)),
                 1e-12);
    cr_assert_lt(
        fixture_gap(fixture_kernel(&searched.costs, "router_search")->time_s, 0.08e-9 * entries),
        1e-12);
    fixture_clear(&read);
    fixture_clear(&searched);
    ms_model few = fixture_small_moe(1); /* of 16 experts */
    few.moe.router = MS_MOE_ROUTER_EAGER;
    fixture_costs narrow;
    fixture_init(&narrow);
    narrow.layout.micro_batch = 1;
    fixture_run(&narrow, &few, &gpu);
    cr_assert_lt(
        fixture_gap(fixture_kernel(&narrow.costs, "router_search")->time_s, 0.08e-9 * TOKENS * 32),
        1e-12);
    fixture_clear(&narrow);
}
