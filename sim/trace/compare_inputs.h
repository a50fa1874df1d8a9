/**
 * @file
 * What differs between the inputs of two traces.
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
    double relative;   /**< (b - a) / |a|; INFINITY where that is no number */
    int guard;       /**< index of the guard that holds for it, 0 where none was named; -1: none */
    bool has_failed; /**< it is guarded and differs by more than is let pass */
} ms_difference;

/** Differences in the order in which they are worth reading. */
typedef struct ms_differences {
    ms_difference *items; /**< [count] */
    size_t count;
    size_t compared; /**< quantities looked at */
    size_t failed;   /**< number of items with has_failed */
} ms_differences;

/** Numbers this close to each other are equal: a share of the larger one, or that much in the
 * quantity's own unit, where the difference of two times that should be 0 is a rest of rounding (a
 * trace counts picoseconds).  Counts, which are not rounded, are compared exactly. */
#define MS_COMPARE_NOISE 1e-12

/** Compare the inputs of two traces, key by key; a quantity in another unit is the same.
 *  a, b: as ms_trace_read left them.  *differences_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported) when an input is no YAML; MS_E_NOMEM. */
ms_status ms_compare_inputs(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                            ms_differences *differences_out);

/** Whether two texts of one key say the same: equal texts, or one quantity in other units, such as
 * "400 Gbit/s" and "50GB/s".  O(length * dimensions). */
bool ms_compare_says_the_same(const char *a, const char *b);

#endif
