/* Reads quantities such as "1.5e3 GB/s" into SI units, and writes SI values with a fitting unit
 * (units.h). A quantity is cut into sign, mantissa, exponent and unit first, so that the power of
 * ten of the unit can be added to the exponent before the number is converted. */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* NUMBER_MAX: longest number that is read [characters]. EXPONENT_MAX: once a written exponent is
 * this large its further digits are dropped, since no double reaches so far. */
enum { NUMBER_MAX = 100, EXPONENT_MAX = 100000 };

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)
#define PIB (1024.0 * TIB)

/* A unit is `factor` times 10^exponent of its SI unit. The exponent is added to that of the number
 * before the conversion, and the factor is a power of two or a small integer, so that a value is
 * rounded twice at most. */
typedef struct unit {
    const char *name;
    ms_dimension dimension;
    int exponent;
    double factor;
} unit;

/* Source: SI Brochure, 9th edition (decimal prefixes, min, h, d); IEC 80000-13 (binary
 * prefixes). */
static const unit UNITS[] = {
    {"s", MS_DIM_TIME, 0, 1},
    {"ms", MS_DIM_TIME, -3, 1},
    {"us", MS_DIM_TIME, -6, 1},
    {"ns", MS_DIM_TIME, -9, 1},
    {"ps", MS_DIM_TIME, -12, 1},
    {"min", MS_DIM_TIME, 0, 60},
    {"h", MS_DIM_TIME, 0, 3600},
    {"d", MS_DIM_TIME, 0, 86400},
    {"B", MS_DIM_BYTES, 0, 1},
    {"kB", MS_DIM_BYTES, 3, 1},
    {"MB", MS_DIM_BYTES, 6, 1},
    {"GB", MS_DIM_BYTES, 9, 1},
    {"TB", MS_DIM_BYTES, 12, 1},
    {"PB", MS_DIM_BYTES, 15, 1},
    {"KiB", MS_DIM_BYTES, 0, KIB},
    {"MiB", MS_DIM_BYTES, 0, MIB},
    {"GiB", MS_DIM_BYTES, 0, GIB},
    {"TiB", MS_DIM_BYTES, 0, TIB},
    {"PiB", MS_DIM_BYTES, 0, PIB},
    {"B/s", MS_DIM_BANDWIDTH, 0, 1},
    {"kB/s", MS_DIM_BANDWIDTH, 3, 1},
    {"MB/s", MS_DIM_BANDWIDTH, 6, 1},
    {"GB/s", MS_DIM_BANDWIDTH, 9, 1},
    {"TB/s", MS_DIM_BANDWIDTH, 12, 1},
    {"PB/s", MS_DIM_BANDWIDTH, 15, 1},
    {"KiB/s", MS_DIM_BANDWIDTH, 0, KIB},
    {"MiB/s", MS_DIM_BANDWIDTH, 0, MIB},
    {"GiB/s", MS_DIM_BANDWIDTH, 0, GIB},
    {"TiB/s", MS_DIM_BANDWIDTH, 0, TIB},
    {"PiB/s", MS_DIM_BANDWIDTH, 0, PIB},
    {"bit/s", MS_DIM_BANDWIDTH, 0, 0.125},
    {"kbit/s", MS_DIM_BANDWIDTH, 3, 0.125},
    {"Mbit/s", MS_DIM_BANDWIDTH, 6, 0.125},
    {"Gbit/s", MS_DIM_BANDWIDTH, 9, 0.125},
    {"Tbit/s", MS_DIM_BANDWIDTH, 12, 0.125},
    {"FLOP/s", MS_DIM_FLOP_RATE, 0, 1},
    {"kFLOP/s", MS_DIM_FLOP_RATE, 3, 1},
    {"MFLOP/s", MS_DIM_FLOP_RATE, 6, 1},
    {"GFLOP/s", MS_DIM_FLOP_RATE, 9, 1},
    {"TFLOP/s", MS_DIM_FLOP_RATE, 12, 1},
    {"PFLOP/s", MS_DIM_FLOP_RATE, 15, 1},
    {"EFLOP/s", MS_DIM_FLOP_RATE, 18, 1},
    {"FLOP", MS_DIM_FLOP, 0, 1},
    {"kFLOP", MS_DIM_FLOP, 3, 1},
    {"MFLOP", MS_DIM_FLOP, 6, 1},
    {"GFLOP", MS_DIM_FLOP, 9, 1},
    {"TFLOP", MS_DIM_FLOP, 12, 1},
    {"PFLOP", MS_DIM_FLOP, 15, 1},
    {"EFLOP", MS_DIM_FLOP, 18, 1},
    {"W", MS_DIM_POWER, 0, 1},
    {"kW", MS_DIM_POWER, 3, 1},
    {"MW", MS_DIM_POWER, 6, 1},
    {"J", MS_DIM_ENERGY, 0, 1},
    {"kJ", MS_DIM_ENERGY, 3, 1},
    {"MJ", MS_DIM_ENERGY, 6, 1},
    {"GJ", MS_DIM_ENERGY, 9, 1},
    {"TJ", MS_DIM_ENERGY, 12, 1},
    {"kWh", MS_DIM_ENERGY, 3, 3600},
    {"USD/h", MS_DIM_PRICE, 0, 1},
};
enum { UNIT_COUNT = sizeof UNITS / sizeof UNITS[0] };

