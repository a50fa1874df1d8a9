/* Moments of a pipeline rank: the counts of its memory model (rank_memory.h) between two actions of
 * its list. Most moments cannot be the peak, as another moment has at least as much of everything.
 * They are dropped once per order of passes; the peak is then the heaviest of the rest, for any
 * costs. See decision note rank_memory.md. */
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "estimate/rank_memory.h"

/* Number of the newest moments with which a new one is compared. Lists of passes soon repeat
 * themselves, so that few moments are left; in other lists more moments are kept than necessary. */
enum { COMPARED_MAX = 12 };

/* Set the model to a moment of its rank.  moment: [model->width]. */
static void turn_to_moment(ms_memory_model *model, const int *moment) {
    memcpy(model->counts, moment, (size_t)model->width * sizeof *moment);
}

/* Whether a moment has at least as many of everything as another one.  one, other: [width] counts.
 */
static bool has_as_many(const int *one, const int *other, int width) {
    for (int i = 0; i < width; i++) {
        if (one[i] < other[i]) {
            return false;
        }
    }
    return true;
}

/* Keep the newest moment of a rank, which is at the end of the list, unless an earlier one
 * dominates it: has at least as many of everything. Earlier moments that the new one dominates are
 * dropped.  all: counts of moments, [width] each.  rank_first: index of the rank's first count. */
static void keep_moment(ms_vector *all, size_t rank_first, int width) {
    size_t size = (size_t)width, end = all->count - size;
    size_t compared = end - rank_first;
    compared = compared > COMPARED_MAX * size ? COMPARED_MAX * size : compared;
    int *items = all->data;
    const int *moment = items + end;
    size_t to = end - compared;
    /* newest first: as lists repeat themselves, a recent moment is likely to dominate */
    for (size_t from = end; from > to; from -= size) {
        if (has_as_many(items + from - size, moment, width)) {
            all->count = end; /* drops the new moment; it dominates no earlier one, as the moment
                                 that dominates it would have dropped that one before */
            return;
        }
    }
    for (size_t from = to; from <= end; from += size) {
        if (from == end || !has_as_many(moment, items + from, width)) {
            if (to != from) {
                memmove(items + to, items + from, size * sizeof *items);
            }
            to += size;
        }
    }
    all->count = to;
}

/* Append the counts of the rank at which the model is as a moment, and keep or drop it. rank_first:
 * index of the rank's first count in `all`. */
static void add_moment(const ms_memory_model *model, size_t rank_first, ms_vector *all) {
    if (model->width > 0 && ms_vector_add(all, model->counts, (size_t)model->width) != NULL) {
        keep_moment(all, rank_first, model->width);
    }
}

/* Append the moments of a rank, in the order of its list of actions. Memory is highest when the
 * actions of a stop have started and none of them has ended.  Returns the maximum number of (stage,
 * microbatch) pairs whose activations the rank keeps. */
static int follow_rank(ms_memory_model *model, int rank, ms_vector *all) {
    ms_rank_cursor cursor = ms_rank_begin(model->program, rank);
    ms_program_stop stop;
    int most = 0, inflight = 0;
    size_t rank_first = all->count;
    ms_memory_model_set_rank(model, rank);
    add_moment(model, rank_first, all);
    while (ms_rank_next(&cursor, &stop)) {
        for (size_t i = 0; i < stop.move_count; i++) {
            ms_memory_model_move(model, &stop.moves[i]);
        }
        for (int member = 0; member < stop.width; member++) {
            ms_memory_model_start(model, &stop.actions[member]);
            inflight += stop.actions[member].pass == MS_PASS_F;
        }
        add_moment(model, rank_first, all);
        most = inflight > most ? inflight : most;
        for (int member = 0; member < stop.width; member++) {
            ms_pass pass = (ms_pass)stop.actions[member].pass;
            ms_memory_model_end(model, &stop.actions[member]);
            inflight -= pass == MS_PASS_B || pass == MS_PASS_W;
        }
    }
    return most;
}

ms_status ms_memory_moments_find(ms_memory_model *model, ms_arena *arena,
                                 ms_memory_moments *moments_out) {
    int ranks = model->program->spec.pipeline_ranks;
    ms_memory_moments moments = {.first = MS_NEW(arena, size_t, ranks + 1),
                                 .inflight = MS_NEW(arena, int, ranks)};
    ms_vector all;
    ms_vector_init(&all, sizeof(int));
    bool is_short = moments.first == NULL || moments.inflight == NULL;
    for (int p = 0; p < ranks && !is_short; p++) {
        moments.inflight[p] = follow_rank(model, p, &all);
        moments.first[p + 1] = all.count;
    }
    moments.counts = ms_vector_keep(&all, arena);
    if (is_short || moments.counts == NULL) {
        return MS_E_NOMEM;
    }
    *moments_out = moments;
    return MS_OK;
}

