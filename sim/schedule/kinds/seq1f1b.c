/* Seq1F1B: 1F1B on slices of a sequence. The slices of a microbatch go forwards in order, since a
 * slice needs the keys and values of the one before, and backwards the other way round. Source: Sun
 * et al., "Seq1F1B: Efficient Sequence-Level Pipeline Parallelism", 2024. */
#include "schedule/internal.h"

static void add(const ms_1f1b_order *order, ms_pass pass, int64_t k, ms_action_list *list) {
    int64_t slices = order->spec->slices;
    int64_t mb = pass == MS_PASS_F ? k : k / slices * slices + slices - 1 - k % slices;
    ms_action_list_add(list, pass, order->rank, (int)mb);
}

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t warmup = (int64_t)spec->pipeline_ranks - rank - 2 + spec->slices;
    ms_1f1b_order order = ms_1f1b_order_of(spec, rank, warmup);
    order.add = add;
    ms_generate_1f1b(&order, list);
}

const ms_schedule_type ms_schedule_seq1f1b = {
    .name = "seq1f1b",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .options = MS_TAKES_SLICES,
    .place = ms_place_loop,
    .generate = generate,
};
