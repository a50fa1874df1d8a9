/* Plans of groups that are others in another place, against each laid out by itself. */
#include <stdlib.h>

#include "base/random.h"
#include "collective/coll_class.h"
#include "plan_fixture.h"

static ms_random seeded(uint64_t *seed_out) {
    const char *text = getenv("MS_SEED");
    *seed_out = text == NULL ? 1 : strtoull(text, NULL, 10);
    return (ms_random){.state = *seed_out};
}

static const char *const PLATFORMS[][2] = {
    {"flat", "{nodes: 256}"},
    {"flat", "{node: {gpus: 4}, nodes: 64}"},
    {"dgx-h100", "{nodes: 100}"},
    {"dgx-h100", "{nodes: 64, sharp: true}"},
    {"dgx-a100", "{pxn: false, nodes: 50}"},
    {"dgx-a100", "{node: {nics: 4}, nodes: 50}"},
    {"dgx-h100", "{nodes: 70, tiers: {rail: {bandwidth: unlimited}}}"},
    {"dgx-h100", "{nodes: 64, routing: ecmp}"},
    {"selene-a100", "{nodes: 300}"},
    {"meta-roce-h100", "{nodes: 768}"},
    {"gb200-nvl72", "{nodes: 24}"},
    {"two-sites", "{nodes: 300}"},
    {"mi300x", "{nodes: 64}"},
    {"mi300x", "{nodes: 64, pxn: true}"},
    {"mi300x", "{nodes: 64, pxn: true, node: {nics: 4}}"},
    {"tpu-v4", "{nodes: 64}"},
};

static const ms_coll_kind KINDS[] = {MS_COLL_ALL_REDUCE, MS_COLL_ALL_GATHER, MS_COLL_REDUCE_SCATTER,
                                     MS_COLL_ALL_TO_ALL, MS_COLL_RING_SHIFT, MS_COLL_P2P};

/* `groups` groups of a mesh's axis: its members so far apart, the groups side by side or in rows
 * between. */
static int *draw_gpus(platform_fixture *f, ms_random *random, int *members, int *groups) {
    int all = ms_platform_gpus(&f->platform);
    int inner = 1 << ms_random_range(random, 0, 5);
    int most = all / inner;
    *members = *members > 0 ? *members : (int)ms_random_range(random, 2, most < 24 ? most : 24);
    int outer = all / (inner * *members);
    outer = outer < 20 ? outer : 20;
    int start = (int)ms_random_range(random, 0, all - outer * inner * *members);
    *groups = outer * inner;
    int *gpus = MS_NEW(&f->arena, int, *groups **members + 1);
    for (int g = 0; g < *groups; g++) {
        for (int i = 0; i < *members; i++) {
            gpus[g * *members + i] = start + g / inner * inner * *members + i * inner + g % inner;
        }
    }
    return gpus;
}

static void assert_same_flow(const ms_flow *a, const ms_flow *b, const char *where) {
    cr_assert(a->bytes == b->bytes && a->kind == b->kind && a->count == b->count, "%s", where);
    for (int i = 0; i < a->count; i++) {
        ms_flow_link x = a->links[i], y = b->links[i];
        cr_assert(x.link == y.link && x.weight == y.weight && x.load == y.load, "%s", where);
    }
}

static void assert_same(const ms_coll_plan *a, const ms_coll_plan *b, const char *where) {
    cr_assert(a->algorithm == b->algorithm && a->protocol == b->protocol && a->tier == b->tier &&
                  a->sent_B == b->sent_B && a->phase_count == b->phase_count,
              "%s", where);
    for (int p = 0; p < a->phase_count; p++) {
        const ms_phase *x = &a->phases[p], *y = &b->phases[p];
        cr_assert(x->latency_s == y->latency_s && x->count == y->count, "%s", where);
        cr_assert_eq(p > 0 && x->flows == x[-1].flows, p > 0 && y->flows == y[-1].flows, "%s",
                     where);
        for (int f = 0; f < x->count; f++) {
            assert_same_flow(&x->flows[f], &y->flows[f], where);
        }
    }
}

