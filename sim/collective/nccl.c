/* NCCL's cost model ("tuning"): predicts latency and bandwidth of a collective for each algorithm
 * and protocol, from the number of ranks and nodes, and takes the fastest. Bus bandwidth is that of
 * nccl-tests; algorithm bandwidth is bytes of the buffer per second. A graph is NCCL's set of
 * channels with the bandwidth that its topology search found. Versions 2.5 to 2.7 and 2.8 to 2.10
 * have formulas of their own. See decision note nccl.md. Source: NVIDIA/nccl, src/graph/tuning.cc.
 */
#include "collective/nccl.h"

#include <math.h>

/* A collective of a communicator with one algorithm and protocol: the input of all formulas. */
typedef struct nccl_way {
    const ms_platform *platform;
    const ms_nccl_comm *comm;
    const ms_library_generation *generation;
    ms_coll_kind kind;
    ms_library_algorithm algorithm;
    ms_library_protocol protocol;
    int scale;    /* column of limits by number of nodes: 0 for one, 1 for two, 2 for more */
    double nic_s; /* latency of a message that the NIC's driver reports [s] */
} nccl_way;

/* The algorithms of the model and their rows in a library's tables, in NCCL's order: of several
 * equal times, the first is taken. */
static const struct {
    ms_coll_algorithm algorithm;
    ms_library_algorithm row;
} ALGORITHMS[MS_LIBRARY_ALGORITHMS] = {
    {MS_ALGORITHM_TREE, MS_LIBRARY_TREE},
    {MS_ALGORITHM_RING, MS_LIBRARY_RING},
    {MS_ALGORITHM_COLLNET_DIRECT, MS_LIBRARY_COLLNET_DIRECT},
    {MS_ALGORITHM_COLLNET_CHAIN, MS_LIBRARY_COLLNET_CHAIN},
    {MS_ALGORITHM_NVLS, MS_LIBRARY_NVLS},
    {MS_ALGORITHM_NVLS_TREE, MS_LIBRARY_NVLS_TREE},
    {MS_ALGORITHM_PAT, MS_LIBRARY_PAT},
};

static bool is_all_reduce(const nccl_way *w) {
    return w->kind == MS_COLL_ALL_REDUCE;
}

static bool is_nvls(const nccl_way *w) {
    return w->algorithm == MS_LIBRARY_NVLS || w->algorithm == MS_LIBRARY_NVLS_TREE;
}

static bool is_collnet(const nccl_way *w) {
    return w->algorithm == MS_LIBRARY_COLLNET_DIRECT || w->algorithm == MS_LIBRARY_COLLNET_CHAIN;
}

/* Whether the formulas are those of NCCL 2.5 to 2.10: without PAT, with lower bandwidth of LL on
 * rings, and with other latencies. */
static bool is_old(const nccl_way *w) {
    return w->platform->library->formulas != MS_FORMULAS_2_28;
}

/* Whether the formulas are those of NCCL 2.5 to 2.7, whose limits on bandwidth are mostly for all
 * channels together. */
static bool is_2_7(const nccl_way *w) {
    return w->platform->library->formulas == MS_FORMULAS_2_7;
}

/* Whether every node has one member, so that all messages cross the network. */
static bool is_spread(const ms_nccl_comm *comm) {
    return comm->ranks == comm->nodes;
}

/* Whether the network's switches can reduce (SHARP) between the nodes of an all-reduce. */
static bool is_reduced_by_network(const nccl_way *w) {
    return w->platform->has_sharp && is_all_reduce(w) && w->comm->nodes > 1 &&
           (w->comm->has_equal_nodes || is_spread(w->comm));
}

/* Whether NCCL offers this algorithm and protocol for the collective. Only rings and trees have LL
 * and LL128. Without SHARP in the network, NVLS works inside one node only, and NVLSTree among
 * several. */
