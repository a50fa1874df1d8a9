/* The effect of one pass on the clocks of its pipeline rank, as a map in max-plus algebra: it only
 * adds times and takes maxima. A map is computed once from the pass's segments and is applied to
 * every microbatch. A clock is the time at which a resource is free: the rank's compute stream, its
 * host or a communicator. A carried communicator is one whose collectives may outlive the pass that
 * starts them, so that it has a clock between passes. See estimate.md. */
#ifndef MS_ESTIMATE_PASS_MAP_H
#define MS_ESTIMATE_PASS_MAP_H

#include "estimate/slow_spans.h"
#include "model/stage_costs.h"

/* Maximum number of carried communicators of a job. A job that needs more is estimated as if the
 * other communicators were free at the start of each pass. */
enum { MS_CARRIED_MAX = 4 };

/* Indices of the clocks at the start of a pass, the columns of a map. */
enum {
    MS_FROM_RANK,   /* the rank has ended all passes before this one */
    MS_FROM_INPUT,  /* the inputs of the pass have arrived */
    MS_FROM_HOST,   /* the rank's host has launched all passes before this one */
    MS_FROM_STREAM, /* carried communicator k is free: index MS_FROM_STREAM + k */
    MS_CLOCKS = MS_FROM_STREAM + MS_CARRIED_MAX
};

/* A clock after the pass is the maximum, over the clocks i before it, of clock i + entry [i] [s].
 * -INFINITY: the clock after the pass does not depend on clock i. */
typedef struct ms_pass_map {
    double end_s[MS_CLOCKS];  /* entries of the rank's clock */
    double host_s[MS_CLOCKS]; /* entries of its host's clock; not set where launches take no time */
    double stream_s[MS_CARRIED_MAX][MS_CLOCKS]; /* entries of each carried communicator's clock */
} ms_pass_map;

/* Bits that say which microbatch of a step a pass works on, as some segments run on these
 * microbatches only (ms_when): the first, the last, the last one of a round. */
enum { MS_UNIT_FIRST = 1, MS_UNIT_LAST = 2, MS_UNIT_CLOSES_ROUND = 4, MS_UNIT_KINDS = 8 };

/* Those of a microbatch's MS_UNIT_ bits on which the segments of a pass depend. */
unsigned ms_unit_bits_used(unsigned unit, const ms_pass_plan *plan);

/* The carried communicators of a job; the index of each one is its k in MS_FROM_STREAM + k. */
typedef struct ms_carried {
    int ids[MS_CARRIED_MAX]; /* numbers of ms_communicator_of */
    int count;
} ms_carried;

/* A pass on one pipeline rank, with the times of its segments. All borrowed. */
typedef struct ms_pass_view {
    const ms_segment *segments; /* [count] */
    const double *time_s; /* [count] time of each segment [s]; negative: a collective in a group of
                             one rank, which does not run */
    int count;
    ms_repeat repeat; /* as in the pass's plan */
    unsigned unit;    /* MS_UNIT_ bits of the microbatch */
    double launch_s;  /* time per launch of the rank's host; 0: nothing waits for the host [s] */
    double compute_factor; /* factor of the rank on ms_segment.time_s, already in time_s */
    bool synchronises;     /* the host waits for the GPU before it launches the first computation */
} ms_pass_view;

/* An operation of a pass: a segment that runs. */
typedef struct ms_pass_op {
    double end_s; /* time up to which the pass has run: the operation's end or, for a collective
                     that overlaps with the pass, the end of the operation before it [s] */
    int layer;    /* as in ms_segment */
} ms_pass_op;

/* A number of a segment's communicator. On one rank, segments have equal numbers where they use the
 * same communicator, which runs its collectives one after the other. */
int ms_communicator_of(const ms_segment *segment);

/* Index of a segment's communicator in carried->ids; -1: it is not carried. */
int ms_carried_find(const ms_carried *carried, const ms_segment *segment);

/* Add to `carried` the communicators of those asynchronous collectives of a pass that no segment of
 * the pass waits for; each communicator once, up to MS_CARRIED_MAX.  segments: [count]. */
void ms_carried_add(ms_carried *carried, const ms_segment *segments, int count);

/* Compute the map of a pass.  second: NULL, or the other pass of an overlapped pair; the map is
 * that of both passes together.  carried: all carried communicators of the job.  end_s: [segments
 * of both] scratch.  O((2 + carried) * segments). */
void ms_pass_map_make(const ms_pass_view *pass, const ms_pass_view *second,
                      const ms_carried *carried, double *end_s, ms_pass_map *map_out);

/* Compute how long the computations of a pass, or of an overlapped pair, take if the collectives
 * beside them slow them down. Inputs are there and communicators are free at the start. A segment
 * that repeats gets the time of its last repetition.
 *  second, end_s: as for ms_pass_map_make.  factors: [MS_COLL_COUNT] as
 * ms_gpu_type.compute_slowdown.  slowed_s_out: [segments of both] time of each computation [s];
 * entries of collectives and of segments that do not run are not written. */
void ms_pass_slow_down(const ms_pass_view *pass, const ms_pass_view *second, const double *factors,
                       double *end_s, double *slowed_s_out);

/* List the operations of passes that run one after the other on a rank, in order. The first pass
 * starts at time 0, and no pass waits for inputs; segments that do not run are left out.
 *  passes: [count], none with repeating segments.  end_s: [segments of the longest pass] scratch.
 * ops_out: [segments of all passes].  Returns the number of operations. */
int ms_pass_ops(const ms_pass_view *passes, int count, double *end_s, ms_pass_op *ops_out);

#endif
