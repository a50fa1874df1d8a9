/* Checks invariants of a platform (ms_platform_check): numbering and capacities of links, and the
 * routes of sampled pairs of GPUs. A violation is a bug of meshsim, not of the platform's file. */
#include <math.h>

#include "base/random.h"
#include "cluster/platform/fabric.h"

/* Number of pairs of GPUs whose routes are checked; all pairs of platforms with fewer pairs. */
enum { SAMPLED_PAIRS = 512 };

/* Report a broken invariant, with two numbers that identify the place. Returns MS_E_BUG. */
static ms_status fail(ms_diag *diag, const char *what, int first, int second) {
    ms_diag_error(diag, "platform invariant broken: %s (%d, %d)", what, first, second);
    return MS_E_BUG;
}

/* Check that numbering the links afresh gives the same ranges. */
static ms_status check_numbering(const ms_platform *platform, ms_diag *diag) {
    ms_platform again = *platform;
    ms_fabric_number_links(&again);
    for (int t = 0; t < platform->tier_count; t++) {
        if (again.tiers[t].first_link != platform->tiers[t].first_link ||
            again.tiers[t].links != platform->tiers[t].links ||
            again.tiers[t].cables != platform->tiers[t].cables) {
            return fail(diag, "a tier's links do not follow from the sizes", t,
                        platform->tiers[t].links);
        }
    }
    return MS_OK;
}

/* Check that the link ranges of the tiers follow each other without gaps, that bandwidths and
 * latencies are sane, and that the first and the last link of each tier agree with it. */
static ms_status check_tiers(const ms_platform *platform, ms_diag *diag) {
    int next = 0;
    for (int t = 0; t < platform->tier_count; t++) {
        const ms_tier *tier = &platform->tiers[t];
        if (tier->first_link != next || tier->links < 2) {
            return fail(diag, "link ranges of the tiers leave a gap or overlap", t, next);
        }
        if (!(tier->bandwidth_Bps > 0) || !(tier->efficiency > 0) || tier->efficiency > 1 ||
            !(tier->latency_s >= 0) || isinf(tier->latency_s)) {
            return fail(diag, "a tier's bandwidth, efficiency or latency is not sane", t, 0);
        }
        for (int i = 0; i < 2; i++) {
            int link = i == 0 ? next : next + tier->links - 1;
            ms_link_info info = ms_platform_link(platform, link);
            if (info.tier != t || !(info.capacity_Bps > 0) || info.parallel < 1) {
                return fail(diag, "a link does not agree with its tier", t, link);
            }
        }
        next += tier->links;
    }
    return next == platform->link_count
               ? MS_OK
               : fail(diag, "links are missing", next, platform->link_count);
}

/* Check that a route obeys its fabric's rules and crosses no link twice. */
static ms_status check_ends(const ms_platform *platform, int from, int to, const ms_route *route,
                            ms_diag *diag) {
    const char *fault = platform->topology->kind->route_fault(platform, from, to, route);
    if (fault != NULL) {
        return fail(diag, fault, from, to);
    }
    for (int i = 0; i < route->count; i++) {
        for (int j = 0; j < i; j++) {
            if (route->links[i] == route->links[j]) {
                return fail(diag, "a route crosses a link twice", from, to);
            }
        }
    }
    return MS_OK;
}

/* Check the routes between two GPUs: empty from a GPU to itself, alike in both directions; and that
 * leaving out unlimited links changes neither latency nor tier. */
static ms_status check_pair(const ms_platform *platform, int from, int to, ms_diag *diag) {
    ms_route there, back, limited;
    ms_fabric_route(platform, from, to, &there);
    ms_fabric_route(platform, to, from, &back);
    ms_platform_route(platform, from, to, &limited);
    if (from == to) {
        bool is_empty = there.count == 0 && there.latency_s == 0 && there.tier == -1;
        return is_empty ? MS_OK : fail(diag, "a route to itself is not empty", from, to);
    }
    if (there.count != back.count || there.tier != back.tier ||
        fabs(there.latency_s - back.latency_s) > 1e-12 * there.latency_s) { /* rounding of sums */
        return fail(diag, "a route and its way back differ", from, to);
    }
    if (limited.latency_s != there.latency_s || limited.tier != there.tier ||
        limited.count > there.count) {
        return fail(diag, "a route without its unlimited links differs", from, to);
    }
    ms_status status = check_ends(platform, from, to, &there, diag);
    return status == MS_OK ? check_ends(platform, to, from, &back, diag) : status;
}

ms_status ms_platform_check(const ms_platform *platform, ms_diag *diag) {
    ms_status status = check_tiers(platform, diag);
    status = status == MS_OK ? check_numbering(platform, diag) : status;
    int64_t gpus = ms_platform_gpus(platform);
    int64_t pairs = gpus * gpus;
    int64_t count = pairs < SAMPLED_PAIRS ? pairs : SAMPLED_PAIRS;
    ms_random random = {.state = 1};
    for (int64_t i = 0; i < count && status == MS_OK; i++) {
        int64_t pair = pairs <= SAMPLED_PAIRS ? i : ms_random_range(&random, 0, pairs - 1);
        status = check_pair(platform, (int)(pair / gpus), (int)(pair % gpus), diag);
    }
    return status;
}
