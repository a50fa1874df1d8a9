/**
 * @file
 * The engine's oracle: a run of an operation graph in which everything that takes time is an
 * activity or a timer of SimGrid, whose clock alone gives the dates.
 *
 * The program's engine leaves to SimGrid only the transfers that share links when they do
 * (sim/simulate/engine/README.md). This one knows nothing beforehand and leaves nothing out, so
 * that a comparison tells whether what the program computes itself equals what SimGrid finds.
 */
#ifndef MESHSIM_TESTS_SIMGRID_ALL_H
#define MESHSIM_TESTS_SIMGRID_ALL_H

#include "base/arena.h"
#include "base/diag.h"
#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"

/** Run a finished graph in fidelity `flow`.  Once in a process, as SimGrid has one engine.
 *  *timeline_out: in `arena`.  Returns MS_OK; MS_E_BUG when operations wait for each other
 * (reported); MS_E_NOMEM. */
ms_status simgrid_all_run(const ms_dag *dag, ms_arena *arena, ms_diag *diag,
                          ms_timeline *timeline_out);

#endif
