/* A lower bound of the span (first start to last end) of a rank, for all schedules under a memory
 * cap with one stage per rank or two in a V. With it the search proves a schedule optimal, or a cap
 * useless. The bound is the larger of two: the rank's work plus the idle time that no order avoids,
 * and the time for which activations must be held, shared by the activations that the cap allows at
 * once. K is the cap: the maximum number of activations, each of one microbatch on one stage (a
 * chunk), that the rank holds from the start of F to the end of W. F0, I0, W0 are the passes of
 * chunk 0 (stage r), F1, I1, W1 those of chunk 1 (stage 2P-1-r). */
#include <math.h>

#include "schedule/schedule_search.h"
#include "schedule/search/search.h"

/* Durations of a rank's passes, and the shortest times that a microbatch takes from one of them to
 * the next. Ways add up the passes of the stages between and the latencies of all boundaries on
 * them. */
ms_rank_durations ms_search_rank_way(const ms_search_spec *spec, const ms_schedule_costs *costs,
                                     int rank) {
    int ranks = spec->pipeline_ranks;
    /* the rank's first and last stage */
    int a = rank;
    int b = spec->chunks == 2 ? 2 * ranks - 1 - rank : rank;
    ms_rank_durations found = {.forward = {costs->forward[a]},
                               .input = {costs->input_grad[a]},
                               .weight = {costs->weight_grad[a]}};
    if (spec->chunks == 2) {
        found.forward[1] = costs->forward[b];
        found.input[1] = costs->input_grad[b];
        found.weight[1] = costs->weight_grad[b];
        for (int s = a; s < b; s++) {
            double latency = s == ranks - 1 ? 0 : costs->p2p[s]; /* stages P-1 and P share a rank */
            found.down += latency + (s > a ? costs->forward[s] : 0);
            found.up += latency + (s > a ? costs->input_grad[s] : 0);
        }
    }
    /* from the rank's last stage to the last stage of the model and back */
    for (int s = b + 1; s < spec->chunks * ranks; s++) {
        found.turn += costs->forward[s] + costs->input_grad[s] + 2 * costs->p2p[s - 1];
    }
    return found;
}

/* The smaller of two numbers. */
static double least(double a, double b) {
    return a < b ? a : b;
}

/* Maximum of n one + k other over n and k from 1 to `most` with n + k <= cap: the most work that up
 * to `cap` chunks of two kinds make, when one of the first kind takes `one` and one of the second
 * `other`. */
static double most_work(double cap, double most, double one, double other) {
    double n = least(most, cap - 1);
    double rest = least(most, cap - n);
    return fmax(n * one + rest * other, rest * one + n * other);
}

/* Idle time that a rank with one stage cannot avoid. cap: K.
 *  - Head: from its first start to its first I, the first microbatch travels to the last rank and
 *    back. Meanwhile the rank can run only forward passes, at most K of them, as no W has freed an
 *    activation.
 *  - Tail: from the end of its last F, the last microbatch travels to the last rank and back, and
 *    has its I and W. Meanwhile the rank can run only I and W of the activations that it holds, at
 *    most K.
 *
 * With more than K microbatches the first W precedes the last F. Then the head ends before the tail
 * begins, and their idle times add up. */
static double forced_idle_of_line(const ms_rank_durations *way, double cap, double microbatches) {
    double chunks = least(cap, microbatches);
    double gradient = way->input[0] + way->weight[0];
    double head = fmax(0, way->forward[0] + way->turn - chunks * way->forward[0]);
    double tail = fmax(0, way->turn + gradient - chunks * gradient);
    return microbatches > cap ? head + tail : fmax(head, tail);
}

/* Idle time that a rank with two stages in a V cannot avoid. F0, I0, W0 are the passes of chunk 0,
 * F1, I1, W1 those of chunk 1; cap: K. There are three intervals from the rank's first start on
 * (head), and three that end with its last pass (tail). Each is at least as long as one microbatch
 * takes to travel between the passes named. Memory and order limit the work that the rank can run
 * meanwhile: K activations at most, of which at most M are of either chunk, and none is freed
 * before its W. What the work does not fill is idle.
 *  - To the start of the first F1: only F0, at most K - 1, as F1 needs an activation, too: head[0].
 *  - To the start of the first I1: F0 and F1, K together, and no more F1 than F0: head[1].
 *  - To the start of the first I0: no chunk 0 has been set free, so at most K of them, and K - 1
 *    of chunk 1, as each F1 adds to the activation of its own chunk 0: head[2].
 *  - From the end of the last F0 on: the other passes of at most K microbatches: tail[2].
 *  - From the end of the last F1 on: no forward pass; I and W of what is held, K: tail[1].
 *  - From the end of the last I1 on: I0 and W0 of chunks 0, W1 of chunks 1, K together: tail[0].
 * The first F1 starts before the last F1 ends and before the last I1 ends, and the first I1 starts
 * before the last I1 ends: these pairs of intervals do not overlap, and their idle times add up. */
