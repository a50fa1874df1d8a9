/* Two copies of the parameters among the pipeline ranks, as DualPipe and Chimera have them. */
#include "moe_fixture.h"

enum { RANKS = 4 };

/* Four stages down the ranks and their copies up, or eight stages down and up again. */
static const int DOWN_AND_UP[2 * RANKS] = {0, 1, 2, 3, 3, 2, 1, 0};

static void lay_out(fixture_costs *fixture, const ms_model *model) {
    ms_gpu_type gpu = fixture_a100();
    fixture->layout.pp = RANKS;
    fixture_run(fixture, model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
    fixture_check_waits(&fixture->costs);
}

static void lay_out_twice(fixture_costs *fixture, const ms_model *model) {
    fixture->layout.directions = 2;
    fixture->layout.stage_rank = DOWN_AND_UP;
    lay_out(fixture, model);
}

/* Parameters of both stages on a rank. */
static ms_stage_cost held_by(const fixture_costs *fixture, int rank) {
    const ms_stage_cost *one = &fixture->costs.stage[rank];
    const ms_stage_cost *two = &fixture->costs.stage[RANKS - 1 - rank];
    return (ms_stage_cost){.parameters = one->parameters + two->parameters,
                           .expert_parameters = one->expert_parameters + two->expert_parameters};
}

/* Bytes a rank sends before its update. */
static double sent_B(const fixture_costs *fixture, int rank) {
    return fixture_plan_sent_B(fixture, fixture->costs.before_update[rank], MS_AXIS_DP, 0, 1);
}

static const ms_segment *before_update(const fixture_costs *fixture, int rank, int index) {
    ms_pass_plan plan = fixture->costs.before_update[rank];
    cr_assert_lt(index, plan.count);
    return &fixture->costs.segments[plan.first + index];
}

/* Reduced over n replicas of each copy and over both copies is reduced over 2 n: a ring's
 * 2 (2n - 1) / 2n of the gradients. */
Test(directions, whole_gradients_cost_one_all_reduce_over_all_that_hold_them) {
    ms_model model = fixture_llama(10, 1024, 16, 4, 4096);
    for (int dp = 1; dp <= 12; dp++) {
        for (int cp = 1; cp <= 2; cp++) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.dp = dp;
            fixture.layout.cp = cp;
            lay_out_twice(&fixture, &model);
            double n = 2.0 * dp * cp;
            for (int rank = 0; rank < RANKS; rank++) {
                double gradient_B = 4 * held_by(&fixture, rank).parameters;
                double expected = fixture_coll_sent_B(MS_COLL_ALL_REDUCE, n, gradient_B);
                cr_assert_lt(fixture_gap(sent_B(&fixture, rank), expected), 1e-14);
            }
            fixture_clear(&fixture);
        }
    }
}

Test(directions, sums_between_directions_stand_between_scatter_and_gather) {
    ms_model model = fixture_llama(8, 1024, 16, 4, 4096);
    for (int dp = 1; dp <= 8; dp *= 8) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.dp = dp;
        lay_out_twice(&fixture, &model);
        int at = dp > 1 ? 1 : 0;
        cr_assert_eq(fixture.costs.before_update[1].count, dp > 1 ? 3 : 1);
        const ms_segment *sum = before_update(&fixture, 1, at);
        cr_assert(sum->is_collective && sum->is_between_directions && !sum->is_async);
        cr_assert(sum->coll == MS_COLL_ALL_REDUCE && sum->axis == MS_AXIS_DP);
        cr_assert_eq(sum->coll_B, 4 * held_by(&fixture, 1).parameters / dp);
        if (dp > 1) {
            cr_assert_eq(before_update(&fixture, 1, 0)->coll, MS_COLL_REDUCE_SCATTER);
            cr_assert_eq(before_update(&fixture, 1, 2)->coll, MS_COLL_ALL_GATHER);
        }
        fixture_clear(&fixture);
    }
}

/* Each copy has shards of its own after its reduction, so only these are summed; whole gradients
 * are gathered afterwards. */
