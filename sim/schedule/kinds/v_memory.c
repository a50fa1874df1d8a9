/* V-Half and V-Min: schedules with two stages per rank in a V that hold about half and a third of
 * the activations of 1F1B. A building block sets the time slots of the passes F and I of microbatch
 * 0 on every rank (v_block.c). It is repeated every six slots, as a microbatch has six passes per
 * rank; weight gradients W fill the slots left free. Source: Qi et al., "Pipeline Parallelism with
 * Controllable Memory", 2024 (arXiv 2405.15362). */
#include "schedule/kinds/v_memory.h"

/* One rank's list under construction, slot by slot. */
typedef struct v_rank {
    const ms_schedule_spec *spec;
    ms_action_list *list;
    int stage[2];   /* of chunk 0 and chunk 1 */
    int inputs[2];  /* input gradients done, by chunk */
    int weights[2]; /* weight gradients done, by chunk */
} v_rank;

/* Append a weight gradient whose input gradient is done: the oldest of chunk 1, else the oldest of
 * chunk 0. Returns false if there is none. */
static bool add_weight(v_rank *s) {
    for (int chunk = 1; chunk >= 0; chunk--) {
        if (s->weights[chunk] < s->inputs[chunk]) {
            ms_action_list_add(s->list, MS_PASS_W, s->stage[chunk], s->weights[chunk]++);
            return true;
        }
    }
    return false;
}

/* Append the F or I that the repeated building block has in a slot of a rank. Returns false if the
 * slot is free. at: the slot, from 0. */
static bool add_block_pass(v_rank *s, int rank, int64_t at) {
    static const struct {
        ms_pass pass;
        int chunk;
    } BLOCK[] = {{MS_PASS_F, 0}, {MS_PASS_F, 1}, {MS_PASS_I, 1}, {MS_PASS_I, 0}};
    for (int i = 0; i < 4; i++) {
        /* slots since this pass of microbatch 0; microbatch m is MS_V_PERIOD * m slots later */
        int64_t since = at - ms_v_memory_offset(s->spec, rank, BLOCK[i].pass, BLOCK[i].chunk);
        if (since >= 0 && since % MS_V_PERIOD == 0 && since / MS_V_PERIOD < s->spec->microbatches) {
            ms_action_list_add(s->list, BLOCK[i].pass, s->stage[BLOCK[i].chunk],
                               (int)(since / MS_V_PERIOD));
            s->inputs[BLOCK[i].chunk] += BLOCK[i].pass == MS_PASS_I;
            return true;
        }
    }
    return false;
}

/* Append a rank's list. The last pass of the blocks is I of chunk 0; W that are left then follow
 * without gaps. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    v_rank s = {.spec = spec, .list = list, .stage = {rank, 2 * spec->pipeline_ranks - 1 - rank}};
    int64_t last = ms_v_memory_offset(spec, rank, MS_PASS_I, 0) +
                   (int64_t)MS_V_PERIOD * (spec->microbatches - 1);
    for (int64_t at = 0; at <= last; at++) {
        if (!add_block_pass(&s, rank, at)) {
            add_weight(&s);
        }
    }
    while (add_weight(&s)) {
    }
}

const ms_schedule_type ms_schedule_vhalf = {
    .name = "vhalf",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .options = MS_TAKES_REORDER,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate,
    .finish = ms_v_memory_reorder,
};

const ms_schedule_type ms_schedule_vmin = {
    .name = "vmin",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .options = MS_TAKES_REORDER,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate,
    .finish = ms_v_memory_reorder,
};
