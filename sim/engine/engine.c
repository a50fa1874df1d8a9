/* Engines by name, and the closed form: every operation takes its time alone. */
#include "meshsim/engine.h"

#include "engine/replay.h"

const char *ms_fidelity_name(ms_fidelity fidelity) {
    return fidelity == MS_FIDELITY_ANALYTIC ? "analytic" : "flow";
}

static ms_status run_replay(ms_replay *replay, ms_fidelity fidelity, ms_arena *scratch,
                            ms_diag *diag) {
    if (fidelity == MS_FIDELITY_FLOW) {
        ms_status status = ms_engine_run_flows(replay, scratch, diag);
        if (status != MS_OK) {
            return status;
        }
    } else {
        ms_replay_start(replay);
        ms_replay_drain(replay);
    }
    ms_status status = ms_replay_check_done(replay, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_replay_tell_starts(replay);
    return ms_account_links(replay, scratch, diag);
}

ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_arena *arena, ms_diag *diag,
                        ms_timeline *timeline_out) {
    ms_arena scratch;
    ms_replay replay;
    ms_arena_init(&scratch);
    /* the caller's test hook holds for what is allocated here as well */
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = ms_replay_init(&replay, dag, fidelity, &scratch, arena, diag);
    if (status == MS_OK) {
        status = run_replay(&replay, fidelity, &scratch, diag);
    }
    if (status == MS_OK) {
        *timeline_out = replay.timeline;
    }
    ms_arena_release(&scratch);
    return status;
}
