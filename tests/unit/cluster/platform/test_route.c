/* Routes, links and their names on every fabric. */
#include <math.h>

#include "base/random.h"
#include "cluster/platform/switches/switches.h"
#include "platform_fixture.h"

/* A route as text, such as "nvlink:gpu0:up nvlink:gpu1:down". */
static const char *route_text(const ms_platform *platform, int from, int to, ms_buffer *out) {
    ms_route route;
    ms_platform_route(platform, from, to, &route);
    for (int i = 0; i < route.count; i++) {
        char name[96];
        ms_buffer_printf(out, "%s%s", i == 0 ? "" : " ",
                         ms_platform_link_name(platform, route.links[i], name, sizeof name));
    }
    return ms_buffer_text(out);
}

typedef struct route_case {
    const char *platform, *overrides;
    int from, to;
    const char *links;
    const char *tier;
} route_case;

static const route_case ROUTES[] = {
    {"flat", NULL, 3, 1023, "fabric:gpu3:up fabric:gpu1023:down", "fabric"},
    {"flat", NULL, 7, 7, "", NULL},
    {"ideal", NULL, 3, 1023, "", "fabric"},
    {"dgx-a100", NULL, 0, 5, "nvlink:gpu0:up nvlink:gpu5:down", "nvlink"},
    {"dgx-a100", NULL, 10, 26, "rail:node1:nic2:up rail:node3:nic2:down", "rail"},
    {"dgx-a100", NULL, 8, 19,
     "nvlink:gpu8:up nvlink:gpu11:down rail:node1:nic3:up rail:node2:nic3:down", "rail"},
    {"dgx-a100", "{pxn: false}", 8, 19,
     "rail:node1:nic0:up spine:unit0:rail0:up spine:unit0:rail3:down rail:node2:nic3:down",
     "spine"},
    {"dgx-a100", "{nodes: 40}", 0, 160,
     "rail:node0:nic0:up spine:unit0:rail0:up spine:unit1:rail0:down rail:node20:nic0:down",
     "spine"},
    {"dgx-a100", "{nodes: 40}", 1, 160,
     "nvlink:gpu1:up nvlink:gpu0:down rail:node0:nic0:up spine:unit0:rail0:up "
     "spine:unit1:rail0:down rail:node20:nic0:down",
     "spine"},
    {"selene-a100", NULL, 4, 4476,
     "rail:node0:nic4:up spine:unit0:rail4:up core:pod0:up core:pod3:down spine:unit27:rail4:down "
     "rail:node559:nic4:down",
     "core"},
    {"selene-a100", NULL, 0, 1116,
     "nvlink:gpu0:up nvlink:gpu4:down rail:node0:nic4:up spine:unit0:rail4:up "
     "spine:unit6:rail4:down rail:node139:nic4:down",
     "spine"},
    {"hypothetical-two-tier", NULL, 1, 14, "rail:node0:nic1:up rail:node1:nic2:down", "rail"},
    {"hypothetical-two-tier", NULL, 5, 511,
     "rail:node0:nic1:up spine:unit0:up spine:unit15:down rail:node63:nic3:down", "spine"},
    {"dgx-a100", "{node: {nics: 4}}", 1, 15,
     "nvlink:gpu1:up nvlink:gpu3:down rail:node0:nic3:up rail:node1:nic3:down", "rail"},
    {"mi300x", NULL, 0, 5, "xgmi:gpu0-gpu5", "xgmi"},
    {"mi300x", NULL, 14, 9, "xgmi:gpu14-gpu9", "xgmi"},
    {"mi300x", NULL, 8, 18,
     "rail:node1:nic0:up spine:unit0:rail0:up spine:unit0:rail2:down rail:node2:nic2:down",
     "spine"},
    {"mi300x", "{pxn: true}", 8, 19, "xgmi:gpu8-gpu11 rail:node1:nic3:up rail:node2:nic3:down",
     "rail"},
    {"mi300x", "{pxn: true, node: {nics: 4}}", 14, 3,
     "xgmi:gpu14-gpu11 rail:node1:nic3:up rail:node0:nic3:down", "rail"},
    {"dgx-a100", "{tiers: {rail: {bandwidth: unlimited}}}", 0, 9, "nvlink:gpu0:up nvlink:gpu1:down",
     "rail"},
};

