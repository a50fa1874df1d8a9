/* Engines by name, and the closed form: every operation takes its time alone. */
#include "meshsim/engine.h"

#include "engine/core.h"

const char *ms_fidelity_name(ms_fidelity fidelity) {
    return fidelity == MS_FIDELITY_ANALYTIC ? "analytic" : "flow";
}

static ms_status run_walk(ms_walk *walk, ms_fidelity fidelity, ms_arena *scratch, ms_diag *diag) {
    if (fidelity == MS_FIDELITY_FLOW) {
        ms_status status = ms_engine_run_flows(walk, scratch, diag);
        if (status != MS_OK) {
            return status;
        }
    } else {
        ms_walk_start(walk);
        ms_walk_drain(walk);
    }
    ms_status status = ms_walk_check_done(walk, scratch, diag);
    return status == MS_OK ? ms_account_links(walk, scratch, diag) : status;
}

ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_arena *arena, ms_diag *diag,
                        ms_timeline *timeline_out) {
    ms_arena scratch;
    ms_walk walk;
    ms_arena_init(&scratch);
    /* the caller's test hook holds for what is allocated here as well */
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = ms_walk_init(&walk, dag, fidelity, &scratch, arena, diag);
    if (status == MS_OK) {
        status = run_walk(&walk, fidelity, &scratch, diag);
    }
    if (status == MS_OK) {
        *timeline_out = walk.timeline;
    }
    ms_arena_release(&scratch);
    return status;
}
