/* Collectives played step by step, against the same as flows. MS_SEED replays one seed. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "collective/coll_class.h"
#include "plan_fixture.h"

enum { DRAWS = 200, GROUPS_MAX = 4 };

static const struct {
    const char *name, *overrides;
} PLATFORMS[] = {
    {"dgx-a100", "{sharp: true, nodes: 32}"},
    {"dgx-h100", "{nodes: 32}"},
    {"p6-b200", "{nodes: 32}"},
    {"dgx2-v100", "{nodes: 16}"},
    {"h800", "{nodes: 32}"},
    {"hdr4-a100", "{sharp: true, nodes: 32}"},
    {"flat", "{nodes: 256}"},
    {"tpu-v4", "{nodes: 64}"},
    {"gb200-nvl72", "{nodes: 4}"},
    {"dgx-h100", "{sharp: true, nodes: 32}"},
};

enum { PLATFORM_COUNT = sizeof PLATFORMS / sizeof PLATFORMS[0] };

static uint64_t seed_of_test(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 1 : strtoull(text, NULL, 10);
}

static int draw_int(ms_random *random, int least, int most) {
    return (int)ms_random_range(random, least, most);
}

/* Where a group lies: `members` of each of `groups` that lie side by side, `stride` apart. */
typedef struct shape {
    int members, stride;
} shape;

/* 2 to 64 GPUs next to each other or far apart, whole nodes, or one of each node. */
static shape draw_shape(const ms_platform *platform, ms_random *random, ms_coll_algorithm wanted,
                        int groups) {
    int world = ms_platform_gpus(platform);
    int node = platform->gpus_per_node;
    int most = world / groups < 64 ? world / groups : 64;
    bool is_whole = wanted >= MS_ALGORITHM_NVLS && node > 1 && node <= most && groups == 1;
    if (is_whole && wanted != MS_ALGORITHM_PAT) {
        return (shape){node * draw_int(random, 1, most / node), 1};
    }
    if (is_whole && platform->nodes > 1) {
        return (shape){draw_int(random, 2, platform->nodes < 64 ? platform->nodes : 64), node};
    }
    int members = draw_int(random, 2, most);
    return (shape){members, draw_int(random, 1, world / (members * groups))};
}

/* A collective, by the algorithm that is wanted where the platform offers it there. */
static ms_coll_request draw(platform_fixture *f, ms_random *random, ms_coll_algorithm wanted,
                            int groups) {
    static const ms_coll_kind KINDS[] = {MS_COLL_ALL_REDUCE, MS_COLL_REDUCE_SCATTER,
                                         MS_COLL_ALL_GATHER, MS_COLL_RING_SHIFT,
                                         MS_COLL_ALL_TO_ALL, MS_COLL_P2P};
    bool is_free = wanted < MS_ALGORITHM_TREE || groups > 1;
    bool is_pat = wanted == MS_ALGORITHM_PAT;
    ms_coll_request request = {.kind = is_free  ? KINDS[draw_int(random, 0, 5)]
                                       : is_pat ? MS_COLL_ALL_GATHER
                                                : MS_COLL_ALL_REDUCE,
                               .algorithm = wanted,
                               .size_B = (double)draw_int(random, 1, 1024) *
                                         (double)(1 << draw_int(random, 0, 21))};
    shape lies = draw_shape(&f->platform, random, wanted, groups);
    request.members = request.kind == MS_COLL_P2P ? 2 : lies.members;
    int *gpus = MS_NEW(&f->arena, int, groups *request.members);
    for (int i = 0; i < groups * request.members; i++) {
        int group = i / request.members;
        gpus[i] = (i % request.members * groups + group) * lies.stride;
    }
    request.gpus = gpus;
    ms_coll_plan plan;
    if (ms_coll_plan_build(&f->platform, &request, &f->arena, &plan) != MS_OK) {
        request.algorithm = MS_ALGORITHM_AUTO;
    }
    return request;
}

static double time_of(platform_fixture *f, ms_coll_request request, bool is_stepped,
                      ms_coll_plan *plan) {
    request.is_stepped = is_stepped;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, plan), MS_OK);
    return fixture_plan_time_s(f, plan);
}

