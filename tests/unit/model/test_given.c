#include "fixture.h"

static ms_status read_parts(const char *text, int ranks, int chunks, int parts,
                            fixture_costs *fixture) {
    fixture_init(fixture);
    ms_node *root = NULL;
    cr_assert_eq(
        ms_yaml_parse(text, strlen(text), "case.yaml", &fixture->arena, &fixture->diag, &root),
        MS_OK, "%s", fixture->log.text);
    ms_given_costs given;
    ms_status status =
        ms_costs_read(ms_node_get(root, "costs"), "costs", &fixture->arena, &fixture->diag, &given);
    return status == MS_OK ? ms_costs_build(&given, &(ms_given_sizes){ranks, chunks, parts},
                                            &fixture->arena, &fixture->diag, &fixture->costs)
                           : status;
}

static ms_status read_costs(const char *text, int ranks, int chunks, fixture_costs *fixture) {
    return read_parts(text, ranks, chunks, 1, fixture);
}

Test(given, one_value_stands_for_all_stages) {
    fixture_costs fixture;
    cr_assert_eq(read_costs("costs: {forward: 1 ms, input_gradient: 2 ms, weight_gradient: 3 ms, "
                            "p2p: 1 MB, optimizer: 4 ms}",
                            4, 2, &fixture),
                 MS_OK, "%s", fixture.log.text);
    const ms_stage_costs *costs = &fixture.costs;
    cr_assert_eq(costs->stages, 8);
    for (int stage = 0; stage < 8; stage++) {
        const double EXPECTED_S[MS_PASS_COUNT] = {
            [MS_PASS_F] = 1e-3, [MS_PASS_I] = 2e-3, [MS_PASS_W] = 3e-3, [MS_PASS_B] = 5e-3};
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            cr_assert_eq(costs->stage[stage].passes[pass].count, 1);
            cr_assert_float_eq(fixture_pass_s(costs, stage, (ms_pass)pass), EXPECTED_S[pass],
                               1e-15);
        }
        cr_assert_eq(costs->stage[stage].send_forward_B, stage < 7 ? 1e6 : 0);
        cr_assert_eq(costs->stage[stage].send_backward_B, stage > 0 ? 1e6 : 0);
    }
    for (int rank = 0; rank < 4; rank++) {
        cr_assert_eq(costs->optimizer_s[rank], 4e-3);
    }
    cr_assert(!costs->before_update && !costs->after_update);
    fixture_clear(&fixture);
}

Test(given, lists_go_stage_by_stage) {
    fixture_costs fixture;
    cr_assert_eq(read_costs("costs: {forward: [1 ms, 2 ms, 3 ms], input_gradient: 1 ms, "
                            "optimizer: [1 s, 2 s, 3 s]}",
                            3, 1, &fixture),
                 MS_OK, "%s", fixture.log.text);
    for (int stage = 0; stage < 3; stage++) {
        cr_assert_float_eq(fixture_pass_s(&fixture.costs, stage, MS_PASS_F), 1e-3 * (stage + 1),
                           1e-15);
        cr_assert_eq(fixture_pass_s(&fixture.costs, stage, MS_PASS_W), 0);
        cr_assert_eq(fixture.costs.optimizer_s[stage], stage + 1);
    }
    fixture_clear(&fixture);
}

Test(given, every_part_costs_the_given_time) {
    fixture_costs whole, parts;
    const char *text = "costs: {forward: [1 ms, 2 ms], input_gradient: 2 ms, "
                       "weight_gradient: 3 ms, p2p: 1 MB, optimizer: 4 ms}";
    cr_assert_eq(read_costs(text, 2, 1, &whole), MS_OK, "%s", whole.log.text);
    cr_assert_eq(read_parts(text, 2, 1, 3, &parts), MS_OK, "%s", parts.log.text);
    cr_assert(whole.costs.slices == 1 && parts.costs.slices == 3 && parts.costs.stages == 2);
    cr_assert_eq(parts.costs.segment_count, whole.costs.segment_count);
    for (int unit = 0; unit < 6; unit++) {
        for (int stage = 0; stage < 2; stage++) {
            const ms_stage_cost *part = ms_stage_cost_of(&parts.costs, stage, unit);
            cr_assert_eq(part, &parts.costs.stage[unit % 3 * 2 + stage]);
            cr_assert_eq(memcmp(part, &whole.costs.stage[stage], sizeof *part), 0);
        }
    }
    fixture_clear(&whole);
    fixture_clear(&parts);
}

Test(given, faults_name_key_and_numbers) {
    const struct {
        const char *text, *expected;
    } ROWS[] = {
        {"costs: {input_gradient: 1 ms}", "forward"},
        {"costs: {forward: 1, input_gradient: 1 ms}", "costs.forward"},
        {"costs: {forward: 1 ms, input_gradient: 1 ms, wait: 1 ms}", "wait"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        cr_assert_eq(read_costs(ROWS[i].text, 2, 2, &fixture), MS_E_INPUT, "row %zu", i);
        cr_assert(strstr(fixture.log.text, ROWS[i].expected), "row %zu: %s", i, fixture.log.text);
        fixture_clear(&fixture);
    }
}
