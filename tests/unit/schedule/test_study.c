/* The parts of a makespan, and the period. */
#include <math.h>
#include <string.h>

#include "schedule/schedule_csv.h"
#include "schedule/schedule_study.h"
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
        bool is_free = ms_schedule_kind_traits((ms_schedule_kind)kind).chunks == 0;
        ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, 4, is_free ? 1 : 0, 8, 0);
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

static double period_of(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                        double *work_out) {
    ms_schedule_result result = fixture_evaluate(f, program, costs);
    double period = -1;
    cr_assert_eq(ms_schedule_period(program, costs, &result, &f->diag, &period), MS_OK);
    *work_out = result.busy_max / program->spec.microbatches;
    return period;
}

/* Whatever the size, the busiest rank has to do its work; and one more microbatch costs no more
 * than one that is alone. */
Test(schedule_study, period_is_no_less_than_the_work, .timeout = 120) {
    static const double COSTS[][4] = {{1, 1, 1, 0}, {1, 1.3, 0.7, 0.4}, {1, 2, 0, 0.05}};
    int tried = 0;
    for (int i = 0; i < MS_SCHEDULE_KIND_COUNT * 6 * 16 * 3; i++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_kind kind = (ms_schedule_kind)(i / 288);
        int chunks = ms_schedule_kind_traits(kind).chunks == 0 ? 1 : 0;
        ms_schedule_spec spec = SPEC(kind, i / 48 % 6 + 1, chunks, i / 3 % 16 + 1, 0);
        ms_program program;
        if (ms_schedule_build(&spec, &f.arena, &f.diag, &program) == MS_OK) {
            const double *row = COSTS[i % 3];
            ms_schedule_costs costs = fixture_even_costs(&f, program.model_stages, row);
            double work = 0;
            double period = period_of(&f, &program, &costs, &work);
            cr_assert_geq(period, work * (1 - 1e-12), "%s P=%d M=%d", program.name,
                          spec.pipeline_ranks, spec.microbatches);
            double alone = program.model_stages * (row[0] + row[1] + row[2] + 2 * row[3]);
            cr_assert_leq(period, alone * (1 + 1e-12), "%s P=%d M=%d", program.name,
                          spec.pipeline_ranks, spec.microbatches);
            tried++;
        }
        fixture_release(&f);
    }
    cr_assert_gt(tried, 2500, "%d", tried);
}

/* Too few microbatches to fill the pipeline do not make the next one cheaper: the long run is that
 * of a schedule of 16 P. */
Test(schedule_study, period_of_few_microbatches) {
    static const ms_schedule_spec ROWS[] = {
        {.kind = MS_SCHEDULE_ZBH2, .pipeline_ranks = 8, .microbatches = 8},
        {.kind = MS_SCHEDULE_ZBV, .pipeline_ranks = 8, .microbatches = 8},
        {.kind = MS_SCHEDULE_VHALF, .pipeline_ranks = 5, .microbatches = 3},
        {.kind = MS_SCHEDULE_INTERLEAVED, .pipeline_ranks = 4, .chunks = 3, .microbatches = 4},
        {.kind = MS_SCHEDULE_INTERLEAVED_FLEXIBLE,
         .pipeline_ranks = 3,
         .chunks = 1,
         .microbatches = 7},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program = fixture_build(&f, &ROWS[i]);
        ms_schedule_spec spec = ROWS[i];
        spec.microbatches *= 16 * spec.pipeline_ranks;
        ms_program many = fixture_build(&f, &spec);
        ms_schedule_costs costs =
            fixture_even_costs(&f, program.model_stages, (const double[]){1, 1, 1, 0});
        double work = 0;
        double period = period_of(&f, &program, &costs, &work);
        cr_assert_float_eq(period, period_of(&f, &many, &costs, &work), 1e-9, "%s: %g",
                           program.name, period);
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
    fixture_write_csv(&f, &built, &text);
    ms_csv_table table;
    ms_program program;
    cr_assert_eq(ms_csv_read(ms_buffer_text(&text), text.length, "f", &f.arena, &f.diag, &table),
                 MS_OK);
    cr_assert_eq(ms_csv_program(&table, "csv:f", 1, &f.arena, &f.diag, &program), MS_OK);
    ms_schedule_costs costs = fixture_even_costs(&f, 4, (const double[]){1, 1, 1, 0.5});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    double period = 0;
    cr_assert_eq(ms_schedule_period(&program, &costs, &result, &f.diag, &period), MS_OK);
    cr_assert_float_eq(period, 3.75, 1e-9, "%g", period);
    ms_buffer_release(&text);
    fixture_release(&f);
}
