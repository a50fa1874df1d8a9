#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"

typedef struct good_case {
    const char *text;
    ms_dimension dimension;
    double value;
} good_case;

static const good_case GOOD[] = {
    {"400 Gbit/s", MS_DIM_BANDWIDTH, 5e10},
    {"400Gbit/s", MS_DIM_BANDWIDTH, 5e10},
    {"  400 Gbit/s\t", MS_DIM_BANDWIDTH, 5e10},
    {"25 GB/s", MS_DIM_BANDWIDTH, 25e9},
    {"1 GiB/s", MS_DIM_BANDWIDTH, 1073741824.0},
    {"8 bit/s", MS_DIM_BANDWIDTH, 1},
    {"0.1 Tbit/s", MS_DIM_BANDWIDTH, 1.25e10},
    {"80 GiB", MS_DIM_BYTES, 85899345920.0},
    {"0 B", MS_DIM_BYTES, 0},
    {"1.5 MB", MS_DIM_BYTES, 1.5e6},
    {"1 PiB", MS_DIM_BYTES, 0x1p50},
    {"2 us", MS_DIM_TIME, 2e-6},
    {"0.7 us", MS_DIM_TIME, 0.7e-6},
    {"7 us", MS_DIM_TIME, 7e-6},
    {"3 ns", MS_DIM_TIME, 3e-9},
    {"5 ps", MS_DIM_TIME, 5e-12},
    {".5 ms", MS_DIM_TIME, 0.5e-3},
    {"5. ms", MS_DIM_TIME, 5e-3},
    {"+5 ms", MS_DIM_TIME, 5e-3},
    {"1.5 min", MS_DIM_TIME, 90},
    {"21 d", MS_DIM_TIME, 1814400},
    {"2 h", MS_DIM_TIME, 7200},
    {"-0 s", MS_DIM_TIME, 0},
    {"312 TFLOP/s", MS_DIM_FLOP_RATE, 312e12},
    {"1e3 GFLOP/s", MS_DIM_FLOP_RATE, 1e12},
    {"1 EFLOP/s", MS_DIM_FLOP_RATE, 1e18},
    {"1EFLOP/s", MS_DIM_FLOP_RATE, 1e18},
    {"1e9 FLOP", MS_DIM_FLOP, 1e9},
    {"1E9FLOP", MS_DIM_FLOP, 1e9},
    {"1e-3 PFLOP", MS_DIM_FLOP, 1e12},
    {"700 W", MS_DIM_POWER, 700},
    {"10.2 kW", MS_DIM_POWER, 10200},
    {"1.5MW", MS_DIM_POWER, 1.5e6},
    {"2 kJ", MS_DIM_ENERGY, 2000},
    {"0.5 kWh", MS_DIM_ENERGY, 1.8e6},
    {"2.5 USD/h", MS_DIM_PRICE, 2.5},
    {"0.5", MS_DIM_NONE, 0.5},
    {"5 %", MS_DIM_NONE, 0.05},
    {"7%", MS_DIM_NONE, 0.07},
    {"1e9", MS_DIM_NONE, 1e9},
};

Test(units, exact_values) {
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        double value = -1;
        const char *reason = "";
        cr_assert_eq(ms_unit_parse(GOOD[i].text, GOOD[i].dimension, &value, &reason), MS_OK,
                     "'%s': %s", GOOD[i].text, reason);
        cr_assert_eq(value, GOOD[i].value, "'%s' is %.17g", GOOD[i].text, value);
        cr_assert(!signbit(value), "'%s' has a sign", GOOD[i].text);
    }
}

typedef struct bad_case {
    const char *text;
    ms_dimension dimension;
    const char *reason, *explanation;
} bad_case;

#define BANDWIDTH        "expected a bandwidth such as '400 Gbit/s'"
#define SIZE             "expected a size such as '80 GiB'"
#define TIME             "expected a time such as '2 us'"
#define RATE             "expected a FLOP rate such as '312 TFLOP/s'"
#define FLOP             "expected an amount of FLOP such as '1e9 FLOP'"
#define POWER            "expected a power such as '700 W'"
#define PRICE            "expected a price such as '2.5 USD/h'"
#define NUMBER           "expected a number such as '0.5'"
#define UNIT_OF(example) "expected a unit after the number, such as '" example "'"