Test(directions, a_rank_sums_what_it_holds_after_the_reduction) {
    const struct {
        int zero;
        bool overlaps, every;
    } ROWS[] = {{0, true, false}, {1, false, false}, {1, true, false},
                {2, false, true}, {3, false, false}, {3, true, true}};
    ms_model model = fixture_llama(8, 1024, 16, 4, 4096);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        double n = fixture.layout.dp = 6;
        fixture.layout.zero = ROWS[i].zero;
        fixture.layout.has_reduce_overlap = ROWS[i].overlaps;
        fixture.layout.reduce = ROWS[i].every ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
        lay_out_twice(&fixture, &model);
        double gradient_B = 4 * held_by(&fixture, 1).parameters;
        double kept_B = gradient_B / n;
        bool is_reduced = ROWS[i].overlaps || ROWS[i].every;
        bool is_gathered = ROWS[i].zero == 0;
        double moved_B = (!is_reduced + is_gathered) * (n - 1) / n * gradient_B;
        cr_assert_lt(fixture_gap(sent_B(&fixture, 1), moved_B + kept_B), 1e-14, "row %zu", i);
        int sum = fixture.costs.before_update[1].count - 1 - is_gathered;
        cr_assert(before_update(&fixture, 1, sum)->is_between_directions);
        cr_assert_eq(before_update(&fixture, 1, sum)->coll_B, kept_B);
        fixture_clear(&fixture);
    }
}

Test(directions, hybrid_shards_are_summed_after_their_own_copies) {
    ms_model model = fixture_llama(8, 1024, 16, 4, 4096);
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.dp = 4;
    fixture.layout.other = 3;
    fixture.layout.zero = 1;
    fixture.layout.shard_axes = MS_AXIS_BIT(MS_AXIS_DP);
    lay_out_twice(&fixture, &model);
    double gradient_B = 4 * held_by(&fixture, 0).parameters;
    double expected = (3 / 4.0 + 2 * 2 / 3.0 / 4 + 1 / 4.0) * gradient_B;
    cr_assert_lt(fixture_gap(sent_B(&fixture, 0), expected), 1e-14);
    cr_assert(before_update(&fixture, 0, 2)->is_between_directions);
    fixture_clear(&fixture);
}

Test(directions, experts_are_summed_over_their_own_replicas) {
    ms_model model = fixture_small_moe(8);
    for (int zero = 0; zero <= 1; zero++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        double ep = fixture.layout.ep = 4, dp = fixture.layout.dp = 2;
        fixture.layout.zero = zero;
        lay_out_twice(&fixture, &model);
        ms_stage_cost held = held_by(&fixture, 1);
        double expert_B = 4 * held.expert_parameters;
        double dense_B = 4 * (held.parameters - held.expert_parameters);
        double expected_B[2] = {dense_B / (dp * ep), expert_B / dp};
        ms_pass_plan plan = fixture.costs.before_update[1];
        int found = 0;
        for (int i = 0; i < plan.count; i++) {
            const ms_segment *segment = before_update(&fixture, 1, i);
            if (segment->is_between_directions) {
                cr_assert_lt(found, 2);
                cr_assert_lt(fixture_gap(segment->coll_B, expected_B[found++]), 1e-14);
            }
        }
        cr_assert_eq(found, 2);
        double whole = zero == 0 ? fixture_coll_sent_B(MS_COLL_ALL_REDUCE, 2 * dp * ep, dense_B) +
                                       fixture_coll_sent_B(MS_COLL_ALL_REDUCE, 2 * dp, expert_B)
                                 : dense_B + expert_B;
        cr_assert_lt(fixture_gap(sent_B(&fixture, 1), whole), 1e-14);
        fixture_clear(&fixture);
    }
}

/* Whatever the sharding, a second copy adds its stages' work and the sums, and takes none away. */
Test(directions, a_rank_works_for_the_stages_of_both) {
    ms_model model = fixture_llama(9, 1024, 16, 4, 4096);
    for (int k = 0; k < 16; k++) {
        fixture_costs one, two;
        fixture_init(&one);
        one.layout.tp = 2;
        one.layout.dp = 4;
        one.layout.has_sequence_parallel = k & 1;
        one.layout.has_reduce_overlap = k & 2;
        one.layout.zero = k >> 2;
        fixture_init(&two);
        two.layout = one.layout;
        lay_out(&one, &model);
        lay_out_twice(&two, &model);
        for (int rank = 0; rank < RANKS; rank++) {
            int mirror = RANKS - 1 - rank;
            cr_assert_lt(fixture_gap(two.costs.optimizer_s[rank], two.costs.optimizer_s[mirror]),
                         1e-14);
            double sum_s = one.costs.optimizer_s[rank] + one.costs.optimizer_s[mirror];
            double launches_s = 2e-6; /* one update instead of two */
            cr_assert_lt(fixture_gap(two.costs.optimizer_s[rank], sum_s - launches_s), 1e-12);
            double tp_B[2] = {0, 0}, gathered_B[2] = {0, 0};
            for (int i = 0; i < 2; i++) {
                int of = i == 0 ? rank : mirror;
                tp_B[0] += fixture_plan_sent_B(&one, one.costs.before_update[of], MS_AXIS_TP, 0, 1);
                gathered_B[0] +=
                    fixture_plan_sent_B(&one, one.costs.after_update[of], MS_AXIS_DP, 0, 1);
            }
            tp_B[1] = fixture_plan_sent_B(&two, two.costs.before_update[rank], MS_AXIS_TP, 0, 1);
            gathered_B[1] =
                fixture_plan_sent_B(&two, two.costs.after_update[rank], MS_AXIS_DP, 0, 1);
            cr_assert_lt(fixture_gap(tp_B[0], tp_B[1]), 1e-14);
            cr_assert_eq(tp_B[1] > 0, (k & 1) != 0);
            cr_assert_lt(fixture_gap(gathered_B[0], gathered_B[1]), 1e-14);
            cr_assert_gt(sent_B(&two, rank), sent_B(&one, rank) + sent_B(&one, mirror));
        }
        for (int stage = 0; stage < RANKS; stage++) {
            const ms_stage_cost *a = &one.costs.stage[stage], *b = &two.costs.stage[stage];
            cr_assert_eq(memcmp(&a->memory, &b->memory, sizeof a->memory), 0);
            for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
                cr_assert_eq(fixture_pass_s(&one.costs, stage, (ms_pass)pass),
                             fixture_pass_s(&two.costs, stage, (ms_pass)pass));
            }
        }
        fixture_clear(&one);
        fixture_clear(&two);
    }
}

