/* Which part of a timeline counts when it has several optimizer steps. */
#include "metrics/internal.h"

static ms_step_times times_of_step(const ms_rank_ops *ops, int32_t step) {
    const ms_timeline *timeline = ops->timeline;
    int32_t first = ops->dag->step_first[step];
    int32_t end = ops->dag->step_first[step + 1];
    ms_step_times times = {0};
    for (int32_t op = first; op < end; op++) {
        double start_s = timeline->start_s[op];
        times.start_s = op == first ? start_s : fmin(times.start_s, start_s);
        times.end_s = fmax(times.end_s, timeline->end_s[op]);
    }
    times.end_s = ms_steady_date_s(&timeline->steady, times.end_s);
    return times;
}

/* When each rank's last computation of the last step ends, in to_s. */
static void find_rank_ends(const ms_rank_ops *ops, ms_window *ranks) {
    const ms_dag *dag = ops->dag;
    for (int32_t op = dag->step_first[dag->step_count - 1]; op < dag->op_count; op++) {
        for (int32_t m = dag->member_first[op];
             m < dag->member_first[op + 1] && ms_dag_is_compute(dag, op); m++) {
            ms_window *window = &ranks[dag->streams[dag->member_stream[m]].rank];
            window->to_s = fmax(window->to_s, ops->timeline->end_s[op]);
        }
    }
}

static void set_windows(ms_rank_ops *ops) {
    ms_measured *measured = &ops->measured;
    if (ops->dag->step_count > 1) {
        find_rank_ends(ops, measured->ranks);
    }
    double length_s = measured->path.to_s - measured->path.from_s;
    for (int32_t r = 0; r < ops->dag->rank_count; r++) {
        /* a rank that ends too early to have so much behind it starts with the run, as the only
         * step does */
        double to_s = fmax(measured->ranks[r].to_s, length_s);
        measured->ranks[r] = (ms_window){.from_s = to_s - length_s, .to_s = to_s};
    }
}

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
    ops->measured.path.from_s = has_many ? metrics->steps[0].end_s : 0.0;
    set_windows(ops);
    metrics->step_time_s = ms_steady_length_s(&ops->timeline->steady, ops->measured.path.from_s,
                                              ops->measured.path.to_s) /
                           ops->measured.steps;
    return MS_OK;
}
