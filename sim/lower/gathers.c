/* Parameters of whole stages, gathered where the program says. */
#include "lower/passes.h"

static int32_t *gathers_of(const ms_lowering *l, int stage) {
    return l->gathered + (size_t)stage * MS_GATHERS_MAX * (size_t)l->sims;
}

/* One gather of a stage, behind all that the rank has lowered and beside what follows. */
static ms_status lower_gather(ms_lowering *l, int p, int stage, int number) {
    const ms_stage_costs *costs = l->in->costs;
    const ms_pass_plan *plan = &costs->stage[ms_program_model_stage(l->in->program, stage)].gather;
    const ms_segment *segment = &costs->segments[plan->first + number];
    bool has_run = false;
    ms_group_op op = {.kind = segment->coll,
                      .size_B = segment->coll_B,
                      .group_axes = segment->group_axes,
                      .op = {.mb = -1,
                             .stage = (int16_t)stage,
                             .chunk = (int16_t)l->in->program->stage_chunk[stage],
                             .layer = -1,
                             .kind = (uint8_t)ms_op_kind_of_coll(segment->coll),
                             .axis = (uint8_t)segment->axis},
                      .ends_out = gathers_of(l, stage) + (size_t)number * (size_t)l->sims};
    return ms_group_lower(l, p, &op, &has_run);
}

ms_status ms_gathers_lower(ms_lowering *l, int p, size_t index) {
    const ms_program *program = l->in->program;
    size_t end = program->shard_moves == NULL ? 0 : program->shard_first[p + 1];
    size_t *next = &l->next_move[p];
    ms_status status = MS_OK;
    for (; *next < end && program->shard_moves[*next].before == index; (*next)++) {
        const ms_shard_move *move = &program->shard_moves[*next];
        int stage = ms_program_model_stage(program, move->stage);
        int count = move->is_unshard ? l->in->costs->stage[stage].gather.count : 0;
        for (int i = 0; i < count && status == MS_OK; i++) {
            status = lower_gather(l, p, move->stage, i);
        }
    }
    return status;
}

void ms_gathers_join(ms_lowering *l, int stage, int k) {
    for (int i = 0; i < MS_GATHERS_MAX; i++) {
        int32_t *end = &gathers_of(l, stage)[i * l->sims + k];
        ms_dag_add_dep(l->dag, *end);
        *end = -1;
    }
}
