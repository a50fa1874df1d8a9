#include "moe_fixture.h"

#include "model/moe.h"

enum { EXPERTS_MAX = 512 };

static ms_moe random_moe(ms_random *random) {
    ms_moe moe = {.experts = 8 << ms_random_range(random, 0, 5),
                  .every = 1,
                  .imbalance = (ms_imbalance_kind)ms_random_range(random, 0, 2),
                  .spread = 2 * ms_random_unit(random),
                  .seed = (int)ms_random_range(random, 0, 1000000)};
    moe.top_k = (int)ms_random_range(random, 1, 8);
    return moe;
}

static double sum_of(const double *items, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += items[i];
    }
    return sum;
}

Test(moe_load, every_token_arrives_once_at_each_of_its_experts) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    double copies[EXPERTS_MAX];
    for (int i = 0; i < 500; i++) {
        ms_moe moe = random_moe(&random);
        double tokens = (double)ms_random_range(&random, 1, 10000);
        ms_moe_popularity(&moe, i, copies);
        cr_assert_lt(fixture_gap(sum_of(copies, moe.experts), moe.experts), 1e-12);
        double sum = ms_moe_copies(&moe, tokens, copies);
        cr_assert_lt(fixture_gap(sum, tokens * moe.top_k), 1e-9, "seed %llu",
                     (unsigned long long)seed);
        for (int expert = 0; expert < moe.experts; expert++) {
            cr_assert(copies[expert] >= 0 && copies[expert] <= tokens * (1 + 1e-12), "seed %llu",
                      (unsigned long long)seed);
        }
    }
}

Test(moe_load, a_capacity_bounds_every_expert_and_drops_the_rest) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    double bounded[EXPERTS_MAX], open[EXPERTS_MAX];
    for (int i = 0; i < 300; i++) {
        ms_moe moe = random_moe(&random);
        double tokens = (double)ms_random_range(&random, 100, 10000);
        ms_moe_popularity(&moe, i, open);
        double sent = ms_moe_copies(&moe, tokens, open);
        moe.capacity_factor = 0.5 + ms_random_unit(&random);
        ms_moe_popularity(&moe, i, bounded);
        double kept = ms_moe_copies(&moe, tokens, bounded);
        double capacity = ceil(moe.capacity_factor * tokens * moe.top_k / moe.experts);
        double dropped = 0;
        for (int expert = 0; expert < moe.experts; expert++) {
            cr_assert_leq(bounded[expert], capacity);
            dropped += open[expert] - bounded[expert];
        }
        cr_assert_lt(fixture_gap(kept + dropped, sent), 1e-9, "seed %llu",
                     (unsigned long long)seed);
        cr_assert(dropped >= -1e-6);
    }
}

Test(moe_load, without_imbalance_the_closed_form_holds_exactly) {
    const struct {
        int experts, top_k, ep;
        double tokens;
    } ROWS[] = {{8, 2, 8, 4096}, {256, 8, 64, 4096}, {60, 7, 12, 3001}, {16, 4, 1, 1000}};
    double scratch[EXPERTS_MAX];
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (int kind = MS_IMBALANCE_NONE; kind <= MS_IMBALANCE_ZIPF; kind++) {
            /* a kind with spread 0, and no kind with any spread */
            ms_moe moe = {.experts = ROWS[i].experts,
                          .top_k = ROWS[i].top_k,
                          .imbalance = (ms_imbalance_kind)kind,
                          .spread = kind == MS_IMBALANCE_NONE ? 0.7 : 0};
            ms_moe_load load = ms_moe_load_of(&moe, 3, ROWS[i].ep, ROWS[i].tokens, scratch);
            double copies = ROWS[i].tokens * ROWS[i].top_k;
            cr_assert(load.sent == copies && load.busiest == copies);
            moe.capacity_factor = 1.25; /* nothing is dropped */
            load = ms_moe_load_of(&moe, 3, ROWS[i].ep, ROWS[i].tokens, scratch);
            cr_assert(load.sent == copies && load.busiest == copies);
            moe.has_padding = true;
            load = ms_moe_load_of(&moe, 3, ROWS[i].ep, ROWS[i].tokens, scratch);
            double full = ROWS[i].experts * ceil(1.25 * copies / ROWS[i].experts);
            cr_assert(load.sent == full && load.busiest == full);
        }
    }
}

