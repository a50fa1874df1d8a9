#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "meshsim/random.h"
#include "trace/deflate.h"

enum { MOST_B = 512 * 1024 };

static uint8_t bytes[MOST_B];
static uint8_t packed[MOST_B + MOST_B / 8 + 64];
static uint8_t back[MOST_B];

/* zlib, which HDF5 reads with, finds the bytes and their checksum again. */
static size_t check_round_trip(size_t size, const char *what) {
    static ms_deflater deflater;
    ms_deflater_init(&deflater);
    memset(packed, 0xA5, sizeof packed);
    size_t length = ms_deflate(&deflater, bytes, size, packed);
    cr_assert_leq(length, ms_deflate_max_B(size), "%s of %zu bytes", what, size);
    for (size_t i = ms_deflate_max_B(size); i < sizeof packed && i < length + 4096; i++) {
        cr_assert_eq(packed[i], 0xA5, "%s of %zu bytes writes beyond its room", what, size);
    }
    uLongf back_B = sizeof back;
    cr_assert_eq(uncompress(back, &back_B, packed, length), Z_OK, "%s of %zu bytes", what, size);
    cr_assert_eq(back_B, size, "%s of %zu bytes", what, size);
    cr_assert_arr_eq(back, bytes, size, "%s of %zu bytes", what, size);
    return length;
}

/* Noise of `period` bytes, again and again. */
static void repeat_noise(size_t period) {
    ms_random random = {period};
    for (size_t i = 0; i < MOST_B; i++) {
        bytes[i] = i < period ? (uint8_t)ms_random_range(&random, 0, 255) : bytes[i - period];
    }
}

Test(deflate, every_short_length) {
    for (size_t size = 0; size < 600; size++) {
        memset(bytes, 0, size);
        check_round_trip(size, "zeros");
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)(i * 37 + i / 7);
        }
        check_round_trip(size, "no repetition");
    }
}

/* 258 is the longest match; what is left of a run must be a match, too. */
Test(deflate, runs_of_every_length_between_others) {
    for (size_t run = 0; run < 800; run++) {
        size_t size = 0;
        for (size_t i = 0; i < 20; i++) {
            bytes[size++] = (uint8_t)(i * i + 1);
        }
        memset(bytes + size, 200, run);
        size += run;
        for (size_t i = 0; i < 20; i++) {
            bytes[size++] = (uint8_t)(i * i * i + 3);
        }
        check_round_trip(size, "a run");
    }
}

Test(deflate, every_distance_up_to_the_window) {
    static const size_t DISTANCES[] = {1,  2,   3,   4,    5,     7,     8,     9,     15,
                                       16, 255, 256, 4095, 16384, 16385, 24577, 32767, 32768};
    for (size_t d = 0; d < sizeof DISTANCES / sizeof DISTANCES[0]; d++) {
        repeat_noise(DISTANCES[d]);
        size_t length = check_round_trip(MOST_B, "a period");
        cr_assert_lt(length, DISTANCES[d] + MOST_B / 50, "period of %zu bytes", DISTANCES[d]);
    }
}

/* What repeats further back than 32,768 bytes is out of the window. */
Test(deflate, nothing_beyond_the_window) {
    repeat_noise(32769);
    check_round_trip(MOST_B, "a period");
}

Test(deflate, a_constant_costs_next_to_nothing) {
    memset(bytes, 255, MOST_B);
    cr_assert_lt(check_round_trip(MOST_B, "one value"), MOST_B / 150);
}

Test(deflate, noise_hardly_grows) {
    repeat_noise(MOST_B);
    cr_assert_lt(check_round_trip(MOST_B, "noise"), MOST_B + MOST_B / 500);
}

/* Pieces of noise, of one value, and of what stood somewhere before. MS_SEED replays one seed. */
Test(deflate, random_mixtures) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    ms_random random = {seed};
    for (int draw = 0; draw < 300; draw++) {
        size_t size = (size_t)ms_random_range(&random, 0, draw < 290 ? 5000 : MOST_B);
        for (size_t at = 0; at < size;) {
            size_t left = size - at;
            size_t piece = (size_t)ms_random_range(&random, 1, 400);
            piece = piece < left ? piece : left;
            size_t back_by = at == 0 ? 0 : (size_t)ms_random_range(&random, 1, (int64_t)at);
            int kind = (int)ms_random_range(&random, at == 0 ? 1 : 0, 2);
            uint8_t value = (uint8_t)ms_random_range(&random, 0, 255);
            for (size_t i = 0; i < piece; i++, at++) {
                bytes[at] = kind == 0   ? bytes[at - back_by]
                            : kind == 1 ? value
                                        : (uint8_t)ms_random_range(&random, 0, 255);
            }
        }
        char what[64];
        snprintf(what, sizeof what, "MS_SEED=%llu, draw %d", (unsigned long long)seed, draw);
        check_round_trip(size, what);
    }
}

Test(deflate, shuffle_sorts_bytes_by_significance) {
    static const size_t SIZES[] = {1, 2, 3, 4, 8};
    for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++) {
        size_t cell_B = SIZES[s];
        size_t count = 1001;
        repeat_noise(MOST_B);
        ms_shuffle(bytes, count, cell_B, back);
        for (size_t i = 0; i < count * cell_B; i++) {
            cr_assert_eq(back[(i % cell_B) * count + i / cell_B], bytes[i], "%zu bytes", cell_B);
        }
    }
}
