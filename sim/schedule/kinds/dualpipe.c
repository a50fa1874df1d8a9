/* DualPipe: half of the microbatches run from rank 0 to P-1 and half from rank P-1 to 0; every rank
 * has one stage of each direction, and overlaps forward passes of one direction with backward
 * passes of the other. DualPipeV: the same on half as many ranks, with two stages per rank in a V
 * instead of two directions. A rank's list has eight steps, numbered here as in the published code:
 * 1 to 3 warm up, 4 and 5 are steady, 6 to 8 cool down. Source: DeepSeek-AI, "DeepSeek-V3 Technical
 * Report", 2024, and the order of the published DualPipe and DualPipeV implementations. */
#include <stdio.h>

#include "schedule/internal.h"

/* One rank's list under construction. A phase is one of the rank's two stages: of a direction
 * (DualPipe) or a chunk (DualPipeV); phase 0 is that whose microbatches reach the rank first.
 * Weight gradients that are put off form a queue in the order of their input gradients. The queue
 * is kept in the list itself, as the I from index `queue` on. */
typedef struct dualpipe_rank {
    ms_action_list *list;
    size_t queue; /* index in the list, at or before the I of the oldest weight gradient put off */
    int waiting;  /* number of weight gradients put off */
    int half;     /* H: P/2 for DualPipe, P for DualPipeV */
    int distance; /* h: number of ranks between this one and the outer end, 0..H-1 */
    int total;    /* n: microbatches per phase */
    int stage[2]; /* of each phase, in the program */
    int forwards[2]; /* next microbatch of each phase */
    int backwards[2];
} dualpipe_rank;

/* Append the next forward pass of a phase. */
static void forward(dualpipe_rank *s, int phase) {
    ms_action_list_add(s->list, MS_PASS_F, s->stage[phase], s->forwards[phase]++);
}

/* Append the next backward pass of a phase: whole (B), or I with its weight gradient put off
 * (is_split). */
static void backward(dualpipe_rank *s, int phase, bool is_split) {
    ms_action_list_add(s->list, is_split ? MS_PASS_I : MS_PASS_B, s->stage[phase],
                       s->backwards[phase]++);
    s->waiting += is_split;
}

/* Append the oldest weight gradient that was put off, if there is one. */
static void weight(dualpipe_rank *s) {
    if (s->waiting == 0 || s->list->has_overflowed) {
        return;
    }
    while (s->list->actions[s->queue].pass != MS_PASS_I) {
        s->queue++;
    }
    ms_action oldest = s->list->actions[s->queue++];
    ms_action_list_add(s->list, MS_PASS_W, oldest.stage, oldest.mb);
    s->waiting--;
}

/* Append the next forward pass of one phase and the next backward pass of the other as an
 * overlapped pair. */
static void overlapped(dualpipe_rank *s, int forward_phase, int backward_phase) {
    ms_action f = {.pass = MS_PASS_F,
                   .stage = (int16_t)s->stage[forward_phase],
                   .mb = s->forwards[forward_phase]++};
    ms_action b = {.pass = MS_PASS_B,
                   .stage = (int16_t)s->stage[backward_phase],
                   .mb = s->backwards[backward_phase]++};
    ms_action_list_add_pair(s->list, &f, &b);
}

/* Steps 1 to 3: forward passes of phase 0, of both phases in turn, and then I, W and F of phase 1.
 */
static void warm_up(dualpipe_rank *s) {
    int inner = s->half - s->distance - 1;
    for (int i = 0; i < 2 * inner; i++) {
        forward(s, 0);
    }
    for (int i = 0; i < s->distance + 1; i++) {
        forward(s, 0);
        forward(s, 1);
    }
    for (int i = 0; i < inner; i++) {
        backward(s, 1, true);
        weight(s);
        forward(s, 1);
    }
}

/* Steps 4 and 5: overlapped pairs of both phases in turn, until phase 0 has no forward pass left;
 * then pairs of F of phase 1 and B of phase 0, with B of phase 1 between them. On the innermost
 * rank, the first pair runs as two passes, as in the published code: this shortens the bubble where
 * a backward pass takes longer than a forward pass. */
static void steady(dualpipe_rank *s) {
    int pairs = s->total - 2 * s->half + s->distance + 1;
    for (int i = 0; i < pairs; i++) {
        if (i == 0 && s->distance == s->half - 1) {
            forward(s, 0);
            backward(s, 1, false);
        } else {
            overlapped(s, 0, 1);
        }
        overlapped(s, 1, 0);
    }
    for (int i = 0; i < s->half - s->distance - 1; i++) {
        backward(s, 1, false);
        overlapped(s, 1, 0);
    }
}

/* Steps 6 to 8: the backward passes left, from the middle of step 6 on with their weight gradients
 * put off; then those weight gradients, each before a further I in step 7, and the rest in step 8.
 */
