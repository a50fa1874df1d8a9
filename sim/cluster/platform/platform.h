/**
 * @file
 * Platforms: the GPUs, nodes and network of a cluster, as one graph of directed links with routes
 * that are computed on demand.
 *
 * GPUs are numbered 0..G-1, node after node; GPU i of a node uses NIC i mod NICs. In a torus they
 * are numbered pod after pod and along x, then y, then z. A link has one direction. Every link
 * belongs to a tier (a level such as nvlink, rail, spine, core); the tier has the latency, the
 * bandwidth, and the fraction of it that transfers achieve. Nothing here depends on the job.
 *
 * Nouns of the room `cluster`, and what the same words mean elsewhere:
 * - platform: the cluster that a job runs on: GPU type, nodes, tiers of links, NCCL version.
 * - node: a computer with GPUs and NICs. In base/config: a value in a tree of YAML (ms_node).
 * - slot: the index of a GPU in its node.
 * - tier: a set of like links, such as NVLink, NICs, or the uplinks of leaf switches.
 * - address: tier, index and direction of a link (ms_link_address).
 * - rail: the NICs of one index in all nodes, and the switches that connect them.
 * - unit: the nodes below one group of leaf switches; pod: the units below one group of spines. In
 *   base: the unit of a quantity; in model: an FSDP unit.
 * - mesh: the ranks of a job in a grid of axes (tp, pp, dp, ...); group: the ranks along an axis.
 * - placement: which GPU each rank runs on.
 * - sharding: how a tensor is distributed over a mesh. In model: of states over replicas (ZeRO).
 */
#ifndef MESHSIM_PLATFORM_H
#define MESHSIM_PLATFORM_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/platform/library.h"

/** Largest number of tiers of a platform, and of links on a route. */
enum { MS_TIER_MAX = 8, MS_ROUTE_LINKS_MAX = 64 };

/** Attention kernels: unfused (products over the whole score matrix), the fused kernel whose
 * efficiency the GPU type's file gives for all head sizes, and generations of fused kernels. */
typedef enum ms_attention_kernel {
    MS_ATTENTION_UNFUSED,
    MS_ATTENTION_FUSED,
    MS_ATTENTION_FLASH1,
    MS_ATTENTION_FLASH2,
    MS_ATTENTION_FLASH3,
    MS_ATTENTION_CUDNN,
    MS_ATTENTION_TRITON, /**< the first generation's algorithm, written in Triton */
    MS_ATTENTION_COUNT,
} ms_attention_kernel;

/** Head sizes for which the efficiency of a generation is given: 64, 96, 128, 192 and 256. */
enum { MS_HEAD_WIDTHS = 5 };

/** Speed of a generation of fused kernels on a GPU type, in one direction (forward or backward). */
typedef struct ms_attention_rate {
    double ramp_keys; /**< fixed time of a row of queries (backward: also of a row of keys), as the
                         time of the products with so many keys [elements] */
    double efficiency[MS_HEAD_WIDTHS]; /**< share of the peak besides, 0..1; 0: not given */
} ms_attention_rate;

/** Speed of a generation forward and backward, in 16 bits and in fp8. */
typedef struct ms_attention_rates {
    ms_attention_rate forward, backward;         /**< of the peak in 16 bits */
    ms_attention_rate fp8_forward, fp8_backward; /**< of the dense peak in fp8; without an
                                                    efficiency: no such kernel */
} ms_attention_rates;

/** Matrix products whose rows are not aligned to 16 bytes, the width of one copy from memory. */
typedef struct ms_unaligned_rate {
    double share; /**< throughput where rows are aligned to 2 bytes only, over that of aligned rows,
                     0..1 */
    double batched_flop_per_s; /**< peak of batched products, which run without matrix units
                                  [FLOP/s]; 0: as other products */
} ms_unaligned_rate;

