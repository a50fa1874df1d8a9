/* The parts of a makespan, and the period. */
#include <math.h>
#include <string.h>

#include "meshsim/schedule_csv.h"
#include "meshsim/schedule_study.h"
#include "schedule_fixture.h"

static ms_schedule_gap explain(fixture *f, const ms_program *program,
                               const ms_schedule_costs *costs) {
    double makespan = fixture_evaluate(f, program, costs).makespan;
    ms_schedule_gap gap = {.base = -1};
    cr_assert_eq(ms_schedule_explain(program, costs, makespan, &f->diag, &gap), MS_OK);
    double sum = gap.base + gap.order + gap.imbalance + gap.latency;
    cr_assert_float_eq(sum, makespan, 1e-9 * (1 + makespan));
    return gap;
}

Test(schedule_study, parts_add_up_and_blame_the_right_thing) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, 4, 0, 8, 0);
        ms_program program = fixture_build(&f, &spec);
        int stages = program.model_stages;
        ms_schedule_costs costs = fixture_even_costs(&f, stages, (const double[]){1, 1, 1, 0});
        ms_schedule_gap gap = explain(&f, &program, &costs);
        cr_assert_float_eq(gap.imbalance, 0, 1e-12);
        cr_assert_float_eq(gap.latency, 0, 1e-12);
        cr_assert(gap.order >= -1e-12);
        cr_assert(!gap.has_closed_form || fabs(gap.order) < 1e-9, "%s", program.name);
        costs = fixture_even_costs(&f, stages, (const double[]){1, 1, 1, 0.25});
        ms_schedule_gap late = explain(&f, &program, &costs);
        cr_assert_float_eq(late.base + late.order, gap.base + gap.order, 1e-9);
        cr_assert_gt(late.latency, 0);
        costs = fixture_even_costs(&f, stages, (const double[]){1, 1, 1, 0});
        double *forward = MS_NEW(&f.arena, double, stages);
        for (int stage = 0; stage < stages; stage++) {
            forward[stage] = stage == stages / 2 ? 3 : 1;
        }
        costs.forward = forward;
        ms_schedule_gap uneven = explain(&f, &program, &costs);
        cr_assert_float_eq(uneven.latency, 0, 1e-12);
        cr_assert_gt(uneven.imbalance, 0, "%s", program.name);
        fixture_release(&f);
    }
}

/* A rank works 3 per microbatch; one stage of twice that sets the pace; latency that does not hide
 * is paid by every group of P (1F1B: 2 l (P-1) / P). */
Test(schedule_study, period) {
    static const struct {
        ms_schedule_kind kind;
        double p2p, slow, period;
    } ROWS[] = {{MS_SCHEDULE_GPIPE, 0, 1, 3},
                {MS_SCHEDULE_1F1B, 0, 1, 3},
                {MS_SCHEDULE_1F1B, 0.5, 1, 3 + 2 * 0.5 * 3 / 4},
                {MS_SCHEDULE_1F1B, 0, 2, 6},
                {MS_SCHEDULE_ZBH1, 0, 2, 6},
                {MS_SCHEDULE_DUALPIPE, 0, 1, 3}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = SPEC(ROWS[i].kind, 4, 0, 16, 0);
        ms_program program = fixture_build(&f, &spec);
        ms_schedule_costs costs = fixture_even_costs(&f, 4, (const double[]){1, 1, 1, ROWS[i].p2p});
        double slow[] = {1, 1, ROWS[i].slow, 1};
        costs.forward = slow;
        costs.input_grad = slow;
        costs.weight_grad = slow;
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        double period = 0;
        cr_assert_eq(ms_schedule_period(&program, &costs, &result, &f.diag, &period), MS_OK);
        cr_assert_float_eq(period, ROWS[i].period, 1e-9, "row %zu: %g", i, period);
        fixture_release(&f);
    }
}

/* From the times of a file the same comes out, where the middle is steady. */
Test(schedule_study, period_of_a_file) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 4, 1, 32, 0);
    ms_program built = fixture_build(&f, &spec);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_program_write_csv(&built, &text);
    ms_csv_table table;
    ms_program program;
    cr_assert_eq(ms_csv_read(ms_buffer_text(&text), text.length, "f", &f.arena, &f.diag, &table),
                 MS_OK);
    cr_assert_eq(ms_csv_program(&table, "csv:f", &f.arena, &f.diag, &program), MS_OK);
    ms_schedule_costs costs = fixture_even_costs(&f, 4, (const double[]){1, 1, 1, 0.5});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    double period = 0;
    cr_assert_eq(ms_schedule_period(&program, &costs, &result, &f.diag, &period), MS_OK);
    cr_assert_float_eq(period, 3.75, 1e-9, "%g", period);
    ms_buffer_release(&text);
    fixture_release(&f);
}