static double forced_idle_of_v(const ms_rank_durations *way, double cap, double microbatches) {
    double gradient[2] = {way->input[0] + way->weight[0], way->input[1] + way->weight[1]};
    double chunks = least(cap, microbatches);
    double pairs = least(cap - 1, microbatches);
    double to_chunk1 = way->forward[0] + way->down;
    double to_input1 = to_chunk1 + way->forward[1] + way->turn;
    double to_input0 = to_input1 + way->input[1] + way->up;
    /* head[1]: the larger work of two choices of F0 and F1, as many F0 as possible or as many F1 */
    double both = least(floor(cap / 2), microbatches);
    double forwards =
        fmax(pairs * way->forward[0] + least(pairs, cap - pairs) * way->forward[1],
             least(cap - both, microbatches) * way->forward[0] + both * way->forward[1]);
    double head[3] = {
        fmax(0, to_chunk1 - pairs * way->forward[0]),
        fmax(0, to_input1 - forwards),
        fmax(0, to_input0 - chunks * way->forward[0] - pairs * (way->forward[1] + gradient[1])),
    };
    double from_input1 = fmax(way->up + gradient[0], way->weight[1]);
    double from_forward1 = way->turn + way->input[1] + from_input1;
    double from_forward0 = way->down + way->forward[1] + from_forward1;
    double tail[3] = {
        fmax(0, from_input1 - most_work(cap, microbatches, gradient[0], way->weight[1])),
        fmax(0, from_forward1 - most_work(cap, microbatches, gradient[0], gradient[1])),
        fmax(0, from_forward0 - chunks * (way->forward[1] + gradient[0] + gradient[1])),
    };
    double start = fmax(head[0], head[1]); /* the second interval contains the first */
    double end = fmax(tail[0], tail[1]);
    double idle = fmax(head[0] + end, start + tail[0]);
    return fmax(idle, fmax(head[2], tail[2]));
}

/* Bound of the span from memory. The activation of chunk 0 is held at least while its microbatch
 * travels from this stage to the last one and back, that of chunk 1 likewise, and at most K are
 * held at a time: so the span is at least the sum of these times over all microbatches, divided by
 * K. Besides, the K activations are taken one forward pass after the other at the start, and freed
 * one weight gradient after the other at the end. Each of these two ramps wastes K (K-1) / 2 times
 * the duration of a pass, the shorter one of the two chunks. The ramps do not overlap: K - 1
 * forward passes and K - 1 weight gradients take less than the rank's own work, as K is at most the
 * number of its activations. cap: K. */
static double memory_bound(const ms_search_spec *spec, const ms_rank_durations *way, double cap) {
    double chunk1 = way->forward[1] + way->turn + way->input[1] + way->weight[1];
    double chunk0 = way->forward[0] + way->down + way->forward[1] + way->turn + way->input[1] +
                    way->up + way->input[0] + way->weight[0];
    double slope = way->forward[0] + way->weight[0];
    if (spec->chunks == 2) {
        slope = least(way->forward[0], way->forward[1]) + least(way->weight[0], way->weight[1]);
    }
    double held = chunk0 + (spec->chunks == 2 ? chunk1 : 0);
    return spec->microbatches * held / cap + slope * (cap - 1) / 2;
}

/* Lower bound of the span of a rank: the larger of its work plus unavoidable idle time, and of the
 * bound from memory. No cap is the same as one activation per stage and microbatch. */
double ms_search_rank_bound(const ms_search_spec *spec, const ms_rank_durations *way) {
    double microbatches = spec->microbatches;
    double most = spec->chunks * microbatches;
    double cap = spec->memory_cap == 0 ? most : least(spec->memory_cap, most);
    double work = way->forward[0] + way->input[0] + way->weight[0] + way->forward[1] +
                  way->input[1] + way->weight[1];
    double idle = spec->chunks == 2 ? forced_idle_of_v(way, cap, microbatches)
                                    : forced_idle_of_line(way, cap, microbatches);
    return fmax(microbatches * work + idle, memory_bound(spec, way, cap));
}

/* Lower bound of the longest span of any schedule of this shape under the cap. The span of a
 * schedule is that of its longest rank, so the largest bound of a rank counts. */
double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out) {
    ms_search_spec full = *spec;
    full.chunks = spec->chunks == 0 ? 1 : spec->chunks;
    double bound = 0;
    for (int rank = 0; rank < spec->pipeline_ranks; rank++) {
        ms_rank_durations way = ms_search_rank_way(&full, costs, rank);
        double span = ms_search_rank_bound(&full, &way);
        if (span > bound) {
            bound = span;
            *rank_out = rank;
        }
    }
    return bound;
}
