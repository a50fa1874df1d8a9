/* ZB-V, the fixed pattern of the zero-bubble paper for F = I = W: two stages per rank in a V (chunk
 * 0 is stage r, chunk 1 is stage 2P-1-r), no idle time between a rank's first and last pass (its
 * span), and the activation memory of 1F1B. Backward passes are split into input gradients I and
 * weight gradients W. Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, appendix on
 * ZB-V; order of torch.distributed.pipelining.ScheduleZBVZeroBubble. */
#include "schedule/internal.h"

/* One rank's list under construction. */
typedef struct zbv_rank {
    const ms_schedule_spec *spec;
    int rank;
    ms_action_list *list;
    int next[MS_PASS_COUNT][2]; /* next microbatch of each pass and chunk */
} zbv_rank;

/* Append a pass of chunk 0 or 1 for its next microbatch. The pattern needs at least 2P-1
 * microbatches: passes of further ones than there are advance the count and append nothing. */
static void emit(zbv_rank *s, ms_pass pass, int chunk) {
    int mb = s->next[pass][chunk]++;
    int stage = chunk == 0 ? s->rank : 2 * s->spec->pipeline_ranks - 1 - s->rank;
    if (mb < s->spec->microbatches) {
        ms_action_list_add(s->list, pass, stage, mb);
    }
}

/* Emit the passes before the steady state: forward passes of chunk 0 until the first microbatch
 * arrives at chunk 1, then forward passes of both chunks in turn until the gradient of that
 * microbatch arrives, then the first backward passes of chunk 1. */
static void warm_up(zbv_rank *s) {
    int ranks = s->spec->pipeline_ranks;
    for (int i = 0; i < 2 * (ranks - s->rank) - 1; i++) {
        emit(s, MS_PASS_F, 0);
    }
    for (int i = 0; i < s->rank; i++) {
        emit(s, MS_PASS_F, 1);
        emit(s, MS_PASS_F, 0);
    }
    for (int i = 0; i < ranks - s->rank; i++) {
        emit(s, MS_PASS_F, 1);
        emit(s, MS_PASS_I, 1);
        emit(s, MS_PASS_W, 1);
    }
}

/* Emit the passes after the last forward pass. Input gradients come first where other ranks wait
 * for them; the W left fill the end. total: microbatches of the pattern. */
static void cool_down(zbv_rank *s, int total) {
    for (int i = 0; i < s->rank; i++) {
        emit(s, MS_PASS_I, 0);
        emit(s, MS_PASS_I, 1);
    }
    for (int i = 0; i < s->spec->pipeline_ranks - s->rank; i++) {
        emit(s, MS_PASS_I, 0);
        emit(s, MS_PASS_W, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--) {
        while (s->next[MS_PASS_W][chunk] < total) {
            emit(s, MS_PASS_W, chunk);
        }
    }
}

/* Append a rank's list. In the steady state, chunk 0 and chunk 1 each run one F, one I and one W in
 * turn; at its end, chunk 0 has no F left and runs I and W only, until chunk 1 has run its last F.
 */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    zbv_rank s = {.spec = spec, .rank = rank, .list = list};
    int least = 2 * spec->pipeline_ranks - 1;
    int total = spec->microbatches > least ? spec->microbatches : least;
    warm_up(&s);
    while (s.next[MS_PASS_F][1] < s.next[MS_PASS_F][0] || s.next[MS_PASS_F][0] < total) {
        if (s.next[MS_PASS_F][0] < total) {
            emit(&s, MS_PASS_F, 0);
        }
        emit(&s, MS_PASS_I, 0);
        emit(&s, MS_PASS_W, 0);
        emit(&s, MS_PASS_F, 1);
        emit(&s, MS_PASS_I, 1);
        emit(&s, MS_PASS_W, 1);
    }
    cool_down(&s, total);
}

/* Closed form of the span bubble: no idle time inside any rank's span for F = I = W, M >= 2P-1 and
 * no latency. Source: derived by exhaustive evaluation, swept in tests/unit/schedule. */
static bool span_formula(const ms_program *program, const ms_schedule_costs *costs,
                         double *bubble_out) {
    ms_even_costs even;
    if (program->spec.microbatches < 2 * program->spec.pipeline_ranks - 1 ||
        !ms_schedule_costs_are_even_and_free(program, costs, &even) ||
        even.forward != even.input_grad || even.forward != even.weight_grad) {
        return false;
    }
    *bubble_out = 0;
    return true;
}

const ms_schedule_type ms_schedule_zbv = {
    .name = "zbv",
    .passes = 3,
    .directions = 1,
    .chunks = 2,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate,
    .span_formula = span_formula,
};
