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

/** Share of a collective's time from which on its latency dominates it. */
#define MS_LATENCY_DOMINATES 0.5

/** What `auto` means today, for the end of a warning about latency. */
#define MS_AUTO_IS_RING                                                                            \
    "without a library 'auto' is a ring at every size, where NCCL takes trees and other "          \
    "protocols "                                                                                   \
    "for small ones"

/** Warn when groups of tp, cp or ep cross a slower tier than their size needs: those that start
 * near the end of a node, rack or unit straddle two, or an axis of replicas stands inside theirs.
 *  mesh: its ranks on the GPUs of their placement.  O(ranks) routes. */
void ms_advise_placement(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag);

/** Sorts of collectives that a warning looks at, at most. */
enum { MS_RING_ROWS_MAX = 256 };

/** Collectives of one sort in a step, as one rank sees them. */
typedef struct ms_ring_row {
    ms_axis axis;
    ms_coll_kind kind;
    unsigned group_axes; /**< MS_AXIS_BIT values of the group */
    bool is_ring;        /**< that no library chose */
    int members;
    double size_B;
    double count;
    double time_s, latency_s; /**< of one, with nothing else on the links */
} ms_ring_row;

/** Whether a row's rings are mostly latency that another algorithm would not have. */
bool ms_ring_is_dominated(const ms_ring_row *row);

/** Warn when waiting for rings that are dominated by latency is more than a hundredth of a step,
 * and name those that cost most. rows: [count], at most MS_RING_ROWS_MAX.  share: of the step that
 * is such waiting.  about: stands in front of it, "" or "about ".  O(count). */
void ms_advise_rings(const ms_ring_row *rows, int count, double share, const char *about,
                     ms_diag *diag);

/** The same advice before anything is simulated, from the collectives for which the first pipeline
 * rank waits and from the gradient norm; all-to-alls do not count, as they are no rings. For a
 * simulated step ms_advise_latency gives it (metrics.h). estimate: of the job.  Returns MS_OK;
 * MS_E_NOMEM (reported).  O(segments * sizes + ranks of the groups * rings). */
ms_status ms_advise_latency_ahead(const ms_job *job, const ms_estimate *estimate, ms_diag *diag);

#endif
