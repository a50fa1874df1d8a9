/* Routes in two halves: what comes before the turn, and after it, depends on one end, on how near
 * the other one is, and on its rail. */
#include <stdlib.h>

#include "base/random.h"
#include "platform_fixture.h"

static ms_random seeded(uint64_t *seed_out) {
    const char *text = getenv("MS_SEED");
    *seed_out = text == NULL ? 1 : strtoull(text, NULL, 10);
    return (ms_random){.state = *seed_out};
}

static const char *const HALVED[][2] = {
    {"flat", NULL},
    {"flat", "{node: {gpus: 4}, nodes: 64}"},
    {"dgx-h100", "{nodes: 100}"},
    {"dgx-a100", "{pxn: false, nodes: 50}"},
    {"dgx-a100", "{node: {nics: 4}, nodes: 50}"},
    {"dgx-h100", "{tiers: {rail: {bandwidth: unlimited}, spine: {bandwidth: unlimited}}}"},
    {"selene-a100", NULL},
    {"meta-roce-h100", NULL},
    {"gb200-nvl72", "{nodes: 24}"},
    {"two-sites", "{nodes: 300}"},
};

/* The innermost tier whose domain holds both. */
static int level_of(const ms_platform *platform, int a, int b) {
    int tier = 0;
    while (a / ms_platform_domain(platform, tier) != b / ms_platform_domain(platform, tier)) {
        tier++;
    }
    return tier;
}

static int rail_of(const ms_platform *platform, int gpu) {
    return gpu % platform->gpus_per_node % ms_platform_rails(platform);
}

/* Whether the halves before the turns, or after them, are the same. */
static bool are_same(const ms_route *a, const ms_route *b, bool is_after) {
    int from[2] = {is_after ? a->turn : 0, is_after ? b->turn : 0};
    int count = is_after ? a->count - a->turn : a->turn;
    if (count != (is_after ? b->count - b->turn : b->turn)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (a->links[from[0] + i] != b->links[from[1] + i]) {
            return false;
        }
    }
    return true;
}

Test(platform_halves, depend_on_one_end_level_and_rail) {
    uint64_t seed;
    ms_random random = seeded(&seed);
    for (size_t p = 0; p < sizeof HALVED / sizeof HALVED[0]; p++) {
        platform_fixture f;
        const ms_platform *platform = fixture_platform(&f, HALVED[p][0], HALVED[p][1]);
        int last = ms_platform_gpus(platform) - 1;
        int compared = 0;
        cr_assert_gt(ms_platform_rails(platform), 0);
        for (int draw = 0; draw < 30000; draw++) {
            int one = (int)ms_random_range(&random, 0, last);
            int reach = draw % 2 == 0 ? last : 40; /* near ones, too */
            int a = (int)ms_random_range(&random, 0, reach) + one;
            int b = (int)ms_random_range(&random, 0, reach) + one;
            a = a > last ? a - last - 1 : a;
            b = b > last ? b - last - 1 : b;
            if (one == a || one == b || rail_of(platform, a) != rail_of(platform, b) ||
                level_of(platform, one, a) != level_of(platform, one, b)) {
                continue;
            }
            ms_route out[2], in[2];
            ms_platform_route(platform, one, a, &out[0]);
            ms_platform_route(platform, one, b, &out[1]);
            ms_platform_route(platform, a, one, &in[0]);
            ms_platform_route(platform, b, one, &in[1]);
            cr_assert(are_same(&out[0], &out[1], false) && are_same(&in[0], &in[1], true),
                      "MS_SEED=%llu, platform %zu: %d to and from %d and %d",
                      (unsigned long long)seed, p, one, a, b);
            cr_assert(out[0].tier == out[1].tier && out[0].latency_s == out[1].latency_s &&
                      in[0].tier == in[1].tier && in[0].latency_s == in[1].latency_s);
            compared++;
        }
        cr_assert_gt(compared, 300, "platform %zu: %d", p, compared);
        fixture_release(&f);
    }
}

Test(platform_halves, some_fabrics_have_none) {
    platform_fixture f;
    cr_assert_eq(ms_platform_rails(fixture_platform(&f, "tpu-v4", NULL)), 0);
    fixture_release(&f);
    cr_assert_eq(ms_platform_rails(fixture_platform(&f, "dgx-h100", "{routing: ecmp}")), 0);
    fixture_release(&f);
}