static bool is_offered(const nccl_way *w) {
    const ms_nccl_comm *comm = w->comm;
    /* LL and LL128 mark data as arrived by flags within it, so a network that reorders cannot carry
     * them. Its plug-in then sets NCCL_PROTO for the whole process, also for groups inside a node.
     */
    if (w->platform->nics.is_unordered && w->protocol != MS_LIBRARY_SIMPLE) {
        return false;
    }
    if (w->algorithm == MS_LIBRARY_RING) {
        return true;
    }
    if (w->algorithm == MS_LIBRARY_TREE) {
        return is_all_reduce(w);
    }
    if (w->protocol != MS_LIBRARY_SIMPLE) {
        return false;
    }
    if (w->algorithm == MS_LIBRARY_PAT) {
        return !is_all_reduce(w) && is_spread(comm) && !is_old(w);
    }
    if (is_collnet(w)) { /* 2.5 to 2.7 have the chain only */
        bool is_known = !is_2_7(w) || w->algorithm == MS_LIBRARY_COLLNET_CHAIN;
        return is_known && is_reduced_by_network(w);
    }
    bool has_switches = w->platform->has_nvls && w->generation->nvls_efficiency > 0.0 &&
                        w->generation->channels >= 2 &&
                        comm->ranks / comm->nodes >= w->platform->library->nvls_min_gpus;
    return has_switches &&
           (w->algorithm == MS_LIBRARY_NVLS
                ? comm->nodes == 1 || (comm->has_equal_nodes && is_reduced_by_network(w))
                : comm->nodes > 1 && is_all_reduce(w) && comm->has_equal_nodes);
}

/* Bus bandwidth of one channel of NVLS or NVLSTree [B/s]: the lowest of NVLink's, at the switches'
 * efficiency, the network's, and the limit of a tree's channel. An all-reduce reduces and
 * multicasts at the same time, so it gets twice NVLink's. */
static double nvls_channel_Bps(const nccl_way *w) {
    const ms_library_generation *g = w->generation;
    double channels = g->channels;
    double node_ranks = (double)w->comm->ranks / w->comm->nodes;
    double intra_Bps =
        w->comm->intra_Bps / channels * g->nvls_efficiency * (channels - 1.0) / channels;
    intra_Bps *= is_all_reduce(w) ? 2.0 : (node_ranks - 1.0) / node_ranks;
    if (w->algorithm == MS_LIBRARY_NVLS) {
        return w->comm->nodes == 1 ? intra_Bps : fmin(intra_Bps, w->comm->inter_Bps / channels);
    }
    /* with two nodes, half of a tree's traffic goes in each direction, so the network counts twice
     */
    double inter_Bps = w->comm->inter_Bps / channels * (w->comm->nodes <= 2 ? 2.0 : 1.0);
    return fmin(fmin(intra_Bps, inter_Bps), g->nvls_tree_Bps[w->scale]);
}

/* Maximum bandwidth of LL [B/s]: on one node by generation of the GPU, between nodes by vendor of
 * the CPU. NCCL's table has the limits with Intel's CPUs in the row of Volta, and those with AMD's
 * in the row of Ampere. */
static double ll_Bps(const nccl_way *w) {
    const ms_library *library = w->platform->library;
    ms_gpu_generation by_cpu =
        w->platform->has_amd_cpu ? MS_GENERATION_AMPERE : MS_GENERATION_VOLTA;
    return w->scale == 0 ? w->generation->ll_Bps[0] : library->generations[by_cpu].ll_Bps[w->scale];
}

/* Bus bandwidth of a tree over a graph of `bus_Bps` [B/s]. Factors are NCCL's. */
static double tree_Bps(const nccl_way *w, double bus_Bps) {
    const ms_library_generation *g = w->generation;
    bus_Bps = fmin(0.92 * bus_Bps, g->channels * g->tree_Bps[w->scale]);
    if (w->protocol == MS_LIBRARY_LL) {
        return fmin(bus_Bps / 3.8, ll_Bps(w));
    }
    if (w->protocol == MS_LIBRARY_LL128) {
        double share = w->scale == 0 ? 7.0 / 9.0 : 120.0 / 128.0;
        return fmin(bus_Bps * share, g->channels * g->tree_ll128_Bps[w->scale]);
    }
    return bus_Bps;
}