/** Products of several experts, each of which is a call of its own to a library. */
typedef struct ms_grouped_rate {
    double call_s;  /**< shortest time from the start of a product to that of the next [s] */
    double exposed; /**< share of the shorter of arithmetic and memory traffic that the longer one
                       does not hide, 0..1 */
} ms_grouped_rate;

/** Electrical power of a GPU; 0: not given. */
typedef struct ms_gpu_power {
    double load_W; /**< while it computes */
    double idle_W; /**< while it waits in the middle of a job, at most load_W */
} ms_gpu_power;

/** Power of a GPU, and its clock under the power limit. */
typedef struct ms_gpu_clock {
    double sustained; /**< share of the peak's clock that matrix units hold under the power limit
                         while they work all the time, 0..1 */
    double spread;    /**< between GPUs of the type: range of the times that the same arithmetic
                         takes, outliers (beyond Tukey's fences) left out, over the median, 0..1 */
    ms_gpu_power power;
} ms_gpu_clock;

/** The share of its host that each GPU has; 0: not given. */
typedef struct ms_host_rate {
    double pcie_Bps;   /**< bandwidth to or from the host, each way [B/s] */
    double memory_Bps; /**< bandwidth of the host's memory, share of a GPU [B/s] */
} ms_host_rate;

/** Kernels that are neither as fast as the matrix units nor as the memory allows. */
typedef struct ms_kernel_rates {
    double loss_share; /**< share of hbm_Bps that kernels of a cross entropy reach, 0..1; 0: as
                          memory_efficiency */
    double search_s;   /**< time of torch.topk for each entry that it searches, of rows as short
                          as a router's [s]; 0: as the traffic of its bytes */
} ms_kernel_rates;

/** Number formats of the operands of products with weights. */
typedef enum ms_product_format {
    MS_PRODUCT_PLAIN, /**< format of the working parameters */
    MS_PRODUCT_FP8,   /**< 8 bits; scales of 32 bits, of tensors, rows or blocks of 128 elements */
    MS_PRODUCT_MXFP8, /**< 8 bits; a scale of 8 bits for every 32 elements */
    MS_PRODUCT_NVFP4, /**< 4 bits; a scale of 8 bits for every 16 elements */
    MS_PRODUCT_COUNT,
} ms_product_format;

/** Layouts of operands that the products of a format support. */
typedef enum ms_product_layouts {
    MS_LAYOUTS_ANY,
    MS_LAYOUTS_TN, /**< both operands contiguous along the inner dimension: products for gradients
                      need transposed copies */
} ms_product_layouts;

/** Kernels that cast operands to a format. */
typedef enum ms_cast_kernels {
    MS_CASTS_STREAMING, /**< as fast as other kernels that are bound by memory */
    MS_CASTS_TRANSFORMER_ENGINE_1,
    MS_CASTS_TORCH_COMPILE,
    MS_CASTS_COUNT,
} ms_cast_kernels;

/** Speed of matrix products in a number format on a GPU type. */
typedef struct ms_product_rate {
    double peak_flop_per_s;      /**< dense matrix peak [FLOP/s]; 0: the GPU has no such products */
    double sustained_clock;      /**< share of the peak's clock held under the power limit, 0..1 */
    double gemm_efficiency;      /**< best share of the peak a large GEMM reaches, 0..1 */
    double blockwise_efficiency; /**< the same for operands with scales of blocks, 0..1; 0: as
                                    others */
    double blockwise_weight_efficiency; /**< the same where both operands have a scale for every row
                                           and 128 elements, as in gradients of weights; 0: as other
                                           products with scales of blocks */
    double rowwise_efficiency; /**< the same for operands with scales of rows, 0..1; 0: as others */
    double transposing_casts[MS_CASTS_COUNT]; /**< by kind of cast kernels: share of hbm_Bps that
                                                 they reach where they write a transposed copy,
                                                 0..1; 0: memory_efficiency */
    ms_product_layouts layouts;
} ms_product_rate;

