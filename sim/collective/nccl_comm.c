/* Finds the facts about the communicator of a group that NCCL's cost model uses
 * (ms_nccl_comm_find): nodes, members per node, and bandwidths inside and between nodes. */
#include <limits.h>
#include <math.h>

#include "collective/group_nodes.h"
#include "collective/nccl.h"

/* Number of nodes of a group, and members of the nodes with the fewest and the most. */
typedef struct node_counts {
    int nodes, fewest, most;
} node_counts;

/* Count a node with `members` members of the group. */
static void add_node(node_counts *counts, int members) {
    counts->nodes++;
    counts->fewest = members < counts->fewest ? members : counts->fewest;
    counts->most = members > counts->most ? members : counts->most;
}

/* Count the nodes of a group whose members are listed in ascending order of nodes, without storage.
 * Returns false for other groups. */
static bool count_in_order(const ms_platform *platform, const int *gpus, int members,
                           node_counts *counts) {
    *counts = (node_counts){.fewest = INT_MAX};
    int first = 0;
    for (int i = 1; i <= members; i++) {
        int node = ms_platform_node(platform, gpus[first]);
        int next = i < members ? ms_platform_node(platform, gpus[i]) : INT_MAX;
        if (next < node) {
            return false;
        }
        if (next > node) {
            add_node(counts, i - first);
            first = i;
        }
    }
    return true;
}

/* Count the nodes of any group, by sorting its members. */
static ms_status count_sorted(const ms_platform *platform, const int *gpus, int members,
                              node_counts *counts) {
    ms_arena scratch;
    ms_node_order order;
    ms_arena_init(&scratch);
    ms_status status = ms_node_order_find(platform, gpus, members, &scratch, &order);
    *counts = (node_counts){.fewest = INT_MAX};
    for (int node = 0; status == MS_OK && node < order.count; node++) {
        add_node(counts, order.runs[node].count);
    }
    ms_arena_release(&scratch);
    return status;
}

/* Find the facts about a group that the cost model uses: nodes, NICs and bandwidths. The model
 * counts as many NICs on every node as the smallest node has members, but no more than a node has.
 */
ms_status ms_nccl_comm_find(const ms_platform *platform, const int *gpus, int members,
                            ms_nccl_comm *comm_out) {
    node_counts counts;
    if (!count_in_order(platform, gpus, members, &counts)) {
        ms_status status = count_sorted(platform, gpus, members, &counts);
        if (status != MS_OK) {
            return status;
        }
    }
    int nics = counts.fewest < platform->nics_per_node ? counts.fewest : platform->nics_per_node;
    const ms_tier *net = &platform->tiers[1];
    double inter_Bps =
        platform->tier_count > 1 ? nics * (net->bandwidth_Bps * net->efficiency) : INFINITY;
    *comm_out = (ms_nccl_comm){
        .ranks = members,
        .nodes = counts.nodes,
        .intra_Bps = counts.most > 1 ? ms_platform_node_Bps(platform, counts.most) : INFINITY,
        .inter_Bps = inter_Bps,
        .nics = nics,
        .has_equal_nodes = counts.fewest == counts.most && counts.fewest > 1};
    return MS_OK;
}
