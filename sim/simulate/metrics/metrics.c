/* Computes all metrics of a timeline (metrics.h): checks the timeline, measures every simulated
 * rank, and takes means over the ranks of the job. */
#include "simulate/metrics/internal.h"

/* Check a timeline. Returns what is wrong, as a fragment of an error message; NULL: nothing.
 * Comparisons are negated so that a NaN fails them. */
static const char *find_fault(const ms_dag *dag, const ms_timeline *timeline) {
    if (timeline->op_count != dag->op_count) {
        return "has another number of operations than its graph";
    }
    double latest_s = 0.0;
    for (int32_t op = 0; op < timeline->op_count; op++) {
        if (!(timeline->start_s[op] >= 0.0) || !(timeline->end_s[op] >= timeline->start_s[op]) ||
            !isfinite(timeline->end_s[op])) {
            return "has an operation that ends before it starts";
        }
        if (timeline->cause[op] < -1 || timeline->cause[op] >= timeline->op_count) {
            return "has a cause that is no operation";
        }
        latest_s = ms_max(latest_s, timeline->end_s[op]);
    }
    return timeline->makespan_s == latest_s ? NULL : "does not end with its last operation";
}

/* Set the categories and the use of axes of every simulated rank.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_BUG as ms_rank_spans. */
static ms_status measure_ranks(const ms_rank_ops *ops, ms_metrics *metrics) {
    ms_vector spans;
    ms_vector intervals;
    ms_vector_init(&spans, sizeof(ms_time_span));
    ms_vector_init(&intervals, sizeof(ms_interval));
    ms_status status = MS_OK;
    for (int32_t r = 0; r < ops->dag->rank_count && status == MS_OK; r++) {
        status = ms_rank_spans(ops, r, &spans, &metrics->ranks[r]);
        if (status == MS_OK) {
            status = ms_rank_axes(ops, r, &spans, &intervals, &metrics->ranks[r]);
        }
    }
    ms_vector_release(&spans);
    ms_vector_release(&intervals);
    return status;
}

/* Add a use of an axis, multiplied by `weight`, to a sum. */
static void add_axis_use(ms_axis_use *sum, const ms_axis_use *use, double weight) {
    sum->bytes += weight * use->bytes;
    sum->busy_s += weight * use->busy_s;
    sum->exposed_s += weight * use->exposed_s;
    sum->overlapped_s += weight * use->overlapped_s;
    sum->in_idle_s += weight * use->in_idle_s;
    sum->wait_s += weight * use->wait_s;
}

/* Set the means over all ranks of the job: simulated ranks are weighted by their multiplicity. A
 * step of 0 s has shares of 0. */
static void take_means(const ms_dag *dag, ms_metrics *metrics) {
    double ranks = 0.0;
    for (int32_t r = 0; r < dag->rank_count; r++) {
        ranks += dag->ranks[r].multiplicity;
    }
    for (int32_t r = 0; r < dag->rank_count; r++) {
        const ms_rank_metrics *rank = &metrics->ranks[r];
        double weight = dag->ranks[r].multiplicity / ranks;
        double step_s = metrics->step_time_s > 0.0 ? metrics->step_time_s : INFINITY;
        for (int c = 0; c < MS_TIME_COUNT; c++) {
            metrics->share[c] += weight * (rank->time_s[c] / step_s);
        }
        for (int part = 0; part < MS_OTHER_COUNT; part++) {
            metrics->other_share[part] += weight * (rank->other_s[part] / step_s);
        }
        metrics->slowed_share += weight * (rank->slowed_s / step_s);
        for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
            add_axis_use(&metrics->axes[axis], &rank->axes[axis], weight);
        }
    }
}

/* Compute all metrics of a checked timeline; ms_metrics_compute reports failures. */
static ms_status measure(const ms_dag *dag, const ms_timeline *timeline, ms_arena *scratch,
                         ms_arena *arena, ms_metrics *metrics) {
    ms_rank_ops ops;
    metrics->ranks = MS_NEW(arena, ms_rank_metrics, dag->rank_count);
    ms_status status = metrics->ranks == NULL ? MS_E_NOMEM : MS_OK;
    status = status == MS_OK ? ms_rank_ops_collect(dag, timeline, true, scratch, &ops) : status;
    status = status == MS_OK ? ms_measure_steps(&ops, scratch, arena, metrics) : status;
    status = status == MS_OK ? measure_ranks(&ops, metrics) : status;
    status = status == MS_OK ? ms_count_communication(&ops, scratch, arena, metrics) : status;
    status = status == MS_OK ? ms_critical_path(&ops, metrics->critical_s) : status;
    if (status == MS_OK) {
        take_means(dag, metrics);
    }
    return status;
}

ms_status ms_metrics_compute(const ms_dag *dag, const ms_timeline *timeline, ms_arena *arena,
                             ms_diag *diag, ms_metrics *metrics_out) {
    const char *fault = find_fault(dag, timeline);
    if (fault != NULL) {
        ms_diag_error(diag, "bug: the timeline %s", fault);
        return MS_E_BUG;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_arena_fail_after(&scratch, arena->fail_after); /* the test hook reaches scratch space too */
    ms_metrics metrics = {0};
    ms_status status = measure(dag, timeline, &scratch, arena, &metrics);
    ms_arena_release(&scratch);
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while computing metrics");
    } else if (status == MS_E_BUG) {
        ms_diag_error(diag, "bug: the timeline has a rank whose computations overlap, or causes "
                            "that go round in a circle");
    } else if (status == MS_OK) {
        *metrics_out = metrics;
    }
    return status;
}