/** Speed of products in other formats than the working type, and of special cases. */
typedef struct ms_product_rates {
    ms_product_rate of[MS_PRODUCT_COUNT]; /**< by format; PLAIN is not used */
    ms_product_rate single;               /**< operands in fp32: peak, clock and efficiency */
    ms_grouped_rate grouped;              /**< products of experts */
    ms_unaligned_rate unaligned;          /**< rows that are not aligned to 16 bytes */
} ms_product_rates;

/** Kernels that a measured table can have; the comments list their sizes. */
typedef enum ms_measured_kernel {
    MS_MEASURED_GEMM,               /**< m, n, k, batch */
    MS_MEASURED_GEMM_ACCUMULATE,    /**< the same, added to a gradient */
    MS_MEASURED_ATTENTION,          /**< causal: batch, sequence, heads, key and value heads, size
                                       of a query and of a value */
    MS_MEASURED_ATTENTION_BACKWARD, /**< the same */
    MS_MEASURED_MEMORY,             /**< bytes read and written */
    MS_MEASURED_COUNT,
} ms_measured_kernel;

/** Largest number of sizes of a measured kernel. */
enum { MS_MEASURED_SIZES = 6 };

/** One measurement of a kernel. */
typedef struct ms_measured_row {
    double sizes[MS_MEASURED_SIZES]; /**< as ms_measured_kernel lists them; 1 where left out */
    double time_s;
} ms_measured_row;

/** The measurements of a GPU type, by kernel. */
typedef struct ms_kernel_table {
    const ms_measured_row *rows[MS_MEASURED_COUNT]; /**< [counts[kernel]] each */
    int counts[MS_MEASURED_COUNT];
} ms_kernel_table;

/** Time of a kernel of given sizes by the cost model [s]. */
typedef double (*ms_measured_curve)(const void *context, const double *sizes);

/** The measured time of a kernel over its time by the cost model. If the table has the very sizes,
 * their ratio; otherwise the mean of the ratios of all rows whose sizes are each within a factor
 * of two. The mean is taken of logarithms, weighted by the inverse square of the distance in
 * logarithms.
 *  table: NULL: none.  sizes: of the kernel.  curve, context: the cost model.  Returns 0 where no
 * row is near enough.  O(rows). */
double ms_measured_ratio(const ms_kernel_table *table, ms_measured_kernel kernel,
                         const double *sizes, ms_measured_curve curve, const void *context);

/** A GPU type, from platforms/gpus/NAME.yaml. Every value carries its source in that file. */
typedef struct ms_gpu_type {
    const char *name;
    ms_gpu_generation generation; /**< for the constants of communication libraries */
    double peak_flop_per_s;       /**< dense bf16/fp16 matrix peak [FLOP/s] */
    ms_gpu_clock clock;
    double hbm_B;     /**< memory capacity [B] */
    double hbm_Bps;   /**< memory bandwidth [B/s] */
    double reserve_B; /**< memory not available to the job: context, NCCL, fragmentation [B] */
    int sms;          /**< streaming multiprocessors (or equivalent) [count] */
    double gemm_efficiency; /**< best share of the peak a large GEMM reaches, 0..1 */
    double gemm_depth_half; /**< inner dimension at which half of that is reached by the depth ramp
                               [elements] */
    int tile_m, tile_n;     /**< output tile of one SM for wave and tile quantisation [elements] */
    ms_product_rates products;
    ms_attention_rates attention[MS_ATTENTION_COUNT]; /**< by kernel; UNFUSED is not used */
    double memory_efficiency; /**< share of hbm_Bps that memory-bound kernels reach, 0..1 */
    ms_kernel_rates kernels;
    double kernel_launch_s; /**< fixed time of a kernel on the GPU, beside its roofline time [s] */
    const ms_kernel_table *measured; /**< NULL: none */
    ms_host_rate host;
    double compute_slowdown[MS_COLL_COUNT]; /**< by kind of communication: how many times as long
                                               computations take while one runs on the GPU, 1..2 */
} ms_gpu_type;

