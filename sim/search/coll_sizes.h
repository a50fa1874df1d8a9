/**
 * @file
 * One collective at many sizes on an otherwise idle platform, as nccl-tests times it.
 */
#ifndef MESHSIM_COLL_SIZES_H
#define MESHSIM_COLL_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "cluster/platform/platform.h"
#include "collective/collective.h"
#include "search/table.h"
#include "simulate/engine/engine.h"

/** Maximum number of sizes of a study. */
enum { MS_SIZES_MAX = 64 };

/** The parameters of a study: a collective and its sizes.  All is borrowed. */
typedef struct ms_sizes_study {
    const ms_platform *platform;
    ms_coll_kind kind;
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO, or one that the kind of collective has */
    ms_protocol protocol;        /**< MS_PROTOCOL_AUTO; another needs a library in the platform */
    ms_fidelity fidelity;
    int ranks;                    /**< on GPUs 0..ranks-1; 2 for p2p */
    double sizes_B[MS_SIZES_MAX]; /**< [count] sizes of the full buffer, one for each run [B] */
    int count;                    /**< >= 1 */
} ms_sizes_study;

/** The result of one size. */
typedef struct ms_size_row {
    double size_B;
    double time_s;
    double latency_s;            /**< part of the time that no bandwidth would shorten */
    double algbw_Bps;            /**< size / time; INFINITY where it takes no time */
    double busbw_Bps;            /**< as ms_coll_busbw_Bps; INFINITY where it takes no time */
    ms_coll_algorithm algorithm; /**< used for this size */
    const char *algorithm_name;
    const char *protocol; /**< name of the protocol used */
    bool is_by_links;     /**< there is no library: its latency is that of the links */
} ms_size_row;

/** Columns of ms_size_row, see table.h. */
extern const ms_table_column MS_SIZE_COLUMNS[];

/** The result of a study. */
typedef struct ms_sizes_result {
    ms_size_row *rows;                   /**< [study->count], in the order of the sizes */
    ms_coll_algorithm algorithm;         /**< of all rows; MS_ALGORITHM_AUTO where they differ */
    int64_t ops, flows, simulated_ranks; /**< as in ms_dag and ms_timeline */
    double wall_s;                       /**< wall time of the simulation [s] */
} ms_sizes_result;

/** Set the sizes of a study: begin_B, then each `factor` times the size before, up to end_B,
 * rounded down to whole bytes.
 *  begin_B: >= 1, at most end_B. factor: above 1. Returns MS_OK; MS_E_RANGE for more than
 * MS_SIZES_MAX sizes, and then sets none. */
ms_status ms_sizes_set(ms_sizes_study *study, double begin_B, double end_B, double factor);

/** Simulate a study, one size after the other on one communicator.
 *  *result_out: in `arena`. Returns as ms_lower_collectives and ms_engine_run; MS_E_NOMEM
 * (reported). */
ms_status ms_sizes_simulate(const ms_sizes_study *study, ms_arena *arena, ms_diag *diag,
                            ms_sizes_result *result_out);

/** Warn up to which size latency is most of a ring's time, because another algorithm would have
 * less latency. Two ranks get no warning: a ring of two sends the same as any other algorithm. */
void ms_sizes_advise(const ms_sizes_study *study, const ms_sizes_result *result, ms_diag *diag);

#endif
