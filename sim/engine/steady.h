/**
 * @file
 * The steady state of a run: a stretch of its timeline that repeats itself.
 */
#ifndef MESHSIM_ENGINE_STEADY_H
#define MESHSIM_ENGINE_STEADY_H

#include "meshsim/arena.h"
#include "meshsim/dag.h"
#include "meshsim/engine.h"
#include "meshsim/status.h"

/** Look for the stretch of a timeline that its graph says comes more often, and prove that it is
 * one: over three periods behind each other every operation is the one of the period before, with
 * the microbatches moved on and the same dependencies, and starts and ends a period later; none
 * takes longer than a period. What the links are asked for, and what is under way at the end of a
 * period, then is what it was one period before, so the engine would go on in the same way. A
 * period is what the graph repeats (ms_dag_repeat), or the fewest of it that are alike.
 *  timeline: with its starts and ends; its steady state is set: without microbatches where nothing
 * was proven, without times where the graph's are no multiple of those in a period.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(members) for each period that the first rank's passes agree with.
 */
ms_status ms_steady_find(const ms_dag *dag, ms_arena *scratch, ms_timeline *timeline);

#endif
