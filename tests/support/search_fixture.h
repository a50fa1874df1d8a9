/* Searching schedules in tests. */
#ifndef SEARCH_FIXTURE_H
#define SEARCH_FIXTURE_H

#include "base/random.h"
#include "schedule/schedule_search.h"
#include "schedule_fixture.h"

/* A search that must succeed. */
static inline ms_search_result search(fixture *f, const ms_search_spec *spec,
                                      const ms_schedule_costs *costs) {
    ms_search_result result = {.variant = -1};
    cr_assert_eq(ms_schedule_search(spec, costs, &f->arena, &f->diag, &result), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    return result;
}

/* Stages of one kind of pass between 1/2 and 3, some messages free. */
static inline ms_schedule_costs random_costs(fixture *f, ms_random *random, int stages) {
    double *lists[4];
    for (int i = 0; i < 4; i++) {
        lists[i] = MS_NEW(&f->arena, double, stages);
        for (int stage = 0; stage < stages; stage++) {
            lists[i][stage] = (double)ms_random_range(random, i == 3 ? 0 : 4, i == 3 ? 4 : 24) / 8;
        }
    }
    return (ms_schedule_costs){
        .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
}

#endif