/* Bus bandwidth of CollNet over a graph of `bus_Bps` [B/s]. In CollNetDirect, the members of a node
 * that share a NIC wait for each other, but half of that wait is hidden. */
static double collnet_Bps(const nccl_way *w, double bus_Bps) {
    if (w->algorithm == MS_LIBRARY_COLLNET_CHAIN) {
        return bus_Bps;
    }
    double sharers = (double)w->comm->ranks / w->comm->nodes / w->comm->nics;
    /* NCCL's factor 0.85 is for Hopper and later */
    bool is_new = w->generation >= &w->platform->library->generations[MS_GENERATION_HOPPER];
    return bus_Bps / ((sharers + 1.0) / 2.0) * (is_new ? 0.85 : 1.0);
}

/* Share of a ring's bandwidth that LL reaches by the model. */
static double ll_share(const nccl_way *w) {
    if (!is_old(w)) {
        return 0.5;
    }
    return w->comm->nodes > 1 || is_all_reduce(w) ? 1.0 / 4.0 : 1.0 / 3.0;
}

/* Whether the GPU is of the generation Ampere. */
static bool is_ampere(const nccl_way *w) {
    return w->generation == &w->platform->library->generations[MS_GENERATION_AMPERE];
}

/* Maximum bandwidth of LL128 on a channel in NCCL 2.5 to 2.7 [B/s]. */
static double ll128_channel_Bps(const nccl_way *w) {
    return is_all_reduce(w) ? 16.7e9 : w->kind == MS_COLL_ALL_GATHER ? 18.3e9 : 15.2e9;
}

/* reach_Bps of NCCL 2.5 to 2.7: bus bandwidth over a graph of `bus_Bps` [B/s]. Factors and limits
 * are NCCL's. Source: NVIDIA/nccl 2.7, src/graph/tuning.cc. */
static double reach_2_7_Bps(const nccl_way *w, double bus_Bps) {
    double ll128_Bps = w->generation->channels * ll128_channel_Bps(w);
    bool is_far = w->scale == 2, is_128 = w->protocol == MS_LIBRARY_LL128;
    if (is_collnet(w)) {
        return 0.9 * bus_Bps;
    }
    if (w->algorithm == MS_LIBRARY_TREE) {
        double most_Bps = is_far ? 80e9 : 110e9;
        if (is_128 && is_ampere(w)) {
            most_Bps = is_far ? 105e9 : 130e9;
        }
        double tree_Bps = fmin(0.9 * bus_Bps, most_Bps);
        double share = w->protocol == MS_LIBRARY_LL ? 1.0 / 3.8
                       : !is_128                    ? 1.0
                       : w->comm->nodes == 1        ? 7.0 / 9.0
                                                    : 0.915;
        return is_128 ? fmin(tree_Bps * share, ll128_Bps * 7.0 / 9.0) : tree_Bps * share;
    }
    /* the rest are rings; the one member of a node sends and receives through the NIC beside its
     * GPU */
    if (is_128) {
        return fmin(bus_Bps * (is_spread(w->comm) ? 0.7 : 0.92), ll128_Bps);
    }
    return w->protocol == MS_LIBRARY_LL ? ll_share(w) * bus_Bps : bus_Bps;
}

/* Whether a tree gets half the bandwidth that NCCL's search found. Versions before 2.19 raise the
 * speed of a graph's channels first. Channels that then have at least 25 GB/s are split into two of
 * half the speed, but a tree keeps only as many channels as the ring has. Later versions duplicate
 * channels before they raise the speed. ring_Bps, raised_Bps: bandwidth of all channels before and
 * after the speed is raised. Source: NVIDIA/nccl, src/graph/search.cc and src/init.cc. */
static bool is_halved(const nccl_way *w, double ring_Bps, double raised_Bps) {
    double least_Bps = 25e9 * w->comm->nics;
    return is_old(w) && w->algorithm == MS_LIBRARY_TREE && ring_Bps < least_Bps &&
           raised_Bps >= least_Bps;
}

