/* Lists of numbers. */
#include <criterion/criterion.h>

#include "base/config/ranges.h"

typedef struct ranges_case {
    const char *text;
    int count; /* -1: refused */
    int numbers[6];
} ranges_case;

static const ranges_case CASES[] = {
    {"0", 1, {0}},
    {"9", 1, {9}},
    {"0-3", 4, {0, 1, 2, 3}},
    {"7,2-3,7", 4, {7, 2, 3, 7}},
    {"5-5", 1, {5}},
    {"", -1, {0}},
    {"10", -1, {0}},
    {"3-2", -1, {0}},
    {"1,", -1, {0}},
    {",1", -1, {0}},
    {"1-", -1, {0}},
    {"-1", -1, {0}},
    {"1 ,2", -1, {0}},
    {"1-2-3", -1, {0}},
    {"a", -1, {0}},
    {"0-9,0", -1, {0}},
    {"0-99999999999999999999", -1, {0}},
};

Test(ranges, numbers_below_ten) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int numbers[10];
        int count = ms_ranges_read(CASES[i].text, 10, numbers);
        cr_assert_eq(count, CASES[i].count, "case %zu: %d", i, count);
        cr_assert_eq(ms_ranges_read(CASES[i].text, 10, NULL), count, "case %zu", i);
        for (int n = 0; n < count; n++) {
            cr_assert_eq(numbers[n], CASES[i].numbers[n], "case %zu, number %d", i, n);
        }
    }
}
