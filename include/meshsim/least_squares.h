/**
 * @file
 * Least squares over a few bounded parameters.
 */
#ifndef MESHSIM_LEAST_SQUARES_H
#define MESHSIM_LEAST_SQUARES_H

#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** A sum of squares to make small. */
typedef struct ms_least_squares {
    size_t parameters; /**< >= 1 [count] */
    size_t residuals;  /**< >= 1 [count] */
    /** Set residuals_out [residuals] for parameters [parameters], each in 0..1.  Returns MS_OK, or
     * what ends the search. */
    ms_status (*evaluate)(void *context, const double *parameters, double *residuals_out);
    void *context; /**< its first argument */
} ms_least_squares;

/** Find parameters whose sum of squared residuals is least, from where they are: a local minimum,
 * by Levenberg and Marquardt's method with differences for the derivatives.
 *  parameters: [parameters] each in 0..1, start and result.  scratch: for the call.  Returns MS_OK;
 * MS_E_NOMEM (not reported); what `evaluate` returns.  O(steps * parameters) evaluations, at most
 * 200 steps.
 *  Source: Marquardt, J. SIAM 11 (1963), 431. */
ms_status ms_least_squares_solve(const ms_least_squares *problem, ms_arena *scratch,
                                 double *parameters);

MS_END_DECLS

#endif