/* Words that people write in place of a unit, where the two differ by more than letter case: for
 * the hint of a message. */
typedef struct habit {
    ms_dimension dimension;
    const char *written, *unit;
} habit;

static const habit HABITS[] = {
    {MS_DIM_TIME, "sec", "s"},
    {MS_DIM_TIME, "secs", "s"},
    {MS_DIM_TIME, "second", "s"},
    {MS_DIM_TIME, "seconds", "s"},
    {MS_DIM_TIME, "msec", "ms"},
    {MS_DIM_TIME, "usec", "us"},
    {MS_DIM_TIME, "\xC2\xB5s", "us"}, /* micro sign */
    {MS_DIM_TIME, "\xCE\xBCs", "us"}, /* Greek mu */
    {MS_DIM_TIME, "nsec", "ns"},
    {MS_DIM_TIME, "minute", "min"},
    {MS_DIM_TIME, "minutes", "min"},
    {MS_DIM_TIME, "hour", "h"},
    {MS_DIM_TIME, "hours", "h"},
    {MS_DIM_TIME, "hr", "h"},
    {MS_DIM_TIME, "day", "d"},
    {MS_DIM_TIME, "days", "d"},
    {MS_DIM_BYTES, "byte", "B"},
    {MS_DIM_BYTES, "bytes", "B"},
    {MS_DIM_BYTES, "K", "kB"},
    {MS_DIM_BYTES, "M", "MB"},
    {MS_DIM_BYTES, "G", "GB"},
    {MS_DIM_BYTES, "T", "TB"},
    {MS_DIM_BYTES, "Ki", "KiB"},
    {MS_DIM_BYTES, "Mi", "MiB"},
    {MS_DIM_BYTES, "Gi", "GiB"},
    {MS_DIM_BYTES, "Ti", "TiB"},
    {MS_DIM_BANDWIDTH, "Mb/s", "Mbit/s"},
    {MS_DIM_BANDWIDTH, "Gb/s", "Gbit/s"},
    {MS_DIM_BANDWIDTH, "Tb/s", "Tbit/s"},
    {MS_DIM_BANDWIDTH, "MBps", "MB/s"},
    {MS_DIM_BANDWIDTH, "GBps", "GB/s"},
    {MS_DIM_BANDWIDTH, "TBps", "TB/s"},
    {MS_DIM_BANDWIDTH, "Mbps", "Mbit/s"},
    {MS_DIM_BANDWIDTH, "Gbps", "Gbit/s"},
    {MS_DIM_BANDWIDTH, "Tbps", "Tbit/s"},
    {MS_DIM_BANDWIDTH, "Mbit", "Mbit/s"},
    {MS_DIM_BANDWIDTH, "Gbit", "Gbit/s"},
    {MS_DIM_BANDWIDTH, "Tbit", "Tbit/s"},
    {MS_DIM_FLOP_RATE, "FLOPS", "FLOP/s"},
    {MS_DIM_FLOP_RATE, "GFLOPS", "GFLOP/s"},
    {MS_DIM_FLOP_RATE, "TFLOPS", "TFLOP/s"},
    {MS_DIM_FLOP_RATE, "PFLOPS", "PFLOP/s"},
    {MS_DIM_FLOP_RATE, "EFLOPS", "EFLOP/s"},
    {MS_DIM_FLOP, "FLOPS", "FLOP"},
    {MS_DIM_FLOP, "GFLOPS", "GFLOP"},
    {MS_DIM_FLOP, "TFLOPS", "TFLOP"},
    {MS_DIM_FLOP, "PFLOPS", "PFLOP"},
    {MS_DIM_FLOP, "EFLOPS", "EFLOP"},
    {MS_DIM_POWER, "watt", "W"},
    {MS_DIM_POWER, "watts", "W"},
    {MS_DIM_PRICE, "USD", "USD/h"},
    {MS_DIM_PRICE, "$/h", "USD/h"},
    {MS_DIM_PRICE, "$", "USD/h"},
};

