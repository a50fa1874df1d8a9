/* How long each segment of a pass takes on its pipeline rank. */
#ifndef MS_ESTIMATE_SEGMENT_TIMES_H
#define MS_ESTIMATE_SEGMENT_TIMES_H

#include "estimate/comm_classes.h"
#include "job/spec.h"

/* What the times are for. */
typedef enum ms_time_kind {
    MS_TIME_EXPECTED, /* all groups of a class communicate at once, as they do in step */
    MS_TIME_BOUND,    /* each group as if it were alone: no simulation takes less */
} ms_time_kind;

/* Where and for what segments are timed. */
typedef struct ms_timing {
    const ms_job *job;
    ms_comm_classes *comm;
    ms_plan_space *space;
    ms_time_kind kind;
    double excess; /* largest share of a time so far that it would not take alone on the links */
} ms_timing;

/* Note how much longer something takes than it would alone on the links. */
void ms_timing_note(ms_timing *timing, double time_s, double alone_s);

/* The factor on computations of pipeline rank `p`: that of its slowest rank, which the others wait
 * for; of its fastest one for a bound. */
double ms_timing_factor(const ms_timing *timing, int p);

/* Time of `bytes` in a class, for what is timed. */
double ms_timing_of(ms_timing *timing, const ms_class_times *times, double bytes);

/* Times of `count` segments on pipeline rank `p`; a collective among one rank, which does not run,
 * has a negative one.  time_s_out: [count].  Returns as ms_comm_classes_find. */
ms_status ms_segment_times(ms_timing *timing, const ms_segment *segments, int count, int p,
                           double *time_s_out);

#endif
