/* The bound of the search, term by term. Expected spans are from the formulas in the comments of
 * search/bound.c, computed apart from the program; the cases are those, of 12,000 random ones, that
 * together tell the formulas from each of 170 with one operator or number changed. That the bound
 * holds is for test_search.c, which compares it with all schedules of small sizes. */
#include <criterion/criterion.h>

#include "schedule/schedule_search.h"

enum { STAGES = 8 };

typedef struct bound_case {
    ms_search_spec spec; /* P, V, M, memory cap */
    double forward[STAGES], input[STAGES], weight[STAGES], p2p[STAGES - 1];
    double span;
} bound_case;

static const bound_case CASES[] = {
    {{4, 2, 6, 7, 0},
     {7, 4, 3, 3, 4, 6, 5, 4},
     {4, 2, 5, 7, 4, 5, 8, 6},
     {1, 4, 8, 3, 9, 4, 8, 7},
     {0, 20, 40, 0, 0, 0, 20},
     323},
    {{4, 2, 6, 3, 0},
     {4, 0, 6, 9, 2, 6, 4, 9},
     {6, 0, 2, 4, 5, 4, 2, 1},
     {7, 0, 2, 2, 0, 7, 7, 6},
     {20, 0, 0, 0, 0, 0, 0},
     264},
    {{3, 1, 6, 2, 0}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0}, 21},
    {{4, 2, 4, 6, 0},
     {4, 1, 4, 9, 0, 4, 8, 6},
     {2, 4, 9, 2, 3, 4, 5, 2},
     {2, 8, 4, 1, 4, 7, 8, 8},
     {0, 5, 40, 0, 5, 0, 0},
     217},
    {{3, 2, 5, 0, 0},
     {4, 1, 5, 7, 6, 1},
     {9, 2, 8, 5, 5, 4},
     {8, 7, 5, 6, 1, 1},
     {0, 40, 0, 0, 20},
     253},
    {{3, 2, 5, 6, 0},
     {5, 4, 1, 7, 1, 2},
     {1, 4, 5, 4, 4, 6},
     {2, 8, 1, 1, 1, 6},
     {0, 0, 0, 0, 0},
     110},
    {{4, 2, 3, 15, 0},
     {9, 5, 5, 1, 6, 7, 5, 4},
     {6, 3, 4, 8, 4, 9, 6, 2},
     {1, 1, 9, 8, 7, 5, 7, 7},
     {1, 0, 20, 0, 0, 0, 0},
     145},
    {{2, 1, 5, 2, 0}, {0, 1}, {0, 0}, {1, 1}, {1}, 10.5},
    {{3, 2, 5, 5, 0},
     {1, 1, 1, 3, 3, 3},
     {1, 3, 2, 3, 1, 3},
     {1, 3, 2, 2, 3, 3},
     {40, 0, 0, 0, 5},
     152},
    {{4, 1, 5, 8, 0}, {3, 4, 3, 9}, {7, 1, 2, 3}, {1, 5, 1, 5}, {5, 20, 5}, 125},
    {{2, 2, 4, 5, 0}, {6, 7, 5, 7}, {7, 1, 7, 3}, {4, 1, 8, 9}, {0, 0, 40}, 188.8},
    {{1, 1, 3, 2, 0}, {0}, {0}, {0}, {0}, 0},
};

Test(schedule_bound, every_term) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const bound_case *c = &CASES[i];
        const ms_schedule_costs costs = {
            .forward = c->forward, .input_grad = c->input, .weight_grad = c->weight, .p2p = c->p2p};
        int rank = 0;
        cr_assert_float_eq(ms_schedule_span_bound(&c->spec, &costs, &rank), c->span, 1e-12,
                           "case %zu", i);
    }
}
