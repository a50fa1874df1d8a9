/* Walks the schedule's lists of all pipeline ranks side by side and emits operations as soon as
 * their inputs have been emitted, so the graph comes out topologically sorted. */
#include "meshsim/lower.h"

#include <stdio.h>
#include <string.h>

#include "lower/lowering.h"
#include "lower/passes.h"

static size_t action_count(const ms_lowering *l) {
    return l->in->program->first[l->pp];
}

static void *filled(ms_arena *arena, size_t count, int byte) {
    int32_t *items = MS_NEW(arena, int32_t, count);
    if (items != NULL) {
        memset(items, byte, count * sizeof *items);
    }
    return items;
}

/* Operations that the lowering will make, about. */
static double estimate_ops(const ms_lowering *l) {
    const ms_program *program = l->in->program;
    double ops = 0.0;
    for (size_t i = 0; i < action_count(l); i++) {
        const ms_action *action = &program->actions[i];
        ops += ms_lowering_cost(l, action)->passes[action->pass].count + 1.0;
    }
    ops += program->shard_moves == NULL ? 0.0 : (double)program->shard_first[l->pp];
    return ops * l->sims * l->steps;
}

static void list_stage_ranks(ms_lowering *l) {
    int next = 0;
    for (int p = 0; p < l->pp; p++) {
        for (int rank = 0; rank < l->in->mesh->ranks; rank++) {
            if (ms_mesh_coordinate(l->in->mesh, rank, MS_AXIS_PP) == p) {
                l->place[rank] = next - p * l->group_ranks;
                l->stage_ranks[next++] = rank;
            }
        }
    }
}

static int longest_pass(const ms_stage_costs *costs) {
    int longest = 1;
    int entries = costs->stages * (costs->parts > 1 ? costs->parts : 1);
    for (int s = 0; s < entries; s++) {
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            int count = costs->stage[s].passes[pass].count;
            longest = count > longest ? count : longest;
        }
    }
    return longest;
}

static bool allocate_ranks(ms_lowering *l) {
    size_t sims = (size_t)l->pp * (size_t)l->sims;
    l->stage_ranks = MS_NEW(l->arena, int, l->in->mesh->ranks);
    l->place = MS_NEW(l->arena, int, l->in->mesh->ranks);
    l->members = MS_NEW(l->arena, int, l->group_ranks);
    l->tail = filled(l->arena, sims, 0xFF);
    l->tail_communicates = MS_NEW(l->arena, bool, sims);
    l->outstanding = MS_NEW(l->arena, ms_outstanding, sims);
    l->next_move = MS_NEW(l->arena, size_t, l->pp);
    return l->stage_ranks != NULL && l->place != NULL && l->members != NULL && l->tail != NULL &&
           l->tail_communicates != NULL && l->outstanding != NULL && l->next_move != NULL;
}

static bool allocate_pairs(ms_lowering *l) {
    l->pair_tails = MS_NEW(l->arena, ms_pair_tails, 2);
    for (int i = 0; i < 2 && l->pair_tails != NULL; i++) {
        l->pair_tails[i].tail = MS_NEW(l->arena, int32_t, l->sims);
        l->pair_tails[i].communicates = MS_NEW(l->arena, bool, l->sims);
    }
    return l->pair_tails != NULL && l->pair_tails[1].communicates != NULL &&
           l->pair_tails[1].tail != NULL && l->pair_tails[0].communicates != NULL &&
           l->pair_tails[0].tail != NULL;
}

static bool allocate_passes(ms_lowering *l) {
    const ms_program *program = l->in->program;
    const ms_stage_costs *costs = l->in->costs;
    size_t sims = (size_t)l->sims;
    l->longest_pass = longest_pass(costs);
    l->forward_in = MS_NEW(l->arena, int32_t, ms_input_index(l, program->stages, 0));
    l->backward_in = MS_NEW(l->arena, int32_t, ms_input_index(l, program->stages, 0));
    l->async_ends = MS_NEW(l->arena, int32_t, 2 * (size_t)l->longest_pass * sims);
    l->pass_runs = MS_NEW(l->arena, int, (size_t)program->stages *MS_PASS_COUNT);
    l->gathered = filled(l->arena, (size_t)program->stages * MS_GATHERS_MAX * sims, 0xFF);
    l->segment_work = filled(l->arena, (size_t)costs->segment_count, 0xFF);
    return l->forward_in != NULL && l->backward_in != NULL && l->async_ends != NULL &&
           l->pass_runs != NULL && l->gathered != NULL && l->segment_work != NULL;
}

static ms_status allocate(ms_lowering *l) {
    if (!allocate_ranks(l) || !allocate_passes(l) || !allocate_pairs(l)) {
        return MS_E_NOMEM;
    }
    list_stage_ranks(l);
    return MS_OK;
}

static void add_ranks(ms_lowering *l) {
    int multiplicity = l->group_ranks / l->sims;
    for (int p = 0; p < l->pp; p++) {
        for (int k = 0; k < l->sims; k++) {
            int rank = l->stage_ranks[p * l->group_ranks + k];
            int32_t index = ms_dag_add_rank(l->dag, rank, multiplicity, p);
            ms_dag_add_stream(l->dag, index, -1, MS_AXIS_NONE);
        }
    }
}