Test(moved, as_laid_out_by_themselves) {
    enum { DRAWS = 40 };
    uint64_t seed;
    ms_random random = seeded(&seed);
    int compared = 0;
    for (size_t p = 0; p < sizeof PLATFORMS / sizeof PLATFORMS[0]; p++) {
        platform_fixture f;
        fixture_platform(&f, PLATFORMS[p][0], PLATFORMS[p][1]);
        for (int draw = 0; draw < DRAWS; draw++) {
            ms_coll_request request = {.kind = KINDS[ms_random_range(&random, 0, 5)],
                                       .size_B = (double)ms_random_range(&random, 1, 1 << 28),
                                       .is_stepped = draw % 4 == 0};
            int groups = 0;
            request.members = request.kind == MS_COLL_P2P ? 2 : 0;
            const int *gpus = draw_gpus(&f, &random, &request.members, &groups);
            request.gpus = gpus;
            ms_coll_plan *plans = MS_NEW(&f.arena, ms_coll_plan, groups + 1);
            cr_assert_eq(ms_coll_plans_build(&f.platform, &request, groups, &f.arena, plans),
                         MS_OK);
            for (int g = 0; g < groups; g++, compared++) {
                ms_coll_plan own;
                char where[128];
                snprintf(where, sizeof where,
                         "MS_SEED=%llu, platform %zu, draw %d: kind %d, group %d of %d x %d",
                         (unsigned long long)seed, p, draw, (int)request.kind, g, groups,
                         request.members);
                request.gpus = gpus + (size_t)g * (size_t)request.members;
                cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &own), MS_OK);
                assert_same(&plans[g], &own, where);
            }
        }
        fixture_release(&f);
    }
    cr_assert_gt(compared, 10000);
}

/* How a group moved decides; the numbers are nodes and places inside one. */
Test(moved, where_routes_are_alike) {
    platform_fixture f;
    /* units of 32 nodes, the last one of 4 */
    const ms_platform *platform = fixture_platform(&f, "dgx-h100", "{nodes: 100}");
    int shifts[MS_TIER_MAX];
    const ms_group_move node = {.gpus = {0, 7}, .slots = {0, 7}, .nodes = 5, .tier = 0};
    cr_assert(ms_platform_moves_alike(platform, &node, shifts));
    cr_assert_eq(shifts[0], 2 * 5 * 8);
    ms_group_move rail = {.gpus = {0, 24}, .slots = {0, 0}, .nodes = 28, .tier = 1};
    cr_assert(ms_platform_moves_alike(platform, &rail, shifts), "to the unit's last four nodes");
    rail.nodes = 29;
    cr_assert_not(ms_platform_moves_alike(platform, &rail, shifts), "into two units");
    rail.nodes = 2;
    rail.slots_on = 7;
    cr_assert(ms_platform_moves_alike(platform, &rail, shifts));
    cr_assert_eq(shifts[1], 2 * (2 * 8 + 7));
    rail.slots_on = 8;
    cr_assert_not(ms_platform_moves_alike(platform, &rail, shifts), "out of the node");
    ms_group_move spine = {.gpus = {0, 511}, .slots = {0, 7}, .nodes = 32, .tier = 2};
    cr_assert(ms_platform_moves_alike(platform, &spine, shifts));
    cr_assert_eq(shifts[2], 2 * 8, "a leaf for each rail");
    spine.nodes = 31;
    cr_assert_not(ms_platform_moves_alike(platform, &spine, shifts), "not by whole units");
    fixture_release(&f);
    platform = fixture_platform(&f, "tpu-v4", NULL);
    cr_assert_not(ms_platform_moves_alike(platform, &node, shifts), "a torus says nothing");
    fixture_release(&f);
}
