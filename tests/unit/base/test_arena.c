#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

Test(arena, memory_is_zeroed_and_aligned) {
    ms_arena arena;
    ms_arena_init(&arena);
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *memory = ms_arena_alloc(&arena, 1, size);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % 16, 0U);
        for (size_t i = 0; i < size; i++) {
            cr_assert_eq(memory[i], 0);
        }
        memset(memory, 0xAB, size);
    }
    ms_arena_release(&arena);
}

Test(arena, overflowing_product_gives_null) {
    ms_arena arena;
    ms_arena_init(&arena);
    cr_assert_null(ms_arena_alloc(&arena, SIZE_MAX / 2, 4));
    ms_arena_release(&arena);
}

Test(arena, fail_after_fails_exactly_then) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_arena_fail_after(&arena, 2);
    cr_assert_not_null(ms_arena_alloc(&arena, 1, 8));
    cr_assert_not_null(ms_arena_strdup(&arena, "two"));
    cr_assert_null(ms_arena_alloc(&arena, 1, 8));
    cr_assert_null(ms_arena_printf(&arena, "%d", 4));
    ms_arena_release(&arena);
}

Test(arena, printf_formats) {
    ms_arena arena;
    ms_arena_init(&arena);
    cr_assert_str_eq(ms_arena_printf(&arena, "%s=%d", "tp", 8), "tp=8");
    ms_arena_release(&arena);
}

/* Objects of any size keep what was written to them while others come, and never overlap. */
Test(arena, objects_do_not_overlap) {
    enum { COUNT = 400 };
    const char *given = getenv("MS_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 3;
    ms_random random = {seed};
    ms_arena arena;
    ms_arena_init(&arena);
    unsigned char *objects[COUNT];
    size_t sizes[COUNT];
    size_t total_B = 0;
    for (int i = 0; i < COUNT; i++) {
        /* mostly small, some larger than a block */
        sizes[i] = (size_t)ms_random_range(&random, 0, i % 20 == 0 ? 200000 : 300);
        objects[i] = ms_arena_alloc(&arena, sizes[i], 1);
        cr_assert_not_null(objects[i]);
        memset(objects[i], i & 0xFF, sizes[i]);
        total_B += sizes[i];
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            cr_assert_eq(objects[i][j], i & 0xFF, "object %d, seed %llu", i,
                         (unsigned long long)seed);
        }
    }
    cr_assert_geq(arena.used_B, total_B);
    ms_arena_release(&arena);
}

Test(arena, objects_of_no_size_are_distinct) {
    ms_arena arena;
    ms_arena_init(&arena);
    void *first = ms_arena_alloc(&arena, 0, 8);
    void *second = ms_arena_alloc(&arena, 8, 0);
    cr_assert_not_null(first);
    cr_assert_not_null(second);
    cr_assert_neq(first, second);
    ms_arena_release(&arena);
}

Test(arena, is_usable_after_release) {
    ms_arena arena;
    ms_arena_init(&arena);
    for (int round = 0; round < 3; round++) {
        cr_assert_not_null(ms_arena_alloc(&arena, 1000, 1000));
        cr_assert_str_eq(ms_arena_strdup(&arena, "again"), "again");
        ms_arena_release(&arena);
        cr_assert_eq(arena.used_B, 0U);
    }
}

Test(arena, strndup_copies_bytes_and_ends_them) {
    ms_arena arena;
    ms_arena_init(&arena);
    cr_assert_str_eq(ms_arena_strndup(&arena, "abcdef", 3), "abc");
    cr_assert_str_eq(ms_arena_strndup(&arena, "", 0), "");
    cr_assert_arr_eq(ms_arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
    ms_arena_release(&arena);
}

Test(arena, clear_keeps_memory_and_zeroes_it) {
    ms_arena arena;
    ms_arena_init(&arena);
    struct ms_arena_block *head = NULL;
    for (int round = 0; round < 4; round++) {
        char *small = ms_arena_alloc(&arena, 3, 5);
        char *large = ms_arena_alloc(&arena, 300, 1000); /* more than a block */
        cr_assert(small[14] == 0 && large[0] == 0 && large[299999] == 0);
        memset(small, 'x', 15);
        memset(large, 'x', 300000);
        cr_assert(round < 2 || arena.head == head, "the same memory again");
        ms_arena_clear(&arena);
        cr_assert_eq(arena.used_B, 0U);
        head = arena.head;
    }
    ms_arena_release(&arena);
}
