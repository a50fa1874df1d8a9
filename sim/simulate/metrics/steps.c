/* Which part of a timeline is measured when it has several optimizer steps (steps.md): the time of
 * a step, and for each rank a window as long as all measured steps. Dates are those of the whole
 * run, instants those of the timeline, which contains the repetitions of a repeated period once
 * (ms_repeated_period). */
#include "simulate/metrics/internal.h"

/* The first start and last end of a step's operations, as dates of the whole run. */
static ms_step_times times_of_step(const ms_rank_ops *ops, int32_t step) {
    const ms_timeline *timeline = ops->timeline;
    int32_t first = ops->dag->step_first[step];
    int32_t end = ops->dag->step_first[step + 1];
    ms_step_times times = {0};
    const ms_steady *steady = &timeline->steady;
    for (int32_t op = first; op < end; op++) {
        double start_s = timeline->start_s[op];
        times.start_s = op == first ? start_s : ms_min(times.start_s, start_s);
        times.end_s = ms_max(times.end_s, timeline->end_s[op]);
    }
    times.start_s = ms_steady_date_s(steady, times.start_s);
    times.end_s = ms_steady_date_s(steady, times.end_s);
    return times;
}

/* The instant of the timeline at a date of the whole run: earlier than the date by the repetitions
 * of all repeated periods before it (later_s). < 0: the date is in a repetition that the timeline
 * does not contain. */
static double instant_of(const ms_steady *steady, double date_s) {
    double later_s = 0.0;
    for (int32_t i = 0; i < steady->count; i++) {
        const ms_repeated_period *repeated = &steady->of_step[i];
        double more_s = repeated->times * repeated->period_s;
        if (!ms_repeated_period_is_before(repeated, date_s - later_s)) {
            break;
        }
        if (!ms_repeated_period_is_before(repeated, date_s - later_s - more_s)) {
            return -1.0;
        }
        later_s += more_s;
    }
    return date_s - later_s;
}

/* Set to_s of each rank's window to the end of its last computation in the last step, as an
 * instant. */
static void find_rank_ends(const ms_rank_ops *ops, ms_window *ranks) {
    const ms_dag *dag = ops->dag;
    for (int32_t op = dag->step_first[dag->step_count - 1]; op < dag->op_count; op++) {
        for (int32_t m = dag->member_first[op];
             m < dag->member_first[op + 1] && ms_dag_is_compute(dag, op); m++) {
            ms_window *window = &ranks[dag->streams[dag->member_stream[m]].rank];
            window->to_s = ms_max(window->to_s, ops->timeline->end_s[op]);
        }
    }
}

/* Set the window of a rank: the `length_s` before the end of its last computation (to_s). If that
 * end is earlier than length_s, the window begins with the run and still lasts length_s.  Returns
 * whether the timeline contains both ends of the window. */
static bool set_window(const ms_steady *steady, double length_s, ms_window *window) {
    double end_s = ms_steady_date_s(steady, window->to_s);
    double to_s = end_s < length_s ? instant_of(steady, length_s) : window->to_s;
    double from_s = instant_of(steady, ms_max(end_s, length_s) - length_s);
    *window = (ms_window){.from_s = from_s, .to_s = to_s};
    return from_s >= 0.0 && to_s >= 0.0;
}

/* Set the windows of all ranks.  length_s: duration of the measured steps together [s].  Returns
 * whether the timeline contains the ends of all windows. */
static bool set_windows(ms_rank_ops *ops, double length_s) {
    ms_measured *measured = &ops->measured;
    bool are_held = true;
    if (ops->dag->step_count > 1) {
        find_rank_ends(ops, measured->ranks);
    }
    for (int32_t r = 0; r < ops->dag->rank_count; r++) {
        if (ops->dag->step_count > 1) {
            are_held =
                set_window(&ops->timeline->steady, length_s, &measured->ranks[r]) && are_held;
        } else { /* one step: the whole run, for all ranks */
            measured->ranks[r] = measured->path;
        }
    }
    return are_held;
}

/* The instant at which the first step ends. */
static double end_of_first_s(const ms_rank_ops *ops) {
    double end_s = 0.0;
    for (int32_t op = 0; op < ops->dag->step_first[1]; op++) {
        end_s = ms_max(end_s, ops->timeline->end_s[op]);
    }
    return end_s;
}

/* With several steps the first one is not measured: a later step is the one that repeats in
 * training (steps.md). */
ms_status ms_measure_steps(ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                           ms_metrics *metrics) {
    const ms_dag *dag = ops->dag;
    bool has_many = dag->step_count > 1;
    metrics->step_count = dag->step_count;
    metrics->steps = MS_NEW(arena, ms_step_times, dag->step_count);
    ops->measured = (ms_measured){.path = {.to_s = ops->timeline->makespan_s},
                                  .ranks = MS_NEW(scratch, ms_window, dag->rank_count),
                                  .steps = has_many ? dag->step_count - 1 : 1,
                                  .first_op = has_many ? dag->step_first[1] : 0};
    if (metrics->steps == NULL || ops->measured.ranks == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t step = 0; step < dag->step_count; step++) {
        metrics->steps[step] = times_of_step(ops, step);
    }
    ops->measured.path.from_s = has_many ? end_of_first_s(ops) : 0.0;
    double length_s = ms_steady_length_s(&ops->timeline->steady, ops->measured.path.from_s,
                                         ops->measured.path.to_s);
    metrics->step_time_s = length_s / ops->measured.steps;
    return set_windows(ops, length_s) ? MS_OK : MS_E_RANGE;
}
