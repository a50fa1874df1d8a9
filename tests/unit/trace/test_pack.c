#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "meshsim/random.h"
#include "trace/pack.h"

enum { MOST_B = 512 * 1024, SLACK_B = 4096 };

static uint8_t bytes[MOST_B];
static uint8_t packed[2 * MOST_B];
static uint8_t back[MOST_B];
static ms_arena arena;
static ms_packer *packer;

static void set_up(void) {
    ms_arena_init(&arena);
    cr_assert_eq(ms_packer_make(&arena, &packer), MS_OK);
}

static void tear_down(void) {
    ms_arena_release(&arena);
}

TestSuite(pack, .init = set_up, .fini = tear_down);

/* Cells whose bytes at each place are a plane of `bytes`, added some at a time. */
static ms_planes add_cells(size_t cell_B, size_t plane_B, size_t some) {
    static uint8_t cells[MOST_B], sorted[MOST_B];
    ms_planes planes = {.bytes = sorted, .cell_B = cell_B, .plane_B = plane_B};
    for (size_t i = 0; i < plane_B * cell_B; i++) {
        cells[i % plane_B * cell_B + i / plane_B] = bytes[i];
    }
    while (planes.count < plane_B) {
        size_t left = plane_B - planes.count;
        ms_planes_add(&planes, cells + planes.count * cell_B, some < left ? some : left);
    }
    return planes;
}

/* zlib, which HDF5 reads with, finds the bytes and their checksum again. */
static size_t check_round_trip(size_t planes, size_t plane_B, const char *what) {
    size_t size = planes * plane_B, most_B = ms_packed_max_B(size);
    cr_assert_leq(most_B + SLACK_B, sizeof packed);
    memset(packed, 0xA5, most_B + SLACK_B);
    const ms_planes sorted = add_cells(planes, plane_B, 2048);
    size_t length = ms_pack(packer, &sorted, packed);
    cr_assert_leq(length, most_B, "%s of %zu bytes", what, size);
    for (size_t i = most_B; i < most_B + SLACK_B; i++) {
        cr_assert_eq(packed[i], 0xA5, "%s of %zu bytes writes beyond its room", what, size);
    }
    uLongf back_B = sizeof back;
    cr_assert_eq(uncompress(back, &back_B, packed, length), Z_OK, "%s of %zu bytes", what, size);
    cr_assert_eq(back_B, size, "%s of %zu bytes", what, size);
    cr_assert_arr_eq(back, bytes, size, "%s of %zu bytes", what, size);
    return length;
}

/* Noise of `period` bytes, again and again. */
static void repeat_noise(uint8_t *to, size_t size, size_t period) {
    ms_random random = {period};
    for (size_t i = 0; i < size; i++) {
        to[i] = i < period ? (uint8_t)ms_random_range(&random, 0, 255) : to[i - period];
    }
}

Test(pack, every_short_length) {
    for (size_t size = 1; size < 600; size++) {
        memset(bytes, 0, size);
        check_round_trip(1, size, "zeros");
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)(i * 37 + i / 7);
        }
        check_round_trip(1, size, "no repetition");
    }
}

Test(pack, one_value_and_periods_cost_next_to_nothing) {
    memset(bytes, 255, MOST_B);
    cr_assert_lt(check_round_trip(8, MOST_B / 8, "one value"), MOST_B / 150);
    repeat_noise(bytes, MOST_B, 100);
    cr_assert_lt(check_round_trip(1, MOST_B, "a period"), MOST_B / 50);
}

Test(pack, noise_hardly_grows) {
    repeat_noise(bytes, MOST_B, MOST_B);
    cr_assert_lt(check_round_trip(1, MOST_B, "noise"), MOST_B + MOST_B / 500);
}

/* Where one plane ends and the next one is of another kind, nothing of the first is lost or found
 * in the second. */
