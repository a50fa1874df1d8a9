/* Tori: shapes, routes, cuts and rings. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "cluster/platform/torus/torus.h"
#include "platform_fixture.h"

static uint64_t test_seed(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 20240607 : strtoull(text, NULL, 10);
}

typedef struct shape_case {
    const char *overrides;
    const char *fabric;
    double bisection_links; /* of 50 GB/s * 0.9 each */
    double bisection_ports; /* of 12.5 GB/s * 0.527 each */
} shape_case;

/* A whole pod: 16 x 16 chips on either of two planes that the cut crosses, which at 50 GB/s is the
 * 24 TB/s (of 1024^4 B) that Google's documentation states for both directions' sum halved.  */
static const shape_case SHAPES[] = {
    {"{}", "torus of 16 x 16 x 16", 512, 0},
    {"{nodes: 2048}", "2 pods, each a torus of 16 x 16 x 16", 0, 1024},
    {"{nodes: 3072}", "3 pods, each a torus of 16 x 16 x 16", 512, 1536},
    {"{nodes: 768}", "torus of 12 x 16 x 16", 384, 0},
    {"{nodes: 1536, fabric: {shape: [12, 16, 16]}}", "2 pods, each a torus of 12 x 16 x 16", 0,
     768},
    {"{nodes: 16}", "torus of 4 x 4 x 4", 32, 0},
    {"{nodes: 32}", "torus of 4 x 4 x 8", 32, 0},
    {"{nodes: 128}", "torus of 8 x 8 x 8", 128, 0},
    {"{nodes: 1}", "torus of 1 x 2 x 2", 4, 0},
    {"{nodes: 16, fabric: {shape: [8, 8]}}", "torus of 8 x 8", 16, 0},
    {"{nodes: 4, fabric: {shape: [16]}}", "torus of 16", 2, 0},
};

Test(platform_torus, shapes_and_bisection) {
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", SHAPES[i].overrides);
        cr_assert_str_eq(platform->fabric, SHAPES[i].fabric, "case %zu", i);
        cr_assert_float_eq(ms_platform_bisection_Bps(platform),
                           SHAPES[i].bisection_links * 45e9 +
                               SHAPES[i].bisection_ports * 12.5e9 * 0.527,
                           1e3, "case %zu: %g", i, ms_platform_bisection_Bps(platform));
        cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "case %zu: %s", i,
                     ms_buffer_text(&fixture.messages));
        fixture_release(&fixture);
    }
}

typedef struct route_case {
    const char *overrides;
    int from, to;
    const char *links;
} route_case;

static const route_case ROUTES[] = {
    {"{}", 0, 1, "ici:chip0:x+"},
    {"{}", 0, 15, "ici:chip0:x-"},
    {"{}", 15, 0, "ici:chip15:x+"},
    {"{}", 0, 16, "ici:chip0:y+"},
    {"{}", 0, 256, "ici:chip0:z+"},
    {"{}", 1, 4095, "ici:chip1:x- ici:chip0:x- ici:chip15:y- ici:chip255:z-"},
    {"{}", 3, 3, ""},
    {"{nodes: 16}", 0, 2, "ici:chip0:x+ ici:chip1:x+"},
    {"{nodes: 16}", 2, 0, "ici:chip2:x+ ici:chip3:x+"},
    {"{nodes: 2048}", 5, 4096 + 9, "dcn:node1:nic0:up dcn:node1026:nic0:down"},
};

Test(platform_torus, routes) {
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", ROUTES[i].overrides);
        ms_buffer text;
        ms_route route;
        ms_buffer_init(&text);
        ms_platform_route(platform, ROUTES[i].from, ROUTES[i].to, &route);
        for (int l = 0; l < route.count; l++) {
            char name[96];
            ms_buffer_printf(&text, "%s%s", l == 0 ? "" : " ",
                             ms_platform_link_name(platform, route.links[l], name, sizeof name));
        }
        cr_assert_str_eq(ms_buffer_text(&text), ROUTES[i].links, "case %zu", i);
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}

