/* The members of a group, node by node. */
#include "base/random.h"
#include "collective/group_nodes.h"
#include "platform_fixture.h"

/* In any order: nodes rise, and members of one node stay in the group's order. A quadratic sort of
 * as many would not end. */
Test(nodes, any_order_is_sorted_by_node) {
    enum { MEMBERS = 1 << 20 };
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "dgx-h100", "{nodes: 131072}");
    ms_random random = {.state = 1};
    int *gpus = MS_NEW(&f.arena, int, MEMBERS);
    int *rank = MS_NEW(&f.arena, int, MEMBERS); /* of each GPU in the group */
    for (int i = 0; i < MEMBERS; i++) {
        int at = (int)ms_random_range(&random, 0, i);
        gpus[i] = gpus[at];
        gpus[at] = i;
    }
    for (int i = 0; i < MEMBERS; i++) {
        rank[gpus[i]] = i;
    }
    ms_node_order order;
    cr_assert_eq(ms_node_order_find(platform, gpus, MEMBERS, &f.arena, &order), MS_OK);
    cr_assert_eq(order.count, MEMBERS / 8);
    for (int i = 1; i < MEMBERS; i++) {
        int one = order.gpus[i - 1], next = order.gpus[i];
        cr_assert(one / 8 < next / 8 || (one / 8 == next / 8 && rank[one] < rank[next]), "%d", i);
    }
    fixture_release(&f);
}
