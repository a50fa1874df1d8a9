/* The entry points of the engines: ms_engine_run replays a graph in closed form (every
 * communication takes its time alone) or with flows that share links, in a child process where
 * SimGrid may be needed, and fills the timeline; ms_engine_test runs the graph again with tiny
 * delays to see whether rounding errors grow. */
#include "simulate/engine/engine.h"

#include <math.h>

#include "base/progress.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/replay.h"
#include "simulate/engine/simgrid_process.h"
#include "simulate/engine/steady.h"

/* Maximum delay of an operation in a run that tests whether dates are stable [share of its time]:
 * some hundred times the rounding of a date. */
static const double STABLE_PERTURBATION = 1e-13;

/* Share of the makespan by which a date may move in that run. In a graph that makes no delay larger
 * dates move by at most 1e-13. Of 10,400 random folded jobs 22 differed from the run of every rank;
 * their dates had moved by 1.7e-7 and more. */
static const double STABLE_MOVE = 1e-9;

/* Replay a prepared graph: in closed form at fidelity `analytic`, else with flows. Starts and
 * causes are not in the timeline yet. */
static ms_status run_fidelity(ms_replay *replay, ms_solver solver, ms_arena *scratch,
                              ms_diag *diag) {
    if (!replay->is_alone) {
        return ms_engine_run_flows(replay, solver, scratch, diag);
    }
    ms_replay_start(replay);
    ms_replay_drain(replay);
    return MS_OK;
}

/* Replay a prepared graph with each operation delayed; meshsim's own solver shares links, since it
 * can run several times in one process. */
static ms_status run_perturbed(ms_replay *replay, ms_perturbation perturbation, ms_arena *scratch,
                               ms_diag *diag) {
    replay->perturbation = perturbation;
    return run_fidelity(replay, MS_SOLVER_MAXMIN, scratch, diag);
}

/* Run the graph of `replay` again with each operation delayed, as long as ms_steady_test needs.
 *  perturbed_out: the timeline of that run, in `scratch`.  Returns as ms_engine_run_flows. */
static ms_status run_again(const ms_replay *replay, ms_arena *scratch, ms_diag *diag,
                           ms_timeline *perturbed_out) {
    const ms_perturbation perturbation = {MS_STEADY_PERTURBATION,
                                          ms_steady_until_s(&replay->timeline)};
    ms_replay other;
    ms_status status = ms_replay_init_again(&other, replay, scratch, diag);
    status = status == MS_OK ? run_perturbed(&other, perturbation, scratch, diag) : status;
    if (status == MS_OK) {
        ms_replay_write_starts(&other);
        *perturbed_out = other.timeline;
    }
    ms_replay_release(&other);
    return status;
}

/* Number of operations that start before `until_s`. */
static int64_t count_started(const ms_timeline *timeline, double until_s) {
    int64_t count = 0;
    for (int32_t op = 0; op < timeline->op_count; op++) {
        count += timeline->start_s[op] < until_s;
    }
    return count;
}

/* Look for the period that a shortened job repeats (steady.h), and set it in the timeline. Where
 * operations change each other's times (shared links, slow-down), the period is accepted only if
 * small delays stay small in a second run, and only if that run costs no more than the graph allows
 * (repeat.ops_max). Returns MS_OK, also without a period; as run_again. */
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

/* Fill the timeline of a replay that has run: starts and causes, for a shortened job its period,
 * and the account of the links. A shortened job without a period is discarded by the caller, so its
 * links are not accounted for. Returns MS_OK; MS_E_BUG (reported) if operations wait for each
 * other; MS_E_NOMEM (reported). */
static ms_status fill_timeline(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    ms_status status = ms_replay_check_done(replay, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_progress_begin("summing up", 0);
    bool is_part = replay->dag->repeat.times > 0;
    if (!is_part) {
        /* before starts and causes are written, which first takes memory for them */
        ms_replay_release(replay);
    }
    ms_replay_write_starts(replay);
    if (is_part) {
        status = find_steady(replay, scratch, diag);
        ms_replay_release(replay);
        if (status != MS_OK || replay->timeline.steady.count == 0) {
            return status;
        }
    }
    status = ms_account_links(replay, scratch, diag);
    return status == MS_OK ? ms_account_fused_passes(replay, scratch, diag) : status;
}

/* Replay a prepared graph with one solver, and fill its timeline. */
static ms_status run_with(ms_replay *replay, ms_solver solver, ms_arena *scratch, ms_diag *diag) {
    ms_status status = run_fidelity(replay, solver, scratch, diag);
    return status == MS_OK ? fill_timeline(replay, scratch, diag) : status;
}

/* run_with as the work of a child process (ms_replay_work). */
static ms_status run_on_simgrid(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    return run_with(replay, MS_SOLVER_SIMGRID, scratch, diag);
}

/* Run a prepared replay: in a child process if SimGrid may have to share links, that is, if any
 * link can bind; else in this process. */
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
    ms_bridge_load(); /* a failure is reported by the first run that needs SimGrid */
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

/* Largest difference between the ends of an operation in a run and in its perturbed run [s].
 *  perturbed_s: [op_count] ends in the perturbed run. */
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