/* Say which pass every rank waits at; the schedule cannot run. */
static ms_status report_waiting(ms_lowering *l, const size_t *next) {
    const ms_program *program = l->in->program;
    char text[512];
    int length = 0;
    for (int p = 0; p < l->pp && length < 400; p++) {
        if (next[p] < program->first[p + 1]) {
            const ms_action *a = &program->actions[next[p]];
            length += snprintf(text + length, sizeof text - (size_t)length, "%srank %d at %d%s%d",
                               length > 0 ? ", " : "", p, a->stage, ms_pass_name((ms_pass)a->pass),
                               a->mb);
        }
    }
    ms_diag_error(l->diag, "the schedule '%s' waits for itself: %s", program->name, text);
    return MS_E_INPUT;
}

/* Actions from `index` of a rank's list that are lowered together: two of an overlapped pair. */
static size_t width_at(const ms_lowering *l, size_t index) {
    return l->in->program->actions[index].is_overlapped != 0 ? 2 : 1;
}

/* Lower what comes next in a rank's list. *width_out: actions lowered, 0 if the inputs are not
 * there. */
static ms_status lower_next(ms_lowering *l, int p, size_t index, size_t *width_out) {
    const ms_action *actions = &l->in->program->actions[index];
    size_t width = width_at(l, index);
    *width_out = 0;
    for (size_t i = 0; i < width; i++) {
        if (!ms_pass_is_ready(l, &actions[i])) {
            return MS_OK;
        }
    }
    ms_status status = ms_gathers_lower(l, p, index);
    if (status != MS_OK) {
        return status;
    }
    *width_out = width;
    return width == 2 ? ms_pair_lower(l, p, actions) : ms_pass_lower(l, p, actions);
}

/* No input of any pass is there yet. */
static void begin_step(ms_lowering *l) {
    const ms_program *program = l->in->program;
    size_t inputs = ms_input_index(l, program->stages, 0);
    ms_dag_begin_step(l->dag);
    memset(l->forward_in, 0xFE, inputs * sizeof *l->forward_in);
    memset(l->backward_in, 0xFE, inputs * sizeof *l->backward_in);
    memset(l->pass_runs, 0, (size_t)program->stages * MS_PASS_COUNT * sizeof *l->pass_runs);
    if (program->shard_moves != NULL) {
        memcpy(l->next_move, program->shard_first, (size_t)l->pp * sizeof *l->next_move);
    }
}

static ms_status walk_schedule(ms_lowering *l, size_t *next) {
    const ms_program *program = l->in->program;
    memcpy(next, program->first, (size_t)l->pp * sizeof *next);
    size_t left = action_count(l);
    while (left > 0) {
        size_t before = left;
        for (int p = 0; p < l->pp; p++) {
            size_t width = 1;
            while (next[p] < program->first[p + 1] && width > 0) {
                ms_status status = lower_next(l, p, next[p], &width);
                if (status != MS_OK) {
                    return status;
                }
                next[p] += width;
                left -= width;
            }
        }
        if (left == before) {
            return report_waiting(l, next);
        }
    }
    return MS_OK;
}

static ms_status lower_all(ms_lowering *l) {
    double ops = estimate_ops(l);
    if (ops > MS_LOWER_OP_LIMIT) {
        ms_diag_error(l->diag,
                      "simulating %d ranks takes about %.3g operations, more than the limit of "
                      "%.3g; %suse fewer microbatches or steps",
                      l->pp * l->sims, ops, MS_LOWER_OP_LIMIT,
                      l->in->no_fold ? "leave out --no-fold or " : "");
        return MS_E_INPUT;
    }
    size_t *next = MS_NEW(l->arena, size_t, l->pp);
    ms_status status = next == NULL ? MS_E_NOMEM : allocate(l);
    if (status != MS_OK) {
        return status;
    }
    add_ranks(l);
    for (int step = 0; step < l->steps && status == MS_OK; step++) {
        begin_step(l);
        status = walk_schedule(l, next);
        status = status == MS_OK ? ms_step_end_lower(l) : status;
    }
    return status;
}

ms_status ms_lower(const ms_lower_input *input, ms_diag *diag, ms_dag *dag_out,
                   bool *is_exact_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_dag_init(dag_out);
    ms_lowering l = {.in = input,
                     .diag = diag,
                     .arena = &scratch,
                     .dag = dag_out,
                     .steps = input->steps > 0 ? input->steps : 1,
                     .no_work = -1};
    l.pp = input->program->spec.pipeline_ranks;
    l.group_ranks = input->mesh->ranks / l.pp;
    l.sims = input->no_fold ? l.group_ranks : 1;
    bool is_folded = l.sims < l.group_ranks;
    ms_status status = ms_works_init(&l.works, input->platform, is_folded, &scratch, diag, dag_out);
    l.works.algorithms = input->algorithms;
    status = status == MS_OK ? lower_all(&l) : status;
    if (status == MS_OK && ms_works_failed(&l.works)) {
        status = MS_E_NOMEM;
    }
    status = status == MS_OK ? ms_fold_check(&l.works) : status;
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while laying out the step");
    }
    if (status == MS_OK) {
        status = ms_dag_finish(dag_out, diag);
    }
    if (status == MS_OK) {
        *is_exact_out = l.works.is_exact;
    }
    ms_works_release(&l.works);
    ms_arena_release(&scratch);
    return status;
}
