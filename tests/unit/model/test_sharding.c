#include "fixture.h"

/* A layout of a llama whose precision the test chooses. */
typedef struct sharding_case {
    int hidden, layers, dp, cp, microbatches;
} sharding_case;

static const sharding_case CASES[] = {{1024, 4, 8, 1, 1}, {2048, 6, 3, 2, 4}, {4096, 2, 64, 2, 16}};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

/* Lay out with fixture->layout's sharding keys as the caller set them. */
static void lay_out(fixture_costs *fixture, const sharding_case *c, double gradient_B) {
    ms_model model = fixture_llama(c->layers, c->hidden, 8, 8, 4 * c->hidden);
    model.vocab = 32000;
    ms_precision precision = {.parameter_B = 2, .gradient_B = gradient_B, .optimizer_B = 12};
    ms_gpu_type gpu = fixture_a100();
    fixture->layout.dp = c->dp;
    fixture->layout.cp = c->cp;
    fixture_split(fixture, &model);
    fixture->status = ms_model_costs(&model, &fixture->layout, &precision, &gpu, &fixture->arena,
                                     &fixture->diag, &fixture->costs);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
    fixture_check_waits(&fixture->costs);
}

static double plain_sent_B(const sharding_case *c, double gradient_B) {
    fixture_costs plain;
    fixture_init(&plain);
    lay_out(&plain, c, gradient_B);
    double sent = fixture_step_sent_B(&plain, MS_AXIS_DP, c->microbatches);
    double parameters = plain.costs.stage[0].parameters;
    double n = c->dp * c->cp;
    cr_assert_lt(fixture_gap(sent, 2 * (n - 1) / n * gradient_B * parameters), 1e-13);
    fixture_clear(&plain);
    return sent;
}

/* Bytes of a step against plain data parallelism: (a M p + r g) / 2 g, with a gathers and r
 * reductions. Source: Rajbhandari et al. 2020, arXiv:1910.02054, section 7.2 (1.5 times), extended
 * to M microbatches, resharding and unequal types. */
Test(sharding, fully_sharded_bytes_follow_the_general_formula) {
    const struct {
        bool keeps, every;
        double gradient_B;
    } ROWS[] = {{false, true, 2}, {false, false, 2}, {true, true, 2}, {true, false, 2},
                {false, true, 4}, {false, false, 4}, {true, true, 4}, {true, false, 4}};
    for (size_t i = 0; i < CASE_COUNT; i++) {
        for (size_t k = 0; k < 4 * sizeof ROWS / sizeof ROWS[0]; k++) {
            size_t row = k / 4;
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.zero = 3;
            fixture.layout.keeps_parameters = ROWS[row].keeps;
            fixture.layout.reduce = ROWS[row].every ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
            fixture.layout.has_gather_overlap = k % 4 & 1;
            fixture.layout.has_reduce_overlap = k % 4 & 2;
            fixture.layout.bucket_B = k % 2 ? 0 : 50e6;
            lay_out(&fixture, &CASES[i], ROWS[row].gradient_B);
            double gathers = ROWS[row].keeps ? 1 : 2.0 * CASES[i].microbatches;
            double reductions = ROWS[row].every ? CASES[i].microbatches : 1;
            double g = ROWS[row].gradient_B;
            double expected = (gathers * 2 + reductions * g) / (2 * g);
            double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, CASES[i].microbatches);
            cr_assert_lt(fixture_gap(sent / plain_sent_B(&CASES[i], g), expected), 1e-13,
                         "case %zu row %zu overlap %zu", i, row, k % 4);
            fixture_clear(&fixture);
        }
    }
}

Test(sharding, one_microbatch_of_one_type_costs_half_as_much_again) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.zero = 3;
    fixture.layout.reduce = MS_REDUCE_EVERY;
    lay_out(&fixture, &CASES[0], 2);
    double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, 1);
    cr_assert_lt(fixture_gap(sent, 1.5 * plain_sent_B(&CASES[0], 2)), 1e-14);
    fixture_clear(&fixture);
}

