/* Warns of rings whose time is mostly latency, in a step that was simulated (estimate/advice.h has
 * the rule and the message). */
#include "estimate/advice.h"
#include "simulate/metrics/metrics.h"

/* Rings whose time is mostly latency are found among the first MS_RING_ROWS_MAX rows of
 * collectives, and their share of the step is estimated from the exposed time of their axes. A ring
 * with a protocol other than auto was chosen by a library, and does not count. */
void ms_advise_latency(const ms_metrics *metrics, ms_diag *diag) {
    ms_ring_row rows[MS_RING_ROWS_MAX];
    double busy_s[MS_AXIS_COUNT] = {0};
    double latency_s[MS_AXIS_COUNT] = {0};
    int count =
        metrics->collective_count < MS_RING_ROWS_MAX ? metrics->collective_count : MS_RING_ROWS_MAX;
    for (int i = 0; i < count; i++) {
        const ms_coll_row *c = &metrics->collectives[i];
        rows[i] = (ms_ring_row){.axis = c->axis,
                                .kind = c->kind,
                                .is_ring = c->algorithm == MS_ALGORITHM_RING &&
                                           c->protocol == MS_PROTOCOL_AUTO,
                                .members = c->group_size,
                                .size_B = c->size_B,
                                .count = c->count_per_rank,
                                .time_s = c->alone_s,
                                .latency_s = c->latency_s};
        busy_s[c->axis] += c->count_per_rank * c->time_s;
        latency_s[c->axis] +=
            ms_ring_is_dominated(&rows[i]) ? c->count_per_rank * c->latency_s : 0.0;
    }
    /* exposed time of each axis, multiplied by the share of such latency in its busy time */
    double exposed_s = 0.0;
    for (int a = 0; a < MS_AXIS_COUNT; a++) {
        exposed_s +=
            latency_s[a] > 0.0 ? metrics->axes[a].exposed_s * latency_s[a] / busy_s[a] : 0.0;
    }
    ms_advise_rings(rows, count, exposed_s / metrics->step_time_s, "", diag);
}
