/* Levenberg and Marquardt's method inside a box. */
#include "meshsim/least_squares.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { STEPS_MAX = 200 };

static const double DIFFERENCE = 1e-5; /* of a parameter, for derivatives */
static const double DAMPING_START = 1e-3;
static const double DAMPING_MAX = 1e12; /* beyond it no step helps */
static const double GAIN_MIN = 1e-12;   /* of the sum, for another step */

typedef struct search {
    const ms_least_squares *problem;
    double *x, *trial;         /* [parameters] */
    double *residuals, *moved; /* [residuals] */
    double *jacobian;          /* [parameters][residuals] */
    double *normal, *matrix;   /* [parameters][parameters] */
    double *gradient, *step;   /* [parameters] */
    double sum;
} search;

static double sum_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i] * values[i];
    }
    return sum;
}

static double dot(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Derivatives by differences that stay inside the box. */
static ms_status differentiate(search *s) {
    size_t n = s->problem->residuals;
    ms_status status = MS_OK;
    memcpy(s->trial, s->x, s->problem->parameters * sizeof *s->x);
    for (size_t p = 0; p < s->problem->parameters && status == MS_OK; p++) {
        double delta = s->x[p] + DIFFERENCE <= 1 ? DIFFERENCE : -DIFFERENCE;
        s->trial[p] = s->x[p] + delta;
        status = s->problem->evaluate(s->problem->context, s->trial, s->moved);
        s->trial[p] = s->x[p];
        for (size_t i = 0; i < n; i++) {
            s->jacobian[p * n + i] = (s->moved[i] - s->residuals[i]) / delta;
        }
    }
    return status;
}

/* The normal equations; a parameter that its bound holds back has none. */
static void make_normal(search *s) {
    size_t count = s->problem->parameters, n = s->problem->residuals;
    for (size_t p = 0; p < count; p++) {
        double *column = &s->jacobian[p * n];
        s->gradient[p] = dot(column, s->residuals, n);
        bool is_held = (s->x[p] <= 0 && s->gradient[p] > 0) || (s->x[p] >= 1 && s->gradient[p] < 0);
        if (is_held) {
            memset(column, 0, n * sizeof *column);
            s->gradient[p] = 0;
        }
    }
    for (size_t p = 0; p < count; p++) {
        for (size_t q = 0; q < count; q++) {
            s->normal[p * count + q] = dot(&s->jacobian[p * n], &s->jacobian[q * n], n);
        }
    }
}

/* Solve matrix * step = -gradient by elimination; the matrix is positive definite.  `matrix` is
 * used up. */
static void eliminate(search *s) {
    size_t count = s->problem->parameters;
    for (size_t p = 0; p < count; p++) {
        s->step[p] = -s->gradient[p];
    }
    for (size_t p = 0; p < count; p++) {
        for (size_t q = p + 1; q < count; q++) {
            double factor = s->matrix[q * count + p] / s->matrix[p * count + p];
            for (size_t k = p; k < count; k++) {
                s->matrix[q * count + k] -= factor * s->matrix[p * count + k];
            }
            s->step[q] -= factor * s->step[p];
        }
    }
    for (size_t p = count; p-- > 0;) {
        for (size_t k = p + 1; k < count; k++) {
            s->step[p] -= s->matrix[p * count + k] * s->step[k];
        }
        s->step[p] /= s->matrix[p * count + p];
    }
}

/* The step of a damping, into `trial`. */
static void find_trial(search *s, double damping) {
    size_t count = s->problem->parameters;
    memcpy(s->matrix, s->normal, count * count * sizeof *s->matrix);
    for (size_t p = 0; p < count; p++) {
        double diagonal = s->normal[p * count + p];
        s->matrix[p * count + p] = diagonal > 0 ? diagonal * (1 + damping) : 1;
    }
    eliminate(s);
    for (size_t p = 0; p < count; p++) {
        s->trial[p] = fmin(fmax(s->x[p] + s->step[p], 0), 1);
    }
}

/* Take a step that makes the sum smaller, with as much damping as that takes.  *has_gained_out:
 * whether there was one worth another. */
static ms_status advance(search *s, double *damping, bool *has_gained_out) {
    size_t n = s->problem->residuals;
    *has_gained_out = false;
    for (; *damping < DAMPING_MAX; *damping *= 4) {
        find_trial(s, *damping);
        ms_status status = s->problem->evaluate(s->problem->context, s->trial, s->moved);
        if (status != MS_OK) {
            return status;
        }
        double sum = sum_of(s->moved, n);
        if (sum < s->sum) {
            *has_gained_out = s->sum - sum > GAIN_MIN * s->sum;
            memcpy(s->x, s->trial, s->problem->parameters * sizeof *s->x);
            memcpy(s->residuals, s->moved, n * sizeof *s->residuals);
            s->sum = sum;
            *damping = fmax(*damping / 10, 1e-12);
            return MS_OK;
        }
    }
    return MS_OK;
}

static bool allocate(search *s, ms_arena *scratch) {
    size_t count = s->problem->parameters, n = s->problem->residuals;
    s->trial = MS_NEW(scratch, double, count);
    s->residuals = MS_NEW(scratch, double, n);
    s->moved = MS_NEW(scratch, double, n);
    s->jacobian = MS_NEW(scratch, double, count *n);
    s->normal = MS_NEW(scratch, double, count *count);
    s->matrix = MS_NEW(scratch, double, count *count);
    s->gradient = MS_NEW(scratch, double, count);
    s->step = MS_NEW(scratch, double, count);
    return s->trial != NULL && s->residuals != NULL && s->moved != NULL && s->jacobian != NULL &&
           s->normal != NULL && s->matrix != NULL && s->gradient != NULL && s->step != NULL;
}

ms_status ms_least_squares_solve(const ms_least_squares *problem, ms_arena *scratch,
                                 double *parameters) {
    search s = {.problem = problem};
    s.x = parameters;
    double damping = DAMPING_START;
    bool has_gained = true;
    if (!allocate(&s, scratch)) {
        return MS_E_NOMEM;
    }
    ms_status status = problem->evaluate(problem->context, s.x, s.residuals);
    s.sum = sum_of(s.residuals, problem->residuals);
    for (int i = 0; i < STEPS_MAX && has_gained && status == MS_OK; i++) {
        status = differentiate(&s);
        if (status == MS_OK) {
            make_normal(&s);
            status = advance(&s, &damping, &has_gained);
        }
    }
    return status;
}