Test(platform_route, table) {
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++) {
        const route_case *c = &ROUTES[i];
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, c->platform, c->overrides);
        ms_buffer text;
        ms_buffer_init(&text);
        cr_assert_str_eq(route_text(platform, c->from, c->to, &text), c->links, "case %zu", i);
        ms_route route;
        ms_platform_route(platform, c->from, c->to, &route);
        if (c->tier == NULL) {
            cr_assert_eq(route.tier, -1, "case %zu", i);
        } else {
            cr_assert_str_eq(platform->tiers[route.tier].name, c->tier, "case %zu", i);
        }
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}

Test(platform_route, flat_is_one_microsecond_and_25_GBps_end_to_end) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "flat", NULL);
    cr_assert_geq(ms_platform_gpus(platform), 1024);
    ms_route route;
    ms_platform_route(platform, 0, 1023, &route);
    cr_assert_eq(route.latency_s, 1e-6);
    for (int i = 0; i < route.count; i++) {
        cr_assert_eq(ms_platform_link(platform, route.links[i]).capacity_Bps, 25e9);
    }
    fixture_release(&fixture);
}

/* NVLink inside a node, the NIC between nodes; the uplinks of a unit of 20 nodes where they carry a
 * fortieth; nothing where all is unlimited. */
Test(platform_route, bottleneck_is_the_first_of_the_narrowest) {
    static const struct {
        const char *platform, *overrides;
        int to, tier;
        double capacity_Bps;
    } CASES[] = {{"dgx-a100", "{nodes: 40}", 1, 0, 300e9 * 0.803},
                 {"dgx-a100", "{nodes: 40}", 8, 1, 25e9 * 0.92},
                 {"dgx-a100", "{nodes: 40}", 160, 1, 25e9 * 0.92},
                 {"dgx-a100", "{nodes: 40, fabric: {oversubscription: 40}}", 160, 2, 12.5e9 * 0.92},
                 {"ideal", NULL, 9, 0, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform =
            fixture_platform(&fixture, CASES[i].platform, CASES[i].overrides);
        ms_route route;
        int tier = 99;
        ms_platform_route(platform, 0, CASES[i].to, &route);
        double capacity_Bps = ms_route_bottleneck_Bps(platform, &route, &tier);
        cr_assert_eq(tier, CASES[i].tier, "case %zu: tier %d", i, tier);
        cr_assert_eq(isinf(capacity_Bps), CASES[i].capacity_Bps == 0);
        cr_assert(isinf(capacity_Bps) || fabs(capacity_Bps / CASES[i].capacity_Bps - 1) < 1e-12,
                  "case %zu: %g", i, capacity_Bps);
        fixture_release(&fixture);
    }
}

Test(platform_route, ideal_takes_no_time) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "ideal", NULL);
    ms_route route;
    ms_platform_route(platform, 17, 1000, &route);
    cr_assert_eq(route.count, 0);
    cr_assert_eq(route.latency_s, 0);
    cr_assert_eq(route.tier, 0);
    fixture_release(&fixture);
}

Test(platform_route, latency_is_the_sum_of_the_crossings) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", "{nodes: 40}");
    ms_route route;
    ms_platform_route(platform, 1, 160, &route);
    cr_assert_float_eq(route.latency_s, 2 * 1.7e-6 + 2 * 7e-6 + 2 * 180e-9, 1e-18);
    fixture_release(&fixture);
}

Test(platform_route, oversubscription_divides_the_uplinks) {
    static const double RATIOS[] = {1, 2, 3, 4};
    for (size_t i = 0; i < sizeof RATIOS / sizeof RATIOS[0]; i++) {
        char overrides[96];
        snprintf(overrides, sizeof overrides, "{nodes: 40, fabric: {oversubscription: %g}}",
                 RATIOS[i]);
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", overrides);
        ms_link_info rail = ms_platform_link(platform, platform->tiers[1].first_link);
        ms_link_info spine = ms_platform_link(platform, platform->tiers[2].first_link);
        cr_assert_float_eq(rail.capacity_Bps, 0.92 * 25e9, 1);
        cr_assert_float_eq(spine.capacity_Bps, 20 * 0.92 * 25e9 / RATIOS[i], 10);
        cr_assert_eq(spine.parallel, (int)ceil(20 / RATIOS[i]));
        fixture_release(&fixture);
    }
}

