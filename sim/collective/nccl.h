/**
 * @file
 * NCCL's tuning model: how long a collective should take with an algorithm and a protocol, and
 * which of them is taken for it.
 *
 * Formulas are those of NCCL's src/graph/tuning.cc, constants a platform's library (library.h).
 * They decide the choice; what a simulated collective takes is its plan's, which has the latency
 * from here and its bytes on links (sim/collective/nccl.md).
 */
#ifndef MESHSIM_NCCL_H
#define MESHSIM_NCCL_H

#include "collective/collective.h"

/** What the model knows of a communicator. */
typedef struct ms_nccl_comm {
    int ranks, nodes;     /**< >= 2, >= 1 */
    double intra_Bps;     /**< of a GPU over NVLink; INFINITY where no node has two members [B/s] */
    double inter_Bps;     /**< between nodes, over the NICs of the node with fewest [B/s] */
    int nics;             /**< of that node that are used */
    bool has_equal_nodes; /**< every node has equally many members, more than one */
} ms_nccl_comm;

/** What is taken for a collective. */
typedef struct ms_nccl_choice {
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO: nothing fits */
    ms_protocol protocol;
    double time_s; /**< as the model has it */
} ms_nccl_choice;

/** The communicator of a group.  gpus: [members], no repeats.  *comm_out: its facts.  Returns
 * MS_OK; MS_E_NOMEM.  O(members) where they come node by node. */
ms_status ms_nccl_comm_find(const ms_platform *platform, const int *gpus, int members,
                            ms_nccl_comm *comm_out);

/** Whether a platform's collectives of a kind follow the model. */
bool ms_nccl_applies(const ms_platform *platform, ms_coll_kind kind);

/** What a message, an exchange or a collective takes beyond its steps, from one to the next [s];
 * 0 without a library.  O(1). */
double ms_nccl_overhead_s(const ms_platform *platform);

/** What a message between two GPUs reaches on the channels that NCCL gives a peer, whatever the
 * links [B/s]; INFINITY between nodes, and without a library.  leaves_node: as in ms_coll_request.
 * O(1). */
double ms_nccl_message_Bps(const ms_platform *platform, const int gpus[2], bool leaves_node);

/** Time that NCCL predicts for a collective of `size_B` with one algorithm and protocol; INFINITY
 * where NCCL does not offer them. */
double ms_nccl_time_s(const ms_platform *platform, const ms_nccl_comm *comm,
                      const ms_coll_request *way, double size_B);

/** The algorithm and protocol with the least ms_nccl_time_s, among those that the request allows.
 * request: its kind, algorithm and protocol are read. */
ms_nccl_choice ms_nccl_choose(const ms_platform *platform, const ms_nccl_comm *comm,
                              const ms_coll_request *request, double size_B);

/** Latency that NCCL predicts for an algorithm and protocol, without the launch and without the
 * latency of links [s]. */
double ms_nccl_latency_s(const ms_platform *platform, const ms_nccl_comm *comm,
                         const ms_coll_request *way, double size_B);

/** Share of the links' bandwidth that an algorithm and protocol reach, 0..1. */
double ms_nccl_share(const ms_platform *platform, const ms_nccl_comm *comm,
                     const ms_coll_request *way);

/** A number that is equal for two sizes which NCCL moves with the same algorithm, protocol and
 * latency, so that their times differ by their bytes alone. */
uint32_t ms_nccl_way(const ms_platform *platform, const ms_nccl_comm *comm,
                     const ms_coll_request *request, double size_B);

/** By how much the chunks of a protocol slow a collective down beside its latency and bytes: only
 * Simple's grow with it. None without a library. */
ms_library_ramp ms_nccl_ramp(const ms_platform *platform, ms_protocol protocol);

#endif