/* ZeRO 1 and 2: gradients reduced to shards, parameters gathered once. */
Test(sharding, sharded_updates_gather_once_with_or_without_overlap) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        for (int k = 0; k < 16; k++) {
            bool every = k >= 8;
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.zero = every || k & 4 ? 2 : 1;
            fixture.layout.has_gather_overlap = k & 1;
            fixture.layout.has_reduce_overlap = k & 2;
            int rules = fixture.layout.zero > 1 ? MS_BUCKETS_MEGATRON : MS_BUCKETS_MEGATRON + 1;
            fixture.layout.bucketing = (ms_bucketing)((k / 2 + k) % rules);
            fixture.layout.bucket_B = k % 3 == 0 ? 30e6 : 0;
            fixture.layout.reduce = every ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
            lay_out(&fixture, &CASES[i], 4);
            double n = CASES[i].dp * CASES[i].cp, M = CASES[i].microbatches;
            double parameters = fixture.costs.stage[0].parameters;
            double expected = (n - 1) / n * parameters * (2 + (every ? M : 1) * 4);
            double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, CASES[i].microbatches);
            cr_assert_lt(fixture_gap(sent, expected), 1e-13, "case %zu variant %d", i, k);
            bool is_at_end = !(k & 1);
            cr_assert_eq(fixture_plan_B(&fixture, fixture.costs.after_update[0], FIXTURE_DENSE),
                         is_at_end ? 2 * parameters : 0);
            bool is_reduced_at_end = !(k & 2) && !every;
            cr_assert_eq(fixture_plan_B(&fixture, fixture.costs.before_update[0], FIXTURE_DENSE),
                         is_reduced_at_end ? 4 * parameters : 0);
            fixture_clear(&fixture);
        }
    }
}

/* Whole sums on every replica, of which each updates its shard and gathers: an all-reduce of fp32
 * and a gather of 2 bytes a parameter. In a step with two directions they are scattered as ever. */
Test(sharding, shards_may_be_updated_from_whole_sums) {
    fixture_costs scattered, whole;
    fixture_init(&scattered);
    fixture_init(&whole);
    scattered.layout.zero = whole.layout.zero = 1;
    whole.layout.all_reduces_gradients = true;
    lay_out(&scattered, &CASES[0], 4);
    lay_out(&whole, &CASES[0], 4);
    double n = CASES[0].dp * CASES[0].cp, parameters = whole.costs.stage[0].parameters;
    double sent = fixture_step_sent_B(&whole, MS_AXIS_DP, CASES[0].microbatches);
    cr_assert_lt(fixture_gap(sent, (n - 1) / n * parameters * (2 * 4 + 2)), 1e-13);
    const ms_segment *reduction = &whole.costs.segments[whole.costs.before_update[0].first];
    cr_assert_eq(reduction->coll, MS_COLL_ALL_REDUCE);
    cr_assert_eq(whole.costs.optimizer_s[0], scattered.costs.optimizer_s[0]);
    fixture_clear(&scattered);
    fixture_clear(&whole);
}

/* Sixteen microbatches in rounds of 5, the last of 1: four reductions, of a whole stage or beside
 * the passes layer by layer, and of shards between the copies of hybrid groups as well. */
Test(sharding, rounds_reduce_once_each) {
    for (int k = 0; k < 4; k++) {
        bool overlaps = k & 1, is_hybrid = k & 2;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.round = 5;
        fixture.layout.zero = 2;
        fixture.layout.reduce = MS_REDUCE_ROUND;
        fixture.layout.has_reduce_overlap = overlaps;
        fixture.layout.shard_axes = is_hybrid ? MS_AXIS_BIT(MS_AXIS_DP) : 0;
        lay_out(&fixture, &CASES[2], 4); /* dp 64, cp 2 */
        double parameters = fixture.costs.stage[0].parameters;
        double gathered = (is_hybrid ? 63 / 64.0 : 127 / 128.0) * 2 * parameters;
        double reduced = is_hybrid ? (63 / 64.0 + 2 * 1 / 2.0 / 64) * 4 * parameters
                                   : 127 / 128.0 * 4 * parameters;
        double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, 16);
        cr_assert_lt(fixture_gap(sent, gathered + 4 * reduced), 1e-13, "variant %d", k);
        ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_B];
        int reductions = 0;
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            const ms_segment *segment = &fixture.costs.segments[i];
            bool is_reduction = segment->is_collective && segment->axis == MS_AXIS_DP;
            reductions += is_reduction && segment->coll == MS_COLL_REDUCE_SCATTER;
            cr_assert(!is_reduction || segment->when == MS_WHEN_ROUND);
        }
        cr_assert_eq(reductions, overlaps ? 4 : 1, "embedding, two layers and head, or all");
        fixture_clear(&fixture);
    }
}