/* Bandwidth of all channels of a graph that NCCL's cost model uses [B/s]: bwIntra (inside nodes) or
 * bwInter (between nodes) as NCCL's topology search leaves them, times the number of channels. The
 * search begins with bwIntra = bwInter, the lower of what NVLink and network carry. It keeps that
 * for rings; for other graphs it raises bwIntra, to at most 2 bwInter. The cost model uses bwIntra
 * on one or two nodes and for CollNet, otherwise bwInter. Source: NVIDIA/nccl, src/graph/search.cc
 * (ncclTopoCompute), src/graph/tuning.cc. */
static double graph_Bps(const nccl_way *w) {
    const ms_nccl_comm *comm = w->comm;
    if (comm->nodes == 1) {
        return comm->intra_Bps;
    }
    double ring_Bps = fmin(comm->intra_Bps, comm->inter_Bps);
    double raised_Bps = fmin(comm->intra_Bps, 2.0 * comm->inter_Bps);
    if (w->algorithm == MS_LIBRARY_RING || (comm->nodes > 2 && !is_collnet(w))) {
        return ring_Bps;
    }
    return is_halved(w, ring_Bps, raised_Bps) ? raised_Bps / 2.0 : raised_Bps;
}

/* Bus bandwidth that an algorithm and protocol reach, by NCCL's factors and limits, over a graph
 * with the bandwidth `bus_Bps` of graph_Bps [B/s]. From the line for LL on, the algorithm is a
 * ring, which reaches the whole bandwidth with Simple. */
static double reach_Bps(const nccl_way *w, double bus_Bps) {
    const ms_library_generation *g = w->generation;
    if (is_2_7(w)) {
        return reach_2_7_Bps(w, bus_Bps);
    }
    if (w->algorithm == MS_LIBRARY_TREE) {
        return tree_Bps(w, bus_Bps);
    }
    if (is_collnet(w)) {
        return collnet_Bps(w, bus_Bps);
    }
    if (w->algorithm == MS_LIBRARY_PAT) {
        return 0.75 * bus_Bps;
    }
    if (w->protocol == MS_LIBRARY_LL) {
        return fmin(ll_share(w) * bus_Bps, ll_Bps(w));
    }
    if (w->protocol == MS_LIBRARY_LL128) {
        return fmin(0.92 * bus_Bps, g->channels * g->ring_ll128_Bps[w->scale]);
    }
    return bus_Bps;
}

/* Number of steps of a ring. *between_out: how many of the steps are between nodes. */
static double ring_steps(const nccl_way *w, double *between_out) {
    double passes = is_all_reduce(w) ? 2.0 : 1.0;
    *between_out = passes * (w->comm->nodes - 1);
    return passes * (w->comm->ranks - 1);
}

/* Algorithm bandwidth by the model: bytes of the buffer per second [B/s]. For a ring, and for NVLS
 * in an all-reduce, it is the bus bandwidth times ranks / steps, as in nccl-tests; for other
 * algorithms in an all-reduce, half of the bus bandwidth. */
static double algorithm_Bps(const nccl_way *w) {
    double between = 0.0;
    if (is_nvls(w)) {
        double bus_Bps = w->generation->channels * nvls_channel_Bps(w);
        return is_all_reduce(w) ? bus_Bps * w->comm->ranks / ring_steps(w, &between) : bus_Bps;
    }
    double links_Bps = graph_Bps(w);
    if (is_2_7(w) && is_ampere(w)) {
        links_Bps = fmin(links_Bps, 235e9); /* NCCL's limit for Ampere */
    }
    double bus_Bps = reach_Bps(w, links_Bps);
    if (w->algorithm == MS_LIBRARY_RING) {
        return bus_Bps * w->comm->ranks / ring_steps(w, &between);
    }
    return is_all_reduce(w) ? 0.5 * bus_Bps : bus_Bps;
}

