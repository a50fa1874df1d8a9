/* V-Half and V-Min: a building block of six slots per microbatch, repeated, whose offsets hold the
 * memory at about a half and a third of 1F1B's. Weight gradients fill free slots.
 * Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024 (arXiv 2405.15362). */
#include "schedule/internal.h"

enum { PERIOD = 6, BLOCK = 4 };

/* A pass of the building block: of microbatch m at slot offset + 6m. */
typedef struct slot {
    ms_pass pass;
    int chunk;
    int offset;
} slot;

static void half_block(int ranks, int rank, slot block[BLOCK]) {
    int gap = ranks % 2 == 0 ? 3 : 0;
    block[0] = (slot){MS_PASS_F, 0, 2 * rank};
    block[1] = (slot){MS_PASS_F, 1, 3 * ranks - rank - 2};
    block[2] = (slot){MS_PASS_I, 1, 3 * ranks + gap + 2 * rank - 1};
    block[3] = (slot){MS_PASS_I, 0, 6 * ranks + gap - rank - 2};
}

static void min_block(int ranks, int rank, slot block[BLOCK]) {
    int gap = ranks % 3 == 0 ? 2 : 0;
    block[0] = (slot){MS_PASS_F, 0, rank};
    block[1] = (slot){MS_PASS_F, 1, 2 * ranks - rank - 1};
    block[2] = (slot){MS_PASS_I, 1, 2 * ranks + gap + rank};
    block[3] = (slot){MS_PASS_I, 0, 4 * ranks + gap - rank - 1};
}

/* Walks the slots of one rank. */
typedef struct state {
    const ms_schedule_spec *spec;
    ms_action_list *list;
    int stage[2];
    int inputs[2];  /* input gradients done, by chunk */
    int weights[2]; /* weight gradients done, by chunk */
} state;

/* The oldest weight gradient that waits, of chunk 1 first. */
static bool fill(state *s) {
    for (int chunk = 1; chunk >= 0; chunk--) {
        if (s->weights[chunk] < s->inputs[chunk]) {
            ms_action_list_add(s->list, MS_PASS_W, s->stage[chunk], s->weights[chunk]++);
            return true;
        }
    }
    return false;
}

/* The pass of the block that owns a slot, if there is one. */
static bool place(state *s, const slot block[BLOCK], int64_t at) {
    for (int i = 0; i < BLOCK; i++) {
        int64_t since = at - block[i].offset;
        if (since >= 0 && since % PERIOD == 0 && since / PERIOD < s->spec->microbatches) {
            ms_action_list_add(s->list, block[i].pass, s->stage[block[i].chunk],
                               (int)(since / PERIOD));
            s->inputs[block[i].chunk] += block[i].pass == MS_PASS_I;
            return true;
        }
    }
    return false;
}

static void generate(const ms_schedule_spec *spec, int rank, const slot block[BLOCK],
                     ms_action_list *list) {
    state s = {.spec = spec, .list = list, .stage = {rank, 2 * spec->pipeline_ranks - 1 - rank}};
    int64_t last = block[BLOCK - 1].offset + (int64_t)PERIOD * (spec->microbatches - 1);
    for (int64_t at = 0; at <= last; at++) {
        if (!place(&s, block, at)) {
            fill(&s);
        }
    }
    while (fill(&s)) {
    }
}

static void generate_half(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    slot block[BLOCK];
    half_block(spec->pipeline_ranks, rank, block);
    generate(spec, rank, block, list);
}

static void generate_min(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    slot block[BLOCK];
    min_block(spec->pipeline_ranks, rank, block);
    generate(spec, rank, block, list);
}

const ms_schedule_type ms_schedule_vhalf = {
    .name = "vhalf",
    .summary = "V placement, about half of 1F1B's memory",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .place = ms_place_v,
    .generate = generate_half,
};

const ms_schedule_type ms_schedule_vmin = {
    .name = "vmin",
    .summary = "V placement, about a third of 1F1B's memory",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .place = ms_place_v,
    .generate = generate_min,
};