Test(moe_load, a_small_spread_stays_near_the_closed_form) {
    double scratch[EXPERTS_MAX];
    for (int kind = MS_IMBALANCE_LOGNORMAL; kind <= MS_IMBALANCE_ZIPF; kind++) {
        ms_moe moe = {
            .experts = 64, .top_k = 4, .imbalance = (ms_imbalance_kind)kind, .spread = 1e-9};
        ms_moe_load load = ms_moe_load_of(&moe, 0, 8, 4096, scratch);
        cr_assert_lt(fixture_gap(load.sent, 4096.0 * 4), 1e-12);
        cr_assert(load.busiest > load.sent && load.busiest < load.sent * (1 + 1e-7));
    }
}

/* Where nothing is dropped all copies are sent, to the bit: a sum of what the experts get would
 * differ in its last digits, and with it the tiles of a product. */
Test(moe_load, no_copy_is_lost_in_a_sum) {
    double scratch[EXPERTS_MAX];
    for (int seed = 0; seed < 20; seed++) {
        for (int capacity = 0; capacity <= 1; capacity++) {
            ms_moe moe = {.experts = EXPERTS_MAX,
                          .top_k = 4,
                          .imbalance = MS_IMBALANCE_LOGNORMAL,
                          .spread = 0.7,
                          .capacity_factor = capacity * EXPERTS_MAX,
                          .seed = seed};
            ms_moe_load load = ms_moe_load_of(&moe, 0, 1, 1000, scratch);
            cr_assert(load.sent == 4000 && load.busiest == 4000);
        }
    }
}

Test(moe_load, seeds_repeat_and_differ) {
    double first[64], second[64];
    ms_moe moe = {
        .experts = 64, .top_k = 4, .imbalance = MS_IMBALANCE_LOGNORMAL, .spread = 0.5, .seed = 7};
    ms_moe_popularity(&moe, 5, first);
    ms_moe_popularity(&moe, 5, second);
    cr_assert_eq(memcmp(first, second, sizeof first), 0);
    ms_moe_popularity(&moe, 6, second); /* each layer has its own */
    cr_assert_neq(memcmp(first, second, sizeof first), 0);
    moe.seed = 8;
    ms_moe_popularity(&moe, 5, second);
    cr_assert_neq(memcmp(first, second, sizeof first), 0);
}

Test(moe_load, popularity_has_the_spread_that_was_asked_for) {
    double popularity[EXPERTS_MAX], squares = 0;
    enum { LAYERS = 200 };
    ms_moe moe = {.experts = EXPERTS_MAX, .imbalance = MS_IMBALANCE_LOGNORMAL, .spread = 0.3};
    for (int layer = 0; layer < LAYERS; layer++) {
        ms_moe_popularity(&moe, layer, popularity);
        for (int i = 0; i < EXPERTS_MAX; i++) {
            squares += (popularity[i] - 1) * (popularity[i] - 1);
        }
    }
    cr_assert_float_eq(sqrt(squares / (LAYERS * EXPERTS_MAX)), 0.3, 0.01);
    moe.imbalance = MS_IMBALANCE_ZIPF;
    moe.spread = 1;
    ms_moe_popularity(&moe, 0, popularity);
    double harmonic = 0, largest = 0;
    for (int i = 0; i < EXPERTS_MAX; i++) {
        harmonic += 1.0 / (i + 1);
        largest = fmax(largest, popularity[i]);
    }
    cr_assert_lt(fixture_gap(largest, EXPERTS_MAX / harmonic), 1e-12);
}

/* Time of one kernel in a pass. */
static double kernel_s(const ms_stage_costs *costs, const char *name) {
    double sum = 0;
    ms_pass_plan plan = costs->stage[0].passes[MS_PASS_B];
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &costs->segments[i];
        for (int use = segment->kernels.use_first;
             use < segment->kernels.use_first + segment->kernels.uses; use++) {
            const ms_kernel *kernel = &costs->kernels[costs->uses[use].kernel];
            sum += strcmp(kernel->name, name) == 0 ? costs->uses[use].calls * kernel->time_s : 0;
        }
    }
    return sum;
}

/* On a GPU whose products scale with their size, the experts take longer by the busiest rank's
 * load, layer by layer, and nothing else does. */
