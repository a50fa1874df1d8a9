/**
 * @file
 * NCCL's cost model ("tuning"): predicts the time of a collective for each algorithm and protocol,
 * and chooses the fastest.
 *
 * The formulas are those of NCCL's src/graph/tuning.cc, the constants those of the platform's
 * library (library.h). The predicted time decides the choice only. A simulated collective takes the
 * time of its plan, which has the model's latency and the bytes on the platform's links
 * (sim/collective/nccl.md). Functions with a `way` use its kind, algorithm and protocol, neither of
 * the last two auto; they need a platform with a library.
 */
#ifndef MESHSIM_NCCL_H
#define MESHSIM_NCCL_H

#include "collective/collective.h"

/** The facts about a communicator that the model uses. */
typedef struct ms_nccl_comm {
    int ranks, nodes; /**< >= 2, >= 1 */
    double intra_Bps; /**< bandwidth of a GPU over NVLink; INFINITY where no node has two members
                         [B/s] */
    double inter_Bps; /**< bandwidth of a node to the network, over `nics` NICs [B/s] */
    int nics;         /**< NICs used on the node with the fewest members, one per member at most */
    bool has_equal_nodes; /**< every node has equally many members, more than one */
} ms_nccl_comm;

/** Algorithm and protocol chosen for a collective. */
typedef struct ms_nccl_choice {
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO: NCCL offers none of those allowed */
    ms_protocol protocol;
    double time_s; /**< predicted by the model [s] */
} ms_nccl_choice;

/** Find the facts about the communicator of a group.  gpus: [members], no repeats.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(members) where the members are listed node by node, else O(members
 * log members). */
ms_status ms_nccl_comm_find(const ms_platform *platform, const int *gpus, int members,
                            ms_nccl_comm *comm_out);

/** Whether the model chooses for collectives of a kind: with a library, all-reduce, all-gather and
 * reduce-scatter. */
bool ms_nccl_applies(const ms_platform *platform, ms_coll_kind kind);

/** Fixed time of every message, all-to-all or collective besides its steps [s]; 0 without a
 * library.  O(1). */
double ms_nccl_overhead_s(const ms_platform *platform);

/** Maximum bandwidth of a message between two GPUs on the channels that NCCL gives a peer, apart
 * from that of the links [B/s]; INFINITY between nodes, and without a library.  leaves_node: as in
 * ms_coll_request.  O(1). */
double ms_nccl_message_Bps(const ms_platform *platform, const int gpus[2], bool leaves_node);

/** Time that NCCL predicts for a collective of `size_B` bytes with one algorithm and protocol [s];
 * INFINITY where NCCL does not offer them. */
double ms_nccl_time_s(const ms_platform *platform, const ms_nccl_comm *comm,
                      const ms_coll_request *way, double size_B);

/** The algorithm and protocol with the least ms_nccl_time_s, among those that the request allows.
 * request: its kind, algorithm and protocol are read. */
ms_nccl_choice ms_nccl_choose(const ms_platform *platform, const ms_nccl_comm *comm,
                              const ms_coll_request *request, double size_B);

/** Latency of all steps that NCCL predicts for an algorithm and protocol, without the overhead of
 * the call and the latency that the NIC's driver reports [s]. */
double ms_nccl_latency_s(const ms_platform *platform, const ms_nccl_comm *comm,
                         const ms_coll_request *way, double size_B);

/** Share, 0..1, of the links' bandwidth that an algorithm and protocol reach. */
double ms_nccl_share(const ms_platform *platform, const ms_nccl_comm *comm,
                     const ms_coll_request *way);

/** A number that is equal for two sizes for which NCCL chooses the same algorithm and protocol,
 * with the same factor on the latency, so that their times differ only by their bytes; 0: nothing
 * is offered. */
uint32_t ms_nccl_choice_key(const ms_platform *platform, const ms_nccl_comm *comm,
                            const ms_coll_request *request, double size_B);

/** Time that a protocol's chunks add to latency and bytes, growing with the size; only with Simple,
 * whose chunks are larger for larger sizes. protocol: MS_PROTOCOL_SIMPLE only with a library. */
ms_library_ramp ms_nccl_ramp(const ms_platform *platform, ms_protocol protocol);

#endif