static void cool_down(dualpipe_rank *s) {
    bool is_split = false;
    int inner = s->half - s->distance - 1;
    for (int i = 0; i < s->distance + 1; i++) {
        bool is_turn = i == (s->distance + 1) / 2;
        is_split = is_split || (is_turn && s->distance % 2 == 1);
        backward(s, 1, is_split);
        is_split = is_split || is_turn;
        backward(s, 0, is_split);
    }
    for (int i = 0; i < inner; i++) {
        weight(s);
        backward(s, 0, true);
    }
    for (int i = 0; i < s->distance + 1; i++) {
        weight(s);
    }
}

/* Append a rank's list. s: half, distance, total and stage are set. */
static void generate(dualpipe_rank *s, ms_action_list *list) {
    s->list = list;
    s->queue = list->count;
    warm_up(s);
    steady(s);
    cool_down(s);
}

/* Append a rank's list of DualPipe: on the lower half of the ranks phase 0 is the first direction,
 * on the upper half the second. */
static void generate_dualpipe(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int ranks = spec->pipeline_ranks;
    int mirror = ranks - 1 - rank;
    bool is_lower = rank < ranks / 2;
    dualpipe_rank s = {
        .half = ranks / 2, .distance = is_lower ? rank : mirror, .total = spec->microbatches / 2};
    /* stage ids of the second direction follow those of the first */
    s.stage[0] = is_lower ? rank : ranks + mirror;
    s.stage[1] = is_lower ? ranks + mirror : rank;
    generate(&s, list);
}

/* Append a rank's list of DualPipeV: phase 0 is chunk 0. */
static void generate_dualpipev(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    dualpipe_rank s = {.half = spec->pipeline_ranks,
                       .distance = rank,
                       .total = spec->microbatches,
                       .stage = {rank, 2 * spec->pipeline_ranks - 1 - rank}};
    generate(&s, list);
}

/* Check that M >= 2P. */
static ms_status check_microbatches(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                    ms_diag *diag) {
    if (spec->microbatches >= 2LL * spec->pipeline_ranks) {
        return MS_OK;
    }
    return ms_diag_error(
        diag,
        "%s needs at least twice as many microbatches as pipeline ranks, got M = '%d' "
        "for P = %d; nearest legal M: %lld",
        type->name, spec->microbatches, spec->pipeline_ranks, 2LL * spec->pipeline_ranks);
}

/* Check that P and M are even and that M >= 2P. */
static ms_status check_even(const ms_schedule_type *type, const ms_schedule_spec *spec,
                            ms_diag *diag) {
    int ranks = spec->pipeline_ranks, microbatches = spec->microbatches;
    if (ranks % 2 == 0 && microbatches % 2 == 0) {
        return check_microbatches(type, spec, diag);
    }
    bool is_p = ranks % 2 != 0;
    int value = is_p ? ranks : microbatches;
    bool has_below = is_p ? value > 2 : value - 1 >= 2LL * ranks;
    char lower[32] = "";
    if (has_below) {
        snprintf(lower, sizeof lower, "%d or ", value - 1);
    }
    const char *name = is_p ? "P" : "M";
    return ms_diag_error(
        diag,
        "%s feeds half the microbatches from each end, so P and M must be even, got "
        "%s = '%d'; nearest legal %s: %s%lld",
        type->name, name, value, name, lower,
        is_p || value >= 2LL * ranks ? value + 1LL : 2LL * ranks);
}

/* Closed form of the makespan: work + bubbles (F&B + F - 2W), where an overlapped pair takes F&B =
 * F + I + W, for even costs with F >= I >= W and free messages. work: M V (F + I + W).  bubbles:
 * P/2 - 1 (DualPipe), P - 1 (DualPipeV).  Source: the bubble (PP/2-1)(F&B+B-3W) of the DualPipe
 * README, made exact by exhaustive evaluation, swept in tests/unit/schedule. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    int ranks = program->spec.pipeline_ranks;
    int bubbles = program->spec.kind == MS_SCHEDULE_DUALPIPE ? ranks / 2 - 1 : ranks - 1;
    ms_even_costs even;
    bool is_plain = !costs->is_serial && (costs->pair_scale == 0 || costs->pair_scale == 1);
    if (!is_plain || !ms_schedule_costs_are_even_and_free(program, costs, &even) ||
        even.forward < even.input_grad || even.input_grad < even.weight_grad) {
        return false;
    }
    double work = even.forward + even.backward;
    *makespan_out = (double)program->spec.microbatches * program->spec.chunks * work +
                    bubbles * (work + even.forward - 2 * even.weight_grad);
    return true;
}

const ms_schedule_type ms_schedule_dualpipe = {
    .name = "dualpipe",
    .passes = 3,
    .directions = 2,
    .chunks = 1,
    .check = check_even,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate_dualpipe,
    .formula = formula,
};

const ms_schedule_type ms_schedule_dualpipev = {
    .name = "dualpipev",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .check = check_microbatches,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate_dualpipev,
    .formula = formula,
};