static const bad_case BAD[] = {
    {"450", MS_DIM_BANDWIDTH, UNIT_OF("400 Gbit/s"), UNIT_OF("450 B/s") ", got '450'"},
    {"0", MS_DIM_TIME, UNIT_OF("2 us"), UNIT_OF("0 s") ", got '0'"},
    {"3 GB", MS_DIM_BANDWIDTH, BANDWIDTH, "'3 GB' is a size, " BANDWIDTH},
    {"3 GB/s", MS_DIM_BYTES, SIZE, "'3 GB/s' is a bandwidth, " SIZE},
    {"3 TFLOP", MS_DIM_FLOP_RATE, RATE, "'3 TFLOP' is an amount of FLOP, " RATE},
    {"400 gbit/s", MS_DIM_BANDWIDTH, BANDWIDTH,
     BANDWIDTH ", got '400 gbit/s'; did you mean 'Gbit/s'?"},
    {"400 Gb/s", MS_DIM_BANDWIDTH, BANDWIDTH, BANDWIDTH ", got '400 Gb/s'; did you mean 'Gbit/s'?"},
    {"400 Gbps", MS_DIM_BANDWIDTH, BANDWIDTH, BANDWIDTH ", got '400 Gbps'; did you mean 'Gbit/s'?"},
    {"400 GBps", MS_DIM_BANDWIDTH, BANDWIDTH, BANDWIDTH ", got '400 GBps'; did you mean 'GB/s'?"},
    {"8 KB", MS_DIM_BYTES, SIZE, SIZE ", got '8 KB'; did you mean 'kB'?"},
    {"8 gib", MS_DIM_BYTES, SIZE, SIZE ", got '8 gib'; did you mean 'GiB'?"},
    {"8 Gi", MS_DIM_BYTES, SIZE, SIZE ", got '8 Gi'; did you mean 'GiB'?"},
    {"8 \xC2\xB5s", MS_DIM_TIME, TIME, TIME ", got '8 \xC2\xB5s'; did you mean 'us'?"},
    {"8 seconds", MS_DIM_TIME, TIME, TIME ", got '8 seconds'; did you mean 's'?"},
    {"8 days", MS_DIM_TIME, TIME, TIME ", got '8 days'; did you mean 'd'?"},
    {"8 TFLOPS", MS_DIM_FLOP_RATE, RATE, RATE ", got '8 TFLOPS'; did you mean 'TFLOP/s'?"},
    {"8 TFLOPs", MS_DIM_FLOP, FLOP, FLOP ", got '8 TFLOPs'; did you mean 'TFLOP'?"},
    {"3 USD", MS_DIM_PRICE, PRICE, PRICE ", got '3 USD'; did you mean 'USD/h'?"},
    {"700 watts", MS_DIM_POWER, POWER, POWER ", got '700 watts'; did you mean 'W'?"},
    {"700 J", MS_DIM_POWER, POWER, "'700 J' is an energy, " POWER},
    {"8 parsec", MS_DIM_TIME, TIME, TIME ", got '8 parsec'; units are s ms us ns ps min h d"},
    {"8 s s", MS_DIM_TIME, TIME, TIME ", got '8 s s'; units are s ms us ns ps min h d"},
    {"-1 s", MS_DIM_TIME, "expected a time of at least 0",
     "expected a time of at least 0, got '-1 s'"},
    {"fast", MS_DIM_TIME, TIME, TIME ", got 'fast'"},
    {"", MS_DIM_TIME, TIME, TIME ", got ''"},
    {"s", MS_DIM_TIME, TIME, TIME ", got 's'"},
    {"nan s", MS_DIM_TIME, TIME, TIME ", got 'nan s'"},
    {"inf s", MS_DIM_TIME, TIME, TIME ", got 'inf s'"},
    {". s", MS_DIM_TIME, TIME, TIME ", got '. s'"},
    {"1_000 s", MS_DIM_TIME, TIME, TIME ", got '1_000 s'; units are s ms us ns ps min h d"},
    {"0x10 s", MS_DIM_TIME, TIME, TIME ", got '0x10 s'; units are s ms us ns ps min h d"},
    {"1,5 s", MS_DIM_TIME, TIME, TIME ", got '1,5 s'; units are s ms us ns ps min h d"},
    {"1e999 s", MS_DIM_TIME, "expected a number below 1.8e308 in SI units",
     "expected a time below 1.8e308, got '1e999 s'"},
    {"1e99999999999999999999 s", MS_DIM_TIME, "expected a number below 1.8e308 in SI units",
     "expected a time below 1.8e308, got '1e99999999999999999999 s'"},
    {"5 s", MS_DIM_NONE, NUMBER, "expected a number without a unit, got '5 s'"},
    {"-5", MS_DIM_NONE, "expected a number of at least 0",
     "expected a number of at least 0, got '-5'"},
    {"0x10", MS_DIM_NONE, NUMBER, "expected a number without a unit, got '0x10'"},
    {"inf", MS_DIM_NONE, NUMBER, NUMBER ", got 'inf'"},
};

