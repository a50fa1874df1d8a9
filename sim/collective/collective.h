/**
 * @file
 * Collectives: (kind, algorithm, GPUs on a platform, bytes) -> phases, each a latency plus flows
 * that run at the same time.
 *
 * Pure: knows the platform's routes, and no simulated time. Algorithms are rows of a table
 * (sim/collective/algorithms.md). All edges of a ring run at the rate of the slowest edge, so a
 * ring is one flow over the multiset of the links of all its edges, with the bytes that one edge
 * carries; trees are likewise. The messages of an all-to-all do not wait for each other: those of
 * one kind of route are one flow (sim/collective/route_kinds.md).
 *
 * Terms of the folder `collective`, and what the same words mean elsewhere:
 * - algorithm: how a collective is carried out (ring, tree, NVLS, ...); protocol: how NCCL sends
 * the bytes (LL, LL128, Simple); channel: one of NCCL's parallel rings or trees, with a share of
 * the bytes.
 * - plan: a collective laid out on a platform, in phases. In model: the segments of a pass.
 * - phase: flows that run at the same time, then a latency.
 * - flow: transfers with one common rate, over a multiset of links; weight: number of crossings of
 * a link by one flow; load: the same by all flows that the flow stands for.
 * - message: what one GPU sends to another; its kind: the capacities and tiers of the links on its
 * route.
 * - half route: the links of a route before its turn (its topmost switch), or after it. In model:
 * half of a layer.
 * - class: the same collective in several groups at the same time; original: a group that was laid
 * out by itself, and whose plan its shifted copies reuse.
 * - step: one round of messages of an algorithm. Elsewhere: an optimizer step.
 */
#ifndef MESHSIM_COLLECTIVE_H
#define MESHSIM_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/platform/platform.h"

/** Maximum number of members of an all-to-all: where every pair of them has a route of its own, and
 * where routes consist of halves (ms_platform_rails). */
enum { MS_PAIRWISE_MEMBERS_MAX = 4096, MS_EXCHANGE_MEMBERS_MAX = 131072 };

/** Algorithms of collectives. The numbers are stored in operation graphs: append, never renumber.
 */
typedef enum ms_coll_algorithm {
    MS_ALGORITHM_AUTO = 0, /**< ms_coll_choose decides */
    MS_ALGORITHM_RING = 1,
    MS_ALGORITHM_DIRECT = 2,    /**< straight from source to destination: p2p, all-to-all */
    MS_ALGORITHM_TREE = 3,      /**< up and down a double binary tree of nodes */
    MS_ALGORITHM_NVLS = 4,      /**< NVLS: the NVLink switches of a node reduce and multicast */
    MS_ALGORITHM_NVLS_TREE = 5, /**< NVLS inside nodes, a double binary tree between them */
    MS_ALGORITHM_PAT = 6,       /**< log2(n) rounds among nodes of one member each */
    MS_ALGORITHM_COLLNET_DIRECT = 7, /**< the network's switches reduce what the members on its
                                        ports gather straight from their node */
    MS_ALGORITHM_COLLNET_CHAIN = 8,  /**< as COLLNET_DIRECT, but the members' data is gathered along
                                        a chain through the node */
} ms_coll_algorithm;

/** NCCL's protocols. The numbers are stored in operation graphs. */
typedef enum ms_protocol {
    MS_PROTOCOL_AUTO = 0, /**< ms_coll_choose decides; of a plan: nothing was decided, as there is
                             no library */
    MS_PROTOCOL_LL = 1,
    MS_PROTOCOL_LL128 = 2,
    MS_PROTOCOL_SIMPLE = 3,
} ms_protocol;

/** The communicator of a message between two pipeline stages. NCCL gives each peer of a
 * communicator equally many channels, so that the farthest peer decides for all.
 *  Source: NVIDIA/nccl, src/graph/paths.cc (ncclTopoComputeP2pChannelsPerPeer); PyTorch,
 * ProcessGroupNCCL (sends and receives of a batch take the group's communicator, others one of
 * their two ranks). */
typedef enum ms_message_comm {
    MS_MESSAGES_PAIR,     /**< a communicator of the two ranks */
    MS_MESSAGES_PIPELINE, /**< the communicator of all ranks of a pipeline */
    MS_MESSAGES_WORLD,    /**< the communicator of all ranks of the job */
} ms_message_comm;

/** A link that a flow crosses. */
typedef struct ms_flow_link {
    int32_t link;   /**< number of the link on the platform */
    int32_t weight; /**< number of crossings of the link by the flow, >= 1 */
    int32_t load; /**< number of crossings by all flows that this flow stands for; equal to `weight`
                     unless the flow is part of a class */
} ms_flow_link;