/* Shards over one axis, copies over the others. Source: Zhao et al. 2023, arXiv:2304.11277, section
 * 3.2.2: reduce-scatter inside, all-reduce of the shards between. */
Test(sharding, hybrid_groups_reduce_shards_between_copies) {
    for (int k = 0; k < 4; k++) {
        for (int copies = 2; copies <= 8; copies *= 2) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.zero = 3;
            fixture.layout.other = copies;
            fixture.layout.shard_axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP);
            fixture.layout.keeps_parameters = k & 1;
            fixture.layout.has_reduce_overlap = k & 2;
            lay_out(&fixture, &CASES[1], 4);
            double n = CASES[1].dp * CASES[1].cp, parameters = fixture.costs.stage[0].parameters;
            double gathers = k & 1 ? 1 : 2.0 * CASES[1].microbatches;
            double inside = (n - 1) / n * parameters * (2 * gathers + 4);
            double between = 2 * (copies - 1.0) / copies * 4 * parameters / n;
            double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, CASES[1].microbatches);
            cr_assert_lt(fixture_gap(sent, inside + between), 1e-13, "variant %d", k);
            fixture_clear(&fixture);
        }
    }
}

Test(sharding, copies_reduce_over_every_axis_that_repeats_them) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.other = 5;
    lay_out(&fixture, &CASES[1], 4);
    double n = 5 * CASES[1].dp * CASES[1].cp;
    double sent = fixture_step_sent_B(&fixture, MS_AXIS_DP, 1);
    double gradient_B = 4 * fixture.costs.stage[0].parameters;
    cr_assert_lt(fixture_gap(sent, 2 * (n - 1) / n * gradient_B), 1e-13);
    fixture_clear(&fixture);
}

/* Overlap: a unit's parameters are on their way while the unit before computes. */
Test(sharding, gathers_run_one_unit_ahead) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.zero = 3;
    fixture.layout.has_gather_overlap = true;
    lay_out(&fixture, &CASES[0], 2);
    const ms_stage_costs *costs = &fixture.costs;
    ms_pass_plan plan = costs->stage[0].passes[MS_PASS_F];
    const ms_segment *segments = costs->segments + plan.first;
    /* embedding, 4 layers, head; every gather but the first stands before the unit ahead of it */
    int gathers = 0, waits = 0;
    for (int i = 0; i < plan.count; i++) {
        if (segments[i].is_collective) {
            cr_assert(segments[i].is_async && segments[i].coll == MS_COLL_ALL_GATHER);
            gathers++;
        } else if (segments[i].wait_count > 0) {
            cr_assert_eq(segments[segments[i].waits[0]].layer, segments[i].layer);
            waits++;
            cr_assert_eq(gathers, waits < 6 ? waits + 1 : 6);
        }
    }
    cr_assert(gathers == 6 && waits == 6);
    fixture_clear(&fixture);
}

