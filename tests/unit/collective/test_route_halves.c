/* Messages between all pairs of a group counted by halves of routes, against the same one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "collective/route_kinds.h"
#include "plan_fixture.h"

enum { DRAWS = 60, MEMBERS_MAX = 96 };

static const char *const PLATFORMS[][2] = {
    {"flat", "{nodes: 64}"},
    {"flat", "{node: {gpus: 4}, nodes: 20}"},
    {"dgx-h100", "{nodes: 70}"},
    {"dgx-a100", "{pxn: false, nodes: 42}"},
    {"dgx-a100", "{node: {nics: 4}, nodes: 30}"},
    {"dgx-h100", "{nodes: 70, tiers: {rail: {bandwidth: unlimited}}}"},
    {"selene-a100", "{nodes: 300}"},
    {"meta-roce-h100", "{nodes: 768}"},
    {"gb200-nvl72", "{nodes: 16}"},
    {"two-sites", "{nodes: 200}"},
    {"mi300x", "{nodes: 40}"},
    {"mi300x", "{nodes: 40, pxn: true}"},
    {"mi300x", "{nodes: 40, pxn: true, node: {gpus: 6, nics: 4}}"},
};

static ms_random seeded(uint64_t *seed_out) {
    const char *text = getenv("MS_SEED");
    *seed_out = text == NULL ? 1 : strtoull(text, NULL, 10);
    return (ms_random){.state = *seed_out};
}

/* Different GPUs in any order: a stretch of neighbours with holes, scattered ones, or both. */
static int draw_gpus(const ms_platform *platform, ms_random *random, int *gpus_out) {
    int all = ms_platform_gpus(platform);
    int members = (int)ms_random_range(random, 2, MEMBERS_MAX);
    int stride = (int)ms_random_range(random, 1, 12);
    int first = (int)ms_random_range(random, 0, all - 1);
    bool is_scattered = ms_random_range(random, 0, 2) == 0;
    bool has_holes = ms_random_range(random, 0, 1) == 0;
    int count = 0;
    for (int i = 0; i < members; i++) {
        int gpu =
            is_scattered ? (int)ms_random_range(random, 0, all - 1) : (first + i * stride) % all;
        bool is_new = !has_holes || ms_random_range(random, 0, 3) > 0;
        for (int j = 0; j < count; j++) {
            is_new = is_new && gpus_out[j] != gpu;
        }
        if (is_new) {
            gpus_out[count++] = gpu;
        }
    }
    return count;
}

static void assert_same(const ms_phase *a, const ms_phase *b, const char *where) {
    cr_assert_eq(a->latency_s, b->latency_s, "%s", where);
    cr_assert_eq(a->count, b->count, "%s: %d and %d kinds", where, a->count, b->count);
    for (int f = 0; f < a->count; f++) {
        cr_assert_eq(a->flows[f].kind, b->flows[f].kind, "%s", where);
        cr_assert_eq(a->flows[f].bytes, b->flows[f].bytes, "%s", where);
        cr_assert_eq(a->flows[f].count, b->flows[f].count, "%s", where);
        for (int i = 0; i < a->flows[f].count; i++) {
            ms_flow_link x = a->flows[f].links[i], y = b->flows[f].links[i];
            cr_assert(x.link == y.link && x.weight == y.weight && x.load == y.load, "%s", where);
        }
    }
}

/* Fold an all-to-all by halves, and one by one. */
static void compare(platform_fixture *f, const int *gpus, int members, bool is_coarse,
                    const char *where) {
    ms_exchange exchange;
    ms_phase by_halves, by_pairs;
    int tiers[2] = {-1, -1};
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_TO_ALL, .gpus = gpus, .members = members, .size_B = 1e9};
    cr_assert_eq(ms_exchange_init(&f->platform, &request, &f->arena, &exchange), MS_OK);
    ms_message_set set = ms_exchange_messages(&exchange);
    cr_assert_not_null(set.gpus);
    cr_assert_eq(ms_route_kinds_fold(&set, is_coarse, &f->arena, &by_halves, &tiers[0]), MS_OK);
    set.gpus = NULL;
    cr_assert_eq(ms_route_kinds_fold(&set, is_coarse, &f->arena, &by_pairs, &tiers[1]), MS_OK);
    cr_assert_eq(tiers[0], tiers[1], "%s", where);
    assert_same(&by_halves, &by_pairs, where);
}

