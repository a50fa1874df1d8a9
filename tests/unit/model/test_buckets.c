/* Buckets of gradients that are cut between weights, against counts by hand. */
#include <string.h>

#include "fixture.h"
#include "model/internal.h"

/* A llama of 3 layers: down 4,194,304 parameters, up 8,388,608, attention's output 1,048,576, its
 * projections 3,145,728, norms 2,048; head and table 32,768,000 each, the last norm 1,024. */
enum { LAYER = 16779264, TABLE = 32768000, BUCKETS_MAX = 64 };

static void lay_out(fixture_costs *fixture) {
    ms_model model = fixture_llama(3, 1024, 8, 8, 4096);
    ms_gpu_type gpu = fixture_a100();
    model.vocab = 32000;
    ms_precision precision = {.parameter_B = 2, .gradient_B = 4, .optimizer_B = 12};
    fixture_split(fixture, &model);
    fixture->status = ms_model_costs(&model, &fixture->layout, &precision, &gpu, &fixture->arena,
                                     &fixture->diag, &fixture->costs);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
    fixture_check_waits(&fixture->costs);
}

static void init(fixture_costs *fixture, ms_bucketing bucketing, double elements) {
    fixture_init(fixture);
    fixture->layout.dp = 8;
    fixture->layout.has_reduce_overlap = true;
    fixture->layout.bucketing = bucketing;
    fixture->layout.bucket_B = 4 * elements;
}

/* The kernel that made the newest weight's gradient before segment `end` of a plan. */
static const char *made_before(const ms_stage_costs *costs, const ms_pass_plan *plan, int end) {
    const char *made = "";
    for (int i = plan->first; i < end; i++) {
        const ms_segment_kernels *called = &costs->segments[i].kernels;
        for (int u = called->use_first; u < called->use_first + called->uses; u++) {
            const char *name = costs->kernels[costs->uses[u].kernel].name;
            made = strstr(name, "weight_grad") != NULL ? name : made;
        }
    }
    return made;
}

/* Parameters of a pass's collectives over the replicas, in order. */
static int list_elements(const ms_stage_costs *costs, const ms_pass_plan *plan, double element_B,
                         double *elements) {
    int count = 0;
    for (int i = plan->first; i < plan->first + plan->count; i++) {
        const ms_segment *segment = &costs->segments[i];
        if (segment->is_collective && segment->axis == MS_AXIS_DP && count < BUCKETS_MAX) {
            elements[count++] = segment->coll_B / element_B;
        }
    }
    return count;
}

typedef struct expected_bucket {
    double elements;
    const char *made; /* by this kernel last */
} expected_bucket;

static void expect_reductions(ms_bucketing bucketing, double limit, int dp,
                              const expected_bucket *buckets, int count) {
    for (int pass = MS_PASS_W; pass <= MS_PASS_B; pass++) {
        fixture_costs fixture;
        init(&fixture, bucketing, limit);
        fixture.layout.dp = dp;
        lay_out(&fixture);
        const ms_stage_costs *costs = &fixture.costs;
        const ms_pass_plan *plan = &costs->stage[0].passes[pass];
        int found = 0;
        for (int i = plan->first; i < plan->first + plan->count; i++) {
            const ms_segment *segment = &costs->segments[i];
            if (segment->is_collective) {
                cr_assert_lt(found, count);
                cr_assert(segment->is_async && segment->when == MS_WHEN_LAST);
                cr_assert_eq(segment->coll_B / 4, buckets[found].elements, "bucket %d: %.0f", found,
                             segment->coll_B / 4);
                cr_assert_str_eq(made_before(costs, plan, i), buckets[found].made, "bucket %d",
                                 found);
                found++;
            }
        }
        cr_assert_eq(found, count);
        fixture_clear(&fixture);
    }
}

/* A bucket ends behind the weight that fills it: of 10 million elements the head's is one, then
 * there are a layer's down and up, then what is left of a layer with the next one's down and up. */
Test(buckets, of_weights_end_behind_the_one_that_fills_them) {
    const expected_bucket BUCKETS[] = {{TABLE, "head_weight_grad"},
                                       {12583936, "mlp_up_weight_grad"},
                                       {LAYER, "mlp_up_weight_grad"},
                                       {LAYER, "mlp_up_weight_grad"},
                                       {36964352, "embedding_weight_grad"}};
    expect_reductions(MS_BUCKETS_WEIGHTS, 10e6, 8, BUCKETS, 5);
}

/* A capped one is reduced when the next gradient has no room in it. */
Test(buckets, capped_end_when_the_next_weight_has_no_room) {
    const expected_bucket BUCKETS[] = {
        {TABLE, "head_weight_grad"},      {4195328, "mlp_up_weight_grad"},
        {9437184, "qkv_weight_grad"},     {7342080, "mlp_up_weight_grad"},
        {9437184, "qkv_weight_grad"},     {7342080, "mlp_up_weight_grad"},
        {9437184, "qkv_weight_grad"},     {3147776, "embedding_weight_grad"},
        {TABLE, "embedding_weight_grad"},
    };
    expect_reductions(MS_BUCKETS_CAPPED, 10e6, 8, BUCKETS, 9);
}