Test(sharding, buckets_collect_units_until_they_are_large_enough) {
    const struct {
        double bucket_B;
        int reductions;
    } ROWS[] = {{0, 6}, {1, 6}, {1e18, 1}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (int pass = MS_PASS_W; pass <= MS_PASS_B; pass++) {
            fixture_costs fixture;
            fixture_init(&fixture);
            fixture.layout.has_reduce_overlap = true;
            fixture.layout.bucket_B = ROWS[i].bucket_B;
            lay_out(&fixture, &CASES[0], 4);
            ms_pass_plan plan = fixture.costs.stage[0].passes[pass];
            int reductions = 0;
            double reduced_B = 0;
            for (int k = plan.first; k < plan.first + plan.count; k++) {
                const ms_segment *segment = &fixture.costs.segments[k];
                if (segment->is_collective) {
                    cr_assert(segment->when == MS_WHEN_LAST && segment->is_async);
                    cr_assert_eq(segment->coll, MS_COLL_ALL_REDUCE);
                    reductions++;
                    reduced_B += segment->coll_B;
                }
            }
            cr_assert_eq(reductions, ROWS[i].reductions);
            cr_assert_lt(fixture_gap(reduced_B, 4 * fixture.costs.stage[0].parameters), 1e-14);
            fixture_clear(&fixture);
        }
    }
}

Test(sharding, offloaded_updates_cross_the_host_link) {
    fixture_costs near, far;
    ms_model model = fixture_llama(2, 1024, 8, 8, 4096);
    ms_gpu_type gpu = fixture_ideal();
    gpu.host.pcie_Bps = 25e9;
    gpu.host.memory_Bps = 50e9;
    fixture_init(&near);
    near.layout.dp = 4;
    near.layout.zero = 1;
    fixture_run(&near, &model, &gpu);
    fixture_init(&far);
    far.layout = near.layout;
    far.layout.is_offloaded = true;
    fixture_run(&far, &model, &gpu);
    cr_assert_eq(far.status, MS_OK, "%s", far.log.text);
    double own = near.costs.stage[0].parameters / 4;
    /* gradients down, parameters up; 2 x 12 + 4 + 2 bytes of host traffic; what stays on the GPU:
     * zeroing all, clipping the own gradients */
    double gpu_s = (4 * own * 4 + 3 * own * 4) / gpu.hbm_Bps;
    double expected_s = own * (4 + 2) / 25e9 + own * (2 * 12 + 4 + 2) / 50e9 + gpu_s;
    cr_assert_lt(fixture_gap(far.costs.optimizer_s[0], expected_s), 1e-12);
    cr_assert_eq(far.costs.stage[0].memory.optimizer_B, 0);
    cr_assert_eq(near.costs.stage[0].memory.optimizer_B, 12 * own);
    cr_assert_lt(near.costs.optimizer_s[0], far.costs.optimizer_s[0]);
    fixture_clear(&near);
    fixture_clear(&far);
}

/* What each stage of ZeRO leaves on a rank. Source: Rajbhandari et al. 2020, figure 1. */
Test(sharding, stages_hold_the_shares_they_say) {
    const struct {
        int zero;
        bool keeps;
        ms_reduce reduce;
        double parameters, gradients, optimizer; /* 1: all, 0: a share of 1/8 */
    } ROWS[] = {{0, false, MS_REDUCE_LAST, 1, 1, 1},  {1, false, MS_REDUCE_LAST, 1, 1, 0},
                {2, false, MS_REDUCE_EVERY, 1, 0, 0}, {2, false, MS_REDUCE_ROUND, 1, 0, 0},
                {2, false, MS_REDUCE_LAST, 1, 1, 0},  {3, false, MS_REDUCE_EVERY, 0, 0, 0},
                {3, false, MS_REDUCE_ROUND, 0, 0, 0}, {3, true, MS_REDUCE_EVERY, 1.125, 0, 0}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.zero = ROWS[i].zero;
        fixture.layout.keeps_parameters = ROWS[i].keeps;
        fixture.layout.reduce = ROWS[i].reduce;
        lay_out(&fixture, &CASES[0], 4);
        const ms_stage_memory *memory = &fixture.costs.stage[0].memory;
        double parameters = fixture.costs.stage[0].parameters;
        const double HELD[][3] = {{memory->parameter_B, 2, ROWS[i].parameters},
                                  {memory->gradient_B, 4, ROWS[i].gradients},
                                  {memory->optimizer_B, 12, ROWS[i].optimizer}};
        for (int k = 0; k < 3; k++) {
            double share = HELD[k][2] > 0 ? HELD[k][2] : 0.125;
            cr_assert_lt(fixture_gap(HELD[k][0], parameters * HELD[k][1] * share), 1e-14,
                         "row %zu, %d", i, k);
        }
        cr_assert_eq(memory->round_B,
                     ROWS[i].reduce == MS_REDUCE_ROUND ? 4 * parameters : 0); /* for a while */
        fixture_clear(&fixture);
    }
}