/** Share of the peak that a generation of fused kernels reaches at a size of heads, without its
 * ramp: linear between the sizes that the file gives, constant beyond the first and the last of
 * them.
 *  width: size of a head [elements].  Returns 0 where the file gives none. */
double ms_attention_efficiency(const ms_attention_rate *rate, double width);

/** A level of links of a platform. */
typedef struct ms_tier {
    const char *name;
    double bandwidth_Bps; /**< nominal capacity of one link of the tier, per direction; INFINITY:
                             not limited */
    double efficiency;    /**< share of the bandwidth that transfers achieve, 0..1 */
    double exchange_efficiency; /**< share that all-to-alls achieve, if less; 0: as others */
    double latency_s;           /**< of crossing one link [s] */
    bool is_paired;  /**< innermost tier: a node has a link between every two GPUs and no switch, so
                        a GPU's bandwidth grows with its group's members in the node */
    bool is_in_bits; /**< the file gives the bandwidth in bits per second, and output does so too */
    int first_link;  /**< links of the tier are first_link .. first_link + links - 1 */
    int links;
    double cables; /**< cables that each link stands for; by the fabric's sizes, as first_link and
                      links */
} ms_tier;

/** Use of the parallel links between two switch layers. Spread: they act as one link. ECMP: a hash
 * of the route's ends chooses one of them. */
typedef enum ms_routing { MS_ROUTING_SPREAD, MS_ROUTING_ECMP } ms_routing;

/** Sizes of a fabric's levels; only the fabric's kind reads them. */
typedef struct ms_topology ms_topology;

/** Nodes that are slow for no reason that monitoring shows. */
typedef struct ms_slow_nodes {
    double share; /**< share of all nodes, 0..1 */
    double time;  /**< their time over that of other nodes for the same work, >= 1 */
} ms_slow_nodes;

/** Cost of running a cluster, beside the power of its GPUs (price.h). */
typedef struct ms_upkeep {
    double rent_USD_per_h; /**< rent of a GPU with its share of node and network; 0: not given */
    double node_W;         /**< power of a node without its GPUs [W]; 0: not given */
    double network_W;      /**< power of the switches outside the nodes, per GPU [W] */
    double pue;            /**< power of the site over that of its computers, >= 1 */
} ms_upkeep;

/** Facts of the NICs that a library's choices depend on. */
typedef struct ms_nic_facts {
    bool is_unordered; /**< they may deliver bytes out of order, so a library uses neither LL nor
                          LL128 */
    double latency_s;  /**< latency of a message that their driver reports, beyond that which the
                          library expects of networks, for the library's choice [s] */
} ms_nic_facts;

/** A cluster: its nodes, the GPUs and NICs in them, and the network between them. */
typedef struct ms_platform {
    const char *name;
    const char *fabric; /**< fabric in words, such as "rails" or "torus of 16 x 16 x 16" */
    int nodes;          /**< [count] */
    int gpus_per_node;  /**< [count] */
    int nics_per_node;  /**< [count]; 0: the fabric connects GPUs directly (flat) */
    ms_gpu_type gpu;
    ms_slow_nodes slow_nodes;
    ms_upkeep upkeep;
    ms_tier tiers[MS_TIER_MAX]; /**< innermost first */
    int tier_count;
    int link_count; /**< directed links of all tiers */
    ms_routing routing;
    bool has_pxn;     /**< cross-rail traffic changes rail over NVLink inside the sending node */
    bool has_nvls;    /**< NVLink switches reduce and multicast */
    bool has_sharp;   /**< the network's switches reduce and multicast */
    bool has_amd_cpu; /**< nodes have AMD's processors, not Intel's */
    ms_nic_facts nics;
    const ms_library *library; /**< library by which collectives are chosen and timed; NULL: rings,
                                  by the latencies of links alone */
    const ms_topology *topology;
    const double *link_factors; /**< [link_count] time of each link for its bytes over that of other
                                   links of its tier; NULL: all are 1 */
} ms_platform;

