/* V-Half and V-Min: a building block of six slots per microbatch, repeated, whose offsets hold the
 * memory at about a half and a third of 1F1B's. Weight gradients fill free slots.
 * Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024 (arXiv 2405.15362). */
#include "schedule/kinds/v_memory.h"

/* One rank's list while the slots of the grid are walked through. */
typedef struct v_rank {
    const ms_schedule_spec *spec;
    ms_action_list *list;
    int stage[2];
    int inputs[2];  /* input gradients done, by chunk */
    int weights[2]; /* weight gradients done, by chunk */
} v_rank;

/* Add the oldest weight gradient that waits, first of chunk 1, then of chunk 0. Returns false where
 * none waits. */
static bool fill(v_rank *s) {
    for (int chunk = 1; chunk >= 0; chunk--) {
        if (s->weights[chunk] < s->inputs[chunk]) {
            ms_action_list_add(s->list, MS_PASS_W, s->stage[chunk], s->weights[chunk]++);
            return true;
        }
    }
    return false;
}

/* The pass of the building block that owns a slot, if there is one. */
static bool place(v_rank *s, int rank, int64_t at) {
    static const struct {
        ms_pass pass;
        int chunk;
    } BLOCK[] = {{MS_PASS_F, 0}, {MS_PASS_F, 1}, {MS_PASS_I, 1}, {MS_PASS_I, 0}};
    for (int i = 0; i < 4; i++) {
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

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    v_rank s = {.spec = spec, .list = list, .stage = {rank, 2 * spec->pipeline_ranks - 1 - rank}};
    int64_t last = ms_v_memory_offset(spec, rank, MS_PASS_I, 0) +
                   (int64_t)MS_V_PERIOD * (spec->microbatches - 1);
    for (int64_t at = 0; at <= last; at++) {
        if (!place(&s, rank, at)) {
            fill(&s);
        }
    }
    while (fill(&s)) {
    }
}

const ms_schedule_type ms_schedule_vhalf = {
    .name = "vhalf",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .options = MS_TAKES_REORDER,
    .place = ms_place_v,
    .generate = generate,
    .finish = ms_v_memory_reorder,
};

const ms_schedule_type ms_schedule_vmin = {
    .name = "vmin",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .options = MS_TAKES_REORDER,
    .place = ms_place_v,
    .generate = generate,
    .finish = ms_v_memory_reorder,
};
