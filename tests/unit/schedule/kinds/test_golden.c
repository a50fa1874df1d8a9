#include <criterion/criterion.h>
#include <math.h>

#include "schedule/schedule.h"
#include "schedule_cases.h"

static void close_to(const ms_schedule_case *item, const char *what, double got, double want) {
    cr_assert(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)), "case %d: %s is %.17g, not %.17g",
              item->id, what, got, want);
}

static void check_ranks(const ms_schedule_case *item, const ms_schedule_result *result) {
    for (int r = 0; r < item->p; r++) {
        const ms_schedule_rank *rank = &result->ranks[r];
        close_to(item, "busy", rank->busy, item->busy[r]);
        close_to(item, "exposed_p2p", rank->exposed_p2p, item->exposed_p2p[r]);
        close_to(item, "warm-up", rank->idle_warmup, item->idle[r][0]);
        close_to(item, "steady", rank->idle_steady, item->idle[r][1]);
        close_to(item, "cool-down", rank->idle_cooldown, item->idle[r][2]);
        cr_assert_eq(rank->peak_inflight, item->peak_inflight[r], "case %d", item->id);
        cr_assert_eq(rank->peak_inflight_input, item->peak_inflight_input[r], "case %d", item->id);
        cr_assert_eq(rank->messages_sent, item->messages[r], "case %d", item->id);
    }
}

static void check_case(const ms_schedule_case *item) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_diag diag;
    ms_diag_init_stderr(&diag);
    ms_schedule_spec spec = {.pipeline_ranks = item->p,
                             .chunks = item->v,
                             .microbatches = item->m,
                             .group = item->group,
                             .slices = item->splits};
    cr_assert_eq(ms_schedule_kind_from_name(item->schedule, &spec.kind), MS_OK);
    ms_program program;
    cr_assert_eq(ms_schedule_build(&spec, &arena, &diag, &program), MS_OK);
    cr_assert_eq(ms_program_check(&program, &diag), MS_OK);
    cr_assert_eq(ms_program_crc32(&program), item->crc, "case %d", item->id);
    ms_schedule_costs costs = {.forward = item->tf,
                               .input_grad = item->tb,
                               .weight_grad = item->tw,
                               .p2p = item->p2p,
                               .pair_scale = item->pair_scale,
                               .is_serial = item->is_serial};
    ms_schedule_result result;
    cr_assert_eq(ms_schedule_evaluate(&program, &costs, &arena, &diag, &result), MS_OK);
    close_to(item, "makespan", result.makespan, item->makespan);
    close_to(item, "bubble_fraction", result.bubble_fraction, item->bubble_fraction);
    close_to(item, "max_span", result.max_span, item->max_span);
    close_to(item, "max_span_bubble", result.max_span_bubble, item->max_span_bubble);
    cr_assert_eq(result.messages_total, item->messages_total, "case %d", item->id);
    cr_assert_eq(program.parameter_replicas, item->parameter_replicas, "case %d", item->id);
    cr_assert_eq(result.has_formula, item->has_formula, "case %d", item->id);
    if (item->has_formula) {
        close_to(item, "closed form", result.formula_makespan, item->makespan);
    }
    if (item->has_span_formula) {
        cr_assert(result.has_span_formula, "case %d", item->id);
        close_to(item, "closed form of the span", result.formula_span_bubble,
                 item->formula_span_bubble);
    }
    check_ranks(item, &result);
    ms_arena_release(&arena);
}

Test(schedule_golden, all_cases) {
    cr_assert_eq(MS_SCHEDULE_CASE_COUNT, 74);
    for (int i = 0; i < MS_SCHEDULE_CASE_COUNT; i++) {
        check_case(&MS_SCHEDULE_CASES[i]);
    }
}