/** The links from one GPU to another, in order. Links that are not limited (infinite bandwidth) are
 * left out. */
typedef struct ms_route {
    int links[MS_ROUTE_LINKS_MAX]; /**< [count] */
    int count;
    int turn;         /**< number of links before the way down to the destination, where routes have
                         two halves (ms_platform_rails); else 0 */
    double latency_s; /**< sum over all links crossed, also those left out */
    int tier;         /**< outermost tier crossed, index into tiers; -1 if source == destination */
} ms_route;

/** Properties of one link. */
typedef struct ms_link_info {
    int tier;
    double capacity_Bps; /**< bandwidth * efficiency * physical links that it stands for [B/s] */
    double latency_s;
    int parallel; /**< physical links that it stands for (routing `spread`), rounded up where the
                     oversubscription does not divide them; the capacity is not rounded */
} ms_link_info;

/** The folders in which platforms are found by name: the folder of the workload, `../platforms`
 * from there, the current folder, its `platforms`, and the `platforms` that come with meshsim. A
 * folder that several of these lead to is listed once.
 *  home: folder of the workload; NULL: the current one.  data_folder: folder with the installed
 * `platforms`; NULL: none.  *folders_out: in this order, NULL at the end, in `arena`.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_platform_folders(const char *home, const char *data_folder, ms_arena *arena,
                              const char *const **folders_out);

/** The keys of a platform's file, for schemas. */
extern const ms_field MS_PLATFORM_FIELDS[];
/** The keys of a GPU type's file, for schemas. */
extern const ms_field MS_GPU_FIELDS[];
/** The keys of a communication library's file, for schemas. */
extern const ms_field MS_LIBRARY_FIELDS[];

/** Load a platform.  name: a path (contains '/', or has an ending and is in the current folder), or
 * a name, with .yaml or without, that is looked up in `folders` (NULL-terminated list). GPU types
 * are looked up in the subfolder `gpus` of the platform file's folder, then of `folders`, or are a
 * path. overrides: mapping laid over the file's document (see ms_node_overlay), or NULL.
 * *platform_out: in `arena`.  *document_out (may be NULL): the document with all keys laid over
 * it.  Returns MS_OK; MS_E_INPUT (reported, with every fault of the file); MS_E_IO; MS_E_NOMEM. */
ms_status ms_platform_load(const char *name, const char *const *folders, const ms_node *overrides,
                           ms_arena *arena, ms_diag *diag, ms_platform *platform_out,
                           const ms_node **document_out);

/** All keys of a platform with the values in use: those of its document, defaults of the tables for
 * absent keys (origin "default"), and the constants of its library for the generation of its GPUs.
 *  document: of ms_platform_load.  *keys_out: a copy in `arena`.  Returns MS_OK; MS_E_NOMEM. O(keys
 * * rows). */
ms_status ms_platform_list(const ms_platform *platform, const ms_node *document, ms_arena *arena,
                           ms_diag *diag, ms_node **keys_out);

/** Number of GPUs, nodes * gpus_per_node. */
int ms_platform_gpus(const ms_platform *platform);

/** Expected time of the slowest GPU of a job for some arithmetic, over that of the type's typical
 * GPU; a step whose ranks wait for each other runs at the slowest GPU's pace. Times of ordinary
 * GPUs are normally distributed between the fences of `gpu.clock.spread`; the expected largest of
 * so many is Blom's.  gpus: of the job, >= 1.  has_slow_nodes: the job's nodes may be slow, with
 * the probability slow_nodes.share each; else slow nodes were replaced.  Returns >= 1. */
double ms_platform_slowest(const ms_platform *platform, int gpus, bool has_slow_nodes);

/** Number of GPUs of a scale-up domain, that is of GPUs that share the innermost tier: those of a
 * node, of a torus' pod, or all where one switch connects all GPUs. */
int ms_platform_scale_up_domain(const ms_platform *platform);