/* A unit for output: for values of at least `from`, and below the `from` of the next row. A value
 * is shown as value / factor. Both are in the SI unit of the dimension. */
typedef struct scale {
    const char *unit;
    double factor, from;
} scale;

static const scale TIME_SCALES[] = {{"ps", 1e-12, 0},   {"ns", 1e-9, 1e-9},   {"us", 1e-6, 1e-6},
                                    {"ms", 1e-3, 1e-3}, {"s", 1, 1},          {"min", 60, 1000},
                                    {"h", 3600, 3600},  {"d", 86400, 259200}, {NULL, 0, 0}};
static const scale BYTE_SCALES[] = {{"B", 1, 0},       {"KiB", KIB, KIB}, {"MiB", MIB, MIB},
                                    {"GiB", GIB, GIB}, {"TiB", TIB, TIB}, {"PiB", PIB, PIB},
                                    {NULL, 0, 0}};
static const scale BANDWIDTH_SCALES[] = {
    {"B/s", 1, 0},        {"kB/s", 1e3, 1e3},   {"MB/s", 1e6, 1e6}, {"GB/s", 1e9, 1e9},
    {"TB/s", 1e12, 1e12}, {"PB/s", 1e15, 1e15}, {NULL, 0, 0}};
static const scale BIT_SCALES[] = {{"bit/s", 0.125, 0},      {"kbit/s", 125, 125},
                                   {"Mbit/s", 125e3, 125e3}, {"Gbit/s", 125e6, 125e6},
                                   {"Tbit/s", 125e9, 125e9}, {NULL, 0, 0}};
static const scale DECIMAL_SCALES[] = {{"B", 1, 0},      {"kB", 1e3, 1e3},   {"MB", 1e6, 1e6},
                                       {"GB", 1e9, 1e9}, {"TB", 1e12, 1e12}, {NULL, 0, 0}};
static const scale RATE_SCALES[] = {{"FLOP/s", 1, 0},        {"kFLOP/s", 1e3, 1e3},
                                    {"MFLOP/s", 1e6, 1e6},   {"GFLOP/s", 1e9, 1e9},
                                    {"TFLOP/s", 1e12, 1e12}, {"PFLOP/s", 1e15, 1e15},
                                    {"EFLOP/s", 1e18, 1e18}, {NULL, 0, 0}};
static const scale FLOP_SCALES[] = {
    {"FLOP", 1, 0},        {"kFLOP", 1e3, 1e3},   {"MFLOP", 1e6, 1e6},   {"GFLOP", 1e9, 1e9},
    {"TFLOP", 1e12, 1e12}, {"PFLOP", 1e15, 1e15}, {"EFLOP", 1e18, 1e18}, {NULL, 0, 0}};