/* First and last stage on one rank, in a V or through the other copy: the word embedding is there
 * once and its gradients need no exchange, but where stages gather apart. */
Test(directions, ends_on_one_rank_share_the_word_embedding) {
    ms_model model = fixture_gpt(16, 1024, 16, 51200);
    double table = 51200.0 * 1024;
    for (int k = 0; k < 8; k++) {
        fixture_costs apart, joined;
        fixture_init(&apart);
        apart.layout.chunks = k & 1 ? 2 : 1;
        apart.layout.dp = 2;
        apart.layout.zero = k & 2 ? 3 : 0;
        model.has_tied_embeddings = (k & 4) == 0;
        model.mtp_layers = k & 4 ? 1 : 0;
        fixture_init(&joined);
        joined.layout = apart.layout;
        lay_out(&apart, &model);
        if (k & 1) {
            joined.layout.stage_rank = DOWN_AND_UP;
            lay_out(&joined, &model);
        } else {
            lay_out_twice(&joined, &model);
        }
        int last = joined.costs.stages - 1;
        const ms_stage_cost *a = apart.costs.stage, *b = joined.costs.stage;
        double positions = k & 4 ? 2048.0 * 1024 : 0; /* of the modules' embedding */
        double saved = k & 2 ? 0 : table + positions;
        cr_assert_eq(a[last].parameters - b[last].parameters, saved, "%d", k);
        cr_assert_eq(a[0].parameters, b[0].parameters);
        cr_assert_eq(a[0].tied_B, 4 * table);
        cr_assert(b[0].tied_B == 0 && b[last].tied_B == 0);
        fixture_clear(&apart);
        fixture_clear(&joined);
    }
}

Test(directions, placements_that_cannot_sum_their_copies_are_refused) {
    static const int SAME_RANK[] = {0, 1, 2, 3, 3, 1, 1, 0}, CROSSED[] = {0, 1, 2, 3, 1, 2, 3, 0},
                     PAIRED[] = {0, 1, 2, 3, 1, 0, 3, 2};
    const struct {
        int directions;
        const int *stage_rank;
        bool is_tied;
        const char *expected; /* NULL: accepted */
    } ROWS[] = {
        {3, DOWN_AND_UP, false, "'3' copies of every stage"},
        {-1, DOWN_AND_UP, false, "'-1' copies of every stage"},
        {2, SAME_RANK, false, "both copies of stage 1 are on pipeline rank 1"},
        {2, CROSSED, false,
         "the copies of stage 0 are on pipeline ranks 0 and 1, those of stage 1"},
        {2, NULL, false, "both copies of stage 0"},
        {2, PAIRED, false, NULL},
        {2, PAIRED, true, "model.tied_embeddings"},
        {2, DOWN_AND_UP, true, NULL},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_model model = fixture_llama(8, 1024, 16, 4, 4096);
        model.has_tied_embeddings = ROWS[i].is_tied;
        ms_gpu_type gpu = fixture_a100();
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.pp = RANKS;
        fixture.layout.directions = ROWS[i].directions;
        fixture.layout.stage_rank = ROWS[i].stage_rank;
        fixture_run(&fixture, &model, &gpu);
        const char *expected = ROWS[i].expected;
        cr_assert_eq(fixture.status, expected ? MS_E_INPUT : MS_OK, "row %zu", i);
        cr_assert(!expected || strstr(fixture.log.text, expected), "got %s", fixture.log.text);
        fixture_clear(&fixture);
    }
}
