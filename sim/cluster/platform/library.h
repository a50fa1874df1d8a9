/**
 * @file
 * Communication libraries: the constants by which a library, such as NCCL, predicts the times of
 * its own collectives and chooses algorithms and protocols. They are read from
 * platforms/libraries/NAME.yaml.
 *
 * The formulas that use them are NCCL's (nccl.h). Every value has its source in its file.
 */
#ifndef MESHSIM_LIBRARY_H
#define MESHSIM_LIBRARY_H

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"

/** Algorithms of a library: rows of its tables of latencies. */
typedef enum ms_library_algorithm {
    MS_LIBRARY_TREE,
    MS_LIBRARY_RING,
    MS_LIBRARY_COLLNET_DIRECT,
    MS_LIBRARY_COLLNET_CHAIN,
    MS_LIBRARY_NVLS,
    MS_LIBRARY_NVLS_TREE,
    MS_LIBRARY_PAT,
    MS_LIBRARY_ALGORITHMS
} ms_library_algorithm;

/** Protocols of a library: columns of its tables. LL sends 4 bytes of data with 4 bytes of flags,
 * LL128 120 bytes with 8, Simple whole chunks, each of which is announced by a flag. */
typedef enum ms_library_protocol {
    MS_LIBRARY_LL,
    MS_LIBRARY_LL128,
    MS_LIBRARY_SIMPLE,
    MS_LIBRARY_PROTOCOLS
} ms_library_protocol;

/** Generations of GPUs that libraries distinguish, oldest first. */
typedef enum ms_gpu_generation {
    MS_GENERATION_NONE, /**< not given */
    MS_GENERATION_VOLTA,
    MS_GENERATION_AMPERE,
    MS_GENERATION_HOPPER,
    MS_GENERATION_BLACKWELL,
    MS_GENERATIONS
} ms_gpu_generation;

/** Columns of the limits: a communicator on one node, on two nodes, on more. */
enum { MS_LIBRARY_SCALES = 3 };

/** Number of message sizes for which trees have a correction: 64 B and its doubles, up to 256
 * MiB. */
enum { MS_LIBRARY_SIZES = 23 };

/** Time of a collective beyond latency and bytes, because larger collectives fill their pipeline
 * with larger chunks: time_s * size / (size + half_B). */
typedef struct ms_library_ramp {
    double time_s; /**< limit of that time for very large collectives [s] */
    double half_B; /**< size at which half of `time_s` is added [B] */
} ms_library_ramp;

/** Constants of a library on GPUs of one generation. Arrays are indexed by communicator size: one
 * node, two, more. */
typedef struct ms_library_generation {
    double ll_Bps[MS_LIBRARY_SCALES]; /**< maximum with LL, of all channels together [B/s] */
    double ring_ll128_Bps[MS_LIBRARY_SCALES]; /**< maximum of rings with LL128, a channel [B/s] */
    double tree_ll128_Bps[MS_LIBRARY_SCALES]; /**< maximum of trees with LL128, a channel [B/s] */
    double tree_Bps[MS_LIBRARY_SCALES];       /**< maximum of a tree with any protocol [B/s] */
    double nvls_tree_Bps[MS_LIBRARY_SCALES];  /**< maximum of a tree of NVLS nodes [B/s] */
    int channels;                             /**< channels of a communicator [count] */
    double nvls_efficiency; /**< share of NVLink's bandwidth by which the library chooses NVLS,
                               0..1; 0: never chosen */
    double nvls_share;      /**< share of NVLink's bandwidth that NVLS reaches, 0..1 */
    double overhead_s;      /**< time of a collective before its first step: launch, host [s] */
    double ring_turn;       /**< steps that a ring loses between a chunk and the next, 0..1 */
    ms_library_ramp ramp;   /**< of collectives with Simple */
} ms_library_generation;

/** Versions of NCCL's cost model, whose formulas differ. */
typedef enum ms_library_formulas {
    MS_FORMULAS_2_28, /**< NCCL 2.19 and later */
    MS_FORMULAS_2_10, /**< NCCL 2.8 to 2.10 */
    MS_FORMULAS_2_7,  /**< NCCL 2.5 to 2.7 */
} ms_library_formulas;

/** A library. Latencies are indexed [algorithm][protocol]. */
typedef struct ms_library {
    const char *name;
    ms_library_formulas formulas;
    double base_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS]; /**< once a collective [s] */
    double node_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS]; /**< of a step over NVLink [s] */
    double net_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS];  /**< of a step between nodes [s] */
    int net_channels;      /**< channels for a peer across the network [count] */
    int nvls_min_gpus;     /**< fewest GPUs of a communicator on each node for NVLS, >= 2 [count] */
    double link_step_s[2]; /**< latency of a step that platforms' links are taken to include, in a
                              node and between nodes [s]: links add only what exceeds it */
    double net_overhead_s[2]; /**< of posting a message to the network, with Intel's and AMD's CPUs
                                 [s] */
    double tree_correction[MS_LIBRARY_PROTOCOLS]
                          [MS_LIBRARY_SIZES]; /**< factor on a tree's bandwidth */
    ms_library_generation
        generations[MS_GENERATIONS]; /**< the row of MS_GENERATION_NONE is empty */
    const ms_node *keys; /**< keys of its file with the platform's changes; NULL: no file */
} ms_library;

/** Time that a ramp adds to a collective of `size_B` bytes [s]. */
double ms_library_ramp_s(const ms_library_ramp *ramp, double size_B);

#endif