/* Logarithm to base 2 of a number, rounded down; 0 below 1. */
static int floor_log2(double value) {
    return value >= 1.0 ? ilogb(value) : 0;
}

/* Latency of all steps of a ring [s]. node_s, net_s: of a step inside a node and between nodes. */
static double ring_latency_s(const nccl_way *w, double node_s, double net_s) {
    double between = 0.0;
    double steps = ring_steps(w, &between);
    double overhead_s = 0.0;
    if (w->comm->nodes > 1) {
        /* a step inside a node takes no less than the posting of a send to the network; with Simple
         * three times that, as its chunks are also announced */
        overhead_s = w->platform->library->net_overhead_s[w->platform->has_amd_cpu ? 1 : 0] *
                     (w->protocol == MS_LIBRARY_SIMPLE ? 3.0 : 1.0);
    }
    return (steps - between) * fmax(node_s, overhead_s) + between * net_s;
}

/* Latency of a step between nodes [s]. With one member per node, NCCL takes the latency of a tree's
 * step for every algorithm. The latency that the NIC's driver reports is added, with Simple twice,
 * as its flush is a message, too. */
static double net_step_s(const nccl_way *w) {
    const ms_library *library = w->platform->library;
    bool is_bare = is_spread(w->comm) && !is_old(w);
    ms_library_algorithm row = is_bare ? MS_LIBRARY_TREE : w->algorithm;
    double messages = w->protocol == MS_LIBRARY_SIMPLE ? 2.0 : 1.0;
    return library->net_s[row][w->protocol] + messages * w->nic_s;
}

/* Latency of CollNet inside the nodes, one way [s]: of CollNetChain a step per other member; of
 * CollNetDirect one step, and 0.4 us per other member. node_s: of a step. */
static double collnet_node_s(const nccl_way *w, double node_s) {
    static const double EACH_S = 0.4e-6;
    int others = w->comm->ranks / w->comm->nodes - 1;
    return w->algorithm == MS_LIBRARY_COLLNET_CHAIN ? others * node_s
                                                    : (others > 0 ? node_s : 0.0) + others * EACH_S;
}

/* Latency of all steps by the model, without the factor of the plateau [s]: a base (none for NVLS),
 * and for each algorithm its number of steps inside nodes and between nodes times their latencies.
 * Trees between nodes have log2(nodes) levels, up and down. The numbers in the formulas are NCCL's
 * own. */
static double latency_s(const nccl_way *w) {
    const ms_library *library = w->platform->library;
    const ms_nccl_comm *comm = w->comm;
    double base_s = library->base_s[w->algorithm][w->protocol];
    bool waits_for_network = is_old(w) && w->protocol == MS_LIBRARY_LL && comm->nodes > 1;
    double node_s = library->node_s[w->algorithm][w->protocol] * (waits_for_network ? 1.8 : 1.0);
    double net_s = net_step_s(w);
    double levels = floor_log2(comm->nodes);
    int others = comm->ranks / comm->nodes - 1; /* of a rank's node */
    switch (w->algorithm) {
    case MS_LIBRARY_RING:
        return base_s + ring_latency_s(w, node_s, net_s);
    case MS_LIBRARY_TREE:
        return base_s + 2.0 * (others * node_s + levels * net_s);
    case MS_LIBRARY_COLLNET_DIRECT:
    case MS_LIBRARY_COLLNET_CHAIN:
        return base_s + 2.0 * collnet_node_s(w, node_s) + net_s;
    case MS_LIBRARY_NVLS_TREE:
        return base_s + node_s + 2.0 * levels * net_s;
    case MS_LIBRARY_PAT:
        return base_s + levels * net_s / 3.5 + 2.8e-6 * comm->ranks;
    default:
        return node_s + (comm->nodes > 1 ? net_s : 0.0);
    }
}

/* Whether the latency of a ring is on NCCL's "plateau": with Simple, all-reduces between nodes take
 * longer once each rank's part (the buffer's bytes over the ranks) has some size. */