static const scale POWER_SCALES[] = {{"W", 1, 0}, {"kW", 1e3, 1e3}, {"MW", 1e6, 1e6}, {NULL, 0, 0}};
static const scale ENERGY_SCALES[] = {{"J", 1, 0},      {"kJ", 1e3, 1e3},   {"MJ", 1e6, 1e6},
                                      {"GJ", 1e9, 1e9}, {"TJ", 1e12, 1e12}, {NULL, 0, 0}};
static const scale PRICE_SCALES[] = {{"USD/h", 1, 0}, {NULL, 0, 0}};

/* The words of a dimension in messages and output. */
typedef struct dimension_words {
    const char *noun;                                         /* "a bandwidth" */
    const char *si_unit;                                      /* "B/s"; "" for pure numbers */
    const char *example;                                      /* "400 Gbit/s" */
    const char *expected, *expected_unit, *expected_positive; /* reasons of ms_unit_parse */
    const scale *scales; /* units for output; NULL: pure numbers have none */
} dimension_words;

#define DIMENSION(noun, si, example, scales)                                                       \
    {                                                                                              \
        noun, si, example, "expected " noun " such as '" example "'",                              \
            "expected a unit after the number, such as '" example "'",                             \
            "expected " noun " of at least 0", (scales)                                            \
    }

static const dimension_words WORDS[MS_DIM_COUNT] = {
    [MS_DIM_NONE] = DIMENSION("a number", "", "0.5", NULL),
    [MS_DIM_TIME] = DIMENSION("a time", "s", "2 us", TIME_SCALES),
    [MS_DIM_BYTES] = DIMENSION("a size", "B", "80 GiB", BYTE_SCALES),
    [MS_DIM_BANDWIDTH] = DIMENSION("a bandwidth", "B/s", "400 Gbit/s", BANDWIDTH_SCALES),
    [MS_DIM_FLOP_RATE] = DIMENSION("a FLOP rate", "FLOP/s", "312 TFLOP/s", RATE_SCALES),
    [MS_DIM_FLOP] = DIMENSION("an amount of FLOP", "FLOP", "1e9 FLOP", FLOP_SCALES),
    [MS_DIM_POWER] = DIMENSION("a power", "W", "700 W", POWER_SCALES),
    [MS_DIM_ENERGY] = DIMENSION("an energy", "J", "3 MJ", ENERGY_SCALES),
    [MS_DIM_PRICE] = DIMENSION("a price", "USD/h", "2.5 USD/h", PRICE_SCALES),
};

/* Why a text is no quantity of a dimension. */
typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NO_NUMBER,
    FAULT_NEGATIVE,
    FAULT_TOO_LARGE,
    FAULT_NO_UNIT,
    FAULT_OTHER_DIMENSION,
    FAULT_UNKNOWN_UNIT,
} fault_kind;

