/* Whichever list of what operations wait for has no room: want of memory is told. */
#include <criterion/criterion.h>

#include "simulate/lower/waits.h"

Test(lower_waiting, every_list_is_asked_for) {
    const ms_ranks ranks = {.simulated = 4, .simulated_per_pp = 2};
    const ms_program program = {.stages = 2, .mb_count = 3};
    int failures = 0;
    for (long allowed = 0;; allowed++) {
        ms_arena arena;
        ms_waiting waiting;
        ms_arena_init(&arena);
        ms_arena_fail_after(&arena, allowed);
        ms_status status = ms_waiting_init(&waiting, &ranks, &program, 5, &arena);
        bool has_all = waiting.before != NULL && waiting.next != NULL && waiting.update != NULL &&
                       waiting.unsharded != NULL;
        for (int i = 0; i < 2; i++) {
            has_all = has_all && waiting.arrived[i] != NULL && waiting.pair[i] != NULL &&
                      waiting.ended[i] != NULL && waiting.is_awaited[i] != NULL;
        }
        cr_assert_eq(status, has_all ? MS_OK : MS_E_NOMEM, "after %ld allocations", allowed);
        ms_waiting_release(&waiting);
        ms_arena_release(&arena);
        if (status == MS_OK) {
            break;
        }
        failures++;
    }
    cr_assert_geq(failures, 1);
}
