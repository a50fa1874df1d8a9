/* The rate of the last seconds, from which lines of progress estimate the time left. */
#include <criterion/criterion.h>

#include "cli/progress.h"

Test(rate, is_of_the_last_seconds) {
    static const char phase[] = "simulating", other[] = "writing";
    ms_cli_rate rate = {.phase = NULL};
    cr_assert_float_eq(ms_cli_rate_of(&rate, phase, 12.0, 10.0, 20.0), 10.0, 1e-12);
    cr_assert_float_eq(ms_cli_rate_of(&rate, phase, 14.0, 10.0, 40.0), 10.0, 1e-12);
    /* from now on 1 in a second: state 1 becomes that of 16 s, state 0 that of 12 s */
    cr_assert_float_eq(ms_cli_rate_of(&rate, phase, 16.0, 10.0, 42.0), 22.0 / 4.0, 1e-12);
    cr_assert_float_eq(ms_cli_rate_of(&rate, phase, 20.0, 10.0, 46.0), 4.0 / 4.0, 1e-12);
    /* nothing ends for a long time: the rate falls, and the states stay */
    cr_assert_float_eq(ms_cli_rate_of(&rate, phase, 36.0, 10.0, 46.0), 4.0 / 20.0, 1e-12);
    /* a new phase, and one that begins anew, count from their begin */
    cr_assert_float_eq(ms_cli_rate_of(&rate, other, 38.0, 37.0, 5.0), 5.0, 1e-12);
    cr_assert_float_eq(ms_cli_rate_of(&rate, other, 40.0, 39.0, 2.0), 2.0, 1e-12);
    cr_assert_eq(ms_cli_rate_of(&rate, other, 50.0, 50.0, 0.0), 0.0);
}
