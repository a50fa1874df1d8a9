/* What a message reaches on the channels that NCCL gives its peer, by hand, and whose communicator
 * leaves a node. */
#include <math.h>

#include "collective/coll_class.h"
#include "collective/nccl.h"
#include "platform_fixture.h"

/* Time of a message beside what an empty one takes [s]. */
static double message_s(platform_fixture *fixture, const ms_platform *platform, const int gpus[2],
                        bool leaves_node) {
    double times[2];
    for (int i = 0; i < 2; i++) {
        ms_coll_request request = {.kind = MS_COLL_P2P,
                                   .gpus = gpus,
                                   .members = 2,
                                   .size_B = i * 100e6,
                                   .leaves_node = leaves_node};
        ms_coll_plan plan;
        cr_assert_eq(ms_coll_plan_build(platform, &request, &fixture->arena, &plan), MS_OK);
        cr_assert_eq(ms_coll_plan_time(platform, &plan, &times[i]), MS_OK);
        cr_assert_float_eq(plan.sent_B, i * 100e6, 1);
    }
    return times[1] - times[0];
}

/* Two channels of 24 GB/s are less than the 250 that NVLink carries between two A100; of 38.7, less
 * than an H100's; twelve and sixteen are more. Between nodes nothing is limited. */
Test(message_comm, two_channels_bind_inside_a_node_alone) {
    const struct {
        const char *platform;
        double channel_Bps;
    } ROWS[] = {{"dgx-a100", 24e9},
                {"selene-a100", 24e9},
                {"dgx-h100", 38.7e9},
                {"dgx-b200", 70e9},
                {"dgx2-v100", 26.5e9}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, ROWS[i].platform, "{nodes: 2}");
        const int inside[] = {0, 1}, across[] = {0, platform->gpus_per_node};
        double alone_s = message_s(&fixture, platform, inside, false);
        double limit_Bps = platform->library->net_channels * ROWS[i].channel_Bps;
        cr_assert_float_eq(ms_nccl_message_Bps(platform, inside, true), limit_Bps, 1);
        cr_assert_lt(alone_s, 100e6 / limit_Bps, "%s", ROWS[i].platform);
        cr_assert_float_eq(message_s(&fixture, platform, inside, true) * limit_Bps / 100e6, 1, 1e-9,
                           "%s", ROWS[i].platform);
        cr_assert_eq(message_s(&fixture, platform, across, true),
                     message_s(&fixture, platform, across, false), "%s", ROWS[i].platform);
        fixture_release(&fixture);
    }
}

/* Twelve channels carry more than NVLink does. */
Test(message_comm, channels_are_the_librarys) {
    platform_fixture fixture;
    const int inside[] = {0, 1};
    const ms_platform *platform =
        fixture_platform(&fixture, "dgx-a100", "{nodes: 2, library: {net_channels: 12}}");
    cr_assert_eq(message_s(&fixture, platform, inside, true),
                 message_s(&fixture, platform, inside, false));
    fixture_release(&fixture);
}

Test(message_comm, without_a_library_links_alone_limit) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "flat", "{nodes: 2}");
    const int gpus[] = {0, 1};
    cr_assert(isinf(ms_nccl_message_Bps(platform, gpus, true)));
    cr_assert_eq(message_s(&fixture, platform, gpus, true),
                 message_s(&fixture, platform, gpus, false));
    fixture_release(&fixture);
}

/* The pipelines of 16 GPUs on two nodes: with pipelines innermost four of their ranks lie beside
 * each other on a node, outermost on both. */
Test(message_comm, a_communicator_leaves_a_node_or_not) {
    const struct {
        const char *names[2];
        int sizes[2];
        ms_message_comm asked;
        bool leaves;
    } ROWS[] = {{{"dp", "pp"}, {4, 4}, MS_MESSAGES_PIPELINE, false},
                {{"dp", "pp"}, {4, 4}, MS_MESSAGES_WORLD, true},
                {{"dp", "pp"}, {4, 4}, MS_MESSAGES_PAIR, false},
                {{"pp", "dp"}, {4, 4}, MS_MESSAGES_PIPELINE, true},
                {{"dp", "pp"}, {1, 16}, MS_MESSAGES_PIPELINE, true},
                {{"dp", "pp"}, {2, 4}, MS_MESSAGES_WORLD, false}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", "{nodes: 2}");
        ms_mesh mesh;
        cr_assert_eq(ms_mesh_init(&mesh, (const char *const *)ROWS[i].names, ROWS[i].sizes, 2,
                                  &fixture.diag),
                     MS_OK);
        ms_coll_choices asked = {.messages = ROWS[i].asked};
        ms_coll_choices found = ms_coll_choices_on(platform, &mesh, asked);
        cr_assert_eq(found.messages, ROWS[i].leaves ? MS_MESSAGES_WORLD : MS_MESSAGES_PAIR,
                     "row %zu", i);
        fixture_release(&fixture);
    }
}
