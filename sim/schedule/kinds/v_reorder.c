/* Reorders the lists of V-Half and V-Min (ms_v_memory_reorder). The lists are laid out on a grid:
 * per rank a row of time slots that hold one pass each. Then every pass moves to the earliest free
 * slot of its rank that its inputs and the peak of activations in flight allow. This is done once
 * with all passes, and once more without the weight gradients W, which fill free slots again at the
 * end. A "chunk in flight" is the activation of one microbatch on one stage, from the start of F to
 * the end of W. Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024,
 * repeating, squeezing, reordering. */
#include <string.h>

#include "schedule/kinds/v_memory.h"

/* The grid, with one row of slots per rank. */
typedef struct grid {
    ms_program *program;
    int width;       /* slots per rank */
    int peak;        /* maximum of chunks in flight on any rank before the reordering */
    ms_pass release; /* pass that frees an activation: W; I while the grid has no W */
    uint32_t *cells; /* [P * width] index + 1 of the action there, 0: free */
    int *held;       /* [P * width] chunks in flight during the slot */
    int *forward_at; /* [stages * M] slot of F */
    int *input_at;   /* [stages * M] slot of I */
} grid;

/* Index of an action's stage and microbatch in forward_at and input_at. */
static size_t key_of(const grid *g, const ms_action *action) {
    return ms_program_key(g->program, action->stage, action->mb);
}

/* Put an action into a free slot. index: of the action in the program. */
static void put_action(grid *g, int rank, int slot, size_t index) {
    const ms_action *action = &g->program->actions[index];
    g->cells[(size_t)rank * (size_t)g->width + (size_t)slot] = (uint32_t)index + 1;
    if (action->pass == MS_PASS_F) {
        g->forward_at[key_of(g, action)] = slot;
    } else if (action->pass == MS_PASS_I) {
        g->input_at[key_of(g, action)] = slot;
    }
}

/* Put all actions into the slots they had when the lists were generated (v_memory.c). F and I have
 * those of the building block; W has the slot after the pass before it in the list, as it filled
 * the first free slot. */
static void lay_out(grid *g) {
    const ms_program *program = g->program;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        int slot = -1;
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            const ms_action *action = &program->actions[i];
            slot = action->pass == MS_PASS_W
                       ? slot + 1
                       : ms_v_memory_offset(&program->spec, rank, (ms_pass)action->pass,
                                            program->stage_chunk[action->stage]) +
                             MS_V_PERIOD * action->mb;
            put_action(g, rank, slot, i);
        }
    }
}

/* Count the chunks in flight in every slot of a rank, and store the counts in g->held. Returns the
 * maximum. A chunk also counts in the slots of its F and of the pass that releases it. */
static int count_held(grid *g, int rank) {
    const uint32_t *cells = g->cells + (size_t)rank * (size_t)g->width;
    int *held = g->held + (size_t)rank * (size_t)g->width;
    int now = 0;
    int most = 0;
    for (int slot = 0; slot < g->width; slot++) {
        const ms_action *action = cells[slot] == 0 ? NULL : &g->program->actions[cells[slot] - 1];
        now += action != NULL && action->pass == MS_PASS_F;
        held[slot] = now;
        most = now > most ? now : most;
        now -= action != NULL && action->pass == g->release;
    }
    return most;
}

/* First slot in which an action can run: the one after the last of its producers. */
static int ready_at(const grid *g, const ms_action *action) {
    ms_producer producers[2];
    int count = ms_action_producers(g->program, action, producers);
    int ready = 0;
    for (int i = 0; i < count; i++) {
        size_t key = ms_program_key(g->program, producers[i].stage, producers[i].mb);
        int slot = producers[i].is_forward ? g->forward_at[key] : g->input_at[key];
        ready = slot + 1 > ready ? slot + 1 : ready;
    }
    return ready;
}

/* Earliest free slot that an action in `slot` may move to; `slot` if there is none. Inputs bound
 * all moves. An F adds a chunk in flight to all slots that it moves ahead over, so it stops at a
 * slot that is at the peak. */
