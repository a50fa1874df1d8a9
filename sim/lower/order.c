/* Walks the schedule's lists of all pipeline ranks side by side and emits passes as soon as those
 * that they wait for have been emitted, so the graph comes out topologically sorted. */
#include <stdio.h>
#include <string.h>

#include "lower/lowering.h"

/* How far the walk has come. */
typedef struct order {
    ms_lowering *l;
    ms_diag *diag;
    size_t *next;  /* [P] action that comes next on each pipeline rank */
    size_t *move;  /* [P] of the program's shard moves, that comes next */
    bool *done[2]; /* [stages * units] whether the forward pass of a stage and unit, and the one
                      that makes its input gradient, have been lowered */
} order;

static bool *done_at(const order *o, bool is_backward, int stage, int unit) {
    size_t units = (size_t)o->l->in->program->mb_count;
    return &o->done[is_backward][(size_t)stage * units + (size_t)unit];
}

/* Whether the passes that a pass waits for have been lowered. */
static bool is_ready(const order *o, const ms_action *action) {
    const ms_program *program = o->l->in->program;
    int stage = action->stage, unit = action->mb;
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return !ms_program_has_previous(program, stage) || *done_at(o, false, stage - 1, unit);
    case MS_PASS_I:
    case MS_PASS_B:
        return ms_program_has_next(program, stage) ? *done_at(o, true, stage + 1, unit)
                                                   : *done_at(o, false, stage, unit);
    case MS_PASS_W:
    default:
        return true;
    }
}

/* Say which pass every rank waits at; the schedule cannot run. */
static ms_status report_waiting(const order *o) {
    const ms_program *program = o->l->in->program;
    char text[512];
    int length = 0;
    for (int p = 0; p < o->l->ranks.pp && length < 400; p++) {
        if (o->next[p] < program->first[p + 1]) {
            const ms_action *a = &program->actions[o->next[p]];
            length += snprintf(text + length, sizeof text - (size_t)length, "%srank %d at %d%s%d",
                               length > 0 ? ", " : "", p, a->stage, ms_pass_name((ms_pass)a->pass),
                               a->mb);
        }
    }
    ms_diag_error(o->diag, "the schedule '%s' waits for itself: %s", program->name, text);
    return MS_E_INPUT;
}

/* Gather the stages that the program has gathered before the next action of a pipeline rank. */
static ms_status unshard_stages(order *o, int p) {
    const ms_program *program = o->l->in->program;
    size_t end = program->shard_moves == NULL ? 0 : program->shard_first[p + 1];
    ms_status status = MS_OK;
    for (size_t *i = &o->move[p]; *i < end && program->shard_moves[*i].before == o->next[p];
         (*i)++) {
        const ms_shard_move *move = &program->shard_moves[*i];
        if (move->is_unshard && status == MS_OK) {
            status = ms_unshard_lower(o->l, p, move->stage);
        }
    }
    return status;
}

/* Lower what comes next in a rank's list: a pass, or an overlapped pair of two. *width_out: actions
 * lowered, 0 if those that they wait for have not been. */
static ms_status lower_next(order *o, int p, size_t *width_out) {
    const ms_action *actions = &o->l->in->program->actions[o->next[p]];
    size_t width = actions->is_overlapped != 0 ? 2 : 1;
    *width_out = 0;
    for (size_t i = 0; i < width; i++) {
        if (!is_ready(o, &actions[i])) {
            return MS_OK;
        }
    }
    ms_status status = unshard_stages(o, p);
    if (status != MS_OK) {
        return status;
    }
    for (size_t i = 0; i < width; i++) {
        if (actions[i].pass != MS_PASS_W) {
            *done_at(o, actions[i].pass != MS_PASS_F, actions[i].stage, actions[i].mb) = true;
        }
    }
    *width_out = width;
    return width == 2 ? ms_pair_lower(o->l, p, actions) : ms_pass_lower(o->l, p, actions);
}

static ms_status walk(order *o) {
    const ms_program *program = o->l->in->program;
    size_t left = program->first[o->l->ranks.pp];
    while (left > 0) {
        size_t before = left;
        for (int p = 0; p < o->l->ranks.pp; p++) {
            size_t width = 1;
            while (o->next[p] < program->first[p + 1] && width > 0) {
                ms_status status = lower_next(o, p, &width);
                if (status != MS_OK) {
                    return status;
                }
                o->next[p] += width;
                left -= width;
            }
        }
        if (left == before) {
            return report_waiting(o);
        }
    }
    return MS_OK;
}

ms_status ms_order_lower(ms_lowering *l, ms_arena *arena, ms_diag *diag) {
    const ms_program *program = l->in->program;
    size_t ranks = (size_t)l->ranks.pp,
           passes = (size_t)program->stages * (size_t)program->mb_count;
    order o = {.l = l,
               .diag = diag,
               .next = MS_NEW(arena, size_t, ranks),
               .move = MS_NEW(arena, size_t, ranks),
               .done = {MS_NEW(arena, bool, passes), MS_NEW(arena, bool, passes)}};
    if (o.next == NULL || o.move == NULL || o.done[0] == NULL || o.done[1] == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(o.next, program->first, ranks * sizeof *o.next);
    if (program->shard_moves != NULL) {
        memcpy(o.move, program->shard_first, ranks * sizeof *o.move);
    }
    return walk(&o);
}
