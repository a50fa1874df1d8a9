#include <math.h>
#include <string.h>

#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

/* A run of two ranks with messages both ways, to be spoilt. */
static void run_small(dag_fixture *f) {
    fixture_pipeline p = {.ranks = 2,
                          .chunks = 1,
                          .microbatches = 3,
                          .forward_s = 1.0,
                          .backward_s = 2.0,
                          .latency_s = 0.5};
    fixture_init(f);
    fixture_add_pipeline(f, &p);
    fixture_run(f);
}

typedef struct message {
    char text[512];
} message;

static void keep(void *context, const char *text) {
    message *m = context;
    strncat(m->text, text, sizeof m->text - strlen(m->text) - 1);
}

/* Asserts that the metrics refuse the timeline, say `why` once and leave the result alone. */
static void expect_bug(dag_fixture *f, const char *why) {
    message m = {""};
    ms_diag diag;
    ms_diag_init(&diag, keep, &m);
    ms_metrics metrics = {.step_time_s = -1.0};
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &diag, &metrics), MS_E_BUG,
                 "%s", why);
    cr_assert_eq(diag.errors, 1);
    cr_assert_not_null(strstr(m.text, why), "'%s' lacks '%s'", m.text, why);
    cr_assert_float_eq(metrics.step_time_s, -1.0, 0.0);
}

Test(faults, timelines_that_contradict_themselves_are_refused) {
    for (int fault = 0; fault < 9; fault++) {
        dag_fixture f;
        run_small(&f);
        ms_timeline *t = &f.timeline;
        switch (fault) {
        case 0:
            t->op_count--;
            expect_bug(&f, "another number of operations");
            break;
        case 1:
            t->end_s[2] = t->start_s[2] - 0.25;
            expect_bug(&f, "ends before it starts");
            break;
        case 2:
            t->start_s[1] = NAN;
            expect_bug(&f, "ends before it starts");
            break;
        case 3:
            t->end_s[1] = INFINITY;
            expect_bug(&f, "ends before it starts");
            break;
        case 4:
            t->cause[3] = t->op_count;
            expect_bug(&f, "no operation");
            break;
        case 5:
            t->cause[3] = -2;
            expect_bug(&f, "no operation");
            break;
        case 6:
            t->makespan_s *= 2.0;
            expect_bug(&f, "last operation");
            break;
        case 7:
            t->makespan_s = NAN;
            expect_bug(&f, "last operation");
            break;
        default:
            t->start_s[0] = -1.0;
            expect_bug(&f, "ends before it starts");
            break;
        }
        fixture_release(&f);
    }
}

Test(faults, computations_of_a_rank_must_not_overlap) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    fixture_run(&f);
    f.timeline.start_s[1] = 0.5;
    expect_bug(&f, "overlap");
    fixture_release(&f);
}

/* Two messages that take no time and cause each other: the walk back must end. */
Test(faults, causes_that_go_round_are_refused) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    int32_t a = fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    int32_t b = fixture_p2p(&f, &(fixture_message){0, 1, 0.0, 0.0}, a);
    int32_t c = fixture_p2p(&f, &(fixture_message){1, 0, 0.0, 0.0}, b);
    fixture_work(&f, 1, MS_OP_FORWARD, 1.0, c);
    fixture_run(&f);
    f.timeline.cause[b] = c;
    expect_bug(&f, "circle");
    fixture_release(&f);
}

Test(faults, running_out_of_memory_is_told) {
    dag_fixture f;
    run_small(&f);
    ms_status status = MS_E_NOMEM;
    int fails = 0;
    for (long n = 0; status != MS_OK && n < 100; n++) {
        ms_diag diag;
        message text = {""};
        ms_metrics metrics = {.step_time_s = -1.0};
        ms_arena arena;
        ms_arena_init(&arena);
        ms_arena_fail_after(&arena, n);
        ms_diag_init(&diag, keep, &text);
        status = ms_metrics_compute(&f.dag, &f.timeline, &arena, &diag, &metrics);
        if (status != MS_OK) {
            cr_assert_eq(status, MS_E_NOMEM);
            cr_assert_eq(diag.errors, 1);
            cr_assert_float_eq(metrics.step_time_s, -1.0, 0.0);
            fails++;
        }
        ms_arena_release(&arena);
    }
    cr_assert_eq(status, MS_OK);
    cr_assert_geq(fails, 5);
    fixture_release(&f);
}