Test(platform_route, levels_grow_with_the_nodes) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "selene-a100", NULL);
    static const int LINKS[] = {2 * 4480, 2 * 4480, 2 * 28 * 8, 2 * 4};
    for (int t = 0; t < 4; t++) {
        cr_assert_eq(platform->tiers[t].links, LINKS[t], "tier %d", t);
    }
    fixture_release(&fixture);
    platform = fixture_platform(&fixture, "selene-a100", "{nodes: 1120}");
    for (int t = 0; t < 4; t++) {
        cr_assert_eq(platform->tiers[t].links, 2 * LINKS[t], "tier %d", t);
    }
    fixture_release(&fixture);
}

Test(platform_route, two_million_gpus_need_no_tables) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "selene-a100", "{nodes: 262144}");
    cr_assert_eq(ms_platform_gpus(platform), 2097152);
    cr_assert_lt(fixture.arena.used_B, (size_t)200000);
    cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "%s",
                 ms_buffer_text(&fixture.messages));
    fixture_release(&fixture);
}

static uint64_t test_seed(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 20240607 : strtoull(text, NULL, 10);
}

static const char *const FABRICS[] = {"flat", "rails", "leaf-spine"};

/* A random platform as YAML laid over flat.yaml's or dgx-a100.yaml's own. */
static void random_platform(ms_random *random, char *out, size_t size) {
    int gpus = (int)ms_random_range(random, 1, 8);
    int nics = (int)ms_random_range(random, 1, gpus);
    bool has_core = ms_random_range(random, 0, 1) == 1;
    const char *kind = FABRICS[ms_random_range(random, 1, 2)];
    int length = snprintf(
        out, size,
        "{nodes: %d, node: {gpus: %d, nics: %d}, fabric: {kind: %s, nodes_per_unit: %d, "
        "oversubscription: %d%s",
        (int)ms_random_range(random, 1, 60), gpus, nics, kind, (int)ms_random_range(random, 1, 9),
        (int)ms_random_range(random, 1, 4), has_core ? "" : "}");
    if (has_core) {
        length += snprintf(out + length, size - (size_t)length,
                           ", units_per_pod: %d, core_oversubscription: %d}, tiers: {core: "
                           "{bandwidth: 10 GB/s, latency: 300 ns}}",
                           (int)ms_random_range(random, 1, 4), (int)ms_random_range(random, 1, 4));
    }
    snprintf(out + length, size - (size_t)length, "}");
}

Test(platform_route, invariants_hold_on_random_platforms) {
    uint64_t seed = test_seed();
    ms_random random = {.state = seed};
    for (int i = 0; i < 200; i++) {
        char overrides[512];
        random_platform(&random, overrides, sizeof overrides);
        platform_fixture fixture;
        bool is_rails = strstr(overrides, "kind: rails") != NULL;
        const ms_platform *platform =
            fixture_platform(&fixture, is_rails ? "dgx-a100" : "hypothetical-two-tier", overrides);
        cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "seed %llu: %s: %s",
                     (unsigned long long)seed, overrides, ms_buffer_text(&fixture.messages));
        fixture_release(&fixture);
    }
}

/* Every link is used by some route, and a link's name names it alone. */
Test(platform_route, all_links_carry_routes_and_have_distinct_names) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(
        &fixture, "selene-a100",
        "{nodes: 8, node: {gpus: 4, nics: 4}, fabric: {nodes_per_unit: 2, units_per_pod: 2}}");
    int gpus = ms_platform_gpus(platform);
    bool *used = MS_NEW(&fixture.arena, bool, platform->link_count);
    for (int from = 0; from < gpus; from++) {
        for (int to = 0; to < gpus; to++) {
            ms_route route;
            ms_platform_route(platform, from, to, &route);
            for (int i = 0; i < route.count; i++) {
                used[route.links[i]] = true;
            }
        }
    }
    for (int link = 0; link < platform->link_count; link++) {
        char name[96], other[96];
        cr_assert(used[link], "%s", ms_platform_link_name(platform, link, name, sizeof name));
        ms_platform_link_name(platform, link, name, sizeof name);
        for (int before = 0; before < link; before++) {
            ms_platform_link_name(platform, before, other, sizeof other);
            cr_assert_str_neq(name, other);
        }
    }
    fixture_release(&fixture);
}

typedef struct cut_case {
    const char *platform, *overrides;
    double expected_Bps;
} cut_case;