/* The bytes of a rank that are the same in all of its moments. */
typedef struct fixed_bytes {
    double parameter_B, gradient_B, optimizer_B, framework_B;
} fixed_bytes;

/* Whether parameters and gradients of the rank have the same bytes in all moments: none of its
 * stages gathers whole parameters, or whole gradients for a round, that weigh anything. */
static bool has_fixed_states(const ms_memory_model *model) {
    bool is_fixed = true;
    for (int local_stage = 0; local_stage < model->stage_count; local_stage++) {
        const ms_stage_memory *memory = model->memory[local_stage * model->slices];
        is_fixed = is_fixed &&
                   (model->program->shard_moves == NULL || memory->unsharded_B == 0.0) &&
                   (model->program->round <= 0 || memory->round_B == 0.0);
    }
    return is_fixed;
}

/* The fixed bytes of the rank.  model: has just entered the rank, so that no action runs. */
static fixed_bytes find_fixed(const ms_memory_model *model) {
    ms_held_memory held = ms_memory_model_weigh(model); /* nothing runs, nothing is kept */
    return (fixed_bytes){held.parameter_B, held.gradient_B, held.optimizer_B, held.framework_B};
}

/* ms_held_memory.total_B of a moment with fixed states, with the same sums as ms_memory_model_weigh
 * but without the rest of its result: weighing moments is most of a search's work on memory. */
static double weigh_total_B(const ms_memory_model *model, const fixed_bytes *fixed,
                            const int *moment) {
    int stage_slices = model->stage_count * model->slices;
    double activation_B = 0.0, buffer_B = 0.0;
    for (int i = 0; i < stage_slices; i++) {
        activation_B += moment[i] * model->memory[i]->activation_B;
        buffer_B += moment[stage_slices + i] * model->memory[i]->working_B;
    }
    double other_B =
        fixed->framework_B + model->costs->allocator_overhead * (activation_B + buffer_B);
    return fixed->parameter_B + fixed->gradient_B + fixed->optimizer_B + activation_B + buffer_B +
           other_B;
}

/* Find the first of a rank's moments with the largest total.  model: has just entered the rank.
 *  *total_B_out: its total; 0 where the rank has no moments.  Returns the index of its first count.
 */
static size_t find_peak(ms_memory_model *model, const ms_memory_moments *moments, int rank,
                        double *total_B_out) {
    fixed_bytes fixed = find_fixed(model);
    bool is_fixed = has_fixed_states(model);
    size_t peak = moments->first[rank], width = (size_t)model->width;
    *total_B_out = 0.0;
    for (size_t at = peak; at < moments->first[rank + 1]; at += width) {
        const int *moment = moments->counts + at;
        double total_B = 0.0;
        if (is_fixed) {
            total_B = weigh_total_B(model, &fixed, moment);
        } else {
            turn_to_moment(model, moment);
            total_B = ms_memory_model_weigh(model).total_B;
        }
        if (at == moments->first[rank] || total_B > *total_B_out) {
            *total_B_out = total_B;
            peak = at;
        }
    }
    return peak;
}

ms_held_memory ms_memory_model_peak(ms_memory_model *model, const ms_memory_moments *moments,
                                    int rank) {
    double total_B = 0.0;
    ms_held_memory held = {0};
    ms_memory_model_set_rank(model, rank);
    size_t peak = find_peak(model, moments, rank, &total_B);
    if (peak < moments->first[rank + 1]) {
        turn_to_moment(model, moments->counts + peak);
        held = ms_memory_model_weigh(model);
    }
    held.inflight = moments->inflight[rank];
    return held;
}

double ms_memory_highest_B(ms_memory_model *model, const ms_memory_moments *moments) {
    double highest_B = 0.0;
    for (int p = 0; p < model->program->spec.pipeline_ranks; p++) {
        double rank_B = 0.0;
        ms_memory_model_set_rank(model, p);
        find_peak(model, moments, p, &rank_B);
        highest_B = fmax(highest_B, rank_B);
    }
    return highest_B;
}
