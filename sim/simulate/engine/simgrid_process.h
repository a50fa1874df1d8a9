/* Runs a graph whose flows SimGrid may have to share links among in a child process.
 *
 * SimGrid has one engine for a process, whose clock never goes back. A process of meshsim runs many
 * graphs, and a graph must have the same dates to the last bit whatever the process ran before
 * (bridge.md). */
#ifndef MESHSIM_ENGINE_SIMGRID_PROCESS_H
#define MESHSIM_ENGINE_SIMGRID_PROCESS_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/replay.h"

/** Fill the timeline of a prepared replay.  Returns MS_OK, or what it has reported. */
typedef ms_status ms_replay_work(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Let a child process do the work, and copy the timeline from it; everything else in the replay
 * stays as it was.  scratch: for the work.  Returns what the work returns; MS_E_NOMEM, MS_E_IO,
 * MS_E_BUG and MS_E_INTERRUPTED as ms_child_run (all reported). */
ms_status ms_simgrid_run_apart(ms_replay_work *work, ms_replay *replay, ms_arena *scratch,
                               ms_diag *diag);

#endif
