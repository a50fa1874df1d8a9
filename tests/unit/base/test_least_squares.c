/* Least squares against sums whose least is known. */
#include "meshsim/least_squares.h"

#include <criterion/criterion.h>
#include <math.h>

enum { POINTS = 12 };

/* a exp(-b x) + c at points whose values are known. */
typedef struct decay {
    double values[POINTS];
    int evaluations;
} decay;

static double decay_at(const double *p, int i) {
    return p[0] * exp(-5 * p[1] * i / POINTS) + p[2];
}

static ms_status find_decay(void *context, const double *parameters, double *residuals_out) {
    decay *d = context;
    d->evaluations++;
    for (int i = 0; i < POINTS; i++) {
        cr_assert(parameters[0] >= 0 && parameters[0] <= 1);
        residuals_out[i] = decay_at(parameters, i) - d->values[i];
    }
    return MS_OK;
}

Test(least_squares, parameters_that_made_the_values_are_found) {
    static const double TRUTH[] = {0.8, 0.45, 0.1};
    decay d = {.evaluations = 0};
    double found[] = {0.2, 0.9, 0.9};
    ms_arena scratch;
    ms_arena_init(&scratch);
    for (int i = 0; i < POINTS; i++) {
        d.values[i] = decay_at(TRUTH, i);
    }
    const ms_least_squares problem = {3, POINTS, find_decay, &d};
    cr_assert_eq(ms_least_squares_solve(&problem, &scratch, found), MS_OK);
    for (int p = 0; p < 3; p++) {
        cr_assert_float_eq(found[p], TRUTH[p], 1e-6, "%d: %.9f", p, found[p]);
    }
    cr_assert_lt(d.evaluations, 400);
    ms_arena_release(&scratch);
}

/* (x - 2)^2 + (y - 0.3)^2 + noise that no parameter explains: x ends at its bound, y where it is
 * least. */
static ms_status find_bound(void *context, const double *p, double *residuals_out) {
    (void)context;
    residuals_out[0] = p[0] - 2;
    residuals_out[1] = p[1] - 0.2;
    residuals_out[2] = p[1] - 0.4;
    return MS_OK;
}

Test(least_squares, a_parameter_stays_in_its_range) {
    double found[] = {0.5, 0.9};
    ms_arena scratch;
    ms_arena_init(&scratch);
    const ms_least_squares problem = {2, 3, find_bound, NULL};
    cr_assert_eq(ms_least_squares_solve(&problem, &scratch, found), MS_OK);
    cr_assert_eq(found[0], 1.0);
    cr_assert_float_eq(found[1], 0.3, 1e-6);
    ms_arena_release(&scratch);
}

static ms_status fail(void *context, const double *p, double *residuals_out) {
    (void)p;
    residuals_out[0] = 1;
    return ++*(int *)context < 3 ? MS_OK : MS_E_NO;
}

Test(least_squares, what_an_evaluation_says_ends_the_search) {
    int calls = 0;
    double found[] = {0.5};
    ms_arena scratch;
    ms_arena_init(&scratch);
    const ms_least_squares problem = {1, 1, fail, &calls};
    cr_assert_eq(ms_least_squares_solve(&problem, &scratch, found), MS_E_NO);
    cr_assert_eq(calls, 3);
    ms_arena_release(&scratch);
}