/* 40 million elements, from 41 replicas on a million for each; a size of one's own replaces both.
 */
Test(buckets, of_megatron_core_grow_with_the_replicas) {
    const expected_bucket FEW[] = {{45351936, "mlp_up_weight_grad"},
                                   {70522880, "embedding_weight_grad"}};
    const expected_bucket MANY[] = {{66325504, "qkv_weight_grad"},
                                    {49549312, "embedding_weight_grad"}};
    const expected_bucket OWN[] = {{TABLE, "head_weight_grad"},
                                   {20974592, "mlp_down_weight_grad"},
                                   {25167872, "mlp_up_weight_grad"},
                                   {36964352, "embedding_weight_grad"}};
    expect_reductions(MS_BUCKETS_MEGATRON, 0, 8, FEW, 2);
    expect_reductions(MS_BUCKETS_MEGATRON, 0, 64, MANY, 2);
    expect_reductions(MS_BUCKETS_MEGATRON, 20e6, 64, OWN, 4);
}

Test(buckets, of_stages_are_whole) {
    const expected_bucket ALL[] = {{3.0 * LAYER + 2.0 * TABLE + 1024, "embedding_weight_grad"}};
    expect_reductions(MS_BUCKETS_STAGES, 0, 8, ALL, 1);
}

/* Behind the first stage Megatron Core has one bucket, as the pipeline's end hides it. */
Test(buckets, of_later_stages_are_whole_in_megatron_core) {
    fixture_costs fixture;
    double elements[BUCKETS_MAX];
    init(&fixture, MS_BUCKETS_MEGATRON, 10e6);
    fixture.layout.pp = 3;
    lay_out(&fixture);
    const ms_stage_cost *stage = fixture.costs.stage;
    cr_assert_eq(list_elements(&fixture.costs, &stage[0].passes[MS_PASS_B], 4, elements), 2);
    cr_assert(elements[0] == 12582912 && elements[1] == 4196352.0 + TABLE);
    cr_assert_eq(list_elements(&fixture.costs, &stage[1].passes[MS_PASS_B], 4, elements), 1);
    cr_assert_eq(elements[0], LAYER);
    cr_assert_eq(list_elements(&fixture.costs, &stage[2].passes[MS_PASS_B], 4, elements), 1);
    cr_assert_eq(elements[0], LAYER + TABLE + 1024.0);
    fixture_clear(&fixture);
}

/* A table that both ends of the pipeline hold is a bucket of its own. */
Test(buckets, of_a_shared_table_are_its_own) {
    fixture_costs fixture;
    double elements[BUCKETS_MAX];
    init(&fixture, MS_BUCKETS_MEGATRON, 1e9);
    fixture.layout.pp = 3;
    fixture.layout.zero = 1;
    ms_model model = fixture_llama(3, 1024, 8, 8, 4096);
    ms_gpu_type gpu = fixture_a100();
    model.vocab = 32000;
    model.has_tied_embeddings = true;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    const ms_stage_cost *stage = fixture.costs.stage;
    double element_B = fixture_precision().gradient_B;
    cr_assert_eq(list_elements(&fixture.costs, &stage[0].passes[MS_PASS_B], element_B, elements),
                 2);
    cr_assert(elements[0] == LAYER && elements[1] == TABLE);
    cr_assert_eq(list_elements(&fixture.costs, &stage[2].passes[MS_PASS_B], element_B, elements),
                 2);
    cr_assert(elements[0] == TABLE && elements[1] == LAYER + 1024);
    fixture_clear(&fixture);
}

/* Parameters are gathered in the same buckets, the last one first: its own and the next one, which
 * the first layer needs, before the embedding; then one more for each layer, which waits for those
 * that it needs. */
Test(buckets, are_gathered_in_the_order_of_the_forward_pass) {
    const double ELEMENTS[] = {36964352, LAYER, LAYER, 12583936, TABLE};
    fixture_costs fixture;
    double elements[BUCKETS_MAX];
    init(&fixture, MS_BUCKETS_WEIGHTS, 10e6);
    fixture.layout.zero = 1;
    fixture.layout.has_gather_overlap = true;
    lay_out(&fixture);
    const ms_pass_plan *plan = &fixture.costs.stage[0].passes[MS_PASS_F];
    const ms_segment *segments = fixture.costs.segments + plan->first;
    cr_assert_eq(list_elements(&fixture.costs, plan, 2, elements), 5);
    int gathered = 0, waiting = 0;
    for (int i = 0; i < plan->count; i++) {
        if (segments[i].is_collective) {
            cr_assert_eq(elements[gathered], ELEMENTS[gathered]);
            gathered++;
        } else if (segments[i].wait_count > 0) {
            /* embedding, layers 0 to 2, head: the one that they wait for, and those under way */
            int last = 0;
            for (int k = 0; k <= segments[i].waits[0]; k++) {
                last += segments[k].is_collective;
            }
            cr_assert_eq(last, waiting + 1);
            cr_assert_eq(gathered, waiting < 4 ? waiting + 2 : 5);
            waiting++;
        }
    }
    cr_assert_eq(waiting, 5);
    fixture_clear(&fixture);
}