static bool is_on_plateau(const nccl_way *w, double size_B) {
    double least_B = is_old(w) ? 4096.0 : 64.0 * w->generation->channels; /* for each rank */
    return w->algorithm == MS_LIBRARY_RING && w->protocol == MS_LIBRARY_SIMPLE &&
           w->comm->nodes > 1 && is_all_reduce(w) && size_B / w->comm->ranks >= least_B;
}

/* Factor on the latency: NCCL's for the plateau of rings, else 1. */
static double plateau(const nccl_way *w, double size_B) {
    bool is_long =
        is_old(w) || w->generation == &w->platform->library->generations[MS_GENERATION_VOLTA];
    return !is_on_plateau(w, size_B) ? 1.0 : is_long ? 1.9 : 1.4;
}

/* Factor on the bandwidth of a tree by the bytes of the buffer, from NCCL's table with an entry per
 * power of two from 64 B on; 1 for larger sizes and other algorithms. */
static double correction(const nccl_way *w, double size_B) {
    int power = floor_log2(floor(size_B / 64.0));
    bool has_one = w->algorithm == MS_LIBRARY_TREE && power < MS_LIBRARY_SIZES;
    return has_one ? w->platform->library->tree_correction[w->protocol][power] : 1.0;
}

/* Time by the model: latency and bytes [s]; INFINITY where NCCL does not offer the way. */
static double time_s(const nccl_way *w, double size_B) {
    double rate_Bps = is_offered(w) ? algorithm_Bps(w) * correction(w, size_B) : 0.0;
    return rate_Bps > 0.0 ? latency_s(w) * plateau(w, size_B) + size_B / rate_Bps : INFINITY;
}

/* The way that a request names: its kind, algorithm and protocol, neither of them auto. */
static nccl_way way_of(const ms_platform *platform, const ms_nccl_comm *comm,
                       const ms_coll_request *way) {
    nccl_way w = {.platform = platform,
                  .comm = comm,
                  .generation = &platform->library->generations[platform->gpu.generation],
                  .kind = way->kind,
                  .protocol = (ms_library_protocol)(way->protocol - MS_PROTOCOL_LL),
                  .scale = comm->nodes <= 2 ? comm->nodes - 1 : 2,
                  .nic_s = platform->nics.latency_s};
    for (int i = 0; i < MS_LIBRARY_ALGORITHMS; i++) {
        if (ALGORITHMS[i].algorithm == way->algorithm) {
            w.algorithm = ALGORITHMS[i].row;
        }
    }
    return w;
}

bool ms_nccl_applies(const ms_platform *platform, ms_coll_kind kind) {
    return platform->library != NULL && (kind == MS_COLL_ALL_REDUCE || kind == MS_COLL_ALL_GATHER ||
                                         kind == MS_COLL_REDUCE_SCATTER);
}

/* Inside a node, NCCL gives a peer two channels per NVLink that leads to it, which on all machines
 * here is more than the communicator has. If the communicator also has peers on other nodes, all
 * its peers get only as many channels as those, net_channels. Between nodes, channels suffice for
 * the NIC. The bandwidth of a channel is assumed to be the model's limit for a tree's channel
 * inside a node. Source: NVIDIA/nccl, src/graph/paths.cc (ncclTopoGetNchannels). */
double ms_nccl_message_Bps(const ms_platform *platform, const int gpus[2], bool leaves_node) {
    const ms_library *library = platform->library;
    if (library == NULL ||
        ms_platform_node(platform, gpus[0]) != ms_platform_node(platform, gpus[1])) {
        return INFINITY;
    }
    const ms_library_generation *generation = &library->generations[platform->gpu.generation];
    return (leaves_node ? library->net_channels : generation->channels) * generation->tree_Bps[0];
}

double ms_nccl_overhead_s(const ms_platform *platform) {
    return platform->library == NULL
               ? 0.0
               : platform->library->generations[platform->gpu.generation].overhead_s;
}