Test(route_halves, as_one_by_one) {
    uint64_t seed;
    ms_random random = seeded(&seed);
    int most = 0;
    for (size_t p = 0; p < sizeof PLATFORMS / sizeof PLATFORMS[0]; p++) {
        platform_fixture f;
        fixture_platform(&f, PLATFORMS[p][0], PLATFORMS[p][1]);
        for (int draw = 0; draw < DRAWS; draw++) {
            int gpus[MEMBERS_MAX];
            char where[96];
            int members = draw_gpus(&f.platform, &random, gpus);
            snprintf(where, sizeof where, "MS_SEED=%llu, platform %zu, draw %d: %d members",
                     (unsigned long long)seed, p, draw, members);
            if (members > 1) {
                compare(&f, gpus, members, draw % 8 == 7, where);
                most = members > most ? members : most;
            }
        }
        fixture_release(&f);
    }
    cr_assert_gt(most, 64);
}

/* More members than pairs could be looked at, with what each port carries by hand. */
Test(route_halves, thousands_of_members) {
    enum { MEMBERS = 65536 };
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 8192, library: none}");
    int *gpus = MS_NEW(&f.arena, int, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        gpus[i] = i;
    }
    ms_coll_plan plan;
    ms_coll_request request = {
        .kind = MS_COLL_ALL_TO_ALL, .gpus = gpus, .members = MEMBERS, .size_B = MEMBERS};
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    int64_t port_messages = 0; /* of the first NIC, out */
    int port = f.platform.tiers[1].first_link;
    for (int k = 0; k < plan.phases[0].count; k++) {
        const ms_flow *flow = &plan.phases[0].flows[k];
        for (int i = 0; i < flow->count; i++) {
            port_messages += flow->links[i].link == port ? flow->links[i].weight : 0;
        }
    }
    /* eight GPUs of its node each send to all GPUs of its rail on other nodes */
    cr_assert_eq(port_messages, 8 * (int64_t)(8192 - 1));
    /* inside a node; inside a unit and beyond, on the sender's rail and by way of another one */
    cr_assert_eq(plan.phases[0].count, 5, "%d", plan.phases[0].count);
    fixture_release(&f);
}

Test(route_halves, what_would_be_too_many_is_refused) {
    platform_fixture f;
    fixture_platform(&f, "two-sites", "{nodes: 16384}");
    ms_coll_request request = {.kind = MS_COLL_ALL_TO_ALL, .members = 131072};
    cr_assert_not_null(ms_coll_choose(&f.platform, &request, &(ms_protocol){MS_PROTOCOL_AUTO}));
    request.members = 131073;
    cr_assert_null(ms_coll_choose(&f.platform, &request, &(ms_protocol){MS_PROTOCOL_AUTO}));
    request.members = 4097;
    request.intra_node_B = 1.0; /* copies that are forwarded */
    cr_assert_null(ms_coll_choose(&f.platform, &request, &(ms_protocol){MS_PROTOCOL_AUTO}));
    fixture_release(&f);
    fixture_platform(&f, "two-sites", "{nodes: 16384, fabric: {units_per_pod: 256}}");
    request = (ms_coll_request){.kind = MS_COLL_ALL_TO_ALL, .members = 131072};
    cr_assert_null(ms_coll_choose(&f.platform, &request, &(ms_protocol){MS_PROTOCOL_AUTO}),
                   "a site's link would be crossed 2^32 times");
    fixture_release(&f);
}

Test(route_halves, memory_running_out_is_a_status) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    int gpus[16];
    for (int i = 0; i < 16; i++) {
        gpus[i] = i;
    }
    ms_status status = MS_E_NOMEM;
    for (long n = 0; status == MS_E_NOMEM && n < 100; n++) {
        ms_coll_plan plan;
        ms_arena_fail_after(&f.arena, n);
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_TO_ALL, .gpus = gpus, .members = 16, .size_B = 1e6};
        status = ms_coll_plan_build(&f.platform, &request, &f.arena, &plan);
    }
    cr_assert_eq(status, MS_OK);
    fixture_release(&f);
}
