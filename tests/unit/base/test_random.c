#include <criterion/criterion.h>
#include <math.h>

#include "base/random.h"

/* First outputs of the reference SplitMix64 with seed 1234567 (Vigna, splitmix64.c, public domain).
 */
Test(random, follows_the_published_generator) {
    static const uint64_t EXPECTED[] = {6457827717110365317U, 3203168211198807973U,
                                        9817491932198370423U, 4593380528125082431U,
                                        16408922859458223821U};
    ms_random random = {1234567};
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++) {
        cr_assert_eq(ms_random_next(&random), EXPECTED[i], "output %zu", i);
    }
}

/* Mean and variance of n uniform numbers: 1/2 and 1/12; the mean's standard deviation is
 * sqrt(1/12/n). */
Test(random, unit_numbers_are_uniform_in_their_interval) {
    enum { COUNT = 100000 };
    ms_random random = {0};
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < COUNT; i++) {
        double number = ms_random_unit(&random);
        cr_assert(number >= 0 && number < 1);
        sum += number;
        squares += number * number;
    }
    double mean = sum / COUNT;
    cr_assert_lt(fabs(mean - 0.5), 5 * sqrt(1.0 / 12 / COUNT));
    cr_assert_lt(fabs(squares / COUNT - mean * mean - 1.0 / 12), 0.002);
}

Test(random, ranges_are_inclusive_and_reach_every_value) {
    ms_random random = {5};
    int seen[7] = {0};
    for (int i = 0; i < 2000; i++) {
        int64_t number = ms_random_range(&random, -3, 3);
        cr_assert(number >= -3 && number <= 3);
        seen[number + 3]++;
    }
    for (int i = 0; i < 7; i++) {
        cr_assert_gt(seen[i], 0);
    }
    cr_assert_eq(ms_random_range(&random, 42, 42), 42);
}
