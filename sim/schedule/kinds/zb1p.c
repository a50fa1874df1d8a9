/* Interleaved zero bubble: the interleaved table in PyTorch's rounds with a shorter warm-up, input
 * and weight gradients apart, the weight gradients r steps behind on rank r.
 * Source: order of torch.distributed.pipelining.ScheduleInterleavedZeroBubble. */
#include "schedule/internal.h"

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int group = ms_torch_group(spec);
    int64_t warmup = spec->pipeline_ranks - 1 - rank + (int64_t)(spec->chunks - 1) * group;
    ms_1f1b_order order = ms_1f1b_order_of(spec, rank, warmup);
    order.group = group;
    order.add = ms_interleaved_add;
    ms_generate_split(&order, rank, list);
}

const ms_schedule_type ms_schedule_zb1p = {
    .name = "zb1p",
    .passes = 3,
    .directions = 1,
    .check = ms_torch_check,
    .place = ms_place_loop,
    .round = ms_torch_group,
    .generate = generate,
};
