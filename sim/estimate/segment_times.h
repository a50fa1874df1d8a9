/* Times of the segments of a pass on its pipeline rank: computations by the factor of the rank,
 * collectives by the times of their class. */
#ifndef MS_ESTIMATE_SEGMENT_TIMES_H
#define MS_ESTIMATE_SEGMENT_TIMES_H

#include "estimate/comm_classes.h"
#include "job/spec.h"

/* The purpose of times. */
typedef enum ms_time_kind {
    MS_TIME_EXPECTED, /* the estimate: all groups of a class communicate at once */
    MS_TIME_BOUND, /* the bound: each group alone on its links, so that no simulation takes less */
} ms_time_kind;

/* Context of the times of segments. All borrowed. */
typedef struct ms_timing {
    const ms_job *job;
    ms_comm_classes *comm;
    ms_layout_storage *space;
    ms_time_kind kind;
    double excess; /* maximum over all times so far of 1 - bound / time: the share of a time that it
                      would not take alone on the links; INFINITY: the bound is not comparable */
} ms_timing;

/* Raise timing->excess by a time: `time_s` in the estimate, `alone_s` in the bound [s]. */
void ms_timing_raise_excess(ms_timing *timing, double time_s, double alone_s);

/* The factor on computations of pipeline rank `p`: for the estimate that of its slowest rank, for
 * which the others wait; for the bound that of its fastest one. */
double ms_timing_factor(const ms_timing *timing, int p);

/* Time of `bytes` in a class, for the estimate or the bound [s]. The estimate raises the excess. */
double ms_timing_of(ms_timing *timing, const ms_class_times *times, double bytes);

/* Find the times of `count` segments on pipeline rank `p`.  time_s_out: [count]; negative for a
 * collective in a group of one rank, or without bytes, which does not run [s].  Returns as
 * ms_comm_classes_find. */
ms_status ms_segment_times(ms_timing *timing, const ms_segment *segments, int count, int p,
                           double *time_s_out);

#endif
