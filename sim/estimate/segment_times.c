/* Times of the segments of a pass on one pipeline rank (segment_times.h), for pass maps and for the
 * collectives at the end of a step. */
#include "estimate/segment_times.h"

#include <math.h>

#include "base/number.h"

void ms_timing_raise_excess(ms_timing *timing, double time_s, double alone_s) {
    if (time_s > alone_s) {
        timing->excess = ms_max(timing->excess, 1.0 - alone_s / time_s);
    }
}

double ms_timing_factor(const ms_timing *timing, int p) {
    const ms_factor_range factors = ms_job_compute_factors(timing->job, p);
    return timing->kind == MS_TIME_BOUND ? factors.least : factors.most;
}

double ms_timing_of(ms_timing *timing, const ms_class_times *times, double bytes) {
    double alone_s = ms_class_bound_s(times, bytes);
    if (timing->kind == MS_TIME_BOUND) {
        return alone_s;
    }
    double time_s = ms_class_time_s(times, bytes);
    ms_timing_raise_excess(timing, time_s, alone_s);
    return time_s;
}

/* Whether groups that span `axes` have more than one rank. */
static bool has_peers(const ms_mesh *mesh, unsigned axes) {
    bool has_some = false;
    for (int a = 0; a < mesh->axes; a++) {
        has_some = has_some || ((axes & MS_AXIS_BIT(mesh->kinds[a])) != 0 && mesh->sizes[a] > 1);
    }
    return has_some;
}

/* Find the time of one collective on pipeline rank `p`; -1 where it does not run. */
static ms_status time_collective(ms_timing *timing, const ms_segment *segment, int p,
                                 double *time_out) {
    ms_comm_classes *comm = timing->comm;
    ms_class_key key = ms_class_of_segment(segment, p);
    *time_out = -1.0;
    if (segment->coll_B <= 0.0 || !has_peers(ms_comm_mesh(comm, key.axes), key.axes)) {
        return MS_OK;
    }
    const ms_class_times *times = NULL;
    ms_status status = ms_comm_classes_find(comm, timing->space, &key, &times);
    if (status == MS_OK) {
        *time_out = ms_timing_of(timing, times, segment->coll_B);
    }
    return status;
}

/* Whether two collectives take equally long on the same pipeline rank: consecutive ones often do,
 * and a look-up is saved. */
static bool is_same_collective(const ms_segment *a, const ms_segment *b) {
    return a->coll == b->coll && a->axis == b->axis && a->group_axes == b->group_axes &&
           a->coll_B == b->coll_B && a->coll_intra_node_B == b->coll_intra_node_B &&
           a->coll_load_imbalance == b->coll_load_imbalance;
}

/* A collective that is the same as the one before it takes the same time, which saves the search
 * for its class. The time of a collective that does not run is negative. */
ms_status ms_segment_times(ms_timing *timing, const ms_segment *segments, int count, int p,
                           double *time_s_out) {
    int last = -1; /* index of the last collective before segment i */
    const ms_factor_range factors = ms_job_compute_factors(timing->job, p);
    double factor = ms_timing_factor(timing, p);
    ms_timing_raise_excess(timing, factor, factors.least);
    for (int i = 0; i < count; i++) {
        time_s_out[i] = segments[i].time_s * factor;
        /* collectives between directions join two pipeline ranks and are timed in step.c */
        if (!segments[i].is_collective || segments[i].is_between_directions) {
            continue;
        }
        if (last >= 0 && is_same_collective(&segments[i], &segments[last])) {
            time_s_out[i] = time_s_out[last];
        } else {
            ms_status status = time_collective(timing, &segments[i], p, &time_s_out[i]);
            if (status != MS_OK) {
                return status;
            }
        }
        last = i;
    }
    return MS_OK;
}
