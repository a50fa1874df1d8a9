/* The search and its bound against all schedules of small sizes. */
#include <math.h>
#include <stdlib.h>

#include "search_fixture.h"

/* All orders of P = 1 or 2 ranks (3 with one stage each): passes in the order of their starts, cut
 * off where the work left cannot beat the best. Passes of a kind keep the order of microbatches,
 * which loses nothing: they differ in their number only. */
typedef struct exhaustive {
    const ms_search_spec *spec;
    const ms_schedule_costs *costs;
    int done[3][3][2];    /* [rank][pass F, I, W][chunk] */
    double ends[4][3][8]; /* [stage][pass][mb] */
    double begun[3], free_at[3], left[3];
    double best;
} exhaustive;

static double when_ready(const exhaustive *x, int stage, int pass, int mb) {
    int last = x->spec->chunks * x->spec->pipeline_ranks - 1;
    int turn = x->spec->chunks == 2 ? x->spec->pipeline_ranks - 1 : -1;
    if (pass == 2) {
        return x->ends[stage][1][mb];
    }
    int other = pass == 0 ? stage - 1 : stage + 1;
    double own = pass == 0 ? 0 : x->ends[stage][0][mb];
    if (other < 0 || other > last) {
        return own;
    }
    int boundary = pass == 0 ? stage - 1 : stage;
    double latency = boundary == turn ? 0 : x->costs->p2p[boundary];
    return fmax(own, x->ends[other][pass][mb] + latency);
}

static int held_by(const exhaustive *x, int rank) {
    return x->done[rank][0][0] + x->done[rank][0][1] - x->done[rank][2][0] - x->done[rank][2][1];
}

static bool may_win(const exhaustive *x) {
    for (int rank = 0; rank < x->spec->pipeline_ranks; rank++) {
        if (x->free_at[rank] - fmax(0, x->begun[rank]) + x->left[rank] >= x->best - 1e-9) {
            return false;
        }
    }
    return true;
}

static void try_all(exhaustive *x, double now) {
    const double *costs[3] = {x->costs->forward, x->costs->input_grad, x->costs->weight_grad};
    if (!may_win(x)) {
        return;
    }
    bool is_done = true;
    for (int i = 0; i < 6 * x->spec->pipeline_ranks; i++) {
        int rank = i / 6;
        int pass = i / 2 % 3;
        int chunk = i % 2;
        int stage = chunk == 0 ? rank : 2 * x->spec->pipeline_ranks - 1 - rank;
        int mb = x->done[rank][pass][chunk];
        if (chunk == x->spec->chunks || mb == x->spec->microbatches) {
            continue;
        }
        is_done = false;
        double start = fmax(x->free_at[rank], when_ready(x, stage, pass, mb));
        bool is_full = pass == 0 && held_by(x, rank) == x->spec->memory_cap;
        if (isinf(start) || start < now || is_full) {
            continue;
        }
        double cost = costs[pass][stage];
        double begun = x->begun[rank];
        double free_at = x->free_at[rank];
        x->begun[rank] = begun < 0 ? start : begun;
        x->free_at[rank] = x->ends[stage][pass][mb] = start + cost;
        x->left[rank] -= cost;
        x->done[rank][pass][chunk]++;
        try_all(x, start);
        x->done[rank][pass][chunk]--;
        x->left[rank] += cost;
        x->ends[stage][pass][mb] = INFINITY;
        x->free_at[rank] = free_at;
        x->begun[rank] = begun;
    }
    if (is_done) {
        x->best = 0;
        for (int rank = 0; rank < x->spec->pipeline_ranks; rank++) {
            x->best = fmax(x->best, x->free_at[rank] - x->begun[rank]);
        }
    }
}

