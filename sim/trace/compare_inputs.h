/**
 * @file
 * Comparison of the inputs of two traces, key by key.
 */
#ifndef MESHSIM_COMPARE_INPUTS_H
#define MESHSIM_COMPARE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/value.h"
#include "trace/trace.h"

/** A quantity, or an input, that differs. */
typedef struct ms_difference {
    const char *key;
    const ms_value *a; /**< NULL: only in b */
    const ms_value *b; /**< NULL: only in a */
    double relative;   /**< (b - a) / |a|; INFINITY if that is not a number */
    int guard;         /**< index of the guard of the key, 0 if no key was named; -1: not guarded */
    bool has_failed;   /**< it is guarded, and differs by more than its guard allows */
} ms_difference;

/** The differences of a comparison. */
typedef struct ms_differences {
    ms_difference *items; /**< [count] in the order in which they are shown */
    size_t count;
    size_t compared; /**< number of quantities or inputs that were compared */
    size_t failed;   /**< number of items with has_failed */
    size_t let_pass; /**< number of quantities that differ within their tolerance; not in items */
} ms_differences;

/** Largest difference by which two numbers count as equal: as a share of the larger one, or in the
 * unit of the quantity, which covers two times that should both be 0 (a trace counts picoseconds).
 * Counts are not rounded, and are compared exactly. */
#define MS_COMPARE_NOISE 1e-12

/** Compare the inputs of two traces, key by key; equal quantities in other units do not differ.
 *  a, b: as ms_trace_read left them.  *differences_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported) when an input is no YAML; MS_E_NOMEM. */
ms_status ms_compare_inputs(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                            ms_differences *differences_out);

/** Whether two texts of one key are equal, or are equal quantities in other units, such as "400
 * Gbit/s" and "50GB/s".  O(length * dimensions). */
bool ms_compare_texts_are_equal(const char *a, const char *b);

#endif