static const cut_case CUTS[] = {
    {"flat", NULL, 512 * 25e9},
    {"ideal", NULL, INFINITY},
    {"dgx-a100", NULL, 8 * 8 * 23e9},
    {"dgx-a100", "{nodes: 1}", 4 * 300e9 * 0.803},
    /* 2 units of 20: half is one unit, its uplinks are the cut */
    {"dgx-a100", "{nodes: 40, fabric: {oversubscription: 4}}", 160 * 23e9 / 4},
    /* 2 of 5 nodes: the smaller side's ports */
    {"dgx-a100", "{nodes: 5}", 2 * 8 * 23e9},
    {"selene-a100", NULL, 280 * 8 * 23e9},
    {"selene-a100", "{fabric: {core_oversubscription: 2}}", 280 * 8 * 23e9 / 2},
    {"hypothetical-two-tier", NULL, 32 * 4 * 90e9 / 4},
    /* 1.5 racks of 3: inside the divided rack 2 nodes of 4 ports, beside it one rack's uplinks */
    {"hypothetical-two-tier", "{nodes: 12}", (8 + 4) * 90e9},
};

Test(platform_route, bisection) {
    for (size_t i = 0; i < sizeof CUTS / sizeof CUTS[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform =
            fixture_platform(&fixture, CUTS[i].platform, CUTS[i].overrides);
        double got_Bps = ms_platform_bisection_Bps(platform);
        if (isinf(CUTS[i].expected_Bps)) {
            cr_assert(isinf(got_Bps), "case %zu", i);
        } else {
            cr_assert_float_eq(got_Bps / CUTS[i].expected_Bps, 1, 1e-12, "case %zu: %g", i,
                               got_Bps);
        }
        fixture_release(&fixture);
    }
}

/* The invariant check itself: break a platform in each way it looks for. */
Test(platform_check, finds_what_is_broken) {
    for (int fault = 0; fault < 4; fault++) {
        platform_fixture fixture;
        fixture_platform(&fixture, "dgx-a100", "{nodes: 40}");
        ms_platform broken = fixture.platform;
        ms_switches switches = *ms_switches_of(&broken);
        broken.topology = &switches.head;
        if (fault == 0) {
            broken.tiers[1].first_link++;
        } else if (fault == 1) {
            broken.tiers[2].latency_s = -1;
        } else if (fault == 2) {
            broken.link_count--;
        } else {
            switches.layout.port_tier = 2; /* routes then leave through the wrong links */
            switches.layout.spine_tier = 1;
        }
        cr_assert_eq(ms_platform_check(&broken, &fixture.diag), MS_E_BUG, "fault %d", fault);
        cr_assert_neq(fixture.messages.length, 0U);
        fixture_release(&fixture);
    }
}

/* GPUs that share a tier: a run of them reaches itself over that tier, the next one does not. */
Test(platform_route, a_domain_is_what_its_tier_joins) {
    static const struct {
        const char *platform, *overrides;
        int domains[4];
    } CASES[] = {{"flat", NULL, {1024}},
                 {"dgx-a100", "{nodes: 40}", {8, 160, 320}},
                 {"selene-a100", NULL, {8, 160, 0, 4480}},
                 {"tpu-v4-palm", NULL, {3072, 6144}},
                 {"gb200-nvl72", "{nodes: 16}", {72, 576, 1152}}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture fixture;
        fixture_init(&fixture);
        cr_assert_eq(fixture_load(&fixture, CASES[i].platform, CASES[i].overrides), MS_OK);
        const ms_platform *platform = &fixture.platform;
        int gpus = ms_platform_gpus(platform);
        for (int tier = 0; tier < platform->tier_count; tier++) {
            int domain = ms_platform_domain(platform, tier);
            ms_route inside;
            ms_platform_route(platform, 0, domain - 1, &inside);
            cr_assert_leq(inside.tier, tier, "%s tier %d", CASES[i].platform, tier);
            cr_assert(CASES[i].domains[tier] == 0 || domain == CASES[i].domains[tier], "%s: %d",
                      CASES[i].platform, domain);
            if (domain < gpus) {
                ms_route outside;
                ms_platform_route(platform, 0, domain, &outside);
                cr_assert_gt(outside.tier, tier, "%s tier %d", CASES[i].platform, tier);
            }
        }
        fixture_release(&fixture);
    }
}
