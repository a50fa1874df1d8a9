/* Nodes without a switch: a link between every two GPUs of a node, and rings that use all these
 * links.
 *
 * The links of a node are numbered by the distance of their ends (difference of GPU numbers), and
 * at equal distance by the lower end. So a group that is shifted by k GPUs uses links whose numbers
 * are higher by k. */
#include "cluster/platform/switches/switches.h"

int ms_switches_node_pairs(const ms_platform *platform) {
    return platform->gpus_per_node * (platform->gpus_per_node - 1) / 2;
}

/* Number of link pairs of a node whose ends are nearer than `distance`: n - i pairs for each
 * distance i. */
static int nearer_pairs(const ms_platform *platform, int distance) {
    return (distance - 1) * platform->gpus_per_node - distance * (distance - 1) / 2;
}

/* The pairs of a node are numbered by the distance of their ends, then by the lower end. */
ms_link_address ms_switches_pair(const ms_platform *platform, int from, int to) {
    int low = from < to ? from : to;
    int distance = from < to ? to - from : from - to;
    int node = ms_platform_node(platform, low);
    return (ms_link_address){.tier = ms_switches_of(platform)->layout.node_tier,
                             .index = node * ms_switches_node_pairs(platform) +
                                      nearer_pairs(platform, distance) +
                                      low % platform->gpus_per_node,
                             .direction = from < to ? MS_LINK_UP : MS_LINK_DOWN};
}

void ms_switches_pair_ends(const ms_platform *platform, ms_link_address address, int ends_out[2]) {
    int pairs = ms_switches_node_pairs(platform);
    int pair = address.index % pairs;
    int distance = 1;
    while (nearer_pairs(platform, distance + 1) <= pair) {
        distance++;
    }
    int low =
        address.index / pairs * platform->gpus_per_node + pair - nearer_pairs(platform, distance);
    bool is_up = address.direction == MS_LINK_UP;
    ends_out[0] = is_up ? low : low + distance;
    ends_out[1] = is_up ? low + distance : low;
}

/* Member at position `index` of ring `ring`. Position 0 is the last member. The others follow in a
 * zigzag around the number of the ring: r, r + 1, r - 1, r + 2, r - 2, ..., modulo the number of
 * the others. The second half of the rings are the reverses of the first. */
static int ring_member(int members, int ring, int index) {
    int others = members - 1;
    bool is_back = ring >= others;
    int position = is_back ? (members - index) % members : index;
    if (position == 0) {
        return others;
    }
    /* 0, 1, -1, 2, -2, ... for position 1, 2, 3, 4, 5, ... */
    int step = position / 2 * (position % 2 == 0 ? 1 : -1);
    return (ring % others + step + others) % others;
}

/* Rings of a group inside one node that is wired in pairs: n - 1 rings and their reverses, which
 * together cross each of the n (n - 1) directed links between the members exactly twice. No rings
 * for other groups.  Source: the construction of E. Lucas, Recreations mathematiques, vol. 2
 * (1883), for W. Walecki: a zigzag through n - 1 vertices on a circle, closed by the n-th, in all
 * its rotations. */
ms_status ms_switches_rings(const ms_platform *platform, const int *gpus, int members,
                            ms_arena *arena, ms_ring_orders *orders_out) {
    bool is_inside = platform->tiers[0].is_paired;
    for (int i = 1; i < members && is_inside; i++) {
        is_inside = ms_platform_node(platform, gpus[i]) == ms_platform_node(platform, gpus[0]);
    }
    *orders_out = (ms_ring_orders){.rings = 0};
    if (!is_inside) {
        return MS_OK;
    }
    int rings = 2 * (members - 1);
    int *orders = MS_NEW(arena, int, (size_t)rings *(size_t)members);
    if (orders == NULL) {
        return MS_E_NOMEM;
    }
    for (int ring = 0; ring < rings; ring++) {
        for (int index = 0; index < members; index++) {
            orders[ring * members + index] = gpus[ring_member(members, ring, index)];
        }
    }
    *orders_out = (ms_ring_orders){.gpus = orders, .rings = rings};
    return MS_OK;
}
