/* The steady state of a run: repeated periods of its timeline that are to be repeated. */
#ifndef MESHSIM_ENGINE_STEADY_H
#define MESHSIM_ENGINE_STEADY_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "simulate/engine/host.h"
#include "simulate/graph/dag.h"

/** Look for a repeated period in each step of the timeline of a shortened job (ms_dag_repeat). A
 * repeated period is found where, over three successive periods, every operation is that of the
 * period before with a later microbatch and corresponding dependencies, and starts and ends one
 * period later; and where no operation takes longer than a period. The loads on links and the
 * operations under way at the end of a period are then those of one period before, so the engine
 * would go on in the same way, except for the rounding of dates (sim/simulate/run/fast_forward.md,
 * "What is exact"). The host of a rank must launch a period later, too, or be ahead of its GPU for
 * good. A period is the smallest number of repetitions of the graph for which this holds. host: as
 * the run left it.  timeline: with its starts and ends; its steady state is set, without repeated
 * periods if one step has none, or if the repetitions left out are not a multiple of those in its
 * period.  Returns MS_OK; MS_E_NOMEM (not reported).  O(members) for each candidate that agrees
 * with the passes of the first rank. */
ms_status ms_steady_find(const ms_dag *dag, const ms_host *host, ms_arena *scratch,
                         ms_timeline *timeline);

/** Maximum delay of an operation in the perturbed run of ms_steady_test [share of its time]. */
#define MS_STEADY_PERTURBATION 1e-9

/** Until when the perturbed run has to go on [s].  timeline: with at least one repeated period. */
double ms_steady_until_s(const ms_timeline *timeline);

/** Test by a second, perturbed run whether rounding errors would lead away from a steady state: if
 * every operation is delayed a little, in each period by the same time, each period has to become
 * longer by about as little. The limits are chosen by experiment, and the test is no proof:
 * sim/simulate/run/fast_forward.md says on how many jobs it was tried, and what happens where a
 * limit is wrong. perturbed: timeline of the same graph, each operation delayed by up to
 * MS_STEADY_PERTURBATION of its time, at least until ms_steady_until_s.  Returns MS_OK; MS_E_NOMEM
 * (not reported).  O(members). */
ms_status ms_steady_test(const ms_dag *dag, const ms_timeline *timeline,
                         const ms_timeline *perturbed, ms_arena *scratch, bool *is_stable_out);

#endif
