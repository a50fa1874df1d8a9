/* With ZeRO-3 (FSDP), a rank all-gathers the parameters of a whole stage before passes of the stage
 * (unshard) and frees them afterwards (reshard). This file places these two moves in a rank's list,
 * and checks the moves of any program. The rule: before each action (or overlapped pair), the rank
 * reshards every stage that is not among the next `active` different stages of its list, and
 * unshards those of the `active` stages that are sharded. Source:
 * torch.distributed.pipelining.schedules, _add_unshard_reshard. */
#include "schedule/unshard.h"

#include <string.h>

/* A stage with passes in the rest of the list. */
typedef struct upcoming {
    size_t at; /* index of the stage's next pass in the list */
    int16_t stage;
} upcoming;

/* The placement of moves in one rank's list, under way from its first pass to its last. */
typedef struct planner {
    const ms_action *actions;
    size_t count;
    size_t *next;    /* [count] the next pass of the same stage; `count`: none */
    upcoming *order; /* [stages] the first `waiting`: stages with passes left, by next pass */
    int waiting;
    int16_t *unsharded; /* [stages] unsharded stages, ascending; the first `held` are valid */
    int held;
    ms_vector *moves; /* of ms_shard_move */
} planner;

/* Insert a stage into `order`, which is sorted by the index of the next pass. */
static void insert_stage(planner *plan, upcoming entry) {
    int at = plan->waiting++;
    for (; at > 0 && plan->order[at - 1].at > entry.at; at--) {
        plan->order[at] = plan->order[at - 1];
    }
    plan->order[at] = entry;
}

/* Fill in `next` for every pass of the list, and `order` with all stages that have passes. first:
 * [stages] scratch; receives the index of each stage's first pass, `count` for a stage without
 * passes. */
static void look_ahead(planner *plan, size_t *first, int stages) {
    for (int stage = 0; stage < stages; stage++) {
        first[stage] = plan->count;
    }
    for (size_t i = plan->count; i > 0; i--) { /* backwards, so that first[] holds the next pass */
        int stage = plan->actions[i - 1].stage;
        plan->next[i - 1] = first[stage];
        first[stage] = i - 1;
    }
    for (int stage = 0; stage < stages; stage++) {
        if (first[stage] < plan->count) {
            insert_stage(plan, (upcoming){.at = first[stage], .stage = (int16_t)stage});
        }
    }
}

/* Go past the current pass. Its stage, the first in `order`, is entered again by the index of its
 * next pass, or is removed if it has no further pass. */
static void go_past_pass(planner *plan) {
    upcoming entry = plan->order[0];
    plan->waiting--;
    memmove(plan->order, plan->order + 1, (size_t)plan->waiting * sizeof *plan->order);
    entry.at = plan->next[entry.at];
    if (entry.at < plan->count) {
        insert_stage(plan, entry);
    }
}

/* Number of stages at the front of `order` that are to be unsharded now: `active` of them, or one
 * more where the next pass of the last of them is the first of an overlapped pair with that further
 * stage. */
static int count_wanted(const planner *plan, int active) {
    if (plan->waiting <= active) {
        return plan->waiting;
    }
    size_t last = plan->order[active - 1].at;
    bool is_parted = plan->actions[last].is_overlapped != 0 && plan->order[active].at == last + 1;
    return active + is_parted;
}

/* Append a move before the pass at index `before` of the list. */
static void add_move(planner *plan, size_t before, int stage, bool is_unshard) {
    ms_shard_move entry = {.before = before, .stage = (int16_t)stage, .is_unshard = is_unshard};
    ms_vector_add(plan->moves, &entry, 1);
}

/* Whether a stage is among the first `wanted` stages of `order`. */
static bool is_wanted(const planner *plan, int wanted, int stage) {
    for (int i = 0; i < wanted; i++) {
        if (plan->order[i].stage == stage) {
            return true;
        }
    }
    return false;
}