/** One fluid transfer with one rate: equal messages of one kind of route, or all edges of rings or
 * trees. */
typedef struct ms_flow {
    double bytes; /**< bytes that each crossing puts on a link: those of a message times `slowness`
                     [B] */
    double slowness;     /**< time on the links over the time of the messages' bytes at full
                            bandwidth, >= 1: a protocol or kind of traffic reaches only a share of
                            the bandwidth, or the busiest member sets the time; 0: as 1 */
    ms_flow_link *links; /**< [count], sorted by link; empty: nothing on the way is limited */
    int count;
    uint64_t kind; /**< identity of the flow in its phase: the same for corresponding flows of
                      groups that are laid out alike; 0 where the phase has one flow */
} ms_flow;

/** Flows that run at the same time, then a latency. */
typedef struct ms_phase {
    double latency_s; /**< after the last flow [s] */
    ms_flow *flows;   /**< [count] */
    int count;
} ms_phase;

/** A collective laid out on a platform. */
typedef struct ms_coll_plan {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm;
    ms_protocol protocol; /**< MS_PROTOCOL_AUTO on a platform without a library */
    int members;
    double size_B;    /**< full buffer as nccl-tests counts it [B] */
    double sent_B;    /**< mean of the bytes that a member sends [B] */
    int tier;         /**< outermost tier crossed; -1 for one member */
    ms_phase *phases; /**< [phase_count] */
    int phase_count;  /**< 0 for one member */
    int copy_of;      /**< set by ms_coll_plans_build: 1 + index of the group of which this one is a
                         shifted copy, which takes as long alone on the links; 0: no copy */
} ms_coll_plan;

/** Whether a phase repeats the phase before: both share one list of flows. */
static inline bool ms_coll_phase_is_again(const ms_coll_plan *plan, int phase) {
    return phase > 0 && plan->phases[phase].flows == plan->phases[phase - 1].flows;
}

/** A collective to lay out. */
typedef struct ms_coll_request {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO, or that of a row of the kind */
    ms_protocol protocol;        /**< MS_PROTOCOL_AUTO; others need a library */
    const int *gpus; /**< [members] platform GPUs in group order, no repeats; p2p: source first */
    int members;     /**< >= 1; 2 for p2p */
    double size_B;   /**< full buffer, >= 0: all-reduce its message, reduce-scatter its input,
                        all-gather its output [B] */
    double choice_B; /**< bytes by which algorithm, protocol, latency are chosen; 0: size_B [B] */
    double intra_node_B; /**< > 0: an all-to-all in which a copy crosses to each node once, on its
                            own rail, and is forwarded inside the node; bytes of the full buffer
                            that is forwarded among the members of a node, while size_B is that
                            between nodes. 0: every member sends to every other one [B] */
    bool leaves_node;    /**< p2p: its communicator has members on other nodes than its two GPUs */
    double load_imbalance; /**< all-to-all: bytes of the busiest member, which decides the time,
                              over the mean; 0: 1 */
    bool is_stepped;       /**< lay out every step as a phase, for fidelity `step` */
    bool is_coarse;        /**< all-to-all: tell messages apart by their outermost tier only;
                              stepped: do not tell them apart */
} ms_coll_request;

/** A row of the table of algorithms: one way to lay out collectives of one kind. */
typedef struct ms_coll_algorithm_row {
    ms_coll_kind kind;
    ms_coll_algorithm algorithm; /**< its number; rows of several kinds may share it */
    const char *name; /**< name in files and output; rows with the same number have the same name */
    /** Whether the row can lay `request` out, by the request's bytes and the places of its GPUs;
     * NULL: always. */
    bool (*applies)(const ms_platform *platform, const ms_coll_request *request);
    const char *needs; /**< what `applies` asks for, as in "at most 4096 ranks"; NULL without it */
    /** By the routes between the GPUs, not by their numbers: set sent_B, tier and phases of *plan,
     * in `arena`, for a request of >= 2 members that it
     * applies to; the rest is set.  Returns MS_OK; MS_E_NOMEM. */
    ms_status (*plan)(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan);
} ms_coll_algorithm_row;

/** A job's choice of algorithm for each kind of collective; all zero: MS_ALGORITHM_AUTO for every
 * kind. */
