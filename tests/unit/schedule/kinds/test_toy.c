/* A schedule that a test adds by its row alone is built, checked, evaluated and written. */
#include <string.h>

#include "schedule/schedule_csv.h"
#include "schedule_fixture.h"
#include "toy_schedule.h"

enum { P = 4, M = 6 };

static ms_program build(fixture *f) {
    ms_schedule_kind kind = ms_schedule_add_kind(&TOY_SCHEDULE);
    ms_schedule_spec spec = SPEC(kind, P, 0, M, 0);
    return fixture_build(f, &spec);
}

Test(schedule_toy, is_found_by_its_name) {
    ms_schedule_kind kind = MS_SCHEDULE_CUSTOM;
    cr_assert_eq(ms_schedule_kind_from_name("one-by-one", &kind), MS_E_RANGE);
    ms_schedule_kind added = ms_schedule_add_kind(&TOY_SCHEDULE);
    cr_assert_eq(ms_schedule_kind_from_name("one-by-one", &kind), MS_OK);
    cr_assert_eq(kind, added);
    cr_assert_str_eq(ms_schedule_kind_name(kind), "one-by-one");
    cr_assert_eq(ms_schedule_kind_traits(kind).chunks, 1);
    cr_assert_str_eq(ms_schedule_kind_names()[MS_SCHEDULE_KIND_COUNT], "one-by-one");
    cr_assert_null(ms_schedule_kind_names()[MS_SCHEDULE_KIND_COUNT + 1]);
    ms_schedule_add_kind(NULL);
    cr_assert_null(ms_schedule_kind_names()[MS_SCHEDULE_KIND_COUNT]);
    cr_assert_eq(ms_schedule_kind_from_name("one-by-one", &kind), MS_E_RANGE);
}

/* The rules of its row hold: one stage per rank, no groups. */
Test(schedule_toy, refuses_what_its_row_does_not_take) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(ms_schedule_add_kind(&TOY_SCHEDULE), P, 2, M, 0);
    ms_program program;
    cr_assert_eq(ms_schedule_build(&spec, &f.arena, &f.diag, &program), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "one-by-one has one stage per pipeline"));
    fixture_release(&f);
}

Test(schedule_toy, keeps_the_invariants_and_meets_its_closed_form) {
    fixture f;
    fixture_init(&f);
    ms_program program = build(&f);
    cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK, "%s", ms_buffer_text(&f.talk));
    ms_schedule_costs costs = fixture_even_costs(&f, P, (double[4]){1.0, 1.5, 0.5, 0.25});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    cr_assert(result.has_formula);
    cr_assert_float_eq(result.formula_makespan, M * (P * 3.0 + 2 * (P - 1) * 0.25), 1e-12);
    cr_assert_float_eq(result.makespan, result.formula_makespan, 1e-12);
    for (int rank = 0; rank < P; rank++) {
        cr_assert_eq(result.ranks[rank].peak_inflight, 1);
    }
    fixture_release(&f);
}

/* Written as a file and read again it is the same order, of no kind. */
Test(schedule_toy, goes_through_a_file) {
    fixture f;
    fixture_init(&f);
    ms_program program = build(&f), again;
    ms_buffer text;
    ms_buffer_init(&text);
    fixture_write_csv(&f, &program, &text);
    ms_csv_table table;
    cr_assert_eq(
        ms_csv_read(ms_buffer_text(&text), text.length, "toy.csv", &f.arena, &f.diag, &table),
        MS_OK);
    cr_assert_eq(ms_csv_program(&table, "csv:toy.csv", 1, &f.arena, &f.diag, &again), MS_OK, "%s",
                 ms_buffer_text(&f.talk));
    cr_assert_eq(ms_program_crc32(&again), ms_program_crc32(&program));
    cr_assert_eq(program.type, &TOY_SCHEDULE);
    cr_assert_null(again.type);
    ms_buffer_release(&text);
    fixture_release(&f);
}
