/* Rates of flows that share links with weights, by hand. A flow of weight 2 takes twice its rate of
 * a link; bound by another link it takes twice that rate, and no more. */
#include <criterion/criterion.h>
#include <math.h>

#include "collective/fluid.h"

enum { WIDE = 7, NARROW = 3 };
#define WIDE_Bps   100.0
#define NARROW_Bps 10.0

static const ms_fluid_use TWICE_AND_NARROW[] = {{WIDE, 2, WIDE_Bps}, {NARROW, 1, NARROW_Bps}};
static const ms_fluid_use TWICE[] = {{WIDE, 2, WIDE_Bps}};
static const ms_fluid_use ONCE[] = {{WIDE, 1, WIDE_Bps}};
static const ms_fluid_use NARROW_ALONE[] = {{NARROW, 1, NARROW_Bps}};

static void expect_rates(const ms_fluid_flow *flows, int count, const double *expected) {
    double rates[4];
    cr_assert_eq(ms_fluid_rates(flows, count, rates), MS_OK);
    for (int i = 0; i < count; i++) {
        cr_assert_float_eq(rates[i], expected[i], 1e-12, "flow %d: %g, not %g", i, rates[i],
                           expected[i]);
    }
}

/* The narrow link leaves 10 to the first, which takes 20 of the wide one: 80 are left. */
Test(fluid_rates, of_a_heavy_flow_that_is_bound_elsewhere) {
    const ms_fluid_flow flows[] = {{800, TWICE_AND_NARROW, 2}, {400, ONCE, 1}};
    expect_rates(flows, 2, (const double[]){10, 80});
    double end_s[2];
    cr_assert_eq(ms_fluid_run(flows, 2, end_s), MS_OK);
    cr_assert_float_eq(end_s[0], 80, 1e-9, "the other ends first and changes nothing");
    cr_assert_float_eq(end_s[1], 5, 1e-9);
}

/* Two on the narrow link: 5 each, so that 10 of the wide one are taken. */
Test(fluid_rates, of_a_heavy_flow_with_company_on_the_narrow_link) {
    const ms_fluid_flow flows[] = {
        {10, TWICE_AND_NARROW, 2}, {900, ONCE, 1}, {40, NARROW_ALONE, 1}};
    expect_rates(flows, 3, (const double[]){5, 90, 5});
    double end_s[3];
    cr_assert_eq(ms_fluid_run(flows, 3, end_s), MS_OK);
    /* at 2 s the first has ended: 90 * 2 are through, the others have their links to themselves */
    cr_assert_float_eq(end_s[0], 2, 1e-9);
    cr_assert_float_eq(end_s[1], 2 + 720 / 100.0, 1e-9);
    cr_assert_float_eq(end_s[2], 2 + 30 / 10.0, 1e-9);
}

/* Bound by the wide link both have the same rate, of which one takes twice as much: 100 / 3. */
Test(fluid_rates, of_a_heavy_flow_that_is_bound_by_its_own_link) {
    const ms_fluid_flow flows[] = {{100, TWICE, 1}, {200, ONCE, 1}};
    expect_rates(flows, 2, (const double[]){100 / 3.0, 100 / 3.0});
    double end_s[2];
    cr_assert_eq(ms_fluid_run(flows, 2, end_s), MS_OK);
    cr_assert_float_eq(end_s[0], 3, 1e-9);
    cr_assert_float_eq(end_s[1], 3 + 1, 1e-9);
}

/* Alone: the slowest of its links; without links, no time. */
Test(fluid_rates, of_flows_that_share_nothing) {
    const ms_fluid_flow flows[] = {{50, TWICE_AND_NARROW, 2}, {50, NULL, 0}};
    double rates[2], end_s[2];
    cr_assert_eq(ms_fluid_rates(flows, 2, rates), MS_OK);
    cr_assert_float_eq(rates[0], 10, 1e-12);
    cr_assert_eq(rates[1], INFINITY);
    cr_assert_eq(ms_fluid_run(flows, 2, end_s), MS_OK);
    cr_assert_eq(end_s[0], 5);
    cr_assert_eq(end_s[1], 0);
    cr_assert_eq(ms_fluid_run(flows, 1, end_s), MS_OK);
    cr_assert_eq(end_s[0], 5);
    cr_assert_eq(ms_fluid_use_time_s(50, &TWICE[0]), 1);
}
