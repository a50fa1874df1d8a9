#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "meshsim/random.h"
#include "trace/deflate.h"

enum { MOST_B = 200 * 1000, GUARD = 0xA5, GUARD_B = 64 };

static uint8_t bytes[MOST_B];
static uint8_t packed[2 * MOST_B];
static uint8_t back[MOST_B];
static ms_deflate deflater;

static void set_up(void) {
    ms_deflate_init(&deflater);
}

TestSuite(deflate, .init = set_up);

/* zlib reads the blocks, to their last byte, and none of them ends the stream. */
static void check_blocks(size_t size, size_t length) {
    z_stream stream = {.next_in = packed, .avail_in = (unsigned)length, .next_out = back};
    stream.avail_out = sizeof back;
    cr_assert_eq(inflateInit2(&stream, -15), Z_OK);
    int said = inflate(&stream, Z_SYNC_FLUSH);
    cr_assert(said == Z_OK || (size == 0 && said == Z_BUF_ERROR), "%s",
              stream.msg == NULL ? "" : stream.msg);
    cr_assert_eq(stream.total_out, size);
    cr_assert_eq(stream.avail_in, 0);
    cr_assert_arr_eq(back, bytes, size);
    /* what follows begins at a whole byte: an empty last block */
    uint8_t last[] = {3, 0};
    stream.next_in = last;
    stream.avail_in = sizeof last;
    cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
}

/* Returns the bytes of blocks without what repeats; 0: more than without. */
static size_t check_both_ways(size_t size) {
    size_t most_B = ms_deflate_most_B(size);
    memset(packed, GUARD, most_B + GUARD_B);
    size_t length = ms_deflate_stored(bytes, size, packed);
    cr_assert_leq(length, most_B);
    check_blocks(size, length);
    memset(packed, GUARD, most_B + GUARD_B);
    length = ms_deflate_repeats(&deflater, bytes, size, packed);
    for (size_t i = 0; i < GUARD_B; i++) {
        cr_assert_eq(packed[most_B + i], GUARD, "%zu bytes write beyond their room", size);
    }
    if (length > 0) {
        cr_assert_lt(length, size);
        check_blocks(size, length);
    }
    return length;
}

/* Every length of a match, from every start on, which takes each code of a length. */
Test(deflate, every_length) {
    ms_random random = {1};
    for (size_t length = 1; length < 700; length++) {
        for (size_t i = 0; i < 1000; i++) {
            bytes[i] = (uint8_t)ms_random_range(&random, 0, 255);
        }
        memcpy(bytes + 1000, bytes + length % 7, length);
        memset(bytes + 1000 + length, 1, 2000);
        cr_assert_gt(check_both_ways(3000 + length), 0);
    }
}

/* Every code of a distance, up to the farthest; beyond, nothing is found. */
Test(deflate, every_distance) {
    /* places that others of their hash have taken are found by a later one */
    enum { REPEATED_B = 40000, FOUND_LATE_B = 10000 };
    for (size_t distance = 1; distance < 40000; distance += 1 + distance / 8) {
        ms_random random = {distance};
        for (size_t i = 0; i < distance + REPEATED_B; i++) {
            bytes[i] =
                i < distance ? (uint8_t)ms_random_range(&random, 0, 255) : bytes[i - distance];
        }
        size_t length = check_both_ways(distance + REPEATED_B);
        if (distance <= 32768) {
            cr_assert_gt(length, 0, "distance %zu", distance);
            cr_assert_lt(length, (distance + FOUND_LATE_B) * 9 / 8 + REPEATED_B / 40,
                         "distance %zu", distance);
        } else {
            cr_assert_eq(length, 0, "distance %zu", distance);
        }
    }
}

/* Every literal beside matches; few bytes; none. */
Test(deflate, small_sizes_and_all_bytes) {
    for (size_t size = 0; size < 300; size++) {
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)(size + i);
        }
        check_both_ways(size);
        memset(bytes, (int)(size % 256), size);
        check_both_ways(size);
    }
    for (size_t i = 0; i < 4096; i++) {
        bytes[i] = i % 16 == 0 ? (uint8_t)(i / 16) : 0;
    }
    cr_assert_gt(check_both_ways(4096), 0);
}

Test(deflate, checksums_are_those_of_zlib) {
    ms_random random = {1};
    for (size_t i = 0; i < MOST_B; i++) {
        bytes[i] = (uint8_t)(i % 3 == 0 ? 255 : ms_random_range(&random, 0, 255));
    }
    uint32_t sum = 1;
    uLong expected = adler32(0, NULL, 0);
    for (size_t size = 0, at = 0; at + size < MOST_B; at += size, size += 37) {
        sum = ms_adler32(sum, bytes + at, size);
        expected = adler32(expected, bytes + at, (uInt)size);
        cr_assert_eq(sum, expected, "%zu bytes", size);
    }
    for (int value = 0; value < 256; value += 51) {
        memset(bytes, value, MOST_B);
        for (size_t size = 0; size < MOST_B; size = 3 * size + 1) {
            cr_assert_eq(ms_adler32_even(sum, (uint8_t)value, size),
                         adler32(sum, bytes, (uInt)size), "%zu of %d", size, value);
            cr_assert_eq(ms_adler32(sum, bytes, size), adler32(sum, bytes, (uInt)size));
        }
    }
}
