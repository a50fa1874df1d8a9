/**
 * @file
 * Advice: what a job's author should know before believing its times, as warnings that stop
 * nothing.
 */
#ifndef MESHSIM_ADVICE_H
#define MESHSIM_ADVICE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/mesh/mesh.h"
#include "cluster/platform/platform.h"
#include "estimate/estimate.h"

/** Share of a collective's time above which its latency counts as dominating. */
#define MS_LATENCY_DOMINATES 0.5

/** The end of a warning about latency: the present meaning of the algorithm `auto`. */
#define MS_AUTO_IS_RING                                                                            \
    "without a library 'auto' is a ring at every size, where NCCL takes trees and other "          \
    "protocols "                                                                                   \
    "for small ones"

/** Warn when groups of tp, cp or ep cross a slower tier than their size needs. This happens if
 * groups straddle two nodes, racks or pods, or if an axis of replicas or stages is further inside
 * than theirs in mesh.order.  mesh: with the placement of its ranks.  O(ranks) routes. */
void ms_advise_placement(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag);

/** Maximum number of rows of a warning. */
enum { MS_RING_ROWS_MAX = 256 };

/** Equal collectives of one rank in a step: of the same kind, groups and size. */
typedef struct ms_ring_row {
    ms_axis axis; /**< axis that they count for */
    ms_coll_kind kind;
    unsigned group_axes;      /**< MS_AXIS_BIT values of the axes that a group spans */
    bool is_ring;             /**< their algorithm is a ring, and no library chose it */
    int members;              /**< ranks of a group */
    double size_B;            /**< full buffer of each [B] */
    double count;             /**< number in a step */
    double time_s, latency_s; /**< of each, with nothing else on the links [s] */
} ms_ring_row;

/** Whether a row's collectives are rings that are mostly latency, which another algorithm would not
 * have. */
bool ms_ring_is_dominated(const ms_ring_row *row);

/** Warn if the share of a step that is spent waiting for rings dominated by latency is above 1 %,
 * and name the rows that cost most.
 *  rows: [count], at most MS_RING_ROWS_MAX.  share: that share, 0..1.  about: text in front of the
 * share, "" or "about ".  O(count). */
void ms_advise_rings(const ms_ring_row *rows, int count, double share, const char *about,
                     ms_diag *diag);

/** Give the advice of ms_advise_rings before anything is simulated, from the collectives for which
 * the first pipeline rank waits and from the gradient norm; all-to-alls do not count, as they are
 * no rings. For a simulated step ms_advise_latency gives the advice (metrics.h).
 *  estimate: of the job.  Returns MS_OK; MS_E_NOMEM (reported).  O(segments * sizes + ranks of the
 * groups * rings). */
ms_status ms_advise_latency_ahead(const ms_job *job, const ms_estimate *estimate, ms_diag *diag);

#endif
