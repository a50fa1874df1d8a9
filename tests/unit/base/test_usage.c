/* What the process has taken. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/usage.h"

Test(usage, time_goes_forward) {
    double before_s = ms_wall_s();
    for (int i = 0; i < 1000; i++) {
        double now_s = ms_wall_s();
        cr_assert_geq(now_s, before_s);
        before_s = now_s;
    }
}

Test(usage, memory_in_use_counts) {
    enum { SIZE_B = 64 << 20 };
    ms_arena arena;
    ms_arena_init(&arena);
    char *bytes = MS_NEW(&arena, char, SIZE_B);
    cr_assert_not_null(bytes);
    memset(bytes, 1, SIZE_B); /* what nobody has written is not resident */
    cr_assert_geq(ms_peak_rss_B(), (double)SIZE_B);
    ms_arena_release(&arena);
    cr_assert_geq(ms_peak_rss_B(), (double)SIZE_B, "the most so far");
}
