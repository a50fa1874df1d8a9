/**
 * @file
 * Communication libraries: the constants by which one predicts its own times and chooses among
 * algorithms and protocols, from platforms/libraries/NAME.yaml.
 *
 * The formulas that take them are NCCL's (nccl.h). Every value carries its source in its file.
 */
#ifndef MESHSIM_LIBRARY_H
#define MESHSIM_LIBRARY_H

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"

/** Rows of a library's tables of latencies. */
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

/** Columns of the tables, by protocol: LL sends 4 bytes of data with 4 of flags, LL128 120 with 8,
 * Simple whole chunks that are announced one by one. */
typedef enum ms_library_protocol {
    MS_LIBRARY_LL,
    MS_LIBRARY_LL128,
    MS_LIBRARY_SIMPLE,
    MS_LIBRARY_PROTOCOLS
} ms_library_protocol;

/** Generations of GPUs that libraries tell apart, oldest first. */
typedef enum ms_gpu_generation {
    MS_GENERATION_NONE, /**< not given */
    MS_GENERATION_VOLTA,
    MS_GENERATION_AMPERE,
    MS_GENERATION_HOPPER,
    MS_GENERATION_BLACKWELL,
    MS_GENERATIONS
} ms_gpu_generation;

/** Columns of limits: one node, two, more. */
enum { MS_LIBRARY_SCALES = 3 };

/** Sizes from 64 B on, each twice the one before, that trees have a correction for. */
enum { MS_LIBRARY_SIZES = 23 };

/** What a collective takes beside latency and bytes, as larger ones fill their pipeline with larger
 * chunks: time_s * size / (size + half_B). */
typedef struct ms_library_ramp {
    double time_s; /**< time that a very large collective takes on top [s] */
    double half_B; /**< size at which half of `time_s` is added [B] */
} ms_library_ramp;

/** What a library does on GPUs of one generation. Limits are by MS_LIBRARY_SCALES. */
typedef struct ms_library_generation {
    double ll_Bps[MS_LIBRARY_SCALES];         /**< most of LL, on all channels together [B/s] */
    double ring_ll128_Bps[MS_LIBRARY_SCALES]; /**< most of a ring with LL128, per channel [B/s] */
    double tree_ll128_Bps[MS_LIBRARY_SCALES]; /**< most of a tree with LL128, per channel [B/s] */
    double tree_Bps[MS_LIBRARY_SCALES];       /**< of a tree with any protocol [B/s] */
    double nvls_tree_Bps[MS_LIBRARY_SCALES];  /**< of a tree of NVLS nodes [B/s] */
    int channels;                             /**< of a communicator [count] */
    double
        nvls_efficiency;  /**< share of NVLink's bandwidth that NVLS is chosen by, 0..1; 0: none */
    double nvls_share;    /**< share of NVLink's bandwidth that NVLS reaches, 0..1 */
    double overhead_s;    /**< of a collective before its first step: launch, host [s] */
    double ring_turn;     /**< steps that a ring loses between a chunk and the next, 0..1 */
    ms_library_ramp ramp; /**< with Simple */
} ms_library_generation;

/** Versions whose formulas of the model differ. */
typedef enum ms_library_formulas {
    MS_FORMULAS_2_28, /**< of NCCL 2.19 and later */
    MS_FORMULAS_2_10, /**< of 2.8 to 2.10 */
    MS_FORMULAS_2_7,  /**< of 2.5 to 2.7 */
} ms_library_formulas;

/** A library. Latencies are [algorithm][protocol] in seconds. */
typedef struct ms_library {
    const char *name;
    ms_library_formulas formulas;
    double base_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS]; /**< once */
    double node_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS]; /**< of a step over NVLink */
    double net_s[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS];  /**< of a step between nodes */
    int net_channels;      /**< of a peer across the network [count] */
    int nvls_min_gpus;     /**< fewest GPUs of a communicator on each node for NVLS, >= 2 [count] */
    double link_step_s[2]; /**< what platforms' latencies hold of a step in a node, between nodes */
    double net_overhead_s[2]; /**< of posting to the network, with Intel's and with AMD's CPUs */
    double tree_correction[MS_LIBRARY_PROTOCOLS][MS_LIBRARY_SIZES]; /**< on a tree's bandwidth */
    ms_library_generation
        generations[MS_GENERATIONS]; /**< the row of MS_GENERATION_NONE is empty */
    const ms_node *keys; /**< what its file says, with the platform's changes; NULL: made by hand */
} ms_library;

/** Time that a ramp adds to a collective of `size_B` bytes [s]. */
double ms_library_ramp_s(const ms_library_ramp *ramp, double size_B);

#endif
