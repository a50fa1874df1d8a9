/* Nodes with a link between every two of their GPUs. */
#include <math.h>

#include "base/random.h"
#include "platform_fixture.h"

static const char *const SIZES[] = {"{nodes: 3, node: {gpus: 2, nics: 2}}",
                                    "{nodes: 3, node: {gpus: 3, nics: 3}}",
                                    "{nodes: 3, node: {gpus: 7, nics: 2}}",
                                    "{nodes: 3}",
                                    "{nodes: 3, pxn: true}",
                                    "{nodes: 3, node: {gpus: 8, nics: 4}, pxn: true}"};

/* Each pair of GPUs of a node has two directed links to itself, and every link leads somewhere. */
Test(pairs, every_two_gpus_have_a_link) {
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        platform_fixture f;
        const ms_platform *platform = fixture_platform(&f, "mi300x", SIZES[i]);
        int per_node = platform->gpus_per_node;
        cr_assert_eq(ms_platform_check(platform, &f.diag), MS_OK, "%s",
                     ms_buffer_text(&f.messages));
        cr_assert_eq(platform->tiers[0].links, 3 * per_node * (per_node - 1));
        int *crossed = MS_NEW(&f.arena, int, platform->tiers[0].links);
        for (int from = 0; from < 3 * per_node; from++) {
            for (int to = 0; to < 3 * per_node; to++) {
                ms_route route;
                ms_platform_route(platform, from, to, &route);
                if (from != to && from / per_node == to / per_node) {
                    cr_assert(route.count == 1 && route.tier == 0);
                    cr_assert_eq(crossed[route.links[0]]++, 0, "%s: %d to %d", SIZES[i], from, to);
                }
            }
        }
        fixture_release(&f);
    }
}

/* 4 x 4 links of 48 GB/s lead from one half of a node to the other. */
Test(pairs, bisection_of_a_node) {
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "mi300x", "{nodes: 1}");
    cr_assert_float_eq(ms_platform_bisection_Bps(platform), 16 * 48e9, 1);
    fixture_release(&f);
}

/* A node of one GPU has no links inside, whatever its wiring. */
Test(pairs, single_gpus_have_none) {
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "mi300x", "{node: {gpus: 1, nics: 1}}");
    cr_assert_eq(ms_platform_check(platform, &f.diag), MS_OK);
    fixture_release(&f);
}
