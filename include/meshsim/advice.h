/**
 * @file
 * Advice: what a job's author should know before believing its times, as warnings that stop
 * nothing.
 */
#ifndef MESHSIM_ADVICE_H
#define MESHSIM_ADVICE_H

#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/estimate.h"
#include "meshsim/job.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Share of a collective's time from which on its latency dominates it. */
#define MS_LATENCY_DOMINATES 0.5

/** What `auto` means today, for the end of a warning about latency. */
#define MS_AUTO_IS_RING                                                                            \
    "'auto' is a ring at every size, where NCCL takes trees and other protocols for small ones"

/** Warn when groups of tp, cp or ep cross a slower tier than their size needs: those that start
 * near the end of a node, rack or unit straddle two, or an axis of replicas stands inside theirs.
 *  O(ranks) routes. */
void ms_advise_placement(const ms_job *job, ms_diag *diag);

/** Warn when more than a hundredth of a simulated step is waiting for rings of which latency is
 * most of the time.  O(collectives). */
void ms_advise_latency(const ms_result *result, ms_diag *diag);

/** The same before anything is simulated, from the collectives that hold the first pipeline rank
 * up; all-to-alls are no rings.
 *  estimate: of the job.  Returns MS_OK; MS_E_NOMEM (reported).  O(segments * sizes + ranks of the
 * groups * rings). */
ms_status ms_advise_latency_ahead(const ms_job *job, const ms_estimate *estimate, ms_diag *diag);

MS_END_DECLS

#endif
