/* Gains of what-ifs, and their order. What they simulate is tests/python/test_whatif.py's. */
#include <criterion/criterion.h>

#include "search/whatif.h"

Test(whatif, largest_gain_first_and_equal_ones_as_they_were) {
    ms_whatif rows[] = {{.change = "slower", .step_time_s = 5},
                        {.change = "first of two", .step_time_s = 3},
                        {.change = "best", .step_time_s = 1},
                        {.change = "second of two", .step_time_s = 3},
                        {.change = "nothing", .step_time_s = 4}};
    static const char *const ORDER[] = {"best", "first of two", "second of two", "nothing",
                                        "slower"};
    static const double GAINS[] = {0.75, 0.25, 0.25, 0, -0.25};
    ms_whatif_rank(4, rows, 5);
    for (int i = 0; i < 5; i++) {
        cr_assert_str_eq(rows[i].change, ORDER[i]);
        cr_assert_eq(rows[i].gain, GAINS[i]);
    }
    ms_whatif_rank(4, rows, 0);
}
