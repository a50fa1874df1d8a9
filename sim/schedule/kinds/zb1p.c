/* ZB1P, interleaved zero bubble: interleaved 1F1B in PyTorch's groups of microbatches, with
 * backward passes split into input gradients I and weight gradients W. The warm-up of rank r has
 * P-1-r + (V-1)N forward passes, fewer than the 2(P-1-r) + (V-1)N of interleaved 1F1B, and each W
 * runs r steps after its I. Source: order of
 * torch.distributed.pipelining.ScheduleInterleavedZeroBubble. */
#include "schedule/internal.h"

/* Append a rank's list: warm-up of F; then one F and one I per step, and the W of `rank` steps
 * before. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int group = ms_torch_group(spec);
    int64_t warmup = spec->pipeline_ranks - 1 - rank + (int64_t)(spec->chunks - 1) * group;
    ms_1f1b_list order = ms_1f1b_list_of(spec, rank, warmup);
    order.group = group;
    order.add = ms_interleaved_add;
    ms_generate_split(&order, rank, list);
}

const ms_schedule_type ms_schedule_zb1p = {
    .name = "zb1p",
    .passes = 3,
    .directions = 1,
    .check = ms_torch_check,
    .rank_of_stage = ms_stage_rank_loop,
    .round = ms_torch_group,
    .generate = generate,
};