/* A text cut into number and unit. */
typedef struct quantity {
    bool is_negative;
    const char *mantissa; /* digits with at most one point */
    int mantissa_length;
    int exponent;
    const char *unit; /* [unit_length] the text behind the number, without spaces around it */
    int unit_length;
    const unit *other; /* the unit, where it is one of another dimension than expected */
} quantity;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_spaces(const char *at) {
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

/* Find the digits of a number. Returns the first character behind them; NULL where there are no
 * digits, or more than NUMBER_MAX characters. */
static const char *scan_mantissa(const char *at, quantity *out) {
    out->mantissa = at;
    int digits = 0;
    for (; is_digit(*at); at++) {
        digits++;
    }
    if (*at == '.') {
        for (at++; is_digit(*at); at++) {
            digits++;
        }
    }
    if (digits == 0 || at - out->mantissa > NUMBER_MAX) {
        return NULL;
    }
    out->mantissa_length = (int)(at - out->mantissa);
    return at;
}

/* Read the exponent of a number, such as "e-3", into out->exponent; 0 where the number has none.
 * Returns the first character behind the exponent. */
static const char *scan_exponent(const char *at, quantity *out) {
    out->exponent = 0;
    if (*at != 'e' && *at != 'E') {
        return at;
    }
    const char *digits = at + 1;
    bool is_negative = *digits == '-';
    if (*digits == '-' || *digits == '+') {
        digits++;
    }
    if (!is_digit(*digits)) {
        return at; /* the E begins the unit, as in "1EFLOP" */
    }
    for (; is_digit(*digits); digits++) {
        if (out->exponent < EXPONENT_MAX) {
            out->exponent = out->exponent * 10 + (*digits - '0');
        }
    }
    out->exponent = is_negative ? -out->exponent : out->exponent;
    return digits;
}

/* Cut a text into sign, mantissa, exponent and unit, without converting any of them. Returns false
 * where the text does not begin with a number. */
static bool split_quantity(const char *text, quantity *out) {
    *out = (quantity){0};
    const char *at = skip_spaces(text);
    out->is_negative = *at == '-';
    if (*at == '-' || *at == '+') {
        at++;
    }
    at = scan_mantissa(at, out);
    if (at == NULL) {
        return false;
    }
    at = skip_spaces(scan_exponent(at, out));
    size_t length = strlen(at);
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) {
        length--;
    }
    out->unit = at;
    out->unit_length = length > NUMBER_MAX ? NUMBER_MAX : (int)length;
    return true;
}

/* Whether the unit of a quantity is `name`. */
static bool is_unit(const quantity *parts, const char *name) {
    return strlen(name) == (size_t)parts->unit_length &&
           memcmp(name, parts->unit, (size_t)parts->unit_length) == 0;
}

/* The value of a quantity: its number times 10^exponent * factor. strtod rounds the decimal number
 * once; multiplying by the power of ten afterwards would round again. -0 becomes 0. */
static double convert(const quantity *parts, int exponent, double factor) {
    char text[NUMBER_MAX + 16];
    snprintf(text, sizeof text, "%.*se%d", parts->mantissa_length, parts->mantissa,
             parts->exponent + exponent);
    double value = strtod(text, NULL) * factor;
    return parts->is_negative && value != 0 ? -value : value;
}

/* Look up the unit of a quantity and convert the quantity to SI. Where the unit is one of another
 * dimension, parts->other is set, for the message. */
static fault_kind convert_with_unit(quantity *parts, ms_dimension dimension, double *value_out) {
    for (int i = 0; i < UNIT_COUNT; i++) {
        if (is_unit(parts, UNITS[i].name)) {
            if (UNITS[i].dimension == dimension) {
                *value_out = convert(parts, UNITS[i].exponent, UNITS[i].factor);
                return FAULT_NONE;
            }
            parts->other = &UNITS[i];
        }
    }
    return parts->other != NULL ? FAULT_OTHER_DIMENSION : FAULT_UNKNOWN_UNIT;
}

/* Read a text as a quantity of a dimension, or as a number with or without "%" for MS_DIM_NONE.
 * parts: those of the text, for messages.  *value_out: in SI; set if there is no fault, or only
 * FAULT_NEGATIVE. */
static fault_kind parse(const char *text, ms_dimension dimension, quantity *parts,
                        double *value_out) {
    if (!split_quantity(text, parts)) {
        return FAULT_NO_NUMBER;
    }
    double value = 0;
    if (dimension == MS_DIM_NONE) {
        if (parts->unit_length > 0 && !is_unit(parts, "%")) {
            return FAULT_UNKNOWN_UNIT;
        }
        value = convert(parts, parts->unit_length > 0 ? -2 : 0, 1);
    } else {
        if (parts->unit_length == 0) {
            return FAULT_NO_UNIT;
        }
        fault_kind fault = convert_with_unit(parts, dimension, &value);
        if (fault != FAULT_NONE) {
            return fault;
        }
    }
    if (!isfinite(value)) {
        return FAULT_TOO_LARGE;
    }
    *value_out = value;
    return value < 0 ? FAULT_NEGATIVE : FAULT_NONE;
}

