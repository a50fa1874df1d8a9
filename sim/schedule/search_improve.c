/* Local improvement: where a rank idles, one of the passes behind the gap is tried in it. */
#include <math.h>
#include <string.h>

#include "schedule/search.h"

/* How far behind a gap passes are looked for. */
enum { REACH = 12 };

typedef struct improver {
    ms_search *search;
    ms_program *program;
    ms_schedule_slot *slots; /* [actions] of the program as it is */
    ms_score *score;
} improver;

/* Take the pass at `from` out and put it in at `to`, to <= from; or back with swapped roles. */
static void move(ms_action *actions, size_t from, size_t to) {
    ms_action moved = actions[from];
    if (to <= from) {
        memmove(&actions[to + 1], &actions[to], (from - to) * sizeof *actions);
    } else {
        memmove(&actions[from], &actions[from + 1], (to - from) * sizeof *actions);
    }
    actions[to] = moved;
}

/* A pass may not pass its own forward or input gradient, nor one of its kind. */
static bool may_pass(const ms_action *moved, const ms_action *other) {
    return moved->pass != other->pass && moved->mb != other->mb;
}

static bool try_move(improver *it, size_t from, size_t to) {
    ms_action *actions = it->program->actions;
    for (size_t i = to; i < from; i++) {
        if (!may_pass(&actions[from], &actions[i])) {
            return false;
        }
    }
    move(actions, from, to);
    ms_score score;
    if (ms_search_score(it->search, it->program, NULL, &score) &&
        ms_score_is_better(&score, it->score)) {
        /* once more, for its times */
        return ms_search_score(it->search, it->program, it->slots, it->score);
    }
    move(actions, to, from);
    return false;
}

/* Gaps of a rank, from its start on; true once a move helped. */
static bool improve_rank(improver *it, int rank) {
    const ms_program *program = it->program;
    size_t end = program->first[rank + 1];
    for (size_t at = program->first[rank] + 1; at < end; at++) {
        double gap = it->slots[at].start - it->slots[at - 1].end;
        if (gap <= 1e-12 * (1 + it->slots[at].start)) {
            continue;
        }
        for (size_t from = at + 1; from < end && from <= at + REACH; from++) {
            if (it->search->evaluations >= it->search->spec.effort) {
                return false;
            }
            if (try_move(it, from, at)) {
                return true;
            }
        }
    }
    return false;
}

ms_status ms_search_improve(ms_search *search, ms_program *program, ms_score *score) {
    size_t count = program->first[program->spec.pipeline_ranks];
    improver it = {.search = search,
                   .program = program,
                   .score = score,
                   .slots = MS_NEW(search->arena, ms_schedule_slot, count)};
    if (it.slots == NULL) {
        ms_diag_error(search->diag, "out of memory");
        return MS_E_NOMEM;
    }
    bool has_improved = ms_search_score(search, program, it.slots, score);
    while (has_improved && search->evaluations < search->spec.effort) {
        has_improved = false;
        for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
            while (improve_rank(&it, rank)) {
                has_improved = true;
            }
        }
    }
    return MS_OK;
}
