/* The shortest span that any schedule under the cap can have. */
#include <math.h>

#include "schedule/schedule_search.h"
#include "schedule/search/search.h"

ms_rank_way ms_search_rank_way(const ms_search_spec *spec, const ms_schedule_costs *costs,
                               int rank) {
    int ranks = spec->pipeline_ranks;
    int a = rank;
    int b = spec->chunks == 2 ? 2 * ranks - 1 - rank : rank; /* the rank's last stage */
    ms_rank_way found = {.forward = {costs->forward[a]},
                         .input = {costs->input_grad[a]},
                         .weight = {costs->weight_grad[a]}};
    if (spec->chunks == 2) {
        found.forward[1] = costs->forward[b];
        found.input[1] = costs->input_grad[b];
        found.weight[1] = costs->weight_grad[b];
        for (int s = a; s < b; s++) {
            double latency = s == ranks - 1 ? 0 : costs->p2p[s];
            found.down += latency + (s > a ? costs->forward[s] : 0);
            found.up += latency + (s > a ? costs->input_grad[s] : 0);
        }
    }
    for (int s = b + 1; s < spec->chunks * ranks; s++) {
        found.turn += costs->forward[s] + costs->input_grad[s] + 2 * costs->p2p[s - 1];
    }
    return found;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

/* Most work of n chunks of one kind and k of another: n, k in 1..most, n + k <= cap. */
static double most_work(double cap, double most, double one, double other) {
    double n = least(most, cap - 1);
    double rest = least(most, cap - n);
    return fmax(n * one + rest * other, rest * one + n * other);
}

/* Idle time that a rank with one stage cannot avoid. K is the cap; nothing is set free before its
 * weight gradient.
 *  - From its first start to its first I, the first microbatch goes to the last rank and back: only
 *    forward passes run meanwhile, and K at most.
 *  - From the end of its last F on, that microbatch goes there and back, and has its gradients:
 *    meanwhile only I and W of what is held run, K at most.
 * With more than K microbatches the first W precedes the last F, so the two do not overlap. */
static double forced_idle_of_line(const ms_rank_way *r, double cap, double microbatches) {
    double chunks = least(cap, microbatches);
    double gradient = r->input[0] + r->weight[0];
    double head = fmax(0, r->forward[0] + r->turn - chunks * r->forward[0]);
    double tail = fmax(0, r->turn + gradient - chunks * gradient);
    return microbatches > cap ? head + tail : fmax(head, tail);
}

/* The same with two stages per rank in a V. Three intervals from its first start on, and three to
 * its end; in each, the way of one microbatch has to fit, and memory and order leave only so much
 * work to run meanwhile. K is the cap, no more than M chunks of either kind are ever held, and
 * nothing is set free before its weight gradient.
 *  - To the start of the first F1: only F0, at most K - 1 (F1 needs a place): head[0].
 *  - To the start of the first I1: F0 and F1, K together, and no more F1 than F0: head[1].
 *  - To the start of the first I0: no chunk 0 has been set free, so at most K of them, and K - 1
 *    of chunk 1, as each F1 takes place beside its own chunk 0: head[2].
 *  - From the end of the last F0 on: the rest of at most K microbatches: tail[2].
 *  - From the end of the last F1 on: no forward pass; I and W of what is held, K: tail[1].
 *  - From the end of the last I1 on: I0 and W0 of chunks 0, W1 of chunks 1, K together: tail[0].
 * The first F1 starts before the last F1 ends and before the last I1 ends, and the first I1 starts
 * before the last I1 ends: these pairs of intervals do not overlap, and their idle times add up. */
static double forced_idle_of_v(const ms_rank_way *r, double cap, double microbatches) {
    double gradient[2] = {r->input[0] + r->weight[0], r->input[1] + r->weight[1]};
    double chunks = least(cap, microbatches);
    double pairs = least(cap - 1, microbatches);
    double to_chunk1 = r->forward[0] + r->down;
    double to_input1 = to_chunk1 + r->forward[1] + r->turn;
    double to_input0 = to_input1 + r->input[1] + r->up;
    /* F0 and F1: as many of both as there is room for, or as many F0 as possible */
    double both = least(floor(cap / 2), microbatches);
    double forwards = fmax(pairs * r->forward[0] + least(pairs, cap - pairs) * r->forward[1],
                           least(cap - both, microbatches) * r->forward[0] + both * r->forward[1]);
    double head[3] = {
        fmax(0, to_chunk1 - pairs * r->forward[0]),
        fmax(0, to_input1 - forwards),
        fmax(0, to_input0 - chunks * r->forward[0] - pairs * (r->forward[1] + gradient[1])),
    };
    double from_input1 = fmax(r->up + gradient[0], r->weight[1]);
    double from_forward1 = r->turn + r->input[1] + from_input1;
    double from_forward0 = r->down + r->forward[1] + from_forward1;
    double tail[3] = {
        fmax(0, from_input1 - most_work(cap, microbatches, gradient[0], r->weight[1])),
        fmax(0, from_forward1 - most_work(cap, microbatches, gradient[0], gradient[1])),
        fmax(0, from_forward0 - chunks * (r->forward[1] + gradient[0] + gradient[1])),
    };
    double start = fmax(head[0], head[1]); /* the second interval contains the first */
    double end = fmax(tail[0], tail[1]);
    double idle = fmax(head[0] + end, start + tail[0]);
    return fmax(idle, fmax(head[2], tail[2]));
}

/* Memory: a chunk 0 is held at least for a microbatch's whole way from here and back, a chunk 1 for
 * the way to the last stage and back, and K at a time. Besides, the places fill up one forward pass
 * after the other and become free one weight gradient after the other, which wastes a triangle at
 * either end. They do not overlap: K - 1 of both are less than the rank's own work, as K is at most
 * the number of its chunks. */
static double memory_bound(const ms_search_spec *spec, const ms_rank_way *r, double cap) {
    double chunk1 = r->forward[1] + r->turn + r->input[1] + r->weight[1];
    double chunk0 = r->forward[0] + r->down + r->forward[1] + r->turn + r->input[1] + r->up +
                    r->input[0] + r->weight[0];
    double slope = r->forward[0] + r->weight[0];
    if (spec->chunks == 2) {
        slope = least(r->forward[0], r->forward[1]) + least(r->weight[0], r->weight[1]);
    }
    double held = chunk0 + (spec->chunks == 2 ? chunk1 : 0);
    return spec->microbatches * held / cap + slope * (cap - 1) / 2;
}

double ms_search_rank_bound(const ms_search_spec *spec, const ms_rank_way *r) {
    double microbatches = spec->microbatches;
    double most = spec->chunks * microbatches;
    double cap = spec->memory_cap == 0 ? most : least(spec->memory_cap, most);
    double work =
        r->forward[0] + r->input[0] + r->weight[0] + r->forward[1] + r->input[1] + r->weight[1];
    double idle = spec->chunks == 2 ? forced_idle_of_v(r, cap, microbatches)
                                    : forced_idle_of_line(r, cap, microbatches);
    return fmax(microbatches * work + idle, memory_bound(spec, r, cap));
}

double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out) {
    ms_search_spec full = *spec;
    full.chunks = spec->chunks == 0 ? 1 : spec->chunks;
    double bound = 0;
    for (int rank = 0; rank < spec->pipeline_ranks; rank++) {
        ms_rank_way r = ms_search_rank_way(&full, costs, rank);
        double span = ms_search_rank_bound(&full, &r);
        if (span > bound) {
            bound = span;
            *rank_out = rank;
        }
    }
    return bound;
}