static int find_slot(const grid *g, int rank, int slot, const ms_action *action) {
    const uint32_t *cells = g->cells + (size_t)rank * (size_t)g->width;
    const int *held = g->held + (size_t)rank * (size_t)g->width;
    int ready = ready_at(g, action);
    int found = slot;
    for (int at = slot - 1; at >= ready; at--) {
        if (action->pass == MS_PASS_F && held[at] + 1 > g->peak) {
            break;
        }
        found = cells[at] == 0 ? at : found;
    }
    return found;
}

/* Move the action in a slot of a rank to the earliest slot that it may have, and update `held`
 * between the two slots. */
static void move_earlier(grid *g, int rank, int slot) {
    size_t base = (size_t)rank * (size_t)g->width;
    uint32_t cell = g->cells[base + (size_t)slot];
    const ms_action *action = &g->program->actions[cell - 1];
    int target = find_slot(g, rank, slot, action);
    if (target == slot) {
        return;
    }
    g->cells[base + (size_t)slot] = 0;
    put_action(g, rank, target, cell - 1);
    /* an earlier F holds its chunk for longer, an earlier release frees it sooner */
    for (int at = target; at < slot; at++) {
        g->held[base + (size_t)at] += action->pass == MS_PASS_F;
        g->held[base + (size_t)at + 1] -= action->pass == g->release;
    }
}

/* Move the passes of all ranks once, in ascending order of their slots, so that producers move
 * before the passes that need them. */
static void move_all(grid *g) {
    int ranks = g->program->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        count_held(g, rank);
    }
    for (int slot = 0; slot < g->width; slot++) {
        for (int rank = 0; rank < ranks; rank++) {
            if (g->cells[(size_t)rank * (size_t)g->width + (size_t)slot] != 0) {
                move_earlier(g, rank, slot);
            }
        }
    }
}

/* Remove all weight gradients from the grid. */
static void drop_weights(grid *g) {
    size_t count = (size_t)g->program->spec.pipeline_ranks * (size_t)g->width;
    for (size_t i = 0; i < count; i++) {
        if (g->cells[i] != 0 && g->program->actions[g->cells[i] - 1].pass == MS_PASS_W) {
            g->cells[i] = 0;
        }
    }
}

/* A rank's new list under construction, to which weight gradients are added. */
typedef struct filler {
    ms_action *out; /* where the next action is written */
    int stage[2];   /* of chunk 0 and chunk 1 */
    int inputs[2];  /* input gradients done, by chunk */
    int weights[2]; /* weight gradients done, by chunk */
    int held;       /* chunks in flight */
} filler;

/* Append a weight gradient whose input gradient is done: the oldest of chunk 1, else the oldest of
 * chunk 0. Returns false if there is none. */
static bool add_weight(filler *f) {
    for (int chunk = 1; chunk >= 0; chunk--) {
        if (f->weights[chunk] < f->inputs[chunk]) {
            *f->out++ = (ms_action){
                .pass = MS_PASS_W, .stage = (int16_t)f->stage[chunk], .mb = f->weights[chunk]++};
            f->held--;
            return true;
        }
    }
    return false;
}

/* Write the new list of a rank from its row of the grid, which has no weight gradients. These fill
 * the free slots, and come before a forward pass that would otherwise exceed the peak. out:
 * [actions of the rank]. */
static void write_rank(const grid *g, int rank, ms_action *out) {
    const ms_program *program = g->program;
    const uint32_t *cells = g->cells + (size_t)rank * (size_t)g->width;
    int mirror = 2 * program->spec.pipeline_ranks - 1 - rank;
    filler f = {.out = out, .stage = {rank, mirror}};
    for (int slot = 0; slot < g->width; slot++) {
        if (cells[slot] == 0) {
            add_weight(&f);
            continue;
        }
        ms_action action = program->actions[cells[slot] - 1];
        if (action.pass == MS_PASS_F) {
            while (f.held + 1 > g->peak && add_weight(&f)) {
            }
            f.held++;
        }
        *f.out++ = action;
        f.inputs[program->stage_chunk[action.stage]] += action.pass == MS_PASS_I;
    }
    while (add_weight(&f)) {
    }
}

