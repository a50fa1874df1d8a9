/* Where a rank's list gathers the sharded parameters of whole stages and gives them up again.
 * Source: torch.distributed.pipelining.schedules, _add_unshard_reshard. */
#include "schedule/shards.h"

#include <stdio.h>
#include <string.h>

/* A stage that the rest of the list still has passes of. */
typedef struct upcoming {
    size_t at; /* its next pass */
    int16_t stage;
} upcoming;

/* A walk through one list. */
typedef struct walk {
    const ms_action *actions;
    size_t count;
    size_t *next;    /* [count] the next pass of the same stage; `count`: none */
    upcoming *order; /* [stages] in the order of their next passes; the first `waiting` hold */
    int waiting;
    int16_t *gathered; /* [stages] gathered stages, ascending; the first `held` hold */
    int held;
    ms_vector *moves; /* of ms_shard_move */
} walk;

static void insert(walk *w, upcoming entry) {
    int at = w->waiting++;
    for (; at > 0 && w->order[at - 1].at > entry.at; at--) {
        w->order[at] = w->order[at - 1];
    }
    w->order[at] = entry;
}

/* Link the passes of each stage, and list each stage's first one. */
static void look_ahead(walk *w, size_t *first, int stages) {
    for (int stage = 0; stage < stages; stage++) {
        first[stage] = w->count;
    }
    for (size_t i = w->count; i > 0; i--) {
        int stage = w->actions[i - 1].stage;
        w->next[i - 1] = first[stage];
        first[stage] = i - 1;
    }
    for (int stage = 0; stage < stages; stage++) {
        if (first[stage] < w->count) {
            insert(w, (upcoming){.at = first[stage], .stage = (int16_t)stage});
        }
    }
}

/* Leave the pass at hand, which is that of the first stage in order. */
static void advance(walk *w) {
    upcoming entry = w->order[0];
    w->waiting--;
    memmove(w->order, w->order + 1, (size_t)w->waiting * sizeof *w->order);
    entry.at = w->next[entry.at];
    if (entry.at < w->count) {
        insert(w, entry);
    }
}

/* Stages in order that are wanted now: the next `active` ones; an overlapped pair counts whole. */
static int count_wanted(const walk *w, int active) {
    if (w->waiting <= active) {
        return w->waiting;
    }
    size_t last = w->order[active - 1].at;
    bool is_parted = w->actions[last].is_overlapped != 0 && w->order[active].at == last + 1;
    return active + is_parted;
}

static void move(walk *w, size_t before, int stage, bool is_gather) {
    ms_shard_move entry = {.before = before, .stage = (int16_t)stage, .is_gather = is_gather};
    ms_vector_add(w->moves, &entry, 1);
}

static bool is_wanted(const walk *w, int wanted, int stage) {
    for (int i = 0; i < wanted; i++) {
        if (w->order[i].stage == stage) {
            return true;
        }
    }
    return false;
}

static void give_up(walk *w, size_t before, int wanted) {
    int kept = 0;
    for (int i = 0; i < w->held; i++) {
        if (is_wanted(w, wanted, w->gathered[i])) {
            w->gathered[kept++] = w->gathered[i];
        } else {
            move(w, before, w->gathered[i], false);
        }
    }
    w->held = kept;
}

static void gather(walk *w, size_t before, int16_t stage) {
    int at = w->held;
    for (; at > 0 && w->gathered[at - 1] > stage; at--) {
    }
    if (at > 0 && w->gathered[at - 1] == stage) {
        return;
    }
    move(w, before, stage, true);
    memmove(w->gathered + at + 1, w->gathered + at, (size_t)(w->held - at) * sizeof *w->gathered);
    w->gathered[at] = stage;
    w->held++;
}

static void walk_list(walk *w, int active) {
    for (size_t i = 0; i < w->count; i++) {
        bool is_second = i > 0 && w->actions[i - 1].is_overlapped != 0;
        int wanted = is_second ? 0 : count_wanted(w, active);
        if (!is_second) {
            give_up(w, i, wanted);
        }
        for (int k = 0; k < wanted; k++) {
            gather(w, i, w->order[k].stage);
        }
        advance(w);
    }
    give_up(w, w->count, 0);
}

bool ms_shard_list(const ms_action *actions, size_t count, int stages, int active,
                   ms_vector *moves) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    walk w = {.actions = actions,
              .count = count,
              .next = MS_NEW(&scratch, size_t, count),
              .order = MS_NEW(&scratch, upcoming, stages),
              .gathered = MS_NEW(&scratch, int16_t, stages),
              .moves = moves};
    size_t *first = MS_NEW(&scratch, size_t, stages);
    bool is_short = w.next == NULL || w.order == NULL || w.gathered == NULL || first == NULL;
    if (!is_short) {
        look_ahead(&w, first, stages);
        walk_list(&w, active);
    }
    ms_arena_release(&scratch);
    return !is_short && !moves->failed;
}

