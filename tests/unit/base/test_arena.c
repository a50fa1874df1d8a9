#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "meshsim/arena.h"

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
