/* Engines by name, and the closed form: every operation takes its time alone. */
#include "meshsim/engine.h"

#include <stdlib.h>
#include <string.h>

#include "engine/bridge.h"
#include "engine/replay.h"
#include "meshsim/progress.h"

/* What the environment asks for (README.md, choices 1 and 5). */
typedef enum engine_mode {
    MODE_FLOWS, /* contended transfers on SimGrid */
    MODE_ALL,   /* everything that takes time on SimGrid: a test of the engine */
    MODE_OWN,   /* contended transfers on maxmin.h */
} engine_mode;

static ms_status read_mode(ms_diag *diag, engine_mode *mode_out) {
    const char *mode = getenv("MESHSIM_ENGINE");
    bool is_all = mode != NULL && strcmp(mode, "simgrid") == 0;
    bool is_own = mode != NULL && strcmp(mode, "maxmin") == 0;
    *mode_out = is_all ? MODE_ALL : is_own ? MODE_OWN : MODE_FLOWS;
    if (mode == NULL || *mode == '\0' || is_all || is_own) {
        return MS_OK;
    }
    ms_diag_error(diag, "unknown engine '%s' in MESHSIM_ENGINE; expected maxmin, simgrid, or none",
                  mode);
    return MS_E_USAGE;
}

static ms_status run_fidelity(ms_replay *replay, ms_fidelity fidelity, ms_arena *scratch,
                              ms_diag *diag) {
    engine_mode mode = MODE_FLOWS;
    if (fidelity == MS_FIDELITY_ANALYTIC) {
        ms_replay_start(replay);
        ms_replay_drain(replay);
        return MS_OK;
    }
    ms_status status = read_mode(diag, &mode);
    if (status != MS_OK) {
        return status;
    }
    return mode == MODE_ALL ? ms_engine_run_on_simgrid(replay, scratch, diag)
                            : ms_engine_run_flows(replay, mode == MODE_OWN, scratch, diag);
}

static ms_status run_replay(ms_replay *replay, ms_fidelity fidelity, ms_arena *scratch,
                            ms_diag *diag) {
    ms_status status = run_fidelity(replay, fidelity, scratch, diag);
    if (status == MS_OK) {
        status = ms_replay_check_done(replay, scratch, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    ms_progress_begin("summing up", 0);
    ms_replay_tell_starts(replay);
    status = ms_account_links(replay, scratch, diag);
    return status == MS_OK ? ms_account_pieces(replay, scratch, diag) : status;
}

void ms_engine_load_simgrid(void) {
    ms_bridge_load(); /* what fails is told by the run that cannot do without */
}

const char *ms_engine_simgrid_version(void) {
    return MESHSIM_SIMGRID_VERSION;
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
    ms_replay_release(&replay);
    ms_arena_release(&scratch);
    return status;
}
