/**
 * @file
 * A run of a graph, with all that can be chosen about it.
 */
#ifndef MESHSIM_ENGINE_RUN_H
#define MESHSIM_ENGINE_RUN_H

#include "engine/apart.h"
#include "meshsim/engine.h"

/** How a graph is to be run. */
typedef struct ms_engine_choice {
    ms_fidelity fidelity;
    ms_solver solver;
    ms_apart *apart; /**< where SimGrid runs; NULL: in this process */
} ms_engine_choice;

/** ms_engine_run of a choice.  Returns as that; MS_E_NO where the run went on in another process.
 */
ms_status ms_engine_run_choice(const ms_dag *dag, const ms_engine_choice *choice, ms_arena *arena,
                               ms_diag *diag, ms_timeline *timeline_out);

#endif