typedef struct ms_coll_choices {
    ms_coll_algorithm of[MS_COLL_COUNT];
    ms_protocol protocol;     /**< of all kinds */
    ms_message_comm messages; /**< of p2p */
} ms_coll_choices;

/** The row that lays a request out: of those of its kind that apply and, unless the request leaves
 * it open, have the number it asks for, the one that the platform's library takes (nccl.h); without
 * a library, the first. In the table a ring or direct messages stand before
 * any tree, so without a library a tree is taken only where it is asked for.
 *  *protocol_out: MS_PROTOCOL_AUTO without a library.  NULL: there is none. */
const ms_coll_algorithm_row *ms_coll_choose(const ms_platform *platform,
                                            const ms_coll_request *request,
                                            ms_protocol *protocol_out);

/** Lay out a collective among GPUs of a platform by the row that ms_coll_choose gives.
 *  *plan_out: in `arena`.  Returns MS_OK; MS_E_RANGE for a request that no row lays out (see
 * ms_coll_report_refusal), a negative size, no member, or a p2p of other than 2; MS_E_NOMEM.
 *  O(members * rings); of an all-to-all O(members * rails * tiers) where routes have halves,
 *  O(members^2) elsewhere. */
ms_status ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                             ms_arena *arena, ms_coll_plan *plan_out);

/** Report why no row lays a request out that ms_coll_plan_build refused with MS_E_RANGE. */
void ms_coll_report_refusal(const ms_coll_request *request, ms_diag *diag);

/** The algorithm that a user's word means for a kind: "auto" or the name of one of its rows.
 *  Returns MS_OK; MS_E_RANGE for any other word, *algorithm_out untouched. */
ms_status ms_coll_algorithm_read(ms_coll_kind kind, const char *name,
                                 ms_coll_algorithm *algorithm_out);

/** The words that ms_coll_algorithm_read takes for a kind, one by one: "auto" at 0.  NULL behind
 * the last.  O(rows). */
const char *ms_coll_algorithm_word(ms_coll_kind kind, int index);

/** The words of a kind's algorithms in one text, as "auto, ring or tree".  Returns text_out, cut
 * where `size` ends. */
char *ms_coll_algorithm_words(ms_coll_kind kind, char *text_out, size_t size);

/** Time of a plan with nothing else on the links: sum over phases of latency + last flow [s].
 *  A flow alone takes max over links of bytes * load / capacity; flows of a phase share links.
 *  Returns MS_OK; MS_E_NOMEM, not reported. */
ms_status ms_coll_plan_time(const ms_platform *platform, const ms_coll_plan *plan,
                            double *time_s_out);

/** Time of a plan without the load of other groups: a flow alone takes the maximum over its links
 * of bytes * weight / capacity.  Returns as ms_coll_plan_time. */
ms_status ms_coll_plan_time_alone(const ms_platform *platform, const ms_coll_plan *plan,
                                  double *time_s_out);

/** When each flow of a phase ends that all start together, with nothing else on the links, each for
 * itself as in ms_coll_plan_time_alone [s].  scratch: for the call.  end_s_out: [count].  Returns
 * as ms_coll_plan_time. */
ms_status ms_coll_phase_times_alone(const ms_platform *platform, const ms_phase *phase,
                                    ms_arena *scratch, double *end_s_out);

/** The colour of a link: the same number for links of one capacity and tier, so that groups which
 * are laid out alike look alike. */
uint64_t ms_link_colour(const ms_platform *platform, int link);

/** Latency of a plan: of all its phases, what no bandwidth would take away [s]. */
double ms_coll_plan_latency_s(const ms_coll_plan *plan);

/** Bus bandwidth as nccl-tests defines it: size / time times 2(n-1)/n for all-reduce, (n-1)/n for
 * reduce-scatter, all-gather and all-to-all, 1 for the rest [B/s].  Source: nccl-tests
 * doc/PERFORMANCE.md. */
double ms_coll_busbw_Bps(ms_coll_kind kind, int members, double size_B, double time_s);

/** The protocol that a user's word means: auto, ll, ll128 or simple.  Returns MS_OK; MS_E_RANGE for
 * any other word, *protocol_out untouched. */
ms_status ms_protocol_read(const char *name, ms_protocol *protocol_out);

/** Name of a protocol; "simple" for MS_PROTOCOL_AUTO, whose bytes and latencies are those. */
const char *ms_protocol_name(ms_protocol protocol);

/** Name of an algorithm ("auto", "ring", "direct", "tree", or as its row says); "unknown" for a
 * number without a row. */
const char *ms_coll_algorithm_name(ms_coll_algorithm algorithm);

#endif