/** Number of GPUs of a tier's domain: consecutive GPUs, from a multiple of that number on, that
 * reach each other over the tier and the tiers inside it. For tier 0 the scale-up domain, for the
 * next tiers a unit, then a pod; for the outermost tier all GPUs.  tier: index into tiers. */
int ms_platform_domain(const ms_platform *platform, int tier);

/** Node of a GPU. */
int ms_platform_node(const ms_platform *platform, int gpu);

/** Number of rails by which routes in two halves differ; the routes between all pairs of a group
 * then follow from a few routes per GPU. The links before the turn, the latency and the outermost
 * tier depend only on the source, on the innermost tier whose domain has both ends
 * (ms_platform_domain), and on the destination's rail. The links after the turn depend only on the
 * destination, that tier and the source's rail. The rail of GPU g is g mod the GPUs of a node, mod
 * the result.
 *  Returns >= 1; 0 where routes have no such halves (tori, links chosen by hashing). */
int ms_platform_rails(const ms_platform *platform);

/** Route from one GPU to another.  source, destination: 0..G-1.  O(links on it), no allocation. */
void ms_platform_route(const ms_platform *platform, int source, int destination,
                       ms_route *route_out);

/** A group of GPUs, and a move of the whole group to other nodes or slots. */
typedef struct ms_group_move {
    int gpus[2];  /**< lowest and highest GPU of the group, before it moves */
    int slots[2]; /**< lowest and highest slot of the group's GPUs; a slot is a GPU's index in its
                     node */
    int nodes;    /**< nodes by which each GPU moves on; below 0: back */
    int slots_on; /**< slots by which each GPU moves on inside its node */
    int tier;     /**< outermost tier that the group's routes cross; -1: none */
} ms_group_move;

/** Whether the routes between the members of a group are the same after a move but for the numbers
 * of their links, each of which is then higher by one number for its tier.
 *  shifts_out: [MS_TIER_MAX] that number for each tier.  Returns false where this does not follow
 * from the position of the group; shifts_out is undefined then.  O(tiers). */
bool ms_platform_moves_alike(const ms_platform *platform, const ms_group_move *move,
                             int *shifts_out);

/** Capacity of the narrowest link of a route [B/s]; INFINITY where no link of the route is limited.
 * *tier_out: tier of the first such link; 0 without one.  O(links on it). */
double ms_route_bottleneck_Bps(const ms_platform *platform, const ms_route *route, int *tier_out);

/** Orders in which rings may run through a group. */
typedef struct ms_ring_orders {
    int rings; /**< rings that run at the same time; 0: no order is better than the caller's */
    int *gpus; /**< [rings * members] GPUs of each ring in order; the last sends to the first */
} ms_ring_orders;

/** Find rings through a group. A group along whole dimensions of a torus: every edge is one hop
 * (equally many hops where members are evenly spaced), and all rings together cross no link twice.
 * One dimension gives 2 rings, one each way; several give 2 or 4. A group inside one node that is
 * wired in pairs: 2 (members - 1) rings, which together cross each link between two members twice.
 * Any other group: none.
 *  gpus: [members] of the group, in any order, no repeats.  *orders_out: in `arena`.  Returns
 * MS_OK; MS_E_NOMEM.  O(members log members).  Source: the cycles of tori are the Lee-distance Gray
 * codes of Bose, Broeg, Kwon, Ashir, IEEE Trans. Computers 44 (1995). */
ms_status ms_platform_rings(const ms_platform *platform, const int *gpus, int members,
                            ms_arena *arena, ms_ring_orders *orders_out);

/** Bandwidth that a GPU reaches inside its node, in a group with `members` >= 2 there [B/s]: that
 * of its link to the switch, or of its links to all other members where nodes are wired in
 * pairs. */
static inline double ms_platform_node_Bps(const ms_platform *platform, int members) {
    const ms_tier *inside = &platform->tiers[0];
    return inside->bandwidth_Bps * inside->efficiency *
           (platform->tiers[0].is_paired ? members - 1 : 1);
}