Test(sharding, units_at_work_need_room) {
    double working[4];
    for (int k = 0; k < 4; k++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.zero = k > 0 ? 3 : 0;
        fixture.layout.has_gather_overlap = k > 1;
        fixture.layout.reduce = k > 2 ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
        lay_out(&fixture, &CASES[0], 4);
        working[k] = fixture.costs.stage[0].memory.working_B;
        fixture_clear(&fixture);
    }
    /* the largest unit is the head: its table (vocabulary padded to 32000) and a norm */
    double unit = 32000 * 1024.0 + 1024;
    cr_assert_lt(fixture_gap(working[1] - working[0], 2 * unit), 1e-12);
    cr_assert_lt(fixture_gap(working[2] - working[1], 2 * unit), 1e-12);
    cr_assert_lt(fixture_gap(working[3] - working[2], 4 * unit), 1e-12);
}

/* Where the schedule says when stages are gathered, no pass gathers or has room for it: a gather is
 * the whole stage, and so is the room while it is there. */
Test(sharding, placed_gathers_are_of_whole_stages) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        for (int every = 0; every <= 1; every++) {
            fixture_costs placed, kept;
            fixture_init(&placed);
            fixture_init(&kept);
            placed.layout.zero = kept.layout.zero = 3;
            placed.layout.reduce = kept.layout.reduce = every ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
            placed.layout.has_placed_unshards = true;
            kept.layout.keeps_parameters = true;
            lay_out(&placed, &CASES[i], 4);
            lay_out(&kept, &CASES[i], 4);
            const ms_stage_cost *stage = &placed.costs.stage[0], *other = &kept.costs.stage[0];
            double once = fixture_plan_sent_B(&placed, stage->unshard, MS_AXIS_DP, 0, 1);
            cr_assert_eq(stage->unshard.count, 1);
            cr_assert_eq(other->unshard.count, 0);
            double m = CASES[i].microbatches;
            cr_assert_lt(fixture_gap(fixture_step_sent_B(&placed, MS_AXIS_DP, (int)m) + once,
                                     fixture_step_sent_B(&kept, MS_AXIS_DP, (int)m)),
                         1e-13);
            double n = CASES[i].dp * CASES[i].cp;
            cr_assert_lt(fixture_gap(once, (n - 1) / n * 2 * stage->parameters), 1e-13);
            cr_assert_eq(stage->memory.unsharded_B, 2 * stage->parameters);
            cr_assert_eq(other->memory.unsharded_B, 0);
            cr_assert_lt(fixture_gap(stage->memory.parameter_B + stage->memory.unsharded_B,
                                     other->memory.parameter_B),
                         1e-14);
            cr_assert_lt(
                fixture_gap(stage->memory.transformer_B + stage->memory.unsharded_transformer_B,
                            other->memory.transformer_B),
                1e-14);
            cr_assert_eq(stage->memory.working_B, other->memory.working_B);
            fixture_clear(&placed);
            fixture_clear(&kept);
        }
    }
}

/* Lay a model out on 8 replicas of FSDP. */
static void run_units(fixture_costs *fixture, const ms_model *model, const ms_gpu_type *gpu,
                      ms_units units) {
    fixture_init(fixture);
    fixture->layout.dp = 8;
    fixture->layout.zero = 3;
    fixture->layout.reduce = MS_REDUCE_EVERY;
    fixture->layout.has_gather_overlap = fixture->layout.has_reduce_overlap = true;
    fixture->layout.units = units;
    fixture_run(fixture, model, gpu);
}

/* Seconds of a pass of a rank that computes for nothing, of a layer of 12 h^2 weights, norms and
 * biases among 8 replicas. */