/* Maps the fault of parse() to a static text; ms_unit_explain makes the full message. */
ms_status ms_unit_parse(const char *text, ms_dimension dimension, double *value_out,
                        const char **reason_out) {
    quantity parts;
    double value = 0;
    switch (parse(text, dimension, &parts, &value)) {
    case FAULT_NONE:
        *value_out = value;
        return MS_OK;
    case FAULT_NEGATIVE:
        *reason_out = WORDS[dimension].expected_positive;
        break;
    case FAULT_NO_UNIT:
        *reason_out = WORDS[dimension].expected_unit;
        break;
    case FAULT_TOO_LARGE:
        *reason_out = "expected a number below 1.8e308 in SI units";
        break;
    case FAULT_NO_NUMBER:
    case FAULT_OTHER_DIMENSION:
    case FAULT_UNKNOWN_UNIT:
        *reason_out = WORDS[dimension].expected;
        break;
    }
    return MS_E_INPUT;
}

ms_status ms_number_parse(const char *text, double *value_out) {
    quantity parts;
    double value = 0;
    fault_kind fault = parse(text, MS_DIM_NONE, &parts, &value);
    if (fault != FAULT_NONE && fault != FAULT_NEGATIVE) {
        return MS_E_INPUT;
    }
    *value_out = value;
    return MS_OK;
}

/* The unit that the writer of a quantity's unknown unit probably meant; NULL where none is likely.
 * Exact habits come first: 'Gb/s' is Gbit/s, although it differs from GB/s in letter case alone. */
static const char *guess_unit(const quantity *parts, ms_dimension dimension) {
    char written[NUMBER_MAX + 1];
    snprintf(written, sizeof written, "%.*s", parts->unit_length, parts->unit);
    const size_t habits = sizeof HABITS / sizeof HABITS[0];
    for (size_t i = 0; i < habits; i++) {
        if (HABITS[i].dimension == dimension && strcmp(HABITS[i].written, written) == 0) {
            return HABITS[i].unit;
        }
    }
    for (int i = 0; i < UNIT_COUNT; i++) {
        if (UNITS[i].dimension == dimension && strcasecmp(UNITS[i].name, written) == 0) {
            return UNITS[i].name;
        }
    }
    for (size_t i = 0; i < habits; i++) {
        if (HABITS[i].dimension == dimension && strcasecmp(HABITS[i].written, written) == 0) {
            return HABITS[i].unit;
        }
    }
    return NULL;
}

char *ms_unit_names(ms_dimension dimension, const char *between, char *text_out, size_t size) {
    size_t length = 0;
    text_out[0] = '\0';
    for (int i = 0; i < UNIT_COUNT && length < size; i++) {
        if (UNITS[i].dimension == dimension) {
            length += (size_t)snprintf(text_out + length, size - length, "%s%s",
                                       length == 0 ? "" : between, UNITS[i].name);
        }
    }
    return text_out;
}

/* Write the message about a unit that is unknown, with the likely unit or a list of all units. */
static void explain_unknown(const quantity *parts, const char *text, ms_dimension dimension,
                            char *text_out, size_t size) {
    const dimension_words *words = &WORDS[dimension];
    const char *guess = guess_unit(parts, dimension);
    char units[256];
    ms_unit_names(dimension, " ", units, sizeof units);
    if (dimension == MS_DIM_NONE) {
        snprintf(text_out, size, "expected a number without a unit, got '%s'", text);
    } else if (guess != NULL) {
        snprintf(text_out, size, "%s, got '%s'; did you mean '%s'?", words->expected, text, guess);
    } else {
        snprintf(text_out, size, "%s, got '%s'; units are %s", words->expected, text, units);
    }
}

