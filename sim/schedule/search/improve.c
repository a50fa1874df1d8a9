/* Local improvement of a schedule that the search has found (ms_search_improve). Two kinds of moves
 * within a rank's list are tried one by one: a pass behind an idle gap is moved to the start of the
 * gap, and a weight gradient is moved to a later index, out of the way of passes whose results
 * other ranks need. After each move the whole program is evaluated anew, and the move is kept if
 * its score is better (ms_score). */
#include <string.h>

#include "schedule/search/search.h"

/* Maximum distance in the list, behind a gap, of a pass that is tried at the start of the gap. */
enum { REACH = 12 };

/* An improvement under way. */
typedef struct improver {
    ms_search_run *search;
    ms_program *program;
    ms_schedule_slot *slots; /* [actions] of the program as it is */
    ms_action *kept;         /* [3VM] a rank's list before the last move */
    ms_score *score;         /* of the program as it is */
    long last;               /* number of evaluations of the search at which to stop */
} improver;

/* Move the pass at index `from` of a list to index `to`; the passes between shift by one. */
static void move(ms_action *actions, size_t from, size_t to) {
    ms_action moved = actions[from];
    if (to <= from) {
        memmove(&actions[to + 1], &actions[to], (from - to) * sizeof *actions);
    } else {
        memmove(&actions[from], &actions[from + 1], (to - from) * sizeof *actions);
    }
    actions[to] = moved;
}

/* Number the microbatches of every kind of pass and stage anew, in ascending order along a rank's
 * list, since a moved pass may now be on the other side of a pass of its kind and stage. */
static void renumber(const ms_program *program, ms_action *actions, size_t count) {
    int next[MS_PASS_COUNT][2] = {{0}};
    for (size_t i = 0; i < count; i++) {
        actions[i].mb = next[actions[i].pass][program->stage_chunk[actions[i].stage]]++;
    }
}

/* Move a pass in a rank's list. Returns whether the score gets better; else restores the list.
 * from, to: indices of actions of the program. */
static bool try_move(improver *it, int rank, size_t from, size_t to) {
    size_t first = it->program->first[rank];
    size_t count = it->program->first[rank + 1] - first;
    ms_action *actions = &it->program->actions[first];
    const ms_action *moved = &actions[from - first], *there = &actions[to - first];
    /* if the pass at `to` is of the same kind and stage, the list after renumbering is that of a
     * move by one index less */
    if (moved->pass == there->pass && moved->stage == there->stage && from != to + 1 &&
        to != from + 1) {
        return false;
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

/* Whether the evaluations allowed are used up. */
static bool is_spent(const improver *it) {
    return it->search->evaluations >= it->last;
}

/* Try to move a pass into an idle gap of a rank, from its first gap on. Returns true after the
 * first move that helps. */
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

/* Try to move a weight gradient of a rank later in its list by 1, 2, 4, ... indices, to the end of
 * the list at most. Returns true after the first move that helps. */
static bool put_off_weights(improver *it, int rank) {
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

/* Try moves on all ranks in turn until a round over the ranks brings none that helps. */
static void improve(improver *it) {
    bool has_improved = ms_search_score(it->search, it->program, it->slots, it->score);
    while (has_improved && !is_spent(it)) {
        has_improved = false;
        for (int rank = 0; rank < it->program->spec.pipeline_ranks; rank++) {
            while (!is_spent(it) && (fill_gaps(it, rank) || put_off_weights(it, rank))) {
                has_improved = true;
            }
        }
    }
}

/* Improve a schedule by moves of single passes. All ranks have equally many passes, so the list
 * saved for undoing a move has the length of rank 0's. */
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
