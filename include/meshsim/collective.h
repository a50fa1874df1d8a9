/**
 * @file
 * Collectives: (kind, algorithm, GPUs on a platform, bytes) -> phases, each a latency plus flows
 * that run together.
 *
 * Pure: knows the platform's routes, not the time. A ring runs all its edges at the slowest one's
 * pace, so it is one flow over the multiset of the links of all its edges, carrying the bytes one
 * edge carries. The messages of an all-to-all wait for nobody: those of one kind of route are one
 * flow (sim/collective/route_kinds.md).
 */
#ifndef MESHSIM_COLLECTIVE_H
#define MESHSIM_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/platform.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Members that an all-to-all may have: every pair of them is a route. */
enum { MS_PAIRWISE_MEMBERS_MAX = 4096 };

typedef enum ms_coll_algorithm {
    MS_ALGORITHM_AUTO, /**< the one that the kind has */
    MS_ALGORITHM_RING,
    MS_ALGORITHM_DIRECT, /**< straight from source to destination: p2p, all-to-all */
    MS_ALGORITHM_TREE,   /**< up and down a binary tree: the gradient norm at a step's end; no plan
                            is built for it */
    MS_ALGORITHM_COUNT,
} ms_coll_algorithm;

/** A link a flow crosses. */
typedef struct ms_flow_link {
    int32_t link;   /**< platform link */
    int32_t weight; /**< how often the flow crosses it, >= 1 */
    int32_t load;   /**< how often all flows do that this one stands for: as built, its weight */
} ms_flow_link;

/** One fluid transfer: equal messages that are alike in what they cross, or the edges of rings, all
 * at the same rate. */
typedef struct ms_flow {
    double bytes;        /**< bytes that cross each entry of the route once [B] */
    ms_flow_link *links; /**< [count], sorted by link; empty: nothing on the way is limited */
    int count;
    uint64_t kind; /**< tells the flows of a phase apart, and is the same for flows that are alike
                      in groups that are; 0 where there is one */
} ms_flow;

/** Flows that run together, then a latency. */
typedef struct ms_phase {
    double latency_s;
    ms_flow *flows; /**< [count] */
    int count;
} ms_phase;

/** A collective laid out on a platform. */
typedef struct ms_coll_plan {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm;
    int members;
    double size_B;    /**< full buffer as nccl-tests counts it [B] */
    double sent_B;    /**< bytes each member sends, the mean [B] */
    int tier;         /**< outermost tier crossed; -1 for one member */
    ms_phase *phases; /**< [phase_count] */
    int phase_count;  /**< 0 for one member */
} ms_coll_plan;

/** A collective to lay out. */
typedef struct ms_coll_request {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO, or the one the kind has */
    const int
        *gpus;     /**< [members] platform GPUs in group order, no repeats; for p2p source first */
    int members;   /**< >= 1; 2 for p2p */
    double size_B; /**< full buffer, >= 0: all-reduce its message, reduce-scatter its input,
                      all-gather its output [B] */
    double intra_node_B;   /**< all-to-all where a copy crosses to a node once, on its own rail, and
                              is forwarded inside it: full buffer among the members of a node, while
                              size_B is that between nodes; 0: every pair of members exchanges [B] */
    double load_imbalance; /**< all-to-all: bytes of the busiest member over the mean, its time
                              counts; 0: 1 */
    bool is_coarse;        /**< all-to-all: tell messages apart by their outermost tier only */
} ms_coll_request;

/** Lay out a collective among GPUs of a platform.
 *  Across nodes as many rings run side by side as every node has members on different NICs; ring j
 * enters a node at its j-th member.  *plan_out: in `arena`.  Returns MS_OK; MS_E_RANGE for a kind
 * or algorithm not built or more than MS_PAIRWISE_MEMBERS_MAX members of an all-to-all; MS_E_NOMEM.
 * O(members * rings), O(members^2) for an all-to-all. */
ms_status ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                             ms_arena *arena, ms_coll_plan *plan_out);

/** The algorithm a kind is laid out with; MS_ALGORITHM_AUTO for a kind that is not built. */
ms_coll_algorithm ms_coll_algorithm_of(ms_coll_kind kind);

/** Time of a plan with nothing else on the links: sum over phases of latency + last flow [s].
 *  A flow alone takes max over links of bytes * load / capacity; flows of a phase share links.
 *  Returns MS_OK; MS_E_NOMEM, not reported. */
ms_status ms_coll_plan_time(const ms_platform *platform, const ms_coll_plan *plan,
                            double *time_s_out);

/** Bus bandwidth as nccl-tests defines it: size / time times 2(n-1)/n for all-reduce, (n-1)/n for
 * reduce-scatter, all-gather and all-to-all, 1 for the rest [B/s].  Source: nccl-tests
 * doc/PERFORMANCE.md. */
double ms_coll_busbw_Bps(ms_coll_kind kind, int members, double size_B, double time_s);

/** Name of an algorithm ("auto", "ring", "direct", "tree"); static storage. */
const char *ms_coll_algorithm_name(ms_coll_algorithm algorithm);

MS_END_DECLS

#endif
