#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/random.h"

Test(buffer, empty_text_is_an_empty_string) {
    ms_buffer buffer;
    ms_buffer_init(&buffer);
    cr_assert_str_eq(ms_buffer_text(&buffer), "");
    ms_buffer_release(&buffer);
}

Test(buffer, keeps_bytes_with_nul_inside) {
    ms_buffer buffer;
    ms_buffer_init(&buffer);
    ms_buffer_add(&buffer, "a\0b", 3);
    ms_buffer_add(&buffer, NULL, 0);
    ms_buffer_puts(&buffer, "c");
    cr_assert_eq(buffer.length, 4U);
    cr_assert_arr_eq(buffer.data, "a\0bc", 5);
    ms_buffer_release(&buffer);
    cr_assert_eq(buffer.length, 0U);
    cr_assert_null(buffer.data);
}

/* Whatever the pieces, the text is their concatenation. */
Test(buffer, is_the_concatenation_of_what_was_added) {
    enum { TOTAL_B = 20000 };
    const char *given = getenv("MS_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 7;
    ms_random random = {seed};
    char *expected = calloc(TOTAL_B + 1, 1);
    cr_assert_not_null(expected);
    ms_buffer buffer;
    ms_buffer_init(&buffer);
    size_t length = 0;
    while (length < TOTAL_B - 300) {
        char piece[300];
        size_t piece_B = (size_t)ms_random_range(&random, 0, 299);
        for (size_t i = 0; i < piece_B; i++) {
            piece[i] = (char)ms_random_range(&random, 'a', 'z');
        }
        piece[piece_B] = '\0';
        memcpy(expected + length, piece, piece_B);
        length += piece_B;
        if (piece_B % 2 == 0) {
            ms_buffer_printf(&buffer, "%s", piece);
        } else {
            ms_buffer_add(&buffer, piece, piece_B);
        }
        cr_assert_eq(buffer.length, length, "seed %llu", (unsigned long long)seed);
    }
    cr_assert_str_eq(ms_buffer_text(&buffer), expected, "seed %llu", (unsigned long long)seed);
    cr_assert_not(buffer.failed);
    ms_buffer_release(&buffer);
    free(expected);
}

Test(buffer, a_failure_stays_and_later_calls_do_nothing) {
    ms_buffer buffer;
    ms_buffer_init(&buffer);
    ms_buffer_puts(&buffer, "kept");
    ms_buffer_add(&buffer, "x", SIZE_MAX / 2);
    cr_assert(buffer.failed);
    ms_buffer_puts(&buffer, "more");
    ms_buffer_printf(&buffer, "%d", 5);
    cr_assert(buffer.failed);
    cr_assert_str_eq(ms_buffer_text(&buffer), "kept");
    ms_buffer_release(&buffer);
    cr_assert_not(buffer.failed);
}

/* Room that was taken is there, and none that cannot be had is missed before it is needed. */
Test(vector, room_is_taken_at_once) {
    ms_vector vector;
    ms_vector_init(&vector, sizeof(int64_t));
    ms_vector_reserve(&vector, 3);
    ms_vector_reserve(&vector, 1000);
    const void *data = vector.data;
    cr_assert_geq(vector.capacity, 1000U);
    ms_vector_reserve(&vector, 5);
    ms_vector_reserve(&vector, SIZE_MAX / 2);
    for (int64_t i = 0; i < 1000; i++) {
        cr_assert_not_null(ms_vector_add(&vector, &i, 1));
    }
    cr_assert_eq(vector.data, data, "it did not move");
    int64_t last = 1000;
    cr_assert_not_null(ms_vector_add(&vector, &last, 1), "it grows on");
    cr_assert_not(vector.failed);
    cr_assert_eq(MS_AT(&vector, int64_t, 999), 999);
    ms_vector_release(&vector);
}

Test(vector, keeps_items_in_order_while_growing) {
    ms_vector vector;
    ms_vector_init(&vector, sizeof(int64_t));
    for (int64_t i = 0; i < 10000; i++) {
        int64_t *place = ms_vector_add(&vector, &i, 1);
        cr_assert_not_null(place);
        cr_assert_eq(*place, i);
    }
    cr_assert_eq(vector.count, 10000U);
    for (int64_t i = 0; i < 10000; i++) {
        cr_assert_eq(MS_AT(&vector, int64_t, i), i);
    }
    ms_vector_release(&vector);
    cr_assert_eq(vector.count, 0U);
    cr_assert_eq(vector.item_B, sizeof(int64_t));
}

/* A place behind no items is one, too: NULL would be a failure. */
Test(vector, adds_nothing_to_an_empty_one) {
    ms_vector vector;
    ms_vector_init(&vector, sizeof(int));
    cr_assert_not_null(ms_vector_add(&vector, NULL, 0));
    cr_assert_eq(vector.count, 0U);
    cr_assert(!vector.failed);
    ms_vector_release(&vector);
}

Test(vector, adds_several_and_zeroed_ones) {
    ms_vector vector;
    ms_vector_init(&vector, sizeof(int));
    const int items[] = {1, 2, 3};
    cr_assert_not_null(ms_vector_add(&vector, items, 3));
    int *zeroed = ms_vector_add(&vector, NULL, 40);
    cr_assert_not_null(zeroed);
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(zeroed[i], 0);
    }
    cr_assert_eq(MS_AT(&vector, int, 2), 3);
    cr_assert_eq(vector.count, 43U);
    ms_vector_release(&vector);
}

Test(vector, a_failure_stays) {
    ms_vector vector;
    ms_vector_init(&vector, 64);
    cr_assert_null(ms_vector_add(&vector, NULL, SIZE_MAX / 4));
    cr_assert(vector.failed);
    cr_assert_null(ms_vector_add(&vector, NULL, 1));
    cr_assert_eq(vector.count, 0U);
    ms_vector_release(&vector);

    ms_vector_init(&vector, 64);
    cr_assert_null(
        ms_vector_add(&vector, NULL, SIZE_MAX / 16)); /* bytes overflow, the count does not */
    cr_assert(vector.failed);
    ms_vector_release(&vector);
}

Test(buffer, a_text_that_lacks_something_is_not_kept) {
    ms_arena arena;
    ms_buffer buffer;
    ms_arena_init(&arena);
    ms_buffer_init(&buffer);
    ms_buffer_puts(&buffer, "whole");
    cr_assert_str_eq(ms_buffer_keep(&buffer, &arena), "whole");
    cr_assert_null(buffer.data);
    cr_assert_str_eq(ms_buffer_keep(&buffer, &arena), "");
    cr_assert_not(arena.has_failed);

    ms_buffer_puts(&buffer, "hal");
    ms_buffer_add(&buffer, "f", SIZE_MAX / 2); /* more than there is */
    cr_assert_null(ms_buffer_keep(&buffer, &arena));
    cr_assert(arena.has_failed, "whoever asks the arena at the end is told");
    cr_assert_not(buffer.failed);
    ms_arena_release(&arena);
}