/* Reshard every unsharded stage that is not among the first `wanted` stages of `order`. before:
 * index of the pass before which this happens. */
static void reshard_unwanted(planner *plan, size_t before, int wanted) {
    int kept = 0;
    for (int i = 0; i < plan->held; i++) {
        if (is_wanted(plan, wanted, plan->unsharded[i])) {
            plan->unsharded[kept++] = plan->unsharded[i];
        } else {
            add_move(plan, before, plan->unsharded[i], false);
        }
    }
    plan->held = kept;
}

/* Unshard a stage unless it is unsharded already. */
static void unshard_stage(planner *plan, size_t before, int16_t stage) {
    int at = plan->held;
    for (; at > 0 && plan->unsharded[at - 1] > stage; at--) {
    }
    if (at > 0 && plan->unsharded[at - 1] == stage) {
        return;
    }
    add_move(plan, before, stage, true);
    memmove(plan->unsharded + at + 1, plan->unsharded + at,
            (size_t)(plan->held - at) * sizeof *plan->unsharded);
    plan->unsharded[at] = stage;
    plan->held++;
}

/* Append all moves of the list. Nothing is placed between the two passes of an overlapped pair: its
 * first pass takes care of both. At the end of the list everything is resharded. */
static void plan_list(planner *plan, int active) {
    for (size_t i = 0; i < plan->count; i++) {
        bool is_second = i > 0 && plan->actions[i - 1].is_overlapped != 0;
        int wanted = is_second ? 0 : count_wanted(plan, active);
        if (!is_second) {
            reshard_unwanted(plan, i, wanted);
        }
        for (int k = 0; k < wanted; k++) {
            unshard_stage(plan, i, plan->order[k].stage);
        }
        go_past_pass(plan);
    }
    reshard_unwanted(plan, plan->count, 0);
}

/* Append the moves of one rank's list. Sets up the state of the placement, and releases it. */
bool ms_unshard_list(const ms_action *actions, size_t count, int stages, int active,
                     ms_vector *moves) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    planner plan = {.actions = actions,
                    .count = count,
                    .next = MS_NEW(&scratch, size_t, count),
                    .order = MS_NEW(&scratch, upcoming, stages),
                    .unsharded = MS_NEW(&scratch, int16_t, stages),
                    .moves = moves};
    size_t *first = MS_NEW(&scratch, size_t, stages);
    bool is_short =
        plan.next == NULL || plan.order == NULL || plan.unsharded == NULL || first == NULL;
    if (!is_short) {
        look_ahead(&plan, first, stages);
        plan_list(&plan, active);
    }
    ms_arena_release(&scratch);
    return !is_short && !moves->failed;
}

/* Place the moves of all ranks in a program. Places the moves of rank after rank in one list;
 * indices of a rank's list become indices of the program's actions. */
ms_status ms_program_place_unshards(ms_program *program, int active, ms_arena *arena,
                                    ms_diag *diag) {
    ms_vector moves;
    ms_vector_init(&moves, sizeof(ms_shard_move));
    int ranks = program->spec.pipeline_ranks;
    size_t *first = MS_NEW(arena, size_t, ranks + 1);
    bool is_fine = first != NULL;
    for (int rank = 0; rank < ranks && is_fine; rank++) {
        size_t start = program->first[rank], count = program->first[rank + 1] - start;
        is_fine = ms_unshard_list(program->actions + start, count, program->stages, active, &moves);
        for (size_t i = first[rank]; i < moves.count; i++) {
            MS_AT(&moves, ms_shard_move, i).before += start;
        }
        first[rank + 1] = moves.count;
    }
    ms_shard_move *kept = ms_vector_keep(&moves, arena);
    if (!is_fine || kept == NULL) {
        return ms_diag_no_memory(diag);
    }
    program->shard_first = first;
    program->shard_moves = kept;
    return MS_OK;
}

/* ---- the check of any program's moves ---- */

