/* Moments in which a rank may hold most. See decision note rank_memory.md. */
#include <math.h>
#include <string.h>

#include "meshsim/buffer.h"
#include "meshsim/rank_memory.h"

/* Newest moments that a new one is compared with. Lists of passes soon repeat themselves, and then
 * few moments are left; where they do not, more are kept than need be. */
enum { COMPARED_MAX = 64 };

/* Counts of one moment of the rank that a model is turned to. */
static int width_of(const ms_memory_model *model) {
    return 2 * model->stage_count * (model->slices + 1);
}

/* The model's counts, in the order in which they stand in a moment. */
static void list_counts(const ms_memory_model *model, int *lists[4], size_t sizes[4]) {
    size_t stages = (size_t)model->stage_count, places = stages * (size_t)model->slices;
    int *const ALL[4] = {model->kept, model->running, model->unsharded, model->rounds};
    for (int i = 0; i < 4; i++) {
        lists[i] = ALL[i];
        sizes[i] = i < 2 ? places : stages;
    }
}

static void write_moment(const ms_memory_model *model, int *moment) {
    int *lists[4];
    size_t sizes[4];
    list_counts(model, lists, sizes);
    for (int i = 0; i < 4; i++) {
        memcpy(moment, lists[i], sizes[i] * sizeof *moment);
        moment += sizes[i];
    }
}

static void turn_to_moment(ms_memory_model *model, const int *moment) {
    int *lists[4];
    size_t sizes[4];
    list_counts(model, lists, sizes);
    for (int i = 0; i < 4; i++) {
        memcpy(lists[i], moment, sizes[i] * sizeof *moment);
        moment += sizes[i];
    }
}

/* Whether one moment has as many of everything as another one. */
static bool has_as_many(const int *one, const int *other, int width) {
    for (int i = 0; i < width; i++) {
        if (one[i] < other[i]) {
            return false;
        }
    }
    return true;
}

/* Add the moment behind the last one of a rank, unless one before has as many of everything; those
 * it has as many as go. */
static void keep_moment(ms_vector *all, size_t rank_first, int width) {
    size_t size = (size_t)width, end = all->count - size;
    size_t compared = end - rank_first;
    compared = compared > COMPARED_MAX * size ? COMPARED_MAX * size : compared;
    int *items = all->data;
    const int *moment = items + end;
    size_t to = end - compared;
    for (size_t from = end; from > to; from -= size) { /* lists soon come back to a moment */
        if (has_as_many(items + from - size, moment, width)) {
            all->count = end; /* none of those before it has gone, as it had as many as they */
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

static void add_moment(const ms_memory_model *model, ms_vector *all, size_t rank_first) {
    int width = width_of(model);
    int *moment = ms_vector_add(all, NULL, (size_t)width);
    if (moment != NULL && width > 0) {
        write_moment(model, moment);
        keep_moment(all, rank_first, width);
    }
}

/* All moments of one rank; returns how many results it keeps at most. */
static int add_rank(ms_memory_model *model, int rank, ms_vector *all) {
    ms_rank_cursor cursor = ms_rank_begin(model->program, rank);
    ms_program_stop stop;
    size_t rank_first = all->count;
    int most = 0, inflight = 0;
    ms_memory_model_enter(model, rank);
    add_moment(model, all, rank_first);
    while (ms_rank_next(&cursor, &stop)) {
        for (size_t i = 0; i < stop.move_count; i++) {
            ms_memory_model_move(model, &stop.moves[i]);
        }
        for (int member = 0; member < stop.width; member++) {
            ms_memory_model_start(model, &stop.actions[member]);
            inflight += stop.actions[member].pass == MS_PASS_F;
        }
        add_moment(model, all, rank_first);
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
    for (int p = 0; p < ranks && moments.first != NULL && moments.inflight != NULL; p++) {
        moments.inflight[p] = add_rank(model, p, &all);
        moments.first[p + 1] = all.count;
    }
    moments.counts = MS_NEW(arena, int, all.count);
    bool is_short =
        moments.first == NULL || moments.inflight == NULL || moments.counts == NULL || all.failed;
    if (!is_short && all.count > 0) {
        memcpy(moments.counts, all.data, all.count * sizeof(int));
    }
    if (!is_short) {
        *moments_out = moments;
    }
    ms_vector_release(&all);
    return is_short ? MS_E_NOMEM : MS_OK;
}

ms_held_memory ms_memory_model_peak(ms_memory_model *model, const ms_memory_moments *moments,
                                    int rank) {
    ms_memory_model_enter(model, rank);
    ms_held_memory peak = {0};
    size_t width = (size_t)width_of(model);
    for (size_t at = moments->first[rank]; at < moments->first[rank + 1]; at += width) {
        turn_to_moment(model, moments->counts + at);
        ms_held_memory now = ms_memory_model_weigh(model);
        bool is_first = at == moments->first[rank];
        peak = is_first || now.total_B > peak.total_B ? now : peak;
    }
    peak.inflight = moments->inflight[rank];
    return peak;
}

double ms_memory_highest_B(ms_memory_model *model, const ms_memory_moments *moments) {
    double highest_B = 0.0;
    for (int p = 0; p < model->program->spec.pipeline_ranks; p++) {
        highest_B = fmax(highest_B, ms_memory_model_peak(model, moments, p).total_B);
    }
    return highest_B;
}
