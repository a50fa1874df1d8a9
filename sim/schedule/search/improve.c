/* Local improvement: where a rank idles, one of the passes behind the gap is tried in it; and
 * weight gradients are tried later, out of the way of passes that others wait for. */
#include <string.h>

#include "schedule/search/search.h"

/* How far behind a gap passes are looked for. */
enum { REACH = 12 };

typedef struct improver {
    ms_search_run *search;
    ms_program *program;
    ms_schedule_slot *slots; /* [actions] of the program as it is */
    ms_action *kept;         /* [3VM] a rank's list before the last move */
    ms_score *score;
    long last; /* evaluation */
} improver;

/* Take the pass at `from` out and put it in at `to`. */
static void move(ms_action *actions, size_t from, size_t to) {
    ms_action moved = actions[from];
    if (to <= from) {
        memmove(&actions[to + 1], &actions[to], (from - to) * sizeof *actions);
    } else {
        memmove(&actions[from], &actions[from + 1], (to - from) * sizeof *actions);
    }
    actions[to] = moved;
}

/* Passes of a kind and stage keep the order of their microbatches, whichever was moved. */
static void renumber(const ms_program *program, ms_action *actions, size_t count) {
    int next[MS_PASS_COUNT][2] = {{0}};
    for (size_t i = 0; i < count; i++) {
        actions[i].mb = next[actions[i].pass][program->stage_chunk[actions[i].stage]]++;
    }
}

/* Move a pass of a rank; false, and all as before, if that does not help. */
static bool try_move(improver *it, int rank, size_t from, size_t to) {
    size_t first = it->program->first[rank];
    size_t count = it->program->first[rank + 1] - first;
    ms_action *actions = &it->program->actions[first];
    const ms_action *moved = &actions[from - first], *there = &actions[to - first];
    if (moved->pass == there->pass && moved->stage == there->stage && from != to + 1 &&
        to != from + 1) {
        return false; /* the same order as a shorter move makes */
    }
    memcpy(it->kept, actions, count * sizeof *actions);
    move(actions, from - first, to - first);
    renumber(it->program, actions, count);
    ms_score score;
    if (ms_search_score(it->search, it->program, NULL, &score) &&
        ms_score_is_better(&score, it->score)) {
        /* score the order once more, for the times of its passes */
        return ms_search_score(it->search, it->program, it->slots, it->score);
    }
    memcpy(actions, it->kept, count * sizeof *actions);
    return false;
}

static bool is_spent(const improver *it) {
    return it->search->evaluations >= it->last;
}

/* Gaps of a rank, from its start on; true once a move helped. */
static bool fill_gaps(improver *it, int rank) {
    const ms_program *program = it->program;
    size_t end = program->first[rank + 1];
    for (size_t at = program->first[rank] + 1; at < end; at++) {
        double gap = it->slots[at].start - it->slots[at - 1].end;
        if (gap <= 1e-12 * (1 + it->slots[at].start)) {
            continue;
        }
        for (size_t from = at + 1; from < end && from <= at + REACH && !is_spent(it); from++) {
            if (try_move(it, rank, from, at)) {
                return true;
            }
        }
    }
    return false;
}

/* Weight gradients of a rank behind later passes; true once a move helped. */
static bool put_off(improver *it, int rank) {
    const ms_program *program = it->program;
    size_t end = program->first[rank + 1];
    for (size_t from = program->first[rank]; from < end; from++) {
        if (program->actions[from].pass != MS_PASS_W) {
            continue;
        }
        for (size_t distance = 1; !is_spent(it); distance *= 2) {
            size_t to = from + distance < end ? from + distance : end - 1;
            if (to > from && try_move(it, rank, from, to)) {
                return true;
            }
            if (to == end - 1) {
                break;
            }
        }
    }
    return false;
}

static void improve(improver *it) {
    bool has_improved = ms_search_score(it->search, it->program, it->slots, it->score);
    while (has_improved && !is_spent(it)) {
        has_improved = false;
        for (int rank = 0; rank < it->program->spec.pipeline_ranks; rank++) {
            while (!is_spent(it) && (fill_gaps(it, rank) || put_off(it, rank))) {
                has_improved = true;
            }
        }
    }
}

ms_status ms_search_improve(ms_search_run *search, long effort, ms_program *program,
                            ms_score *score) {
    size_t count = program->first[program->spec.pipeline_ranks];
    ms_arena scratch;
    ms_arena_init(&scratch);
    improver it = {.search = search,
                   .program = program,
                   .score = score,
                   .last = search->evaluations + effort,
                   .slots = MS_NEW(&scratch, ms_schedule_slot, count),
                   .kept = MS_NEW(&scratch, ms_action, program->first[1])};
    ms_status status = MS_OK;
    if (it.slots == NULL || it.kept == NULL) {
        status = ms_diag_no_memory(search->diag);
    } else {
        improve(&it);
    }
    ms_arena_release(&scratch);
    return status;
}