/* Makespan, and maximum of chunks in flight on any rank, of a program whose passes all take 1 and
 * messages 0. */
typedef struct measure {
    double makespan; /* negative if it cannot run or memory ran out */
    int peak;
} measure;

/* Evaluate a program with passes that all take 1 and messages that take 0. */
static measure measure_equal(const ms_program *program, ms_arena *scratch) {
    measure found = {.makespan = -1};
    double *ones = MS_NEW(scratch, double, program->model_stages);
    double *none = MS_NEW(scratch, double, program->model_stages);
    if (ones == NULL || none == NULL) {
        return found;
    }
    for (int stage = 0; stage < program->model_stages; stage++) {
        ones[stage] = 1;
    }
    ms_schedule_costs costs = {
        .forward = ones, .input_grad = ones, .weight_grad = ones, .p2p = none};
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_schedule_result result;
    if (ms_schedule_evaluate(program, &costs, scratch, &mute, &result) == MS_OK) {
        found.makespan = result.makespan;
        for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
            int peak = result.ranks[rank].peak_inflight;
            found.peak = peak > found.peak ? peak : found.peak;
        }
    }
    return found;
}

/* Allocate the arrays of the grid; false if memory runs out. */
static bool allocate(grid *g, ms_arena *scratch) {
    const ms_program *program = g->program;
    size_t cells = (size_t)program->spec.pipeline_ranks * (size_t)g->width;
    size_t keys = ms_program_keys(program);
    g->cells = MS_NEW(scratch, uint32_t, cells);
    g->held = MS_NEW(scratch, int, cells);
    g->forward_at = MS_NEW(scratch, int, keys);
    g->input_at = MS_NEW(scratch, int, keys);
    return g->cells != NULL && g->held != NULL && g->forward_at != NULL && g->input_at != NULL;
}

/* Reorder the lists of all ranks: lay them out, move all passes earlier, remove the W, move F and I
 * once more (an activation then ends with I, so that more F fit under the peak), and write the
 * lists with the W added again. out: [actions of the program] receives the new lists. */
static void reorder(grid *g, ms_action *out) {
    lay_out(g);
    g->release = MS_PASS_W;
    for (int rank = 0; rank < g->program->spec.pipeline_ranks; rank++) {
        int most = count_held(g, rank);
        g->peak = most > g->peak ? most : g->peak;
    }
    move_all(g);
    drop_weights(g);
    g->release = MS_PASS_I;
    move_all(g);
    for (int rank = 0; rank < g->program->spec.pipeline_ranks; rank++) {
        write_rank(g, rank, out + g->program->first[rank]);
    }
}

/* Reorder the lists of V-Half or V-Min, if the spec asks for it. Reorders a copy of the lists, and
 * takes it over if it runs, has a shorter makespan with equal costs, and no higher peak. The lists
 * before always run: if they have no makespan, memory ran out. */
ms_status ms_v_memory_reorder(ms_program *program, ms_arena *scratch, ms_diag *diag) {
    if (!program->spec.is_reordered) {
        return MS_OK;
    }
    /* the last I of all is that of chunk 0 on rank 0; up to all W, one per chunk and microbatch,
     * may follow */
    int last =
        ms_v_memory_offset(&program->spec, 0, MS_PASS_I, 0) + MS_V_PERIOD * program->mb_count;
    grid g = {.program = program, .width = last + 2 * program->mb_count + 1};
    size_t count = program->first[program->spec.pipeline_ranks];
    ms_program changed = *program;
    changed.actions = MS_NEW(scratch, ms_action, count);
    if (changed.actions == NULL || !allocate(&g, scratch)) {
        return ms_diag_no_memory(diag);
    }
    reorder(&g, changed.actions);
    measure before = measure_equal(program, scratch);
    measure after = measure_equal(&changed, scratch);
    if (before.makespan < 0) {
        return ms_diag_no_memory(diag);
    }
    if (after.makespan >= 0 && after.makespan < before.makespan && after.peak <= before.peak) {
        memcpy(program->actions, changed.actions, count * sizeof *program->actions);
    }
    return MS_OK;
}
