/* Periodic building blocks for two stages per rank in a V (ms_search_v_block). A block sets the
 * slots of the passes F0, F1, I1, I0 of a microbatch on every rank, and is repeated every
 * MS_V_PERIOD slots, as a rank has six passes per microbatch. F0 and I1 go down the ranks, some
 * slots per rank; F1 and I0 come back, one slot per rank. The slower the passes go down, the more
 * microbatches are on their way: thus blocks exist for all caps of memory.
 *
 * A repeated block leaves gaps where it begins and ends, so the passes of both ends have an order
 * of their own, which uses all activations under the cap and is as tight as dependencies allow.
 * Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024 (arXiv 2405.15362),
 * appendix A and the section on reordering. */
#include "schedule/kinds/v_memory.h"
#include "schedule/search/search.h"

/* Passes of a rank in the order of a microbatch: F0, F1, I1, I0. */
enum { FORWARD_0, FORWARD_1, INPUT_1, INPUT_0, PASSES };

/* Added to the slots of passes behind the warm-up, and of those in the cool-down, so that no slot
 * of one part is as early as one of the part before. */
static const double STEADY = 1e12;
static const double COOL_DOWN = 2e12;

/* One rank's part of a block, and its numbers of passes in the warm-up and the cool-down. */
typedef struct block_rank {
    int64_t slot[PASSES]; /* of microbatch 0 */
    int ranks, rank;      /* P, r */
    int microbatches;     /* M */
    int warm[PASSES];     /* microbatches whose pass is before the first I0 */
    int first[2];         /* of them, F0 and F1 before the first I1 */
    int last[PASSES];     /* microbatches whose pass is in the cool-down */
} block_rank;

/* The smaller of two numbers of microbatches. */
static int least(int64_t a, int b) {
    return a < b ? (int)a : b;
}

/* Slots that F0 or I1 takes from rank 0 to a rank. */
static int64_t way_down(const ms_v_block *block, int rank) {
    int fast = least(block->fast_ranks, rank);
    return (int64_t)fast * block->fast + (int64_t)(rank - fast) * block->slow;
}

/* Slots from F1 to I1 on rank 0: 1, unless F0 and I1, and F1 and I0 would then meet. As `fast` and
 * `slow` are odd, F0 and I1 have slots of one parity on a rank, and F1 and I0 the other. */
static int turn_of(const ms_v_block *block, int ranks) {
    return (way_down(block, ranks - 1) + ranks + 1) % MS_V_PERIOD == 0 ? 3 : 1;
}

/* Set the slots of a rank and its numbers of passes in the warm-up and the cool-down. */
static block_rank rank_of(const ms_search_spec *spec, const ms_v_block *block, int rank) {
    int ranks = spec->pipeline_ranks;
    int cap = spec->memory_cap;
    int mbs = spec->microbatches;
    int64_t down = way_down(block, ranks - 1);
    int64_t turn = down + ranks + turn_of(block, ranks); /* from F0 to I1 on any rank */
    block_rank r = {.ranks = ranks, .rank = rank, .microbatches = mbs};
    r.slot[FORWARD_0] = way_down(block, rank);
    r.slot[FORWARD_1] = down + ranks - rank;
    r.slot[INPUT_1] = r.slot[FORWARD_0] + turn;
    r.slot[INPUT_0] = r.slot[FORWARD_1] + turn;
    for (int pass = 0; pass < INPUT_0; pass++) {
        int64_t before = r.slot[INPUT_0] - r.slot[pass] + MS_V_PERIOD - 1;
        r.warm[pass] = least(before / MS_V_PERIOD, mbs);
    }
    int second = least(rank + 1, cap / 2);
    r.first[0] = least(cap - second, r.warm[FORWARD_0]);
    r.first[1] = least(second, r.warm[FORWARD_1]);
    r.last[INPUT_0] = least((cap + 1) / 2, mbs);
    r.last[INPUT_1] = least(least(rank + 1, cap / 2), mbs);
    return r;
}

/* Slot of a pass in the warm-up, from the rank's first pass on. First F0 alone, as long as the
 * first microbatch travels to the last rank and back; then F0 and F1 in turn; then, while I1
 * arrive, in three slots an I1, its W, and the F that this W makes room for. mb: of the pass. */
static double warm_up_slot(const block_rank *r, int pass, int mb) {
    int alone = 2 * (r->ranks - 1 - r->rank);
    int waiting = r->warm[FORWARD_1] - r->first[1]; /* F1 that run before any further F0 */
    double later = 2.0 * r->ranks;                  /* the slot of the first I1 */
    if (pass == INPUT_1) {
        return later + 3.0 * mb;
    }
    if (pass == FORWARD_1) {
        return mb < r->first[1] ? alone + 2.0 * mb + 1 : later + 3.0 * (mb - r->first[1]) + 2;
    }
    if (mb >= r->first[0]) {
        return later + 3.0 * (mb - r->first[0] + waiting) + 2;
    }
    return mb < alone ? mb : alone + 2.0 * (mb - alone);
}

/* Slot of a pass of a rank. The I of the cool-down run in every second slot, so that those of one
 * chunk end on all ranks one slot after the other. */
static double slot_of(const block_rank *r, int pass, int mb) {
    int left = r->microbatches - 1 - mb;
    if (pass != INPUT_0 && mb < r->warm[pass]) {
        return warm_up_slot(r, pass, mb);
    }
    if (pass >= INPUT_1 && left < r->last[pass]) {
        int end = pass == INPUT_1 ? r->rank + 1 : 2 * r->ranks - r->rank;
        return COOL_DOWN + end - 2.0 * left;
    }
    return STEADY + (double)(r->slot[pass] + (int64_t)MS_V_PERIOD * mb);
}

bool ms_search_v_block(const ms_search_spec *spec, const ms_v_block *block,
                       const ms_program *program, double *const urgency[2]) {
    int ranks = spec->pipeline_ranks;
    /* activations held in the steady part, the same number on all ranks, in thirds */
    int64_t thirds = way_down(block, ranks - 1) + ranks + turn_of(block, ranks);
    int64_t unused = 3 * (int64_t)spec->memory_cap - thirds;
    if (unused < 0 || unused >= MS_V_PERIOD) {
        return false;
    }
    for (int rank = 0; rank < ranks; rank++) {
        block_rank r = rank_of(spec, block, rank);
        for (int pass = 0; pass < PASSES; pass++) {
            int stage = pass == FORWARD_0 || pass == INPUT_0 ? rank : 2 * ranks - 1 - rank;
            for (int mb = 0; mb < r.microbatches; mb++) {
                urgency[pass >= INPUT_1][ms_program_key(program, stage, mb)] =
                    slot_of(&r, pass, mb);
            }
        }
    }
    return true;
}