/* Without overlap the step's end reduces and gathers them, those of each stage of a rank apart. */
Test(buckets, are_reduced_and_gathered_at_the_end_of_a_step_without_overlap) {
    const struct {
        ms_bucketing bucketing;
        int chunks, expected;
    } ROWS[] = {{MS_BUCKETS_LAYERS, 1, 1}, {MS_BUCKETS_WEIGHTS, 1, 5},
                {MS_BUCKETS_CAPPED, 1, 9}, {MS_BUCKETS_MEGATRON, 1, 1},
                {MS_BUCKETS_STAGES, 3, 3}, {MS_BUCKETS_MEGATRON, 3, 3}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        double reduced[BUCKETS_MAX], gathered[BUCKETS_MAX], sums[2] = {0};
        init(&fixture, ROWS[i].bucketing, 10e6);
        fixture.layout.zero = 1;
        fixture.layout.has_reduce_overlap = false;
        fixture.layout.chunks = ROWS[i].chunks;
        lay_out(&fixture);
        const ms_stage_costs *costs = &fixture.costs;
        cr_assert_eq(list_elements(costs, &costs->before_update[0], 4, reduced), ROWS[i].expected);
        cr_assert_eq(list_elements(costs, &costs->after_update[0], 2, gathered), ROWS[i].expected);
        for (int k = 0; k < ROWS[i].expected; k++) {
            sums[0] += reduced[k];
            sums[1] += gathered[k];
        }
        cr_assert(sums[0] == 3.0 * LAYER + 2.0 * TABLE + 1024 && sums[1] == sums[0]);
        fixture_clear(&fixture);
    }
}

/* Experts are other buckets than the rest, and an expert's weight is not cut. */
Test(buckets, of_experts_are_apart) {
    fixture_costs fixture;
    ms_model model = fixture_llama(4, 1024, 8, 8, 4096);
    ms_gpu_type gpu = fixture_a100();
    model.moe = (ms_moe){.experts = 32, .top_k = 2, .ffn = 2048, .every = 1};
    init(&fixture, MS_BUCKETS_WEIGHTS, 5e6);
    fixture.layout.bucket_B = fixture_precision().gradient_B * 5e6;
    fixture.layout.ep = 4;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    const ms_stage_costs *costs = &fixture.costs;
    const ms_pass_plan *plan = &costs->stage[0].passes[MS_PASS_B];
    double sums[2] = {0};
    for (int i = plan->first; i < plan->first + plan->count; i++) {
        const ms_segment *segment = &costs->segments[i];
        if (segment->is_collective && segment->axis == MS_AXIS_DP) {
            bool is_expert = !(segment->group_axes & MS_AXIS_BIT(MS_AXIS_EP));
            double elements = segment->coll_B / fixture_precision().gradient_B;
            sums[is_expert] += elements;
            /* down has 2,097,152 for each of 8 experts, up twice as many */
            cr_assert(!is_expert || elements >= 5e6 || segment->layer == 0);
            cr_assert(!is_expert || elements == 2097152 * (double)(int)(elements / 2097152));
        }
    }
    cr_assert_eq(sums[1], costs->stage[0].expert_parameters);
    cr_assert_eq(sums[0] + sums[1], costs->stage[0].parameters);
    fixture_clear(&fixture);
}

/* Larger buckets are never more, and whatever the rule every parameter is in one of them. */
Test(buckets, are_never_more_when_they_are_larger) {
    const ms_bucketing RULES[] = {MS_BUCKETS_LAYERS, MS_BUCKETS_WEIGHTS, MS_BUCKETS_CAPPED,
                                  MS_BUCKETS_MEGATRON};
    for (size_t r = 0; r < sizeof RULES / sizeof RULES[0]; r++) {
        int before = BUCKETS_MAX;
        for (double limit = 1e6; limit < 3e8; limit *= 1.7) {
            fixture_costs fixture;
            double elements[BUCKETS_MAX], sum = 0;
            init(&fixture, RULES[r], limit);
            fixture.layout.tp = 2;
            fixture.layout.tp_overlap = r % 2 ? MS_TP_OVERLAP_BULK : MS_TP_OVERLAP_NONE;
            fixture.layout.has_sequence_parallel = true;
            lay_out(&fixture);
            const ms_stage_costs *costs = &fixture.costs;
            int count = list_elements(costs, &costs->stage[0].passes[MS_PASS_B], 4, elements);
            for (int i = 0; i < count; i++) {
                sum += elements[i];
            }
            cr_assert_eq(sum, costs->stage[0].parameters);
            cr_assert_leq(count, before, "rule %zu, %.0f elements: %d, before %d", r, limit, count,
                          before);
            before = count;
            fixture_clear(&fixture);
        }
        cr_assert_eq(before, 1);
    }
}
