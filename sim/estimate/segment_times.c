#include "estimate/segment_times.h"

/* Time of one collective on pipeline rank `p`. */
static ms_status time_collective(const ms_timing *timing, const ms_segment *segment, int p,
                                 double *time_out) {
    ms_comm_classes *comm = timing->comm;
    ms_class_key key = ms_class_of_segment(segment, p);
    *time_out = -1.0;
    const ms_mesh *mesh = ms_comm_mesh(comm, key.axes);
    if (ms_mesh_members(mesh, key.axes, mesh->first, NULL) < 2 || segment->coll_B <= 0.0) {
        return MS_OK;
    }
    const ms_class_times *times = NULL;
    ms_status status = ms_comm_classes_find(comm, timing->space, &key, &times);
    if (status == MS_OK) {
        *time_out = timing->kind == MS_TIME_BOUND ? ms_class_bound_s(times, segment->coll_B)
                                                  : ms_class_time_s(times, segment->coll_B);
    }
    return status;
}

ms_status ms_segment_times(const ms_timing *timing, const ms_segment *segments, int count, int p,
                           double *time_s_out) {
    for (int i = 0; i < count; i++) {
        time_s_out[i] = segments[i].time_s;
        if (segments[i].is_collective && !segments[i].is_between_directions) {
            ms_status status = time_collective(timing, &segments[i], p, &time_s_out[i]);
            if (status != MS_OK) {
                return status;
            }
        }
    }
    return MS_OK;
}