Test(units, refusals_say_why) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const bad_case *c = &BAD[i];
        double value = 42;
        const char *reason = "";
        char text[512];
        cr_assert_eq(ms_unit_parse(c->text, c->dimension, &value, &reason), MS_E_INPUT, "'%s'",
                     c->text);
        cr_assert_eq(value, 42.0, "'%s' was written", c->text);
        cr_assert_str_eq(reason, c->reason, "'%s': %s", c->text, reason);
        ms_unit_explain(c->text, c->dimension, text, sizeof text);
        cr_assert_str_eq(text, c->explanation, "'%s': %s", c->text, text);
    }
}

Test(units, numbers_of_100_characters_at_most) {
    char text[300];
    double value = 0;
    memset(text, '0', sizeof text);
    memcpy(text + 100, " s", 3);
    text[99] = '7';
    const char *reason = "";
    cr_assert_eq(ms_unit_parse(text, MS_DIM_TIME, &value, &reason), MS_OK);
    cr_assert_eq(value, 7.0);
    memset(text, '0', sizeof text);
    memcpy(text + 200, " s", 3);
    cr_assert_eq(ms_unit_parse(text, MS_DIM_TIME, &value, &reason), MS_E_INPUT);
}

Test(units, numbers_have_signs) {
    static const good_case NUMBERS[] = {
        {"-0.5", 0, -0.5}, {"+3", 0, 3}, {"-5 %", 0, -0.05}, {"1e-3", 0, 1e-3}};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        double value = 0;
        cr_assert_eq(ms_number_parse(NUMBERS[i].text, &value), MS_OK, "'%s'", NUMBERS[i].text);
        cr_assert_eq(value, NUMBERS[i].value, "'%s' is %.17g", NUMBERS[i].text, value);
    }
    static const char *const REFUSED[] = {"",    "-",     "--1", "nan", "inf",   "0x1",
                                          "1_0", "1e999", "1 2", "1e",  "1.2.3", "5 %%"};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        double value = 42;
        cr_assert_eq(ms_number_parse(REFUSED[i], &value), MS_E_INPUT, "'%s'", REFUSED[i]);
        cr_assert_eq(value, 42.0);
    }
}

static const good_case FORMATTED[] = {
    {"87.9 ms", MS_DIM_TIME, 0.08787},
    {"102.6 s", MS_DIM_TIME, 102.6},
    {"31.5 s", MS_DIM_TIME, 31.47},
    {"2 us", MS_DIM_TIME, 2e-6},
    {"1 ms", MS_DIM_TIME, 999.97e-6},
    {"999.9 us", MS_DIM_TIME, 999.9e-6},
    {"1 s", MS_DIM_TIME, 1},
    {"20 min", MS_DIM_TIME, 1200},
    {"16.7 min", MS_DIM_TIME, 999.97},
    {"1 h", MS_DIM_TIME, 3599.9},
    {"0 s", MS_DIM_TIME, 0},
    {"0.001 ps", MS_DIM_TIME, 1e-15},
    {"-1.5 ms", MS_DIM_TIME, -1.5e-3},
    {"1.5 GiB", MS_DIM_BYTES, 1610612736.0},
    {"80 GiB", MS_DIM_BYTES, 85899345920.0},
    {"512 B", MS_DIM_BYTES, 512},
    {"1020 B", MS_DIM_BYTES, 1020},
    {"1 MiB", MS_DIM_BYTES, 1048575},
    {"0 B", MS_DIM_BYTES, 0},
    {"25 GB/s", MS_DIM_BANDWIDTH, 25e9},
    {"50 GB/s", MS_DIM_BANDWIDTH, 5e10},
    {"163 TFLOP/s", MS_DIM_FLOP_RATE, 163e12},
    {"1.23 EFLOP/s", MS_DIM_FLOP_RATE, 1.234e18},
    {"1 GFLOP", MS_DIM_FLOP, 1e9},
    {"1e+12 EFLOP", MS_DIM_FLOP, 1e30},
    {"10.2 kW", MS_DIM_POWER, 10200},
    {"60.1 MJ", MS_DIM_ENERGY, 60.1e6},
    {"2.5 USD/h", MS_DIM_PRICE, 2.5},
    {"0.3333", MS_DIM_NONE, 1.0 / 3},
    {"1.235e+06", MS_DIM_NONE, 1234567},
    {"inf B/s", MS_DIM_BANDWIDTH, INFINITY},
};