/* The farthest chip of 16 x 16 x 16 is 8 + 8 + 8 hops away. */
Test(platform_torus, longest_route) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", NULL);
    ms_route route;
    int farthest = 0;
    for (int chip = 0; chip < 4096; chip++) {
        ms_platform_route(platform, 77, chip, &route);
        farthest = route.count > farthest ? route.count : farthest;
        cr_assert_float_eq(route.latency_s, 1e-6 * route.count, 1e-15);
    }
    cr_assert_eq(farthest, 24);
    fixture_release(&fixture);
}

typedef struct ring_case {
    const char *overrides;
    int sizes[3];   /* members along x, y, z */
    int strides[3]; /* hops between them */
    int rings;
} ring_case;

static const ring_case RINGS[] = {
    {"{nodes: 768}", {12, 1, 1}, {1, 1, 1}, 2},  /* PaLM: 12-way model */
    {"{nodes: 768}", {1, 16, 16}, {1, 1, 1}, 4}, /* PaLM: 256-way data */
    {"{nodes: 768}", {12, 16, 1}, {1, 1, 1}, 2}, /* no multiple: a snake */
    {"{nodes: 768}", {12, 16, 16}, {1, 1, 1}, 2},
    {"{}", {16, 16, 16}, {1, 1, 1}, 4},
    {"{}", {16, 1, 16}, {1, 1, 1}, 4},
    {"{}", {4, 1, 1}, {4, 1, 1}, 2},
    {"{}", {4, 4, 16}, {4, 4, 1}, 4},
    {"{}", {4, 1, 1}, {1, 1, 1}, 0},  /* a line: the way back is longer */
    {"{}", {2, 1, 1}, {8, 1, 1}, 0},  /* two members have but one edge */
    {"{}", {16, 3, 1}, {1, 1, 1}, 0}, /* part of a dimension */
    {"{nodes: 15, fabric: {shape: [3, 5, 4]}}", {3, 5, 1}, {1, 1, 1}, 0}, /* odd both ways */
    {"{nodes: 15, fabric: {shape: [3, 5, 4]}}", {3, 5, 4}, {1, 1, 1}, 0},
    {"{nodes: 15, fabric: {shape: [3, 5, 4]}}", {1, 5, 4}, {1, 1, 1}, 2},
    {"{nodes: 9, fabric: {shape: [6, 3, 2]}}", {6, 3, 1}, {1, 1, 1}, 2},
};

/* Every ring visits every member once; no link is crossed twice by all rings together; all edges
 * of a group without gaps are single hops. */
static void check_rings(const ms_platform *platform, const int *gpus, int members,
                        const ms_ring_orders *orders, ms_arena *arena) {
    int *crossed = MS_NEW(arena, int, platform->link_count);
    for (int ring = 0; ring < orders->rings; ring++) {
        const int *order = orders->gpus + ring * members;
        int *seen = MS_NEW(arena, int, ms_platform_gpus(platform));
        for (int i = 0; i < members; i++) {
            ms_route route;
            seen[order[i]]++;
            ms_platform_route(platform, order[i], order[(i + 1) % members], &route);
            for (int l = 0; l < route.count; l++) {
                cr_assert_eq(crossed[route.links[l]]++, 0, "ring %d crosses a link again", ring);
            }
        }
        for (int i = 0; i < members; i++) {
            cr_assert_eq(seen[gpus[i]], 1, "ring %d", ring);
        }
    }
}