Test(moe_load, imbalance_costs_what_the_busiest_rank_explains) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.hbm_Bps = 1e300;
    ms_model model = fixture_small_moe(6);
    fixture_costs even, uneven;
    fixture_init(&even);
    even.layout.ep = 8;
    fixture_run(&even, &model, &gpu);
    model.moe.imbalance = MS_IMBALANCE_LOGNORMAL;
    model.moe.spread = 0.4;
    model.moe.seed = 3;
    fixture_init(&uneven);
    uneven.layout.ep = 8;
    fixture_run(&uneven, &model, &gpu);
    double scratch[16], factor = 0;
    for (int layer = 0; layer < 6; layer++) {
        ms_moe_load load = ms_moe_load_of(&model.moe, layer, 8, 2048, scratch);
        factor += load.busiest / load.sent / 6;
    }
    cr_assert(factor > 1.1 && factor < 3);
    double even_s = 0, uneven_s = 0;
    static const char *const EXPERT[] = {"expert_up_input_grad", "expert_down_input_grad",
                                         "expert_up_weight_grad", "expert_down_weight_grad"};
    for (size_t i = 0; i < sizeof EXPERT / sizeof EXPERT[0]; i++) {
        double before = kernel_s(&even.costs, EXPERT[i]),
               after = kernel_s(&uneven.costs, EXPERT[i]);
        /* a rank's tokens need not be whole numbers, its tiles are */
        cr_assert_float_eq(after / before, factor, 0.002, "%s", EXPERT[i]);
        even_s += before;
        uneven_s += after;
    }
    double all_s =
        fixture_pass_s(&uneven.costs, 0, MS_PASS_B) - fixture_pass_s(&even.costs, 0, MS_PASS_B);
    cr_assert_lt(fixture_gap(all_s, uneven_s - even_s), 1e-9);
    cr_assert_lt(fixture_gap(fixture_pass_flop(&even.costs, 0, MS_PASS_B),
                             fixture_pass_flop(&uneven.costs, 0, MS_PASS_B)),
                 1e-12);
    /* the all-to-all carries the mean and names the busiest */
    ms_pass_plan plan = uneven.costs.stage[0].passes[MS_PASS_F];
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &uneven.costs.segments[i];
        if (segment->is_collective) {
            ms_moe_load load = ms_moe_load_of(&model.moe, segment->layer, 8, 2048, scratch);
            cr_assert_lt(fixture_gap(segment->coll_B, 2048.0 * 4 * 1024 * 2), 1e-12);
            cr_assert_eq(segment->coll_load_imbalance, load.busiest / load.sent);
        }
    }
    fixture_clear(&even);
    fixture_clear(&uneven);
}

Test(moe_load, a_token_reaches_as_many_nodes_and_ranks_as_it_must) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    for (int i = 0; i < 300; i++) {
        int nodes = 1 << ms_random_range(&random, 0, 4);
        int node_ranks = 1 << ms_random_range(&random, 0, 3);
        ms_moe moe = {.experts = nodes * node_ranks * (int)ms_random_range(&random, 1, 4)};
        moe.node_limit = (int)ms_random_range(&random, 1, nodes);
        int open = moe.experts / nodes * moe.node_limit;
        moe.top_k = (int)ms_random_range(&random, 1, open < 8 ? open : 8);
        ms_moe_reach reach = ms_moe_reach_of(&moe, nodes, node_ranks);
        double most = fmin(moe.top_k, moe.node_limit);
        cr_assert(reach.nodes >= 1 - 1e-12 && reach.nodes <= most + 1e-12, "seed %llu",
                  (unsigned long long)seed);
        cr_assert(reach.ranks >= reach.nodes - 1e-12 && reach.ranks <= moe.top_k + 1e-12,
                  "seed %llu", (unsigned long long)seed);
    }
    /* one expert per token: one node, one rank; all experts: all of them */
    ms_moe one = {.experts = 64, .top_k = 1}, all = {.experts = 64, .top_k = 64};
    cr_assert_lt(fixture_gap(ms_moe_reach_of(&one, 8, 8).nodes, 1), 1e-12);
    cr_assert_lt(fixture_gap(ms_moe_reach_of(&all, 8, 8).ranks, 64), 1e-12);
}
