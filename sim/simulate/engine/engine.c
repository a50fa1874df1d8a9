/* Engines by name, and the closed form: every operation takes its time alone. */
#include "simulate/engine/engine.h"

#include <math.h>

#include "base/progress.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/no_memory.h"
#include "simulate/engine/replay.h"
#include "simulate/engine/simgrid_process.h"
#include "simulate/engine/steady.h"

/* Perturbation of a run that tests whether dates are stable [share of an operation's time]: some
 * hundred times the rounding of a date. */
static const double STABLE_PERTURBATION = 1e-13;

/* Share of the run by which no date may then move. What makes no delay larger moves by 1e-13 at
 * most. Of 10,400 random jobs 22 were no longer what every rank does: they had moved by 1.7e-7 and
 * more. */
static const double STABLE_MOVE = 1e-9;

static ms_status run_fidelity(ms_replay *replay, ms_solver solver, ms_arena *scratch,
                              ms_diag *diag) {
    if (!replay->is_alone) {
        return ms_engine_run_flows(replay, solver, scratch, diag);
    }
    ms_replay_start(replay);
    ms_replay_drain(replay);
    return MS_OK;
}

/* Run a replay in which each operation starts a little late; meshsim's own solver shares links. */
static ms_status run_perturbed(ms_replay *replay, ms_perturbation perturbation, ms_arena *scratch,
                               ms_diag *diag) {
    replay->perturbation = perturbation;
    return run_fidelity(replay, MS_SOLVER_MAXMIN, scratch, diag);
}

/* Run a graph again, each operation a little late, until its steady state has been compared.
 *  perturbed_out: its timeline in `scratch`.  Returns MS_OK; MS_E_NOMEM. */
static ms_status run_again(const ms_replay *replay, ms_arena *scratch, ms_diag *diag,
                           ms_timeline *perturbed_out) {
    const ms_perturbation perturbation = {MS_STEADY_PERTURBATION,
                                          ms_steady_until_s(&replay->timeline)};
    ms_replay other;
    ms_status status = ms_replay_init_again(&other, replay, scratch, diag);
    status = status == MS_OK ? run_perturbed(&other, perturbation, scratch, diag) : status;
    if (status == MS_OK) {
        ms_replay_tell_starts(&other);
        *perturbed_out = other.timeline;
    }
    ms_replay_release(&other);
    return status;
}

/* Operations that start before an instant. */
static int64_t count_started(const ms_timeline *timeline, double until_s) {
    int64_t count = 0;
    for (int32_t op = 0; op < timeline->op_count; op++) {
        count += timeline->start_s[op] < until_s;
    }
    return count;
}

/* Look for what a run repeats, and believe it only where small delays stay small: of a run whose
 * operations change each other's times. */
static ms_status find_steady(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    ms_timeline *t = &replay->timeline;
    ms_status status = ms_steady_find(replay->dag, &replay->host, scratch, t);
    bool is_tested = replay->has_slowdown || t->has_shared;
    if (status != MS_OK || t->steady.count == 0 || !is_tested) {
        return status == MS_OK ? MS_OK : ms_engine_no_memory(diag);
    }
    int64_t second_run = count_started(t, ms_steady_until_s(t));
    if (t->ops_run + second_run > replay->dag->repeat.ops_max) {
        t->steady = (ms_steady){0};
        return MS_OK;
    }
    t->ops_run += second_run;
    ms_arena arena;
    ms_timeline perturbed;
    ms_arena_init(&arena);
    ms_arena_fail_after(&arena, scratch->fail_after);
    bool is_stable = false;
    status = run_again(replay, &arena, diag, &perturbed);
    if (status == MS_OK &&
        ms_steady_test(replay->dag, t, &perturbed, &arena, &is_stable) != MS_OK) {
        status = ms_engine_no_memory(diag);
    }
    t->steady = is_stable ? t->steady : (ms_steady){0};
    ms_arena_release(&arena);
    return status;
}

/* Fill the timeline of a replay that has run. */
static ms_status sum_up(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    ms_status status = ms_replay_check_done(replay, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_progress_begin("summing up", 0);
    bool is_part = replay->dag->repeat.times > 0;
    if (!is_part) {
        ms_replay_release(replay); /* before the columns of the timeline take their memory */
    }
    ms_replay_tell_starts(replay);
    if (is_part) {
        status = find_steady(replay, scratch, diag);
        ms_replay_release(replay);
        if (status != MS_OK || replay->timeline.steady.count == 0) {
            return status; /* of a part of a run that is not the whole nobody asks for the links */
        }
    }
    status = ms_account_links(replay, scratch, diag);
    return status == MS_OK ? ms_account_pieces(replay, scratch, diag) : status;
}

static ms_status run_with(ms_replay *replay, ms_solver solver, ms_arena *scratch, ms_diag *diag) {
    ms_status status = run_fidelity(replay, solver, scratch, diag);
    return status == MS_OK ? sum_up(replay, scratch, diag) : status;
}

static ms_status run_on_simgrid(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    return run_with(replay, MS_SOLVER_SIMGRID, scratch, diag);
}

/* Run in this process, or in one of its own where SimGrid may have to share links. */
static ms_status run_replay(ms_replay *replay, ms_solver solver, ms_arena *scratch, ms_diag *diag) {
    ms_status status = replay->is_alone ? MS_OK : ms_engine_find_contention(replay, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    bool may_share = !replay->is_alone && replay->contention->link_count > 0;
    return may_share && solver == MS_SOLVER_SIMGRID
               ? ms_simgrid_run_apart(run_on_simgrid, replay, scratch, diag)
               : run_with(replay, solver, scratch, diag);
}

void ms_engine_load_simgrid(void) {
    ms_bridge_load(); /* what fails is told by the run that cannot do without */
}

const char *ms_engine_simgrid_version(void) {
    return MESHSIM_SIMGRID_VERSION;
}

ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver, ms_arena *arena,
                        ms_diag *diag, ms_timeline *timeline_out) {
    ms_arena scratch;
    ms_replay replay;
    ms_arena_init(&scratch);
    /* the caller's test hook holds for what is allocated here as well */
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = ms_replay_init(&replay, dag, fidelity, &scratch, arena, diag);
    if (status == MS_OK) {
        status = run_replay(&replay, solver, &scratch, diag);
    }
    if (status == MS_OK) {
        *timeline_out = replay.timeline;
    }
    ms_replay_release(&replay);
    ms_arena_release(&scratch);
    return status;
}

/* How far the ends of a run and of its perturbed one are apart at most [s]. */
static double largest_move_s(const ms_timeline *run, const double *perturbed_s) {
    double most_s = 0.0;
    for (int32_t op = 0; op < run->op_count; op++) {
        most_s = fmax(most_s, fabs(perturbed_s[op] - run->end_s[op]));
    }
    return most_s;
}

ms_status ms_engine_test(const ms_dag *dag, const ms_timeline *timeline, ms_diag *diag,
                         bool *is_stable_out) {
    const ms_perturbation perturbation = {STABLE_PERTURBATION, INFINITY};
    ms_arena scratch;
    ms_replay replay;
    ms_arena_init(&scratch);
    ms_status status = ms_replay_init(&replay, dag, MS_FIDELITY_FLOW, &scratch, &scratch, diag);
    status = status == MS_OK ? run_perturbed(&replay, perturbation, &scratch, diag) : status;
    double move_s = status == MS_OK ? largest_move_s(timeline, replay.timeline.end_s) : 0.0;
    *is_stable_out = move_s <= STABLE_MOVE * timeline->makespan_s;
    ms_replay_release(&replay);
    ms_arena_release(&scratch);
    return status;
}