Test(platform_torus, rings) {
    uint64_t seed = test_seed();
    ms_random random = {.state = seed};
    for (size_t i = 0; i < sizeof RINGS / sizeof RINGS[0]; i++) {
        const ring_case *c = &RINGS[i];
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", c->overrides);
        const ms_torus *torus = ms_torus_of(platform);
        int members = c->sizes[0] * c->sizes[1] * c->sizes[2];
        int *gpus = MS_NEW(&fixture.arena, int, members);
        for (int m = 0; m < members; m++) {
            int at[3] = {m % c->sizes[0] * c->strides[0] + 1,
                         m / c->sizes[0] % c->sizes[1] * c->strides[1] + 1,
                         m / c->sizes[0] / c->sizes[1] * c->strides[2] + 1};
            for (int d = 0; d < 3; d++) {
                at[d] %= torus->shape[d];
            }
            int j = (int)ms_random_range(&random, 0, m);
            gpus[m] = gpus[j];
            gpus[j] = ms_torus_chip(torus, 0, at);
        }
        ms_ring_orders orders = {.rings = -1};
        cr_assert_eq(ms_platform_rings(platform, gpus, members, &fixture.arena, &orders), MS_OK);
        cr_assert_eq(orders.rings, c->rings, "case %zu: %d", i, orders.rings);
        check_rings(platform, gpus, members, &orders, &fixture.arena);
        fixture_release(&fixture);
    }
}

Test(platform_torus, rings_of_other_groups) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", "{nodes: 2048}");
    const int across[] = {0, 1, 4096, 4097}, scattered[] = {0, 1, 17, 300};
    ms_ring_orders orders = {.rings = -1};
    cr_assert_eq(ms_platform_rings(platform, across, 4, &fixture.arena, &orders), MS_OK);
    cr_assert_eq(orders.rings, 0);
    orders.rings = -1;
    cr_assert_eq(ms_platform_rings(platform, scattered, 4, &fixture.arena, &orders), MS_OK);
    cr_assert_eq(orders.rings, 0);
    fixture_release(&fixture);
    platform = fixture_platform(&fixture, "dgx-a100", NULL);
    orders.rings = -1;
    cr_assert_eq(ms_platform_rings(platform, across, 2, &fixture.arena, &orders), MS_OK);
    cr_assert_eq(orders.rings, 0);
    fixture_release(&fixture);
}

/* Any box of any pod: what is promised holds, whatever the number of rings. */
Test(platform_torus, rings_of_random_boxes) {
    uint64_t seed = test_seed();
    ms_random random = {.state = seed ^ 1};
    for (int i = 0; i < 150; i++) {
        char overrides[128];
        platform_fixture fixture;
        int shape[3], members = 1;
        for (int d = 0; d < 3; d++) {
            shape[d] = (int)ms_random_range(&random, 1, 9);
        }
        snprintf(overrides, sizeof overrides,
                 "{nodes: %d, node: {gpus: 1}, fabric: {shape: [%d, "
                 "%d, %d]}}",
                 shape[0] * shape[1] * shape[2], shape[0], shape[1], shape[2]);
        const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", overrides);
        int whole[3];
        for (int d = 0; d < 3; d++) {
            whole[d] = ms_random_range(&random, 0, 2) > 0 ? shape[d] : 1;
            members *= whole[d];
        }
        int *gpus = MS_NEW(&fixture.arena, int, members);
        for (int m = 0; m < members; m++) {
            const int at[3] = {m % whole[0], m / whole[0] % whole[1], m / whole[0] / whole[1]};
            gpus[m] = ms_torus_chip(ms_torus_of(platform), 0, at);
        }
        ms_ring_orders orders;
        cr_assert_eq(ms_platform_rings(platform, gpus, members, &fixture.arena, &orders), MS_OK);
        check_rings(platform, gpus, members, &orders, &fixture.arena);
        cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "seed %llu, %s",
                     (unsigned long long)seed, overrides);
        fixture_release(&fixture);
    }
}

Test(platform_torus, scale_up_domain_is_the_pod) {
    platform_fixture fixture;
    cr_assert_eq(ms_platform_scale_up_domain(fixture_platform(&fixture, "tpu-v4", "{nodes: 2048}")),
                 4096);
    fixture_release(&fixture);
    cr_assert_eq(ms_platform_scale_up_domain(fixture_platform(&fixture, "dgx-a100", NULL)), 8);
    fixture_release(&fixture);
    cr_assert_eq(ms_platform_scale_up_domain(fixture_platform(&fixture, "flat", NULL)), 1024);
    fixture_release(&fixture);
}
