/*
 * The steady state of a run: stretches of its timeline that repeat themselves.
 */
#ifndef MESHSIM_ENGINE_STEADY_H
#define MESHSIM_ENGINE_STEADY_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "simulate/engine/host.h"
#include "simulate/graph/dag.h"

/** Look for the stretch of each step of a timeline that its graph says comes more often: over three
 * periods behind each other every operation is the one of the period before, with the microbatches
 * moved on and the same dependencies, and starts and ends a period later; none takes longer than a
 * period. What the links are asked for, and what is under way at the end of a period, then is what
 * it was one period before, so the engine would go on in the same way, but for the rounding of
 * dates (sim/simulate/run/fast_forward.md, "What is exact"). The host of a rank is a period later
 * in launching, too, or is ahead and never waited for again. A period is what the graph repeats
 * (ms_dag_repeat), or the fewest of it that are alike. host: as the run left it.  timeline: with
 * its starts and ends; its steady state is set: without stretches where one step's was not found,
 * or the graph's times are no multiple of those in its period.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(members) for each period that the first rank's passes agree with.
 */
ms_status ms_steady_find(const ms_dag *dag, const ms_host *host, ms_arena *scratch,
                         ms_timeline *timeline);

/** Share of its time by which an operation starts late, at most, in a run that tests another. */
#define MS_STEADY_PERTURBATION 1e-9

/** Until when such a run has to go on [s].  timeline: with its steady state. */
double ms_steady_until_s(const ms_timeline *timeline);

/** Test by a second run whether rounding would lead away from a steady state: where every operation
 * is late by a little, always by the same, each period has to be longer by about as little. This is
 * an experiment with limits chosen by experiment, no proof: sim/simulate/run/fast_forward.md says
 * on how many jobs, and what happens where a limit is wrong. perturbed: of the same graph, each
 * operation late by up to MS_STEADY_PERTURBATION of its time, at least until ms_steady_until_s.
 * Returns MS_OK; MS_E_NOMEM (not reported).  O(members). */
ms_status ms_steady_test(const ms_dag *dag, const ms_timeline *timeline,
                         const ms_timeline *perturbed, ms_arena *scratch, bool *is_stable_out);

#endif
