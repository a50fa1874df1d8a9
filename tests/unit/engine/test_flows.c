#include <criterion/criterion.h>
#include <math.h>

#include "cases.h"

#define NEAR(actual, expected) cr_assert_float_eq((actual), (expected), 1e-9 * fabs(expected))

/* A flow of `bytes` alone on a stream of its own. */
static int32_t add_flow(ms_dag *dag, double bytes, const int32_t *links, int32_t count,
                        int32_t weight, int32_t dep) {
    return case_op(dag, case_flow_work(dag, bytes, links, count, weight), case_stream(dag), dep);
}

Test(flows, two_share_a_link_by_halves) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t a = add_flow(&dag, 1e9, &link, 1, 1, -1);
    int32_t b = add_flow(&dag, 3e9, &link, 1, 1, -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[a], 2.0); /* half a GB/s each until 1 GB is through */
    NEAR(run->timeline.end_s[b], 4.0); /* then the other alone */
    NEAR(run->timeline.link_bytes[0], 4e9);
    NEAR(run->timeline.link_busy_s[0], 4.0);
    cr_assert_eq(run->timeline.flows, 2);
    cr_assert_eq(run->timeline.flows_peak, 2);
    case_run *alone = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    NEAR(alone->timeline.end_s[a], 1.0);
    NEAR(alone->timeline.end_s[b], 3.0);
    cr_assert_eq(alone->timeline.flows, 0);
    ms_dag_release(&dag);
}

Test(flows, three_on_two_links_are_max_min_fair) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t links[2];
    links[0] = ms_dag_add_link(&dag, 1e9, 0, 0);
    links[1] = ms_dag_add_link(&dag, 2e9, 1, 0);
    /* both links: 0.5; the narrow one: 0.5; the wide one: the 1.5 GB/s that are left */
    int32_t both = add_flow(&dag, 1e9, links, 2, 1, -1);
    int32_t narrow = add_flow(&dag, 1e9, &links[0], 1, 1, -1);
    int32_t wide = add_flow(&dag, 3e9, &links[1], 1, 1, -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[both], 2.0);
    NEAR(run->timeline.end_s[narrow], 2.0);
    NEAR(run->timeline.end_s[wide], 2.0);
    NEAR(run->timeline.link_peak[0], 1.0);
    NEAR(run->timeline.link_peak[1], 1.0);
    ms_dag_release(&dag);
}

Test(flows, weights_count_as_often_as_they_say) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t three = add_flow(&dag, 1e9, &link, 1, 3, -1);
    int32_t one = add_flow(&dag, 1e9, &link, 1, 1, -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[three], 4.0); /* both run at 250 MB/s: 3 r + 1 r = 1 GB/s */
    NEAR(run->timeline.end_s[one], 4.0);
    NEAR(run->timeline.link_bytes[0], 4e9);
    ms_dag_release(&dag);
}
