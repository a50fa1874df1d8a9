/* Computations beside communication, as estimates have them: against sums by hand. */
#include "estimate/stretch.h"

#include <criterion/criterion.h>

#include "meshsim/event.h"

static const double FACTORS[MS_COLL_COUNT] = {
    [MS_COLL_ALL_REDUCE] = 1.25, [MS_COLL_P2P] = 1.0, [MS_COLL_ALL_GATHER] = 1.5};

/* Full speed for 1 s, 1.25 times as long until 3 s, full speed again. */
Test(stretch, a_computation_is_slow_while_communication_runs) {
    ms_stretch stretch = {.factors = FACTORS};
    ms_stretch_note(&stretch, MS_COLL_ALL_REDUCE, 1.0, 3.0);
    ms_stretch_note(&stretch, MS_COLL_P2P, 0.0, 100.0);
    cr_assert_float_eq(ms_stretch_end_s(&stretch, 0.0, 3.0), 1.0 + 2.0 + (3.0 - 1.0 - 1.6), 1e-12);
    ms_stretch_note(&stretch, MS_COLL_ALL_GATHER, 1.0, 2.5); /* the larger factor counts */
    cr_assert_float_eq(ms_stretch_end_s(&stretch, 1.0, 1.0), 2.5, 1e-12);
}

/* Reductions of a hundred layers wait for each other on their communicator, and the computation
 * beside the first of them is still slowed down. */
Test(stretch, collectives_one_behind_the_other_are_one_span) {
    ms_stretch stretch = {.factors = FACTORS};
    for (int i = 0; i < 100; i++) {
        ms_stretch_note(&stretch, MS_COLL_ALL_REDUCE, i, i + 1.0);
    }
    cr_assert_eq(stretch.count, 1);
    cr_assert_float_eq(ms_stretch_end_s(&stretch, 0.5, 1.0), 1.75, 1e-12);
    cr_assert_float_eq(ms_stretch_end_s(&stretch, 99.5, 1.0), 100.0 + (1.0 - 0.4), 1e-12);
}
