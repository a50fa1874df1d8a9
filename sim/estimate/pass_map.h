/* What one pass does to its rank's clocks, as a map that only adds and takes the later of two:
 * worked out once from the pass's segments, applied to every microbatch. See estimate.md. */
#ifndef MS_ESTIMATE_PASS_MAP_H
#define MS_ESTIMATE_PASS_MAP_H

#include "estimate/slow_spans.h"
#include "model/stage_costs.h"

/* Communicators whose collectives may outlive a pass; of more the rest are taken to be free. */
enum { MS_CARRIED_MAX = 4 };

/* Clocks that a pass starts from: when its rank has done all before it, when its inputs are there,
 * when the rank's host has launched all before it, and when each carried communicator is free. */
enum {
    MS_FROM_RANK,
    MS_FROM_INPUT,
    MS_FROM_HOST,
    MS_FROM_STREAM,
    MS_CLOCKS = MS_FROM_STREAM + MS_CARRIED_MAX
};

/* Clock after the pass = max over clocks before it of clock + entry; -INFINITY: does not depend. */
typedef struct ms_pass_map {
    double end_s[MS_CLOCKS];                    /* of the rank */
    double host_s[MS_CLOCKS];                   /* of its host; not set where launches are free */
    double stream_s[MS_CARRIED_MAX][MS_CLOCKS]; /* of each carried communicator */
} ms_pass_map;

/* Which microbatch a pass is of, bits: segments may run on some only. */
enum { MS_UNIT_FIRST = 1, MS_UNIT_LAST = 2, MS_UNIT_CLOSES_ROUND = 4, MS_UNIT_KINDS = 8 };

/* Of a microbatch's MS_UNIT_ bits, those that make a difference to a pass. */
unsigned ms_unit_bits_of(unsigned unit, const ms_pass_plan *plan);

/* Communicators that are carried from pass to pass. */
typedef struct ms_carried {
    int ids[MS_CARRIED_MAX]; /* of ms_communicator_of */
    int count;
} ms_carried;

/* A pass as it is laid out. */
typedef struct ms_pass_view {
    const ms_segment *segments; /* [count] */
    const double *time_s; /* [count] of each one; a collective among one rank, which does not run:
                             negative */
    int count;
    ms_repeat repeat;      /* as in the pass's plan */
    unsigned unit;         /* MS_UNIT_ bits */
    double launch_s;       /* time per launch of the rank's host; 0: it is never waited for */
    double compute_factor; /* on the time of the segments' computations */
    bool synchronises;     /* the host waits for the GPU before it launches the first computation */
} ms_pass_view;

/* An operation of a pass. */
typedef struct ms_pass_op {
    double end_s; /* time up to which the pass has run: the operation's end or, for a collective
                     that overlaps with the pass, the end of the operation before it */
    int layer;
} ms_pass_op;

/* What tells the communicator of a segment from others. */
int ms_communicator_of(const ms_segment *segment);

/* Where a segment's communicator stands among those that are carried; -1: it is not carried. */
int ms_carried_find(const ms_carried *carried, const ms_segment *segment);

/* Add the communicators on which a pass leaves collectives behind that nothing in it waits for. */
void ms_carried_add(ms_carried *carried, const ms_segment *segments, int count);

/* The map of a pass, or of two passes that take turns (second: not NULL).
 *  end_s: [segments of both] scratch.  O((2 + carried) * segments). */
void ms_pass_map_make(const ms_pass_view *pass, const ms_pass_view *second,
                      const ms_carried *carried, double *end_s, ms_pass_map *map_out);

/* Times of the computations of a pass, or of two that take turns, slowed down by the collectives
 * beside them. Each is that of the last time it runs, with inputs there and communicators free.
 *  factors: [MS_COLL_COUNT].  end_s: as above.  slowed_s_out: [segments of both]; those of what
 * does not compute, or not run, stay. */
void ms_pass_slow_down(const ms_pass_view *pass, const ms_pass_view *second, const double *factors,
                       double *end_s, double *slowed_s_out);

/* List the operations of passes that run one behind the other on a rank, in order, from time 0 with
 * all inputs there; operations that do not run are left out.
 *  passes: [count], none with repeating segments.  end_s: [segments of the longest].  ops_out:
 * [segments of all].  Returns how many. */
int ms_pass_ops(const ms_pass_view *passes, int count, double *end_s, ms_pass_op *ops_out);

#endif
