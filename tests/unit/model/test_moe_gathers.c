/* Parameters that are gathered beside the passes: which operation waits for which gather. */
#include "moe_fixture.h"

/* Whether a segment computes with routed experts' weights. */
static bool multiplies_experts(const ms_stage_costs *costs, const ms_segment *segment) {
    bool multiplies = false;
    for (int i = segment->kernels.use_first; i < segment->kernels.use_first + segment->kernels.uses;
         i++) {
        const char *name = costs->kernels[costs->uses[i].kernel].name;
        multiplies = multiplies || strncmp(name, "expert_up", 9) == 0 ||
                     strncmp(name, "expert_down", 11) == 0;
    }
    return multiplies && !segment->is_collective;
}

static bool is_gather(const ms_segment *segment) {
    return segment->is_async && segment->axis == MS_AXIS_DP && segment->coll == MS_COLL_ALL_GATHER;
}

/* The one segment of a pass that waits for segment `place`; -1: none. */
static int joiner(const ms_stage_costs *costs, ms_pass_plan plan, int place) {
    int found = -1;
    for (int i = place + 1; i < plan.count; i++) {
        if (fixture_waits(&costs->segments[plan.first + i], place)) {
            cr_assert_eq(found, -1, "segments %d and %d wait for %d", found, i, place);
            found = i;
        }
    }
    return found;
}

/* Gathers of a pass come unit by unit, what all replicas share before the experts. A unit's first
 * computation waits for the former, its experts' first product for the latter, nothing else for
 * either. */
static int check_pass(const ms_stage_costs *costs, ms_pass_plan plan) {
    const ms_segment *segments = &costs->segments[plan.first];
    int start = -1, experts = 0;
    for (int i = 0; i < plan.count; i++) {
        if (!is_gather(&segments[i])) {
            continue;
        }
        bool is_expert = (segments[i].group_axes & MS_AXIS_BIT(MS_AXIS_EP)) == 0;
        int waiting = joiner(costs, plan, i);
        cr_assert_gt(waiting, start, "nothing waits for %d behind %d", i, start);
        cr_assert(!segments[waiting].is_collective);
        cr_assert_eq(multiplies_experts(costs, &segments[waiting]), is_expert);
        for (int k = start + 1; k < waiting && is_expert; k++) {
            cr_assert(!multiplies_experts(costs, &segments[k]), "%d before %d", k, waiting);
        }
        start = is_expert ? start : waiting;
        experts += is_expert;
    }
    return experts;
}

typedef struct gather_case {
    int tp, cp, mtp_layers;
    ms_moe_overlap overlap;
    ms_recompute recompute;
    bool is_sequence_parallel, is_latent;
} gather_case;

static const gather_case CASES[] = {
    {1, 1, 0, MS_MOE_OVERLAP_NONE, MS_RECOMPUTE_NONE, false, false},
    {1, 1, 0, MS_MOE_OVERLAP_SHARED, MS_RECOMPUTE_NONE, false, false},
    {1, 1, 0, MS_MOE_OVERLAP_ALL, MS_RECOMPUTE_FULL, false, false},
    {2, 1, 0, MS_MOE_OVERLAP_NONE, MS_RECOMPUTE_NONE, false, false},
    {2, 1, 0, MS_MOE_OVERLAP_SHARED, MS_RECOMPUTE_NONE, true, false},
    {4, 1, 0, MS_MOE_OVERLAP_SHARED, MS_RECOMPUTE_SELECTIVE, true, false},
    {1, 4, 0, MS_MOE_OVERLAP_SHARED, MS_RECOMPUTE_NONE, false, false},
    {1, 1, 2, MS_MOE_OVERLAP_SHARED, MS_RECOMPUTE_NONE, false, true},
    {2, 2, 1, MS_MOE_OVERLAP_ALL, MS_RECOMPUTE_FULL, true, true},
};

Test(moe_gathers, experts_are_waited_for_by_their_first_product) {
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const gather_case *c = &CASES[i];
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model model = fixture_small_moe(4);
        model.vocab = 3200;
        model.moe.overlap = c->overlap;
        model.moe.first_dense_layers = 1;
        model.mtp_layers = c->mtp_layers;
        if (c->is_latent) {
            model.mla = (ms_mla){.kv_rank = 64, .qk_nope = 64, .qk_rope = 32, .v_dim = 64};
        }
        fixture.layout.ep = 4;
        fixture.layout.dp = 2;
        fixture.layout.tp = c->tp;
        fixture.layout.cp = c->cp;
        fixture.layout.zero = 3;
        fixture.layout.has_gather_overlap = fixture.layout.has_cp_overlap = true;
        fixture.layout.has_sequence_parallel = c->is_sequence_parallel;
        fixture.layout.recompute = c->recompute;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        const ms_pass_plan *passes = fixture.costs.stage[0].passes;
        cr_assert_eq(check_pass(&fixture.costs, passes[MS_PASS_F]), 3 + c->mtp_layers, "%zu", i);
        cr_assert_eq(check_pass(&fixture.costs, passes[MS_PASS_B]), 3 + c->mtp_layers, "%zu", i);
        fixture_clear(&fixture);
    }
}

/* Prediction modules and the head have no layer that tells them apart: each still waits for its own
 * parameters, the last module too, which nothing is gathered beside. */
Test(moe_gathers, each_prediction_module_waits_for_its_own_parameters) {
    ms_gpu_type gpu = fixture_a100();
    ms_model model = fixture_llama(2, 1024, 16, 16, 2048);
    model.vocab = 3200;
    model.mtp_layers = 2;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.dp = 4;
    fixture.layout.zero = 3;
    fixture.layout.has_gather_overlap = true;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    const ms_pass_plan *passes = fixture.costs.stage[0].passes;
    cr_assert_eq(check_pass(&fixture.costs, passes[MS_PASS_F]), 0);
    cr_assert_eq(check_pass(&fixture.costs, passes[MS_PASS_B]), 0);
    fixture_clear(&fixture);
}