/* States of a stage's parameters: USED is unsharded, with a pass of the stage since then. */
enum { SHARDED, UNSHARDED, USED };

/* A check of the moves of one program, rank by rank. */
typedef struct unshard_checker {
    const ms_program *program;
    const ms_fault_location *location; /* maps actions to cells of a schedule file; NULL: no file */
    ms_diag *diag;
    uint8_t *state; /* [stages] SHARDED, UNSHARDED or USED */
} unshard_checker;

/* Check one move against the state of its stage, and change the state: a stage is unsharded only
 * when sharded, and resharded only after a pass has used it. */
static ms_status check_move(const unshard_checker *c, int rank, const ms_shard_move *m) {
    uint8_t *state = &c->state[m->stage];
    bool is_wrong = m->is_unshard ? *state != SHARDED : *state != USED;
    if (is_wrong) {
        const char *why = m->is_unshard         ? "unshards what is unsharded already"
                          : *state == UNSHARDED ? "reshards what no pass has used"
                                                : "reshards what is not unsharded";
        /* a move behind the last action has no cell of an action to report */
        bool is_end = m->before == c->program->first[rank + 1];
        return ms_fault_report(c->location, rank, is_end ? -1 : (int64_t)m->before, c->diag,
                               "'%d%s' before this place %s", m->stage,
                               m->is_unshard ? "UNSHARD" : "RESHARD", why);
    }
    *state = m->is_unshard ? UNSHARDED : SHARDED;
    return MS_OK;
}

/* Check that the parameters of a pass are unsharded, and mark them as used. index: of the action in
 * the program. */
static ms_status check_pass(const unshard_checker *c, int rank, size_t index) {
    const ms_action *action = &c->program->actions[index];
    uint8_t *state = &c->state[action->stage];
    if (*state == SHARDED) {
        return ms_fault_report(c->location, rank, (int64_t)index, c->diag,
                               "'%d%s%d' comes while the stage's parameters are sharded",
                               action->stage, ms_pass_name((ms_pass)action->pass), action->mb);
    }
    *state = USED;
    return MS_OK;
}

/* Check the moves and then the actions of one stop of a walk over a rank's list. */
static ms_status check_stop(const unshard_checker *c, const ms_program_stop *stop) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < stop->move_count && status == MS_OK; i++) {
        status = check_move(c, stop->rank, &stop->moves[i]);
    }
    for (int member = 0; member < stop->width && status == MS_OK; member++) {
        status = check_pass(c, stop->rank, stop->index + (size_t)member);
    }
    return status;
}

/* Check one rank's list; at its end, all stages of the rank have to be sharded again. */
static ms_status check_rank(const unshard_checker *c, int rank) {
    const ms_program *program = c->program;
    ms_rank_cursor cursor = ms_rank_begin(program, rank);
    ms_program_stop stop;
    ms_status status = MS_OK;
    while (status == MS_OK && ms_rank_next(&cursor, &stop)) {
        status = check_stop(c, &stop);
    }
    for (int stage = 0; stage < program->stages && status == MS_OK; stage++) {
        if (program->stage_rank[stage] == rank && c->state[stage] != SHARDED) {
            status = ms_fault_report(c->location, rank, -1, c->diag,
                                     "stage %d is unsharded and never resharded", stage);
        }
    }
    return status;
}

/* Check the moves of a program. All stages start sharded, and a rank's stages are sharded again at
 * the end of its list. */
ms_status ms_unshard_check(const ms_program *program, const ms_fault_location *location,
                           ms_arena *scratch, ms_diag *diag) {
    unshard_checker c = {.program = program,
                         .location = location,
                         .diag = diag,
                         .state = MS_NEW(scratch, uint8_t, program->stages)};
    if (c.state == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_status status = MS_OK;
    for (int rank = 0; rank < program->spec.pipeline_ranks && status == MS_OK; rank++) {
        status = program->shard_moves == NULL ? MS_OK : check_rank(&c, rank);
    }
    return status;
}