/* Alone on its links, a collective takes as long step by step as in flows. */
Test(steps, take_as_long_as_flows_where_nothing_contends) {
    uint64_t seed = seed_of_test();
    ms_random random = {seed};
    int algorithms = 0;
    int stepped = 0;
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        platform_fixture f;
        fixture_platform(&f, PLATFORMS[p].name, PLATFORMS[p].overrides);
        for (int i = 0; i < DRAWS / PLATFORM_COUNT; i++) {
            ms_coll_algorithm wanted = (ms_coll_algorithm)(i % (MS_ALGORITHM_COLLNET_CHAIN + 1));
            ms_coll_request request = draw(&f, &random, wanted, 1);
            ms_coll_plan flow, step;
            double flow_s = time_of(&f, request, false, &flow);
            double step_s = time_of(&f, request, true, &step);
            cr_assert_float_eq(step_s, flow_s, 0.01 * flow_s,
                               "MS_SEED=%llu, %s, draw %d: %s of %d by %s: %g s and %g s",
                               (unsigned long long)seed, PLATFORMS[p].name, i,
                               ms_coll_kind_name(request.kind), request.members,
                               ms_coll_algorithm_name(step.algorithm), step_s, flow_s);
            algorithms |= 1 << step.algorithm;
            stepped += step.phase_count > 1;
        }
        fixture_release(&f);
    }
    cr_assert_eq(algorithms, 0x1FE, "every built-in algorithm: %x", algorithms);
    cr_assert_gt(stepped, DRAWS / 3);
}

/* What the slowest of several groups takes that run at the same time. */
static double class_time_s(platform_fixture *f, ms_coll_request request, int groups,
                           bool is_stepped) {
    ms_coll_class together;
    double time_s = 0.0;
    request.is_stepped = is_stepped;
    int32_t *load = MS_NEW(&f->arena, int32_t, f->platform.link_count);
    cr_assert_eq(
        ms_coll_class_build(&f->platform, &request, groups, load, &f->arena, &f->diag, &together),
        MS_OK);
    cr_assert_eq(ms_coll_plan_time(&f->platform, &together.plans[together.slowest], &time_s),
                 MS_OK);
    return time_s;
}

/* Groups that meet on links: a step waits for its slowest message, a flow runs at the pace of its
 * slowest edge all the time, so neither is far from the other (steps.md). */
Test(steps, are_bounded_where_groups_contend) {
    uint64_t seed = seed_of_test();
    ms_random random = {seed};
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        platform_fixture f;
        fixture_platform(&f, PLATFORMS[p].name, PLATFORMS[p].overrides);
        for (int i = 0; i < 10; i++) {
            int groups = draw_int(&random, 2, GROUPS_MAX);
            ms_coll_request request = draw(&f, &random, (ms_coll_algorithm)(i % 9), groups);
            double ratio =
                class_time_s(&f, request, groups, true) / class_time_s(&f, request, groups, false);
            cr_assert(ratio > 0.999 && ratio < 1.001,
                      "MS_SEED=%llu, %s, draw %d: %d groups, %s of %d: %g",
                      (unsigned long long)seed, PLATFORMS[p].name, i, groups,
                      ms_coll_kind_name(request.kind), request.members, ratio);
        }
        fixture_release(&f);
    }
}

/* The steps of a ring are 2 (n - 1) messages of an n-th part along each of its edges. */
Test(steps, of_a_ring_carry_an_nth_part) {
    platform_fixture f;
    fixture_platform(&f, "flat", "{nodes: 8}");
    const int gpus[] = {0, 1, 2, 3, 4};
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 5, .size_B = 5e6, .is_stepped = true};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_eq(plan.phase_count, 8);
    for (int p = 0; p < plan.phase_count; p++) {
        cr_assert_eq(plan.phases[p].count, 1, "all edges cross alike links");
        cr_assert_eq(plan.phases[p].flows[0].bytes, 1e6);
        cr_assert_eq(plan.phases[p].flows[0].count, 10, "up and down of each member");
        cr_assert_float_eq(plan.phases[p].latency_s, 1e-6, 1e-18);
    }
    fixture_release(&f);
}

/* Far more steps than are played one by one: several as one. */
Test(steps, of_a_long_ring_are_taken_together) {
    platform_fixture f;
    fixture_platform(&f, "flat", "{nodes: 1024}");
    int gpus[1024];
    for (int i = 0; i < 1024; i++) {
        gpus[i] = i;
    }
    ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 1024, .size_B = 1e9};
    ms_coll_plan flow, step;
    double flow_s = time_of(&f, request, false, &flow);
    cr_assert_float_eq(time_of(&f, request, true, &step), flow_s, 1e-9 * flow_s);
    cr_assert_eq(step.phase_count, 512);
    fixture_release(&f);
}