ms_status ms_program_place_shards(ms_program *program, int active, ms_arena *arena, ms_diag *diag) {
    ms_vector moves;
    ms_vector_init(&moves, sizeof(ms_shard_move));
    int ranks = program->spec.pipeline_ranks;
    size_t *first = MS_NEW(arena, size_t, ranks + 1);
    bool is_fine = first != NULL;
    for (int rank = 0; rank < ranks && is_fine; rank++) {
        size_t start = program->first[rank], count = program->first[rank + 1] - start;
        is_fine = ms_shard_list(program->actions + start, count, program->stages, active, &moves);
        for (size_t i = first[rank]; i < moves.count; i++) {
            MS_AT(&moves, ms_shard_move, i).before += start;
        }
        first[rank + 1] = moves.count;
    }
    ms_shard_move *kept = is_fine ? MS_NEW(arena, ms_shard_move, moves.count) : NULL;
    for (size_t i = 0; kept != NULL && i < moves.count; i++) {
        kept[i] = MS_AT(&moves, ms_shard_move, i);
    }
    ms_vector_release(&moves);
    if (kept == NULL) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    program->shard_first = first;
    program->shard_moves = kept;
    return MS_OK;
}

/* ---- the rule of any placement ---- */

/* What a stage's parameters are. */
enum { SHARDED, GATHERED, USED };

typedef struct checker {
    const ms_program *program;
    const ms_fault_place *place;
    ms_diag *diag;
    uint8_t *state; /* [stages] */
} checker;

static ms_status fault(const checker *c, int rank, int64_t index, const char *what) {
    if (c->place == NULL) {
        ms_diag_error(c->diag, "rank %d: %s", rank, what);
    } else {
        c->place->report(c->place->context, rank, index, what);
    }
    return MS_E_INPUT;
}

static ms_status check_move(const checker *c, int rank, const ms_shard_move *m) {
    uint8_t *state = &c->state[m->stage];
    bool is_wrong = m->is_gather ? *state != SHARDED : *state != USED;
    if (is_wrong) {
        char what[128];
        const char *why = m->is_gather         ? "gathers what is gathered already"
                          : *state == GATHERED ? "gives up what no pass has used"
                                               : "gives up what is not gathered";
        snprintf(what, sizeof what, "'%d%s' before this place %s", m->stage,
                 m->is_gather ? "UNSHARD" : "RESHARD", why);
        bool is_end = m->before == c->program->first[rank + 1];
        return fault(c, rank, is_end ? -1 : (int64_t)m->before, what);
    }
    *state = m->is_gather ? GATHERED : SHARDED;
    return MS_OK;
}

static ms_status check_pass(const checker *c, int rank, size_t index) {
    const ms_action *action = &c->program->actions[index];
    uint8_t *state = &c->state[action->stage];
    if (*state == SHARDED) {
        char what[128];
        snprintf(what, sizeof what, "'%d%s%d' comes while the stage's parameters are not gathered",
                 action->stage, ms_pass_name((ms_pass)action->pass), action->mb);
        return fault(c, rank, (int64_t)index, what);
    }
    *state = USED;
    return MS_OK;
}

static ms_status check_rank(const checker *c, int rank) {
    const ms_program *program = c->program;
    size_t next = program->shard_first[rank], end = program->shard_first[rank + 1];
    ms_status status = MS_OK;
    for (size_t i = program->first[rank]; i <= program->first[rank + 1] && status == MS_OK; i++) {
        for (; next < end && program->shard_moves[next].before == i && status == MS_OK; next++) {
            status = check_move(c, rank, &program->shard_moves[next]);
        }
        if (i < program->first[rank + 1] && status == MS_OK) {
            status = check_pass(c, rank, i);
        }
    }
    for (int stage = 0; stage < program->stages && status == MS_OK; stage++) {
        if (program->stage_rank[stage] == rank && c->state[stage] != SHARDED) {
            char what[96];
            snprintf(what, sizeof what, "stage %d is gathered and never given up (RESHARD)", stage);
            status = fault(c, rank, -1, what);
        }
    }
    return status;
}

ms_status ms_shards_check(const ms_program *program, const ms_fault_place *place, ms_arena *scratch,
                          ms_diag *diag) {
    checker c = {.program = program,
                 .place = place,
                 .diag = diag,
                 .state = MS_NEW(scratch, uint8_t, program->stages)};
    if (c.state == NULL) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    ms_status status = MS_OK;
    for (int rank = 0; rank < program->spec.pipeline_ranks && status == MS_OK; rank++) {
        status = program->shard_moves == NULL ? MS_OK : check_rank(&c, rank);
    }
    return status;
}
