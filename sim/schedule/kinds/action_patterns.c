/* Parts that several schedule kinds share: placements of stages on ranks, and the two orders that a
 * rank's list is generated from, 1F1B (ms_generate_1f1b) and 1F1B with the backward pass split into
 * I and W (ms_generate_split). An order counts a rank's forward passes, and its backward passes,
 * from k = 0; the kind's function `add` maps k to a stage and a microbatch. */
#include "schedule/internal.h"

/* Append an action. Beyond the capacity nothing is written, and has_overflowed is set. */
void ms_action_list_add(ms_action_list *list, ms_pass pass, int stage, int mb) {
    if (list->count == list->capacity) {
        list->has_overflowed = true;
        return;
    }
    list->actions[list->count++] =
        (ms_action){.pass = (uint8_t)pass, .stage = (int16_t)stage, .mb = mb};
}

/* Append a forward and a backward pass as an overlapped pair. */
void ms_action_list_add_pair(ms_action_list *list, const ms_action *forward,
                             const ms_action *backward) {
    ms_action_list_add(list, (ms_pass)forward->pass, forward->stage, forward->mb);
    ms_action_list_add(list, (ms_pass)backward->pass, backward->stage, backward->mb);
    if (!list->has_overflowed) {
        list->actions[list->count - 2].is_overlapped = 1;
    }
}

int ms_stage_rank_loop(const ms_schedule_spec *spec, int stage) {
    return stage % spec->pipeline_ranks;
}

int ms_stage_rank_v(const ms_schedule_spec *spec, int stage) {
    int rank = stage % spec->pipeline_ranks;
    return stage / spec->pipeline_ranks % 2 == 0 ? rank : spec->pipeline_ranks - 1 - rank;
}

/* Check that there are at least as many microbatches as pipeline ranks. */
ms_status ms_schedule_check_m_at_least_p(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                         ms_diag *diag) {
    if (spec->microbatches >= spec->pipeline_ranks) {
        return MS_OK;
    }
    return ms_diag_error(diag,
                         "%s needs at least as many microbatches as pipeline ranks, got M = '%d' "
                         "for P = %d; nearest legal M: %d",
                         type->name, spec->microbatches, spec->pipeline_ranks,
                         spec->pipeline_ranks);
}

/* `add` of kinds with one stage per rank: pass k is of the rank's stage and microbatch k. */
static void add_in_order(const ms_1f1b_list *order, ms_pass pass, int64_t k, ms_action_list *list) {
    ms_action_list_add(list, pass, order->rank, (int)k);
}

/* The order of a rank with `warmup` F before the first F that a backward pass follows; total is V M
 * K. */
ms_1f1b_list ms_1f1b_list_of(const ms_schedule_spec *spec, int rank, int64_t warmup) {
    int64_t total =
        (int64_t)spec->chunks * spec->microbatches * (spec->slices > 1 ? spec->slices : 1);
    return (ms_1f1b_list){.spec = spec,
                          .rank = rank,
                          .total = total,
                          .warmup = warmup < total ? warmup : total,
                          .add = add_in_order};
}

/* Append a rank's list in the 1F1B order: warm-up, steady 1F1B, cool-down. */
void ms_generate_1f1b(const ms_1f1b_list *order, ms_action_list *list) {
    for (int64_t k = 0; k < order->warmup; k++) {
        order->add(order, MS_PASS_F, k, list);
    }
    int64_t steady = order->total - order->warmup;
    for (int64_t k = 0; k < steady; k++) {
        order->add(order, MS_PASS_F, order->warmup + k, list);
        order->add(order, MS_PASS_B, k, list);
    }
    for (int64_t k = steady; k < order->total; k++) { /* cool-down: the backward passes left */
        order->add(order, MS_PASS_B, k, list);
    }
}

/* Append a rank's list in the 1F1B order with split backward passes. As ms_generate_1f1b, but with
 * I in rank of B, and after it the W whose I ran `lag` steps before; the W of the last `lag` steps
 * follow at the end. */
void ms_generate_split(const ms_1f1b_list *order, int lag, ms_action_list *list) {
    for (int64_t k = 0; k < order->warmup; k++) {
        order->add(order, MS_PASS_F, k, list);
    }
    for (int64_t k = 0; k < order->total; k++) {
        if (order->warmup + k < order->total) {
            order->add(order, MS_PASS_F, order->warmup + k, list);
        }
        order->add(order, MS_PASS_I, k, list);
        if (k >= lag) {
            order->add(order, MS_PASS_W, k - lag, list);
        }
    }
    for (int64_t k = order->total > lag ? order->total - lag : 0; k < order->total; k++) {
        order->add(order, MS_PASS_W, k, list);
    }
}