/* The text is parsed again, and the fault of parse() chooses the message. */
char *ms_unit_explain(const char *text, ms_dimension dimension, char *text_out, size_t size) {
    const dimension_words *words = &WORDS[dimension];
    quantity parts;
    double value = 0;
    switch (parse(text, dimension, &parts, &value)) {
    case FAULT_NEGATIVE:
        snprintf(text_out, size, "%s, got '%s'", words->expected_positive, text);
        break;
    case FAULT_TOO_LARGE:
        snprintf(text_out, size, "expected %s below 1.8e308, got '%s'", words->noun, text);
        break;
    case FAULT_NO_UNIT:
        snprintf(text_out, size, "expected a unit after the number, such as '%s %s', got '%s'",
                 text, words->si_unit, text);
        break;
    case FAULT_OTHER_DIMENSION:
        snprintf(text_out, size, "'%s' is %s, %s", text, WORDS[parts.other->dimension].noun,
                 words->expected);
        break;
    case FAULT_UNKNOWN_UNIT:
        explain_unknown(&parts, text, dimension, text_out, size);
        break;
    case FAULT_NONE:
    case FAULT_NO_NUMBER:
        snprintf(text_out, size, "%s, got '%s'", words->expected, text);
        break;
    }
    return text_out;
}

const char *ms_unit_example(ms_dimension dimension) {
    return WORDS[dimension].example;
}

/* Write a number with three to four significant digits, without zeros behind the point. The limits
 * are half of the last digit below 1, 10 and 1000, because of rounding.  number: >= 0. */
static void format_digits(double number, char *text_out, size_t size) {
    if (number < 0.9995 || number >= 1e6) {
        snprintf(text_out, size, "%.3g", number);
        return;
    }
    int decimals = number < 9.995 ? 2 : number < 999.95 ? 1 : 0;
    snprintf(text_out, size, "%.*f", decimals, number);
    if (decimals > 0) {
        size_t length = strlen(text_out);
        while (text_out[length - 1] == '0') {
            length--;
        }
        length -= text_out[length - 1] == '.' ? 1 : 0;
        text_out[length] = '\0';
    }
}

/* Write a value with the unit of a table that fits its magnitude.  row: the first of the table;
 * rows ascend, and the one behind the last has unit NULL.  si_unit: unit of 0, infinities and NaN.
 * Returns text_out. */
static char *format_scaled(double value, const scale *row, const char *si_unit, char *text_out,
                           size_t size) {
    double magnitude = fabs(value);
    if (magnitude == 0 || !isfinite(value)) {
        snprintf(text_out, size, "%s %s",
                 magnitude == 0 ? "0"
                 : isnan(value) ? "nan"
                 : value > 0    ? "inf"
                                : "-inf",
                 si_unit);
        return text_out;
    }
    char digits[32];
    while (row[1].unit != NULL && magnitude >= row[1].from) {
        row++;
    }
    format_digits(magnitude / row->factor, digits, sizeof digits);
    /* rounding may reach the next unit: 999.97 us is 1 ms */
    if (row[1].unit != NULL && strtod(digits, NULL) * row->factor >= row[1].from * (1 - 1e-9)) {
        row++;
        format_digits(magnitude / row->factor, digits, sizeof digits);
    }
    snprintf(text_out, size, "%s%s %s", value < 0 ? "-" : "", digits, row->unit);
    return text_out;
}

char *ms_unit_format(double value, ms_dimension dimension, char *text_out, size_t size) {
    const scale *scales = WORDS[dimension].scales;
    if (scales == NULL) {
        snprintf(text_out, size, "%.4g", value);
        return text_out;
    }
    return format_scaled(value, scales, WORDS[dimension].si_unit, text_out, size);
}

char *ms_unit_format_bits(double value_Bps, char *text_out, size_t size) {
    return format_scaled(value_Bps, BIT_SCALES, BIT_SCALES[0].unit, text_out, size);
}

char *ms_unit_format_capacity(double value_B, char *text_out, size_t size) {
    char binary[64];
    char decimal[64];
    snprintf(
        text_out, size, "%s (%s)", ms_unit_format(value_B, MS_DIM_BYTES, binary, sizeof binary),
        format_scaled(value_B, DECIMAL_SCALES, DECIMAL_SCALES[0].unit, decimal, sizeof decimal));
    return text_out;
}

const char *ms_unit_si(ms_dimension dimension) {
    return WORDS[dimension].si_unit;
}