Test(pack, each_plane_is_packed_in_its_own_way) {
    enum { PLANE_B = MOST_B / 8 };
    for (size_t order = 0; order < 27; order++) {
        size_t noisy = 0;
        for (size_t i = 0, kinds = order; i < 3; i++, kinds /= 3) {
            size_t period = kinds % 3 == 0 ? 1 : kinds % 3 == 1 ? 60 : PLANE_B;
            repeat_noise(bytes + i * PLANE_B, PLANE_B, period);
            noisy += kinds % 3 == 2;
        }
        char what[32];
        snprintf(what, sizeof what, "order %zu", order);
        repeat_noise(bytes + 3 * PLANE_B, PLANE_B, 1);
        size_t length = check_round_trip(4, PLANE_B, what);
        cr_assert_geq(length, noisy * PLANE_B, "%s", what);
        cr_assert_lt(length, noisy * PLANE_B + PLANE_B / 20, "%s", what);
    }
}

/* The same bytes give the same stream, whatever was packed before. */
Test(pack, what_was_packed_before_does_not_matter) {
    static uint8_t first[2 * MOST_B];
    repeat_noise(bytes, MOST_B / 2, 60);
    size_t length = check_round_trip(4, MOST_B / 8, "first");
    memcpy(first, packed, length);
    for (size_t period = 1; period <= MOST_B; period *= 64) {
        repeat_noise(bytes, MOST_B, period);
        check_round_trip(1, MOST_B, "between");
        repeat_noise(bytes, MOST_B / 2, 60);
        cr_assert_eq(check_round_trip(4, MOST_B / 8, "again"), length);
        cr_assert_arr_eq(packed, first, length);
    }
}

/* Planes of one value are packed once: of any value and length, in any order, beside others. */
Test(pack, planes_of_one_value_are_their_own) {
    static const size_t LENGTHS[] = {1000, 65536, 999, 65536};
    for (size_t l = 0; l < sizeof LENGTHS / sizeof LENGTHS[0]; l++) {
        size_t plane_B = LENGTHS[l];
        for (int value = 0; value < 256; value += 15) {
            memset(bytes, value, plane_B);
            repeat_noise(bytes + plane_B, plane_B, 60);
            memset(bytes + 2 * plane_B, 255 - value, plane_B);
            memset(bytes + 3 * plane_B, value, plane_B);
            char what[64];
            snprintf(what, sizeof what, "value %d, %zu bytes a plane", value, plane_B);
            check_round_trip(4, plane_B, what);
        }
    }
}

/* Pieces of noise, of one value, and of what stood somewhere before. MS_SEED replays one seed. */
Test(pack, random_mixtures) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    ms_random random = {seed};
    for (int draw = 0; draw < 300; draw++) {
        size_t size = (size_t)ms_random_range(&random, 8, draw < 290 ? 5000 : MOST_B) / 8 * 8;
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
        size_t planes = (size_t)1 << ms_random_range(&random, 0, 3);
        check_round_trip(planes, size / planes, what);
    }
}

/* Whatever the pieces that cells come in, each plane has its bytes, or is known to have one value.
 */
Test(pack, cells_are_sorted_by_significance) {
    static const size_t SIZES[] = {1, 2, 4, 8}, PIECES[] = {1, 7, 1000, 1001};
    enum { COUNT = 1001, EARLY = 3, LATE = 990 };
    for (size_t i = 0; i < 16; i++) {
        size_t cell_B = SIZES[i / 4];
        for (size_t place = 0; place < cell_B; place++) {
            uint8_t *plane = bytes + place * COUNT;
            repeat_noise(plane, COUNT, place % 3 == 0 ? 1 : COUNT);
            if (place % 3 == 1) { /* one value but for a cell */
                memset(plane, 9, COUNT);
                plane[place % 2 == 0 ? EARLY : LATE] = 8;
            }
        }
        const ms_planes sorted = add_cells(cell_B, COUNT, PIECES[i % 4]);
        for (size_t place = 0; place < cell_B; place++) {
            cr_assert_eq(sorted.varies[place], place % 3 != 0, "place %zu of %zu", place, cell_B);
            cr_assert_eq(sorted.first[place], bytes[place * COUNT]);
            if (sorted.varies[place]) {
                cr_assert_arr_eq(sorted.bytes + place * COUNT, bytes + place * COUNT, COUNT);
            }
        }
    }
}