double ms_nccl_time_s(const ms_platform *platform, const ms_nccl_comm *comm,
                      const ms_coll_request *way, double size_B) {
    nccl_way w = way_of(platform, comm, way);
    return time_s(&w, size_B);
}

/* Find the algorithm and protocol with the shortest time by the model. All algorithms and protocols
 * that the request leaves open are tried, in NCCL's order; of equal times the first is taken. If
 * none is offered, the time of the result is INFINITY. */
ms_nccl_choice ms_nccl_choose(const ms_platform *platform, const ms_nccl_comm *comm,
                              const ms_coll_request *request, double size_B) {
    ms_nccl_choice best = {.time_s = INFINITY};
    for (int a = 0; a < MS_LIBRARY_ALGORITHMS; a++) {
        bool is_asked = request->algorithm == MS_ALGORITHM_AUTO ||
                        request->algorithm == ALGORITHMS[a].algorithm;
        for (int p = MS_PROTOCOL_LL; p <= MS_PROTOCOL_SIMPLE && is_asked; p++) {
            if (request->protocol != MS_PROTOCOL_AUTO && request->protocol != (ms_protocol)p) {
                continue;
            }
            const ms_coll_request way = {.kind = request->kind,
                                         .algorithm = ALGORITHMS[a].algorithm,
                                         .protocol = (ms_protocol)p};
            double way_s = ms_nccl_time_s(platform, comm, &way, size_B);
            if (way_s < best.time_s) {
                best = (ms_nccl_choice){way.algorithm, way.protocol, way_s};
            }
        }
    }
    return best;
}

double ms_nccl_latency_s(const ms_platform *platform, const ms_nccl_comm *comm,
                         const ms_coll_request *way, double size_B) {
    nccl_way w = way_of(platform, comm, way);
    w.nic_s = 0.0; /* it affects NCCL's choice only; messages do not take that long */
    return latency_s(&w) * plateau(&w, size_B);
}

/* Share of the links' bandwidth that an algorithm and protocol reach: the bandwidth by the model
 * divided by the bandwidth of the graph. For rings, the measured pause between chunks (ring_turn,
 * in steps) is spread over all steps. For NVLS, the share is a measured constant. */
double ms_nccl_share(const ms_platform *platform, const ms_nccl_comm *comm,
                     const ms_coll_request *way) {
    nccl_way w = way_of(platform, comm, way);
    if (is_nvls(&w)) {
        return w.generation->nvls_share;
    }
    if (is_collnet(&w)) {
        return 1.0; /* NCCL's lower estimate serves its choice of an algorithm only */
    }
    double links_Bps = graph_Bps(&w);
    double share = isfinite(links_Bps) ? reach_Bps(&w, links_Bps) / links_Bps : 1.0;
    double between = 0.0;
    return w.algorithm == MS_LIBRARY_RING
               ? share / (1.0 + w.generation->ring_turn / ring_steps(&w, &between))
               : share;
}

/* A number for the way in which NCCL moves a size: its algorithm, its protocol, and whether latency
 * is on the plateau of rings; 0: none is offered. */
uint32_t ms_nccl_choice_key(const ms_platform *platform, const ms_nccl_comm *comm,
                            const ms_coll_request *request, double size_B) {
    ms_nccl_choice choice = ms_nccl_choose(platform, comm, request, size_B);
    if (choice.algorithm == MS_ALGORITHM_AUTO) {
        return 0;
    }
    const ms_coll_request way = {
        .kind = request->kind, .algorithm = choice.algorithm, .protocol = choice.protocol};
    nccl_way w = way_of(platform, comm, &way);
    return (uint32_t)choice.algorithm * 8 + (uint32_t)choice.protocol * 2 +
           (is_on_plateau(&w, size_B) ? 1 : 0);
}

ms_library_ramp ms_nccl_ramp(const ms_platform *platform, ms_protocol protocol) {
    return protocol == MS_PROTOCOL_SIMPLE
               ? platform->library->generations[platform->gpu.generation].ramp
               : (ms_library_ramp){.time_s = 0.0};
}