/** Tier of a link.  link: 0..link_count-1.  O(tiers). */
static inline int ms_platform_link_tier(const ms_platform *platform, int link) {
    int tier = platform->tier_count - 1;
    while (tier > 0 && link < platform->tiers[tier].first_link) {
        tier--;
    }
    return tier;
}

/** Capacity of a link of a tier, without link_factors [B/s]. */
static inline double ms_tier_capacity_Bps(const ms_tier *tier) {
    return tier->bandwidth_Bps * tier->efficiency * tier->cables;
}

/** Properties of a link; inline, because some loops call it for every link.  O(tiers). */
static inline ms_link_info ms_platform_link(const ms_platform *platform, int link) {
    ms_link_info info;
    info.tier = ms_platform_link_tier(platform, link);
    const ms_tier *tier = &platform->tiers[info.tier];
    info.capacity_Bps = ms_tier_capacity_Bps(tier);
    if (platform->link_factors != NULL) {
        info.capacity_Bps /= platform->link_factors[link];
    }
    info.latency_s = tier->latency_s;
    info.parallel = (int)ceil(tier->cables);
    return info;
}

/** Name of a link for people, such as "nvlink:gpu12:up".  text_out: [size], NUL-terminated. Returns
 * text_out. */
char *ms_platform_link_name(const ms_platform *platform, int link, char *text_out, size_t size);

/** Bisection bandwidth: the smallest capacity, in one direction, of links that separate the first
 * half of the nodes (0..n/2-1) from the rest, whichever sides the switches are on [B/s]; of a
 * single node, between two halves of its GPUs. INFINITY: not limited.  O(units), in a torus
 * O(chips of a pod). */
double ms_platform_bisection_Bps(const ms_platform *platform);

/** Check invariants of a platform: the link ranges of the tiers partition the links; routes of
 * sampled pairs start at the source's and end at the destination's links, are symmetric in length
 * and latency, and cross no link twice; capacities and latencies are sane.  Returns MS_OK;
 * MS_E_BUG, reported. */
ms_status ms_platform_check(const ms_platform *platform, ms_diag *diag);

/** How a fabric is built, for pictures of it. Tiers are indices into the platform's tiers, -1 where
 * the fabric lacks the level. */
typedef struct ms_platform_layout {
    int node_tier; /**< between the GPUs of a node */
    int port_tier; /**< from NICs, or GPUs, to leaf switches; of tori to the network between pods */
    int spine_tier; /**< from leaf switches to the spine of a pod */
    int core_tier;  /**< from spines to the core */
    int units;      /**< sets of nodes on the same leaf switches; the last may have fewer nodes */
    int nodes_per_unit;
    int leaves_per_unit;
    bool has_rails; /**< leaf r of a unit connects NIC r of its nodes */
    int ports_per_node;
    int links_per_leaf; /**< from a leaf to the spine */
    int units_per_pod, pods;
    int links_per_pod;        /**< from a pod to the core */
    int dimensions, shape[3]; /**< [dimensions] of a torus' pod; dimensions 0: switches */
} ms_platform_layout;

/** How a platform's fabric is built.  O(1). */
void ms_platform_layout_of(const ms_platform *platform, ms_platform_layout *out);

/** How a job uses a GPU: a rank runs on it, no rank does, or its node is kept free as a spare. */
typedef enum ms_gpu_use { MS_GPU_USED, MS_GPU_IDLE, MS_GPU_SPARE } ms_gpu_use;

/** Append the platform as SimGrid 4.1 XML: one zone with Dijkstra routing, hosts gpu-0..,
 * capacities and latencies as used here.  Returns MS_OK; MS_E_INPUT above 1,024 GPUs or with ECMP
 * (reported); MS_E_NOMEM. */
ms_status ms_platform_write_simgrid_xml(const ms_platform *platform, ms_diag *diag, ms_buffer *out);

#endif