Test(units, formats_for_people) {
    for (size_t i = 0; i < sizeof FORMATTED / sizeof FORMATTED[0]; i++) {
        char text[64];
        ms_unit_format(FORMATTED[i].value, FORMATTED[i].dimension, text, sizeof text);
        cr_assert_str_eq(text, FORMATTED[i].text, "%.17g is '%s'", FORMATTED[i].value, text);
    }
}

Test(units, formats_bits_and_capacities_as_they_are_sold) {
    static const struct {
        double value;
        const char *bits, *capacity;
    } CASES[] = {{50e9, "400 Gbit/s", "46.6 GiB (50 GB)"},
                 {46e9, "368 Gbit/s", "42.8 GiB (46 GB)"},
                 {125e9, "1 Tbit/s", "116.4 GiB (125 GB)"},
                 {80.0 * 1024 * 1024 * 1024, "687.2 Gbit/s", "80 GiB (85.9 GB)"},
                 {141e9, "1.13 Tbit/s", "131.3 GiB (141 GB)"},
                 {0.125, "1 bit/s", "0.125 B (0.125 B)"},
                 {0, "0 bit/s", "0 B (0 B)"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[64];
        cr_assert_str_eq(ms_unit_format_bits(CASES[i].value, text, sizeof text), CASES[i].bits);
        cr_assert_str_eq(ms_unit_format_capacity(CASES[i].value, text, sizeof text),
                         CASES[i].capacity);
    }
}

Test(units, format_fits_any_storage) {
    char text[4] = "abc";
    cr_assert_str_eq(ms_unit_format(0.08787, MS_DIM_TIME, text, sizeof text), "87.");
}

/* What is printed parses back to within the digits shown, for any magnitude. */
Test(units, format_round_trips) {
    const char *replay = getenv("MS_SEED");
    uint64_t seed = replay == NULL ? 20240607 : strtoull(replay, NULL, 0);
    ms_random random = {seed};
    for (int i = 0; i < 20000; i++) {
        ms_dimension dimension =
            (ms_dimension)ms_random_range(&random, MS_DIM_NONE, MS_DIM_COUNT - 1);
        double value = pow(10, -18 + 42 * ms_random_unit(&random));
        double back = 0;
        const char *reason = "";
        char text[64];
        ms_unit_format(value, dimension, text, sizeof text);
        cr_assert_eq(ms_unit_parse(text, dimension, &back, &reason), MS_OK, "seed %lu: '%s'",
                     (unsigned long)seed, text);
        cr_assert_lt(fabs(back / value - 1), 0.0051, "seed %lu: %.17g is '%s'", (unsigned long)seed,
                     value, text);
    }
}

/* Numbers printed with 17 digits come back as the same double: units add no rounding of their own.
 */
Test(units, decimal_units_round_once) {
    const char *replay = getenv("MS_SEED");
    uint64_t seed = replay == NULL ? 42 : strtoull(replay, NULL, 0);
    ms_random random = {seed};
    for (int i = 0; i < 20000; i++) {
        char in_us[64];
        char in_s[64];
        int number = (int)ms_random_range(&random, 1, 999999999);
        snprintf(in_us, sizeof in_us, "%d us", number);
        snprintf(in_s, sizeof in_s, "%de-6", number);
        double value = 0;
        const char *reason = "";
        cr_assert_eq(ms_unit_parse(in_us, MS_DIM_TIME, &value, &reason), MS_OK);
        cr_assert_eq(value, strtod(in_s, NULL), "seed %lu: '%s'", (unsigned long)seed, in_us);
    }
}

Test(units, examples_are_well_formed) {
    for (int dimension = 0; dimension < MS_DIM_COUNT; dimension++) {
        double value = 0;
        const char *reason = "";
        cr_assert_eq(ms_unit_parse(ms_unit_example((ms_dimension)dimension),
                                   (ms_dimension)dimension, &value, &reason),
                     MS_OK);
        cr_assert_gt(value, 0);
    }
}
