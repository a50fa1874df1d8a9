/* Seq1F1B: 1F1B on slices of a sequence. The slices of a microbatch go forwards in order, since a
 * slice needs the keys and values of the one before, and backwards the other way round. Source: Sun
 * et al., "Seq1F1B: Efficient Sequence-Level Pipeline Parallelism", 2024. */
#include "schedule/internal.h"

/* Append the k-th forward or backward pass of a rank. Units count all slices of microbatch 0, then
 * those of microbatch 1, ...; backward passes go through the slices of each microbatch in reverse.
 */
static void add_slice(const ms_1f1b_list *order, ms_pass pass, int64_t k, ms_action_list *list) {
    int64_t slices = order->spec->slices;
    int64_t mb = pass == MS_PASS_F ? k : k / slices * slices + slices - 1 - k % slices;
    ms_action_list_add(list, pass, order->rank, (int)mb);
}

/* Append a rank's list: 1F1B on slices. The warm-up of 1F1B, P-1-r, is longer by K-1, since the
 * first backward pass is that of the last slice of microbatch 0. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t warmup = (int64_t)spec->pipeline_ranks - rank - 2 + spec->slices;
    ms_1f1b_list order = ms_1f1b_list_of(spec, rank, warmup);
    order.add = add_slice;
    ms_generate_1f1b(&order, list);
}

const ms_schedule_type ms_schedule_seq1f1b = {
    .name = "seq1f1b",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .options = MS_TAKES_SLICES,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
};
