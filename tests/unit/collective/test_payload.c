/* Bytes of a plan's messages, which its protocol slows down and does not add to. */
#include <math.h>

#include "plan_fixture.h"
#include "platform_fixture.h"

/* Links of 16 GPUs on two nodes of DGX H100: a ring of 1 GB crosses 2 x 15 / 16 GB on each of its
 * edges, as often as there are channels; LL sends a flag with every word, of which links get more
 * to do, and messages are no larger. */
Test(payload, protocols_send_the_same) {
    static const ms_coll_algorithm ALGORITHMS[] = {MS_ALGORITHM_RING, MS_ALGORITHM_TREE};
    static const ms_protocol PROTOCOLS[] = {MS_PROTOCOL_SIMPLE, MS_PROTOCOL_LL, MS_PROTOCOL_LL128};
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    int gpus[16];
    for (int i = 0; i < 16; i++) {
        gpus[i] = i;
    }
    for (size_t a = 0; a < 2; a++) {
        /* eight rings carry an eighth, eight pairs of trees each a sixteenth */
        double expected_B = a == 0 ? 30.0 / 16 * 1e9 / 8 : 1e9 / 16;
        double slowness[3];
        for (size_t p = 0; p < 3; p++) {
            ms_coll_plan plan;
            ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                       .algorithm = ALGORITHMS[a],
                                       .protocol = PROTOCOLS[p],
                                       .gpus = gpus,
                                       .members = 16,
                                       .size_B = 1e9};
            cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
            const ms_flow *flow = &plan.phases[0].flows[0];
            slowness[p] = flow->slowness;
            cr_assert_float_eq(flow->bytes / flow->slowness / expected_B, 1, 1e-12, "%s",
                               ms_protocol_name(PROTOCOLS[p]));
        }
        cr_assert(slowness[0] >= 1 && slowness[1] > slowness[2] && slowness[2] > slowness[0]);
    }
    fixture_release(&f);
}