/* The shortest span of all schedules, which `known` is one of. */
static double shortest(const ms_search_spec *spec, const ms_schedule_costs *costs, double known) {
    exhaustive x = {.spec = spec, .costs = costs, .best = known + 1e-6};
    for (int i = 0; i < 4 * 3 * 8; i++) {
        x.ends[i / 24][i / 8 % 3][i % 8] = INFINITY;
    }
    for (int rank = 0; rank < spec->pipeline_ranks; rank++) {
        int mirror = 2 * spec->pipeline_ranks - 1 - rank;
        x.begun[rank] = -1;
        x.left[rank] = spec->microbatches *
                       (costs->forward[rank] + costs->input_grad[rank] + costs->weight_grad[rank]);
        if (spec->chunks == 2) {
            x.left[rank] +=
                spec->microbatches *
                (costs->forward[mirror] + costs->input_grad[mirror] + costs->weight_grad[mirror]);
        }
    }
    try_all(&x, 0);
    return fmin(x.best, known);
}

/* Bound <= best of all schedules <= what the search finds, and how often each is met. */
Test(schedule_exhaustive, two_stages_in_a_v, .timeout = 120) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261123U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    int found_best = 0;
    int bound_is_best = 0;
    int tried = 0;
    for (int trial = 0; trial < 90; trial++) {
        fixture f;
        fixture_init(&f);
        int p = trial % 5 == 0 ? 1 : 2;
        double *lists[4];
        for (int i = 0; i < 4; i++) {
            lists[i] = MS_NEW(&f.arena, double, 2 * p);
            for (int stage = 0; stage < 2 * p; stage++) {
                int most = trial % 3 == 0 ? 8 : 20;
                lists[i][stage] =
                    (double)ms_random_range(&random, i == 3 ? 0 : 8 - i, i == 3 ? most / 2 : most) /
                    8;
            }
        }
        ms_schedule_costs costs = {
            .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
        int m = 1 + trial % 3;
        ms_search_spec spec = {.pipeline_ranks = p,
                               .chunks = 2,
                               .microbatches = m,
                               .memory_cap = (int)ms_random_range(&random, 2, 2 * m),
                               .effort = 4000};
        ms_search_result found = search(&f, &spec, &costs);
        double best = shortest(&spec, &costs, found.span);
        cr_assert_leq(found.bound, best + 1e-9, "MS_SEED=%llu trial %d: bound %.9g, best %.9g",
                      (unsigned long long)seed, trial, found.bound, best);
        tried++;
        found_best += found.span <= best + 1e-9;
        bound_is_best += found.bound >= best - 1e-9;
        fixture_release(&f);
    }
    cr_assert_geq(found_best * 10, tried * 8, "%d of %d found", found_best, tried);
    cr_assert_geq(bound_is_best * 10, tried * 4, "%d of %d bounds met", bound_is_best, tried);
}

/* The same with one stage per rank. */
Test(schedule_exhaustive, one_stage_per_rank, .timeout = 120) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261125U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    int found_best = 0;
    int bound_is_best = 0;
    int tried = 0;
    for (int trial = 0; trial < 120; trial++) {
        fixture f;
        fixture_init(&f);
        int p = 1 + trial % 3;
        int m = 1 + trial / 3 % (p == 3 ? 3 : 4);
        ms_schedule_costs costs = random_costs(&f, &random, p);
        ms_search_spec spec = {.pipeline_ranks = p,
                               .chunks = 1,
                               .microbatches = m,
                               .memory_cap = (int)ms_random_range(&random, 1, m),
                               .effort = 4000};
        ms_search_result found = search(&f, &spec, &costs);
        double best = shortest(&spec, &costs, found.span);
        cr_assert_leq(found.bound, best + 1e-9, "MS_SEED=%llu trial %d: bound %.9g, best %.9g",
                      (unsigned long long)seed, trial, found.bound, best);
        tried++;
        found_best += found.span <= best + 1e-9;
        bound_is_best += found.bound >= best - 1e-9;
        fixture_release(&f);
    }
    cr_assert_geq(found_best * 10, tried * 9, "%d of %d found", found_best, tried);
    cr_assert_geq(bound_is_best * 10, tried * 7, "%d of %d bounds met", bound_is_best, tried);
}