static double units_pass_s(ms_units units, ms_pass pass, double hbm_Bps, double *parameters_out) {
    ms_model model = fixture_gpt(4, 1024, 16, 0);
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1e300;
    gpu.hbm_Bps = hbm_Bps;
    fixture_costs fixture;
    run_units(&fixture, &model, &gpu, units);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    *parameters_out = fixture.costs.stage[0].parameters;
    double time_s = fixture_pass_s(&fixture.costs, 0, pass);
    fixture_clear(&fixture);
    return time_s;
}

/* Gradients of 2 bytes that are reduced in 4: a kernel of 2 + 2 x 4 bytes a weight no longer adds
 * them up; a flat buffer takes 2 x 2 to concatenate, 2 + 4 to cast, 2 x 4 to divide; parameters
 * apart are copied out both times, 2 x 2 each, and in with their cast, 2 + 4. */
Test(sharding, units_are_copied_around_their_collectives) {
    static const double FORWARD_B[] = {[MS_UNITS_FLAT] = 0, [MS_UNITS_PARAMETERS] = 4};
    static const double BACKWARD_B[] = {[MS_UNITS_FLAT] = 18, [MS_UNITS_PARAMETERS] = 10};
    const double HBM_BPS = 1e13, WEIGHTS = 4 * 12.0 * 1024 * 1024;
    double parameters = 0;
    for (int units = MS_UNITS_FLAT; units <= MS_UNITS_PARAMETERS; units++) {
        double moved_B[2];
        for (int i = 0; i < 2; i++) {
            ms_pass pass = i == 0 ? MS_PASS_F : MS_PASS_B;
            moved_B[i] = units_pass_s((ms_units)units, pass, HBM_BPS, &parameters) -
                         units_pass_s(MS_UNITS_IN_PLACE, pass, HBM_BPS, &parameters);
            moved_B[i] *= HBM_BPS;
        }
        cr_assert_float_eq(moved_B[0], FORWARD_B[units] * parameters, 1, "%g", moved_B[0]);
        cr_assert_float_eq(moved_B[1], BACKWARD_B[units] * parameters - 10 * WEIGHTS, 1, "%g",
                           moved_B[1]);
    }
}

/* A copy waits for its gather, and the layer's own segments are the same in every layer. */
Test(sharding, copies_wait_for_their_gathers) {
    ms_model model = fixture_gpt(3, 1024, 16, 0);
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    run_units(&fixture, &model, &gpu, MS_UNITS_PARAMETERS);
    ms_pass_plan plan = fixture.costs.stage[0].passes[MS_PASS_F];
    double layer_s[3] = {0};
    int waits = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &fixture.costs.segments[i];
        if (!segment->is_collective) {
            layer_s[segment->layer] += segment->time_s;
            waits += segment->wait_count;
        }
    }
    cr_assert_eq(waits, 3);
    cr_assert_float_eq(layer_s[0], layer_s[1], 1e-12);
    cr_assert_float_eq(layer_s[0], layer_s[2], 1e-12);
    fixture_clear(&fixture);
}

/* 92 bytes a parameter of the rank's share, and its zeroed gradient, instead of 4 x 4 + 24 + 2 and
 * that. */
Test(sharding, updates_by_operations_move_more) {
    ms_model model = fixture_gpt(2, 1024, 16, 51200);
    ms_gpu_type gpu = fixture_ideal();
    double update_s[2];
    double parameters = 0;
    static const ms_update_kernels UPDATES[] = {MS_UPDATE_FUSED, MS_UPDATE_OPERATIONS};
    for (int i = 0; i < 2; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.dp = 8;
        fixture.layout.zero = 3;
        fixture.layout.reduce = MS_REDUCE_EVERY;
        fixture.layout.update = UPDATES[i];
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        parameters = fixture.costs.stage[0].parameters;
        update_s[i] = fixture.costs.optimizer_s[0];
        fixture_clear(&fixture);
    }
    double fused_B = parameters / 8 * (4 + 16 + 24 + 2), apart_B = parameters / 8 * (4 + 92);
    cr_assert_float_eq(update_s[0] * 1e13, fused_B, 1e-6 * fused_B);
    cr_assert_float_eq(update_s[1] * 1e13, apart_B, 1e-6 * apart_B);
}
