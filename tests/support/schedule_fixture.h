/* Building and evaluating schedules in tests, with the diagnostics kept. */
#ifndef SCHEDULE_FIXTURE_H
#define SCHEDULE_FIXTURE_H

#include <criterion/criterion.h>

#include "schedule/schedule.h"
#include "schedule/schedule_csv.h"

/* P, V, M and N of a kind, without options. */
#define SPEC(kind_, p_, v_, m_, n_)                                                                \
    { .kind = (kind_), .pipeline_ranks = (p_), .chunks = (v_), .microbatches = (m_), .group = (n_) }

typedef struct fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer talk; /* all diagnostics so far */
} fixture;

static inline void fixture_write(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void fixture_init(fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->talk);
    ms_diag_init(&f->diag, fixture_write, &f->talk);
}

static inline void fixture_release(fixture *f) {
    ms_arena_release(&f->arena);
    ms_buffer_release(&f->talk);
}

/* A program that must build. */
static inline ms_program fixture_build(fixture *f, const ms_schedule_spec *spec) {
    ms_program program = {0};
    cr_assert_eq(ms_schedule_build(spec, &f->arena, &f->diag, &program), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    return program;
}

/* The same four costs for every stage and boundary. */
static inline ms_schedule_costs fixture_even_costs(fixture *f, int stages, const double costs[4]) {
    double *lists[4];
    for (int i = 0; i < 4; i++) {
        lists[i] = MS_NEW(&f->arena, double, stages);
        cr_assert_not_null(lists[i]);
        for (int stage = 0; stage < stages; stage++) {
            lists[i][stage] = costs[i];
        }
    }
    return (ms_schedule_costs){
        .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
}

static inline ms_schedule_result fixture_evaluate(fixture *f, const ms_program *program,
                                                  const ms_schedule_costs *costs) {
    ms_schedule_result result = {0};
    cr_assert_eq(ms_schedule_evaluate(program, costs, &f->arena, &f->diag, &result), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    return result;
}

/* Append the compute-only CSV of a program. */
static inline void fixture_write_csv(fixture *f, const ms_program *program, ms_buffer *out) {
    ms_csv_table table;
    const ms_csv_form form = {.has_sends = false};
    cr_assert_eq(ms_csv_lower(program, &form, &f->arena, &f->diag, &table), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    ms_csv_write(&table, out);
}

#endif
