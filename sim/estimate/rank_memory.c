/* The memory model of a pipeline rank (rank_memory.h): counts of activations, running passes and
 * gathered states change with each action, and are weighed with the bytes of each stage. A
 * local_stage is the index of a stage among the rank's own stages. */
#include "estimate/rank_memory.h"

#include <string.h>

#include "base/number.h"

ms_status ms_memory_model_init(const ms_program *program, const ms_stage_costs *costs,
                               ms_arena *arena, ms_memory_model *model_out) {
    int slices = costs->slices > 1 ? costs->slices : 1;
    size_t stages = (size_t)program->stages;
    size_t stage_slices = stages * (size_t)slices;
    *model_out = (ms_memory_model){
        .program = program,
        .costs = costs,
        .slices = slices,
        .stages = MS_NEW(arena, int, stages),
        .local_stage = MS_NEW(arena, int, stages),
        .counts = MS_NEW(arena, int, 2 * (stage_slices + stages)),
        .memory = MS_NEW(arena, const ms_stage_memory *, stage_slices),
    };
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

/* Look up the memory of the rank's own stage of index `local_stage`, slice by slice. A caller that
 * needs only the moments gives no costs of stages; the entries then stay NULL. */
static void set_memory(const ms_memory_model *model, int local_stage) {
    int stage = ms_program_model_stage(model->program, model->stages[local_stage]);
    for (int i = 0; i < model->slices && model->costs->stage != NULL; i++) {
        model->memory[local_stage * model->slices + i] =
            &ms_stage_cost_of(model->costs, stage, i)->memory;
    }
}

void ms_memory_model_set_rank(ms_memory_model *model, int rank) {
    const ms_program *program = model->program;
    model->stage_count = 0;
    for (int stage = 0; stage < program->stages; stage++) {
        bool is_own = program->stage_rank[stage] == rank;
        model->local_stage[stage] = is_own ? model->stage_count : -1;
        if (is_own) {
            model->stages[model->stage_count] = stage;
            set_memory(model, model->stage_count++);
        }
    }
    int stages = model->stage_count, stage_slices = stages * model->slices;
    bool has_moves = program->shard_moves != NULL, has_rounds = program->round > 0;
    model->kept = model->counts;
    model->running = model->kept + stage_slices;
    /* lists that the program never changes come last, so that `width` leaves them out */
    model->unsharded = model->running + stage_slices + (has_moves ? 0 : stages);
    model->rounds = model->running + stage_slices + (has_moves ? stages : 0);
    model->width = 2 * stage_slices + (has_moves ? stages : 0) + (has_rounds ? stages : 0);
    memset(model->counts, 0, (size_t)(2 * (stage_slices + stages)) * sizeof *model->counts);
}

/* Index of an action's stage and slice in `kept` and `running`. */
static int slice_of(const ms_memory_model *model, const ms_action *action) {
    return model->local_stage[action->stage] * model->slices + action->mb % model->slices;
}

void ms_memory_model_start(ms_memory_model *model, const ms_action *action) {
    int slice = slice_of(model, action);
    model->running[slice]++;
    model->kept[slice] += action->pass == MS_PASS_F;
    model->rounds[model->local_stage[action->stage]] +=
        ms_action_opens_round(model->program, action);
}

void ms_memory_model_end(ms_memory_model *model, const ms_action *action) {
    int slice = slice_of(model, action);
    model->running[slice]--;
    model->kept[slice] -= action->pass == MS_PASS_B || action->pass == MS_PASS_W;
    model->rounds[model->local_stage[action->stage]] -=
        ms_action_closes_round(model->program, action);
}

void ms_memory_model_move(ms_memory_model *model, const ms_shard_move *move) {
    model->unsharded[model->local_stage[move->stage]] += move->is_unshard ? 1 : -1;
}

/* Add parameters, gradients and optimizer state of the rank's own stage of index `local_stage` to
 * `held`. */
static void weigh_states(const ms_memory_model *model, int local_stage, ms_held_memory *held) {
    const ms_stage_memory *memory = model->memory[local_stage * model->slices];
    int unsharded = model->unsharded[local_stage];
    int rounds = model->rounds[local_stage];
    held->parameter_B += memory->parameter_B + unsharded * memory->unsharded_B;
    held->gradient_B += memory->gradient_B + rounds * memory->round_B;
    held->optimizer_B += memory->optimizer_B;
    held->update_B += memory->update_B;
    held->transformer_B += memory->transformer_B + unsharded * memory->unsharded_transformer_B +
                           rounds * memory->round_transformer_B;
}

/* Add activations and working memory of the rank's own stage of index `local_stage` to `held`. */
static void weigh_slices(const ms_memory_model *model, int local_stage, ms_held_memory *held) {
    for (int i = 0; i < model->slices; i++) {
        int slice = local_stage * model->slices + i;
        const ms_stage_memory *memory = model->memory[slice];
        held->activation_B += model->kept[slice] * memory->activation_B;
        held->buffer_B += model->running[slice] * memory->working_B;
        held->inflight += model->kept[slice];
    }
}

/* Workspaces of libraries, and buffers of the framework, which the stages of a rank share: those of
 * its stage with most [B]. */
static double framework_B(const ms_memory_model *model) {
    double largest_B = 0;
    for (int local_stage = 0; local_stage < model->stage_count; local_stage++) {
        largest_B = ms_max(largest_B, model->memory[local_stage * model->slices]->framework_B);
    }
    return model->costs->workspace_B + largest_B;
}

ms_held_memory ms_memory_model_weigh(const ms_memory_model *model) {
    ms_held_memory held = {.framework_B = framework_B(model)};
    for (int local_stage = 0; local_stage < model->stage_count; local_stage++) {
        weigh_states(model, local_stage, &held);
        weigh_slices(model, local_stage, &held);
    }
    held.other_B =
        held.framework_B + model->costs->allocator_overhead * (held.activation_B + held.buffer_B);
    held.total_B = held.parameter_B + held.gradient_B + held.optimizer_B + held.activation_B +
                   held.buffer_B + held.other_B;
    return held;
}
