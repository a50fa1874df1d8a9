/* Routing by a hash of the ends. */
#include <math.h>

#include "base/random.h"
#include "cluster/platform/switches/switches.h"
#include "platform_fixture.h"

/* Which link of the spine tier a route goes up, and comes down; -1: none. */
static int uplink_of(const ms_platform *platform, int from, int to, int direction) {
    ms_route route;
    ms_platform_route(platform, from, to, &route);
    for (int i = 0; i < route.count; i++) {
        ms_link_address address = ms_fabric_address(platform, route.links[i]);
        if (address.tier == 2 && address.direction == direction) {
            return address.index % ms_switches_of(platform)->layout.links_per_leaf;
        }
    }
    return -1;
}

/* Same leaf pair, same sums: the aggregate is cut into its cables. */
Test(platform_ecmp, links_are_the_cables_of_spread) {
    static const char *const NAMES[] = {"selene-a100", "meta-roce-h100", "hypothetical-two-tier",
                                        "h800"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        platform_fixture fixture, spread_fixture;
        const ms_platform *spread = fixture_platform(&spread_fixture, NAMES[i], NULL);
        const ms_platform *ecmp = fixture_platform(&fixture, NAMES[i], "{routing: ecmp}");
        cr_assert_eq(ms_platform_check(ecmp, &fixture.diag), MS_OK, "%s",
                     ms_buffer_text(&fixture.messages));
        for (int t = 0; t < spread->tier_count; t++) {
            double sums[2] = {0, 0};
            const ms_platform *both[2] = {spread, ecmp};
            for (int p = 0; p < 2; p++) {
                const ms_tier *tier = &both[p]->tiers[t];
                sums[p] = tier->links * ms_platform_link(both[p], tier->first_link).capacity_Bps;
            }
            cr_assert_float_eq(sums[1] / sums[0], 1, 1e-12, "%s tier %d", NAMES[i], t);
        }
        double bisection_Bps = ms_platform_bisection_Bps(spread);
        cr_assert_float_eq(ms_platform_bisection_Bps(ecmp) / bisection_Bps, 1, 1e-12);
        fixture_release(&fixture);
        fixture_release(&spread_fixture);
    }
}

/* A route comes down where it went up, stays as it is, and differs by seed; all links are used
 * about equally. */
Test(platform_ecmp, hash_spreads_evenly) {
    platform_fixture fixture, other_fixture;
    const ms_platform *platform =
        fixture_platform(&fixture, "hypothetical-two-tier", "{routing: ecmp}");
    const ms_platform *other = fixture_platform(&other_fixture, "hypothetical-two-tier",
                                                "{routing: ecmp, routing_seed: 2}");
    int links = ms_switches_of(platform)->layout.links_per_leaf;
    int counts[64] = {0};
    int different = 0, all = 0;
    cr_assert_eq(links, 4);
    for (int from = 0; from < 32; from++) {
        for (int to = 32; to < 512; to++, all++) {
            int up = uplink_of(platform, from, to, MS_LINK_UP);
            cr_assert_eq(up, uplink_of(platform, from, to, MS_LINK_DOWN));
            cr_assert_eq(up, uplink_of(platform, from, to, MS_LINK_UP));
            counts[up]++;
            different += up != uplink_of(other, from, to, MS_LINK_UP);
        }
    }
    for (int link = 0; link < links; link++) { /* 5 standard deviations of a fair draw */
        double expected = (double)all / links;
        cr_assert_lt(fabs(counts[link] - expected), 5 * sqrt(expected * 0.75), "link %d: %d", link,
                     counts[link]);
    }
    cr_assert_float_eq((double)different / all, 0.75, 0.05);
    fixture_release(&fixture);
    fixture_release(&other_fixture);
}

Test(platform_ecmp, names_tell_the_link) {
    platform_fixture fixture;
    const ms_platform *platform =
        fixture_platform(&fixture, "selene-a100", "{nodes: 280, routing: ecmp}");
    char name[96], before[96] = "";
    for (int link = platform->tiers[2].first_link; link < platform->link_count; link += 2) {
        ms_platform_link_name(platform, link, name, sizeof name);
        cr_assert_str_neq(name, before);
        memcpy(before, name, sizeof name);
    }
    int first = platform->tiers[2].first_link;
    cr_assert_str_eq(ms_platform_link_name(platform, first + 2 * 21, name, sizeof name),
                     "spine:unit0:rail1:link1:up");
    first = platform->tiers[3].first_link;
    cr_assert_str_eq(ms_platform_link_name(platform, first + 2 * 1120 + 1, name, sizeof name),
                     "core:pod1:link0:down");
    fixture_release(&fixture);
}
